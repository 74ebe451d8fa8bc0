/*
** Parses shardings and the frontend attributes that state them (hlo/ir/sharding.h has the grammars). Values are also kept
** as text. Other frontend attributes are not read.
*/
#include <string.h>

#include "hlo/ir/sharding.h"
#include "hlo/text/parser.h"

/* ---- Texts in texts ---- */

/* Parses all of `text`, the value of attribute `key` ("": of the current one). Errors stand at `at`. */
static bool parse_within(Parser *p, const char *at, const char *key, const char *text,
                         bool (*parse)(Parser *p, void *out), void *out) {
  Error error = {0};
  Parser inner = *p;
  inner.error = &error;
  inner.operation = NULL;
  lexer_init(&inner.lexer, text, strlen(text));
  if (parse(&inner, out) &&
      (inner.lexer.kind == TOKEN_END || parser_expected(&inner, "the end of the text"))) {
    return true;
  }
  return parser_error(p, at, "%s%s%s", key, *key ? ": " : "", error.message);
}

/* Returns a string's contents as MLIR writes them: \" and \22 are a quote, \\ is a backslash. */
static char *unquoted(Arena *arena, const char *start, const char *end) {
  char *text = arena_alloc(arena, (size_t)(end - start) + 1), *out = text;
  for (const char *at = start + 1; at < end - 1; at++) {
    if (*at == '\\' && end - at > 3 && !strncmp(at, "\\22", 3)) {
      *out++ = '"';
      at += 2;
      continue;
    }
    at += *at == '\\' && at + 1 < end - 1;
    *out++ = *at;
  }
  return text;
}

static const char *parse_quoted(Parser *p) {
  const char *text = parser_string(p);
  if (text) lexer_next(&p->lexer);
  return text;
}

/* Parses a name of MLIR: in quotes, or of letters, digits, "_", "-", "." and "$". */
static const char *parse_symbol(Parser *p) {
  if (p->lexer.kind == TOKEN_STRING) return parse_quoted(p);
  const char *start = p->lexer.start, *end = start;
  while (end < p->lexer.limit && (is_name_char(*end) || *end == '$')) end++;
  if (end == start) {
    parser_expected(p, "a name");
    return NULL;
  }
  lexer_seek(&p->lexer, end);
  return arena_strndup(p->arena, start, (size_t)(end - start));
}

/* Steps over these tokens if they are next. */
static bool accept(Parser *p, const char *tokens) {
  Lexer wanted, ahead = p->lexer;
  lexer_init(&wanted, tokens, strlen(tokens));
  for (; wanted.kind != TOKEN_END; lexer_next(&wanted), lexer_next(&ahead)) {
    size_t length = lexer_length(&wanted);
    if (ahead.kind != wanted.kind || lexer_length(&ahead) != length ||
        memcmp(ahead.start, wanted.start, length)) {
      return false;
    }
  }
  p->lexer = ahead;
  return true;
}

static bool expect(Parser *p, const char *tokens) {
  if (accept(p, tokens)) return true;
  return parser_expected(p, arena_printf(p->scratch, "'%s'", tokens));
}

/* [1,2] between these brackets: at least one number */
static bool parse_numbers(Parser *p, const char *open, const char *close, Int64List *out) {
  return expect(p, open) && parse_int64s(p, out) && expect(p, close);
}

/* ---- Dictionaries ---- */

/* Parses a value up to the comma or brace after it. A string gives its contents. */
static char *parse_entry(Parser *p) {
  const char *start = p->lexer.start, *end = start;
  bool is_string = p->lexer.kind == TOKEN_STRING;
  for (int depth = 0; p->lexer.kind != TOKEN_END; lexer_next(&p->lexer)) {
    int kind = p->lexer.kind;
    if (depth == 0 && (kind == ',' || kind == '}')) break;
    if (kind < TOKEN_END && strchr("{[(<", kind)) depth++;
    if (kind < TOKEN_END && strchr("}])>", kind)) depth--;
    end = p->lexer.end;
  }
  return is_string ? unquoted(p->arena, start, end)
                   : arena_strndup(p->arena, start, (size_t)(end - start));
}

