/*
** Counts the iterations of a loop, if its condition depends on nothing but constants.
**
** Loops of the form `for (i = first; i < end; i += step)` are counted by plan/counted_loop.h. All others are run here, by
** the evaluator, without the part of their state that the condition does not read: loops that count down, in steps that
** change, by two counters, in floating-point numbers.
*/
#ifndef XLA_REWRITE_GRADIENT_TRIPS_H
#define XLA_REWRITE_GRADIENT_TRIPS_H

#include "rewrite/gradient/body.h"

enum { MAX_COUNTED_TRIPS = 1 << 20 };

/* Sets a flag for each leaf of the body's parameters that `x` depends on. False if it cannot be evaluated. */
bool find_inputs(Body *b, const Instruction *x, bool *leaves);
/* Adds the leaves of the state that those with a flag depend on, in any iteration. False as above. */
bool find_state(Body *body, bool *leaves);

/* Returns -1 if the count is not known, or above MAX_COUNTED_TRIPS. `init`: the leaves of the state before the loop.
** *unknown: a leaf that the condition depends on and that does not begin with a constant; -1: there is none. */
int64_t count_trips(Body *condition, Body *body, Instruction *const *init, int *unknown);

#endif
