#include "rewrite/base/side_effects.h"

bool instruction_has_own_effect(const Instruction *instruction) {
  switch (instruction->opcode) {
  case HLO_INFEED:
  case HLO_OUTFEED:
  case HLO_SEND:
  case HLO_SEND_DONE:
  case HLO_RECV:
  case HLO_RECV_DONE:
  case HLO_RNG:
  case HLO_RNG_GET_AND_UPDATE_STATE: return true;
  case HLO_CUSTOM_CALL: return instruction->a->custom_call_has_side_effect;
  /* A pair that pass_inline_calls left has no known form, so it stays. */
  case HLO_ASYNC_START:
  case HLO_ASYNC_UPDATE:
  case HLO_ASYNC_DONE: return true;
  /* A collective is a rendezvous of replicas: removing an unused one could hide a deadlock of the
  ** program. */
  default: return opcode_category(instruction->opcode) == COLLECTIVE;
  }
}

/* Whether `is` holds for the instruction or one that it calls, directly or indirectly. */
static bool reaches(const Instruction *instruction, bool (*is)(const Instruction *), unsigned walk,
                    Arena *scratch) {
  if (is(instruction)) return true;
  int count = instruction_called(instruction, NULL);
  if (!count) return false;
  Computation **called = ARENA_ARRAY(scratch, Computation *, count);
  instruction_called(instruction, called);
  for (int i = 0; i < count; i++) {
    if (!computation_enter(called[i], walk)) continue;
    for (int k = 0; k < called[i]->count; k++) {
      if (reaches(called[i]->instructions[k], is, walk, scratch)) return true;
    }
  }
  return false;
}

/* As instruction_reaches, for several instructions in one walk. */
static bool instruction_reaches_on(const Instruction *instruction, bool (*is)(const Instruction *),
                                   unsigned *walk) {
  if (is(instruction)) return true;
  if (!instruction_called(instruction, NULL)) return false;
  Arena *scratch = arena_new();
  bool found = reaches(instruction, is, *walk, scratch);
  if (found) *walk = module_walk(instruction->parent->module); /* the walk is incomplete */
  arena_free(scratch);
  return found;
}

bool instruction_reaches(const Instruction *instruction, bool (*is)(const Instruction *)) {
  unsigned walk = 0;
  if (instruction_called(instruction, NULL)) walk = module_walk(instruction->parent->module);
  return instruction_reaches_on(instruction, is, &walk);
}

bool instruction_has_side_effect(const Instruction *instruction) {
  return instruction_reaches(instruction, instruction_has_own_effect);
}

bool instruction_has_side_effect_on(const Instruction *instruction, unsigned *walk) {
  return instruction_reaches_on(instruction, instruction_has_own_effect, walk);
}
