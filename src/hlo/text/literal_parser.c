/*
** Parses literals. A constant may have millions of elements, so this reads the text without a lexer, in one pass.
**
** As in XLA, commas between elements are optional, braces nest as the shape does, and a NaN may have a payload. Unlike
** XLA, it refuses an elided literal, {...}, unless the caller asks for zeros or random values; and -0 is minus zero, as
** in the text that XLA prints.
*/
#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "hlo/text/numbers.h"
#include "hlo/text/parser.h"
#include "value/scalar.h"
#include "value/shape_text.h"

typedef struct LiteralReader {
  Parser *p;
  const Shape *shape;
  void *data;
  const char *at, *limit;
  int level;              /* of braces */
  int64_t seen[MAX_RANK]; /* elements or braces so far, on each level */
  int64_t index;          /* elements so far */
} LiteralReader;

/* ---- Elements ---- */

static bool is_number_char(char c) { return is_name_char(c) || c == '+'; }

/* Reads the number or word at r->at. Returns an empty name if there is none. */
static Name read_word(LiteralReader *r) {
  const char *start = r->at;
  while (r->at < r->limit && is_number_char(*r->at)) r->at++;
  return (Name){start, (size_t)(r->at - start), start};
}

/* The rule for every way in: refusal() in bindings/values/types.mjs says it in the same words. */
static bool out_of_range(LiteralReader *r, Name word) {
  PrimitiveType type = r->shape->type;
  if (type_kind(type) == KIND_SIGNED || type_kind(type) == KIND_UNSIGNED) {
    bool is_signed = type_kind(type) == KIND_SIGNED;
    uint64_t high = UINT64_MAX >> (64 - type_bits(type) + is_signed);
    return parser_error(r->p, word.at,
                        "%s cannot hold %s: it holds whole numbers from %lld to %llu",
                        type_name(type), name_str(r->p, word),
                        is_signed ? -(long long)high - 1 : 0LL, (unsigned long long)high);
  }
  return parser_error(r->p, word.at, "%s does not fit into %s", name_str(r->p, word),
                      type_name(r->shape->type));
}

static bool not_a_number(LiteralReader *r, Name word, const char *what) {
  if (word.length) {
    return parser_error(r->p, word.at, "expected %s, found %.*s", what,
                        word.length > 40 ? 40 : (int)word.length, word.text);
  }
  lexer_seek(&r->p->lexer, r->at);
  return parser_expected(r->p, what);
}

static bool store_integer(LiteralReader *r, Name word) {
  bool is_signed = type_kind(r->shape->type) == KIND_SIGNED;
  bool negative = word.length && word.text[0] == '-';
  int bits = type_bits(r->shape->type);
  uint64_t magnitude = 0;
  bool fits = true;
  for (size_t i = negative; i < word.length; i++) {
    if (word.text[i] < '0' || word.text[i] > '9') return not_a_number(r, word, "a whole number");
    fits = fits && !__builtin_mul_overflow(magnitude, 10, &magnitude) &&
           !__builtin_add_overflow(magnitude, (uint64_t)(word.text[i] - '0'), &magnitude);
  }
  if (word.length == (size_t)negative) return not_a_number(r, word, "a whole number");
  uint64_t max = is_signed ? UINT64_C(1) << (bits - 1) : UINT64_MAX >> (64 - bits);
  if (is_signed) max -= !negative;
  if (!is_signed && negative) max = 0;
  if (!fits || magnitude > max) return out_of_range(r, word);
  Scalar value = {.u = negative ? -magnitude : magnitude};
  scalar_store(r->shape->type, r->data, r->index, value);
  return true;
}

static bool is_word(Name word, const char *text) {
  return strlen(text) == word.length && !memcmp(word.text, text, word.length);
}

static bool store_pred(LiteralReader *r, Name word) {
  bool value = is_word(word, "true");
  if (!value && !is_word(word, "false")) {
    for (size_t i = word.length && word.text[0] == '-'; i < word.length; i++) {
      if (word.text[i] < '0' || word.text[i] > '9') return not_a_number(r, word, "true or false");
      value |= word.text[i] != '0';
    }
    if (!word.length) return not_a_number(r, word, "true or false");
  }
  scalar_store(PRED, r->data, r->index, (Scalar){.u = value});
  return true;
}

