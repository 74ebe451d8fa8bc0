/*
** Computes the formats of scale factors and scaled values in the type that XLA:CPU uses, with conversions
** there and back (XLA's float normalization):
**
**     add(x, y)    convert(add(convert(x), convert(y)))
**
** F4E2M1FN is computed in F16, F8E8M0FNU in F32. The min of F8E8M0FNU is a denormal there, which XLA:CPU
** flushes to zero, as hlo/scalar/real.c does. Operations that only compare or move elements stay.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

static Instruction *splat(Computation *computation, const Shape *like, double value) {
  Instruction *number = computation_add_number(computation, like->type, (Scalar){.f = value});
  return computation_add(computation, HLO_BROADCAST, like, &number, 1, NULL);
}

/* Replaces elements below the min normal number by zero. */
static Instruction *flushed(Instruction *x) {
  const Attributes *a = ATTRIBUTES(.direction = COMPARE_LT);
  Instruction *sides[] = {x, splat(x->parent, x->shape, 0x1p-126)};
  Instruction *is_less =
      computation_add(x->parent, HLO_COMPARE,
                      shape_with_type(x->parent->module->arena, x->shape, PRED), sides, 2, a);
  Instruction *choice[] = {is_less, splat(x->parent, x->shape, 0), x};
  return computation_add(x->parent, HLO_SELECT, x->shape, choice, 3, NULL);
}

/* Whether operands and result have one type, and the operation does more than compare. */
static bool is_computed(const Instruction *x) {
  OpCategory category = opcode_category(x->opcode);
  if (category != ELEMENTWISE_UNARY && category != ELEMENTWISE_BINARY && x->opcode != HLO_CLAMP) {
    return false;
  }
  if (!shape_is_array(x->shape) || type_computed_in(x->shape->type) == x->shape->type) return false;
  for (int i = 0; i < x->operand_count; i++) {
    if (x->operands[i]->shape->type != x->shape->type) return false;
  }
  return true;
}

static bool normalize(Instruction *x, void *data) {
  if (!is_computed(x) || x->a->control_predecessors.count) return false;
  PrimitiveType type = x->shape->type, in = type_computed_in(type);
  Instruction *operands[3];
  for (int i = 0; i < x->operand_count; i++) {
    operands[i] = computation_add_convert(x->parent, x->operands[i], in);
    if (in == F32 && opcode_flushes_operands(x->opcode)) operands[i] = flushed(operands[i]);
  }
  const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, in);
  Instruction *y =
      computation_add_named(x->parent, x->opcode, shape, operands, x->operand_count, x->a, x->name);
  if (in == F32 && opcode_flushes_result(x->opcode)) y = flushed(y);
  instruction_become(x, HLO_CONVERT, &y, 1, NULL);
  return true;
}

bool pass_normalize_floats(Module *module) { return rewrite_each(module, normalize, NULL); }
