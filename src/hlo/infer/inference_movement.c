/* Infers the shapes of operations that only move elements. */
#include "hlo/infer/inference_rules.h"

#include "base/min_max.h"

/* HLO's broadcast keeps sizes: operand dimension i becomes result dimension dimensions[i]. The list
** need not ascend (then it also transposes). */
const Shape *infer_broadcast(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_stated(in, "its dimensions say what to broadcast to"))
    return NULL;
  const Shape *operand = operand_shape(in, 0), *result = in->stated;
  Int64List dimensions = in->a->dimensions;
  REQUIRE(in, shape_is_array(result) && operand->type == result->type,
          "operand %s and result %s have different element types; broadcasting keeps the type",
          text_operand(in, 0), text_shape(in, result));
  REQUIRE(in, dimensions.count == operand->rank,
          "dimensions=%s has %d entries for operand %s of rank %d; there must be one for each "
          "operand dimension",
          text_list(in, dimensions), dimensions.count, text_operand(in, 0), operand->rank);
  if (!check_range(in, "dimensions", dimensions, result->rank) ||
      !check_unique(in, "dimensions", dimensions)) {
    return NULL;
  }
  for (int i = 0; i < operand->rank; i++) {
    REQUIRE(in, operand->dims[i] == result->dims[dimensions.items[i]],
            "dimension %d of operand %s is %lld and dimension %lld of result %s is %lld; they must "
            "be equal",
            i, text_operand(in, 0), (long long)operand->dims[i], (long long)dimensions.items[i],
            text_shape(in, result), (long long)result->dims[dimensions.items[i]]);
  }
  return result;
}

static bool check_concatenable(Inference *in, int index, int64_t along) {
  const Shape *first = operand_shape(in, 0), *shape = operand_shape(in, index);
  REQUIRE(in, first->rank == shape->rank,
          "operands %s and %s have different ranks; operands must have the same rank",
          text_operand(in, 0), text_operand(in, index));
  REQUIRE(in, first->type == shape->type,
          "operands %s and %s have different element types; convert one of them",
          text_operand(in, 0), text_operand(in, index));
  for (int d = 0; d < first->rank; d++) {
    REQUIRE(in, d == along || first->dims[d] == shape->dims[d],
            "operands %s and %s differ in dimension %d; all dimensions but the concatenated one, "
            "%lld, must be equal",
            text_operand(in, 0), text_operand(in, index), d, (long long)along);
  }
  return true;
}

const Shape *infer_concatenate(Inference *in) {
  REQUIRE(in, in->operand_count >= 1, "no operands are given; it takes at least one");
  for (int i = 0; i < in->operand_count; i++) {
    if (!check_array(in, i, "operand")) return NULL;
  }
  REQUIRE(in, in->a->dimensions.count == 1, "dimensions=%s; exactly one dimension is concatenated",
          text_list(in, in->a->dimensions));
  if (!check_range(in, "dimensions", in->a->dimensions, operand_shape(in, 0)->rank)) return NULL;
  int64_t along = in->a->dimensions.items[0];
  Dims dims;
  dims_of(&dims, operand_shape(in, 0));
  for (int i = 1; i < in->operand_count; i++) {
    if (!check_concatenable(in, i, along)) return NULL;
    const Shape *shape = operand_shape(in, i);
    REQUIRE(in, !__builtin_add_overflow(dims.sizes[along], shape->dims[along], &dims.sizes[along]),
            "the sizes of operands %s, ... in dimension %lld overflow; their sum must fit 64 bits",
            text_operand(in, 0), (long long)along);
    for (int d = 0; d < dims.rank; d++) {
      dims.dynamic[d] |= dimension_is_dynamic(shape, d);
      dims.any_dynamic |= dims.dynamic[d];
    }
  }
  return dims_shape(in, operand_shape(in, 0)->type, &dims);
}

const Shape *infer_copy(Inference *in) { return operand_shape(in, 0); }

/* Start indices of dynamic-slice and dynamic-update-slice: one integral scalar for each dimension,
** or all in one vector, the older form. */
static bool check_start_indices(Inference *in, int first) {
  const Shape *operand = operand_shape(in, 0);
  int count = in->operand_count - first;
  if (count == 1 && operand_shape(in, first)->rank == 1) {
    const Shape *starts = operand_shape(in, first);
    REQUIRE(in, type_is_integral(starts->type),
            "start indices %s have element type %s; they must be integral", text_operand(in, first),
            type_name(starts->type));
    REQUIRE(in, starts->dims[0] == operand->rank,
            "start indices %s do not match operand %s of rank %d; there must be one for each "
            "dimension",
            text_operand(in, first), text_operand(in, 0), operand->rank);
    return true;
  }
  REQUIRE(in, count == operand->rank,
          "%d start indices are given for operand %s of rank %d; there must be one for each "
          "dimension",
          count, text_operand(in, 0), operand->rank);
  for (int i = first; i < in->operand_count; i++) {
    REQUIRE(in, shape_is_scalar(operand_shape(in, i)),
            "start index %d has shape %s; start indices must be scalars", i - first,
            text_operand(in, i));
    REQUIRE(in, type_is_integral(operand_shape(in, i)->type),
            "start index %d has element type %s; start indices must be integral", i - first,
            type_name(operand_shape(in, i)->type));
    REQUIRE(in, operand_shape(in, i)->type == operand_shape(in, first)->type,
            "start indices have shapes %s and %s; they must all have the same type",
            text_operand(in, first), text_operand(in, i));
  }
  return true;
}

