/* Infers the sizes of windowed results, and the shapes of reductions over windows. */
#include "hlo/infer/inference.h"
#include "hlo/infer/inference_rules.h"

/* Dilation puts d-1 holes between neighbours: n elements span (n-1)*d + 1. False on overflow. */
static bool dilated(int64_t size, int64_t dilation, int64_t *out) {
  if (size == 0) return *out = 0, true;
  return !__builtin_mul_overflow(size - 1, dilation, out) && !__builtin_add_overflow(*out, 1, out);
}

static bool padded_base(int64_t size, const WindowDimension *w, int64_t *out) {
  return dilated(size, w->base_dilation, out) &&
         !__builtin_add_overflow(*out, w->padding_low, out) &&
         !__builtin_add_overflow(*out, w->padding_high, out);
}

/* Returns the size of one output dimension of a window over `size` elements (after base dilation and
** padding); 0 if it does not fit. */
static int64_t window_output_size(int64_t size, const WindowDimension *window) {
  int64_t base, extent;
  if (!padded_base(size, window, &base) || !dilated(window->size, window->window_dilation, &extent))
    return 0;
  return base <= 0 || extent > base ? 0 : (base - extent) / window->stride + 1;
}

static bool check_window_dimension(Inference *in, const WindowDimension *w, int d, int64_t size) {
  REQUIRE(in, w->size > 0, "window size %lld in window dimension %d; it must be positive",
          (long long)w->size, d);
  REQUIRE(in, w->stride > 0, "window stride %lld in window dimension %d; it must be positive",
          (long long)w->stride, d);
  REQUIRE(in, w->base_dilation > 0,
          "base dilation (lhs_dilate) %lld in window dimension %d; it must be positive",
          (long long)w->base_dilation, d);
  REQUIRE(in, w->window_dilation > 0,
          "window dilation (rhs_dilate) %lld in window dimension %d; it must be positive",
          (long long)w->window_dilation, d);
  /* Limits sizes so that no product or sum of them overflows when a window's places are counted. */
  const int64_t max_steps = INT64_C(1) << 31, max = INT64_C(1) << 60;
  REQUIRE(in,
          w->stride <= max_steps && w->base_dilation <= max_steps &&
              w->window_dilation <= max_steps,
          "stride or dilation in window dimension %d is too large; they must be at most %lld", d,
          (long long)max_steps);
  int64_t base, extent;
  bool fits = padded_base(size, w, &base) && dilated(w->size, w->window_dilation, &extent) &&
              base <= max && extent <= max && w->padding_low >= -max && w->padding_low <= max &&
              w->padding_high >= -max && w->padding_high <= max;
  REQUIRE(in, fits,
          "padding or dilation in window dimension %d overflows; sizes must be below 2^60", d);
  return true;
}

bool infer_window(Inference *in, const Window *window, const Dims *base, Dims *output) {
  REQUIRE(in, window->count == base->rank,
          "window has %d dimensions for %d dimensions of the operand; they must be as many",
          window->count, base->rank);
  *output = (Dims){0};
  for (int d = 0; d < base->rank; d++) {
    const WindowDimension *w = &window->items[d];
    if (!check_window_dimension(in, w, d, base->sizes[d]) ||
        !dims_push(in, output, window_output_size(base->sizes[d], w), base->dynamic[d])) {
      return false;
    }
  }
  return true;
}

const Shape *infer_reduce_window(Inference *in) {
  int count = in->operand_count / 2;
  if (!check_operands_and_inits(in, count)) return NULL;
  PrimitiveType *types = ARENA_ARRAY(in->arena, PrimitiveType, count);
  for (int i = 0; i < count; i++) types[i] = operand_shape(in, i)->type;
  if (!check_reducer(in, "to_apply", in->a->to_apply, count, types)) return NULL;
  Dims base, output;
  dims_of(&base, operand_shape(in, 0));
  if (!infer_window(in, &in->a->window, &base, &output)) return NULL;
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, count);
  for (int i = 0; i < count; i++) {
    if (!(shapes[i] = dims_shape(in, types[i], &output))) return NULL;
  }
  return one_or_tuple(in, count, shapes);
}

static bool check_select_function(Inference *in, PrimitiveType type) {
  const Computation *select = in->a->select;
  if (!check_computation(in, "select", select)) return false;
  REQUIRE(in, select->parameter_count == 2, "select=%%%s takes %d parameters; it must take 2",
          select->name, select->parameter_count);
  for (int i = 0; i < 2; i++) {
    const Shape *parameter = select->parameters[i]->shape;
    REQUIRE(in, shape_is_scalar(parameter) && parameter->type == type,
            "select=%%%s: parameter %d has shape %s; it must be %s[], a scalar of the operand's "
            "element type",
            select->name, i, text_shape(in, parameter), type_name(type));
  }
  const Shape *result = computation_result_shape(select);
  REQUIRE(in, shape_is_scalar(result) && result->type == PRED,
          "select=%%%s returns %s; it must return pred[]", select->name, text_shape(in, result));
  return true;
}

const Shape *infer_select_and_scatter(Inference *in) {
  if (!check_array(in, 0, "operand") || !check_array(in, 1, "source") ||
      !check_array(in, 2, "init value")) {
    return NULL;
  }
  const Shape *operand = operand_shape(in, 0), *source = operand_shape(in, 1);
  REQUIRE(in, operand->type == source->type,
          "operand %s and source %s have different element types; convert one of them",
          text_operand(in, 0), text_operand(in, 1));
  REQUIRE(in, shape_is_scalar(operand_shape(in, 2)) && operand_shape(in, 2)->type == operand->type,
          "init value has shape %s; it must be %s[], a scalar of the operand's element type",
          text_operand(in, 2), type_name(operand->type));
  if (!check_select_function(in, operand->type) ||
      !check_reducer(in, "scatter", in->a->scatter, 1, &source->type)) {
    return NULL;
  }
  Dims base, output;
  dims_of(&base, operand);
  if (!infer_window(in, &in->a->window, &base, &output)) return NULL;
  const Shape *windowed = dims_shape(in, operand->type, &output);
  if (!windowed) return NULL;
  REQUIRE(in, shape_same_dims(source, windowed),
          "source has shape %s, but the windows over operand %s give %s; they must be the same",
          text_operand(in, 1), text_operand(in, 0), text_shape(in, windowed));
  return operand;
}
