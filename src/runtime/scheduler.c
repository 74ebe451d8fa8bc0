#include "runtime/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "platform/lock.h"
#include "platform/platform.h"
#include "runtime/channels.h"
#include "runtime/waiting.h"

/* A loop over chunks that others may join: it lives on the stack of the thread that began it. */
typedef struct Job {
  struct Job *next;
  const ChunkLoop *loop;
  int taken;   /* under the lock */
  int helpers; /* other threads that are in it, under the lock */
  bool failed;
  Error *error;    /* why; not used any more once it has failed */
  int owner;       /* its worker */
  Replica *orphan; /* what the owner ran when it died: fails when the last helper has left */
} Job;

/*
** Something to wait for: a number that changes when it happens. Not a pthread_cond_t: its waiters
** form a list, in which a worker that was terminated while waiting would stay and swallow signals.
*/
typedef _Atomic uint32_t Event;

/* A thread that runs replicas: what it is at, so that all of it can fail if the thread dies. */
typedef struct Worker {
  pthread_t thread;
  void *stack; /* where it is ours; it goes with the next one that takes the place */
  int index;
  bool idle;
  Replica *running; /* NULL from the moment at which it is parked: then it is another thread's */
  Run *holds;       /* the run whose code it is in */
  Job *owns, *helps;
  Error error;
} Worker;

static struct Scheduler {
  Lock lock;
  bool notify;           /* tell the host when the lock is released */
  Event work;            /* there is something to do for workers */
  Event finished;        /* a helper left a job, or a run ended */
  Replica *first, *last; /* the queue */
  Job *jobs;
  int idle;
  int worker_count;
  Worker **workers;
  Worker host; /* the host's thread, where it does the work itself */
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

bool scheduler_is_sound(void) { return !lock_is_mine(&scheduler.lock) && !platform_heap_is_mine(); }

/* After a trap: one in the middle of what a lock protects cannot be put right. The thread dies of
** it, and the host finds the lock with it. */
static void check_soundness(void) {
  if (!scheduler_is_sound()) platform_trap(STATUS_UNAVAILABLE, "a thread trapped in a lock");
}

static void event_signal(Event *event) {
  atomic_fetch_add(event, 1);
  platform_wake_all(event);
}

/*
** Between two steps of a program a thread waits for less time than it takes to fall asleep and to be
** woken (20 to 100 us, and more in a browser): so it looks for a while before it sleeps.
*/
static bool spin(const Event *event, uint32_t seen) {
  enum { LOOKS_A_CLOCK = 64 };
  static const double MOST_US = 60;
  double end_us = platform_now_us() + MOST_US;
  do {
    for (int i = 0; i < LOOKS_A_CLOCK; i++) {
      if (atomic_load_explicit(event, memory_order_relaxed) != seen) return true;
    }
  } while (platform_now_us() < end_us);
  return false;
}

/* The lock is held on entry and on return. May return early. */
static void event_wait(Event *event) {
  uint32_t seen = atomic_load(event);
  scheduler_unlock();
  if (!spin(event, seen)) platform_wait(event, seen, 0);
  scheduler_lock();
}

int scheduler_workers(void) { return scheduler.worker_count; }
int scheduler_current_worker(void) { return current_worker()->index; }

void scheduler_make_ready(Replica *replica) {
  replica->state = REPLICA_READY;
  replica->queue_next = NULL;
  if (scheduler.last) {
    scheduler.last->queue_next = replica;
  } else {
    scheduler.first = replica;
  }
  scheduler.last = replica;
  if (scheduler.idle) event_signal(&scheduler.work);
}

void scheduler_resume(Replica *replica) {
  replica->run->active++;
  scheduler_make_ready(replica);
}

void scheduler_park(Replica *replica, ReplicaState state) {
  replica->state = state;
  replica->run->active--;
  current_worker()->running = NULL;
}

static Replica *pop_ready(void) {
  Replica *replica = scheduler.first;
  if (!replica) return NULL;
  scheduler.first = replica->queue_next;
  if (!scheduler.first) scheduler.last = NULL;
  replica->state = REPLICA_RUNNING;
  return replica;
}

/* ---- The end of replicas and runs; the lock is held ---- */

static void end_run(Run *run) {
  run->state = run->failing ? RUN_FAILED : RUN_DONE;
  event_signal(&scheduler.finished);
  scheduler_notify();
}

static void stop_parked(Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    Replica *replica = &run->replicas[i];
    if (replica->state != REPLICA_PARKED && replica->state != REPLICA_HOST) continue;
    replica->state = REPLICA_STOPPED;
    run->stopped++;
  }
}

