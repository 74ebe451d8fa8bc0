/*
** Evaluates dot, ragged-dot and scaled-dot.
**
** Both operands are packed first: the lhs as [batch, row, contracted], the rhs as [batch,
** contracted, column]. Then each batch is a matrix product. Its order [batch, row, column] is that of
** the result.
*/
#include "hlo/scalar/element.h"
#include "reference/wide_numbers.h"
#include "textbook/textbook.h"

/* The dimension numbers of one operand, by role. */
typedef struct DotSide {
  const Literal *operand;
  const Int64List *batch, *contracting;
  int64_t batches, free, contracted; /* sizes: products over the dimensions of each role */
} DotSide;

static bool is_free(const DotSide *side, int64_t dimension) {
  return !list_has(*side->batch, dimension) && !list_has(*side->contracting, dimension);
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

/* Packs an operand as [batch, contracted, free] if `rows_last`, for the rhs; else [batch, free, contracted]. */
static WideNumbers pack(const DotSide *side, PrimitiveType to, bool rows_last, Arena *arena) {
  const Shape *shape = side->operand->shape;
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  Walk walk;
  walk_init(&walk);
  walk_list(&walk, shape, strides, side->batch);
  if (rows_last) walk_list(&walk, shape, strides, side->contracting);
  walk_free(&walk, side, strides);
  if (!rows_last) walk_list(&walk, shape, strides, side->contracting);
  return wide_numbers_from(&walk, side->operand, to, arena);
}

/* Adds to one row of the result: lhs[k] * rhs[k][column] for `count` k. `lhs_at` and `rhs_at` are
** positions in the packed operands. */
static void add_row(PrimitiveType type, WideNumbers lhs, int64_t lhs_at, WideNumbers rhs,
                    int64_t rhs_at, int64_t count, int64_t columns, WideNumbers sum) {
  for (int64_t k = 0; k < count; k++) {
    wide_numbers_add_products(type, sum, lhs, lhs_at + k, rhs, rhs_at + k * columns, columns);
  }
}

bool eval_dot(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  const Attributes *a = instruction->a;
  PrimitiveType type = result->shape->type;
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &a->lhs_contracting_dims);
  DotSide rhs = dot_side(operands[1], &a->rhs_batch_dims, &a->rhs_contracting_dims);
  WideNumbers x = pack(&lhs, type, false, context->arena),
              y = pack(&rhs, type, true, context->arena);
  WideNumbers sum = wide_numbers_new(type, rhs.free, context->arena);
  int64_t count = lhs.contracted;
  for (int64_t at = 0; at < lhs.batches * lhs.free; at++) {
    int64_t batch = at / lhs.free;
    /* If each sum has one term, XLA only multiplies: a product of -0 stays -0. */
    wide_numbers_clear(type, sum, rhs.free, count == 1);
    add_row(type, x, at * count, y, batch * count * rhs.free, count, rhs.free, sum);
    wide_numbers_store(type, sum, rhs.free, result->data, at * rhs.free, 1);
  }
  return true;
}

/* --- ragged-dot ---------------------------------------------------------------------------------- */

/*
** One dimension of the lhs is split into groups, whose sizes the third operand has. If that dimension is
** - free: each group of rows is multiplied by its own matrix of the rhs; rows after the last group give 0;
** - contracted: each group has its own product; the groups come first in the result;
** - batch: the groups change nothing.
** The sizes are one list for all: [groups]; or one for each index of the batch dimensions and of the
** dimensions of the same role before the ragged one: [those..., groups].
*/
typedef struct Groups {
  const Literal *sizes;
  int64_t count, limit; /* of groups; size of the ragged dimension */
} Groups;

/* Returns a group's size. Sizes are data, so they are clamped to those possible. */
static int64_t group_size(const Groups *groups, int64_t list, int64_t group) {
  const Shape *shape = groups->sizes->shape;
  int64_t at = (shape->rank == 1 ? 0 : list * groups->count) + group;
  int64_t size = scalar_load(shape->type, groups->sizes->data, at).i;
  return size < 0 ? 0 : size < groups->limit ? size : groups->limit;
}

/* Returns the start of a group; for group `count`, the end of the last one. */
static int64_t group_begin(const Groups *groups, int64_t list, int64_t group) {
  int64_t begin = 0;
  for (int64_t g = 0; g < group; g++) begin += group_size(groups, list, g);
  return begin < groups->limit ? begin : groups->limit;
}

/* Returns the group of position `at` along the ragged dimension; `count` if it is in none. */
static int64_t group_of(const Groups *groups, int64_t list, int64_t at) {
  int64_t group = 0;
  while (group < groups->count && at >= group_begin(groups, list, group + 1)) group++;
  return group;
}

