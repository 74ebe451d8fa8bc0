/*
** Library kernels: hand-written SIMD code for whole instructions.
**
** Comes in: an instruction, when the program is compiled. Goes out: a plan, or NULL if no kernel takes
** the instruction. At run time the plan, the operands and scratch memory give the results.
**
** Everything that follows from the instruction alone is computed once, in the plan. A run consists of
** phases (for example: pack, then multiply), and a phase of chunks. The phases run one after the other;
** the chunks of a phase run on any threads, in any order.
**
** Invariant: the number of chunks and the work of each depend on shapes alone, so that results do not
** depend on the number of threads.
**
** The main trick: most work becomes a few well-tuned inner loops. dot and convolution are contractions
** (contraction/contraction.h); operations that only move elements are boxes (memory/box.h); sorts work
** on integer keys (sort/order_key.h).
**
** Read next: contraction/contraction.h, then linalg/linalg.h, fft/fft.h and sort/sort.c.
*/
#ifndef XLA_KERNELS_KERNELS_H
#define XLA_KERNELS_KERNELS_H

#include "hlo/ir/module.h"
#include "kernels/preparation.h"

typedef struct Kernel Kernel;

/* The first member of every kernel's plan. */
typedef struct KernelPlan KernelPlan;
struct KernelPlan {
  const Kernel *kernel;
  int64_t scratch_bytes; /* for one call */
  int phases;
  const int *chunks; /* the number in each phase; 0: the phase has no work */
  bool is_long;      /* one chunk may take milliseconds, so few chunks do not mean little work */
  Preparation *preparation; /* NULL: none */
};

/* What is known of numbers: nothing; all are below 2^n, in BOUNDS_SMALL + n; or they are not bounded.
** CHANGING: nothing, as the host may write to the Buffer now. */
typedef enum Bounds {
  BOUNDS_UNKNOWN,
  BOUNDS_CHANGING,
  BOUNDS_SMALL,
  BOUNDS_LARGE = UINT8_MAX
} Bounds;

typedef struct KernelCall KernelCall;
struct KernelCall {
  const KernelPlan *plan;
  const Instruction *instruction;
  const uint8_t *const *operands; /* leaves, dense and row-major */
  uint8_t *const *results;
  uint8_t *scratch; /* 64-byte aligned */
  /* Computes, on arrays, elements [begin, end) of the result of a computation: of a sort's comparator, of a product's
  ** computed operand. `buffers` has one pointer per parameter, then one for the result, where element `begin` is
  ** written at that index. Elements whose result is not used may hold anything. Callable from any thread. */
  void (*compute)(const KernelCall *call, uint8_t *const *buffers, int64_t begin, int64_t end);
  /* Opaque to kernels, of runtime/device.c: for `compute`, the computation and what it keeps while a chunk runs; for
  ** `share`, the device. */
  const void *computed;
  void *scratch_of_compute;
  const void *sharer;
  /* Set by a long chunk that pauses before it is done. It runs again soon, on any thread. */
  bool *again;
  /* Calls part(argument, i), which returns true, for each i < parts; idle threads help. Only for a phase
  ** with one chunk. If the run has been cancelled, it may skip parts. */
  void (*share)(const KernelCall *call, int parts, bool (*part)(void *argument, int i),
                void *argument);
  /* Bounds of the device's sets of arrays, by number; of operand 0, if that is an argument, else NULL. bounded_arrays.c */
  uint8_t *bounds, *argument_bounds;
  const _Atomic bool *stop; /* the run has been cancelled: results are not used */
  double deadline_us;       /* time (platform_now_us) from which other work waits; 0: none waits */
};

struct Kernel {
  const char *name;
  /* Returns the plan for an instruction, allocated in the arena, with all fields but `kernel` set. NULL if
  ** another kernel should run it. */
  KernelPlan *(*plan)(const Instruction *instruction, Arena *arena);
  void (*run)(const KernelCall *call, int phase, int chunk);
};

/* A set of kernels that are switched off: one bit for each, in the order of kernels.def. */
typedef uint32_t KernelSet;

/* For kernels: sets plan->phases and returns its list of chunk counts, all 0. */
int *kernel_phases(KernelPlan *plan, Arena *arena, int phases);

#endif
