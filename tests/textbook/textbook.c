#include "textbook/textbook.h"

#include "hlo/scalar/element.h"
#include "textbook/lapack.h"

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

/* Evaluates a library call that is not empty and whose shapes were checked. */
static bool eval_library_call(const Instruction *instruction, Literal *const *operands,
                              Literal *result, EvalContext *context) {
  CsrSizes sizes;
  if (!is_csr_call(instruction)) return lapack_eval(instruction, operands, result, context);
  if (!csr_call_check(instruction, &sizes, context->error)) return false;
  csr_eval(&sizes, operands, result);
  return true;
}

/* Runs before main: linking this file is all that a build does to have the rules. */
__attribute__((constructor)) static void add_rules(void) {
  eval_add_rule(HLO_DOT, eval_dot);
  eval_add_rule(HLO_RAGGED_DOT, eval_ragged_dot);
  eval_add_rule(HLO_SCALED_DOT, eval_scaled_dot);
  eval_add_rule(HLO_FFT, eval_fft);
  eval_add_rule(HLO_CHOLESKY, eval_cholesky);
  eval_add_rule(HLO_TRIANGULAR_SOLVE, eval_triangular_solve);
  eval_add_rule(HLO_SCAN, eval_scan);
  eval_add_rule(HLO_CUSTOM_CALL, eval_library_call);
}
