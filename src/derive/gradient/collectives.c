/*
** Collectives, and the calls by which a manual computation (JAX's shard_map) takes shards of whole arrays and joins them.
**
** The loss of a program on several devices is the sum over the devices' losses; so the cotangent of a value that came
** from another device goes back to that device. A whole array is one array, though all devices have it: the cotangent of
** a whole operand is the sum over the devices that took the same block of it, and devices that joined the same block
** share the cotangent of the whole result equally.
*/
#include "base/min_max.h"
#include "derive/gradient/linear.h"
#include "hlo/ir/shard_attributes.h"
#include "hlo/ir/shard_calls.h"

/* A collective that is added has a channel of its own. */
static Attributes own_channel(WorkingComputation *working, const Attributes *from) {
  Attributes a = *from;
  if (a.channel_id) a.channel_id = ++working->d->channels;
  return a;
}

/* For operations whose result k is linear in the operands together. */
void linearize_collective(WorkingComputation *working, Instruction *x) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    Instruction *t = tangent_of(working, x->operands[k]);
    operands[k] = t ? t : make_zeros(&working->m, x->operands[k]->shape);
  }
  Attributes a = own_channel(working, x->a);
  Instruction *made = make(&working->m, x->opcode, x->shape, operands, x->operand_count, &a);
  if (!shape_is_tuple(x->shape)) {
    set_tangent(working, x, made);
    return;
  }
  for (int k = 0; k < x->operand_count; k++) {
    if (has_derivative(x->shape->elements[k]))
      set_tangent_leaf(working, x, k, make_element(working, made, k));
  }
}

/* Returns the sum over the devices that meet in x. */
static Instruction *sum_of_group(WorkingComputation *working, const Instruction *x,
                                 Instruction *value) {
  Attributes a = own_channel(working, x->a);
  a.to_apply = module_add_reducer(working->d->module, HLO_ADD, value->shape->type);
  return make(&working->m, HLO_ALL_REDUCE, value->shape, &value, 1, &a);
}

/* The tangent of a maximum or minimum is the mean over the devices that have it. */
static void linearize_extreme(WorkingComputation *working, Instruction *x, int leaf) {
  Instruction *operand = x->operands[leaf], *t = tangent_of(working, operand);
  if (!t) return;
  Instruction *z = shape_is_tuple(x->shape) ? make_element(working, x, leaf) : x;
  const Shape *shape = operand->shape;
  Instruction *has = make_compare(&working->m, COMPARE_EQ, operand, z);
  Instruction *count = sum_of_group(working, x, make_convert(&working->m, has, shape->type));
  Instruction *part = make_select(&working->m, has, t, make_zeros(&working->m, shape));
  Instruction *mean = make_binary(&working->m, HLO_DIVIDE, sum_of_group(working, x, part), count);
  set_tangent_leaf(working, x, leaf, mean);
}

/* Of all-reduce and reduce-scatter. */
void linearize_all_reduce(WorkingComputation *working, Instruction *x) {
  Opcode opcode = computation_simple_binary(x->a->to_apply);
  bool is_extreme = opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
  if (opcode == HLO_ADD) {
    linearize_collective(working, x);
  } else if (is_extreme && x->opcode == HLO_ALL_REDUCE) {
    for (int k = 0; k < x->operand_count; k++) linearize_extreme(working, x, k);
  } else {
    refuse_derivative(
        working, x,
        "combines by a computation that has no derivative here; add has one, and maximum and "
        "minimum of an all-reduce");
  }
}

/* ---- Shards of whole arrays ---- */

static void transpose_shard_call(WorkingComputation *working, Instruction *x,
                                 Instruction *const *ct) {
  const char *problem;
  const Shape *shape = x->operands[0]->shape;
  const Attributes *a =
      shard_call_attributes(working->arena, x, 0, 1, SHARD_CALL_TRANSPOSED, &problem);
  if (!a) {
    no_derivative(working, x, problem);
    return;
  }
  Instruction *back = make(&working->m, HLO_CUSTOM_CALL, shape, ct, 1, a);
  if (shard_call_kind(x) == JOINS_SHARDS) {
    double share = 1.0 / (double)shard_call_copies(working->arena, x);
    if (share != 1) {
      back = make_binary(&working->m, HLO_MULTIPLY, back, make_number(&working->m, shape, share));
    }
  }
  add_cotangent(working, x->operands[0], back);
}

/* Takes or joins the shards of each tangent by itself. */
void linearize_shard_call(WorkingComputation *working, Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    Instruction *t = tangent_of(working, x->operands[k]);
    if (!t) continue;
    const char *problem;
    const Attributes *a =
        shard_call_attributes(working->arena, x, k, 1, SHARD_CALL_LINEAR, &problem);
    if (!a) {
      refuse_derivative(working, x, problem);
      return;
    }
    Instruction *made = make(&working->m, HLO_CUSTOM_CALL, shard_call_result(x, k), &t, 1, a);
    facts_of(working, made)->transpose = transpose_shard_call;
    if (shape_is_tuple(x->shape)) {
      set_tangent_leaf(working, x, k, made);
    } else {
      set_tangent(working, x, made);
    }
  }
}

/* ---- Transpositions of collectives ---- */

