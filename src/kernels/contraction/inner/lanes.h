/*
** Declares the innermost loops of contractions, for each kind of lane. They take only pointers and strides
** (in bytes), and call no function. So they can be compiled a second time, into a module of their own, for
** engines with fused multiply-add.
*/
#ifndef XLA_KERNELS_CONTRACTION_LANES_H
#define XLA_KERNELS_CONTRACTION_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/panels.h"

/* A lane is one number. For LOOPS_S16 it is two numbers in sequence along the depth; their products add up
** to one s32. */
typedef enum LoopKind {
  LOOPS_F32,
  LOOPS_F64,
  LOOPS_S32,
  LOOPS_S64,
  LOOPS_S16,
  LOOP_KINDS
} LoopKind;

/* The initial value of the sums: a zero, or the values at `out`. */
typedef enum Start { START_ZERO, START_NEGATIVE_ZERO, START_OUT } Start;

/* Threshold MAX_PANEL_ROWS: the rows of a panel of the lhs, at most (each loop has its own). Test: "products: of [m,k] and [k,n]
** by sums" in core/thresholds.test.mjs. */
enum { MAX_PANEL_ROWS = 6 };

/*
** Multiplies a panel of columns by `panels` panels of rows, `lhs_stride` apart:
**
**     out[row][column] (+)= sum over depth of lhs[depth][row] * rhs[depth][column]
**
** `out` points to PANEL_COLUMN_BYTES of sums for each row.
*/
typedef void TileLoop(int depth, const void *lhs, ptrdiff_t lhs_stride, int panels, const void *rhs,
                      void *const *out, Start start);

/* Offsets of rows and of numbers of the depth, in bytes from the first one. */
typedef struct RowAt {
  ptrdiff_t lhs, out;
} RowAt;
typedef struct DepthAt {
  ptrdiff_t lhs, rhs;
} DepthAt;

/*
** Multiplies matrices in place, without packing:
**
**     out[row[i].out][column] = sum over k of lhs[row[i].lhs + at[k].lhs] * rhs[at[k].rhs][column]
**
** The columns of the rhs and of `out` are contiguous; there are at least as many as a vector has lanes.
** Some are computed twice.
*/
typedef void PlainLoop(int rows, int columns, int depth, const void *lhs, const RowAt *row,
                       const void *rhs, const DepthAt *at, void *out, Start start);

/*
** Multiplies a few vectors by a matrix, in the order of the matrix's elements:
**
**     sums[row][column] += sum over depth of vectors[row][depth] * matrix[depth][column]
**
** The vectors' depth is dense. `sums` has room for whole vectors of columns.
*/
typedef void StreamLoop(int rows, int columns, int depth, const void *vectors,
                        ptrdiff_t vector_stride, const void *matrix, ptrdiff_t matrix_stride,
                        void *sums, ptrdiff_t sums_stride);

typedef struct LaneLoops {
  int panel_rows;
  TileLoop *tile;
  PlainLoop *plain;
  StreamLoop *by_depth;   /* matrix[depth] are contiguous rows, matrix_stride apart */
  StreamLoop *by_columns; /* matrix[column] are contiguous lines, matrix_stride apart */
} LaneLoops;

/* The loops without fused multiply-add. */
extern const LaneLoops lane_loops[LOOP_KINDS];

/*
** Returns the loops that this thread uses: with fused multiply-add if the engine has it and it is allowed. All
** threads use the same loops.
*/
const LaneLoops *lanes_of(LoopKind kind);

#endif
