#include "rewrite/base/make.h"

#include "hlo/infer/inference.h"
#include "hlo/ir/shorthand.h"

static Arena *arena_of(const Maker *m) { return m->computation->module->arena; }

Instruction *make(Maker *m, Opcode opcode, const Shape *shape, Instruction *const *operands,
                  int count, const Attributes *attributes) {
  Attributes defaults;
  attributes_init(&defaults);
  if (!shape) {
    Instruction probe = {.opcode = opcode,
                         .name = opcode_name(opcode),
                         .operand_count = count,
                         .operands = (Instruction **)operands,
                         .a = attributes ? attributes : &defaults};
    shape = infer_shape(arena_of(m), &probe, *m->failed ? NULL : m->error);
    if (!shape) {
      *m->failed = true;
      shape = operands[0]->shape;
    }
  }
  return computation_add(m->computation, opcode, shape, operands, count, attributes);
}

/* ---- Element-wise ---- */

Instruction *make_unary(Maker *m, Opcode opcode, Instruction *x) {
  return make(m, opcode, NULL, &x, 1, NULL);
}

Instruction *make_binary(Maker *m, Opcode opcode, Instruction *x, Instruction *y) {
  return make(m, opcode, NULL, (Instruction *[]){x, y}, 2, NULL);
}

Instruction *make_compare(Maker *m, ComparisonDirection direction, Instruction *x, Instruction *y) {
  return make(m, HLO_COMPARE, NULL, (Instruction *[]){x, y}, 2, ATTRIBUTES(.direction = direction));
}

Instruction *make_select(Maker *m, Instruction *p, Instruction *x, Instruction *y) {
  return make(m, HLO_SELECT, NULL, (Instruction *[]){p, x, y}, 3, NULL);
}

Instruction *make_convert(Maker *m, Instruction *x, PrimitiveType type) {
  if (x->shape->type == type) return x;
  return make(m, HLO_CONVERT, shape_with_type(arena_of(m), x->shape, type), &x, 1, NULL);
}

Instruction *make_conjugate(Maker *m, Instruction *x) {
  if (type_kind(x->shape->type) != KIND_COMPLEX) return x;
  Instruction *imag = make_unary(m, HLO_NEGATE, make_unary(m, HLO_IMAG, x));
  return make_binary(m, HLO_COMPLEX, make_unary(m, HLO_REAL, x), imag);
}

Instruction *make_plus(Maker *m, Instruction *x, Instruction *y) {
  if (!x || !y) return x ? x : y;
  return make_binary(m, HLO_ADD, x, y);
}

/* ---- Numbers ---- */

Instruction *make_number(Maker *m, const Shape *shape, double value) {
  Scalar real = {.f = value};
  PrimitiveType type = shape->type;
  Scalar scalar = scalar_convert(F64, type, real);
  return make_splat(m, computation_add_number(m->computation, type, scalar), shape);
}

Instruction *make_splat(Maker *m, Instruction *scalar, const Shape *shape) {
  return shape->rank ? make_broadcast(m, scalar, shape, (Int64List){0}) : scalar;
}

Instruction *make_zeros(Maker *m, const Shape *shape) { return make_number(m, shape, 0); }

Instruction *make_iota(Maker *m, PrimitiveType type, const Shape *like, int64_t dimension) {
  return make(m, HLO_IOTA, shape_of(m, type, like->rank, like->dims), NULL, 0,
              ATTRIBUTES(.iota_dimension = dimension));
}

/* ---- Movement ---- */

Int64List list_of(Maker *m, int count, const int64_t *items) {
  return (Int64List){count, arena_copy(arena_of(m), items, sizeof *items * (size_t)count)};
}

Int64List list_of_one(Maker *m, int64_t item) { return list_of(m, 1, &item); }

Int64List list_counting(Maker *m, int64_t first, int count) {
  int64_t *items = ARENA_ARRAY(arena_of(m), int64_t, count);
  for (int i = 0; i < count; i++) items[i] = first + i;
  return (Int64List){count, items};
}

const Shape *shape_of(Maker *m, PrimitiveType type, int rank, const int64_t *dims) {
  const Shape *shape = shape_make(arena_of(m), type, rank, dims, *m->failed ? NULL : m->error);
  if (shape) return shape;
  *m->failed = true;
  return shape_scalar(type);
}

