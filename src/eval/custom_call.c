/* A LAPACK call that no kernel takes: an empty one, natively any. */
#include <string.h>

#include "eval/eval.h"
#include "hlo/lapack_calls.h"
#ifdef XLA_CHECKS
#include "eval/lapack.h"
#endif

static bool is_empty(const Instruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (shape_elements(instruction->operands[i]->shape) == 0) return true;
  }
  return false;
}

bool eval_custom_call(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  if (!lapack_call_check(instruction, context->error)) return false;
  if (is_empty(instruction)) {
    int leaves = shape_leaves(instruction->shape);
    for (int i = 0; i < leaves; i++) {
      Literal *leaf = instruction->shape->type == TUPLE ? result->elements[i] : result;
      memset(leaf->data, 0, (size_t)shape_bytes(leaf->shape));
    }
    return true;
  }
#ifdef XLA_CHECKS
  return lapack_eval(instruction, operands, result, context);
#else
  return error_set_op(context->error, STATUS_UNIMPLEMENTED, "custom-call",
                      "%s: %s has types, sizes or attributes that the routine does not take",
                      instruction->name, instruction->a->custom_call_target);
#endif
}
