/*
** Declares the passes. A pass rewrites a verified module into an equivalent one and returns whether it changed
** anything; it never fails. rewrite/base/passes.def lists them in order.
*/
#ifndef XLA_REWRITE_BASE_PASSES_H
#define XLA_REWRITE_BASE_PASSES_H

#include "hlo/ir/module.h"
#include "plan/fusible.h"

/* Those of the table, which says the purpose of each. */
#define PASS(stage, need, name, function, about, why) bool function(Module *module);
#define PASS_FOR(stage, need, name, function, about, why) \
  bool function(Module *module, const Target *target);
#include "rewrite/base/passes.def"
#undef PASS
#undef PASS_FOR

/* Replaces instructions of a computation by equal earlier ones. Returns whether it changed anything. */
bool eliminate_common_subexpressions(Computation *computation);

#endif
