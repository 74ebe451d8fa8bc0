/* Element-wise operations that have complex operands or results. */
#ifndef XLA_CODEGEN_LOOPS_COMPLEX_EMITTER_H
#define XLA_CODEGEN_LOOPS_COMPLEX_EMITTER_H

#include "codegen/loops/emitter.h"

bool can_emit_complex(const Instruction *instruction);
void emit_complex_operation(Emitter *e, const LoopNode *node, int part);
void emit_load_complex(Emitter *e, const LoopNode *node, int part);
void emit_store_complex(Emitter *e, PrimitiveType type, const int *parts, int pointer);

#endif
