/* What is behind eval_unary and eval_binary: complex arithmetic, and comparison in every order. */
#ifndef XLA_EVAL_SCALAR_MATH_H
#define XLA_EVAL_SCALAR_MATH_H

#include "eval/eval.h"

/* Complex functions of C64 and C128, computed in double; abs gives a real number. */
Scalar complex_unary(Opcode opcode, Scalar z);

/* `type` (C64 or C128) matters to the arithmetic operations: each of their steps is rounded to its
** component type, as in XLA. */
Scalar complex_binary(Opcode opcode, PrimitiveType type, Scalar x, Scalar y);

/* reduce-precision of a float to the exponent and mantissa bits that the instruction states. */
Scalar reduce_precision(const Attributes *attributes, PrimitiveType type, Scalar x);

/* Whether `x direction y` holds. For `total_order`, floats must come as order keys. */
bool scalar_compare(PrimitiveType type, ComparisonDirection direction, Scalar x, Scalar y);

/* The place of a float element in the total order -NaN < -inf < ... < -0 < +0 < ... < inf < NaN,
** in Scalar.i, to be compared as S64. Takes the element's memory, as NaNs differ by their bits. */
Scalar total_order_key(PrimitiveType type, const void *data, int64_t index);

/* Whether a compare instruction on this operand type asks for the total order of floats. */
static inline bool is_total_order(const Instruction *instruction, PrimitiveType type) {
  return instruction->a.compare_type == COMPARISON_TOTALORDER && type_is_floating(type);
}

#endif
