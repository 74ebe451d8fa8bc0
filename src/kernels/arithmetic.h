/*
** What contractions compute with. Operands of any type are converted to one of seven element types
** when they are packed, multiplied by a micro-kernel, and added up as one of six:
**
**     results              elements   sums
**     f64, or an operand   f64        f64
**     other floats         f32        f32
**     c128, c64            c128, c64  c128, c64: two reals each
**     8 bytes of integer   s64        s64
**     integers             s16, if the operands fit, else s32; s32
**
** Integers are added modulo 2^32 or 2^64, and so are right modulo the width of the result's type,
** whatever its sign.
*/
#ifndef XLA_KERNELS_ARITHMETIC_H
#define XLA_KERNELS_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shape/types.h"

/* What a micro-kernel's sums are added to: a zero, or what is at `out`. */
typedef enum Start { START_ZERO, START_NEGATIVE_ZERO, START_OUT } Start;

enum {
  PANEL_ROWS = 4, /* with two vectors of columns, 8 vectors of sums: see arithmetic.c */
  PANEL_COLUMN_BYTES = 32,
};

/*
** A panel of columns times `panels` panels of rows, which are `lhs_stride` bytes apart:
**
**     out[row][column] (+)= sum over depth of lhs[depth][row] * rhs[depth][column]
**
** `out` points to PANEL_COLUMN_BYTES of sums for each row.
*/
typedef void MicroKernel(int depth, const void *lhs, size_t lhs_stride, int panels, const void *rhs,
                         void *const *out, Start start);

typedef struct Arithmetic {
  PrimitiveType element, sum;
  int reals;         /* 2 if complex */
  int lane_bytes;    /* of one lane of a panel: a real, or a pair of s16 */
  int lane_elements; /* reals of the depth in a lane: 2 for s16 */
  MicroKernel *multiply;
} Arithmetic;

const Arithmetic *arithmetic_for(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result);
/* Of elements that are as wide as their sums: s32 instead of s16. */
const Arithmetic *arithmetic_plain(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result);

#endif