/* Adds the operation that goes back, for the cotangent of each operand by itself. */
static void go_back(WorkingComputation *working, Instruction *x, Instruction *const *ct,
                    Opcode opcode, const Attributes *from) {
  for (int k = 0; k < x->operand_count; k++) {
    if (!ct[k] || !is_linear(working, x->operands[k])) continue;
    const Shape *shape = x->operands[k]->shape;
    Attributes a = own_channel(working, from);
    if (opcode == HLO_REDUCE_SCATTER || opcode == HLO_ALL_REDUCE) {
      a.to_apply = module_add_reducer(working->d->module, HLO_ADD, shape->type);
    }
    add_cotangent(working, x->operands[k], make(&working->m, opcode, shape, &ct[k], 1, &a));
  }
}

/* all-reduce and all-to-all are their own transposition. */
void transpose_collective(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  if (x->opcode == HLO_ALL_TO_ALL && shape_is_tuple(x->shape)) {
    /* Its operands are the parts for each device: they go back together. */
    Attributes a = own_channel(working, x->a);
    transpose_by_itself(working, x, ct, &a);
  } else {
    go_back(working, x, ct, x->opcode, x->a);
  }
}

void transpose_all_gather(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  go_back(working, x, ct, HLO_REDUCE_SCATTER, x->a);
}

void transpose_reduce_scatter(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Attributes a = *x->a;
  a.to_apply = NULL;
  go_back(working, x, ct, HLO_ALL_GATHER, &a);
}

void transpose_collective_permute(WorkingComputation *working, Instruction *x,
                                  Instruction *const *ct) {
  Attributes a = *x->a;
  Pair *pairs = ARENA_ARRAY(working->arena, Pair, a.source_target_pairs.count);
  for (int i = 0; i < a.source_target_pairs.count; i++) {
    Pair pair = a.source_target_pairs.items[i];
    pairs[i] = (Pair){pair.target, pair.source};
  }
  a.source_target_pairs.items = pairs;
  go_back(working, x, ct, HLO_COLLECTIVE_PERMUTE, &a);
}

/* pred[]: whether this device is the first of its group, whose value collective-broadcast sends. Its number is looked up
** in a table; numbers beyond the table have the last entry, which is false. */
static Instruction *is_sender(WorkingComputation *working, const Instruction *x) {
  ReplicaGroups groups = x->a->replica_groups;
  int64_t max = 0; /* without groups, device 0 sends to all */
  for (int i = 0; i < groups.count; i++) {
    if (groups.groups[i].count) max = max_i64(max, groups.groups[i].items[0]);
  }
  int64_t size = max + 2;
  Literal *table = literal_new(working->arena, shape_of(&working->m, PRED, 1, &size));
  if (!groups.count) ((uint8_t *)table->data)[0] = 1;
  for (int i = 0; i < groups.count; i++) {
    if (groups.groups[i].count) ((uint8_t *)table->data)[groups.groups[i].items[0]] = 1;
  }
  Instruction *entries = computation_add_constant(working->m.computation, table, NULL);
  Opcode number = x->a->channel_id ? HLO_PARTITION_ID : HLO_REPLICA_ID;
  Instruction *operands[] = {entries, make(&working->m, number, shape_scalar(U32), NULL, 0, NULL)};
  static const int64_t one = 1;
  Instruction *entry =
      make(&working->m, HLO_DYNAMIC_SLICE, NULL, operands, 2, ATTRIBUTES(.slice_sizes = {1, &one}));
  return make_reshape(&working->m, entry, shape_scalar(PRED));
}

/* Whether the groups list the devices 0 to n - 1, as those of all-reduce must. */
static bool lists_all(const ReplicaGroups *groups) {
  int64_t max = -1, count = 0;
  for (int i = 0; i < groups->count; i++) {
    count += groups->groups[i].count;
    for (int k = 0; k < groups->groups[i].count; k++)
      max = max_i64(max, groups->groups[i].items[k]);
  }
  return count == max + 1;
}

/* The sender gets the sum of its group's cotangents, the others get nothing. */
void transpose_collective_broadcast(WorkingComputation *working, Instruction *x,
                                    Instruction *const *ct) {
  if (!lists_all(&x->a->replica_groups)) {
    no_derivative(working, x, "has replica_groups that leave out devices");
    return;
  }
  /* With a channel, its groups are of partitions, and those of all-reduce of replicas or of all devices. */
  if (x->a->channel_id && working->d->module->replica_count > 1) {
    no_derivative(working, x,
                  "is among the partitions of several replicas; write it without channel_id");
    return;
  }
  Instruction *sender = is_sender(working, x);
  for (int k = 0; k < x->operand_count; k++) {
    if (!ct[k] || !is_linear(working, x->operands[k])) continue;
    Attributes a = own_channel(working, x->a);
    const Shape *shape = x->operands[k]->shape;
    a.to_apply = module_add_reducer(working->d->module, HLO_ADD, shape->type);
    a.use_global_device_ids = a.channel_id && a.replica_groups.count;
    Instruction *sum = make(&working->m, HLO_ALL_REDUCE, shape, &ct[k], 1, &a);
    add_cotangent(working, x->operands[k],
                  make_select(&working->m, sender, sum, make_zeros(&working->m, shape)));
  }
}
