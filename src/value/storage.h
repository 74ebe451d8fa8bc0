/*
** Packed arrays: elements of 4 or 2 bits, two or four in a byte, as XLA:CPU keeps them. The first element is in the lowest
** bits. Bits after the last element are 0. Arguments, results and constants lie so; a program's temporaries take a byte for
** each element (rewrite/fuse/pack_storage.c).
*/
#ifndef XLA_VALUE_STORAGE_H
#define XLA_VALUE_STORAGE_H

#include <stdint.h>

#include "value/types.h"

/* Packs `count` elements of a byte each. `to` has room for whole bytes. */
void elements_pack(PrimitiveType type, const uint8_t *from, int64_t count, uint8_t *to);
/* Reads `count` elements, from number `first` on, to a byte each: signed ones are sign-extended. */
void elements_unpack(PrimitiveType type, const uint8_t *from, int64_t first, int64_t count,
                     uint8_t *to);

#endif
