/*
** dot and ragged-dot.
**
** Both operands are first packed: the lhs as [batch, row, contracted], the rhs as [batch,
** contracted, column]. What is left is a product of matrices per batch, whose order [batch, row,
** column] is that of the result.
*/
#include "eval/packed.h"

/* The dimension numbers of one operand, by role. */
typedef struct DotSide {
  const Literal *operand;
  const Int64List *batch, *contracting;
  int64_t batches, free, contracted; /* sizes: products over the dimensions of each role */
} DotSide;

static bool list_has(const Int64List *list, int64_t value) {
  for (int i = 0; i < list->count; i++) {
    if (list->items[i] == value) return true;
  }
  return false;
}

static bool is_free(const DotSide *side, int64_t dimension) {
  return !list_has(side->batch, dimension) && !list_has(side->contracting, dimension);
}

static DotSide dot_side(const Literal *operand, const Int64List *batch,
                        const Int64List *contracting) {
  DotSide side = {operand, batch, contracting, 1, 1, 1};
  const Shape *shape = operand->shape;
  for (int i = 0; i < batch->count; i++) side.batches *= shape->dims[batch->items[i]];
  for (int i = 0; i < contracting->count; i++) {
    side.contracted *= shape->dims[contracting->items[i]];
  }
  for (int d = 0; d < shape->rank; d++) {
    if (is_free(&side, d)) side.free *= shape->dims[d];
  }
  return side;
}

static void walk_list(Walk *walk, const Shape *shape, const int64_t *strides,
                      const Int64List *list) {
  for (int i = 0; i < list->count; i++) {
    walk_add(walk, shape->dims[list->items[i]], strides[list->items[i]], 0, 0);
  }
}

static void walk_free(Walk *walk, const DotSide *side, const int64_t *strides) {
  for (int d = 0; d < side->operand->shape->rank; d++) {
    if (is_free(side, d)) walk_add(walk, side->operand->shape->dims[d], strides[d], 0, 0);
  }
}

/* `rows_last`: [batch, contracted, free], as the rhs has it; else [batch, free, contracted]. */
static Packed pack(const DotSide *side, PrimitiveType to, bool rows_last, Arena *arena) {
  const Shape *shape = side->operand->shape;
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  Walk walk;
  walk_init(&walk);
  walk_list(&walk, shape, strides, side->batch);
  if (rows_last) walk_list(&walk, shape, strides, side->contracting);
  walk_free(&walk, side, strides);
  if (!rows_last) walk_list(&walk, shape, strides, side->contracting);
  return packed_from(&walk, side->operand, to, arena);
}

/* One row of the result: sum over k of lhs[k] * rhs[k][column]. `lhs_at` and `rhs_at` are positions
** in the packed operands. `outer`: there is one product a sum, and one of -0 stays that, as in
** XLA, which makes this a multiply. */
static void dot_row(PrimitiveType type, Packed lhs, int64_t lhs_at, Packed rhs, int64_t rhs_at,
                    int64_t count, int64_t columns, bool outer, Packed sum) {
  packed_clear(type, sum, columns, outer);
  for (int64_t k = 0; k < count; k++) {
    packed_add_products(type, sum, lhs, lhs_at + k, rhs, rhs_at + k * columns, columns);
  }
}

bool eval_dot(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  const Attributes *a = &instruction->a;
  PrimitiveType type = result->shape->type;
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &a->lhs_contracting_dims);
  DotSide rhs = dot_side(operands[1], &a->rhs_batch_dims, &a->rhs_contracting_dims);
  Packed x = pack(&lhs, type, false, context->arena), y = pack(&rhs, type, true, context->arena);
  Packed sum = packed_new(type, rhs.free, context->arena);
  for (int64_t batch = 0; batch < lhs.batches; batch++) {
    for (int64_t row = 0; row < lhs.free; row++) {
      int64_t at = batch * lhs.free + row;
      dot_row(type, x, at * lhs.contracted, y, batch * rhs.contracted * rhs.free, lhs.contracted,
              rhs.free, lhs.contracted == 1, sum);
      packed_store(type, sum, rhs.free, result->data, at * rhs.free, 1);
    }
  }
  return true;
}

/* --- ragged-dot ---------------------------------------------------------------------------------- */

/*
** One dimension of the lhs is cut into groups of the sizes that the third operand gives. If that
** dimension is
** - free: each group of rows meets its own matrix of the rhs; rows behind the last group give 0;
** - contracted: each group gives its own product; the groups come first in the result;
** - batch: the groups change nothing.
** The sizes may differ by batch: [batch dimensions..., groups]; or be one list for all: [groups].
*/
typedef struct Groups {
  const Literal *sizes;
  int64_t count, batches, limit; /* limit: size of the ragged dimension */
} Groups;

/* Sizes are data: one below 0 or beyond the dimension is taken as the nearest possible one. */
static int64_t group_size(const Groups *groups, int64_t batch, int64_t group) {
  int64_t row = groups->batches == 1 ? 0 : batch;
  PrimitiveType type = groups->sizes->shape->type;
  int64_t size = scalar_load(type, groups->sizes->data, row * groups->count + group).i;
  return size < 0 ? 0 : size < groups->limit ? size : groups->limit;
}

