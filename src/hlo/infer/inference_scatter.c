/* Infers the shape of scatter: N operands, indices, N updates. The names are those of XLA's ScatterDimensionNumbers. */
#include "hlo/infer/inference_rules.h"

static bool check_scatter_lists(Inference *in, int at, const Dims *indices) {
  const Attributes *a = in->a;
  int rank = operand_shape(in, 0)->rank,
      updates_rank = a->update_window_dims.count + indices->rank - 1;
  REQUIRE(in, a->scatter_dims_to_operand_dims.count == indices->sizes[a->index_vector_dim],
          "scatter_dims_to_operand_dims=%s has %d entries, but dimension index_vector_dim=%lld of "
          "scatter indices %s has size %lld; the two must be equal",
          text_list(in, a->scatter_dims_to_operand_dims), a->scatter_dims_to_operand_dims.count,
          (long long)a->index_vector_dim, text_operand(in, at),
          (long long)indices->sizes[a->index_vector_dim]);
  REQUIRE(
      in, a->input_batching_dims.count == a->scatter_indices_batching_dims.count,
      "input_batching_dims=%s and scatter_indices_batching_dims=%s differ in size; they must be "
      "of the same",
      text_list(in, a->input_batching_dims), text_list(in, a->scatter_indices_batching_dims));
  return check_ascending(in, "update_window_dims", a->update_window_dims) &&
         check_range(in, "update_window_dims", a->update_window_dims, updates_rank) &&
         check_ascending(in, "inserted_window_dims", a->inserted_window_dims) &&
         check_range(in, "inserted_window_dims", a->inserted_window_dims, rank) &&
         check_range(in, "scatter_dims_to_operand_dims", a->scatter_dims_to_operand_dims, rank) &&
         check_unique(in, "scatter_dims_to_operand_dims", a->scatter_dims_to_operand_dims) &&
         check_ascending(in, "input_batching_dims", a->input_batching_dims) &&
         check_range(in, "input_batching_dims", a->input_batching_dims, rank) &&
         check_range(in, "scatter_indices_batching_dims", a->scatter_indices_batching_dims,
                     indices->rank) &&
         check_unique(in, "scatter_indices_batching_dims", a->scatter_indices_batching_dims);
}

static bool check_scatter_batching(Inference *in, int at, const Dims *indices) {
  const Attributes *a = in->a;
  const Shape *operand = operand_shape(in, 0);
  for (int i = 0; i < a->input_batching_dims.count; i++) {
    int64_t d = a->input_batching_dims.items[i], s = a->scatter_indices_batching_dims.items[i];
    REQUIRE(in, !list_has(a->inserted_window_dims, d),
            "input_batching_dims=%s and inserted_window_dims=%s share %lld; they must be disjoint",
            text_list(in, a->input_batching_dims), text_list(in, a->inserted_window_dims),
            (long long)d);
    REQUIRE(in, !list_has(a->scatter_dims_to_operand_dims, d),
            "input_batching_dims=%s and scatter_dims_to_operand_dims=%s share %lld; they must be "
            "disjoint",
            text_list(in, a->input_batching_dims), text_list(in, a->scatter_dims_to_operand_dims),
            (long long)d);
    REQUIRE(in, s != a->index_vector_dim,
            "scatter_indices_batching_dims=%s contains index_vector_dim=%lld; it must not",
            text_list(in, a->scatter_indices_batching_dims), (long long)s);
    REQUIRE(in, operand->dims[d] == indices->sizes[s],
            "batching dimension %lld of operand %s has size %lld and batching dimension %lld of "
            "scatter indices %s has size %lld; they must be equal",
            (long long)d, text_operand(in, 0), (long long)operand->dims[d], (long long)s,
            text_operand(in, at), (long long)indices->sizes[s]);
  }
  int window =
      a->update_window_dims.count + a->inserted_window_dims.count + a->input_batching_dims.count;
  REQUIRE(in, window == operand->rank,
          "update_window_dims=%s, inserted_window_dims=%s and input_batching_dims=%s make a window "
          "of rank %d, but operand %s has rank %d; they must be equal",
          text_list(in, a->update_window_dims), text_list(in, a->inserted_window_dims),
          text_list(in, a->input_batching_dims), window, text_operand(in, 0), operand->rank);
  return true;
}

