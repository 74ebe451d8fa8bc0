#include "runtime/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"
#include "runtime/channels.h"

/* A loop over chunks that others may join: it lives on the stack of the thread that began it. */
typedef struct Job {
  struct Job *next;
  void (*body)(void *argument, int chunk);
  void *argument;
  int chunks, taken; /* taken: under the lock */
  int helpers;       /* other threads that are in it, under the lock */
  bool failed;
} Job;

/*
** Something to wait for: a number that changes when it happens. Not a pthread_cond_t: its waiters
** form a list, in which a worker that was terminated while waiting would stay and swallow signals.
*/
typedef _Atomic uint32_t Event;

typedef struct Worker {
  pthread_t thread;
  int index;
  Replica *running;
  Job *owns, *helps;
} Worker;

static struct Scheduler {
  pthread_mutex_t lock;
  Event work;            /* there is something to do for workers */
  Event finished;        /* a helper left a job, or a run ended */
  Replica *first, *last; /* the queue */
  Job *jobs;
  int idle;
  int worker_count;
  Worker **workers;
} scheduler = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local Worker *this_worker;

void scheduler_lock(void) { pthread_mutex_lock(&scheduler.lock); }
void scheduler_unlock(void) { pthread_mutex_unlock(&scheduler.lock); }

static void event_signal(Event *event) {
  atomic_fetch_add(event, 1);
  platform_wake_all(event);
}

/* The lock is held on entry and on return. May return early. */
static void event_wait(Event *event) {
  uint32_t seen = atomic_load(event);
  scheduler_unlock();
  platform_wait(event, seen);
  scheduler_lock();
}

int scheduler_workers(void) { return scheduler.worker_count; }

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
  platform_notify();
}

static void stop_parked(Run *run) {
  for (int i = 0; i < run->replica_count; i++) {
    Replica *replica = &run->replicas[i];
    if (replica->state != REPLICA_PARKED && replica->state != REPLICA_HOST) continue;
    replica->state = REPLICA_STOPPED;
    run->stopped++;
  }
}

void scheduler_fail_run(Run *run, const Error *error) {
  if (run->state != RUN_RUNNING) return;
  if (!run->failing) run->error = *error;
  run->failing = true;
  /* With somebody still running, the parked ones must stay: it may be in the middle of a collective
  ** that uses their memory. Whoever stops last takes them along. */
  if (run->active == 0) {
    stop_parked(run);
    end_run(run);
  }
}

static bool waits_for_host(const Run *run) {
  for (int i = 0; i < run->replica_count; i++) {
    if (run->replicas[i].state == REPLICA_HOST) return true;
  }
  return false;
}

/* Nobody of this run can go on by itself: it has ended, waits for the host, or is deadlocked. */
static void run_is_quiet(Run *run) {
  if (run->state != RUN_RUNNING || run->active > 0) return;
  if (!run->failing && run->stopped < run->replica_count) {
    if (channels_deliver_rest(run) || waits_for_host(run)) return;
    if (run->state != RUN_RUNNING) return; /* a delivery failed the run */
    rendezvous_report_deadlock(run, &run->error);
    run->failing = true;
  }
  stop_parked(run);
  end_run(run);
}

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
  int worker;
  Outcome outcome;
  Error *error;
} Slice;

static void run_slice(void *argument) {
  Slice *slice = argument;
  slice->outcome = replica_run(slice->replica, slice->deadline_us, slice->worker, slice->error);
}

/* The lock is held on entry and on return, but not while the replica runs. A parked replica may be
** running elsewhere by the time we are back, and its run may even be gone: hence `holds`. */
static void run_replica(Replica *replica, double deadline_us, int worker) {
  Run *run = replica->run;
  Error *error = malloc(sizeof *error);
  if (!error) platform_fatal("out of memory");
  Slice slice = {replica, deadline_us, worker, OUTCOME_FAILED, error};
  run->holds++;
  scheduler_unlock();
  if (!platform_try(run_slice, &slice)) {
    error_set(error, STATUS_INTERNAL, "replica %d trapped: %s", replica->id,
              platform_trap_message());
    slice.outcome = OUTCOME_FAILED;
  }
  scheduler_lock();
  run->holds--;
  settle(run, replica, slice.outcome, error);
  free(error);
  if (run_is_abandoned(run)) {
    scheduler_unlock();
    run_destroy(run);
    scheduler_lock();
  }
}

