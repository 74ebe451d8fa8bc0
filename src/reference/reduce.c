/*
** Evaluates reduce, of one operand or several, by any computation.
**
** The operand is read once, in memory order. Each element is combined with the accumulator of its result:
** accumulator = f(accumulator, element). The accumulator starts as the initial value and is rounded to its
** type at every step. So the elements of one result are combined in row-major order.
**
** XLA:CPU reduces in levels when a reduced dimension is longer than 32: first windows of 32 (with SAME
** padding on both sides), then their results, until none is longer. Each window starts from the initial
** value, which should therefore be neutral, as the specification says. This file does the same, and so gives
** the same bits. The exception is sums of few floats over several dimensions, which LLVM may reorder.
** Reductions of several operands have one level.
*/
#include <string.h>

#include "base/min_max.h"
#include "reference/eval.h"

/* Threshold LEVEL_WINDOW. Test: "reductions by ${operation} along rows and down columns" in
** core/thresholds.test.mjs. */
enum { LEVEL_WINDOW = 32 };

/* Maps elements to accumulators: element [i0, i1, ...] of the operand to accumulator
** dimension[0][i0] + dimension[1][i1] + ... */
typedef struct Targets {
  int64_t *dimension[MAX_RANK];
  int64_t sizes[MAX_RANK]; /* accumulators along each dimension */
  int64_t count;           /* of accumulators */
} Targets;

/* Makes one accumulator for each window of `window[d]` elements along dimension d (0: one window of all,
** even if it is empty). SAME padding: half of it, rounded down, comes first. */
static void targets_init(Targets *targets, const Shape *shape, const int64_t *window,
                         Arena *arena) {
  *targets = (Targets){.count = 1};
  for (int d = shape->rank - 1; d >= 0; d--) {
    int64_t size = shape->dims[d], width = window[d] ? window[d] : size;
    targets->sizes[d] = window[d] ? divide_up(size, width) : 1;
    int64_t low = (targets->sizes[d] * width - size) / 2;
    targets->dimension[d] = ARENA_ARRAY(arena, int64_t, size);
    for (int64_t i = 0; i < size; i++) {
      targets->dimension[d][i] = (i + low) / width * targets->count;
    }
    targets->count *= targets->sizes[d];
  }
}

/* A row of the operand: the position of its first element, its length, and its accumulators: element i has
** accumulator base + target[i]. */
typedef struct Row {
  int64_t at, size, base;
  const int64_t *target;
} Row;
typedef bool RowRule(void *state, const Row *row);

/* Steps `index` over all dimensions but the last; false after the last row. */
static bool next_row(const Shape *shape, const Targets *targets, int64_t *index, Row *row) {
  row->at += row->size;
  for (int d = shape->rank - 2; d >= 0; d--) {
    row->base -= targets->dimension[d][index[d]];
    index[d] = index[d] + 1 < shape->dims[d] ? index[d] + 1 : 0;
    row->base += targets->dimension[d][index[d]];
    if (index[d]) return true;
  }
  return false;
}

static bool for_rows(const Shape *shape, const Targets *targets, RowRule *rule, void *state) {
  static const int64_t scalar_target[1] = {0};
  if (shape_elements(shape) == 0) return true;
  int64_t index[MAX_RANK] = {0};
  int last = shape->rank - 1;
  Row row = {.size = last < 0 ? 1 : shape->dims[last],
             .target = last < 0 ? scalar_target : targets->dimension[last]};
  do {
    if (!rule(state, &row)) return false;
  } while (next_row(shape, targets, index, &row));
  return true;
}

/* --- a fast path: sums of the most frequent types -------------------------------------------- */

typedef struct Sum {
  const void *operand;
  void *sums;
} Sum;

/* Signed sums wrap, hence the unsigned type. */
#define SUM_ROW(name, type)                                               \
  static bool name(void *state, const Row *row) {                         \
    const Sum *sum = state;                                               \
    const type *x = (const type *)sum->operand + row->at;                 \
    type *sums = (type *)sum->sums + row->base;                           \
    for (int64_t i = 0; i < row->size; i++) sums[row->target[i]] += x[i]; \
    return true;                                                          \
  }
SUM_ROW(sum_f32, float)
SUM_ROW(sum_f64, double)
SUM_ROW(sum_s32, uint32_t)

static RowRule *sum_rule(const Computation *computation, PrimitiveType type) {
  if (computation_simple_binary(computation) != HLO_ADD) return NULL;
  return type == F32 ? sum_f32 : type == F64 ? sum_f64 : type == S32 ? sum_s32 : NULL;
}

