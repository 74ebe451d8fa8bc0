/*
** Keeps padding out of results, by a rule for each operation that it would affect. Most rules replace the
** operand's padding by the neutral element; some move padding back to the end.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/dynamic/dynamic.h"
#include "rewrite/expand/expand_batch_norm.h"

static Arena *arena_of(const Dynamic *d) { return d->at.computation->module->arena; }

static Instruction *zero(Dynamic *d, PrimitiveType type) {
  return computation_add_integer(d->at.computation, type, 0);
}

/* Replaces the elements past the size of one dimension by `value`. */
static Instruction *padded(Dynamic *d, Instruction *array, int64_t dimension, Instruction *size,
                           Instruction *value) {
  if (!size) return array;
  const Shape *shape = plain_shape(d, array->shape, array->shape->type);
  Instruction *filler = make_splat(&d->at, value, shape);
  return dynamic_select(d, size_mask(d, shape, dimension, size), array, filler);
}

/* Replaces operand k's padding in the dimensions flagged by `matters` (NULL: in all). */
static void pad_operand(Dynamic *d, Instruction *instruction, int k, Sizes sizes,
                        const bool *matters, Instruction *value) {
  for (int i = 0; i < instruction->operands[k]->shape->rank; i++) {
    if (matters && !matters[i]) continue;
    instruction->operands[k] = padded(d, instruction->operands[k], i, sizes[i], value);
  }
}

static void pad_with_zero(Dynamic *d, Instruction *instruction, int k, Sizes sizes,
                          const bool *matters) {
  Instruction *value = zero(d, instruction->operands[k]->shape->type);
  pad_operand(d, instruction, k, sizes, matters, value);
}

/* ---- Element-wise operations ---- */

/* Broadcasts the first element of a dimension along it. */
static Instruction *first_everywhere(Dynamic *d, Instruction *array, int64_t dimension) {
  Arena *arena = arena_of(d);
  const Shape *shape = plain_shape(d, array->shape, array->shape->type);
  SliceDimension *slice = ARENA_ARRAY(arena, SliceDimension, shape->rank);
  int64_t *others = ARENA_ARRAY(arena, int64_t, shape->rank), dims[MAX_RANK], row[MAX_RANK];
  int count = 0;
  for (int i = 0; i < shape->rank; i++) {
    row[i] = i == dimension ? 1 : shape->dims[i];
    slice[i] = (SliceDimension){0, row[i], 1};
    if (i == dimension) continue;
    others[count] = i;
    dims[count++] = shape->dims[i];
  }
  Error error;
  Attributes attributes = *ATTRIBUTES(.slice = {shape->rank, slice});
  const Shape *row_shape = shape_make(arena, shape->type, shape->rank, row, &error);
  const Shape *flat_shape = shape_make(arena, shape->type, count, dims, &error);
  Instruction *first = make(&d->at, HLO_SLICE, row_shape, &array, 1, &attributes);
  first = make(&d->at, HLO_RESHAPE, flat_shape, &first, 1, NULL);
  return make(&d->at, HLO_BROADCAST, shape, &first, 1, ATTRIBUTES(.dimensions = {count, others}));
}

/* Broadcasts operands of size 1 in a dimension where another operand has more. */
static Instruction *broadcast_ones(Dynamic *d, Instruction *instruction, Sizes *operands,
                                   Sizes result) {
  const Shape *shape = instruction->shape;
  for (int k = 0; k < instruction->operand_count; k++) {
    if (instruction->operands[k]->shape->rank != shape->rank) continue;
    for (int i = 0; i < shape->rank; i++) {
      Instruction *size = operands[k][i], *operand = instruction->operands[k];
      if (!size || size == result[i] || shape->dims[i] < 2) continue;
      Instruction *stretched = first_everywhere(d, operand, i);
      instruction->operands[k] = dynamic_select(d, size_is_one(d, size), stretched, operand);
    }
  }
  return instruction;
}

/* ---- Reductions and contractions ---- */

static Instruction *pad_reduce(Dynamic *d, Instruction *reduce, Sizes *operands, Sizes result) {
  int count = reduce->operand_count / 2;
  bool matters[MAX_RANK] = {false};
  for (int i = 0; i < reduce->a->dimensions.count; i++)
    matters[reduce->a->dimensions.items[i]] = true;
  for (int k = 0; k < count; k++) {
    pad_operand(d, reduce, k, operands[k], matters, reduce->operands[count + k]);
  }
  return reduce;
}

