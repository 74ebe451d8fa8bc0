/*
** Evaluates reduce-window (one operand or several, any computation) and select-and-scatter.
**
** Along one dimension, position w of the window of output p is element
**   (p * stride + w * window_dilation - padding_low) / base_dilation,
** if the division leaves no remainder and the element exists (a reversed window counts w from the
** other end). Padding is ignored: a result over padding only is the initial value.
**
** Sums of f32 and of its complex numbers are added in double and rounded once, so that long windows are exact.
*/
#include "reference/window.h"

#include <string.h>

#include "reference/eval.h"

static void set_output(PlacedWindow *placed, int dimension, int64_t number) {
  const WindowLine *line = &placed->line[dimension];
  const WindowDimension *window = line->window;
  placed->output[dimension] = number;
  for (int64_t w = 0; w < window->size; w++) {
    int64_t position = window->window_reversal ? window->size - 1 - w : w;
    int64_t dilated =
        number * window->stride + position * window->window_dilation - window->padding_low;
    int64_t element = dilated / window->base_dilation;
    bool exists = dilated >= 0 && dilated % window->base_dilation == 0 && element < line->length;
    line->at[w] = exists ? element * line->stride : -1;
  }
}

void placed_add(PlacedWindow *placed, const WindowDimension *window, int64_t length, int64_t stride,
                int64_t outputs, Arena *arena) {
  int64_t *at = ARENA_ARRAY(arena, int64_t, window->size);
  placed->line[placed->rank] = (WindowLine){window, length, stride, outputs, at};
  set_output(placed, placed->rank++, 0);
}

bool placed_next(PlacedWindow *placed) {
  for (int d = placed->rank - 1; d >= 0; d--) {
    bool carries = placed->output[d] + 1 == placed->line[d].outputs;
    set_output(placed, d, carries ? 0 : placed->output[d] + 1);
    if (!carries) return true;
  }
  return false;
}

/* Goes to an output, by its row-major number. */
static void placed_go(PlacedWindow *placed, int64_t number) {
  for (int d = placed->rank - 1; d >= 0; d--) {
    set_output(placed, d, number % placed->line[d].outputs);
    number /= placed->line[d].outputs;
  }
}

static bool elements_from(const PlacedWindow *placed, int dimension, int64_t at, int64_t position,
                          ElementRule *rule, void *state) {
  if (dimension == placed->rank) return rule(state, at, position);
  const int64_t *offsets = placed->line[dimension].at;
  int64_t size = placed->line[dimension].window->size;
  for (int64_t w = 0; w < size; w++) {
    if (offsets[w] >= 0 &&
        !elements_from(placed, dimension + 1, at + offsets[w], position * size + w, rule, state)) {
      return false;
    }
  }
  return true;
}

bool placed_elements(const PlacedWindow *placed, ElementRule *rule, void *state) {
  return elements_from(placed, 0, 0, 0, rule, state);
}

/* A window over all dimensions of an array. */
static void place_over(PlacedWindow *placed, const Window *window, const Shape *shape,
                       const int64_t *outputs, Arena *arena) {
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  placed->rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    placed_add(placed, &window->items[d], shape->dims[d], strides[d], outputs[d], arena);
  }
}

/* --- reduce-window --------------------------------------------------------------------------- */

typedef struct Fold {
  int count;
  Literal *const *operands;
  EvalApply *apply;
  Scalar *arguments; /* 2 * count: accumulators, then elements */
} Fold;

static bool is_sum_in_double(const Instruction *window) {
  PrimitiveType type = window->operands[0]->shape->type;
  return (type == F32 || type == C64) && computation_simple_binary(window->a->to_apply) == HLO_ADD;
}

static bool add_element(void *state, int64_t at, int64_t position) {
  const Fold *fold = state;
  const Literal *operand = fold->operands[0];
  Scalar element = scalar_load(operand->shape->type, operand->data, at);
  fold->arguments[0].f += element.f;
  fold->arguments[0].im += element.im;
  return true;
}

