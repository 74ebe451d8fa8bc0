/*
** Differentiates reductions by a computation that has no rule of its own.
**
** Such a reduction is written as applications of the computation to whole arrays, which have derivatives. The computation
** is associative, so neighbours may be combined first. Only products, maxima and minima change the order of elements.
**
**     reduce                 combines pairs of neighbours, or x[0:n/2] with x[n/2:n], until one element is left
**     cumulative windows     combines pairs, scans these, and combines each scanned pair with the next element: about 2n
**                            applications (Blelloch, 1990). This is the order of jax.lax.associative_scan, which decides
**                            the slopes of equal elements.
**     other windows          one dimension after the other: makes runs of 1, 2, 4, ... elements, and each window of runs
**
** The initial value is combined once with each result. Masks say which places are padding; these are never combined.
**
** The applications are put in the place of the operation.
*/
#include <math.h>

#include "derive/gradient/linear.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

typedef struct Tree {
  WorkingComputation *working;
  Arena *arena;
  const Instruction *x;
  Instruction **operands; /* of x, in the working computation */
  Computation *apply;
  Computation *to; /* where instructions are added */
  int count;       /* arrays that are reduced together */
  Instruction **values, **inits;
  bool backwards; /* the second operand of an application comes before the first one */
} Tree;

static const Shape *result_shape(const Tree *t, int i) {
  return shape_is_tuple(t->x->shape) ? t->x->shape->elements[i] : t->x->shape;
}

static Tree tree_begin(WorkingComputation *working, const Instruction *x, Instruction **operands) {
  Tree t = {.working = working,
            .arena = working->arena,
            .x = x,
            .operands = operands,
            .apply = x->a->to_apply,
            .count = x->operand_count / 2};
  t.to = module_add_computation(working->d->module, "reduction");
  t.values = ARENA_ARRAY(working->arena, Instruction *, t.count);
  t.inits = ARENA_ARRAY(working->arena, Instruction *, t.count);
  for (int i = 0; i < t.count; i++) {
    t.values[i] = computation_add_parameter(t.to, i, x->operands[i]->shape, NULL);
  }
  for (int i = 0; i < t.count; i++) {
    t.inits[i] =
        computation_add_parameter(t.to, t.count + i, x->operands[t.count + i]->shape, NULL);
  }
  return t;
}

/* Whether a computation consists of element-wise operations, and perhaps a tuple as its result. */
static bool is_elementwise(const Computation *c) {
  for (int i = 0; i < c->count; i++) {
    const Instruction *x = c->instructions[i];
    bool is_leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT;
    bool is_result = x->opcode == HLO_TUPLE_OP && x == c->root;
    if (!opcode_is_elementwise(x->opcode) && !is_leaf && !is_result) return false;
  }
  return true;
}

/* Copies one operation on elements as an operation on arrays. */
static Instruction *copy_for_arrays(const Tree *t, const Instruction *x, Instruction **copies,
                                    const Shape *like) {
  const Shape *shape = shape_with_type(t->arena, like, x->shape->type);
  if (x->opcode == HLO_CONSTANT) {
    Instruction *scalar = computation_add_constant(t->to, x->literal, NULL);
    if (!like->rank) return scalar;
    return computation_add(t->to, HLO_BROADCAST, shape, &scalar, 1, NULL);
  }
  Instruction *operands[3];
  for (int k = 0; k < x->operand_count; k++) operands[k] = copies[x->operands[k]->id];
  return computation_add(t->to, x->opcode, shape, operands, x->operand_count, x->a);
}

/* Applies the computation to two lists of arrays of equal dimensions. */
static Instruction **combine(const Tree *t, Instruction **x, Instruction **y) {
  Computation *c = t->apply;
  computation_renumber(c);
  Instruction **copies = ARENA_ARRAY(t->arena, Instruction *, c->count);
  for (int i = 0; i < c->count; i++) {
    const Instruction *from = c->instructions[i];
    if (from->opcode == HLO_PARAMETER) {
      int64_t k = from->parameter_number;
      copies[i] = k < t->count ? x[k] : y[k - t->count];
    } else if (from->opcode != HLO_TUPLE_OP) {
      copies[i] = copy_for_arrays(t, from, copies, x[0]->shape);
    }
  }
  Instruction **results = ARENA_ARRAY(t->arena, Instruction *, t->count);
  const Instruction *root = c->root;
  for (int i = 0; i < t->count; i++) {
    results[i] = copies[root->opcode == HLO_TUPLE_OP ? root->operands[i]->id : root->id];
  }
  return results;
}

