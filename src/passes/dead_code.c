/*
** Drops instructions that neither the result nor a side effect needs, and computations that nobody
** calls. Parameters stay: they are the computation's signature.
*/
#include <stdlib.h>

#include "base/scope.h"
#include "passes/rewrite.h"

static void mark_operands(const Instruction *instruction, bool *live) {
  for (int i = 0; i < instruction->operand_count; i++) live[instruction->operands[i]->id] = true;
  InstructionList before = instruction->a.control_predecessors;
  for (int i = 0; i < before.count; i++) live[before.items[i]->id] = true;
}

static bool drop_instructions(Computation *computation) {
  computation_renumber(computation);
  bool *live = scope_new((size_t)computation->count + 1, sizeof *live);
  live[computation->root->id] = true;
  unsigned walk = module_walk(computation->module);
  for (int i = computation->count - 1; i >= 0; i--) { /* users before operands */
    const Instruction *instruction = computation->instructions[i];
    live[i] = live[i] || instruction->opcode == HLO_PARAMETER ||
              instruction_has_side_effect_on(instruction, &walk);
    if (live[i]) mark_operands(instruction, live);
  }
  int kept = 0;
  for (int i = 0; i < computation->count; i++) {
    if (live[i]) computation->instructions[kept++] = computation->instructions[i];
  }
  bool changed = kept != computation->count;
  computation->count = kept;
  scope_free(live);
  computation_renumber(computation);
  return changed;
}

/* The walk of the call graph that pass_dead_code makes. */
typedef struct Reach {
  Arena *arena;
  int count;            /* of the module's computations */
  Computation **sorted; /* those, by address */
  bool *seen;           /* by position in `sorted` */
  int found;            /* reached so far, called ones first */
  Computation **in_order;
} Reach;

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(Computation *const *)a, y = (uintptr_t)*(Computation *const *)b;
  return (x > y) - (x < y);
}

static void reach(Reach *walk, Computation *computation) {
  Computation **at =
      bsearch(&computation, walk->sorted, (size_t)walk->count, sizeof *walk->sorted, by_address);
  if (!at || walk->seen[at - walk->sorted]) return;
  walk->seen[at - walk->sorted] = true;
  for (int i = 0; i < computation->count; i++) {
    int count = instruction_called(computation->instructions[i], NULL);
    if (!count) continue;
    Computation **called = ARENA_ARRAY(walk->arena, Computation *, count);
    instruction_called(computation->instructions[i], called);
    for (int c = 0; c < count; c++) reach(walk, called[c]);
  }
  walk->in_order[walk->found++] = computation;
}

bool module_keep_reached(Module *module) {
  Arena *arena = arena_new();
  Reach walk = {.arena = arena, .count = module->count};
  walk.sorted =
      arena_copy(arena, module->computations, sizeof(Computation *) * (size_t)module->count);
  qsort(walk.sorted, (size_t)module->count, sizeof *walk.sorted, by_address);
  walk.seen = ARENA_ARRAY(arena, bool, module->count);
  walk.in_order = ARENA_ARRAY(arena, Computation *, module->count);
  reach(&walk, module->entry);
  bool changed = walk.found != module->count;
  module->count = walk.found;
  for (int i = 0; i < walk.found; i++) module->computations[i] = walk.in_order[i];
  arena_free(arena);
  return changed;
}

bool pass_dead_code(Module *module) {
  bool changed = module_keep_reached(module);
  if (!for_each_computation(module, drop_instructions)) return changed;
  module_keep_reached(module); /* an instruction that went may have been the last caller */
  return true;
}
