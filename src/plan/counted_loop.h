/*
** Finds the number of iterations of a while loop that counts between two constants.
*/
#ifndef XLA_PLAN_COUNTED_LOOP_H
#define XLA_PLAN_COUNTED_LOOP_H

#include "hlo/ir/module.h"

typedef struct CountedLoop {
  int64_t element; /* of the loop's state: the counter */
  int64_t first, step;
  int64_t iterations;
} CountedLoop;

/* Returns false unless `loop` has the form `for (i = first; i < end; i += step)`, where all three are constants
** and step is positive. */
bool counted_loop_find(const Instruction *loop, CountedLoop *out);

#endif
