/*
** Loops that unpack elements of 4 or 2 bits (value/storage.h) to bytes, signed ones sign-extended; and f8e5m2 to f16.
*/
#ifndef XLA_KERNELS_CONTRACTION_UNPACK_H
#define XLA_KERNELS_CONTRACTION_UNPACK_H

#include <stdint.h>

#include "value/types.h"

/* Writes `count` elements, from number `first` on. */
void unpack(PrimitiveType type, const uint8_t *from, int64_t first, int64_t count, uint8_t *to);
void unpack_f8e5m2(const uint8_t *from, int64_t count, uint8_t *to);

#endif
