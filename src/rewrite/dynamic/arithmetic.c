/* Computes with the sizes of dynamic dimensions: sizes from sizes, and masks of the elements within them. */
#include "rewrite/dynamic/dynamic.h"

#include "hlo/ir/shorthand.h"

/* A marker for any dynamic size in a dry walk. */
static Instruction some_size;

const Shape *plain_shape(Dynamic *d, const Shape *shape, PrimitiveType type) {
  return shape_of(&d->at, type, shape->rank, shape->dims);
}

Instruction *size_mask(Dynamic *d, const Shape *shape, int64_t dimension, Instruction *size) {
  Instruction *places = make_iota(&d->at, S32, shape, dimension);
  return make_compare(&d->at, COMPARE_LT, places, make_splat(&d->at, size, shape));
}

Instruction *size_is_one(Dynamic *d, Instruction *size) {
  return make_compare(&d->at, COMPARE_EQ, size, size_of(d, 1));
}

Instruction *dynamic_select(Dynamic *d, Instruction *condition, Instruction *then,
                            Instruction *otherwise) {
  if (shape_is_scalar(condition->shape)) condition = make_splat(&d->at, condition, then->shape);
  Instruction *operands[] = {condition, then, otherwise};
  return make(&d->at, HLO_SELECT, then->shape, operands, 3, NULL);
}

Instruction *size_of(Dynamic *d, int64_t value) {
  return d->dry ? &some_size : computation_add_integer(d->at.computation, S32, value);
}

Instruction *size_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y) {
  return d->dry ? &some_size : make_binary(&d->at, opcode, x, y);
}

Instruction *size_or_bound(Dynamic *d, Instruction *size, int64_t bound) {
  return size ? size : size_of(d, bound);
}

void size_merge(Dynamic *d, Instruction **size, Instruction *other) {
  if (!*size) {
    *size = other;
  } else if (other && other != *size) {
    *size = size_binary(d, HLO_MINIMUM, *size, other);
  }
}

Instruction *new_operand(const Dynamic *d, const Instruction *instruction, int k) {
  Instruction *operand = instruction->operands[k];
  return d->dry ? operand : d->to[operand->id];
}
