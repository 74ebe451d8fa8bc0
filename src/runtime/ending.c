/* Ends runs and frees them. All functions but run_destroy are called with the scheduler's lock held. */
#include <stdlib.h>

#include "runtime/channels.h"
#include "runtime/parallel.h"
#include "runtime/run_arena.h"
#include "runtime/run_state.h"
#include "runtime/waiting.h"

static void end_run(Run *run) {
  run->state = run->failing ? RUN_FAILED : RUN_DONE;
  scheduler_end(&run->group);
}

static void stop_parked(Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    Device *device = &run->devices[i];
    if (device->state != DEVICE_PARKED && device->state != DEVICE_HOST) continue;
    device->state = DEVICE_STOPPED;
    run->stopped++;
  }
}

static bool waits_for_host(const Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    if (run->devices[i].state == DEVICE_HOST) return true;
  }
  return false;
}

/* If no device of this run can go on by itself, the run has ended, waits for the host, or is deadlocked.
** `holds` counts workers that are still in its code: a run ends only after all have left. */
void run_look_for_end(Run *run) {
  if (run->state != RUN_RUNNING || run->group.active > 0 || run->group.holds > 0) return;
  if (!run->failing && run->stopped < run->device_count) {
    if (channels_deliver_rest(run) || waits_for_host(run)) return;
    waiting_note(run);
    waiting_report_deadlock(run, &run->error);
    run->failing = true;
  }
  stop_parked(run);
  end_run(run);
}

void run_fail(Run *run, const Error *error) {
  if (run->state != RUN_RUNNING) return;
  if (!run->failing) run->error = *error;
  run->failing = true;
  /* Parked devices must stay while another device runs: it may be performing a collective that uses
  ** their memory. The device that stops last stops them too. */
  run_look_for_end(run);
}

bool run_is_abandoned(const Run *run) {
  return run->abandoned && run->group.holds == 0 && run->state != RUN_RUNNING;
}

static void release_device(Device *device) {
  const Program *program = device->executable->program;
  arena_free(device->scratch);
  free(device->events);
  run_arena_give_back(&device->executable->free_arenas, device->arena);
  for (int i = 0; i < program->parameter_leaves; i++) buffer_release(device->arguments[i]);
  for (int i = 0; i < program->result_leaves; i++) buffer_release(device->results[i]);
  executable_leave(device->executable);
}

void run_destroy(Run *run) {
  channels_free(run);
  for (int d = 0; d < run->device_count; d++) release_device(&run->devices[d]);
  free(run->profile_events);
  arena_free(run->memory);
  parallel_reap();
}
