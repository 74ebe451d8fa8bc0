#include "plan/gather_map.h"

void gather_map(const Instruction *gather, const Affine *map, Affine *array, Affine *indices) {
  const Attributes *a = gather->a;
  int window = 0, batch = 0;
  for (int d = 0; d < gather->operands[0]->shape->rank; d++) {
    bool is_whole = list_has(a->collapsed_slice_dims, d) || list_has(a->operand_batching_dims, d);
    array[d] = is_whole ? (Affine){0} : map[a->offset_dims.items[window++]];
  }
  for (int d = 0; d < gather->shape->rank; d++) {
    if (list_has(a->offset_dims, d)) continue;
    batch += batch == a->index_vector_dim;
    for (int i = 0; i < a->operand_batching_dims.count; i++) {
      if (a->start_indices_batching_dims.items[i] != batch) continue;
      array[a->operand_batching_dims.items[i]] = map[d];
    }
    indices[batch++] = map[d];
  }
}

int64_t gather_limit(const Instruction *gather, int component) {
  int64_t d = gather->a->start_index_map.items[component];
  return gather->operands[0]->shape->dims[d] - gather->a->slice_sizes.items[d];
}
