/*
** Counts the iterations of a loop, or finds an upper bound.
**
** Loops of the form `for (i = first; i < end; i += step)` are counted by plan/counted_loop.h. All others are run here, by
** the evaluator, without the part of their state that the condition does not read: loops that count down, in steps that
** change, by two counters, in floating-point numbers.
**
** An upper bound follows from each part of a condition that must hold, if that part depends on constants only:
** `i < n` in `i < n && error > tolerance`. A part of the state may be such a condition, made by the iteration before. In a
** batch, the counter of an element that is still active is the same for all elements.
**
** What a loop begins with may be the counter of a loop around it: then it is run for each value of that counter.
*/
#ifndef XLA_DERIVE_GRADIENT_TRIPS_H
#define XLA_DERIVE_GRADIENT_TRIPS_H

#include "derive/gradient/body.h"

/* Threshold MAX_COUNTED_TRIPS: the count of a longer loop is not looked for; the error asks for maxTrips. No path. */
/* Threshold MAX_VALUES_AROUND: of a longer loop the values are not looked at; the error asks for maxTrips.
** No path in tests. */
enum { MAX_COUNTED_TRIPS = 1 << 20, MAX_VALUES_AROUND = 1 << 12 };

/* Sets a flag for each leaf of the body's parameters that `x` depends on. False if it cannot be evaluated. */
bool find_inputs(Body *b, const Instruction *x, bool *leaves);
/* Adds the leaves of the state that those with a flag depend on, in any iteration. False as above. */
bool find_state(Body *body, bool *leaves);

/* The number of iterations of a loop, as far as it is known before the run. */
typedef struct Trips {
  int64_t max; /* -1: no bound is known, or it is above MAX_COUNTED_TRIPS */
  bool exact;  /* the loop makes that many */
  int unknown; /* without a bound: a leaf that the condition depends on and that does not begin with a constant; -1 */
  int64_t many; /* without a bound: the number, if it is above MAX_COUNTED_TRIPS; else 0 */
} Trips;

/* `init`: the leaves of the state before the loop, in the working computation `around`. */
Trips count_trips(WorkingComputation *around, Body *condition, Body *body,
                  Instruction *const *init);

/* Returns the values that a scalar of the working computation has in the iterations of a loop around it, in one dimension;
** NULL if they are not known, or x is a constant or NULL. */
Literal *values_around(WorkingComputation *working, Instruction *x);

#endif
