/*
** Writes reductions by a computation without a rule of its own as applications of that computation to arrays, and
** differentiates these. A computation that reduces is associative, so any order is as good as another.
**
**     reduce          halves: x[0:n/2] with x[n/2:n], until one element is left; then with the initial value
**     reduce-window   cumulative ones (a window from the first element, or to the last one): each element with the one 1
**                     before it, then 2, 4, ... before it (Hillis and Steele, 1986); others: all first elements of the
**                     windows with all second ones, and so on
**
** The new computation is inlined in the place of the operation.
*/
#include "rewrite/gradient/linear.h"

typedef struct Tree {
  Linear *l;
  Arena *arena;
  const Instruction *x;
  Computation *to; /* where instructions are added */
  int count;       /* arrays that are reduced together */
  Instruction **values, **inits;
} Tree;

static const Shape *result_shape(const Tree *t, int i) {
  return shape_is_tuple(t->x->shape) ? t->x->shape->elements[i] : t->x->shape;
}

static Tree tree_begin(Linear *l, const Instruction *x) {
  Tree t = {.l = l, .arena = l->arena, .x = x, .count = x->operand_count / 2};
  t.to = module_add_computation(l->d->module, "reduction");
  t.values = ARENA_ARRAY(l->arena, Instruction *, t.count);
  t.inits = ARENA_ARRAY(l->arena, Instruction *, t.count);
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
    return computation_add(t->to, HLO_BROADCAST, shape, &scalar, 1, NULL, NULL);
  }
  Instruction *operands[3];
  for (int k = 0; k < x->operand_count; k++) operands[k] = copies[x->operands[k]->id];
  return computation_add(t->to, x->opcode, shape, operands, x->operand_count, x->a, NULL);
}

/* Applies the computation to two lists of arrays of equal dimensions. */
static Instruction **combine(const Tree *t, Instruction **x, Instruction **y) {
  Computation *c = t->x->a->to_apply;
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

static Instruction **ranges(const Tree *t, Instruction **x, int64_t dimension, int64_t begin,
                            int64_t end) {
  Instruction **parts = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    parts[i] = computation_add_range(t->to, x[i], dimension, begin, end);
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
    shape = shape_of(&t->l->m, shape->type, shape->rank, dims);
    joined[i] =
        computation_add(t->to, HLO_CONCATENATE, shape, (Instruction *[]){y[i], z[i]}, 2, a, NULL);
  }
  return joined;
}

/* Ends the computation, and differentiates it in the place of the operation. */
static Instruction *put_in_place(Tree *t, Instruction **values, Instruction **operands) {
  t->to->keeps_root = true;
  t->to->root =
      shape_is_tuple(t->x->shape) ? computation_add_tuple(t->to, values, t->count) : values[0];
  return linear_inline(t->l, t->to, operands);
}

static Instruction *refuse(Linear *l, const Instruction *x, Instruction **operands,
                           const char *why) {
  Instruction *kept = keep_instruction(l, x, operands);
  refuse_derivative(l, kept, why);
  return kept;
}

Instruction *inline_for_arrays(Linear *l, const Instruction *x, Instruction **operands) {
  if (!is_elementwise(x->a->to_apply)) return NULL;
  Tree t = {.l = l, .arena = l->arena, .x = x, .count = 1};
  t.to = module_add_computation(l->d->module, "update");
  Instruction *parameters[2];
  for (int i = 0; i < 2; i++) {
    parameters[i] = computation_add_parameter(t.to, i, operands[i]->shape, NULL);
  }
  t.to->keeps_root = true;
  t.to->root = combine(&t, &parameters[0], &parameters[1])[0];
  return linear_inline(l, t.to, operands);
}

