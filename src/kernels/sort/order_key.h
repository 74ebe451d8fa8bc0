/*
** Order keys: bits of an element, changed so that they compare as unsigned integers like the elements.
** sort and topk use them.
**
**     integers         sign bit flipped if signed
**     floats           the sign bit set, or of negative ones all bits flipped: the total order
**                      -NaN < -inf < ... < -0 < +0 < ... < inf < NaN
**     8 bits and less  by a table
**     descending       all bits of the above flipped
**
** If zeros tie, -0 first becomes +0; if NaNs tie, each becomes a given NaN.
*/
#ifndef XLA_KERNELS_SORT_ORDER_KEY_H
#define XLA_KERNELS_SORT_ORDER_KEY_H

#include <string.h>

#include "value/scalar.h"

typedef struct OrderKey {
  PrimitiveType type;
  int bytes;                 /* of an element, and of its key */
  bool ties;                 /* elements with different bits may have the same key */
  uint64_t sign, flip, last; /* key = bits ^ sign ^ (flip if negative) ^ last */
  uint64_t magnitude;        /* mask of all bits but the sign. If ties, and more than one byte: */
  uint64_t zero;             /* mask applied to the bits of a zero */
  uint64_t infinity, nan;    /* NaNs have larger magnitudes than infinity; the bits for all NaNs */
  uint8_t rank[256];         /* types of one byte: bits to key */
  uint8_t bits_of_rank[256]; /* and back, if there are no ties */
} OrderKey;

typedef enum NanOrder {
  NANS_BY_BITS, /* in the total order */
  NANS_TIE,     /* all equal to the given one */
  NANS_LAST,    /* after all numbers, also in descending order */
} NanOrder;

/* Sets up keys for elements of the real type `type`. zeros_tie and nans: for floats. nan: for NANS_TIE, points
** to an element. */
void order_key_init(OrderKey *key, PrimitiveType type, bool descending, bool zeros_tie,
                    NanOrder nans, const void *nan);

/* Returns an element of `bytes` bytes as an unsigned integer. */
static inline uint64_t element_bits(const uint8_t *data, int64_t index, int bytes) {
  uint8_t narrow;
  uint16_t half;
  uint32_t word;
  uint64_t bits64;
  switch (bytes) { /* constants, so that memcpy is one move */
  case 1: memcpy(&narrow, data + index, 1); return narrow;
  case 2: memcpy(&half, data + index * 2, 2); return half;
  case 4: memcpy(&word, data + index * 4, 4); return word;
  default: memcpy(&bits64, data + index * 8, 8); return bits64;
  }
}

static inline void set_element_bits(uint8_t *data, int64_t index, int bytes, uint64_t bits) {
  uint16_t half = (uint16_t)bits;
  uint32_t word = (uint32_t)bits;
  switch (bytes) {
  case 1: data[index] = (uint8_t)bits; break;
  case 2: memcpy(data + index * 2, &half, 2); break;
  case 4: memcpy(data + index * 4, &word, 4); break;
  default: memcpy(data + index * 8, &bits, 8); break;
  }
}

/* Returns an element's bits, with one representation for tied zeros and NaNs; for types of more than one byte. */
static inline uint64_t canonical_bits(const OrderKey *key, uint64_t bits) {
  uint64_t magnitude = bits & key->magnitude;
  bits = magnitude > key->infinity ? key->nan : bits;
  return magnitude == 0 ? bits & key->zero : bits;
}

/* Returns the key of an element with these bits. bytes: size of the key, a compile-time constant. */
static inline uint64_t key_of_bits(const OrderKey *key, uint64_t bits, int bytes) {
  if (bytes == 1) return key->rank[bits];
  if (key->ties) bits = canonical_bits(key, bits);
  uint64_t negative = 0 - (bits >> (8 * bytes - 1));
  return bits ^ key->sign ^ (negative & key->flip) ^ key->last;
}

/* Returns the bits of the element with this key, if there are no ties. */
static inline uint64_t bits_of_key(const OrderKey *key, uint64_t value, int bytes) {
  if (bytes == 1) return key->bits_of_rank[value];
  value ^= key->last;
  uint64_t positive = 0 - (value >> (8 * bytes - 1));
  return value ^ key->sign ^ (~positive & key->flip);
}

#endif
