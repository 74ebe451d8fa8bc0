/* Infers the sizes of each operation's result from those of its operands. */
#include "rewrite/dynamic/dynamic.h"

static const Shape *operand_shape(const Instruction *instruction, int index) {
  return instruction->operands[index]->shape;
}

static bool is_flagged(const Shape *shape, int dimension) {
  return shape->dynamic && shape->dynamic[dimension];
}

/* ---- Operations that keep dimensions where they are ---- */

/* Merges sizes, but broadcasts a dimension of run-time size 1 to the other's size, as XLA does if both are
** dynamic. */
static void merge_broadcasting(Dynamic *d, Instruction **size, Instruction *other) {
  Instruction *one = *size;
  size_merge(d, size, other);
  if (d->dry || *size == one || *size == other) return;
  *size = dynamic_select(d, size_is_one(d, other), one, *size);
  *size = dynamic_select(d, size_is_one(d, one), other, *size);
}

/* Scalars beside arrays (of clamp and select) have no sizes. */
static bool infer_elementwise(Dynamic *d, const Instruction *instruction, Sizes *operands,
                              Sizes result) {
  int n = size_count(instruction->shape);
  for (int k = 0; k < instruction->operand_count; k++) {
    if (size_count(operand_shape(instruction, k)) != n) continue;
    for (int i = 0; i < n; i++) merge_broadcasting(d, &result[i], operands[k][i]);
  }
  return true;
}

/* Takes the last operand's size and broadcasts nothing, as XLA does. */
static bool infer_clamp(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  int rank = instruction->shape->rank;
  for (int k = 0; k < instruction->operand_count; k++) {
    if (operand_shape(instruction, k)->rank != rank) continue;
    for (int i = 0; i < rank; i++) result[i] = operands[k][i] ? operands[k][i] : result[i];
  }
  return true;
}

/* Leaf k of the result has operand k's sizes. `shared`: all have the same dimensions, and each leaf has the
** sizes merged over all operands. Otherwise, as in XLA, a leaf is as long as its operand. */
static bool infer_leaves(Dynamic *d, const Instruction *instruction, Sizes *operands, int count,
                         bool shared, Sizes result) {
  int at = 0;
  for (int k = 0; k < count; k++) {
    int n = size_count(operand_shape(instruction, k));
    for (int i = 0; i < n; i++) {
      for (int from = shared ? 0 : k; from < (shared ? count : k + 1); from++) {
        size_merge(d, &result[at + i], operands[from][i]);
      }
    }
    at += n;
  }
  return true;
}

/* Copies the sizes of the first `rank` dimensions to all leaves of the result; the others must be static. */
static bool infer_leading(Dynamic *d, const Instruction *instruction, Sizes *operands, int rank,
                          const char *rule, Sizes result) {
  const Shape *shape = instruction->shape;
  for (int k = 0; k < instruction->operand_count; k++) {
    for (int i = rank; i < operand_shape(instruction, k)->rank; i++) {
      if (operands[k][i]) return dynamic_refuse(d, instruction, k, i, rule);
    }
    int leaves = shape_leaves(shape);
    for (int leaf = 0, at = 0; leaf < leaves; leaf++) {
      for (int i = 0; i < rank; i++) size_merge(d, &result[at + i], operands[k][i]);
      at += shape_leaf(shape, leaf)->rank;
    }
  }
  return true;
}

/* ---- Data movement ---- */

static bool infer_broadcast(Dynamic *d, const Instruction *instruction, Sizes *operands,
                            Sizes result) {
  Int64List dimensions = instruction->a->dimensions;
  for (int i = 0; i < dimensions.count; i++) result[dimensions.items[i]] = operands[0][i];
  return true;
}

static bool infer_transpose(Dynamic *d, const Instruction *instruction, Sizes *operands,
                            Sizes result) {
  Int64List dimensions = instruction->a->dimensions;
  for (int i = 0; i < dimensions.count; i++) result[i] = operands[0][dimensions.items[i]];
  return true;
}

/* A slice of a whole dimension keeps its size. A part of one is assumed to lie within the size. */
static bool infer_slice(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  const Shape *from = operand_shape(instruction, 0), *to = instruction->shape;
  for (int i = 0; i < to->rank; i++) {
    if (to->dims[i] == from->dims[i]) result[i] = operands[0][i];
  }
  return true;
}

