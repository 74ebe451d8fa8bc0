/*
** Evaluates scatter, of one operand or several, by any update computation.
**
** The dimensions of the updates are those of the window (update_window_dims) and those of the
** indices. Indices are taken in row-major order, so repeated ones are applied in order. For each, the window
** of updates is combined with the operand at the index vector: result = f(result, update). A window that
** does not lie wholly within the operand is skipped, as in XLA:CPU.
*/
#include "reference/eval.h"
#include "reference/walk.h"

/* The arrays of the walks: offsets into updates, operand and indices. */
enum { UPDATES, OPERAND, INDICES };

typedef struct Scatter {
  int count; /* operands */
  const Attributes *a;
  const Shape *operand, *indices, *updates;
  int64_t operand_strides[MAX_RANK], indices_strides[MAX_RANK], updates_strides[MAX_RANK];
  Walk windows, window;
  int64_t limit[MAX_RANK]; /* by component of the index vector: its largest valid value */
  EvalApply *apply;
  Scalar *arguments; /* 3 * count: current values, updates, new values */
} Scatter;

/* Walks the dimensions of the indices except the index vector's, which are those of the updates outside the
** window. A batching dimension steps through the operand as well. */
static void init_windows(Scatter *s) {
  walk_init(&s->windows);
  for (int d = 0, index_dim = 0; d < s->updates->rank; d++) {
    if (list_has(s->a->update_window_dims, d)) continue;
    if (index_dim == s->a->index_vector_dim) index_dim++;
    int batching = list_index(s->a->scatter_indices_batching_dims, index_dim);
    int64_t operand_stride = 0;
    if (batching >= 0) {
      operand_stride = s->operand_strides[s->a->input_batching_dims.items[batching]];
    }
    walk_add(&s->windows, s->updates->dims[d], s->updates_strides[d], operand_stride,
             s->indices_strides[index_dim++]);
  }
}

/* Walks the window: its dimensions in the updates and in the operand. */
static void init_window(Scatter *s) {
  int64_t size[MAX_RANK];
  walk_init(&s->window);
  for (int d = 0, w = 0; d < s->operand->rank; d++) {
    size[d] = 1;
    if (list_has(s->a->inserted_window_dims, d) || list_has(s->a->input_batching_dims, d)) {
      continue;
    }
    int64_t update_dim = s->a->update_window_dims.items[w++];
    size[d] = s->updates->dims[update_dim];
    walk_add(&s->window, size[d], s->updates_strides[update_dim], s->operand_strides[d], 0);
  }
  for (int i = 0; i < s->a->scatter_dims_to_operand_dims.count; i++) {
    int64_t d = s->a->scatter_dims_to_operand_dims.items[i];
    s->limit[i] = s->operand->dims[d] - size[d];
  }
}

/* Returns the window's start in the operand of the current update; -1 if it is not within it. */
static int64_t window_start(const Scatter *s, const Literal *indices) {
  const Int64List *map = &s->a->scatter_dims_to_operand_dims;
  bool is_scalar = s->a->index_vector_dim == s->indices->rank;
  int64_t stride = is_scalar ? 0 : s->indices_strides[s->a->index_vector_dim];
  int64_t at = s->windows.offset[OPERAND];
  for (int i = 0; i < map->count; i++) {
    int64_t position = s->windows.offset[INDICES] + i * stride;
    Scalar index = scalar_load(s->indices->type, indices->data, position);
    /* An unsigned index beyond 2^63 looks negative; it is out of bounds either way. */
    if (index.i < 0 || index.i > s->limit[i]) return -1;
    at += index.i * s->operand_strides[map->items[i]];
  }
  return at;
}

static bool scatter_window(Scatter *s, int64_t start, Literal *const *updates, Literal **results) {
  int count = s->count;
  if (s->window.count == 0) return true;
  do {
    int64_t from = s->windows.offset[UPDATES] + s->window.offset[UPDATES];
    int64_t to = start + s->window.offset[OPERAND];
    for (int k = 0; k < count; k++) {
      s->arguments[k] = scalar_load(results[k]->shape->type, results[k]->data, to);
      s->arguments[count + k] = scalar_load(updates[k]->shape->type, updates[k]->data, from);
    }
    if (!eval_apply(s->apply, s->arguments, s->arguments + 2 * count)) return false;
    for (int k = 0; k < count; k++) {
      scalar_store(results[k]->shape->type, results[k]->data, to, s->arguments[2 * count + k]);
    }
  } while (walk_next(&s->window));
  return true;
}

int64_t scatter_steps(const Instruction *scatter, int64_t *elements) {
  const Shape *updates = scatter->operands[(scatter->operand_count + 1) / 2]->shape;
  int64_t steps = 1;
  *elements = 1;
  for (int d = 0; d < updates->rank; d++) {
    bool is_window = list_has(scatter->a->update_window_dims, d);
    *(is_window ? elements : &steps) *= updates->dims[d];
  }
  return steps;
}

bool eval_scatter(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  int count = (instruction->operand_count - 1) / 2;
  const Literal *indices = operands[count];
  Literal *const *updates = operands + count + 1;
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  int64_t part[2], each;
  evaluation_part(context, scatter_steps(instruction, &each), part);
  Scatter s = {.count = count,
               .a = instruction->a,
               .operand = operands[0]->shape,
               .indices = indices->shape,
               .updates = updates[0]->shape,
               .apply = eval_apply_new(instruction->a->to_apply, context),
               .arguments = ARENA_ARRAY(context->arena, Scalar, 3 * count)};
  if (!s.apply) return false;
  shape_strides(s.operand, s.operand_strides);
  shape_strides(s.indices, s.indices_strides);
  shape_strides(s.updates, s.updates_strides);
  init_windows(&s);
  init_window(&s);
  for (int k = 0; k < count && part[0] == 0; k++) literal_copy_data(operands[k], results[k]);
  if (part[0] < part[1]) walk_go(&s.windows, part[0]);
  for (int64_t i = part[0]; i < part[1]; i++, walk_next(&s.windows)) {
    int64_t start = window_start(&s, indices);
    if (start >= 0 && !scatter_window(&s, start, updates, results)) return false;
  }
  return true;
}
