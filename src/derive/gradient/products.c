/* Products: element-wise ones, dots and convolutions. All are linear in each operand. */
#include "derive/gradient/linear.h"

/* ---- dot ---- */

/* One operand of a dot. */
typedef struct Side {
  Int64List batch, contracting, free;
  Instruction *operand;
} Side;

static Side side_of(WorkingComputation *working, const Instruction *x, int k) {
  const Attributes *a = x->a;
  Side side = {k ? a->rhs_batch_dims : a->lhs_batch_dims,
               k ? a->rhs_contracting_dims : a->lhs_contracting_dims,
               {0},
               x->operands[k]};
  int64_t *free = ARENA_ARRAY(working->arena, int64_t, side.operand->shape->rank);
  int count = 0;
  for (int d = 0; d < side.operand->shape->rank; d++) {
    if (!list_has(side.batch, d) && !list_has(side.contracting, d)) free[count++] = d;
  }
  side.free = (Int64List){count, free};
  return side;
}

static int rank_in(Int64List list, int64_t value) {
  int rank = 0;
  for (int i = 0; i < list.count; i++) rank += list.items[i] < value;
  return rank;
}

/* The cotangent of operand k is the product of ct with the other operand, over the dimensions that only the other one
** has. Its dimensions are then in the order: batch, free ones, contracting ones as the other operand has them. */
void transpose_dot(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  int k = is_linear(working, x->operands[0]) ? 0 : 1;
  Side mine = side_of(working, x, k), other = side_of(working, x, 1 - k);
  int batch = mine.batch.count, lhs_free = side_of(working, x, 0).free.count;
  PrimitiveType type = x->shape->type;
  Attributes a = *x->a;
  a.lhs_batch_dims = list_counting(&working->m, 0, batch);
  a.lhs_contracting_dims =
      list_counting(&working->m, k ? batch : batch + lhs_free, other.free.count);
  a.rhs_batch_dims = other.batch;
  a.rhs_contracting_dims = other.free;
  Instruction *operands[] = {ct[0], make_convert(&working->m, other.operand, type)};
  Instruction *product = make(&working->m, HLO_DOT, NULL, operands, 2, &a);
  int64_t order[MAX_RANK];
  for (int d = 0; d < mine.operand->shape->rank; d++) {
    int b = list_index(mine.batch, d), f = list_index(mine.free, d);
    int c = list_index(mine.contracting, d);
    order[d] =
        b >= 0   ? b
        : f >= 0 ? batch + f
                 : batch + mine.free.count + rank_in(other.contracting, other.contracting.items[c]);
  }
  Instruction *back = make_transpose(&working->m, product, order);
  add_cotangent(working, mine.operand, make_convert(&working->m, back, mine.operand->shape->type));
}

/* ---- convolution ---- */

static Instruction *make_reverse(WorkingComputation *working, Instruction *x,
                                 const int64_t *dimensions, int count) {
  if (!count) return x;
  return make(&working->m, HLO_REVERSE, NULL, &x, 1,
              ATTRIBUTES(.dimensions = list_of(&working->m, count, dimensions)));
}

/* Reverses the kernel in those spatial dimensions whose reversal flag is `flag`. */
static Instruction *reverse_kernel(WorkingComputation *working, const Instruction *x,
                                   Instruction *kernel, bool flag) {
  int64_t dimensions[MAX_RANK];
  int count = 0;
  for (int i = 0; i < x->a->conv_dims.spatial; i++) {
    if (x->a->window.items[i].window_reversal == flag) {
      dimensions[count++] = x->a->conv_dims.kernel_spatial[i];
    }
  }
  return make_reverse(working, kernel, dimensions, count);
}

/* Splits dimension `from` into groups, and merges the number of the group into dimension `to`, as its major part. */
static Instruction *move_groups(WorkingComputation *working, Instruction *x, int64_t from,
                                int64_t to, int64_t groups) {
  if (groups == 1) return x;
  int rank = x->shape->rank;
  int64_t dims[MAX_RANK + 1], order[MAX_RANK + 1], merged[MAX_RANK];
  for (int d = 0, n = 0; d < rank; d++) {
    merged[d] = x->shape->dims[d];
    if (d == from) dims[n++] = groups;
    dims[n++] = d == from ? x->shape->dims[d] / groups : x->shape->dims[d];
  }
  for (int d = 0, n = 0; d < rank; d++) {
    if (d == to) order[n++] = from;
    order[n++] = d < from ? d : d + 1;
  }
  merged[from] /= groups;
  merged[to] *= groups;
  Instruction *split =
      make_reshape(&working->m, x, shape_of(&working->m, x->shape->type, rank + 1, dims));
  return make_reshape(&working->m, make_transpose(&working->m, split, order),
                      shape_of(&working->m, x->shape->type, rank, merged));
}

static int64_t dilated(int64_t size, int64_t dilation) {
  return size ? (size - 1) * dilation + 1 : 0;
}

