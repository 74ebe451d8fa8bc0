/*
** Merges identical computations that are applied to elements or are fused loops. JAX writes a sum for each reduction,
** and a model's layers have identical loops. A shared computation is lowered and emitted once. Computations of control
** flow stay apart, as each is fitted to its caller.
*/
#include "base/scope.h"
#include "hlo/ir/attribute_compare.h"
#include "rewrite/base/rewrite.h"

typedef struct Sharer {
  size_t mask;
  Computation **slots; /* by hash: the first of each kind */
  Computation **first; /* by number: the first identical one; NULL: not looked for yet */
  bool *plain; /* by number: calls only plain, shared computations, so comparisons are shallow */
  bool changed;
} Sharer;

/* Replaces a computation by the first identical one. Returns whether it changed. */
static bool share(Sharer *sharer, Computation **called) {
  Computation *computation = *called;
  if (!computation || !sharer->plain[computation->number]) return false;
  Computation **first = &sharer->first[computation->number];
  if (!*first) {
    size_t slot = (size_t)computation_hash(computation) & sharer->mask;
    while (sharer->slots[slot] && !computations_equal(sharer->slots[slot], computation)) {
      slot = (slot + 1) & sharer->mask;
    }
    if (!sharer->slots[slot]) sharer->slots[slot] = computation;
    *first = sharer->slots[slot];
  }
  *called = *first;
  return *first != computation;
}

static bool calls_plain(const Sharer *sharer, const Instruction *x) {
  const Computation *called[] = {x->a->to_apply, x->a->select, x->a->scatter, x->a->calls};
  int count = 0;
  bool plain = x->opcode != HLO_CALL;
  for (int i = 0; i < 4; i++) {
    count += called[i] != NULL;
    plain &= !called[i] || sharer->plain[called[i]->number];
  }
  return plain && count == instruction_called(x, NULL);
}

static void share_called(Sharer *sharer, const Computation *computation) {
  bool *plain = &sharer->plain[computation->number];
  *plain = true;
  for (int i = 0; i < computation->count; i++) {
    Instruction *x = computation->instructions[i];
    if (!instruction_called(x, NULL)) continue;
    *plain &= calls_plain(sharer, x);
    if (x->opcode == HLO_CALL) continue;
    Attributes a = *x->a;
    bool changes = share(sharer, &a.to_apply);
    changes |= share(sharer, &a.select);
    changes |= share(sharer, &a.scatter);
    if (x->opcode == HLO_FUSION || x->opcode == HLO_SORT) changes |= share(sharer, &a.calls);
    if (changes) instruction_set_attributes(x, &a);
    sharer->changed |= changes;
  }
}

/* Callees come before callers, so callees are already shared when their callers are compared. */
bool pass_share_computations(Module *module) {
  Sharer sharer = {.mask = 15};
  while (sharer.mask < 2 * (size_t)module->count) sharer.mask = 2 * sharer.mask + 1;
  sharer.slots = scope_new(sharer.mask + 1, sizeof *sharer.slots);
  sharer.first = scope_new((size_t)module->numbers + 1, sizeof *sharer.first);
  sharer.plain = scope_new((size_t)module->numbers + 1, sizeof *sharer.plain);
  for (int i = 0; i < module->count; i++) share_called(&sharer, module->computations[i]);
  scope_free(sharer.plain);
  scope_free(sharer.first);
  scope_free(sharer.slots);
  return sharer.changed;
}