/* Parses {key=value, key = value} as far as it is one; `entry` is given each value. */
static void parse_dictionary(Parser *p, const char *text,
                             void (*entry)(void *data, const char *key, const char *value),
                             void *data) {
  Error ignored;
  Parser inner = *p;
  inner.error = &ignored;
  lexer_init(&inner.lexer, text, strlen(text));
  if (!accept(&inner, "{")) return;
  do {
    const char *key = parse_symbol(&inner);
    if (!key || !accept(&inner, "=")) return;
    entry(data, key, parse_entry(&inner));
  } while (accept(&inner, ","));
}

/* ---- Meshes ---- */

/* "x"=2 */
static bool axis_item(Parser *p, void *item) {
  MeshAxis *axis = item;
  axis->name = parse_quoted(p);
  return axis->name && expect(p, "=") && parse_int64(p, &axis->size);
}

/* mesh<["x"=2, "y"=4], device_ids=[...]>, from the '[' on */
static bool parse_mesh(Parser *p, NamedMesh *mesh) {
  Items axes = parse_items(p, '[', ']', axis_item, sizeof(MeshAxis));
  if (axes.count < 0) return false;
  mesh->count = axes.count;
  mesh->axes = axes.items;
  if (accept(p, ", device_ids=") && !accept(p, "[]") &&
      !parse_numbers(p, "[", "]", &mesh->device_ids)) {
    return false;
  }
  return expect(p, ">");
}

static bool parse_mesh_attribute(Parser *p, void *mesh) {
  return expect(p, "#sdy.mesh<") && parse_mesh(p, mesh);
}

typedef struct Meshes {
  Parser *parser;
  int count, capacity;
  NamedMesh *items;
} Meshes;

static void mesh_entry(void *data, const char *name, const char *text) {
  Meshes *meshes = data;
  Parser *p = meshes->parser;
  Error error = {0};
  Parser of_mesh = *p;
  NamedMesh mesh = {.name = name};
  of_mesh.error = &error;
  if (!parse_within(&of_mesh, p->lexer.start, "", text, parse_mesh_attribute, &mesh)) {
    mesh.problem = arena_strdup(p->arena, error.message);
  }
  ARENA_PUSH(p->arena, meshes->items, meshes->count, meshes->capacity, mesh);
}

/* ---- Shardy's notation ---- */

typedef struct Parts {
  int count, capacity;
  AxisPart *items;
} Parts;

/* "x", "x":(2)4, or ? for axes that a partitioner may add */
static bool part_item(Parser *p, void *data) {
  Parts *parts = data;
  if (accept(p, "?")) return true;
  AxisPart part = {.axis = parse_quoted(p), .is_whole = true};
  if (!part.axis) return false;
  if (accept(p, ":(")) {
    part.is_whole = false;
    if (!parse_int64(p, &part.before) || !expect(p, ")") || !parse_int64(p, &part.size)) {
      return false;
    }
  }
  ARENA_PUSH(p->arena, parts->items, parts->count, parts->capacity, part);
  return true;
}

static bool parse_axes(Parser *p, AxisList *out) {
  Parts parts = {0};
  if (!parse_list(p, part_item, &parts)) return false;
  *out = (AxisList){parts.count, parts.items};
  return true;
}

/* {"x", ?}p1: the priority is for a partitioner. */
static bool dimension_item(Parser *p, void *axes) {
  if (!parse_axes(p, axes)) return false;
  if (p->lexer.kind == TOKEN_WORD && *p->lexer.start == 'p') lexer_next(&p->lexer);
  return true;
}

/* replicated={"x"}, unreduced={"x"}, unreduced=max{"x"} */
static bool parse_clause(Parser *p, ArraySharding *out) {
  if (accept(p, "replicated=")) return parse_axes(p, &out->replicated);
  if (!expect(p, "unreduced")) return false;
  accept(p, "=");
  if (accept(p, "max")) out->reduction = HLO_MAXIMUM;
  if (accept(p, "min")) out->reduction = HLO_MINIMUM;
  accept(p, "sum");
  return parse_axes(p, &out->unreduced);
}

/* <@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}> */
static bool sharding_item(Parser *p, void *item) {
  ArraySharding *s = item;
  s->reduction = HLO_ADD;
  if (accept(p, "<@")) {
    if (!(s->mesh_name = parse_symbol(p))) return false;
  } else {
    NamedMesh *mesh = ARENA_NEW(p->arena, NamedMesh);
    if (!expect(p, "<mesh<") || !parse_mesh(p, mesh)) return false;
    s->mesh = mesh;
  }
  if (!expect(p, ",")) return false;
  Items dimensions = parse_items(p, '[', ']', dimension_item, sizeof(AxisList));
  if (dimensions.count < 0) return false;
  s->rank = dimensions.count;
  s->dimensions = dimensions.items;
  while (accept(p, ",")) {
    if (!parse_clause(p, s)) return false;
  }
  return expect(p, ">");
}

