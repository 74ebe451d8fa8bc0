/* Parallel loops: loops over chunks that idle workers join. */
#ifndef XLA_RUNTIME_PARALLEL_H
#define XLA_RUNTIME_PARALLEL_H

#include "runtime/scheduler.h"

/* A loop that calls body(argument, chunk) for each chunk, in any order, until it returns true. */
typedef struct ChunkLoop {
  int chunks;
  bool (*body)(void *argument, int chunk);
  void *argument;
  const _Atomic bool *stop; /* no further chunk is begun when this is set */
  double deadline_us;       /* 0: none */
  bool in_order;            /* on this thread, one after the other */
} ChunkLoop;

/*
** Runs a loop from chunk *next on, on this thread and on idle workers. With a deadline it runs on this thread
** alone, until the deadline has passed. The loop is over if *next is `chunks` afterwards; else the next call
** goes on from there. False with the reason if a chunk trapped. Called in a task's turn. A loop inside a
** chunk of a shared loop runs on one thread.
*/
bool parallel_for(const ChunkLoop *loop, int *next, Error *error);

/* Frees the stacks of dead workers once no other thread uses them. Called without the lock. */
void parallel_reap(void);

#endif
