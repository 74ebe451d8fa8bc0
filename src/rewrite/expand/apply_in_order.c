/*
** Writes sort, scatter and reduce-window as scans if the computation that they apply has loops, branches or
** arrays. Then it is compiled and can be stopped anywhere. rewrite/expand/expand_applied.c does the same for
** map and reduce.
**
**     scatter         scan over the updates in order; carries are the results
**     reduce-window   scan over the results; an element is a scan over the window
**     sort            scan over lines; an order is a scan over runs of 1, 2, 4, ..., which are merged:
**                       a scan over places: each takes the next element of the left or right run
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/expand/applied.h"

/* ---- Scalars ---- */

static Instruction *with(Computation *c, Opcode opcode, Instruction *x, int64_t value) {
  return computation_add_binary(c, opcode, x, computation_add_integer(c, S64, value));
}

static Instruction *compare(Computation *c, ComparisonDirection direction, Instruction *x,
                            Instruction *y) {
  return computation_add(c, HLO_COMPARE, shape_scalar(PRED), (Instruction *[]){x, y}, 2,
                         ATTRIBUTES(.direction = direction));
}

static Instruction *both(Computation *c, Instruction *x, Instruction *y) {
  return x ? computation_add_binary(c, HLO_AND, x, y) : y;
}

/* Whether 0 <= x < end, and `valid`, which may be NULL. */
static Instruction *within(Computation *c, Instruction *valid, Instruction *x, int64_t end) {
  valid = both(c, valid, compare(c, COMPARE_GE, x, computation_add_integer(c, S64, 0)));
  return both(c, valid, compare(c, COMPARE_LT, x, computation_add_integer(c, S64, end)));
}

static Instruction *choose(Computation *c, Instruction *condition, Instruction *x, Instruction *y) {
  return computation_add(c, HLO_SELECT, x->shape, (Instruction *[]){condition, x, y}, 3, NULL);
}

/* sum + x * stride; `sum` may be NULL. */
static Instruction *offset(Computation *c, Instruction *sum, Instruction *x, int64_t stride) {
  if (stride != 1) x = with(c, HLO_MULTIPLY, x, stride);
  return sum ? computation_add_binary(c, HLO_ADD, sum, x) : x;
}

/* Returns the index in dimension d of a place in row-major order. */
static Instruction *coordinate(Computation *c, Instruction *place, const int64_t *dims, int rank,
                               int d) {
  int64_t inner = 1;
  for (int i = d + 1; i < rank; i++) inner *= dims[i];
  if (inner > 1) place = with(c, HLO_DIVIDE, place, inner);
  return d > 0 ? with(c, HLO_REMAINDER, place, dims[d]) : place;
}

/* ---- Arrays of one dimension ---- */

static Instruction *flat(Computation *c, Instruction *x) {
  int64_t count = shape_elements(x->shape);
  return computation_add_reshape(c, x, 1, &count);
}

static Instruction *iota(Computation *c, int64_t count) {
  const Shape *shape = shape_make(c->module->arena, S64, 1, &count, NULL);
  return computation_add(c, HLO_IOTA, shape, NULL, 0, NULL);
}

static Instruction *element(Computation *c, Instruction *array, Instruction *at) {
  static const int64_t one = 1;
  const Attributes *a = ATTRIBUTES(.slice_sizes = {1, &one});
  const Shape *shape = shape_make(c->module->arena, array->shape->type, 1, &one, NULL);
  Instruction *slice =
      computation_add(c, HLO_DYNAMIC_SLICE, shape, (Instruction *[]){array, at}, 2, a);
  return computation_add_reshape(c, slice, 0, NULL);
}

static Instruction *with_element(Computation *c, Instruction *array, Instruction *at,
                                 Instruction *value) {
  value = flat(c, value);
  return computation_add(c, HLO_DYNAMIC_UPDATE_SLICE, array->shape,
                         (Instruction *[]){array, value, at}, 3, NULL);
}

/* Makes a computation with a parameter for each of `operands`: an element of it, or, for a carry, all of it. */
static Computation *step_for(const Computation *caller, const char *name, Instruction **operands,
                             int count, int carries) {
  Computation *step = module_add_computation(caller->module, name);
  for (int i = 0; i < count; i++) {
    const Shape *shape = operands[i]->shape;
    if (i < count - carries) {
      shape =
          shape_make(caller->module->arena, shape->type, shape->rank - 1, shape->dims + 1, NULL);
    }
    computation_add_parameter(step, i, shape, "p");
  }
  return step;
}

