/*
** Folds transposes of a dot's or a convolution's operands and result into its dimension numbers, as both
** take their dimensions in any order.
**
** A transpose under element-wise operations, such as those that dequantise a weight, comes after them first:
**
**     dot(x, multiply(transpose(w), broadcast(s)))    dot(x, transpose(multiply(w, broadcast(s))))
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

/* Whether a transpose of a dot's operand leaves the order of its free dimensions. */
static bool keeps_order(const Instruction *dot, int side, Int64List permutation) {
  Int64List batch = side ? dot->a->rhs_batch_dims : dot->a->lhs_batch_dims;
  Int64List contracting = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  int64_t last = -1;
  for (int d = 0; d < permutation.count; d++) {
    if (list_has(batch, d) || list_has(contracting, d)) continue;
    if (permutation.items[d] < last) return false;
    last = permutation.items[d];
  }
  return true;
}

/* ---- Transposes under element-wise operations ---- */

/* Threshold MAX_DEPTH. Test: "loops of many inputs, and of many operations after a transpose" in
** core/quantised.test.mjs. */
/* Threshold MIN_ELEMENTS. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Threshold MAX_CHAIN: operations in a row, as each takes 1 kB of the stack. Test: "long chains beside a transpose" in
** core/quantised.test.mjs. */
enum { MAX_DEPTH = 8, MAX_CHAIN = 64, MIN_ELEMENTS = 4096 };

/* Whether an operation computes each element of an array that a dot reads from others at the same place. */
static bool is_passed(const Instruction *x, const int *uses) {
  return opcode_is_elementwise(x->opcode) && x->operand_count && uses[x->id] == 1 &&
         !x->a->control_predecessors.count;
}

/* Returns the transpose that a value depends on; NULL if there is none. */
static const Instruction *transpose_under(const Instruction *x, const int *uses, int depth) {
  if (is_transpose(x)) return x;
  if (depth == MAX_DEPTH || !is_passed(x, uses)) return NULL;
  const Instruction *found = NULL;
  for (int k = 0; k < x->operand_count && !found; k++) {
    found = transpose_under(x->operands[k], uses, depth + 1);
  }
  return found;
}

static bool is_same_order(Int64List a, Int64List b) {
  for (int i = 0; i < a.count; i++) {
    if (a.items[i] != b.items[i]) return false;
  }
  return true;
}

static Instruction *untransposed(Instruction *x, Int64List order, const int *uses, int depth,
                                 bool makes);

/* The same of a gather that takes an index of one of the table's dimensions for each of a list, which has the place of that
** dimension in the result. The table is untransposed. */
static Instruction *untransposed_gather(Instruction *x, Int64List order, const Shape *shape,
                                        const int *uses, int depth, bool makes) {
  Arena *arena = x->parent->module->arena;
  Instruction *table = x->operands[0];
  Attributes a = *x->a;
  int rank = x->shape->rank, place = 0, count = 0;
  bool takes_one = a.start_index_map.count == 1 && a.collapsed_slice_dims.count == 1 &&
                   a.operand_batching_dims.count == 0 && a.offset_dims.count == rank - 1 &&
                   a.start_index_map.items[0] == a.collapsed_slice_dims.items[0] &&
                   table->shape->rank == rank && uses[x->id] == 1 && depth < MAX_CHAIN;
  while (takes_one && place < rank && list_has(a.offset_dims, place)) place++;
  if (!takes_one || a.start_index_map.items[0] != place || a.control_predecessors.count)
    return NULL;
  Instruction *operands[] = {untransposed(table, order, uses, depth + 1, makes), x->operands[1]};
  if (!operands[0] || !makes) return operands[0];
  int64_t *sizes = ARENA_ARRAY(arena, int64_t, rank), *offsets = ARENA_ARRAY(arena, int64_t, rank);
  for (int d = 0; d < rank; d++) {
    sizes[order.items[d]] = a.slice_sizes.items[d];
    if (d != order.items[place]) offsets[count++] = d;
  }
  a.slice_sizes.items = sizes;
  a.offset_dims.items = offsets;
  a.start_index_map = a.collapsed_slice_dims = mapped(x, a.start_index_map, order.items);
  return computation_add(x->parent, HLO_GATHER, shape, operands, 2, &a);
}

