/* Implements the parser's helpers for errors, tokens and names. */
#include <stdio.h>
#include <string.h>

#include "hlo/text/parser.h"
#include "value/shape_text.h"

/* ---- Symbols ---- */

static uint32_t hash_name(const char *name, size_t length) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
  return h;
}

static Symbol *slot_of(const Symbols *symbols, const char *name, size_t length) {
  uint32_t mask = (uint32_t)symbols->capacity - 1, i = hash_name(name, length) & mask;
  for (;; i = (i + 1) & mask) {
    Symbol *slot = &symbols->slots[i];
    if (!slot->name || (slot->length == length && !memcmp(slot->name, name, length))) return slot;
  }
}

Symbol *symbols_find(const Symbols *symbols, const char *name, size_t length) {
  if (!symbols->capacity) return NULL;
  Symbol *slot = slot_of(symbols, name, length);
  return slot->name ? slot : NULL;
}

static void grow(Symbols *symbols, Arena *arena) {
  Symbols larger = {symbols->count, symbols->capacity ? symbols->capacity * 2 : 16, NULL};
  larger.slots = ARENA_ARRAY(arena, Symbol, larger.capacity);
  for (int i = 0; i < symbols->capacity; i++) {
    const Symbol *symbol = &symbols->slots[i];
    if (symbol->name) *slot_of(&larger, symbol->name, symbol->length) = *symbol;
  }
  *symbols = larger;
}

Symbol *symbols_add(Symbols *symbols, Arena *arena, const char *name, size_t length, const char *at,
                    void *value) {
  if (symbols->count * 2 >= symbols->capacity) grow(symbols, arena);
  Symbol *slot = slot_of(symbols, name, length);
  *slot = (Symbol){name, length, at, value};
  symbols->count++;
  return slot;
}

/* ---- Errors ---- */

static bool set_error(Parser *p, const char *at, const char *message) {
  if (!p->error) return false;
  if (p->operation) {
    invalid_argument(p->error, p->operation, "%s", message);
  } else {
    error_set(p->error, STATUS_INVALID_ARGUMENT, "%s", message);
  }
  lexer_position(&p->lexer, at, &p->error->line, &p->error->column);
  return false;
}

bool parser_error(Parser *p, const char *at, const char *format, ...) {
  char message[ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return set_error(p, at, message);
}

/* Turns an Error whose position counts from `base` into one whose position counts from the text's start. */
static bool rebase_error(Parser *p, const char *base) {
  if (!p->error) return false;
  char message[ERROR_MESSAGE_SIZE];
  memcpy(message, p->error->message, sizeof message);
  return set_error(p, base + p->error->column - 1, message);
}

bool parser_expected(Parser *p, const char *what) {
  const Lexer *lexer = &p->lexer;
  /* Threshold LONGEST: the maximum of an interface or a format. No path. */
  enum { LONGEST = 40 };
  int length = lexer_length(lexer) > LONGEST ? LONGEST : (int)lexer_length(lexer);
  const char *dots = lexer_length(lexer) > LONGEST ? "..." : "";
  if (lexer->kind == TOKEN_END) {
    return parser_error(p, lexer->start, "expected %s, found the end of the text", what);
  }
  unsigned char c = (unsigned char)*lexer->start;
  if (lexer->kind == TOKEN_BAD && (c < 0x20 || c >= 0x7F)) {
    return parser_error(p, lexer->start, "expected %s, found byte 0x%02x", what, c);
  }
  if (lexer->kind == TOKEN_BAD) {
    return parser_error(p, lexer->start, "expected %s, found %s", what, lexer->problem);
  }
  return parser_error(p, lexer->start, "expected %s, found %s%.*s%s", what,
                      lexer->kind == TOKEN_NAME ? "%" : "", length, lexer->start, dots);
}

/* ---- Tokens ---- */

bool parser_accept(Parser *p, int kind) {
  if (p->lexer.kind != kind) return false;
  lexer_next(&p->lexer);
  return true;
}

bool parser_expect(Parser *p, int kind, const char *what) {
  return parser_accept(p, kind) || parser_expected(p, what);
}

bool parser_enter(Parser *p) {
  if (++p->nesting <= MAX_NESTING) return true;
  return parser_error(p, p->lexer.start, "nested deeper than %d levels", MAX_NESTING);
}

bool parse_int64(Parser *p, int64_t *value) {
  if (p->lexer.kind != TOKEN_NUMBER) return parser_expected(p, "a whole number");
  const char *at = p->lexer.start;
  bool negative = *at == '-';
  *value = 0;
  for (at += negative; at < p->lexer.end; at++) {
    if (*at < '0' || *at > '9') return parser_expected(p, "a whole number");
    int digit = negative ? '0' - *at : *at - '0';
    if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, digit, value)) {
      return parser_error(p, p->lexer.start, "the number does not fit into 64 bits");
    }
  }
  lexer_next(&p->lexer);
  return true;
}

