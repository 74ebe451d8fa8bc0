/*
** The state of a run and of its devices, and the functions that the files of a run share. run.h describes them.
*/
#ifndef XLA_RUNTIME_RUN_STATE_H
#define XLA_RUNTIME_RUN_STATE_H

#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "runtime/parallel.h"
#include "runtime/scheduler.h"

typedef enum RunState { RUN_NEW, RUN_RUNNING, RUN_DONE, RUN_FAILED } RunState;

typedef enum DeviceState {
  DEVICE_ACTIVE,  /* in the scheduler's queue, or on a worker */
  DEVICE_PARKED,  /* at a collective */
  DEVICE_HOST,    /* waits for the host */
  DEVICE_STOPPED, /* finished, or given up after the run failed */
} DeviceState;

/* An event of a profile; times are from platform_now_us(). The bindings read this layout. A
** collective's event lasts from the arrival to the resumption. Until `ready_us` it waits for `waited_for`:
** the device that came last or sent the message, or the host. */
enum { WAITED_FOR_HOST = -1, WAITED_FOR_NONE = -2 };
typedef struct ProfileEvent {
  double start_us, ready_us, end_us;
  int replica, worker;
  const char *name;     /* the instruction's */
  const char *category; /* "eval", "generated", ... the thunk's kind */
  const char *holds;    /* of regions: the instructions' names, a line each; else NULL */
  int partition;
  int waited_for;
} ProfileEvent;
/* ORDER PROFILE_EVENT */
_Static_assert(sizeof(void *) != 4 || sizeof(ProfileEvent) == 56, "the layout that bindings read");

typedef struct Run Run;
typedef struct Device Device;

typedef struct Frame {
  const ThunkSequence *sequence;
  int next;  /* the thunk to run */
  int phase; /* of that thunk, if it is a loop, a branch, a kernel, a region or a collective */
  int chunk; /* of that phase: the next one */
} Frame;

/* The meeting of one group's devices for one collective; it is part of the device that came first. */
typedef struct Rendezvous {
  struct Rendezvous *next; /* open ones of the run */
  const Thunk *thunk;
  const DeviceGroup *group;
  int arrived;
} Rendezvous;

struct Device {
  Task task; /* first, as the scheduler casts it to Device */
  Run *run;
  int id; /* the device's position in the mesh, replica-major */
  Executable *executable;
  struct RunArena *arena;
  int64_t arena_bytes;               /* the part of the arena for temporaries */
  Buffer **arguments;                /* retained */
  Buffer **results;                  /* NULL once taken */
  uint8_t *bounds, *argument_bounds; /* by set of arrays, and by argument; bounds.c */
  DeviceState state;
  Device *next_call; /* of those that wait for the host */
  uint8_t **slots;
  Arena *scratch;                /* for the evaluator, emptied after each thunk */
  struct Evaluation *evaluation; /* of the present thunk, in scratch; else NULL */
  ArenaMark evaluation_mark;
  int depth;
  Frame *frames;   /* their number is the program's depth */
  const Thunk *at; /* the thunk that it runs or ran last */
  const Thunk *parked_at;
  Rendezvous own_rendezvous, *rendezvous; /* the one that it waits in */
  struct Message *message;                /* received when it goes on */
  double parked_since;
  double ready_us;    /* for the profile: the time at which its wait ended, */
  int waited_for;     /* and the device that it waited for */
  double since;       /* the start of the present thunk */
  double deadline_us; /* of this turn; 0: none */
  int fuel;           /* a region's fuel; 0: no region ran yet */
  Error *error;       /* while a region runs: receives the errors of its calls */
  uint64_t rng_state[2];
  int event_count, event_capacity;
  ProfileEvent *events; /* heap */
};

