/*
** Derivative rules that the caller gives, for custom calls and for computations that are called by name.
**
** A rule is the program of one call's derivative, for its shapes. Parameters and results are the leaves of the call's
** operands and results, so tuples are taken apart:
**
**   module "vjp": (operands, results, cotangents of floating-point results) -> (cotangents of floating-point operands)
**   module "jvp": (operands, results, tangents of floating-point operands) -> (tangents of floating-point results)
**
** Forward mode takes a jvp. Reverse mode takes either; a jvp must be linear in the tangents, and is transposed.
*/
#ifndef XLA_REWRITE_GRADIENT_GIVEN_H
#define XLA_REWRITE_GRADIENT_GIVEN_H

#include "rewrite/gradient/options.h"

/* Whether a custom call or a call has a rule in `rules`, which may be NULL. */
bool given_has_rule(const GivenRules *rules, const Instruction *x);

/* Makes custom calls of calls that have a rule, so that they are not inlined; the second undoes it. */
void given_keep_calls(Module *module, const GivenRules *rules);
void given_restore_calls(Module *module);

/* The same for one call, and the name of its rule. */
void given_keep_call(Instruction *call, const char *name, size_t length);
void given_restore_call(Instruction *call);

/* Returns the length of a name without a number at its end: "clip_5" and "clip.5" are "clip". */
size_t given_stem_length(const char *name, size_t length);

/* Makes a custom call return `values`, the leaves of its result, which are operands at the end: it is not done again. */
void given_set_values(Module *module, Instruction *call, Instruction *const *values, int count);

#endif
