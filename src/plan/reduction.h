/* What reductions and windows are like: what loops are made of depends on it. */
#ifndef XLA_PLAN_REDUCTION_H
#define XLA_PLAN_REDUCTION_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

/* The operation that a reduction combines by, if it may be done in any order; else OPCODE_COUNT. */
Opcode reduce_operation(const Instruction *reduce);

/* The operation on two values by which it combines one of its results, if that is all; else OPCODE_COUNT. */
Opcode reduce_operation_of(const Instruction *reduce, int result);

/* Whether each of its results, of one type, is combined by an operation that may be done in any order, whatever
** the others are. */
bool reduces_apart(const Instruction *reduce);

/* Whether it is a reduction, not of windows, whose order matters: 8-bit floats are rounded, and overflow, at every
** step but for maxima and minima. */
bool reduction_has_order(const Instruction *reduce);

/* x with f(x, y) = y for all y, of such an operation; false if it has none. Of a sum of floats that is -0, as
** 0 + -0 is 0. */
bool reduce_neutral(Opcode opcode, PrimitiveType type, Scalar *x);

/* What a window of one operand may be padded with. Products of complex numbers have nothing of that kind:
** infinity times 1 + 0i has a part that is no number. */
bool reduce_window_neutral(const Instruction *reduce, Scalar *x);

/* The dimension along which a reduce-window is cumulative: it has a result per element, of it and all
** elements before it, or, backwards, after it. -1 if it is not of this kind. */
int cumulative_window(const Instruction *instruction, bool *backwards);

/* That, where what was accumulated so far may be taken on: -1 where it begins at the other end, and
** rounds at every step. */
int cumulative_dimension(const Instruction *instruction, bool *backwards);

#endif
