/*
** Describes the mesh of devices that a program runs on: replicas x partitions, replica-major. Device d is
** replica d / partitions, partition d % partitions. Also finds the groups of a collective: only this file
** reads replica_groups, channel_id, use_global_device_ids and source_target_pairs.
*/
#ifndef XLA_HLO_IR_MESH_H
#define XLA_HLO_IR_MESH_H

#include "hlo/ir/module.h"

/* Threshold MAX_DEVICES: more devices are refused. No path. */
enum { MAX_DEVICES = 4096 };

typedef struct Mesh {
  int replicas, partitions; /* each >= 1 */
} Mesh;

static inline int mesh_devices(Mesh mesh) { return mesh.replicas * mesh.partitions; }

enum { DEVICE_NAME_SIZE = 48 };
/* Writes a device's name for messages: "replica 1", "partition 1", or both if the mesh has both. */
const char *mesh_device_name(Mesh mesh, int device, char name[DEVICE_NAME_SIZE]);

/*
** The meaning of ids in replica_groups; XLA's GetCollectiveOpGroupMode, StableHLO's process groups:
**   no channel_id                        replicas, in each partition
**   channel_id, use_global_device_ids    devices
**   channel_id                           replicas, each with all its partitions; but for operations
**                                        that have no use_global_device_ids: partitions, in each replica
** Ids in source_target_pairs have the same meaning.
*/
typedef enum GroupMode {
  CROSS_REPLICA,
  CROSS_PARTITION,
  CROSS_REPLICA_AND_PARTITION,
  FLATTENED_ID,
} GroupMode;
GroupMode collective_group_mode(Opcode opcode, const Attributes *a);

/* Returns the number of replicas, partitions or devices that ids of this mode can name. */
int64_t group_mode_ids(GroupMode mode, int64_t replicas, int64_t partitions);
const char *group_mode_noun(GroupMode mode); /* "replica", "partition" or "device" */

/* The devices of one rendezvous, in the order of gathering and reduction. */
typedef struct DeviceGroup {
  int size;
  const int *devices;
} DeviceGroup;

typedef struct DeviceGroups {
  int count;
  const DeviceGroup *groups;
  const int *group_of; /* by device: the number of its group; -1: none */
} DeviceGroups;

/* Returns the groups of a collective on a mesh, in `arena`. NULL with INVALID_ARGUMENT if an id is not on
** the mesh. */
const DeviceGroups *device_groups_resolve(Arena *arena, const Instruction *instruction, Mesh mesh,
                                          Error *error);

/* Returns each device's target of a send or source of a recv-done, from
** frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},...}}. The ids are partitions, in each
** replica, if there are several; else replicas. NULL if no pairs are given: any device. */
enum { NO_PEER = -1 };
const int *channel_peers_resolve(Arena *arena, const Instruction *instruction, Mesh mesh);

#endif
