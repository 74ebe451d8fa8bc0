/*
** Rendezvous: the meetings of a group's devices for one collective.
**
** A rendezvous is open from the arrival of its first member to that of its last. The last one does the work for
** all, in as many turns as needed. Meanwhile the others are parked, so their buffers do not change; then it wakes
** them. Until then its own `rendezvous` marks it as working.
** The group reaches the same collective again only after that, so thunk and members identify a rendezvous. With
** a channel id, collectives of that channel, members and shapes meet wherever they stand in the program, as in
** XLA. One channel may serve several collectives of different shapes.
*/
#include <string.h>

#include "runtime/devices.h"
#include "runtime/scheduler.h"

static const DeviceGroup *group_of(const Thunk *thunk, const Replica *device) {
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

static Rendezvous *find_or_open(Replica *replica, const Thunk *thunk, const DeviceGroup *group) {
  Run *run = replica->run;
  for (Rendezvous *r = run->rendezvous; r; r = r->next) {
    if (same_collective(r->thunk->instruction, thunk->instruction) &&
        same_members(r->group, group)) {
      return r;
    }
  }
  replica->own_rendezvous = (Rendezvous){run->rendezvous, thunk, group, 0};
  return run->rendezvous = &replica->own_rendezvous;
}

static void close_rendezvous(Run *run, const Rendezvous *closed) {
  Rendezvous **link = &run->rendezvous;
  while (*link != closed) link = &(*link)->next;
  *link = closed->next;
}

/* Enters a replica into its rendezvous. Returns whether it is the last member, which closes the rendezvous. */
static bool arrive(Replica *replica, const Thunk *thunk, const DeviceGroup *group) {
  Rendezvous *r = find_or_open(replica, thunk, group);
  replica->parked_at = thunk;
  replica->rendezvous = r;
  if (++r->arrived < group->size) {
    replica_park(replica, REPLICA_PARKED);
    return false;
  }
  close_rendezvous(replica->run, r);
  return true;
}

static void leave(Replica *member, const Replica *last) {
  member->parked_at = NULL;
  member->rendezvous = NULL;
  if (member != last && member->state == REPLICA_PARKED) replica_resume(member);
}

/* ---- Without the lock ---- */

static void tell_ready(Replica *last, const DeviceGroup *group) {
  for (int i = 0; i < group->size; i++) {
    Replica *member = &last->run->replicas[group->devices[i]];
    if (member != last) replica_ready(member, last->id);
  }
}

static Outcome meet(Replica *last, Frame *frame, const Thunk *thunk, const DeviceGroup *group,
                    Error *error) {
  ArenaMark mark = arena_mark(last->scratch);
  Replica **members = ARENA_ARRAY(last->scratch, Replica *, group->size);
  for (int i = 0; i < group->size; i++) members[i] = &last->run->replicas[group->devices[i]];
  bool ok, is_over = collective_perform(members[0]->parked_at, members, group->size, frame,
                                        last->deadline_us, &ok, error);
  if (is_over) {
    frame->phase = frame->chunk = 0;
    frame->next++;
    for (int i = 0; i < group->size; i++) replica_record(members[i], thunk);
    scheduler_lock();
    for (int i = 0; i < group->size; i++) leave(members[i], last);
    scheduler_unlock();
  }
  arena_release(last->scratch, mark);
  return !is_over ? OUTCOME_YIELD : ok ? OUTCOME_DONE : OUTCOME_FAILED;
}

/* Handles a device outside all groups. Only a broadcast may leave one out; its results are then zeros. */
static Outcome stay_out(Replica *replica, const Thunk *thunk, Error *error) {
  if (thunk->instruction->opcode == HLO_COLLECTIVE_BROADCAST) {
    collective_stay_out(thunk, replica);
    replica_record(replica, thunk);
    return OUTCOME_DONE;
  }
  char name[DEVICE_NAME_SIZE];
  error_set_op(error, STATUS_INVALID_ARGUMENT, opcode_name(thunk->instruction->opcode),
               "%s is in none of the replica_groups of %s; every device that executes a collective "
               "must be in exactly one group",
               mesh_device_name(replica->run->mesh, replica->id, name), thunk->instruction->name);
  return OUTCOME_FAILED;
}

Outcome rendezvous_arrive(Replica *replica, Frame *frame, const Thunk *thunk, Error *error) {
  const DeviceGroup *group = group_of(thunk, replica);
  if (!replica->rendezvous) {
    frame->next++; /* before it parks: then another thread may resume it at any moment */
    if (!group) return stay_out(replica, thunk, error);
    scheduler_lock();
    bool last = arrive(replica, thunk, group);
    scheduler_unlock();
    if (!last) return OUTCOME_PARKED; /* from here on another thread may run the replica */
    frame->next--;
    tell_ready(replica, group);
  }
  return meet(replica, frame, thunk, group, error);
}
