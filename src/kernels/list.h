/* Finds the kernel that runs an instruction. */
#ifndef XLA_KERNELS_LIST_H
#define XLA_KERNELS_LIST_H

#include "kernels/kernels.h"

/* Returns the plan of the kernel that runs an instruction, or NULL. */
const KernelPlan *kernel_plan(const Instruction *instruction, Arena *arena);

#endif
