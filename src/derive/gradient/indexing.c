/* Operations that read or write at indices which the program computes. Indices have no tangents. */
#include "derive/gradient/extract.h"

/* ---- Slices at computed places ---- */

/* The start indices of a slice: x's operands from number `first` on, one for each dimension or one list of all. */
typedef struct Starts {
  Instruction *const *items;
  int count;
} Starts;

static Starts starts_of(const Instruction *x, int first) {
  return (Starts){x->operands + first, x->operand_count - first};
}

static Instruction *read_slice(WorkingComputation *working, Instruction *from, const Shape *shape,
                               Starts starts) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, starts.count + 1);
  operands[0] = from;
  for (int i = 0; i < starts.count; i++) operands[i + 1] = starts.items[i];
  return make(&working->m, HLO_DYNAMIC_SLICE, NULL, operands, starts.count + 1,
              ATTRIBUTES(.slice_sizes = list_of(&working->m, shape->rank, shape->dims)));
}

static Instruction *write_slice(WorkingComputation *working, Instruction *into, Instruction *update,
                                Starts starts) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, starts.count + 2);
  operands[0] = into;
  operands[1] = update;
  for (int i = 0; i < starts.count; i++) operands[i + 2] = starts.items[i];
  return make(&working->m, HLO_DYNAMIC_UPDATE_SLICE, NULL, operands, starts.count + 2, NULL);
}

/* Adds into the cotangent that is there already, in place: a loop that reads one slice an iteration then works on as
** much as one slice an iteration. */
void transpose_dynamic_slice(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *from = x->operands[0];
  Starts starts = starts_of(x, 1);
  Instruction *before = cotangent_of(working, from), *sum = take_cotangent(working, from);
  Instruction *part = ct[0];
  if (before) part = make_plus(&working->m, read_slice(working, sum, x->shape, starts), part);
  add_cotangent(working, from, write_slice(working, sum, part, starts));
}

void transpose_dynamic_update_slice(WorkingComputation *working, Instruction *x,
                                    Instruction *const *ct) {
  Instruction *update = x->operands[1];
  Starts starts = starts_of(x, 2);
  if (is_linear(working, update)) {
    add_cotangent(working, update, read_slice(working, ct[0], update->shape, starts));
  }
  if (is_linear(working, x->operands[0])) {
    Instruction *zeros = make_zeros(&working->m, update->shape);
    add_cotangent(working, x->operands[0], write_slice(working, ct[0], zeros, starts));
  }
}

/* ---- gather ---- */

/* Returns, in the shape of the indices, the largest index for each of the dimensions that they address. */
static Instruction *index_limits(WorkingComputation *working, Instruction *indices,
                                 const Shape *operand, Int64List addressed, const int64_t *window,
                                 int64_t vector_dim) {
  PrimitiveType type = indices->shape->type;
  Literal *literal = literal_new(
      working->arena, shape_of(&working->m, type, 1, (int64_t[]){(int64_t)addressed.count}));
  for (int i = 0; i < addressed.count; i++) {
    int64_t limit = operand->dims[addressed.items[i]] - window[addressed.items[i]];
    Scalar max = scalar_highest(type);
    bool fits = type_kind(type) == KIND_UNSIGNED ? (uint64_t)limit <= max.u : limit <= max.i;
    scalar_store(type, literal->data, i, fits ? (Scalar){.i = limit} : max);
  }
  Instruction *limits = computation_add_constant(working->m.computation, literal, NULL);
  if (vector_dim == indices->shape->rank) { /* each index vector is a scalar */
    Instruction *scalar = make_reshape(&working->m, limits, shape_scalar(type));
    return make_broadcast(&working->m, scalar, indices->shape, (Int64List){0});
  }
  return make_broadcast(&working->m, limits, indices->shape, list_of(&working->m, 1, &vector_dim));
}