/* Reads the (0x123) after nan; *payload stays 0 if there is none. */
static bool read_payload(LiteralReader *r, uint64_t *payload) {
  static const char form[] = "a NaN's payload such as (0x1)";
  *payload = 0;
  if (r->at == r->limit || *r->at != '(') return true;
  const char *start = r->at++;
  Name word = read_word(r);
  bool good = word.length > 2 && word.text[0] == '0' && word.text[1] == 'x' && r->at < r->limit &&
              *r->at == ')';
  for (size_t i = 2; good && i < word.length; i++) {
    int digit = hex_digit(word.text[i]);
    good = digit >= 0 && *payload >> 60 == 0;
    *payload = *payload << 4 | (uint64_t)(digit & 15);
  }
  if (!good) return not_a_number(r, (Name){start, (size_t)(r->at - start), start}, form);
  r->at++;
  return *payload != 0 || parser_error(r->p, start, "a NaN's payload must not be 0");
}

/* Stores a NaN by its bits, to keep sign and payload. */
static bool store_nan(LiteralReader *r, Name word, PrimitiveType type, int64_t index) {
  FloatBits layout;
  uint64_t payload, negative = word.text[0] == '-';
  int bytes = type_bytes(type);
  if (!read_payload(r, &payload)) return false;
  char *element = (char *)r->data + index * bytes;
  if (!float_bits(type, &layout)) {
    if (payload) {
      return parser_error(r->p, word.at, "the NaN of %s has no payload", type_name(type));
    }
    scalar_store(type, r->data, index, (Scalar){.f = NAN});
    *element = (char)(type == F8E4M3FN ? (*element & 0x7F) | (int)(negative << 7) : *element);
    return true;
  }
  uint64_t mask = (UINT64_C(1) << layout.mantissa_bits) - 1;
  if (payload > mask) {
    return parser_error(r->p, word.at, "the payload does not fit; a NaN of %s has %d bits",
                        type_name(type), layout.mantissa_bits);
  }
  if (!payload) payload = quiet_payload(layout);
  uint64_t exponent = ((UINT64_C(1) << layout.exponent_bits) - 1) << layout.mantissa_bits;
  uint64_t bits = payload | exponent | negative << (layout.exponent_bits + layout.mantissa_bits);
  memcpy(element, &bits, (size_t)bytes); /* little-endian, as WebAssembly is */
  return true;
}

static bool store_float(LiteralReader *r, PrimitiveType type, int64_t index) {
  Name word = read_word(r);
  Scalar value = {0};
  if (!number_parse(r->p->scratch, word.text, word.length, &value.f)) {
    return isinf(value.f) ? out_of_range(r, word) : not_a_number(r, word, "a number");
  }
  if (isnan(value.f)) return store_nan(r, word, type, index);
  scalar_store(type, r->data, index, value);
  bool fits = isinf(value.f) ? isinf(scalar_load(type, r->data, index).f)
                             : isfinite(scalar_load(type, r->data, index).f);
  return fits || out_of_range(r, word);
}

static bool step_over(LiteralReader *r, char c, const char *what) {
  r->at = text_skip_space(r->at, r->limit);
  if (r->at < r->limit && *r->at == c) {
    r->at = text_skip_space(r->at + 1, r->limit);
    return true;
  }
  lexer_seek(&r->p->lexer, r->at);
  return parser_expected(r->p, what);
}

/* (re, im) */
static bool store_complex(LiteralReader *r) {
  PrimitiveType component = type_complex_component(r->shape->type);
  if (!step_over(r, '(', "'(' before a complex number") ||
      !store_float(r, component, 2 * r->index) ||
      !step_over(r, ',', "',' between the parts of a complex number") ||
      !store_float(r, component, 2 * r->index + 1)) {
    return false;
  }
  r->at = text_skip_space(r->at, r->limit);
  if (r->at < r->limit && *r->at == ')') {
    r->at++;
    return true;
  }
  return not_a_number(r, (Name){0}, "')' after a complex number");
}

