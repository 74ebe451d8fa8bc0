/*
** Evaluates sort, of several operands by any comparator, always stable. Each line along the sorted dimension
** is sorted independently.
*/
#include <string.h>

#include "reference/eval.h"
#include "reference/merge_sort.h"
#include "reference/walk.h"

/* Merges the runs [from, middle) and [middle, to). */
static bool merge(int64_t *order, int64_t *scratch, int64_t from, int64_t middle, int64_t to,
                  LessRule *less, void *state) {
  int64_t left = from, right = middle;
  for (int64_t i = from; i < to; i++) {
    int take_right = left == middle;
    if (left < middle && right < to) take_right = less(state, order[right], order[left]);
    if (take_right < 0) return false;
    scratch[i] = take_right ? order[right++] : order[left++];
  }
  memcpy(order + from, scratch + from, sizeof(int64_t) * (size_t)(to - from));
  return true;
}

bool merge_sort(int64_t *order, int64_t *scratch, int64_t size, LessRule *less, void *state) {
  for (int64_t i = 0; i < size; i++) order[i] = i;
  for (int64_t run = 1; run < size; run *= 2) {
    for (int64_t from = 0; from + run < size; from += 2 * run) {
      int64_t to = from + 2 * run < size ? from + 2 * run : size;
      if (!merge(order, scratch, from, from + run, to, less, state)) return false;
    }
  }
  return true;
}

typedef struct Line {
  int count;      /* operands */
  int64_t size;   /* elements */
  Scalar *values; /* values[i * count + k]: element i of operand k */
  int64_t *order, *scratch;
  EvalApply *comparator;
  Scalar *arguments; /* 2 * count: left and right of operand 0, left and right of operand 1, ... */
} Line;

static int is_less(void *state, int64_t left, int64_t right) {
  const Line *line = state;
  for (int k = 0; k < line->count; k++) {
    line->arguments[2 * k] = line->values[left * line->count + k];
    line->arguments[2 * k + 1] = line->values[right * line->count + k];
  }
  Scalar answer;
  if (!eval_apply(line->comparator, line->arguments, &answer)) return -1;
  return answer.u != 0;
}

static void load_line(Line *line, Literal *const *operands, int64_t at, int64_t stride) {
  for (int k = 0; k < line->count; k++) {
    PrimitiveType type = operands[k]->shape->type;
    for (int64_t i = 0; i < line->size; i++) {
      line->values[i * line->count + k] = scalar_load(type, operands[k]->data, at + i * stride);
    }
  }
}

static void store_line(const Line *line, Literal *const *operands, Literal **results, int64_t at,
                       int64_t stride) {
  for (int k = 0; k < line->count; k++) {
    size_t bytes = (size_t)type_bytes(operands[k]->shape->type);
    const char *from = (const char *)operands[k]->data + (size_t)at * bytes;
    char *to = (char *)results[k]->data + (size_t)at * bytes;
    for (int64_t i = 0; i < line->size; i++) {
      memcpy(to + (size_t)(i * stride) * bytes, from + (size_t)(line->order[i] * stride) * bytes,
             bytes);
    }
  }
}

bool eval_sort(const Instruction *instruction, Literal *const *operands, Literal *result,
               EvalContext *context) {
  int count = instruction->operand_count;
  int dimension = (int)instruction->a->dimensions.items[0];
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  const Shape *shape = operands[0]->shape;
  int64_t strides[MAX_RANK], size = shape->dims[dimension];
  shape_strides(shape, strides);
  Line line = {count,
               size,
               ARENA_ARRAY(context->arena, Scalar, size * count),
               ARENA_ARRAY(context->arena, int64_t, size),
               ARENA_ARRAY(context->arena, int64_t, size),
               eval_apply_new(instruction->a->to_apply, context),
               ARENA_ARRAY(context->arena, Scalar, 2 * count)};
  if (!line.comparator) return false;
  Walk walk;
  walk_init(&walk);
  for (int d = 0; d < shape->rank; d++) {
    if (d != dimension) walk_add(&walk, shape->dims[d], strides[d], 0, 0);
  }
  if (walk.count == 0) return true;
  do {
    int64_t at = walk.offset[0];
    load_line(&line, operands, at, strides[dimension]);
    if (!merge_sort(line.order, line.scratch, size, is_less, &line)) return false;
    store_line(&line, operands, results, at, strides[dimension]);
  } while (walk_next(&walk));
  return true;
}
