#include "runtime/run.h"

#include <stdlib.h>
#include <string.h>

#include "dynamic/dimensions.h"
#include "eval/eval.h"
#include "platform/platform.h"
#include "runtime/channels.h"
#include "runtime/dynamic_buffer.h"
#include "runtime/run_arena.h"
#include "runtime/scheduler.h"

static int given_leaves(const Executable *executable) {
  return executable->program->parameter_leaves - executable->program->hidden_parameters;
}

static bool check_argument(const Executable *executable, int replica, int leaf,
                           const Buffer *buffer, Error *error) {
  const Shape *shape = executable->program->parameter_shapes[leaf];
  if (shape_is_token(shape) || (buffer && buffer_fits(buffer, shape))) return true;
  StrBuf expected = {0}, given = {0};
  shape_print(&expected, shape, false);
  if (!buffer) {
    invalid_argument(error, "execute",
                     "argument leaf %d of replica %d is missing; %s is "
                     "expected",
                     leaf, replica, expected.text);
  } else {
    Shape actual = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
    shape_print(&given, &actual, false);
    invalid_argument(error, "execute",
                     "argument leaf %d of replica %d is %s, which does not fit parameter %s", leaf,
                     replica, given.text, expected.text);
  }
  strbuf_free(&expected);
  strbuf_free(&given);
  return false;
}

static bool check_arguments(const Executable *executable, Buffer *const *arguments, Error *error) {
  int n = given_leaves(executable);
  for (int r = 0; r < executable->replica_count; r++) {
    for (int i = 0; i < n; i++) {
      if (!check_argument(executable, r, i, *arguments++, error)) return false;
    }
  }
  return true;
}

/* The arguments of one replica, and behind them the sizes of their dynamic dimensions. */
static bool retain_replica_arguments(const Executable *executable, Buffer *const *arguments,
                                     Buffer **retained, Error *error) {
  int n = given_leaves(executable), next = n;
  for (int i = 0; i < n; i++) {
    const Shape *shape = executable->program->parameter_shapes[i];
    if (!shape->dynamic || !arguments[i]) {
      retained[i] = buffer_retain(arguments[i]);
      continue;
    }
    retained[i] = buffer_padded(arguments[i], shape, error);
    if (!retained[i]) return false;
    for (int d = 0; d < shape->rank; d++) {
      if (!shape->dynamic[d]) continue;
      retained[next] = buffer_of_size(arguments[i]->dims[d], error);
      if (!retained[next++]) return false;
    }
  }
  return true;
}

static bool retain_arguments(Run *run, Buffer *const *arguments, Error *error) {
  const Executable *executable = run->executable;
  Buffer **retained = run->arguments;
  int n = given_leaves(executable);
  for (int r = 0; n && r < run->replica_count; r++) {
    if (!retain_replica_arguments(executable, arguments, retained, error)) return false;
    arguments += n;
    retained += executable->program->parameter_leaves;
  }
  return true;
}

/* Everything that a replica may touch, at once, so that a run that starts does not run out. */
static bool allocate(Run *run, Error *error) {
  Executable *executable = run->executable;
  int results = executable->program->result_leaves;
  for (int r = 0; r < run->replica_count; r++) {
    run->arenas[r] = run_arena_take(executable, error);
    if (!run->arenas[r]) return false;
    for (int i = 0; i < results; i++) {
      const Shape *shape = executable->program->result_shapes[i];
      if (shape_is_token(shape)) continue;
      run->results[r * results + i] = buffer_new(shape, error);
      if (!run->results[r * results + i]) return false;
    }
  }
  return true;
}

static void fill_slots(Run *run, int r) {
  const Executable *executable = run->executable;
  uint8_t **slot = run->replicas[r].slots;
  *slot++ = run->arenas[r]->memory;
  for (int i = 0; i < executable->program->parameter_leaves; i++) {
    const Buffer *buffer = run->arguments[r * executable->program->parameter_leaves + i];
    *slot++ = buffer ? buffer->data : NULL;
  }
  for (int i = 0; i < executable->program->result_leaves; i++) {
    const Buffer *buffer = run->results[r * executable->program->result_leaves + i];
    *slot++ = buffer ? buffer->data : NULL;
  }
  for (int i = 0; i < executable->program->constant_count; i++)
    *slot++ = executable->program->constants[i];
}

/* All of the run but buffers: what may trap comes first, while there is nothing to give back. */
static Run *new_run(Executable *executable, bool profile) {
  Arena *memory = arena_new();
  Run *run = ARENA_NEW(memory, Run);
  int n = executable->replica_count;
  size_t count = (size_t)n;
  *run = (Run){.executable = executable, .memory = memory, .replica_count = n, .profile = profile};
  run->replicas = ARENA_ARRAY(memory, Replica, n);
  run->arenas = ARENA_ARRAY(memory, RunArena *, n);
  run->arguments =
      ARENA_ARRAY(memory, Buffer *, count * (size_t)executable->program->parameter_leaves);
  run->results = ARENA_ARRAY(memory, Buffer *, count * (size_t)executable->program->result_leaves);
  for (int r = 0; r < n; r++) {
    Replica *replica = &run->replicas[r];
    replica->run = run;
    replica->id = r;
    replica->slots = ARENA_ARRAY(memory, uint8_t *, executable->program->slot_count);
    replica->frames = ARENA_ARRAY(memory, Frame, executable->program->depth);
    replica->frames[replica->depth++] = (Frame){&executable->program->entry, 0, 0};
    replica->scratch = arena_new();
    replica->rng_state[0] = RNG_STATE_START + (uint64_t)r * RNG_STATE_OF_REPLICA;
  }
  return run;
}