static bool store_element(LiteralReader *r) {
  switch (type_kind(r->shape->type)) {
  case KIND_PRED: return store_pred(r, read_word(r));
  case KIND_SIGNED:
  case KIND_UNSIGNED: return store_integer(r, read_word(r));
  case KIND_FLOAT: return store_float(r, r->shape->type, r->index);
  default: return store_complex(r);
  }
}

/* ---- Arrays ---- */

/* Counts one element or brace on `level`. */
static bool count_one(LiteralReader *r, int level) {
  if (++r->seen[level] <= r->shape->dims[level]) return true;
  return parser_error(r->p, r->at, "more than the %lld elements of dimension %d of %s",
                      (long long)r->shape->dims[level], level, shape_str(r->p->scratch, r->shape));
}

static bool open_brace(LiteralReader *r) {
  if (r->level == r->shape->rank) {
    return parser_error(r->p, r->at, "more braces than %s has dimensions",
                        shape_str(r->p->scratch, r->shape));
  }
  if (r->level && !count_one(r, r->level - 1)) return false;
  r->seen[r->level++] = 0;
  r->at++;
  return true;
}

static bool close_brace(LiteralReader *r) {
  int level = r->level - 1;
  if (level < 0) return not_a_number(r, (Name){0}, "a literal");
  if (r->seen[level] != r->shape->dims[level]) {
    return parser_error(r->p, r->at, "%lld elements in dimension %d, but %s has %lld",
                        (long long)r->seen[level], level, shape_str(r->p->scratch, r->shape),
                        (long long)r->shape->dims[level]);
  }
  r->level--;
  r->at++;
  return true;
}

static bool one_element(LiteralReader *r) {
  int rank = r->shape->rank;
  if (r->level != rank) {
    return parser_error(r->p, r->at, "an element inside of %d braces, but %s has %d dimensions",
                        r->level, shape_str(r->p->scratch, r->shape), rank);
  }
  if (rank && !count_one(r, rank - 1)) return false;
  if (!store_element(r)) return false;
  r->index++;
  return true;
}

static bool read_array(LiteralReader *r) {
  do {
    r->at = text_skip_space(r->at, r->limit);
    char c = r->at < r->limit ? *r->at : '\0';
    if (c == '{') {
      if (!open_brace(r)) return false;
    } else if (c == '}') {
      if (!close_brace(r)) return false;
    } else if (c == ',') {
      r->at++;
    } else if (!one_element(r)) {
      return false;
    }
  } while (r->level);
  return true;
}

/* {...}: XLA's printer left the literal out. */
static bool is_elided(const Parser *p) {
  const char *limit = p->lexer.limit;
  if (p->lexer.kind != '{') return false;
  const char *inside = text_skip_space(p->lexer.end, limit);
  return limit - inside >= 3 && !memcmp(inside, "...", 3);
}

/* Each element takes a character at least, so a short text cannot ask for much memory. */
static bool check_size(Parser *p, const Shape *shape) {
  if (is_elided(p)) {
    return parser_error(p, p->lexer.start,
                        "the literal was left out when the module was printed; print it with "
                        "print_large_constants, or load it with { elided: 'zeros' } or 'random', "
                        "which makes values up");
  }
  if (shape_elements(shape) <= p->lexer.limit - p->lexer.start) return true;
  return parser_error(p, p->lexer.start, "%s has %lld elements; the literal has fewer",
                      shape_str(p->scratch, shape), (long long)shape_elements(shape));
}

static bool is_given(const Parser *p) {
  return p->data && p->lexer.kind == TOKEN_WORD && p->lexer.end - p->lexer.start > 5 &&
         !memcmp(p->lexer.start, "data.", 5);
}

/* data.3: see TextData. */
static Literal *parse_given_literal(Parser *p, const Shape *shape) {
  const TextData *given = p->data;
  const char *at = p->lexer.start;
  int64_t index = p->lexer.end - at < 15 ? 0 : -1;
  for (const char *c = at + 5; index >= 0 && c < p->lexer.end; c++) {
    index = *c >= '0' && *c <= '9' ? index * 10 + (*c - '0') : -1;
  }
  if (index < 0 || index >= given->count) {
    parser_expected(p, "the number of data that was given");
    return NULL;
  }
  if (shape_bytes(shape) != (int64_t)given->sizes[index]) {
    parser_error(p, at, "%u bytes of data are not the elements of %s", given->sizes[index],
                 shape_str(p->scratch, shape));
    return NULL;
  }
  lexer_next(&p->lexer);
  return literal_view(p->arena, shape, given->data[index]);
}

