/*
** Run: one execution on all devices of a mesh, of one executable or of one for each device. A device
** is a task: a stack of frames over thunk sequences. Its type is Replica, as where there are no
** partitions each replica is one. It runs on any worker, parks at collectives and host calls, and is resumed
** by whoever completes what it waits for. Nothing blocks.
*/
#ifndef XLA_RUNTIME_RUN_H
#define XLA_RUNTIME_RUN_H

#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "runtime/scheduler.h"

typedef enum RunState { RUN_NEW, RUN_RUNNING, RUN_DONE, RUN_FAILED } RunState;

typedef enum ReplicaState {
  REPLICA_ACTIVE,  /* in the scheduler's queue, or on a worker */
  REPLICA_PARKED,  /* at a collective */
  REPLICA_HOST,    /* waits for the host */
  REPLICA_STOPPED, /* finished, or given up after the run failed */
} ReplicaState;

/* What happened when, for profiles; times from platform_now_us(). The layout (56 bytes) is read by the
** bindings. A collective's event lasts from the arrival to the resumption; until `ready_us` it waits for
** what `waited_for` says: the device that came last or sent something, or the host. */
enum { WAITED_FOR_HOST = -1, WAITED_FOR_NOBODY = -2 };
typedef struct ProfileEvent {
  double start_us, ready_us, end_us;
  int replica, worker;
  const char *name;     /* the instruction's */
  const char *category; /* "eval", "generated", ... the thunk's kind */
  const char *holds;    /* of regions: the instructions' names, a line each; else NULL */
  int partition;
  int waited_for;
} ProfileEvent;

typedef struct Run Run;
typedef struct Replica Replica;

typedef struct Frame {
  const ThunkSequence *sequence;
  int next;  /* the thunk to run */
  int phase; /* of that thunk, if it is a loop, a branch, a kernel, a region or a collective */
  int chunk; /* of that phase, from which it goes on */
} Frame;

/* Where the devices of one group meet for one collective: part of the one that came first. */
typedef struct Rendezvous {
  struct Rendezvous *next; /* open ones of the run */
  const Thunk *thunk;
  const DeviceGroup *group;
  int arrived;
} Rendezvous;

struct Replica {
  Task task; /* first, as the scheduler knows it by that */
  Run *run;
  int id; /* the device's: its place in the mesh, replica-major */
  Executable *executable;
  struct RunArena *arena;
  int64_t arena_bytes; /* of it, for temporaries */
  Buffer **arguments;  /* retained */
  Buffer **results;    /* NULL once taken */
  ReplicaState state;
  Replica *next_call; /* of those that wait for the host */
  uint8_t **slots;
  Arena *scratch;                /* for the evaluator, emptied after each thunk */
  struct Evaluation *evaluation; /* in there, of the thunk that it is at; else NULL */
  ArenaMark evaluation_mark;
  int depth;
  Frame *frames;   /* as many as the executable says */
  const Thunk *at; /* what it runs or ran last */
  const Thunk *parked_at;
  Rendezvous own_rendezvous, *rendezvous; /* the one that it waits in */
  struct Message *message;                /* that it receives when it goes on */
  double parked_since;
  double ready_us;    /* when what it waited for was there, */
  int waited_for;     /* and whom that was: for the profile */
  double since;       /* when it began with the thunk that it is at */
  double deadline_us; /* of this turn; 0: none */
  int fuel;           /* that a region gets; 0: none did yet */
  Error *error;       /* while a region runs: where its calls say what went wrong */
  uint64_t rng_state[2];
  int event_count, event_capacity;
  ProfileEvent *events; /* heap */
};

struct Run {
  TaskGroup group; /* first, as in Replica */
  Mesh mesh;
  RunState state;
  bool profile;
  _Atomic bool failing; /* some replica failed; the others stop at their next chunk */
  int device_count;
  Replica *replicas; /* one a device */
  int stopped;       /* replicas that are STOPPED */
  bool abandoned;    /* by its owner: the last worker that holds it destroys it */
  Error error;
  struct Waiting *waiting; /* who waited for what when it could not go on; waiting.c */
  bool has_waiting;
  Rendezvous *rendezvous;       /* open ones */
  struct Message *messages;     /* sent and not yet received; channels.c */
  Replica *host_calls;          /* replicas that wait for the host and were not taken yet; host.c */
  Replica *last_host_call;      /* of that list, if there is one */
  Arena *memory;                /* of all this; nothing is added once it has started */
  ProfileEvent *profile_events; /* merged when asked for */
  int profile_count;
};

