/* Reductions: of dimensions and of windows, and the operation that scatters what a window selects. */
#include "derive/gradient/linear.h"

/* ---- reduce ---- */

/* Max and min: elements that equal the result share its tangent equally. */
static void linearize_extremum(WorkingComputation *working, Instruction *x) {
  Instruction *of = x->operands[0], *t = tangent_of(working, of);
  Int64List dimensions = x->a->dimensions;
  Instruction *result = make_spread(&working->m, x, of->shape, dimensions);
  Instruction *here = make_compare(&working->m, COMPARE_EQ, of, result);
  Instruction *ones = make_convert(&working->m, here, of->shape->type);
  Instruction *count = make_sum(&working->m, ones, dimensions);
  /* No element equals the result in two cases. There are no elements: the slope is 0. Or the result is NaN: so is the slope,
  ** 0 / 0. */
  Instruction *is_number = make_compare(&working->m, COMPARE_EQ, x, x);
  count = make_binary(&working->m, HLO_MAXIMUM, count,
                      make_convert(&working->m, is_number, x->shape->type));
  Instruction *sum =
      make_sum(&working->m, make_select(&working->m, here, t, make_zeros(&working->m, of->shape)),
               dimensions);
  set_tangent(working, x, make_binary(&working->m, HLO_DIVIDE, sum, count));
}

static void linearize_sum(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]), *init = tangent_of(working, x->operands[1]);
  Instruction *sum = t ? make_sum(&working->m, t, x->a->dimensions) : NULL;
  if (init)
    sum = make_plus(&working->m, sum, make_broadcast(&working->m, init, x->shape, (Int64List){0}));
  set_tangent(working, x, sum);
}

/* Returns the operation of a sum, a maximum or a minimum of one array, which have rules of their own; else 0: other
** reductions are written with other operations (trees.c). */
static Opcode simple_reduction(const Instruction *x) {
  Opcode opcode = computation_simple_binary(x->a->to_apply);
  bool has_rule = opcode == HLO_ADD || opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
  return has_rule && x->operand_count == 2 ? opcode : OPCODE_COUNT;
}

/* Copies a maximum or minimum, with an initial value that no element is beyond. */
static Instruction *keep_extremum(WorkingComputation *working, const Instruction *from,
                                  Instruction **operands) {
  bool largest = simple_reduction(from) == HLO_MAXIMUM;
  const Shape *scalar = operands[1]->shape;
  double neutral = largest ? -__builtin_inf() : __builtin_inf();
  Instruction *changed[] = {operands[0], make_number(&working->m, scalar, neutral)};
  return keep_instruction(working, from, changed);
}

/* The initial value counts once for each result: maximum(init, x), with the slopes of a maximum. */
static Instruction *with_init(WorkingComputation *working, Instruction *x, const Instruction *from,
                              Instruction **operands) {
  Opcode opcode = simple_reduction(from);
  if (is_neutral(opcode, operands[1])) return x;
  Instruction *init = make_broadcast(&working->m, operands[1], x->shape, (Int64List){0});
  Instruction *t = tangent_of(working, operands[1]);
  if (t) set_tangent(working, init, make_broadcast(&working->m, t, x->shape, (Int64List){0}));
  Instruction *result = make_binary(&working->m, opcode, init, x);
  linearize(working, result, &derivative_rules[opcode]);
  return result;
}

Instruction *replace_reduce(WorkingComputation *working, const Instruction *from,
                            Instruction **operands) {
  Opcode opcode = simple_reduction(from);
  if (opcode == OPCODE_COUNT) return replace_by_tree(working, from, operands);
  if (opcode == HLO_ADD) {
    Instruction *x = keep_instruction(working, from, operands);
    linearize_sum(working, x);
    return x;
  }
  Instruction *x = keep_extremum(working, from, operands);
  if (has_tangent(working, operands[0])) linearize_extremum(working, x);
  return with_init(working, x, from, operands);
}

/* Of a sum. */
void transpose_reduce(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  add_cotangent(working, x->operands[0],
                make_spread(&working->m, ct[0], x->operands[0]->shape, x->a->dimensions));
}

/* ---- Windows that pick one element ---- */

/* Makes a computation (a, ta, b, tb) -> (a, ta) if `select` prefers a, else (b, tb). */
static Computation *picker(WorkingComputation *working, const Shape *element,
                           ComparisonDirection direction) {
  Computation *c = module_add_computation(working->d->module, "pick");
  const Shape *scalar = shape_scalar(element->type);
  Instruction *p[4];
  for (int i = 0; i < 4; i++) p[i] = computation_add_parameter(c, i, scalar, NULL);
  Instruction *first =
      computation_add(c, HLO_COMPARE, shape_scalar(PRED), (Instruction *[]){p[0], p[2]}, 2,
                      ATTRIBUTES(.direction = direction));
  Instruction *results[2];
  for (int i = 0; i < 2; i++) {
    results[i] =
        computation_add(c, HLO_SELECT, scalar, (Instruction *[]){first, p[i], p[i + 2]}, 3, NULL);
  }
  computation_add_tuple(c, results, 2);
  return c;
}

