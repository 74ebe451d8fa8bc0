/* Reads and writes the numbers of HLO text, in every element type. */
#ifndef XLA_HLO_TEXT_NUMBERS_H
#define XLA_HLO_TEXT_NUMBERS_H

#include <stdint.h>

#include "base/arena.h"
#include "value/types.h"

/* Reads a decimal number, inf, -inf, nan or -nan as the nearest double. Returns false if it is none of these, or
** is beyond the largest double; then *value is infinite. `scratch` is for very long numbers. */
bool number_parse(Arena *scratch, const char *text, size_t length, double *value);

/* The bits of a float type whose NaNs have payloads: sign, exponent, mantissa. */
typedef struct FloatBits {
  int exponent_bits, mantissa_bits;
} FloatBits;
/* False for types without NaN payloads, which are those without infinities. */
bool float_bits(PrimitiveType type, FloatBits *bits);
/* The payload of XLA's plain `nan`: the quiet bit alone. */
static inline uint64_t quiet_payload(FloatBits bits) {
  return UINT64_C(1) << (bits.mantissa_bits - 1);
}

enum { NUMBER_SIZE = 96 };
/* Prints element `index` of an array of `type` at `data`, without parentheses round a complex number's
** "re, im". Floats get the shortest decimal that reads back as the same value; -0 is "-0.0", since
** XLA reads "-0" as an integer. `out` has NUMBER_SIZE bytes. Returns the length. */
int number_print(char *out, PrimitiveType type, const void *data, int64_t index);

#endif