static bool waits_for_host(const Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    if (run->replicas[i].state == REPLICA_HOST) return true;
  }
  return false;
}

/* If nobody of this run can go on by himself, it has ended, waits for the host, or is deadlocked. A
** worker that is on its way out says so in its turn: when a run has ended, nobody is in it. */
static void run_is_quiet(Run *run) {
  if (run->state != RUN_RUNNING || run->active > 0 || run->holds > 0) return;
  if (!run->failing && run->stopped < run->device_count) {
    if (channels_deliver_rest(run) || waits_for_host(run)) return;
    waiting_note(run);
    waiting_report_deadlock(run, &run->error);
    run->failing = true;
  }
  stop_parked(run);
  end_run(run);
}

void scheduler_fail_run(Run *run, const Error *error) {
  if (run->state != RUN_RUNNING) return;
  if (!run->failing) run->error = *error;
  run->failing = true;
  /* With somebody still running, the parked ones must stay: it may be in the middle of a collective
  ** that uses their memory. Whoever stops last takes them along. */
  run_is_quiet(run);
}

/* What a replica that is not parked came to. */
static void settle(Run *run, Replica *replica, Outcome outcome, const Error *error) {
  switch (outcome) {
  case OUTCOME_YIELD: scheduler_make_ready(replica); return;
  case OUTCOME_FAILED:
    if (!run->failing) run->error = *error;
    run->failing = true;
    /* fallthrough */
  case OUTCOME_DONE:
    replica->state = REPLICA_STOPPED;
    run->stopped++;
    run->active--;
    break;
  case OUTCOME_PARKED: break;
  }
  run_is_quiet(run);
}

/* ---- Running replicas ---- */

typedef struct Slice {
  Replica *replica;
  double deadline_us;
  Outcome outcome;
  Error *error;
} Slice;

static void run_slice(void *argument) {
  Slice *slice = argument;
  slice->outcome = replica_run(slice->replica, slice->deadline_us, slice->error);
}

/* Without the lock. What the replica allocates is its run's, whatever happens here. */
static Outcome try_slice(Slice *slice) {
  int scope = scope_begin_untracked();
  bool ok = platform_try(run_slice, slice, slice->error);
  if (!ok) {
    check_soundness();
    slice->outcome = OUTCOME_FAILED;
    replica_trapped(slice->replica, slice->error);
  }
  scope_abandon(scope);
  return slice->outcome;
}

static void destroy_if_abandoned(Run *run) {
  if (!run_is_abandoned(run)) return;
  scheduler_unlock();
  run_destroy(run);
  scheduler_lock();
}

/* The lock is held on entry and on return, but not while the replica runs. A parked replica may be
** running elsewhere by the time we are back: `holds` keeps its run from ending. */
static void run_replica(Worker *self, Replica *replica, double deadline_us) {
  Run *run = replica->run;
  Slice slice = {replica, deadline_us, OUTCOME_FAILED, &self->error};
  self->running = replica;
  self->holds = run;
  run->holds++;
  scheduler_unlock();
  Outcome outcome = try_slice(&slice);
  scheduler_lock();
  run->holds--;
  self->holds = NULL;
  if (self->running) {
    self->running = NULL;
    settle(run, replica, outcome, &self->error);
  } else {
    run_is_quiet(run);
  }
  destroy_if_abandoned(run);
}

