/*
** Calls that are not inlined before they are differentiated, as they have a rule: a caller's (caller_rules.h) or one of the table
** of known functions (functions.h). They are custom calls meanwhile, with the rule's name as their target.
*/
#ifndef XLA_DERIVE_GRADIENT_KEPT_CALLS_H
#define XLA_DERIVE_GRADIENT_KEPT_CALLS_H

#include "hlo/ir/module.h"

/* Makes a call a custom call with the name of its rule. */
void keep_call(Instruction *call, const char *name, size_t length);
/* Makes a kept call a call again. */
void restore_kept_call(Instruction *call);
void restore_kept_calls(Module *module);
bool is_kept_call(const Instruction *x);

/* Whether a custom call has this mark in its frontend_attributes. A program that has marks was made here. */
bool has_gradient_mark(const Instruction *x, const FrontendAttributes *mark);

/* Returns the length of a name without a number at its end: "clip_5" and "clip.5" are "clip". */
size_t name_stem_length(const char *name, size_t length);

#endif
