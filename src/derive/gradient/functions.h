/*
** Functions with known derivatives: calls of functions that JAX differentiates by rules of its own, which no export
** contains.
**
** A call of such a function, by its name, stays a call until its tangents are set (functions.c). Functions that exporters
** write into their callers are recognized by their loops, and become calls (outline.c). A rule is used only if finite
** differences of the computation itself agree with it (probe.c), so another function of the same name is differentiated
** as it is written.
*/
#ifndef XLA_DERIVE_GRADIENT_FUNCTIONS_H
#define XLA_DERIVE_GRADIENT_FUNCTIONS_H

#include "derive/gradient/linear.h"

/* Threshold MAX_OPERANDS, MAX_RESULTS, POINTS: operands, results and probed points of a known function. No path. */
enum { MAX_OPERANDS = 4, MAX_RESULTS = 2, POINTS = 3 };

/* Element-wise functions of floats, samplers, and functions of matrices. Formulas are those of add_named_formula. */
typedef struct KnownFunction {
  const char *name;
  int operands, results;
  /* The tangent of a result, for each operand; NULL: as the computation says. */
  const char *slopes[MAX_RESULTS][MAX_OPERANDS];
  /* The operands of another call of the same function, which formulas name `again`. */
  const char *again[MAX_OPERANDS];
  double points[POINTS][MAX_OPERANDS]; /* where the slopes are compared with finite differences */
  /* NULL, or sets the last operand's points for the other operands, which are constants of the program. */
  void (*place)(const double *operands, double *points);
  /* NULL, or rules of a function that formulas cannot describe: whether a call is one, and the tangent of its result
  ** (`value`), which may be NULL. */
  bool (*is)(const Instruction *call);
  Instruction *(*tangent)(WorkingComputation *working, const Instruction *call,
                          Instruction *const *operands, Instruction *value);
} KnownFunction;

/* Returns the next function with a name, without a number at its end; NULL: there is none. `after` is NULL at first. */
const KnownFunction *known_function(const char *name, const KnownFunction *after);

/* Marks a call, so that it is not inlined. */
void keep_known(Instruction *call, const KnownFunction *function);
/* Returns the function of a marked call. */
const KnownFunction *kept_function(const Instruction *call);

/* Marks calls of functions with known derivatives, in a module whose calls are not inlined yet. */
void functions_keep(Module *module);

/* Adds a call that functions_keep marked, with its tangents. */
Instruction *replace_known(WorkingComputation *working, const Instruction *x,
                           Instruction **operands, const KnownFunction *function);

/* Adds slopes of a function, which are its tangents for tangents of one. `results` and `again` may be NULL. */
Instruction *add_slope(WorkingComputation *working, const KnownFunction *f, int result, int operand,
                       Instruction *const *operands, Instruction *const *results,
                       Instruction *again, const Shape *shape, Instruction *tangent);

/* Adds the call of the same computation that formulas name `again`; NULL: they do not. */
Instruction *add_again(WorkingComputation *working, const KnownFunction *f, const Instruction *call,
                       Instruction *const *operands);

/* ---- probe.c ---- */

/* Whether finite differences of a called computation agree with a rule. */
bool slopes_hold(const KnownFunction *f, const Instruction *call);
/* Finds an instruction that is the function of `leaves`, the operands of the function: its finite differences agree with the
** rule. Returns the last such one in `roots`, or -1. `budget`: steps of the evaluator that are left. */
int find_root(const KnownFunction *f, Computation *c, Instruction *const *leaves,
              Instruction *const *roots, int count, int64_t *budget);

/* Whether an instruction, as a function of a leaf, has the values of a function whose points are complex numbers. */
bool values_hold(const KnownFunction *f, Computation *c, Instruction *leaf, Instruction *root);

/* ---- sampler.c ---- */

bool is_gamma_sampler(const Instruction *call);
Instruction *gamma_sample_tangent(WorkingComputation *working, const Instruction *call,
                                  Instruction *const *operands, Instruction *value);

/* ---- matrix_functions.c ---- */

bool is_pseudo_inverse(const Instruction *call);
bool is_determinant(const Instruction *call);
Instruction *pseudo_inverse_tangent(WorkingComputation *working, const Instruction *call,
                                    Instruction *const *operands, Instruction *value);
Instruction *determinant_tangent(WorkingComputation *working, const Instruction *call,
                                 Instruction *const *operands, Instruction *value);

/* ---- outline.c ---- */

/* Makes calls of functions that were written into their callers. */
void functions_outline(Module *module);

/* ---- outlined.c ---- */

/* Copies the instructions that `roots` depend on, up to `leaves`, into a new computation, whose parameters the leaves are.
** Leaves that are numbers stay numbers in it. Its root is a tuple, if there are several roots. NULL: they depend on another
** parameter. */
Computation *outlined(Computation *c, const char *name, Instruction *const *leaves, int leaf_count,
                      Instruction *const *roots, int root_count);

#endif
