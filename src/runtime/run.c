#include "runtime/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"
#include "reference/eval.h"
#include "rewrite/dynamic/dimensions.h"
#include "runtime/channels.h"
#include "runtime/dynamic_buffer.h"
#include "runtime/parallel.h"
#include "runtime/scheduler.h"
#include "runtime/waiting.h"

static int given_leaves(const Executable *executable) {
  return executable->program->parameter_leaves - executable->program->hidden_parameters;
}

static bool check_argument(const Executable *executable, int device, int leaf, const Buffer *buffer,
                           Error *error) {
  const Shape *shape = executable->program->parameter_shapes[leaf];
  if (shape_is_token(shape) || (buffer && buffer_fits(buffer, shape))) return true;
  StrBuf expected = {0}, given = {0};
  char name[DEVICE_NAME_SIZE];
  mesh_device_name(executable->mesh, device, name);
  shape_print(&expected, shape, false);
  if (!buffer) {
    invalid_argument(error, "execute", "argument leaf %d of %s is missing; %s is expected", leaf,
                     name, expected.text);
  } else {
    Shape actual = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
    shape_print(&given, &actual, false);
    invalid_argument(error, "execute",
                     "argument leaf %d of %s is %s, which does not fit parameter %s", leaf, name,
                     given.text, expected.text);
  }
  strbuf_free(&expected);
  strbuf_free(&given);
  return false;
}

static bool check_arguments(Executable *const *executables, Buffer *const *arguments,
                            Error *error) {
  Mesh mesh = executables[0]->mesh;
  for (int d = 0; d < mesh_devices(mesh); d++) {
    int n = given_leaves(executables[d]);
    for (int i = 0; i < n; i++) {
      if (!check_argument(executables[d], d, i, *arguments++, error)) return false;
    }
  }
  return true;
}

/* Retains the arguments of one device, followed by the sizes of their dynamic dimensions. */
static bool retain_device_arguments(const Executable *executable, Buffer *const *arguments,
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
  for (int d = 0; d < run->device_count; d++) {
    const Device *device = &run->devices[d];
    int n = given_leaves(device->executable);
    if (n == 0) continue; /* there may be no list */
    if (!retain_device_arguments(device->executable, arguments, device->arguments, error)) {
      return false;
    }
    arguments += n;
  }
  return true;
}

/* Returns a donated argument, if the caller holds the only other reference: the run may then use its memory
** for a result or for temporaries. Else NULL. */
static Buffer *given_argument(const Device *device, int leaf, const uint8_t *donated) {
  if (leaf < 0 || leaf >= given_leaves(device->executable)) return NULL;
  if (!donated || !donated[leaf]) return NULL;
  Buffer *argument = device->arguments[leaf];
  return atomic_load(&argument->references) == 2 ? argument : NULL; /* the caller's and ours */
}

/* Fills the slots of the loans that are lent. Returns the arena bytes that the others need. */
static int64_t find_loans(const Device *device, const uint8_t *donated) {
  const Program *program = device->executable->program;
  int64_t bytes = program->arena_bytes;
  for (int i = 0; i < program->loan_count; i++) {
    const Loan *loan = &program->loans[i];
    int leaf = loan->lender - SLOT_FIRST_PARAMETER, result = leaf - program->parameter_leaves;
    int donor = result < 0 ? -1 : program->donors[result];
    const Buffer *lender =
        result < 0 ? given_argument(device, leaf, donated) : device->results[result];
    if (donor >= 0 && lender->data == device->arguments[donor]->data) lender = NULL;
    if (lender) {
      device->slots[program->first_loan + i] = lender->data + loan->offset;
    } else if (loan->end > bytes) {
      bytes = loan->end;
    }
  }
  return bytes;
}

/* Allocates all memory of a device at once, so that a started run never runs out of it. */
static bool allocate(Device *device, const uint8_t *donated, Error *error) {
  const Program *program = device->executable->program;
  for (int i = 0; i < program->result_leaves; i++) {
    const Shape *shape = program->result_shapes[i];
    if (shape_is_token(shape)) continue;
    Buffer *donor = given_argument(device, program->donors[i], donated);
    device->results[i] = donor ? buffer_sharing(donor, shape, error) : buffer_new(shape, error);
    if (!device->results[i]) return false;
  }
  device->arena_bytes = find_loans(device, donated);
  device->arena = run_arena_take(&device->executable->free_arenas,
                                 device->arena_bytes + program->list_bytes, error);
  return device->arena != NULL;
}

