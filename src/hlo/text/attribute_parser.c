/* Parses attributes. opcodes.def lists those of each operation, attributes.def the grammar of each; each grammar has
** one function. */
#include <float.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "hlo/text/numbers.h"
#include "hlo/text/parser.h"

/* ---- Lists ---- */

bool parse_pairs(Parser *p, PairList *out) {
  Int64Lists lists = {0};
  const char *at = p->lexer.start;
  if (!parse_int64_lists(p, &lists)) return false;
  Pair *pairs = ARENA_ARRAY(p->arena, Pair, lists.count);
  for (int i = 0; i < lists.count; i++) {
    const Int64List *list = &lists.items[i];
    if (list->count != 2) return parser_error(p, at, "each pair must have two numbers");
    pairs[i] = (Pair){list->items[0], list->items[1]};
  }
  *out = (PairList){lists.count, pairs};
  return true;
}

static bool computation_item(Parser *p, void *computation) { return parse_called(p, computation); }

static bool parse_computation_list(Parser *p, ComputationList *out) {
  Items list = parse_items(p, '{', '}', computation_item, sizeof(Computation *));
  *out = (ComputationList){list.count, list.items};
  return list.count >= 0;
}

static bool instruction_item(Parser *p, void *item) {
  Instruction **instruction = item;
  Name name;
  if (!parse_name(p, &name, "an instruction's name")) return false;
  const Symbol *symbol =
      p->instructions ? symbols_find(p->instructions, name.text, name.length) : NULL;
  if (!symbol) {
    return parser_error(p, name.at, "there is no instruction %s before this one",
                        name_str(p, name));
  }
  *instruction = symbol->value;
  return true;
}

static bool parse_instruction_list(Parser *p, InstructionList *out) {
  Items list = parse_items(p, '{', '}', instruction_item, sizeof(Instruction *));
  *out = (InstructionList){list.count, list.items};
  return list.count >= 0;
}

static bool shape_item(Parser *p, void *item) {
  const Shape **shape = item;
  return (*shape = parse_shape(p)) != NULL;
}

static bool parse_shape_list(Parser *p, ShapeList *out) {
  Items list = parse_items(p, '{', '}', shape_item, sizeof(Shape *));
  *out = (ShapeList){list.count, list.items};
  return list.count >= 0;
}

/* ---- Slices, paddings, windows ---- */

/* [start:limit] or [start:limit:stride] */
static bool slice_item(Parser *p, void *item) {
  SliceDimension *d = item;
  d->stride = 1;
  if (!parser_expect(p, '[', "'[' before a slice's start") || !parse_int64(p, &d->start) ||
      !parser_expect(p, ':', "':' after the start") || !parse_int64(p, &d->limit)) {
    return false;
  }
  if (parser_accept(p, ':') && !parse_int64(p, &d->stride)) return false;
  return parser_expect(p, ']', "']' after the slice");
}

static bool parse_slice(Parser *p, SliceConfig *out) {
  Items list = parse_items(p, '{', '}', slice_item, sizeof(SliceDimension));
  *out = (SliceConfig){list.count, list.items};
  return list.count >= 0;
}

/*
** Numbers joined by 'x', each of up to three parts joined by '_': 3x3, 0_0x1_2, 0_1_2x3_4_5.
** Reads the text itself, as these are no tokens.
*/
typedef struct Joined {
  int count;
  int parts[MAX_RANK]; /* number of parts in each */
  int64_t values[MAX_RANK][3];
} Joined;

static bool read_joined_number(const char **at, const char *limit, int64_t *value) {
  bool negative = *at < limit && **at == '-';
  const char *digits = *at += negative;
  for (*value = 0; *at < limit && **at >= '0' && **at <= '9'; (*at)++) {
    int digit = negative ? '0' - **at : **at - '0';
    if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value)) {
      return false;
    }
  }
  return *at > digits;
}

static bool parse_joined(Parser *p, int min, int max, const char *what, Joined *joined) {
  const char *at = p->lexer.start, *limit = p->lexer.limit;
  joined->count = 0;
  for (;; at++) { /* steps over the 'x' */
    int i = joined->count, parts = 0;
    if (i == MAX_RANK) return parser_error(p, at, "more than %d dimensions", MAX_RANK);
    do {
      at += parts > 0; /* the '_' */
      if (parts == max || !read_joined_number(&at, limit, &joined->values[i][parts])) {
        return parser_expected(p, what);
      }
      parts++;
    } while (at < limit && *at == '_');
    if (parts < min) return parser_expected(p, what);
    joined->parts[joined->count++] = parts;
    if (at == limit || *at != 'x') break;
  }
  lexer_seek(&p->lexer, at);
  return true;
}

