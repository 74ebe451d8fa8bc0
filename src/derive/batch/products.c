/* Rules of dot, ragged-dot, convolution and triangular solve. */
#include "derive/batch/batching.h"

/* ---- Products ---- */

/* If both operands are batched, the batch is a batch dimension of the product, else a free one of that operand. */
Instruction *batch_dot(Batching *b, const Instruction *x, Instruction **operands) {
  bool left = is_batched(operands[0], x->operands[0]);
  bool right = is_batched(operands[1], x->operands[1]);
  Attributes a = batched_attributes(x);
  int batches = a.lhs_batch_dims.count, at = 0; /* of the batch in the result */
  if (left && right) {
    a.lhs_batch_dims = shifted_with_batch(b, a.lhs_batch_dims);
    a.rhs_batch_dims = shifted_with_batch(b, a.rhs_batch_dims);
  } else if (left) {
    a.lhs_batch_dims = shifted(b, a.lhs_batch_dims);
    at = batches;
  } else {
    a.rhs_batch_dims = shifted(b, a.rhs_batch_dims);
    at = x->operands[0]->shape->rank - a.lhs_contracting_dims.count;
  }
  if (left) a.lhs_contracting_dims = shifted(b, a.lhs_contracting_dims);
  if (right) a.rhs_contracting_dims = shifted(b, a.rhs_contracting_dims);
  const Shape *shape = with_batch(b, x->shape, at);
  return move_dimension(b, add_batched(b, x, HLO_DOT, shape, operands, 2, &a), at, 0);
}

/* The batch is a batch dimension of both operands; group sizes may be the same for all. */
Instruction *batch_ragged_dot(Batching *b, const Instruction *x, Instruction **operands) {
  bool one_list = x->operands[2]->shape->rank == 1;
  bool has_own_sizes = is_batched(operands[2], x->operands[2]);
  if (one_list && has_own_sizes) return batch_in_turn(b, x, operands);
  for (int k = 0; k < (one_list ? 2 : 3); k++) {
    operands[k] = in_front(b, operands[k], x->operands[k]);
  }
  Attributes a = batched_attributes(x);
  bool contracts = list_has(a.lhs_contracting_dims, a.lhs_ragged_dims.items[0]);
  a.lhs_batch_dims = shifted_with_batch(b, a.lhs_batch_dims);
  a.rhs_batch_dims = shifted_with_batch(b, a.rhs_batch_dims);
  a.lhs_contracting_dims = shifted(b, a.lhs_contracting_dims);
  a.rhs_contracting_dims = shifted(b, a.rhs_contracting_dims);
  a.lhs_ragged_dims = shifted(b, a.lhs_ragged_dims);
  a.rhs_group_dims = shifted(b, a.rhs_group_dims);
  int at = contracts ? 1 : 0; /* after the dimension of the groups */
  const Shape *shape = with_batch(b, x->shape, at);
  return move_dimension(b, add_batched(b, x, HLO_RAGGED_DOT, shape, operands, 3, &a), at, 0);
}

/* ---- Batches as parts of dimensions ---- */

/* Makes the batch a part of dimension `dimension` of the source. In it, group g has the elements of group g of all
** elements of the batch: [size, groups * n] becomes [groups * size * n]. */
static Instruction *merge(Batching *b, Instruction *x, int64_t dimension, int64_t groups) {
  int64_t dims[MAX_RANK + 2];
  int rank = x->shape->rank, at = (int)dimension + 1;
  for (int d = 0; d < rank; d++) dims[d < at ? d : d + 1] = x->shape->dims[d];
  dims[at] = groups;
  dims[at + 1] = x->shape->dims[at] / groups;
  x = computation_add_reshape(b->m.computation, x, rank + 1, dims);
  x = move_dimension(b, x, 0, at);
  for (int d = 0; d < at - 1; d++) dims[d] = x->shape->dims[d];
  dims[at - 1] = groups * b->all->size * x->shape->dims[at + 1];
  for (int d = at; d < rank - 1; d++) dims[d] = x->shape->dims[d + 2];
  return computation_add_reshape(b->m.computation, x, rank - 1, dims);
}

