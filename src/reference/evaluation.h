/* Helps evaluate computations; shared by eval.c, control.c and apply.c. */
#ifndef XLA_REFERENCE_EVALUATION_H
#define XLA_REFERENCE_EVALUATION_H

#include "reference/eval.h"

enum { MAX_EVALUATION_DEPTH = 128 }; /* calls within calls; a worker's stack is small */

/* Counts a nested call, undone by context->depth--; false with an error if they are too deep. */
bool evaluation_enter(const Computation *computation, EvalContext *context);

/* Takes steps from the budget, before they run. False with an error if too few are left or the run is
** cancelled, see EvalContext. */
bool evaluation_spend(EvalContext *context, int64_t steps);

/* Finds the places [part[0], part[1]) of `count` that a rule computes: those of context->part, once.
** Computations that the rule applies compute all their places. */
void evaluation_part(EvalContext *context, int64_t count, int64_t part[2]);

/* scatter.c's places: the windows of updates, and the number of elements in each. */
int64_t scatter_places(const Instruction *scatter, int64_t *elements);

/* Returns the value of an instruction that only passes values on, in the operands' own memory. NULL for other
** instructions. */
Literal *evaluation_passed_on(const Instruction *instruction, Literal *const *operands,
                              Literal *const *arguments, EvalContext *context);

/* Returns the branch that a conditional takes: the last one if the index is out of range. */
int eval_branch(const Literal *index, int count, bool predicated);

/* Makes a zeroed value in the context's arena. NULL with RESOURCE_EXHAUSTED if it does not fit. */
Literal *evaluation_literal(const Shape *shape, EvalContext *context);

#endif
