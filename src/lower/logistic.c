/*
** 1 / (1 + e^-x), as programs of XLA:CPU say it, is the logistic function, whose formula has one
** quotient for all of it. Where another wants the exponential, too, nothing would be gained.
*/
#include "lower/lower.h"
#include "passes/rewrite.h"

static bool is_one(const Instruction *x) {
  Scalar value;
  return splat_value(x, &value) && value.f == 1;
}

/* An operand that is such an operation, and used by nobody else */
static const Instruction *only(const Users *users, const Instruction *operand, Opcode opcode) {
  return operand->opcode == opcode && users->count[operand->id] == 1 ? operand : NULL;
}

/* x of 1 / (1 + e^-x), or NULL */
static Instruction *operand_of_logistic(const Users *users, const Instruction *divide) {
  PrimitiveType type = divide->shape->type;
  if (divide->opcode != HLO_DIVIDE || (type != F32 && type != F64)) return NULL;
  const Instruction *sum = only(users, divide->operands[1], HLO_ADD);
  if (!sum || !is_one(divide->operands[0])) return NULL;
  for (int i = 0; i < 2; i++) {
    const Instruction *power = only(users, sum->operands[i], HLO_EXP);
    if (power && power->operands[0]->opcode == HLO_NEGATE && is_one(sum->operands[1 - i])) {
      return power->operands[0]->operands[0];
    }
  }
  return NULL;
}

static bool find_logistics(Computation *computation) {
  Arena *scratch = arena_new();
  Users users = find_users(scratch, computation);
  bool changed = false;
  for (int i = 0; i < computation->count; i++) {
    Instruction *divide = computation->instructions[i];
    Instruction *x = operand_of_logistic(&users, divide);
    if (!x) continue;
    instruction_become(divide, HLO_LOGISTIC, &x, 1, NULL);
    changed = true;
  }
  arena_free(scratch);
  return changed;
}

bool lower_logistic(Module *module) { return for_each_computation(module, find_logistics); }