/* An update as long as the operand gives the result its size. */
static bool infer_dynamic_update_slice(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                       Sizes result) {
  const Shape *base = operand_shape(instruction, 0), *update = operand_shape(instruction, 1);
  for (int i = 0; i < base->rank; i++) {
    bool whole = operands[1][i] && update->dims[i] == base->dims[i];
    result[i] = whole ? operands[1][i] : operands[0][i];
  }
  return true;
}

static bool infer_concatenate(Dynamic *d, const Instruction *instruction, Sizes *operands,
                              Sizes result) {
  int64_t along = instruction->a->dimensions.items[0];
  bool dynamic = false;
  for (int k = 0; k < instruction->operand_count; k++) {
    for (int i = 0; i < instruction->shape->rank; i++) {
      if (i != along) size_merge(d, &result[i], operands[k][i]);
    }
    dynamic |= operands[k][along] != NULL;
  }
  for (int k = 0; dynamic && k < instruction->operand_count; k++) {
    int64_t bound = operand_shape(instruction, k)->dims[along];
    Instruction *size = size_or_bound(d, operands[k][along], bound);
    result[along] = k ? size_binary(d, HLO_ADD, result[along], size) : size;
  }
  return true;
}

/* n elements have d-1 holes after each but the last. */
static Instruction *dilated(Dynamic *d, Instruction *size, int64_t dilation) {
  if (dilation == 1) return size;
  Instruction *holes = size_binary(d, HLO_SUBTRACT, size, size_of(d, 1));
  holes = size_binary(d, HLO_MAXIMUM, holes, size_of(d, 0));
  holes = size_binary(d, HLO_MULTIPLY, holes, size_of(d, dilation - 1));
  return size_binary(d, HLO_ADD, size, holes);
}

static Instruction *plus(Dynamic *d, Instruction *size, int64_t amount) {
  return amount == 0 ? size : size_binary(d, HLO_ADD, size, size_of(d, amount));
}

static bool infer_pad(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  for (int i = 0; i < instruction->shape->rank; i++) {
    const PaddingDimension *padding = &instruction->a->padding.items[i];
    if (!operands[0][i]) continue;
    Instruction *size = dilated(d, operands[0][i], padding->interior + 1);
    result[i] = plus(d, size, padding->low + padding->high);
  }
  return true;
}

/* Whole slice dimensions have the operand's sizes; batch dimensions have those of the indices. */
static bool infer_gather(Dynamic *d, const Instruction *instruction, Sizes *operands,
                         Sizes result) {
  const Attributes *a = instruction->a;
  int next_slice = 0, next_index = 0;
  for (int i = 0; i < instruction->shape->rank; i++) {
    if (!list_has(a->offset_dims, i)) {
      if (next_index == a->index_vector_dim) next_index++;
      result[i] = operands[1][next_index++];
      continue;
    }
    while (list_has(a->collapsed_slice_dims, next_slice) ||
           list_has(a->operand_batching_dims, next_slice)) {
      next_slice++;
    }
    bool whole =
        a->slice_sizes.items[next_slice] == operand_shape(instruction, 0)->dims[next_slice];
    if (whole) result[i] = operands[0][next_slice];
    next_slice++;
  }
  return true;
}

/* ---- Reshape ---- */

bool reshape_next_group(const Shape *operand, const Shape *result, ReshapeGroup *group) {
  int i = group->from = group->from_end, o = group->to = group->to_end;
  if (i == operand->rank && o == result->rank) return false;
  int64_t from = i < operand->rank ? operand->dims[i++] : 1;
  int64_t to = o < result->rank ? result->dims[o++] : 1;
  while (from != to) {
    if (from < to) {
      from *= operand->dims[i++];
    } else {
      to *= result->dims[o++];
    }
  }
  group->from_end = i;
  group->to_end = o;
  return true;
}

/* Returns the dimension of the group that gets the size: the one that the program declares, or else the
** first larger than 1, so that elements do not move in memory. -1 if there is none. */
static int dynamic_result_dimension(const Instruction *reshape, const ReshapeGroup *group) {
  int chosen = -1;
  for (int o = group->to; o < group->to_end; o++) {
    if (!is_flagged(reshape->shape, o) && o != reshape->a->inferred_dimension) continue;
    if (chosen >= 0) return -1;
    chosen = o;
  }
  for (int o = group->to; chosen < 0 && o < group->to_end; o++) {
    if (reshape->shape->dims[o] != 1) chosen = o;
  }
  return chosen >= 0 ? chosen : group->to;
}

