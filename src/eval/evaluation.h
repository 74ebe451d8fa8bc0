/* What evaluating computations takes; shared by eval.c, control.c and apply.c. */
#ifndef XLA_EVAL_EVALUATION_H
#define XLA_EVAL_EVALUATION_H

#include "eval/eval.h"

enum { MAX_EVALUATION_DEPTH = 128 }; /* calls within calls; a worker's stack is small */

/* Counts a call within calls, to be undone by context->depth--; false with an error if there are
** too many. */
bool evaluation_enter(const Computation *computation, EvalContext *context);

/* Before so many steps are taken: false with an error if they may not be, see EvalContext. */
bool evaluation_spend(EvalContext *context, int64_t steps);

/* A zeroed value in the context's arena. NULL with RESOURCE_EXHAUSTED if it does not fit. */
Literal *evaluation_literal(const Shape *shape, EvalContext *context);

#endif
