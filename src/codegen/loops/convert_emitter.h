/* Conversions between element types. */
#ifndef XLA_CODEGEN_LOOPS_CONVERT_EMITTER_H
#define XLA_CODEGEN_LOOPS_CONVERT_EMITTER_H

#include "codegen/loops/emitter.h"

/* Pushes one part of x converted to `to`, both real. The caller rounds or cuts narrow results. */
void emit_converted(Emitter *e, const LoopNode *x, PrimitiveType to, int part);
void emit_bitcast_convert(Emitter *e, const LoopNode *node, int part);
void emit_reduce_precision(Emitter *e, const LoopNode *node, int part);
/* Converts an i32x4 with non-negative lanes to one part of `type`: for iota. */
void emit_index_to_value(Emitter *e, PrimitiveType type, int part);

#endif
