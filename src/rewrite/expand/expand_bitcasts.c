/*
** Expands bitcast, which depends on the physical order of elements, into operations without layouts: a
** transpose to the order of the operand's layout, a reshape, and a transpose from the order of the result's
** layout. XLA's optimised modules have many. Bitcasts that change the elements' width stay, for the
** evaluator.
*/
#include "rewrite/base/rewrite.h"

/* Returns dimension number `i` in memory order, from the outermost on. */
static int in_memory(const Shape *shape, int i) {
  return shape->layout ? shape->layout->minor_to_major[shape->rank - 1 - i] : i;
}

static const Shape *in_physical_order(Arena *arena, const Shape *shape) {
  int64_t *dims = ARENA_ARRAY(arena, int64_t, shape->rank);
  for (int i = 0; i < shape->rank; i++) dims[i] = shape->dims[in_memory(shape, i)];
  return shape_make(arena, shape->type, shape->rank, dims, NULL);
}

static Instruction *add(Instruction *x, Opcode opcode, const Shape *shape, Instruction *operand,
                        const Attributes *attributes) {
  return computation_add(x->parent, opcode, shape, &operand, 1, attributes);
}

static bool is_padded(const Shape *shape) {
  return shape->layout && shape->layout->padded_dimensions;
}

static bool can_expand(const Instruction *x) {
  const Shape *from = x->operands[0]->shape, *to = x->shape;
  return shape_is_static_array(from) && shape_is_static_array(to) && !is_padded(from) &&
         !is_padded(to) && type_bits(from->type) == type_bits(to->type) &&
         shape_elements(from) == shape_elements(to);
}

static bool expand(Instruction *x, void *data) {
  if (x->opcode != HLO_BITCAST || !can_expand(x)) return false;
  Arena *arena = x->parent->module->arena;
  Instruction *value = x->operands[0];
  const Shape *from = value->shape, *to = x->shape;
  Attributes before, after;
  attributes_init(&before);
  attributes_init(&after);
  if (!shape_is_default_layout(from)) {
    int64_t *order = ARENA_ARRAY(arena, int64_t, from->rank);
    for (int i = 0; i < from->rank; i++) order[i] = in_memory(from, i);
    before.dimensions = (Int64List){from->rank, order};
    value = add(x, HLO_TRANSPOSE, in_physical_order(arena, from), value, &before);
  }
  if (from->type != to->type) {
    const Shape *shape = shape_with_type(arena, in_physical_order(arena, from), to->type);
    value = add(x, HLO_BITCAST_CONVERT, shape, value, NULL);
  }
  if (shape_is_default_layout(to)) {
    instruction_become(x, HLO_RESHAPE, &value, 1, NULL);
    return true;
  }
  value = add(x, HLO_RESHAPE, in_physical_order(arena, to), value, NULL);
  int64_t *order = ARENA_ARRAY(arena, int64_t, to->rank);
  for (int i = 0; i < to->rank; i++) order[in_memory(to, i)] = i;
  after.dimensions = (Int64List){to->rank, order};
  instruction_become(x, HLO_TRANSPOSE, &value, 1, &after);
  return true;
}

bool pass_expand_bitcasts(Module *module) { return rewrite_each(module, expand, NULL); }
