/*
** Loops that widen narrow elements to f32, exactly: what a product reads before it multiplies.
*/
#ifndef XLA_KERNELS_CONTRACTION_WIDEN_H
#define XLA_KERNELS_CONTRACTION_WIDEN_H

#include <stdint.h>

#include "value/types.h"

/* Widens `count` elements. `to`: as many f32, of any alignment. */
typedef void WidenLoop(const void *from, int64_t count, void *to);

/* Returns the loop of a type; NULL if it has none. */
WidenLoop *widen_loop(PrimitiveType from);

#endif
