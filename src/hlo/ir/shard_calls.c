#include "hlo/ir/shard_calls.h"

#include <string.h>

#include "base/min_max.h"
#include "hlo/ir/sharding_digits.h"

/* ---- Calls ---- */

typedef struct ShardTarget {
  const char *name;
  ShardCallKind kind;
  bool is_shardy;
} ShardTarget;

static const ShardTarget targets[] = {
    {"xla.sdy.GlobalToLocalShape", TAKES_SHARDS, true},
    {"xla.sdy.LocalToGlobalShape", JOINS_SHARDS, true},
    {"SPMDFullToShardShape", TAKES_SHARDS, false},
    {"SPMDShardToFullShape", JOINS_SHARDS, false},
};

static const ShardTarget *target_of(const Instruction *x) {
  if (x->opcode != HLO_CUSTOM_CALL || !x->a->custom_call_target) return NULL;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(x->a->custom_call_target, targets[i].name) == 0) return &targets[i];
  }
  return NULL;
}

ShardCallKind shard_call_kind(const Instruction *instruction) {
  const ShardTarget *target = target_of(instruction);
  return target ? target->kind : NO_SHARD_CALL;
}

const Shape *shard_call_result(const Instruction *call, int i) {
  bool is_tuple = shape_is_tuple(call->shape) && call->operand_count != 1;
  is_tuple |= shape_is_tuple(call->shape) && !shape_is_tuple(call->operands[0]->shape);
  return is_tuple ? call->shape->elements[i] : call->shape;
}

static int result_count(const Instruction *call) {
  return shape_is_tuple(call->shape) ? call->shape->tuple_size : 1;
}

/* ---- Shardy's shardings ---- */

/* Returns the call of the manual computation's body, which has the shardings in exports of 2024. */
static const Instruction *body_call(const Instruction *call, ShardCallKind kind) {
  for (int i = 0; kind == JOINS_SHARDS && i < call->operand_count; i++) {
    const Instruction *x = call->operands[i];
    if (x->opcode == HLO_GET_TUPLE_ELEMENT) x = x->operands[0];
    if (x->opcode == HLO_CALL) return x;
  }
  const Computation *computation = call->parent;
  for (int i = 0; kind == TAKES_SHARDS && i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    for (int k = 0; x->opcode == HLO_CALL && k < x->operand_count; k++) {
      const Instruction *operand = x->operands[k];
      if (operand->opcode == HLO_GET_TUPLE_ELEMENT) operand = operand->operands[0];
      if (operand == call) return x;
    }
  }
  return NULL;
}

static const ManualShardings *manual_of(const Instruction *x) {
  return x->a->frontend_attributes ? x->a->frontend_attributes->manual : NULL;
}

bool shard_call_is_stated_later(const Instruction *call) {
  const ShardTarget *target = target_of(call);
  return target && target->is_shardy && target->kind == TAKES_SHARDS && !manual_of(call);
}

