#include "hlo/ir/mesh.h"

#include <stdio.h>
#include <string.h>

const char *mesh_device_name(Mesh mesh, int device, char name[DEVICE_NAME_SIZE]) {
  int replica = device / mesh.partitions, partition = device % mesh.partitions;
  if (mesh.partitions == 1) {
    snprintf(name, DEVICE_NAME_SIZE, "replica %d", replica);
  } else if (mesh.replicas == 1) {
    snprintf(name, DEVICE_NAME_SIZE, "partition %d", partition);
  } else {
    snprintf(name, DEVICE_NAME_SIZE, "replica %d, partition %d", replica, partition);
  }
  return name;
}

/* ---- Modes ---- */

static bool has_global_ids(Opcode opcode) {
  switch (opcode) {
  case HLO_ALL_REDUCE:
  case HLO_ALL_REDUCE_START:
  case HLO_ALL_GATHER:
  case HLO_ALL_GATHER_START:
  case HLO_REDUCE_SCATTER: return true;
  default: return false;
  }
}

GroupMode collective_group_mode(Opcode opcode, const Attributes *a) {
  if (a->channel_id <= 0) return CROSS_REPLICA;
  if (!has_global_ids(opcode)) return CROSS_PARTITION;
  return a->use_global_device_ids ? FLATTENED_ID : CROSS_REPLICA_AND_PARTITION;
}

int64_t group_mode_ids(GroupMode mode, int64_t replicas, int64_t partitions) {
  if (mode == CROSS_PARTITION) return partitions;
  return mode == FLATTENED_ID ? replicas * partitions : replicas;
}

const char *group_mode_noun(GroupMode mode) {
  if (mode == CROSS_PARTITION) return "partition";
  return mode == FLATTENED_ID ? "device" : "replica";
}

/* ---- Groups ---- */

typedef struct Resolver {
  Arena *arena;
  const Instruction *instruction;
  Mesh mesh;
  GroupMode mode;
  DeviceGroup *groups;
  int count;
  int *group_of;
  Error *error;
} Resolver;

static bool check_id(const Resolver *r, const char *attribute, int64_t id) {
  int64_t there = group_mode_ids(r->mode, r->mesh.replicas, r->mesh.partitions);
  const char *noun = group_mode_noun(r->mode);
  if (id >= 0 && id < there) return true;
  return invalid_argument(r->error, opcode_name(r->instruction->opcode),
                          "%s of %s names %s %lld, but there %s only %lld; it needs at least %lld, "
                          "which compile's options can say",
                          attribute, r->instruction->name, noun, (long long)id,
                          there == 1 ? "is" : "are", (long long)there, (long long)id + 1);
}

/* Makes one group of all ids, if none are listed. */
static Int64List all_ids(const Resolver *r) {
  int64_t n = group_mode_ids(r->mode, r->mesh.replicas, r->mesh.partitions);
  int64_t *ids = ARENA_ARRAY(r->arena, int64_t, n);
  for (int64_t i = 0; i < n; i++) ids[i] = i;
  return (Int64List){(int)n, ids};
}

/* The devices of `ids` seen from a replica (where ids are partitions) or a partition. */
static bool add_group(Resolver *r, Int64List ids, int fixed) {
  int partitions = r->mesh.partitions;
  int each = r->mode == CROSS_REPLICA_AND_PARTITION ? partitions : 1, next = 0;
  int *devices = ARENA_ARRAY(r->arena, int, ids.count *each);
  for (int i = 0; i < ids.count; i++) {
    int id = (int)ids.items[i];
    for (int k = 0; k < each; k++) {
      int device = id;
      if (r->mode == CROSS_REPLICA) device = id * partitions + fixed;
      if (r->mode == CROSS_PARTITION) device = fixed * partitions + id;
      if (r->mode == CROSS_REPLICA_AND_PARTITION) device = id * partitions + k;
      if (r->group_of[device] >= 0) {
        return invalid_argument(r->error, opcode_name(r->instruction->opcode),
                                "%s %d is repeated in replica_groups of %s; it must appear once",
                                group_mode_noun(r->mode), id, r->instruction->name);
      }
      r->group_of[device] = r->count;
      devices[next++] = device;
    }
  }
  r->groups[r->count++] = (DeviceGroup){next, devices};
  return true;
}

static bool add_groups(Resolver *r, const Int64List *lists, int count) {
  int times = 1;
  if (r->mode == CROSS_REPLICA) times = r->mesh.partitions;
  if (r->mode == CROSS_PARTITION) times = r->mesh.replicas;
  r->groups = ARENA_ARRAY(r->arena, DeviceGroup, count * times);
  for (int g = 0; g < count; g++) {
    for (int i = 0; i < lists[g].count; i++) {
      if (!check_id(r, "replica_groups", lists[g].items[i])) return false;
    }
    for (int fixed = 0; fixed < times; fixed++) {
      if (!add_group(r, lists[g], fixed)) return false;
    }
  }
  return true;
}

static bool check_pairs(const Resolver *r) {
  PairList pairs = r->instruction->a->source_target_pairs;
  for (int i = 0; i < pairs.count; i++) {
    if (!check_id(r, "source_target_pairs", pairs.items[i].source) ||
        !check_id(r, "source_target_pairs", pairs.items[i].target)) {
      return false;
    }
  }
  return true;
}

const DeviceGroups *device_groups_resolve(Arena *arena, const Instruction *instruction, Mesh mesh,
                                          Error *error) {
  const ReplicaGroups *stated = &instruction->a->replica_groups;
  int devices = mesh_devices(mesh);
  Resolver r = {.arena = arena,
                .instruction = instruction,
                .mesh = mesh,
                .mode = collective_group_mode(instruction->opcode, instruction->a),
                .group_of = ARENA_ARRAY(arena, int, devices),
                .error = error};
  for (int i = 0; i < devices; i++) r.group_of[i] = -1;
  bool all = stated->count == 0 || (stated->count == 1 && stated->groups[0].count == 0);
  Int64List ids = all ? all_ids(&r) : (Int64List){0};
  if (!check_pairs(&r) || !add_groups(&r, all ? &ids : stated->groups, all ? 1 : stated->count)) {
    return NULL;
  }
  DeviceGroups *groups = ARENA_NEW(arena, DeviceGroups);
  *groups = (DeviceGroups){r.count, r.groups, r.group_of};
  return groups;
}

/* ---- Channels ---- */

const int *channel_peers_resolve(Arena *arena, const Instruction *instruction, Mesh mesh) {
  const FrontendAttributes *frontend = instruction->a->frontend_attributes;
  if (!frontend || !frontend->states_transfers) return NULL;
  int devices = mesh_devices(mesh), ids = mesh.partitions > 1 ? mesh.partitions : devices;
  int *peers = ARENA_ARRAY(arena, int, devices);
  for (int i = 0; i < devices; i++) peers[i] = NO_PEER;
  for (int i = 0; i < frontend->transfers.count; i++) {
    Pair pair = frontend->transfers.items[i];
    bool is_send = instruction->opcode == HLO_SEND;
    int64_t from = is_send ? pair.source : pair.target, to = is_send ? pair.target : pair.source;
    if (from < 0 || from >= ids || peers[from] != NO_PEER) continue;
    peers[from] = to < 0 ? NO_PEER : to < ids ? (int)to : ids;
  }
  for (int i = devices - 1; i >= 0; i--) { /* the same in every replica */
    int peer = peers[i % ids];
    if (peer >= 0)
      peer = peer < ids ? i / ids * ids + peer : devices; /* a device beyond the mesh */
    peers[i] = peer;
  }
  return peers;
}
