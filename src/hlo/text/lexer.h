/*
** Splits HLO text into tokens, one at a time. The parser may also read the text at the current token by
** another grammar (a shape, a literal, 1_2x3_4) and continue after it with lexer_seek.
*/
#ifndef XLA_HLO_TEXT_LEXER_H
#define XLA_HLO_TEXT_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* The kind of punctuation is its character: '(', ')', '{', '}', '[', ']', ',', '=', ':', ... */
typedef enum TokenKind {
  TOKEN_END = 256,
  TOKEN_BAD,        /* see Lexer.problem */
  TOKEN_WORD,       /* [A-Za-z_][A-Za-z0-9_.-]* */
  TOKEN_NAME,       /* the same after a %, which `start` does not include */
  TOKEN_NUMBER,     /* 12, -3.5e-7, -inf, -nan */
  TOKEN_STRING,     /* with its quotes */
  TOKEN_ARROW,      /* -> */
  TOKEN_LESS_EQUAL, /* <= */
} TokenKind;

typedef struct Lexer {
  const char *text, *limit; /* the whole text; it need not end in NUL */
  int kind;                 /* of the current token: TokenKind or a character */
  const char *start, *end;  /* of the current token */
  const char *problem;      /* the error of a TOKEN_BAD */
} Lexer;

/* Starts at the first token. */
void lexer_init(Lexer *lexer, const char *text, size_t length);
void lexer_next(Lexer *lexer);
/* Makes the first token at or after `at` the current one. */
void lexer_seek(Lexer *lexer, const char *at);

static inline size_t lexer_length(const Lexer *lexer) {
  return (size_t)(lexer->end - lexer->start);
}
bool lexer_is_word(const Lexer *lexer, const char *word);

/* Finds the line and column of `at`, both from 1, in linear time: for errors only. */
void lexer_position(const Lexer *lexer, const char *at, int *line, int *column);

/* Returns a quoted string's contents, escapes resolved. NULL and *problem if an escape is malformed or
** stands for NUL. */
char *string_unescape(Arena *arena, const char *start, const char *end, const char **problem);

/* Returns the end of the group of balanced brackets that opens at `at`, skipping strings and comments.
** NULL if it does not end. */
const char *balanced_end(const char *at, const char *limit);

/* Whether XLA's parser reads this word, [A-Za-z_][A-Za-z0-9_.-]*, as something other than a name. */
bool name_is_reserved(const char *name, size_t length);

bool is_name_start(char c);
bool is_name_char(char c);

#endif