/* gather clamps its indices, scatter leaves out those out of range: so they are clamped first. */
void transpose_gather(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Instruction *from = x->operands[0], *indices = x->operands[1];
  const Attributes *g = x->a;
  Instruction *limits = index_limits(working, indices, from->shape, g->start_index_map,
                                     g->slice_sizes.items, g->index_vector_dim);
  Instruction *clamp[] = {make_zeros(&working->m, indices->shape), indices, limits};
  indices = make(&working->m, HLO_CLAMP, NULL, clamp, 3, NULL);
  const Attributes *a =
      ATTRIBUTES(.update_window_dims = g->offset_dims,
                 .inserted_window_dims = g->collapsed_slice_dims,
                 .scatter_dims_to_operand_dims = g->start_index_map,
                 .input_batching_dims = g->operand_batching_dims,
                 .scatter_indices_batching_dims = g->start_indices_batching_dims,
                 .index_vector_dim = g->index_vector_dim,
                 .indices_are_sorted = g->indices_are_sorted,
                 .to_apply = module_add_reducer(working->d->module, HLO_ADD, from->shape->type));
  Instruction *operands[] = {take_cotangent(working, from), indices, ct[0]};
  add_cotangent(working, from, make(&working->m, HLO_SCATTER, NULL, operands, 3, a));
}

Instruction *take_along(WorkingComputation *working, Instruction *from, Instruction *places,
                        int64_t dimension) {
  int rank = from->shape->rank;
  int64_t dims[MAX_RANK + 1], sizes[MAX_RANK];
  if (shape_elements(from->shape) == 0) {
    return make_zeros(&working->m,
                      shape_with_type(working->arena, places->shape, from->shape->type));
  }
  for (int d = 0; d < rank; d++) {
    dims[d] = places->shape->dims[d];
    sizes[d] = 1;
  }
  dims[rank] = 1;
  Attributes a;
  attributes_init(&a);
  a.collapsed_slice_dims = a.start_index_map = list_of(&working->m, 1, &dimension);
  a.operand_batching_dims = other_dimensions(&working->m, rank, a.start_index_map);
  a.start_indices_batching_dims = a.operand_batching_dims;
  a.index_vector_dim = rank;
  a.slice_sizes = list_of(&working->m, rank, sizes);
  const Shape *shape = shape_of(&working->m, places->shape->type, rank + 1, dims);
  Instruction *operands[] = {from, make_reshape(&working->m, places, shape)};
  return make(&working->m, HLO_GATHER, NULL, operands, 2, &a);
}

/* ---- sort and top-k ---- */

/* Sorts the numbers of the places, too: the tangents are then taken from these places. */
Instruction *replace_sort(WorkingComputation *working, const Instruction *x,
                          Instruction **operands) {
  int count = x->operand_count;
  int64_t dimension = x->a->dimensions.items[0];
  Instruction **all = ARENA_ARRAY(working->arena, Instruction *, count + 1);
  const Shape **shapes = ARENA_ARRAY(working->arena, const Shape *, count + 1);
  for (int k = 0; k < count; k++) all[k] = operands[k];
  all[count] = make_iota(&working->m, S32, operands[0]->shape, dimension);
  for (int k = 0; k <= count; k++) shapes[k] = all[k]->shape;
  Attributes a = *x->a;
  a.control_predecessors = (InstructionList){0};
  a.to_apply = module_clone_computation(working->d->module, x->a->to_apply, NULL);
  a.to_apply->keeps_root = true;
  for (int i = 0; i < 2; i++) {
    computation_add_parameter(a.to_apply, 2 * (int64_t)count + i, shape_scalar(S32), NULL);
  }
  const Shape *shape = shape_tuple(working->arena, count + 1, shapes);
  Instruction *sorted = make(&working->m, HLO_SORT, shape, all, count + 1, &a);
  Instruction *places = make_element(working, sorted, count);
  for (int k = 0; k < count; k++) {
    Instruction *t = tangent_of(working, operands[k]);
    all[k] = make_element(working, sorted, k);
    if (t) set_tangent(working, all[k], take_along(working, t, places, dimension));
  }
  if (!shape_is_tuple(x->shape)) return all[0];
  Instruction *tuple = computation_add_tuple(working->m.computation, all, count);
  for (int k = 0; k < count; k++) set_tangent_leaf(working, tuple, k, tangent_of(working, all[k]));
  return tuple;
}

