#include "runtime/parallel.h"

#include <stdlib.h>

#include "base/scope.h"
#include "platform/platform.h"

/* It lives on the stack of the thread that began it. */
typedef struct SharedLoop {
  struct SharedLoop *next;
  const ChunkLoop *loop;
  int taken;   /* under the lock */
  int helpers; /* other threads that are in it, under the lock */
  bool failed;
  Error *error; /* why; not used any more once it has failed */
  int owner;    /* its worker */
  Task *orphan; /* what the owner ran when it died: fails when the last helper has left */
  void *stack;  /* the dead owner's, where this is: goes then, too */
} SharedLoop;

/* Under the lock. */
static SharedLoop *open_loops;
static void **dead_stacks; /* each begins with the next */

typedef struct SharedChunk {
  SharedLoop *of;
  int chunk;
} SharedChunk;

static void run_chunk(void *argument) {
  const SharedChunk *work = argument;
  const ChunkLoop *loop = work->of->loop;
  while (!loop->body(loop->argument, work->chunk) && !*loop->stop) continue;
}

/* Without the lock. What a chunk allocates and does not free goes if it traps. */
static bool try_chunk(SharedChunk *work, Error *error) {
  int scope = scope_begin();
  bool ok = platform_try(run_chunk, work, error);
  if (ok) {
    scope_commit(scope);
  } else {
    scheduler_check_sound();
    scope_abandon(scope);
  }
  return ok;
}

static bool has_chunks(const SharedLoop *shared) {
  return shared->taken < shared->loop->chunks && !shared->failed && !*shared->loop->stop;
}

/* Takes chunks until there are none left. The lock is held on entry and on return. */
static void work_on(SharedLoop *shared) {
  Error error;
  while (has_chunks(shared)) {
    SharedChunk work = {shared, shared->taken++};
    scheduler_unlock();
    bool ok = try_chunk(&work, &error);
    scheduler_lock();
    if (ok || shared->failed) continue;
    shared->failed = true;
    *shared->error = error;
  }
}

static void close_loop(const SharedLoop *shared) {
  for (SharedLoop **link = &open_loops; *link; link = &(*link)->next) {
    if (*link != shared) continue;
    *link = shared->next;
    return;
  }
}

/* Nobody to share with. A trap goes to whoever runs the task, and the scope goes with it. */
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
      scheduler_workers() <= 1) {
    run_alone(loop, next);
    return true;
  }
  LoopShare *self = scheduler_loop_share();
  SharedLoop shared = {
      .loop = loop, .taken = *next, .error = error, .owner = scheduler_current_worker()};
  scheduler_lock();
  shared.next = open_loops;
  open_loops = &shared;
  self->owns = &shared;
  scheduler_wake_idle();
  work_on(&shared);
  close_loop(&shared);
  while (shared.helpers) scheduler_await_leaving();
  self->owns = NULL;
  scheduler_unlock();
  *next = shared.taken;
  return !shared.failed;
}

/* ---- Those who help ---- */

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

bool parallel_help(LoopShare *self) {
  SharedLoop *shared = open_loops;
  while (shared && !has_chunks(shared)) shared = shared->next;
  if (!shared) return false;
  shared->helpers++;
  self->helps = shared;
  work_on(shared);
  leave(self);
  return true;
}

bool parallel_bury(LoopShare *dead, int worker, Task *task, void *stack) {
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