/* Divides the product of the group's operand sizes by the product of its other result sizes. */
static Instruction *group_size(Dynamic *d, const Instruction *reshape, const ReshapeGroup *group,
                               Sizes operand, int chosen) {
  Instruction *size = NULL;
  int64_t factor = 1, divisor = 1;
  for (int i = group->from; i < group->from_end; i++) {
    if (!operand[i]) {
      factor *= operand_shape(reshape, 0)->dims[i];
    } else {
      size = size ? size_binary(d, HLO_MULTIPLY, size, operand[i]) : operand[i];
    }
  }
  for (int o = group->to; o < group->to_end; o++) {
    if (o != chosen) divisor *= reshape->shape->dims[o];
  }
  if (factor == divisor) return size;
  if (factor != 1) size = size_binary(d, HLO_MULTIPLY, size, size_of(d, factor));
  return divisor == 1 ? size : size_binary(d, HLO_DIVIDE, size, size_of(d, divisor));
}

static bool infer_reshape(Dynamic *d, const Instruction *instruction, Sizes *operands,
                          Sizes result) {
  const Shape *from = operand_shape(instruction, 0), *to = instruction->shape;
  if (shape_elements(to) == 0) return true;
  for (ReshapeGroup group = {0}; reshape_next_group(from, to, &group);) {
    if (!any_dynamic(operands[0] + group.from, group.from_end - group.from)) continue;
    if (group.to == group.to_end)
      continue; /* into a scalar: the size is 1, or the result is undefined */
    int chosen = dynamic_result_dimension(instruction, &group), at = group.from;
    while (!operands[0][at]) at++;
    if (chosen < 0) {
      return dynamic_refuse(d, instruction, 0, at,
                            "of the dimensions that a dynamic one is reshaped to, one must be "
                            "dynamic; dynamic-reshape takes the sizes of several");
    }
    result[chosen] = group_size(d, instruction, &group, operands[0], chosen);
  }
  return true;
}

static bool infer_dynamic_reshape(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                  Sizes result) {
  for (int i = 0; i < instruction->shape->rank; i++) {
    if (is_flagged(instruction->shape, i)) result[i] = new_operand(d, instruction, i + 1);
  }
  return true;
}

/* Takes the program's size unchecked: one below 0 or beyond the bound selects no or all elements. */
static bool infer_set_dimension_size(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                     Sizes result) {
  int64_t along = instruction->a->dimensions.items[0];
  const Instruction *size = instruction->operands[1];
  for (int i = 0; i < instruction->shape->rank; i++) result[i] = operands[0][i];
  bool whole = size->opcode == HLO_CONSTANT &&
               scalar_load(S32, size->literal->data, 0).i == instruction->shape->dims[along];
  result[along] = whole ? NULL : new_operand(d, instruction, 1);
  return true;
}

/* ---- Contractions and windows ---- */

static void push_free(const Shape *shape, Sizes sizes, Int64List batch, Int64List contracting,
                      Sizes *next) {
  for (int i = 0; i < shape->rank; i++) {
    if (!list_has(batch, i) && !list_has(contracting, i)) *(*next)++ = sizes[i];
  }
}

static bool infer_dot(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  const Attributes *a = instruction->a;
  Sizes next = result;
  for (int i = 0; i < a->lhs_batch_dims.count; i++, next++) {
    size_merge(d, next, operands[0][a->lhs_batch_dims.items[i]]);
    size_merge(d, next, operands[1][a->rhs_batch_dims.items[i]]);
  }
  push_free(operand_shape(instruction, 0), operands[0], a->lhs_batch_dims, a->lhs_contracting_dims,
            &next);
  push_free(operand_shape(instruction, 1), operands[1], a->rhs_batch_dims, a->rhs_contracting_dims,
            &next);
  return true;
}

