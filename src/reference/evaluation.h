/* What evaluating computations takes; shared by eval.c, control.c and apply.c. */
#ifndef XLA_REFERENCE_EVALUATION_H
#define XLA_REFERENCE_EVALUATION_H

#include "reference/eval.h"

enum { MAX_EVALUATION_DEPTH = 128 }; /* calls within calls; a worker's stack is small */

/* Counts a call within calls, to be undone by context->depth--; false with an error if there are
** too many. */
bool evaluation_enter(const Computation *computation, EvalContext *context);

/* Before so many steps are taken: false with an error if they may not be, see EvalContext. */
bool evaluation_spend(EvalContext *context, int64_t steps);

/* The places [part[0], part[1]) that a rule is to go over, of `count`: those of context->part, once; the
** computations that it applies go over all of theirs. */
void evaluation_part(EvalContext *context, int64_t count, int64_t part[2]);

/* scatter.c's: the windows of updates, and the elements of each. */
int64_t scatter_places(const Instruction *scatter, int64_t *elements);

/* The value of an instruction that only passes values on: it is made of the operands' own memory. NULL for
** other instructions. */
Literal *evaluation_passed_on(const Instruction *instruction, Literal *const *operands,
                              Literal *const *arguments, EvalContext *context);

/* The branch that a conditional takes: an index out of range takes the last one. */
int eval_branch(const Literal *index, int count, bool predicated);

/* A zeroed value in the context's arena. NULL with RESOURCE_EXHAUSTED if it does not fit. */
Literal *evaluation_literal(const Shape *shape, EvalContext *context);

#endif
