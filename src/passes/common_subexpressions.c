/*
** Two instructions of the same operation, shape, attributes and operands compute the same: the
** later one goes. Constants count by their bytes. So do two small computations on scalars: JAX writes
** one for each reduction.
*/
#include <string.h>

#include "base/scope.h"
#include "passes/attribute_compare.h"
#include "passes/rewrite.h"

/* An open-addressing hash set of instructions. */
typedef struct InstructionSet {
  size_t mask;
  Instruction **slots;
} InstructionSet;

static bool may_be_shared(const Instruction *instruction) {
  return instruction->opcode != HLO_PARAMETER && !instruction_has_side_effect(instruction) &&
         !instruction->a.control_predecessors.count &&
         (instruction->opcode != HLO_CONSTANT || shape_is_array(instruction->shape)) &&
         instruction->opcode != HLO_AFTER_ALL; /* tokens stand for the order they are used in */
}

static uint64_t hash_instruction(const Instruction *instruction) {
  uint64_t hash = attributes_hash(instruction->opcode, &instruction->a);
  hash = hash_bytes(hash, &instruction->opcode, sizeof instruction->opcode);
  hash = hash_bytes(hash, &instruction->shape->type, sizeof instruction->shape->type);
  hash = hash_bytes(hash, instruction->shape->dims,
                    sizeof(int64_t) * (size_t)instruction->shape->rank);
  for (int i = 0; i < instruction->operand_count; i++) {
    hash = hash_bytes(hash, &instruction->operands[i]->id, sizeof(int));
  }
  if (instruction->opcode == HLO_CONSTANT) {
    int64_t bytes = shape_bytes(instruction->shape);
    hash = hash_bytes(hash, instruction->literal->data, bytes < 4096 ? (size_t)bytes : 4096);
  }
  return hash ^ hash >> 32;
}

static bool same(const Instruction *a, const Instruction *b) {
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
  return attributes_same(a->opcode, &a->a, &b->a);
}

/* The instruction in the set that is the same, or NULL after adding this one. */
static Instruction *find_or_add(InstructionSet *set, Instruction *instruction) {
  size_t slot = (size_t)hash_instruction(instruction) & set->mask;
  for (; set->slots[slot]; slot = (slot + 1) & set->mask) {
    if (same(set->slots[slot], instruction)) return set->slots[slot];
  }
  set->slots[slot] = instruction;
  return NULL;
}

bool computation_share(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  size_t size = 16;
  while (size < (size_t)rewrite.count * 2) size *= 2;
  InstructionSet set = {size - 1, scope_new(size, sizeof(Instruction *))};
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *instruction = rewrite_visit(&rewrite, i);
    if (!may_be_shared(instruction)) continue;
    Instruction *earlier = find_or_add(&set, instruction);
    if (earlier) rewrite_replace(&rewrite, instruction, earlier);
  }
  scope_free(set.slots);
  return rewrite_end(&rewrite);
}

/* ---- Computations ---- */

enum { MOST_INSTRUCTIONS = 8, MOST_COMPUTATIONS = 64 };

/* On scalars, and nothing that loops and branches are made of. */
static bool is_small(const Computation *computation) {
  if (computation->count > MOST_INSTRUCTIONS) return false;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    bool is_leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT;
    if (!shape_is_scalar(x->shape) || !(is_leaf || opcode_is_elementwise(x->opcode))) return false;
  }
  return true;
}

static bool same_computation(const Computation *a, const Computation *b) {
  if (a->count != b->count || a->parameter_count != b->parameter_count ||
      a->root->id != b->root->id) {
    return false;
  }
  for (int i = 0; i < a->count; i++) {
    const Instruction *x = a->instructions[i], *y = b->instructions[i];
    if (x->opcode != y->opcode || x->parameter_number != y->parameter_number ||
        !shape_equal(x->shape, y->shape) || x->operand_count != y->operand_count ||
        !attributes_same(x->opcode, &x->a, &y->a)) {
      return false;
    }
    if (x->opcode == HLO_CONSTANT &&
        memcmp(x->literal->data, y->literal->data, (size_t)shape_bytes(x->shape))) {
      return false;
    }
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k]->id != y->operands[k]->id) return false;
    }
  }
  return true;
}

/* The first of the computations that is the same, which may be itself. */
static Computation *first_of(Computation **firsts, int *count, Computation *computation) {
  for (int i = 0; i < *count; i++) {
    if (firsts[i] == computation || same_computation(firsts[i], computation)) return firsts[i];
  }
  if (*count < MOST_COMPUTATIONS) firsts[(*count)++] = computation;
  return computation;
}

static bool share_computations(Module *module) {
  Computation *firsts[MOST_COMPUTATIONS];
  int count = 0;
  bool changed = false;
  for (int c = 0; c < module->count; c++) {
    for (int i = 0; i < module->computations[c]->count; i++) {
      Instruction *x = module->computations[c]->instructions[i];
      if (opcode_category(x->opcode) != APPLY || !x->a.to_apply) continue;
      computation_renumber(x->a.to_apply);
      if (!is_small(x->a.to_apply)) continue;
      Computation *first = first_of(firsts, &count, x->a.to_apply);
      changed |= first != x->a.to_apply;
      x->a.to_apply = first;
    }
  }
  return changed;
}

bool pass_common_subexpressions(Module *module) {
  bool changed = share_computations(module);
  return changed | for_each_computation(module, computation_share);
}
