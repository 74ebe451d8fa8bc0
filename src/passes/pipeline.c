#include "passes/passes.h"

static const NamedPass preparing[] = {
    {"share-computations", pass_share_computations},
    {"dead-code", pass_dead_code},
    {"expand-bitcasts", pass_expand_bitcasts},
    {"manual-sharding", pass_manual_sharding},
    {"custom-calls", pass_custom_calls},
    {"expand-applied", pass_expand_applied},
    {"expand-scans", pass_expand_scans},
    {"expand-scaled-dots", pass_expand_scaled_dots},
};

/* Each makes work for the others: an inlined body has constants, a folded condition leaves a call.
** Dead code goes last, as every pass leaves what it replaced behind. */
static const NamedPass simplifying[] = {
    {"inline-calls", pass_inline_calls},
    {"simplify-algebra", pass_simplify_algebra},
    {"fold-transposes", pass_fold_transposes},
    {"fold-constants", pass_fold_constants},
    {"common-subexpressions", pass_common_subexpressions},
    {"loop-state", pass_loop_state},
    {"branch-state", pass_branch_state},
    {"dead-code", pass_dead_code},
};

/* Every round makes the program smaller, so this is only reached by long chains of such chances,
** which are correct as they are. */
enum { MOST_ROUNDS = 16 };

bool pass_run(NamedPass pass, Module *module, PassWatch *watch) {
  module_keep_roots(module);
  bool changed = pass.run(module);
  if (changed && watch) watch->changed(watch, pass.name, module);
  return changed;
}

void passes_prepare(Module *module, PassWatch *watch) {
  for (size_t i = 0; i < sizeof preparing / sizeof *preparing; i++) {
    pass_run(preparing[i], module, watch);
  }
}

void passes_simplify(Module *module, const NamedPass *more, PassWatch *watch) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    bool changed = false;
    for (size_t i = 0; i < sizeof simplifying / sizeof *simplifying; i++) {
      changed |= pass_run(simplifying[i], module, watch);
    }
    if (more) changed |= pass_run(*more, module, watch);
    if (!changed) break;
  }
}
