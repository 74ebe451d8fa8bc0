/*
** Limits products to the columns that are used. Attention over a cache masks the scores of positions that are not valid yet:
**
**     select(iota < n, f(dot(q, cache)), c)        the dot computes the first n positions, and reads only these of the cache
**     select(column < row + n, f(dot(q, k)), c)    a causal mask: in row i the dot computes at least the first n + i positions
**     and(..., iota >= begin)                      a window: the dot does not compute the positions before it, either
**
** where f is element-wise or moves dimensions, and nothing else reads the scores. The dot becomes a fusion of it with one
** more operand, n or (n, begin), which its computation does not read. `used_dimension` says which dimension of the result
** has the columns, and `used_diagonal`, which one has the rows of a causal mask. The select drops all other scores, so
** they may hold anything, even if the operands have infinities or NaNs there.
**
** The second product, of weights that are 0 where they are masked, is not limited: 0 times an infinity or a NaN is a NaN.
** Its kernel finds zeros as it runs; bounded_arrays.c lets it skip what they multiply.
**
** A mask may be added:
**
**     add(f(dot(q, cache)), select(iota < n, 0, -3.4e38))
**
** Its large number M hides a score s if |s| is below a quarter of M's last bit: then s + M = M, to the bit. That holds if the dot's
** results are below 2^`hides_below`. The kernel limits the product if bounded arrays (bounded_arrays.c) show that they are. It
** writes 0 for the scores that it leaves out: M hides 0, too.
**
** Of a smaller number, such as -1e9, the sum depends on the score. But softmax(s + M) computes exp(s + M - max), which is 0 for all
** scores below half of M, if the largest sum is one without M. So each row must keep a column, and nothing else may read the sums.
**
** Masks that are added, and those that are no comparison with a scalar, are read: computed_limits.c finds the columns that they
** keep. A bias that is added, too, such as T5's or ALiBi's, may be half as large as the scores that are hidden; the program looks.
** This costs a loop over the mask and the bias, so they must be smaller than what the product reads.
*/
#include <math.h>
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/fuse/masks.h"

/* Threshold MIN_ELEMENTS, MAX_STEPS, MAX_SEARCHED. Test: "limit-products" in core/limited_products.test.mjs. */
/* Threshold MAX_LOGARITHM, MAX_LOGARITHM_F16: of finite numbers, which scores stay on their way to a mask.
** Test: "masks that are added" in core/bounded_arrays.test.mjs. */
/* Threshold MIN_LOGARITHM: exp(-2^12 / 4) is 0, in f64, too. Test: "masks that are added" in core/bounded_arrays.test.mjs. */
enum {
  MIN_ELEMENTS = 4096,
  MAX_STEPS = 16,
  MAX_SEARCHED = 64,
  MAX_LOGARITHM = 126,
  MAX_LOGARITHM_F16 = 15,
  MIN_LOGARITHM = 12
};
static const double LARGEST = 0x1p127;

/* Returns the dimension of x that the operand's dimension becomes; -1 if none. */
static int dimension_after(const Instruction *x, int dimension) {
  switch (x->opcode) {
  case HLO_RESHAPE: return same_dimension(x->operands[0]->shape, dimension, x->shape);
  case HLO_COPY: return dimension;
  case HLO_TRANSPOSE:
    for (int d = 0; d < x->shape->rank; d++) {
      if (x->a->dimensions.items[d] == dimension) return d;
    }
    return -1;
  default:
    return opcode_is_elementwise(x->opcode) && shape_is_array(x->shape) &&
                   shape_same_dims(x->shape, x->operands[0]->shape)
               ? dimension
               : -1;
  }
}

/* ---- Products ---- */

/* Moves a place from x to its user. A row may get lost, if the limit is to be one without it. */
static bool place_after(const Instruction *user, bool diagonal, Place *place) {
  if (user->opcode == HLO_SELECT) return true;
  place->column = dimension_after(user, place->column);
  if (diagonal) place->row = dimension_after(user, place->row);
  return place->column != ABSENT && (!diagonal || place->row != ABSENT);
}

