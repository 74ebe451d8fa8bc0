/* Copies instructions of a computation into one of their own, whose parameters stand for others. */
#include "derive/gradient/functions.h"
#include "rewrite/base/rewrite.h"

Computation *outlined(Computation *c, const char *name, Instruction *const *leaves, int leaf_count,
                      Instruction *const *roots, int root_count) {
  Arena *arena = c->module->arena;
  Computation *to = module_add_computation(c->module, name);
  Instruction **map = ARENA_ARRAY(arena, Instruction *, c->count);
  bool *needed = ARENA_ARRAY(arena, bool, c->count);
  Scalar number;
  for (int k = 0; k < leaf_count; k++) {
    Instruction *parameter = computation_add_parameter(to, k, leaves[k]->shape, NULL);
    if (!splat_value(leaves[k], &number)) map[leaves[k]->id] = parameter;
  }
  for (int i = 0; i < root_count; i++) needed[roots[i]->id] = true;
  for (int i = c->count - 1; i >= 0; i--) {
    const Instruction *x = c->instructions[i];
    for (int k = 0; needed[i] && !map[i] && k < x->operand_count; k++) {
      needed[x->operands[k]->id] = true;
    }
  }
  for (int i = 0; i < c->count; i++) {
    const Instruction *x = c->instructions[i];
    if (!needed[i] || map[i]) continue;
    if (x->opcode == HLO_PARAMETER) return NULL;
    Instruction **operands = ARENA_ARRAY(arena, Instruction *, x->operand_count);
    for (int k = 0; k < x->operand_count; k++) operands[k] = map[x->operands[k]->id];
    map[i] = computation_add(to, x->opcode, x->shape, operands, x->operand_count, x->a);
    map[i]->literal = x->literal;
    if (x->a->control_predecessors.count) {
      instruction_attributes(map[i])->control_predecessors = (InstructionList){0};
    }
  }
  Instruction **results = ARENA_ARRAY(arena, Instruction *, root_count);
  for (int i = 0; i < root_count; i++) results[i] = map[roots[i]->id];
  to->root = root_count == 1 ? results[0] : computation_add_tuple(to, results, root_count);
  to->keeps_root = true;
  computation_renumber(to);
  return to;
}
