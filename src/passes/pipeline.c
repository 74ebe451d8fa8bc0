#include "passes/passes.h"

#include "passes/effects.h"

static const NamedPass preparing[] = {
    {"share-computations", pass_share_computations, NULL},
    {"dead-code", pass_dead_code, NULL},
    {"expand-bitcasts", pass_expand_bitcasts, ABOUT(HLO_BITCAST)},
    {"manual-sharding", pass_manual_sharding, ABOUT(HLO_CUSTOM_CALL)},
    {"collective-reducers", pass_collective_reducers,
     ABOUT(HLO_ALL_REDUCE, HLO_ALL_REDUCE_START, HLO_REDUCE_SCATTER)},
    {"custom-calls", pass_custom_calls, ABOUT(HLO_CUSTOM_CALL)},
    {"expand-applied", pass_expand_applied, ABOUT(HLO_MAP, HLO_REDUCE)},
    {"expand-scans", pass_expand_scans, ABOUT(HLO_SCAN)},
    {"expand-scaled-dots", pass_expand_scaled_dots, ABOUT(HLO_SCALED_DOT)},
};

/* Each makes work for the others: an inlined body has constants, a folded condition leaves a call.
** Dead code goes last, as every pass leaves what it replaced behind. */
static const NamedPass simplifying[] = {
    {"inline-calls", pass_inline_calls, NULL},
    {"simplify-algebra", pass_simplify_algebra, NULL},
    {"fold-transposes", pass_fold_transposes, ABOUT(HLO_DOT, HLO_CONVOLUTION)},
    {"fold-constants", pass_fold_constants, NULL},
    {"common-subexpressions", pass_common_subexpressions, NULL},
    {"loop-state", pass_loop_state, ABOUT(HLO_WHILE)},
    {"branch-state", pass_branch_state, ABOUT(HLO_CONDITIONAL, HLO_CALL)},
    {"dead-code", pass_dead_code, NULL},
};

/* Every round makes the program smaller, so this is only reached by long chains of such chances,
** which are correct as they are. */
enum { MOST_ROUNDS = 16 };

static bool computation_has(const Computation *computation, const Opcode *about) {
  for (int i = 0; i < computation->count; i++) {
    Opcode opcode = computation->instructions[i]->opcode;
    for (int k = 0; about[k] != OPCODE_COUNT; k++) {
      if (about[k] == opcode) return true;
    }
  }
  return false;
}

bool module_has(const Module *module, const Opcode *about) {
  for (int c = 0; c < module->count; c++) {
    if (computation_has(module->computations[c], about)) return true;
  }
  return false;
}

/* Whether a pass turns custom calls into collectives or plain operations. */
static bool replaces_effects(NamedPass pass) {
  return pass.run == pass_manual_sharding || pass.run == pass_custom_calls;
}

bool pass_run(NamedPass pass, Module *module, PassWatch *watch) {
  if (pass.about && !module_has(module, pass.about)) return false;
  module_keep_roots(module);
  Effects *effects = replaces_effects(pass) ? NULL : effects_list(module);
  bool changed = pass.run(module);
  effects_check(effects, module, pass.name);
  effects_free(effects);
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
