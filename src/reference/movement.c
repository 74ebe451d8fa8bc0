/* Evaluates operations that move elements of any type unchanged. */
#include <string.h>

#include "base/min_max.h"
#include "reference/eval.h"
#include "reference/strided.h"

/* Copies data in the same row-major order to another shape: reshape, copy, and such. */
static bool copy_in_order(const Literal *operand, Literal *result) {
  size_t bytes = (size_t)shape_bytes(result->shape);
  if (bytes) memcpy(result->data, operand->data, bytes);
  return true;
}

bool eval_copy(const Instruction *instruction, Literal *const *operands, Literal *result,
               EvalContext *context) {
  (void)instruction, (void)context;
  literal_copy_data(operands[0], result); /* it may be a tuple */
  return true;
}

/* dynamic-reshape too: its result has the bounds as its sizes. */
bool eval_reshape(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  (void)instruction, (void)context;
  return copy_in_order(operands[0], result);
}

/* The only operation that depends on physical order: writes elements in the operand's layout and reads them
** in the result's. */
bool eval_bitcast(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  const Shape *from = instruction->operands[0]->shape, *to = instruction->shape;
  int64_t bytes = shape_physical_bytes(from);
  bool same_bits = type_bits(from->type) == type_bits(to->type);
  if (same_bits && shape_is_default_layout(from) && shape_is_default_layout(to)) {
    return copy_in_order(operands[0], result);
  }
  if (bytes != shape_physical_bytes(to)) {
    return error_set_op(context->error, STATUS_INVALID_ARGUMENT, "bitcast",
                        "operand %s and result %s take %lld and %lld bytes; a bitcast keeps the "
                        "bytes as they are",
                        shape_str(context->arena, from), shape_str(context->arena, to),
                        (long long)bytes, (long long)shape_physical_bytes(to));
  }
  void *physical = arena_try_alloc(context->arena, (uint64_t)bytes);
  if (!physical) {
    return error_set_op(context->error, STATUS_RESOURCE_EXHAUSTED, "bitcast",
                        "operand %s needs %lld more bytes", shape_str(context->arena, from),
                        (long long)bytes);
  }
  literal_to_layout(from, operands[0]->data, physical);
  literal_from_layout(to, physical, result->data);
  return true;
}

/* Copies to each element of the result the operand's element with the same index, by these strides. */
static bool copy_strided(const Literal *operand, const int64_t *from_strides, Literal *result) {
  int64_t to_strides[MAX_RANK];
  shape_strides(result->shape, to_strides);
  copy_box(operand, 0, from_strides, result, 0, to_strides, result->shape->rank,
           result->shape->dims);
  return true;
}

bool eval_broadcast(const Instruction *instruction, Literal *const *operands, Literal *result,
                    EvalContext *context) {
  (void)context;
  int64_t strides[MAX_RANK], from_strides[MAX_RANK] = {0};
  shape_strides(operands[0]->shape, strides);
  for (int d = 0; d < operands[0]->shape->rank; d++) {
    from_strides[instruction->a->dimensions.items[d]] = strides[d];
  }
  return copy_strided(operands[0], from_strides, result);
}

bool eval_transpose(const Instruction *instruction, Literal *const *operands, Literal *result,
                    EvalContext *context) {
  (void)context;
  int64_t strides[MAX_RANK], from_strides[MAX_RANK];
  shape_strides(operands[0]->shape, strides);
  for (int d = 0; d < result->shape->rank; d++) {
    from_strides[d] = strides[instruction->a->dimensions.items[d]];
  }
  return copy_strided(operands[0], from_strides, result);
}

bool eval_reverse(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  (void)context;
  const Shape *shape = result->shape;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK], start = 0;
  shape_strides(shape, from_strides);
  shape_strides(shape, to_strides);
  for (int i = 0; i < instruction->a->dimensions.count; i++) {
    int64_t d = instruction->a->dimensions.items[i];
    start += (shape->dims[d] - 1) * from_strides[d];
    from_strides[d] = -from_strides[d];
  }
  copy_box(operands[0], start, from_strides, result, 0, to_strides, shape->rank, shape->dims);
  return true;
}

bool eval_slice(const Instruction *instruction, Literal *const *operands, Literal *result,
                EvalContext *context) {
  (void)context;
  const Shape *to = result->shape;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK], start = 0;
  shape_strides(operands[0]->shape, from_strides);
  shape_strides(to, to_strides);
  for (int d = 0; d < to->rank; d++) {
    const SliceDimension *slice = &instruction->a->slice.items[d];
    start += slice->start * from_strides[d];
    from_strides[d] *= slice->stride;
  }
  copy_box(operands[0], start, from_strides, result, 0, to_strides, to->rank, to->dims);
  return true;
}

