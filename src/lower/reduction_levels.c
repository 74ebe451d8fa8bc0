/*
** Writes reductions of 8-bit floats as the levels that XLA:CPU takes them in: sums that are rounded, and
** overflow, at every step are others in another order, so that the loops of reductions, with several
** accumulators each, are not for them. Windows are taken in order:
**
**     while a reduced dimension is longer than 32
**       x = reduce-window(x)    of 32 along those, SAME padding, and all of the other reduced ones
**     result = reshape(reduce-window(x))    of all that is left
**
** (eval/reduce.c does the same, an element at a time.)
*/
#include "hlo/shorthand.h"
#include "lower/lower.h"
#include "lower/reduction.h"
#include "passes/rewrite.h"

enum { LEVEL_WINDOW = 32 }; /* of XLA:CPU's TreeReductionRewriter */

static int64_t longest_reduced(const Instruction *reduce, const Shape *shape) {
  int64_t longest = 0;
  for (int i = 0; i < reduce->a->dimensions.count; i++) {
    int64_t size = shape->dims[reduce->a->dimensions.items[i]];
    if (size > longest) longest = size;
  }
  return longest;
}

static Instruction *add_level(Computation *computation, const Instruction *reduce, Instruction *x) {
  Arena *arena = computation->module->arena;
  const Shape *shape = x->shape;
  bool is_last = longest_reduced(reduce, shape) <= LEVEL_WINDOW;
  int64_t dims[MAX_RANK];
  WindowDimension *items = ARENA_ARRAY(arena, WindowDimension, shape->rank);
  for (int d = 0; d < shape->rank; d++) {
    int64_t size = shape->dims[d], width = !list_has(reduce->a->dimensions, d) ? 1 : size;
    if (!is_last && width > LEVEL_WINDOW) width = LEVEL_WINDOW;
    dims[d] = (size + width - 1) / width;
    int64_t padding = dims[d] * width - size;
    items[d] = (WindowDimension){.size = width,
                                 .stride = width,
                                 .padding_low = padding / 2,
                                 .padding_high = padding - padding / 2,
                                 .window_dilation = 1,
                                 .base_dilation = 1};
  }
  Attributes a;
  attributes_init(&a);
  a.window = (Window){shape->rank, items};
  a.to_apply = reduce->a->to_apply;
  Instruction *operands[] = {x, reduce->operands[1]};
  const Shape *level = shape_make(arena, shape->type, shape->rank, dims, NULL);
  return computation_add(computation, HLO_REDUCE_WINDOW, level, operands, 2, &a, NULL);
}

static bool has_levels(const Instruction *x) {
  if (x->opcode != HLO_REDUCE || x->operand_count != 2 || !x->a->dimensions.count) return false;
  const Shape *shape = x->operands[0]->shape;
  return shape_is_static_array(shape) && shape_is_static_array(x->shape) &&
         shape->type == x->shape->type && shape_elements(shape) > 0 && reduction_has_order(x);
}

static bool write_levels(Computation *computation) {
  bool changed = false;
  for (int i = 0, count = computation->count; i < count; i++) {
    Instruction *reduce = computation->instructions[i];
    if (!has_levels(reduce)) continue;
    Instruction *x = reduce->operands[0];
    do {
      x = add_level(computation, reduce, x);
    } while (longest_reduced(reduce, x->shape) > 1);
    instruction_become(reduce, HLO_RESHAPE, &x, 1, NULL);
    changed = true;
  }
  if (changed) computation_sort(computation);
  return changed;
}

bool lower_reduction_levels(Module *module) { return for_each_computation(module, write_levels); }
