/* The values of a loop's nodes, each computed where it is first needed. */
#ifndef XLA_CODEGEN_LOOPS_VALUE_EMITTER_H
#define XLA_CODEGEN_LOOPS_VALUE_EMITTER_H

#include "codegen/loops/emitter.h"

/* Initialises the nodes' states; called first in each kernel. */
void init_nodes(Emitter *e);
/* Computes the nodes that vary at `level` and are used at a deeper one. */
void emit_level(Emitter *e, LoopLevel level);
/* Stores a node's value at first_stored(). */
void emit_store(Emitter *e, const LoopNode *node, int pointer);
/* Stores a value whose parts are in locals. */
void emit_store_locals(Emitter *e, PrimitiveType type, const int *parts, int pointer);
/* Stores a value whose parts are in locals, with lanes `stride` elements apart. */
void emit_store_apart(Emitter *e, PrimitiveType type, const int *parts, int pointer,
                      int64_t stride);
/* Stores all results in memory or cells; `pointers` are those of results outside places. */
void emit_store_outputs(Emitter *e, const int *pointers);
/* Whether several vectors of the results can be computed before the first of them is stored. */
bool can_store_last(const Emitter *e);
/* Computes `unroll` vectors of the results, then stores them: engines mix no instructions across a store. */
void emit_store_last(Emitter *e, const int *pointers, int unroll);

#endif
