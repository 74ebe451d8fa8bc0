/* Infers the shape of gather. The names are those of XLA's GatherDimensionNumbers. */
#include "hlo/infer/inference_rules.h"

bool index_dims(Inference *in, int at, const char *role, Dims *dims) {
  if (!check_array(in, at, role)) return false;
  const Shape *indices = operand_shape(in, at);
  REQUIRE(in, type_is_integral(indices->type), "%s %s have element type %s; they must be integral",
          role, text_operand(in, at), type_name(indices->type));
  REQUIRE(in, in->a->index_vector_dim >= 0 && in->a->index_vector_dim <= indices->rank,
          "index_vector_dim=%lld is out of range for %s %s; it must be in [0, %d]",
          (long long)in->a->index_vector_dim, role, text_operand(in, at), indices->rank);
  dims_of(dims, indices);
  return in->a->index_vector_dim < indices->rank || dims_push(in, dims, 1, false);
}

static bool check_gather_lists(Inference *in, const Dims *indices) {
  const Attributes *a = in->a;
  int rank = operand_shape(in, 0)->rank;
  REQUIRE(in, a->start_index_map.count == indices->sizes[a->index_vector_dim],
          "start_index_map=%s has %d entries, but dimension index_vector_dim=%lld of start indices "
          "%s has size %lld; the two must be equal",
          text_list(in, a->start_index_map), a->start_index_map.count,
          (long long)a->index_vector_dim, text_operand(in, 1),
          (long long)indices->sizes[a->index_vector_dim]);
  REQUIRE(
      in, a->operand_batching_dims.count == a->start_indices_batching_dims.count,
      "operand_batching_dims=%s and start_indices_batching_dims=%s differ in size; they must be "
      "of the same",
      text_list(in, a->operand_batching_dims), text_list(in, a->start_indices_batching_dims));
  return check_ascending(in, "offset_dims", a->offset_dims) &&
         check_range(in, "offset_dims", a->offset_dims, a->offset_dims.count + indices->rank - 1) &&
         check_range(in, "start_index_map", a->start_index_map, rank) &&
         check_unique(in, "start_index_map", a->start_index_map) &&
         check_range(in, "collapsed_slice_dims", a->collapsed_slice_dims, rank) &&
         check_ascending(in, "collapsed_slice_dims", a->collapsed_slice_dims) &&
         check_range(in, "operand_batching_dims", a->operand_batching_dims, rank) &&
         check_ascending(in, "operand_batching_dims", a->operand_batching_dims) &&
         check_range(in, "start_indices_batching_dims", a->start_indices_batching_dims,
                     indices->rank) &&
         check_unique(in, "start_indices_batching_dims", a->start_indices_batching_dims);
}

/* A batching dimension of the operand advances together with one of the indices. So both have the same size,
** and it is neither indexed nor sliced. */
static bool check_gather_batching(Inference *in, const Dims *indices) {
  const Attributes *a = in->a;
  const Shape *operand = operand_shape(in, 0);
  for (int i = 0; i < a->operand_batching_dims.count; i++) {
    int64_t d = a->operand_batching_dims.items[i], s = a->start_indices_batching_dims.items[i];
    REQUIRE(
        in, !list_has(a->collapsed_slice_dims, d),
        "operand_batching_dims=%s and collapsed_slice_dims=%s share %lld; they must be disjoint",
        text_list(in, a->operand_batching_dims), text_list(in, a->collapsed_slice_dims),
        (long long)d);
    REQUIRE(in, !list_has(a->start_index_map, d),
            "operand_batching_dims=%s and start_index_map=%s share %lld; they must be disjoint",
            text_list(in, a->operand_batching_dims), text_list(in, a->start_index_map),
            (long long)d);
    REQUIRE(in, s != a->index_vector_dim,
            "start_indices_batching_dims=%s contains index_vector_dim=%lld; it must not",
            text_list(in, a->start_indices_batching_dims), (long long)s);
    REQUIRE(in, operand->dims[d] == indices->sizes[s],
            "batching dimension %lld of operand %s has size %lld and batching dimension %lld of "
            "start indices %s has size %lld; they must be equal",
            (long long)d, text_operand(in, 0), (long long)operand->dims[d], (long long)s,
            text_operand(in, 1), (long long)indices->sizes[s]);
  }
  return true;
}

