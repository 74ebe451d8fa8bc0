/* Reductions: of dimensions and of windows, and the operation that scatters what a window selects. */
#include "rewrite/gradient/linear.h"

/* ---- reduce ---- */

/* Max and min: elements that equal the result share its tangent equally. */
static void linearize_extremum(Linear *l, Instruction *x) {
  Instruction *of = x->operands[0], *t = tangent_of(l, of);
  Int64List dimensions = x->a->dimensions;
  Instruction *result = make_spread(&l->m, x, of->shape, dimensions);
  Instruction *here = make_compare(&l->m, COMPARE_EQ, of, result);
  Instruction *ones = make_convert(&l->m, here, of->shape->type);
  Instruction *count = make_sum(&l->m, ones, dimensions);
  /* None equals the result if that is the initial value, whose slope is 0, or a NaN, whose slope is a NaN: 0 / 0. */
  Instruction *is_number = make_compare(&l->m, COMPARE_EQ, x, x);
  count = make_binary(&l->m, HLO_MAXIMUM, count, make_convert(&l->m, is_number, x->shape->type));
  Instruction *sum =
      make_sum(&l->m, make_select(&l->m, here, t, make_zeros(&l->m, of->shape)), dimensions);
  set_tangent(l, x, make_binary(&l->m, HLO_DIVIDE, sum, count));
}

/* Multiplies all elements before each one along the only dimension, or all after it. */
static Instruction *products_before(Linear *l, Instruction *rows, bool after) {
  int64_t n = rows->shape->dims[1];
  WindowDimension window[] = {{1, 1, 0, 0, 1, 1, false}, {n, 1, 0, 0, 1, 1, false}};
  window[1].padding_low = after ? -1 : n;
  window[1].padding_high = after ? n : -1;
  const Attributes *a =
      ATTRIBUTES(.window = {2, arena_copy(l->arena, window, sizeof window)},
                 .to_apply = module_add_reducer(l->d->module, HLO_MULTIPLY, rows->shape->type));
  Instruction *one = make_number(&l->m, shape_scalar(rows->shape->type), 1);
  return make(&l->m, HLO_REDUCE_WINDOW, NULL, (Instruction *[]){rows, one}, 2, a);
}

/* Products: each tangent times the product of all other elements, which is that of those before and those after. */
static void linearize_product(Linear *l, Instruction *x) {
  Instruction *of = x->operands[0], *t = tangent_of(l, of);
  int rank = of->shape->rank;
  Int64List inner = x->a->dimensions, outer = other_dimensions(&l->m, rank, inner);
  int64_t order[MAX_RANK], sizes[2] = {1, 1};
  for (int i = 0; i < outer.count; i++) order[i] = outer.items[i];
  for (int i = 0; i < inner.count; i++) order[outer.count + i] = inner.items[i];
  for (int i = 0; i < rank; i++) sizes[i >= outer.count] *= of->shape->dims[order[i]];
  if (sizes[0] * sizes[1] == 0) return;
  const Shape *flat = shape_of(&l->m, of->shape->type, 2, sizes);
  Instruction *rows = make_reshape(&l->m, make_transpose(&l->m, of, order), flat);
  Instruction *tangents = make_reshape(&l->m, make_transpose(&l->m, t, order), flat);
  Instruction *others = make_binary(&l->m, HLO_MULTIPLY, products_before(l, rows, false),
                                    products_before(l, rows, true));
  static const int64_t last = 1;
  Instruction *sum =
      make_sum(&l->m, make_binary(&l->m, HLO_MULTIPLY, tangents, others), (Int64List){1, &last});
  Instruction *init = make_broadcast(&l->m, x->operands[1], x->shape, (Int64List){0});
  set_tangent(l, x, make_binary(&l->m, HLO_MULTIPLY, make_reshape(&l->m, sum, x->shape), init));
}

static void linearize_sum(Linear *l, Instruction *x) {
  Instruction *t = tangent_of(l, x->operands[0]), *init = tangent_of(l, x->operands[1]);
  Instruction *sum = t ? make_sum(&l->m, t, x->a->dimensions) : NULL;
  if (init) sum = make_plus(&l->m, sum, make_broadcast(&l->m, init, x->shape, (Int64List){0}));
  set_tangent(l, x, sum);
}

