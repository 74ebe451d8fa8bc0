#include "hlo/ir/sharding.h"

#include <string.h>

#include "base/min_max.h"
#include "hlo/ir/sharding_text.h"

/* ---- Calls ---- */

typedef struct Target {
  const char *name;
  ShardCallKind kind;
  bool is_shardy;
} Target;

static const Target targets[] = {
    {"xla.sdy.GlobalToLocalShape", TAKES_SHARDS, true},
    {"xla.sdy.LocalToGlobalShape", JOINS_SHARDS, true},
    {"SPMDFullToShardShape", TAKES_SHARDS, false},
    {"SPMDShardToFullShape", JOINS_SHARDS, false},
};

static const Target *target_of(const Instruction *x) {
  if (x->opcode != HLO_CUSTOM_CALL || !x->a->custom_call_target) return NULL;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (strcmp(x->a->custom_call_target, targets[i].name) == 0) return &targets[i];
  }
  return NULL;
}

ShardCallKind shard_call_kind(const Instruction *instruction) {
  const Target *target = target_of(instruction);
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

static const char *shardy_attribute(Arena *arena, const Instruction *call, ShardCallKind kind,
                                    const char *name) {
  const char *text = call->a->frontend_attributes;
  const char *value = text ? dictionary_value(arena, text, name) : NULL;
  const Instruction *body = value ? NULL : body_call(call, kind);
  if (!body || !body->a->frontend_attributes) return value;
  return dictionary_value(arena, body->a->frontend_attributes, name);
}

bool shard_call_is_stated_later(const Instruction *call) {
  const Target *target = target_of(call);
  const char *text = call->a->frontend_attributes;
  return target && target->is_shardy && target->kind == TAKES_SHARDS &&
         !(text && strstr(text, "xla.sdy.in_shardings"));
}

static bool read_shardy(Scan *scan, const Instruction *call, ShardCallKind kind,
                        Sharding *shardings) {
  bool takes = kind == TAKES_SHARDS;
  const char *name = takes ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings";
  const char *text = shardy_attribute(scan->arena, call, kind, name);
  const char *axes = shardy_attribute(scan->arena, call, kind, "xla.sdy.manual_axes");
  if (!text || !axes) return scan_fail(scan, "%s or xla.sdy.manual_axes is missing", name);
  scan->at = text;
  return scan_shardy(scan, call->parent->module->extra_header, axes, call->operand_count,
                     shardings);
}

/* ---- XLA's shardings ---- */

/*
** What the sharding of the shard itself says: it is manual, and may be cut further along axes that
** are left to a partitioner. `text` may be NULL where nothing states it.
*/
static bool read_manual(Scan *scan, const char *text, Tiles *tiles) {
  *tiles = (Tiles){.kind = TILES_MANUAL};
  if (!text) return true;
  scan->at = text;
  if (!scan_tiles(scan, tiles)) return false;
  bool manual = tiles->kind == TILES_MANUAL, unreduced = false;
  for (int i = 0; tiles->kind == TILES_OTHER && i < tiles->trailing; i++) {
    manual |= tiles->reasons[i] == TILES_MANUAL;
    unreduced |= tiles->reasons[i] == TILES_UNREDUCED;
  }
  return (manual && !unreduced) || scan_fail(scan, "sharding=%s of the shard is not manual", text);
}

/* Writes the manual digits of a shard's sharding. Returns false if all its digits are manual. */
static bool some_manual(Scan *scan, const Tiles *manual, Digits *digits) {
  int64_t stride = 1;
  bool all = true;
  for (int i = manual->rank - 1; manual->kind == TILES_OTHER && i >= 0; i--) {
    int reason = i - (manual->rank - manual->trailing);
    bool is_manual = reason >= 0 && manual->reasons[reason] == TILES_MANUAL;
    Digit digit = {manual->sizes[i], stride};
    if (is_manual) digits_push(scan->arena, digits, digit);
    all &= is_manual || manual->sizes[i] == 1;
    stride *= manual->sizes[i];
  }
  return !all;
}

/* Keeps of the copies' digits what is manual, which only a grid in the same order tells. */
static bool keep_manual(Scan *scan, const Tiles *tiles, const Tiles *manual, Sharding *out) {
  Digits digits = {0}, kept = {0};
  out->knows_copies = !out->copies.count || !some_manual(scan, manual, &digits);
  if (out->knows_copies) return true;
  const int64_t *devices = tiles_devices(scan, manual);
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
      if (high > low) digits_push(scan->arena, &kept, both);
    }
  }
  out->copies = kept;
  return true;
}