/* Returns the binary logarithm of a number, rounded down; of 0, a large negative number; of infinities, a large one. */
static int logarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* Returns the binary logarithm, rounded up. */
static int logarithm_up(double x) { return -logarithm(1 / x); }

/* Numbers on the way from a dot to its mask: how many times as large as the dot's results they may be anywhere, and at the end.
** Below 2^`finite` all are finite. */
typedef struct Growth {
  double most, last;
  int finite;
} Growth;

/* Adds a condition on an array, where it is smallest. Returns NULL if it does not depend on the column, or there are too many. */
static Condition *add_condition(Limit *out, Instruction *x, int column, ConditionKind kind) {
  Place place = {column, ABSENT}, next = place;
  for (; moves_elements(x) && move_place(x, &next); place = next) {
    if (next.column == ABSENT) return NULL;
    x = x->operands[0];
  }
  if (out->count == MAX_CONDITIONS) return NULL;
  Condition *condition = &out->conditions[out->count++];
  *condition = (Condition){.x = x, .column = place.column, .kind = kind};
  return condition;
}

/* Follows numbers from x to its user. Their growth becomes infinite if it is not known. */
static void grow(const Instruction *user, const Instruction *x, int column, Limit *out,
                 Growth *growth) {
  /* Threshold MIN_SCALE: numbers that shrink to denormals are rounded by more. No path. */
  const double MIN_SCALE = 1.0 / 1024;
  bool is_left = user->operands[0] == x;
  PrimitiveType type = user->shape->type;
  Scalar number;
  double factor = INFINITY;
  Condition *condition;
  if (type == F16) growth->finite = MAX_LOGARITHM_F16;
  switch (user->opcode) {
  case HLO_CONVERT: /* to others numbers wrap, or become infinite or NaN */
    if (type != F32 && type != F64 && type != BF16 && type != F16) growth->most = INFINITY;
    return;
  case HLO_RESHAPE:
  case HLO_COPY:
  case HLO_TRANSPOSE:
  case HLO_NEGATE:
  case HLO_TANH: return;
  case HLO_MULTIPLY:
  case HLO_DIVIDE:
    if (splat_value(user->operands[is_left], &number)) {
      factor = fabs(user->opcode == HLO_MULTIPLY ? number.f : 1 / number.f);
      if (user->opcode == HLO_DIVIDE && !is_left) factor = INFINITY;
    } else if (user->opcode == HLO_MULTIPLY && out->is_computed && type_is_floating(type)) {
      condition = add_condition(out, user->operands[is_left], column, IS_FACTOR);
      if (condition) condition->number = factor = 1;
    }
    break;
  default: break;
  }
  growth->last *= factor;
  if (growth->last < MIN_SCALE) growth->last = MIN_SCALE;
  if (!(growth->last <= growth->most)) growth->most = growth->last; /* a NaN, too */
}

static bool are_exponentials(const Users *users, const Instruction *x) {
  for (int i = 0; i < users->count[x->id]; i++) {
    if (users->lists[x->id][i]->opcode != HLO_EXP) return false;
  }
  return x != x->parent->root;
}

/* Whether x is only read by exp(x - max(x)), of the maximum along a dimension. */
static bool becomes_softmax(const Users *users, const Instruction *x, int dimension) {
  int count = users->count[x->id];
  const Instruction *const *list = (const Instruction *const *)users->lists[x->id];
  if (count == 1 && list[0]->opcode == HLO_CONVERT && list[0]->shape->type != F16) {
    return becomes_softmax(users, list[0], dimension);
  }
  for (int i = 0; i < count; i++) {
    const Instruction *user = list[i];
    bool is_max = user->opcode == HLO_REDUCE && reduce_operation(user) == HLO_MAXIMUM &&
                  list_has(user->a->dimensions, dimension);
    bool is_difference = user->opcode == HLO_SUBTRACT && user->a->derived.at_most_zero;
    if (!is_max && !(is_difference && are_exponentials(users, user))) return false;
  }
  return count > 1 && x != x->parent->root;
}

