/*
** Subtracts zero points of integers in floats:
**
**     convert(w - broadcast(z))                        convert(w) - broadcast(convert(z))
**
** if the values that w and z can have show that no difference wraps and that the type of floats has all of them. Products read
** narrow numbers less zero points of f32 (kernels/contraction/scaled.h). Integers of 32 bits might wrap, as far as products know.
**
** If the floats are f16 or bf16, and are multiplied by a repeated array, both are converted to f32:
**
**     convert(w - broadcast(z)) * broadcast(s)         convert((convert(w) - broadcast(convert(z))) * broadcast(convert(s)))
**
** The inner conversions are those to f32, which has all products of such numbers. So only the product is rounded, and code that
** dequantises a matrix as a product reads it decodes no scales.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MIN_ELEMENTS, MIN_REPEATS: smaller matrices, and zeros that are as many, are no weights. No path. */
enum { MIN_ELEMENTS = 4096, MIN_REPEATS = 8 };
/* Instructions that are looked at for one interval. */
enum { MAX_STEPS = 64 };

/* The integers from min to max. */
typedef struct Interval {
  int64_t min, max;
} Interval;

/* Returns the values of an integer type; of types of 64 bits, half of them. */
static Interval values_of(PrimitiveType type) {
  int bits = type_bits(type) < 62 ? type_bits(type) : 62;
  bool is_signed = type_kind(type) == KIND_SIGNED;
  return is_signed ? (Interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1}
                   : (Interval){0, (INT64_C(1) << bits) - 1};
}

static bool is_within(Interval x, Interval all) { return x.min >= all.min && x.max <= all.max; }

static Interval sum_of(Opcode opcode, Interval x, Interval y) {
  return opcode == HLO_ADD ? (Interval){x.min + y.min, x.max + y.max}
                           : (Interval){x.min - y.max, x.max - y.min};
}

/* Returns an interval that has all values of x, an array of integers. Looks at `left` instructions, which it counts down. */
static Interval interval_of(const Instruction *x, int *left) {
  Interval all = values_of(x->shape->type), found;
  Scalar value;
  if ((*left)-- <= 0) return all;
  if (splat_value(x, &value))
    return is_within((Interval){value.i, value.i}, all) ? (Interval){value.i, value.i} : all;
  switch (x->opcode) {
  case HLO_AND:
    for (int i = 0; i < 2; i++) {
      if (splat_value(x->operands[i], &value) && value.i >= 0) return (Interval){0, value.i};
    }
    return all;
  case HLO_ADD:
  case HLO_SUBTRACT:
    found = sum_of(x->opcode, interval_of(x->operands[0], left), interval_of(x->operands[1], left));
    break;
  case HLO_CONVERT:
    if (!type_is_integral(x->operands[0]->shape->type)) return all;
    found = interval_of(x->operands[0], left);
    break;
  case HLO_BROADCAST:
  case HLO_COPY:
  case HLO_DYNAMIC_SLICE:
  case HLO_GATHER:
  case HLO_RESHAPE:
  case HLO_SLICE:
  case HLO_TRANSPOSE: found = interval_of(x->operands[0], left); break;
  default: return all;
  }
  return is_within(found, all) ? found : all;
}

/* Whether x repeats each element of a smaller array. */
static bool repeats(const Instruction *x) {
  int64_t count = shape_elements(x->shape);
  while (x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE || x->opcode == HLO_GATHER)
    x = x->operands[0];
  return shape_elements(x->shape) <= count / MIN_REPEATS;
}

/* Converts x where it has the fewest elements. */
static Instruction *converted(Instruction *x, PrimitiveType type) {
  bool moves = x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE || x->opcode == HLO_GATHER;
  if (!moves) return computation_add_convert(x->parent, x, type);
  Instruction *operands[] = {converted(x->operands[0], type),
                             x->operand_count > 1 ? x->operands[1] : NULL};
  const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, type);
  return computation_add(x->parent, x->opcode, shape, operands, x->operand_count, x->a);
}

/* Whether x converts a sum of integers with repeated ones, and its type has all values of the sum and of its operands. */
static bool is_exact_sum(const Instruction *x) {
  PrimitiveType type = x->shape->type;
  if (x->opcode != HLO_CONVERT || (type != F32 && type != BF16 && type != F16)) return false;
  const Instruction *from = x->operands[0];
  if ((from->opcode != HLO_ADD && from->opcode != HLO_SUBTRACT) ||
      !type_is_integral(from->shape->type) || shape_elements(x->shape) < MIN_ELEMENTS) {
    return false;
  }
  const Instruction *w = from->operands[0], *z = from->operands[1];
  if (!repeats(z) || repeats(w)) return false;
  int64_t most = INT64_C(1) << (type == F32 ? 24 : type == F16 ? 11 : 8);
  int left[] = {MAX_STEPS, MAX_STEPS};
  Interval exact = {-most, most}, of[] = {interval_of(w, &left[0]), interval_of(z, &left[1])};
  Interval sums = sum_of(from->opcode, of[0], of[1]);
  return is_within(of[0], exact) && is_within(of[1], exact) && is_within(sums, exact) &&
         is_within(sums, values_of(from->shape->type));
}

/* The operands of such a sum in floats. */
static void convert_operands(const Instruction *x, PrimitiveType type, Instruction *operands[2]) {
  const Instruction *from = x->operands[0];
  operands[0] = computation_add_convert(x->parent, from->operands[0], type);
  operands[1] = converted(from->operands[1], type);
}

static bool visit_product(Instruction *x, void *data) {
  PrimitiveType type = x->shape->type;
  if (x->opcode != HLO_MULTIPLY || (type != BF16 && type != F16)) return false;
  for (int i = 0; i < 2; i++) {
    Instruction *y = x->operands[i], *from = y->opcode == HLO_RESHAPE ? y->operands[0] : y;
    if (!is_exact_sum(from) || !repeats(x->operands[1 - i])) continue;
    Arena *arena = x->parent->module->arena;
    Instruction *operands[2], *factors[2];
    convert_operands(from, F32, operands);
    Instruction *sum = computation_add(x->parent, from->operands[0]->opcode,
                                       shape_with_type(arena, from->shape, F32), operands, 2, NULL);
    const Shape *shape = shape_with_type(arena, x->shape, F32);
    factors[i] = from == y ? sum : computation_add(x->parent, HLO_RESHAPE, shape, &sum, 1, NULL);
    factors[1 - i] = converted(x->operands[1 - i], F32);
    Instruction *product = computation_add(x->parent, HLO_MULTIPLY, shape, factors, 2, NULL);
    instruction_become(x, HLO_CONVERT, &product, 1, NULL);
    return true;
  }
  return false;
}

static bool visit(Instruction *x, void *data) {
  Instruction *operands[2];
  if (!is_exact_sum(x)) return false;
  convert_operands(x, x->shape->type, operands);
  instruction_become(x, x->operands[0]->opcode, operands, 2, NULL);
  return true;
}

bool pass_zero_points(Module *module) {
  bool changed = rewrite_each(module, visit_product, NULL);
  changed |= rewrite_each(module, visit, NULL);
  return module_remove_dead(module) | changed; /* packed-fields counts users */
}
