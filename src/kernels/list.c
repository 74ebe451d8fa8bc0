/* Lists the kernels and finds the one that runs an instruction. */
#include "kernels/list.h"

extern const Kernel kernel_winograd, kernel_convolution, kernel_depthwise, kernel_dot, kernel_fft,
    kernel_gather, kernel_linalg, kernel_move, kernel_nothing, kernel_rng, kernel_select,
    kernel_sort, kernel_sort_merge, kernel_sparse, kernel_topk, kernel_update_slice;

/* The kernels; the first one that plans an instruction runs it. */
static const Kernel *const kernels[] = {
    &kernel_nothing, &kernel_depthwise, &kernel_winograd, &kernel_convolution,
    &kernel_dot,     &kernel_fft,       &kernel_gather,   &kernel_linalg,
    &kernel_move,    &kernel_rng,       &kernel_sort,     &kernel_sort_merge,
    &kernel_select,  &kernel_sparse,    &kernel_topk,     &kernel_update_slice,
};

const KernelPlan *kernel_plan(const Instruction *instruction, Arena *arena) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    KernelPlan *plan = kernels[i]->plan(instruction, arena);
    if (!plan) continue;
    plan->kernel = kernels[i];
    return plan;
  }
  return NULL;
}