Run *run_new(Executable *executable, Buffer *const *arguments, const uint8_t *donated, bool profile,
             Error *error) {
  if (!check_arguments(executable, arguments, error)) return NULL;
  Run *run = new_run(executable, profile);
  scheduler_lock();
  executable->runs++;
  scheduler_unlock();
  if (!retain_arguments(run, arguments, error) || !allocate(run, error)) {
    run_destroy(run);
    return NULL;
  }
  /* A donated argument's memory goes when the run does, instead of staying with the caller. */
  size_t given = (size_t)run->replica_count * (size_t)given_leaves(executable);
  for (size_t i = 0; donated && i < given; i++) {
    if (donated[i]) buffer_release(arguments[i]);
  }
  for (int r = 0; r < run->replica_count; r++) fill_slots(run, r);
  return run;
}

void run_seed(Run *run, uint64_t seed) {
  for (int r = 0; r < run->replica_count; r++) run->replicas[r].rng_state[1] = seed;
}

void run_start(Run *run) {
  enum { MOST_US = 300 }; /* of the host's own time, which may be a page's */
  scheduler_lock();
  bool is_new = run->state == RUN_NEW, is_quick = run->executable->program->is_quick;
  if (is_new) {
    run->state = RUN_RUNNING;
    run->active = run->replica_count;
    for (int r = 0; r < run->replica_count && !is_quick; r++) {
      scheduler_make_ready(&run->replicas[r]);
    }
  }
  scheduler_unlock();
  if (is_new && is_quick) scheduler_run_here(run, platform_now_us() + MOST_US);
}

RunState run_state(Run *run) {
  scheduler_lock();
  RunState state = run->state;
  scheduler_unlock();
  return state;
}

void run_cancel(Run *run) {
  Error error;
  error_set(&error, STATUS_CANCELLED, "the run was cancelled");
  scheduler_lock();
  scheduler_fail_run(run, &error);
  scheduler_unlock();
}

Buffer *run_result(Run *run, int replica, int leaf, Error *error) {
  const Executable *executable = run->executable;
  Buffer **results = &run->results[replica * executable->program->result_leaves];
  const Shape *shape = executable->program->result_shapes[leaf];
  if (!shape->dynamic || !results[leaf]) return buffer_retain(results[leaf]);
  int next = executable->program->result_leaves - executable->program->hidden_results;
  for (int i = 0; i < leaf; i++)
    next += shape_dynamic_dimensions(executable->program->result_shapes[i]);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = shape->dims[d];
    if (!shape->dynamic[d]) continue;
    int32_t size; /* the program's business: it may be anything */
    memcpy(&size, results[next++]->data, sizeof size);
    if (size < dims[d]) dims[d] = size > 0 ? size : 0;
  }
  return buffer_cut(results[leaf], dims, error);
}

bool run_is_abandoned(const Run *run) {
  return run->abandoned && run->holds == 0 && run->state != RUN_RUNNING;
}

void run_free(Run *run) {
  if (!run) return;
  run_cancel(run);
  scheduler_lock();
  run->abandoned = true;
  bool unused = run_is_abandoned(run);
  scheduler_unlock();
  if (unused) run_destroy(run);
}

void run_destroy(Run *run) {
  Executable *executable = run->executable;
  for (int r = 0; r < run->replica_count; r++) {
    Replica *replica = &run->replicas[r];
    arena_free(replica->scratch);
    free(replica->events);
    run_arena_give_back(executable, run->arenas[r]);
    for (int i = 0; i < executable->program->parameter_leaves; i++) {
      buffer_release(run->arguments[r * executable->program->parameter_leaves + i]);
    }
    for (int i = 0; i < executable->program->result_leaves; i++) {
      buffer_release(run->results[r * executable->program->result_leaves + i]);
    }
  }
  channels_free(run);
  free(run->profile_events);
  arena_free(run->memory);
  executable_leave(executable);
}

static int by_start(const void *a, const void *b) {
  const ProfileEvent *x = a, *y = b;
  return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

const ProfileEvent *run_profile(Run *run, int *count) {
  if (!run->profile_events) {
    int total = 0;
    for (int r = 0; r < run->replica_count; r++) total += run->replicas[r].event_count;
    run->profile_events = malloc(sizeof(ProfileEvent) * (size_t)(total + 1));
    for (int r = 0; run->profile_events && r < run->replica_count; r++) {
      const Replica *replica = &run->replicas[r];
      if (!replica->event_count) continue;
      memcpy(run->profile_events + run->profile_count, replica->events,
             sizeof(ProfileEvent) * (size_t)replica->event_count);
      run->profile_count += replica->event_count;
    }
    if (run->profile_events) {
      qsort(run->profile_events, (size_t)run->profile_count, sizeof(ProfileEvent), by_start);
    }
  }
  *count = run->profile_count;
  return run->profile_events;
}
