/* Adds instructions to the working computation. */
#include <string.h>

#include "hlo/infer/inference.h"
#include "rewrite/gradient/linear.h"

Instruction *make(Linear *l, Opcode opcode, const Shape *shape, Instruction *const *operands,
                  int count, const Attributes *attributes) {
  Attributes defaults;
  attributes_init(&defaults);
  if (!shape) {
    Instruction probe = {.opcode = opcode,
                         .name = opcode_name(opcode),
                         .operand_count = count,
                         .operands = (Instruction **)operands,
                         .a = attributes ? attributes : &defaults};
    shape = infer_shape(l->arena, &probe, l->d->failed ? NULL : l->d->error);
    if (!shape) {
      l->d->failed = true;
      shape = operands[0]->shape;
    }
  }
  return computation_add(l->computation, opcode, shape, operands, count, attributes, NULL);
}

/* ---- Element-wise ---- */

Instruction *make_unary(Linear *l, Opcode opcode, Instruction *x) {
  return make(l, opcode, NULL, &x, 1, NULL);
}

Instruction *make_binary(Linear *l, Opcode opcode, Instruction *x, Instruction *y) {
  return make(l, opcode, NULL, (Instruction *[]){x, y}, 2, NULL);
}

Instruction *make_compare(Linear *l, ComparisonDirection direction, Instruction *x,
                          Instruction *y) {
  Attributes a;
  attributes_init(&a);
  a.direction = direction;
  return make(l, HLO_COMPARE, NULL, (Instruction *[]){x, y}, 2, &a);
}

Instruction *make_select(Linear *l, Instruction *p, Instruction *x, Instruction *y) {
  return make(l, HLO_SELECT, NULL, (Instruction *[]){p, x, y}, 3, NULL);
}

Instruction *make_convert(Linear *l, Instruction *x, PrimitiveType type) {
  if (x->shape->type == type) return x;
  return make(l, HLO_CONVERT, shape_with_type(l->arena, x->shape, type), &x, 1, NULL);
}

Instruction *make_conjugate(Linear *l, Instruction *x) {
  if (type_kind(x->shape->type) != KIND_COMPLEX) return x;
  Instruction *imag = make_unary(l, HLO_NEGATE, make_unary(l, HLO_IMAG, x));
  return make_binary(l, HLO_COMPLEX, make_unary(l, HLO_REAL, x), imag);
}

Instruction *make_plus(Linear *l, Instruction *x, Instruction *y) {
  if (!x || !y) return x ? x : y;
  return make_binary(l, HLO_ADD, x, y);
}

/* ---- Numbers ---- */

Instruction *make_number(Linear *l, const Shape *shape, double value) {
  Scalar real = {.f = value};
  PrimitiveType type = shape->type;
  Scalar scalar = scalar_convert(F64, type, real);
  Instruction *x = computation_add_number(l->computation, type, scalar);
  return shape->rank ? make_broadcast(l, x, shape, (Int64List){0}) : x;
}

Instruction *make_zeros(Linear *l, const Shape *shape) { return make_number(l, shape, 0); }

Instruction *make_iota(Linear *l, PrimitiveType type, const Shape *like, int64_t dimension) {
  Attributes a;
  attributes_init(&a);
  a.iota_dimension = dimension;
  return make(l, HLO_IOTA, shape_of(l, type, like->rank, like->dims), NULL, 0, &a);
}

/* ---- Movement ---- */

Int64List list_of(Linear *l, int count, const int64_t *items) {
  return (Int64List){count, arena_copy(l->arena, items, sizeof *items * (size_t)count)};
}

const Shape *shape_of(Linear *l, PrimitiveType type, int rank, const int64_t *dims) {
  const Shape *shape = shape_make(l->arena, type, rank, dims, l->d->failed ? NULL : l->d->error);
  if (shape) return shape;
  l->d->failed = true;
  return shape_scalar(type);
}