/* Returns `count` elements of each array along a dimension: begin, begin + step, ... */
static Instruction **every(const Tree *t, Instruction **x, int dimension, int64_t begin,
                           int64_t step, int64_t count) {
  const Shape *shape = x[0]->shape;
  if (count == shape->dims[dimension]) return x;
  SliceDimension *items = ARENA_ARRAY(t->arena, SliceDimension, shape->rank);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = shape->dims[d];
    items[d] = (SliceDimension){0, dims[d], 1};
  }
  dims[dimension] = count;
  items[dimension] = (SliceDimension){begin, begin + (count - 1) * step + 1, step};
  const Attributes *a = ATTRIBUTES(.slice = {shape->rank, items});
  Instruction **parts = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    shape = shape_of(&t->working->m, x[i]->shape->type, shape->rank, dims);
    parts[i] = computation_add(t->to, HLO_SLICE, shape, &x[i], 1, a);
  }
  return parts;
}

/* Joins y, and then z, along a dimension. */
static Instruction **join(const Tree *t, Instruction **y, Instruction **z, int64_t dimension) {
  Instruction **joined = ARENA_ARRAY(t->arena, Instruction *, t->count);
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(t->arena, &dimension, sizeof dimension)});
  for (int i = 0; i < t->count; i++) {
    int64_t dims[MAX_RANK];
    const Shape *shape = y[i]->shape;
    for (int d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
    dims[dimension] += z[i]->shape->dims[dimension];
    shape = shape_of(&t->working->m, shape->type, shape->rank, dims);
    joined[i] = computation_add(t->to, HLO_CONCATENATE, shape, (Instruction *[]){y[i], z[i]}, 2, a);
  }
  return joined;
}

/* Ends the computation, and differentiates it in the place of the operation. */
static Instruction *put_in_place(Tree *t, Instruction **values, Instruction **operands) {
  t->to->keeps_root = true;
  t->to->root =
      shape_is_tuple(t->x->shape) ? computation_add_tuple(t->to, values, t->count) : values[0];
  return linear_inline(t->working, t->to, operands);
}

static Instruction *refuse(WorkingComputation *working, const Instruction *x,
                           Instruction **operands, const char *why) {
  Instruction *kept = keep_instruction(working, x, operands);
  refuse_derivative(working, kept, why);
  return kept;
}

bool inline_for_arrays(WorkingComputation *working, const Instruction *x, int count,
                       Instruction **operands, Instruction **results) {
  if (!is_elementwise(x->a->to_apply)) return false;
  Tree t = {
      .working = working, .arena = working->arena, .x = x, .apply = x->a->to_apply, .count = count};
  t.to = module_add_computation(working->d->module, "update");
  Instruction **parameters = ARENA_ARRAY(working->arena, Instruction *, 2 * count);
  for (int i = 0; i < 2 * count; i++) {
    parameters[i] = computation_add_parameter(t.to, i, operands[i]->shape, NULL);
  }
  Instruction *all = put_in_place(&t, combine(&t, parameters, parameters + count), operands);
  for (int i = 0; i < count; i++) results[i] = count == 1 ? all : all->operands[i];
  return true;
}

/* Moves the reduced dimensions to the end, and makes one of them. */
static Instruction *in_rows(const Tree *t, Instruction *x) {
  int rank = x->shape->rank;
  Int64List outer = other_dimensions(&t->working->m, rank, t->x->a->dimensions);
  Int64List inner = other_dimensions(&t->working->m, rank, outer);
  int64_t order[MAX_RANK], sizes[2] = {1, 1};
  for (int i = 0; i < outer.count; i++) order[i] = outer.items[i];
  for (int i = 0; i < inner.count; i++) order[outer.count + i] = inner.items[i];
  for (int i = 0; i < rank; i++) sizes[i >= outer.count] *= x->shape->dims[order[i]];
  return computation_add_reshape(t->to, computation_add_transpose(t->to, x, order), 2, sizes);
}

bool is_neutral(Opcode opcode, const Instruction *init) {
  Scalar value;
  if (!splat_value(init, &value)) return false;
  switch (opcode) {
  case HLO_MULTIPLY: return value.f == 1 && value.im == 0;
  case HLO_MAXIMUM: return value.f == -INFINITY;
  case HLO_MINIMUM: return value.f == INFINITY;
  default: return false;
  }
}

