/*
** Evaluates gather: copies one slice of the operand for each index vector of start_indices. One walk goes
** over the batch dimensions of three arrays at once: the result, which receives the slice; start_indices,
** which holds the index vector; and the operand, along its batching dimensions.
*/
#include "reference/eval.h"
#include "reference/strided.h"

enum { RESULT = 0, INDICES = 1, OPERAND = 2 };

/* Walks the batch dimensions: those of the result that are not in offset_dims. They are, in order, those of
** start_indices without index_vector_dim. */
static void walk_batch(Walk *walk, const Attributes *a, const Shape *operand, const Shape *indices,
                       const Shape *result) {
  int64_t operand_strides[MAX_RANK], index_strides[MAX_RANK], result_strides[MAX_RANK];
  shape_strides(operand, operand_strides);
  shape_strides(indices, index_strides);
  shape_strides(result, result_strides);
  walk_init(walk);
  int64_t i = 0; /* dimension of start_indices */
  for (int d = 0; d < result->rank; d++) {
    if (list_has(a->offset_dims, d)) continue;
    if (i == a->index_vector_dim) i++;
    int batching = list_index(a->start_indices_batching_dims, i);
    int64_t along = batching < 0 ? 0 : operand_strides[a->operand_batching_dims.items[batching]];
    walk_add(walk, result->dims[d], result_strides[d], index_strides[i], along);
    i++;
  }
}

/* Prepares the copy of a slice. Its dimensions are offset_dims in the result; in the operand, those that are
** neither collapsed nor batching. */
static void slice_copy(StridedCopy *copy, const Attributes *a, const Shape *operand,
                       const Shape *result) {
  int64_t operand_strides[MAX_RANK], result_strides[MAX_RANK];
  int64_t from[MAX_RANK], to[MAX_RANK], sizes[MAX_RANK];
  shape_strides(operand, operand_strides);
  shape_strides(result, result_strides);
  int rank = 0;
  for (int d = 0; d < operand->rank; d++) {
    if (list_has(a->collapsed_slice_dims, d) || list_has(a->operand_batching_dims, d)) continue;
    sizes[rank] = a->slice_sizes.items[d];
    from[rank] = operand_strides[d];
    to[rank] = result_strides[a->offset_dims.items[rank]];
    rank++;
  }
  strided_copy_init(copy, result->type, rank, sizes, to, from);
}

/* Returns the operand's offset for the index vector at `at`, clamped so that the slice lies inside. */
static int64_t slice_offset(const Attributes *a, const Shape *operand, const Literal *indices,
                            int64_t at, int64_t step) {
  int64_t strides[MAX_RANK], offset = 0;
  shape_strides(operand, strides);
  for (int k = 0; k < a->start_index_map.count; k++) {
    int64_t d = a->start_index_map.items[k];
    int64_t limit = operand->dims[d] - a->slice_sizes.items[d];
    offset += clamped_start(indices, at + k * step, limit) * strides[d];
  }
  return offset;
}

bool eval_gather(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  (void)context;
  const Attributes *a = instruction->a;
  const Literal *operand = operands[0], *indices = operands[1];
  int64_t index_strides[MAX_RANK], bytes = type_bytes(result->shape->type);
  if (shape_elements(result->shape) == 0) return true;
  shape_strides(indices->shape, index_strides);
  bool vectors = a->index_vector_dim < indices->shape->rank;
  int64_t step = vectors ? index_strides[a->index_vector_dim] : 0;
  Walk walk;
  StridedCopy copy;
  walk_batch(&walk, a, operand->shape, indices->shape, result->shape);
  slice_copy(&copy, a, operand->shape, result->shape);
  do {
    int64_t from =
        walk.offset[OPERAND] + slice_offset(a, operand->shape, indices, walk.offset[INDICES], step);
    strided_copy_run(&copy, (uint8_t *)result->data + walk.offset[RESULT] * bytes,
                     (const uint8_t *)operand->data + from * bytes);
  } while (walk_next(&walk));
  return true;
}