/* Calls `to_apply` on `arguments` and returns the parts of the result. */
static void call(Computation *c, Computation *to_apply, Instruction **arguments,
                 Instruction **parts) {
  add_parts(c,
            computation_add(c, HLO_CALL, to_apply->root->shape, arguments,
                            to_apply->parameter_count, ATTRIBUTES(.to_apply = to_apply)),
            parts);
}

/* ---- Scatter ---- */

/* (place in the updates..., updates..., indices, results...) -> (indices, results...) */
typedef struct Scatter {
  const Instruction *x;
  int count;
  const Shape *operand, *indices, *updates;
  int64_t operand_strides[MAX_RANK], indices_strides[MAX_RANK];
} Scatter;

/* Returns the operand's dimension for this window dimension of the updates. */
static int window_dimension(const Scatter *s, int update) {
  const Attributes *a = s->x->a;
  int64_t skipped = list_index(a->update_window_dims, update);
  for (int d = 0;; d++) {
    bool has = !list_has(a->inserted_window_dims, d) && !list_has(a->input_batching_dims, d);
    if (has && skipped-- == 0) return d;
  }
}

/* Returns the position of an update in the operand; *valid: whether its whole window lies within. The walk
** takes the updates' dimensions in the order `order`. */
static Instruction *target_of(const Scatter *s, Computation *step, const int64_t *order,
                              const int64_t *places, Instruction **valid) {
  const Attributes *a = s->x->a;
  int rank = s->updates->rank;
  Instruction *place = step->parameters[0], *indices = step->parameters[1 + s->count];
  Instruction *to = computation_add_integer(step, S64, 0),
              *from = computation_add_integer(step, S64, 0);
  int64_t ends[MAX_RANK];
  for (int d = 0; d < s->operand->rank; d++) ends[d] = s->operand->dims[d];
  for (int i = 0, index = 0; i < rank; i++) {
    Instruction *at = coordinate(step, place, places, rank, i);
    if (list_has(a->update_window_dims, order[i])) {
      int d = window_dimension(s, (int)order[i]);
      ends[d] -= places[i] - 1;
      to = offset(step, to, at, s->operand_strides[d]);
      continue;
    }
    if (index == a->index_vector_dim) index++;
    int batching = list_index(a->scatter_indices_batching_dims, index);
    if (batching >= 0) {
      to = offset(step, to, at, s->operand_strides[a->input_batching_dims.items[batching]]);
    }
    from = offset(step, from, at, s->indices_strides[index++]);
  }
  bool is_scalar = a->index_vector_dim == s->indices->rank;
  *valid = NULL;
  for (int i = 0; i < a->scatter_dims_to_operand_dims.count; i++) {
    int64_t d = a->scatter_dims_to_operand_dims.items[i];
    int64_t stride = is_scalar ? 0 : s->indices_strides[a->index_vector_dim];
    Instruction *start = element(step, indices, with(step, HLO_ADD, from, i * stride));
    start = computation_add(step, HLO_CONVERT, shape_scalar(S64), &start, 1, NULL);
    *valid = within(step, *valid, start, ends[d]);
    to = offset(step, to, start, s->operand_strides[d]);
  }
  return to;
}

static Computation *scatter_step(const Scatter *s, Instruction **operands, const int64_t *order,
                                 const int64_t *places) {
  int count = s->count;
  Computation *step = step_for(s->x->parent, "scatter_step", operands, 2 * count + 2, count + 1);
  Instruction **news = ARENA_ARRAY(step->module->arena, Instruction *, count + 1);
  Instruction **arguments = ARENA_ARRAY(step->module->arena, Instruction *, 2 * count), *valid;
  Instruction **results = step->parameters + count + 2;
  Instruction *to = target_of(s, step, order, places, &valid);
  for (int k = 0; k < count; k++) {
    arguments[k] = element(step, results[k], to);
    arguments[count + k] = step->parameters[1 + k];
  }
  call(step, s->x->a->to_apply, arguments, news + 1);
  news[0] = step->parameters[1 + count];
  for (int k = 0; k < count; k++) {
    Instruction *value = valid ? choose(step, valid, news[1 + k], arguments[k]) : news[1 + k];
    news[1 + k] = with_element(step, results[k], to, value);
  }
  computation_add_tuple(step, news, count + 1);
  return step;
}

