/* Element-wise operations. */
#ifndef XLA_CODEGEN_LOOPS_ELEMENT_EMITTER_H
#define XLA_CODEGEN_LOOPS_ELEMENT_EMITTER_H

#include "codegen/loops/emitter.h"

/* Pushes one part of an element-wise operation's result. */
void emit_operation(Emitter *e, const LoopNode *node, int part);
bool can_emit_operation(const Instruction *instruction);
/* Whether lanes of `bytes` bytes are wide enough for a node. */
bool can_be_dense(const LoopNode *node, int bytes);
/* Whether the operation's result is exact in the operands' type, so that rounding changes nothing. */
bool is_exact(const Instruction *instruction);

#endif
