/*
** Subtracts zero points of integers in floats:
**
**     convert(w - broadcast(z))                        convert(w) - broadcast(convert(z))
**
** if the values that w and z can have show that no difference wraps and that the type of floats has all of them. Products read
** narrow numbers less zero points of f32 (kernels/contraction/scaled.h). Integers of 32 bits might wrap, as far as products know.
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

static bool visit(Instruction *x, void *data) {
  PrimitiveType type = x->shape->type;
  if (x->opcode != HLO_CONVERT || (type != F32 && type != BF16 && type != F16)) return false;
  Instruction *from = x->operands[0];
  if ((from->opcode != HLO_ADD && from->opcode != HLO_SUBTRACT) ||
      !type_is_integral(from->shape->type) || shape_elements(x->shape) < MIN_ELEMENTS) {
    return false;
  }
  Instruction *w = from->operands[0], *z = from->operands[1];
  if (!repeats(z) || repeats(w)) return false;
  int64_t most = INT64_C(1) << (type == F32 ? 24 : type == F16 ? 11 : 8);
  int left[] = {MAX_STEPS, MAX_STEPS};
  Interval exact = {-most, most}, of[] = {interval_of(w, &left[0]), interval_of(z, &left[1])};
  Interval sums = sum_of(from->opcode, of[0], of[1]);
  if (!is_within(of[0], exact) || !is_within(of[1], exact) || !is_within(sums, exact) ||
      !is_within(sums, values_of(from->shape->type))) {
    return false;
  }
  Instruction *operands[] = {computation_add_convert(x->parent, w, type), converted(z, type)};
  instruction_become(x, from->opcode, operands, 2, NULL);
  return true;
}

bool pass_zero_points(Module *module) {
  bool changed = rewrite_each(module, visit, NULL);
  return module_remove_dead(module) | changed; /* packed-fields counts users */
}
