/*
** Evaluates instructions: the reference evaluator, slow, obvious and complete. Tests compare compiled code with it,
** the constant folder uses it, and it runs every instruction that no kernel or region runs.
**
** Each opcode has one rule. A rule computes one instruction, from literals to a literal whose memory the caller gives.
** Elements are converted to Scalar (value/scalar.h), so a rule is written once for all element types.
**
** Invariant: a result has the instruction's shape, and its memory does not overlap the operands'.
**
** Read eval.c next, whose table lists the rules; then elementwise.c, the simplest rules; then control.c and resume.c,
** which run computations.
*/
#ifndef XLA_REFERENCE_EVAL_H
#define XLA_REFERENCE_EVAL_H

#include "reference/evaluation.h"
#include "value/scalar.h"

/* The initial low word of rng_state on replica 0, as in XLA:CPU. The other replicas' words are far enough apart
** that their sequences do not overlap. The high word is the run's seed. */
#define RNG_STATE_START UINT64_C(0x7012395)
/* The distance of the states of two replicas. */
#define RNG_STATE_OF_REPLICA (UINT64_C(1) << 48)

/* Whether an instruction has a rule; otherwise kernels or the runtime run it. */
bool eval_knows(const Instruction *instruction);
/*
** Computes `instruction`. operands[i] has the shape of the i-th operand; `result` has the
** instruction's shape and memory for all its leaves, which does not overlap the operands'.
** Collectives, infeed, outfeed, send, recv and custom calls that are not built in have no rule, as
** they need the runtime (FAILED_PRECONDITION). Control flow has, on computations free of those.
** Returns false with context->error.
*/
bool eval_instruction(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context);

/* Returns the number of steps that an instruction's rule takes one after the other; 0 if it cannot run in
** parts. Parts must begin at 0 and follow each other, or, if the steps are *independent, run in any order.
** *elements: the number of elements read in each step. */
int64_t eval_steps(const Instruction *instruction, int64_t *elements, bool *independent);

/* Runs a whole computation on arguments; the result's memory is in the context's arena, or is an
** argument's or a constant's. NULL with context->error. */
Literal *eval_computation(const Computation *computation, Literal *const *arguments,
                          EvalContext *context);

/*
** As eval_instruction, for calls, branches and loops, in an evaluation that can stop between any two
** instructions. It begins (NULL with context->error), and continues until it ends or the clock passes
** `deadline_us` (0: none); false with context->error. It owns the context's arena until then: no other code may
** allocate or release there. Each call may pass another context.
*/
typedef struct Evaluation Evaluation;
bool eval_is_resumable(const Instruction *instruction);
Evaluation *evaluation_begin(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context);
bool evaluation_resume(Evaluation *evaluation, EvalContext *context, double deadline_us);
bool evaluation_is_over(const Evaluation *evaluation);

/* Applies a computation to scalars: `arguments` and the result as Scalars of the parameters' and
** root's types; a tuple root gives `result_count` scalars. Used by reduce, sort, scatter, map....
** eval_apply_new analyses the computation once; `op(p0, p1)` has a fast path. */
typedef struct EvalApply EvalApply;
EvalApply *eval_apply_new(const Computation *computation, EvalContext *context);
bool eval_apply(EvalApply *apply, const Scalar *arguments, Scalar *results);

/* scatter.c's places: the windows of updates, and the number of elements in each. */
int64_t scatter_steps(const Instruction *scatter, int64_t *elements);

/* Returns the computation that a call, a fusion or a conditional runs, and its arguments. If the index of a branch is out of
** range, that is the last one. */
const Computation *eval_called(const Instruction *x, Literal *const *operands,
                               Literal *const **arguments, EvalContext *context);

/* The rules, one per family: eval.c's table lists the opcodes of each. */
typedef bool EvalRule(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context);
EvalRule eval_elementwise, eval_convert, eval_bitcast_convert, eval_select, eval_clamp, eval_map,
    eval_iota, eval_constant, eval_replica_id, eval_bitcast, eval_broadcast, eval_concatenate,
    eval_copy, eval_dynamic_slice, eval_dynamic_update_slice, eval_gather, eval_pad, eval_reshape,
    eval_reverse, eval_slice, eval_transpose, eval_get_dimension_size, eval_set_dimension_size,
    eval_convolution, eval_reduce, eval_reduce_window, eval_select_and_scatter, eval_scatter,
    eval_sort, eval_topk, eval_batch_norm, eval_rng, eval_rng_bit_generator, eval_rng_state,
    eval_structure, eval_control, eval_custom_call;

/* Adds a rule for an operation that kernels run in the download: tests/textbook does, in builds that have it.
** Called before any evaluation. */
void eval_add_rule(Opcode opcode, EvalRule *rule);
/* Returns the rule that was added for custom calls; NULL if there is none. */
EvalRule *eval_added_custom_call(void);

#endif
