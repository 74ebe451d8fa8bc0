/*
** Infers the shapes of dot, ragged-dot and scaled-dot. The result has the batch dimensions, then the free
** dimensions of lhs, then those of rhs. Its element type may be stated (XLA's preferred_element_type), as
** in s8 x s8 -> s32; else it is the wider one of the operands'.
*/
#include "hlo/infer/inference_rules.h"

static bool check_dot_dims(Inference *in, int side, Int64List batch, Int64List contracting,
                           const char *batch_name, const char *contracting_name) {
  int rank = operand_shape(in, side)->rank;
  if (!check_range(in, batch_name, batch, rank) ||
      !check_range(in, contracting_name, contracting, rank) ||
      !check_unique(in, batch_name, batch) || !check_unique(in, contracting_name, contracting)) {
    return false;
  }
  for (int i = 0; i < batch.count; i++) {
    REQUIRE(in, !list_has(contracting, batch.items[i]),
            "%s=%s and %s=%s share dimension %lld of operand %s; dimension numbers must be unique",
            batch_name, text_list(in, batch), contracting_name, text_list(in, contracting),
            (long long)batch.items[i], text_operand(in, side));
  }
  return true;
}

static bool check_dot_pairs(Inference *in, const char *what, Int64List left, Int64List right) {
  REQUIRE(in, left.count == right.count,
          "%d %s dimensions of lhs %s and %d of rhs %s; both sides must have as many", left.count,
          what, text_operand(in, 0), right.count, text_operand(in, 1));
  for (int i = 0; i < left.count; i++) {
    int64_t a = left.items[i], b = right.items[i];
    REQUIRE(in, operand_shape(in, 0)->dims[a] == operand_shape(in, 1)->dims[b],
            "%s dimension %lld of lhs %s has size %lld and %s dimension %lld of rhs %s has size "
            "%lld; the sizes must be equal",
            what, (long long)a, text_operand(in, 0), (long long)operand_shape(in, 0)->dims[a], what,
            (long long)b, text_operand(in, 1), (long long)operand_shape(in, 1)->dims[b]);
  }
  return true;
}

static bool check_dot(Inference *in) {
  const Attributes *a = in->a;
  return check_array(in, 0, "lhs") && check_array(in, 1, "rhs") &&
         check_dot_dims(in, 0, a->lhs_batch_dims, a->lhs_contracting_dims, "lhs_batch_dims",
                        "lhs_contracting_dims") &&
         check_dot_dims(in, 1, a->rhs_batch_dims, a->rhs_contracting_dims, "rhs_batch_dims",
                        "rhs_contracting_dims") &&
         check_dot_pairs(in, "contracting", a->lhs_contracting_dims, a->rhs_contracting_dims) &&
         check_dot_pairs(in, "batch", a->lhs_batch_dims, a->rhs_batch_dims);
}

/* Lists the dimensions of operand `side` that are in none of three lists. */
static bool push_free(Inference *in, Dims *dims, int side, Int64List batch, Int64List contracting,
                      Int64List group) {
  const Shape *shape = operand_shape(in, side);
  for (int d = 0; d < shape->rank; d++) {
    if (list_has(batch, d) || list_has(contracting, d) || list_has(group, d)) continue;
    if (!dims_push(in, dims, shape->dims[d], dimension_is_dynamic(shape, d))) return false;
  }
  return true;
}

static const Shape *dot_shape(Inference *in, Dims *dims, Int64List group) {
  const Attributes *a = in->a;
  const Shape *lhs = operand_shape(in, 0);
  for (int i = 0; i < a->lhs_batch_dims.count; i++) {
    int64_t d = a->lhs_batch_dims.items[i];
    if (!dims_push(in, dims, lhs->dims[d], dimension_is_dynamic(lhs, d))) return NULL;
  }
  if (!push_free(in, dims, 0, a->lhs_batch_dims, a->lhs_contracting_dims, (Int64List){0, NULL}) ||
      !push_free(in, dims, 1, a->rhs_batch_dims, a->rhs_contracting_dims, group)) {
    return NULL;
  }
  PrimitiveType type = wider_type(lhs->type, operand_shape(in, 1)->type);
  if (in->stated && shape_is_array(in->stated)) type = in->stated->type;
  return dims_shape(in, type, dims);
}

const Shape *infer_dot(Inference *in) {
  Dims dims = {0};
  return check_dot(in) ? dot_shape(in, &dims, (Int64List){0, NULL}) : NULL;
}

