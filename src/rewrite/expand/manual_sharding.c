/*
** Expands the custom calls of manual computations, JAX's shard_map and pmap (hlo/ir/shard_calls.h lists
** them). One takes a partition's shard of a whole array, the other joins all partitions' shards. The array
** is whole on every partition, so a shard is a dynamic-slice, whose start the partition looks up in a
** table. An all-gather along each divided dimension joins shards. For an array of addends, the first
** partition takes the whole array and the others zeros; an all-reduce joins them.
*/
#include <string.h>

#include "hlo/ir/shard_calls.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

typedef struct Joining { /* of a module */
  Module *module;
  int64_t partitions, channel; /* the next free one */
} Joining;

/* ---- Axes of a placement's grid ---- */

typedef struct GridAxis {
  int64_t size, stride; /* in entries of placement->device */
} GridAxis;

/* Returns the axis of a dimension; of the addends if d is -1. */
static GridAxis axis_of(const Placement *p, int d) {
  GridAxis axis = {d < 0 ? p->addends : p->blocks[d], 1};
  for (int i = d + 1; i < p->rank; i++) axis.stride *= p->blocks[i];
  return axis;
}

/* Makes, in every replica, the groups of devices that differ only along one axis, as global device ids. */
static ReplicaGroups groups_along(const Joining *j, const Placement *p, GridAxis axis) {
  int replicas = j->module->replica_count ? j->module->replica_count : 1, count = 0;
  Arena *arena = j->module->arena;
  Int64List *groups = ARENA_ARRAY(arena, Int64List, replicas * (p->devices / axis.size));
  for (int r = 0; r < replicas; r++) {
    for (int64_t at = 0; at < p->devices; at++) {
      if (at / axis.stride % axis.size) continue;
      int64_t *ids = ARENA_ARRAY(arena, int64_t, axis.size);
      for (int64_t i = 0; i < axis.size; i++) {
        ids[i] = r * j->partitions + p->device[at + i * axis.stride];
      }
      groups[count++] = (Int64List){(int)axis.size, ids};
    }
  }
  return (ReplicaGroups){count, groups, true};
}

static void meet_along(Joining *j, const Placement *p, GridAxis axis, Attributes *attributes) {
  attributes_init(attributes);
  attributes->channel_id = j->channel++;
  attributes->use_global_device_ids = true;
  attributes->replica_groups = groups_along(j, p, axis);
}

/* ---- Shards of whole arrays ---- */

/* Returns this partition's element of a table, a scalar. */
static Instruction *look_up(Computation *computation, Literal *table) {
  Arena *arena = computation->module->arena;
  int64_t one = 1;
  Attributes attributes = *ATTRIBUTES(.slice_sizes = {1, arena_copy(arena, &one, sizeof one)});
  Instruction *operands[] = {
      computation_add_constant(computation, table, NULL),
      computation_add(computation, HLO_PARTITION_ID, shape_scalar(U32), NULL, 0, NULL),
  };
  PrimitiveType type = table->shape->type;
  Instruction *entry =
      computation_add(computation, HLO_DYNAMIC_SLICE, shape_make(arena, type, 1, &one, NULL),
                      operands, 2, &attributes);
  return computation_add_reshape(computation, entry, 0, NULL);
}

static Literal *new_table(Computation *computation, PrimitiveType type, const Placement *p) {
  Arena *arena = computation->module->arena;
  return literal_new(arena, shape_make(arena, type, 1, &p->devices, NULL));
}

/* Returns the start of this partition's block along a dimension: s32[]. */
static Instruction *own_start(Computation *computation, const Placement *p, int d, int64_t size) {
  GridAxis axis = axis_of(p, d);
  Literal *table = new_table(computation, S32, p);
  for (int64_t at = 0; at < p->devices; at++) {
    ((int32_t *)table->data)[p->device[at]] = (int32_t)(at / axis.stride % axis.size * size);
  }
  return look_up(computation, table);
}

static Instruction *scalar_zero(Computation *computation, PrimitiveType type) {
  return computation_add_number(computation, type, (Scalar){0});
}

static Instruction *take_block(Instruction *whole, const Shape *shape, const Placement *p) {
  Instruction *operands[1 + MAX_RANK] = {whole};
  for (int d = 0; d < shape->rank; d++) {
    operands[1 + d] = p->blocks[d] > 1 ? own_start(whole->parent, p, d, shape->dims[d])
                                       : scalar_zero(whole->parent, S32);
  }
  return computation_add(whole->parent, HLO_DYNAMIC_SLICE, shape, operands, 1 + shape->rank,
                         ATTRIBUTES(.slice_sizes = {shape->rank, shape->dims}));
}

