/* Loops that reduce. */
#ifndef XLA_CODEGEN_LOOPS_REDUCE_EMITTER_H
#define XLA_CODEGEN_LOOPS_REDUCE_EMITTER_H

#include "codegen/loops/emitter.h"

void emit_reduce_kernel(Emitter *e);
/* Returns the code size of a reduction with each step unrolled; and emits that code for the row of results
** at `indices` of the outer loops, from result number `position` on. */
int64_t written_reduce_size(const LoopPlan *plan);
void emit_written_reduce(Emitter *e, int64_t *indices, int64_t position, int *outputs);

#endif
