/* Infers the shapes of top-k, FFT, factorisations and batch normalisation. */
#include "hlo/infer/inference_rules.h"

const Shape *infer_topk(Inference *in) {
  if (!check_array(in, 0, "operand")) return NULL;
  const Shape *operand = operand_shape(in, 0);
  long long k = in->a->k;
  REQUIRE(in, operand->rank >= 1, "operand has shape %s; it must have rank at least 1",
          text_operand(in, 0));
  REQUIRE(in, !type_is_complex(operand->type),
          "operand %s is complex, which has no order; it must be real", text_operand(in, 0));
  REQUIRE(in, k >= 0 && k <= operand->dims[operand->rank - 1],
          "k=%lld is out of range for operand %s; it must be in [0, %lld], the size of the last "
          "dimension",
          k, text_operand(in, 0), (long long)operand->dims[operand->rank - 1]);
  Dims dims;
  dims_of(&dims, operand);
  dims.sizes[dims.rank - 1] = k;
  dims.dynamic[dims.rank - 1] = false;
  const Shape *elements[2];
  if (!(elements[0] = dims_shape(in, operand->type, &dims))) return NULL;
  elements[1] = shape_with_type(in->arena, elements[0], S32);
  return shape_tuple(in->arena, 2, elements);
}

/* ---- FFT ---- */

static bool check_fft_type(Inference *in) {
  PrimitiveType type = operand_shape(in, 0)->type;
  const char *name = attribute_enum_name(ATTR_FFT_TYPE, (int)in->a->fft_type);
  if (in->a->fft_type == FFT_RFFT) {
    REQUIRE(in, type == F32 || type == F64,
            "fft_type=%s and operand %s has element type %s; it must be f32 or f64", name,
            text_operand(in, 0), type_name(type));
  } else {
    REQUIRE(in, type_is_complex(type),
            "fft_type=%s and operand %s has element type %s; it must be complex", name,
            text_operand(in, 0), type_name(type));
  }
  Int64List length = in->a->fft_length;
  REQUIRE(in, length.count >= 1 && length.count <= 3,
          "fft_length=%s has %d entries; only ranks 1 to 3 are possible", text_list(in, length),
          length.count);
  REQUIRE(in, operand_shape(in, 0)->rank >= length.count,
          "fft_length=%s needs an operand of rank at least %d; got %s", text_list(in, length),
          length.count, text_operand(in, 0));
  return true;
}

/* The innermost dimensions must be fft_length, except that a real signal of length n has a
** spectrum of n/2 + 1 (the rest is its mirror image). */
static bool check_fft_length(Inference *in) {
  const Shape *operand = operand_shape(in, 0);
  Int64List length = in->a->fft_length;
  for (int i = 0; i < length.count; i++) {
    int d = operand->rank - length.count + i;
    bool halved = in->a->fft_type == FFT_IRFFT && i == length.count - 1;
    REQUIRE(in, length.items[i] >= 0, "fft_length=%s; lengths must not be negative",
            text_list(in, length));
    int64_t expected = halved ? (length.items[i] ? length.items[i] / 2 + 1 : 0) : length.items[i];
    if (halved && length.items[i] == 0 && operand->dims[d] == 1) expected = 1;
    REQUIRE(in, operand->dims[d] == expected,
            "dimension %d of operand %s has size %lld; for fft_length=%s it must be %lld%s", d,
            text_operand(in, 0), (long long)operand->dims[d], text_list(in, length),
            (long long)expected, halved ? ", fft_length/2+1" : "");
  }
  return true;
}

const Shape *infer_fft(Inference *in) {
  if (!check_array(in, 0, "operand") || !check_fft_type(in) || !check_fft_length(in)) return NULL;
  const Shape *operand = operand_shape(in, 0);
  FftType type = in->a->fft_type;
  if (type == FFT_FFT || type == FFT_IFFT) return operand;
  int64_t n = in->a->fft_length.items[in->a->fft_length.count - 1];
  Dims dims;
  dims_of(&dims, operand);
  if (type == FFT_RFFT) {
    dims.sizes[dims.rank - 1] = n ? n / 2 + 1 : 0;
    return dims_shape(in, type_complex_of(operand->type), &dims);
  }
  dims.sizes[dims.rank - 1] = n;
  return dims_shape(in, type_complex_component(operand->type), &dims);
}

/* ---- Linear algebra, on the two innermost dimensions ---- */

static bool check_square(Inference *in) {
  const Shape *a = operand_shape(in, 0);
  REQUIRE(in, type_is_floating(a->type) || type_is_complex(a->type),
          "operand a %s has element type %s; it must be floating-point or complex",
          text_operand(in, 0), type_name(a->type));
  REQUIRE(in, a->rank >= 2, "operand a has shape %s; it must have rank at least 2",
          text_operand(in, 0));
  REQUIRE(in, a->dims[a->rank - 2] == a->dims[a->rank - 1],
          "operand a has shape %s; its two minor dimensions must have equal size",
          text_operand(in, 0));
  return true;
}

