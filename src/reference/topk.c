/*
** Evaluates topk: the k largest (or smallest) elements of the last dimension, in order, with their positions.
** Of equal elements, the first comes first.
**
** Floats are in total order, as XLA:CPU sorts them: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
*/
#include <string.h>

#include "hlo/scalar/element.h"
#include "reference/eval.h"
#include "reference/merge_sort.h"

/* Returns a number with the element's order. Unsigned elements are shifted down by half their range. */
static int64_t order_key(PrimitiveType type, const void *data, int64_t index) {
  if (type_is_floating(type)) return total_order_key(type, data, index).i;
  Scalar value = scalar_load(type, data, index);
  return type_kind(type) == KIND_SIGNED ? value.i : (int64_t)(value.u ^ (UINT64_C(1) << 63));
}

typedef struct Keys {
  const int64_t *items;
  bool largest;
} Keys;

static int comes_first(void *state, int64_t left, int64_t right) {
  const Keys *keys = state;
  int64_t l = keys->items[left], r = keys->items[right];
  return keys->largest ? l > r : l < r;
}

bool eval_topk(const Instruction *instruction, Literal *const *operands, Literal *result,
               EvalContext *context) {
  const Literal *operand = operands[0];
  PrimitiveType type = operand->shape->type;
  int bytes = type_bytes(type);
  Literal *values = result->elements[0], *positions = result->elements[1];
  int64_t size = operand->shape->dims[operand->shape->rank - 1], k = instruction->a->k;
  int64_t *keys = ARENA_ARRAY(context->arena, int64_t, size);
  int64_t *order = ARENA_ARRAY(context->arena, int64_t, size);
  int64_t *scratch = ARENA_ARRAY(context->arena, int64_t, size);
  Keys rule = {keys, instruction->a->largest};
  int64_t lines = size ? shape_elements(operand->shape) / size : 0;
  for (int64_t line = 0; line < lines; line++) {
    int64_t from = line * size, to = line * k;
    for (int64_t i = 0; i < size; i++) keys[i] = order_key(type, operand->data, from + i);
    merge_sort(order, scratch, size, comes_first, &rule);
    for (int64_t i = 0; i < k; i++) {
      memcpy((char *)values->data + (to + i) * bytes,
             (const char *)operand->data + (from + order[i]) * bytes, (size_t)bytes);
      scalar_store(positions->shape->type, positions->data, to + i, (Scalar){.i = order[i]});
    }
  }
  return true;
}
