/* The context of an evaluation, and functions that all rules share. eval.h has the rules. */
#ifndef XLA_REFERENCE_EVALUATION_H
#define XLA_REFERENCE_EVALUATION_H

#include "hlo/ir/module.h"

/* Max steps between two returns to the host if no other thread could cancel the run: a second or less. */
enum { EVAL_STEPS_ALONE = 20 * 1000 * 1000 };

/* The inputs of an evaluation other than operands. */
typedef struct EvalContext {
  Arena *arena; /* scratch: a rule may allocate here; the caller releases it */
  Error *error;
  int replica_id, partition_id;
  uint64_t *rng_state; /* 2 words; for rng and rng-get-and-update-state, advanced by their use */
  int depth;           /* of nested computations; 0 at first */
  int64_t *budget;     /* NULL, or the steps left: RESOURCE_EXHAUSTED at zero */
  const _Atomic bool
      *cancelled;      /* NULL, or set by another thread to stop the evaluation: CANCELLED */
  const int64_t *part; /* NULL, or the steps [part[0], part[1]) to compute: see eval_steps() */
  struct EvalApply *applies; /* apply.c's: those planned in the innermost eval_apply_new */
} EvalContext;

/* Threshold MAX_EVALUATION_DEPTH: calls within calls, since a worker's stack is small. Deeper calls are
** refused. No path. */
enum { MAX_EVALUATION_DEPTH = 128 };

/* Counts a nested call, undone by context->depth--; false with an error if they are too deep. */
bool evaluation_enter(const Computation *computation, EvalContext *context);

/* Takes steps from the budget, before they run. False with an error if too few are left or the run is
** cancelled, see EvalContext. */
bool evaluation_spend(EvalContext *context, int64_t steps);

/* Finds the steps [part[0], part[1]) of `count` that a rule computes: those of context->part, once.
** Computations that the rule applies compute all their places. */
void evaluation_part(EvalContext *context, int64_t count, int64_t part[2]);

/* Returns the value of an instruction that only passes values on, in the operands' own memory. NULL for other
** instructions. */
Literal *evaluation_passed_on(const Instruction *instruction, Literal *const *operands,
                              Literal *const *arguments, EvalContext *context);

/* Makes a zeroed value in the context's arena. NULL with RESOURCE_EXHAUSTED if it does not fit. */
Literal *evaluation_literal(const Shape *shape, EvalContext *context);

#endif
