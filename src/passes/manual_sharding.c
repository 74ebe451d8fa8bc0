/*
** shard_map and pmap: JAX exports them as a program over whole arrays, of which every device takes
** its shard by a custom call, xla.sdy.GlobalToLocalShape, and gives its shard of the result back by
** another, LocalToGlobalShape. The devices are the partitions of a replica: each is given the whole
** array, takes its shard by a dynamic-slice, and gathers the result from all.
**
** The mesh stands in the module's header, {mesh = #sdy.mesh<["i"=4, "j"=2]>}; a call says by which
** of its axes each dimension is cut, "#sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>". Devices
** count through the mesh in row-major order. What says more than that is left to the host.
*/
#include <stdlib.h>
#include <string.h>

#include "hlo/shorthand.h"
#include "passes/rewrite.h"

enum { MOST_AXES = 8, MOST_DEVICES = 1024 };

typedef struct Axis {
  const char *name;
  size_t length;
  int64_t size, stride; /* in devices */
} Axis;

typedef struct Mesh {
  int count;
  int64_t devices;
  Axis axes[MOST_AXES];
} Mesh;

/* Quotes may be escaped: the text is that of a string in a string. */
static const char *skip(const char *text, const char *set) { return text + strspn(text, set); }

/* Behind the bracket of the next mesh that has axes: JAX states one without, too, for scalars. */
static const char *next_mesh(const char *text) {
  static const char opening[] = "#sdy.mesh<[";
  while (text && (text = strstr(text, opening))) {
    text += sizeof opening - 1;
    if (*text != ']') return text;
  }
  return NULL;
}

static bool parse_mesh(const char *header, Mesh *mesh) {
  const char *text = next_mesh(header);
  if (!text || next_mesh(text)) return false; /* none, or several */
  mesh->count = 0;
  mesh->devices = 1;
  while (*text != ']') {
    if (mesh->count == MOST_AXES) return false;
    Axis *axis = &mesh->axes[mesh->count++];
    axis->name = skip(text, "\\\"");
    axis->length = strcspn(axis->name, "\\\"");
    text = skip(axis->name + axis->length, "\\\"");
    if (*text != '=') return false;
    char *end;
    axis->size = strtoll(text + 1, &end, 10);
    if (axis->size < 1 || axis->size > MOST_DEVICES / mesh->devices) return false;
    mesh->devices *= axis->size;
    text = skip(end, ", ");
  }
  if (text[1] != '>') return false; /* devices in an order of their own */
  int64_t stride = 1;
  for (int i = mesh->count - 1; i >= 0; i--) {
    mesh->axes[i].stride = stride;
    stride *= mesh->axes[i].size;
  }
  return true;
}

/* By which axes a dimension is cut: the major one first. */
typedef struct Cut {
  int count;
  const Axis *axes[MOST_AXES];
} Cut;

static const char *parse_cut(const char *text, const Mesh *mesh, Cut *cut) {
  cut->count = 0;
  for (text++; *text != '}';) {
    const char *name = skip(text, "\\\"");
    size_t length = strcspn(name, "\\\"");
    const Axis *found = NULL;
    for (int i = 0; i < mesh->count; i++) {
      const Axis *axis = &mesh->axes[i];
      if (axis->length == length && memcmp(axis->name, name, length) == 0) found = axis;
    }
    if (!found || cut->count == MOST_AXES) return NULL;
    cut->axes[cut->count++] = found;
    text = skip(name + length, "\\\"");
    if (*text == ':') return NULL; /* a part of an axis */
    text = skip(text, ", ");
  }
  return text + 1;
}

/* The cuts of the next of the values that `*text` lists. */
static bool parse_cuts(const char **text, const Mesh *mesh, int rank, Cut *cuts) {
  const char *at = *text ? strstr(*text, "<@") : NULL;
  at = at ? strchr(at, '[') : NULL;
  if (!at) return false;
  at++;
  for (int d = 0; d < rank; d++) {
    if (*at != '{' || !(at = parse_cut(at, mesh, &cuts[d]))) return false;
    at = skip(at, ", ");
  }
  *text = at;
  return *at == ']';
}

/* Which of the blocks along a dimension is the device's. */
static int64_t block_of(const Cut *cut, int64_t device) {
  int64_t block = 0;
  for (int i = 0; i < cut->count; i++) {
    block = block * cut->axes[i]->size + device / cut->axes[i]->stride % cut->axes[i]->size;
  }
  return block;
}

/* ---- New instructions ---- */

static Instruction *add(Computation *computation, Opcode opcode, const Shape *shape,
                        Instruction *const *operands, int count, const Attributes *attributes) {
  return computation_add(computation, opcode, shape, operands, count, attributes, NULL);
}

