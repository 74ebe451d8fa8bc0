/*
** Infers the shapes of collectives, operations that several devices do together. Also checks replica groups
** if the module states the number of replicas or partitions.
*/
#include "hlo/infer/inference_rules.h"

#include "base/min_max.h"
#include "hlo/ir/mesh.h"

static GroupMode mode_of(const Inference *in) {
  return collective_group_mode(in->instruction->opcode, in->a);
}

/* Returns the number of replicas, partitions or devices that replica_groups may name; 0: not stated. */
static int64_t participants(const Inference *in) {
  const Computation *parent = in->instruction->parent;
  const Module *module = parent ? parent->module : NULL;
  int64_t replicas = module ? module->replica_count : 0;
  int64_t partitions = module ? module->num_partitions : 0;
  GroupMode mode = mode_of(in);
  if (mode != FLATTENED_ID) return group_mode_ids(mode, replicas, partitions);
  return group_mode_ids(mode, max_i64(replicas, 1), max_i64(partitions, 1));
}

/* Checks the ids in groups: `complete` groups have every id exactly once; others may have any existing
** ids. */
static bool check_group_ids(Inference *in, bool complete) {
  const ReplicaGroups *groups = &in->a->replica_groups;
  const char *noun = group_mode_noun(mode_of(in));
  int64_t total = 0, there = participants(in);
  for (int g = 0; g < groups->count; g++) {
    REQUIRE(in, groups->groups[g].count > 0,
            "replica_groups has an empty group; each group must have at least one %s", noun);
    total += groups->groups[g].count;
  }
  int64_t limit = complete ? total : there > 1 ? there : MAX_DEVICES;
  bool *seen = ARENA_ARRAY(in->arena, bool, limit);
  for (int g = 0; g < groups->count; g++) {
    for (int i = 0; i < groups->groups[g].count; i++) {
      int64_t id = groups->groups[g].items[i];
      REQUIRE(in, id >= 0 && id < limit,
              "%s %lld in replica_groups is out of range; with %lld %ss listed it must be in [0, "
              "%lld)",
              noun, (long long)id, (long long)total, noun, (long long)limit);
      REQUIRE(in, !seen[id], "%s %lld is repeated in replica_groups; it must appear once", noun,
              (long long)id);
      seen[id] = true;
    }
  }
  return true;
}

/* The groups that an operation allows. */
typedef enum GroupRule {
  GROUPS_UNIFORM,  /* all of the same size; every id is listed */
  GROUPS_COMPLETE, /* every id is listed */
  GROUPS_ANY,
} GroupRule;

static bool check_replica_groups(Inference *in, GroupRule rule) {
  const ReplicaGroups *groups = &in->a->replica_groups;
  REQUIRE(in, in->a->channel_id >= 0, "channel_id=%lld; it must be positive",
          (long long)in->a->channel_id);
  REQUIRE(in, !in->a->use_global_device_ids || in->a->channel_id > 0,
          "use_global_device_ids=true without channel_id; global device ids need a channel_id");
  REQUIRE(in, groups->count > 0 || !in->a->use_global_device_ids,
          "use_global_device_ids=true without replica_groups; they must be specified");
  if (!check_group_ids(in, rule != GROUPS_ANY)) return false;
  int64_t total = 0, expected = participants(in);
  const char *noun = group_mode_noun(mode_of(in));
  for (int g = 0; g < groups->count; g++) {
    total += groups->groups[g].count;
    REQUIRE(in, rule != GROUPS_UNIFORM || groups->groups[g].count == groups->groups[0].count,
            "replica_groups have groups of %d and %d %ss; all groups must have the same size",
            groups->groups[0].count, groups->groups[g].count, noun);
  }
  REQUIRE(in, rule == GROUPS_ANY || groups->count == 0 || expected <= 1 || total == expected,
          "replica_groups list %lld %ss, but the module has %lld; every %s must be listed",
          (long long)total, noun, (long long)expected, noun);
  return true;
}

static bool spans_partitions(const Inference *in) {
  return mode_of(in) == CROSS_REPLICA_AND_PARTITION;
}

/* Returns the number of participants in each group; 0 if neither the groups nor the module state it. */
static int64_t group_size(const Inference *in) {
  const ReplicaGroups *groups = &in->a->replica_groups;
  const Computation *parent = in->instruction->parent;
  int64_t partitions = parent ? max_i64(parent->module->num_partitions, 1) : 1;
  int64_t size = groups->count > 0 ? groups->groups[0].count : participants(in);
  return spans_partitions(in) ? size * partitions : size;
}