static void window_matters(const Window *window, bool *matters) {
  for (int i = 0; i < window->count; i++) {
    const WindowDimension *w = &window->items[i];
    matters[i] = w->size > 1 || w->padding_low || w->padding_high;
  }
}

static Instruction *pad_reduce_window(Dynamic *d, Instruction *instruction, Sizes *operands,
                                      Sizes result) {
  int count = instruction->operand_count / 2;
  bool matters[MAX_RANK] = {false};
  window_matters(&instruction->a->window, matters);
  for (int k = 0; k < count; k++) {
    pad_operand(d, instruction, k, operands[k], matters, instruction->operands[count + k]);
  }
  return instruction;
}

/* Pads select-and-scatter so that padding is never selected, and scattered padding changes nothing. */
static Instruction *pad_select_and_scatter(Dynamic *d, Instruction *instruction, Sizes *operands,
                                           Sizes result) {
  const Computation *select = instruction->a->select;
  PrimitiveType type = instruction->shape->type;
  bool matters[MAX_RANK] = {false};
  window_matters(&instruction->a->window, matters);
  if (any_dynamic(operands[0], instruction->shape->rank)) {
    ComparisonDirection by = select->root->a->direction;
    bool largest = by == COMPARE_GE || by == COMPARE_GT;
    if (select->root->operands[0] != select->parameters[0]) largest = !largest;
    Scalar never = largest ? scalar_lowest(type) : scalar_highest(type);
    pad_operand(d, instruction, 0, operands[0], matters,
                computation_add_number(d->at.computation, type, never));
  }
  pad_operand(d, instruction, 1, operands[1], NULL, instruction->operands[2]);
  return instruction;
}

static Instruction *pad_dot(Dynamic *d, Instruction *dot, Sizes *operands, Sizes result) {
  const Int64List contracting[] = {dot->a->lhs_contracting_dims, dot->a->rhs_contracting_dims};
  for (int k = 0; k < 2; k++) {
    bool matters[MAX_RANK] = {false};
    for (int i = 0; i < contracting[k].count; i++) matters[contracting[k].items[i]] = true;
    pad_with_zero(d, dot, k, operands[k], matters);
  }
  return dot;
}

static Instruction *pad_convolution(Dynamic *d, Instruction *convolution, Sizes *operands,
                                    Sizes result) {
  const ConvDims *dims = &convolution->a->conv_dims;
  bool lhs[MAX_RANK] = {false}, rhs[MAX_RANK] = {false};
  lhs[dims->input_feature] = rhs[dims->kernel_input_feature] = true;
  for (int i = 0; i < dims->spatial; i++) {
    lhs[dims->input_spatial[i]] = rhs[dims->kernel_spatial[i]] = true;
  }
  pad_with_zero(d, convolution, 0, operands[0], lhs);
  pad_with_zero(d, convolution, 1, operands[1], rhs);
  return convolution;
}

static Instruction *pad_topk(Dynamic *d, Instruction *topk, Sizes *operands, Sizes result) {
  PrimitiveType type = topk->operands[0]->shape->type;
  bool matters[MAX_RANK] = {false};
  matters[topk->operands[0]->shape->rank - 1] = true;
  Scalar last = topk->a->largest ? scalar_lowest(type) : scalar_highest(type);
  pad_operand(d, topk, 0, operands[0], matters,
              computation_add_number(d->at.computation, type, last));
  return topk;
}

/* ---- Matrices ---- */

/* Pads the matrix of operand 0 with the identity, which leaves the result for the other elements unchanged. */
static void pad_with_identity(Dynamic *d, Instruction *instruction, Instruction *size) {
  if (!size) return;
  Instruction *matrix = instruction->operands[0];
  const Shape *shape = plain_shape(d, matrix->shape, matrix->shape->type);
  int row = shape->rank - 2, column = shape->rank - 1;
  const Attributes *attributes = ATTRIBUTES(.direction = COMPARE_EQ);
  Instruction *places[] = {make_iota(&d->at, S32, shape, row),
                           make_iota(&d->at, S32, shape, column)};
  const Shape *flags = plain_shape(d, shape, PRED);
  Instruction *identity = make(&d->at, HLO_COMPARE, flags, places, 2, attributes);
  identity = make(&d->at, HLO_CONVERT, shape, &identity, 1, NULL);
  Instruction *there = make_binary(&d->at, HLO_AND, size_mask(d, shape, row, size),
                                   size_mask(d, shape, column, size));
  instruction->operands[0] = dynamic_select(d, there, matrix, identity);
}

