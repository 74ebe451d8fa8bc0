/*
** reduce: one operand or several, any computation.
**
** The operand is read once, in memory order, and every element is taken into the accumulator of the
** result element that it belongs to: accumulator = f(accumulator, element), which starts as the
** initial value. Elements of one result are thus taken in row-major order.
**
** XLA:CPU does not take more than 32 elements in a row along a dimension: it first reduces windows
** of 32 (with padding on both sides, as SAME gives) and then reduces what these gave, repeatedly.
** Types that round to few bits show it in every sum, so they follow the same tree here. Sums of
** f32 and f64 are not taken apart: they are accumulated in double and rounded once. All else is
** exact (integers, maxima), or is rounded at every step (products).
*/
#include <string.h>

#include "eval/eval.h"
#include "eval/walk.h"

enum { TREE_WINDOW = 32 };

/* Where the elements go: element [i0, i1, ...] of the operand goes to accumulator
** target[0][i0] + target[1][i1] + ... */
typedef struct Targets {
  int64_t *dimension[MAX_RANK];
  int64_t count; /* of accumulators */
} Targets;

static bool list_has(const Int64List *list, int64_t value) {
  for (int i = 0; i < list->count; i++) {
    if (list->items[i] == value) return true;
  }
  return false;
}

/* Windows of `window[d]` elements along dimension d (0: all of it, also if that is nothing), each of
** which gives one accumulator; their number along each goes to `sizes`. SAME padding: half of it,
** rounded down, is in front. */
static Targets targets_new(const Shape *shape, const int64_t *window, int64_t *sizes,
                           Arena *arena) {
  Targets targets = {.count = 1};
  for (int d = shape->rank - 1; d >= 0; d--) {
    int64_t size = shape->dims[d], width = window[d] ? window[d] : size;
    sizes[d] = window[d] ? (size + width - 1) / width : 1;
    int64_t low = (sizes[d] * width - size) / 2;
    targets.dimension[d] = ARENA_ARRAY(arena, int64_t, size);
    for (int64_t i = 0; i < size; i++) {
      targets.dimension[d][i] = (i + low) / width * targets.count;
    }
    targets.count *= sizes[d];
  }
  return targets;
}

/* Steps `index` over all dimensions but the last, and gives the accumulator of its first element.
** Returns false behind the last. */
static bool next_row(const Shape *shape, const Targets *targets, int64_t *index, int64_t *base) {
  for (int d = shape->rank - 2; d >= 0; d--) {
    *base -= targets->dimension[d][index[d]];
    index[d] = index[d] + 1 < shape->dims[d] ? index[d] + 1 : 0;
    *base += targets->dimension[d][index[d]];
    if (index[d]) return true;
  }
  return false;
}

/* Calls `statement` for every row: `row` is the position of its first element, `base` that of its
** accumulators, `size` its length and `target` the accumulators' offsets along it. */
typedef struct Row {
  int64_t at, base, size;
  const int64_t *target;
} Row;
typedef bool RowRule(void *state, const Row *row);

static bool for_rows(const Shape *shape, const Targets *targets, RowRule *rule, void *state) {
  static const int64_t scalar_target[1] = {0};
  if (shape_elements(shape) == 0) return true;
  int64_t index[MAX_RANK] = {0};
  int last = shape->rank - 1;
  Row row = {0, 0, last < 0 ? 1 : shape->dims[last],
             last < 0 ? scalar_target : targets->dimension[last]};
  do {
    if (!rule(state, &row)) return false;
    row.at += row.size;
  } while (next_row(shape, targets, index, &row.base));
  return true;
}

/* --- the sum of f32 or f64 ---------------------------------------------------------------------- */

typedef struct Sum {
  const void *data;
  double *sums;
} Sum;

static bool sum_f32(void *state, const Row *row) {
  const Sum *sum = state;
  const float *x = (const float *)sum->data + row->at;
  for (int64_t i = 0; i < row->size; i++) sum->sums[row->base + row->target[i]] += (double)x[i];
  return true;
}

static bool sum_f64(void *state, const Row *row) {
  const Sum *sum = state;
  const double *x = (const double *)sum->data + row->at;
  for (int64_t i = 0; i < row->size; i++) sum->sums[row->base + row->target[i]] += x[i];
  return true;
}

static void reduce_sum(const Literal *operand, const Literal *initial, const Targets *targets,
                       Literal *result, EvalContext *context) {
  PrimitiveType type = result->shape->type;
  Sum sum = {operand->data, ARENA_ARRAY(context->arena, double, targets->count)};
  double start = scalar_load(type, initial->data, 0).f;
  for (int64_t i = 0; i < targets->count; i++) sum.sums[i] = start;
  for_rows(operand->shape, targets, type == F32 ? sum_f32 : sum_f64, &sum);
  for (int64_t i = 0; i < targets->count; i++) {
    scalar_store(type, result->data, i, (Scalar){.f = sum.sums[i]});
  }
}

/* --- any computation ----------------------------------------------------------------------------- */

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

/* --- the tree of XLA:CPU --------------------------------------------------------------------------- */

static bool is_narrow_float(PrimitiveType type) {
  return type_is_floating(type) && type_bytes(type) < 4;
}

/* One level: windows of 32 along the reduced dimensions that are longer, and of all of it along the
** other reduced ones. Gives the operand itself when none is longer, NULL for an error. */
static Literal *reduce_level(const Instruction *instruction, Literal *operand, Literal *initial,
                             EvalContext *context) {
  const Shape *shape = operand->shape;
  int64_t window[MAX_RANK], sizes[MAX_RANK];
  bool longer = false;
  for (int d = 0; d < shape->rank; d++) {
    bool reduced = list_has(&instruction->a.dimensions, d);
    longer |= reduced && shape->dims[d] > TREE_WINDOW;
    window[d] = !reduced ? 1 : shape->dims[d] > TREE_WINDOW ? TREE_WINDOW : 0;
  }
  if (!longer) return operand;
  Targets targets = targets_new(shape, window, sizes, context->arena);
  const Shape *level = shape_make(context->arena, shape->type, shape->rank, sizes, context->error);
  if (!level) return NULL;
  Literal *result = literal_new(context->arena, level);
  Literal *const operands[2] = {operand, initial};
  const Computation *computation = instruction->a.to_apply;
  return reduce_fold(computation, operands, 1, &targets, &result, context) ? result : NULL;
}

static bool reduce_tree(const Instruction *instruction, Literal **operands, EvalContext *context) {
  for (;;) {
    Literal *level = reduce_level(instruction, operands[0], operands[1], context);
    if (!level) return false;
    if (level == operands[0]) return true;
    operands[0] = level;
  }
}

bool eval_reduce(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  const Computation *computation = instruction->a.to_apply;
  int count = instruction->operand_count / 2;
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  Literal *first[2] = {operands[0], operands[1]};
  PrimitiveType type = results[0]->shape->type;
  bool one_type = count == 1 && operands[0]->shape->type == type;
  if (one_type && is_narrow_float(type)) {
    if (!reduce_tree(instruction, first, context)) return false;
    operands = first;
  }
  const Shape *shape = operands[0]->shape;
  int64_t window[MAX_RANK], sizes[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) window[d] = !list_has(&instruction->a.dimensions, d);
  Targets targets = targets_new(shape, window, sizes, context->arena);
  if (one_type && (type == F32 || type == F64) &&
      computation_simple_binary(computation) == HLO_ADD) {
    reduce_sum(operands[0], operands[1], &targets, results[0], context);
    return true;
  }
  return reduce_fold(computation, operands, count, &targets, results, context);
}
