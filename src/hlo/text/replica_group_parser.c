/*
** Parses replica groups in XLA's three notations into explicit lists:
**
**   {{0,1},{2,3}}                    themselves
**   [4,2]<=[2,4]T(1,0)               iota of shape [2,4], transposed, cut into 4 groups of 2
**   mesh['a'=4,'b'=2] {'b'}          devices that differ in their place on axis b only
**   mesh['a'=8] {'a':(2)4}           as if a were three axes of 2, 4 and 1: by the middle one
**   mesh[...], device_ids=(...) {...}  with these devices on the mesh instead of 0, 1, 2, ...;
**                                    a list, or [2,4]T(1,0) for a transposed iota
*/
#include <string.h>

#include "hlo/text/parser.h"

/* Threshold MAX_LISTED, MAX_AXES: longer lists, or more axes, are refused. No path. */
enum { MAX_LISTED = 1 << 14, MAX_AXES = 32 };

/* ---- Transposed iotas ---- */

/* Multiplies the entries; false if one is not positive or there are too many devices. */
static bool product(Int64List list, int64_t *out) {
  *out = 1;
  for (int i = 0; i < list.count; i++) {
    if (list.items[i] < 1 || list.items[i] > MAX_LISTED) return false;
    *out *= list.items[i];
    if (*out > MAX_LISTED) return false;
  }
  return true;
}

static bool is_permutation(Int64List order, int64_t count) {
  uint64_t seen = 0;
  if (order.count != count || count > 64) return false;
  for (int i = 0; i < count; i++) {
    int64_t d = order.items[i];
    if (d < 0 || d >= count || (seen >> d & 1)) return false;
    seen |= UINT64_C(1) << d;
  }
  return true;
}

/* Element `index`, counted row-major, of iota(sizes) transposed by `order`. */
static int64_t transposed_iota(Int64List sizes, Int64List order, int64_t index) {
  int64_t result = 0;
  for (int i = sizes.count - 1; i >= 0; i--) {
    int64_t d = order.items[i], stride = 1;
    for (int k = sizes.count - 1; k > d; k--) stride *= sizes.items[k];
    result += index % sizes.items[d] * stride;
    index /= sizes.items[d];
  }
  return result;
}

/* '[' numbers ']' */
static bool parse_sizes(Parser *p, Int64List *out) {
  return parser_expect(p, '[', "'[' before sizes") && parse_int64s(p, out) &&
         parser_expect(p, ']', "',' or ']' after a size");
}

/* [sizes] or [sizes]T(order): its elements, `total` of them if that is right. */
static bool parse_iota(Parser *p, int64_t total, int64_t *out) {
  const char *at = p->lexer.start;
  Int64List sizes, order;
  int64_t count;
  if (!parse_sizes(p, &sizes)) return false;
  bool transposed = lexer_is_word(&p->lexer, "T");
  if (transposed) {
    lexer_next(&p->lexer);
    if (!parser_expect(p, '(', "'(' before the order") || !parse_int64s(p, &order) ||
        !parser_expect(p, ')', "',' or ')' after the order")) {
      return false;
    }
  }
  if (!product(sizes, &count) || count != total) {
    return parser_error(p, at, "the sizes are not those of %lld devices", (long long)total);
  }
  if (transposed && !is_permutation(order, sizes.count)) {
    return parser_error(p, at, "the order is no permutation of the %d dimensions", sizes.count);
  }
  for (int64_t i = 0; i < total; i++) out[i] = transposed ? transposed_iota(sizes, order, i) : i;
  return true;
}

/* ---- [groups,size]<=[sizes]T(order) ---- */

static ReplicaGroups cut(Parser *p, const int64_t *devices, int64_t groups, int64_t size) {
  Int64List *lists = ARENA_ARRAY(p->arena, Int64List, groups);
  for (int64_t g = 0; g < groups; g++) lists[g] = (Int64List){(int)size, devices + g * size};
  return (ReplicaGroups){(int)groups, lists, true};
}