bool parse_name(Parser *p, Name *name, const char *what) {
  const Lexer *lexer = &p->lexer;
  int length = (int)lexer_length(lexer);
  if (lexer->kind == TOKEN_WORD && name_is_reserved(lexer->start, length)) {
    return parser_error(p, lexer->start, "expected %s, found %.*s; as a name it is written %%%.*s",
                        what, length, lexer->start, length, lexer->start);
  }
  if (lexer->kind != TOKEN_NAME && lexer->kind != TOKEN_WORD) return parser_expected(p, what);
  *name = (Name){lexer->start, lexer_length(lexer), lexer->start};
  lexer_next(&p->lexer);
  return true;
}

const char *name_str(Parser *p, Name name) {
  return arena_strndup(p->scratch, name.text, name.length);
}

char *parser_string(Parser *p) {
  if (p->lexer.kind != TOKEN_STRING) {
    parser_expected(p, "a string in quotes");
    return NULL;
  }
  const char *problem;
  char *text = string_unescape(p->arena, p->lexer.start, p->lexer.end, &problem);
  if (!text) parser_error(p, p->lexer.start, "%s", problem);
  return text;
}

/* ---- Lists ---- */

/* open (item (',' item)*)? close: each item by `item`, which is given `data`. */
static bool parse_group(Parser *p, char open, char close, bool (*item)(Parser *p, void *data),
                        void *data) {
  const char start[] = {'\'', open, '\'', '\0'};
  const char end[] = {'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', close, '\'', '\0'};
  if (!parser_expect(p, open, start)) return false;
  if (parser_accept(p, close)) return true;
  do {
    if (!item(p, data)) return false;
  } while (parser_accept(p, ','));
  return parser_expect(p, close, end);
}

bool parse_list(Parser *p, bool (*item)(Parser *p, void *data), void *data) {
  return parse_group(p, '{', '}', item, data);
}

typedef struct ItemList {
  Items all;
  bool (*item)(Parser *p, void *item);
  size_t size;
} ItemList;

static bool add_item(Parser *p, void *data) {
  ItemList *list = data;
  Items *all = &list->all;
  if (all->count == all->capacity) {
    all->items = arena_grow(p->arena, all->items, list->size, all->count, &all->capacity);
  }
  return list->item(p, (char *)all->items + (size_t)all->count++ * list->size);
}

Items parse_items(Parser *p, char open, char close, bool (*item)(Parser *p, void *item),
                  size_t size) {
  ItemList list = {.item = item, .size = size};
  if (!parse_group(p, open, close, add_item, &list)) list.all.count = -1;
  return list.all;
}

bool parse_int64s(Parser *p, Int64List *out) {
  int count = 0, capacity = 0;
  int64_t *items = NULL;
  do {
    int64_t value;
    if (!parse_int64(p, &value)) return false;
    ARENA_PUSH(p->arena, items, count, capacity, value);
  } while (parser_accept(p, ','));
  *out = (Int64List){count, items};
  return true;
}

bool parse_int64_list(Parser *p, Int64List *out) {
  *out = (Int64List){0};
  if (!parser_expect(p, '{', "'{'")) return false;
  if (p->lexer.kind != '}' && !parse_int64s(p, out)) return false;
  return parser_expect(p, '}', "',' or '}'");
}

static bool list_item(Parser *p, void *list) { return parse_int64_list(p, list); }

bool parse_int64_lists(Parser *p, Int64Lists *out) {
  Items lists = parse_items(p, '{', '}', list_item, sizeof(Int64List));
  *out = (Int64Lists){lists.count, lists.items};
  return lists.count >= 0;
}

/* ---- Shapes ---- */

bool at_shape(const Parser *p) {
  const Lexer *lexer = &p->lexer;
  if (lexer->kind == '(') return true;
  return lexer->kind == TOKEN_WORD && lexer->end < lexer->limit && *lexer->end == '[';
}

const Shape *parse_shape(Parser *p) {
  const char *start = p->lexer.start, *end;
  const Shape *shape = shape_parse_range(p->arena, start, p->lexer.limit, &end, p->error);
  if (!shape) {
    rebase_error(p, start);
    return NULL;
  }
  lexer_seek(&p->lexer, end);
  return shape;
}