/* Reads {replicated}: all devices of the shard's sharding have the array. */
static bool read_replicated(Scan *scan, const Tiles *manual, int64_t partitions, Sharding *out) {
  Digits digits = {0};
  Digit all = {partitions, 1};
  if (some_manual(scan, manual, &digits)) {
    out->devices = tiles_devices(scan, manual);
    out->positions = tiles_count(manual);
    out->copies = digits;
  } else {
    out->positions = max_i64(partitions, 1);
    if (partitions) digits_push(scan->arena, &out->copies, all);
  }
  out->knows_copies = partitions || digits.count;
  return !scan->problem;
}

typedef struct Cut { /* of a dimension of the whole array, into shards */
  const Tiles *manual;
  const Shape *whole, *shard;
} Cut;

/* Among the tiles of a dimension, those within a shard move fastest. */
static bool cut_dimension(Scan *scan, const Cut *cut, int d, Digit tiles, Digits *digits) {
  int64_t whole = cut->whole->dims[d], shard = cut->shard->dims[d], inner = 1;
  if (cut->manual->kind == TILES_OTHER && d < cut->manual->rank) inner = cut->manual->sizes[d];
  int64_t blocks = inner > 0 ? tiles.size / inner : 0;
  if (blocks < 1 || blocks * inner != tiles.size || blocks * shard != whole) {
    return scan_fail(scan, "dimension %d of size %lld is not %lld shards of size %lld", d,
                     (long long)whole, (long long)blocks, (long long)shard);
  }
  Digit digit = {blocks, tiles.stride * inner};
  digits_push(scan->arena, digits, digit);
  return true;
}

static bool read_other(Scan *scan, const Tiles *tiles, const Cut *cut, Sharding *out) {
  int rank = tiles->rank - tiles->trailing;
  if (rank != cut->whole->rank || rank != cut->shard->rank) {
    return scan_fail(scan, "its tiles have %d dimensions, the array %d", rank, cut->whole->rank);
  }
  if (!(out->devices = tiles_devices(scan, tiles))) return false;
  out->dimensions = ARENA_ARRAY(scan->arena, Digits, rank);
  out->rank = rank;
  Digit digit = {1, 1};
  for (int d = tiles->rank - 1; d >= 0; d--) {
    digit.size = tiles->sizes[d];
    if (d < rank && !cut_dimension(scan, cut, d, digit, &out->dimensions[d])) return false;
    if (d >= rank && tiles->reasons[d - rank] == TILES_UNREDUCED) {
      digits_push(scan->arena, &out->addends, digit);
    }
    if (d >= rank && tiles->reasons[d - rank] == TILES_REPLICATED) {
      digits_push(scan->arena, &out->copies, digit);
    }
    digit.stride *= digit.size;
  }
  out->positions = digit.stride;
  return keep_manual(scan, tiles, cut->manual, out);
}

