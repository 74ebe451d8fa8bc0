/*
** Masks what an update writes, instead of selecting between the updated array and the old one, which copies both. vmap makes
** such selects of loops whose elements have their own numbers of iterations, and of branches:
**
**     select(p, dynamic-update-slice(x, u, at), x)     dynamic-update-slice(x, select(p, u, dynamic-slice(x, at)), at)
**     select(p, scatter(x, at, u), x)                  scatter(x, select(p, at, -1), u)
**
** The predicate is a broadcast of one that is the same for all that an update writes. An index of -1 is out of range, so
** the scatter leaves it out. Several updates after each other are masked alike.
** Measured: the batch of a gradient through 125 steps of fdtdx takes 1.0 s instead of 23 (Node 20, 2026-12).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* A predicate, and the dimensions of the array that it varies along. */
typedef struct Mask {
  Instruction *predicate;
  Int64List dims;
  bool keeps_true; /* whether true means the old array */
} Mask;

static bool is_update(const Instruction *x) {
  return x->opcode == HLO_DYNAMIC_UPDATE_SLICE ||
         (x->opcode == HLO_SCATTER && x->operand_count == 3);
}

/* Whether the predicate is the same for all elements that one index of the update writes. */
static bool fits(const Instruction *x, const Mask *mask) {
  const Shape *update = x->operands[x->opcode == HLO_SCATTER ? 2 : 1]->shape;
  if (x->opcode == HLO_SCATTER &&
      (type_kind(x->operands[1]->shape->type) != KIND_SIGNED || !x->a->scatter_dims_to_operand_dims.count)) {
    return false;
  }
  for (int k = 0; k < mask->dims.count; k++) {
    int64_t d = mask->dims.items[k];
    if (x->opcode == HLO_SCATTER ? !list_has(x->a->input_batching_dims, d)
                                 : update->dims[d] != x->shape->dims[d]) {
      return false;
    }
  }
  return x->a->control_predecessors.count == 0 &&
         shape_elements(update) < shape_elements(x->shape);
}

/* Broadcasts the predicate, and selects: `changed`, or where the array is kept `old`. */
static Instruction *masked(const Mask *mask, Int64List dims, Instruction *changed,
                           Instruction *old) {
  Computation *c = changed->parent;
  Arena *arena = c->module->arena;
  const Shape *shape = changed->shape;
  const Shape *where = shape_make(arena, PRED, shape->rank, shape->dims, NULL);
  Instruction *p = computation_add(c, HLO_BROADCAST, where, &mask->predicate, 1,
                                   ATTRIBUTES(.dimensions = dims));
  Instruction *operands[] = {p, mask->keeps_true ? old : changed, mask->keeps_true ? changed : old};
  return computation_add(c, HLO_SELECT, shape, operands, 3, NULL);
}

static void mask_slice(Instruction *x, const Mask *mask) {
  const Shape *update = x->operands[1]->shape;
  Instruction *operands[MAX_RANK + 2];
  int count = x->operand_count, starts = 0;
  operands[starts++] = x->operands[0];
  for (int k = 2; k < count; k++) operands[starts++] = x->operands[k];
  Instruction *old = computation_add(
      x->parent, HLO_DYNAMIC_SLICE, update, operands, starts,
      ATTRIBUTES(.slice_sizes = {update->rank, update->dims},
                 .derived.starts_in_range = x->a->derived.starts_in_range));
  x->operands[1] = masked(mask, mask->dims, x->operands[1], old);
}

static void mask_scatter(Instruction *x, const Mask *mask) {
  Instruction *at = x->operands[1];
  Arena *arena = x->parent->module->arena;
  int64_t *dims = ARENA_ARRAY(arena, int64_t, mask->dims.count);
  for (int k = 0; k < mask->dims.count; k++) {
    int64_t i = list_index(x->a->input_batching_dims, mask->dims.items[k]);
    dims[k] = x->a->scatter_indices_batching_dims.items[i];
  }
  Instruction *none = computation_add_integer(x->parent, at->shape->type, -1);
  none = computation_add(x->parent, HLO_BROADCAST, at->shape, &none, 1, NULL);
  x->operands[1] = masked(mask, (Int64List){mask->dims.count, dims}, at, none);
  instruction_attributes(x)->indices_are_sorted = false;
}

/* Returns the array before all updates of it that have no other reader and that the mask fits. Inner selects have become
** copies of these. */
static const Instruction *before_updates(const Users *users, const Instruction *x, const Mask *mask) {
  while (users->count[x->id] == 1 && (x->opcode == HLO_COPY || (is_update(x) && fits(x, mask)))) {
    x = x->operands[0];
  }
  return x;
}

static bool mask_updates(const Users *users, Instruction *choice, int old) {
  Instruction *last = choice->operands[3 - old], *array = choice->operands[old];
  Instruction *p = choice->operands[0];
  Mask mask = {p, {0}, .keeps_true = old == 1};
  if (p->opcode == HLO_BROADCAST) {
    mask.predicate = p->operands[0];
    mask.dims = p->a->dimensions;
  } else if (p->shape->rank) {
    return false;
  }
  if (last == array || before_updates(users, last, &mask) != array) return false;
  for (Instruction *x = last; x != array; x = x->operands[0]) {
    if (x->opcode == HLO_SCATTER) mask_scatter(x, &mask);
    if (x->opcode == HLO_DYNAMIC_UPDATE_SLICE) mask_slice(x, &mask);
  }
  instruction_become(choice, HLO_COPY, &last, 1, NULL);
  return true;
}

static bool visit(Computation *computation) {
  int n = computation->count;
  bool changed = false;
  Arena *scratch = arena_new();
  Users users = find_users(scratch, computation);
  for (int i = 0; i < n; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode != HLO_SELECT || !shape_is_static_array(x->shape)) continue;
    changed |= mask_updates(&users, x, 1) || mask_updates(&users, x, 2);
  }
  arena_free(scratch);
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_masked_updates(Module *module) { return for_each_computation(module, visit); }
