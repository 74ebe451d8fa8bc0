/*
** A collective may apply a computation on another type than its operands', of which the operation
** counts (hlo/infer/inference_collective.c): here it gets one on their type.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/rewrite.h"

static bool reduces(Opcode opcode) {
  return opcode == HLO_ALL_REDUCE || opcode == HLO_ALL_REDUCE_START || opcode == HLO_REDUCE_SCATTER;
}

static bool retype(Instruction *x) {
  if (!reduces(x->opcode)) return false;
  const Computation *reducer = x->a->to_apply;
  PrimitiveType type = x->operands[0]->shape->type;
  if (reducer->parameters[0]->shape->type == type) return false;
  Computation *made =
      module_add_reducer(x->parent->module, computation_simple_binary(reducer), type);
  instruction_attributes(x)->to_apply = made;
  return true;
}

bool pass_collective_reducers(Module *module) {
  bool changed = false;
  for (int c = 0, count = module->count; c < count; c++) {
    Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) changed |= retype(computation->instructions[i]);
  }
  if (changed) module_keep_reached(module); /* called ones before their callers again */
  return changed;
}
