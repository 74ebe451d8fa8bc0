/* Moves a gather of rows or a dynamic-slice before the operations that compute its table: rules of simplify_algebra.c. */
#ifndef XLA_REWRITE_SIMPLIFY_MOVE_GATHERS_H
#define XLA_REWRITE_SIMPLIFY_MOVE_GATHERS_H

#include "hlo/ir/module.h"

/* Turns x into the last operation that computes its table, of rows of that operation's operands. Returns false, and changes
** nothing, if x is another gather, or reads too much of its table. */
bool move_gather(Instruction *x);
/* Returns what a dynamic-slice has of a table of positions, computed alone. Returns NULL if it has another operand. */
Instruction *move_slice(Instruction *x);

#endif
