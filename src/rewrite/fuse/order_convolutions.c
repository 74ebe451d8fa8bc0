/*
** Reorders the dimensions of some convolutions for fast kernels (kernels/contraction/direct.h,
** kernels/convolution/inner/depthwise.c), by transposing operands and results. A kernel's vectors run over the result's
** innermost dimension:
**   - with fewer output features than a vector has lanes, it should be spatial, so features go before
**     spatial dimensions;
**   - in a depthwise convolution whose positions are few or far apart, it should be the features. With a
**     few output features per input feature, each input feature is repeated for each of them.
**
** Runs after the passes that fold transposes into convolutions.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold VECTOR_BYTES, MIN_POSITIONS, MANY_POSITIONS, MIN_TAPS, MIN_GROUPS. Test: "convolutions: lines of
  ** tiles, places of a unit, transposed operands" in core/thresholds_programs.test.mjs. */
  VECTOR_BYTES = 16,
  MIN_POSITIONS = 16,  /* positions along the last dimension that repay a transpose */
  MANY_POSITIONS = 32, /* positions that are as fast as features */
  MIN_TAPS = 3,        /* elements of a window: a transpose costs about as much as one */
  MIN_GROUPS = 4,
};

/* The sizes of a convolution. */
typedef struct Sizes {
  int64_t groups, inputs, outputs; /* inputs of all groups */
  int64_t positions, taps;         /* along the last spatial dimension; of the whole window */
  int64_t lane_bytes;
  bool steps; /* strided or dilated: neighbouring positions are not one element apart */
} Sizes;

static bool sizes_of(const Instruction *x, Sizes *sizes) {
  if (x->opcode != HLO_CONVOLUTION || type_is_complex(x->shape->type) ||
      x->a->batch_group_count != 1 || x->a->conv_dims.spatial == 0 || x->shape->rank == MAX_RANK ||
      !shape_elements(x->shape)) {
    return false;
  }
  const ConvDims *dims = &x->a->conv_dims;
  int last = dims->spatial - 1;
  const WindowDimension *window = &x->a->window.items[last];
  *sizes = (Sizes){.groups = x->a->feature_group_count,
                   .inputs = x->operands[0]->shape->dims[dims->input_feature],
                   .outputs = x->shape->dims[dims->output_feature],
                   .positions = x->shape->dims[dims->output_spatial[last]],
                   .taps = 1,
                   .lane_bytes = type_bytes(x->shape->type) == 8 ? 8 : 4,
                   .steps = window->stride != 1 || window->base_dilation != 1};
  for (int i = 0; i <= last; i++) sizes->taps *= x->a->window.items[i].size;
  return true;
}

static bool wants_features_first(const Instruction *x, const Sizes *sizes) {
  const ConvDims *dims = &x->a->conv_dims;
  return sizes->groups == 1 && sizes->outputs * sizes->lane_bytes < VECTOR_BYTES &&
         sizes->inputs > 1 && dims->input_feature == x->shape->rank - 1 &&
         dims->output_feature == x->shape->rank - 1 && !sizes->steps &&
         sizes->positions >= MIN_POSITIONS && sizes->taps >= MIN_TAPS;
}

static bool wants_features_last(const Instruction *x, const Sizes *sizes) {
  if (sizes->groups < MIN_GROUPS || sizes->groups != sizes->inputs) return false;
  int64_t multiplier = sizes->outputs / sizes->groups;
  if (multiplier > 1) {
    bool few = multiplier * sizes->lane_bytes < VECTOR_BYTES;
    return few && (x->a->conv_dims.output_feature == x->shape->rank - 1 || sizes->steps ||
                   sizes->positions < MANY_POSITIONS);
  }
  return x->a->conv_dims.output_feature != x->shape->rank - 1 &&
         (sizes->steps || sizes->positions < MANY_POSITIONS);
}

/* ---- Instructions ---- */

/* Transposes x: dimension d of the result is dimension order[d] of x. */
static Instruction *transposed(Instruction *x, const int64_t *order) {
  return computation_add_transpose(x->parent, x, order);
}