void linearize_topk(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]), *places = make_element(working, x, 1);
  set_tangent_leaf(working, x, 0, take_along(working, t, places, t->shape->rank - 1));
}

/* ---- scatter ---- */

static bool returns_update(const Computation *c) { return c->root == c->parameters[1]; }

/* Adds a scatter with the indices of x that applies `apply`. */
static Instruction *scatter(WorkingComputation *working, const Instruction *x, Computation *apply,
                            Instruction *into, Instruction *updates) {
  Attributes a = *x->a;
  a.to_apply = apply;
  Instruction *operands[] = {into, x->operands[1], updates};
  return make(&working->m, HLO_SCATTER, into->shape, operands, 3, &a);
}

static Computation *reducer(WorkingComputation *working, Opcode opcode, const Instruction *like) {
  return module_add_reducer(working->d->module, opcode, like->shape->type);
}

/* Sums updates at their places. */
static Instruction *scatter_sum(WorkingComputation *working, const Instruction *x,
                                Instruction *updates) {
  const Shape *shape = shape_with_type(working->arena, x->operands[0]->shape, updates->shape->type);
  return scatter(working, x, reducer(working, HLO_ADD, updates), make_zeros(&working->m, shape),
                 updates);
}

/* Whether each update lies inside the operand: scatter leaves the others out. pred, in the shape of the updates. */
static Instruction *updates_inside(WorkingComputation *working, const Instruction *x,
                                   const int64_t *window) {
  Instruction *indices = x->operands[1];
  const Shape *operand = x->operands[0]->shape, *updates = x->operands[2]->shape;
  Instruction *limits = index_limits(working, indices, operand, x->a->scatter_dims_to_operand_dims,
                                     window, x->a->index_vector_dim);
  Instruction *zeros = make_zeros(&working->m, indices->shape);
  Instruction *inside =
      make_binary(&working->m, HLO_AND, make_compare(&working->m, COMPARE_GE, indices, zeros),
                  make_compare(&working->m, COMPARE_LE, indices, limits));
  if (x->a->index_vector_dim < indices->shape->rank) {
    inside = make_reduce(&working->m, HLO_AND, inside, 1,
                         list_of(&working->m, 1, &x->a->index_vector_dim));
  }
  const Shape *shape = shape_with_type(working->arena, updates, PRED);
  return make_spread(&working->m, inside, shape, x->a->update_window_dims);
}

/* Writes the sizes of the parts of the operand that the updates address. */
static void window_sizes(const Instruction *x, int64_t *sizes) {
  const Attributes *s = x->a;
  int next = 0;
  for (int d = 0; d < x->operands[0]->shape->rank; d++) {
    bool is_one = list_has(s->inserted_window_dims, d) || list_has(s->input_batching_dims, d);
    sizes[d] = is_one ? 1 : x->operands[2]->shape->dims[s->update_window_dims.items[next++]];
  }
}

/* Returns updates, and zeros in place of those that lie outside. */
static Instruction *mask_updates(WorkingComputation *working, const Instruction *x,
                                 Instruction *updates) {
  int64_t sizes[MAX_RANK];
  window_sizes(x, sizes);
  return make_select(&working->m, updates_inside(working, x, sizes), updates,
                     make_zeros(&working->m, updates->shape));
}

