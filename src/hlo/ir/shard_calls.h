/*
** Describes the custom calls that convert a whole array to a partition's shard and back: JAX's shard_map and pmap.
**
**   notation   shard of a whole array       whole array of shards        the sharding is
**   Shardy     xla.sdy.GlobalToLocalShape   xla.sdy.LocalToGlobalShape   in the call's frontend attributes
**   XLA        SPMDFullToShardShape         SPMDShardToFullShape         of the operand; of the call
**
** Each manual computation divides arrays along its own manual axes only; a nested one divides the shards further, along its
** own. Values that no manual computation divides are whole on every partition. Shardings of other instructions are hints
** for a partitioner: the parser checks their grammar, and they have no effect.
*/
#ifndef XLA_HLO_IR_SHARD_CALLS_H
#define XLA_HLO_IR_SHARD_CALLS_H

#include "hlo/ir/module.h"

/*
** The devices of a sharding as a grid: partition device[((rest * addends + a) * blocks[0] + b0) *
** blocks[1] + b1 ...] holds block (b0, b1, ...) of addend a. Partitions that differ in `rest` only
** hold the same block.
*/
typedef struct Placement {
  int64_t devices; /* of the grid; 1: the array is whole on every partition */
  int rank;
  const int64_t *blocks; /* along each dimension */
  int64_t addends;       /* the array is the sum (or other reduction) of the arrays of these */
  Opcode reduction;      /* HLO_ADD, HLO_MAXIMUM or HLO_MINIMUM */
  const int64_t *device;
} Placement;

static inline bool placement_is_whole(const Placement *p) { return p->devices == 1; }

typedef enum ShardCallKind { NO_SHARD_CALL, TAKES_SHARDS, JOINS_SHARDS } ShardCallKind;
ShardCallKind shard_call_kind(const Instruction *instruction);

/* Returns the shape of result `i` of a call with one result or a tuple of them. */
const Shape *shard_call_result(const Instruction *call, int i);

/* Whether a call's shardings are stated at the call of the manual computation's body. */
bool shard_call_is_stated_later(const Instruction *call);

/*
** The placements of a call's operands, in `arena`: operand_count of them. NULL with a sentence in
** `*problem` where a sharding is not understood, or does not fit the shapes. `partitions` is the
** number of devices that a sharding without a mesh is for; 0: it is not known yet.
*/
const Placement *const *shard_call_placements(Arena *arena, const Instruction *call,
                                              int64_t partitions, const char **problem);

/* The requirements of a module on the partitions of a replica. */
typedef struct PartitionNeeds {
  int shard_devices; /* partitions that its shard calls are for; 0: any number */
  bool is_divided;   /* an instruction depends on the partition, or is a rendezvous */
} PartitionNeeds;

/* Fails with INVALID_ARGUMENT if a shard call is invalid, or two are for different numbers of partitions. */
bool partition_needs(const Module *module, PartitionNeeds *needs, Error *error);

#endif
