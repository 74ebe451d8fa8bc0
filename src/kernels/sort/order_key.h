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
  uint64_t magnitude;        /* all bits but the sign. With ties, and more than one byte: */
  uint64_t zero;             /* what of a zero's bits stays */
  uint64_t infinity, nan;    /* a NaN's magnitude is more than this; what stands for a NaN */
  uint8_t rank[256];         /* of types of one byte: bits to key */
  uint8_t bits_of_rank[256]; /* and back, where no ties are */
} OrderKey;

typedef enum NanOrder {
  NANS_BY_BITS, /* in the total order */
  NANS_TIE,     /* all like the given one */
  NANS_LAST,    /* after all numbers, also in descending order */
} NanOrder;

/* Keys for elements of `type`, which is real. Zeros and NaNs matter for floats; `nan` points to an
** element, for NANS_TIE. */
void order_key_init(OrderKey *key, PrimitiveType type, bool descending, bool zeros_tie,
                    NanOrder nans, const void *nan);

/* One element of `bytes` bytes as an unsigned integer. */
static inline uint64_t element_bits(const uint8_t *data, int64_t index, int bytes) {
  uint8_t narrow;
  uint16_t half;
  uint32_t word;
  uint64_t wide;
  switch (bytes) { /* constants, so that memcpy is one move */
  case 1: memcpy(&narrow, data + index, 1); return narrow;
  case 2: memcpy(&half, data + index * 2, 2); return half;
  case 4: memcpy(&word, data + index * 4, 4); return word;
  default: memcpy(&wide, data + index * 8, 8); return wide;
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

/* An element's bits with zeros and NaNs made one; for types of more than one byte. */
static inline uint64_t canonical_bits(const OrderKey *key, uint64_t bits) {
  uint64_t magnitude = bits & key->magnitude;
  bits = magnitude > key->infinity ? key->nan : bits;
  return magnitude == 0 ? bits & key->zero : bits;
}

/* The key of an element that has these bits. `bytes` is the key's, known to the compiler. */
static inline uint64_t key_of_bits(const OrderKey *key, uint64_t bits, int bytes) {
  if (bytes == 1) return key->rank[bits];
  if (key->ties) bits = canonical_bits(key, bits);
  uint64_t negative = 0 - (bits >> (8 * bytes - 1));
  return bits ^ key->sign ^ (negative & key->flip) ^ key->last;
}

/* The bits of an element that has this key, where no ties are. */
static inline uint64_t bits_of_key(const OrderKey *key, uint64_t value, int bytes) {
  if (bytes == 1) return key->bits_of_rank[value];
  value ^= key->last;
  uint64_t positive = 0 - (value >> (8 * bytes - 1));
  return value ^ key->sign ^ (~positive & key->flip);
}

#endif