/* Returns the elements of `from`, an array like the operand, at the places of the updates. */
static Instruction *gather_updates(WorkingComputation *working, const Instruction *x,
                                   Instruction *from) {
  const Attributes *s = x->a;
  int rank = from->shape->rank;
  int64_t sizes[MAX_RANK];
  if (shape_elements(from->shape) == 0) {
    return make_zeros(&working->m,
                      shape_with_type(working->arena, x->operands[2]->shape, from->shape->type));
  }
  window_sizes(x, sizes);
  const Attributes *a = ATTRIBUTES(.offset_dims = s->update_window_dims,
                                   .collapsed_slice_dims = s->inserted_window_dims,
                                   .start_index_map = s->scatter_dims_to_operand_dims,
                                   .operand_batching_dims = s->input_batching_dims,
                                   .start_indices_batching_dims = s->scatter_indices_batching_dims,
                                   .index_vector_dim = s->index_vector_dim,
                                   .slice_sizes = list_of(&working->m, rank, sizes));
  Instruction *operands[] = {from, x->operands[1]};
  return mask_updates(working, x, make(&working->m, HLO_GATHER, NULL, operands, 2, a));
}

/* Makes a computation that returns an update. */
static Computation *setter(WorkingComputation *working, PrimitiveType type) {
  Computation *set = module_add_computation(working->d->module, "set");
  for (int i = 0; i < 2; i++) {
    set->root = computation_add_parameter(set, i, shape_scalar(type), NULL);
  }
  return set;
}

/* Of several updates of one element the last one stays. To know it, the updates' numbers are scattered, too. */
static Instruction *kept_updates(WorkingComputation *working, const Instruction *x,
                                 Instruction *t) {
  if (x->a->unique_indices) return t;
  const Shape *shape = t->shape;
  int64_t count = shape_elements(shape);
  const Shape *flat = shape_of(&working->m, S32, 1, &count);
  Instruction *numbers = make_reshape(&working->m, make_iota(&working->m, S32, flat, 0), shape);
  Instruction *none =
      make_number(&working->m, shape_with_type(working->arena, x->operands[0]->shape, S32), -1);
  Instruction *last =
      gather_updates(working, x, scatter(working, x, setter(working, S32), none, numbers));
  Instruction *kept = make_compare(&working->m, COMPARE_EQ, last, numbers);
  return make_select(&working->m, kept, t, make_zeros(&working->m, shape));
}

static void linearize_set(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]), *u = tangent_of(working, x->operands[2]);
  Instruction *sum = NULL;
  if (t)
    sum = scatter(working, x, x->a->to_apply, t, make_zeros(&working->m, x->operands[2]->shape));
  if (u) sum = make_plus(&working->m, sum, scatter_sum(working, x, kept_updates(working, x, u)));
  set_tangent(working, x, sum);
}

static void linearize_unique_product(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]), *u = tangent_of(working, x->operands[2]);
  Instruction *sum = NULL;
  if (t) sum = scatter(working, x, x->a->to_apply, t, x->operands[2]);
  if (u) {
    Instruction *before = gather_updates(working, x, x->operands[0]);
    sum = make_plus(&working->m, sum,
                    scatter_sum(working, x, make_binary(&working->m, HLO_MULTIPLY, u, before)));
  }
  set_tangent(working, x, sum);
}

/* Makes a computation (f, x, g, y) -> (f | g, g ? y : x y): products of runs, each of which begins where its flag is set. */
static Computation *products_of_runs(WorkingComputation *working, PrimitiveType type) {
  Computation *c = module_add_computation(working->d->module, "products");
  const Shape *number = shape_scalar(type), *pred = shape_scalar(PRED);
  Instruction *p[4];
  for (int i = 0; i < 4; i++) p[i] = computation_add_parameter(c, i, i % 2 ? number : pred, NULL);
  Instruction *product =
      computation_add(c, HLO_MULTIPLY, number, (Instruction *[]){p[1], p[3]}, 2, NULL);
  Instruction *results[] = {
      computation_add(c, HLO_OR, pred, (Instruction *[]){p[0], p[2]}, 2, NULL),
      computation_add(c, HLO_SELECT, number, (Instruction *[]){p[2], p[3], product}, 3, NULL)};
  c->root = computation_add_tuple(c, results, 2);
  c->keeps_root = true;
  return c;
}