/* Multiplies if the ragged dimension is free. The groups' matrices are packed like batches. */
static void ragged_rows(const Attributes *a, Literal *const *operands, const Groups *groups,
                        Literal *result, Arena *arena) {
  PrimitiveType type = result->shape->type;
  int64_t ragged = a->lhs_ragged_dims.items[0], items[MAX_RANK + 1];
  items[0] = a->rhs_group_dims.items[0];
  for (int i = 0; i < a->rhs_batch_dims.count; i++) items[i + 1] = a->rhs_batch_dims.items[i];
  Int64List group_and_batch = {a->rhs_batch_dims.count + 1, items};
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &a->lhs_contracting_dims);
  DotSide rhs = dot_side(operands[1], &group_and_batch, &a->rhs_contracting_dims);
  WideNumbers x = pack(&lhs, type, false, arena), y = pack(&rhs, type, true, arena);
  WideNumbers sum = wide_numbers_new(type, rhs.free, arena);
  int64_t inner = 1; /* rows per index of the ragged dimension */
  for (int d = (int)ragged + 1; d < operands[0]->shape->rank; d++) {
    if (is_free(&lhs, d)) inner *= operands[0]->shape->dims[d];
  }
  for (int64_t at = 0; at < lhs.batches * lhs.free; at++) {
    int64_t list = at / inner / groups->limit;
    int64_t group = group_of(groups, list, at / inner % groups->limit);
    int64_t matrix = group * lhs.batches + at / lhs.free;
    int64_t count = group < groups->count ? lhs.contracted : 0;
    wide_numbers_clear(type, sum, rhs.free, false);
    add_row(type, x, at * lhs.contracted, y, matrix * rhs.contracted * rhs.free, count, rhs.free,
            sum);
    wide_numbers_store(type, sum, rhs.free, result->data, at * rhs.free, 1);
  }
}

/* Multiplies if the ragged dimension is contracted: for each index of the contracted ones before it, a group
** is a range of the packed elements. */
static void ragged_sums(const Attributes *a, Literal *const *operands, const Groups *groups,
                        Literal *result, Arena *arena) {
  PrimitiveType type = result->shape->type;
  DotSide lhs = dot_side(operands[0], &a->lhs_batch_dims, &a->lhs_contracting_dims);
  DotSide rhs = dot_side(operands[1], &a->rhs_batch_dims, &a->rhs_contracting_dims);
  WideNumbers x = pack(&lhs, type, false, arena), y = pack(&rhs, type, true, arena);
  WideNumbers sum = wide_numbers_new(type, rhs.free, arena);
  int64_t before = 1, inner = 1, rows = lhs.batches * lhs.free;
  for (int i = 0, after = 0; i < a->lhs_contracting_dims.count; i++) {
    int64_t d = a->lhs_contracting_dims.items[i];
    if (d == a->lhs_ragged_dims.items[0]) {
      after = 1;
    } else if (after) {
      inner *= operands[0]->shape->dims[d];
    } else {
      before *= operands[0]->shape->dims[d];
    }
  }
  for (int64_t at = 0; at < rows * groups->count; at++) {
    int64_t row = at % rows, group = at / rows, batch = row / lhs.free;
    wide_numbers_clear(type, sum, rhs.free, false);
    for (int64_t i = 0; i < before; i++) {
      int64_t list = batch * before + i;
      int64_t from = group_begin(groups, list, group), to = group_begin(groups, list, group + 1);
      int64_t k = (i * groups->limit + from) * inner;
      add_row(type, x, row * lhs.contracted + k, y, (batch * lhs.contracted + k) * rhs.free,
              (to - from) * inner, rhs.free, sum);
    }
    wide_numbers_store(type, sum, rhs.free, result->data, at * rhs.free, 1);
  }
}

bool eval_ragged_dot(const Instruction *instruction, Literal *const *operands, Literal *result,
                     EvalContext *context) {
  const Attributes *a = instruction->a;
  int64_t ragged = a->lhs_ragged_dims.items[0];
  const Shape *sizes = operands[2]->shape;
  Groups groups = {operands[2], sizes->dims[sizes->rank - 1], operands[0]->shape->dims[ragged]};
  if (list_has(a->lhs_batch_dims, ragged)) {
    return eval_dot(instruction, operands, result, context);
  }
  if (list_has(a->lhs_contracting_dims, ragged)) {
    ragged_sums(a, operands, &groups, result, context->arena);
  } else {
    ragged_rows(a, operands, &groups, result, context->arena);
  }
  return true;
}

/* --- scaled-dot ---------------------------------------------------------------------------------- */

/* Returns operand * scale. Each element of the scale applies to a block of the operand. Both are first
** rounded to the type of the result. NULL with an error. */
static Literal *scaled(const Literal *operand, const Literal *scale, PrimitiveType type,
                       EvalContext *context) {
  const Shape *shape = operand->shape;
  PrimitiveType product_type = type_of_products(type);
  Literal *result =
      evaluation_literal(shape_with_type(context->arena, shape, product_type), context);
  if (!result) return NULL;
  int64_t strides[MAX_RANK], index[MAX_RANK] = {0}, count = shape_elements(shape);
  shape_strides(scale->shape, strides);
  for (int64_t at = 0; at < count; at++, shape_next_index(shape, index)) {
    int64_t from = 0;
    for (int d = 0; d < shape->rank; d++) {
      from += index[d] / (shape->dims[d] / scale->shape->dims[d]) * strides[d];
    }
    Scalar x = scalar_load(shape->type, operand->data, at);
    Scalar s = scalar_load(scale->shape->type, scale->data, from);
    x = scalar_convert(shape->type, type, x);
    s = scalar_convert(scale->shape->type, type, s);
    scalar_store(product_type, result->data, at,
                 scalar_binary_opcode(HLO_MULTIPLY, product_type, x, s));
  }
  return result;
}

bool eval_scaled_dot(const Instruction *instruction, Literal *const *operands, Literal *result,
                     EvalContext *context) {
  PrimitiveType type = result->shape->type;
  Literal *lhs = scaled(operands[0], operands[2], type, context);
  Literal *rhs = lhs ? scaled(operands[1], operands[3], type, context) : NULL;
  return rhs && eval_dot(instruction, (Literal *[]){lhs, rhs}, result, context);
}
