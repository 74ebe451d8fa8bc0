#include "runtime/host.h"

#include "runtime/origin.h"

Outcome host_call_arrive(Replica *replica, const Thunk *thunk) {
  Run *run = replica->run;
  scheduler_lock();
  replica->parked_at = thunk;
  replica->next_call = NULL;
  if (run->host_calls) {
    run->last_host_call->next_call = replica;
  } else {
    run->host_calls = replica;
  }
  run->last_host_call = replica;
  replica_park(replica, REPLICA_HOST);
  scheduler_notify();
  scheduler_unlock();
  return OUTCOME_PARKED;
}

HostCall *host_call_take(Run *run) {
  scheduler_lock();
  Replica *replica = run->state == RUN_RUNNING ? run->host_calls : NULL;
  if (replica) run->host_calls = replica->next_call;
  scheduler_unlock();
  return replica;
}

void host_call_done(HostCall *call, StatusCode code, const char *message) {
  Run *run = call->run;
  scheduler_lock();
  if (call->state == REPLICA_HOST) {
    if (message) {
      Error error;
      error_set_op(&error, code, opcode_name(call->parked_at->instruction->opcode), "%s", message);
      origin_append(call->parked_at->instruction, &error);
      run_fail(run, &error);
    } else {
      replica_ready(call, WAITED_FOR_HOST);
      replica_resume(call);
    }
  }
  scheduler_unlock();
}

const char *host_call_target(const HostCall *call) {
  const Attributes *a = call->parked_at->instruction->a;
  if (a->custom_call_target) return a->custom_call_target;
  return a->config ? a->config : "";
}