bool scheduler_step(double deadline_us) {
  scheduler_lock();
  do {
    Replica *replica = pop_ready();
    if (!replica) break;
    run_replica(&scheduler.host, replica, deadline_us);
  } while (platform_now_us() < deadline_us);
  bool more = scheduler.first != NULL;
  scheduler_unlock();
  return more;
}

void scheduler_run_here(Run *run, double deadline_us) {
  scheduler_lock();
  run->holds++; /* it must outlive its first replica */
  for (int r = 0; r < run->device_count; r++) {
    Replica *replica = &run->replicas[r];
    if (platform_now_us() >= deadline_us) {
      scheduler_make_ready(replica);
      continue;
    }
    replica->state = REPLICA_RUNNING;
    run_replica(&scheduler.host, replica, deadline_us);
  }
  run->holds--;
  run_is_quiet(run);
  scheduler_unlock();
}

void scheduler_wait(Run *run) {
  scheduler_lock();
  while (run->state == RUN_RUNNING) {
    if (scheduler.worker_count) {
      event_wait(&scheduler.finished);
    } else {
      Replica *replica = pop_ready();
      if (!replica) break;
      run_replica(&scheduler.host, replica, 0);
    }
  }
  scheduler_unlock();
}

/* ---- Jobs ---- */

typedef struct JobChunk {
  Job *job;
  int chunk;
} JobChunk;

static void run_chunk(void *argument) {
  const JobChunk *work = argument;
  const ChunkLoop *loop = work->job->loop;
  while (!loop->body(loop->argument, work->chunk) && !*loop->stop) continue;
}

/* Without the lock. What a chunk allocates and does not free goes if it traps. */
static bool try_chunk(JobChunk *work, Error *error) {
  int scope = scope_begin();
  bool ok = platform_try(run_chunk, work, error);
  if (ok) {
    scope_commit(scope);
  } else {
    check_soundness();
    scope_abandon(scope);
  }
  return ok;
}

static bool has_chunks(const Job *job) {
  return job->taken < job->loop->chunks && !job->failed && !*job->loop->stop;
}

/* Takes chunks until there are none left. The lock is held on entry and on return. */
static void work_on(Job *job) {
  Error error;
  while (has_chunks(job)) {
    JobChunk work = {job, job->taken++};
    scheduler_unlock();
    bool ok = try_chunk(&work, &error);
    scheduler_lock();
    if (ok || job->failed) continue;
    job->failed = true;
    *job->error = error;
  }
}

static void remove_job(Job *job) {
  for (Job **link = &scheduler.jobs; *link; link = &(*link)->next) {
    if (*link != job) continue;
    *link = job->next;
    return;
  }
}

/* Nobody to share with. A trap goes to whoever runs the replica, and the scope goes with it. */
static void run_alone(const ChunkLoop *loop, int *next) {
  int scope = scope_begin();
  while (*next < loop->chunks && !*loop->stop) {
    if (loop->body(loop->argument, *next)) ++*next;
    if (loop->deadline_us && platform_now_us() >= loop->deadline_us) break;
  }
  scope_commit(scope);
}

bool parallel_for(const ChunkLoop *loop, int *next, Error *error) {
  if (loop->chunks - *next <= 1 || loop->in_order || loop->deadline_us ||
      scheduler.worker_count <= 1) {
    run_alone(loop, next);
    return true;
  }
  Worker *self = current_worker();
  Job job = {.loop = loop, .taken = *next, .error = error, .owner = self->index};
  scheduler_lock();
  job.next = scheduler.jobs;
  scheduler.jobs = &job;
  self->owns = &job;
  if (scheduler.idle) event_signal(&scheduler.work);
  work_on(&job);
  remove_job(&job);
  while (job.helpers) event_wait(&scheduler.finished);
  self->owns = NULL;
  scheduler_unlock();
  *next = job.taken;
  return !job.failed;
}

static Job *open_job(void) {
  for (Job *job = scheduler.jobs; job; job = job->next) {
    if (has_chunks(job)) return job;
  }
  return NULL;
}

