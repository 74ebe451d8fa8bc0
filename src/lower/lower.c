#include "lower/lower.h"

/* Those that ask what the target can do. */
static const struct {
  const char *name;
  bool (*run)(Module *module, const Target *target);
} targeting[] = {
    {"batch-comparators", lower_batch_comparators},
    {"pad-windows", lower_pad_windows},
    {"split-reductions", lower_split_reductions},
    {"fuse-loops", lower_fuse_loops},
};

void lower_run(Module *module, const Target *target, PassWatch *watch) {
  static const NamedPass unroll_loops = {"unroll-loops", lower_unroll_loops};
  passes_prepare(module, watch);
  pass_run((NamedPass){"block-scans", lower_block_scans}, module, watch);
  if (target) {
    pass_run((NamedPass){"expand-batch-norm", lower_expand_batch_norm}, module, watch);
    pass_run((NamedPass){"expand-pooling", lower_expand_pooling}, module, watch);
    pass_run((NamedPass){"scatter-windows", lower_scatter_windows}, module, watch);
    bool changed = pass_run((NamedPass){"expand-applied", pass_expand_applied}, module, watch);
    changed |= pass_run((NamedPass){"apply-in-order", lower_apply_in_order}, module, watch);
    pass_run((NamedPass){"mask-windows", lower_mask_windows}, module, watch);
    if (changed) pass_run((NamedPass){"expand-scans", pass_expand_scans}, module, watch);
  }
  passes_simplify(module, target ? &unroll_loops : NULL, watch);
  if (target) {
    bool changed = pass_run((NamedPass){"counters", lower_counters}, module, watch);
    changed |= pass_run((NamedPass){"narrow", lower_narrow}, module, watch);
    changed |= pass_run((NamedPass){"hoist-loops", lower_hoist_loops}, module, watch);
    if (changed) passes_simplify(module, NULL, watch);
  }
  pass_run((NamedPass){"sort-keys", lower_sort_keys}, module, watch);
  if (!target) return;
  pass_run((NamedPass){"large-topk", lower_large_topk}, module, watch);
  pass_run((NamedPass){"logistic", lower_logistic}, module, watch);
  lower_differences(module);
  pass_run((NamedPass){"small-dots", lower_small_dots}, module, watch);
  pass_run((NamedPass){"merge-dimensions", lower_merge_dimensions}, module, watch);
  pass_run((NamedPass){"order-convolutions", lower_order_convolutions}, module, watch);
  for (size_t i = 0; i < sizeof targeting / sizeof *targeting; i++) {
    module_keep_roots(module);
    bool changed = targeting[i].run(module, target);
    if (changed && watch) watch->changed(watch, targeting[i].name, module);
  }
  pass_run((NamedPass){"fuse-siblings", lower_fuse_siblings}, module, watch);
  pass_run((NamedPass){"share-computations", pass_share_computations}, module, watch);
  pass_run((NamedPass){"dead-code", pass_dead_code}, module, watch);
}