/* Sets what `number` hides, or, in a softmax, one that is less than the kept ones by `span`. Returns false if nothing. */
static bool set_hidden(const Instruction *sum, double number, double span, const Growth *growth,
                       Limit *out) {
  /* The exponential of -760 is 0 in f64, too. Both numbers are rounded, and a score may be on either side. */
  const double MIN_EXPONENT = 760, ROUNDED = 2.02;
  /* A quarter of the last bit, less 1 for the rounding of scores. */
  int most = span > 0 ? logarithm((0.99 * span - MIN_EXPONENT) / ROUNDED)
                      : logarithm(number) - type_mantissa_bits(sum->shape->type) - 3;
  int finite = growth->finite - logarithm_up(growth->most);
  out->hides_below = most - logarithm_up(growth->last);
  if (out->hides_below > finite) out->hides_below = finite;
  return growth->most < INFINITY && out->hides_below > 0;
}

/* ---- Computed limits ---- */

/* Returns the most negative number among the constants that x is computed of, or, if a mask is subtracted, minus the largest one; 0
** if there is none. It is the mask's, as a rule: the program compares with it. No mask is made by a product. */
static double most_negative(const Instruction *x, Instruction *const *callers, double sign,
                            int *steps) {
  Scalar value;
  double found = 0;
  if ((*steps)-- <= 0 || !shape_is_array(x->shape) || x->opcode == HLO_DOT) return 0;
  const Instruction *outer = before_loop(x, callers);
  if (outer) return most_negative(outer, callers, sign, steps);
  if (type_is_floating(x->shape->type) && splat_value(x, &value)) return fmin(sign * value.f, 0);
  for (int i = 0; i < x->operand_count; i++) {
    found = fmin(found, most_negative(x->operands[i], callers, sign, steps));
  }
  return found;
}

/* Adds the condition of a select's predicate, which the heads share: others take as long as what they save. */
static bool add_chosen(Limit *out, Instruction *mask, int column, bool wanted, const Shape *shape) {
  /* Threshold MIN_SHARED: it decides about speed, and results are the same. No path. */
  enum { MIN_SHARED = 2 };
  out->count = out->hides_below = 0;
  const Condition *condition = add_condition(out, mask, column, wanted ? IS_WANTED : IS_UNWANTED);
  return condition && shape_elements(condition->x->shape) * MIN_SHARED <= shape_elements(shape);
}

/* Adds the condition of a number that is added to x: of a mask, or else of a bias, which must be small. */
static bool add_added(const Users *users, const Instruction *sum, const Instruction *x, int column,
                      const Growth *growth, Limit *out, bool *is_mask) {
  bool is_left = sum->operands[0] == x, subtracts = sum->opcode == HLO_SUBTRACT;
  Instruction *other = sum->operands[is_left];
  if (!out->reads_more || other == x || (subtracts && !is_left) ||
      !type_is_floating(sum->shape->type)) {
    return false;
  }
  int steps = MAX_SEARCHED;
  double large = fmin(-most_negative(other, out->callers, subtracts ? -1 : 1, &steps), LARGEST);
  *is_mask = logarithm(large) >= MIN_LOGARITHM;
  if (*is_mask && subtracts) {
    other = computation_add(other->parent, HLO_NEGATE, other->shape, &other, 1, NULL);
  }
  Condition *added = add_condition(out, other, column, *is_mask ? IS_BELOW : IS_SMALL);
  if (!added) return false;
  added->number = growth->last;
  if (!*is_mask) return true;
  bool is_softmax = becomes_softmax(users, sum, column);
  added->number = -0.75 * large; /* a bias may be in the rest */
  added->min_kept = is_softmax ? -0.25 * large : 0;
  if (!set_hidden(sum, 0.75 * large, is_softmax ? 0.5 * large : 0, growth, out)) return false;
  for (int i = 0; i + 1 < out->count; i++) { /* a score and its bias take half of the bound each */
    if (out->conditions[i].kind == IS_FACTOR) continue;
    if (growth->last > out->conditions[i].number) return false;
    out->conditions[i].number = ldexp(growth->last, (int)--out->hides_below);
  }
  return out->hides_below > 0;
}