/* Floats from -1 to 1, integers from 0 to 9 (or to the type's highest), predicates. Source: xorshift64*, Vigna 2016 */
static void fill_random(Literal *literal) {
  PrimitiveType type = literal->shape->type, component = type;
  int parts = type_is_complex(type) ? 2 : 1;
  if (parts == 2) component = type_complex_component(type);
  TypeKind kind = type_kind(component);
  uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
  int bits = type_bits(component) - (kind == KIND_SIGNED);
  uint64_t values = bits > 3 ? 10 : UINT64_C(1) << bits;
  for (int64_t i = 0; i < parts * shape_elements(literal->shape); i++) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    uint64_t drawn = state * UINT64_C(2685821657736338717) >> 32;
    Scalar value = {.u = drawn % values};
    if (kind == KIND_FLOAT) value = (Scalar){.f = (double)drawn * 0x1p-31 - 1};
    scalar_store(component, literal->data, i, value);
  }
}

/* Parses {...} as zeros or random values. */
static Literal *parse_elided_literal(Parser *p, const Shape *shape) {
  lexer_seek(&p->lexer, balanced_end(p->lexer.start, p->lexer.limit));
  Literal *literal = literal_new(p->arena, shape);
  memset(literal->data, 0, (size_t)shape_bytes(shape));
  if (p->data->elided == ELIDED_RANDOM) fill_random(literal);
  return literal;
}

/* Parses an array's literal of one element without braces: as in XLA, the other elements are zero. */
static Literal *parse_first_element(Parser *p, const Shape *shape) {
  Literal *literal = literal_new(p->arena, shape);
  memset(literal->data, 0, (size_t)shape_bytes(shape));
  LiteralReader reader = {p, shape, literal->data, p->lexer.start, p->lexer.limit, 0, {0}, 0};
  if (!store_element(&reader)) return NULL;
  lexer_seek(&p->lexer, reader.at);
  return literal;
}

static Literal *parse_array_literal(Parser *p, const Shape *shape) {
  if (is_given(p)) return parse_given_literal(p, shape);
  bool is_whole = is_elided(p) && balanced_end(p->lexer.start, p->lexer.limit);
  if (is_whole && p->data && p->data->elided) return parse_elided_literal(p, shape);
  if (p->lexer.kind != '{' && shape->rank && shape_elements(shape)) {
    return parse_first_element(p, shape);
  }
  if (!check_size(p, shape)) return NULL;
  Literal *literal = literal_new(p->arena, shape);
  LiteralReader reader = {
      .p = p,
      .shape = shape,
      .data = literal->data,
      .at = p->lexer.start,
      .limit = p->lexer.limit,
  };
  if (!read_array(&reader)) return NULL;
  lexer_seek(&p->lexer, reader.at);
  return literal;
}

/* ---- Tuples ---- */

static bool parse_tuple_elements(Parser *p, Literal *literal) {
  for (int i = 0; i < literal->shape->tuple_size; i++) {
    if (i && !parser_expect(p, ',', "',' between the elements of the tuple")) return false;
    literal->elements[i] = parse_literal(p, literal->shape->elements[i]);
    if (!literal->elements[i]) return false;
  }
  return true;
}

static Literal *parse_tuple_literal(Parser *p, const Shape *shape) {
  Literal *literal = literal_view(p->arena, shape, NULL);
  if (!parser_enter(p) || !parser_expect(p, '(', "'(' before the tuple's elements") ||
      !parse_tuple_elements(p, literal) || !parser_expect(p, ')', "')' after the tuple")) {
    return NULL;
  }
  p->nesting--;
  return literal;
}

Literal *parse_literal(Parser *p, const Shape *shape) {
  if (shape_is_tuple(shape)) return parse_tuple_literal(p, shape);
  if (shape_is_array(shape)) return parse_array_literal(p, shape);
  parser_error(p, p->lexer.start, "there are no literals of shape %s",
               shape_str(p->scratch, shape));
  return NULL;
}
