#include "runtime/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/lock.h"
#include "base/host/platform.h"
#include "base/scope.h"

/*
** An event to wait for: a number that changes when it happens. It is no pthread_cond_t: there a worker that
** was terminated while waiting would stay in the list of waiters and swallow signals.
*/
typedef _Atomic uint32_t Event;

/* A thread that runs tasks. It records its task, group and loops, so that they can fail if it dies. */
typedef struct Worker {
  pthread_t thread;
  void *stack;   /* if the platform wants one of ours; the worker's successor reuses it */
  void *reserve; /* keeps memory for its start free until then: see prepare_worker */
  int index;
  bool idle;
  Task *running;      /* NULL once parked: then another thread may run the task */
  TaskGroup *holds;   /* the group whose code it is in, without the lock */
  TaskGroup *settles; /* the group whose turn it settles, with the lock */
  LoopShare share;
  Error error;
} Worker;

static struct Scheduler {
  Lock lock;
  bool notify;        /* tell the host when the lock is released */
  Event work;         /* there is work for idle workers */
  Event finished;     /* a helper left a loop, or a group ended */
  Task *first, *last; /* the queue */
  int idle;
  int worker_count;
  Worker **workers;
  Worker host;                /* the host's thread, if it does the work itself */
  const LoopSharing *sharing; /* NULL until a loop is shared */
} scheduler;

static _Thread_local Worker *this_worker;

static Worker *current_worker(void) { return this_worker ? this_worker : &scheduler.host; }

/* ---- The lock ---- */

void scheduler_lock(void) { lock_acquire(&scheduler.lock); }

void scheduler_unlock(void) {
  bool notify = scheduler.notify;
  scheduler.notify = false;
  lock_release(&scheduler.lock);
  if (notify) platform_notify();
}

void scheduler_notify(void) { scheduler.notify = true; }

static void unqueue(const TaskGroup *group) {
  Task **link = &scheduler.first, *last = NULL;
  while (*link) {
    if ((*link)->group == group) {
      *link = (*link)->queue_next;
    } else {
      last = *link;
      link = &last->queue_next;
    }
  }
  scheduler.last = last;
}

bool scheduler_recover(TaskGroup *called, const Error *error) {
  if (platform_heap_is_mine()) return false;
  if (!lock_is_mine(&scheduler.lock)) return true;
  Worker *self = current_worker();
  TaskGroup *group = self->settles ? self->settles : self->holds ? self->holds : called;
  if (!group || self->share.owns || self->share.helps) return false;
  self->settles = self->holds = NULL;
  self->running = NULL;
  unqueue(group);
  group->kind->give_up(group, error);
  scheduler_unlock();
  return true;
}

void scheduler_need_recovery(const Error *error) {
  if (!scheduler_recover(NULL, error))
    platform_trap(STATUS_UNAVAILABLE, "a thread trapped in a lock");
}

static void event_signal(Event *event) {
  atomic_fetch_add(event, 1);
  platform_wake_all(event);
}

/*
** Spins for a while before a thread sleeps. A wait between two steps of a program is mostly shorter than the
** time to fall asleep and be woken (20 to 100 us, and more in a browser).
*/
static bool spin(const Event *event, uint32_t seen) {
  /* Threshold LOOKS_A_CLOCK: how often the clock is read. No path. */
  enum { LOOKS_A_CLOCK = 64 };
  /* The time for which a thread polls before it sleeps. */
  static const double MAX_US = 60;
  double end_us = platform_now_us() + MAX_US;
  do {
    for (int i = 0; i < LOOKS_A_CLOCK; i++) {
      if (atomic_load_explicit(event, memory_order_relaxed) != seen) return true;
    }
  } while (platform_now_us() < end_us);
  return false;
}

/* Waits for an event, with the lock held on entry and on return. May return early. */
static void event_wait(Event *event) {
  uint32_t seen = atomic_load(event);
  scheduler_unlock();
  if (!spin(event, seen)) platform_wait(event, seen, 0);
  scheduler_lock();
}

int scheduler_workers(void) { return scheduler.worker_count; }
int scheduler_current_worker(void) { return current_worker()->index; }