/* (base + low + high - extent + stride) / stride, where base and extent of the window are the
** dilated sizes. `kernel`: the window's size, if it is dynamic. */
static Instruction *windowed(Dynamic *d, Instruction *size, int64_t bound, const WindowDimension *w,
                             Instruction *kernel) {
  bool trivial = w->size == 1 && w->stride == 1 && w->base_dilation == 1 && !kernel &&
                 w->padding_low == 0 && w->padding_high == 0;
  if (trivial || (!size && !kernel)) return size;
  int64_t rest = w->padding_low + w->padding_high + w->stride;
  Instruction *room = dilated(d, size_or_bound(d, size, bound), w->base_dilation);
  if (kernel) {
    Instruction *extent = dilated(d, kernel, w->window_dilation);
    room = size_binary(d, HLO_SUBTRACT, room, extent);
  } else {
    rest -= (w->size - 1) * w->window_dilation + 1;
  }
  room = size_binary(d, HLO_ADD, room, size_of(d, rest));
  return size_binary(d, HLO_DIVIDE, room, size_of(d, w->stride));
}

/* Refuses a dynamic dimension that is divided into groups, as their starts depend on its size. */
static bool check_groups(Dynamic *d, const Instruction *convolution, Sizes *operands) {
  const Attributes *a = convolution->a;
  const ConvDims *dims = &a->conv_dims;
  const char *rule = "a dimension that is divided into groups must be static";
  bool batch = a->batch_group_count > 1, feature = a->feature_group_count > 1;
  int64_t divided[2] = {dims->input_feature, dims->kernel_input_feature};
  for (int k = 0; k < 2; k++) {
    if (!(batch || feature) || !operands[k][divided[k]]) continue;
    return dynamic_refuse(d, convolution, k, (int)divided[k], rule);
  }
  if (!batch || !operands[0][dims->input_batch]) return true;
  return dynamic_refuse(d, convolution, 0, (int)dims->input_batch, rule);
}

static bool infer_convolution(Dynamic *d, const Instruction *instruction, Sizes *operands,
                              Sizes result) {
  const Attributes *a = instruction->a;
  const ConvDims *dims = &a->conv_dims;
  Sizes lhs = operands[0], rhs = operands[1];
  if (!check_groups(d, instruction, operands)) return false;
  result[dims->output_batch] = lhs[dims->input_batch];
  result[dims->output_feature] = rhs[dims->kernel_output_feature];
  for (int i = 0; i < dims->spatial; i++) {
    const WindowDimension *w = &a->window.items[i];
    int64_t from = dims->input_spatial[i];
    Instruction *kernel = rhs[dims->kernel_spatial[i]];
    if (kernel && w->window_reversal) {
      return dynamic_refuse(d, instruction, 1, (int)dims->kernel_spatial[i],
                            "a window dimension that is reversed must be static");
    }
    int64_t bound = operand_shape(instruction, 0)->dims[from];
    result[dims->output_spatial[i]] = windowed(d, lhs[from], bound, w, kernel);
  }
  return true;
}

/* All operands have the same dimensions, and so have all leaves of the result. */
static bool infer_reduce(Dynamic *d, const Instruction *instruction, Sizes *operands,
                         Sizes result) {
  int count = instruction->operand_count / 2, at = 0;
  const Shape *shape = operand_shape(instruction, 0);
  for (int leaf = 0; leaf < count; leaf++) {
    for (int i = 0; i < shape->rank; i++) {
      if (list_has(instruction->a->dimensions, i)) continue;
      for (int k = 0; k < count; k++) size_merge(d, &result[at], operands[k][i]);
      at++;
    }
  }
  return true;
}

static bool infer_reduce_window(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                Sizes result) {
  int count = instruction->operand_count / 2;
  const Shape *shape = operand_shape(instruction, 0);
  for (int i = 0; i < shape->rank; i++) {
    Instruction *size = NULL;
    for (int k = 0; k < count; k++) size_merge(d, &size, operands[k][i]);
    size = windowed(d, size, shape->dims[i], &instruction->a->window.items[i], NULL);
    for (int leaf = 0; leaf < count; leaf++) result[leaf * shape->rank + i] = size;
  }
  return true;
}

/* Whether a computation compares two values by order: then padding can be one that is never selected. */
static bool is_ordering(const Computation *select) {
  const Instruction *root = select->root;
  if (root->opcode != HLO_COMPARE) return false;
  if (root->a->direction == COMPARE_EQ || root->a->direction == COMPARE_NE) return false;
  const Instruction *x = root->operands[0], *y = root->operands[1];
  return x != y && x->opcode == HLO_PARAMETER && y->opcode == HLO_PARAMETER;
}

