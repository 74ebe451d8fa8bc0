/*
** The reference evaluator: slow, obvious, complete. It is the oracle that compiled code is tested
** against, the constant folder, and what runs every instruction that nothing faster runs.
**
** Every rule computes one instruction from literals to a literal whose memory the caller gives.
** Elements go through Scalar (value/scalar.h), so a rule is written once for all element types.
*/
#ifndef XLA_REFERENCE_EVAL_H
#define XLA_REFERENCE_EVAL_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

/* Where rng_state's low word begins on replica 0: XLA:CPU's. Each other replica begins so much
** further that they do not meet. The high word is the run's seed. */
#define RNG_STATE_START      UINT64_C(0x7012395)
#define RNG_STATE_OF_REPLICA (UINT64_C(1) << 48)

/* The budget of what no other thread could stop, between two returns to the host: a second or less. */
enum { EVAL_STEPS_ALONE = 20 * 1000 * 1000 };

/* What an evaluation may need besides operands. */
typedef struct EvalContext {
  Arena *arena; /* scratch: a rule may allocate here; the caller releases it */
  Error *error;
  int replica_id, partition_id;
  uint64_t *rng_state; /* 2 words; for rng and rng-get-and-update-state, advanced by their use */
  int depth;           /* of computations that are being evaluated; 0 at first */
  int64_t *budget; /* NULL, or of how many steps it may take: RESOURCE_EXHAUSTED where it ends */
  const _Atomic bool *cancelled; /* NULL, or set by whoever wants it to stop: CANCELLED */
  const int64_t *part; /* NULL, or which places [part[0], part[1]) to go over: see eval_places() */
  struct EvalApply *applies; /* apply.c's: those that are planned in the innermost eval_apply_new */
} EvalContext;

/* Whether there is a rule for it: else kernels or the runtime run it. */
bool eval_knows(const Instruction *instruction);
/*
** Computes `instruction`. operands[i] has the shape of the i-th operand; `result` has the
** instruction's shape and memory for all its leaves, which does not overlap the operands'.
** Collectives, infeed, outfeed, send, recv and custom calls that are not built in are not here:
** they need the runtime (FAILED_PRECONDITION). Control flow is, on computations free of those.
** False with context->error.
*/
bool eval_instruction(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context);

/* How many places an instruction's rule goes over, one after the other; 0 where it can't be run in parts.
** Parts that begin at 0 and follow each other make the result; those of places that are *apart, in any
** order. *elements: that it looks at in each place. */
int64_t eval_places(const Instruction *instruction, int64_t *elements, bool *apart);

/* Runs a whole computation on arguments; the result's memory is in the context's arena, or is an
** argument's or a constant's. NULL with context->error. */
Literal *eval_computation(const Computation *computation, Literal *const *arguments,
                          EvalContext *context);

/*
** As eval_instruction, for calls, branches and loops, of which an evaluation can stop between any two
** instructions. It begins (NULL with context->error), and goes on until it is over or the clock passes
** `deadline_us` (0: none); false with context->error. It lies in the context's arena, to which nothing may be
** added or given back meanwhile; the context may be another one each time.
*/
typedef struct Evaluation Evaluation;
bool eval_is_resumable(const Instruction *instruction);
Evaluation *evaluation_begin(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context);
bool evaluation_resume(Evaluation *evaluation, EvalContext *context, double deadline_us);
bool evaluation_is_over(const Evaluation *evaluation);

/* Applies a computation to scalars: `arguments` and the result as Scalars of the parameters' and
** root's types; a tuple root gives `result_count` scalars. Used by reduce, sort, scatter, map....
** eval_apply_new looks at the computation once; the short way is taken for `op(p0, p1)`. */
typedef struct EvalApply EvalApply;
EvalApply *eval_apply_new(const Computation *computation, EvalContext *context);
bool eval_apply(EvalApply *apply, const Scalar *arguments, Scalar *results);

/* The families: each computes the opcodes of its file; eval.c's table says which. */
typedef bool EvalRule(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context);
EvalRule eval_elementwise, eval_convert, eval_bitcast_convert, eval_select, eval_clamp, eval_map,
    eval_iota, eval_constant, eval_replica_id, eval_bitcast, eval_broadcast, eval_concatenate,
    eval_copy, eval_dynamic_slice, eval_dynamic_update_slice, eval_gather, eval_pad, eval_reshape,
    eval_reverse, eval_slice, eval_transpose, eval_get_dimension_size, eval_set_dimension_size,
    eval_dot, eval_ragged_dot, eval_scaled_dot, eval_convolution, eval_reduce, eval_reduce_window,
    eval_select_and_scatter, eval_scatter, eval_sort, eval_topk, eval_fft, eval_cholesky,
    eval_triangular_solve, eval_batch_norm, eval_rng, eval_rng_bit_generator, eval_rng_state,
    eval_structure, eval_control, eval_scan, eval_custom_call;

#endif
