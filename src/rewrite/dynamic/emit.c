/* Emits the instructions that compute sizes and masks of dynamic dimensions. */
#include "hlo/ir/shorthand.h"
#include "rewrite/dynamic/dynamic.h"

/* A marker for any dynamic size in a dry walk. */
static Instruction some_size;

static Arena *arena_of(const Dynamic *d) { return d->computation->module->arena; }

Instruction *emit(Dynamic *d, Opcode opcode, const Shape *shape, Instruction **operands, int count,
                  const Attributes *attributes) {
  return computation_add(d->computation, opcode, shape, operands, count, attributes, NULL);
}

Instruction *emit_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y) {
  return emit(d, opcode, x->shape, (Instruction *[]){x, y}, 2, NULL);
}

Instruction *emit_constant(Dynamic *d, PrimitiveType type, Scalar value) {
  return computation_add_number(d->computation, type, value);
}

Instruction *emit_splat(Dynamic *d, Instruction *scalar, const Shape *shape) {
  if (shape->rank == 0) return scalar;
  return emit(d, HLO_BROADCAST, plain_shape(d, shape, scalar->shape->type), &scalar, 1, NULL);
}

Instruction *emit_iota(Dynamic *d, const Shape *shape, int64_t dimension) {
  return emit(d, HLO_IOTA, plain_shape(d, shape, S32), NULL, 0,
              ATTRIBUTES(.iota_dimension = dimension));
}

Instruction *emit_element(Dynamic *d, Instruction *tuple, int64_t index) {
  return computation_add_element(d->computation, tuple, index);
}

const Shape *plain_shape(Dynamic *d, const Shape *shape, PrimitiveType type) {
  /* Cannot fail: a shape of these dimensions, of a type as wide or wider, exists. */
  Error error;
  return shape_make(arena_of(d), type, shape->rank, shape->dims, &error);
}

Instruction *emit_mask(Dynamic *d, const Shape *shape, int64_t dimension, Instruction *size) {
  const Attributes *attributes = ATTRIBUTES(.direction = COMPARE_LT);
  Instruction *operands[] = {emit_iota(d, shape, dimension), emit_splat(d, size, shape)};
  return emit(d, HLO_COMPARE, plain_shape(d, shape, PRED), operands, 2, attributes);
}

Instruction *emit_is_one(Dynamic *d, Instruction *size) {
  const Attributes *attributes = ATTRIBUTES(.direction = COMPARE_EQ);
  Instruction *operands[] = {size, size_of(d, 1)};
  return emit(d, HLO_COMPARE, shape_scalar(PRED), operands, 2, attributes);
}

Instruction *emit_choice(Dynamic *d, Instruction *condition, Instruction *then,
                         Instruction *otherwise) {
  if (shape_is_scalar(condition->shape)) condition = emit_splat(d, condition, then->shape);
  Instruction *operands[] = {condition, then, otherwise};
  return emit(d, HLO_SELECT, then->shape, operands, 3, NULL);
}

Instruction *size_of(Dynamic *d, int64_t value) {
  return d->dry ? &some_size : emit_constant(d, S32, (Scalar){.i = value});
}

Instruction *size_binary(Dynamic *d, Opcode opcode, Instruction *x, Instruction *y) {
  return d->dry ? &some_size : emit_binary(d, opcode, x, y);
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
