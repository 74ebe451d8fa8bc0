/* Rules of operations whose attributes name dimensions (movement, reductions, windows), and of calls of libraries. */
#include <string.h>

#include "derive/batch/batching.h"
#include "hlo/ir/lapack_calls.h"
#include "hlo/ir/shard_calls.h"

static Instruction *add_like(Batching *b, const Instruction *x, Instruction **operands,
                             const Attributes *a) {
  return add_batched(b, x, x->opcode, batched_shape(b, x->shape), operands, x->operand_count, a);
}

/* Puts the batch in front of operands [0, count). */
static void put_in_front(Batching *b, const Instruction *x, Instruction **operands, int count) {
  for (int k = 0; k < count; k++) operands[k] = in_front(b, operands[k], x->operands[k]);
}

static bool any_batched(const Instruction *x, Instruction *const *operands, int first, int end) {
  for (int k = first; k < end; k++) {
    if (is_batched(operands[k], x->operands[k])) return true;
  }
  return false;
}

/* ---- Movement ---- */

Instruction *batch_broadcast(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  a.dimensions = shifted_with_batch(b, a.dimensions);
  return add_like(b, x, operands, &a);
}

Instruction *batch_transpose(Batching *b, const Instruction *x, Instruction **operands) {
  return batch_broadcast(b, x, operands);
}

Instruction *batch_reshape(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  a.inferred_dimension = -1;
  return add_like(b, x, operands, &a);
}

Instruction *batch_slice(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  int rank = a.slice.count;
  SliceDimension *items = ARENA_ARRAY(b->arena, SliceDimension, rank + 1);
  items[0] = (SliceDimension){0, b->all->size, 1};
  for (int d = 0; d < rank; d++) items[d + 1] = a.slice.items[d];
  a.slice = (SliceConfig){rank + 1, items};
  return add_like(b, x, operands, &a);
}

/* Pads x with `value`, a scalar that is not batched. */
static Instruction *pad(Batching *b, const Instruction *x, Instruction *operand,
                        Instruction *value) {
  Attributes a = batched_attributes(x);
  PaddingDimension *items = ARENA_ARRAY(b->arena, PaddingDimension, a.padding.count + 1);
  for (int d = 0; d < a.padding.count; d++) items[d + 1] = a.padding.items[d];
  a.padding = (PaddingConfig){a.padding.count + 1, items};
  const Shape *shape = shape_with_type(b->arena, batched_shape(b, x->shape), operand->shape->type);
  return add_batched(b, x, HLO_PAD, shape, (Instruction *[]){operand, value}, 2, &a);
}

/* A batched padding value is selected where an array of `true`, padded with `false`, is false. */
Instruction *batch_pad(Batching *b, const Instruction *x, Instruction **operands) {
  Instruction *operand = in_front(b, operands[0], x->operands[0]), *value = operands[1];
  if (!is_batched(value, x->operands[1])) return pad(b, x, operand, value);
  Maker *m = &b->m;
  const Shape *mask = shape_with_type(b->arena, operand->shape, PRED);
  Instruction *inside = pad(b, x, make_number(m, mask, 1), make_zeros(m, shape_scalar(PRED)));
  Instruction *padded = pad(b, x, operand, make_zeros(m, shape_scalar(operand->shape->type)));
  value = make_broadcast(m, value, padded->shape, list_of_one(m, 0));
  return make_select(m, inside, padded, value);
}

/* The sizes of dimensions do not depend on the batch. */
Instruction *batch_dimension_size(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  a.dimensions = shifted(b, a.dimensions);
  return add_batched(b, x, x->opcode, x->shape, operands, 1, &a);
}

/* ---- Applied computations ---- */

Instruction *batch_map(Batching *b, const Instruction *x, Instruction **operands) {
  Attributes a = batched_attributes(x);
  a.dimensions = shifted_with_batch(b, a.dimensions);
  if (a.dimensions.count != x->shape->rank + 1) a.dimensions = (Int64List){0};
  put_in_front(b, x, operands, x->operand_count);
  return add_like(b, x, operands, &a);
}

/* Initial values must be scalars: batched ones are taken in turn. */
Instruction *batch_reduce(Batching *b, const Instruction *x, Instruction **operands) {
  int count = x->operand_count / 2;
  if (any_batched(x, operands, count, 2 * count)) return batch_in_turn(b, x, operands);
  Attributes a = batched_attributes(x);
  a.dimensions = shifted(b, a.dimensions);
  put_in_front(b, x, operands, count);
  return add_like(b, x, operands, &a);
}