Int64List other_dimensions(Maker *m, int rank, Int64List dimensions) {
  int64_t *items = ARENA_ARRAY(arena_of(m), int64_t, rank);
  int count = 0;
  for (int d = 0; d < rank; d++) {
    if (!list_has(dimensions, d)) items[count++] = d;
  }
  return (Int64List){count, items};
}

Instruction *make_broadcast(Maker *m, Instruction *x, const Shape *shape, Int64List dimensions) {
  const Attributes *a = ATTRIBUTES(.dimensions = dimensions);
  const Shape *to = shape_of(m, x->shape->type, shape->rank, shape->dims);
  return make(m, HLO_BROADCAST, to, &x, 1, a);
}

Instruction *make_spread(Maker *m, Instruction *x, const Shape *shape, Int64List dropped) {
  return make_broadcast(m, x, shape, other_dimensions(m, shape->rank, dropped));
}

Instruction *make_reshape(Maker *m, Instruction *x, const Shape *shape) {
  if (shape_same_dims(x->shape, shape)) return x;
  return computation_add_reshape(m->computation, x, shape->rank, shape->dims);
}

Instruction *make_transpose(Maker *m, Instruction *x, const int64_t *order) {
  return computation_add_transpose(m->computation, x, order);
}

Instruction *make_reduce(Maker *m, Opcode opcode, Instruction *x, double start,
                         Int64List dimensions) {
  if (!dimensions.count) return x;
  const Attributes *a =
      ATTRIBUTES(.dimensions = dimensions,
                 .to_apply = module_add_reducer(m->computation->module, opcode, x->shape->type));
  Instruction *init = make_number(m, shape_scalar(x->shape->type), start);
  return make(m, HLO_REDUCE, NULL, (Instruction *[]){x, init}, 2, a);
}

Instruction *make_sum(Maker *m, Instruction *x, Int64List dimensions) {
  return make_reduce(m, HLO_ADD, x, 0, dimensions);
}

Instruction *make_pad(Maker *m, Instruction *x, const PaddingDimension *padding) {
  int rank = x->shape->rank;
  bool moves = false;
  for (int d = 0; d < rank; d++) moves |= padding[d].low || padding[d].high || padding[d].interior;
  if (!moves) return x;
  const Attributes *a = ATTRIBUTES(.padding = {rank, arena_copy(arena_of(m), padding,
                                                                sizeof *padding * (size_t)rank)});
  Instruction *zero = make_number(m, shape_scalar(x->shape->type), 0);
  return make(m, HLO_PAD, NULL, (Instruction *[]){x, zero}, 2, a);
}

Instruction *make_slice(Maker *m, Instruction *x, const SliceDimension *slice) {
  int rank = x->shape->rank;
  bool cuts = false;
  for (int d = 0; d < rank; d++) {
    cuts |= slice[d].start || slice[d].limit != x->shape->dims[d] || slice[d].stride != 1;
  }
  if (!cuts) return x;
  return make(
      m, HLO_SLICE, NULL, &x, 1,
      ATTRIBUTES(.slice = {rank, arena_copy(arena_of(m), slice, sizeof *slice * (size_t)rank)}));
}

/* ---- Tuples ---- */

Instruction **value_leaves(Maker *m, Instruction *value, Instruction **out) {
  if (!shape_is_tuple(value->shape)) {
    *out = value;
    return out + 1;
  }
  for (int i = 0; i < value->shape->tuple_size; i++) {
    bool has_parts = value->opcode == HLO_TUPLE_OP;
    Instruction *element =
        has_parts ? value->operands[i] : computation_add_element(m->computation, value, i);
    out = value_leaves(m, element, out);
  }
  return out;
}

Instruction *value_from_leaves(Maker *m, const Shape *form, Instruction *const **leaves) {
  if (!shape_is_tuple(form)) return *(*leaves)++;
  Instruction **elements = ARENA_ARRAY(arena_of(m), Instruction *, form->tuple_size);
  for (int i = 0; i < form->tuple_size; i++) {
    elements[i] = value_from_leaves(m, form->elements[i], leaves);
  }
  return computation_add_tuple(m->computation, elements, form->tuple_size);
}