/* `executables`: one for each device of the mesh that all of them were compiled for. See api.h for the
** meaning of the other arguments; they are those of one device behind those of another. */
Run *run_new(Executable *const *executables, Buffer *const *arguments, const uint8_t *donated,
             bool profile, Error *error);
/* Whether they are that: `count` of them, for one mesh, as large. */
bool run_check_devices(Executable *const *executables, int count, Error *error);
/* The same executable on all devices. */
Run *run_new_replicated(Executable *executable, Buffer *const *arguments, const uint8_t *donated,
                        bool profile, Error *error);
/* Before it starts: other numbers of rng for another seed; 0 is what it has anyway. */
void run_seed(Run *run, uint64_t seed);
void run_start(Run *run);
RunState run_state(Run *run);
/* A reference of the caller's, of the actual size where dimensions are dynamic. NULL for tokens, or
** with RESOURCE_EXHAUSTED. */
Buffer *run_result(Run *run, int device, int leaf, Error *error);
void run_cancel(Run *run);
/* As run_cancel, with DEADLINE_EXCEEDED, which says who waits for what after so many ms. */
void run_time_out(Run *run, double ms);
void run_free(Run *run);
/* All replicas' events by start time; they belong to the run, which must have ended. */
const ProfileEvent *run_profile(Run *run, int *count);

/* Where in the mesh a device is. */
static inline int replica_number(const Replica *device) {
  return device->id / device->run->mesh.partitions;
}
static inline int partition_number(const Replica *device) {
  return device->id % device->run->mesh.partitions;
}

/* A thunk's view of memory. */
static inline uint8_t *replica_pointer(const Replica *replica, const LogicalBuffer *buffer) {
  return buffer->slot == SLOT_NONE ? NULL : replica->slots[buffer->slot] + buffer->offset;
}

/* ---- Turns of devices ---- */

/* What the scheduler calls: turns.c */
extern const TaskKind replica_task;

/* With the lock held. A device waits, for others or the host; it goes on; its run fails for a reason
** outside its devices (cancelled, say): parked ones stop now, others at their next thunk. */
void replica_park(Replica *replica, ReplicaState state);
void replica_resume(Replica *replica);
void run_fail(Run *run, const Error *error);
/* With the lock held: if nobody of the run can go on by himself, it has ended, or waits for the host. */
void run_look_for_end(Run *run);
/* With the lock held: whether nobody owns it and nobody is in it; and without, that it goes. */
bool run_is_abandoned(const Run *run);
void run_destroy(Run *run);

/* Runs thunks until something happens or the clock passes `deadline_us` (0: none). replica.c */
Outcome replica_run(Replica *replica, double deadline_us, Error *error);

/* The replica arrives at the collective that its frame is at: returns OUTCOME_PARKED, or if it was the
** last one to come, performs the collective for all, wakes the others and returns OUTCOME_DONE; if that
** takes longer than its turn, OUTCOME_YIELD, and calls go on with it. rendezvous.c */
Outcome rendezvous_arrive(Replica *replica, Frame *frame, const Thunk *thunk, Error *error);

/* Says in `error`, which has the reason, what the replica was at when it trapped. */
void replica_trapped(const Replica *replica, Error *error);

/* What a replica waits for is there, by a device or the host; and it goes on: for the profile. */
void replica_ready(Replica *replica, int waited_for);
void replica_record(Replica *replica, const Thunk *thunk);

/* Does a collective, or goes on with it from where `frame` says, until the clock passes `deadline_us` (0:
** none); `replicas` are the members of a group in group order. Whether it is over: then *ok, or `error`
** says why not. collectives.c */
bool collective_perform(const Thunk *thunk, Replica *const *replicas, int count, Frame *frame,
                        double deadline_us, bool *ok, Error *error);

/* A device that a collective leaves out gets zeros. */
void collective_stay_out(const Thunk *thunk, Replica *replica);

#endif
