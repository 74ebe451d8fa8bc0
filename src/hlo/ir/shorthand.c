#include "hlo/ir/shorthand.h"

static Arena *arena_of(const Computation *computation) { return computation->module->arena; }

Instruction *computation_add_element(Computation *computation, Instruction *tuple, int64_t index) {
  return computation_add(computation, HLO_GET_TUPLE_ELEMENT, tuple->shape->elements[index], &tuple,
                         1, ATTRIBUTES(.tuple_index = index));
}

Instruction *computation_add_tuple(Computation *computation, Instruction *const *elements,
                                   int count) {
  const Shape **shapes = ARENA_ARRAY(arena_of(computation), const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = elements[i]->shape;
  const Shape *shape = shape_tuple(arena_of(computation), count, shapes);
  return computation_add(computation, HLO_TUPLE_OP, shape, elements, count, NULL);
}

Instruction *computation_add_reshape(Computation *computation, Instruction *x, int rank,
                                     const int64_t *dims) {
  const Shape *shape = shape_make(arena_of(computation), x->shape->type, rank, dims, NULL);
  return computation_add(computation, HLO_RESHAPE, shape, &x, 1, NULL);
}

Instruction *computation_add_transpose(Computation *computation, Instruction *x,
                                       const int64_t *order) {
  Arena *arena = arena_of(computation);
  int rank = x->shape->rank;
  int64_t *items = ARENA_ARRAY(arena, int64_t, rank), dims[MAX_RANK];
  bool moves = false;
  for (int d = 0; d < rank; d++) {
    items[d] = order[d];
    dims[d] = x->shape->dims[order[d]];
    moves |= order[d] != d;
  }
  if (!moves) return x;
  const Attributes *a = ATTRIBUTES(.dimensions = {rank, items});
  const Shape *shape = shape_make(arena, x->shape->type, rank, dims, NULL);
  return computation_add(computation, HLO_TRANSPOSE, shape, &x, 1, a);
}

Instruction *computation_add_convert(Computation *computation, Instruction *x, PrimitiveType type) {
  if (x->shape->type == type) return x;
  const Shape *shape = shape_with_type(computation->module->arena, x->shape, type);
  return computation_add(computation, HLO_CONVERT, shape, &x, 1, NULL);
}

Instruction *computation_add_range(Computation *computation, Instruction *x, int64_t dimension,
                                   int64_t begin, int64_t end) {
  const Shape *shape = x->shape;
  Arena *arena = arena_of(computation);
  int64_t *dims = arena_copy(arena, shape->dims, sizeof *dims * (size_t)shape->rank);
  SliceDimension *items = ARENA_ARRAY(arena, SliceDimension, shape->rank);
  for (int d = 0; d < shape->rank; d++) items[d] = (SliceDimension){0, dims[d], 1};
  items[dimension] = (SliceDimension){begin, end, 1};
  dims[dimension] = end - begin;
  return computation_add(computation, HLO_SLICE,
                         shape_make(arena, shape->type, shape->rank, dims, NULL), &x, 1,
                         ATTRIBUTES(.slice = {shape->rank, items}));
}

Instruction *computation_add_number(Computation *computation, PrimitiveType type, Scalar value) {
  Literal *literal = literal_new(arena_of(computation), shape_scalar(type));
  scalar_store(type, literal->data, 0, value);
  return computation_add_constant(computation, literal, NULL);
}

Instruction *computation_add_integer(Computation *computation, PrimitiveType type, int64_t value) {
  return computation_add_number(computation, type, (Scalar){.i = value});
}

Instruction *computation_add_binary(Computation *computation, Opcode opcode, Instruction *x,
                                    Instruction *y) {
  return computation_add(computation, opcode, x->shape, (Instruction *[]){x, y}, 2, NULL);
}

Computation *module_add_reducer(Module *module, Opcode opcode, PrimitiveType type) {
  Computation *computation = module_add_computation(module, opcode_name(opcode));
  Instruction *operands[2];
  for (int i = 0; i < 2; i++) {
    operands[i] = computation_add_parameter(computation, i, shape_scalar(type), NULL);
  }
  computation->root = computation_add(computation, opcode, shape_scalar(type), operands, 2, NULL);
  return computation;
}
