/* Loops over chunks that idle workers join. */
#ifndef XLA_RUNTIME_PARALLEL_H
#define XLA_RUNTIME_PARALLEL_H

#include "runtime/scheduler.h"

/* body(argument, chunk) for each chunk, in any order, until it returns true. */
typedef struct ChunkLoop {
  int chunks;
  bool (*body)(void *argument, int chunk);
  void *argument;
  const _Atomic bool *stop; /* no further chunk is begun when this is set */
  double deadline_us;       /* 0: none */
  bool in_order;            /* on this thread, one after the other */
} ChunkLoop;

/*
** Runs what is left of a loop, from chunk *next on, on this thread and on idle workers; with a deadline
** on this one alone, until that has passed. It was all of it if *next is `chunks` afterwards; else
** the loop goes on from there. False with the reason if a chunk trapped. Called in a task's turn; a loop
** in a chunk of a loop that is shared is its thread's alone.
*/
bool parallel_for(const ChunkLoop *loop, int *next, Error *error);

/* Frees the stacks of dead workers that others have left. Without the lock. */
void parallel_reap(void);

/* ---- For the scheduler; with its lock held ---- */

/* Helps with a loop, until nothing of that is left to begin. False if there is none. */
bool parallel_help(LoopShare *self);
/* The share of a worker that died in the turn of `task` (NULL: it parked). True if others are still in the
** loop that it began, on its stack and in its task's memory: when they have left, that task fails, and the
** stack waits for parallel_reap. */
bool parallel_bury(LoopShare *dead, int worker, Task *task, void *stack);

#endif
