/*
** Handles the outcomes of devices' turns, for the scheduler. All functions are called with its lock held.
*/
#include <limits.h>

#include "runtime/run_state.h"

static Outcome run_turn(Task *task, double deadline_us, Error *error) {
  return device_run((Device *)task, deadline_us, error);
}

static void settle(TaskGroup *group, Task *task, Outcome outcome, Error *error) {
  Run *run = (Run *)group;
  Device *device = (Device *)task;
  if (device && outcome != OUTCOME_PARKED) {
    if (outcome == OUTCOME_TRAPPED) device_trapped(device, error);
    if (outcome == OUTCOME_DONE) bounds_end(device);
    if (outcome != OUTCOME_DONE && !run->failing) run->error = *error;
    if (outcome != OUTCOME_DONE) run->failing = true;
    device->state = DEVICE_STOPPED;
    run->stopped++;
    run->group.active--;
  }
  run_look_for_end(run);
  if (!run_is_abandoned(run)) return;
  scheduler_unlock();
  run_destroy(run);
  scheduler_lock();
}

/* Fails a run whose state is unknown. Nothing destroys it, since it counts as held. */
static void give_up(TaskGroup *group, const Error *error) {
  Run *run = (Run *)group;
  run->error = *error;
  run->has_waiting = false;
  run->failing = true;
  run->state = RUN_FAILED;
  group->holds = INT_MAX / 2;
  scheduler_end(group);
}

const TaskKind device_task = {run_turn, settle, give_up};