static bool commutes(const Computation *c) {
  Opcode opcode = computation_simple_binary(c);
  return opcode == HLO_MULTIPLY || opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
}

static Instruction **broadcast_inits(const Tree *t, const Shape *like) {
  Instruction **inits = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    const Shape *shape = shape_with_type(t->arena, like, t->inits[i]->shape->type);
    inits[i] = like->rank ? computation_add(t->to, HLO_BROADCAST, shape, &t->inits[i], 1, NULL)
                          : t->inits[i];
  }
  return inits;
}

/* Applies the computation to the initial values and each result, unless these are known to change none. */
static Instruction **with_inits(const Tree *t, Instruction **results) {
  if (t->count == 1 && is_neutral(computation_simple_binary(t->apply), t->operands[1])) {
    return results;
  }
  return combine(t, broadcast_inits(t, results[0]->shape), results);
}

/* Reduces rows until one element of each is left. Halves are contiguous, so faster, but change the order. */
static Instruction **reduce_rows(const Tree *t, Instruction **rows) {
  bool halves = commutes(t->apply);
  for (int64_t n = rows[0]->shape->dims[1]; n > 1; n = rows[0]->shape->dims[1]) {
    int64_t half = n / 2, step = halves ? 1 : 2, second = halves ? half : 1;
    Instruction **pairs =
        combine(t, every(t, rows, 1, 0, step, half), every(t, rows, 1, second, step, half));
    rows = n % 2 ? join(t, pairs, every(t, rows, 1, n - 1, 1, 1), 1) : pairs;
  }
  return rows;
}

Instruction *replace_by_tree(WorkingComputation *working, const Instruction *x,
                             Instruction **operands) {
  const Shape *shape = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  if (shape_elements(shape) == 0) return keep_instruction(working, x, operands);
  if (!is_elementwise(x->a->to_apply)) {
    return refuse(working, x, operands, "reduces by a computation that is not element-wise");
  }
  Tree t = tree_begin(working, x, operands);
  if (shape_elements(x->operands[0]->shape) == 0) {
    return put_in_place(&t, broadcast_inits(&t, shape), operands);
  }
  Instruction **rows = ARENA_ARRAY(working->arena, Instruction *, t.count);
  for (int i = 0; i < t.count; i++) rows[i] = in_rows(&t, t.values[i]);
  rows = reduce_rows(&t, rows);
  for (int i = 0; i < t.count; i++) {
    rows[i] = computation_add_reshape(t.to, rows[i], shape->rank, shape->dims);
  }
  return put_in_place(&t, with_inits(&t, rows), operands);
}

/* ---- Windows ---- */

/* Arrays with padding along one dimension: `valid`, a list of predicates, says which places there are elements. NULL: all. */
typedef struct Masked {
  Instruction **values, *valid;
} Masked;

static Masked all_valid(Instruction **values) { return (Masked){values, NULL}; }

/* Selects `then` where a condition along dimension d holds. */
static Instruction **select_along(const Tree *t, Instruction *condition, int d, Instruction **then,
                                  Instruction **other) {
  const Shape *like = then[0]->shape, *shape = shape_with_type(t->arena, like, PRED);
  int64_t dimension = d;
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(t->arena, &dimension, sizeof dimension)});
  condition = computation_add(t->to, HLO_BROADCAST, shape, &condition, 1, a);
  Instruction **selected = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    Instruction *operands[] = {condition, then[i], other[i]};
    selected[i] = computation_add(t->to, HLO_SELECT, then[i]->shape, operands, 3, NULL);
  }
  return selected;
}

static Instruction **combine_in_order(const Tree *t, Instruction **x, Instruction **y) {
  return t->backwards ? combine(t, y, x) : combine(t, x, y);
}

/* Applies the computation where both places are elements. Where one is padding, returns the other. */
static Masked combine_masked(const Tree *t, Masked x, Masked y, int d) {
  Masked result = all_valid(combine_in_order(t, x.values, y.values));
  if (!x.valid) return result;
  Instruction **one = select_along(t, x.valid, d, x.values, y.values);
  result.values = select_along(t, computation_add_binary(t->to, HLO_AND, x.valid, y.valid), d,
                               result.values, one);
  result.valid = computation_add_binary(t->to, HLO_OR, x.valid, y.valid);
  return result;
}