static Instruction *pad_cholesky(Dynamic *d, Instruction *cholesky, Sizes *operands, Sizes result) {
  pad_with_identity(d, cholesky, result[cholesky->shape->rank - 1]);
  return cholesky;
}

static Instruction *pad_triangular_solve(Dynamic *d, Instruction *solve, Sizes *operands,
                                         Sizes result) {
  int rank = solve->shape->rank, along = solve->a->left_side ? rank - 2 : rank - 1;
  bool matters[MAX_RANK] = {false};
  matters[along] = true;
  pad_with_identity(d, solve, result[along]);
  pad_with_zero(d, solve, 1, result, matters); /* a NaN times zero would spread */
  return solve;
}

/* ---- Indices ---- */

/* Returns an index outside the operand, whose updates are dropped. */
static Scalar index_outside(PrimitiveType type) {
  return type_kind(type) == KIND_SIGNED ? (Scalar){.i = -1} : scalar_highest(type);
}

/* Finds the sizes of the scatter dimensions, which indices and updates share, in the indices' order. */
static void scatter_sizes(const Instruction *scatter, Sizes *operands, Sizes of_indices) {
  int count = scatter->operand_count / 2, next = 0;
  const Shape *updates = scatter->operands[count + 1]->shape;
  for (int i = 0; i < updates->rank; i++) {
    if (list_has(scatter->a->update_window_dims, i)) continue;
    if (next == scatter->a->index_vector_dim) next++;
    of_indices[next] = operands[count][next];
    for (int k = count + 1; k < scatter->operand_count && !of_indices[next]; k++) {
      of_indices[next] = operands[k][i];
    }
    next++;
  }
}

static Instruction *pad_scatter(Dynamic *d, Instruction *scatter, Sizes *operands, Sizes result) {
  int count = scatter->operand_count / 2;
  PrimitiveType type = scatter->operands[count]->shape->type;
  Instruction *sizes[MAX_RANK + 1] = {NULL};
  scatter_sizes(scatter, operands, sizes);
  if (!any_dynamic(sizes, scatter->operands[count]->shape->rank)) return scatter;
  pad_operand(d, scatter, count, sizes, NULL,
              computation_add_number(d->at.computation, type, index_outside(type)));
  return scatter;
}

/* Returns the start of a dynamic update in a dimension: a scalar operand, or an element of one array. */
static Instruction *start_of(Dynamic *d, const Instruction *update, int dimension) {
  Instruction *start = update->operands[2];
  if (start->shape->rank == 0) return update->operands[2 + dimension];
  Instruction *slice = computation_add_range(d->at.computation, start, 0, dimension, dimension + 1);
  return computation_add_reshape(d->at.computation, slice, 0, NULL);
}

/* Fills the update's padding with the operand's elements, which therefore stay unchanged. */
static Instruction *pad_update(Dynamic *d, Instruction *instruction, Sizes *operands,
                               Sizes result) {
  Instruction *base = instruction->operands[0], *update = instruction->operands[1];
  int rank = update->shape->rank;
  if (!any_dynamic(operands[1], rank)) return instruction;
  const Shape *shape = plain_shape(d, update->shape, update->shape->type);
  Instruction *slice_operands[MAX_RANK + 1] = {base};
  for (int i = 0; i < rank; i++) slice_operands[i + 1] = start_of(d, instruction, i);
  Instruction *below = make(&d->at, HLO_DYNAMIC_SLICE, shape, slice_operands, rank + 1,
                            ATTRIBUTES(.slice_sizes = {rank, shape->dims}));
  for (int i = 0; i < rank; i++) {
    if (!operands[1][i]) continue;
    update = dynamic_select(d, size_mask(d, shape, i, operands[1][i]), update, below);
  }
  instruction->operands[1] = update;
  return instruction;
}

/* ---- Operations that move padding ---- */