/* Window dimensions of the updates must fit the operand; the others are those of the indices. */
static bool check_updates(Inference *in, int operand_index, int updates_index, int at,
                          const Dims *indices) {
  const Attributes *a = in->a;
  const Shape *operand = operand_shape(in, operand_index);
  const Shape *updates = operand_shape(in, updates_index);
  int expected = indices->rank - 1 + a->update_window_dims.count;
  REQUIRE(
      in, updates->rank == expected,
      "updates %s have rank %d; for scatter indices %s and update_window_dims=%s they must have "
      "rank %d",
      text_operand(in, updates_index), updates->rank, text_operand(in, at),
      text_list(in, a->update_window_dims), expected);
  int next_window = 0, next_index = 0;
  for (int d = 0; d < updates->rank; d++) {
    if (list_has(a->update_window_dims, d)) {
      while (list_has(a->inserted_window_dims, next_window) ||
             list_has(a->input_batching_dims, next_window)) {
        next_window++;
      }
      REQUIRE(
          in, updates->dims[d] <= operand->dims[next_window],
          "window dimension %d of updates %s exceeds dimension %d of operand %s; an update must "
          "fit into the operand",
          d, text_operand(in, updates_index), next_window, text_operand(in, operand_index));
      next_window++;
      continue;
    }
    if (next_index == a->index_vector_dim) next_index++;
    REQUIRE(in, updates->dims[d] == indices->sizes[next_index],
            "scatter dimension %d of updates %s has size %lld and dimension %d of scatter indices "
            "%s has size %lld; they must be equal",
            d, text_operand(in, updates_index), (long long)updates->dims[d], next_index,
            text_operand(in, at), (long long)indices->sizes[next_index]);
    next_index++;
  }
  return true;
}

static bool check_scatter_operands(Inference *in, int count) {
  for (int i = 0; i < count; i++) {
    int u = count + 1 + i;
    if (!check_array(in, i, "operand") || !check_array(in, u, "updates")) return false;
    REQUIRE(in, shape_same_dims(operand_shape(in, 0), operand_shape(in, i)),
            "operands %s and %s differ; all operands must have the same dimensions",
            text_operand(in, 0), text_operand(in, i));
    REQUIRE(in, shape_same_dims(operand_shape(in, count + 1), operand_shape(in, u)),
            "updates %s and %s differ; all updates must have the same dimensions",
            text_operand(in, count + 1), text_operand(in, u));
    REQUIRE(in, operand_shape(in, i)->type == operand_shape(in, u)->type,
            "operand %s and updates %s have different element types; convert one of them",
            text_operand(in, i), text_operand(in, u));
  }
  return true;
}

const Shape *infer_scatter(Inference *in) {
  int count = in->operand_count / 2;
  REQUIRE(in, count > 0 && in->operand_count == 2 * count + 1,
          "%d operands are given; it takes N operands, the scatter indices and N updates",
          in->operand_count);
  Dims indices;
  if (!check_scatter_operands(in, count) || !index_dims(in, count, "scatter indices", &indices) ||
      !check_scatter_lists(in, count, &indices) || !check_scatter_batching(in, count, &indices)) {
    return NULL;
  }
  PrimitiveType *types = ARENA_ARRAY(in->arena, PrimitiveType, count);
  for (int i = 0; i < count; i++) {
    if (!check_updates(in, i, count + 1 + i, count, &indices)) return NULL;
    types[i] = operand_shape(in, i)->type;
  }
  if (!check_reducer(in, "to_apply", in->a->to_apply, count, types)) return NULL;
  return operands_one_or_tuple(in, count);
}