static Masked every_masked(const Tree *t, Masked x, int d, int64_t begin, int64_t step,
                           int64_t count) {
  Masked result = all_valid(every(t, x.values, d, begin, step, count));
  Tree one = *t;
  one.count = 1;
  if (x.valid) result.valid = every(&one, &x.valid, 0, begin, step, count)[0];
  return result;
}

/* Returns a predicate for each place along a padded dimension: whether it is an element. */
static Instruction *valid_places(const Tree *t, int64_t length, const WindowDimension *w,
                                 int64_t n) {
  const Shape *shape = shape_of(&t->working->m, PRED, 1, &length);
  Literal *literal = literal_new(t->arena, shape);
  for (int64_t k = 0; k < n; k++) {
    int64_t place = w->padding_low + k * w->base_dilation;
    if (place >= 0 && place < length) scalar_store(PRED, literal->data, place, (Scalar){.u = 1});
  }
  return computation_add_constant(t->to, literal, NULL);
}

/* Pads dimension d, so that all windows lie inside. Any number will do, as the mask excludes the padding. */
static Masked pad_along(const Tree *t, Instruction **x, int d) {
  const WindowDimension *w = &t->x->a->window.items[d];
  const Shape *shape = x[0]->shape;
  int64_t dims[MAX_RANK], n = shape->dims[d];
  if (!w->padding_low && !w->padding_high && w->base_dilation == 1) return all_valid(x);
  PaddingDimension *items = ARENA_ARRAY(t->arena, PaddingDimension, shape->rank);
  for (int k = 0; k < shape->rank; k++) dims[k] = shape->dims[k];
  items[d] = (PaddingDimension){w->padding_low, w->padding_high, w->base_dilation - 1};
  dims[d] = w->padding_low + (n ? (n - 1) * w->base_dilation + 1 : 0) + w->padding_high;
  const Attributes *a = ATTRIBUTES(.padding = {shape->rank, items});
  Masked result = all_valid(ARENA_ARRAY(t->arena, Instruction *, t->count));
  for (int i = 0; i < t->count; i++) {
    PrimitiveType type = x[i]->shape->type;
    Scalar one = type_is_floating(type) || type_kind(type) == KIND_COMPLEX ? (Scalar){.f = 1}
                                                                           : (Scalar){.u = 1};
    Instruction *operands[] = {x[i], computation_add_number(t->to, type, one)};
    shape = shape_of(&t->working->m, type, shape->rank, dims);
    result.values[i] = computation_add(t->to, HLO_PAD, shape, operands, 2, a);
  }
  if (w->padding_low > 0 || w->padding_high > 0 || w->base_dilation > 1) {
    result.valid = valid_places(t, dims[d], w, n);
  }
  return result;
}

/* Combines the elements of each window along dimension d. `x` holds runs of 1, 2, 4, ... elements from each place. */
static Masked slide(const Tree *t, Masked x, int d) {
  const WindowDimension *w = &t->x->a->window.items[d];
  int64_t count = result_shape(t, 0)->dims[d], begin = 0, apart = w->window_dilation;
  Masked sum = {0};
  for (int64_t size = 1; begin < w->size; size *= 2) {
    bool is_last = w->size - begin == 2 * size; /* two runs make no longer ones */
    for (int i = is_last ? 2 : (w->size & size) != 0; i > 0; i--, begin += size) {
      Masked run = every_masked(t, x, d, begin * apart, w->stride, count);
      sum = begin ? combine_masked(t, sum, run, d) : run;
    }
    if (begin == w->size) break;
    int64_t length = x.values[0]->shape->dims[d] - size * apart;
    x = combine_masked(t, every_masked(t, x, d, 0, 1, length),
                       every_masked(t, x, d, size * apart, 1, length), d);
  }
  return sum;
}

/* ---- Cumulative windows ---- */

/* Whether the windows along dimension d end at each element and hold all before it, or begin there and hold all after. */
static bool is_cumulative(const Instruction *x, int d, bool *reversed) {
  const WindowDimension *w = &x->a->window.items[d];
  int64_t n = x->operands[0]->shape->dims[d];
  *reversed = w->padding_low == 0;
  return w->stride == 1 && w->base_dilation == 1 && w->window_dilation == 1 && w->size >= n &&
         n > 1 && !w->window_reversal && w->padding_low + w->padding_high == w->size - 1 &&
         (w->padding_low == 0 || w->padding_high == 0);
}

static bool is_trivial(const WindowDimension *w) {
  return w->size == 1 && w->stride == 1 && w->base_dilation == 1 && !w->padding_low &&
         !w->padding_high;
}

