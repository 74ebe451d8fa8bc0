/*
** Declares what the derivative rules share: the working computation, and functions that add instructions to it.
**
** An instruction of the working computation is *linear* if it depends on a tangent, else *primal*. Adding one finds
** this out from its operands. Rules for linearization write linear instructions only with operations that have a
** transposition in opcodes.def.
*/
#ifndef XLA_DERIVE_GRADIENT_LINEAR_H
#define XLA_DERIVE_GRADIENT_LINEAR_H

#include "derive/gradient/options.h"
#include "hlo/ir/module.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/make.h"

typedef struct WorkingComputation WorkingComputation;
typedef struct Rule Rule;

/* Adds the cotangents of x's operands; `cotangents` has one for each leaf of x's shape, not all NULL. */
typedef void Transposition(WorkingComputation *working, Instruction *x,
                           Instruction *const *cotangents);

/* Sets the tangents of x. Some operand of x has a tangent, and x is in the working computation. */
typedef void Linearization(WorkingComputation *working, Instruction *x);

/* Adds an instruction of the source to the working computation, with these operands, or other instructions in its place.
** Returns the one with the result of x. Their tangents follow by their own rules. */
typedef Instruction *Replacement(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands);

struct Rule {
  const char *formulas[3];     /* of the tangent, for each operand; see formula.c */
  const char *complex_formula; /* of the only operand, if it is complex and needs one of its own */
  unsigned linear_operands;    /* a bit for each operand in which the operation itself is linear */
  Linearization *linearize;
  Replacement *replace;
  bool is_zero;     /* the derivative is 0 wherever it exists */
  const char *none; /* why there is no derivative */
  Transposition *transpose;
};
extern const Rule derivative_rules[OPCODE_COUNT];

/* How a loop is differentiated, if not as the options say; see segments.c. */
typedef struct CheckpointPlan {
  const Instruction *loop;
  Checkpoint checkpoint;
  int64_t max_iterations;
  Literal *const
      *literals; /* of the leaves of its state, as body_linearize takes them; NULL: not known */
} CheckpointPlan;

typedef struct Differentiation {
  Module *module;
  bool reverse;
  int64_t max_iterations;
  Checkpoint checkpoint;
  CheckpointPlan *plans;
  int plan_count, plan_capacity;
  int recomputed; /* the number of enclosing loop bodies whose values the second loop computes again */
  int guarded;    /* the number of enclosing loops that do not count their iterations: selects.c */
  CallerRules *rules; /* may be NULL */
  Error *error;
  bool failed;
  int64_t channels; /* the largest channel_id so far */
  bool *const
      *useful; /* see useful.c; by number of the computation, NULL: none of its results is */
  int useful_count;
} Differentiation;

/* Facts that selects.c finds and reads. */
typedef struct SelectFacts {
  int region,
      position; /* the region that it was added to last, and its index there; -1: a leaf of it */
  enum { POLE_UNKNOWN, NO_POLE, HAS_POLE } pole; /* of the slope of an element-wise instruction */
  bool guarded; /* a cotangent 0 times an infinite slope is 0, here and in the operands */
} SelectFacts;

/* Facts about an instruction of the working computation, by its id. */
typedef struct Facts {
  bool linear;
  Instruction **tangents;   /* one for each leaf of the shape; NULL: all are zero */
  Instruction **cotangents; /* the same */
  Transposition *transpose; /* instead of the opcode's */
  const void *data;         /* for that */
  SelectFacts select;
} Facts;

struct WorkingComputation {
  Differentiation *d;
  Arena *arena;
  const Computation *source;
  Instruction **map; /* by id in the source: the instruction of the working computation */
  Maker m;           /* adds to the working computation */
  Facts *facts;
  int fact_count, fact_capacity;
  int regions; /* how many selects.c has looked at */
};

/* ---- facts.c ---- */

/* The facts about an instruction. The pointer is good until the next call. */
Facts *facts_of(WorkingComputation *working, const Instruction *x);
bool is_linear(WorkingComputation *working, const Instruction *x);
/* Returns a tangent of an array, or of a leaf of a tuple; NULL is zero. */
Instruction *tangent_of(WorkingComputation *working, const Instruction *x);
Instruction *tangent_leaf(WorkingComputation *working, const Instruction *x, int leaf);
void set_tangent(WorkingComputation *working, const Instruction *x, Instruction *tangent);
void set_tangent_leaf(WorkingComputation *working, const Instruction *x, int leaf,
                      Instruction *tangent);
