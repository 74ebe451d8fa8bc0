/*
** Rules of dynamic-slice, dynamic-update-slice, gather and scatter.
**
** Slices with one start for the whole batch stay slices. Otherwise each element of the batch has its own start, and
** the slice is a gather or a scatter of one window for each element, where the batch is a batching dimension.
*/
#include "derive/batch/batching.h"

/* ---- Start indices ---- */

typedef struct Starts {
  int count;
  Instruction *items[MAX_RANK]; /* scalars; [size] if batched */
  bool batched;                 /* any of them */
} Starts;

/* Lists the start indices from operand `first` on; an array of them is taken apart. */
static Starts starts_of(Batching *b, const Instruction *x, Instruction **operands, int first) {
  Starts s = {.count = x->operand_count - first};
  for (int i = 0; i < s.count; i++) {
    s.items[i] = operands[first + i];
    s.batched |= is_batched(s.items[i], x->operands[first + i]);
  }
  if (s.count != 1 || x->operands[first]->shape->rank == 0) return s;
  Instruction *list = operands[first];
  s.count = (int)x->operands[first]->shape->dims[0];
  for (int i = 0; i < s.count; i++) {
    Instruction *one = computation_add_range(b->m.computation, list, s.batched, i, i + 1);
    s.items[i] = computation_add_reshape(b->m.computation, one, s.batched, list->shape->dims);
  }
  return s;
}

/* Writes start indices that begin with one for the batch: 0. */
static void put_starts(Batching *b, const Starts *s, Instruction **out) {
  const Shape *scalar = s->count ? s->items[0]->shape : shape_scalar(S32);
  out[0] = make_zeros(&b->m, scalar);
  for (int i = 0; i < s->count; i++) out[i + 1] = s->items[i];
}

/* Makes an array [size, count] of the start indices. `limits` (NULL: none) are the largest ones: others are clamped. */
static Instruction *start_array(Batching *b, const Starts *s, const int64_t *limits) {
  Maker *m = &b->m;
  PrimitiveType type = s->items[0]->shape->type;
  const int64_t size = b->all->size, column[] = {size, 1}, all[] = {size, s->count};
  Instruction **columns = ARENA_ARRAY(b->arena, Instruction *, s->count);
  for (int i = 0; i < s->count; i++) {
    Instruction *one = s->items[i];
    if (limits) {
      Instruction *zero = make_zeros(m, shape_scalar(type));
      Instruction *limit = make_number(m, shape_scalar(type), (double)limits[i]);
      one = make(m, HLO_CLAMP, one->shape, (Instruction *[]){zero, one, limit}, 3, NULL);
    }
    const Shape *shape = shape_of(m, type, 2, column);
    bool batched = one->shape->rank > 0;
    columns[i] = batched ? computation_add_reshape(m->computation, one, 2, column)
                         : make_broadcast(m, one, shape, (Int64List){0});
  }
  if (s->count == 1) return columns[0];
  return make(m, HLO_CONCATENATE, shape_of(m, type, 2, all), columns, s->count,
              ATTRIBUTES(.dimensions = list_of_one(m, 1)));
}

static Int64List just_zero(Batching *b) { return list_counting(&b->m, 0, 1); }

static Int64List with_first(Batching *b, int64_t first, Int64List list) {
  int64_t *items = ARENA_ARRAY(b->arena, int64_t, list.count + 1);
  items[0] = first;
  for (int i = 0; i < list.count; i++) items[i + 1] = list.items[i];
  return (Int64List){list.count + 1, items};
}

/* ---- Slices ---- */

Instruction *batch_dynamic_slice(Batching *b, const Instruction *x, Instruction **operands) {
  bool batched = is_batched(operands[0], x->operands[0]);
  Starts s = starts_of(b, x, operands, 1);
  const Shape *shape = batched_shape(b, x->shape);
  Attributes a = batched_attributes(x);
  if (!s.batched) {
    Instruction *all[MAX_RANK + 2] = {operands[0]};
    put_starts(b, &s, all + 1);
    a.slice_sizes = with_first(b, b->all->size, a.slice_sizes);
    return add_batched(b, x, HLO_DYNAMIC_SLICE, shape, all, s.count + 2, &a);
  }
  a.offset_dims = list_counting(&b->m, 1, s.count);
  a.start_index_map = list_counting(&b->m, batched, s.count);
  a.index_vector_dim = 1;
  if (batched) {
    a.operand_batching_dims = a.start_indices_batching_dims = just_zero(b);
    a.slice_sizes = with_first(b, 1, a.slice_sizes);
  }
  Instruction *both[] = {operands[0], start_array(b, &s, NULL)};
  return add_batched(b, x, HLO_GATHER, shape, both, 2, &a);
}

