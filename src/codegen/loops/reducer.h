/* The state of the code that emits a reduction: reduce_emitter.c, accumulators.c and extreme_emitter.c share it. */
#ifndef XLA_CODEGEN_LOOPS_REDUCER_H
#define XLA_CODEGEN_LOOPS_REDUCER_H

#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/loop_emitter.h"

/* Threshold MAX_UNROLL. Test: "reductions by ${operation} along rows and down columns" in core/thresholds.test.mjs. */
/* Threshold LINES_APART. Test: "cumulative sums of few long lines" in core/thresholds_programs.test.mjs. */
enum { MAX_UNROLL = 8, LINES_APART = 4 };

typedef struct Reducer {
  Rows *rows;
  bool along;
  int ordered; /* cumulative maxima and minima: the instruction on order keys; else 0 */
  int extreme; /* the instruction of a maximum or minimum in three parts; else 0 */
  int unroll;  /* vectors of elements of a result, or vectors of results, at once */
  int group;   /* along: vectors that are added to each other before an accumulator gets them */
  int levels;  /* of accumulators */
  int64_t block_rows; /* rows of the innermost loop in a block, a power of 2; 0: a row has blocks */
  int blocks, block;  /* locals: complete blocks, or rows; steps left in the present block */
  int *accumulators;  /* locals: [levels][MAX_UNROLL + 1][output_count][MAX_PARTS]; */
  int *values;        /* locals: [VALUES][output_count][MAX_PARTS] */
  int steps;          /* a local: the remaining steps of the innermost loop */
  int64_t *at;        /* in unrolled code: the loops' indices; else NULL */
} Reducer;

/* Returns a level's accumulators of one unrolled vector; the tail's follow the last one's. */
static inline int *level_accumulator(const Emitter *e, const Reducer *reducer, int level, int u) {
  ptrdiff_t number = (ptrdiff_t)level * (MAX_UNROLL + 1) + u;
  return reducer->accumulators + number * e->plan->output_count * MAX_PARTS;
}

static inline int *accumulator(const Emitter *e, const Reducer *reducer, int u) {
  return level_accumulator(e, reducer, 0, u);
}

/* Returns the number of accumulators per level and result. */
static inline int sums_at_once(const Reducer *reducer) {
  return reducer->along ? reducer->unroll / reducer->group : reducer->unroll;
}

static inline PrimitiveType output_type(const Emitter *e, int r) {
  return node_type(e->plan->outputs[r]);
}

static inline int parts_now(const Emitter *e, int r) { return live_parts(e, output_type(e, r)); }

/* --- extreme_emitter.c: maxima and minima of floats --- */

/* The accumulators of an extreme. */
enum { EXTREME, NANS, SIGNS };

/* Returns the instruction for a maximum or minimum in three parts, or 0. */
int extreme_instruction(const LoopPlan *plan);
/* Starts the three accumulators from the first one's value. */
void emit_begin_extreme(Emitter *e, const Reducer *reducer, const int *accumulator);
/* Accumulates the present value. */
void emit_more_extreme(Emitter *e, const Reducer *reducer, const int *accumulator);
/* Joins two accumulators' three parts into the first one's. */
void emit_join_extremes(Emitter *e, const Reducer *reducer, const int *accumulator,
                        const int *more);
/* Computes the result of the three parts. */
void emit_end_extreme(Emitter *e, const Reducer *reducer, const int *accumulator);

/* Returns the integer instruction for a cumulative maximum or minimum, or 0. */
int ordered_instruction(const LoopPlan *plan);
/* Replaces the float in a local by its key. */
void emit_ordered(Emitter *e, const Reducer *reducer, int value);

#endif