static bool parse_iota_groups(Parser *p, ReplicaGroups *out) {
  const char *at = p->lexer.start;
  Int64List tile;
  int64_t total;
  if (!parse_sizes(p, &tile) || !parser_expect(p, TOKEN_LESS_EQUAL, "'<='")) return false;
  if (tile.count != 2 || !product(tile, &total)) {
    return parser_error(p, at, "expected [groups,size] of at most %d devices", MAX_LISTED);
  }
  int64_t *devices = ARENA_ARRAY(p->arena, int64_t, total);
  if (!parse_iota(p, total, devices)) return false;
  *out = cut(p, devices, tile.items[0], tile.items[1]);
  return true;
}

/* ---- mesh[...] {...} ---- */

typedef struct Axis {
  const char *name;
  int64_t size;
} Axis;
typedef struct Part { /* of an axis, that a group runs through */
  int64_t size, stride;
} Part;

typedef struct Mesh {
  int axis_count, part_count;
  Axis axes[MAX_AXES];
  Part parts[MAX_AXES];
  int64_t total; /* devices */
  int64_t *devices;
} Mesh;

static const char *parse_axis_name(Parser *p) {
  const char *name = parser_string(p);
  if (name) lexer_next(&p->lexer);
  return name;
}

/* 'a'=4 */
static bool parse_axis(Parser *p, Mesh *mesh) {
  const char *at = p->lexer.start;
  if (mesh->axis_count == MAX_AXES) return parser_error(p, at, "more than %d axes", MAX_AXES);
  Axis *axis = &mesh->axes[mesh->axis_count++];
  if (!(axis->name = parse_axis_name(p)) || !parser_expect(p, '=', "'=' after the axis") ||
      !parse_int64(p, &axis->size)) {
    return false;
  }
  if (axis->size < 1 || axis->size > MAX_LISTED || mesh->total * axis->size > MAX_LISTED) {
    return parser_error(p, at, "a mesh must have from 1 to %d devices", MAX_LISTED);
  }
  mesh->total *= axis->size;
  return true;
}

static bool is_each_device_once(const int64_t *devices, int64_t total) {
  Arena *arena = arena_new();
  bool *seen = ARENA_ARRAY(arena, bool, total), good = true;
  for (int64_t i = 0; i < total && good; i++) {
    good = devices[i] >= 0 && devices[i] < total && !seen[devices[i]];
    if (good) seen[devices[i]] = true;
  }
  arena_free(arena);
  return good;
}

/* (3,2,1,0) or ([2,2]T(1,0)) */
static bool parse_device_ids(Parser *p, Mesh *mesh) {
  Int64List list;
  const char *at = p->lexer.start;
  if (!parser_expect(p, '(', "'(' before the devices")) return false;
  if (p->lexer.kind == '[') {
    if (!parse_iota(p, mesh->total, mesh->devices)) return false;
  } else {
    if (!parse_int64s(p, &list)) return false;
    if (list.count != mesh->total || !is_each_device_once(list.items, mesh->total)) {
      return parser_error(p, at, "device_ids must have each of the mesh's %lld devices once",
                          (long long)mesh->total);
    }
    memcpy(mesh->devices, list.items, sizeof *list.items * (size_t)list.count);
  }
  return parser_expect(p, ')', "')' after the devices");
}

static int64_t axis_stride(const Mesh *mesh, int axis) {
  int64_t stride = 1;
  for (int i = mesh->axis_count - 1; i > axis; i--) stride *= mesh->axes[i].size;
  return stride;
}