static bool reduce_sum(const Literal *operand, const Literal *initial, const Targets *targets,
                       RowRule *rule, Literal *result) {
  PrimitiveType type = operand->shape->type;
  Sum sum = {operand->data, result->data};
  Scalar start = scalar_load(type, initial->data, 0);
  for (int64_t i = 0; i < targets->count; i++) scalar_store(type, result->data, i, start);
  return for_rows(operand->shape, targets, rule, &sum);
}

/* --- any computation ------------------------------------------------------------------------- */

typedef struct Fold {
  int count; /* operands */
  Literal *const *operands;
  EvalApply *apply;
  Scalar *accumulators; /* `count` of them for each result */
  Scalar *arguments;    /* 2 * count: accumulators, then elements */
} Fold;

static bool fold_row(void *state, const Row *row) {
  const Fold *fold = state;
  int count = fold->count;
  for (int64_t i = 0; i < row->size; i++) {
    Scalar *accumulator = fold->accumulators + (row->base + row->target[i]) * count;
    memcpy(fold->arguments, accumulator, sizeof(Scalar) * (size_t)count);
    for (int k = 0; k < count; k++) {
      const Literal *operand = fold->operands[k];
      fold->arguments[count + k] = scalar_load(operand->shape->type, operand->data, row->at + i);
    }
    if (!eval_apply(fold->apply, fold->arguments, accumulator)) return false;
  }
  return true;
}

/* `operands`: the arrays and then the initial values, `count` of each. */
static bool reduce_fold(const Computation *computation, Literal *const *operands, int count,
                        const Targets *targets, Literal **results, EvalContext *context) {
  Arena *arena = context->arena;
  Fold fold = {count, operands, eval_apply_new(computation, context),
               ARENA_ARRAY(arena, Scalar, targets->count * count),
               ARENA_ARRAY(arena, Scalar, 2 * count)};
  if (!fold.apply) return false;
  for (int64_t i = 0; i < targets->count * count; i++) {
    const Literal *initial = operands[count + i % count];
    fold.accumulators[i] = scalar_load(initial->shape->type, initial->data, 0);
  }
  if (!for_rows(operands[0]->shape, targets, fold_row, &fold)) return false;
  for (int k = 0; k < count; k++) {
    for (int64_t i = 0; i < targets->count; i++) {
      scalar_store(results[k]->shape->type, results[k]->data, i, fold.accumulators[i * count + k]);
    }
  }
  return true;
}

/* --- the levels ------------------------------------------------------------------------------ */

static bool reduce_windows(const Computation *computation, Literal *const *operands, int count,
                           const Targets *targets, Literal **results, EvalContext *context) {
  PrimitiveType type = operands[0]->shape->type;
  RowRule *rule = sum_rule(computation, type);
  if (count == 1 && rule && results[0]->shape->type == type) {
    return reduce_sum(operands[0], operands[1], targets, rule, results[0]);
  }
  return reduce_fold(computation, operands, count, targets, results, context);
}

/* Reduces windows of 32 along longer reduced dimensions, and whole dimensions along the other reduced ones.
** Returns the operand itself when none is longer, NULL for an error. */
static Literal *reduce_level(const Instruction *instruction, Literal *operand, Literal *initial,
                             EvalContext *context) {
  const Shape *shape = operand->shape;
  int64_t window[MAX_RANK];
  bool longer = false;
  for (int d = 0; d < shape->rank; d++) {
    bool reduced = list_has(instruction->a->dimensions, d);
    longer |= reduced && shape->dims[d] > LEVEL_WINDOW;
    window[d] = !reduced ? 1 : shape->dims[d] > LEVEL_WINDOW ? LEVEL_WINDOW : 0;
  }
  if (!longer) return operand;
  Targets targets;
  targets_init(&targets, shape, window, context->arena);
  const Shape *level = shape_make(context->arena, instruction->shape->type, shape->rank,
                                  targets.sizes, context->error);
  if (!level) return NULL;
  Literal *result = literal_new(context->arena, level);
  Literal *const operands[2] = {operand, initial};
  bool done = reduce_windows(instruction->a->to_apply, operands, 1, &targets, &result, context);
  return done ? result : NULL;
}

bool eval_reduce(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  int count = instruction->operand_count / 2;
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  Literal *levels[2] = {NULL, operands[1]};
  if (!shape_is_tuple(result->shape)) {
    for (levels[0] = operands[0];;) {
      Literal *level = reduce_level(instruction, levels[0], levels[1], context);
      if (!level) return false;
      if (level == levels[0]) break;
      levels[0] = level;
    }
    operands = levels;
  }
  const Shape *shape = operands[0]->shape;
  int64_t window[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) window[d] = !list_has(instruction->a->dimensions, d);
  Targets targets;
  targets_init(&targets, shape, window, context->arena);
  return reduce_windows(instruction->a->to_apply, operands, count, &targets, results, context);
}
