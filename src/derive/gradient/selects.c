/*
** The transposition of select.
**
** The cotangent of the branch that is not taken is 0. If the slope of that branch is infinite or NaN there, as that of
** sqrt(x) in `x > 0 ? sqrt(x) : 0` is at 0, their product is NaN. Forward mode multiplies first and selects then, so it
** is right. Therefore slopes are selected before they are multiplied by a cotangent, where a slope may be infinite:
** for each tangent that comes into the element-wise expression below the select. Libraries write their functions with
** such selects, and give JAX derivatives for them that an exported program does not contain.
**
** Where many tangents come in, as in loops over the terms of a series, a product of a cotangent that is 0 with a slope
** that is not finite is 0 instead. So it is in the bodies of loops that do not count their iterations. They end by values
** that they compute: after convergence a step has length 0, as that of an element of a batch that has ended, and the slope
** of a norm is infinite there.
*/
#include <math.h>

#include "derive/gradient/linear.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_LEAVES: tangents whose slopes are computed. Test: "a branch that is not taken adds no NaN" in
** api/gradients.test.mjs. */
/* Threshold MAX_REGION: instructions of a region; in a larger one, products are guarded as where many tangents come in. Test:
** "long chains below a select take no time and no stack" in api/gradients.test.mjs. */
/* Threshold MAX_LOOKED: instructions of a factor that are looked at; a factor of more instructions counts as infinite.
** Test: "factors of many operations below a select" in api/gradients.test.mjs. */
enum { MAX_LEAVES = 4, MAX_REGION = 1024, MAX_LOOKED = 64 };

typedef struct SelectRegion {
  WorkingComputation *working;
  int number; /* of the region, from 1; facts say to which one an instruction was added last */
  Instruction **items; /* operands before their users; the position is in the facts, too */
  int count, capacity;
  Instruction *leaves[MAX_LEAVES]; /* the tangents that come in */
  int leaf_count;
  int visited; /* at most MAX_REGION, else the region is cut off */
  bool may_be_infinite;
} SelectRegion;

/* ---- Factors that may be infinite or NaN where their branch is not taken ---- */

static bool is_finite_not_zero(const Instruction *x) {
  Scalar value;
  return splat_value(x, &value) && isfinite(value.f) && value.f != 0;
}

static bool has_infinite_element(const Instruction *constant) {
  for (int64_t i = 0; constant->literal && i < shape_elements(constant->shape); i++) {
    if (!isfinite(scalar_load(constant->shape->type, constant->literal->data, i).f)) return true;
  }
  return false;
}

/* Whether a result may be infinite or NaN where the operands are finite. ORDER OPCODE: the table has each element-wise operation
** with a slope of its own; operations that are not in it are BOUNDED. */
typedef enum Growth {
  BOUNDED,     /* it is not, whatever the operands are; or nothing is known */
  AS_OPERANDS, /* it is if one of them is */
  AS_QUOTIENT, /* it is if the dividend is, or if the divisor may be 0 */
  UNBOUNDED    /* it has poles, or overflows */
} Growth;
static const uint8_t growth[OPCODE_COUNT] = {
    [HLO_ABS] = AS_OPERANDS,
    [HLO_ACOS] = UNBOUNDED,
    [HLO_ACOSH] = UNBOUNDED,
    [HLO_ADD] = AS_OPERANDS,
    [HLO_ASIN] = UNBOUNDED,
    [HLO_ASINH] = BOUNDED,
    [HLO_ATAN2] = BOUNDED,
    [HLO_ATANH] = UNBOUNDED,
    [HLO_CBRT] = UNBOUNDED,
    [HLO_CLAMP] = AS_OPERANDS,
    [HLO_CONVERT] = AS_OPERANDS,
    [HLO_CONVOLUTION] = AS_OPERANDS,
    [HLO_COS] = BOUNDED,
    [HLO_COSH] = UNBOUNDED,
    [HLO_DIVIDE] = AS_QUOTIENT,
    [HLO_DOT] = AS_OPERANDS,
    [HLO_ERF] = BOUNDED,
    [HLO_EXP] = UNBOUNDED,
    [HLO_EXPM1] = UNBOUNDED,
    [HLO_LOG] = UNBOUNDED,
    [HLO_LOG1P] = UNBOUNDED,
    [HLO_LOGISTIC] = BOUNDED,
    [HLO_MAXIMUM] = AS_OPERANDS,
    [HLO_MINIMUM] = AS_OPERANDS,
    [HLO_MULTIPLY] = AS_OPERANDS,
    [HLO_NEGATE] = AS_OPERANDS,
    [HLO_POWER] = UNBOUNDED,
    [HLO_REDUCE] = AS_OPERANDS,
    [HLO_REDUCE_WINDOW] = AS_OPERANDS,
    [HLO_REMAINDER] = AS_QUOTIENT,
    [HLO_RSQRT] = UNBOUNDED,
    [HLO_SELECT] = AS_OPERANDS,
    [HLO_SIN] = BOUNDED,
    [HLO_SINH] = UNBOUNDED,
    [HLO_SQRT] = UNBOUNDED,
    [HLO_SUBTRACT] = AS_OPERANDS,
    [HLO_TAN] = UNBOUNDED,
    [HLO_TANH] = BOUNDED,
};

