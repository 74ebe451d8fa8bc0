/*
** Loops that unpack elements of 4 or 2 bits (value/storage.h) to bytes: signed ones are sign-extended.
*/
#ifndef XLA_KERNELS_CONTRACTION_UNPACK_H
#define XLA_KERNELS_CONTRACTION_UNPACK_H

#include <stdint.h>

#include "value/types.h"

/* Writes `count` elements, from number `first` on. */
void unpack(PrimitiveType type, const uint8_t *from, int64_t first, int64_t count, uint8_t *to);

#endif