/* The result has the operand's sizes; the source's sizes are ignored. */
static bool infer_select_and_scatter(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                     Sizes result) {
  for (int i = 0; i < instruction->shape->rank; i++) {
    result[i] = operands[0][i];
    if (!result[i] || is_ordering(instruction->a->select)) continue;
    return dynamic_refuse(d, instruction, 0, i,
                          "then select must compare its parameters by GE, GT, LE or LT");
  }
  return true;
}

/* The first result has the operand's sizes (for the gradient, merged with those of grad_output); the
** others have one number per feature. */
static bool infer_batch_norm(Dynamic *d, const Instruction *instruction, Sizes *operands,
                             Sizes result) {
  int rank = operand_shape(instruction, 0)->rank;
  for (int i = 0; i < rank; i++) {
    size_merge(d, &result[i], operands[0][i]);
    if (instruction->opcode == HLO_BATCH_NORM_GRAD) size_merge(d, &result[i], operands[4][i]);
  }
  if (instruction->opcode == HLO_BATCH_NORM_INFERENCE) return true;
  result[rank] = result[rank + 1] = result[instruction->a->feature_index];
  return true;
}

/* ---- Matrices ---- */

/* The result has as many rows as columns. */
static bool infer_cholesky(Dynamic *d, const Instruction *instruction, Sizes *operands,
                           Sizes result) {
  int rank = instruction->shape->rank;
  for (int i = 0; i < rank; i++) result[i] = operands[0][i];
  size_merge(d, &result[rank - 2], result[rank - 1]);
  result[rank - 1] = result[rank - 2];
  return true;
}

/* The result has the sizes of the right-hand sides. The matrix has as many rows and columns as these have
** rows (columns, if the matrix is on the right). */
static bool infer_triangular_solve(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                   Sizes result) {
  int rank = instruction->shape->rank, along = instruction->a->left_side ? rank - 2 : rank - 1;
  for (int i = 0; i < rank; i++) {
    result[i] = operands[1][i];
    if (i < rank - 2) size_merge(d, &result[i], operands[0][i]);
  }
  size_merge(d, &result[along], operands[0][rank - 2]);
  size_merge(d, &result[along], operands[0][rank - 1]);
  return true;
}

/* ---- Structure ---- */

static bool infer_tuple(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  for (int k = 0; k < instruction->operand_count; k++) {
    int n = size_count(operand_shape(instruction, k));
    for (int i = 0; i < n; i++) *result++ = operands[k][i];
  }
  return true;
}

static bool infer_element(Dynamic *d, const Instruction *instruction, Sizes *operands,
                          Sizes result) {
  const Shape *tuple = operand_shape(instruction, 0);
  int at = 0, n = size_count(instruction->shape);
  for (int64_t i = 0; i < instruction->a->tuple_index; i++) at += size_count(tuple->elements[i]);
  for (int i = 0; i < n; i++) result[i] = operands[0][at + i];
  return true;
}

static bool refuse_dynamic(Dynamic *d, const Instruction *instruction, Sizes *operands,
                           Sizes result) {
  for (int k = 0; k < instruction->operand_count; k++) {
    int n = size_count(operand_shape(instruction, k));
    for (int i = 0; i < n; i++) {
      if (!operands[k][i]) continue;
      return dynamic_refuse(d, instruction, k, i, "all of its dimensions must be static");
    }
  }
  return true;
}

/* ---- Rules by operation ---- */

static bool same_dims(const Instruction *instruction) {
  return shape_same_dims(operand_shape(instruction, 0), instruction->shape);
}

static bool infer_bitcast(Dynamic *d, const Instruction *instruction, Sizes *operands,
                          Sizes result) {
  return (same_dims(instruction) ? infer_elementwise : refuse_dynamic)(d, instruction, operands,
                                                                       result);
}

static bool infer_bitcast_convert(Dynamic *d, const Instruction *instruction, Sizes *operands,
                                  Sizes result) {
  if (same_dims(instruction)) return infer_elementwise(d, instruction, operands, result);
  int from = operand_shape(instruction, 0)->rank, to = instruction->shape->rank;
  return infer_leading(d, instruction, operands, to < from ? to : from,
                       "a dimension that is split must be static", result);
}