Int64List other_dimensions(Linear *l, int rank, Int64List dimensions) {
  int64_t *items = ARENA_ARRAY(l->arena, int64_t, rank);
  int count = 0;
  for (int d = 0; d < rank; d++) {
    if (!list_has(dimensions, d)) items[count++] = d;
  }
  return (Int64List){count, items};
}

Instruction *make_broadcast(Linear *l, Instruction *x, const Shape *shape, Int64List dimensions) {
  Attributes a;
  attributes_init(&a);
  a.dimensions = dimensions;
  const Shape *to = shape_of(l, x->shape->type, shape->rank, shape->dims);
  return make(l, HLO_BROADCAST, to, &x, 1, &a);
}

Instruction *make_spread(Linear *l, Instruction *x, const Shape *shape, Int64List dropped) {
  return make_broadcast(l, x, shape, other_dimensions(l, shape->rank, dropped));
}

Instruction *make_reshape(Linear *l, Instruction *x, const Shape *shape) {
  if (shape_same_dims(x->shape, shape)) return x;
  return computation_add_reshape(l->computation, x, shape->rank, shape->dims);
}

Instruction *make_transpose(Linear *l, Instruction *x, const int64_t *order) {
  return computation_add_transpose(l->computation, x, order);
}

Instruction *make_reduce(Linear *l, Opcode opcode, Instruction *x, double start,
                         Int64List dimensions) {
  if (!dimensions.count) return x;
  Attributes a;
  attributes_init(&a);
  a.dimensions = dimensions;
  a.to_apply = module_add_reducer(l->d->module, opcode, x->shape->type);
  Instruction *init = make_number(l, shape_scalar(x->shape->type), start);
  return make(l, HLO_REDUCE, NULL, (Instruction *[]){x, init}, 2, &a);
}

Instruction *make_sum(Linear *l, Instruction *x, Int64List dimensions) {
  return make_reduce(l, HLO_ADD, x, 0, dimensions);
}

Instruction *make_pad(Linear *l, Instruction *x, const PaddingDimension *padding) {
  int rank = x->shape->rank;
  bool moves = false;
  for (int d = 0; d < rank; d++) moves |= padding[d].low || padding[d].high || padding[d].interior;
  if (!moves) return x;
  Attributes a;
  attributes_init(&a);
  a.padding = (PaddingConfig){rank, arena_copy(l->arena, padding, sizeof *padding * (size_t)rank)};
  Instruction *zero = make_number(l, shape_scalar(x->shape->type), 0);
  return make(l, HLO_PAD, NULL, (Instruction *[]){x, zero}, 2, &a);
}

Instruction *make_slice(Linear *l, Instruction *x, const SliceDimension *slice) {
  int rank = x->shape->rank;
  bool cuts = false;
  for (int d = 0; d < rank; d++) {
    cuts |= slice[d].start || slice[d].limit != x->shape->dims[d] || slice[d].stride != 1;
  }
  if (!cuts) return x;
  Attributes a;
  attributes_init(&a);
  a.slice = (SliceConfig){rank, arena_copy(l->arena, slice, sizeof *slice * (size_t)rank)};
  return make(l, HLO_SLICE, NULL, &x, 1, &a);
}

/* ---- Tuples ---- */

Instruction *make_element(Linear *l, Instruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_TUPLE_OP && !note_of(l, tuple)->transpose) return tuple->operands[index];
  return computation_add_element(l->computation, tuple, index);
}

void make_leaves(Linear *l, Instruction *x, Instruction **out) {
  if (!shape_is_tuple(x->shape)) {
    *out = x;
    return;
  }
  for (int i = 0; i < x->shape->tuple_size; i++) {
    Instruction *element = make_element(l, x, i);
    make_leaves(l, element, out);
    out += shape_leaves(element->shape);
  }
}

Instruction *make_from_leaves(Linear *l, const Shape *shape, Instruction *const **leaves) {
  if (!shape_is_tuple(shape)) return *(*leaves)++;
  Instruction **elements = ARENA_ARRAY(l->arena, Instruction *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) {
    elements[i] = make_from_leaves(l, shape->elements[i], leaves);
  }
  return computation_add_tuple(l->computation, elements, shape->tuple_size);
}
