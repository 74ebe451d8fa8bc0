/* The accumulators of a reduction: how they are combined, and the blocks of sums. */
#ifndef XLA_CODEGEN_LOOPS_ACCUMULATORS_H
#define XLA_CODEGEN_LOOPS_ACCUMULATORS_H

#include "codegen/loops/reducer.h"

/* accumulators = f(accumulators, values), by the combining nodes; both are lists of locals:
** [output_count][MAX_PARTS]. */
void emit_combine(Emitter *e, const int *accumulators, const int *values);
/* The same; a reduce does not round narrow floats. */
void emit_combined(Emitter *e, const int *accumulators, const int *values);
void emit_set_identity(Emitter *e, const int *accumulators);
void emit_copy(Emitter *e, const int *to, const int *from);

/* Chooses the reducer's groups, levels and block_rows, for its `unroll`. */
void plan_blocks(const Emitter *e, Reducer *reducer);
/* Allocates the accumulators of all levels; those above the first only as far as they are needed. */
void new_accumulators(Emitter *e, Reducer *reducer);
/* Returns the steps in a block. */
int64_t block_steps(const Emitter *e);
/* Sets the accumulators of the levels above the first to the identity. */
void emit_begin_blocks(Emitter *e, const Reducer *reducer);
/* Counts a complete block, or a row, and adds the sums of complete levels into the next ones. */
void emit_count_block(Emitter *e, const Reducer *reducer);
/* Adds the sums of all levels into the first level's accumulator. */
void emit_end_blocks(Emitter *e, const Reducer *reducer, int u);
/* Returns the accumulator, of a cumulative sum, for the elements before the present block. */
int *earlier_blocks(const Emitter *e, const Reducer *reducer, int u);

#endif