/* #sdy.sharding_per_value<[...]> */
static bool parse_shardings(Parser *p, void *data) {
  ArrayShardings *out = data;
  if (!expect(p, "#sdy.sharding_per_value<")) return false;
  Items shardings = parse_items(p, '[', ']', sharding_item, sizeof(ArraySharding));
  if (shardings.count < 0) return false;
  *out = (ArrayShardings){true, shardings.count, shardings.items};
  return expect(p, ">");
}

/* #sdy<manual_axes{"x", "y"}> */
static bool parse_manual_axes(Parser *p, void *out) {
  return expect(p, "#sdy<manual_axes") && parse_axes(p, out) && expect(p, ">");
}

/* ---- Frontend attributes ---- */

enum KnownKey { IN_SHARDINGS, OUT_SHARDINGS, MANUAL_AXES, MESHES, TRANSFERS, KNOWN_KEYS };
static const char *const known_keys[KNOWN_KEYS] = {
    "xla.sdy.in_shardings",
    "xla.sdy.out_shardings",
    "xla.sdy.manual_axes",
    "xla.sdy.meshes",
    "_xla_send_recv_source_target_pairs",
};

static void known_entry(void *data, const char *key, const char *value) {
  const char **values = data;
  for (int i = 0; i < KNOWN_KEYS; i++) {
    if (!values[i] && !strcmp(key, known_keys[i])) values[i] = value;
  }
}

static bool parse_known(Parser *p, const char *at, const char *const *values, enum KnownKey key,
                        bool (*parse)(Parser *p, void *out), void *out) {
  return !values[key] || parse_within(p, at, known_keys[key], values[key], parse, out);
}

static bool parse_transfers(Parser *p, void *out) { return parse_pairs(p, out); }

const FrontendAttributes *parse_frontend_attributes(Parser *p, MeshList *meshes) {
  const char *at = p->lexer.start, *values[KNOWN_KEYS] = {NULL};
  FrontendAttributes *out = ARENA_NEW(p->arena, FrontendAttributes);
  if (!(out->text = parse_raw(p))) return NULL;
  parse_dictionary(p, out->text, known_entry, values);
  if (!parse_known(p, at, values, TRANSFERS, parse_transfers, &out->transfers)) return NULL;
  out->states_transfers = values[TRANSFERS] != NULL;
  if (values[MANUAL_AXES]) {
    ManualShardings *manual = ARENA_NEW(p->arena, ManualShardings);
    if (!parse_known(p, at, values, MANUAL_AXES, parse_manual_axes, &manual->manual_axes) ||
        !parse_known(p, at, values, IN_SHARDINGS, parse_shardings, &manual->in) ||
        !parse_known(p, at, values, OUT_SHARDINGS, parse_shardings, &manual->out)) {
      return NULL;
    }
    out->manual = manual;
  }
  if (meshes && values[MESHES]) {
    Meshes list = {.parser = p};
    parse_dictionary(p, values[MESHES], mesh_entry, &list);
    *meshes = (MeshList){list.count, list.items};
  }
  return out;
}

/* ---- XLA's notation ---- */

/* By ShardingKind. */
static const char *const kinds[SHARDING_KINDS] = {
    [SHARDING_REPLICATED] = "replicated", [SHARDING_MAXIMAL] = "maximal",
    [SHARDING_TUPLE] = "tuple",           [SHARDING_OTHER] = "other",
    [SHARDING_MANUAL] = "manual",         [SHARDING_UNKNOWN] = "unknown",
    [SHARDING_UNREDUCED] = "unreduced",
};

static bool parse_kind(Parser *p, ShardingKind *kind) {
  for (int i = 0; i < SHARDING_KINDS; i++) {
    if (!accept(p, kinds[i])) continue;
    *kind = i;
    return true;
  }
  int length = (int)lexer_length(&p->lexer);
  return parser_error(p, p->lexer.start, "there is no sharding '%.*s'", length > 24 ? 24 : length,
                      p->lexer.start);
}

