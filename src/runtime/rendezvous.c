/*
** Rendezvous: the meetings of a group's devices for one collective.
**
** A rendezvous is open from the arrival of its first member to that of its last. The last one does the work for
** all, in as many turns as needed. Meanwhile the others are parked, so their buffers do not change; then it wakes
** them. While it works, its field `rendezvous` stays set.
** The group reaches the same collective again only after that, so thunk and members identify a rendezvous. With
** a channel id, collectives of that channel, members and shapes meet wherever they stand in the program, as in
** XLA. One channel may serve several collectives of different shapes.
*/
#include <string.h>

#include "runtime/run_state.h"
#include "runtime/scheduler.h"

static const DeviceGroup *group_of(const Thunk *thunk, const Device *device) {
  int number = thunk->groups->group_of[device->id];
  return number < 0 ? NULL : &thunk->groups->groups[number];
}

static bool same_members(const DeviceGroup *a, const DeviceGroup *b) {
  return a == b || (a->size == b->size &&
                    memcmp(a->devices, b->devices, sizeof *a->devices * (size_t)a->size) == 0);
}

static bool same_collective(const Instruction *a, const Instruction *b) {
  if (a == b) return true;
  if (!a->a->channel_id || a->a->channel_id != b->a->channel_id || a->opcode != b->opcode ||
      a->operand_count != b->operand_count || !shape_compatible(a->shape, b->shape)) {
    return false;
  }
  for (int i = 0; i < a->operand_count; i++) {
    if (!shape_compatible(a->operands[i]->shape, b->operands[i]->shape)) return false;
  }
  return true;
}

/* ---- With the lock held: no allocation ---- */

static Rendezvous *find_or_open(Device *device, const Thunk *thunk, const DeviceGroup *group) {
  Run *run = device->run;
  for (Rendezvous *r = run->rendezvous; r; r = r->next) {
    if (same_collective(r->thunk->instruction, thunk->instruction) &&
        same_members(r->group, group)) {
      return r;
    }
  }
  device->own_rendezvous = (Rendezvous){run->rendezvous, thunk, group, 0};
  return run->rendezvous = &device->own_rendezvous;
}

static void close_rendezvous(Run *run, const Rendezvous *closed) {
  Rendezvous **link = &run->rendezvous;
  while (*link != closed) link = &(*link)->next;
  *link = closed->next;
}

/* Enters a device into its rendezvous. Returns whether it is the last member, which closes the rendezvous. */
static bool arrive(Device *device, const Thunk *thunk, const DeviceGroup *group) {
  Rendezvous *r = find_or_open(device, thunk, group);
  device->parked_at = thunk;
  device->rendezvous = r;
  if (++r->arrived < group->size) {
    device_park(device, DEVICE_PARKED);
    return false;
  }
  close_rendezvous(device->run, r);
  return true;
}

static void leave(Device *member, const Device *last) {
  member->parked_at = NULL;
  member->rendezvous = NULL;
  if (member != last && member->state == DEVICE_PARKED) device_resume(member);
}

/* ---- Without the lock ---- */

static void tell_ready(Device *last, const DeviceGroup *group) {
  for (int i = 0; i < group->size; i++) {
    Device *member = &last->run->devices[group->devices[i]];
    if (member != last) device_ready(member, last->id);
  }
}

static Outcome meet(Device *last, Frame *frame, const Thunk *thunk, const DeviceGroup *group,
                    Error *error) {
  ArenaMark mark = arena_mark(last->scratch);
  Device **members = ARENA_ARRAY(last->scratch, Device *, group->size);
  for (int i = 0; i < group->size; i++) members[i] = &last->run->devices[group->devices[i]];
  Outcome outcome = collective_perform(members[0]->parked_at, members, group->size, frame,
                                       last->deadline_us, error);
  if (outcome != OUTCOME_YIELD) {
    frame->phase = frame->chunk = 0;
    frame->next++;
    for (int i = 0; i < group->size; i++) {
      device_record(members[i], thunk, members[i]->parked_since);
    }
    scheduler_lock();
    for (int i = 0; i < group->size; i++) leave(members[i], last);
    scheduler_unlock();
  }
  arena_release(last->scratch, mark);
  return outcome;
}

/* Handles a device outside all groups. Only a broadcast may leave one out; its results are then zeros. */
static Outcome stay_out(Device *device, const Thunk *thunk, Error *error) {
  if (thunk->instruction->opcode == HLO_COLLECTIVE_BROADCAST) {
    collective_stay_out(thunk, device);
    device_record(device, thunk, device->parked_since);
    return OUTCOME_DONE;
  }
  char name[DEVICE_NAME_SIZE];
  error_set_op(error, STATUS_INVALID_ARGUMENT, opcode_name(thunk->instruction->opcode),
               "%s is in none of the replica_groups of %s; every device that executes a collective "
               "must be in exactly one group",
               mesh_device_name(device->run->mesh, device->id, name), thunk->instruction->name);
  return OUTCOME_FAILED;
}

Outcome rendezvous_arrive(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  const DeviceGroup *group = group_of(thunk, device);
  if (!device->rendezvous) {
    frame->next++; /* before it parks: then another thread may resume it at any moment */
    if (!group) return stay_out(device, thunk, error);
    scheduler_lock();
    bool last = arrive(device, thunk, group);
    scheduler_unlock();
    if (!last) return OUTCOME_PARKED; /* from here on another thread may run the device */
    frame->next--;
    tell_ready(device, group);
  }
  return meet(device, frame, thunk, group, error);
}