/* The group that position `at` along the ragged dimension is in; `count` if it is in none. */
static int64_t group_of(const Groups *groups, int64_t batch, int64_t at) {
  int64_t group = 0, end = 0;
  for (; group < groups->count; group++) {
    end += group_size(groups, batch, group);
    if (at < end) break;
  }
  return group;
}

/* Puts the item at `position` in front. */
static Int64List list_to_front(const Int64List *list, int position, int64_t *items) {
  items[0] = list->items[position];
  for (int i = 0, n = 1; i < list->count; i++) {
    if (i != position) items[n++] = list->items[i];
  }
  return (Int64List){list->count, items};
}

static int list_find(const Int64List *list, int64_t value) {
  int i = 0;
  while (i < list->count && list->items[i] != value) i++;
  return i;
}

/* The ragged dimension is free. The matrices of the groups are packed as if batches. */
static void ragged_rows(const Attributes *a, const DotSide *lhs, const Literal *operand,
                        const Groups *groups, Literal *result, Arena *arena) {
  PrimitiveType type = result->shape->type;
  int64_t ragged = a->lhs_ragged_dims.items[0], items[MAX_RANK];
  items[0] = a->rhs_group_dims.items[0];
  for (int i = 0; i < a->rhs_batch_dims.count; i++) items[i + 1] = a->rhs_batch_dims.items[i];
  Int64List group_and_batch = {a->rhs_batch_dims.count + 1, items};
  DotSide rhs = dot_side(operand, &group_and_batch, &a->rhs_contracting_dims);
  Packed x = pack(lhs, type, false, arena), y = pack(&rhs, type, true, arena);
  Packed sum = packed_new(type, rhs.free, arena);
  int64_t inner = 1, size = lhs->operand->shape->dims[ragged];
  for (int d = (int)ragged + 1; d < lhs->operand->shape->rank; d++) {
    if (is_free(lhs, d)) inner *= lhs->operand->shape->dims[d];
  }
  for (int64_t at = 0; at < lhs->batches * lhs->free; at++) {
    int64_t batch = at / lhs->free, group = group_of(groups, batch, at / inner % size);
    int64_t matrix = (group * lhs->batches + batch) * rhs.contracted * rhs.free;
    int64_t count = group < groups->count ? lhs->contracted : 0;
    dot_row(type, x, at * lhs->contracted, y, matrix, count, rhs.free, false, sum);
    packed_store(type, sum, rhs.free, result->data, at * rhs.free, 1);
  }
}

/* The ragged dimension is contracted. With it outermost among the contracted ones, a group is a
** range of the packed ones. */
static void ragged_sums(const Attributes *a, Literal *const *operands, const Groups *groups,
                        Literal *result, Arena *arena) {
  PrimitiveType type = result->shape->type;
  int position = list_find(&a->lhs_contracting_dims, a->lhs_ragged_dims.items[0]);
  int64_t lhs_items[MAX_RANK], rhs_items[MAX_RANK];
  Int64List lhs_list = list_to_front(&a->lhs_contracting_dims, position, lhs_items);
  Int64List rhs_list = list_to_front(&a->rhs_contracting_dims, position, rhs_items);
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &lhs_list);
  DotSide rhs = dot_side(operands[1], &a->rhs_batch_dims, &rhs_list);
  Packed x = pack(&lhs, type, false, arena), y = pack(&rhs, type, true, arena);
  Packed sum = packed_new(type, rhs.free, arena);
  int64_t size = operands[0]->shape->dims[lhs_list.items[0]];
  int64_t inner = size ? lhs.contracted / size : 0;
  for (int64_t at = 0; at < lhs.batches * lhs.free; at++) {
    int64_t batch = at / lhs.free, from = 0;
    for (int64_t group = 0; group < groups->count; group++) {
      int64_t count = group_size(groups, batch, group);
      if (count > size - from) count = size - from;
      int64_t rhs_at = (batch * rhs.contracted + from * inner) * rhs.free;
      dot_row(type, x, at * lhs.contracted + from * inner, y, rhs_at, count * inner, rhs.free,
              false, sum);
      packed_store(type, sum, rhs.free, result->data,
                   (group * lhs.batches * lhs.free + at) * rhs.free, 1);
      from += count;
    }
  }
}

bool eval_ragged_dot(const Instruction *instruction, Literal *const *operands, Literal *result,
                     EvalContext *context) {
  const Attributes *a = &instruction->a;
  int64_t ragged = a->lhs_ragged_dims.items[0];
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &a->lhs_contracting_dims);
  const Shape *shape = operands[2]->shape;
  Groups groups = {operands[2], shape->dims[shape->rank - 1], 1, operands[0]->shape->dims[ragged]};
  if (shape->rank > 1) groups.batches = lhs.batches;
  if (list_has(&a->lhs_contracting_dims, ragged)) {
    ragged_sums(a, operands, &groups, result, context->arena);
  } else if (list_has(&a->lhs_batch_dims, ragged)) {
    return eval_dot(instruction, operands, result, context);
  } else {
    ragged_rows(a, &lhs, operands[1], &groups, result, context->arena);
  }
  return true;
}