/* reduce-window, and select-and-scatter: the window is 1 along the batch. */
Instruction *batch_window(Batching *b, const Instruction *x, Instruction **operands) {
  int count = x->opcode == HLO_REDUCE_WINDOW ? x->operand_count / 2 : 2;
  if (any_batched(x, operands, count, x->operand_count)) return batch_in_turn(b, x, operands);
  Attributes a = batched_attributes(x);
  WindowDimension *items = ARENA_ARRAY(b->arena, WindowDimension, a.window.count + 1);
  items[0] = (WindowDimension){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
  for (int d = 0; d < a.window.count; d++) items[d + 1] = a.window.items[d];
  a.window = (Window){a.window.count + 1, items};
  put_in_front(b, x, operands, count);
  return add_like(b, x, operands, &a);
}

/* ---- Random bits ---- */

/* As JAX does: the first state of the batch gives all bits, and is the only one that changes. */
Instruction *batch_generator(Batching *b, const Instruction *x, Instruction **operands) {
  Maker *m = &b->m;
  Instruction *states = operands[0];
  const Shape *state = x->operands[0]->shape;
  Instruction *first = computation_add_range(m->computation, states, 0, 0, 1);
  first = make_reshape(m, first, state);
  Attributes a = batched_attributes(x);
  if (!shape_is_tuple(x->shape)) return add_like(b, x, &first, &a);
  const Shape *elements[] = {state, batched_shape(b, x->shape->elements[1])};
  Instruction *made =
      add_batched(b, x, x->opcode, shape_tuple(b->arena, 2, elements), &first, 1, &a);
  Instruction *next = computation_add_element(m->computation, made, 0);
  int64_t dims[MAX_RANK + 1] = {1};
  for (int d = 0; d < state->rank; d++) dims[d + 1] = state->dims[d];
  next = computation_add_reshape(m->computation, next, state->rank + 1, dims);
  Instruction *update[2 + MAX_RANK + 1] = {states, next};
  Instruction *zero = make_zeros(m, shape_scalar(S32));
  for (int d = 0; d <= state->rank; d++) update[2 + d] = zero;
  Instruction *all =
      make(m, HLO_DYNAMIC_UPDATE_SLICE, states->shape, update, state->rank + 3, NULL);
  Instruction *parts[] = {all, computation_add_element(m->computation, made, 1)};
  return computation_add_tuple(m->computation, parts, 2);
}

/* ---- Libraries ---- */

const Shape *batched_with_layout(Batching *b, const Shape *source) {
  if (shape_is_tuple(source)) {
    const Shape **elements = ARENA_ARRAY(b->arena, const Shape *, source->tuple_size);
    for (int i = 0; i < source->tuple_size; i++) {
      elements[i] = batched_with_layout(b, source->elements[i]);
    }
    return shape_tuple(b->arena, source->tuple_size, elements);
  }
  const Shape *shape = batched_shape(b, source);
  if (!source->layout) return shape;
  int *order = ARENA_ARRAY(b->arena, int, source->rank + 1);
  for (int d = 0; d < source->rank; d++) order[d] = source->layout->minor_to_major[d] + 1;
  Layout *layout = ARENA_NEW(b->arena, Layout);
  layout->minor_to_major = order;
  return shape_with_layout(b->arena, shape, layout);
}

static bool is_shared_solve(const Instruction *x, Instruction *const *operands) {
  ShapeList layouts = x->a->operand_layout_constraints;
  bool fits = layouts.count < 2 || layouts.items[1]->rank == x->shape->rank;
  return strstr(x->a->custom_call_target, "trsm") && fits &&
         !is_batched(operands[0], x->operands[0]);
}

/* LAPACK's routines take any number of matrices. */
Instruction *batch_custom_call(Batching *b, const Instruction *x, Instruction **operands) {
  LapackCallSizes sizes;
  if (shard_call_kind(x) != NO_SHARD_CALL) return batch_shard_call(b, x, operands);
  if (!is_lapack_call(x) || lapack_call_sizes(x, &sizes) == LAPACK_COUNT) {
    return batch_in_turn(b, x, operands);
  }
  if (is_shared_solve(x, operands)) {
    bool left = lapack_call_attribute(x, "side", 'L') == 'L';
    return batch_shared_solve(b, x, operands, left);
  }
  Attributes a = batched_attributes(x);
  const Shape **layouts = ARENA_ARRAY(b->arena, const Shape *, a.operand_layout_constraints.count);
  for (int k = 0; k < a.operand_layout_constraints.count; k++) {
    layouts[k] = batched_with_layout(b, a.operand_layout_constraints.items[k]);
  }
  a.operand_layout_constraints.items = layouts;
  put_in_front(b, x, operands, x->operand_count);
  return add_batched(b, x, x->opcode, batched_with_layout(b, x->shape), operands, x->operand_count,
                     &a);
}
