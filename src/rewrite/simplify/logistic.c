/*
** Simplifies quotients of exponentials.
**
** 1 / (1 + e^-x), the form in XLA:CPU's programs, becomes the logistic function, whose formula needs one
** quotient in all. An exponential with another user stays, as nothing would be gained.
**
** e^x / s with a broadcast s becomes e^x * (1 / s), as in a softmax. XLA:CPU does this for all quotients by
** a broadcast value. Other quotients are divided here, so that their bits are exact (docs/passes.md: the bits
** that a rewrite may change).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Returns an operand if it is such an operation with no other user */
static const Instruction *only(const Users *users, const Instruction *operand, Opcode opcode) {
  return operand->opcode == opcode && users->count[operand->id] == 1 ? operand : NULL;
}

/* Returns x of 1 / (1 + e^-x), or NULL */
static Instruction *operand_of_logistic(const Users *users, const Instruction *divide) {
  PrimitiveType type = divide->shape->type;
  if (divide->opcode != HLO_DIVIDE || (type != F32 && type != F64)) return NULL;
  const Instruction *sum = only(users, divide->operands[1], HLO_ADD);
  if (!sum || !is_splat_of(divide->operands[0], 1)) return NULL;
  for (int i = 0; i < 2; i++) {
    const Instruction *power = only(users, sum->operands[i], HLO_EXP);
    if (power && power->operands[0]->opcode == HLO_NEGATE && is_splat_of(sum->operands[1 - i], 1)) {
      return power->operands[0]->operands[0];
    }
  }
  return NULL;
}

/* Whether x is an exponential, perhaps masked or scaled. The last bit of an exponential is not specified. */
static bool is_exponential(const Instruction *x, int depth) {
  if (x->opcode == HLO_EXP) return true;
  if (depth == 0 || (x->opcode != HLO_MULTIPLY && x->opcode != HLO_SELECT)) return false;
  for (int k = x->opcode == HLO_SELECT; k < x->operand_count; k++) {
    if (is_exponential(x->operands[k], depth - 1)) return true;
  }
  return false;
}

static bool multiply_by_reciprocal(Computation *computation, Instruction *divide) {
  /* Threshold MAX_DEPTH. Test: "quotients, and differences from the largest: how far they are
  ** apart" in core/thresholds_programs.test.mjs. */
  enum { MAX_DEPTH = 3 };
  if (divide->opcode != HLO_DIVIDE || divide->operands[1]->opcode != HLO_BROADCAST) return false;
  const Instruction *spread = divide->operands[1];
  Instruction *s = spread->operands[0];
  PrimitiveType type = divide->shape->type;
  if (shape_elements(s->shape) == shape_elements(divide->shape) || (type != F32 && type != F64) ||
      !is_exponential(divide->operands[0], MAX_DEPTH)) {
    return false;
  }
  Instruction *one = computation_add_number(computation, type, (Scalar){.f = 1});
  one = computation_add(computation, HLO_BROADCAST, s->shape, &one, 1, NULL);
  Instruction *of[] = {one, s}, *product[] = {divide->operands[0], NULL};
  Instruction *inverse = computation_add(computation, HLO_DIVIDE, s->shape, of, 2, NULL);
  product[1] = computation_add(computation, HLO_BROADCAST, divide->shape, &inverse, 1, spread->a);
  instruction_become(divide, HLO_MULTIPLY, product, 2, NULL);
  return true;
}

static bool find_logistics(Computation *computation) {
  Arena *scratch = arena_new();
  Users users = find_users(scratch, computation);
  bool changed = false, added = false;
  for (int i = 0, count = computation->count; i < count; i++) {
    Instruction *divide = computation->instructions[i];
    Instruction *x = operand_of_logistic(&users, divide);
    if (x) instruction_become(divide, HLO_LOGISTIC, &x, 1, NULL);
    added |= multiply_by_reciprocal(computation, divide);
    changed |= x != NULL;
  }
  if (added) computation_sort(computation);
  arena_free(scratch);
  return changed || added;
}

bool pass_logistic(Module *module) { return for_each_computation(module, find_logistics); }