/* Repeats each element of the last dimension this number of times. */
static Instruction *repeated(Instruction *x, int64_t times) {
  if (times == 1) return x;
  Arena *arena = x->parent->module->arena;
  int rank = x->shape->rank;
  int64_t *items = ARENA_ARRAY(arena, int64_t, rank), dims[MAX_RANK];
  for (int d = 0; d < rank; d++) {
    items[d] = d;
    dims[d] = x->shape->dims[d];
  }
  dims[rank] = times;
  Instruction *copies = computation_add(x->parent, HLO_BROADCAST,
                                        shape_make(arena, x->shape->type, rank + 1, dims, NULL), &x,
                                        1, ATTRIBUTES(.dimensions = {rank, items}));
  dims[rank - 1] *= times;
  return computation_add(x->parent, HLO_RESHAPE,
                         shape_make(arena, x->shape->type, rank, dims, NULL), &copies, 1, NULL);
}

/* Makes the order of an operand's dimensions: its outermost, then features and spatial ones. */
static void put_order(int64_t outermost, int64_t feature, const int64_t *spatial, int count,
                      bool features_last, int64_t *order) {
  order[0] = outermost;
  order[features_last ? count + 1 : 1] = feature;
  for (int i = 0; i < count; i++) order[(features_last ? 1 : 2) + i] = spatial[i];
}

static void reorder(Instruction *x, bool features_last, int64_t multiplier) {
  Arena *arena = x->parent->module->arena;
  const ConvDims *dims = &x->a->conv_dims;
  int spatial = dims->spatial, rank = spatial + 2;
  int64_t order[MAX_RANK], out_dims[MAX_RANK];
  int64_t *positions = ARENA_ARRAY(arena, int64_t, spatial),
          *taps = ARENA_ARRAY(arena, int64_t, spatial);
  int64_t *back = ARENA_ARRAY(arena, int64_t, rank);
  for (int i = 0; i < spatial; i++) {
    positions[i] = (features_last ? 1 : 2) + i;
    taps[i] = i;
  }
  Attributes a = *x->a;
  ConvDims *to = &a.conv_dims;
  to->input_batch = to->output_batch = 0;
  to->input_feature = to->output_feature = features_last ? rank - 1 : 1;
  to->input_spatial = to->output_spatial = positions;
  put_order(dims->input_batch, dims->input_feature, dims->input_spatial, spatial, features_last,
            order);
  Instruction *operands[2] = {repeated(transposed(x->operands[0], order), multiplier),
                              x->operands[1]};
  if (features_last) {
    a.feature_group_count *= multiplier;
    for (int i = 0; i < spatial; i++) order[i] = dims->kernel_spatial[i];
    order[rank - 2] = dims->kernel_input_feature;
    order[rank - 1] = dims->kernel_output_feature;
    operands[1] = transposed(x->operands[1], order);
    to->kernel_spatial = taps;
    to->kernel_input_feature = rank - 2;
    to->kernel_output_feature = rank - 1;
  }
  put_order(dims->output_batch, dims->output_feature, dims->output_spatial, spatial, features_last,
            order);
  for (int d = 0; d < rank; d++) {
    out_dims[d] = x->shape->dims[order[d]];
    back[order[d]] = d;
  }
  const Shape *shape = shape_make(arena, x->shape->type, rank, out_dims, NULL);
  Instruction *convolution = computation_add(x->parent, HLO_CONVOLUTION, shape, operands, 2, &a);
  instruction_become(x, HLO_TRANSPOSE, &convolution, 1, ATTRIBUTES(.dimensions = {rank, back}));
}

static bool order(Instruction *x, void *data) {
  Sizes sizes;
  if (!sizes_of(x, &sizes)) return false;
  bool last = wants_features_last(x, &sizes);
  if (!last && !wants_features_first(x, &sizes)) return false;
  reorder(x, last, last ? sizes.outputs / sizes.groups : 1);
  return true;
}

bool pass_order_convolutions(Module *module) { return rewrite_each(module, order, NULL); }
