/*
** The scheduler: one queue of tasks that can go on, and a pool of worker threads that give each of them a
** turn. Tasks come in groups, which end together. A TaskKind's three callbacks run, settle and give up tasks. Loops that
** idle workers join have two more (LoopSharing, parallel.h). There is one scheduler per process (in WebAssembly: per
** instance).
*/
#ifndef XLA_RUNTIME_SCHEDULER_H
#define XLA_RUNTIME_SCHEDULER_H

#include "base/error.h"

typedef struct Task Task;
typedef struct TaskGroup TaskGroup;

/* The outcome of a turn. */
typedef enum Outcome {
  OUTCOME_YIELD,  /* out of time: put it back into the queue */
  OUTCOME_PARKED, /* another thread may already run the task: do not touch it */
  OUTCOME_DONE,
  OUTCOME_FAILED,  /* `error` is set */
  OUTCOME_TRAPPED, /* the thread trapped in the task's turn */
} Outcome;

/* The outcome of a piece of work that fails, is over, or goes on in another turn. */
static inline Outcome outcome_of(bool ok, bool is_over) {
  if (!ok) return OUTCOME_FAILED;
  return is_over ? OUTCOME_DONE : OUTCOME_YIELD;
}

typedef struct TaskKind {
  /* Runs a turn, without the lock, until the task parks or ends or the clock passes `deadline_us` (0: none). */
  Outcome (*run)(Task *task, double deadline_us, Error *error);
  /* Called with the lock held after each turn that does not yield, when the thread has left the group's code.
  ** `task` is NULL if it parked, as another thread may run it by now. May end and free the group; then it
  ** releases the lock meanwhile. */
  void (*settle)(TaskGroup *group, Task *task, Outcome outcome, Error *error);
  /* Called with the lock held when a thread trapped with it in the group's code: fails the group, whose state is
  ** unknown. Its memory is never freed, as other threads may be in its code. */
  void (*give_up)(TaskGroup *group, const Error *error);
} TaskKind;

/* The owner embeds these in structs of its own. */
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

/* Allocates the memory of `threads` workers. Returns the number of workers to be started: fewer if memory is
** short. Runs may rely on this number before the start. */
int scheduler_expect(int threads);
/* Starts the expected workers; returns their number. 0: scheduler_step does the work. */
int scheduler_start(int threads);
int scheduler_workers(void);
int scheduler_current_worker(void); /* the number of this thread; 0 on the host's */

/*
** One lock protects the queue, the groups, and the state that the owners of tasks share. It is held briefly,
** never while computing. No code may allocate while it holds the lock.
*/
void scheduler_lock(void);
void scheduler_unlock(void);

/* With the lock held: requests a platform_notify() when it is released. */
void scheduler_notify(void);

/*
** Called after a caught trap. If this thread holds the lock, fails the group whose code trapped with `error` and releases the
** lock. The group is that of the thread's task, else `called`. Returns false if the thread cannot continue: it trapped in
** malloc, or with the lock outside of any group's code, or while it changed the list of shared loops.
*/
bool scheduler_recover(TaskGroup *called, const Error *error);
/* Recovers as scheduler_recover does, but traps again if the thread cannot continue. The thread then ends with the lock
** held, which the host detects. */
void scheduler_need_recovery(const Error *error);

/* With the lock held: make a parked task active again and queue it. The thread that runs a task calls
** scheduler_park(), and must not touch the task afterwards. */
void scheduler_resume(Task *task);
void scheduler_park(Task *task);

/* With the lock held: gives a new task its first turn on the host's thread, if the clock has not passed
** `deadline_us`; else queues it. For tasks that take less time than waking a worker. */
void scheduler_run_here(Task *task, double deadline_us);

/* With the lock held: ends the group, and wakes the threads that wait for it. */
void scheduler_end(TaskGroup *group);

/* Waits (natively) until the group has ended. */
void scheduler_wait(const TaskGroup *group);

/* Single-threaded: runs tasks until `deadline_us`; true if tasks are left. */
bool scheduler_step(double deadline_us);

/* Handles the loss of a worker thread: its task fails, and another worker takes its place if one can start.
** If it died holding the lock, the scheduler is broken: no function of this header may be called again. */
typedef enum WorkerLoss { WORKER_REPLACED, WORKER_GONE, WORKER_BROKE_SCHEDULER } WorkerLoss;
WorkerLoss scheduler_worker_lost(int worker);

/* ---- Loops that workers share (parallel.c); with the lock held ---- */

/* A worker's part in loops: its own loop, and another worker's loop that it helps with. */
typedef struct LoopShare {
  struct SharedLoop *owns, *helps;
} LoopShare;

/* How workers take part in loops. Called with the lock held. */
typedef struct LoopSharing {
  /* Helps with a loop until all its chunks are begun. False if there is no loop to help with. */
  bool (*help)(LoopShare *self);
  /* Gives up the share of a worker that died in the turn of `task` (NULL: it parked). True if other threads are
  ** still in the loop that it began, and so on its stack and in its task's memory. After they have left, the
  ** task fails, and parallel_reap frees the stack. */
  bool (*give_up_share)(LoopShare *dead, int worker, Task *task, void *stack);
} LoopSharing;

LoopShare *scheduler_loop_share(void); /* of this thread */
/* Wakes idle workers, as a loop has chunks for them; from now on they help by these functions. */
void scheduler_offer_loop(const LoopSharing *sharing);
/* Waits until another thread signals that it left a loop. May return early. */
void scheduler_await_leaving(void);
void scheduler_signal_leaving(void);
void scheduler_fail_task(Task *task, int worker); /* fails a task whose worker died in its turn */

#endif