static void order_scatter(Computation *c, Instruction *x) {
  Arena *arena = c->module->arena;
  int count = (x->operand_count - 1) / 2, rank = 0;
  const Shape *updates = x->operands[count + 1]->shape;
  Scatter s = {x, count, x->operands[0]->shape, x->operands[count]->shape, updates, {0}, {0}};
  shape_strides(s.operand, s.operand_strides);
  shape_strides(s.indices, s.indices_strides);
  int64_t order[MAX_RANK], places[MAX_RANK];
  for (int window = 0; window < 2; window++) {
    for (int d = 0; d < updates->rank; d++) {
      if (list_has(x->a->update_window_dims, d) != (window == 1)) continue;
      places[rank] = updates->dims[d];
      order[rank++] = d;
    }
  }
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, 2 * count + 2);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, count + 1);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count + 1);
  operands[0] = iota(c, shape_elements(updates));
  operands[count + 1] = flat(c, x->operands[count]);
  shapes[0] = operands[count + 1]->shape;
  for (int k = 0; k < count; k++) {
    operands[1 + k] = flat(c, add_in_rows(c, x->operands[count + 1 + k], x->a->update_window_dims));
    operands[count + 2 + k] = flat(c, x->operands[k]);
    shapes[1 + k] = operands[count + 2 + k]->shape;
  }
  Computation *step = scatter_step(&s, operands, order, places);
  const Shape *result = shape_tuple(arena, count + 1, shapes);
  add_parts(c, add_scan(c, step, result, operands, 2 * count + 2, count + 1), results);
  become_parts(x, results + 1, count);
}

/* ---- Reduce-window ---- */

/* (position in the window, place of the window, operands..., so far...)
**   -> (place of the window, operands..., so far...) */
static Computation *window_step(const Instruction *x, Instruction **operands, int count) {
  const Shape *operand = x->operands[0]->shape;
  const Shape *result = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  int rank = operand->rank;
  int64_t strides[MAX_RANK], sizes[MAX_RANK];
  Computation *step = step_for(x->parent, "window_step", operands, 2 * count + 2, 2 * count + 1);
  Arena *arena = step->module->arena;
  Instruction **p = step->parameters, **news = ARENA_ARRAY(arena, Instruction *, 2 * count + 1);
  Instruction **arguments = ARENA_ARRAY(arena, Instruction *, 2 * count);
  Instruction *at = computation_add_integer(step, S64, 0), *valid = NULL;
  shape_strides(operand, strides);
  for (int d = 0; d < rank; d++) sizes[d] = x->a->window.items[d].size;
  for (int d = 0; d < rank; d++) {
    const WindowDimension *w = &x->a->window.items[d];
    Instruction *position = coordinate(step, p[0], sizes, rank, d);
    Instruction *place = coordinate(step, p[1], result->dims, rank, d);
    Instruction *i =
        offset(step, computation_add_integer(step, S64, -w->padding_low), place, w->stride);
    i = offset(step, i, position, w->window_dilation);
    if (w->base_dilation > 1) {
      Instruction *rest = with(step, HLO_REMAINDER, i, w->base_dilation);
      valid =
          both(step, valid, compare(step, COMPARE_EQ, rest, computation_add_integer(step, S64, 0)));
      valid = within(step, valid, i, INT64_MAX);
      i = with(step, HLO_DIVIDE, i, w->base_dilation);
    }
    valid = within(step, valid, i, operand->dims[d]);
    at = offset(step, at, i, strides[d]);
  }
  for (int k = 0; k < count; k++) {
    arguments[k] = p[2 + count + k];
    arguments[count + k] = element(step, p[2 + k], at);
  }
  call(step, x->a->to_apply, arguments, news + 1 + count);
  for (int i = 0; i < 1 + count; i++) news[i] = p[1 + i];
  for (int k = 0; k < count; k++) {
    Instruction **value = &news[1 + count + k];
    if (valid) *value = choose(step, valid, *value, arguments[k]);
  }
  computation_add_tuple(step, news, 2 * count + 1);
  return step;
}

/* (place of the window, operands..., initial values...) -> (result..., operands..., initial values...) */
static Computation *window_result(const Instruction *x, Instruction **operands, int count) {
  Computation *c = step_for(x->parent, "window_result", operands, 2 * count + 1, 2 * count);
  Arena *arena = c->module->arena;
  int64_t size = 1;
  for (int d = 0; d < x->a->window.count; d++) size *= x->a->window.items[d].size;
  int all = 2 * count + 1;
  Instruction **inner = ARENA_ARRAY(arena, Instruction *, all + 1);
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, all);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, all);
  inner[0] = iota(c, size);
  for (int i = 0; i < all; i++) {
    inner[1 + i] = c->parameters[i];
    shapes[i] = c->parameters[i]->shape;
  }
  Computation *step = window_step(x, inner, count);
  add_parts(c, add_scan(c, step, shape_tuple(arena, all, shapes), inner, all + 1, all), parts);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, 3 * count);
  for (int k = 0; k < count; k++) results[k] = parts[1 + count + k];
  for (int i = 0; i < 2 * count; i++) results[count + i] = c->parameters[1 + i];
  computation_add_tuple(c, results, 3 * count);
  return c;
}