/* ---- Workers ---- */

/* Nobody may be in the memory of a run that ends. */
static void fail_orphan(Replica *replica, int index) {
  Error error;
  Run *run = replica->run;
  error_set(&error, STATUS_INTERNAL, "worker %d died", index);
  run->holds--;
  settle(run, replica, OUTCOME_FAILED, &error);
  destroy_if_abandoned(run);
}

static void leave_job(Worker *self) {
  Job *job = self->helps;
  self->helps = NULL;
  if (--job->helpers) return;
  event_signal(&scheduler.finished);
  if (job->orphan) fail_orphan(job->orphan, job->owner);
}

static void *worker_main(void *argument) {
  Worker *self = argument;
  this_worker = self;
  lock_set_thread(THREAD_HOST + 1 + self->index);
  scheduler_lock();
  for (;;) {
    /* A replica of one's own before a part of another's: larger pieces, fewer meetings. */
    Replica *replica = pop_ready();
    Job *job = replica ? NULL : open_job();
    if (replica) {
      run_replica(self, replica, 0);
    } else if (job) {
      job->helpers++;
      self->helps = job;
      work_on(job);
      leave_job(self);
    } else {
      scheduler.idle++;
      self->idle = true;
      event_wait(&scheduler.work);
      self->idle = false;
      scheduler.idle--;
    }
  }
  return NULL;
}

static void free_worker(Worker *worker) {
  if (worker) free(worker->stack);
  free(worker);
}

/* On a stack of our own, where the platform asks for it: then it can be freed when the thread is dead,
** and a stack that cannot be had is an error. */
static bool start_thread(Worker *worker) {
  size_t bytes = platform_stack_bytes();
  pthread_attr_t attributes;
  if (bytes && !(worker->stack = aligned_alloc(16, bytes))) return false;
  pthread_attr_init(&attributes);
  if (bytes) pthread_attr_setstack(&attributes, worker->stack, bytes);
  int failed = pthread_create(&worker->thread, &attributes, worker_main, worker);
  pthread_attr_destroy(&attributes);
  if (!failed) pthread_detach(worker->thread);
  return !failed;
}

static bool start_worker(int index) {
  Worker *worker = calloc(1, sizeof *worker);
  if (worker) worker->index = index;
  if (!worker || !start_thread(worker)) {
    free_worker(worker);
    return false;
  }
  free_worker(scheduler.workers[index]); /* a dead one */
  scheduler.workers[index] = worker;
  return true;
}

int scheduler_start(int threads) {
  scheduler.workers = calloc((size_t)(threads > 0 ? threads : 1), sizeof *scheduler.workers);
  if (!scheduler.workers) return 0;
  while (scheduler.worker_count < threads && start_worker(scheduler.worker_count)) {
    scheduler.worker_count++;
  }
  return scheduler.worker_count;
}

/*
** What the dead worker was at fails. Its own job is on its stack, which nobody frees then: helpers
** still in it can finish, and only then does its replica fail, as they are in the replica's memory.
*/
static void bury(Worker *worker) {
  Replica *replica = worker->running;
  Run *run = worker->holds;
  if (worker->idle) scheduler.idle--;
  if (worker->helps) {
    if (!worker->helps->failed) {
      error_set(worker->helps->error, STATUS_INTERNAL, "worker %d died", worker->index);
    }
    worker->helps->failed = true;
    leave_job(worker);
  }
  if (worker->owns) {
    remove_job(worker->owns);
    worker->owns->failed = true;
  }
  if (worker->owns && worker->owns->helpers) worker->stack = NULL; /* they are in it: it stays */
  if (replica && worker->owns && worker->owns->helpers) {
    worker->owns->orphan = replica;
  } else if (replica) {
    fail_orphan(replica, worker->index);
  } else if (run) { /* it died with a parked replica, before it looked after the run */
    run->holds--;
    run_is_quiet(run);
    destroy_if_abandoned(run);
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
