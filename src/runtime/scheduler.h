/*
** The scheduler: one queue of tasks that can go on, and a pool of worker threads that give each of them a
** turn. Tasks come in groups, which end together; what they do it does not know, but for two callbacks.
** Idle workers join the loops of others (parallel.h). One per process (in WebAssembly: per instance).
*/
#ifndef XLA_RUNTIME_SCHEDULER_H
#define XLA_RUNTIME_SCHEDULER_H

#include "base/error.h"

typedef struct Task Task;
typedef struct TaskGroup TaskGroup;

/* What a turn came to. */
typedef enum Outcome {
  OUTCOME_YIELD,  /* out of time: put it back into the queue */
  OUTCOME_PARKED, /* somebody else may be running it already: don't touch it */
  OUTCOME_DONE,
  OUTCOME_FAILED,  /* `error` is set */
  OUTCOME_TRAPPED, /* so did the thread, in the task's turn */
} Outcome;

typedef struct TaskKind {
  /* A turn, without the lock: until something happens or the clock passes `deadline_us` (0: none). */
  Outcome (*run)(Task *task, double deadline_us, Error *error);
  /* With the lock, after each turn but those that yield, when its thread is no longer in the group's
  ** code. `task` is NULL where it parked, as it may be another thread's by now. May end the group, and
  ** free it: then it gives the lock back in between. */
  void (*settle)(TaskGroup *group, Task *task, Outcome outcome, Error *error);
} TaskKind;

/* Parts of what their owner makes of them. */
struct Task {
  TaskGroup *group;
  Task *queue_next;
};

struct TaskGroup {
  const TaskKind *kind;
  int active; /* tasks that are queued or run */
  int holds;  /* threads that are in its code: it must not end before they have left */
  bool ended;
};

/* Allocates what `threads` workers need, and says how many there will be, which decides what may be begun
** before they are started. Returns that: fewer where memory is short. */
int scheduler_expect(int threads);
/* Starts the workers that are expected; returns how many there are. 0: scheduler_step does the work. */
int scheduler_start(int threads);
int scheduler_workers(void);
int scheduler_current_worker(void); /* the number of this thread; 0 on the host's */

/*
** One lock for the queue, for groups, and for what the owners of tasks have in common. Held briefly,
** never while computing, and while it is held nothing may allocate or trap: a lock is not given back by
** a trap.
*/
void scheduler_lock(void);
void scheduler_unlock(void);

/* With the lock held: platform_notify() when it is released. */
void scheduler_notify(void);

/* Whether this thread is in no lock, as it must be after a trap that was caught; and a trap if not. */
bool scheduler_is_sound(void);
void scheduler_check_sound(void);

/* With the lock held: a task of a group that counts as active is queued; one that was parked is active
** again and queued. scheduler_park() is for the thread that runs the task, which from then on must
** not touch it. */
void scheduler_make_ready(Task *task);
void scheduler_resume(Task *task);
void scheduler_park(Task *task);

/* With the lock held: gives a new task its first turn on the host's thread, if the clock has not passed
** `deadline_us`; else it is queued. For what takes less time than waking a worker. */
void scheduler_run_here(Task *task, double deadline_us);

/* With the lock held: the group has ended; who waits for it goes on. */
void scheduler_end(TaskGroup *group);

/* Waits (natively) until the group has ended. */
void scheduler_wait(const TaskGroup *group);

/* Single-threaded: works until `deadline_us`; true if there is more to do. */
bool scheduler_step(double deadline_us);

/* A worker thread vanished: what it ran fails, and another takes its place, where one can start. If
** it died in the middle of what the lock protects, there is no scheduler any more: nothing of this
** header may be called again. */
typedef enum WorkerLoss { WORKER_REPLACED, WORKER_GONE, WORKER_BROKE_SCHEDULER } WorkerLoss;
WorkerLoss scheduler_worker_lost(int worker);

/* ---- For parallel.c; with the lock held ---- */

/* A worker's part in loops: the one that it began, and the one of another's that it helps with. */
typedef struct LoopShare {
  struct SharedLoop *owns, *helps;
} LoopShare;

LoopShare *scheduler_loop_share(void); /* of this thread */
void scheduler_wake_idle(void);        /* there is something to do for them */
/* Waits until another thread signals that it left something. May return early. */
void scheduler_await_leaving(void);
void scheduler_signal_leaving(void);
void scheduler_fail_task(Task *task, int worker); /* which died in its turn */

#endif