static bool check_arrays(Inference *in) {
  REQUIRE(in, in->operand_count >= 1, "no operands are given; it takes at least one");
  for (int i = 0; i < in->operand_count; i++) {
    if (!check_array(in, i, "operand")) return false;
  }
  return true;
}

/*
** Whether to_apply is one operation on scalars of a type like this one. XLA applies the operation to the
** operands' type: its float normalization leaves additions of f8 at all-reduces of f16.
*/
static bool names_operation(const Computation *reducer, PrimitiveType type) {
  if (!reducer || !reducer->root || computation_simple_binary(reducer) == OPCODE_COUNT)
    return false;
  const Shape *x = reducer->parameters[0]->shape, *y = reducer->parameters[1]->shape;
  return x->type == y->type && x->type == reducer->root->shape->type &&
         type_kind(x->type) == type_kind(type);
}

/* One reducer applies to all operands, so they have one element type. */
static bool check_reduction(Inference *in) {
  const Shape *first = operand_shape(in, 0);
  for (int i = 1; i < in->operand_count; i++) {
    REQUIRE(in, first->type == operand_shape(in, i)->type,
            "operands %s and %s have different element types; to_apply must fit all operands",
            text_operand(in, 0), text_operand(in, i));
  }
  if (names_operation(in->a->to_apply, first->type)) return true;
  return check_reducer(in, "to_apply", in->a->to_apply, 1, &first->type);
}

const Shape *infer_all_reduce(Inference *in) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_COMPLETE) || !check_reduction(in))
    return NULL;
  return operands_one_or_tuple(in, in->operand_count);
}

/* ---- all-gather and reduce-scatter: one dimension grows or shrinks by the group's size ---- */

static bool check_one_dimension(Inference *in) {
  REQUIRE(in, in->a->dimensions.count == 1, "dimensions=%s; it must be exactly one dimension",
          text_list(in, in->a->dimensions));
  for (int i = 0; i < in->operand_count; i++) {
    if (!check_range(in, "dimensions", in->a->dimensions, operand_shape(in, i)->rank)) return false;
  }
  return true;
}

/* Returns the stated shape of the first array among the results; NULL if it is not stated. */
static const Shape *first_stated(const Inference *in, const Shape *result) {
  if (result && in->operand_count > 1) {
    bool fits = shape_is_tuple(result) && result->tuple_size > 0;
    result = fits ? result->elements[0] : NULL;
  }
  return result && shape_is_array(result) ? result : NULL;
}

/* Whether the factor of a dimension comes from the stated shape: the groups do not determine it, or only if
** the number of partitions is stated. */
static bool shards_follow_stated(const Inference *in, int64_t size) {
  const Computation *parent = in->instruction->parent;
  if (in->a->replica_groups.count == 0) return size <= 1;
  return spans_partitions(in) && parent && parent->module->num_partitions == 0;
}

static bool shard_count(Inference *in, const Shape *stated, bool grows, int64_t *out) {
  int64_t size = group_size(in), d = in->a->dimensions.items[0];
  if (stated && d < stated->rank && shards_follow_stated(in, size)) {
    int64_t from = operand_shape(in, 0)->dims[d], to = stated->dims[d];
    int64_t large = grows ? to : from, small = grows ? from : to;
    size = small > 0 ? divide_up(large, small) : 1;
  }
  REQUIRE(in, size > 0,
          "replica_groups is empty and the module does not state replica_count; state one of them, "
          "or the result shape");
  *out = size;
  return true;
}

/* Multiplies one dimension of each operand by the size of a group, or divides it. */
static const Shape *with_shards(Inference *in, const Shape *stated, bool gathers) {
  int64_t shards, d = in->a->dimensions.items[0];
  if (!shard_count(in, first_stated(in, stated), gathers, &shards)) return NULL;
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, in->operand_count);
  for (int i = 0; i < in->operand_count; i++) {
    Dims dims;
    dims_of(&dims, operand_shape(in, i));
    int64_t *size = &dims.sizes[d];
    REQUIRE(in, !gathers || !__builtin_mul_overflow(*size, shards, size),
            "dimension %lld of operand %s overflows when gathered; sizes must fit 64 bits",
            (long long)d, text_operand(in, i));
    REQUIRE(in, gathers || *size % shards == 0,
            "dimension %lld of operand %s has size %lld; it must be divisible by the group size "
            "%lld",
            (long long)d, text_operand(in, i), (long long)*size, (long long)shards);
    if (!gathers) *size /= shards;
    if (!(shapes[i] = dims_shape(in, operand_shape(in, i)->type, &dims))) return NULL;
  }
  return one_or_tuple(in, in->operand_count, shapes);
}

