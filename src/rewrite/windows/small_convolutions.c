/*
** Writes convolutions with one product per tap as sums of shifted arrays: with one input feature per group, small windows, and
** rows of neighbouring positions. Loops fuse with their neighbours, and multiply by constants or not at all by 1.
**
**     convolution(f32[1,1,h,w] x, f32[1,1,3,3] y)    0 + x'[0:h,0:w] y[0,0] + x'[0:h,1:w+1] y[0,1] + ..., x' = pad(x)
**
** The taps are slices of one padded array, so that loops read them by one pointer (codegen/loops/pointer_emitter.c).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/windows/pad_windows.h"

/* Threshold MAX_TAPS, MIN_POSITIONS. Test: "convolutions of single features with few taps" in core/thresholds_programs.test.mjs. */
enum { MAX_TAPS = 32, MIN_POSITIONS = 12 };

/* Returns the last dimension with more than one element, or -1. */
static int64_t last_dimension(const Shape *shape) {
  for (int64_t d = shape->rank - 1; d >= 0; d--) {
    if (shape->dims[d] > 1) return d;
  }
  return -1;
}

/* Whether a row of results reads rows of neighbouring elements. */
static bool has_rows(const Instruction *x) {
  const ConvDims *dims = &x->a->conv_dims;
  int64_t row = last_dimension(x->shape), from = last_dimension(x->operands[0]->shape);
  bool has = false;
  for (int i = 0; i < dims->spatial; i++) {
    has |= dims->output_spatial[i] == row && dims->input_spatial[i] == from;
  }
  return has && x->shape->dims[row] >= MIN_POSITIONS;
}

static bool is_small(const Instruction *x) {
  if (x->opcode != HLO_CONVOLUTION || x->a->control_predecessors.count) return false;
  const ConvDims *dims = &x->a->conv_dims;
  const Shape *lhs = x->operands[0]->shape, *rhs = x->operands[1]->shape;
  PrimitiveType type = x->shape->type;
  int64_t groups = x->a->feature_group_count, taps = 1;
  bool whole = type == F32 || type == F64 || (type_is_integral(type) && type_bits(type) >= 32);
  if (!whole || lhs->type != type || rhs->type != type || x->a->batch_group_count != 1 ||
      groups != lhs->dims[dims->input_feature] || groups != x->shape->dims[dims->output_feature]) {
    return false;
  }
  for (int i = 0; i < dims->spatial; i++) {
    const WindowDimension *window = &x->a->window.items[i];
    if (window->base_dilation != 1 || window->stride != 1) return false;
    taps *= window->size;
    if (taps == 0 || taps > MAX_TAPS) return false;
  }
  return shape_elements(lhs) > 0 && shape_elements(x->shape) > 0 && has_rows(x);
}

/* Pads the lhs. */
static Instruction *padded(Instruction *x) {
  Computation *computation = x->parent;
  Arena *arena = computation->module->arena;
  const ConvDims *dims = &x->a->conv_dims;
  int rank = x->shape->rank;
  PaddingDimension *pads = ARENA_ARRAY(arena, PaddingDimension, rank);
  for (int i = 0; i < dims->spatial; i++) {
    const WindowDimension *d = &x->a->window.items[i];
    pads[dims->input_spatial[i]] = (PaddingDimension){d->padding_low, d->padding_high, 0};
  }
  if (!window_is_padded(&x->a->window)) return x->operands[0];
  Instruction *zero = computation_add_integer(computation, x->shape->type, 0);
  return add_padded(computation, x->operands[0], zero, (PaddingConfig){rank, pads});
}

/* Slices the elements that the results multiply by one tap, in the order of the results. */
static Instruction *elements_of(Instruction *x, Instruction *lhs, const int64_t *tap) {
  const ConvDims *dims = &x->a->conv_dims;
  int64_t order[MAX_RANK];
  for (int i = 0; i < dims->spatial; i++) {
    int64_t begin = tap[i] * x->a->window.items[i].window_dilation;
    order[dims->output_spatial[i]] = dims->input_spatial[i];
    lhs = computation_add_range(x->parent, lhs, dims->input_spatial[i], begin,
                                begin + x->shape->dims[dims->output_spatial[i]]);
  }
  order[dims->output_batch] = dims->input_batch;
  order[dims->output_feature] = dims->input_feature;
  return computation_add_transpose(x->parent, lhs, order);
}

/* Returns one tap of the rhs: a number, or one per feature. */
static Instruction *weights_of(Instruction *x, const int64_t *tap) {
  const ConvDims *dims = &x->a->conv_dims;
  Instruction *rhs = x->operands[1];
  int64_t index = 0, features = rhs->shape->dims[dims->kernel_output_feature], at[MAX_RANK] = {0};
  for (int i = 0; i < dims->spatial; i++) {
    const WindowDimension *window = &x->a->window.items[i];
    at[dims->kernel_spatial[i]] = window->window_reversal ? window->size - 1 - tap[i] : tap[i];
  }
  for (int d = 0; d < x->shape->rank; d++) index = index * rhs->shape->dims[d] + at[d];
  if (rhs->opcode == HLO_CONSTANT && features == 1) {
    Scalar value = scalar_load(x->shape->type, rhs->literal->data, index);
    return computation_add_number(x->parent, x->shape->type, value);
  }
  for (int i = 0; i < dims->spatial; i++) {
    int64_t d = dims->kernel_spatial[i];
    rhs = computation_add_range(x->parent, rhs, d, at[d], at[d] + 1);
  }
  return computation_add_reshape(x->parent, rhs, 1, &features);
}

/* Multiplies the elements of one tap; by 1 nothing changes. */
static Instruction *product_of(Instruction *x, Instruction *lhs, const int64_t *tap) {
  Instruction *elements = elements_of(x, lhs, tap), *weights = weights_of(x, tap);
  if (is_splat_of(weights, 1)) return elements;
  const ConvDims *dims = &x->a->conv_dims;
  int64_t *feature = arena_copy(x->parent->module->arena, &dims->output_feature, sizeof *feature);
  weights = computation_add(x->parent, HLO_BROADCAST, x->shape, &weights, 1,
                            ATTRIBUTES(.dimensions = {weights->shape->rank, feature}));
  return computation_add_binary(x->parent, HLO_MULTIPLY, elements, weights);
}

/* Advances to the next tap; false after the last one. */
static bool next_tap(const Window *window, int64_t *tap) {
  for (int i = window->count - 1; i >= 0; i--) {
    if (++tap[i] < window->items[i].size) return true;
    tap[i] = 0;
  }
  return false;
}

static bool write_out(Instruction *x, void *data) {
  if (!is_small(x)) return false;
  Instruction *lhs = padded(x);
  if (!lhs) return false;
  Computation *computation = x->parent;
  Instruction *zero = computation_add_integer(computation, x->shape->type, 0);
  Instruction *sum = computation_add(computation, HLO_BROADCAST, x->shape, &zero, 1, NULL);
  int64_t tap[MAX_RANK] = {0};
  do {
    sum = computation_add_binary(computation, HLO_ADD, sum, product_of(x, lhs, tap));
  } while (next_tap(&x->a->window, tap));
  instruction_become(x, HLO_RESHAPE, &sum, 1, NULL);
  return true;
}

bool pass_small_convolutions(Module *module) { return rewrite_each(module, write_out, NULL); }
