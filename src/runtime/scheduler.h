/*
** The scheduler: one queue of replicas that can run, a pool of worker threads that run them, and
** loops over chunks that idle workers join. One per process (in WebAssembly: per instance).
*/
#ifndef XLA_RUNTIME_SCHEDULER_H
#define XLA_RUNTIME_SCHEDULER_H

#include "runtime/run.h"

/* Starts `threads` workers; returns how many there are. 0: scheduler_step does the work. */
int scheduler_start(int threads);
int scheduler_workers(void);
int scheduler_current_worker(void); /* the number of this thread; 0 on the host's */

/*
** One lock for queue, replica states, runs and rendezvous. Held briefly, never while computing, and
** while it is held nothing may allocate or trap: a lock is not given back by a trap.
*/
void scheduler_lock(void);
void scheduler_unlock(void);

/* With the lock held: platform_notify() when it is released. */
void scheduler_notify(void);

/* Whether this thread is in no lock, as it must be after a trap that was caught. */
bool scheduler_is_sound(void);

/* With the lock held: the replica becomes READY and is queued; with _resume, one that was parked.
** scheduler_park() is for the thread that runs the replica, which from then on must not touch it. */
void scheduler_make_ready(Replica *replica);
void scheduler_resume(Replica *replica);
void scheduler_park(Replica *replica, ReplicaState state);

/* With the lock held: a run fails for a reason outside its replicas (cancelled, say). Parked
** replicas stop now, running ones at their next thunk. */
void scheduler_fail_run(Run *run, const Error *error);

/* Single-threaded: works until `deadline_us`; true if there is more to do. */
bool scheduler_step(double deadline_us);

/* Runs a new run's replicas on the host's own thread, until `deadline_us` at most: what is left is the
** workers'. For runs that take less time than waking a worker. */
void scheduler_run_here(Run *run, double deadline_us);

/* Waits (natively) until the run has ended. */
void scheduler_wait(Run *run);

/* A worker thread vanished: what it ran fails, and another takes its place, where one can start. If
** it died in the middle of what the lock protects, there is no scheduler any more: nothing of this
** header may be called again. */
typedef enum WorkerLoss { WORKER_REPLACED, WORKER_GONE, WORKER_BROKE_SCHEDULER } WorkerLoss;
WorkerLoss scheduler_worker_lost(int worker);

/* A loop over chunks: body(argument, chunk) for each of them, in any order, until it returns true. */
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
** the loop goes on from there. False with the reason if a chunk trapped. Called from within a thunk.
*/
bool parallel_for(const ChunkLoop *loop, int *next, Error *error);

#endif