/* Whether a reduction has a rule of its own; else it is written with other operations (trees.c). */
static bool has_rule(Linear *l, const Instruction *x, Instruction **operands, bool products) {
  Opcode opcode = computation_simple_binary(x->a->to_apply);
  if (x->operand_count != 2) return false;
  if (opcode == HLO_ADD) return true;
  bool known =
      opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM || (products && opcode == HLO_MULTIPLY);
  return known && !tangent_of(l, operands[1]);
}

Instruction *replace_reduce(Linear *l, const Instruction *from, Instruction **operands) {
  if (!has_rule(l, from, operands, true)) return replace_by_tree(l, from, operands);
  Instruction *x = keep_instruction(l, from, operands);
  switch (computation_simple_binary(x->a->to_apply)) {
  case HLO_ADD: linearize_sum(l, x); break;
  case HLO_MULTIPLY: linearize_product(l, x); break;
  default: linearize_extremum(l, x); break;
  }
  return x;
}

/* Of a sum. */
void transpose_reduce(Linear *l, Instruction *x, Instruction *const *ct) {
  add_cotangent(l, x->operands[0],
                make_spread(&l->m, ct[0], x->operands[0]->shape, x->a->dimensions));
}

/* ---- Windows that pick one element ---- */

/* Makes a computation (a, ta, b, tb) -> (a, ta) if `select` prefers a, else (b, tb). */
static Computation *picker(Linear *l, const Shape *element, ComparisonDirection direction) {
  Computation *c = module_add_computation(l->d->module, "pick");
  const Shape *scalar = shape_scalar(element->type);
  Instruction *p[4];
  for (int i = 0; i < 4; i++) p[i] = computation_add_parameter(c, i, scalar, NULL);
  Instruction *first =
      computation_add(c, HLO_COMPARE, shape_scalar(PRED), (Instruction *[]){p[0], p[2]}, 2,
                      ATTRIBUTES(.direction = direction), NULL);
  Instruction *results[2];
  for (int i = 0; i < 2; i++) {
    results[i] = computation_add(c, HLO_SELECT, scalar, (Instruction *[]){first, p[i], p[i + 2]}, 3,
                                 NULL, NULL);
  }
  computation_add_tuple(c, results, 2);
  return c;
}

/* For each window over `of`, returns the element of `by` at the place of the selected element. */
static Instruction *pick(Linear *l, Instruction *of, Instruction *by, Window window,
                         ComparisonDirection direction, const Shape *result) {
  const Attributes *a = ATTRIBUTES(.window = window, .to_apply = picker(l, of->shape, direction));
  bool largest = direction == COMPARE_GE || direction == COMPARE_GT;
  double start = largest ? -__builtin_inf() : __builtin_inf(); /* is selected by no window */
  const Shape *scalar = shape_scalar(of->shape->type);
  Instruction *operands[] = {of, by, make_number(&l->m, scalar, start),
                             make_number(&l->m, scalar, 0)};
  const Shape *shapes[] = {result, result};
  Instruction *both =
      make(&l->m, HLO_REDUCE_WINDOW, shape_tuple(l->arena, 2, shapes), operands, 4, a);
  return make_element(l, both, 1);
}

/* Returns the direction of a computation that only compares its two parameters; false if it does anything else. */
static bool comparison_of(const Computation *select, ComparisonDirection *direction) {
  const Instruction *root = select->root;
  if (root->opcode != HLO_COMPARE || select->parameter_count != 2) return false;
  *direction = root->a->direction;
  bool plain =
      root->operands[0] == select->parameters[0] && root->operands[1] == select->parameters[1];
  return plain && *direction != COMPARE_EQ && *direction != COMPARE_NE;
}

Instruction *replace_reduce_window(Linear *l, const Instruction *from, Instruction **operands) {
  if (!has_rule(l, from, operands, false)) return replace_by_shifts(l, from, operands);
  Instruction *x = keep_instruction(l, from, operands), *t = tangent_of(l, x->operands[0]);
  Opcode opcode = computation_simple_binary(x->a->to_apply);
  if (opcode != HLO_ADD) {
    ComparisonDirection direction = opcode == HLO_MAXIMUM ? COMPARE_GE : COMPARE_LE;
    set_tangent(l, x, pick(l, x->operands[0], t, x->a->window, direction, x->shape));
  } else {
    Instruction *init = tangent_of(l, x->operands[1]), *sum = NULL;
    Instruction *ops[] = {t, make_number(&l->m, shape_scalar(x->shape->type), 0)};
    if (t) sum = make(&l->m, HLO_REDUCE_WINDOW, x->shape, ops, 2, x->a);
    if (init) sum = make_plus(&l->m, sum, make_broadcast(&l->m, init, x->shape, (Int64List){0}));
    set_tangent(l, x, sum);
  }
  return x;
}

