/*
** Computations that are applied to elements, or are loops' bodies, and say the same become one: JAX writes
** a sum for each reduction, and a model's layers are loops that say the same. What is lowered and emitted
** for a computation then is so once. Those of control flow stay apart, as each caller's is made to fit it.
*/
#include "base/scope.h"
#include "passes/attribute_compare.h"
#include "passes/rewrite.h"

typedef struct Sharer {
  size_t mask;
  Computation **slots; /* by hash: the first of each kind */
  Computation **first; /* by number: the one that says the same; NULL: not looked for yet */
  bool changed;
} Sharer;

static void share(Sharer *sharer, Computation **called) {
  Computation *computation = *called;
  if (!computation) return;
  Computation **first = &sharer->first[computation->number];
  if (!*first) {
    size_t slot = (size_t)computation_hash(computation) & sharer->mask;
    while (sharer->slots[slot] && !computations_same(sharer->slots[slot], computation)) {
      slot = (slot + 1) & sharer->mask;
    }
    if (!sharer->slots[slot]) sharer->slots[slot] = computation;
    *first = sharer->slots[slot];
  }
  sharer->changed |= *first != computation;
  *called = *first;
}

static void share_called(Sharer *sharer, const Computation *computation) {
  for (int i = 0; i < computation->count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_CALL || !instruction_called(x, NULL)) continue;
    share(sharer, &x->a.to_apply);
    share(sharer, &x->a.select);
    share(sharer, &x->a.scatter);
    if (x->opcode == HLO_FUSION || x->opcode == HLO_SORT) share(sharer, &x->a.calls);
  }
}

/* Called ones come before their callers: what these call says the same by then, or is the same. */
bool pass_share_computations(Module *module) {
  Sharer sharer = {.mask = 15};
  while (sharer.mask < 2 * (size_t)module->count) sharer.mask = 2 * sharer.mask + 1;
  sharer.slots = scope_new(sharer.mask + 1, sizeof *sharer.slots);
  sharer.first = scope_new((size_t)module->numbers + 1, sizeof *sharer.first);
  for (int i = 0; i < module->count; i++) share_called(&sharer, module->computations[i]);
  scope_free(sharer.first);
  scope_free(sharer.slots);
  return sharer.changed;
}