/* Writes each operand over the padding of the one before. */
static Instruction *pack_concatenate(Dynamic *d, Instruction *concatenate, Sizes *operands,
                                     Sizes result) {
  int64_t along = concatenate->a->dimensions.items[0];
  if (!result[along]) return concatenate;
  const Shape *shape = plain_shape(d, concatenate->shape, concatenate->shape->type);
  Instruction *packed = make_splat(&d->at, zero(d, shape->type), shape);
  Instruction *at = size_of(d, 0);
  for (int k = 0; k < concatenate->operand_count; k++) {
    Instruction *piece = concatenate->operands[k], *arguments[MAX_RANK + 2] = {packed, piece};
    for (int i = 0; i < shape->rank; i++) arguments[i + 2] = i == along ? at : size_of(d, 0);
    packed = make(&d->at, HLO_DYNAMIC_UPDATE_SLICE, shape, arguments, shape->rank + 2, NULL);
    Instruction *size = size_or_bound(d, operands[k][along], piece->shape->dims[along]);
    at = size_binary(d, HLO_ADD, at, size);
  }
  return packed;
}

/* Moves the elements of a reversed array to the front, as its padding comes first. */
static Instruction *pack_reverse(Dynamic *d, Instruction *reverse, Sizes *operands, Sizes result) {
  const Shape *shape = plain_shape(d, reverse->shape, reverse->shape->type);
  int rank = shape->rank;
  PaddingDimension *padding = ARENA_ARRAY(arena_of(d), PaddingDimension, rank);
  int64_t padded[MAX_RANK];
  bool moves = false;
  Instruction *slice[MAX_RANK + 1];
  for (int i = 0; i < rank; i++) {
    bool here = result[i] && list_has(reverse->a->dimensions, i);
    moves |= here;
    padding[i].high = here ? shape->dims[i] : 0;
    padded[i] = shape->dims[i] + padding[i].high;
    slice[i + 1] = size_of(d, 0);
    if (here) {
      slice[i + 1] = size_binary(d, HLO_SUBTRACT, size_of(d, shape->dims[i]), result[i]);
    }
  }
  if (!moves) return reverse;
  Attributes attributes = *ATTRIBUTES(.padding = {rank, padding});
  Error error;
  const Shape *padded_shape = shape_make(arena_of(d), shape->type, rank, padded, &error);
  Instruction *pad_operands[] = {reverse, zero(d, shape->type)};
  slice[0] = make(&d->at, HLO_PAD, padded_shape, pad_operands, 2, &attributes);
  return make(&d->at, HLO_DYNAMIC_SLICE, shape, slice, rank + 1,
              ATTRIBUTES(.slice_sizes = {rank, shape->dims}));
}

/* ---- Sort ---- */

/* Adds two parameters to the comparator: whether each element lies within the size. Such elements come
** before padding, and are compared with each other as before. */
static Computation *padding_last(Dynamic *d, Computation *comparator, int operands) {
  Computation *made = module_clone_computation(comparator->module, comparator, NULL);
  Instruction *compared = made->root, *is_element[2];
  for (int i = 0; i < 2; i++) {
    is_element[i] = computation_add_parameter(made, 2 * operands + i, shape_scalar(PRED), NULL);
  }
  Dynamic in = *d;
  in.at.computation = made;
  Instruction *is_padding =
      make(&in.at, HLO_NOT, shape_scalar(PRED), (Instruction *[]){is_element[1]}, 1, NULL);
  compared = make_binary(&in.at, HLO_OR, is_padding, compared);
  made->root = make_binary(&in.at, HLO_AND, is_element[0], compared);
  return made;
}

/* Returns the size of the sorted dimension; NULL: it is static. */
static Instruction *sorted_size(Dynamic *d, const Instruction *sort, Sizes *operands) {
  Instruction *size = NULL;
  for (int k = 0; k < sort->operand_count; k++) {
    size_merge(d, &size, operands[k][sort->a->dimensions.items[0]]);
  }
  return size;
}