/* Takes the batch out again, to the front. */
static Instruction *take_apart(Batching *b, Instruction *x, int64_t dimension, int64_t groups) {
  int64_t dims[MAX_RANK + 2];
  int rank = x->shape->rank, at = (int)dimension;
  for (int d = 0; d < rank; d++) dims[d <= at ? d : d + 2] = x->shape->dims[d];
  dims[at] = groups;
  dims[at + 1] = b->all->size;
  dims[at + 2] = x->shape->dims[at] / groups / b->all->size;
  x = computation_add_reshape(b->m.computation, x, rank + 2, dims);
  x = move_dimension(b, x, at + 1, 0);
  for (int d = 0; d < rank; d++) dims[d + 1] = x->shape->dims[d <= at ? d + 1 : d + 2];
  dims[0] = b->all->size;
  dims[at + 1] = x->shape->dims[at + 1] * x->shape->dims[at + 2];
  return computation_add_reshape(b->m.computation, x, rank + 1, dims);
}

/* An array of the source's rank in which `dimension` is the batch's size times larger. */
static const Shape *larger(Batching *b, const Shape *source, int64_t dimension) {
  int64_t dims[MAX_RANK];
  for (int d = 0; d < source->rank; d++) dims[d] = source->dims[d];
  dims[dimension] *= b->all->size;
  const Shape *shape = shape_of(&b->m, source->type, source->rank, dims);
  return source->layout ? shape_with_layout(b->arena, shape, source->layout) : shape;
}

/* ---- Convolution ---- */

/*
** The batch becomes a part of
**
**     input only      the convolution's batch
**     kernel only     the output features
**     both            groups: of features, or of the batch if it has groups already
*/
Instruction *batch_convolution(Batching *b, const Instruction *x, Instruction **operands) {
  bool input = is_batched(operands[0], x->operands[0]);
  bool kernel = is_batched(operands[1], x->operands[1]);
  Attributes a = batched_attributes(x);
  const ConvDims *d = &a.conv_dims;
  int64_t groups = a.feature_group_count * a.batch_group_count, outer = 1;
  int64_t out = d->output_feature;
  bool of_batch = a.batch_group_count > 1;
  if (input && kernel) {
    operands[0] = merge(b, operands[0], of_batch ? d->input_batch : d->input_feature, 1);
    operands[1] = merge(b, operands[1], d->kernel_output_feature, 1);
    *(of_batch ? &a.batch_group_count : &a.feature_group_count) *= b->all->size;
  } else if (input) {
    operands[0] = merge(b, operands[0], d->input_batch, a.batch_group_count);
    out = d->output_batch;
  } else {
    outer = groups;
    operands[1] = merge(b, operands[1], d->kernel_output_feature, outer);
  }
  const Shape *shape = larger(b, x->shape, out);
  Instruction *made = add_batched(b, x, HLO_CONVOLUTION, shape, operands, 2, &a);
  return take_apart(b, made, out, outer);
}

/* ---- Triangular solve ---- */

/* The right-hand sides of all elements of the batch are those of one system: more columns, or rows. */
Instruction *batch_shared_solve(Batching *b, const Instruction *x, Instruction **operands,
                                bool left) {
  int dimension = x->shape->rank - (left ? 1 : 2);
  Attributes a = batched_attributes(x);
  if (a.operand_layout_constraints.count == 2) {
    const Shape **layouts = ARENA_ARRAY(b->arena, const Shape *, 2);
    layouts[0] = a.operand_layout_constraints.items[0];
    layouts[1] = larger(b, a.operand_layout_constraints.items[1], dimension);
    a.operand_layout_constraints.items = layouts;
  }
  operands[1] = merge(b, operands[1], dimension, 1);
  const Shape *shape = larger(b, x->shape, dimension);
  return take_apart(b, add_batched(b, x, x->opcode, shape, operands, 2, &a), dimension, 1);
}

Instruction *batch_triangular_solve(Batching *b, const Instruction *x, Instruction **operands) {
  if (is_batched(operands[0], x->operands[0])) return batch_front(b, x, operands);
  return batch_shared_solve(b, x, operands, x->a->left_side);
}