/*
** ragged-dot: one lhs dimension is ragged, cut into groups whose sizes operand 2 gives.
** Ragged and free: each group meets its own slice of the rhs group dimension.
** Ragged and contracting: the result gets a leading dimension of groups. Ragged and batch: neither.
*/
static bool check_group_sizes(Inference *in, int64_t ragged) {
  const Attributes *a = in->a;
  const Shape *lhs = operand_shape(in, 0), *sizes = operand_shape(in, 2);
  REQUIRE(in, type_is_integral(sizes->type),
          "group sizes %s have element type %s; they must be integral", text_operand(in, 2),
          type_name(sizes->type));
  if (sizes->rank == 1) return true;
  /* Else they are given for each index of the dimensions that come before the ragged one. */
  Dims prefix = {0};
  bool batch = list_has(a->lhs_batch_dims, ragged);
  for (int i = 0; i < a->lhs_batch_dims.count && !(batch && a->lhs_batch_dims.items[i] == ragged);
       i++) {
    dims_push(in, &prefix, lhs->dims[a->lhs_batch_dims.items[i]], false);
  }
  if (list_has(a->lhs_contracting_dims, ragged)) {
    for (int i = 0; a->lhs_contracting_dims.items[i] != ragged; i++)
      dims_push(in, &prefix, lhs->dims[a->lhs_contracting_dims.items[i]], false);
  } else if (!batch) {
    for (int d = 0; d < ragged; d++) {
      if (!list_has(a->lhs_batch_dims, d) && !list_has(a->lhs_contracting_dims, d))
        dims_push(in, &prefix, lhs->dims[d], false);
    }
  }
  bool fits = sizes->rank == prefix.rank + 1;
  for (int d = 0; d < prefix.rank && fits; d++) fits = sizes->dims[d] == prefix.sizes[d];
  REQUIRE(in, fits,
          "group sizes have shape %s; they must have rank 1, or the %d dimensions of lhs %s before "
          "the ragged one and one more",
          text_operand(in, 2), prefix.rank, text_operand(in, 0));
  return true;
}

static bool check_rhs_groups(Inference *in, bool free, int64_t groups) {
  const Attributes *a = in->a;
  Int64List dims = a->rhs_group_dims;
  if (!check_range(in, "rhs_group_dims", dims, operand_shape(in, 1)->rank)) return false;
  REQUIRE(in, dims.count == (free ? 1 : 0),
          "rhs_group_dims=%s; there must be exactly one group dimension of rhs %s if the ragged "
          "dimension is non-contracting, and none otherwise",
          text_list(in, dims), text_operand(in, 1));
  if (!free) return true;
  REQUIRE(in,
          !list_has(a->rhs_batch_dims, dims.items[0]) &&
              !list_has(a->rhs_contracting_dims, dims.items[0]),
          "rhs_group_dims=%s is a batch or contracting dimension of rhs %s; it must be neither",
          text_list(in, dims), text_operand(in, 1));
  REQUIRE(in, operand_shape(in, 1)->dims[dims.items[0]] == groups,
          "group dimension %lld of rhs %s must have size %lld, the number of groups in %s",
          (long long)dims.items[0], text_operand(in, 1), (long long)groups, text_operand(in, 2));
  return true;
}

const Shape *infer_ragged_dot(Inference *in) {
  const Attributes *a = in->a;
  if (!check_dot(in) || !check_array(in, 2, "group sizes")) return NULL;
  REQUIRE(in, a->lhs_ragged_dims.count == 1,
          "lhs_ragged_dims=%s; there must be exactly one ragged dimension of lhs %s",
          text_list(in, a->lhs_ragged_dims), text_operand(in, 0));
  if (!check_range(in, "lhs_ragged_dims", a->lhs_ragged_dims, operand_shape(in, 0)->rank))
    return NULL;
  int64_t ragged = a->lhs_ragged_dims.items[0];
  const Shape *sizes = operand_shape(in, 2);
  REQUIRE(in, sizes->rank >= 1, "group sizes have shape %s; they must have rank at least 1",
          text_operand(in, 2));
  if (!check_group_sizes(in, ragged)) return NULL;
  int64_t groups = sizes->dims[sizes->rank - 1];
  bool contracting = list_has(a->lhs_contracting_dims, ragged);
  bool free = !contracting && !list_has(a->lhs_batch_dims, ragged);
  if (!check_rhs_groups(in, free, groups)) return NULL;
  Dims dims = {0};
  if (contracting) dims_push(in, &dims, groups, dimension_is_dynamic(sizes, sizes->rank - 1));
  return dot_shape(in, &dims, a->rhs_group_dims);
}

/*
** scaled-dot: a scale for each block of an operand. The scale has the operand's rank, and a block of
** dims / scale's dims elements along each dimension; in practice they run along the contracted one.
*/
static bool check_scale(Inference *in, int side, const char *role) {
  const Shape *operand = operand_shape(in, side), *scale = operand_shape(in, 2 + side);
  if (!check_array(in, 2 + side, role)) return false;
  REQUIRE(in, scale->rank == operand->rank,
          "%s %s and the operand %s that it scales have different ranks; they must be the same",
          role, text_operand(in, 2 + side), text_operand(in, side));
  for (int d = 0; d < scale->rank; d++) {
    int64_t blocks = scale->dims[d], size = operand->dims[d];
    REQUIRE(in, blocks == size || (blocks > 0 && size % blocks == 0),
            "dimension %d of operand %s has size %lld; it must be divisible by %lld, the size of "
            "that dimension of %s %s",
            d, text_operand(in, side), (long long)size, (long long)blocks, role,
            text_operand(in, 2 + side));
  }
  return true;
}

const Shape *infer_scaled_dot(Inference *in) {
  Dims dims = {0};
  if (!check_dot(in)) return NULL;
  REQUIRE(in, in->a->lhs_contracting_dims.count == 1,
          "lhs_contracting_dims=%s; exactly one dimension must be contracted",
          text_list(in, in->a->lhs_contracting_dims));
  if (!check_scale(in, 0, "lhs scale") || !check_scale(in, 1, "rhs scale")) return NULL;
  return dot_shape(in, &dims, (Int64List){0, NULL});
}