static bool check_slice_sizes(Inference *in) {
  const Attributes *a = in->a;
  const Shape *operand = operand_shape(in, 0);
  REQUIRE(in, a->slice_sizes.count == operand->rank,
          "slice_sizes=%s has %d entries for operand %s of rank %d; there must be one for each "
          "dimension",
          text_list(in, a->slice_sizes), a->slice_sizes.count, text_operand(in, 0), operand->rank);
  int covered =
      a->offset_dims.count + a->collapsed_slice_dims.count + a->operand_batching_dims.count;
  REQUIRE(in, a->slice_sizes.count == covered,
          "offset_dims=%s, collapsed_slice_dims=%s and operand_batching_dims=%s cover %d of the %d "
          "dimensions of operand %s; each must be an offset, collapsed or batching dimension",
          text_list(in, a->offset_dims), text_list(in, a->collapsed_slice_dims),
          text_list(in, a->operand_batching_dims), covered, operand->rank, text_operand(in, 0));
  for (int d = 0; d < operand->rank; d++) {
    long long size = a->slice_sizes.items[d];
    REQUIRE(
        in, size >= 0 && size <= operand->dims[d],
        "slice_sizes=%s: size %lld of dimension %d of operand %s is out of range; it must be in "
        "[0, %lld]",
        text_list(in, a->slice_sizes), size, d, text_operand(in, 0), (long long)operand->dims[d]);
    bool collapsed = list_has(a->collapsed_slice_dims, d);
    REQUIRE(in, size <= 1 || !(collapsed || list_has(a->operand_batching_dims, d)),
            "slice_sizes=%s: dimension %d of operand %s is in %s, but has slice size %lld; it must "
            "be 0 or 1",
            text_list(in, a->slice_sizes), d, text_operand(in, 0),
            collapsed ? "collapsed_slice_dims" : "operand_batching_dims", size);
  }
  return true;
}

/* Offset dimensions are the uncollapsed slice dimensions, the others those of the indices, each
** group in order. */
static const Shape *gather_shape(Inference *in, const Dims *indices) {
  const Attributes *a = in->a;
  const Shape *operand = operand_shape(in, 0);
  int rank = a->offset_dims.count + indices->rank - 1, next_slice = 0, next_index = 0;
  Dims dims = {0};
  for (int i = 0; i < rank; i++) {
    int64_t size;
    bool dynamic;
    if (list_has(a->offset_dims, i)) {
      while (list_has(a->collapsed_slice_dims, next_slice) ||
             list_has(a->operand_batching_dims, next_slice)) {
        next_slice++;
      }
      size = a->slice_sizes.items[next_slice];
      dynamic = size == operand->dims[next_slice] && dimension_is_dynamic(operand, next_slice);
      next_slice++;
    } else {
      if (next_index == a->index_vector_dim) next_index++;
      size = indices->sizes[next_index];
      dynamic = indices->dynamic[next_index++];
    }
    if (!dims_push(in, &dims, size, dynamic)) return NULL;
  }
  return dims_shape(in, operand->type, &dims);
}

/* A slice without elements cannot fill a result, unless that is empty too. */
static bool check_empty_slices(Inference *in, const Shape *shape) {
  const Attributes *a = in->a;
  for (int d = 0; d < a->slice_sizes.count && shape_elements(shape) > 0; d++) {
    REQUIRE(
        in, a->slice_sizes.items[d] > 0,
        "slice_sizes=%s: dimension %d of operand %s is left out of the result %s, but has slice "
        "size 0; it must be 1 where the result has elements",
        text_list(in, a->slice_sizes), d, text_operand(in, 0), text_shape(in, shape));
  }
  return true;
}

const Shape *infer_gather(Inference *in) {
  Dims indices;
  if (!check_array(in, 0, "operand") || !index_dims(in, 1, "start indices", &indices) ||
      !check_gather_lists(in, &indices) || !check_gather_batching(in, &indices) ||
      !check_slice_sizes(in)) {
    return NULL;
  }
  const Shape *shape = gather_shape(in, &indices);
  return shape && check_empty_slices(in, shape) ? shape : NULL;
}
