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
#ifndef XLA_DERIVE_GRADIENT_CALLER_RULES_H
#define XLA_DERIVE_GRADIENT_CALLER_RULES_H

#include "derive/gradient/options.h"

/* Whether a custom call or a call has a rule in `rules`, which may be NULL. */
bool caller_has_rule(const CallerRules *rules, const Instruction *x);

/* Keeps the calls that have a rule (kept_calls.h). */
void caller_keep_calls(Module *module, const CallerRules *rules);

/* Gives a custom call its results: `values`, the leaves of its result, become further operands. So the call is not done
** again. */
void given_set_values(Module *module, Instruction *call, Instruction *const *values, int count);

#endif
