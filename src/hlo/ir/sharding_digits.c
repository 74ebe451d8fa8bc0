#include "hlo/ir/sharding_digits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool reader_fail(Reader *reader, const char *format, ...) {
  if (reader->problem) return false;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  reader->problem = arena_strdup(reader->arena, text);
  return false;
}

void digits_push(Arena *arena, Digits *digits, Digit digit) {
  ARENA_PUSH(arena, digits->items, digits->count, digits->capacity, digit);
}

void digits_append(Arena *arena, Digits *digits, const Digits *more) {
  for (int i = 0; i < more->count; i++) digits_push(arena, digits, more->items[i]);
}

/* Whether these are 0 to count - 1 in any order. */
static bool is_permutation(Arena *arena, const int64_t *items, int64_t count) {
  bool *seen = ARENA_ARRAY(arena, bool, count);
  for (int64_t i = 0; i < count; i++) {
    if (items[i] < 0 || items[i] >= count || seen[items[i]]) return false;
    seen[items[i]] = true;
  }
  return true;
}

/* Returns the product of the sizes; 0 if it is less than 1 or more than MAX_DEVICES. */
static int64_t product(Int64List sizes) {
  int64_t result = 1;
  for (int i = 0; i < sizes.count; i++) {
    if (sizes.items[i] < 1 || sizes.items[i] > MAX_DEVICES / result) return 0;
    result *= sizes.items[i];
  }
  return result;
}

/* ---- Meshes ---- */

typedef struct Axis {
  const char *name;
  int64_t size, stride; /* in positions */
} Axis;

typedef struct Grid { /* of a mesh */
  int count;
  Axis *axes; /* the last one moves fastest */
  int64_t positions;
  const int64_t *devices;
} Grid;

static const NamedMesh *find_mesh(Reader *reader, const Module *module, const char *name) {
  for (int i = 0; i < module->meshes.count; i++) {
    const NamedMesh *mesh = &module->meshes.items[i];
    if (strcmp(mesh->name, name) != 0) continue;
    if (mesh->problem) reader_fail(reader, "mesh @%s: %s", name, mesh->problem);
    return mesh->problem ? NULL : mesh;
  }
  reader_fail(reader, "the module has no mesh @%s", name);
  return NULL;
}

static bool read_mesh(Reader *reader, const NamedMesh *mesh, Grid *grid) {
  *grid = (Grid){mesh->count, ARENA_ARRAY(reader->arena, Axis, mesh->count), 1, NULL};
  for (int i = mesh->count - 1; i >= 0; i--) {
    const MeshAxis *axis = &mesh->axes[i];
    if (axis->size < 1 || axis->size > MAX_DEVICES / grid->positions) {
      return reader_fail(reader, "a mesh has no devices, or more than %d", MAX_DEVICES);
    }
    grid->axes[i] = (Axis){axis->name, axis->size, grid->positions};
    grid->positions *= axis->size;
  }
  Int64List ids = mesh->device_ids;
  if (!ids.count || !mesh->count) return true; /* without axes: one device has the whole array */
  if (ids.count != grid->positions || !is_permutation(reader->arena, ids.items, ids.count)) {
    return reader_fail(reader, "device_ids are not its devices, each once");
  }
  grid->devices = ids.items;
  return true;
}

static const Axis *find_axis(const Grid *grid, const char *name) {
  for (int i = 0; i < grid->count; i++) {
    if (strcmp(grid->axes[i].name, name) == 0) return &grid->axes[i];
  }
  return NULL;
}

/* ---- Shardy's notation ---- */

static bool is_manual(AxisList manual, const char *axis) {
  for (int i = 0; i < manual.count; i++) {
    if (strcmp(manual.items[i].axis, axis) == 0) return true;
  }
  return false;
}

static bool no_axis(Reader *reader, const char *where, const char *name) {
  return reader_fail(reader, "%sthe mesh has no axis \"%s\"", where, name);
}

static bool check_manual(Reader *reader, const Grid *grid, AxisList manual) {
  for (int i = 0; grid->count && i < manual.count; i++) {
    const char *name = manual.items[i].axis;
    if (!find_axis(grid, name)) return no_axis(reader, "manual_axes: ", name);
  }
  return true;
}

/* Reads the digits of a list's manual axes, which stand before the others. */
static bool read_axes(Reader *reader, const Grid *grid, AxisList manual, AxisList list,
                      Digits *digits) {
  bool is_free = false; /* an axis that is not manual was read */
  for (int i = 0; i < list.count; i++) {
    const AxisPart *part = &list.items[i];
    const Axis *axis = find_axis(grid, part->axis);
    if (!axis) return no_axis(reader, "", part->axis);
    int64_t before = part->is_whole ? 1 : part->before;
    int64_t size = part->is_whole ? axis->size : part->size;
    if (before < 1 || size < 1 || axis->size % before || axis->size / before % size) {
      return reader_fail(reader, "axis \"%s\" has no part (%lld)%lld", part->axis,
                         (long long)before, (long long)size);
    }
    if (!is_manual(manual, part->axis)) {
      is_free = true;
      continue;
    }
    if (is_free) {
      return reader_fail(reader, "manual axis \"%s\" after one that is not", part->axis);
    }
    Digit digit = {size, axis->stride * (axis->size / before / size)};
    digits_push(reader->arena, digits, digit);
  }
  return true;
}

