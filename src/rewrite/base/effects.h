/*
** Checks that rewrites keep side effects, for builds that test (XLA_CHECKS): their number, their order,
** and the loops and branches around them.
*/
#ifndef XLA_REWRITE_BASE_EFFECTS_H
#define XLA_REWRITE_BASE_EFFECTS_H

#include "hlo/ir/module.h"

typedef struct Effects Effects;

#ifdef XLA_CHECKS

/* Lists a module's side effects; NULL if it has none, or too many to compare. Free with effects_free. */
Effects *effects_list(const Module *module);
void effects_free(Effects *effects);

/* Aborts, naming the pass, if the module's side effects are not those listed before it. Exceptions are branches
** that were chosen and loops known to make no iteration. `before` may be NULL. */
void effects_check(const Effects *before, const Module *after, const char *pass);
#else
static inline Effects *effects_list(const Module *module) { return NULL; }
static inline void effects_free(Effects *effects) {}
static inline void effects_check(const Effects *before, const Module *after, const char *pass) {}
#endif

#endif
