/*
** Removes common subexpressions: the later of two instructions with the same operation, shape, attributes
** and operands. Constants are compared by their bytes, called computations by their instructions, as JAX
** writes one for each reduction.
*/
#include <string.h>

#include "base/scope.h"
#include "hlo/ir/attribute_compare.h"
#include "rewrite/base/rewrite.h"

/* An open-addressing hash set of instructions. */
typedef struct InstructionSet {
  size_t mask;
  Instruction **slots;
} InstructionSet;

static bool may_be_shared(const Instruction *instruction) {
  return instruction->opcode != HLO_PARAMETER && !instruction->a->control_predecessors.count &&
         (instruction->opcode != HLO_CONSTANT || shape_is_array(instruction->shape)) &&
         instruction->opcode != HLO_AFTER_ALL; /* a token orders its users */
}

static uint64_t hash_of(const Instruction *instruction) {
  uint64_t hash = attributes_hash(instruction->opcode, instruction->a);
  hash = instruction_hash(hash, instruction);
  return hash ^ hash >> 32;
}

static bool are_equal(const Instruction *a, const Instruction *b) {
  if (a->opcode != b->opcode || a->operand_count != b->operand_count ||
      !shape_equal(a->shape, b->shape)) {
    return false;
  }
  for (int i = 0; i < a->operand_count; i++) {
    if (a->operands[i] != b->operands[i]) return false;
  }
  if (a->opcode == HLO_CONSTANT) {
    size_t size = (size_t)shape_bytes(a->shape);
    return size == 0 || !memcmp(a->literal->data, b->literal->data, size);
  }
  return attributes_equal(a->opcode, a->a, b->a);
}

/* Returns the equal instruction of the set, or NULL after adding this one. */
static Instruction *find_or_add(InstructionSet *set, Instruction *instruction) {
  size_t slot = (size_t)hash_of(instruction) & set->mask;
  for (; set->slots[slot]; slot = (slot + 1) & set->mask) {
    if (are_equal(set->slots[slot], instruction)) return set->slots[slot];
  }
  set->slots[slot] = instruction;
  return NULL;
}

bool eliminate_common_subexpressions(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  size_t size = 16;
  while (size < (size_t)rewrite.count * 2) size *= 2;
  InstructionSet set = {size - 1, scope_new(size, sizeof(Instruction *))};
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *instruction = rewrite_visit(&rewrite, i);
    if (!may_be_shared(instruction)) continue;
    Instruction *earlier = find_or_add(&set, instruction);
    if (earlier && !instruction_has_side_effect(instruction))
      rewrite_replace(&rewrite, instruction, earlier);
  }
  scope_free(set.slots);
  return rewrite_end(&rewrite);
}

bool pass_common_subexpressions(Module *module) {
  return for_each_computation(module, eliminate_common_subexpressions);
}