/* Sorts numbers of elements, and in the same order their updates; updates that lie outside have number 0. Writes both to
** `out`. */
static void sort_by_number(WorkingComputation *working, Instruction *numbers, Instruction *values,
                           Instruction **out) {
  Computation *c = module_add_computation(working->d->module, "less");
  Instruction *p[4];
  for (int i = 0; i < 4; i++) {
    const Shape *scalar = shape_scalar((i < 2 ? numbers : values)->shape->type);
    p[i] = computation_add_parameter(c, i, scalar, NULL);
  }
  c->root = computation_add(c, HLO_COMPARE, shape_scalar(PRED), p, 2,
                            ATTRIBUTES(.direction = COMPARE_LT));
  c->keeps_root = true;
  const Shape *shapes[] = {numbers->shape, values->shape};
  Instruction *sorted =
      make(&working->m, HLO_SORT, shape_tuple(working->arena, 2, shapes),
           (Instruction *[]){numbers, values}, 2,
           ATTRIBUTES(.dimensions = list_of_one(&working->m, 0), .is_stable = true, .to_apply = c));
  for (int i = 0; i < 2; i++) out[i] = make_element(working, sorted, i);
}

/* Whether each number differs from the one before it, or from the one after it. */
static Instruction *differs(WorkingComputation *working, Instruction *numbers, bool after) {
  PaddingDimension shift[] = {{after ? -1 : 1, after ? 1 : -1, 0}};
  return make_compare(&working->m, COMPARE_NE, numbers, make_pad(&working->m, numbers, shift));
}

/* Sorts updates by their places, and multiplies those of each place: then no place has two updates. */
static Instruction *define_scatter_product(WorkingComputation *working, const Instruction *x,
                                           Instruction **operands) {
  Maker *m = &working->m;
  Instruction same = *x, *into = operands[0], *updates = operands[2], *sorted[2];
  PrimitiveType type = updates->shape->type;
  int64_t size = shape_elements(into->shape), count = shape_elements(updates->shape), one = 1;
  same.operands = operands;
  Instruction *numbers = make_iota(m, S32, shape_of(m, S32, 1, &size), 0);
  numbers = make_binary(m, HLO_ADD, numbers, make_number(m, numbers->shape, 1));
  numbers = make_reshape(m, numbers, shape_with_type(working->arena, into->shape, S32));
  const Shape *line = shape_of(m, type, 1, &count), *line_of_numbers = shape_of(m, S32, 1, &count);
  numbers = make_reshape(m, gather_updates(working, &same, numbers), line_of_numbers);
  sort_by_number(working, numbers, make_reshape(m, updates, line), sorted);
  numbers = sorted[0];
  WindowDimension *window = ARENA_NEW(working->arena, WindowDimension);
  *window = (WindowDimension){count, 1, count - 1, 0, 1, 1, false};
  Instruction *scan[] = {differs(working, numbers, false), sorted[1],
                         make_zeros(m, shape_scalar(PRED)), make_number(m, shape_scalar(type), 1)};
  const Shape *shapes[] = {shape_of(m, PRED, 1, &count), line};
  Instruction *products =
      make(m, HLO_REDUCE_WINDOW, shape_tuple(working->arena, 2, shapes), scan, 4,
           ATTRIBUTES(.window = {1, window}, .to_apply = products_of_runs(working, type)));
  Instruction *none = make_zeros(m, line_of_numbers), *minus_one = make_number(m, none->shape, -1);
  Instruction *places = make_select(m, differs(working, numbers, true), numbers, none);
  Instruction *flat[] = {make_reshape(m, into, shape_of(m, type, 1, &size)),
                         make_binary(m, HLO_ADD, places, minus_one),
                         make_element(working, products, 1)};
  Int64List first = list_of_one(m, 0);
  Instruction *result =
      make(m, HLO_SCATTER, NULL, flat, 3,
           ATTRIBUTES(.inserted_window_dims = first, .scatter_dims_to_operand_dims = first,
                      .index_vector_dim = one, .unique_indices = true,
                      .to_apply = reducer(working, HLO_MULTIPLY, updates)));
  return make_reshape(m, result, x->shape);
}

