#include "runtime/parallel.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/host/platform.h"
#include "base/scope.h"

/* A loop that workers share; it lies on the stack of the thread that began it. */
typedef struct SharedLoop {
  struct SharedLoop *next;
  const ChunkLoop *loop;
  _Atomic uint64_t rest; /* the remaining chunks: the first one, plus 2^32 times their end */
  int helpers;           /* the number of other threads in it, under the lock */
  _Atomic bool failed;
  Error *error; /* the reason; not written again after a failure */
  int owner;    /* the worker that began it */
  Task *orphan; /* the task of an owner that died: fails when the last helper has left */
  void *stack;  /* that owner's stack, which holds this: freed after that, too */
} SharedLoop;

/* Under the lock. */
static SharedLoop *open_loops;
static void **dead_stacks; /* each begins with the next */

/* Takes a chunk: the owner the first one, a helper the last one. A thread thus mostly finds the same part of
** the arrays in its cache from one loop to the next. -1: no chunk is left, or the loop is to stop. */
static int take_chunk(SharedLoop *shared, bool last) {
  uint64_t rest = atomic_load(&shared->rest);
  while (!shared->failed && !*shared->loop->stop) {
    int first = (int)(uint32_t)rest, end = (int)(rest >> 32);
    if (first >= end) break;
    uint64_t less = last ? rest - (1ull << 32) : rest + 1;
    if (atomic_compare_exchange_weak(&shared->rest, &rest, less)) return last ? end - 1 : first;
  }
  return -1;
}

static bool has_chunks(const SharedLoop *shared) {
  uint64_t rest = atomic_load(&shared->rest);
  return (uint32_t)rest < rest >> 32 && !shared->failed && !*shared->loop->stop;
}

typedef struct SharedWork {
  SharedLoop *shared;
  bool helps;
} SharedWork;

static void run_chunks(void *argument) {
  SharedWork *work = argument;
  const ChunkLoop *loop = work->shared->loop;
  for (int chunk; (chunk = take_chunk(work->shared, work->helps)) >= 0;) {
    while (!loop->body(loop->argument, chunk) && !*loop->stop) continue;
  }
}

/* Runs chunks, without the lock. If one traps, their allocations are freed. */
static bool try_chunks(SharedWork *work, Error *error) {
  int scope = scope_begin();
  bool ok = platform_try(run_chunks, work, error);
  if (ok) {
    scope_commit(scope);
  } else {
    scheduler_need_recovery(error);
    scope_abandon(scope);
  }
  return ok;
}

/* Takes chunks until none is left. The lock is held on entry and on return, but neither between chunks nor in
** them. Short chunks would take less time than the lock and the call by the host, which catches traps. */
static void work_on(SharedLoop *shared, bool helps) {
  Error error;
  SharedWork work = {shared, helps};
  scheduler_unlock();
  bool ok = try_chunks(&work, &error);
  scheduler_lock();
  if (ok || shared->failed) return;
  shared->failed = true;
  *shared->error = error;
}

static void close_loop(const SharedLoop *shared) {
  for (SharedLoop **link = &open_loops; *link; link = &(*link)->next) {
    if (*link != shared) continue;
    *link = shared->next;
    return;
  }
}

/* ---- Helpers ---- */

static void leave(LoopShare *self) {
  SharedLoop *shared = self->helps;
  self->helps = NULL;
  if (--shared->helpers) return;
  scheduler_signal_leaving();
  if (shared->orphan) scheduler_fail_task(shared->orphan, shared->owner);
  if (!shared->stack) return;
  void **stack = shared->stack;
  *stack = dead_stacks;
  dead_stacks = stack;
}

void parallel_reap(void) {
  scheduler_lock();
  void **stack = dead_stacks;
  dead_stacks = NULL;
  scheduler_unlock();
  while (stack) {
    void **next = *stack;
    free(stack);
    stack = next;
  }
}

static bool help(LoopShare *self) {
  SharedLoop *shared = open_loops;
  while (shared && !has_chunks(shared)) shared = shared->next;
  if (!shared) return false;
  shared->helpers++;
  self->helps = shared;
  work_on(shared, true);
  leave(self);
  return true;
}

static bool give_up_share(LoopShare *dead, int worker, Task *task, void *stack) {
  SharedLoop *helped = dead->helps, *owned = dead->owns;
  if (helped) {
    if (!helped->failed) error_set(helped->error, STATUS_INTERNAL, "worker %d died", worker);
    helped->failed = true;
    leave(dead);
  }
  if (!owned) return false;
  close_loop(owned);
  owned->failed = true;
  owned->orphan = owned->helpers ? task : NULL;
  owned->stack = owned->helpers ? stack : NULL;
  return owned->helpers > 0;
}

/* ---- Loops ---- */

/* Runs a loop on this thread only. A trap passes to the caller that runs the task, which also ends the scope.
** Reading the host's clock is slow, and chunks of a loop are alike: while they take no measurable time, twice
** as many run before the next reading. */
static void run_alone(const ChunkLoop *loop, int *next) {
  /* Threshold MAX_UNSEEN: chunks between two looks at the clock. No path. */
  /* Threshold SHORT_US: how often the clock is read. No path. */
  enum { MAX_UNSEEN = 16, SHORT_US = 100 };
  int scope = scope_begin(), unseen = 1, left = 1;
  double seen_us = 0;
  while (*next < loop->chunks && !*loop->stop) {
    if (loop->body(loop->argument, *next)) ++*next;
    if (!loop->deadline_us || --left) continue;
    double now_us = platform_now_us();
    if (now_us >= loop->deadline_us) break;
    unseen = now_us - seen_us > SHORT_US ? 1 : unseen < MAX_UNSEEN ? 2 * unseen : unseen;
    left = unseen;
    seen_us = now_us;
  }
  scope_commit(scope);
}

static const LoopSharing sharing = {help, give_up_share};

bool parallel_for(const ChunkLoop *loop, int *next, Error *error) {
  LoopShare *self = scheduler_loop_share();
  if (loop->chunks - *next <= 1 || loop->in_order || loop->deadline_us || self->owns ||
      self->helps || scheduler_workers() <= 1) {
    run_alone(loop, next);
    return true;
  }
  SharedLoop shared = {.loop = loop,
                       .rest = (uint64_t)loop->chunks << 32 | (uint32_t)*next,
                       .error = error,
                       .owner = scheduler_current_worker()};
  scheduler_lock();
  shared.next = open_loops;
  open_loops = &shared;
  self->owns = &shared;
  scheduler_offer_loop(&sharing);
  work_on(&shared, false);
  close_loop(&shared);
  while (shared.helpers) scheduler_await_leaving();
  self->owns = NULL;
  scheduler_unlock();
  if ((uint32_t)shared.rest >= shared.rest >> 32) *next = loop->chunks;
  return !shared.failed;
}
