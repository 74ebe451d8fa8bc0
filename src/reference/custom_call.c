/* Evaluates library calls: empty ones itself, others by the rule that a build has added for them. */
#include <string.h>

#include "hlo/ir/lapack_calls.h"
#include "reference/eval.h"

static bool is_empty(const Instruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (shape_elements(instruction->operands[i]->shape) == 0) return true;
  }
  return false;
}

bool eval_custom_call(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  CsrSizes sizes;
  bool is_csr = is_csr_call(instruction);
  if (!(is_csr ? csr_call_check(instruction, &sizes, context->error)
               : lapack_call_check(instruction, context->error))) {
    return false;
  }
  if (is_csr ? shape_elements(instruction->shape) == 0 : is_empty(instruction)) {
    int leaves = shape_leaves(instruction->shape);
    for (int i = 0; i < leaves; i++) {
      Literal *leaf = instruction->shape->type == TUPLE ? result->elements[i] : result;
      memset(leaf->data, 0, (size_t)shape_bytes(leaf->shape));
    }
    return true;
  }
  EvalRule *routine = eval_added_custom_call();
  if (routine) return routine(instruction, operands, result, context);
  return error_set_op(context->error, STATUS_UNIMPLEMENTED, "custom-call",
                      "%s: %s has types, sizes or attributes that the routine does not take",
                      instruction->name, instruction->a->custom_call_target);
}
