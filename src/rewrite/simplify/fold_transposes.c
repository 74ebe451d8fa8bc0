/*
** Folds transposes of a dot's or a convolution's operands and result into its dimension numbers, as both
** take their dimensions in any order.
**
** A dot's result has the free dimensions of each operand in the operand's order, so that order must stay.
** A transpose that exchanges those of lhs and rhs exchanges the operands. Grouped convolutions keep their
** transposes, as they are fast in one order only.
*/
#include "base/scope.h"
#include "rewrite/base/rewrite.h"

static bool is_transpose(const Instruction *x) { return x->opcode == HLO_TRANSPOSE; }

static Int64List mapped(const Instruction *x, Int64List list, const int64_t *to) {
  int64_t *items = ARENA_ARRAY(x->parent->module->arena, int64_t, list.count);
  for (int i = 0; i < list.count; i++) items[i] = to[list.items[i]];
  return (Int64List){list.count, items};
}

/* ---- dot ---- */

static bool fold_dot_operand(Instruction *dot, int side) {
  const Instruction *transpose = dot->operands[side];
  if (!is_transpose(transpose)) return false;
  Int64List batch = side ? dot->a->rhs_batch_dims : dot->a->lhs_batch_dims;
  Int64List contracting = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  Int64List permutation = transpose->a->dimensions;
  int64_t last = -1;
  for (int d = 0; d < permutation.count; d++) {
    if (list_has(batch, d) || list_has(contracting, d)) continue;
    if (permutation.items[d] < last) return false;
    last = permutation.items[d];
  }
  Attributes *a = instruction_attributes(dot);
  *(side ? &a->rhs_batch_dims : &a->lhs_batch_dims) = mapped(dot, batch, permutation.items);
  *(side ? &a->rhs_contracting_dims : &a->lhs_contracting_dims) =
      mapped(dot, contracting, permutation.items);
  dot->operands[side] = transpose->operands[0];
  return true;
}

/* Whether the transpose puts the dot's batch dimensions first, then those of the rhs, then those of the lhs. */
static bool exchanges_operands(const Instruction *transpose, const Instruction *dot) {
  int rank = dot->shape->rank, batch = dot->a->lhs_batch_dims.count;
  int lhs = dot->operands[0]->shape->rank - batch - dot->a->lhs_contracting_dims.count;
  int rhs = rank - batch - lhs;
  for (int d = 0; d < rank; d++) {
    int from = d < batch ? d : d < batch + rhs ? d + lhs : d - rhs;
    if (transpose->a->dimensions.items[d] != from) return false;
  }
  return true;
}

static bool fold_into_dot(Instruction *transpose) {
  Instruction *dot = transpose->operands[0];
  if (!exchanges_operands(transpose, dot)) return false;
  Attributes a = *dot->a;
  a.lhs_batch_dims = dot->a->rhs_batch_dims;
  a.rhs_batch_dims = dot->a->lhs_batch_dims;
  a.lhs_contracting_dims = dot->a->rhs_contracting_dims;
  a.rhs_contracting_dims = dot->a->lhs_contracting_dims;
  Instruction *operands[2] = {dot->operands[1], dot->operands[0]};
  instruction_become(transpose, HLO_DOT, operands, 2, &a);
  return true;
}

/* ---- convolution ---- */

static bool has_groups(const Instruction *convolution) {
  return convolution->a->feature_group_count > 1 || convolution->a->batch_group_count > 1;
}

static const int64_t *mapped_spatial(const Instruction *x, const int64_t *dims, const int64_t *to) {
  return mapped(x, (Int64List){x->a->conv_dims.spatial, dims}, to).items;
}

static bool fold_convolution_operand(Instruction *convolution, int side) {
  const Instruction *transpose = convolution->operands[side];
  if (!is_transpose(transpose) || has_groups(convolution)) return false;
  const int64_t *to = transpose->a->dimensions.items;
  ConvDims *dims = &instruction_attributes(convolution)->conv_dims;
  if (side == 0) {
    dims->input_batch = to[dims->input_batch];
    dims->input_feature = to[dims->input_feature];
    dims->input_spatial = mapped_spatial(convolution, dims->input_spatial, to);
  } else {
    dims->kernel_input_feature = to[dims->kernel_input_feature];
    dims->kernel_output_feature = to[dims->kernel_output_feature];
    dims->kernel_spatial = mapped_spatial(convolution, dims->kernel_spatial, to);
  }
  convolution->operands[side] = transpose->operands[0];
  return true;
}

static bool fold_into_convolution(Instruction *transpose) {
  Instruction *convolution = transpose->operands[0];
  if (has_groups(convolution)) return false;
  int64_t to[MAX_RANK];
  for (int d = 0; d < transpose->shape->rank; d++) to[transpose->a->dimensions.items[d]] = d;
  Attributes a = *convolution->a;
  a.conv_dims.output_batch = to[a.conv_dims.output_batch];
  a.conv_dims.output_feature = to[a.conv_dims.output_feature];
  a.conv_dims.output_spatial = mapped_spatial(convolution, a.conv_dims.output_spatial, to);
  Instruction *operands[2] = {convolution->operands[0], convolution->operands[1]};
  instruction_become(transpose, HLO_CONVOLUTION, operands, 2, &a);
  return true;
}

/* ---- The walk ---- */

/* By id: the number of uses of each instruction before the walk. */
static int *count_uses(const Computation *computation) {
  int *uses = scope_new((size_t)computation->count + 1, sizeof *uses);
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    for (int k = 0; k < x->operand_count; k++) uses[x->operands[k]->id]++;
  }
  uses[computation->root->id]++;
  return uses;
}

static bool fold(Instruction *x, const int *uses) {
  if (x->opcode == HLO_DOT) {
    bool lhs = fold_dot_operand(x, 0);
    return fold_dot_operand(x, 1) || lhs;
  }
  if (x->opcode == HLO_CONVOLUTION) {
    bool lhs = fold_convolution_operand(x, 0);
    return fold_convolution_operand(x, 1) || lhs;
  }
  if (!is_transpose(x) || uses[x->operands[0]->id] != 1) return false;
  if (x->operands[0]->opcode == HLO_DOT) return fold_into_dot(x);
  return x->operands[0]->opcode == HLO_CONVOLUTION && fold_into_convolution(x);
}

static bool fold_transposes(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  int *uses = count_uses(computation);
  for (int i = 0; i < rewrite.count; i++) {
    while (fold(rewrite_visit(&rewrite, i), uses)) rewrite.changed = true;
  }
  scope_free(uses);
  return rewrite_end(&rewrite);
}

bool pass_fold_transposes(Module *module) { return for_each_computation(module, fold_transposes); }