/* Returns an array of which x is the transpose by `order`; NULL if that takes more than the same operations on arrays in
** another order. `makes`: makes them; otherwise returns x if it could. */
static Instruction *untransposed(Instruction *x, Int64List order, const int *uses, int depth,
                                 bool makes) {
  Computation *computation = x->parent;
  Arena *arena = computation->module->arena;
  int64_t dims[MAX_RANK];
  if (is_transpose(x)) return is_same_order(x->a->dimensions, order) ? x->operands[0] : NULL;
  for (int d = 0; d < x->shape->rank; d++) dims[order.items[d]] = x->shape->dims[d];
  const Shape *shape = shape_make(arena, x->shape->type, x->shape->rank, dims, NULL);
  if (x->opcode == HLO_BROADCAST) {
    Int64List to = mapped(x, x->a->dimensions, order.items);
    for (int i = 1; i < to.count; i++) {
      if (to.items[i] < to.items[i - 1]) return NULL;
    }
    if (!makes) return x;
    const Attributes *a = ATTRIBUTES(.dimensions = to);
    return computation_add(computation, HLO_BROADCAST, shape, x->operands, 1, a);
  }
  if (x->opcode == HLO_GATHER) {
    return untransposed_gather(x, order, shape, uses, depth, makes);
  }
  if (!is_passed(x, uses) || depth == MAX_CHAIN) return NULL;
  Instruction *operands[3];
  for (int k = 0; k < x->operand_count; k++) {
    if (x->operands[k]->shape->rank != x->shape->rank) return NULL;
    operands[k] = untransposed(x->operands[k], order, uses, depth + 1, makes);
    if (!operands[k]) return NULL;
  }
  return makes ? computation_add(computation, x->opcode, shape, operands, x->operand_count, x->a)
               : x;
}

/* Moves a transpose of a dot's operand to the end of the operations after it. */
static bool raise_transpose(Instruction *dot, int side, const int *uses, int count) {
  Instruction *x = dot->operands[side];
  if (x->id >= count || is_transpose(x) || shape_elements(x->shape) < MIN_ELEMENTS) return false;
  const Instruction *transpose = transpose_under(x, uses, 0);
  if (!transpose || !keeps_order(dot, side, transpose->a->dimensions) ||
      !untransposed(x, transpose->a->dimensions, uses, 0, false)) {
    return false;
  }
  Instruction *from = untransposed(x, transpose->a->dimensions, uses, 0, true);
  dot->operands[side] = computation_add(x->parent, HLO_TRANSPOSE, x->shape, &from, 1,
                                        ATTRIBUTES(.dimensions = transpose->a->dimensions));
  return true;
}

/* ---- dot ---- */

static bool fold_dot_operand(Instruction *dot, int side) {
  const Instruction *transpose = dot->operands[side];
  if (!is_transpose(transpose)) return false;
  Int64List batch = side ? dot->a->rhs_batch_dims : dot->a->lhs_batch_dims;
  Int64List contracting = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  Int64List permutation = transpose->a->dimensions;
  if (!keeps_order(dot, side, permutation)) return false;
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

static bool fold(Instruction *x, const int *uses, int count) {
  if (x->opcode == HLO_DOT) {
    raise_transpose(x, 0, uses, count);
    raise_transpose(x, 1, uses, count);
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
    while (fold(rewrite_visit(&rewrite, i), uses, rewrite.count)) rewrite.changed = true;
  }
  scope_free(uses);
  return rewrite_end(&rewrite);
}

bool pass_fold_transposes(Module *module) { return for_each_computation(module, fold_transposes); }
