/*
** Removes dead code: instructions that neither the result nor a side effect needs, and computations
** without a caller. Parameters stay: they are the computation's signature.
*/
#include "base/scope.h"
#include "rewrite/base/rewrite.h"

static void mark_operands(const Instruction *instruction, bool *live) {
  for (int i = 0; i < instruction->operand_count; i++) live[instruction->operands[i]->id] = true;
  InstructionList before = instruction->a->control_predecessors;
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

bool module_remove_dead(Module *module) {
  bool changed = module_keep_reached(module);
  if (!for_each_computation(module, drop_instructions)) return changed;
  module_keep_reached(module); /* a removed instruction may have been the last caller */
  return true;
}