/* For each window over `of`, returns the element of `by` at the place of the selected element. */
static Instruction *pick(WorkingComputation *working, Instruction *of, Instruction *by,
                         Window window, ComparisonDirection direction, const Shape *result) {
  const Attributes *a =
      ATTRIBUTES(.window = window, .to_apply = picker(working, of->shape, direction));
  bool largest = direction == COMPARE_GE || direction == COMPARE_GT;
  double start = largest ? -__builtin_inf() : __builtin_inf(); /* is selected by no window */
  const Shape *scalar = shape_scalar(of->shape->type);
  Instruction *operands[] = {of, by, make_number(&working->m, scalar, start),
                             make_number(&working->m, scalar, 0)};
  const Shape *shapes[] = {result, result};
  Instruction *both =
      make(&working->m, HLO_REDUCE_WINDOW, shape_tuple(working->arena, 2, shapes), operands, 4, a);
  return make_element(working, both, 1);
}

/* Returns the direction of the same comparison with its operands exchanged. */
static ComparisonDirection turned(ComparisonDirection direction) {
  switch (direction) {
  case COMPARE_GE: return COMPARE_LE;
  case COMPARE_GT: return COMPARE_LT;
  case COMPARE_LE: return COMPARE_GE;
  case COMPARE_LT: return COMPARE_GT;
  default: return direction;
  }
}

/* Returns the direction of a computation that only compares its two parameters; false if it does anything else. */
static bool comparison_of(const Computation *select, ComparisonDirection *direction) {
  const Instruction *root = select->root;
  if (root->opcode != HLO_COMPARE || select->parameter_count != 2) return false;
  int first = root->operands[0] == select->parameters[0] ? 0 : 1;
  *direction = first ? turned(root->a->direction) : root->a->direction;
  return root->operands[0] == select->parameters[first] &&
         root->operands[1] == select->parameters[1 - first] && *direction != COMPARE_EQ &&
         *direction != COMPARE_NE;
}

static void linearize_window_sum(WorkingComputation *working, Instruction *x) {
  Instruction *t = tangent_of(working, x->operands[0]), *init = tangent_of(working, x->operands[1]);
  Instruction *sum = NULL, *ops[] = {t, make_number(&working->m, shape_scalar(x->shape->type), 0)};
  if (t) sum = make(&working->m, HLO_REDUCE_WINDOW, x->shape, ops, 2, x->a);
  if (init)
    sum = make_plus(&working->m, sum, make_broadcast(&working->m, init, x->shape, (Int64List){0}));
  set_tangent(working, x, sum);
}

/* Threshold MAX_COMPARISONS: windows of more comparisons for each element are reduced in a tree. Test: "slopes of long
** windows take n or n log n" in api/slopes.test.mjs. */
enum { MAX_COMPARISONS = 64 };

/* Whether windows overlap so much, or have holes that select-and-scatter does not have. */
static bool needs_tree(const Instruction *x) {
  double places = 1;
  for (int d = 0; d < x->a->window.count; d++) {
    places *= (double)x->a->window.items[d].size;
    if (x->a->window.items[d].base_dilation != 1) return true;
  }
  double results = (double)shape_elements(x->shape);
  return places * results > MAX_COMPARISONS * (double)shape_elements(x->operands[0]->shape);
}

/* Makes a computation that returns its first operand if that is a NaN or `direction` holds, else the second one. */
static Computation *chooser(WorkingComputation *working, PrimitiveType type,
                            ComparisonDirection direction) {
  Computation *c = module_add_computation(working->d->module, "choose");
  const Shape *scalar = shape_scalar(type), *pred = shape_scalar(PRED);
  Instruction *p[2];
  for (int i = 0; i < 2; i++) p[i] = computation_add_parameter(c, i, scalar, NULL);
  Instruction *is_first =
      computation_add(c, HLO_COMPARE, pred, p, 2, ATTRIBUTES(.direction = direction));
  Instruction *is_nan = computation_add(c, HLO_COMPARE, pred, (Instruction *[]){p[0], p[0]}, 2,
                                        ATTRIBUTES(.direction = COMPARE_NE));
  Instruction *first =
      computation_add(c, HLO_OR, pred, (Instruction *[]){is_first, is_nan}, 2, NULL);
  c->root = computation_add(c, HLO_SELECT, scalar, (Instruction *[]){first, p[0], p[1]}, 3, NULL);
  return c;
}