/* Returns `x` on the partition of the first addend, else zeros. A maximum's addends are all equal. */
static Instruction *take_addend(Instruction *x, const Placement *p) {
  if (p->addends == 1 || p->reduction != HLO_ADD) return x;
  Computation *c = x->parent;
  Arena *arena = c->module->arena;
  GridAxis axis = axis_of(p, -1);
  Literal *table = new_table(c, PRED, p);
  for (int64_t at = 0; at < p->devices; at++) {
    ((bool *)table->data)[p->device[at]] = at / axis.stride % axis.size == 0;
  }
  Instruction *is_first = look_up(c, table), *zero = scalar_zero(c, x->shape->type);
  Instruction *operands[] = {
      computation_add(c, HLO_BROADCAST, shape_with_type(arena, x->shape, PRED), &is_first, 1, NULL),
      x,
      computation_add(c, HLO_BROADCAST, x->shape, &zero, 1, NULL),
  };
  return computation_add(c, HLO_SELECT, x->shape, operands, 3, NULL);
}

/* ---- Whole arrays of shards ---- */

static Instruction *join_addends(Joining *j, Instruction *x, const Placement *p) {
  if (p->addends == 1) return x;
  Attributes attributes;
  meet_along(j, p, axis_of(p, -1), &attributes);
  bool is_pred = x->shape->type == PRED; /* its sum is a logical or */
  Opcode opcode = !is_pred ? p->reduction : p->reduction == HLO_MINIMUM ? HLO_AND : HLO_OR;
  attributes.to_apply = module_add_reducer(j->module, opcode, x->shape->type);
  return computation_add(x->parent, HLO_ALL_REDUCE, x->shape, &x, 1, &attributes);
}

static Instruction *join_blocks(Joining *j, Instruction *x, const Placement *p, int d) {
  if (p->blocks[d] == 1) return x;
  Arena *arena = j->module->arena;
  const Shape *shape = x->shape;
  int64_t dims[MAX_RANK], dimension = d;
  for (int i = 0; i < shape->rank; i++) dims[i] = shape->dims[i] * (i == d ? p->blocks[d] : 1);
  Attributes attributes;
  meet_along(j, p, axis_of(p, d), &attributes);
  attributes.dimensions = (Int64List){1, arena_copy(arena, &dimension, sizeof dimension)};
  return computation_add(x->parent, HLO_ALL_GATHER,
                         shape_make(arena, shape->type, shape->rank, dims, NULL), &x, 1,
                         &attributes);
}

/* ---- The pass ---- */

static Instruction *rewritten(Joining *j, Instruction *call, int i, const Placement *p) {
  Instruction *x = call->operands[i];
  if (placement_is_whole(p)) return x;
  if (shard_call_kind(call) == TAKES_SHARDS) {
    return take_addend(take_block(x, shard_call_result(call, i), p), p);
  }
  x = join_addends(j, x, p);
  for (int d = p->rank - 1; d >= 0; d--) x = join_blocks(j, x, p, d);
  return x;
}

/* Returns false if the call is invalid or for other devices. Such an executable was refused before. */
static bool rewrite_call(Joining *j, Instruction *call) {
  const char *problem;
  Arena *arena = j->module->arena;
  int count = call->operand_count;
  const Placement *const *placements = shard_call_placements(arena, call, j->partitions, &problem);
  if (!placements) return false;
  for (int i = 0; i < count; i++) {
    if (!placement_is_whole(placements[i]) && placements[i]->devices != j->partitions) return false;
  }
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, count);
  for (int i = 0; i < count; i++) parts[i] = rewritten(j, call, i, placements[i]);
  bool is_tuple = shard_call_result(call, 0) != call->shape;
  instruction_become(call, is_tuple ? HLO_TUPLE_OP : HLO_COPY, parts, count, NULL);
  return true;
}

static bool rewrite_calls(Joining *j, Computation *computation) {
  bool changed = false;
  for (int i = 0, count = computation->count; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (shard_call_kind(x) != NO_SHARD_CALL) changed |= rewrite_call(j, x);
  }
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_manual_sharding(Module *module) {
  Joining j = {module, module->num_partitions ? module->num_partitions : 1,
               module_max_channel(module) + 1};
  bool changed = false;
  for (int c = 0, count = module->count; c < count; c++) {
    changed |= rewrite_calls(&j, module->computations[c]);
  }
  if (changed) module_keep_reached(module); /* restores callees before callers */
  return changed;
}
