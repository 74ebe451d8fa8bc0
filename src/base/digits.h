/* Digits of text. The C library's functions depend on the locale. */
#ifndef XLA_BASE_DIGITS_H
#define XLA_BASE_DIGITS_H

#include <stdbool.h>

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the value of a hexadecimal digit; -1 if it is none. */
static inline int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