/* Finds the limit of a dot's used columns. place.row: ABSENT if it is to be one without the row. */
static bool find_used(const Users *users, const Instruction *dot, Place place, Limit *out) {
  const Instruction *x = dot;
  bool diagonal = place.row != ABSENT;
  Growth growth = {1, 1, dot->shape->type == F16 ? MAX_LOGARITHM_F16 : MAX_LOGARITHM};
  out->count = 0;
  for (int i = 0; i < MAX_STEPS; i++) {
    if (users->count[x->id] != 1 || x == x->parent->root) return false;
    const Instruction *user = users->lists[x->id][0];
    if (user->opcode == HLO_SELECT && user->operands[0] != x) {
      const Shape *mask = user->operands[0]->shape;
      bool on_true = user->operands[1] == x;
      if (shape_same_dims(mask, user->shape) &&
          find_limit(user->operands[0], place, on_true, diagonal, out)) {
        return true;
      }
      if (out->is_computed) {
        return add_chosen(out, user->operands[0], place.column, on_true, dot->shape);
      }
    }
    bool adds = user->opcode == HLO_ADD || user->opcode == HLO_SUBTRACT;
    bool is_mask = false, is_added = out->is_computed && adds;
    if (is_added && !add_added(users, user, x, place.column, &growth, out, &is_mask)) return false;
    if (is_mask) return true;
    if (!place_after(user, diagonal, &place)) return false;
    if (!is_added) grow(user, x, place.column, out, &growth);
    x = user;
  }
  return false;
}

/* Returns n: columns below n, or below n + row, are used. The kernel clamps it when it reads it. wide: in s64. */
static Instruction *count_of(Computation *computation, const Limit *limit, bool wide) {
  /* Above all dimensions; larger limits count as this one, so that sums do not wrap. */
  const int64_t MAX_LIMIT = INT64_C(1) << 40;
  if (!limit->scalar) return computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *n = limit->scalar;
  if (limit->before) {
    Instruction *before =
        computation_add_number(computation, limit->type, (Scalar){.i = limit->before});
    before = computation_add(computation, HLO_BROADCAST, n->shape, &before, 1, NULL);
    n = computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, before}, 2, NULL);
  }
  n = computation_add_reshape(computation, n, 0, NULL);
  if (!limit->number && !wide) return n;
  Instruction *number = computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *max = computation_add_number(computation, S64, (Scalar){.i = MAX_LIMIT});
  n = computation_add(computation, HLO_CONVERT, number->shape, &n, 1, NULL);
  n = computation_add(computation, HLO_MINIMUM, n->shape, (Instruction *[]){n, max}, 2, NULL);
  return computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, number}, 2, NULL);
}

/* Returns an array of the end and the begin of the used columns. */
static Instruction *both_of(Instruction *begin, Instruction *end) {
  Computation *c = begin->parent;
  Arena *arena = c->module->arena;
  int64_t one = 1, two = 2;
  Instruction *parts[] = {computation_add_reshape(c, end, 1, &one),
                          computation_add_reshape(c, begin, 1, &one)};
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(arena, &(int64_t){0}, sizeof(int64_t))});
  return computation_add(c, HLO_CONCATENATE, shape_make(arena, S64, 1, &two, NULL), parts, 2, a);
}

static void limit_product(Instruction *dot, Instruction *n, Place place, const Limit *limit) {
  Module *module = dot->parent->module;
  Computation *fused =
      module_add_computation(module, arena_printf(module->arena, "limited_%s", dot->name));
  Instruction *operands[] = {dot->operands[0], dot->operands[1], n}, *parameters[3];
  for (int i = 0; i < 3; i++) {
    parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
  }
  instruction_attributes(parameters[2])->derived.is_limit = true;
  fused->root = computation_add(fused, HLO_DOT, dot->shape, parameters, 2, dot->a);
  instruction_become(dot, HLO_FUSION, operands, 3,
                     ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT,
                                .derived = {.used_dimension = place.column + 1,
                                            .used_diagonal = place.row + 1,
                                            .hides_below = limit->hides_below}));
}

/* Finds the limit of a dot with these columns: one with any dimension as the row, or one without. */
static bool find_place(const Users *users, const Instruction *dot, int batches, Place *place,
                       Limit *out) {
  for (place->row = dot->shape->rank - 1; place->row >= batches; place->row--) {
    if (place->row == place->column || dot->shape->dims[place->row] == 1) continue;
    if (find_used(users, dot, *place, out)) return true;
  }
  place->row = ABSENT;
  return find_used(users, dot, *place, out);
}