static Instruction *constants(Computation *computation, int rank, int64_t count,
                              const int64_t *values) {
  Arena *arena = computation->module->arena;
  Literal *literal = literal_new(arena, shape_make(arena, S32, rank, &count, NULL));
  for (int64_t i = 0; i < count; i++) ((int32_t *)literal->data)[i] = (int32_t)values[i];
  return computation_add_constant(computation, literal, NULL);
}

/* Where this device's block begins along a dimension: s32[], looked up in a table by partition. */
static Instruction *own_start(Computation *computation, const Mesh *mesh, const Cut *cut,
                              int64_t size) {
  int64_t starts[MOST_DEVICES], one = 1;
  for (int64_t i = 0; i < mesh->devices; i++) starts[i] = size * block_of(cut, i);
  Arena *arena = computation->module->arena;
  Attributes attributes;
  attributes_init(&attributes);
  attributes.slice_sizes = (Int64List){1, arena_copy(arena, &one, sizeof one)};
  Instruction *operands[] = {
      constants(computation, 1, mesh->devices, starts),
      add(computation, HLO_PARTITION_ID, shape_scalar(U32), NULL, 0, NULL),
  };
  Instruction *start = add(computation, HLO_DYNAMIC_SLICE, shape_make(arena, S32, 1, &one, NULL),
                           operands, 2, &attributes);
  return add(computation, HLO_RESHAPE, shape_scalar(S32), &start, 1, NULL);
}

static Instruction *take_shard(Instruction *whole, const Shape *shape, const Mesh *mesh,
                               const Cut *cuts) {
  Instruction *operands[1 + MAX_RANK] = {whole};
  for (int d = 0; d < shape->rank; d++) {
    operands[1 + d] = own_start(whole->parent, mesh, &cuts[d], shape->dims[d]);
  }
  Attributes attributes;
  attributes_init(&attributes);
  attributes.slice_sizes = (Int64List){shape->rank, shape->dims};
  return add(whole->parent, HLO_DYNAMIC_SLICE, shape, operands, 1 + shape->rank, &attributes);
}

/* A group for each replica: of all its partitions, as global device ids. */
static ReplicaGroups groups_of_partitions(const Module *module, int64_t partitions) {
  int replicas = module->replica_count ? module->replica_count : 1;
  Int64List *lists = ARENA_ARRAY(module->arena, Int64List, replicas);
  for (int r = 0; r < replicas; r++) {
    int64_t *ids = ARENA_ARRAY(module->arena, int64_t, partitions);
    for (int64_t i = 0; i < partitions; i++) ids[i] = r * partitions + i;
    lists[r] = (Int64List){(int)partitions, ids};
  }
  return (ReplicaGroups){replicas, lists, true};
}

static int64_t unused_channel(const Module *module) {
  int64_t channel = 1;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      int64_t used = computation->instructions[i]->a->channel_id;
      if (used >= channel && used < INT64_MAX) channel = used + 1;
    }
  }
  return channel;
}

/* All partitions' shards, in their order, along a new dimension in front. */
static Instruction *gather_shards(Instruction *shard, const Mesh *mesh) {
  Module *module = shard->parent->module;
  Arena *arena = module->arena;
  const Shape *shape = shard->shape;
  int64_t dims[1 + MAX_RANK] = {1}, dimension = 0;
  for (int d = 0; d < shape->rank; d++) dims[1 + d] = shape->dims[d];
  const Shape *row = shape_make(arena, shape->type, 1 + shape->rank, dims, NULL);
  dims[0] = mesh->devices;
  const Shape *all = shape_make(arena, shape->type, 1 + shape->rank, dims, NULL);
  Attributes attributes;
  attributes_init(&attributes);
  attributes.dimensions = (Int64List){1, arena_copy(arena, &dimension, sizeof dimension)};
  attributes.channel_id = unused_channel(module);
  attributes.use_global_device_ids = true;
  attributes.replica_groups = groups_of_partitions(module, mesh->devices);
  Instruction *first = add(shard->parent, HLO_RESHAPE, row, &shard, 1, NULL);
  return add(shard->parent, HLO_ALL_GATHER, all, &first, 1, &attributes);
}

static Instruction *shard_of(Instruction *gathered, const Shape *shape, int64_t device) {
  Instruction *slice = computation_add_range(gathered->parent, gathered, 0, device, device + 1);
  return computation_add_reshape(gathered->parent, slice, shape->rank, shape->dims);
}