bool is_scan(const Instruction *x) {
  int cumulative = 0, trivial = 0;
  bool reversed;
  for (int d = 0; d < x->a->window.count; d++) {
    trivial += is_trivial(&x->a->window.items[d]);
    cumulative += is_cumulative(x, d, &reversed);
  }
  return cumulative == 1 && trivial == x->a->window.count - 1;
}

static Instruction **reverse(const Tree *t, Instruction **x, int64_t d) {
  const Attributes *a = ATTRIBUTES(.dimensions = {1, arena_copy(t->arena, &d, sizeof d)});
  Instruction **reversed = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    reversed[i] = computation_add(t->to, HLO_REVERSE, x[i]->shape, &x[i], 1, a);
  }
  return reversed;
}

/* Puts a dimension of size 1 after dimension d, or makes dimensions d and d + 1 one. */
static Instruction **reshape_after(const Tree *t, Instruction **x, int d, bool split) {
  const Shape *shape = x[0]->shape;
  int64_t dims[MAX_RANK + 1];
  int rank = 0;
  for (int k = 0; k < shape->rank; k++) {
    if (k == d + 1 && !split) {
      dims[rank - 1] *= shape->dims[k];
    } else {
      dims[rank++] = shape->dims[k];
    }
    if (k == d && split) dims[rank++] = 1;
  }
  Instruction **reshaped = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    reshaped[i] = computation_add_reshape(t->to, x[i], rank, dims);
  }
  return reshaped;
}

/* Returns x[0], y[0], x[1], y[1], ... along a dimension; x may have one element more. */
static Instruction **interleave(const Tree *t, Instruction **x, Instruction **y, int d) {
  int64_t n = y[0]->shape->dims[d], rest = x[0]->shape->dims[d] - n;
  Instruction **first = reshape_after(t, every(t, x, d, 0, 1, n), d, true);
  Instruction **pairs = join(t, first, reshape_after(t, y, d, true), d + 1);
  pairs = reshape_after(t, pairs, d, false);
  return rest ? join(t, pairs, every(t, x, d, n, 1, 1), d) : pairs;
}

static Instruction **scan(const Tree *t, Instruction **x, int d) {
  int64_t n = x[0]->shape->dims[d], half = n / 2, rest = (n - 1) / 2;
  if (n < 2) return x;
  Instruction **pairs = combine_in_order(t, every(t, x, d, 0, 2, half), every(t, x, d, 1, 2, half));
  Instruction **odd = scan(t, pairs, d), **even = every(t, x, d, 0, 1, 1);
  if (rest) {
    Instruction **before = every(t, odd, d, 0, 1, rest), **next = every(t, x, d, 2, 2, rest);
    even = join(t, even, combine_in_order(t, before, next), d);
  }
  return interleave(t, even, odd, d);
}

/* ---- All windows ---- */

/* The last dimension comes first: so the order of a window's elements is row-major. */
static Instruction **combine_windows(Tree *t) {
  const Attributes *a = t->x->a;
  Instruction **x = t->values, *masks[MAX_RANK] = {0};
  for (int d = a->window.count - 1; d >= 0; d--) {
    bool reversed = false, is_all = is_cumulative(t->x, d, &reversed);
    if (is_trivial(&a->window.items[d])) continue;
    t->backwards = is_all ? reversed : a->window.items[d].window_reversal;
    if (is_all) {
      x = reversed ? reverse(t, scan(t, reverse(t, x, d), d), d) : scan(t, x, d);
    } else {
      Masked sum = slide(t, pad_along(t, x, d), d);
      x = sum.values;
      masks[d] = sum.valid;
    }
  }
  t->backwards = false;
  x = with_inits(t, x);
  for (int d = 0; d < a->window.count; d++) {
    if (masks[d]) x = select_along(t, masks[d], d, x, broadcast_inits(t, x[0]->shape));
  }
  return x;
}

Instruction *replace_by_windows(WorkingComputation *working, const Instruction *x,
                                Instruction **operands, Computation *apply) {
  const Shape *shape = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  if (shape_elements(shape) == 0) return keep_instruction(working, x, operands);
  if (!is_elementwise(apply)) {
    return refuse(working, x, operands,
                  "reduces windows by a computation that is not element-wise");
  }
  Tree t = tree_begin(working, x, operands);
  t.apply = apply;
  return put_in_place(&t, combine_windows(&t), operands);
}