bool scheduler_step(double deadline_us) {
  scheduler_lock();
  do {
    Replica *replica = pop_ready();
    if (!replica) break;
    run_replica(replica, deadline_us, 0);
  } while (platform_now_us() < deadline_us);
  bool more = scheduler.first != NULL;
  scheduler_unlock();
  return more;
}

void scheduler_wait(Run *run) {
  scheduler_lock();
  while (run->state == RUN_RUNNING) {
    if (scheduler.worker_count) {
      event_wait(&scheduler.finished);
    } else {
      Replica *replica = pop_ready();
      if (!replica) break;
      run_replica(replica, 0, 0);
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
  work->job->body(work->job->argument, work->chunk);
}

/* Takes chunks until there are none left. The lock is held on entry and on return. */
static void work_on(Job *job) {
  while (job->taken < job->chunks && !job->failed) {
    JobChunk work = {job, job->taken++};
    scheduler_unlock();
    bool ok = platform_try(run_chunk, &work);
    scheduler_lock();
    if (!ok) job->failed = true;
  }
}

static void remove_job(Job *job) {
  for (Job **link = &scheduler.jobs; *link; link = &(*link)->next) {
    if (*link != job) continue;
    *link = job->next;
    return;
  }
}

bool parallel_for(int chunks, void (*body)(void *argument, int chunk), void *argument) {
  if (chunks <= 1 || scheduler.worker_count <= 1) {
    for (int i = 0; i < chunks; i++) body(argument, i);
    return true;
  }
  Job job = {.body = body, .argument = argument, .chunks = chunks};
  scheduler_lock();
  job.next = scheduler.jobs;
  scheduler.jobs = &job;
  if (this_worker) this_worker->owns = &job;
  if (scheduler.idle) event_signal(&scheduler.work);
  work_on(&job);
  remove_job(&job);
  while (job.helpers) event_wait(&scheduler.finished);
  if (this_worker) this_worker->owns = NULL;
  scheduler_unlock();
  return !job.failed;
}

static Job *open_job(void) {
  for (Job *job = scheduler.jobs; job; job = job->next) {
    if (job->taken < job->chunks && !job->failed) return job;
  }
  return NULL;
}

/* ---- Workers ---- */

static void help(Worker *self, Job *job) {
  job->helpers++;
  self->helps = job;
  work_on(job);
  self->helps = NULL;
  if (--job->helpers == 0) event_signal(&scheduler.finished);
}

static void *worker_main(void *argument) {
  Worker *self = argument;
  this_worker = self;
  scheduler_lock();
  for (;;) {
    /* A replica of one's own before a part of another's: larger pieces, fewer meetings. */
    Replica *replica = pop_ready();
    Job *job = replica ? NULL : open_job();
    if (replica) {
      self->running = replica;
      run_replica(replica, 0, self->index);
      self->running = NULL;
    } else if (job) {
      help(self, job);
    } else {
      scheduler.idle++;
      event_wait(&scheduler.work);
      scheduler.idle--;
    }
  }
  return NULL;
}

static bool start_worker(int index) {
  Worker *worker = calloc(1, sizeof *worker);
  if (!worker) return false;
  worker->index = index;
  if (pthread_create(&worker->thread, NULL, worker_main, worker)) {
    free(worker);
    return false;
  }
  pthread_detach(worker->thread);
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
** The dead worker held no lock: it died in a chunk or in a thunk, where workers spend their time
** (one that dies between two instructions that hold the lock is beyond help). What it ran fails.
** A job that it owned is on its stack, which nobody frees: helpers still in it can finish.
*/
void scheduler_worker_lost(int index) {
  if (index < 0 || index >= scheduler.worker_count) return;
  Error error;
  error_set(&error, STATUS_INTERNAL, "worker %d died", index);
  scheduler_lock();
  Worker *worker = scheduler.workers[index];
  if (worker->helps) {
    worker->helps->failed = true;
    if (--worker->helps->helpers == 0) event_signal(&scheduler.finished);
  }
  if (worker->owns) remove_job(worker->owns);
  if (worker->running) {
    Run *run = worker->running->run;
    run->holds--;
    settle(run, worker->running, OUTCOME_FAILED, &error);
  }
  if (!worker->running && !worker->helps) scheduler.idle--; /* it waited for work */
  start_worker(index);
  scheduler_unlock();
}
