/*
** Writes shard calls (hlo/ir/shard_calls.h) anew, for derivatives and batches: each states its own shardings, in Shardy's
** notation with the mesh written out, so it needs no instruction beside it.
*/
#ifndef XLA_HLO_IR_SHARD_ATTRIBUTES_H
#define XLA_HLO_IR_SHARD_ATTRIBUTES_H

#include "hlo/ir/module.h"

typedef enum ShardCallForm {
  SHARD_CALL_SAME,
  SHARD_CALL_LINEAR, /* the same, but a maximum or minimum of shards is refused */
  /* The transposition, which goes the other way. Of a call that takes shards: the whole array is the sum over the devices
  ** that took the same block. Of one that joins them: all shard_call_copies devices with the same block take it. */
  SHARD_CALL_TRANSPOSED,
  /* One more dimension in front, which is whole on every device. */
  SHARD_CALL_BATCHED,
} ShardCallForm;

/*
** Returns the attributes of a call like `call`, for `count` of its operands from number `first` on; in `arena`. NULL with
** a sentence in `*problem` where the shardings are not understood, or do not say which axes are manual.
*/
const Attributes *shard_call_attributes(Arena *arena, const Instruction *call, int first, int count,
                                        ShardCallForm form, const char **problem);

/* Returns the number of devices that have the same block of the first operand, for a call whose attributes can be written. */
int64_t shard_call_copies(Arena *arena, const Instruction *call);

/*
** Writes all shard calls of a module so, and says in the module for how many partitions they are. Fails with
** INVALID_ARGUMENT if a sharding is invalid, and with UNIMPLEMENTED if it does not say which axes are manual.
*/
bool module_state_shardings(Module *module, Error *error);

#endif
