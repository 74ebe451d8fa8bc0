/*
** Differentiates programs: from HLO to HLO, before all other rewrites.
**
** In: a module, and which of its parameters to differentiate by. Out: a new module that computes Jacobian-vector
** products (forward mode) or vector-Jacobian products (reverse mode). It is HLO as any other: it can be printed, run
** by XLA, and differentiated again.
**
** One table holds the mathematics: opcodes.def, with a row for each operation. Its *linearization* says how a small change
** of the operands changes the result: the tangent of the result is a linear function of those of the operands, written
** with instructions. The *transposition* of a linear instruction turns cotangents of its result into those of its
** operands. Forward mode linearizes. Reverse mode linearizes and then transposes. So no derivative is written twice.
**
** Invariant: a tangent has the shape of its value. No tangent (NULL) means that it is zero, and so for cotangents:
** no instruction computes with zeros. Cotangents are added in a fixed order, so results have the same bits each time.
**
** The trick: the program and its tangents are built in one working computation (linear.h), in which each instruction
** is known to be linear in the tangents or independent of them. Only the part that the results need is then copied
** into the new module. Loops and branches are cut in two: the first part computes values and saves those that the
** second part needs, which computes cotangents (loops.c, branches.c).
**
** Read opcodes.def next, then linear.h, linearize.c and transpose.c.
**
** Sources: Bradbury et al., JAX; Frostig et al., "Decomposing reverse-mode automatic differentiation" (2021). The
** conventions for complex numbers, and the choices where a derivative does not exist, are those of JAX.
*/
#ifndef XLA_DERIVE_GRADIENT_GRADIENT_H
#define XLA_DERIVE_GRADIENT_GRADIENT_H

#include "derive/gradient/options.h"
#include "hlo/infer/builder.h"

typedef enum GradientMode {
  /* Results: those of f, then the tangents of its floating-point results. One more parameter for each of `wrt`, at
  ** the end: its tangent. */
  GRADIENT_JVP,
  /* Results: the cotangents of `wrt`. One more parameter for each floating-point result, at the end: its cotangent. */
  GRADIENT_VJP,
  /* As GRADIENT_VJP for the result `of`, a real scalar, whose cotangent is 1. */
  GRADIENT_OF_SCALAR,
} GradientMode;

typedef struct GradientOptions {
  GradientMode mode;
  int wrt_count;
  const int *wrt; /* numbers of parameters */
  int of;         /* for GRADIENT_OF_SCALAR: the number of a result */
  bool value;     /* the results of f come before the cotangents */
  /* For while loops whose count is unknown, in reverse mode; 0: they are refused. */
  int64_t max_iterations;
  Checkpoint checkpoint;
  CallerRules *rules; /* may be NULL */
} GradientOptions;

/*
** Returns a new module; NULL with INVALID_ARGUMENT if the request does not fit the module, and with UNIMPLEMENTED if
** an operation on the way has no derivative. The message names the operation. `module` is not changed.
*/
Module *module_differentiate(const Module *module, const GradientOptions *options, Error *error);

/*
** Adds the gradient of `of`, a real scalar of a builder's computation, by `wrt`, other values of it: a call, whose
** result is a tuple with one element for each. The call computes the operands of `of` again; common subexpressions are
** removed later. Values with a side effect (infeed, rng, host calls) are its arguments instead; collectives that `of`
** depends on are done again. Of the options, `max_iterations` and later ones count. NULL with an error, as above.
*/
Instruction *builder_gradient(Builder *builder, const Instruction *of, Instruction *const *wrt,
                              int count, const GradientOptions *options, Error *error);

#endif
