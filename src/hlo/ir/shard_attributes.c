#include "hlo/ir/shard_attributes.h"

#include "base/min_max.h"
#include "base/strbuf.h"
#include "hlo/ir/sharding.h"
#include "hlo/ir/sharding_text.h"

/* ---- Axes: the parts of the devices' positions that digits have in common ---- */

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
static bool find_axes(Axes *axes, const Sharding *shardings, int count) {
  *axes = (Axes){1, {1}};
  for (int i = 0; i < count; i++) {
    const Sharding *s = &shardings[i];
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

/* ---- Text ---- */

typedef struct Writer {
  StrBuf text;
  Axes axes;
  bool manual[MAX_BOUNDS];
} Writer;

/* Writes {"x1", "x0"}: the axes that make up the digits, the major one first. */
static void write_digits(Writer *w, const Digits *digits) {
  const char *comma = "";
  strbuf_append(&w->text, "{");
  for (int k = 0; k < digits->count; k++) {
    const Digit *digit = &digits->items[k];
    for (int i = w->axes.count - 2; i >= 0; i--) {
      if (w->axes.bounds[i] < digit->stride || w->axes.bounds[i] >= digit->stride * digit->size) {
        continue;
      }
      strbuf_printf(&w->text, "%s\\\"x%d\\\"", comma, i);
      comma = ", ";
      w->manual[i] = true;
    }
  }
  strbuf_append(&w->text, "}");
}

static void write_mesh(Writer *w, const Sharding *s) {
  const char *comma = "";
  strbuf_append(&w->text, "mesh<[");
  for (int i = w->axes.count - 2; i >= 0; i--) {
    if (w->axes.bounds[i] >= s->positions) continue;
    int64_t size = w->axes.bounds[i + 1] / w->axes.bounds[i];
    strbuf_printf(&w->text, "%s\\\"x%d\\\"=%lld", comma, i, (long long)size);
    comma = ", ";
  }
  strbuf_append(&w->text, "]");
  for (int64_t i = 0; s->devices && i < s->positions; i++) {
    strbuf_printf(&w->text, "%s%lld", i ? ", " : ", device_ids=[", (long long)s->devices[i]);
  }
  strbuf_append(&w->text, s->devices ? "]>" : ">");
}

/* Returns the sharding of the transposition. A shard that devices took is a sum when it goes back; an array that was
** joined goes back to all devices that have the same block. */
static Sharding transposed(Scan *scan, const Sharding *s, bool takes) {
  Sharding back = *s;
  back.addends = (Digits){0};
  if (takes) {
    back.copies = s->addends;
    back.addends = s->copies;
  } else {
    digits_append(scan->arena, &back.copies, &s->addends);
  }
  return back;
}

static void write_sharding(Writer *w, const Sharding *s, int rank, bool batched) {
  static const Digits none = {0};
  strbuf_append(&w->text, "<");
  write_mesh(w, s);
  strbuf_append(&w->text, batched ? ", [{}" : ", [");
  for (int d = 0; d < rank; d++) {
    if (d || batched) strbuf_append(&w->text, ", ");
    write_digits(w, s->rank < 0 ? &none : &s->dimensions[d]);
  }
  strbuf_append(&w->text, "]");
  if (s->copies.count) {
    strbuf_append(&w->text, ", replicated=");
    write_digits(w, &s->copies);
  }
  if (s->addends.count) {
    strbuf_append(&w->text, ", unreduced=");
    if (s->reduction != HLO_ADD) {
      strbuf_append(&w->text, s->reduction == HLO_MAXIMUM ? "max" : "min");
    }
    write_digits(w, &s->addends);
  }
  strbuf_append(&w->text, ">");
}

static void write_manual_axes(Writer *w) {
  const char *comma = "";
  strbuf_append(&w->text, ",xla.sdy.manual_axes=\"#sdy<manual_axes{");
  for (int i = w->axes.count - 2; i >= 0; i--) {
    if (!w->manual[i]) continue;
    strbuf_printf(&w->text, "%s\\\"x%d\\\"", comma, i);
    comma = ", ";
  }
  strbuf_append(&w->text, "}>\"}");
}

/* ---- Calls ---- */

/* Reads the shardings of a call; NULL with a problem. */
static Sharding *shardings_of(Scan *scan, const Instruction *call) {
  Sharding *shardings = ARENA_ARRAY(scan->arena, Sharding, call->operand_count);
  int64_t partitions = max_i64(call->parent->module->num_partitions, 1);
  if (!scan_shard_call(scan, call, partitions, shardings)) return NULL;
  for (int i = 0; i < call->operand_count; i++) {
    if (shardings[i].knows_copies) continue;
    scan_fail(scan, "the sharding of operand %d does not say which devices have the same block", i);
    return NULL;
  }
  return shardings;
}

const Attributes *shard_call_attributes(Arena *arena, const Instruction *call, int first, int count,
                                        ShardCallForm form, const char **problem) {
  Scan scan = {.arena = arena};
  Writer w = {.text = {0}};
  Sharding *shardings = shardings_of(&scan, call);
  if (shardings && !find_axes(&w.axes, shardings + first, count)) {
    scan_fail(&scan, "its shardings cut the devices in ways that do not fit together");
  }
  bool takes = shard_call_kind(call) == TAKES_SHARDS;
  bool is_transposed = form == SHARD_CALL_TRANSPOSED;
  for (int i = first; !scan.problem && i < first + count; i++) {
    bool is_linear = shardings[i].reduction == HLO_ADD;
    if (!is_linear && (is_transposed || form == SHARD_CALL_LINEAR)) {
      scan_fail(&scan, "a maximum or minimum of shards has no derivative yet");
    }
    if (is_transposed) shardings[i] = transposed(&scan, &shardings[i], takes);
  }
  *problem = scan.problem;
  if (scan.problem) return NULL;
  takes ^= is_transposed;
  strbuf_printf(&w.text, "{xla.sdy.%s_shardings=\"#sdy.sharding_per_value<[", takes ? "in" : "out");
  for (int i = first; i < first + count; i++) {
    if (i > first) strbuf_append(&w.text, ", ");
    int rank = shape_is_array(call->operands[i]->shape) ? call->operands[i]->shape->rank : 0;
    write_sharding(&w, &shardings[i], rank, form == SHARD_CALL_BATCHED);
  }
  strbuf_append(&w.text, "]>\"");
  write_manual_axes(&w);
  Attributes *a = ARENA_NEW(arena, Attributes);
  attributes_init(a);
  a->custom_call_target = takes ? "xla.sdy.GlobalToLocalShape" : "xla.sdy.LocalToGlobalShape";
  a->frontend_attributes = arena_strdup(arena, w.text.text);
  strbuf_free(&w.text);
  return a;
}

int64_t shard_call_copies(Arena *arena, const Instruction *call, int i) {
  Scan scan = {.arena = arena};
  const Sharding *shardings = shardings_of(&scan, call);
  int64_t copies = 1;
  for (int k = 0; shardings && k < shardings[i].copies.count; k++) {
    copies *= shardings[i].copies.items[k].size;
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