const Shape *infer_cholesky(Inference *in) {
  return check_array(in, 0, "operand a") && check_square(in) ? operand_shape(in, 0) : NULL;
}

const Shape *infer_triangular_solve(Inference *in) {
  if (!check_array(in, 0, "operand a") || !check_array(in, 1, "operand b") || !check_square(in))
    return NULL;
  const Shape *a = operand_shape(in, 0), *b = operand_shape(in, 1);
  REQUIRE(in, a->type == b->type,
          "operands a %s and b %s have different element types; they must be identical",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, a->rank == b->rank, "operands a %s and b %s have different ranks; they must be equal",
          text_operand(in, 0), text_operand(in, 1));
  for (int d = 0; d < a->rank - 2; d++) {
    REQUIRE(in, a->dims[d] == b->dims[d],
            "operands a %s and b %s differ in batch dimension %d; batch dimensions must be equal",
            text_operand(in, 0), text_operand(in, 1), d);
  }
  int shared = in->a->left_side ? b->rank - 2 : b->rank - 1;
  REQUIRE(in, b->dims[shared] == a->dims[a->rank - 1],
          "the shared dimension of operands a %s and b %s does not match; with left_side=%s "
          "dimension %d of b must have size %lld",
          text_operand(in, 0), text_operand(in, 1), in->a->left_side ? "true" : "false", shared,
          (long long)a->dims[a->rank - 1]);
  return b;
}

/* ---- Batch normalisation ---- */

static bool check_batch_norm_operand(Inference *in) {
  if (!check_array(in, 0, "operand")) return false;
  const Shape *operand = operand_shape(in, 0);
  REQUIRE(in, operand->rank >= 1, "operand has shape %s; it must have rank at least 1",
          text_operand(in, 0));
  REQUIRE(in, type_is_floating(operand->type),
          "operand %s has element type %s; it must be floating-point", text_operand(in, 0),
          type_name(operand->type));
  REQUIRE(in, in->a->feature_index >= 0 && in->a->feature_index < operand->rank,
          "feature_index=%lld is out of range for operand %s; it must be in [0, %d)",
          (long long)in->a->feature_index, text_operand(in, 0), operand->rank);
  return true;
}

/* scale, offset, mean, variance: a vector with one element for each feature. */
static bool check_feature_vector(Inference *in, int index, const char *role) {
  if (!check_array(in, index, role)) return false;
  const Shape *operand = operand_shape(in, 0), *vector = operand_shape(in, index);
  REQUIRE(in, vector->rank == 1, "%s has shape %s; it must have rank 1", role,
          text_operand(in, index));
  REQUIRE(in, vector->type == operand->type,
          "%s %s and operand %s have different element types; they must have the same", role,
          text_operand(in, index), text_operand(in, 0));
  int64_t features = operand->dims[in->a->feature_index];
  REQUIRE(in, vector->dims[0] == features,
          "%s has shape %s, but operand %s has %lld features in dimension feature_index=%lld; they "
          "must be equal",
          role, text_operand(in, index), text_operand(in, 0), (long long)features,
          (long long)in->a->feature_index);
  return true;
}

/* (like the operand, feature vector, feature vector) */
static const Shape *normalised_and_two_vectors(Inference *in) {
  const Shape *operand = operand_shape(in, 0);
  Dims dims = {0};
  int64_t f = in->a->feature_index;
  dims_push(in, &dims, operand->dims[f], dimension_is_dynamic(operand, f));
  const Shape *vector = dims_shape(in, operand->type, &dims);
  if (!vector) return NULL;
  return shape_tuple(in->arena, 3, (const Shape *const[]){operand, vector, vector});
}

const Shape *infer_batch_norm_training(Inference *in) {
  if (!check_batch_norm_operand(in) || !check_feature_vector(in, 1, "scale") ||
      !check_feature_vector(in, 2, "offset")) {
    return NULL;
  }
  return normalised_and_two_vectors(in);
}

const Shape *infer_batch_norm_inference(Inference *in) {
  if (!check_batch_norm_operand(in) || !check_feature_vector(in, 1, "scale") ||
      !check_feature_vector(in, 2, "offset") || !check_feature_vector(in, 3, "mean") ||
      !check_feature_vector(in, 4, "variance")) {
    return NULL;
  }
  return operand_shape(in, 0);
}

const Shape *infer_batch_norm_grad(Inference *in) {
  if (!check_batch_norm_operand(in) || !check_feature_vector(in, 1, "scale") ||
      !check_feature_vector(in, 2, "mean") || !check_feature_vector(in, 3, "variance") ||
      !check_array(in, 4, "grad_output")) {
    return NULL;
  }
  REQUIRE(in, shape_compatible(operand_shape(in, 0), operand_shape(in, 4)),
          "operand %s and grad_output %s differ; they must have the same shape",
          text_operand(in, 0), text_operand(in, 4));
  return normalised_and_two_vectors(in);
}
