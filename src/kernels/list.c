/* Finds the kernel that runs an instruction. */
#include "kernels/list.h"

#include <string.h>

#include "base/step.h"

#define KERNEL(name) extern const Kernel kernel_##name;
#include "kernels/kernels.def"
#undef KERNEL

static const Kernel *const kernels[] = {
#define KERNEL(name) &kernel_##name,
#include "kernels/kernels.def"
#undef KERNEL
};

enum { KERNELS = sizeof kernels / sizeof *kernels };

_Static_assert(KERNELS <= 32, "a KernelSet has a bit for each kernel");

#ifdef XLA_FAULTS
static const Kernel *right;

/* For tests: runs a kernel, and overwrites the first 8 bytes of its result. */
static void run_wrong(const KernelCall *call, int phase, int chunk) {
  right->run(call, phase, chunk);
  if (right->plan != kernel_bounds.plan)
    memset(call->results[0], 0x42, 8); /* that one has no result */
}

static void make_wrong(KernelPlan *plan) {
  static Kernel wrong;
  right = plan->kernel;
  wrong = (Kernel){right->name, right->plan, run_wrong};
  plan->kernel = &wrong;
}
#endif

const KernelPlan *kernel_plan(const Instruction *instruction, KernelSet off, Arena *arena) {
  for (int i = 0; i < KERNELS; i++) {
    if (off >> i & 1) continue;
    step_begin("kernel-", kernels[i]->name);
    KernelPlan *plan = kernels[i]->plan(instruction, arena);
    if (!plan) continue;
    plan->kernel = kernels[i];
#ifdef XLA_FAULTS
    if (step_is_wrong("kernel-", kernels[i]->name)) make_wrong(plan);
#endif
    return plan;
  }
  return NULL;
}

const char *kernel_name(int number) { return number < KERNELS ? kernels[number]->name : NULL; }