static void order_reduce_window(Computation *c, Instruction *x) {
  Arena *arena = c->module->arena;
  int count = x->operand_count / 2;
  const Shape *result = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  int64_t places = shape_elements(result);
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, 2 * count + 1);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, 3 * count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, 3 * count);
  operands[0] = iota(c, places);
  for (int i = 0; i < 2 * count; i++) {
    Instruction *operand = x->operands[i];
    operands[1 + i] = i < count ? flat(c, operand) : operand;
    shapes[count + i] = operands[1 + i]->shape;
    if (i < count) shapes[i] = shape_make(arena, operand->shape->type, 1, &places, NULL);
  }
  Computation *each = window_result(x, operands, count);
  const Shape *shape = shape_tuple(arena, 3 * count, shapes);
  add_parts(c, add_scan(c, each, shape, operands, 2 * count + 1, 2 * count), results);
  become_parts(x, results, count);
}

/* ---- Sort ---- */

/* The state of merging: the order so far, and the next element of each run.
** (place, length of the runs, next of the left run, of the right one, order, operands...)
**   -> (element at that place, length, next ones, order, operands...) */
enum { PLACE, RUN, NEXT_LEFT, NEXT_RIGHT, ORDER, LINES };

static Computation *merge_step(const Instruction *x, Instruction **operands, int64_t size) {
  int count = x->operand_count;
  Computation *c = step_for(x->parent, "merge_step", operands, LINES + count, LINES + count - 1);
  Instruction **p = c->parameters, *run = p[RUN];
  Instruction **arguments = ARENA_ARRAY(c->module->arena, Instruction *, 2 * count);
  Instruction **results = ARENA_ARRAY(c->module->arena, Instruction *, LINES + count);
  Instruction *two = offset(c, NULL, run, 2), *all = computation_add_integer(c, S64, size);
  Instruction *begin = computation_add_binary(
      c, HLO_SUBTRACT, p[PLACE], computation_add_binary(c, HLO_REMAINDER, p[PLACE], two));
  Instruction *is_new = compare(c, COMPARE_EQ, p[PLACE], begin);
  Instruction *middle =
      computation_add_binary(c, HLO_MINIMUM, computation_add_binary(c, HLO_ADD, begin, run), all);
  Instruction *end =
      computation_add_binary(c, HLO_MINIMUM, computation_add_binary(c, HLO_ADD, begin, two), all);
  Instruction *left = choose(c, is_new, begin, p[NEXT_LEFT]);
  Instruction *right = choose(c, is_new, middle, p[NEXT_RIGHT]);
  Instruction *from_left = element(c, p[ORDER], left), *from_right = element(c, p[ORDER], right);
  for (int k = 0; k < count; k++) {
    arguments[2 * k] = element(c, p[LINES + k], from_right);
    arguments[2 * k + 1] = element(c, p[LINES + k], from_left);
  }
  Instruction *less;
  call(c, x->a->to_apply, arguments, &less);
  less = computation_add_binary(c, HLO_AND, less, compare(c, COMPARE_LT, right, end));
  less = computation_add_binary(c, HLO_OR, less, compare(c, COMPARE_GE, left, middle));
  Instruction *taken = computation_add(c, HLO_CONVERT, shape_scalar(S64), &less, 1, NULL);
  for (int i = 0; i < LINES + count; i++) results[i] = p[i];
  results[PLACE] = choose(c, less, from_right, from_left);
  results[NEXT_RIGHT] = computation_add_binary(c, HLO_ADD, right, taken);
  results[NEXT_LEFT] = computation_add_binary(
      c, HLO_ADD, left,
      computation_add_binary(c, HLO_SUBTRACT, computation_add_integer(c, S64, 1), taken));
  computation_add_tuple(c, results, LINES + count);
  return c;
}