/* Spreads the cotangent of a sum over windows: a sum over windows of ct, in which strides and base dilations change
** places. */
static Instruction *spread_windows(Linear *l, Instruction *x, Instruction *ct) {
  const Shape *shape = x->operands[0]->shape;
  Attributes a = *x->a;
  WindowDimension *window =
      arena_copy(l->arena, a.window.items, sizeof *window * (size_t)a.window.count);
  for (int d = 0; d < shape->rank; d++) {
    WindowDimension *w = &window[d];
    int64_t n = shape->dims[d], m = ct->shape->dims[d], span = (w->size - 1) * w->window_dilation;
    int64_t dilated = m ? (m - 1) * w->stride + 1 : 0, stride = w->stride;
    int64_t length = n ? (n - 1) * w->base_dilation + span + 1 : 0;
    w->padding_low = span - w->padding_low;
    w->padding_high = length - dilated - w->padding_low;
    w->stride = w->base_dilation;
    w->base_dilation = stride;
    w->window_reversal = false;
  }
  a.window.items = window;
  Instruction *operands[] = {ct, make_number(&l->m, shape_scalar(shape->type), 0)};
  return make(&l->m, HLO_REDUCE_WINDOW, shape, operands, 2, &a);
}

/* Scatters ct to the places that the windows select. */
static Instruction *scatter_selected(Linear *l, Instruction *of, Instruction *ct, Window window,
                                     ComparisonDirection direction) {
  PrimitiveType type = of->shape->type;
  Attributes a =
      *ATTRIBUTES(.window = window, .select = module_add_computation(l->d->module, "select"));
  Instruction *p[2];
  for (int i = 0; i < 2; i++)
    p[i] = computation_add_parameter(a.select, i, shape_scalar(type), NULL);
  computation_add(a.select, HLO_COMPARE, shape_scalar(PRED), p, 2,
                  ATTRIBUTES(.direction = direction), NULL);
  a.scatter = module_add_reducer(l->d->module, HLO_ADD, type);
  Instruction *operands[] = {of, ct, make_number(&l->m, shape_scalar(type), 0)};
  return make(&l->m, HLO_SELECT_AND_SCATTER, of->shape, operands, 3, &a);
}

void transpose_reduce_window(Linear *l, Instruction *x, Instruction *const *ct) {
  if (x->operand_count == 2) {
    add_cotangent(l, x->operands[0], spread_windows(l, x, ct[0]));
    return;
  }
  /* pick's */
  const Instruction *compare = x->a->to_apply->root->operands[0]->operands[0];
  Instruction *back =
      scatter_selected(l, x->operands[0], ct[1], x->a->window, compare->a->direction);
  add_cotangent(l, x->operands[1], back);
}

/* Linear in the source and in the initial value. */
void linearize_select_and_scatter(Linear *l, Instruction *x) {
  ComparisonDirection direction;
  if (computation_simple_binary(x->a->scatter) != HLO_ADD ||
      !comparison_of(x->a->select, &direction)) {
    refuse_derivative(l, x, "does not select by a comparison, or does not scatter by add");
    return;
  }
  Instruction *t = tangent_of(l, x->operands[1]), *init = tangent_of(l, x->operands[2]);
  Instruction *sum = NULL;
  if (t) {
    Instruction *zero = make_number(&l->m, shape_scalar(x->shape->type), 0);
    Instruction *operands[] = {x->operands[0], t, zero};
    sum = make(&l->m, HLO_SELECT_AND_SCATTER, x->shape, operands, 3, x->a);
  }
  if (init) sum = make_plus(&l->m, sum, make_broadcast(&l->m, init, x->shape, (Int64List){0}));
  set_tangent(l, x, sum);
}

void transpose_select_and_scatter(Linear *l, Instruction *x, Instruction *const *ct) {
  ComparisonDirection direction;
  comparison_of(x->a->select, &direction);
  const Shape *result = x->operands[1]->shape;
  add_cotangent(l, x->operands[1], pick(l, x->operands[0], ct[0], x->a->window, direction, result));
}