static bool may_be_infinite(const Instruction *x, int *budget) {
  if (--*budget < 0) return true;
  if (x->opcode == HLO_CONSTANT) {
    return type_is_floating(x->shape->type) && has_infinite_element(x);
  }
  int count = x->operand_count;
  switch (opcode_category(x->opcode) == MOVEMENT ? AS_OPERANDS : growth[x->opcode]) {
  case BOUNDED: return false;
  case UNBOUNDED: return true;
  case AS_QUOTIENT:
    if (!is_finite_not_zero(x->operands[1])) return true;
    count = 1;
    break;
  default: break;
  }
  for (int k = 0; k < count; k++) {
    if (may_be_infinite(x->operands[k], budget)) return true;
  }
  return false;
}

/* ---- The element-wise expression below a select ---- */

static bool is_inside(WorkingComputation *working, const Instruction *x) {
  if (facts_of(working, x)->transpose) return false;
  switch (x->opcode) {
  case HLO_ADD:
  case HLO_DIVIDE:
  case HLO_MULTIPLY:
  case HLO_NEGATE:
  case HLO_SELECT:
  case HLO_SUBTRACT: return x->operand_count > 0;
  default: return false;
  }
}

/* Whether the slope of x may be infinite. */
static bool has_pole(WorkingComputation *working, const Instruction *x) {
  Facts *facts = facts_of(working, x);
  if (facts->select.pole) return facts->select.pole == HAS_POLE;
  int budget = MAX_LOOKED;
  bool has = x->opcode == HLO_DIVIDE
                 ? !is_finite_not_zero(x->operands[1])
                 : x->opcode == HLO_MULTIPLY &&
                       may_be_infinite(x->operands[is_linear(working, x->operands[0])], &budget);
  facts_of(working, x)->select.pole = has ? HAS_POLE : NO_POLE;
  return has;
}

/* Adds x and all below it, while there is room. */
static void region_add(SelectRegion *r, Instruction *x) {
  if (!is_linear(r->working, x) || facts_of(r->working, x)->select.region == r->number) return;
  if (++r->visited > MAX_REGION) return;
  facts_of(r->working, x)->select.region = r->number;
  if (!is_inside(r->working, x)) {
    facts_of(r->working, x)->select.position = -1;
    if (r->leaf_count < MAX_LEAVES) r->leaves[r->leaf_count] = x;
    r->leaf_count++;
    return;
  }
  for (int k = 0; k < x->operand_count; k++) region_add(r, x->operands[k]);
  facts_of(r->working, x)->select.position = r->count;
  ARENA_PUSH(r->working->arena, r->items, r->count, r->capacity, x);
  r->may_be_infinite |= has_pole(r->working, x);
}

/* ---- Slopes ---- */