static void linearize_scatter_product(WorkingComputation *working, Instruction *x) {
  bool is_empty = !shape_elements(x->shape) || !shape_elements(x->operands[2]->shape);
  if (x->a->unique_indices || is_empty || !has_tangent(working, x->operands[2])) {
    linearize_unique_product(working, x);
  } else {
    linearize_by_definition(working, x, define_scatter_product);
  }
}

/* Max and min: the operand's element and the updates that equal the result share its tangent equally. */
static void linearize_scatter_extremum(WorkingComputation *working, Instruction *x) {
  Instruction *of = x->operands[0], *updates = x->operands[2];
  PrimitiveType type = x->shape->type;
  Instruction *t = tangent_of(working, of), *u = tangent_of(working, updates), *sum = NULL;
  Instruction *same = make_convert(&working->m, make_compare(&working->m, COMPARE_EQ, of, x), type);
  Instruction *result = gather_updates(working, x, x);
  Instruction *hits =
      make_convert(&working->m, make_compare(&working->m, COMPARE_EQ, updates, result), type);
  Instruction *count = make_plus(&working->m, same, scatter_sum(working, x, hits));
  if (t) sum = make_binary(&working->m, HLO_MULTIPLY, t, same);
  if (u)
    sum = make_plus(&working->m, sum,
                    scatter_sum(working, x, make_binary(&working->m, HLO_MULTIPLY, u, hits)));
  set_tangent(working, x, make_binary(&working->m, HLO_DIVIDE, sum, count));
}

/* Returns the scatter of array i of several, without adding it: for its operands, its indices and its shape. */
static Instruction *one_of(WorkingComputation *working, const Instruction *x, int i) {
  int n = x->operand_count / 2;
  Instruction *one = ARENA_NEW(working->arena, Instruction);
  *one = *x;
  one->operands = ARENA_ARRAY(working->arena, Instruction *, 3);
  one->operands[0] = x->operands[i];
  one->operands[1] = x->operands[n];
  one->operands[2] = x->operands[n + 1 + i];
  one->operand_count = 3;
  one->shape = x->operands[i]->shape;
  return one;
}

/* Returns the updates, with no slopes for those that lie outside: theirs may be infinite, and count 0 times. */
static Instruction *masked_update(WorkingComputation *working, const Instruction *x) {
  Instruction *u = x->operands[2], *t = tangent_of(working, u);
  if (!t || !shape_elements(x->shape)) return u;
  Instruction *copy = make(&working->m, HLO_COPY, u->shape, &u, 1, NULL);
  set_tangent(working, copy, mask_updates(working, x, t));
  return copy;
}

/* Any computation f(elements, updates) of one or more arrays, if no two updates have the same place: an element becomes
** f(its old value, u). */
static void linearize_scatter_computation(WorkingComputation *working, Instruction *x) {
  int n = x->operand_count / 2;
  Instruction **arrays = ARENA_ARRAY(working->arena, Instruction *, 2 * n);
  Instruction **after = ARENA_ARRAY(working->arena, Instruction *, n);
  if (!x->a->unique_indices) {
    refuse_derivative(
        working, x,
        n > 1 ? "updates several arrays, one of which depends on another, at indices "
                "that may be equal; state unique_indices=true"
              : "updates by a computation other than add, subtract, multiply, "
                "maximum, minimum, or the update itself, at indices that may be equal; state "
                "unique_indices=true");
    return;
  }
  for (int i = 0; i < n; i++) {
    Instruction *t = tangent_of(working, x->operands[i]), *one = one_of(working, x, i);
    arrays[i] = gather_updates(working, one, x->operands[i]);
    arrays[n + i] = masked_update(working, one);
    if (t) set_tangent(working, arrays[i], gather_updates(working, one, t));
  }
  if (!inline_for_arrays(working, x, n, arrays, after)) {
    refuse_derivative(working, x, "updates by a computation that is not element-wise");
    return;
  }
  for (int i = 0; i < n; i++) {
    Instruction *t = tangent_of(working, x->operands[i]), *one = one_of(working, x, i), *sum = NULL;
    Instruction *change = tangent_of(working, after[i]),
                *zeros = make_zeros(&working->m, arrays[n + i]->shape);
    if (t) sum = scatter(working, one, setter(working, one->shape->type), t, zeros);
    if (change) sum = make_plus(&working->m, sum, scatter_sum(working, one, change));
    set_tangent_leaf(working, x, i, sum);
  }
}

