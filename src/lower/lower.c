#include "lower/lower.h"

#include "passes/passes.h"

void lower_run(Module *module, const Target *target) {
  passes_prepare(module);
  if (target) {
    lower_expand_pooling(module);
    lower_scatter_windows(module);
  }
  passes_simplify(module, target ? lower_unroll_loops : NULL);
  lower_sort_keys(module);
  if (!target) return;
  lower_batch_comparators(module, target);
  lower_pad_windows(module, target);
  lower_fuse_loops(module, target);
  pass_dead_code(module);
}