/* Allocates the memory of all devices. `donated` may be NULL: no argument is. */
static bool allocate_all(Run *run, const uint8_t *donated, Error *error) {
  for (int d = 0; d < run->device_count; d++) {
    Device *device = &run->devices[d];
    if (!allocate(device, donated, error)) return false;
    if (donated) donated += given_leaves(device->executable);
  }
  return true;
}

static uint8_t *data_of(const Buffer *buffer) { return buffer ? buffer->data : NULL; }

static void fill_slots(Device *device) {
  const Program *program = device->executable->program;
  uint8_t **slot = device->slots;
  *slot++ = device->arena->memory;
  for (int i = 0; i < program->parameter_leaves; i++) *slot++ = data_of(device->arguments[i]);
  for (int i = 0; i < program->result_leaves; i++) *slot++ = data_of(device->results[i]);
  for (int i = 0; i < program->constant_count; i++) *slot++ = program->constants[i];
  for (int i = 0; i < program->loan_count; i++, slot++) {
    if (!*slot) *slot = device->arena->memory + program->loans[i].instead;
  }
  if (program->loan_count && program->list_bytes)
    *slot = device->arena->memory + device->arena_bytes;
}

static void init_device(Run *run, int id, Executable *executable) {
  Device *device = &run->devices[id];
  const Program *program = executable->program;
  device->task.group = &run->group;
  device->run = run;
  device->id = id;
  device->executable = executable;
  device->waited_for = WAITED_FOR_NONE;
  device->arguments = ARENA_ARRAY(run->memory, Buffer *, program->parameter_leaves);
  device->results = ARENA_ARRAY(run->memory, Buffer *, program->result_leaves);
  device->slots = ARENA_ARRAY(run->memory, uint8_t *, program->slot_count);
  device->bounds = ARENA_ARRAY(run->memory, uint8_t, program->module->bounded_sets + 1);
  device->argument_bounds = ARENA_ARRAY(run->memory, uint8_t, program->parameter_leaves);
  device->frames = ARENA_ARRAY(run->memory, Frame, program->depth);
  device->frames[device->depth++] = (Frame){&program->entry, 0, 0, 0};
  device->scratch = arena_new();
  device->rng_state[0] = RNG_STATE_START + (uint64_t)id * RNG_STATE_OF_REPLICA;
}

/* Allocates the run without its buffers. Calls that may trap come first, while there is nothing to release. */
static Run *new_run(Executable *const *executables, bool profile) {
  Arena *memory = arena_new();
  Run *run = ARENA_NEW(memory, Run);
  Mesh mesh = executables[0]->mesh;
  *run =
      (Run){.mesh = mesh, .memory = memory, .device_count = mesh_devices(mesh), .profile = profile};
  run->group.kind = &device_task;
  run->devices = ARENA_ARRAY(memory, Device, run->device_count);
  run->waiting = ARENA_ARRAY(memory, Waiting, run->device_count);
  for (int d = 0; d < run->device_count; d++) init_device(run, d, executables[d]);
  return run;
}

bool run_check_devices(Executable *const *executables, int count, Error *error) {
  Mesh mesh = count > 0 ? executables[0]->mesh : (Mesh){1, 1};
  for (int i = 0; i < count; i++) {
    Mesh other = executables[i]->mesh;
    if (other.replicas == mesh.replicas && other.partitions == mesh.partitions) continue;
    return invalid_argument(error, "launch",
                            "the executables are compiled for different meshes: %d replicas by %d "
                            "partitions, and %d by %d; compile all of them for that of the launch",
                            mesh.replicas, mesh.partitions, other.replicas, other.partitions);
  }
  if (count == mesh_devices(mesh)) return true;
  return invalid_argument(error, "launch",
                          "%d devices are given, but the executables are compiled for %d replicas "
                          "by %d partitions; each of them needs one entry",
                          count, mesh.replicas, mesh.partitions);
}

Run *run_new(Executable *const *executables, Buffer *const *arguments, const uint8_t *donated,
             bool profile, Error *error) {
  if (!check_arguments(executables, arguments, error)) return NULL;
  Run *run = new_run(executables, profile);
  scheduler_lock();
  for (int d = 0; d < run->device_count; d++) executables[d]->runs++;
  scheduler_unlock();
  if (!retain_arguments(run, arguments, error) || !allocate_all(run, donated, error)) {
    run_destroy(run);
    return NULL;
  }
  for (int d = 0; d < run->device_count; d++) {
    int n = given_leaves(executables[d]);
    /* A donated argument's memory becomes a result's, or is freed with the run. */
    for (int i = 0; donated && i < n; i++) {
      if (*donated++) buffer_release(arguments[i]);
    }
    if (n) arguments += n;
    fill_slots(&run->devices[d]);
    bounds_begin(&run->devices[d]);
  }
  return run;
}

