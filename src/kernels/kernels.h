/*
** Library kernels: hand-written SIMD code for whole instructions. What follows from the instruction
** is worked out once, when the program is compiled: the plan. A kernel works in phases (pack, then
** multiply, say), and each phase in chunks that any threads may take in any order; how many there are
** depends on shapes alone, so that results don't depend on the number of threads.
*/
#ifndef XLA_KERNELS_KERNELS_H
#define XLA_KERNELS_KERNELS_H

#include "hlo/ir/module.h"

typedef struct Kernel Kernel;

/* What all kernels' plans begin with. */
typedef struct KernelPlan KernelPlan;
struct KernelPlan {
  const Kernel *kernel;
  int64_t scratch_bytes; /* of one call */
  int phases;
  const int *chunks; /* of each phase; 0: it has nothing to do */
  bool is_long;      /* a chunk may take milliseconds, however few there are */
  /* If it makes its only result row after row: the elements of one of these, and which rows
  ** [rows[0], rows[1]) a chunk of a phase completes, if any; else NULL. Each row is completed once, and
  ** nothing reads or writes it afterwards. */
  int64_t row_elements;
  void (*rows)(const KernelPlan *plan, int phase, int chunk, int64_t rows[2]);
};

typedef struct KernelCall KernelCall;
struct KernelCall {
  const KernelPlan *plan;
  const Instruction *instruction;
  const uint8_t *const *operands; /* leaves, dense and row-major */
  uint8_t *const *results;
  uint8_t *scratch; /* 64-byte aligned */
  /* Of an instruction that also calls a computation on arrays, by its attribute `calls`: computes
  ** that. `buffers` has one pointer per parameter, then that of the result; they may hold anything
  ** where nobody looks at the result. Callable from any thread. */
  void (*compute)(const KernelCall *call, uint8_t *const *buffers);
  const void *computed; /* for `compute` */
  /* A chunk that takes long and is not done says so here, and is run again soon, on any thread. */
  bool *again;
  /* In the only chunk of a phase: part(argument, i), which returns true, for each i < parts; idle threads
  ** help. Where the run has been cancelled, not for all of them. */
  void (*share)(const KernelCall *call, int parts, bool (*part)(void *argument, int i),
                void *argument);
  const void *sharer;       /* for `share` */
  const _Atomic bool *stop; /* the run has been cancelled: nobody looks at results any more */
  double deadline_us;       /* by platform_now_us(), from when on others wait; 0: none do */
};

struct Kernel {
  const char *name;
  /* The plan for an instruction, in the arena and with all but `kernel` filled in; NULL if another
  ** one should run it. */
  KernelPlan *(*plan)(const Instruction *instruction, Arena *arena);
  void (*run)(const KernelCall *call, int phase, int chunk);
};

/* The plan of the kernel that runs an instruction, or NULL. */
const KernelPlan *kernel_plan(const Instruction *instruction, Arena *arena);

/* For kernels: a list of `phases` numbers of chunks, all 0. */
int *kernel_phases(KernelPlan *plan, Arena *arena, int phases);

#endif
