#include "hlo/ir/shard_attributes.h"

#include "base/min_max.h"
#include "hlo/ir/shard_calls.h"
#include "hlo/ir/sharding_digits.h"

/* ---- Axes: the parts of the devices' positions that digits have in common ---- */

/* Threshold MAX_BOUNDS: a mesh of 4,096 devices has at most 13 axes larger than 1. No path. */
enum { MAX_BOUNDS = 64 };

typedef struct Axes {
  int count; /* of bounds; axis i is position / bounds[i] % (bounds[i + 1] / bounds[i]) */
  int64_t bounds[MAX_BOUNDS]; /* ascending; 1, ..., the number of positions */
} Axes;

static bool add_bound(Axes *axes, int64_t bound) {
  int at = 0;
  while (at < axes->count && axes->bounds[at] < bound) at++;
  if (at < axes->count && axes->bounds[at] == bound) return true;
  if (axes->count == MAX_BOUNDS) return false;
  for (int i = axes->count++; i > at; i--) axes->bounds[i] = axes->bounds[i - 1];
  axes->bounds[at] = bound;
  return true;
}

static bool add_bounds(Axes *axes, const Digits *digits) {
  for (int i = 0; i < digits->count; i++) {
    const Digit *digit = &digits->items[i];
    if (!add_bound(axes, digit->stride) || !add_bound(axes, digit->stride * digit->size)) {
      return false;
    }
  }
  return true;
}

/* Finds the axes of several shardings. Returns false if they have none in common. */
static bool find_axes(Axes *axes, const GridSharding *shardings, int count) {
  *axes = (Axes){1, {1}};
  for (int i = 0; i < count; i++) {
    const GridSharding *s = &shardings[i];
    bool fits = add_bound(axes, s->positions) && add_bounds(axes, &s->addends) &&
                add_bounds(axes, &s->copies);
    for (int d = 0; fits && d < s->rank; d++) fits = add_bounds(axes, &s->dimensions[d]);
    if (!fits) return false;
  }
  for (int i = 0; i + 1 < axes->count; i++) {
    if (axes->bounds[i + 1] % axes->bounds[i]) return false;
  }
  return true;
}

/* ---- Records ---- */

typedef struct Writer {
  Arena *arena;
  Axes axes;
  const char *names[MAX_BOUNDS]; /* of the axes */
  bool manual[MAX_BOUNDS];
} Writer;

static int axis_count(const Writer *w) { return w->axes.count - 1; }

/* Returns the axes, major first, that are marked. */
static AxisList marked_axes(const Writer *w, const bool *marks) {
  AxisPart *parts = ARENA_ARRAY(w->arena, AxisPart, axis_count(w));
  int count = 0;
  for (int i = axis_count(w) - 1; i >= 0; i--) {
    if (marks[i]) parts[count++] = (AxisPart){.axis = w->names[i], .is_whole = true};
  }
  return (AxisList){count, parts};
}

/* Returns the axes that make up the digits, the major one first. */
static AxisList axes_of(Writer *w, const Digits *digits) {
  int count = 0, capacity = 0;
  AxisPart *parts = NULL;
  for (int k = 0; k < digits->count; k++) {
    const Digit *digit = &digits->items[k];
    for (int i = axis_count(w) - 1; i >= 0; i--) {
      int64_t bound = w->axes.bounds[i];
      if (bound < digit->stride || bound >= digit->stride * digit->size) continue;
      AxisPart part = {.axis = w->names[i], .is_whole = true};
      ARENA_PUSH(w->arena, parts, count, capacity, part);
      w->manual[i] = true;
    }
  }
  return (AxisList){count, parts};
}

static const NamedMesh *mesh_of(const Writer *w, const GridSharding *s) {
  NamedMesh *mesh = ARENA_NEW(w->arena, NamedMesh);
  MeshAxis *axes = ARENA_ARRAY(w->arena, MeshAxis, axis_count(w));
  for (int i = axis_count(w) - 1; i >= 0; i--) {
    if (w->axes.bounds[i] >= s->positions) continue;
    axes[mesh->count++] = (MeshAxis){w->names[i], w->axes.bounds[i + 1] / w->axes.bounds[i]};
  }
  mesh->axes = axes;
  if (s->devices) mesh->device_ids = (Int64List){(int)s->positions, s->devices};
  return mesh;
}

/* Returns the sharding of the transposition. A shard that devices took is a sum when it goes back; an array that was
** joined goes back to all devices that have the same block. */
static GridSharding transposed(Reader *reader, const GridSharding *s, bool takes) {
  GridSharding back = *s;
  back.addends = (Digits){0};
  if (takes) {
    back.copies = s->addends;
    back.addends = s->copies;
  } else {
    digits_append(reader->arena, &back.copies, &s->addends);
  }
  return back;
}