/* Sizes of one spatial dimension after dilation. */
typedef struct Sizes {
  int64_t input, kernel, output;
} Sizes;

static Sizes dilated_sizes(const Instruction *x, int i) {
  const ConvDims *dims = &x->a->conv_dims;
  const WindowDimension *w = &x->a->window.items[i];
  int64_t input = x->operands[0]->shape->dims[dims->input_spatial[i]];
  int64_t output = x->shape->dims[dims->output_spatial[i]];
  return (Sizes){dilated(input, w->base_dilation), dilated(w->size, w->window_dilation),
                 dilated(output, w->stride)};
}

/* Gives the attributes a copy of their window, and returns it for changes. */
static WindowDimension *copy_window(WorkingComputation *working, Attributes *a) {
  WindowDimension *window =
      arena_copy(working->arena, a->window.items, sizeof *window * (size_t)a->window.count);
  a->window.items = window;
  return window;
}

/* A convolution of ct with the reversed kernel, in which strides and base dilations change places. */
static void transpose_input(WorkingComputation *working, Instruction *x, Instruction *ct) {
  const ConvDims dims = x->a->conv_dims;
  int64_t groups = x->a->feature_group_count, batches = x->a->batch_group_count;
  Instruction *kernel = make_convert(&working->m, x->operands[1], x->shape->type);
  kernel = reverse_kernel(working, x, kernel, false);
  kernel = move_groups(working, kernel, dims.kernel_output_feature, dims.kernel_input_feature,
                       groups > 1 ? groups : batches);
  Attributes a = *x->a;
  WindowDimension *window = copy_window(working, &a);
  for (int i = 0; i < dims.spatial; i++) {
    WindowDimension *w = &window[i];
    Sizes n = dilated_sizes(x, i);
    int64_t stride = w->stride;
    w->padding_low = n.kernel - w->padding_low - 1;
    w->padding_high = n.input + n.kernel - 1 - n.output - w->padding_low;
    w->stride = w->base_dilation;
    w->base_dilation = stride;
    w->window_reversal = false;
  }
  a.conv_dims = (ConvDims){dims.spatial,
                           dims.output_batch,
                           dims.output_feature,
                           dims.kernel_output_feature,
                           dims.kernel_input_feature,
                           dims.input_batch,
                           dims.input_feature,
                           dims.output_spatial,
                           dims.kernel_spatial,
                           dims.input_spatial};
  a.feature_group_count = batches > 1 ? batches : groups;
  a.batch_group_count = 1;
  Instruction *back =
      make(&working->m, HLO_CONVOLUTION, NULL, (Instruction *[]){ct, kernel}, 2, &a);
  back = move_groups(working, back, dims.input_feature, dims.input_batch, batches);
  add_cotangent(working, x->operands[0],
                make_convert(&working->m, back, x->operands[0]->shape->type));
}

/* A convolution of the input with ct, in which batches and features change places, and strides and window dilations. */
static void transpose_kernel(WorkingComputation *working, Instruction *x, Instruction *ct) {
  const ConvDims dims = x->a->conv_dims;
  int64_t groups = x->a->feature_group_count, batches = x->a->batch_group_count;
  Instruction *input = make_convert(&working->m, x->operands[0], x->shape->type);
  Attributes a = *x->a;
  WindowDimension *window = copy_window(working, &a);
  for (int i = 0; i < dims.spatial; i++) {
    WindowDimension *w = &window[i];
    Sizes n = dilated_sizes(x, i);
    int64_t stride = w->stride;
    w->padding_high = n.output - n.input + n.kernel - w->padding_low - 1;
    w->size = x->shape->dims[dims.output_spatial[i]];
    w->stride = w->window_dilation;
    w->window_dilation = stride;
    w->window_reversal = false;
  }
  a.conv_dims = (ConvDims){dims.spatial,
                           dims.input_feature,
                           dims.input_batch,
                           dims.output_batch,
                           dims.output_feature,
                           dims.kernel_input_feature,
                           dims.kernel_output_feature,
                           dims.input_spatial,
                           dims.output_spatial,
                           dims.kernel_spatial};
  a.feature_group_count = batches > 1 ? batches : 1;
  a.batch_group_count = batches > 1 ? 1 : groups;
  Instruction *back = make(&working->m, HLO_CONVOLUTION, NULL, (Instruction *[]){input, ct}, 2, &a);
  back = reverse_kernel(working, x, back, true);
  add_cotangent(working, x->operands[1],
                make_convert(&working->m, back, x->operands[1]->shape->type));
}

void transpose_convolution(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  const Shape *kernel = x->operands[1]->shape;
  /* Without elements there is nothing to add up. */
  if (shape_elements(kernel) == 0 || shape_elements(x->shape) == 0) return;
  if (is_linear(working, x->operands[0])) {
    transpose_input(working, x, ct[0]);
  } else {
    transpose_kernel(working, x, ct[0]);
  }
}
