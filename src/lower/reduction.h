/* What reductions and windows are like: what loops are made of depends on it. */
#ifndef XLA_LOWER_REDUCTION_H
#define XLA_LOWER_REDUCTION_H

#include "hlo/module.h"

/* The operation that a reduction combines by, if it may be done in any order; else OPCODE_COUNT. */
Opcode reduce_operation(const Instruction *reduce);

/* The dimension along which a reduce-window is cumulative: it has a result per element, of it and all
** elements before it, or, backwards, after it. -1 if it is not of this kind. */
int cumulative_window(const Instruction *instruction, bool *backwards);

/* That, where what was accumulated so far may be taken on: -1 where it begins at the other end, and
** rounds at every step. */
int cumulative_dimension(const Instruction *instruction, bool *backwards);

#endif