/* Moves the reduced dimensions to the end, and makes one of them. */
static Instruction *in_rows(const Tree *t, Instruction *x) {
  Int64List inner = t->x->a->dimensions;
  Int64List outer = other_dimensions(&t->l->m, x->shape->rank, inner);
  int64_t order[MAX_RANK], sizes[2] = {1, 1};
  for (int i = 0; i < outer.count; i++) order[i] = outer.items[i];
  for (int i = 0; i < inner.count; i++) order[outer.count + i] = inner.items[i];
  for (int i = 0; i < x->shape->rank; i++) sizes[i >= outer.count] *= x->shape->dims[order[i]];
  return computation_add_reshape(t->to, computation_add_transpose(t->to, x, order), 2, sizes);
}

Instruction *replace_by_tree(Linear *l, const Instruction *x, Instruction **operands) {
  if (shape_elements(x->operands[0]->shape) == 0) return keep_instruction(l, x, operands);
  if (!is_elementwise(x->a->to_apply)) {
    return refuse(l, x, operands, "reduces by a computation that is not element-wise");
  }
  Tree t = tree_begin(l, x);
  Instruction **rows = ARENA_ARRAY(l->arena, Instruction *, t.count);
  Instruction **inits = ARENA_ARRAY(l->arena, Instruction *, t.count);
  for (int i = 0; i < t.count; i++) rows[i] = in_rows(&t, t.values[i]);
  for (int64_t n = rows[0]->shape->dims[1]; n > 1; n = rows[0]->shape->dims[1]) {
    int64_t half = n / 2;
    Instruction **low = ranges(&t, rows, 1, 0, half), **high = ranges(&t, rows, 1, half, 2 * half);
    Instruction **pairs = combine(&t, low, high);
    rows = n % 2 ? join(&t, pairs, ranges(&t, rows, 1, 2 * half, n), 1) : pairs;
  }
  for (int i = 0; i < t.count; i++) {
    inits[i] = computation_add(t.to, HLO_BROADCAST, rows[i]->shape, &t.inits[i], 1, NULL, NULL);
  }
  rows = combine(&t, inits, rows);
  for (int i = 0; i < t.count; i++) {
    const Shape *shape = result_shape(&t, i);
    rows[i] = computation_add_reshape(t.to, rows[i], shape->rank, shape->dims);
  }
  return put_in_place(&t, rows, operands);
}

/* Returns the dimension along which a window is cumulative, and whether from the end; -1 if there is none. */
static int cumulative_dimension(const Instruction *x, bool *reversed) {
  int found = -1;
  for (int d = 0; d < x->a->window.count; d++) {
    const WindowDimension *w = &x->a->window.items[d];
    if (w->stride != 1 || w->base_dilation != 1) return -1;
    if (w->size == 1 && !w->padding_low && !w->padding_high) continue;
    int64_t n = x->operands[0]->shape->dims[d];
    bool from_first = w->padding_low == n - 1 && w->padding_high == 0;
    bool to_last = w->padding_low == 0 && w->padding_high == n - 1;
    if (found >= 0 || w->size != n || w->window_dilation != 1 || !(from_first || to_last))
      return -1;
    found = d;
    *reversed = to_last;
  }
  return found;
}

/* Returns arrays that the windows lie in as a whole, without base dilation. The initial value is neutral. */
static Instruction **padded(const Tree *t) {
  Window window = t->x->a->window;
  PaddingDimension *items = ARENA_ARRAY(t->arena, PaddingDimension, window.count);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < window.count; d++) {
    const WindowDimension *w = &window.items[d];
    int64_t n = t->values[0]->shape->dims[d], dilated = n ? (n - 1) * w->base_dilation + 1 : 0;
    items[d] = (PaddingDimension){w->padding_low, w->padding_high, w->base_dilation - 1};
    dims[d] = w->padding_low + dilated + w->padding_high;
  }
  const Attributes *a = ATTRIBUTES(.padding = {window.count, items});
  Instruction **result = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    const Shape *shape = shape_of(&t->l->m, t->values[i]->shape->type, window.count, dims);
    Instruction *operands[] = {t->values[i], t->inits[i]};
    result[i] = computation_add(t->to, HLO_PAD, shape, operands, 2, a, NULL);
  }
  return result;
}

