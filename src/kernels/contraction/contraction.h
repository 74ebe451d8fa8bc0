/*
** Contractions: what dot and convolution have in common. For every batch, row and column index,
**
**     out[batch, row, column] = sum over depth of lhs[batch, row, depth] * rhs[batch, column, depth]
**
** where each kind of index runs over any number of axes, and an axis says by how many elements the
** arrays that have it advance. So any order of dimensions, strides, windows and groups is the same
** problem. How it is cut into units of work depends on sizes and strides alone.
*/
#ifndef XLA_KERNELS_CONTRACTION_CONTRACTION_H
#define XLA_KERNELS_CONTRACTION_CONTRACTION_H

#include "kernels/arithmetic.h"
#include "value/shape.h"

typedef enum Operand { LHS, RHS, OUT } Operand;

typedef struct Axis {
  int64_t size;
  int64_t stride[3]; /* in elements, of each Operand; 0 where it does not have the axis */
} Axis;

typedef struct Axes {
  int count;
  Axis items[MAX_RANK];
} Axes;

typedef struct Contraction {
  Axes batch, rows, columns, depth;
  int64_t base[3];          /* where the first elements are */
  PrimitiveType type[3];    /* of the operands, and of the result of the instruction */
  bool keeps_negative_zero; /* a sum of one product is that product, even where it is -0 */
  bool windowed;            /* the lhs' rows overlap: they are more elements than the lhs has */
  bool keeps_rows; /* parts may have any number of rows: they don't change places with columns */
  bool in_pairs;   /* s16, made s32 so that they need no packing: packed, a lane has two */
} Contraction;

void axes_add(Axes *axes, int64_t size, int64_t lhs, int64_t rhs, int64_t out);
int64_t axes_size(const Axes *axes);
/* Of axes that are one at most: 0 where there is none. */
int64_t axes_stride(const Axes *axes, Operand operand);
/* Whether elements are neighbours along one of them. */
bool axes_have_neighbours(const Axes *axes, Operand operand);

/*
** How contractions are computed: several of them, `parts`, which differ in sizes of rows and depth
** at most, and write different elements of one result.
**
** Operands that several units read are packed first; then units multiply. They are numbered by part,
** then batch, and so on; a chunk is some of them. Where the depth is cut into splits, or sums are
** not what the result holds, units write sums into scratch memory, in the order of the result, and
** the finishing chunks add them up and convert them.
*/
typedef enum ContractionWay { BY_TILES, BY_STREAM, BY_SMALL, DIRECTLY } ContractionWay;

typedef struct ContractionPlan {
  ContractionWay way;
  bool swapped; /* what is lhs here is the instruction's rhs: products commute */
  const Arithmetic *arithmetic;
  int64_t batches, lines[2];           /* of the largest part: rows and columns */
  int64_t tile[2], tiles[2];           /* rows and columns of a unit, and how many such there are */
  int64_t run_parts;                   /* DIRECTLY: units of one run of neighbouring columns */
  int64_t depth_block, blocks, splits; /* depth packed at a time; blocks and splits of the depth */
  int64_t units_per_part, units, units_per_chunk;
  int64_t packed_at[2], packed_bytes[2]; /* in scratch; 0 bytes: packed by units */
  int64_t sums_at, result_elements;
  bool finishes;
  int64_t finish_elements; /* of a finishing chunk */
  int64_t row_elements;    /* if chunks complete rows of the result; else 0 */
  double cost;             /* about: in multiplications at the rate of a micro-kernel */
} ContractionPlan;

/* rhs times lhs instead. */
void contraction_swap(Contraction *contraction);
/* Brings a part into the order that it is computed in. */
void contraction_arrange(Contraction *contraction, const ContractionPlan *plan);

#endif