static void wake_idle(void) {
  if (scheduler.idle) event_signal(&scheduler.work);
}

/* Queues a task that its group counts as active. */
static void make_ready(Task *task) {
  task->queue_next = NULL;
  if (scheduler.last) {
    scheduler.last->queue_next = task;
  } else {
    scheduler.first = task;
  }
  scheduler.last = task;
  wake_idle();
}

void scheduler_resume(Task *task) {
  task->group->active++;
  make_ready(task);
}

void scheduler_park(Task *task) {
  task->group->active--;
  current_worker()->running = NULL;
}

static Task *pop_ready(void) {
  Task *task = scheduler.first;
  if (!task) return NULL;
  scheduler.first = task->queue_next;
  if (!scheduler.first) scheduler.last = NULL;
  return task;
}

void scheduler_end(TaskGroup *group) {
  group->ended = true;
  event_signal(&scheduler.finished);
  scheduler_notify();
}

/* ---- Turns ---- */

typedef struct Turn {
  Task *task;
  double deadline_us;
  Outcome outcome;
  Error *error;
} Turn;

static void run_turn(void *argument) {
  Turn *turn = argument;
  turn->outcome = turn->task->group->kind->run(turn->task, turn->deadline_us, turn->error);
}

/* Runs a turn, without the lock. The task's allocations belong to its group, even after a trap. */
static Outcome try_turn(Turn *turn) {
  int scope = scope_begin_untracked();
  bool ok = platform_try(run_turn, turn, turn->error);
  if (!ok) {
    scheduler_need_recovery(turn->error);
    turn->outcome = OUTCOME_TRAPPED;
  }
  scope_abandon(scope);
  return turn->outcome;
}

/* Runs a turn and settles it. The lock is held on entry and on return, but not in the turn. A parked task may
** run on another thread before this returns; `holds` keeps its group from ending. */
static void run_task(Worker *self, Task *task, double deadline_us) {
  TaskGroup *group = task->group;
  Turn turn = {task, deadline_us, OUTCOME_FAILED, &self->error};
  self->running = task;
  self->holds = group;
  group->holds++;
  scheduler_unlock();
  Outcome outcome = try_turn(&turn);
  scheduler_lock();
  group->holds--;
  self->holds = NULL;
  self->settles = group;
  bool is_ours = self->running != NULL;
  self->running = NULL;
  if (!is_ours) {
    group->kind->settle(group, NULL, OUTCOME_PARKED, NULL);
  } else if (outcome == OUTCOME_YIELD) {
    make_ready(task);
  } else {
    group->kind->settle(group, task, outcome, &self->error);
  }
  self->settles = NULL;
}

bool scheduler_step(double deadline_us) {
  scheduler_lock();
  do {
    Task *task = pop_ready();
    if (!task) break;
    run_task(&scheduler.host, task, deadline_us);
  } while (platform_now_us() < deadline_us);
  bool more = scheduler.first != NULL;
  scheduler_unlock();
  return more;
}

void scheduler_run_here(Task *task, double deadline_us) {
  if (platform_now_us() < deadline_us) {
    run_task(&scheduler.host, task, deadline_us);
  } else {
    make_ready(task);
  }
}

void scheduler_wait(const TaskGroup *group) {
  scheduler_lock();
  while (!group->ended) {
    if (scheduler.worker_count) {
      event_wait(&scheduler.finished);
    } else {
      Task *task = pop_ready();
      if (!task) break;
      run_task(&scheduler.host, task, 0);
    }
  }
  scheduler_unlock();
}

/* ---- Loops that workers share ---- */

LoopShare *scheduler_loop_share(void) { return &current_worker()->share; }

void scheduler_offer_loop(const LoopSharing *sharing) {
  scheduler.sharing = sharing;
  wake_idle();
}

void scheduler_await_leaving(void) { event_wait(&scheduler.finished); }
void scheduler_signal_leaving(void) { event_signal(&scheduler.finished); }

/* Fails a task; its group ends only after all threads have left the group's memory. */
void scheduler_fail_task(Task *task, int worker) {
  Error error;
  TaskGroup *group = task->group;
  error_set(&error, STATUS_INTERNAL, "worker %d died", worker);
  group->holds--;
  group->kind->settle(group, task, OUTCOME_FAILED, &error);
}