static Instruction *sort_padding_last(Dynamic *d, Instruction *sort, Sizes *operands,
                                      Sizes result) {
  Instruction *size = sorted_size(d, sort, operands);
  if (!size) return sort;
  int n = sort->operand_count;
  Arena *arena = arena_of(d);
  Instruction **keys = ARENA_ARRAY(arena, Instruction *, n + 1);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, n + 1);
  for (int k = 0; k < n; k++) {
    keys[k] = sort->operands[k];
    shapes[k] = plain_shape(d, keys[k]->shape, keys[k]->shape->type);
  }
  keys[n] = size_mask(d, shapes[0], sort->a->dimensions.items[0], size);
  shapes[n] = keys[n]->shape;
  Attributes attributes = *sort->a;
  attributes.to_apply = padding_last(d, sort->a->to_apply, n);
  Instruction *sorted =
      make(&d->at, HLO_SORT, shape_tuple(arena, n + 1, shapes), keys, n + 1, &attributes);
  if (n == 1) return computation_add_element(d->at.computation, sorted, 0);
  for (int k = 0; k < n; k++) keys[k] = computation_add_element(d->at.computation, sorted, k);
  return computation_add_tuple(d->at.computation, keys, n);
}

/* ---- Reshape ---- */

/* Whether padding is last in memory order: the only dynamic dimension is preceded by dimensions of size 1. */
static bool padding_is_last(const Shape *shape, Sizes sizes, int begin, int end) {
  bool first = true;
  for (int i = begin; i < end; i++) {
    if (sizes[i] && !first) return false;
    first &= shape->dims[i] == 1 && !sizes[i];
  }
  return true;
}

static bool reshape_keeps_order(const Instruction *reshape, Sizes operand, Sizes result) {
  const Shape *from = reshape->operands[0]->shape, *to = reshape->shape;
  for (ReshapeGroup g = {0}; reshape_next_group(from, to, &g);) {
    if (!padding_is_last(from, operand, g.from, g.from_end) ||
        !padding_is_last(to, result, g.to, g.to_end)) {
      return false;
    }
  }
  return true;
}

/* Returns an s32 array of the result's dimensions: the number of elements before each one, without padding. */
static Instruction *rank_of_elements(Dynamic *d, const Shape *shape, Sizes sizes) {
  Instruction *rank = make_splat(&d->at, size_of(d, 0), shape);
  for (int i = 0; i < shape->rank; i++) {
    Instruction *size = make_splat(&d->at, size_or_bound(d, sizes[i], shape->dims[i]), shape);
    rank = make_binary(&d->at, HLO_MULTIPLY, rank, size);
    rank = make_binary(&d->at, HLO_ADD, rank, make_iota(&d->at, S32, shape, i));
  }
  return rank;
}

/* Returns the memory positions of the elements with those ranks, in an array of `shape` and `sizes`. */
static Instruction *place_of_elements(Dynamic *d, Instruction *rank, const Shape *shape,
                                      Sizes sizes) {
  Instruction *place = make_splat(&d->at, size_of(d, 0), rank->shape);
  int64_t strides[MAX_RANK];
  shape_strides(shape, strides);
  for (int i = shape->rank - 1; i >= 0; i--) {
    Instruction *size = make_splat(&d->at, size_or_bound(d, sizes[i], shape->dims[i]), rank->shape);
    Instruction *index = make_binary(&d->at, HLO_REMAINDER, rank, size);
    Instruction *stride = make_splat(&d->at, size_of(d, strides[i]), rank->shape);
    place = make_binary(&d->at, HLO_ADD, place, make_binary(&d->at, HLO_MULTIPLY, index, stride));
    rank = make_binary(&d->at, HLO_DIVIDE, rank, size);
  }
  return place;
}

static Instruction *repack_reshape(Dynamic *d, Instruction *reshape, Sizes operand, Sizes result) {
  Instruction *from = reshape->operands[0];
  Arena *arena = arena_of(d);
  const Shape *shape = plain_shape(d, reshape->shape, reshape->shape->type);
  int64_t elements = shape_elements(shape), *ones = ARENA_ARRAY(arena, int64_t, 1);
  Error error;
  const Shape *flat_shape = shape_make(arena, shape->type, 1, &elements, &error);
  Instruction *flat = make(&d->at, HLO_RESHAPE, flat_shape, &from, 1, NULL);
  Instruction *rank = rank_of_elements(d, shape, result);
  Instruction *places = place_of_elements(d, rank, from->shape, operand);
  ones[0] = 1;
  const Int64List first = {1, ARENA_ARRAY(arena, int64_t, 1)};
  return make(&d->at, HLO_GATHER, shape, (Instruction *[]){flat, places}, 2,
              ATTRIBUTES(.slice_sizes = {1, ones}, .collapsed_slice_dims = first,
                         .start_index_map = first, .index_vector_dim = shape->rank));
}

