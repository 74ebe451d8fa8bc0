/* Parks and resumes devices, and records the events of a profile. */
#include <stdlib.h>

#include "base/host/platform.h"
#include "runtime/run_state.h"

void device_park(Device *device, DeviceState state) {
  device->state = state;
  scheduler_park(&device->task);
}

void device_resume(Device *device) {
  device->state = DEVICE_ACTIVE;
  scheduler_resume(&device->task);
}

/* ---- Profile ---- */

void device_record(Device *device, const Thunk *thunk, double start_us) {
  if (!device->run->profile) return;
  if (device->event_count == device->event_capacity) {
    int capacity = device->event_capacity ? device->event_capacity * 2 : 64;
    ProfileEvent *grown = realloc(device->events, sizeof *grown * (size_t)capacity);
    if (!grown) return; /* a profile with a hole is better than a failed run */
    device->events = grown;
    device->event_capacity = capacity;
  }
  bool waited = device->waited_for != WAITED_FOR_NONE;
  device->events[device->event_count++] =
      (ProfileEvent){start_us,
                     waited && device->ready_us > start_us ? device->ready_us : start_us,
                     platform_now_us(),
                     replica_number(device),
                     scheduler_current_worker(),
                     thunk->instruction->name,
                     thunk_kind_name(thunk->kind),
                     thunk_has_steps(thunk) ? thunk->holds : NULL,
                     partition_number(device),
                     device->waited_for};
  device->waited_for = WAITED_FOR_NONE;
}

void device_ready(Device *device, int waited_for) {
  if (!device->run->profile) return;
  device->waited_for = waited_for;
  device->ready_us = platform_now_us();
}
