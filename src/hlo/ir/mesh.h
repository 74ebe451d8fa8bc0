/*
** The mesh of devices that a program runs on: replicas x partitions, replica-major. Device d is
** replica d / partitions, partition d % partitions. And which of them meet for a collective: the one
** place that reads replica_groups, channel_id, use_global_device_ids and source_target_pairs.
*/
#ifndef XLA_HLO_IR_MESH_H
#define XLA_HLO_IR_MESH_H

#include "hlo/ir/module.h"

enum { MAX_DEVICES = 4096 };

typedef struct Mesh {
  int replicas, partitions; /* each >= 1 */
} Mesh;

static inline int mesh_devices(Mesh mesh) { return mesh.replicas * mesh.partitions; }

/* Writes what a message calls a device: "replica 1", "partition 1", or both where there are both. */
enum { DEVICE_NAME_SIZE = 48 };
const char *mesh_device_name(Mesh mesh, int device, char name[DEVICE_NAME_SIZE]);

/*
** How the ids in replica_groups are read; XLA's GetCollectiveOpGroupMode, StableHLO's process groups:
**   no channel_id                        replicas, in each partition
**   channel_id, use_global_device_ids    devices
**   channel_id                           replicas, each with all its partitions; but for operations
**                                        that have no use_global_device_ids: partitions, in each replica
** So are those in source_target_pairs.
*/
typedef enum GroupMode {
  CROSS_REPLICA,
  CROSS_PARTITION,
  CROSS_REPLICA_AND_PARTITION,
  FLATTENED_ID,
} GroupMode;
GroupMode collective_group_mode(Opcode opcode, const Attributes *a);

/* How many of what the ids are there may be. */
int64_t group_mode_ids(GroupMode mode, int64_t replicas, int64_t partitions);
const char *group_mode_noun(GroupMode mode); /* "replica", "partition" or "device" */

/* Devices that meet: in the order in which they are gathered, and reduced. */
typedef struct DeviceGroup {
  int size;
  const int *devices;
} DeviceGroup;

typedef struct DeviceGroups {
  int count;
  const DeviceGroup *groups;
  const int *group_of; /* by device: the number of its group; -1: it is in none */
} DeviceGroups;

/* The groups of a collective on a mesh; in `arena`. NULL with INVALID_ARGUMENT if it names what the
** mesh does not have. */
const DeviceGroups *device_groups_resolve(Arena *arena, const Instruction *instruction, Mesh mesh,
                                          Error *error);

/* With whom each device deals by a send (its targets) or a recv-done (its sources), from
** frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},...}}: its ids are partitions where
** there are several, in each replica; else replicas. NULL: without pairs, anybody. */
enum { NO_PEER = -1 };
const int *channel_peers_resolve(Arena *arena, const Instruction *instruction, Mesh mesh);

#endif