bool has_tangent(WorkingComputation *working, const Instruction *x);
/* Whether an array can have a tangent: it holds floats or complex numbers. */
bool has_derivative(const Shape *shape);
/* Whether an array, or an array of a tuple, can. */
bool any_derivative(const Shape *shape);
/* Fails with UNIMPLEMENTED, the instruction, and this reason. */
void no_derivative(WorkingComputation *working, const Instruction *x, const char *why);
/* Gives x tangents that fail with this reason when a result needs them. Many programs compute an argmax that no loss depends on. */
void refuse_derivative(WorkingComputation *working, Instruction *x, const char *why);
/* Refuses the slope of a leaf of x; the message names `from`. */
void refuse_leaf(WorkingComputation *working, Instruction *x, int leaf, const Instruction *from,
                 const char *why);
/* Fails if x is such a tangent. */
void check_refused(WorkingComputation *working, const Instruction *x);
/* Adds to the cotangent of a linear instruction; of a primal one, nothing. `cotangent` may be NULL. */
void add_cotangent(WorkingComputation *working, Instruction *x, Instruction *cotangent);
void add_cotangent_leaf(WorkingComputation *working, Instruction *x, int leaf,
                        Instruction *cotangent);
Instruction *cotangent_of(WorkingComputation *working, const Instruction *x);
/* Removes and returns the cotangent of x, or zeros, so that a rule can set another one. */
Instruction *take_cotangent(WorkingComputation *working, Instruction *x);

/* ---- linearize.c ---- */

/* Begins a working computation for `source`. Parameters are added by the caller, with linear_bind. */
void linear_begin(WorkingComputation *working, Differentiation *d, const Computation *source);
void linear_bind(WorkingComputation *working, const Instruction *parameter, Instruction *value);
/* Adds all instructions of the source, with their tangents. Returns false with the error in working->d. */
bool linear_walk(WorkingComputation *working);
/* Adds another computation's instructions, with their tangents, for these operands. Returns its result. */
Instruction *linear_inline(WorkingComputation *working, const Computation *computation,
                           Instruction **operands);
/* Writes the result of x by other operations, on operands that are parameters of a computation. */
typedef Instruction *Definition(WorkingComputation *working, const Instruction *x,
                                Instruction **operands);
/* Gives x the tangents that its definition has. The definition's values are dead code where no tangent needs them. */
void linearize_by_definition(WorkingComputation *working, Instruction *x, Definition *define);
/* Adds a placeholder for a tangent (`linear`) or a cotangent. The caller replaces it when it copies the computation. */
Instruction *linear_stand_in(WorkingComputation *working, const Shape *shape, bool linear);

/* The rule of the table, for an instruction of the working computation. */
void linearize(WorkingComputation *working, Instruction *x, const Rule *rule);
/* Copies an instruction of the source, with these operands. */
Instruction *keep_instruction(WorkingComputation *working, const Instruction *from,
                              Instruction *const *operands);

/* ---- transpose.c ---- */

/* Transposes an operation that is its own transposition, with these attributes. */
void transpose_by_itself(WorkingComputation *working, Instruction *x, Instruction *const *ct,
                         const Attributes *attributes);

/* Transposes all linear instructions, from the last one to the first one. */
bool linear_transpose(WorkingComputation *working);

/* ---- selects.c ---- */

/* Guards the operands of x, an instruction of an element-wise expression below a select: where their cotangents are 0, so
** are the products with slopes. */
void guard_operands(WorkingComputation *working, const Instruction *x);
/* Returns the product of a cotangent and the slope of x, or 0 if x is guarded and the cotangent 0. */
Instruction *guard_product(WorkingComputation *working, const Instruction *x, Instruction *ct,
                           Instruction *product);

/* ---- recognized.c ---- */

/* Returns x, or a copy without a tangent if x is the next number of another (nextafter). JAX's samplers stop the gradients of
** such bounds, which an export does not keep. */
Instruction *as_bound(WorkingComputation *working, Instruction *x);

/* ---- formula.c ---- */

/* Adds the instructions of a formula: t is `tangent`; x, y and w are the operands of `instruction`; z is its result. */
Instruction *add_formula(WorkingComputation *working, const char *formula, Instruction *instruction,
                         Instruction *tangent);