bool eval_concatenate(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  (void)context;
  int64_t dimension = instruction->a->dimensions.items[0], offset = 0;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK];
  shape_strides(result->shape, to_strides);
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *from = operands[i]->shape;
    shape_strides(from, from_strides);
    copy_box(operands[i], 0, from_strides, result, offset, to_strides, from->rank, from->dims);
    offset += from->dims[dimension] * to_strides[dimension];
  }
  return true;
}

/* Finds which of `size` elements, at low, low + step, low + 2 step, ..., lie within 0 ... limit - 1. */
static int64_t kept_by_padding(int64_t low, int64_t step, int64_t size, int64_t limit,
                               int64_t *first) {
  *first = low < 0 ? divide_up(-low, step) : 0;
  int64_t end = low < limit ? (limit - 1 - low) / step + 1 : 0;
  if (end > size) end = size;
  return end > *first ? end - *first : 0;
}

bool eval_pad(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  (void)context;
  const Shape *from = operands[0]->shape, *to = result->shape;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK], sizes[MAX_RANK];
  int64_t from_start = 0, to_start = 0;
  shape_strides(from, from_strides);
  shape_strides(to, to_strides);
  for (int d = 0; d < to->rank; d++) {
    const PaddingDimension *padding = &instruction->a->padding.items[d];
    int64_t step = padding->interior + 1, first;
    sizes[d] = kept_by_padding(padding->low, step, from->dims[d], to->dims[d], &first);
    from_start += first * from_strides[d];
    to_start += (padding->low + first * step) * to_strides[d];
    to_strides[d] *= step;
  }
  literal_fill(result, operands[1]->data);
  copy_box(operands[0], from_start, from_strides, result, to_start, to_strides, to->rank, sizes);
  return true;
}

/* ---- Dynamic slices ---- */

/* Returns the first element of a slice whose start indices are operands first, first + 1, ...: scalars, or
** in the older form one array of them. */
static int64_t slice_start(const Instruction *instruction, Literal *const *operands, int first,
                           const int64_t *sizes) {
  const Shape *shape = operands[0]->shape;
  bool one_array = instruction->operand_count == first + 1 && operands[first]->shape->rank == 1;
  int64_t strides[MAX_RANK], start = 0;
  shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) {
    const Literal *indices = operands[one_array ? first : first + d];
    start += clamped_start(indices, one_array ? d : 0, shape->dims[d] - sizes[d]) * strides[d];
  }
  return start;
}

bool eval_dynamic_slice(const Instruction *instruction, Literal *const *operands, Literal *result,
                        EvalContext *context) {
  (void)context;
  const Shape *to = result->shape;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK];
  shape_strides(operands[0]->shape, from_strides);
  shape_strides(to, to_strides);
  int64_t start = slice_start(instruction, operands, 1, to->dims);
  copy_box(operands[0], start, from_strides, result, 0, to_strides, to->rank, to->dims);
  return true;
}

bool eval_dynamic_update_slice(const Instruction *instruction, Literal *const *operands,
                               Literal *result, EvalContext *context) {
  (void)context;
  const Shape *update = operands[1]->shape;
  int64_t from_strides[MAX_RANK], to_strides[MAX_RANK];
  shape_strides(update, from_strides);
  shape_strides(result->shape, to_strides);
  int64_t start = slice_start(instruction, operands, 2, update->dims);
  copy_in_order(operands[0], result);
  copy_box(operands[1], 0, from_strides, result, start, to_strides, update->rank, update->dims);
  return true;
}

/* ---- Sizes of dimensions ---- */

/* Treats every dimension as long as its bound. Data of dynamic size has memory for its bounds, and the caller
** handles the size, which is stored separately. */
bool eval_set_dimension_size(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context) {
  (void)instruction, (void)context;
  return copy_in_order(operands[0], result);
}

bool eval_get_dimension_size(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context) {
  const Shape *shape = operands[0]->shape;
  int64_t d = instruction->a->dimensions.items[0];
  if (shape->dynamic && shape->dynamic[d]) {
    return error_set_op(context->error, STATUS_UNIMPLEMENTED, "get-dimension-size",
                        "the size of dynamic dimension %lld of operand %s is not known here; only "
                        "its bound is",
                        (long long)d, shape_str(context->arena, shape));
  }
  scalar_store(S32, result->data, 0, (Scalar){.i = shape->dims[d]});
  return true;
}