/* ---- Workers ---- */

/* Runs tasks and helps with loops, for ever. */
static void work(void *argument) {
  Worker *self = argument;
  scheduler_lock();
  for (;;) {
    /* A whole task comes before a chunk of a shared loop, because larger pieces need less synchronisation. */
    Task *task = pop_ready();
    if (task) {
      run_task(self, task, 0);
    } else if (!scheduler.sharing || !scheduler.sharing->help(&self->share)) {
      scheduler.idle++;
      self->idle = true;
      event_wait(&scheduler.work);
      self->idle = false;
      scheduler.idle--;
    }
  }
}

static void *worker_main(void *argument) {
  this_worker = argument;
  lock_set_thread(THREAD_HOST + 1 + this_worker->index);
  for (Error error; !platform_try(work, this_worker, &error);) scheduler_need_recovery(&error);
  return NULL;
}

/* Allocates a stack if the platform asks for it. A failed allocation is then an error, not a trap, and a dead
** thread's stack is reused. */
static bool give_stack(Worker *worker) {
  size_t bytes = platform_stack_bytes();
  if (bytes && !worker->stack) worker->stack = aligned_alloc(16, bytes);
  return !bytes || worker->stack;
}

/* Allocates all memory of a worker before it starts, as memory may be exhausted by then. */
static Worker *prepare_worker(int index) {
  Worker *worker = calloc(1, sizeof *worker);
  size_t reserved = platform_thread_bytes();
  if (!worker) return NULL;
  worker->index = index;
  if (give_stack(worker) && (!reserved || (worker->reserve = malloc(reserved)))) return worker;
  free(worker->stack);
  free(worker);
  return NULL;
}

static bool start_worker(int index) {
  Worker *worker = scheduler.workers[index];
  *worker = (Worker){.index = index, .stack = worker->stack, .reserve = worker->reserve};
  if (!give_stack(worker)) return false;
  free(worker->reserve); /* for pthread_create, called next */
  worker->reserve = NULL;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (worker->stack) pthread_attr_setstack(&attributes, worker->stack, platform_stack_bytes());
  int failed = pthread_create(&worker->thread, &attributes, worker_main, worker);
  pthread_attr_destroy(&attributes);
  if (!failed) pthread_detach(worker->thread);
  return !failed;
}

int scheduler_expect(int threads) {
  if (scheduler.workers) return scheduler.worker_count;
  scheduler.workers = calloc((size_t)(threads > 0 ? threads : 1), sizeof *scheduler.workers);
  if (!scheduler.workers) return 0;
  int count = 0;
  while (count < threads && (scheduler.workers[count] = prepare_worker(count))) count++;
  return scheduler.worker_count = count;
}

int scheduler_start(int threads) {
  int expected = scheduler_expect(threads), started = 0;
  while (started < expected && start_worker(started)) started++;
  return scheduler.worker_count = started;
}

/* Fails the dead worker's task. A loop that it began lies on its stack, which is freed after the others have
** left the loop. */
static void bury(Worker *worker) {
  Task *task = worker->running;
  TaskGroup *group = worker->holds;
  if (worker->idle) scheduler.idle--;
  const LoopSharing *sharing = scheduler.sharing;
  if (sharing && sharing->give_up_share(&worker->share, worker->index, task, worker->stack)) {
    worker->stack = NULL;
    if (task) return;
  }
  if (task) {
    scheduler_fail_task(task, worker->index);
  } else if (group) { /* it died after its task parked, before it settled the group */
    group->holds--;
    group->kind->settle(group, NULL, OUTCOME_PARKED, NULL);
  }
}

WorkerLoss scheduler_worker_lost(int index) {
  if (index < 0 || index >= scheduler.worker_count) return WORKER_REPLACED;
  int thread = THREAD_HOST + 1 + index;
  if (lock_owner(&scheduler.lock) == thread || platform_heap_owner() == thread) {
    return WORKER_BROKE_SCHEDULER;
  }
  scheduler_lock();
  bury(scheduler.workers[index]);
  scheduler_unlock();
  return start_worker(index) ? WORKER_REPLACED : WORKER_GONE;
}
