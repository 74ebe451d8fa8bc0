/*
** Makes operands of keys that a sort's comparator computes. If it compares f(left) with f(right), and f is element-wise, the keys
** are f of whole arrays, and the new comparator compares elements of these. Kernels sort by such keys (plan/comparator.h).
** XLA's compiled programs write the total order of floats so.
*/
#include "plan/comparator.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/expand/applied.h"

/* A sort whose keys are computed. */
typedef struct Sorting {
  Instruction *sort;
  Computation *comparator; /* a copy */
  Instruction **operands;  /* and the keys */
  int count;
} Sorting;

/* Returns a left expression's values for whole arrays. `copies`: by id, of expressions that have theirs. */
static Instruction *on_arrays(const Sorting *s, const Instruction *x, Instruction **copies) {
  if (x->opcode == HLO_PARAMETER) return s->operands[x->parameter_number / 2];
  if (copies[x->id]) return copies[x->id];
  Computation *c = s->sort->parent;
  const Shape *shape =
      shape_with_type(c->module->arena, s->sort->operands[0]->shape, x->shape->type);
  Instruction *operands[3] = {NULL};
  int count = x->opcode == HLO_CONSTANT ? 1 : x->operand_count;
  if (x->opcode == HLO_CONSTANT) {
    operands[0] = computation_add_constant(c, x->literal, NULL);
    return copies[x->id] = computation_add(c, HLO_BROADCAST, shape, operands, count, NULL);
  }
  for (int i = 0; i < count; i++) operands[i] = on_arrays(s, x->operands[i], copies);
  return copies[x->id] = computation_add(c, x->opcode, shape, operands, count, x->a);
}

/* Adds an operand for a computed key, and two parameters in place of its expressions. */
static void add_operand(Sorting *s, const SortKey *key) {
  Computation *c = s->comparator;
  computation_renumber(c);
  Instruction **copies = ARENA_ARRAY(c->module->arena, Instruction *, c->count);
  Instruction *made = on_arrays(s, key->sides[0], copies), *parameters[2];
  Rewrite rewrite;
  rewrite_begin(&rewrite, c);
  for (int side = 0; side < 2; side++) {
    parameters[side] =
        computation_add_parameter(c, 2 * s->count + side, key->sides[side]->shape, NULL);
  }
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *x = rewrite_visit(&rewrite, i);
    for (int side = 0; side < 2; side++) {
      if (x == key->sides[side]) rewrite_replace(&rewrite, x, parameters[side]);
    }
  }
  rewrite_end(&rewrite);
  s->operands[s->count++] = made;
}

static bool add_keys(Instruction *sort, void *data) {
  if (sort->opcode != HLO_SORT) return false;
  SortOrder order = comparator_order(sort->a->to_apply);
  if (!order.computes) return false;
  Module *module = sort->parent->module;
  Arena *arena = module->arena;
  int own = sort->operand_count;
  Sorting s = {sort, module_clone_computation(module, sort->a->to_apply, NULL),
               ARENA_ARRAY(arena, Instruction *, own + MAX_SORT_KEYS), own};
  for (int i = 0; i < own; i++) s.operands[i] = sort->operands[i];
  for (order = comparator_order(s.comparator); order.computes;
       order = comparator_order(s.comparator)) {
    int k = 0;
    while (order.keys[k].source.operand >= 0) k++;
    add_operand(&s, &order.keys[k]);
  }
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, s.count);
  for (int i = 0; i < s.count; i++) shapes[i] = s.operands[i]->shape;
  Attributes attributes = *sort->a;
  attributes.to_apply = s.comparator;
  Instruction *sorted = computation_add(sort->parent, HLO_SORT, shape_tuple(arena, s.count, shapes),
                                        s.operands, s.count, &attributes);
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, s.count);
  add_parts(sort->parent, sorted, parts);
  become_parts(sort, parts, own);
  return true;
}

bool pass_sort_keys(Module *module) { return rewrite_each(module, add_keys, NULL); }