/* The sharding is of the whole array, which a Sharding call beside this one states. */
static bool read_tiles(Scan *scan, const Instruction *call, ShardCallKind kind, int64_t partitions,
                       Sharding *out) {
  bool takes = kind == TAKES_SHARDS;
  const Instruction *operand = call->operands[0];
  const char *text = takes ? operand->a->sharding : call->a->sharding;
  if (!text) return scan_fail(scan, "the sharding of the whole array is not stated");
  Tiles tiles;
  scan->at = text;
  if (!scan_tiles(scan, &tiles)) return false;
  Tiles manual;
  if (!read_manual(scan, takes ? call->a->sharding : operand->a->sharding, &manual)) return false;
  Cut cut = {&manual, takes ? operand->shape : call->shape, takes ? call->shape : operand->shape};
  *out = (Sharding){.positions = 1, .rank = -1, .reduction = HLO_ADD};
  switch (tiles.kind) {
  case TILES_OTHER: return read_other(scan, &tiles, &cut, out);
  case TILES_REPLICATED: return read_replicated(scan, &manual, partitions, out);
  case TILES_MANUAL: return true;
  case TILES_UNREDUCED:
    if (!partitions)
      return scan_fail(scan, "%s of how many partitions? State num_partitions", text);
    out->positions = partitions;
    out->knows_copies = true;
    Digit all = {partitions, 1};
    digits_push(scan->arena, &out->addends, all);
    return true;
  default: return scan_fail(scan, "sharding=%s does not say which partition has which shard", text);
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

/* Assigns every device of the grid its place. Returns false if digits overlap. */
static bool fill(Arena *arena, const Sharding *s, Placement *out, int64_t *device) {
  int64_t held = out->addends;
  for (int d = 0; d < out->rank; d++) held *= out->blocks[d];
  int64_t *numbers = ARENA_ARRAY(arena, int64_t, s->positions), rests = 0;
  for (int64_t i = 0; i < s->positions; i++) numbers[i] = device[i] = -1;
  for (int64_t position = 0; position < s->positions; position++) {
    int64_t rest = position, place = number_at(&s->addends, position, &rest);
    for (int d = 0; d < out->rank; d++) {
      place = place * out->blocks[d] + number_at(&s->dimensions[d], position, &rest);
    }
    if (rest < 0) return false;
    if (numbers[rest] < 0) numbers[rest] = rests++;
    place += numbers[rest] * held;
    if (place >= s->positions || device[place] >= 0) return false;
    device[place] = s->devices ? s->devices[position] : position;
  }
  return true;
}

static const Placement *whole_placement(Arena *arena) {
  static const Placement whole = {.devices = 1, .addends = 1, .reduction = HLO_ADD};
  return arena_copy(arena, &whole, sizeof whole);
}

/* Each dimension of the whole array is its shards beside each other. */
static bool check_sizes(Scan *scan, const int64_t *blocks, const Shape *whole, const Shape *shard) {
  for (int d = 0; d < whole->rank; d++) {
    if (whole->dims[d] == blocks[d] * shard->dims[d]) continue;
    return scan_fail(scan, "dimension %d of %s is not %lld shards of %s", d,
                     shape_str(scan->arena, whole), (long long)blocks[d],
                     shape_str(scan->arena, shard));
  }
  return true;
}

static const Placement *place(Scan *scan, const Sharding *s, const Shape *whole,
                              const Shape *shard) {
  if (s->rank >= 0 && s->rank != whole->rank) {
    scan_fail(scan, "a sharding of rank %d for %s", s->rank, shape_str(scan->arena, whole));
    return NULL;
  }
  int64_t *blocks = ARENA_ARRAY(scan->arena, int64_t, whole->rank), held = 1;
  for (int d = 0; d < whole->rank; d++) {
    blocks[d] = s->rank < 0 ? 1 : count_of(&s->dimensions[d]);
    if (blocks[d] > s->positions / held) held = s->positions + 1;
    if (held <= s->positions) held *= blocks[d];
  }
  if (!check_sizes(scan, blocks, whole, shard)) return NULL;
  int64_t addends = count_of(&s->addends);
  if (held == 1 && addends == 1) return whole_placement(scan->arena);
  int64_t *device = ARENA_ARRAY(scan->arena, int64_t, s->positions);
  Placement made = {s->positions, whole->rank, blocks, addends, s->reduction, device};
  bool fits =
      held <= s->positions && addends <= s->positions / held && fill(scan->arena, s, &made, device);
  if (fits) return arena_copy(scan->arena, &made, sizeof made);
  scan_fail(scan, "an axis divides an array twice");
  return NULL;
}

static bool is_static(const Shape *shape) {
  for (int d = 0; shape_is_array(shape) && shape->dynamic && d < shape->rank; d++) {
    if (shape->dynamic[d]) return false;
  }
  return shape_is_array(shape);
}

static const Placement *place_operand(Scan *scan, const Instruction *call, ShardCallKind kind,
                                      int i, const Sharding *sharding) {
  const Shape *operand = call->operands[i]->shape, *result = shard_call_result(call, i);
  if (shape_is_token(operand) && shape_is_token(result)) return whole_placement(scan->arena);
  if (!is_static(operand) || !is_static(result) || operand->rank != result->rank ||
      operand->type != result->type) {
    scan_fail(scan,
              "operand %d is %s and result %d %s; they must be arrays of one rank and "
              "element type, whose sizes do not change",
              i, shape_str(scan->arena, operand), i, shape_str(scan->arena, result));
    return NULL;
  }
  bool takes = kind == TAKES_SHARDS;
  return place(scan, sharding, takes ? operand : result, takes ? result : operand);
}

bool scan_shard_call(Scan *scan, const Instruction *call, int64_t partitions, Sharding *shardings) {
  const Target *target = target_of(call);
  int count = call->operand_count;
  if (count != result_count(call)) {
    return scan_fail(scan, "%d operands, but %d results", count, result_count(call));
  }
  if (target->is_shardy) return read_shardy(scan, call, target->kind, shardings);
  if (count != 1) return scan_fail(scan, "%d operands; it takes one", count);
  return read_tiles(scan, call, target->kind, partitions, shardings);
}

const Placement *const *shard_call_placements(Arena *arena, const Instruction *call,
                                              int64_t partitions, const char **problem) {
  const Target *target = target_of(call);
  Scan scan = {.arena = arena};
  int count = call->operand_count;
  Sharding *shardings = ARENA_ARRAY(arena, Sharding, count);
  const Placement **placements = ARENA_ARRAY(arena, const Placement *, count);
  bool good = scan_shard_call(&scan, call, partitions, shardings);
  for (int i = 0; good && i < count; i++) {
    placements[i] = place_operand(&scan, call, target->kind, i, &shardings[i]);
    good = placements[i] != NULL;
  }
  *problem = good ? NULL : arena_printf(arena, "%s: %s", target->name, scan.problem);
  return good ? placements : NULL;
}

bool sharding_check(Arena *arena, const char *text, const char **problem) {
  Scan scan = {arena, text, NULL};
  Tiles tiles;
  bool good = scan_tiles(&scan, &tiles);
  *problem = scan.problem;
  return good;
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
