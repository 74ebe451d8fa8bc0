/*
** Splits reductions of 8-bit floats into XLA:CPU's levels. Sums are rounded, and overflow, at every step, so
** they depend on the order. Loops of reductions, which have several accumulators, are therefore unsuitable.
** Windows are reduced in order:
**
**     while a reduced dimension is longer than 32
**       x = reduce-window(x)    of 32 along those, SAME padding, and all of the other reduced ones
**     result = reshape(reduce-window(x))    of all remaining elements
**
** Reductions of several operands have one level. (reference/reduce.c does the same, one element at a time.)
*/
#include "base/min_max.h"
#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/expand/applied.h"

/* Threshold LEVEL_WINDOW: the window of XLA:CPU's TreeReductionRewriter. Test: "reductions by
** ${operation} along rows and down columns" in core/thresholds.test.mjs. */
enum { LEVEL_WINDOW = 32 };

static int64_t longest_reduced(const Instruction *reduce, const Shape *shape) {
  int64_t longest = 0;
  for (int i = 0; i < reduce->a->dimensions.count; i++) {
    int64_t size = shape->dims[reduce->a->dimensions.items[i]];
    if (size > longest) longest = size;
  }
  return longest;
}

static Window level_window(const Instruction *reduce, const Shape *shape, bool is_last,
                           int64_t *dims) {
  WindowDimension *items = ARENA_ARRAY(reduce->parent->module->arena, WindowDimension, shape->rank);
  for (int d = 0; d < shape->rank; d++) {
    int64_t size = shape->dims[d], width = !list_has(reduce->a->dimensions, d) ? 1 : size;
    if (!is_last && width > LEVEL_WINDOW) width = LEVEL_WINDOW;
    dims[d] = divide_up(size, width);
    int64_t padding = dims[d] * width - size;
    items[d] = (WindowDimension){.size = width,
                                 .stride = width,
                                 .padding_low = padding / 2,
                                 .padding_high = padding - padding / 2,
                                 .window_dilation = 1,
                                 .base_dilation = 1};
  }
  return (Window){shape->rank, items};
}

/* Reduces x, one array per operand of the reduction, by one level. */
static void add_level(Computation *computation, const Instruction *reduce, Instruction **x,
                      bool is_last) {
  Arena *arena = computation->module->arena;
  int count = reduce->operand_count / 2;
  int64_t dims[MAX_RANK];
  Attributes a;
  attributes_init(&a);
  a.window = level_window(reduce, x[0]->shape, is_last, dims);
  a.to_apply = reduce->a->to_apply;
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, 2 * count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count), *shape;
  for (int i = 0; i < count; i++) {
    operands[i] = x[i];
    operands[count + i] = reduce->operands[count + i];
    shapes[i] = shape_make(arena, x[i]->shape->type, x[i]->shape->rank, dims, NULL);
  }
  shape = shape_is_tuple(reduce->shape) ? shape_tuple(arena, count, shapes) : shapes[0];
  add_parts(computation,
            computation_add(computation, HLO_REDUCE_WINDOW, shape, operands, 2 * count, &a), x);
}

static bool has_levels(const Instruction *x) {
  if (x->opcode != HLO_REDUCE || !x->a->dimensions.count || !reduction_has_order(x)) return false;
  for (int i = 0; i < x->operand_count / 2; i++) {
    const Shape *shape = x->operands[i]->shape;
    const Shape *result = shape_is_tuple(x->shape) ? x->shape->elements[i] : x->shape;
    if (shape->type != result->type || shape_elements(shape) == 0) return false;
  }
  return true;
}

static bool write_levels(Instruction *reduce, void *data) {
  if (!has_levels(reduce)) return false;
  int results = reduce->operand_count / 2;
  Instruction **x = arena_copy(reduce->parent->module->arena, reduce->operands,
                               sizeof(Instruction *) * (size_t)results);
  bool is_last;
  do {
    is_last = results > 1 || longest_reduced(reduce, x[0]->shape) <= LEVEL_WINDOW;
    add_level(reduce->parent, reduce, x, is_last);
  } while (!is_last);
  become_parts(reduce, x, results);
  return true;
}

bool pass_reduction_levels(Module *module) { return rewrite_each(module, write_levels, NULL); }