static const Shape *gathered(Inference *in, const Shape *stated) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_UNIFORM) || !check_one_dimension(in))
    return NULL;
  return with_shards(in, stated, true);
}

const Shape *infer_all_gather(Inference *in) { return gathered(in, in->stated); }

/* (operands, results) */
const Shape *infer_all_gather_start(Inference *in) {
  const Shape *stated = in->stated;
  REQUIRE(in, !stated || (shape_is_tuple(stated) && stated->tuple_size == 2),
          "result %s; it must be (operand shape, gathered shape)", text_shape(in, stated));
  const Shape *result = gathered(in, stated ? stated->elements[1] : NULL);
  if (!result) return NULL;
  const Shape *const elements[] = {operands_one_or_tuple(in, in->operand_count), result};
  return shape_tuple(in->arena, 2, elements);
}

const Shape *infer_reduce_scatter(Inference *in) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_UNIFORM) || !check_one_dimension(in) ||
      !check_reduction(in)) {
    return NULL;
  }
  return with_shards(in, in->stated, false);
}

/* ---- all-to-all ---- */

/* Array form (dimensions given): the operand is split along one dimension and the pieces that
** arrive are concatenated along the same. Tuple form: operand i goes to member i of the group. */
const Shape *infer_all_to_all(Inference *in) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_UNIFORM)) return NULL;
  int64_t size = group_size(in);
  if (in->a->dimensions.count > 0) {
    REQUIRE(in, in->operand_count == 1,
            "%d operands are given with dimensions=%s; the array form takes one", in->operand_count,
            text_list(in, in->a->dimensions));
    if (!check_one_dimension(in)) return NULL;
    int64_t d = in->a->dimensions.items[0], split = operand_shape(in, 0)->dims[d];
    REQUIRE(in, size == 0 || split % size == 0,
            "split dimension %lld of operand %s has size %lld; it must be divisible by the group "
            "size %lld",
            (long long)d, text_operand(in, 0), (long long)split, (long long)size);
    return operand_shape(in, 0);
  }
  REQUIRE(in, size <= 1 || in->operand_count == size,
          "%d operands are given for groups of %lld replicas; the tuple form takes one for each",
          in->operand_count, (long long)size);
  for (int i = 1; i < in->operand_count; i++) {
    REQUIRE(in, shape_compatible(operand_shape(in, 0), operand_shape(in, i)),
            "operands %s and %s have different shapes; they must have the same",
            text_operand(in, 0), text_operand(in, i));
  }
  const Shape **shapes = ARENA_ARRAY(in->arena, const Shape *, in->operand_count);
  for (int i = 0; i < in->operand_count; i++) shapes[i] = operand_shape(in, i);
  return shape_tuple(in->arena, in->operand_count, shapes);
}

/* input, output, input offsets, send sizes, output offsets, receive sizes */
const Shape *infer_ragged_all_to_all(Inference *in) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_UNIFORM)) return NULL;
  const Shape *input = operand_shape(in, 0), *output = operand_shape(in, 1);
  bool rows = input->rank >= 1 && input->rank == output->rank && input->type == output->type;
  for (int d = 1; d < input->rank && rows; d++) rows = input->dims[d] == output->dims[d];
  REQUIRE(in, rows,
          "input %s and output %s differ; they must have the same element type and the same "
          "dimensions but the first",
          text_operand(in, 0), text_operand(in, 1));
  for (int i = 2; i < 6; i++) {
    const Shape *shape = operand_shape(in, i);
    REQUIRE(in, type_is_integral(shape->type) && (shape->rank == 1 || shape->rank == 2),
            "operand %d has shape %s; offsets and sizes must be integral, of rank 1 or 2", i,
            text_operand(in, i));
    REQUIRE(in, shape_compatible(shape, operand_shape(in, 2)),
            "operands 2 and %d have shapes %s and %s; offsets and sizes must have the same shape",
            i, text_operand(in, 2), text_operand(in, i));
  }
  return output;
}