static bool read_shardy(Reader *reader, const Instruction *call, ShardCallKind kind,
                        GridSharding *out) {
  bool takes = kind == TAKES_SHARDS;
  const ManualShardings *manual = manual_of(call);
  const Instruction *body = manual ? NULL : body_call(call, kind);
  if (body) manual = manual_of(body);
  ArrayShardings stated = !manual ? (ArrayShardings){0} : takes ? manual->in : manual->out;
  if (!stated.is_stated) {
    return reader_fail(reader, "%s or xla.sdy.manual_axes is missing",
                       takes ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
  }
  return read_array_shardings(reader, call->parent->module, manual->manual_axes, stated,
                              call->operand_count, out);
}

/* ---- XLA's shardings ---- */

/* Whether a tile's dimension after those of the array is shared for this reason. */
static bool has_reason(const OpSharding *sharding, ShardingKind reason) {
  return sharding->kind == SHARDING_OTHER && list_has(sharding->reasons, reason);
}

/* Checks that a shard's own sharding is manual; it may be cut further along axes that are left to a partitioner. */
static bool check_shard(Reader *reader, const OpSharding *shard) {
  if (shard->kind == SHARDING_OTHER && !tiles_count(shard)) {
    return reader_fail(reader, "sharding=%s has more than %d tiles", shard->text, MAX_DEVICES);
  }
  bool is_manual = shard->kind == SHARDING_MANUAL || has_reason(shard, SHARDING_MANUAL);
  if (is_manual && !has_reason(shard, SHARDING_UNREDUCED)) return true;
  return reader_fail(reader, "sharding=%s of the shard is not manual", shard->text);
}

/* Writes the manual digits of a shard's sharding. Returns false if all its digits are manual. */
static bool some_manual(Reader *reader, const OpSharding *manual, Digits *digits) {
  int64_t stride = 1;
  bool all = true;
  for (int i = manual->tiles.count - 1; manual->kind == SHARDING_OTHER && i >= 0; i--) {
    int reason = i - (manual->tiles.count - manual->reasons.count);
    bool is_manual = reason >= 0 && manual->reasons.items[reason] == SHARDING_MANUAL;
    Digit digit = {manual->tiles.items[i], stride};
    if (is_manual) digits_push(reader->arena, digits, digit);
    all &= is_manual || digit.size == 1;
    stride *= digit.size;
  }
  return !all;
}

/* Drops the digits of copies that are not manual. They are known only if both shardings list the devices in the same order. */
static bool keep_manual(Reader *reader, const OpSharding *tiles, const OpSharding *manual,
                        GridSharding *out) {
  Digits digits = {0}, kept = {0};
  out->knows_copies = !out->copies.count || !some_manual(reader, manual, &digits);
  if (out->knows_copies) return true;
  const int64_t *devices = tiles_devices(reader, manual);
  if (!devices) return false;
  out->knows_copies = tiles_count(tiles) == tiles_count(manual);
  for (int64_t i = 0; out->knows_copies && i < out->positions; i++) {
    out->knows_copies = devices[i] == out->devices[i];
  }
  for (int i = 0; i < digits.count; i++) {
    for (int k = 0; k < out->copies.count; k++) {
      const Digit *x = &digits.items[i], *y = &out->copies.items[k];
      int64_t low = max_i64(x->stride, y->stride);
      int64_t high = min_i64(x->stride * x->size, y->stride * y->size);
      Digit both = {high / low, low};
      if (high > low) digits_push(reader->arena, &kept, both);
    }
  }
  out->copies = kept;
  return true;
}

/* Reads {replicated}: all devices of the shard's sharding have the array. */
static bool read_replicated(Reader *reader, const OpSharding *manual, int64_t partitions,
                            GridSharding *out) {
  Digits digits = {0};
  Digit all = {partitions, 1};
  if (some_manual(reader, manual, &digits)) {
    out->devices = tiles_devices(reader, manual);
    out->positions = tiles_count(manual);
    out->copies = digits;
  } else {
    out->positions = max_i64(partitions, 1);
    if (partitions) digits_push(reader->arena, &out->copies, all);
  }
  out->knows_copies = partitions || digits.count;
  return !reader->problem;
}

typedef struct Cut { /* of a dimension of the whole array, into shards */
  const OpSharding *manual;
  const Shape *whole, *shard;
} Cut;

/* Among the tiles of a dimension, those within a shard move fastest. */
static bool cut_dimension(Reader *reader, const Cut *cut, int d, Digit tiles, Digits *digits) {
  int64_t whole = cut->whole->dims[d], shard = cut->shard->dims[d], inner = 1;
  if (cut->manual->kind == SHARDING_OTHER && d < cut->manual->tiles.count) {
    inner = cut->manual->tiles.items[d];
  }
  int64_t blocks = inner > 0 ? tiles.size / inner : 0;
  if (blocks < 1 || blocks * inner != tiles.size || blocks * shard != whole) {
    return reader_fail(reader, "dimension %d of size %lld is not %lld shards of size %lld", d,
                       (long long)whole, (long long)blocks, (long long)shard);
  }
  Digit digit = {blocks, tiles.stride * inner};
  digits_push(reader->arena, digits, digit);
  return true;
}

static bool read_other(Reader *reader, const OpSharding *tiles, const Cut *cut, GridSharding *out) {
  int rank = tiles->tiles.count - tiles->reasons.count;
  if (rank != cut->whole->rank || rank != cut->shard->rank) {
    return reader_fail(reader, "its tiles have %d dimensions, the array %d", rank,
                       cut->whole->rank);
  }
  if (!(out->devices = tiles_devices(reader, tiles))) return false;
  out->dimensions = ARENA_ARRAY(reader->arena, Digits, rank);
  out->rank = rank;
  Digit digit = {1, 1};
  for (int d = tiles->tiles.count - 1; d >= 0; d--) {
    digit.size = tiles->tiles.items[d];
    if (d < rank && !cut_dimension(reader, cut, d, digit, &out->dimensions[d])) return false;
    if (d >= rank && tiles->reasons.items[d - rank] == SHARDING_UNREDUCED) {
      digits_push(reader->arena, &out->addends, digit);
    }
    if (d >= rank && tiles->reasons.items[d - rank] == SHARDING_REPLICATED) {
      digits_push(reader->arena, &out->copies, digit);
    }
    digit.stride *= digit.size;
  }
  out->positions = digit.stride;
  return keep_manual(reader, tiles, cut->manual, out);
}

/* The sharding is of the whole array, which a Sharding call beside this one states. */
static bool read_tiles(Reader *reader, const Instruction *call, ShardCallKind kind,
                       int64_t partitions, GridSharding *out) {
  bool takes = kind == TAKES_SHARDS;
  const Instruction *operand = call->operands[0];
  static const OpSharding manual = {.kind = SHARDING_MANUAL};
  const OpSharding *whole = takes ? operand->a->sharding : call->a->sharding;
  const OpSharding *shard = takes ? call->a->sharding : operand->a->sharding;
  if (!whole) return reader_fail(reader, "the sharding of the whole array is not stated");
  if (!shard) shard = &manual;
  if (!check_shard(reader, shard)) return false;
  Cut cut = {shard, takes ? operand->shape : call->shape, takes ? call->shape : operand->shape};
  *out = (GridSharding){.positions = 1, .rank = -1, .reduction = HLO_ADD};
  switch (whole->kind) {
  case SHARDING_OTHER: return read_other(reader, whole, &cut, out);
  case SHARDING_REPLICATED: return read_replicated(reader, shard, partitions, out);
  case SHARDING_MANUAL: return true;
  case SHARDING_UNREDUCED:
    if (!partitions)
      return reader_fail(reader, "%s of how many partitions? State num_partitions", whole->text);
    out->positions = partitions;
    out->knows_copies = true;
    Digit all = {partitions, 1};
    digits_push(reader->arena, &out->addends, all);
    return true;
  default:
    return reader_fail(reader, "sharding=%s does not say which partition has which shard",
                       whole->text);
  }
}

/* ---- Placements ---- */

/* Capped at MAX_DEVICES + 1. */
static int64_t count_of(const Digits *digits) {
  int64_t count = 1;
  for (int i = 0; i < digits->count && count <= MAX_DEVICES; i++) count *= digits->items[i].size;
  return count <= MAX_DEVICES ? count : MAX_DEVICES + 1;
}

/* Returns the number that the digits of a position form, and removes them from `*rest`. */
static int64_t number_at(const Digits *digits, int64_t position, int64_t *rest) {
  int64_t number = 0;
  for (int i = 0; i < digits->count; i++) {
    const Digit *digit = &digits->items[i];
    int64_t value = position / digit->stride % digit->size;
    number = number * digit->size + value;
    *rest -= value * digit->stride;
  }
  return number;
}

/* Assigns every device of the grid its index. Returns false if digits overlap. */
static bool fill(Arena *arena, const GridSharding *s, Placement *out, int64_t *device) {
  int64_t held = out->addends;
  for (int d = 0; d < out->rank; d++) held *= out->blocks[d];
  int64_t *numbers = ARENA_ARRAY(arena, int64_t, s->positions), rests = 0;
  for (int64_t i = 0; i < s->positions; i++) numbers[i] = device[i] = -1;
  for (int64_t position = 0; position < s->positions; position++) {
    int64_t rest = position, index = number_at(&s->addends, position, &rest);
    for (int d = 0; d < out->rank; d++) {
      index = index * out->blocks[d] + number_at(&s->dimensions[d], position, &rest);
    }
    if (rest < 0) return false;
    if (numbers[rest] < 0) numbers[rest] = rests++;
    index += numbers[rest] * held;
    if (index >= s->positions || device[index] >= 0) return false;
    device[index] = s->devices ? s->devices[position] : position;
  }
  return true;
}

static const Placement *whole_placement(Arena *arena) {
  static const Placement whole = {.devices = 1, .addends = 1, .reduction = HLO_ADD};
  return arena_copy(arena, &whole, sizeof whole);
}

/* Each dimension of the whole array is its shards beside each other. */
static bool check_sizes(Reader *reader, const int64_t *blocks, const Shape *whole,
                        const Shape *shard) {
  for (int d = 0; d < whole->rank; d++) {
    if (whole->dims[d] == blocks[d] * shard->dims[d]) continue;
    return reader_fail(reader, "dimension %d of %s is not %lld shards of %s", d,
                       shape_str(reader->arena, whole), (long long)blocks[d],
                       shape_str(reader->arena, shard));
  }
  return true;
}

static const Placement *placement_of(Reader *reader, const GridSharding *s, const Shape *whole,
                                     const Shape *shard) {
  if (s->rank >= 0 && s->rank != whole->rank) {
    reader_fail(reader, "a sharding of rank %d for %s", s->rank, shape_str(reader->arena, whole));
    return NULL;
  }
  int64_t *blocks = ARENA_ARRAY(reader->arena, int64_t, whole->rank), held = 1;
  for (int d = 0; d < whole->rank; d++) {
    blocks[d] = s->rank < 0 ? 1 : count_of(&s->dimensions[d]);
    if (blocks[d] > s->positions / held) held = s->positions + 1;
    if (held <= s->positions) held *= blocks[d];
  }
  if (!check_sizes(reader, blocks, whole, shard)) return NULL;
  int64_t addends = count_of(&s->addends);
  if (held == 1 && addends == 1) return whole_placement(reader->arena);
  int64_t *device = ARENA_ARRAY(reader->arena, int64_t, s->positions);
  Placement made = {s->positions, whole->rank, blocks, addends, s->reduction, device};
  bool fits = held <= s->positions && addends <= s->positions / held &&
              fill(reader->arena, s, &made, device);
  if (fits) return arena_copy(reader->arena, &made, sizeof made);
  reader_fail(reader, "an axis divides an array twice");
  return NULL;
}

static bool is_static(const Shape *shape) {
  for (int d = 0; shape_is_array(shape) && shape->dynamic && d < shape->rank; d++) {
    if (shape->dynamic[d]) return false;
  }
  return shape_is_array(shape);
}

static const Placement *place_operand(Reader *reader, const Instruction *call, ShardCallKind kind,
                                      int i, const GridSharding *sharding) {
  const Shape *operand = call->operands[i]->shape, *result = shard_call_result(call, i);
  if (shape_is_token(operand) && shape_is_token(result)) return whole_placement(reader->arena);
  if (!is_static(operand) || !is_static(result) || operand->rank != result->rank ||
      operand->type != result->type) {
    reader_fail(reader,
                "operand %d is %s and result %d %s; they must be arrays of one rank and "
                "element type, whose sizes do not change",
                i, shape_str(reader->arena, operand), i, shape_str(reader->arena, result));
    return NULL;
  }
  bool takes = kind == TAKES_SHARDS;
  return placement_of(reader, sharding, takes ? operand : result, takes ? result : operand);
}

bool read_shard_call(Reader *reader, const Instruction *call, int64_t partitions,
                     GridSharding *shardings) {
  const ShardTarget *target = target_of(call);
  int count = call->operand_count;
  if (count != result_count(call)) {
    return reader_fail(reader, "%d operands, but %d results", count, result_count(call));
  }
  if (target->is_shardy) return read_shardy(reader, call, target->kind, shardings);
  if (count != 1) return reader_fail(reader, "%d operands; it takes one", count);
  return read_tiles(reader, call, target->kind, partitions, shardings);
}

const Placement *const *shard_call_placements(Arena *arena, const Instruction *call,
                                              int64_t partitions, const char **problem) {
  const ShardTarget *target = target_of(call);
  Reader reader = {.arena = arena};
  int count = call->operand_count;
  GridSharding *shardings = ARENA_ARRAY(arena, GridSharding, count);
  const Placement **placements = ARENA_ARRAY(arena, const Placement *, count);
  bool good = read_shard_call(&reader, call, partitions, shardings);
  for (int i = 0; good && i < count; i++) {
    placements[i] = place_operand(&reader, call, target->kind, i, &shardings[i]);
    good = placements[i] != NULL;
  }
  *problem = good ? NULL : arena_printf(arena, "%s: %s", target->name, reader.problem);
  return good ? placements : NULL;
}

/* ---- Modules ---- */

/* Whether an instruction, other than a shard call, depends on the partition or is a rendezvous. */
static bool divides(const Instruction *x) {
  bool transfers = x->opcode == HLO_SEND || x->opcode == HLO_RECV;
  return x->opcode == HLO_PARTITION_ID || opcode_category(x->opcode) == COLLECTIVE ||
         (transfers && !x->a->is_host_transfer);
}

static bool call_needs(Arena *arena, const Instruction *call, int64_t partitions,
                       PartitionNeeds *needs, Error *error) {
  const char *problem;
  const Placement *const *placements = shard_call_placements(arena, call, partitions, &problem);
  if (!placements) return invalid_argument(error, "custom-call", "%s: %s", call->name, problem);
  for (int i = 0; i < call->operand_count; i++) {
    int devices = (int)placements[i]->devices;
    if (placement_is_whole(placements[i])) continue;
    if (needs->shard_devices && needs->shard_devices != devices) {
      return invalid_argument(error, "custom-call",
                              "%s: its sharding is for %d partitions, another one of the module's "
                              "for %d; all must be for the same number",
                              call->name, devices, needs->shard_devices);
    }
    needs->shard_devices = devices;
  }
  return true;
}

bool partition_needs(const Module *module, PartitionNeeds *needs, Error *error) {
  *needs = (PartitionNeeds){0};
  Arena *arena = arena_new();
  bool good = true;
  for (int c = 0; good && c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; good && i < computation->count; i++) {
      const Instruction *x = computation->instructions[i];
      ArenaMark mark = arena_mark(arena);
      if (shard_call_kind(x) != NO_SHARD_CALL) {
        good = call_needs(arena, x, module->num_partitions, needs, error);
      }
      needs->is_divided |= divides(x);
      arena_release(arena, mark);
    }
  }
  needs->is_divided |= needs->shard_devices > 0;
  arena_free(arena);
  return good;
}
