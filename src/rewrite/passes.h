/*
** The passes: each rewrites a module into an equivalent one; rewrite/pipeline.def lists them in order.
** A pass returns whether it changed anything; it never fails on a verified module.
*/
#ifndef XLA_REWRITE_PASSES_H
#define XLA_REWRITE_PASSES_H

#include "hlo/ir/module.h"

bool pass_custom_calls(Module *module);        /* those that spell an operation XLA has */
bool pass_manual_sharding(Module *module);     /* shard_map and pmap: devices are partitions */
bool pass_collective_reducers(Module *module); /* of the type of what they reduce */
bool pass_inline_calls(Module *module); /* call and async-start/done: their bodies in place */
bool pass_dead_code(Module *module);    /* what no result and no side effect needs */
bool pass_loop_state(Module *module);   /* removes dead elements of it */
bool pass_branch_state(Module *module); /* the same of what branches give and are given */
bool pass_common_subexpressions(Module *module);
bool pass_share_computations(Module *module);     /* that are applied to elements, or loops */
bool computation_share(Computation *computation); /* that pass, on one */
bool pass_simplify_algebra(Module *module);       /* only what keeps every bit */
bool pass_fold_transposes(Module *module);        /* into dots and convolutions */
bool pass_fold_constants(Module *module);         /* by the evaluator, for small results */
bool pass_expand_applied(Module *module);         /* map and reduce by whole programs, as scans */
bool pass_expand_scans(Module *module);           /* as while loops */
bool pass_expand_scaled_dots(Module *module);     /* as dots of what was scaled */
bool pass_expand_bitcasts(Module *module);        /* as transposes and reshapes */

/* Is told what a pass, which changed something, made of the module. */
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
/* Makes all users of `from` use `to` (the root too). */
void instruction_replace_uses(Instruction *from, Instruction *to);

#endif
