/* Functions of floats of 8 bits, by tables. */
#ifndef XLA_CODEGEN_LOOPS_BYTE_TABLE_H
#define XLA_CODEGEN_LOOPS_BYTE_TABLE_H

#include "codegen/loops/emitter.h"

/* Whether a node is a function of floats of 8 bits in memory. */
bool has_byte_table(const LoopNode *node);
/* Pushes its value, or the value's bits. False, pushing nothing, if there is no memory for a table. */
bool emit_table_lookup(Emitter *e, const LoopNode *node, bool bits);
/* Stores a function of two such operands element by element, over a loop long enough for a table. False,
** emitting nothing, for any other node. */
bool emit_square_lookups(Emitter *e, const LoopNode *node, int pointer);

#endif
