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

/* Merges the computations that `computation` applies or calls and that are alike. */
bool computation_share(Computation *computation);

/* A listener that is called with the module after each pass that changed something. */
typedef struct PassWatch PassWatch;
struct PassWatch {
  void (*changed)(PassWatch *watch, const char *pass, const Module *module);
};

/* Whether a module has any of these operations; OPCODE_COUNT ends the list. No rewrite about operations that a
** module lacks is entered: the engine compiles a function at its first call, and most programs need few. */
bool module_has(const Module *module, const Opcode *about);
#define ABOUT(...) ((const Opcode[]){__VA_ARGS__, OPCODE_COUNT})

/* Shared by passes. */
bool instruction_has_own_effect(const Instruction *instruction);  /* whatever it calls */
bool instruction_has_side_effect(const Instruction *instruction); /* or calls something that has */

#endif
