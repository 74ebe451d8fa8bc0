#include "passes/passes.h"

/* Each makes work for the others: an inlined body has constants, a folded condition leaves a call.
** Dead code goes last, as every pass leaves what it replaced behind. */
static Pass *const passes[] = {
    pass_inline_calls,   pass_simplify_algebra,      pass_fold_transposes,
    pass_fold_constants, pass_common_subexpressions, pass_dead_code,
};

/* Every round makes the program smaller, so this is only reached by long chains of such chances,
** which are correct as they are. */
enum { MOST_ROUNDS = 16 };

void passes_prepare(Module *module) {
  pass_dead_code(module);
  pass_manual_sharding(module);
  pass_custom_calls(module);
  pass_expand_scans(module);
  pass_expand_scaled_dots(module);
}

void passes_simplify(Module *module, Pass *more) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    bool changed = false;
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) changed |= passes[i](module);
    if (more) changed |= more(module);
    if (!changed) break;
  }
}