/* Every block at its place; where several devices have the same one, that of the last. */
static Instruction *put_together(Instruction *shard, const Shape *shape, const Mesh *mesh,
                                 const Cut *cuts) {
  Computation *computation = shard->parent;
  const Shape *local = shard->shape;
  Instruction *gathered = gather_shards(shard, mesh);
  Instruction *whole = computation_add_number(computation, local->type, (Scalar){0});
  whole = add(computation, HLO_BROADCAST, shape, &whole, 1, NULL);
  for (int64_t device = 0; device < mesh->devices; device++) {
    Instruction *operands[2 + MAX_RANK] = {whole, shard_of(gathered, local, device)};
    for (int d = 0; d < local->rank; d++) {
      int64_t start = local->dims[d] * block_of(&cuts[d], device);
      operands[2 + d] = constants(computation, 0, 1, &start);
    }
    whole = add(computation, HLO_DYNAMIC_UPDATE_SLICE, shape, operands, 2 + local->rank, NULL);
  }
  return whole;
}

/* ---- The pass ---- */

/* Whether `local`, cut so, makes up `whole`. */
static bool fits(const Shape *whole, const Shape *local, const Cut *cuts) {
  for (int d = 0; d < whole->rank; d++) {
    int64_t blocks = 1;
    for (int i = 0; i < cuts[d].count; i++) blocks *= cuts[d].axes[i]->size;
    if (whole->dims[d] != blocks * local->dims[d]) return false;
  }
  return true;
}

static const Shape *result_shape(const Instruction *call, int i) {
  return shape_is_tuple(call->shape) ? call->shape->elements[i] : call->shape;
}

/* The cuts of all operands, or NULL if something about the call is not as expected. */
static Cut **cuts_of(const Instruction *call, const Mesh *mesh, bool take) {
  Arena *arena = call->parent->module->arena;
  const char *text = call->a->frontend_attributes;
  if (text) text = strstr(text, take ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
  int results = shape_is_tuple(call->shape) ? call->shape->tuple_size : 1;
  if (results != call->operand_count) return NULL;
  Cut **cuts = ARENA_ARRAY(arena, Cut *, results);
  for (int i = 0; i < results; i++) {
    const Shape *operand = call->operands[i]->shape, *result = result_shape(call, i);
    if (!shape_is_static_array(operand) || !shape_is_static_array(result)) return NULL;
    if (operand->rank != result->rank || operand->type != result->type) return NULL;
    cuts[i] = ARENA_ARRAY(arena, Cut, operand->rank);
    if (!parse_cuts(&text, mesh, operand->rank, cuts[i])) return NULL;
    if (!fits(take ? operand : result, take ? result : operand, cuts[i])) return NULL;
  }
  return cuts;
}

typedef enum CallKind { OTHER_CALL, TAKE_SHARD, PUT_TOGETHER } CallKind;

static CallKind kind_of(const Instruction *x) {
  if (x->opcode != HLO_CUSTOM_CALL || !x->a->custom_call_target) return OTHER_CALL;
  if (strcmp(x->a->custom_call_target, "xla.sdy.GlobalToLocalShape") == 0) return TAKE_SHARD;
  if (strcmp(x->a->custom_call_target, "xla.sdy.LocalToGlobalShape") == 0) return PUT_TOGETHER;
  return OTHER_CALL;
}

static bool rewrite_call(Instruction *call, const Mesh *mesh) {
  bool take = kind_of(call) == TAKE_SHARD;
  Cut **cuts = cuts_of(call, mesh, take);
  if (!cuts) return false;
  Instruction **parts =
      ARENA_ARRAY(call->parent->module->arena, Instruction *, call->operand_count);
  for (int i = 0; i < call->operand_count; i++) {
    const Shape *shape = result_shape(call, i);
    parts[i] = call->operands[i];
    if (shape_same_dims(shape, parts[i]->shape)) continue;
    parts[i] = take ? take_shard(parts[i], shape, mesh, cuts[i])
                    : put_together(parts[i], shape, mesh, cuts[i]);
  }
  Opcode opcode = shape_is_tuple(call->shape) ? HLO_TUPLE_OP : HLO_COPY;
  instruction_become(call, opcode, parts, call->operand_count, NULL);
  return true;
}

static bool rewrite_calls(Computation *computation, const Mesh *mesh) {
  bool changed = false;
  for (int i = 0, count = computation->count; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (kind_of(x) != OTHER_CALL) changed |= rewrite_call(x, mesh);
  }
  if (changed) computation_sort(computation);
  return changed;
}

int manual_sharding_devices(const Module *module) {
  Mesh mesh;
  if (!parse_mesh(module->extra_header, &mesh)) return 0;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      if (kind_of(computation->instructions[i]) != OTHER_CALL) return (int)mesh.devices;
    }
  }
  return 0;
}

bool pass_manual_sharding(Module *module) {
  Mesh mesh;
  bool changed = false;
  if (!parse_mesh(module->extra_header, &mesh)) return false;
  if (mesh.devices != (module->num_partitions ? module->num_partitions : 1)) return false;
  for (int c = 0; c < module->count; c++) changed |= rewrite_calls(module->computations[c], &mesh);
  return changed;
}
