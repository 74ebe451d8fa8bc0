#include "hlo/text/lexer.h"

#include <string.h>

#include "base/digits.h"
#include "value/shape_text.h"

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c) || c == '.' || c == '-'; }

void lexer_init(Lexer *lexer, const char *text, size_t length) {
  *lexer = (Lexer){.text = text, .limit = text + length};
  lexer_seek(lexer, text);
}

void lexer_next(Lexer *lexer) { lexer_seek(lexer, lexer->end); }

static void bad(Lexer *lexer, const char *problem) {
  lexer->kind = TOKEN_BAD;
  lexer->problem = problem;
}

static const char *skip_name(const Lexer *lexer, const char *at) {
  while (at < lexer->limit && is_name_char(*at)) at++;
  return at;
}

/* Skips -?digits[.digits][e[+-]digits]. The reader of the number finds errors in it. */
static const char *skip_number(const Lexer *lexer, const char *at) {
  while (at < lexer->limit && (is_digit(*at) || *at == '.')) at++;
  if (at == lexer->limit || (*at != 'e' && *at != 'E')) return at;
  const char *exponent = at + 1;
  if (exponent < lexer->limit && (*exponent == '+' || *exponent == '-')) exponent++;
  if (exponent == lexer->limit || !is_digit(*exponent)) return at;
  while (exponent < lexer->limit && is_digit(*exponent)) exponent++;
  return exponent;
}

/* Returns the position after the closing quote; NULL if there is none. */
static const char *string_end(const char *at, const char *limit) {
  char quote = *at++;
  for (; at < limit && *at; at++) {
    if (*at == quote) return at + 1;
    if (*at == '\\' && limit - at > 1) at++;
  }
  return NULL;
}

static void lex_minus(Lexer *lexer) {
  const char *next = lexer->start + 1;
  char c = next < lexer->limit ? *next : '\0';
  lexer->kind = '-';
  if (c == '>') {
    lexer->kind = TOKEN_ARROW;
    lexer->end = next + 1;
  } else if (is_digit(c) || c == '.') {
    lexer->kind = TOKEN_NUMBER;
    lexer->end = skip_number(lexer, next);
  } else if (is_name_start(c)) {
    lexer->kind = TOKEN_NUMBER;
    lexer->end = skip_name(lexer, next);
  }
}

static void lex_string(Lexer *lexer) {
  const char *end = string_end(lexer->start, lexer->limit);
  if (!end) {
    bad(lexer, "a string that does not end");
    return;
  }
  lexer->kind = TOKEN_STRING;
  lexer->end = end;
}

static void lex_percent(Lexer *lexer) {
  const char *name = lexer->start + 1;
  if (name == lexer->limit || !is_name_start(*name)) {
    bad(lexer, "a % without a name");
    return;
  }
  lexer->kind = TOKEN_NAME;
  lexer->start = name;
  lexer->end = skip_name(lexer, name);
}

void lexer_seek(Lexer *lexer, const char *at) {
  lexer->start = text_skip_space(at, lexer->limit);
  if (lexer->start == lexer->limit) {
    lexer->kind = TOKEN_END;
    lexer->end = lexer->start;
    return;
  }
  char c = *lexer->start;
  lexer->kind = (unsigned char)c;
  lexer->end = lexer->start + 1;
  if (is_name_start(c)) {
    lexer->kind = TOKEN_WORD;
    lexer->end = skip_name(lexer, lexer->start);
  } else if (is_digit(c)) {
    lexer->kind = TOKEN_NUMBER;
    lexer->end = skip_number(lexer, lexer->start);
  } else if (c == '-') {
    lex_minus(lexer);
  } else if (c == '%') {
    lex_percent(lexer);
  } else if (c == '"' || c == '\'') {
    lex_string(lexer);
  } else if (c == '<' && lexer->end < lexer->limit && *lexer->end == '=') {
    lexer->kind = TOKEN_LESS_EQUAL;
    lexer->end++;
  } else if (c == '/') {
    bad(lexer, "a comment that does not end");
  } else if (!strchr("(){}[],=:.?*#+~<>@", c) || c == '\0') {
    bad(lexer, "a character that has no meaning here");
  }
}