/* As JAX has it, equal elements of a cumulative window share the slope in the order of a scan; of others, the first one
** has it. */
Instruction *replace_reduce_window(WorkingComputation *working, const Instruction *from,
                                   Instruction **operands) {
  Opcode opcode = simple_reduction(from);
  if (opcode == OPCODE_COUNT || (opcode != HLO_ADD && is_scan(from))) {
    return replace_by_windows(working, from, operands, from->a->to_apply);
  }
  if (opcode == HLO_ADD) {
    Instruction *x = keep_instruction(working, from, operands);
    linearize_window_sum(working, x);
    return x;
  }
  ComparisonDirection direction = opcode == HLO_MAXIMUM ? COMPARE_GE : COMPARE_LE;
  Instruction *x = keep_extremum(working, from, operands), *t = tangent_of(working, operands[0]);
  if (t && needs_tree(from)) {
    x = replace_by_windows(working, x, x->operands, chooser(working, x->shape->type, direction));
  } else if (t) {
    set_tangent(working, x, pick(working, x->operands[0], t, x->a->window, direction, x->shape));
  }
  return with_init(working, x, from, operands);
}

/* Spreads the cotangent of a sum over windows: a sum over windows of ct, in which strides and base dilations change
** places. */
static Instruction *spread_windows(WorkingComputation *working, Instruction *x, Instruction *ct) {
  const Shape *shape = x->operands[0]->shape;
  Attributes a = *x->a;
  WindowDimension *window =
      arena_copy(working->arena, a.window.items, sizeof *window * (size_t)a.window.count);
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
  Instruction *operands[] = {ct, make_number(&working->m, shape_scalar(shape->type), 0)};
  return make(&working->m, HLO_REDUCE_WINDOW, shape, operands, 2, &a);
}

/* Scatters ct to the places that the windows select. */
static Instruction *scatter_selected(WorkingComputation *working, Instruction *of, Instruction *ct,
                                     Window window, ComparisonDirection direction) {
  PrimitiveType type = of->shape->type;
  Attributes a =
      *ATTRIBUTES(.window = window, .select = module_add_computation(working->d->module, "select"));
  Instruction *p[2];
  for (int i = 0; i < 2; i++)
    p[i] = computation_add_parameter(a.select, i, shape_scalar(type), NULL);
  computation_add(a.select, HLO_COMPARE, shape_scalar(PRED), p, 2,
                  ATTRIBUTES(.direction = direction));
  a.scatter = module_add_reducer(working->d->module, HLO_ADD, type);
  Instruction *operands[] = {of, ct, make_number(&working->m, shape_scalar(type), 0)};
  return make(&working->m, HLO_SELECT_AND_SCATTER, of->shape, operands, 3, &a);
}

void transpose_reduce_window(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  if (x->operand_count == 2) {
    add_cotangent(working, x->operands[0], spread_windows(working, x, ct[0]));
    return;
  }
  /* of the computation that pick made */
  const Instruction *compare = x->a->to_apply->root->operands[0]->operands[0];
  Instruction *back =
      scatter_selected(working, x->operands[0], ct[1], x->a->window, compare->a->direction);
  add_cotangent(working, x->operands[1], back);
}

/* Linear in the source and in the initial value. */
void linearize_select_and_scatter(WorkingComputation *working, Instruction *x) {
  ComparisonDirection direction;
  if (computation_simple_binary(x->a->scatter) != HLO_ADD ||
      !comparison_of(x->a->select, &direction)) {
    refuse_derivative(working, x, "does not select by a comparison, or does not scatter by add");
    return;
  }
  Instruction *t = tangent_of(working, x->operands[1]), *init = tangent_of(working, x->operands[2]);
  Instruction *sum = NULL;
  if (t) {
    Instruction *zero = make_number(&working->m, shape_scalar(x->shape->type), 0);
    Instruction *operands[] = {x->operands[0], t, zero};
    sum = make(&working->m, HLO_SELECT_AND_SCATTER, x->shape, operands, 3, x->a);
  }
  if (init)
    sum = make_plus(&working->m, sum, make_broadcast(&working->m, init, x->shape, (Int64List){0}));
  set_tangent(working, x, sum);
}

void transpose_select_and_scatter(WorkingComputation *working, Instruction *x,
                                  Instruction *const *ct) {
  ComparisonDirection direction;
  comparison_of(x->a->select, &direction);
  const Shape *result = x->operands[1]->shape;
  add_cotangent(working, x->operands[1],
                pick(working, x->operands[0], ct[0], x->a->window, direction, result));
}
