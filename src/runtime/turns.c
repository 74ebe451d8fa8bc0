/*
** Handles the outcomes of devices' turns: parks and resumes devices, and ends runs. All functions are called
** with the scheduler's lock held.
*/
#include <limits.h>

#include "runtime/channels.h"
#include "runtime/devices.h"
#include "runtime/waiting.h"

void replica_park(Replica *replica, ReplicaState state) {
  replica->state = state;
  scheduler_park(&replica->task);
}

void replica_resume(Replica *replica) {
  replica->state = REPLICA_ACTIVE;
  scheduler_resume(&replica->task);
}

/* ---- The end of a run ---- */

static void end_run(Run *run) {
  run->state = run->failing ? RUN_FAILED : RUN_DONE;
  scheduler_end(&run->group);
}

static void stop_parked(Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    Replica *replica = &run->replicas[i];
    if (replica->state != REPLICA_PARKED && replica->state != REPLICA_HOST) continue;
    replica->state = REPLICA_STOPPED;
    run->stopped++;
  }
}

static bool waits_for_host(const Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    if (run->replicas[i].state == REPLICA_HOST) return true;
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

/* ---- The scheduler's callbacks ---- */

static Outcome run_turn(Task *task, double deadline_us, Error *error) {
  return replica_run((Replica *)task, deadline_us, error);
}

static void settle(TaskGroup *group, Task *task, Outcome outcome, Error *error) {
  Run *run = (Run *)group;
  Replica *replica = (Replica *)task;
  if (replica && outcome != OUTCOME_PARKED) {
    if (outcome == OUTCOME_TRAPPED) replica_trapped(replica, error);
    if (outcome != OUTCOME_DONE && !run->failing) run->error = *error;
    if (outcome != OUTCOME_DONE) run->failing = true;
    replica->state = REPLICA_STOPPED;
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

const TaskKind replica_task = {run_turn, settle, give_up};