bool lexer_is_word(const Lexer *lexer, const char *word) {
  size_t length = lexer_length(lexer);
  return lexer->kind == TOKEN_WORD && !strncmp(lexer->start, word, length) && !word[length];
}

void lexer_position(const Lexer *lexer, const char *at, int *line, int *column) {
  const char *line_start = lexer->text;
  *line = 1;
  for (const char *c = lexer->text; c < at; c++) {
    if (*c != '\n') continue;
    (*line)++;
    line_start = c + 1;
  }
  *column = (int)(at - line_start) + 1;
}

/* ---- Strings ---- */

static size_t put_utf8(char *out, uint32_t code) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out[0] = (char)((0xFF00 >> (more + 1)) | (code >> (6 * more)));
  for (int i = 1; i <= more; i++) out[i] = (char)(0x80 | ((code >> (6 * (more - i))) & 0x3F));
  return (size_t)more + 1;
}

/* Reads 1 to `max` digits of `base`; false if there is none. */
static bool read_code(const char **at, const char *end, int base, int max, uint32_t *code) {
  int count = 0;
  for (*code = 0; count < max && *at < end; count++, (*at)++) {
    int digit = hex_digit(**at);
    if (digit < 0 || digit >= base) break;
    *code = *code * (uint32_t)base + (uint32_t)digit;
  }
  return count > 0;
}

/* Resolves the escape at *at, after the backslash, into `out`. Returns its number of bytes, 0 if malformed. */
static size_t unescape_one(const char **at, const char *end, char *out) {
  static const char letters[] = "nrtabfv\\'\"?", meanings[] = "\n\r\t\a\b\f\v\\'\"?";
  char c = **at;
  const char *letter = c ? strchr(letters, c) : NULL;
  uint32_t code;
  if (letter) {
    (*at)++;
    out[0] = meanings[letter - letters];
    return 1;
  }
  if (c >= '0' && c <= '7') {
    if (!read_code(at, end, 8, 3, &code) || code == 0 || code > 0xFF) return 0;
    out[0] = (char)code;
    return 1;
  }
  (*at)++;
  if (c == 'x' || c == 'X') {
    if (!read_code(at, end, 16, 2, &code) || code == 0) return 0;
    out[0] = (char)code;
    return 1;
  }
  if (c == 'u' || c == 'U') {
    if (!read_code(at, end, 16, c == 'u' ? 4 : 8, &code) || code == 0 || code > 0x10FFFF) return 0;
    return put_utf8(out, code);
  }
  return 0;
}

char *string_unescape(Arena *arena, const char *start, const char *end, const char **problem) {
  /* No escape is shorter than its value. */
  char *text = arena_alloc(arena, (size_t)(end - start) + 1), *out = text;
  for (const char *at = start + 1; at < end - 1;) {
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    at++;
    size_t bytes = unescape_one(&at, end - 1, out);
    if (!bytes) {
      *problem = "the string has a malformed escape, or one that stands for NUL";
      return NULL;
    }
    out += bytes;
  }
  return text;
}

/* ---- Groups and names ---- */

const char *balanced_end(const char *at, const char *limit) {
  int64_t depth = 0;
  while (at < limit && *at) {
    char c = *at;
    if (c == '"' || c == '\'') {
      at = string_end(at, limit);
      if (!at) return NULL;
      continue;
    }
    if (c == '/') {
      const char *after = text_skip_space(at, limit);
      if (after != at) {
        at = after;
        continue;
      }
    }
    at++;
    if (c == '{' || c == '(' || c == '[') depth++;
    if ((c == '}' || c == ')' || c == ']') && --depth == 0) return at;
  }
  return NULL;
}

bool name_is_reserved(const char *name, size_t length) {
  static const char *const words[] = {
      "nan",           "inf",         "true",          "false",
      "HloModule",     "ENTRY",       "ROOT",          "FileNames",
      "maximal",       "replicated",  "manual",        "last_tile_dim_replicate",
      "FunctionNames", "StackFrames", "unknown",       "unreduced",
      "shard_as",      "shard_like",  "FileLocations",
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (*words[i] == *name && strlen(words[i]) == length && !memcmp(words[i], name, length)) {
      return true;
    }
  }
  PrimitiveType type = type_from_name(name, length);
  return type != PRIMITIVE_TYPE_INVALID && type != TUPLE;
}
