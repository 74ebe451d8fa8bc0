/*
** Run: one execution on all devices of a mesh, of one executable or of one for each device. A device
** is a task: a stack of frames over thunk sequences. It runs on any worker, and parks at collectives and host calls.
** The device or host that completes the awaited event resumes it. No thread blocks.
**
** The stage takes a Program and arguments, and returns results or an error. Invariant: the state of a device
** is its stack of frames and its memory, and nothing of it is on a thread's stack between two turns. The trick:
** any worker can therefore give it the next turn, so a run needs no thread of its own for each device.
** If no device can go on and some wait, the run fails with a list of the waits (waiting.h).
**
** A turn (turns.c, device.c) runs thunks until the device parks, ends, fails, or the turn's time is over. ending.c ends
** runs.
** Large thunks are divided into chunks that idle workers take (parallel.h). Errors inside a turn, traps
** included, fail the run and leave other runs alone.
**
** Read next: scheduler.h (tasks, workers, the lock), device.c (thunks), rendezvous.c and collectives.c (devices
** that meet), channels.h (send and recv), host.h (calls of the host).
*/
#ifndef XLA_RUNTIME_RUN_H
#define XLA_RUNTIME_RUN_H

#include "runtime/run_state.h"

/* `executables`: one for each device of the mesh that all of them were compiled for. api.h describes the
** other arguments; here the arguments of each device follow those of the device before. */
Run *run_new(Executable *const *executables, Buffer *const *arguments, const uint8_t *donated,
             bool profile, Error *error);
/* Whether there are `count` executables, all for one mesh of that size. */
bool run_check_devices(Executable *const *executables, int count, Error *error);
/* Starts a run of one executable on all devices. */
Run *run_new_replicated(Executable *executable, Buffer *const *arguments, const uint8_t *donated,
                        bool profile, Error *error);
/* Seeds rng; called before run_start. The default seed is 0. */
void run_seed(Run *run, uint64_t seed);
/* The calling thread may begin a short run, if `us` microseconds of its time are enough to show that it is short. */
void run_start(Run *run, double us);
RunState run_state(Run *run);
/* Returns a result, which the caller releases. Dynamic dimensions have their actual sizes. NULL for tokens,
** or with RESOURCE_EXHAUSTED. */
Buffer *run_result(Run *run, int device, int leaf, Error *error);
void run_cancel(Run *run);
/* Fails the run now with DEADLINE_EXCEEDED. The message says that it took longer than `ms` milliseconds, and lists each
** device's wait. */
void run_time_out(Run *run, double ms);
void run_free(Run *run);
/* Returns all devices' events by start time. The run owns them, and must have ended. */
const ProfileEvent *run_profile(Run *run, int *count);

#endif