struct Run {
  TaskGroup group; /* first, as in Device */
  Mesh mesh;
  RunState state;
  bool profile;
  _Atomic bool failing; /* a device failed; the others stop at their next chunk */
  int device_count;
  Device *devices; /* one a device */
  int stopped;     /* devices that are STOPPED */
  bool abandoned;  /* by its owner: the last worker that holds it destroys it */
  Error error;
  struct Waiting *waiting; /* of a run that could not go on: each device's wait; waiting.c */
  bool has_waiting;
  Rendezvous *rendezvous;       /* open ones */
  struct Message *messages;     /* sent and not yet received; channels.c */
  Device *host_calls;           /* devices whose host call was not taken yet; host.c */
  Device *last_host_call;       /* the end of that list */
  Arena *memory;                /* holds all this; the run adds nothing after its start */
  ProfileEvent *profile_events; /* merged when asked for */
  int profile_count;
};

/* A device's position in the mesh. */
static inline int replica_number(const Device *device) {
  return device->id / device->run->mesh.partitions;
}
static inline int partition_number(const Device *device) {
  return device->id % device->run->mesh.partitions;
}

/* Returns the address of a buffer in a device's memory; NULL for tokens. */
static inline uint8_t *device_pointer(const Device *device, const LogicalBuffer *buffer) {
  return buffer->slot == SLOT_NONE ? NULL : device->slots[buffer->slot] + buffer->offset;
}

/* Returns the loop over the chunks of a device's present thunk. */
static inline ChunkLoop chunk_loop(const Device *device, int64_t chunks, bool (*body)(void *, int),
                                   void *argument) {
  return (ChunkLoop){.chunks = (int)chunks,
                     .body = body,
                     .argument = argument,
                     .stop = &device->run->failing,
                     .deadline_us = device->deadline_us};
}

/* ---- Turns of devices ---- */

/* The functions that the scheduler calls: turns.c */
extern const TaskKind device_task;

/* With the lock held: park a device that waits for others or the host; resume it. run_state.c */
void device_park(Device *device, DeviceState state);
void device_resume(Device *device);

/* With the lock held: fails the run for a reason outside its devices, such as cancellation. Parked devices stop now,
** others at their next thunk. ending.c */
void run_fail(Run *run, const Error *error);
/* With the lock held: if no device of the run can go on by itself, ends the run, or lets it wait for the
** host. */
void run_look_for_end(Run *run);
/* With the lock held: whether the run has no owner and no running device. Without it: destroys the run. */
bool run_is_abandoned(const Run *run);
void run_destroy(Run *run);

/* Reads from the arguments what is known of their numbers; and notes it in them and in the results, after the device has done
** all its steps. bounds.c */
void bounds_begin(Device *device);
void bounds_end(Device *device);

/* Runs thunks until the device parks, ends or fails, or the clock passes `deadline_us` (0: none).
** device.c */
Outcome device_run(Device *device, double deadline_us, Error *error);

/* Enters the device into the collective of its frame. Returns OUTCOME_PARKED unless it is the last one to
** come. The last one performs the collective for all, wakes the others and returns OUTCOME_DONE; or
** OUTCOME_YIELD if its turn ends first, and the next call goes on. rendezvous.c */
Outcome rendezvous_arrive(Device *device, Frame *frame, const Thunk *thunk, Error *error);

/* Adds to `error`, which has the reason, the operation at which the device trapped; of a fusion, the name. */
void device_trapped(const Device *device, Error *error);

/* For the profile: device_ready notes that `waited_for` ended a device's wait; device_record notes that the thunk, which
** began at start_us, is over. run_state.c */
void device_ready(Device *device, int waited_for);
void device_record(Device *device, const Thunk *thunk, double start_us);

/* Performs a collective, from the state in `frame` on, until the clock passes `deadline_us` (0: none).
** `devices` are the members of a group in group order. Returns OUTCOME_DONE,
** OUTCOME_FAILED with the reason in `error`, or OUTCOME_YIELD: the next call goes on. collectives.c */
Outcome collective_perform(const Thunk *thunk, Device *const *devices, int count, Frame *frame,
                           double deadline_us, Error *error);

/* Fills the results of a device outside the collective's groups with zeros. */
void collective_stay_out(const Thunk *thunk, Device *device);

#endif