const Shape *infer_collective_broadcast(Inference *in) {
  if (!check_arrays(in) || !check_replica_groups(in, GROUPS_ANY)) return NULL;
  return operands_one_or_tuple(in, in->operand_count);
}

/* ---- collective-permute ---- */

/* Each replica sends at most once and receives at most once. */
static bool check_pairs(Inference *in) {
  PairList pairs = in->a->source_target_pairs;
  int64_t limit = participants(in), largest = -1;
  for (int i = 0; i < pairs.count; i++) {
    Pair p = pairs.items[i];
    bool fits =
        p.source >= 0 && p.target >= 0 && (limit <= 1 || (p.source < limit && p.target < limit));
    REQUIRE(
        in, fits,
        "source_target_pairs contains {%lld,%lld}; replica ids must not be negative and must be "
        "less than the number of replicas",
        (long long)p.source, (long long)p.target);
    largest = max_i64(largest, max_i64(p.source, p.target));
  }
  /* Ids are small if the replica count is stated. Otherwise they must not determine an allocation. */
  bool small = largest < (int64_t)1 << 20;
  REQUIRE(in, small, "source_target_pairs contains replica %lld; there cannot be as many",
          (long long)largest);
  bool *sends = ARENA_ARRAY(in->arena, bool, largest + 1);
  bool *receives = ARENA_ARRAY(in->arena, bool, largest + 1);
  for (int i = 0; i < pairs.count; i++) {
    Pair p = pairs.items[i];
    REQUIRE(in, !sends[p.source], "source_target_pairs has source %lld twice; it must be unique",
            (long long)p.source);
    REQUIRE(in, !receives[p.target], "source_target_pairs has target %lld twice; it must be unique",
            (long long)p.target);
    sends[p.source] = receives[p.target] = true;
  }
  return true;
}

/* XLA's TPU backend has a form with four operands that copies slices between two arrays in place. XLA:CPU has none. */
const Shape *infer_collective_permute(Inference *in) {
  REQUIRE(in, in->operand_count != 4 || !shape_is_tuple(operand_shape(in, 2)),
          "operands %s and %s are start indices of an update in place, which only TPUs have; write "
          "dynamic-slice, collective-permute and dynamic-update-slice",
          text_operand(in, 2), text_operand(in, 3));
  if (!check_arrays(in) || !check_pairs(in)) return NULL;
  return operands_one_or_tuple(in, in->operand_count);
}

/* The shape is (operands, results, context...); the context belongs to the backend. */
const Shape *infer_collective_permute_start(Inference *in) {
  const Shape *result = infer_collective_permute(in), *stated = in->stated;
  if (!result) return NULL;
  REQUIRE(in, !stated || (shape_is_tuple(stated) && stated->tuple_size >= 2),
          "result %s; it must be (operand shape, result shape, ...)", text_shape(in, stated));
  int count = stated ? stated->tuple_size : 2;
  const Shape **elements = ARENA_ARRAY(in->arena, const Shape *, count);
  elements[0] = elements[1] = result;
  for (int i = 2; i < count; i++) elements[i] = stated->elements[i];
  return shape_tuple(in->arena, count, elements);
}

/* ---- The other halves ---- */

static bool check_start(Inference *in, Opcode start) {
  Opcode opcode = in->instruction->operands[0]->opcode;
  REQUIRE(in, opcode == start, "operand %s is a %s; it must be a %s", text_operand(in, 0),
          opcode_name(opcode), opcode_name(start));
  return true;
}

const Shape *infer_all_reduce_done(Inference *in) {
  return check_start(in, HLO_ALL_REDUCE_START) ? operand_shape(in, 0) : NULL;
}

const Shape *infer_start_done(Inference *in) {
  bool gather = in->instruction->opcode == HLO_ALL_GATHER_DONE;
  Opcode start = gather ? HLO_ALL_GATHER_START : HLO_COLLECTIVE_PERMUTE_START;
  if (!check_start(in, start)) return NULL;
  const Shape *operand = operand_shape(in, 0);
  REQUIRE(in, shape_is_tuple(operand) && operand->tuple_size >= 2,
          "operand has shape %s; it must be (operand shape, result shape, ...)",
          text_operand(in, 0));
  return operand->elements[1];
}