/* low_high or low_high_interior, joined by 'x'; nothing at all for a scalar */
static bool parse_padding(Parser *p, PaddingConfig *out) {
  Joined joined = {0};
  bool empty = p->lexer.kind == ',' || p->lexer.kind == TOKEN_END || p->lexer.kind == '}' ||
               p->lexer.kind == TOKEN_NAME || p->lexer.kind == TOKEN_WORD;
  if (!empty && !parse_joined(p, 2, 3, "a padding such as 0_1x2_3_1", &joined)) return false;
  PaddingDimension *items = ARENA_ARRAY(p->arena, PaddingDimension, joined.count);
  for (int i = 0; i < joined.count; i++) {
    const int64_t *v = joined.values[i];
    items[i] = (PaddingDimension){v[0], v[1], joined.parts[i] == 3 ? v[2] : 0};
  }
  *out = (PaddingConfig){joined.count, items};
  return true;
}

enum { SIZE, STRIDE, PAD, LHS_DILATE, RHS_DILATE, RHS_REVERSAL, WINDOW_PARTS };
static const char *const window_parts[WINDOW_PARTS] = {"size",       "stride",     "pad",
                                                       "lhs_dilate", "rhs_dilate", "rhs_reversal"};

static bool parse_window_part(Parser *p, Joined *parts) {
  for (int i = 0; i < WINDOW_PARTS; i++) {
    if (!lexer_is_word(&p->lexer, window_parts[i])) continue;
    if (parts[i].count)
      return parser_error(p, p->lexer.start, "%s is given twice", window_parts[i]);
    lexer_next(&p->lexer);
    if (!parser_expect(p, '=', "'='")) return false;
    int values = i == PAD ? 2 : 1;
    return parse_joined(p, values, values,
                        i == PAD ? "numbers such as 0_1x2_3" : "numbers such as 2x3", &parts[i]);
  }
  return parser_expected(p, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
}

static bool parse_window(Parser *p, Window *out) {
  const char *start = p->lexer.start;
  ArenaMark mark = arena_mark(p->scratch);
  Joined *parts = ARENA_ARRAY(p->scratch, Joined, WINDOW_PARTS);
  if (!parser_expect(p, '{', "'{' before the window")) return false;
  while (!parser_accept(p, '}')) {
    if (!parse_window_part(p, parts)) return false;
    parser_accept(p, ',');
  }
  int count = parts[SIZE].count;
  for (int i = 0; i < WINDOW_PARTS; i++) {
    if (!parts[i].count || parts[i].count == count) continue;
    return parser_error(p, start, "the window's %s has %d dimensions, but its size has %d",
                        window_parts[i], parts[i].count, count);
  }
  WindowDimension *items = ARENA_ARRAY(p->arena, WindowDimension, count);
#define PART(part, k, absent) (parts[part].count ? parts[part].values[i][k] : (absent))
  for (int i = 0; i < count; i++) {
    items[i] = (WindowDimension){
        .size = parts[SIZE].values[i][0],
        .stride = PART(STRIDE, 0, 1),
        .padding_low = PART(PAD, 0, 0),
        .padding_high = PART(PAD, 1, 0),
        .base_dilation = PART(LHS_DILATE, 0, 1),
        .window_dilation = PART(RHS_DILATE, 0, 1),
        .window_reversal = PART(RHS_REVERSAL, 0, 0) != 0,
    };
  }
#undef PART
  *out = (Window){count, items};
  arena_release(p->scratch, mark);
  return true;
}

/* ---- Dimension labels ---- */

/* One of the three parts of b01f_01io->b01f: the positions of `first`, `second`, and 0, 1, ... */
typedef struct Labels {
  int spatial;
  int64_t first, second;
  int64_t where[10];
} Labels;

static bool read_labels(const char **at, const char *limit, char first, char second, Labels *out) {
  *out = (Labels){.first = -1, .second = -1};
  int64_t where[10], index = 0;
  memset(where, -1, sizeof where);
  for (; *at < limit; (*at)++, index++) {
    char c = **at;
    int64_t *slot;
    if (c == '?') continue; /* a dimension of size 1 that takes no part in the convolution */
    if (c == first) {
      slot = &out->first;
    } else if (c == second) {
      slot = &out->second;
    } else if (c >= '0' && c <= '9') {
      slot = &where[c - '0'];
      out->spatial++;
    } else {
      break;
    }
    if (*slot >= 0) return false;
    *slot = index;
  }
  for (int i = 0; i < out->spatial; i++) {
    if (where[i] < 0) return false;
    out->where[i] = where[i];
  }
  return out->first >= 0 && out->second >= 0;
}

static bool skip_text(const char **at, const char *limit, const char *text) {
  size_t length = strlen(text);
  if ((size_t)(limit - *at) < length || memcmp(*at, text, length) != 0) return false;
  *at += length;
  return true;
}

static const int64_t *copy_where(Parser *p, const Labels *labels) {
  return arena_copy(p->arena, labels->where, sizeof(int64_t) * (size_t)labels->spatial);
}

static bool parse_conv_dims(Parser *p, ConvDims *out) {
  Labels lhs, rhs, result;
  const char *at = p->lexer.start, *limit = p->lexer.limit;
  if (!read_labels(&at, limit, 'b', 'f', &lhs) || !skip_text(&at, limit, "_") ||
      !read_labels(&at, limit, 'i', 'o', &rhs) || !skip_text(&at, limit, "->") ||
      !read_labels(&at, limit, 'b', 'f', &result)) {
    return parser_expected(p, "dimension labels such as b01f_01io->b01f");
  }
  if (lhs.spatial != rhs.spatial || lhs.spatial != result.spatial) {
    return parser_error(p, p->lexer.start,
                        "the labels have %d, %d and %d spatial dimensions; they must have equally "
                        "many",
                        lhs.spatial, rhs.spatial, result.spatial);
  }
  *out = (ConvDims){
      .spatial = lhs.spatial,
      .input_batch = lhs.first,
      .input_feature = lhs.second,
      .kernel_input_feature = rhs.first,
      .kernel_output_feature = rhs.second,
      .output_batch = result.first,
      .output_feature = result.second,
      .input_spatial = copy_where(p, &lhs),
      .kernel_spatial = copy_where(p, &rhs),
      .output_spatial = copy_where(p, &result),
  };
  lexer_seek(&p->lexer, at);
  return true;
}

/* ---- Single values ---- */

static bool parse_bool(Parser *p, bool *out) {
  *out = lexer_is_word(&p->lexer, "true");
  if (!*out && !lexer_is_word(&p->lexer, "false")) return parser_expected(p, "true or false");
  lexer_next(&p->lexer);
  return true;
}

/* XLA keeps these as float. */
static bool parse_float(Parser *p, double *out) {
  const Lexer *lexer = &p->lexer;
  double value;
  bool number = lexer->kind == TOKEN_NUMBER || lexer->kind == TOKEN_WORD;
  if (!number || !number_parse(p->scratch, lexer->start, lexer_length(lexer), &value)) {
    return parser_expected(p, "a number");
  }
  if (value > FLT_MAX || value < -FLT_MAX) {
    return parser_error(p, lexer->start, "the number does not fit into f32");
  }
  *out = (double)(float)value;
  lexer_next(&p->lexer);
  return true;
}

static bool parse_string(Parser *p, const char **out) {
  *out = parser_string(p);
  if (!*out) return false;
  lexer_next(&p->lexer);
  return true;
}

static bool parse_enum(Parser *p, AttributeKind kind, int *out) {
  int count;
  const char *const *names = attribute_enum_names(kind, &count);
  for (int i = 0; i < count; i++) {
    if (!names[i] || !lexer_is_word(&p->lexer, names[i])) continue;
    *out = i;
    lexer_next(&p->lexer);
    return true;
  }
  StrBuf all = {0};
  for (int i = 0; i < count; i++) {
    if (names[i]) strbuf_printf(&all, "%s%s", all.length ? ", " : "one of ", names[i]);
  }
  parser_expected(p, all.text);
  strbuf_free(&all);
  return false;
}

static bool precision_item(Parser *p, void *data) {
  static const char *const names[] = {"default", "high", "highest", "packed_nibble"};
  StrBuf *text = data;
  for (int i = 0; i < 4; i++) {
    size_t length = strlen(names[i]); /* in either case */
    if (p->lexer.kind != TOKEN_WORD || lexer_length(&p->lexer) != length ||
        strncasecmp(p->lexer.start, names[i], length) != 0) {
      continue;
    }
    strbuf_append(text, text->length > 1 ? "," : "");
    strbuf_append(text, names[i]);
    lexer_next(&p->lexer);
    return true;
  }
  return parser_expected(p, "default, high or highest");
}

static bool parse_precision(Parser *p, const char **out) {
  StrBuf text = {0};
  strbuf_append(&text, "{");
  bool good = parse_list(p, precision_item, &text);
  strbuf_append(&text, "}");
  *out = arena_strdup(p->arena, text.text);
  strbuf_free(&text);
  return good;
}

/* Returns the tokens from `start` to `end`, with one space for each run of space and comments. */
static char *tidy(Parser *p, const char *start, const char *end) {
  char *text = arena_alloc(p->arena, (size_t)(end - start) + 1), *out = text;
  Lexer lexer;
  lexer_init(&lexer, start, (size_t)(end - start));
  for (const char *after = start; lexer.kind != TOKEN_END; lexer_next(&lexer)) {
    const char *token = lexer.kind == TOKEN_NAME ? lexer.start - 1 : lexer.start;
    if (token != after) *out++ = ' ';
    memcpy(out, token, (size_t)(lexer.end - token));
    out += lexer.end - token;
    after = lexer.end;
  }
  return text;
}

char *parse_raw(Parser *p) {
  const char *start = p->lexer.start, *end = p->lexer.end;
  if (at_shape(p) && p->lexer.kind == TOKEN_WORD) { /* a literal: its shape, then the value */
    if (!parse_shape(p)) return NULL;
    end = p->lexer.end;
  }
  if (p->lexer.kind == '{' || p->lexer.kind == '(' || p->lexer.kind == '[') {
    end = balanced_end(p->lexer.start, p->lexer.limit);
    if (!end) {
      parser_error(p, p->lexer.start, "the bracket is not closed");
      return NULL;
    }
  } else if (p->lexer.kind != TOKEN_WORD && p->lexer.kind != TOKEN_STRING &&
             p->lexer.kind != TOKEN_NUMBER) {
    parser_expected(p, "a value");
    return NULL;
  }
  lexer_seek(&p->lexer, end);
  return tidy(p, start, end);
}

static bool parse_raw_value(Parser *p, const char **out) { return (*out = parse_raw(p)) != NULL; }

static bool parse_shape_value(Parser *p, const Shape **out) {
  return (*out = parse_shape(p)) != NULL;
}

/* ---- The table at work ---- */

static bool parse_value(Parser *p, const AttributeRow *row, Attributes *attributes) {
  void *field = (char *)attributes + row->offset;
  switch (row->kind) {
  case ATTR_INT64: return parse_int64(p, field);
  case ATTR_BOOL: return parse_bool(p, field);
  case ATTR_FLOAT: return parse_float(p, field);
  case ATTR_INT64_LIST: return parse_int64_list(p, field);
  case ATTR_STRING: return parse_string(p, field);
  case ATTR_RAW: return parse_raw_value(p, field);
  case ATTR_SHAPE: return parse_shape_value(p, field);
  case ATTR_SHAPE_LIST: return parse_shape_list(p, field);
  case ATTR_COMPUTATION: return parse_called(p, field);
  case ATTR_COMPUTATION_LIST: return parse_computation_list(p, field);
  case ATTR_INSTRUCTION_LIST: return parse_instruction_list(p, field);
  case ATTR_SLICE: return parse_slice(p, field);
  case ATTR_PADDING: return parse_padding(p, field);
  case ATTR_WINDOW: return parse_window(p, field);
  case ATTR_CONV_DIMS: return parse_conv_dims(p, field);
  case ATTR_REPLICA_GROUPS: return parse_replica_groups(p, field);
  case ATTR_PAIR_LIST: return parse_pairs(p, field);
  case ATTR_PRECISION_LIST: return parse_precision(p, field);
  case ATTR_SHARDING: return parse_sharding(p, field);
  case ATTR_FRONTEND_ATTRIBUTES:
    return (attributes->frontend_attributes = parse_frontend_attributes(p, NULL)) != NULL;
  default: return parse_enum(p, row->kind, field);
  }
}

static const AttributeRow *find_row(const char *names, const Lexer *lexer) {
  for (const AttributeRow *row; (row = attribute_next(&names));) {
    if (lexer_is_word(lexer, row->text)) return row;
  }
  return NULL;
}

static bool unknown_attribute(Parser *p, const AttributeContext *context) {
  StrBuf accepted = {0};
  const char *meant = NULL;
  size_t length = lexer_length(&p->lexer);
  int limit = near_limit(length);
  const char *lists[] = {opcode_rows[context->opcode].attributes, context->extra,
                         COMMON_ATTRIBUTES};
  for (int i = 0; i < 3; i++) {
    const char *names = lists[i];
    for (const AttributeRow *row; (row = attribute_next(&names));) {
      strbuf_printf(&accepted, "%s%s", accepted.length ? ", " : "", row->text);
      if (word_is_nearer(p->lexer.start, length, row->text, &limit)) meant = row->text;
    }
  }
  parser_error(p, p->lexer.start, "it has no attribute %.*s; %s %s%s",
               length > 60 ? 60 : (int)length, p->lexer.start, meant ? "did you mean" : "it takes",
               meant ? meant : accepted.text, meant ? "?" : "");
  strbuf_free(&accepted);
  return false;
}

static const AttributeRow *known_row(Parser *p, const AttributeContext *context) {
  const AttributeRow *row = find_row(opcode_rows[context->opcode].attributes, &p->lexer);
  if (!row) row = find_row(context->extra, &p->lexer);
  return row ? row : find_row(COMMON_ATTRIBUTES, &p->lexer);
}

static bool parse_attribute(Parser *p, const AttributeContext *context, bool *seen,
                            Attributes *out) {
  const char *at = p->lexer.start;
  if (p->lexer.kind != TOKEN_WORD) return parser_expected(p, "an attribute");
  if (context->broadcast_dimensions && lexer_is_word(&p->lexer, "broadcast_dimensions")) {
    lexer_next(&p->lexer);
    return parser_expect(p, '=', "'=' after the attribute") &&
           parse_int64_list(p, context->broadcast_dimensions);
  }
  const AttributeRow *row = known_row(p, context);
  if (!row) return unknown_attribute(p, context);
  bool *twice = &seen[row - attribute_rows];
  if (*twice) return parser_error(p, at, "attribute %s is given twice", row->text);
  *twice = true;
  lexer_next(&p->lexer);
  return parser_expect(p, '=', "'=' after the attribute") && parse_value(p, row, out);
}

/* Whether an operation may omit an attribute that others with it must state, as in XLA's parser. */
static bool may_be_absent(const AttributeContext *context, const AttributeRow *row) {
  switch (context->opcode) {
  case HLO_BROADCAST: return context->scalar_operand;
  case HLO_MAP:
  case HLO_ALL_TO_ALL:
  case HLO_RAGGED_ALL_TO_ALL: return !strcmp(row->name, "dimensions");
  case HLO_RAGGED_DOT:
  case HLO_ASYNC_UPDATE:
  case HLO_ASYNC_DONE: return true;
  case HLO_CUSTOM_CALL: return strcmp(row->name, "custom_call_target") != 0;
  default: return false;
  }
}

static bool check_required(Parser *p, const AttributeContext *context, const char *at,
                           const bool *seen) {
  const char *names = opcode_rows[context->opcode].attributes;
  for (const AttributeRow *row; (row = attribute_next(&names));) {
    if (!row->required || seen[row - attribute_rows] || may_be_absent(context, row)) continue;
    return parser_error(p, at, "attribute %s is missing", row->text);
  }
  return true;
}

bool parse_attributes(Parser *p, const AttributeContext *context, bool leading, Attributes *out) {
  bool seen[ATTRIBUTE_COUNT] = {false};
  const char *at = context->at ? context->at : p->lexer.start;
  if (!leading && p->lexer.kind != TOKEN_END && !parse_attribute(p, context, seen, out)) {
    return false;
  }
  while (parser_accept(p, ',')) {
    if (!parse_attribute(p, context, seen, out)) return false;
  }
  return check_required(p, context, at, seen);
}

bool require_no_attributes(Parser *p, const AttributeContext *context) {
  bool seen[ATTRIBUTE_COUNT] = {false};
  return check_required(p, context, context->at, seen);
}