/* (level, order, operands...) -> (order, operands...): merges runs of 2^level. */
static Computation *merge_level(const Instruction *x, Instruction **operands, int64_t size) {
  int count = x->operand_count;
  Computation *c = step_for(x->parent, "merge_level", operands, 2 + count, 1 + count);
  Arena *arena = c->module->arena;
  Instruction **inner = ARENA_ARRAY(arena, Instruction *, LINES + count);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, LINES + count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, LINES + count);
  inner[PLACE] = iota(c, size);
  inner[RUN] = computation_add_binary(c, HLO_SHIFT_LEFT, computation_add_integer(c, S64, 1),
                                      c->parameters[0]);
  inner[NEXT_LEFT] = inner[NEXT_RIGHT] = computation_add_integer(c, S64, 0);
  for (int i = 0; i < 1 + count; i++) inner[ORDER + i] = c->parameters[1 + i];
  for (int i = 0; i < LINES + count; i++) shapes[i] = inner[i]->shape;
  Computation *step = merge_step(x, inner, size);
  const Shape *shape = shape_tuple(arena, LINES + count, shapes);
  Instruction *scan = add_scan(c, step, shape, inner, LINES + count, LINES + count - 1);
  add_parts(c, scan, results);
  results[ORDER] = results[PLACE];
  computation_add_tuple(c, results + ORDER, 1 + count);
  return c;
}

static Instruction *in_order(Computation *c, Instruction *line, Instruction *order) {
  static const int64_t zero = 0, one = 1;
  const Int64List first = {1, &zero};
  return computation_add(c, HLO_GATHER, line->shape, (Instruction *[]){line, order}, 2,
                         ATTRIBUTES(.collapsed_slice_dims = first, .start_index_map = first,
                                    .slice_sizes = {1, &one}, .index_vector_dim = 1));
}

/* One line of each operand -> these lines, sorted. */
static Computation *sorted_line(const Instruction *x, Instruction **lines, int64_t size) {
  int count = x->operand_count, levels = 0;
  while (INT64_C(1) << levels < size) levels++;
  Computation *c = step_for(x->parent, "sorted_line", lines, count, 0);
  Arena *arena = c->module->arena;
  Instruction **inner = ARENA_ARRAY(arena, Instruction *, 2 + count);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, 1 + count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, 1 + count);
  inner[0] = iota(c, levels);
  inner[1] = iota(c, size);
  for (int k = 0; k < count; k++) inner[2 + k] = c->parameters[k];
  for (int i = 0; i < 1 + count; i++) shapes[i] = inner[1 + i]->shape;
  Computation *level = merge_level(x, inner, size);
  const Shape *shape = shape_tuple(arena, 1 + count, shapes);
  add_parts(c, add_scan(c, level, shape, inner, 2 + count, 1 + count), results);
  Instruction *order = results[0];
  for (int k = 0; k < count; k++) results[k] = in_order(c, c->parameters[k], order);
  computation_add_tuple(c, results, count);
  return c;
}

/* Transposes rows back. The sorted dimension is the last one of the rows. */
static Instruction *out_of_rows(Computation *c, Instruction *rows, const Shape *shape,
                                int64_t dimension) {
  int64_t dims[MAX_RANK], back[MAX_RANK];
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    back[d] = d == dimension ? shape->rank - 1 : d - (d > dimension);
    if (d != dimension) dims[rank++] = shape->dims[d];
  }
  dims[rank] = shape->dims[dimension];
  rows = computation_add_reshape(c, rows, shape->rank, dims);
  return computation_add_transpose(c, rows, back);
}

static void order_sort(Computation *c, Instruction *x) {
  Arena *arena = c->module->arena;
  int count = x->operand_count;
  int64_t dimension = x->a->dimensions.items[0], size = x->operands[0]->shape->dims[dimension];
  Instruction **lines = ARENA_ARRAY(arena, Instruction *, count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count);
  for (int k = 0; k < count; k++) lines[k] = x->operands[k];
  if (size == 1) {
    become_parts(x, lines, count);
    return;
  }
  for (int k = 0; k < count; k++) {
    lines[k] = add_in_rows(c, lines[k], x->a->dimensions);
    shapes[k] = lines[k]->shape;
  }
  Computation *each = sorted_line(x, lines, size);
  add_parts(c, add_scan(c, each, shape_tuple(arena, count, shapes), lines, count, 0), lines);
  for (int k = 0; k < count; k++)
    lines[k] = out_of_rows(c, lines[k], x->operands[k]->shape, dimension);
  become_parts(x, lines, count);
}

/* ---- Selection ---- */

static const struct {
  Opcode opcode;
  void (*order)(Computation *computation, Instruction *x);
} ordered[] = {
    {HLO_SORT, order_sort},
    {HLO_SCATTER, order_scatter},
    {HLO_REDUCE_WINDOW, order_reduce_window},
};

static bool apply(Instruction *x, void *data) {
  for (size_t k = 0; k < sizeof ordered / sizeof *ordered; k++) {
    if (x->opcode != ordered[k].opcode || !applies_more(x, x->a->to_apply)) continue;
    ordered[k].order(x->parent, x);
    return true;
  }
  return false;
}

bool pass_apply_in_order(Module *module) {
  module_measure(module);
  return rewrite_each(module, apply, NULL);
}
