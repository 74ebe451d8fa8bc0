#include "lower/lower.h"

#include "passes/effects.h"

/* Those that ask what the target can do. */
static const struct {
  const char *name;
  bool (*run)(Module *module, const Target *target);
  const Opcode *about;
} targeting[] = {
    {"batch-comparators", lower_batch_comparators, ABOUT(HLO_SORT)},
    {"pad-windows", lower_pad_windows, ABOUT(HLO_REDUCE_WINDOW)},
    {"split-reductions", lower_split_reductions, ABOUT(HLO_REDUCE)},
    {"fuse-loops", lower_fuse_loops, NULL},
};

/* Passes on whole modules. */
static const NamedPass
    block_scans = {"block-scans", lower_block_scans, ABOUT(HLO_REDUCE_WINDOW)},
    reduction_levels = {"reduction-levels", lower_reduction_levels, ABOUT(HLO_REDUCE)},
    expand_batch_norm = {"expand-batch-norm", lower_expand_batch_norm,
                         ABOUT(HLO_BATCH_NORM_TRAINING, HLO_BATCH_NORM_INFERENCE,
                               HLO_BATCH_NORM_GRAD)},
    normalize_floats = {"normalize-floats", lower_normalize_floats, NULL},
    count_predicates = {"count-predicates", lower_count_predicates,
                        ABOUT(HLO_DOT, HLO_CONVOLUTION)},
    plain_windows = {"plain-windows", lower_plain_windows,
                     ABOUT(HLO_REDUCE_WINDOW, HLO_SELECT_AND_SCATTER)},
    expand_pooling = {"expand-pooling", lower_expand_pooling, ABOUT(HLO_SELECT_AND_SCATTER)},
    scatter_windows = {"scatter-windows", lower_scatter_windows, ABOUT(HLO_SELECT_AND_SCATTER)},
    expand_applied = {"expand-applied", pass_expand_applied, ABOUT(HLO_MAP, HLO_REDUCE)},
    apply_in_order = {"apply-in-order", lower_apply_in_order,
                      ABOUT(HLO_SORT, HLO_SCATTER, HLO_REDUCE_WINDOW)},
    mask_windows = {"mask-windows", lower_mask_windows, ABOUT(HLO_REDUCE_WINDOW)},
    expand_scans = {"expand-scans", pass_expand_scans, ABOUT(HLO_SCAN)},
    counters = {"counters", lower_counters, ABOUT(HLO_WHILE)},
    narrow = {"narrow", lower_narrow, ABOUT(HLO_SLICE)},
    hoist_loops = {"hoist-loops", lower_hoist_loops, ABOUT(HLO_WHILE)},
    sort_keys = {"sort-keys", lower_sort_keys, ABOUT(HLO_SORT)},
    large_topk = {"large-topk", lower_large_topk, ABOUT(HLO_TOPK)},
    logistic = {"logistic", lower_logistic, ABOUT(HLO_DIVIDE)},
    small_dots = {"small-dots", lower_small_dots, ABOUT(HLO_DOT)},
    order_convolutions = {"order-convolutions", lower_order_convolutions, ABOUT(HLO_CONVOLUTION)},
    unroll_loops = {"unroll-loops", lower_unroll_loops, ABOUT(HLO_WHILE)},
    merge_dimensions = {"merge-dimensions", lower_merge_dimensions, NULL},
    fuse_siblings = {"fuse-siblings", lower_fuse_siblings, NULL},
    share_computations = {"share-computations", pass_share_computations, NULL},
    dead_code = {"dead-code", pass_dead_code, NULL};

void lower_run(Module *module, const Target *target, PassWatch *watch) {
  passes_prepare(module, watch);
  pass_run(block_scans, module, watch);
  if (target) {
    pass_run(plain_windows, module, watch);
    pass_run(normalize_floats, module, watch);
    pass_run(count_predicates, module, watch);
    pass_run(reduction_levels, module, watch);
    pass_run(expand_batch_norm, module, watch);
    pass_run(expand_pooling, module, watch);
    pass_run(scatter_windows, module, watch);
    bool changed = pass_run(expand_applied, module, watch);
    changed |= pass_run(apply_in_order, module, watch);
    pass_run(mask_windows, module, watch);
    if (changed) pass_run(expand_scans, module, watch);
  }
  passes_simplify(module, target ? &unroll_loops : NULL, watch);
  if (target) {
    bool changed = pass_run(counters, module, watch);
    changed |= pass_run(narrow, module, watch);
    changed |= pass_run(hoist_loops, module, watch);
    if (changed) passes_simplify(module, NULL, watch);
  }
  pass_run(sort_keys, module, watch);
  if (!target) return;
  pass_run(large_topk, module, watch);
  pass_run(logistic, module, watch);
  lower_differences(module);
  pass_run(small_dots, module, watch);
  pass_run(merge_dimensions, module, watch);
  pass_run(order_convolutions, module, watch);
  for (size_t i = 0; i < sizeof targeting / sizeof *targeting; i++) {
    if (targeting[i].about && !module_has(module, targeting[i].about)) continue;
    module_keep_roots(module);
    Effects *effects = effects_list(module);
    bool changed = targeting[i].run(module, target);
    effects_check(effects, module, targeting[i].name);
    effects_free(effects);
    if (changed && watch) watch->changed(watch, targeting[i].name, module);
  }
  pass_run(fuse_siblings, module, watch);
  pass_run(share_computations, module, watch);
  pass_run(dead_code, module, watch);
}
