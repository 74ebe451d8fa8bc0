/* Infers the shape of convolution, with any dimension numbers and with groups of features or batches. */
#include "hlo/infer/inference_rules.h"

/* batch/feature and spatial dimension numbers of one array must be a permutation of 0..rank-1. */
static bool check_labels(Inference *in, const char *what, int64_t first, int64_t second,
                         const int64_t *spatial) {
  int count = in->a->conv_dims.spatial, rank = count + 2;
  uint64_t seen = 0;
  for (int i = 0; i < rank; i++) {
    int64_t d = i == 0 ? first : i == 1 ? second : spatial[i - 2];
    REQUIRE(in, d >= 0 && d < rank,
            "dim_labels: %s dimension number %lld is out of range; it must be in [0, %d)", what,
            (long long)d, rank);
    REQUIRE(
        in, !(seen >> d & 1),
        "dim_labels name %s dimension %lld twice; they must contain each dimension exactly once",
        what, (long long)d);
    seen |= (uint64_t)1 << d;
  }
  return true;
}

static bool check_conv_ranks(Inference *in) {
  const ConvDims *dims = &in->a->conv_dims;
  int rank = dims->spatial + 2;
  REQUIRE(in, rank <= MAX_RANK, "dim_labels have %d spatial dimensions; at most %d are possible",
          dims->spatial, MAX_RANK - 2);
  REQUIRE(in, operand_shape(in, 0)->rank == rank,
          "lhs has shape %s; for %d spatial dimensions in dim_labels it must have rank %d",
          text_operand(in, 0), dims->spatial, rank);
  REQUIRE(in, operand_shape(in, 1)->rank == rank,
          "rhs has shape %s; for %d spatial dimensions in dim_labels it must have rank %d",
          text_operand(in, 1), dims->spatial, rank);
  REQUIRE(in, in->a->window.count == dims->spatial,
          "window has %d dimensions and dim_labels %d spatial ones; they must be as many",
          in->a->window.count, dims->spatial);
  return check_labels(in, "input", dims->input_batch, dims->input_feature, dims->input_spatial) &&
         check_labels(in, "kernel", dims->kernel_input_feature, dims->kernel_output_feature,
                      dims->kernel_spatial) &&
         check_labels(in, "output", dims->output_batch, dims->output_feature, dims->output_spatial);
}

static bool check_groups(Inference *in) {
  const ConvDims *dims = &in->a->conv_dims;
  long long features = in->a->feature_group_count, batches = in->a->batch_group_count;
  REQUIRE(in, features > 0, "feature_group_count=%lld; it must be positive", features);
  REQUIRE(in, batches > 0, "batch_group_count=%lld; it must be positive", batches);
  REQUIRE(in, features == 1 || batches == 1,
          "feature_group_count=%lld and batch_group_count=%lld; only one can be greater than 1",
          features, batches);
  long long input = operand_shape(in, 0)->dims[dims->input_feature];
  long long kernel = operand_shape(in, 1)->dims[dims->kernel_input_feature];
  long long output = operand_shape(in, 1)->dims[dims->kernel_output_feature];
  long long batch = operand_shape(in, 0)->dims[dims->input_batch];
  REQUIRE(in, output % features == 0,
          "output feature dimension of rhs %s has size %lld; it must be divisible by "
          "feature_group_count %lld",
          text_operand(in, 1), output, features);
  REQUIRE(in, output % batches == 0,
          "output feature dimension of rhs %s has size %lld; it must be a multiple of "
          "batch_group_count %lld",
          text_operand(in, 1), output, batches);
  REQUIRE(in, batch % batches == 0,
          "batch dimension of lhs %s has size %lld; it must be divisible by batch_group_count %lld",
          text_operand(in, 0), batch, batches);
  REQUIRE(in, input % features == 0 && input / features == kernel,
          "lhs %s has %lld input features, rhs %s has %lld, feature_group_count is %lld; lhs "
          "features / feature_group_count must equal rhs features",
          text_operand(in, 0), input, text_operand(in, 1), kernel, features);
  return true;
}

static bool check_window_is_kernel(Inference *in) {
  const ConvDims *dims = &in->a->conv_dims;
  for (int i = 0; i < dims->spatial; i++) {
    long long size = operand_shape(in, 1)->dims[dims->kernel_spatial[i]];
    REQUIRE(
        in, in->a->window.items[i].size == size,
        "window size %lld in window dimension %d does not match rhs %s, whose spatial dimension "
        "has size %lld; they must be equal",
        (long long)in->a->window.items[i].size, i, text_operand(in, 1), size);
  }
  return true;
}

const Shape *infer_convolution(Inference *in) {
  if (!check_array(in, 0, "lhs") || !check_array(in, 1, "rhs") || !check_conv_ranks(in) ||
      !check_groups(in) || !check_window_is_kernel(in)) {
    return NULL;
  }
  const ConvDims *d = &in->a->conv_dims;
  const Shape *lhs = operand_shape(in, 0), *rhs = operand_shape(in, 1);
  REQUIRE(in, !dimension_is_dynamic(rhs, d->kernel_output_feature),
          "the output feature dimension of rhs %s is dynamic; it must be static",
          text_operand(in, 1));
  Dims base = {0}, spatial, result = {.rank = d->spatial + 2};
  for (int i = 0; i < d->spatial; i++) {
    int64_t k = d->input_spatial[i];
    bool dynamic = dimension_is_dynamic(lhs, k) || dimension_is_dynamic(rhs, d->kernel_spatial[i]);
    dims_push(in, &base, lhs->dims[k], dynamic);
  }
  if (!infer_window(in, &in->a->window, &base, &spatial)) return NULL;
  for (int i = 0; i < d->spatial; i++) {
    result.sizes[d->output_spatial[i]] = spatial.sizes[i];
    result.dynamic[d->output_spatial[i]] = spatial.dynamic[i];
  }
  result.sizes[d->output_batch] = lhs->dims[d->input_batch] / in->a->batch_group_count;
  result.dynamic[d->output_batch] = dimension_is_dynamic(lhs, d->input_batch);
  result.sizes[d->output_feature] = rhs->dims[d->kernel_output_feature];
  result.any_dynamic = spatial.any_dynamic || result.dynamic[d->output_batch];
  PrimitiveType type = wider_type(lhs->type, rhs->type);
  if (in->stated && shape_is_array(in->stated)) type = in->stated->type;
  return dims_shape(in, type, &result);
}