static bool infer_one(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  return infer_leaves(d, instruction, operands, 1, false, result);
}

static bool infer_each(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  return infer_leaves(d, instruction, operands, instruction->operand_count, false, result);
}

static bool infer_scatter(Dynamic *d, const Instruction *instruction, Sizes *operands,
                          Sizes result) {
  return infer_leaves(d, instruction, operands, instruction->operand_count / 2, true, result);
}

static bool infer_topk(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  int rank = operand_shape(instruction, 0)->rank;
  for (int i = 0; i < rank - 1; i++) result[i] = result[rank + i] = operands[0][i];
  return true;
}

static bool infer_fft(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  int rank = operand_shape(instruction, 0)->rank;
  return infer_leading(d, instruction, operands, rank - instruction->a->fft_length.count,
                       "the dimensions of the transform must be static", result);
}

static bool infer_nothing(Dynamic *d, const Instruction *instruction, Sizes *operands,
                          Sizes result) {
  return true;
}

/* Infers the sizes of a result. Returns false with the reason if an operand has a dynamic dimension that the operation does
** not take. */
typedef bool SizesRule(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result);

/* NULL: infer_elementwise if the category is element-wise, else refuse_dynamic. */
static SizesRule *const rules[OPCODE_COUNT] = {
    [HLO_CLAMP] = infer_clamp,
    [HLO_CONVERT] = infer_elementwise,
    [HLO_STOCHASTIC_CONVERT] = infer_elementwise,
    [HLO_MAP] = infer_elementwise,
    [HLO_COPY] = infer_elementwise,
    [HLO_REVERSE] = infer_elementwise,
    [HLO_BITCAST] = infer_bitcast,
    [HLO_BITCAST_CONVERT] = infer_bitcast_convert,
    [HLO_OPTIMIZATION_BARRIER] = infer_one,
    [HLO_DOMAIN] = infer_one,
    [HLO_ADD_DEPENDENCY] = infer_one,
    [HLO_ALL_REDUCE] = infer_each,
    [HLO_SORT] = infer_each,
    [HLO_SELECT_AND_SCATTER] = infer_select_and_scatter,
    [HLO_SCATTER] = infer_scatter,
    [HLO_TOPK] = infer_topk,
    [HLO_FFT] = infer_fft,
    [HLO_CHOLESKY] = infer_cholesky,
    [HLO_TRIANGULAR_SOLVE] = infer_triangular_solve,
    [HLO_BATCH_NORM_INFERENCE] = infer_batch_norm,
    [HLO_BATCH_NORM_TRAINING] = infer_batch_norm,
    [HLO_BATCH_NORM_GRAD] = infer_batch_norm,
    [HLO_BROADCAST] = infer_broadcast,
    [HLO_TRANSPOSE] = infer_transpose,
    [HLO_SLICE] = infer_slice,
    [HLO_DYNAMIC_SLICE] = infer_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = infer_dynamic_update_slice,
    [HLO_CONCATENATE] = infer_concatenate,
    [HLO_PAD] = infer_pad,
    [HLO_GATHER] = infer_gather,
    [HLO_RESHAPE] = infer_reshape,
    [HLO_DYNAMIC_RESHAPE] = infer_dynamic_reshape,
    [HLO_SET_DIMENSION_SIZE] = infer_set_dimension_size,
    [HLO_GET_DIMENSION_SIZE] = infer_nothing,
    [HLO_DOT] = infer_dot,
    [HLO_CONVOLUTION] = infer_convolution,
    [HLO_REDUCE] = infer_reduce,
    [HLO_REDUCE_WINDOW] = infer_reduce_window,
    [HLO_TUPLE_OP] = infer_tuple,
    [HLO_GET_TUPLE_ELEMENT] = infer_element,
};

bool dynamic_infer(Dynamic *d, const Instruction *instruction, Sizes *operands, Sizes result) {
  SizesRule *rule = rules[instruction->opcode];
  bool is_elementwise = opcode_is_elementwise(instruction->opcode);
  if (!rule) rule = is_elementwise ? infer_elementwise : refuse_dynamic;
  return rule(d, instruction, operands, result);
}
