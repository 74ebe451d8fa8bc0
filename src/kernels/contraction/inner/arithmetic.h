/*
** Chooses the types that contractions compute with. Operands of any type are converted to one of seven element
** types when packed, multiplied by the loops of lanes.h, and added up in one of six:
**
**     results              elements   sums
**     f64, or an operand   f64        f64
**     other floats         f32        f32
**     c128, c64            c128, c64  c128, c64: two reals each
**     8 bytes of integer   s64        s64
**     narrow integers      s16        s32: operands of at most 16 bits (signed) or 8 bits (unsigned)
**     other integers       s32        s32
**
** Integers are added modulo 2^32 or 2^64, which is right modulo the width of the result's type, signed or
** unsigned.
*/
#ifndef XLA_KERNELS_CONTRACTION_ARITHMETIC_H
#define XLA_KERNELS_CONTRACTION_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/contraction/inner/lanes.h"
#include "value/types.h"

typedef struct Arithmetic {
  PrimitiveType element, sum;
  int reals;         /* 2 if complex */
  int lane_bytes;    /* of one lane of a panel: a real, or a pair of s16 */
  int lane_elements; /* reals of the depth in a lane: 2 for s16 */
  LoopKind loops;
} Arithmetic;

const Arithmetic *arithmetic_for(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result);
/* Returns the arithmetic whose elements are as wide as their sums: s32 instead of s16. */
const Arithmetic *arithmetic_plain(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result);

#endif