/* Whether the limit's scalar is in the dot's computation, not before a loop around it. */
static bool is_near(const Limit *limit, const Instruction *dot) {
  return !limit->scalar || limit->scalar->parent == dot->parent;
}

/* Whether x is computed from a dot: of two products that are added to each other, only one can be limited by the other. */
static bool comes_from(const Instruction *x, const Instruction *dot) {
  Arena *arena = arena_new();
  int count = x->parent->count, left = 1;
  bool *seen = ARENA_ARRAY(arena, bool, count);
  const Instruction **stack = ARENA_ARRAY(arena, const Instruction *, count);
  for (stack[0] = x; left && !seen[dot->id];) {
    const Instruction *next = stack[--left];
    for (int i = 0; i < next->operand_count; i++) {
      const Instruction *operand = next->operands[i];
      if (!seen[operand->id]) stack[left++] = operand;
      seen[operand->id] = true;
    }
  }
  bool found = seen[dot->id];
  arena_free(arena);
  return found;
}

static bool is_apart(const Limit *limit, const Instruction *dot) {
  for (int i = 0; i < limit->count; i++) {
    if (comes_from(limit->conditions[i].x, dot)) return false;
  }
  return true;
}

/* Limits a product by what a mask holds. */
static bool compute_limit(const Users *users, Instruction *const *callers, Instruction *dot,
                          int batches) {
  int64_t elements = shape_elements(dot->shape);
  bool reads_more = elements <= shape_elements(dot->operands[0]->shape) ||
                    elements <= shape_elements(dot->operands[1]->shape);
  for (int d = dot->shape->rank - 1; d >= batches; d--) {
    Limit limit = {.callers = callers, .is_computed = true, .reads_more = reads_more};
    Place place = {.column = d, .row = ABSENT};
    if (dot->shape->dims[d] == 1 || !find_used(users, dot, place, &limit)) continue;
    if (!is_apart(&limit, dot)) continue;
    Instruction *ends[2];
    computed_ends(&limit, ends);
    limit_product(dot, both_of(ends[0], ends[1]), place, &limit);
    return true;
  }
  return false;
}

static bool limit_dot(const Users *users, Instruction *const *callers, Instruction *dot) {
  const Attributes *a = dot->a;
  int batches = a->lhs_batch_dims.count, free = dot->shape->rank - batches;
  bool is_small = shape_elements(dot->operands[0]->shape) < MIN_ELEMENTS &&
                  shape_elements(dot->operands[1]->shape) < MIN_ELEMENTS;
  if (is_small || !free || a->control_predecessors.count) {
    return false;
  }
  for (int d = dot->shape->rank - 1; d >= batches; d--) {
    Limit limit = {.callers = callers};
    Place place = {.column = d};
    if (!find_place(users, dot, batches, &place, &limit)) continue;
    if (!is_near(&limit, dot)) continue;
    if (!limit.scalar && !limit.diagonal && limit.number >= dot->shape->dims[d]) continue;
    Instruction *n = count_of(dot->parent, &limit, false);
    Limit lower = {.callers = callers, .is_lower = true};
    if (find_used(users, dot, place, &lower) && is_near(&lower, dot)) {
      n = both_of(count_of(dot->parent, &lower, true), count_of(dot->parent, &limit, true));
    }
    limit_product(dot, n, place, &limit);
    return true;
  }
  return compute_limit(users, callers, dot, batches);
}

static bool limit_products(Computation *computation, Instruction *const *callers) {
  Arena *arena = arena_new();
  bool changed = false;
  int count = computation->count;
  Users users = find_users(arena, computation);
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_DOT) changed |= limit_dot(&users, callers, x);
  }
  arena_free(arena);
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_limit_products(Module *module) {
  bool changed = false;
  Arena *arena = arena_new();
  Instruction *const *callers = find_loops(module, arena);
  for (int i = 0, count = module->count; i < count; i++) {
    changed |= limit_products(module->computations[i], callers);
  }
  arena_free(arena);
  if (changed) module_keep_reached(module);
  return changed;
}