/* The names of values that need not be those of one instruction, and are arrays of `shape` or scalars. */
typedef struct FormulaNames {
  const Shape *shape;
  Instruction *const *operands, *const *results;
  Instruction *tangent, *again; /* as far as the formula has them */
} FormulaNames;
Instruction *add_named_formula(WorkingComputation *working, const char *formula,
                               const FormulaNames *names);

/* ---- trees.c: reductions by any computation ---- */

/* As a Replacement, for reduce and reduce-window; windows are reduced by `apply`. */
Instruction *replace_by_tree(WorkingComputation *working, const Instruction *x,
                             Instruction **operands);
Instruction *replace_by_windows(WorkingComputation *working, const Instruction *x,
                                Instruction **operands, Computation *apply);
/* Whether the windows are those of a scan along one dimension. */
bool is_scan(const Instruction *x);
/* Whether an initial value is known to change no product, maximum or minimum. */
bool is_neutral(Opcode opcode, const Instruction *init);

/* Applies the computation of a scatter to arrays, `count` old ones and as many updates, with their tangents. Returns false
** if it is not element-wise. */
bool inline_for_arrays(WorkingComputation *working, const Instruction *x, int count,
                       Instruction **operands, Instruction **results);

/* ---- segments.c: loops in segments of about sqrt(n) iterations ---- */

CheckpointPlan checkpoint_plan(const Differentiation *d, const Instruction *loop);
/* Writes a loop of `iterations` (an upper bound, if not `counted`) as a loop over segments, and differentiates it.
** `literals` are those of the leaves of its state. */
Instruction *replace_by_segments(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands, int64_t iterations, bool counted,
                                 Literal *const *literals);

/* ---- useful.c ---- */

/* Finds which leaves of the results of each computation a derivative can depend on. */
void useful_find(Differentiation *d, Arena *arena);
/* Clears the flags of the other leaves of c's result; in reverse mode, as forward mode multiplies first and drops then. */
void useful_restrict(const Differentiation *d, const Computation *c, bool *active);

/* ---- leaves.c ---- */

Instruction *make_element(WorkingComputation *working, Instruction *tuple, int64_t index);
/* Returns the array that a leaf of tuple instructions is; NULL if another instruction makes the tuple. */
Instruction *leaf_array(Instruction *x, int leaf);
/* Returns the value of a leaf if it is known before the run (trips.h); else NULL. */
Literal *leaf_literal(const Instruction *x, int leaf);
/* Writes the leaves of x, each as an array; there are shape_leaves(x->shape) of them. */
void make_leaves(WorkingComputation *working, Instruction *x, Instruction **out);

/* Returns elements along one dimension at the places in `places`, an array of the result's shape. */
Instruction *take_along(WorkingComputation *working, Instruction *from, Instruction *places,
                        int64_t dimension);

/* ---- The rules, by file ---- */

Linearization linearize_abs, linearize_relu, linearize_relu6, linearize_log_sum, linearize_odd,
    linearize_select, linearize_divide, linearize_logit, linearize_power, linearize_bits,
    linearize_bilinear, linearize_scatter, linearize_select_and_scatter, linearize_topk,
    linearize_cholesky, linearize_triangular_solve, linearize_elements, linearize_identity,
    linearize_collective, linearize_all_reduce, linearize_convert, linearize_custom_call,
    linearize_shard_call, linearize_ragged_dot, linearize_shifted_log, linearize_log_softmax,
    linearize_softmax;
Replacement replace_call, replace_conditional, replace_while, replace_sort, replace_reduce,
    replace_reduce_window, replace_custom_call, replace_recomputed;
Transposition transpose_negate, transpose_add, transpose_subtract, transpose_multiply,
    transpose_divide, transpose_select, transpose_convert, transpose_real, transpose_imag,
    transpose_complex, transpose_self_adjoint, transpose_broadcast, transpose_reshape,
    transpose_transpose, transpose_slice, transpose_pad, transpose_concatenate, transpose_reduce,
    transpose_element, transpose_dynamic_slice, transpose_dynamic_update_slice, transpose_gather,
    transpose_scatter, transpose_dot, transpose_convolution, transpose_reduce_window,
    transpose_select_and_scatter, transpose_fft, transpose_triangular_solve, transpose_collective,
    transpose_all_gather, transpose_reduce_scatter, transpose_collective_permute,
    transpose_collective_broadcast;

#endif
