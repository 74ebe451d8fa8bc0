#include "codegen/fusion_check.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef XLA_CHECKS

static void fail(const Instruction *fusion, const Instruction *x, const char *what) {
  fprintf(stderr, "fusion %s: %s %s: %s\n", fusion->name, opcode_name(x->opcode), x->name, what);
  abort();
}

static bool combines(const Instruction *x) {
  return x->opcode == HLO_REDUCE || x->opcode == HLO_REDUCE_WINDOW || x->opcode == HLO_SCATTER;
}

static void check_parameters(const Instruction *fusion, const Computation *fused) {
  if (fused->parameter_count != fusion->operand_count) {
    fail(fusion, fusion, "it has not one operand for each parameter");
  }
  for (int i = 0; i < fused->parameter_count; i++) {
    const Shape *is = fusion->operands[i]->shape, *taken = fused->parameters[i]->shape;
    if (is->type != taken->type || !shape_same_dims(is, taken)) {
      fail(fusion, fused->parameters[i], "its operand has another type or other dimensions");
    }
  }
}

void fusion_check(const Instruction *fusion, const Target *target) {
  const Computation *fused = fusion->a->calls;
  const Instruction *root = loop_root(fused->root);
  check_parameters(fusion, fused);
  if (!is_within_loops(root)) fail(fusion, root, "32 bits do not count its elements");
  for (int i = 0; i < fused->count; i++) {
    const Instruction *x = fused->instructions[i];
    if (x->a->control_predecessors.count) fail(fusion, x, "it waits for an instruction");
    if (x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT) continue;
    if (x->opcode == HLO_TUPLE_OP && x == fused->root) continue;
    if (x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0] == root)
      continue; /* of several reductions */
    if (!can_fuse(target, x)) fail(fusion, x, "there is no code for it");
    if (combines(x) && x != root) fail(fusion, x, "it is not the root");
  }
}
#endif
