/*
** Folds constants: the evaluator computes instructions whose operands are constants, if the result is
** small. A constant is read from memory, so folding a broadcast or an iota would make the program slower.
*/
#include "rewrite/simplify/fold_constants.h"

#include "reference/eval.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold LARGEST_RESULT, LARGEST_OPERANDS. Test: "constants that are folded, around 64 kB" in
  ** core/thresholds_numbers.test.mjs. */
  LARGEST_RESULT = 64 << 10, /* bytes */
  LARGEST_OPERANDS = 64 << 10,
  /* Threshold MAX_STEPS: steps of called computations, as a loop may never end. Test: "constants
  ** that are reduced by computations of many instructions" in core/thresholds_programs.test.mjs. */
  MAX_STEPS = 1 << 20,
};

static bool worth_folding(const Instruction *instruction) {
  if (instruction->operand_count == 0 || !shape_is_array(instruction->shape)) return false;
  if (!opcode_is_elementwise(instruction->opcode) && instruction->opcode != HLO_REDUCE &&
      opcode_category(instruction->opcode) != MOVEMENT) {
    return false; /* contractions and such are expensive */
  }
  int64_t result = shape_bytes(instruction->shape), operands = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    const Instruction *operand = instruction->operands[i];
    if (operand->opcode != HLO_CONSTANT || !shape_is_array(operand->shape)) return false;
    operands += shape_bytes(operand->shape);
  }
  /* The widest element has 16 bytes, so a change of type alone is allowed. */
  return result <= LARGEST_RESULT && operands <= LARGEST_OPERANDS && result <= 16 * operands &&
         instruction->opcode != HLO_BROADCAST && !instruction_has_side_effect(instruction);
}

static bool fold(Instruction *instruction, Arena *scratch) {
  Arena *arena = instruction->parent->module->arena;
  ArenaMark mark = arena_mark(arena);
  Literal *result = literal_new(arena, instruction->shape);
  Literal **operands = ARENA_ARRAY(scratch, Literal *, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = instruction->operands[i]->literal;
  }
  int64_t budget = MAX_STEPS;
  EvalContext context = {.arena = scratch,
                         .budget =
                             &budget}; /* an evaluation that fails here also fails at run time */
  if (!eval_instruction(instruction, operands, result, &context)) {
    arena_release(arena, mark);
    return false;
  }
  instruction_become(instruction, HLO_CONSTANT, NULL, 0, NULL);
  instruction->literal = result;
  return true;
}

static bool fold_constants(Computation *computation) {
  Arena *scratch = arena_new();
  bool changed = false;
  for (int i = 0; i < computation->count; i++) {
    Instruction *instruction = computation->instructions[i];
    if (!worth_folding(instruction)) continue;
    ArenaMark mark = arena_mark(scratch);
    changed |= fold(instruction, scratch);
    arena_release(scratch, mark);
  }
  arena_free(scratch);
  return changed;
}

/* Looks at `left` instructions, which it counts down. */
static Literal *value_of(const Instruction *x, Arena *arena, int *left) {
  /* Threshold LARGEST_VALUE: in bytes; larger lists of indices are gathered by. No path. */
  enum { LARGEST_VALUE = 1 << 20 };
  if (x->opcode == HLO_CONSTANT) return x->literal;
  bool known = opcode_is_elementwise(x->opcode) || x->opcode == HLO_IOTA ||
               opcode_category(x->opcode) == MOVEMENT;
  if ((*left)-- <= 0 || !known || !shape_is_array(x->shape) || instruction_has_side_effect(x) ||
      shape_bytes(x->shape) > LARGEST_VALUE) {
    return NULL;
  }
  Literal **operands = ARENA_ARRAY(arena, Literal *, x->operand_count);
  for (int i = 0; i < x->operand_count; i++) {
    operands[i] = value_of(x->operands[i], arena, left);
    if (!operands[i]) return NULL;
  }
  int64_t budget = MAX_STEPS;
  EvalContext context = {.arena = arena, .budget = &budget};
  Literal *result = literal_new(arena, x->shape);
  return eval_instruction(x, operands, result, &context) ? result : NULL;
}

Literal *constant_value(const Instruction *x, Arena *arena) {
  int left = 256;
  return value_of(x, arena, &left);
}

bool pass_fold_constants(Module *module) { return for_each_computation(module, fold_constants); }