static Instruction *rewrite_reshape(Dynamic *d, Instruction *reshape, Sizes *operands,
                                    Sizes result) {
  bool keeps =
      shape_elements(reshape->shape) == 0 || reshape_keeps_order(reshape, operands[0], result);
  if (!keeps) return repack_reshape(d, reshape, operands[0], result);
  if (reshape->opcode == HLO_RESHAPE) return reshape;
  return make(&d->at, HLO_RESHAPE, reshape->shape, reshape->operands, 1, NULL);
}

/* Expands a batch norm whose statistics count only elements within the sizes. */
static Instruction *mask_batch_norm(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) {
  const Shape *shape = x->operands[0]->shape;
  Instruction *count = size_of(d, 1), *mask = NULL;
  for (int i = 0; i < shape->rank; i++) {
    if (i == x->a->feature_index) continue;
    count = make_binary(&d->at, HLO_MULTIPLY, count, size_or_bound(d, result[i], shape->dims[i]));
    if (!result[i]) continue;
    Instruction *within = size_mask(d, shape, i, result[i]);
    mask = mask ? make_binary(&d->at, HLO_AND, mask, within) : within;
  }
  expand_batch_norm(x, count, mask);
  return x;
}

/* ---- Others ---- */

static Instruction *keep(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) { return x; }

/* Returns the array, without the size that set-dimension-size gives it. */
static Instruction *drop_size(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) {
  return x->operands[0];
}

static Instruction *read_size(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) {
  int64_t along = x->a->dimensions.items[0];
  return size_or_bound(d, operands[0][along], x->operands[0]->shape->dims[along]);
}

/* Gives the padding of pad's operand the padding value. */
static Instruction *pad_with_value(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) {
  pad_operand(d, x, 0, operands[0], NULL, x->operands[1]);
  return x;
}

/* ---- Rules by operation ---- */

/* Rewrites an instruction and returns what takes its place: itself, or another one. */
typedef Instruction *PaddingRule(Dynamic *d, Instruction *x, Sizes *operands, Sizes result);

/* NULL: broadcast_ones if the category is binary or ternary; else padding does not matter, or sizes.c refuses the operation. */
static PaddingRule *const rules[OPCODE_COUNT] = {
    [HLO_CLAMP] = keep,
    [HLO_SET_DIMENSION_SIZE] = drop_size,
    [HLO_GET_DIMENSION_SIZE] = read_size,
    [HLO_REDUCE] = pad_reduce,
    [HLO_REDUCE_WINDOW] = pad_reduce_window,
    [HLO_SELECT_AND_SCATTER] = pad_select_and_scatter,
    [HLO_CHOLESKY] = pad_cholesky,
    [HLO_TRIANGULAR_SOLVE] = pad_triangular_solve,
    [HLO_DOT] = pad_dot,
    [HLO_CONVOLUTION] = pad_convolution,
    [HLO_TOPK] = pad_topk,
    [HLO_PAD] = pad_with_value,
    [HLO_SCATTER] = pad_scatter,
    [HLO_DYNAMIC_UPDATE_SLICE] = pad_update,
    [HLO_CONCATENATE] = pack_concatenate,
    [HLO_REVERSE] = pack_reverse,
    [HLO_SORT] = sort_padding_last,
    [HLO_BATCH_NORM_TRAINING] = mask_batch_norm,
    [HLO_BATCH_NORM_GRAD] = mask_batch_norm,
    [HLO_RESHAPE] = rewrite_reshape,
    [HLO_DYNAMIC_RESHAPE] = rewrite_reshape,
};

Instruction *dynamic_rewrite(Dynamic *d, Instruction *x, Sizes *operands, Sizes result) {
  PaddingRule *rule = rules[x->opcode];
  OpCategory category = opcode_category(x->opcode);
  bool broadcasts = category == ELEMENTWISE_BINARY || category == ELEMENTWISE_TERNARY;
  if (!rule) rule = broadcasts ? broadcast_ones : keep;
  return rule(d, x, operands, result);
}