Run *run_new_replicated(Executable *executable, Buffer *const *arguments, const uint8_t *donated,
                        bool profile, Error *error) {
  Arena *arena = arena_new();
  int count = mesh_devices(executable->mesh);
  Executable **executables = ARENA_ARRAY(arena, Executable *, count);
  for (int d = 0; d < count; d++) executables[d] = executable;
  Run *run = run_new(executables, arguments, donated, profile, error);
  arena_free(arena);
  return run;
}

void run_seed(Run *run, uint64_t seed) {
  for (int d = 0; d < run->device_count; d++) run->devices[d].rng_state[1] = seed;
}

/* Whether the calling thread may finish the run sooner than workers would: if the last such run did. */
static bool run_is_quick(const Run *run) {
  bool is_quick = true;
  for (int d = 0; d < run->device_count; d++) {
    Executable *executable = run->devices[d].executable;
    is_quick &= executable->program->is_quick && !executable->slow;
    if (executable->slow) executable->slow--;
  }
  return is_quick;
}

void run_start(Run *run, double us) {
  enum {
    /* The time for which a run may take the thread of its caller. */
    MAX_US =
        250, /* of the host's thread, which may be a page's: twice the way to a worker and back */
    MAX_ALONE_US = 2000, /* if one worker at most would run it: no other would share its loops */
    /* How often the clock is read. */
    SLOW_RUNS = 32 /* begun with a worker after one that took longer, perhaps by chance */
  };
  scheduler_lock();
  double max_us = scheduler_workers() > 1 ? MAX_US : MAX_ALONE_US;
  double deadline_us = us >= max_us && run_is_quick(run) ? platform_now_us() + max_us : 0;
  if (run->state == RUN_NEW) {
    run->state = RUN_RUNNING;
    run->group.active = run->device_count;
    run->group.holds++; /* it must outlive its first device */
    for (int d = 0; d < run->device_count; d++) {
      scheduler_run_here(&run->devices[d].task, deadline_us);
    }
    run->group.holds--;
    bool is_slow = deadline_us && platform_now_us() >= deadline_us;
    for (int d = 0; is_slow && d < run->device_count; d++) {
      run->devices[d].executable->slow = SLOW_RUNS;
    }
    run_look_for_end(run);
  }
  scheduler_unlock();
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
  run_fail(run, &error);
  scheduler_unlock();
}

void run_time_out(Run *run, double ms) {
  Error error;
  scheduler_lock();
  if (run->state == RUN_RUNNING && !run->failing) {
    waiting_note(run);
    waiting_report_timeout(run, ms, &error);
    run_fail(run, &error);
  }
  scheduler_unlock();
}

Buffer *run_result(Run *run, int device, int leaf, Error *error) {
  const Program *program = run->devices[device].executable->program;
  Buffer **results = run->devices[device].results;
  const Shape *shape = program->result_shapes[leaf];
  if (!shape->dynamic || !results[leaf]) return buffer_retain(results[leaf]);
  int next = program->result_leaves - program->hidden_results;
  for (int i = 0; i < leaf; i++) next += shape_dynamic_dimensions(program->result_shapes[i]);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < shape->rank; d++) {
    dims[d] = shape->dims[d];
    if (!shape->dynamic[d]) continue;
    int32_t size; /* computed by the program: it may be any number */
    memcpy(&size, results[next++]->data, sizeof size);
    if (size < dims[d]) dims[d] = size > 0 ? size : 0;
  }
  return buffer_cut(results[leaf], dims, error);
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

static int by_start(const void *a, const void *b) {
  const ProfileEvent *x = a, *y = b;
  return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

const ProfileEvent *run_profile(Run *run, int *count) {
  if (!run->profile_events) {
    int total = 0;
    for (int r = 0; r < run->device_count; r++) total += run->devices[r].event_count;
    run->profile_events = malloc(sizeof(ProfileEvent) * (size_t)(total + 1));
    for (int r = 0; run->profile_events && r < run->device_count; r++) {
      const Device *device = &run->devices[r];
      if (!device->event_count) continue;
      memcpy(run->profile_events + run->profile_count, device->events,
             sizeof(ProfileEvent) * (size_t)device->event_count);
      run->profile_count += device->event_count;
    }
    if (run->profile_events) {
      qsort(run->profile_events, (size_t)run->profile_count, sizeof(ProfileEvent), by_start);
    }
  }
  *count = run->profile_count;
  return run->profile_events;
}