/* Returns the record; `batched`: with one more dimension in front, which is whole. */
static ArraySharding record_of(Writer *w, const GridSharding *s, int rank, bool batched) {
  AxisList *dimensions = ARENA_ARRAY(w->arena, AxisList, rank + batched);
  for (int d = 0; s->rank >= 0 && d < rank; d++) {
    dimensions[d + batched] = axes_of(w, &s->dimensions[d]);
  }
  return (ArraySharding){.mesh = mesh_of(w, s),
                         .rank = rank + batched,
                         .dimensions = dimensions,
                         .replicated = axes_of(w, &s->copies),
                         .unreduced = axes_of(w, &s->addends),
                         .reduction = s->reduction};
}

/* ---- Calls ---- */

/* Reads the shardings of a call; NULL with a problem. */
static GridSharding *shardings_of(Reader *reader, const Instruction *call) {
  GridSharding *shardings = ARENA_ARRAY(reader->arena, GridSharding, call->operand_count);
  int64_t partitions = max_i64(call->parent->module->num_partitions, 1);
  if (!read_shard_call(reader, call, partitions, shardings)) return NULL;
  for (int i = 0; i < call->operand_count; i++) {
    if (shardings[i].knows_copies) continue;
    reader_fail(reader, "the sharding of operand %d does not say which devices have the same block",
                i);
    return NULL;
  }
  return shardings;
}

const Attributes *shard_call_attributes(Arena *arena, const Instruction *call, int first, int count,
                                        ShardCallForm form, const char **problem) {
  Reader reader = {.arena = arena};
  Writer w = {.arena = arena};
  GridSharding *shardings = shardings_of(&reader, call);
  if (shardings && !find_axes(&w.axes, shardings + first, count)) {
    reader_fail(&reader, "its shardings cut the devices in ways that do not fit together");
  }
  bool takes = shard_call_kind(call) == TAKES_SHARDS;
  bool is_transposed = form == SHARD_CALL_TRANSPOSED;
  for (int i = first; !reader.problem && i < first + count; i++) {
    bool is_linear = shardings[i].reduction == HLO_ADD;
    if (!is_linear && (is_transposed || form == SHARD_CALL_LINEAR)) {
      reader_fail(&reader, "a maximum or minimum of shards has no derivative yet");
    }
    if (is_transposed) shardings[i] = transposed(&reader, &shardings[i], takes);
  }
  *problem = reader.problem;
  if (reader.problem) return NULL;
  takes ^= is_transposed;
  for (int i = 0; i < axis_count(&w); i++) w.names[i] = arena_printf(arena, "x%d", i);
  ArraySharding *records = ARENA_ARRAY(arena, ArraySharding, count);
  for (int i = first; i < first + count; i++) {
    int rank = shape_is_array(call->operands[i]->shape) ? call->operands[i]->shape->rank : 0;
    records[i - first] = record_of(&w, &shardings[i], rank, form == SHARD_CALL_BATCHED);
  }
  ManualShardings *manual = ARENA_NEW(arena, ManualShardings);
  *(takes ? &manual->in : &manual->out) = (ArrayShardings){true, count, records};
  manual->manual_axes = marked_axes(&w, w.manual);
  FrontendAttributes *frontend = ARENA_NEW(arena, FrontendAttributes);
  frontend->manual = manual;
  Attributes *a = ARENA_NEW(arena, Attributes);
  attributes_init(a);
  a->custom_call_target = takes ? "xla.sdy.GlobalToLocalShape" : "xla.sdy.LocalToGlobalShape";
  a->frontend_attributes = frontend;
  return a;
}

int64_t shard_call_copies(Arena *arena, const Instruction *call) {
  Reader reader = {.arena = arena};
  const GridSharding *shardings = shardings_of(&reader, call);
  int64_t copies = 1;
  for (int k = 0; shardings && k < shardings[0].copies.count; k++) {
    copies *= shardings[0].copies.items[k].size;
  }
  return copies;
}

bool module_state_shardings(Module *module, Error *error) {
  PartitionNeeds needs;
  if (!partition_needs(module, &needs, error)) return false;
  if (!module->num_partitions) module->num_partitions = needs.shard_devices;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      if (shard_call_kind(x) == NO_SHARD_CALL) continue;
      const char *problem;
      const Attributes *a =
          shard_call_attributes(module->arena, x, 0, x->operand_count, SHARD_CALL_SAME, &problem);
      if (!a) {
        return error_set_op(error, STATUS_UNIMPLEMENTED, "custom-call", "%s: %s", x->name, problem);
      }
      x->a = a;
    }
  }
  return true;
}