/* Returns the elements at one place of all windows. */
static Instruction **at_place(const Tree *t, Instruction **from, const int64_t *place) {
  const Shape *like = result_shape(t, 0);
  SliceDimension *items = ARENA_ARRAY(t->arena, SliceDimension, like->rank);
  for (int d = 0; d < like->rank; d++) {
    const WindowDimension *w = &t->x->a->window.items[d];
    int64_t at = w->window_reversal ? w->size - 1 - place[d] : place[d];
    int64_t start = at * w->window_dilation, span = (like->dims[d] - 1) * w->stride + 1;
    items[d] = (SliceDimension){start, start + span, w->stride};
  }
  const Attributes *a = ATTRIBUTES(.slice = {like->rank, items});
  Instruction **result = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    const Shape *shape = shape_with_type(t->arena, like, from[i]->shape->type);
    result[i] = computation_add(t->to, HLO_SLICE, shape, &from[i], 1, a, NULL);
  }
  return result;
}

/* Each place is one slice: programs with larger windows would be very long. */
enum { MAX_PLACES = 512 };

static int64_t place_count(const Instruction *x) {
  int64_t count = 1;
  for (int d = 0; d < x->a->window.count && count <= MAX_PLACES; d++) {
    count *= x->a->window.items[d].size;
  }
  return count;
}

static Instruction **combine_places(const Tree *t) {
  Instruction **from = padded(t), **sum = ARENA_ARRAY(t->arena, Instruction *, t->count);
  for (int i = 0; i < t->count; i++) {
    const Shape *shape = shape_with_type(t->arena, result_shape(t, i), t->inits[i]->shape->type);
    sum[i] = shape->rank ? computation_add(t->to, HLO_BROADCAST, shape, &t->inits[i], 1, NULL, NULL)
                         : t->inits[i];
  }
  int64_t place[MAX_RANK] = {0}, count = place_count(t->x);
  for (int64_t i = 0; i < count; i++) {
    sum = combine(t, sum, at_place(t, from, place));
    for (int d = t->x->a->window.count - 1; d >= 0; d--) { /* the next place, row-major */
      if (++place[d] < t->x->a->window.items[d].size) break;
      place[d] = 0;
    }
  }
  return sum;
}

static Instruction **combine_shifts(const Tree *t, int d, bool reversed) {
  Instruction **rows = t->values;
  int64_t n = rows[0]->shape->dims[d];
  for (int64_t shift = 1; shift < n; shift *= 2) {
    Instruction **low = ranges(t, rows, d, 0, n - shift), **high = ranges(t, rows, d, shift, n);
    Instruction **both = combine(t, low, high);
    rows = reversed ? join(t, both, ranges(t, rows, d, n - shift, n), d)
                    : join(t, ranges(t, rows, d, 0, shift), both, d);
  }
  return rows;
}

Instruction *replace_by_shifts(Linear *l, const Instruction *x, Instruction **operands) {
  const Shape *shape = shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
  if (shape_elements(shape) == 0) return keep_instruction(l, x, operands);
  bool reversed = false;
  int d = cumulative_dimension(x, &reversed), count = x->operand_count / 2;
  for (int i = 0; i < count; i++) {
    if (has_tangent(l, operands[count + i])) d = -1; /* it is not neutral, and counts once */
  }
  if (!is_elementwise(x->a->to_apply)) {
    return refuse(l, x, operands, "reduces windows by a computation that is not element-wise");
  }
  if (d < 0 && place_count(x) > MAX_PLACES) {
    return refuse(
        l, x, operands,
        "reduces windows of more than 512 elements by a computation other than add, maximum "
        "and minimum");
  }
  Tree t = tree_begin(l, x);
  return put_in_place(&t, d < 0 ? combine_places(&t) : combine_shifts(&t, d, reversed), operands);
}
