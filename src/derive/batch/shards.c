/* Calls that take or join the shards of a manual computation: each device has all elements of the batch. */
#include "derive/batch/batching.h"
#include "hlo/ir/shard_attributes.h"
#include "hlo/ir/shard_calls.h"

Instruction *batch_shard_call(Batching *b, const Instruction *x, Instruction **operands) {
  Instruction **results = ARENA_ARRAY(b->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    const Shape *shape = shard_call_result(x, k);
    bool batched = is_batched(operands[k], x->operands[k]);
    const char *problem;
    const Attributes *a = shard_call_attributes(
        b->arena, x, k, 1, batched ? SHARD_CALL_BATCHED : SHARD_CALL_SAME, &problem);
    if (!a) return no_batch(b, x, problem);
    if (batched) shape = batched_shape(b, shape);
    results[k] = add_batched(b, x, HLO_CUSTOM_CALL, shape, &operands[k], 1, a);
  }
  if (shard_call_result(x, 0) == x->shape) return results[0];
  return computation_add_tuple(b->m.computation, results, x->operand_count);
}
