/*
** Library kernels: hand-written SIMD code for whole instructions. A kernel works in phases (pack,
** then multiply, say), and each phase in chunks that any threads may take in any order; how many
** there are depends on shapes alone, so that results don't depend on the number of threads.
*/
#ifndef XLA_KERNELS_KERNELS_H
#define XLA_KERNELS_KERNELS_H

#include "hlo/module.h"

typedef struct KernelCall {
  const Instruction *instruction;
  const uint8_t *const *operands; /* leaves, dense and row-major */
  uint8_t *const *results;
  uint8_t *scratch; /* 64-byte aligned */
  /* An instruction that also calls a computation on arrays, by its attribute `calls`: that as a
  ** fusion, and where its code is. */
  const Instruction *fusion;
  int module, function;
} KernelCall;

/* Computes call->fusion. `buffers` has one pointer per operand of the fusion, then that of its
** result; they may hold anything where nobody looks at the result. */
void kernel_compute_fusion(const KernelCall *call, uint8_t *const *buffers);

typedef struct Kernel {
  const char *name;
  bool (*matches)(const Instruction *instruction);          /* can and should it run this? */
  int64_t (*scratch_bytes)(const Instruction *instruction); /* NULL: none */
  int phases;                                               /* at most */
  int (*chunks)(const Instruction *instruction, int phase); /* -1: no more phases */
  void (*run)(const KernelCall *call, int phase, int chunk);
} Kernel;

/* The kernel that runs an instruction, or NULL. */
const Kernel *kernel_for(const Instruction *instruction);

#endif
