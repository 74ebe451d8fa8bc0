#include "runtime/host.h"

#include "runtime/origin.h"

Outcome host_call_arrive(Device *device, const Thunk *thunk) {
  Run *run = device->run;
  scheduler_lock();
  device->parked_at = thunk;
  device->next_call = NULL;
  if (run->host_calls) {
    run->last_host_call->next_call = device;
  } else {
    run->host_calls = device;
  }
  run->last_host_call = device;
  device_park(device, DEVICE_HOST);
  scheduler_notify();
  scheduler_unlock();
  return OUTCOME_PARKED;
}

HostCall *host_call_take(Run *run) {
  scheduler_lock();
  Device *device = run->state == RUN_RUNNING ? run->host_calls : NULL;
  if (device) run->host_calls = device->next_call;
  scheduler_unlock();
  return device;
}

void host_call_done(HostCall *call, StatusCode code, const char *message) {
  Run *run = call->run;
  scheduler_lock();
  if (call->state == DEVICE_HOST) {
    if (message) {
      Error error;
      error_set_op(&error, code, opcode_name(call->parked_at->instruction->opcode), "%s", message);
      origin_append(call->parked_at->instruction, &error);
      run_fail(run, &error);
    } else {
      device_ready(call, WAITED_FOR_HOST);
      device_resume(call);
    }
  }
  scheduler_unlock();
}

const char *host_call_target(const HostCall *call) {
  const Attributes *a = call->parked_at->instruction->a;
  if (a->custom_call_target) return a->custom_call_target;
  return a->config ? a->config : "";
}