/* Returns the uppermost digit of an axis that ends at or below `top`; NULL if there is none. */
static const Digit *upper_digit(const Digits *digits, const Axis *axis, int64_t top,
                                const Digit *best) {
  for (int i = 0; i < digits->count; i++) {
    const Digit *digit = &digits->items[i];
    int64_t end = digit->stride * digit->size;
    bool fits = digit->size > 1 && digit->stride >= axis->stride && end <= top;
    if (fits && (!best || digit->stride > best->stride)) best = digit;
  }
  return best;
}

/* Adds the parts of manual axes that divide neither the array nor its addends. */
static void add_copies(Reader *reader, const Grid *grid, AxisList manual, GridSharding *out) {
  out->knows_copies = grid->count > 0;
  for (int i = 0; i < grid->count; i++) {
    const Axis *axis = &grid->axes[i];
    if (!is_manual(manual, axis->name)) continue;
    for (int64_t top = axis->stride * axis->size; top > axis->stride;) {
      const Digit *next = upper_digit(&out->addends, axis, top, NULL);
      for (int d = 0; d < out->rank; d++) {
        next = upper_digit(&out->dimensions[d], axis, top, next);
      }
      int64_t end = next ? next->stride * next->size : axis->stride;
      Digit unused = {top / end, end};
      if (end < top) digits_push(reader->arena, &out->copies, unused);
      top = next ? next->stride : axis->stride;
    }
  }
}

/* An array on a mesh without axes is whole on all devices of the manual axes, which another array's mesh has. */
static void copy_wholes(Reader *reader, GridSharding *shardings, int count) {
  const GridSharding *other = NULL;
  for (int i = 0; i < count && !other; i++) {
    if (shardings[i].knows_copies) other = &shardings[i];
  }
  for (int i = 0; i < count && other; i++) {
    GridSharding *s = &shardings[i];
    if (s->knows_copies) continue;
    s->knows_copies = true;
    s->positions = other->positions;
    s->devices = other->devices;
    for (int d = 0; d < other->rank; d++)
      digits_append(reader->arena, &s->copies, &other->dimensions[d]);
    digits_append(reader->arena, &s->copies, &other->addends);
    digits_append(reader->arena, &s->copies, &other->copies);
  }
}

static bool read_array(Reader *reader, const Module *module, AxisList manual,
                       const ArraySharding *from, GridSharding *out) {
  Grid grid;
  Digits ignored = {0};
  const NamedMesh *mesh = from->mesh ? from->mesh : find_mesh(reader, module, from->mesh_name);
  if (!mesh || !read_mesh(reader, mesh, &grid) || !check_manual(reader, &grid, manual)) {
    return false;
  }
  *out = (GridSharding){.positions = grid.positions,
                        .devices = grid.devices,
                        .rank = from->rank,
                        .dimensions = ARENA_ARRAY(reader->arena, Digits, from->rank),
                        .reduction = from->reduction};
  for (int d = 0; d < from->rank; d++) {
    if (!read_axes(reader, &grid, manual, from->dimensions[d], &out->dimensions[d])) return false;
  }
  if (!read_axes(reader, &grid, manual, from->replicated, &ignored) ||
      !read_axes(reader, &grid, manual, from->unreduced, &out->addends)) {
    return false;
  }
  add_copies(reader, &grid, manual, out);
  return true;
}

bool read_array_shardings(Reader *reader, const Module *module, AxisList manual_axes,
                          ArrayShardings from, int count, GridSharding *out) {
  if (from.count != count) {
    return reader_fail(reader, "%d shardings for %d arrays", from.count, count);
  }
  for (int i = 0; i < count; i++) {
    if (!read_array(reader, module, manual_axes, &from.items[i], &out[i])) return false;
  }
  copy_wholes(reader, out, count);
  return true;
}

/* ---- XLA's notation ---- */

/* Returns the device at a position of the iota. */
static int64_t iota_device(const OpSharding *sharding, int64_t position) {
  const int64_t *sizes = sharding->iota_sizes.items;
  int64_t index[MAX_RANK], device = 0;
  for (int i = sharding->iota_sizes.count - 1; i >= 0; i--) {
    int64_t d = sharding->iota_order.items[i];
    index[d] = position % sizes[d];
    position /= sizes[d];
  }
  for (int d = 0; d < sharding->iota_sizes.count; d++) device = device * sizes[d] + index[d];
  return device;
}

int64_t tiles_count(const OpSharding *sharding) { return product(sharding->tiles); }

const int64_t *tiles_devices(Reader *reader, const OpSharding *sharding) {
  int64_t count = tiles_count(sharding);
  bool is_iota = !sharding->devices.count;
  if (!count || count != (is_iota ? product(sharding->iota_sizes) : sharding->devices.count)) {
    reader_fail(reader, "not equally many tiles and devices, or more than %d", MAX_DEVICES);
    return NULL;
  }
  int64_t *devices = ARENA_ARRAY(reader->arena, int64_t, count);
  for (int64_t i = 0; i < count; i++)
    devices[i] = is_iota ? iota_device(sharding, i) : sharding->devices.items[i];
  if (is_permutation(reader->arena, devices, count)) return devices;
  reader_fail(reader, "not the devices 0 to %lld, each once", (long long)count - 1);
  return NULL;
}
