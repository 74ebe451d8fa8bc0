/*
** The innermost loops of contractions, for each kind of lane that they compute with. They know
** pointers and strides (in bytes) only, and call nothing; so they can be compiled a second time, into
** a module of their own, for engines with fused multiply-add.
*/
#ifndef XLA_KERNELS_CONTRACTION_LANES_H
#define XLA_KERNELS_CONTRACTION_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A lane is a number, or of LANES_S16 two numbers that follow each other along the depth, whose sum
** of products is one s32. */
typedef enum LaneKind {
  LANES_F32,
  LANES_F64,
  LANES_S32,
  LANES_S64,
  LANES_S16,
  LANE_KINDS
} LaneKind;

/* The initial value of the sums: a zero, or the values at `out`. */
typedef enum Start { START_ZERO, START_NEGATIVE_ZERO, START_OUT } Start;

/* The width of a panel: of the rhs in bytes of columns; of the lhs in rows, at most (each loop has its own). */
enum { PANEL_COLUMN_BYTES = 32, MAX_PANEL_ROWS = 6 };

/*
** A panel of columns times `panels` panels of rows, which are `lhs_stride` apart:
**
**     out[row][column] (+)= sum over depth of lhs[depth][row] * rhs[depth][column]
**
** `out` points to PANEL_COLUMN_BYTES of sums for each row.
*/
typedef void TileLoop(int depth, const void *lhs, ptrdiff_t lhs_stride, int panels, const void *rhs,
                      void *const *out, Start start);

/* Where rows, and numbers of the depth, are: in bytes, from the first one on. */
typedef struct RowAt {
  ptrdiff_t lhs, out;
} RowAt;
typedef struct DepthAt {
  ptrdiff_t lhs, rhs;
} DepthAt;

/*
** A product of matrices where they are, wherever that is:
**
**     out[row[i].out][column] = sum over k of lhs[row[i].lhs + at[k].lhs] * rhs[at[k].rhs][column]
**
** The columns of the rhs are neighbours, and so are those of `out`; there are at least as many as a
** vector has lanes. Some are computed twice.
*/
typedef void PlainLoop(int rows, int columns, int depth, const void *lhs, const RowAt *row,
                       const void *rhs, const DepthAt *at, void *out, Start start);

/*
** A few vectors times a matrix, as its elements come by:
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
  StreamLoop *by_depth;   /* matrix[depth] are rows of neighbours, matrix_stride apart */
  StreamLoop *by_columns; /* matrix[column] are lines of neighbours, matrix_stride apart */
} LaneLoops;

/* Without fused multiply-add. */
extern const LaneLoops lane_loops[LANE_KINDS];

/*
** The loops that this thread uses: with fused multiply-add where the engine has it (relaxed SIMD) and
** it is allowed, as it is until lanes_allow_fused(false), before anything is computed. All threads use
** the same.
*/
const LaneLoops *lanes_of(LaneKind kind);
void lanes_allow_fused(bool allow);
bool lanes_are_fused(void);

#endif
