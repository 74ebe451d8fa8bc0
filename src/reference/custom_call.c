/* Evaluates library calls that no kernel runs: empty ones; in native builds, all. */
#include <string.h>

#include "hlo/ir/lapack_calls.h"
#include "hlo/scalar/scalar_math.h"
#include "reference/eval.h"
#include "value/scalar.h"
#ifdef XLA_CHECKS
#include "reference/lapack.h"
#endif

#ifdef XLA_CHECKS
static int64_t index_at(const Literal *literal, int64_t i) {
  return scalar_load(literal->shape->type, literal->data, i).i;
}

static void csr_eval(const CsrSizes *sizes, Literal *const *operands, Literal *result) {
  PrimitiveType type = result->shape->type;
  for (int64_t i = 0; i < sizes->rows * sizes->columns; i++) {
    int64_t row = i / sizes->columns, column = i % sizes->columns;
    Scalar sum = {0};
    int64_t first = index_at(operands[1], row), end = index_at(operands[1], row + 1);
    if (end > sizes->entries) end = sizes->entries;
    for (int64_t k = first < 0 ? 0 : first; k < end; k++) {
      int64_t inner = index_at(operands[2], k);
      if (inner < 0 || inner >= sizes->inner) continue;
      Scalar x = scalar_load(type, operands[0]->data, k);
      Scalar y = scalar_load(type, operands[3]->data, inner * sizes->columns + column);
      sum =
          scalar_binary_opcode(HLO_ADD, type, sum, scalar_binary_opcode(HLO_MULTIPLY, type, x, y));
    }
    scalar_store(type, result->data, i, sum);
  }
}
#endif

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
#ifdef XLA_CHECKS
  if (is_csr) {
    csr_eval(&sizes, operands, result);
    return true;
  }
  return lapack_eval(instruction, operands, result, context);
#else
  return error_set_op(context->error, STATUS_UNIMPLEMENTED, "custom-call",
                      "%s: %s has types, sizes or attributes that the routine does not take",
                      instruction->name, instruction->a->custom_call_target);
#endif
}
