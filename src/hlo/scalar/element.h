/* Computes each element-wise operation on one element. Used by the evaluator, constant folding, collectives and
** the scalar lanes of generated code. */
#ifndef XLA_HLO_SCALAR_ELEMENT_H
#define XLA_HLO_SCALAR_ELEMENT_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

/* `type` is the operands' element type; the result's is the instruction's. */
Scalar scalar_unary(const Instruction *instruction, PrimitiveType type, Scalar x);
Scalar scalar_binary(const Instruction *instruction, PrimitiveType type, Scalar x, Scalar y);
Scalar scalar_binary_opcode(Opcode opcode, PrimitiveType type, Scalar x, Scalar y);

/* Returns min(max(x, low), high). */
Scalar scalar_clamp(PrimitiveType type, Scalar low, Scalar x, Scalar high);

/* Ends the call with INTERNAL: the operation has no element rule, because a row of opcodes.def was added
** without one. */
_Noreturn void scalar_missing(Opcode opcode);

/* Complex functions of C64 and C128, computed in double; abs gives a real number. */
Scalar complex_unary(Opcode opcode, Scalar z);

/* `type` (C64 or C128) matters to the arithmetic operations: each of their steps is rounded to its
** component type, as in XLA. */
Scalar complex_binary(Opcode opcode, PrimitiveType type, Scalar x, Scalar y);

/* Computes x^y for finite x != 0. Returns false, and leaves *result, if the power over- or underflows a
** double or its angle is 2^40 or more. */
bool complex_power(Scalar x, Scalar y, Scalar *result);

/* Whether `x direction y` holds. For `total_order`, floats must come as order keys. */
bool scalar_compare(PrimitiveType type, ComparisonDirection direction, Scalar x, Scalar y);

/* Returns the position of a float element in the total order -NaN < -inf < ... < -0 < +0 < ... < inf < NaN,
** in Scalar.i, to compare as S64. Takes the element's memory, since NaNs differ by their bits. */
Scalar total_order_key(PrimitiveType type, const void *data, int64_t index);

#endif
