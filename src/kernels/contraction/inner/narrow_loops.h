/*
** Declares the innermost loops of products with narrow numbers. They are pure: they take only pointers, and call no function. In
** WebAssembly they are compiled to a separate module (relax.h), whose functions the core calls by table index.
*/
#ifndef XLA_KERNELS_CONTRACTION_NARROW_LOOPS_H
#define XLA_KERNELS_CONTRACTION_NARROW_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Threshold NARROW_DEPTH, LINE_VECTORS. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Threshold NARROW_VECTORS. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
enum {
  NARROW_DEPTH = 8,   /* at most as many rows of the matrix are multiplied at a time */
  NARROW_VECTORS = 2, /* vectors that are multiplied by two rows at a time */
  LINE_VECTORS = 4    /* by a line */
};

/* Strides are in bytes. Vectors and sums have room for whole vectors of 16 columns, or of the depth. */
typedef struct NarrowBlock {
  int rows, columns, depth;
  const uint8_t *vectors, *matrix;
  ptrdiff_t vector_stride, matrix_stride;
  /* By depth: one scale for each column; plain loops have none. By columns: one for each line and `scale_block` numbers of the
  ** depth, which is a multiple of 16; lines are scale_stride apart. The same of zeros, which are divided by the type's factor;
  ** only loops of moved and of rounded numbers read them. Affine loops add them after the scales: biases, which are not divided.
  ** Scales are multiplied by the factor. Plain loops by columns multiply their sums by `factor`. */
  const float *scales, *zeros;
  ptrdiff_t scale_stride;
  int scale_block;
  float factor; /* 1 if vectors are multiplied by it */
  float less;   /* what affine loops subtract from each number first, divided by the factor */
  float rounding
      [2]; /* how products with scales, and sums with biases, are rounded: see rounded in narrow_loops.c */
  uint8_t flipped;    /* the bits to invert in each byte, which makes unsigned bytes signed */
  const float *table; /* of numbers that are looked up: 16 values; NULL: there are none */
  uint8_t *sums;
  ptrdiff_t sums_stride;
  bool *misread; /* set if a number was; then the sums are wrong */
} NarrowBlock;

/* What loops read and do: the table in narrow_loops.c. ORDER NARROW_ROW */
typedef enum NarrowRow {
  ROW_NONE,
  ROW_bf16,
  ROW_scaled_bf16,
  ROW_scaled_f8e4m3fn,
  ROW_f8e4m3fn,
  ROW_f16,
  ROW_scaled_f16,
  ROW_scaled_f8e5m2,
  ROW_f8e5m2,
  ROW_s8,
  ROW_less_s8,
  ROW_scaled_s8,
  ROW_moved_s8,
  ROW_rounded_s8,
  ROW_affine_s8,
  ROW_signed,
  ROW_centered,
  ROW_scaled_signed,
  ROW_moved_unsigned,
  ROW_rounded_whole,
  ROW_rounded_unsigned,
  ROW_affine_unsigned,
  ROW_rounded_affine_unsigned,
  ROW_found,
  ROW_rounded_f32,
} NarrowRow;

/* The loops of a row. ORDER NARROW_SLOT */
typedef enum NarrowSlot {
  SLOT_ROWS,    /* one vector by several rows of the matrix */
  SLOT_ROW,     /* one vector by one row */
  SLOT_VECTORS, /* NARROW_VECTORS vectors by two rows */
  SLOT_LINES,   /* one vector by several lines */
  SLOT_PAIR,    /* one vector by two lines */
  SLOT_LINE,    /* LINE_VECTORS vectors by one line */
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

/* Returns a DepthLoop or a ColumnsLoop. */
void *narrow_loop(NarrowRow row, int slot);

#endif