static bool fold_element(void *state, int64_t at, int64_t position) {
  const Fold *fold = state;
  for (int k = 0; k < fold->count; k++) {
    const Literal *operand = fold->operands[k];
    fold->arguments[fold->count + k] = scalar_load(operand->shape->type, operand->data, at);
  }
  Scalar *results = fold->arguments + 2 * fold->count;
  if (!eval_apply(fold->apply, fold->arguments, results)) return false;
  memcpy(fold->arguments, results, sizeof(Scalar) * (size_t)fold->count);
  return true;
}

bool eval_reduce_window(const Instruction *instruction, Literal *const *operands, Literal *result,
                        EvalContext *context) {
  int count = instruction->operand_count / 2;
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  int64_t part[2];
  evaluation_part(context, shape_elements(results[0]->shape), part);
  Fold fold = {count, operands, eval_apply_new(instruction->a->to_apply, context),
               ARENA_ARRAY(context->arena, Scalar, 3 * count)};
  if (!fold.apply) return false;
  ElementRule *rule = is_sum_in_double(instruction) ? add_element : fold_element;
  PlacedWindow placed;
  place_over(&placed, &instruction->a->window, operands[0]->shape, results[0]->shape->dims,
             context->arena);
  if (part[0] < part[1]) placed_go(&placed, part[0]);
  for (int64_t i = part[0]; i < part[1]; i++, placed_next(&placed)) {
    for (int k = 0; k < count; k++) {
      const Literal *initial = operands[count + k];
      fold.arguments[k] = scalar_load(initial->shape->type, initial->data, 0);
    }
    if (!placed_elements(&placed, rule, &fold)) return false;
    for (int k = 0; k < count; k++) {
      scalar_store(results[k]->shape->type, results[k]->data, i, fold.arguments[k]);
    }
  }
  return true;
}

/* --- select-and-scatter ---------------------------------------------------------------------- */

/* The element selected so far: a later one is selected if select(winner, later) is false. */
typedef struct Contest {
  const Literal *operand;
  EvalApply *select;
  int64_t winner; /* -1: none yet */
  Scalar value;
} Contest;

static bool challenge(void *state, int64_t at, int64_t position) {
  Contest *contest = state;
  Scalar value = scalar_load(contest->operand->shape->type, contest->operand->data, at);
  Scalar arguments[2] = {contest->value, value}, keep = {.u = 0};
  if (contest->winner >= 0 && !eval_apply(contest->select, arguments, &keep)) return false;
  if (keep.u) return true;
  contest->winner = at;
  contest->value = value;
  return true;
}

static void fill(Literal *result, Scalar value) {
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) scalar_store(result->shape->type, result->data, i, value);
}

bool eval_select_and_scatter(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context) {
  const Literal *source = operands[1];
  PrimitiveType type = result->shape->type;
  int64_t part[2];
  evaluation_part(context, shape_elements(source->shape), part);
  Contest contest = {.operand = operands[0],
                     .select = eval_apply_new(instruction->a->select, context)};
  EvalApply *scatter = eval_apply_new(instruction->a->scatter, context);
  if (!contest.select || !scatter) return false;
  PlacedWindow placed;
  place_over(&placed, &instruction->a->window, operands[0]->shape, source->shape->dims,
             context->arena);
  if (part[0] == 0) fill(result, scalar_load(type, operands[2]->data, 0));
  if (part[0] < part[1]) placed_go(&placed, part[0]);
  for (int64_t i = part[0]; i < part[1]; i++, placed_next(&placed)) {
    contest.winner = -1;
    if (!placed_elements(&placed, challenge, &contest)) return false;
    if (contest.winner < 0) continue;
    Scalar arguments[2] = {scalar_load(type, result->data, contest.winner),
                           scalar_load(source->shape->type, source->data, i)};
    Scalar sum;
    if (!eval_apply(scatter, arguments, &sum)) return false;
    scalar_store(type, result->data, contest.winner, sum);
  }
  return true;
}
