/*
** Rendezvous: where the replicas of one group meet for one collective.
**
** A rendezvous is open from the arrival of its first member to that of its last. The last one does
** the work for all while the others are parked (so their buffers stand still), then wakes them.
** The same collective is met again only after that, so thunk and members identify it. With a channel
** id, collectives of that channel and those members meet wherever in the program they stand, as in
** XLA, if they have the same shapes; a channel may serve several that differ.
*/
#include "runtime/run.h"
#include "runtime/scheduler.h"

/* The replicas that take part in `thunk` with `replica`: a group, or all of them. */
typedef struct Group {
  int size;
  const int64_t *ids; /* NULL: 0 .. size-1 */
} Group;

static int64_t group_member(const int64_t *ids, int i) { return ids ? ids[i] : i; }

/* The opcodes without replica groups (collective-permute) involve every replica. */
static bool find_group(const Run *run, const Thunk *thunk, int replica, Group *group) {
  const ReplicaGroups *groups = &thunk->instruction->a.replica_groups;
  if (groups->count == 0 || (groups->count == 1 && groups->groups[0].count == 0)) {
    *group = (Group){run->replica_count, NULL};
    return true;
  }
  for (int g = 0; g < groups->count; g++) {
    for (int i = 0; i < groups->groups[g].count; i++) {
      if (groups->groups[g].items[i] != replica) continue;
      *group = (Group){groups->groups[g].count, groups->groups[g].items};
      return true;
    }
  }
  return false;
}

/* The group's member number `i`; NULL if there is no such replica. */
static Replica *member_at(const Run *run, const Group *group, int i) {
  int64_t id = group_member(group->ids, i);
  return id >= 0 && id < run->replica_count ? &run->replicas[id] : NULL;
}

static bool same_members(const Rendezvous *r, const Group *group) {
  if (r->size != group->size) return false;
  for (int i = 0; i < r->size; i++) {
    if (group_member(r->ids, i) != group_member(group->ids, i)) return false;
  }
  return true;
}

static bool same_collective(const Instruction *a, const Instruction *b) {
  if (a == b) return true;
  if (!a->a.channel_id || a->a.channel_id != b->a.channel_id || a->opcode != b->opcode ||
      a->operand_count != b->operand_count || !shape_compatible(a->shape, b->shape)) {
    return false;
  }
  for (int i = 0; i < a->operand_count; i++) {
    if (!shape_compatible(a->operands[i]->shape, b->operands[i]->shape)) return false;
  }
  return true;
}

/* ---- With the lock held: so nothing is allocated ---- */

static Rendezvous *find_or_open(Replica *replica, const Thunk *thunk, const Group *group) {
  Run *run = replica->run;
  for (Rendezvous *r = run->rendezvous; r; r = r->next) {
    if (same_members(r, group) && same_collective(r->thunk->instruction, thunk->instruction)) {
      return r;
    }
  }
  replica->own_rendezvous = (Rendezvous){run->rendezvous, thunk, group->ids, group->size, 0};
  return run->rendezvous = &replica->own_rendezvous;
}

static void close_rendezvous(Run *run, const Rendezvous *closed) {
  Rendezvous **link = &run->rendezvous;
  while (*link != closed) link = &(*link)->next;
  *link = closed->next;
}

/* The replica has arrived; whether it is the last one, and the rendezvous is over. */
static bool arrive(Replica *replica, const Thunk *thunk, const Group *group) {
  Rendezvous *r = find_or_open(replica, thunk, group);
  replica->parked_at = thunk;
  replica->rendezvous = r;
  if (++r->arrived < r->size) {
    scheduler_park(replica, REPLICA_PARKED);
    return false;
  }
  close_rendezvous(replica->run, r);
  return true;
}

static void leave(Replica *member, const Replica *last) {
  member->parked_at = NULL;
  member->rendezvous = NULL;
  if (member != last && member->state == REPLICA_PARKED) scheduler_resume(member);
}

/* ---- Without ---- */

static bool meet(Replica *last, const Thunk *thunk, const Group *group, Replica **members,
                 Error *error) {
  for (int i = 0; i < group->size; i++) members[i] = member_at(last->run, group, i);
  bool ok = collective_perform(members[0]->parked_at, members, group->size, error);
  for (int i = 0; i < group->size; i++) replica_record(members[i], thunk);
  scheduler_lock();
  for (int i = 0; i < group->size; i++) leave(members[i], last);
  scheduler_unlock();
  return ok;
}

Outcome rendezvous_arrive(Replica *replica, const Thunk *thunk, Error *error) {
  Group group;
  if (!find_group(replica->run, thunk, replica->id, &group)) {
    error_set_op(error, STATUS_INVALID_ARGUMENT, opcode_name(thunk->instruction->opcode),
                 "replica %d is in none of the replica_groups of %s; every replica that executes "
                 "a collective must be in exactly one group",
                 replica->id, thunk->instruction->name);
    return OUTCOME_FAILED;
  }
  scheduler_lock();
  bool last = arrive(replica, thunk, &group);
  scheduler_unlock();
  if (!last) return OUTCOME_PARKED; /* from here on the replica is another thread's */
  ArenaMark mark = arena_mark(replica->scratch);
  Replica **members = ARENA_ARRAY(replica->scratch, Replica *, group.size);
  bool ok = meet(replica, thunk, &group, members, error);
  arena_release(replica->scratch, mark);
  return ok ? OUTCOME_DONE : OUTCOME_FAILED;
}

/* ---- Deadlock ---- */

enum { MOST_SHOWN = 8 };

static void describe_missing(const Run *run, const Replica *waiting, Error *error) {
  if (!waiting->rendezvous) {
    error_append(error, " for a send on channel %lld",
                 (long long)waiting->parked_at->instruction->a.channel_id);
    return;
  }
  Group group;
  find_group(run, waiting->parked_at, waiting->id, &group);
  int missing = 0;
  for (int i = 0; i < group.size; i++) {
    const Replica *member = member_at(run, &group, i);
    if (member && member->rendezvous == waiting->rendezvous) continue;
    if (missing++ >= MOST_SHOWN) continue;
    error_append(error, "%sreplica %d", missing == 1 ? " for " : ", ",
                 (int)group_member(group.ids, i));
    if (!member) {
      error_append(error, " (which does not exist)");
    } else if (member->state == REPLICA_STOPPED) {
      error_append(error, " (which has finished)");
    } else if (member->parked_at) {
      error_append(error, " (which waits at %s)", member->parked_at->instruction->name);
    }
  }
  if (missing > MOST_SHOWN) error_append(error, " and %d more", missing - MOST_SHOWN);
}

void rendezvous_report_deadlock(const Run *run, Error *error) {
  int parked = 0;
  for (int i = 0; i < run->replica_count; i++) {
    const Replica *replica = &run->replicas[i];
    if (replica->state != REPLICA_PARKED) continue;
    const Instruction *at = replica->parked_at->instruction;
    if (parked++ == 0) {
      error_set_op(error, STATUS_FAILED_PRECONDITION, opcode_name(at->opcode),
                   "deadlock: no replica can go on:");
    }
    if (parked > MOST_SHOWN) continue;
    error_append(error, "%s replica %d waits at %s %s", parked > 1 ? ";" : "", i,
                 opcode_name(at->opcode), at->name);
    describe_missing(run, replica, error);
  }
  if (parked > MOST_SHOWN) {
    error_append(error, "; and %d more replicas wait", parked - MOST_SHOWN);
  }
  error_append(error, ". Every replica of a group must execute the same collectives the same "
                      "number of times");
}
