/*
** Masks what an update writes, instead of selecting between the updated array and the old one, which copies both. vmap makes
** such selects of loops whose elements have their own numbers of iterations, and of branches:
**
**     select(p, dynamic-update-slice(x, u, at), x)     dynamic-update-slice(x, select(p, u, dynamic-slice(x, at)), at)
**     select(p, scatter(x, at, u), x)                  scatter(x, select(p, at, -1), u)
**
** The predicate is a broadcast of one that is the same for all that an update writes. An index of -1 is out of range, so
** the scatter leaves it out. Several updates after each other are masked alike.
** Measured: the batch of a gradient through 125 steps of fdtdx takes 0.4 s instead of 23 (Node 20, 2026-12).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* A predicate, and the dimensions of the array that it varies along. */
typedef struct Mask {
  Instruction *predicate;
  Int64List dims;
  int old; /* which operand of the select is the old array */
} Mask;

static bool is_update(const Instruction *x) {
  return x->opcode == HLO_DYNAMIC_UPDATE_SLICE ||
         (x->opcode == HLO_SCATTER && x->operand_count == 3);
}

/* Whether the predicate is the same for all elements that one index of the update writes. */
static bool fits(const Instruction *x, const Mask *mask) {
  bool scatters = x->opcode == HLO_SCATTER;
  const Shape *update = x->operands[1 + scatters]->shape;
  bool fit = x->a->control_predecessors.count == 0 &&
             shape_elements(update) < shape_elements(x->shape) &&
             (!scatters || (type_kind(x->operands[1]->shape->type) == KIND_SIGNED &&
                            x->a->scatter_dims_to_operand_dims.count));
  for (int k = 0; k < mask->dims.count && fit; k++) {
    int64_t d = mask->dims.items[k];
    fit = scatters ? list_has(x->a->input_batching_dims, d) : update->dims[d] == x->shape->dims[d];
  }
  return fit;
}

/* Returns what a slice overwrites. */
static Instruction *overwritten(const Instruction *x) {
  const Shape *update = x->operands[1]->shape;
  Instruction *operands[MAX_RANK + 2];
  for (int k = 2; k < x->operand_count; k++) operands[k - 1] = x->operands[k];
  operands[0] = x->operands[0];
  return computation_add(x->parent, HLO_DYNAMIC_SLICE, update, operands, x->operand_count - 1,
                         ATTRIBUTES(.slice_sizes = {update->rank, update->dims},
                                    .derived.starts_in_range = x->a->derived.starts_in_range));
}

/* Returns indices that are out of range, and sets the dimensions of indices that the predicate varies along. */
static Instruction *no_indices(Instruction *x, Int64List *dims) {
  const Shape *shape = x->operands[1]->shape;
  int64_t *items = ARENA_ARRAY(x->parent->module->arena, int64_t, dims->count);
  for (int k = 0; k < dims->count; k++) {
    int64_t i = list_index(x->a->input_batching_dims, dims->items[k]);
    items[k] = x->a->scatter_indices_batching_dims.items[i];
  }
  dims->items = items;
  instruction_attributes(x)->indices_are_sorted = false;
  Instruction *none = computation_add_integer(x->parent, shape->type, -1);
  return computation_add(x->parent, HLO_BROADCAST, shape, &none, 1, NULL);
}

/* Selects what a slice writes, or the indices of a scatter: both are operand 1. */
static void mask_update(Instruction *x, const Mask *mask) {
  Computation *c = x->parent;
  const Shape *shape = x->operands[1]->shape;
  Int64List dims = mask->dims;
  Instruction *none = x->opcode == HLO_SCATTER ? no_indices(x, &dims) : overwritten(x);
  const Shape *where = shape_make(c->module->arena, PRED, shape->rank, shape->dims, NULL);
  Instruction *operands[3] = {computation_add(c, HLO_BROADCAST, where, &mask->predicate, 1,
                                              ATTRIBUTES(.dimensions = dims))};
  operands[mask->old] = none;
  operands[3 - mask->old] = x->operands[1];
  x->operands[1] = computation_add(c, HLO_SELECT, shape, operands, 3, NULL);
}

/* Returns the array before all updates of it that have no other reader and that the mask fits. Inner selects have become
** copies of these. */
static const Instruction *before_updates(const Users *users, const Instruction *x,
                                         const Mask *mask) {
  while (users->count[x->id] == 1 && (x->opcode == HLO_COPY || (is_update(x) && fits(x, mask)))) {
    x = x->operands[0];
  }
  return x;
}

static bool mask_updates(const Users *users, Instruction *choice, int old) {
  Instruction *last = choice->operands[3 - old], *array = choice->operands[old];
  Instruction *p = choice->operands[0];
  Mask mask = {p, {0}, old};
  if (p->opcode == HLO_BROADCAST) {
    mask.predicate = p->operands[0];
    mask.dims = p->a->dimensions;
  } else if (p->shape->rank) {
    return false;
  }
  if (last == array || before_updates(users, last, &mask) != array) return false;
  for (Instruction *x = last; x != array; x = x->operands[0]) {
    if (is_update(x)) mask_update(x, &mask);
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
