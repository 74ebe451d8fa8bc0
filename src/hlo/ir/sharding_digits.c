#include "hlo/ir/sharding_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scanning ---- */

bool scan_fail(Scan *scan, const char *format, ...) {
  if (scan->problem) return false;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  scan->problem = arena_strdup(scan->arena, text);
  return false;
}

static void skip_space(Scan *scan) { scan->at += strspn(scan->at, " \t\r\n"); }

static bool accept(Scan *scan, const char *token) {
  skip_space(scan);
  size_t length = strlen(token);
  if (strncmp(scan->at, token, length) != 0) return false;
  scan->at += length;
  return true;
}

static bool expect(Scan *scan, const char *token) {
  if (accept(scan, token)) return true;
  return scan_fail(scan, "expected '%s', found '%.24s'", token, scan->at);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool scan_number(Scan *scan, int64_t *value) {
  skip_space(scan);
  if (!is_digit(*scan->at)) return scan_fail(scan, "expected a number, found '%.24s'", scan->at);
  for (*value = 0; is_digit(*scan->at); scan->at++) {
    if (*value > INT32_MAX / 10)
      return scan_fail(scan, "expected a number, found '%.24s'", scan->at);
    *value = *value * 10 + (*scan->at - '0');
  }
  return true;
}

typedef struct Word {
  const char *text;
  int length;
} Word;

static bool same_word(Word a, Word b) {
  return a.length == b.length && memcmp(a.text, b.text, (size_t)a.length) == 0;
}

static bool word_is(Word word, const char *text) {
  return same_word(word, (Word){text, (int)strlen(text)});
}

/* Reads letters, digits, "_", "-", "." and "$"; empty if there are none */
static Word scan_word(Scan *scan) {
  skip_space(scan);
  const char *start = scan->at;
  while (is_letter(*scan->at) || is_digit(*scan->at) || (*scan->at && strchr("-.$", *scan->at))) {
    scan->at++;
  }
  return (Word){start, (int)(scan->at - start)};
}

/* "name" */
static bool scan_quoted(Scan *scan, Word *word) {
  if (!expect(scan, "\"")) return false;
  size_t length = strcspn(scan->at, "\"");
  *word = (Word){scan->at, (int)length};
  scan->at += length;
  return expect(scan, "\"");
}

/* A list in brackets; `item` reads one. */
typedef bool ScanItem(Scan *scan, void *data);

static bool scan_list(Scan *scan, const char *open, const char *close, ScanItem *item, void *data) {
  if (!expect(scan, open)) return false;
  if (accept(scan, close)) return true;
  do {
    if (!item(scan, data)) return false;
  } while (accept(scan, ","));
  return expect(scan, close);
}

typedef struct Numbers {
  int count, capacity;
  int64_t *items;
} Numbers;

static bool number_item(Scan *scan, void *data) {
  Numbers *numbers = data;
  int64_t value;
  if (!scan_number(scan, &value)) return false;
  ARENA_PUSH(scan->arena, numbers->items, numbers->count, numbers->capacity, value);
  return true;
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

/* ---- Dictionaries of attributes ---- */

/* Reads a string and returns its contents: \" and \22 are a quote, \\ is a backslash. */
static char *unquoted(Scan *scan) {
  char *text = arena_alloc(scan->arena, strlen(scan->at) + 1), *out = text;
  for (scan->at++; *scan->at && *scan->at != '"'; scan->at++) {
    bool escaped = *scan->at == '\\' && scan->at[1];
    if (escaped && strncmp(scan->at, "\\22", 3) == 0) {
      *out++ = '"';
      scan->at += 2;
      continue;
    }
    scan->at += escaped;
    *out++ = *scan->at;
  }
  if (*scan->at) scan->at++;
  return text;
}

/* Steps over a value up to the comma or brace after it. */
static void skip_value(Scan *scan) {
  for (int depth = 0; *scan->at; scan->at++) {
    char c = *scan->at;
    if (depth == 0 && (c == ',' || c == '}')) return;
    if (c == '"') {
      while (scan->at[1] && scan->at[1] != '"')
        scan->at += scan->at[1] == '\\' && scan->at[2] ? 2 : 1;
      if (scan->at[1]) scan->at++;
    } else if (strncmp(scan->at, "->", 2) == 0 || strncmp(scan->at, "<=", 2) == 0) {
      scan->at++;
    } else if (strchr("{[(<", c)) {
      depth++;
    } else if (strchr("}])>", c)) {
      depth--;
    }
  }
}

const char *dictionary_value(Arena *arena, const char *dictionary, const char *key) {
  Scan scan = {arena, dictionary, NULL};
  Word wanted = {key, (int)strlen(key)}, word;
  if (!accept(&scan, "{")) return NULL;
  do {
    skip_space(&scan);
    if (*scan.at != '"') {
      word = scan_word(&scan);
    } else if (!scan_quoted(&scan, &word)) {
      return NULL;
    }
    if (!accept(&scan, "=")) return NULL;
    skip_space(&scan);
    const char *start = scan.at;
    if (same_word(word, wanted) && *start == '"') return unquoted(&scan);
    skip_value(&scan);
    if (same_word(word, wanted)) return arena_strndup(arena, start, (size_t)(scan.at - start));
  } while (accept(&scan, ","));
  return NULL;
}

/* ---- Meshes ---- */

void digits_push(Arena *arena, Digits *digits, Digit digit) {
  ARENA_PUSH(arena, digits->items, digits->count, digits->capacity, digit);
}

void digits_append(Arena *arena, Digits *digits, const Digits *more) {
  for (int i = 0; i < more->count; i++) digits_push(arena, digits, more->items[i]);
}

typedef struct Axis {
  Word name;
  int64_t size, stride; /* in positions */
} Axis;

typedef struct DeviceMesh {
  int count, capacity;
  Axis *axes; /* the last one moves fastest */
  int64_t positions;
  const int64_t *devices;
} DeviceMesh;

static bool axis_item(Scan *scan, void *data) {
  DeviceMesh *mesh = data;
  Axis axis = {0};
  if (!scan_quoted(scan, &axis.name) || !expect(scan, "=") || !scan_number(scan, &axis.size)) {
    return false;
  }
  if (axis.size < 1 || axis.size > MAX_DEVICES / mesh->positions) {
    return scan_fail(scan, "a mesh has no devices, or more than %d", MAX_DEVICES);
  }
  mesh->positions *= axis.size;
  ARENA_PUSH(scan->arena, mesh->axes, mesh->count, mesh->capacity, axis);
  return true;
}

/* ["x"=2, "y"=4], device_ids=[...]>, after the '<'. */
static bool scan_mesh(Scan *scan, DeviceMesh *mesh) {
  *mesh = (DeviceMesh){.positions = 1};
  Numbers ids = {0};
  if (!scan_list(scan, "[", "]", axis_item, mesh)) return false;
  if (accept(scan, ",") && (!expect(scan, "device_ids") || !expect(scan, "=") ||
                            !scan_list(scan, "[", "]", number_item, &ids))) {
    return false;
  }
  if (!expect(scan, ">")) return false;
  int64_t stride = 1;
  for (int i = mesh->count - 1; i >= 0; i--) {
    mesh->axes[i].stride = stride;
    stride *= mesh->axes[i].size;
  }
  if (!ids.count || !mesh->count) return true; /* without axes: one device has the whole array */
  if (ids.count != mesh->positions || !is_permutation(scan->arena, ids.items, ids.count)) {
    return scan_fail(scan, "device_ids are not its devices, each once");
  }
  mesh->devices = ids.items;
  return true;
}

/* Finds the mesh of that name in the module's header. */
static bool find_mesh(Scan *scan, const char *header, Word name, DeviceMesh *mesh) {
  const char *attributes =
      header ? dictionary_value(scan->arena, arena_printf(scan->arena, "{%s}", header),
                                "frontend_attributes")
             : NULL;
  const char *meshes =
      attributes ? dictionary_value(scan->arena, attributes, "xla.sdy.meshes") : NULL;
  char *key = arena_strndup(scan->arena, name.text, (size_t)name.length);
  const char *text = meshes ? dictionary_value(scan->arena, meshes, key) : NULL;
  if (!text) return scan_fail(scan, "the module has no mesh @%s", key);
  Scan inner = {scan->arena, text, NULL};
  bool good = expect(&inner, "#sdy.mesh") && expect(&inner, "<") && scan_mesh(&inner, mesh);
  return good || scan_fail(scan, "mesh @%s: %s", key, inner.problem);
}

static const Axis *find_axis(const DeviceMesh *mesh, Word name) {
  for (int i = 0; i < mesh->count; i++) {
    if (same_word(mesh->axes[i].name, name)) return &mesh->axes[i];
  }
  return NULL;
}

/* ---- Shardy ---- */

typedef struct Shardy {
  const char *header;
  const char *manual; /* the text of the manual axes */
  DeviceMesh mesh;    /* of the current sharding */
  Digits digits;      /* of the current list */
  bool is_free;       /* an axis that is not manual was read */
  int rank, rank_capacity;
  Digits *dimensions;
  int count, wanted;
  Sharding *out;
} Shardy;

static bool is_manual(Scan *scan, const Shardy *s, Word axis) {
  return strstr(s->manual, arena_printf(scan->arena, "\"%.*s\"", axis.length, axis.text)) != NULL;
}

static bool manual_item(Scan *scan, void *data) {
  const Shardy *s = data;
  Word name;
  if (!scan_quoted(scan, &name)) return false;
  if (!s->mesh.count || find_axis(&s->mesh, name)) return true;
  return scan_fail(scan, "the mesh has no axis \"%.*s\"", name.length, name.text);
}

/* #sdy<manual_axes{"x", "y"}>: axes of the mesh. */
static bool check_manual(Scan *scan, Shardy *s) {
  Scan axes = {scan->arena, s->manual, NULL};
  bool good = expect(&axes, "#sdy<manual_axes") && scan_list(&axes, "{", "}", manual_item, s);
  return good || scan_fail(scan, "manual_axes: %s", axes.problem);
}

/* "x", or "x":(2)4, the part of size 4 after one of size 2; or ?, for axes that a partitioner may add. */
static bool digit_item(Scan *scan, void *data) {
  Shardy *s = data;
  Word name;
  skip_space(scan);
  if (accept(scan, "?")) return true;
  if (!scan_quoted(scan, &name)) return false;
  const Axis *axis = find_axis(&s->mesh, name);
  if (!axis) return scan_fail(scan, "the mesh has no axis \"%.*s\"", name.length, name.text);
  int64_t before = 1, size = axis->size;
  if (accept(scan, ":") && (!expect(scan, "(") || !scan_number(scan, &before) ||
                            !expect(scan, ")") || !scan_number(scan, &size))) {
    return false;
  }
  if (before < 1 || size < 1 || axis->size % before || axis->size / before % size) {
    return scan_fail(scan, "axis \"%.*s\" has no part (%lld)%lld", name.length, name.text,
                     (long long)before, (long long)size);
  }
  if (!is_manual(scan, s, name)) {
    s->is_free = true;
    return true;
  }
  if (s->is_free) {
    return scan_fail(scan, "manual axis \"%.*s\" after one that is not", name.length, name.text);
  }
  Digit digit = {size, axis->stride * (axis->size / before / size)};
  digits_push(scan->arena, &s->digits, digit);
  return true;
}

static bool scan_digits(Scan *scan, Shardy *s) {
  s->digits = (Digits){0};
  s->is_free = false;
  return scan_list(scan, "{", "}", digit_item, s);
}

/* {"x", ?}p1: the priority is for a partitioner. */
static bool dimension_item(Scan *scan, void *data) {
  Shardy *s = data;
  int64_t priority;
  if (!scan_digits(scan, s)) return false;
  if (accept(scan, "p") && !scan_number(scan, &priority)) return false;
  ARENA_PUSH(scan->arena, s->dimensions, s->rank, s->rank_capacity, s->digits);
  return true;
}

/* unreduced={"x"}, unreduced=max{"x"} */
static bool scan_unreduced(Scan *scan, Shardy *s, Sharding *out) {
  accept(scan, "=");
  if (accept(scan, "max")) out->reduction = HLO_MAXIMUM;
  if (accept(scan, "min")) out->reduction = HLO_MINIMUM;
  accept(scan, "sum");
  if (!scan_digits(scan, s)) return false;
  out->addends = s->digits;
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
static void add_copies(Scan *scan, const Shardy *s, Sharding *out) {
  out->knows_copies = s->mesh.count > 0;
  for (int i = 0; i < s->mesh.count; i++) {
    const Axis *axis = &s->mesh.axes[i];
    if (!is_manual(scan, s, axis->name)) continue;
    for (int64_t top = axis->stride * axis->size; top > axis->stride;) {
      const Digit *next = upper_digit(&out->addends, axis, top, NULL);
      for (int d = 0; d < out->rank; d++) {
        next = upper_digit(&out->dimensions[d], axis, top, next);
      }
      int64_t end = next ? next->stride * next->size : axis->stride;
      Digit unused = {top / end, end};
      if (end < top) digits_push(scan->arena, &out->copies, unused);
      top = next ? next->stride : axis->stride;
    }
  }
}

/* An array on a mesh without axes is whole on all devices of the manual axes, which another array's mesh has. */
static void copy_wholes(Scan *scan, Sharding *shardings, int count) {
  const Sharding *other = NULL;
  for (int i = 0; i < count && !other; i++) {
    if (shardings[i].knows_copies) other = &shardings[i];
  }
  for (int i = 0; i < count && other; i++) {
    Sharding *s = &shardings[i];
    if (s->knows_copies) continue;
    s->knows_copies = true;
    s->positions = other->positions;
    s->devices = other->devices;
    for (int d = 0; d < other->rank; d++)
      digits_append(scan->arena, &s->copies, &other->dimensions[d]);
    digits_append(scan->arena, &s->copies, &other->addends);
    digits_append(scan->arena, &s->copies, &other->copies);
  }
}

/* <@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}> */
static bool sharding_item(Scan *scan, void *data) {
  Shardy *s = data;
  if (s->count == s->wanted) return scan_fail(scan, "more than %d shardings", s->wanted);
  Sharding *out = &s->out[s->count++];
  if (!expect(scan, "<")) return false;
  if (accept(scan, "@")) {
    Word name = {0};
    skip_space(scan);
    if (*scan->at != '"') {
      name = scan_word(scan);
    } else if (!scan_quoted(scan, &name)) {
      return false;
    }
    if (!find_mesh(scan, s->header, name, &s->mesh)) return false;
  } else if (!expect(scan, "mesh") || !expect(scan, "<") || !scan_mesh(scan, &s->mesh)) {
    return false;
  }
  if (!check_manual(scan, s)) return false;
  s->rank = s->rank_capacity = 0;
  s->dimensions = NULL;
  if (!expect(scan, ",") || !scan_list(scan, "[", "]", dimension_item, s)) return false;
  *out = (Sharding){.positions = s->mesh.positions,
                    .devices = s->mesh.devices,
                    .rank = s->rank,
                    .dimensions = s->dimensions,
                    .reduction = HLO_ADD};
  while (accept(scan, ",")) {
    if (accept(scan, "replicated")) {
      if (!expect(scan, "=") || !scan_digits(scan, s)) return false;
    } else if (!expect(scan, "unreduced") || !scan_unreduced(scan, s, out)) {
      return false;
    }
  }
  add_copies(scan, s, out);
  return expect(scan, ">");
}

bool scan_shardy(Scan *scan, const char *header, const char *manual_axes, int count,
                 Sharding *shardings) {
  Shardy s = {.header = header, .manual = manual_axes, .wanted = count, .out = shardings};
  if (!expect(scan, "#sdy.sharding_per_value") || !expect(scan, "<") ||
      !scan_list(scan, "[", "]", sharding_item, &s) || !expect(scan, ">")) {
    return false;
  }
  if (s.count != count) return scan_fail(scan, "%d shardings for %d arrays", s.count, count);
  copy_wholes(scan, shardings, count);
  return true;
}

/* ---- XLA's notation ---- */

static const char *const kinds[TILE_KINDS] = {
    [TILES_REPLICATED] = "replicated", [TILES_MAXIMAL] = "maximal", [TILES_TUPLE] = "tuple",
    [TILES_OTHER] = "other",           [TILES_MANUAL] = "manual",   [TILES_UNKNOWN] = "unknown",
    [TILES_UNREDUCED] = "unreduced",
};

static bool scan_kind(Scan *scan, TileKind *kind) {
  Word word = scan_word(scan);
  for (int i = 0; i < TILE_KINDS; i++) {
    if (!word_is(word, kinds[i])) continue;
    *kind = i;
    return true;
  }
  return scan_fail(scan, "there is no sharding '%.*s'", word.length > 24 ? 24 : word.length,
                   word.text);
}

static bool reason_item(Scan *scan, void *data) {
  Tiles *tiles = data;
  if (tiles->trailing == MAX_RANK) return scan_fail(scan, "too many dimensions of tiles");
  return scan_kind(scan, &tiles->reasons[tiles->trailing++]);
}

static bool copy_numbers(Scan *scan, const Numbers *numbers, int64_t *out) {
  if (numbers->count > 2 * MAX_RANK) return scan_fail(scan, "too many dimensions of tiles");
  for (int i = 0; i < numbers->count; i++) out[i] = numbers->items[i];
  return true;
}

/* [2,4]T(1,0), or [8], after <= */
static bool scan_iota(Scan *scan, Tiles *tiles) {
  Numbers sizes = {0}, order = {0};
  if (!scan_list(scan, "[", "]", number_item, &sizes)) return false;
  if (!copy_numbers(scan, &sizes, tiles->iota_sizes)) return false;
  tiles->iota_rank = sizes.count;
  for (int i = 0; i < sizes.count; i++) tiles->iota_order[i] = i;
  if (!accept(scan, "T")) return true;
  if (!scan_list(scan, "(", ")", number_item, &order)) return false;
  if (order.count != sizes.count || !is_permutation(scan->arena, order.items, order.count)) {
    return scan_fail(scan, "T(...) is no order of %d dimensions", sizes.count);
  }
  for (int i = 0; i < order.count; i++) tiles->iota_order[i] = (int)order.items[i];
  return true;
}

/* [2,4]<=[8], or [2,4]0,1,2,3,4,5,6,7 */
static bool scan_assignment(Scan *scan, Tiles *tiles) {
  Numbers sizes = {0}, devices = {0};
  if (!scan_list(scan, "[", "]", number_item, &sizes)) return false;
  if (!copy_numbers(scan, &sizes, tiles->sizes)) return false;
  tiles->rank = sizes.count;
  if (accept(scan, "<=")) return scan_iota(scan, tiles);
  do {
    if (!number_item(scan, &devices)) return false;
  } while (accept(scan, ","));
  tiles->devices = devices.items;
  tiles->count = devices.count;
  return true;
}

/* Skips {...} with its contents. */
static bool skip_braces(Scan *scan) {
  if (!expect(scan, "{")) return false;
  while (!accept(scan, "}")) {
    skip_value(scan);
    if (!accept(scan, ",") && *scan->at != '}') return expect(scan, "}");
  }
  return true;
}

/* Whether XLA's notation for named axes, new in 2026, follows: mesh['x'=2], [{'x'}, {}] */
static bool at_named_axes(Scan *scan) {
  static const char *const openings[] = {"mesh[", "maximal_mesh[", "single_device["};
  skip_space(scan);
  for (int i = 0; i < 3; i++) {
    if (strncmp(scan->at, openings[i], strlen(openings[i])) == 0) return true;
  }
  return false;
}

static bool scan_part(Scan *scan, Tiles *tiles) {
  int64_t number;
  if (accept(scan, "devices=")) {
    tiles->kind = TILES_OTHER;
    return scan_assignment(scan, tiles);
  }
  if (accept(scan, "device=")) return accept(scan, "-1") || scan_number(scan, &number);
  if (accept(scan, "last_tile_dim_replicate")) {
    tiles->reasons[0] = TILES_REPLICATED;
    tiles->trailing = 1;
    return true;
  }
  if (accept(scan, "last_tile_dims=")) return scan_list(scan, "{", "}", reason_item, tiles);
  if (accept(scan, "metadata=")) return skip_braces(scan);
  if (accept(scan, "shard_as") || accept(scan, "shard_like")) return scan_number(scan, &number);
  if (at_named_axes(scan)) {
    tiles->kind = TILES_UNKNOWN;
    do skip_value(scan);
    while (accept(scan, ","));
    return true;
  }
  return scan_kind(scan, &tiles->kind);
}

/* Reads the sharding of one array, after its '{'. */
static bool scan_single(Scan *scan, Tiles *tiles) {
  memset(tiles, 0, sizeof *tiles);
  while (!accept(scan, "}")) {
    if (!scan_part(scan, tiles)) return false;
  }
  if (tiles->kind != TILES_OTHER || tiles->trailing <= tiles->rank) return true;
  return scan_fail(scan, "%d dimensions, of which the last %d", tiles->rank, tiles->trailing);
}

bool scan_tiles(Scan *scan, Tiles *tiles) {
  if (!expect(scan, "{")) return false;
  skip_space(scan);
  if (*scan->at != '{' && *scan->at != '}') return scan_single(scan, tiles);
  while (!accept(scan, "}")) { /* of a tuple: one for each array in it */
    if (!expect(scan, "{") || !scan_single(scan, tiles)) return false;
    accept(scan, ",");
  }
  tiles->kind = TILES_TUPLE;
  return true;
}

/* Returns the device at a position of the iota. */
static int64_t iota_device(const Tiles *tiles, int64_t position) {
  int64_t index[2 * MAX_RANK], device = 0;
  for (int i = tiles->iota_rank - 1; i >= 0; i--) {
    int d = tiles->iota_order[i];
    index[d] = position % tiles->iota_sizes[d];
    position /= tiles->iota_sizes[d];
  }
  for (int d = 0; d < tiles->iota_rank; d++) device = device * tiles->iota_sizes[d] + index[d];
  return device;
}

static int64_t product(const int64_t *sizes, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; i++) {
    if (sizes[i] < 1 || sizes[i] > MAX_DEVICES / result) return 0;
    result *= sizes[i];
  }
  return result;
}

int64_t tiles_count(const Tiles *tiles) { return product(tiles->sizes, tiles->rank); }

const int64_t *tiles_devices(Scan *scan, const Tiles *tiles) {
  int64_t count = tiles_count(tiles);
  bool is_iota = !tiles->devices;
  if (!count || count != (is_iota ? product(tiles->iota_sizes, tiles->iota_rank) : tiles->count)) {
    scan_fail(scan, "not equally many tiles and devices, or more than %d", MAX_DEVICES);
    return NULL;
  }
  int64_t *devices = ARENA_ARRAY(scan->arena, int64_t, count);
  for (int64_t i = 0; i < count; i++)
    devices[i] = is_iota ? iota_device(tiles, i) : tiles->devices[i];
  if (is_permutation(scan->arena, devices, count)) return devices;
  scan_fail(scan, "not the devices 0 to %lld, each once", (long long)count - 1);
  return NULL;
}
