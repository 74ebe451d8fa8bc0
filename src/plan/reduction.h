/* Classifies reductions and windows, for the passes and plans that make loops of them. */
#ifndef XLA_PLAN_REDUCTION_H
#define XLA_PLAN_REDUCTION_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

/* Returns the operation that a reduction combines by, if its order is free; else OPCODE_COUNT. */
Opcode reduce_operation(const Instruction *reduce);

/* Returns the single binary operation that combines a result; OPCODE_COUNT if there is more to it. */
Opcode reduce_operation_of(const Instruction *reduce, int result);

/* Whether all results have one type, and each is combined independently of the others by an operation whose order
** is free. */
bool reduces_apart(const Instruction *reduce);

/* Whether it is a reduction, not of windows, whose order matters: 8-bit floats are rounded, and overflow, at every
** step, except in maxima and minima. */
bool reduction_has_order(const Instruction *reduce);

/* Finds the neutral value that pads windows of one operand. Products of complex numbers have none: infinity
** times 1 + 0i has a part that is NaN. */
bool reduce_window_neutral(const Instruction *reduce, Scalar *x);

/* Returns the dimension along which a reduce-window is cumulative: each result combines an element and all
** elements before it, or, backwards, after it. -1 if it is not cumulative. */
int cumulative_window(const Instruction *instruction, bool *backwards);

/* Returns the dimension of a cumulative reduce-window if a loop can carry the accumulated value from step to step. -1 if the
** reduction rounds at every step and begins at the other end. */
int cumulative_dimension(const Instruction *instruction, bool *backwards);

#endif
