/*
** Evaluates convolution, with any number of spatial dimensions, windows, dimension numbers and groups.
**
**   out[b, p, o] = sum over window positions w and kernel input features i of
**                  lhs[b', p under w, i'] * rhs[w, i, o]
**
** With feature groups, output feature o of group g sees the lhs features i' = g * kernel input
** features + i. With batch groups, output feature o of group g sees the lhs batches
** b' = g * output batches + b. Only one of the two counts is above 1.
**
** A row of sums, one for each output feature of a group, is accumulated at once, so the kernel is
** packed as [window position, input feature, output feature].
*/
#include "reference/wide_numbers.h"
#include "reference/window.h"

typedef struct Convolution {
  PrimitiveType type;
  WideNumbers lhs, rhs, sum;
  int64_t inputs, outputs; /* input features of the kernel, output features of a group */
  int64_t features, row;   /* output features of all groups; the first one of this group */
  int64_t feature_stride;  /* from one input feature of the lhs to the next */
  int64_t lhs_at;          /* start of this batch and group in the lhs */
} Convolution;

static bool add_position(void *state, int64_t at, int64_t position) {
  const Convolution *c = state;
  int64_t lhs = c->lhs_at + at, rhs = position * c->inputs * c->features + c->row;
  for (int64_t i = 0; i < c->inputs; i++, lhs += c->feature_stride, rhs += c->features) {
    wide_numbers_add_products(c->type, c->sum, c->lhs, lhs, c->rhs, rhs, c->outputs);
  }
  return true;
}

static WideNumbers pack_kernel(const ConvDims *dims, const Literal *rhs, PrimitiveType type,
                               Arena *arena) {
  const Shape *shape = rhs->shape;
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  Walk walk;
  walk_init(&walk);
  for (int s = 0; s < dims->spatial; s++) {
    int64_t d = dims->kernel_spatial[s];
    walk_add(&walk, shape->dims[d], strides[d], 0, 0);
  }
  int64_t input = dims->kernel_input_feature, output = dims->kernel_output_feature;
  walk_add(&walk, shape->dims[input], strides[input], 0, 0);
  walk_add(&walk, shape->dims[output], strides[output], 0, 0);
  return wide_numbers_from(&walk, rhs, type, arena);
}

static WideNumbers pack_input(const Literal *lhs, PrimitiveType type, Arena *arena) {
  Walk walk;
  walk_init(&walk);
  walk_add(&walk, shape_elements(lhs->shape), 1, 0, 0);
  return wide_numbers_from(&walk, lhs, type, arena);
}

static void place_window(PlacedWindow *placed, const Instruction *instruction, const Shape *lhs,
                         const int64_t *strides, const Shape *out, Arena *arena) {
  const ConvDims *dims = &instruction->a->conv_dims;
  placed->rank = 0;
  for (int s = 0; s < dims->spatial; s++) {
    int64_t d = dims->input_spatial[s], outputs = out->dims[dims->output_spatial[s]];
    const WindowDimension *window = &instruction->a->window.items[s];
    placed_add(placed, window, lhs->dims[d], strides[d], outputs, arena);
  }
}

bool eval_convolution(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  const Attributes *a = instruction->a;
  const ConvDims *dims = &a->conv_dims;
  const Shape *lhs = operands[0]->shape, *rhs = operands[1]->shape, *out = result->shape;
  int64_t lhs_strides[MAX_RANK], out_strides[MAX_RANK];
  shape_strides(lhs, lhs_strides);
  shape_strides(out, out_strides);
  if (shape_elements(out) == 0) return true;
  int64_t groups = a->feature_group_count * a->batch_group_count;
  Convolution c = {.type = out->type,
                   .lhs = pack_input(operands[0], out->type, context->arena),
                   .rhs = pack_kernel(dims, operands[1], out->type, context->arena),
                   .inputs = rhs->dims[dims->kernel_input_feature],
                   .features = rhs->dims[dims->kernel_output_feature],
                   .feature_stride = lhs_strides[dims->input_feature]};
  c.outputs = c.features / groups;
  c.sum = wide_numbers_new(out->type, c.outputs, context->arena);
  int64_t batches = out->dims[dims->output_batch];
  int64_t group_stride = a->batch_group_count > 1 ? batches * lhs_strides[dims->input_batch]
                                                  : c.inputs * c.feature_stride;
  int64_t row_stride = out_strides[dims->output_feature];
  PlacedWindow placed;
  place_window(&placed, instruction, lhs, lhs_strides, out, context->arena);
  for (int64_t b = 0; b < batches; b++) {
    do {
      int64_t at = b * out_strides[dims->output_batch];
      for (int s = 0; s < dims->spatial; s++) {
        at += placed.output[s] * out_strides[dims->output_spatial[s]];
      }
      for (int64_t g = 0; g < groups; g++) {
        c.row = g * c.outputs;
        c.lhs_at = b * lhs_strides[dims->input_batch] + g * group_stride;
        wide_numbers_clear(c.type, c.sum, c.outputs, false);
        placed_elements(&placed, add_position, &c);
        wide_numbers_store(out->type, c.sum, c.outputs, result->data, at + c.row * row_stride,
                           row_stride);
      }
    } while (placed_next(&placed));
  }
  return true;
}