static bool reason_item(Parser *p, void *item) {
  int64_t *reason = item;
  ShardingKind kind;
  if (!parse_kind(p, &kind)) return false;
  *reason = kind;
  return true;
}

static bool is_order(Int64List order, int count) {
  bool seen[MAX_RANK] = {false};
  for (int i = 0; order.count == count && i < count; i++) {
    int64_t d = order.items[i];
    if (d < 0 || d >= count || seen[d]) return false;
    seen[d] = true;
  }
  return order.count == count;
}

/* [2,4]T(1,0), or [8], after <= */
static bool parse_iota_devices(Parser *p, OpSharding *out) {
  if (!parse_numbers(p, "[", "]", &out->iota_sizes)) return false;
  int rank = out->iota_sizes.count;
  if (rank > MAX_RANK) {
    return parser_error(p, p->lexer.start, "an iota has at most %d dimensions", MAX_RANK);
  }
  if (!accept(p, "T")) {
    int64_t *order = ARENA_ARRAY(p->arena, int64_t, rank);
    for (int i = 0; i < rank; i++) order[i] = i;
    out->iota_order = (Int64List){rank, order};
    return true;
  }
  if (!parse_numbers(p, "(", ")", &out->iota_order)) return false;
  return is_order(out->iota_order, rank) ||
         parser_error(p, p->lexer.start, "T(...) is no order of %d dimensions", rank);
}

/* [2,4]<=[8], or [2,4]0,1,2,3,4,5,6,7 */
static bool parse_tiles(Parser *p, OpSharding *out) {
  if (!parse_numbers(p, "[", "]", &out->tiles)) return false;
  if (accept(p, "<=")) return parse_iota_devices(p, out);
  return parse_int64s(p, &out->devices);
}

/* Skips the rest of XLA's notation for named axes, new in 2026: mesh['x'=2], [{'x'}, {}] */
static bool skip_named_axes(Parser *p) {
  do parse_entry(p);
  while (accept(p, ","));
  return true;
}

/* Parses a word of a sharding and its value. */
static bool parse_part(Parser *p, OpSharding *out) {
  int64_t number;
  if (accept(p, "mesh") || accept(p, "maximal_mesh") || accept(p, "single_device")) {
    out->kind = SHARDING_UNKNOWN;
    return skip_named_axes(p);
  }
  if (accept(p, "devices=")) {
    out->kind = SHARDING_OTHER;
    return parse_tiles(p, out);
  }
  if (accept(p, "device=") || accept(p, "shard_as") || accept(p, "shard_like")) {
    return parse_int64(p, &number);
  }
  if (accept(p, "last_tile_dim_replicate")) {
    static const int64_t replicated = SHARDING_REPLICATED;
    out->reasons = (Int64List){1, &replicated};
    return true;
  }
  if (accept(p, "last_tile_dims=")) {
    Items reasons = parse_items(p, '{', '}', reason_item, sizeof(int64_t));
    out->reasons = (Int64List){reasons.count, reasons.items};
    return reasons.count >= 0;
  }
  if (accept(p, "metadata=")) return parse_raw(p) != NULL;
  return parse_kind(p, &out->kind);
}

/* Parses the sharding of one array, after its '{'. */
static bool parse_array_sharding(Parser *p, OpSharding *out) {
  while (!accept(p, "}")) {
    if (!parse_part(p, out)) return false;
  }
  if (out->kind != SHARDING_OTHER || out->reasons.count <= out->tiles.count) return true;
  return parser_error(p, p->lexer.start, "%d dimensions, of which the last %d", out->tiles.count,
                      out->reasons.count);
}

static bool parse_op_sharding(Parser *p, void *data) {
  OpSharding *out = data;
  if (!expect(p, "{")) return false;
  if (p->lexer.kind != '{' && p->lexer.kind != '}') return parse_array_sharding(p, out);
  while (!accept(p, "}")) { /* of a tuple: one for each array in it */
    OpSharding element = {0};
    if (!expect(p, "{") || !parse_array_sharding(p, &element)) return false;
    accept(p, ",");
  }
  out->kind = SHARDING_TUPLE;
  return true;
}

bool parse_sharding(Parser *p, const OpSharding **out) {
  const char *at = p->lexer.start;
  OpSharding *sharding = ARENA_NEW(p->arena, OpSharding);
  *out = sharding;
  sharding->text = parse_raw(p);
  return sharding->text && parse_within(p, at, "", sharding->text, parse_op_sharding, sharding);
}