/* The slope of an item, from those of its operands. */
static Instruction *combine(WorkingComputation *working, const Instruction *x,
                            Instruction *const *of, Instruction *one) {
  Maker *m = &working->m;
  int k = of[0] ? 0 : 1;
  switch (x->opcode) {
  case HLO_ADD: return make_plus(m, of[0], of[1]);
  case HLO_NEGATE: return of[0] ? make_unary(m, HLO_NEGATE, of[0]) : NULL;
  case HLO_SUBTRACT: return make_plus(m, of[0], of[1] ? make_unary(m, HLO_NEGATE, of[1]) : NULL);
  case HLO_DIVIDE: return of[0] ? make_binary(m, HLO_DIVIDE, of[0], x->operands[1]) : NULL;
  case HLO_MULTIPLY:
    if (!of[k] || of[k] == one) return of[k] ? x->operands[1 - k] : NULL;
    return make_binary(m, HLO_MULTIPLY, of[k], x->operands[1 - k]);
  default: /* select */
    if (!of[1] && !of[2]) return NULL;
    return make_select(m, x->operands[0], of[1] ? of[1] : make_zeros(m, x->shape),
                       of[2] ? of[2] : make_zeros(m, x->shape));
  }
}

/* Returns the product of a cotangent and a slope, or 0 if the cotangent is 0 and the product not finite. */
static Instruction *mask_product(WorkingComputation *working, Instruction *ct,
                                 Instruction *product) {
  Maker *m = &working->m;
  Instruction *zeros = make_zeros(m, ct->shape), *is_finite = make_unary(m, HLO_IS_FINITE, product);
  Instruction *is_masked = make_binary(m, HLO_AND, make_compare(m, COMPARE_EQ, ct, zeros),
                                       make_unary(m, HLO_NOT, is_finite));
  return make_select(m, is_masked, zeros, product);
}

static void add_by_slope(const SelectRegion *r, Instruction *leaf, Instruction *ct) {
  WorkingComputation *working = r->working;
  Instruction **slopes = ARENA_ARRAY(working->arena, Instruction *, r->count); /* NULL is zero */
  Instruction *one = make_number(&working->m, ct->shape, 1);
  for (int i = 0; i < r->count; i++) {
    const Instruction *x = r->items[i];
    Instruction *of[3] = {0};
    for (int k = 0; k < x->operand_count; k++) {
      if (!is_linear(working, x->operands[k])) continue;
      int position = facts_of(working, x->operands[k])->select.position;
      of[k] = position >= 0 ? slopes[position] : x->operands[k] == leaf ? one : NULL;
    }
    slopes[i] = combine(working, x, of, one);
  }
  Instruction *slope = slopes[r->count - 1];
  if (!slope) return;
  Instruction *product = make_binary(&working->m, HLO_MULTIPLY, ct, slope);
  bool guarded = working->d->guarded && type_kind(ct->shape->type) == KIND_FLOAT;
  add_cotangent(working, leaf, guarded ? mask_product(working, ct, product) : product);
}

void guard_operands(WorkingComputation *working, const Instruction *x) {
  for (int k = 0; k < x->operand_count && is_inside(working, x); k++) {
    facts_of(working, x->operands[k])->select.guarded = true;
  }
}

void transpose_select(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *const *of = x->operands, *zeros = make_zeros(&working->m, x->shape);
  Instruction *then =
      is_linear(working, of[1]) ? make_select(&working->m, of[0], ct[0], zeros) : NULL;
  Instruction *other =
      is_linear(working, of[2]) ? make_select(&working->m, of[0], zeros, ct[0]) : NULL;
  SelectRegion r = {.working = working, .number = ++working->regions};
  region_add(&r, x);
  if (r.may_be_infinite && r.leaf_count <= MAX_LEAVES && r.visited <= MAX_REGION) {
    /* If one branch is constant, an infinite cotangent counts as 0 there. */
    Instruction *masked = then && other ? ct[0] : then ? then : other;
    for (int i = 0; i < r.leaf_count; i++) add_by_slope(&r, r.leaves[i], masked);
    return;
  }
  if (r.may_be_infinite || r.visited > MAX_REGION) guard_operands(working, x);
  if (then) add_cotangent(working, of[1], then);
  if (other) add_cotangent(working, of[2], other);
}

Instruction *guard_product(WorkingComputation *working, const Instruction *x, Instruction *ct,
                           Instruction *product) {
  bool guarded = facts_of(working, x)->select.guarded || working->d->guarded;
  bool may_mask = guarded && type_kind(ct->shape->type) == KIND_FLOAT && has_pole(working, x);
  return may_mask ? mask_product(working, ct, product) : product;
}