/* 'a', or 'a':(pre)size: a part of the axis between its first factor `pre` and its last. */
static bool parse_part(Parser *p, void *data) {
  Mesh *mesh = data;
  const char *at = p->lexer.start, *name = parse_axis_name(p);
  if (!name) return false;
  int axis = 0;
  while (axis < mesh->axis_count && strcmp(mesh->axes[axis].name, name) != 0) axis++;
  if (axis == mesh->axis_count) return parser_error(p, at, "the mesh has no axis '%s'", name);
  int64_t full = mesh->axes[axis].size, before = 1, size = full;
  if (parser_accept(p, ':')) {
    if (!parser_expect(p, '(', "'(' before the size of what comes first") ||
        !parse_int64(p, &before) || !parser_expect(p, ')', "')' after it") ||
        !parse_int64(p, &size)) {
      return false;
    }
    if (before < 1 || size < 1 || before > full || size > full || full % (before * size) != 0) {
      return parser_error(p, at, "axis '%s' of size %lld has no such part", name, (long long)full);
    }
  }
  if (mesh->part_count == MAX_AXES) return parser_error(p, at, "more than %d parts", MAX_AXES);
  int64_t stride = axis_stride(mesh, axis) * (full / (before * size));
  mesh->parts[mesh->part_count++] = (Part){size, stride};
  return true;
}

/* Returns the distance of device `k` of a group from its first one; the last part runs fastest. */
static int64_t part_offset(const Mesh *mesh, int64_t k) {
  int64_t offset = 0;
  for (int i = mesh->part_count - 1; i >= 0; i--) {
    offset += k % mesh->parts[i].size * mesh->parts[i].stride;
    k /= mesh->parts[i].size;
  }
  return offset;
}

static bool is_first_of_group(const Mesh *mesh, int64_t place) {
  for (int i = 0; i < mesh->part_count; i++) {
    if (place / mesh->parts[i].stride % mesh->parts[i].size) return false;
  }
  return true;
}

static bool group_mesh(Parser *p, const char *at, const Mesh *mesh, ReplicaGroups *out) {
  int64_t size = 1, count = 0;
  for (int i = 0; i < mesh->part_count && size <= mesh->total; i++) size *= mesh->parts[i].size;
  int64_t *devices = ARENA_ARRAY(p->arena, int64_t, mesh->total);
  bool good = size <= mesh->total;
  for (int64_t place = 0; place < mesh->total && good; place++) {
    if (!is_first_of_group(mesh, place)) continue;
    good = count + size <= mesh->total;
    for (int64_t k = 0; k < size && good; k++) {
      int64_t member = place + part_offset(mesh, k);
      good = member < mesh->total;
      if (good) devices[count++] = mesh->devices[member];
    }
  }
  if (!good || count != mesh->total || !is_each_device_once(devices, count)) {
    return parser_error(p, at, "the parts of the mesh overlap");
  }
  *out = cut(p, devices, mesh->total / size, size);
  return true;
}

static bool parse_mesh_groups(Parser *p, ReplicaGroups *out) {
  const char *at = p->lexer.start;
  Mesh *mesh = ARENA_NEW(p->scratch, Mesh);
  mesh->total = 1;
  lexer_next(&p->lexer);
  if (!parser_expect(p, '[', "'[' before the axes")) return false;
  do {
    if (!parse_axis(p, mesh)) return false;
  } while (parser_accept(p, ','));
  if (!parser_expect(p, ']', "',' or ']' after an axis")) return false;
  mesh->devices = ARENA_ARRAY(p->scratch, int64_t, mesh->total);
  for (int64_t i = 0; i < mesh->total; i++) mesh->devices[i] = i;
  if (parser_accept(p, ',')) {
    if (!lexer_is_word(&p->lexer, "device_ids")) return parser_expected(p, "device_ids");
    lexer_next(&p->lexer);
    if (!parser_expect(p, '=', "'='") || !parse_device_ids(p, mesh)) return false;
  }
  return parse_list(p, parse_part, mesh) && group_mesh(p, at, mesh, out);
}

bool parse_replica_groups(Parser *p, ReplicaGroups *out) {
  Int64Lists lists = {0};
  if (p->lexer.kind == '[') return parse_iota_groups(p, out);
  if (lexer_is_word(&p->lexer, "mesh")) return parse_mesh_groups(p, out);
  if (p->lexer.kind != '{') {
    return parser_expected(p,
                           "groups such as {{0,1},{2,3}}, [2,2]<=[4] or mesh['a'=2,'b'=2] {'a'}");
  }
  if (!parse_int64_lists(p, &lists)) return false;
  *out = (ReplicaGroups){lists.count, lists.items, true};
  return true;
}