const Shape *infer_dynamic_slice(Inference *in) {
  REQUIRE(in, in->operand_count >= 1, "no operands are given; it takes an array and start indices");
  if (!check_array(in, 0, "operand") || !check_start_indices(in, 1)) return NULL;
  const Shape *operand = operand_shape(in, 0);
  Int64List sizes = in->a->slice_sizes;
  REQUIRE(in, sizes.count == operand->rank,
          "dynamic_slice_sizes=%s has %d entries for operand %s of rank %d; there must be one for "
          "each dimension",
          text_list(in, sizes), sizes.count, text_operand(in, 0), operand->rank);
  Dims dims = {0};
  for (int d = 0; d < operand->rank; d++) {
    REQUIRE(in, sizes.items[d] >= 0 && sizes.items[d] <= operand->dims[d],
            "dynamic_slice_sizes=%s: size %lld in dimension %d of operand %s is out of range; it "
            "must be in [0, %lld]",
            text_list(in, sizes), (long long)sizes.items[d], d, text_operand(in, 0),
            (long long)operand->dims[d]);
    /* Only a slice of a whole dimension can be dynamic like the operand. */
    bool dynamic = dimension_is_dynamic(operand, d) && sizes.items[d] > 1 &&
                   sizes.items[d] == operand->dims[d];
    if (!dims_push(in, &dims, sizes.items[d], dynamic)) return NULL;
  }
  return dims_shape(in, operand->type, &dims);
}

const Shape *infer_dynamic_update_slice(Inference *in) {
  REQUIRE(in, in->operand_count >= 2,
          "%d operands are given; it takes an array, an update and start indices",
          in->operand_count);
  if (!check_array(in, 0, "operand") || !check_array(in, 1, "update") ||
      !check_start_indices(in, 2)) {
    return NULL;
  }
  const Shape *operand = operand_shape(in, 0), *update = operand_shape(in, 1);
  REQUIRE(in, operand->type == update->type,
          "operand %s and update %s have different element types; convert one of them",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, operand->rank == update->rank,
          "operand %s and update %s have different ranks; they must have the same",
          text_operand(in, 0), text_operand(in, 1));
  Dims dims;
  dims_of(&dims, operand);
  for (int d = 0; d < operand->rank; d++) {
    REQUIRE(in, update->dims[d] <= operand->dims[d],
            "update %s exceeds operand %s in dimension %d; an update must fit into the operand",
            text_operand(in, 1), text_operand(in, 0), d);
    dims.dynamic[d] |= dimension_is_dynamic(update, d) && update->dims[d] == operand->dims[d];
    dims.any_dynamic |= dims.dynamic[d];
  }
  return dims_shape(in, operand->type, &dims);
}

const Shape *infer_pad(Inference *in) {
  if (!check_array(in, 0, "operand") || !check_array(in, 1, "padding value")) return NULL;
  const Shape *operand = operand_shape(in, 0);
  PaddingConfig padding = in->a->padding;
  REQUIRE(in, shape_is_scalar(operand_shape(in, 1)),
          "padding value has shape %s; it must be a scalar", text_operand(in, 1));
  REQUIRE(in, operand->type == operand_shape(in, 1)->type,
          "operand %s and padding value %s have different element types; convert one of them",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, padding.count == operand->rank,
          "padding has %d dimensions for operand %s of rank %d; there must be one for each "
          "dimension",
          padding.count, text_operand(in, 0), operand->rank);
  Dims dims = {0};
  for (int d = 0; d < operand->rank; d++) {
    PaddingDimension p = padding.items[d];
    REQUIRE(in, p.interior >= 0,
            "interior padding %lld in dimension %d of operand %s; it must not be negative",
            (long long)p.interior, d, text_operand(in, 0));
    int64_t size = operand->dims[d], interior = 0;
    const int64_t max = INT64_C(1) << 60; /* so that no element's index overflows */
    bool overflow =
        p.low < -max || p.low > max || p.high < -max || p.high > max || p.interior > max ||
        __builtin_mul_overflow(max_i64(size - 1, 0), p.interior, &interior) ||
        __builtin_add_overflow(size, interior, &size) ||
        __builtin_add_overflow(size, p.low, &size) || __builtin_add_overflow(size, p.high, &size);
    REQUIRE(in, !overflow,
            "padding of dimension %d of operand %s overflows; sizes must fit 64 bits", d,
            text_operand(in, 0));
    REQUIRE(in, size >= 0,
            "padding %lld_%lld_%lld of dimension %d of operand %s gives size %lld; sizes must not "
            "be negative",
            (long long)p.low, (long long)p.high, (long long)p.interior, d, text_operand(in, 0),
            (long long)size);
    if (!dims_push(in, &dims, size, dimension_is_dynamic(operand, d))) return NULL;
  }
  return dims_shape(in, operand->type, &dims);
}

