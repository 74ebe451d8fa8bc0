/* Finds the kernel that runs an instruction. */
#ifndef XLA_KERNELS_LIST_H
#define XLA_KERNELS_LIST_H

#include "kernels/kernels.h"

/* Returns the plan of the first kernel that runs an instruction and is not in `off`, or NULL. */
const KernelPlan *kernel_plan(const Instruction *instruction, KernelSet off, Arena *arena);

/* The name of kernel number `number` that can be switched off; NULL: there are no more. */
const char *kernel_name(int number);

#endif
