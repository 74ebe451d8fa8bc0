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

typedef struct Rendezvous {
  struct Rendezvous *next;
  const Thunk *thunk;
  const int64_t *ids; /* of the group's replicas; NULL: 0 .. size-1 */
  int size, arrived;
  Replica **members; /* by position in the group; NULL: not here yet */
} Rendezvous;

/* The replicas that take part in `thunk` with `replica`: a group, or all of them. */
typedef struct Group {
  int size, position;
  const int64_t *ids; /* NULL: 0 .. size-1 */
} Group;

static int64_t group_member(const int64_t *ids, int i) { return ids ? ids[i] : i; }

/* The opcodes without replica groups (collective-permute) involve every replica. */
static bool find_group(const Run *run, const Thunk *thunk, int replica, Group *group) {
  const ReplicaGroups *groups = &thunk->instruction->a.replica_groups;
  if (groups->count == 0 || (groups->count == 1 && groups->groups[0].count == 0)) {
    *group = (Group){run->replica_count, replica, NULL};
    return true;
  }
  for (int g = 0; g < groups->count; g++) {
    for (int i = 0; i < groups->groups[g].count; i++) {
      if (groups->groups[g].items[i] != replica) continue;
      *group = (Group){groups->groups[g].count, i, groups->groups[g].items};
      return true;
    }
  }
  return false;
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

static Rendezvous *find_or_open(Run *run, const Thunk *thunk, const Group *group) {
  for (Rendezvous *r = run->rendezvous; r; r = r->next) {
    if (same_members(r, group) && same_collective(r->thunk->instruction, thunk->instruction)) {
      return r;
    }
  }
  Rendezvous *r = run->free_rendezvous;
  if (r) {
    run->free_rendezvous = r->next;
  } else {
    r = ARENA_NEW(run->memory, Rendezvous);
    r->members = ARENA_ARRAY(run->memory, Replica *, run->replica_count);
  }
  *r = (Rendezvous){run->rendezvous, thunk, group->ids, group->size, 0, r->members};
  for (int i = 0; i < group->size; i++) r->members[i] = NULL;
  run->rendezvous = r;
  return r;
}

static void close_rendezvous(Run *run, Rendezvous *closed) {
  Rendezvous **link = &run->rendezvous;
  while (*link != closed) link = &(*link)->next;
  *link = closed->next;
}

Outcome rendezvous_arrive(Replica *replica, const Thunk *thunk, int worker, Error *error) {
  Run *run = replica->run;
  Group group;
  if (!find_group(run, thunk, replica->id, &group)) {
    error_set_op(error, STATUS_INVALID_ARGUMENT, opcode_name(thunk->instruction->opcode),
                 "replica %d is in none of the replica_groups of %s; every replica that executes "
                 "a collective must be in exactly one group",
                 replica->id, thunk->instruction->name);
    return OUTCOME_FAILED;
  }
  scheduler_lock();
  Rendezvous *r = find_or_open(run, thunk, &group);
  r->members[group.position] = replica;
  replica->parked_at = thunk;
  replica->rendezvous = r;
  if (++r->arrived < r->size) {
    replica->state = REPLICA_PARKED;
    run->active--;
    scheduler_unlock();
    return OUTCOME_PARKED; /* from here on the replica is another thread's */
  }
  close_rendezvous(run, r);
  scheduler_unlock();
  bool ok = collective_perform(thunk, r->members, r->size, error);
  for (int i = 0; i < r->size; i++) replica_record(r->members[i], thunk, worker);
  scheduler_lock();
  for (int i = 0; i < r->size; i++) {
    Replica *member = r->members[i];
    member->parked_at = NULL;
    member->rendezvous = NULL;
    if (member != replica && member->state == REPLICA_PARKED) {
      run->active++;
      scheduler_make_ready(member);
    }
  }
  r->next = run->free_rendezvous;
  run->free_rendezvous = r;
  scheduler_unlock();
  return ok ? OUTCOME_DONE : OUTCOME_FAILED;
}

/* ---- Deadlock ---- */

static void describe_missing(const Run *run, const Replica *waiting, StrBuf *out) {
  const Rendezvous *r = waiting->rendezvous;
  if (!r) {
    strbuf_printf(out, " for a send on channel %lld",
                  (long long)waiting->parked_at->instruction->a.channel_id);
    return;
  }
  const char *separator = " for ";
  for (int i = 0; i < r->size; i++) {
    if (r->members[i]) continue;
    int id = (int)group_member(r->ids, i);
    const Replica *missing = &run->replicas[id];
    strbuf_printf(out, "%sreplica %d", separator, id);
    if (missing->state == REPLICA_STOPPED) {
      strbuf_append(out, " (which has finished)");
    } else if (missing->parked_at) {
      strbuf_printf(out, " (which waits at %s)", missing->parked_at->instruction->name);
    }
    separator = ", ";
  }
}

void rendezvous_report_deadlock(const Run *run, Error *error) {
  enum { MOST = 8 };
  StrBuf out = {0};
  int shown = 0, parked = 0;
  const char *operation = "";
  for (int i = 0; i < run->replica_count; i++) {
    const Replica *replica = &run->replicas[i];
    if (replica->state != REPLICA_PARKED) continue;
    if (parked++ == 0) operation = opcode_name(replica->parked_at->instruction->opcode);
    if (shown == MOST) continue;
    strbuf_printf(&out, "%s replica %d waits at %s %s", shown++ ? ";" : "", i,
                  opcode_name(replica->parked_at->instruction->opcode),
                  replica->parked_at->instruction->name);
    describe_missing(run, replica, &out);
  }
  if (parked > shown) strbuf_printf(&out, "; and %d more replicas wait", parked - shown);
  error_set_op(error, STATUS_FAILED_PRECONDITION, operation,
               "deadlock: no replica can go on:%s. Every replica of a group must execute the same "
               "collectives the same number of times",
               out.text);
  strbuf_free(&out);
}