/* Returns the computation of array i of n alone; NULL if it also depends on other arrays. */
static Computation *own_update(WorkingComputation *working, Computation *c, int i, int n) {
  WorkingComputation from = {.d = working->d, .arena = working->arena, .m = {.computation = c}};
  if (c->root->opcode != HLO_TUPLE_OP) return NULL;
  computation_renumber(c);
  Extraction e = extract_begin(&from, "update");
  for (int k = 0; k < 2; k++) {
    const Instruction *parameter = c->parameters[k * n + i];
    extract_bind(&e, parameter, computation_add_parameter(e.to, k, parameter->shape, NULL));
  }
  e.to->root = extract(&e, c->root->operands[i]);
  e.to->keeps_root = true;
  for (int k = 0; k < 2 * n; k++) {
    if (k % n != i && e.map[c->parameters[k]->id]) return NULL;
  }
  return e.to;
}

/* Several arrays at the same indices are several scatters, if no array depends on another. */
static void linearize_several(WorkingComputation *working, Instruction *x) {
  int n = x->operand_count / 2;
  Computation **apply = ARENA_ARRAY(working->arena, Computation *, n);
  for (int i = 0; i < n; i++) {
    apply[i] = own_update(working, x->a->to_apply, i, n);
    if (!apply[i]) return linearize_scatter_computation(working, x);
  }
  for (int i = 0; i < n; i++) {
    Attributes a = *x->a;
    if (!has_derivative(x->shape->elements[i])) continue;
    a.to_apply = apply[i];
    Instruction *operands[] = {x->operands[i], x->operands[n], x->operands[n + 1 + i]};
    if (!has_tangent(working, operands[0]) && !has_tangent(working, operands[2])) continue;
    Instruction *one = make(&working->m, HLO_SCATTER, x->shape->elements[i], operands, 3, &a);
    linearize_scatter(working, one);
    set_tangent_leaf(working, x, i, tangent_of(working, one));
  }
}

void linearize_scatter(WorkingComputation *working, Instruction *x) {
  if (x->operand_count != 3) {
    linearize_several(working, x);
    return;
  }
  Computation *apply = x->a->to_apply;
  Opcode opcode = computation_simple_binary(apply);
  Instruction *t = tangent_of(working, x->operands[0]), *u = tangent_of(working, x->operands[2]);
  if (returns_update(apply)) {
    linearize_set(working, x);
  } else if (opcode == HLO_ADD || opcode == HLO_SUBTRACT) {
    if (!t) t = make_zeros(&working->m, x->shape);
    if (!u) u = make_zeros(&working->m, x->operands[2]->shape);
    if (opcode == HLO_SUBTRACT) u = make_unary(&working->m, HLO_NEGATE, u);
    set_tangent(working, x, scatter(working, x, reducer(working, HLO_ADD, u), t, u));
  } else if (opcode == HLO_MULTIPLY) {
    linearize_scatter_product(working, x);
  } else if (opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM) {
    linearize_scatter_extremum(working, x);
  } else {
    linearize_scatter_computation(working, x);
  }
}

/* A linear scatter adds; or it sets or multiplies elements of a linear operand, by updates that are not linear. */
void transpose_scatter(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  bool adds = computation_simple_binary(x->a->to_apply) == HLO_ADD;
  if (is_linear(working, x->operands[0])) {
    Instruction *back = adds ? ct[0] : scatter(working, x, x->a->to_apply, ct[0], x->operands[2]);
    add_cotangent(working, x->operands[0], back);
  }
  if (is_linear(working, x->operands[2])) {
    add_cotangent(working, x->operands[2], gather_updates(working, x, ct[0]));
  }
}