/* (old, new) -> new */
static Computation *replacement(Batching *b, PrimitiveType type) {
  Computation *c = module_add_computation(b->all->module, "replace");
  computation_add_parameter(c, 0, shape_scalar(type), NULL);
  c->root = computation_add_parameter(c, 1, shape_scalar(type), NULL);
  c->keeps_root = true;
  return c;
}

Instruction *batch_dynamic_update(Batching *b, const Instruction *x, Instruction **operands) {
  for (int k = 0; k < 2; k++) operands[k] = in_front(b, operands[k], x->operands[k]);
  Starts s = starts_of(b, x, operands, 2);
  const Shape *shape = batched_shape(b, x->shape), *update = x->operands[1]->shape;
  Attributes a = batched_attributes(x);
  if (!s.batched) {
    Instruction *all[MAX_RANK + 3] = {operands[0], operands[1]};
    put_starts(b, &s, all + 2);
    return add_batched(b, x, HLO_DYNAMIC_UPDATE_SLICE, shape, all, s.count + 3, &a);
  }
  int64_t limits[MAX_RANK];
  for (int d = 0; d < s.count; d++) limits[d] = x->shape->dims[d] - update->dims[d];
  a.update_window_dims = a.scatter_dims_to_operand_dims = list_counting(&b->m, 1, s.count);
  a.input_batching_dims = a.scatter_indices_batching_dims = just_zero(b);
  a.index_vector_dim = 1;
  a.unique_indices = true;
  a.to_apply = replacement(b, shape->type);
  Instruction *all[] = {operands[0], start_array(b, &s, limits), operands[1]};
  return add_batched(b, x, HLO_SCATTER, shape, all, 3, &a);
}

/* ---- Gather and scatter ---- */

/* Batched indices are no longer sorted: those of the next element of the batch begin anew. */
Instruction *batch_gather(Batching *b, const Instruction *x, Instruction **operands) {
  bool operand = is_batched(operands[0], x->operands[0]);
  bool indices = is_batched(operands[1], x->operands[1]);
  Attributes a = batched_attributes(x);
  a.offset_dims = indices ? shifted(b, a.offset_dims) : shifted_with_batch(b, a.offset_dims);
  if (operand) {
    a.collapsed_slice_dims = shifted(b, a.collapsed_slice_dims);
    a.start_index_map = shifted(b, a.start_index_map);
    a.operand_batching_dims = indices ? shifted_with_batch(b, a.operand_batching_dims)
                                      : shifted(b, a.operand_batching_dims);
    a.slice_sizes = with_first(b, indices ? 1 : b->all->size, a.slice_sizes);
  }
  if (indices) {
    a.start_indices_batching_dims = operand ? shifted_with_batch(b, a.start_indices_batching_dims)
                                            : shifted(b, a.start_indices_batching_dims);
    a.index_vector_dim++;
    a.indices_are_sorted = false;
  }
  return add_batched(b, x, HLO_GATHER, batched_shape(b, x->shape), operands, 2, &a);
}

Instruction *batch_scatter(Batching *b, const Instruction *x, Instruction **operands) {
  int count = x->operand_count / 2;
  bool indices = is_batched(operands[count], x->operands[count]);
  for (int k = 0; k < x->operand_count; k++) {
    if (k != count) operands[k] = in_front(b, operands[k], x->operands[k]);
  }
  Attributes a = batched_attributes(x);
  a.inserted_window_dims = shifted(b, a.inserted_window_dims);
  a.scatter_dims_to_operand_dims = shifted(b, a.scatter_dims_to_operand_dims);
  if (indices) {
    a.update_window_dims = shifted(b, a.update_window_dims);
    a.input_batching_dims = shifted_with_batch(b, a.input_batching_dims);
    a.scatter_indices_batching_dims = shifted_with_batch(b, a.scatter_indices_batching_dims);
    a.index_vector_dim++;
    a.indices_are_sorted = false;
  } else {
    a.update_window_dims = shifted_with_batch(b, a.update_window_dims);
    a.input_batching_dims = shifted(b, a.input_batching_dims);
  }
  const Shape *shape = batched_shape(b, x->shape);
  return add_batched(b, x, HLO_SCATTER, shape, operands, x->operand_count, &a);
}
