/*
** Declares the innermost loops of products with narrow numbers. They take only pointers, and call no function: in WebAssembly
** they are a module of their own (relax.h), of which functions are known by number.
*/
#ifndef XLA_KERNELS_CONTRACTION_NARROW_LOOPS_H
#define XLA_KERNELS_CONTRACTION_NARROW_LOOPS_H

#include "kernels/contraction/inner/narrow.h"

/* The loops of a row. ORDER NARROW_SLOT */
typedef enum NarrowSlot {
  SLOT_ROWS,    /* one vector by several rows of the matrix */
  SLOT_ROW,     /* one vector by one row */
  SLOT_VECTORS, /* NARROW_ROWS vectors by one row */
  SLOT_LINES,   /* one vector by several lines */
  SLOT_PAIR,    /* one vector by two lines */
  SLOT_LINE,    /* NARROW_ROWS vectors by one line */
  NARROW_SLOTS
} NarrowSlot;

/* Multiplies vectors by rows of the matrix, `apart` rows from each other, as long as there are whole steps of columns. */
typedef void DepthLoop(const NarrowBlock *block, const uint8_t *vectors, const uint8_t *matrix,
                       uint8_t *sums, int apart);
/* Multiplies vectors by lines, `stride` from each other, as long as there are whole steps of the depth. Their scales and zeros
** are scale_stride from each other, their sums `apart` numbers. */
typedef void ColumnsLoop(const NarrowBlock *block, const uint8_t *vectors, const uint8_t *matrix,
                         ptrdiff_t stride, const uint8_t *scales, const uint8_t *zeros,
                         ptrdiff_t scale_stride, uint8_t *sums, int apart);

/* The loops of ROW_prepare, which convert `count` elements, a multiple of 16, to bf16. ORDER NARROW_SLOT */
typedef enum PrepareSlot { SLOT_F8E4M3FN, SLOT_F8E5M2 } PrepareSlot;
typedef void PrepareLoop(const uint8_t *elements, int64_t count, uint8_t *out);

/* Returns a DepthLoop, a ColumnsLoop or a PrepareLoop. */
void *narrow_loop(NarrowRow row, int slot);

#endif