const Shape *infer_reverse(Inference *in) {
  if (!check_array(in, 0, "operand") ||
      !check_range(in, "dimensions", in->a->dimensions, operand_shape(in, 0)->rank) ||
      !check_unique(in, "dimensions", in->a->dimensions)) {
    return NULL;
  }
  return operand_shape(in, 0);
}

static bool check_slice_dimension(Inference *in, int d) {
  const Shape *operand = operand_shape(in, 0);
  SliceDimension s = in->a->slice.items[d];
  long long start = s.start, limit = s.limit, size = operand->dims[d];
  REQUIRE(in, start >= 0, "start index %lld in dimension %d of operand %s; it must not be negative",
          start, d, text_operand(in, 0));
  REQUIRE(in, limit <= size,
          "limit index %lld in dimension %d of operand %s; it must be at most the dimension's size "
          "%lld",
          limit, d, text_operand(in, 0), size);
  REQUIRE(
      in, start <= limit,
      "limit index %lld in dimension %d of operand %s; it must be at least the start index %lld",
      limit, d, text_operand(in, 0), start);
  REQUIRE(in, s.stride > 0, "stride %lld in dimension %d of operand %s; it must be positive",
          (long long)s.stride, d, text_operand(in, 0));
  return true;
}

const Shape *infer_slice(Inference *in) {
  if (!check_array(in, 0, "operand")) return NULL;
  const Shape *operand = operand_shape(in, 0);
  SliceConfig slice = in->a->slice;
  REQUIRE(in, slice.count == operand->rank,
          "slice has %d dimensions for operand %s of rank %d; there must be one for each dimension",
          slice.count, text_operand(in, 0), operand->rank);
  Dims dims = {0};
  for (int d = 0; d < operand->rank; d++) {
    if (!check_slice_dimension(in, d)) return NULL;
    SliceDimension s = slice.items[d];
    int64_t length = s.limit - s.start;
    int64_t size = length ? (length - 1) / s.stride + 1 : 0;
    if (!dims_push(in, &dims, size, size != 1 && dimension_is_dynamic(operand, d))) return NULL;
  }
  return dims_shape(in, operand->type, &dims);
}

/* Result dimension i is operand dimension dimensions[i]. */
const Shape *infer_transpose(Inference *in) {
  if (!check_array(in, 0, "operand")) return NULL;
  const Shape *operand = operand_shape(in, 0);
  Int64List dimensions = in->a->dimensions;
  bool permutation = dimensions.count == operand->rank;
  Dims dims = {0};
  for (int i = 0; i < dimensions.count && permutation; i++) {
    int64_t d = dimensions.items[i];
    permutation = d >= 0 && d < operand->rank && !list_has((Int64List){i, dimensions.items}, d);
    if (permutation) dims_push(in, &dims, operand->dims[d], dimension_is_dynamic(operand, d));
  }
  REQUIRE(in, permutation, "dimensions=%s is not a permutation of the dimensions of operand %s",
          text_list(in, dimensions), text_operand(in, 0));
  return dims_shape(in, operand->type, &dims);
}

static bool check_one_dimension(Inference *in) {
  if (!check_array(in, 0, "operand")) return false;
  REQUIRE(in, in->a->dimensions.count == 1, "dimensions=%s; exactly one dimension is asked for",
          text_list(in, in->a->dimensions));
  if (!check_range(in, "dimensions", in->a->dimensions, operand_shape(in, 0)->rank)) return false;
  REQUIRE(in, operand_shape(in, 0)->dims[in->a->dimensions.items[0]] <= INT32_MAX,
          "dimension %lld of operand %s exceeds the largest s32; its size could not be represented",
          (long long)in->a->dimensions.items[0], text_operand(in, 0));
  return true;
}

const Shape *infer_get_dimension_size(Inference *in) {
  return check_one_dimension(in) ? shape_scalar(S32) : NULL;
}

const Shape *infer_set_dimension_size(Inference *in) {
  if (!check_one_dimension(in)) return NULL;
  REQUIRE(in, shape_is_scalar(operand_shape(in, 1)) && operand_shape(in, 1)->type == S32,
          "size has shape %s; it must be s32[]", text_operand(in, 1));
  Dims dims;
  dims_of(&dims, operand_shape(in, 0));
  dims.dynamic[in->a->dimensions.items[0]] = dims.any_dynamic = true;
  return dims_shape(in, operand_shape(in, 0)->type, &dims);
}
