/*
** Contractions: the common form of dot and convolution. For every batch, row and column index,
**
**     out[batch, row, column] = sum over depth of lhs[batch, row, depth] * rhs[batch, column, depth]
**
** Each kind of index runs over any number of axes; an axis has a stride in each array. So all orders of
** dimensions, strides, windows and groups are the same problem.
**
** Comes in: the axes and types of the operands and the result (dot.c, convolution.c). Goes out: a
** ContractionPlan, with a way to compute, tiles, and units of work.
**
** Invariant: the cut into units depends on sizes and strides alone, never on the number of threads, so
** the order of each sum is fixed.
**
** The main trick is BLIS's: operands are packed into panels that fit the caches, and one micro-kernel
** multiplies panels (tiles.h, lanes.h). Small, streaming and direct ways handle shapes for which
** packing costs more than it saves.
**
** Read next: contraction_plan.h, then tiles.h and lanes.h.
*/
#ifndef XLA_KERNELS_CONTRACTION_CONTRACTION_H
#define XLA_KERNELS_CONTRACTION_CONTRACTION_H

#include "kernels/contraction/inner/arithmetic.h"
#include "value/shape.h"

typedef enum Operand { LHS, RHS, OUT } Operand;

typedef struct Axis {
  int64_t size;
  int64_t stride[3]; /* in elements, for each Operand; 0 if it does not have the axis */
} Axis;

typedef struct Axes {
  int count;
  Axis items[MAX_RANK];
} Axes;

/* Threshold MAX_SCALED_STEPS: the general loop computes a longer list of steps. No path. */
/* Threshold TABLE_ENTRIES: the values of a byte. No path. */
enum { MAX_SCALED_STEPS = 4, TABLE_ENTRIES = 256, BYTE_MASK = 0xff };

/* An array in memory, from element 0 on. If it is packed, `skipped` elements of the first byte come before that. */
typedef struct PackedArray {
  const uint8_t *data; /* NULL: there is none */
  int skipped;
} PackedArray;

/* An operand that is computed where it is read. */
typedef struct Computed Computed;
struct Computed {
  /* Writes elements of its row-major order, from number `first` on, in the arithmetic's element type. */
  void (*run)(const Computed *computed, int64_t first, int64_t count, void *out);
  /* NULL: its elements are not dequantised numbers (scaled.h). If they are: their arrays, and the values of bytes. */
  const struct Scaled *scaled;
  PackedArray numbers, operands[MAX_SCALED_STEPS];
  float *table;
};

/* A computed operand has no elements in memory. Pointers to them are addresses from the Computed's own on, one for each
** element, and are never read: so kernels step through it as through an array of U8. */
static inline const uint8_t *computed_elements(const Computed *computed) {
  return (const uint8_t *)computed;
}
static inline int64_t computed_number(const Computed *computed, const uint8_t *elements) {
  return (int64_t)((uintptr_t)elements - (uintptr_t)computed);
}

/* An operand, or the result of the instruction. */
typedef struct ContractionArray {
  PrimitiveType type; /* U8 if it is computed */
  int64_t base;       /* the offset of the first element */
  const Computed *computed;
  bool is_bounded; /* it is known to have no infinity and no NaN */
} ContractionArray;

/* A dimension of the result: the elements from one index to the next, and its size. */
typedef struct Dimension {
  int64_t stride, size;
} Dimension;

/* The used part of a result: columns in [first, last) and in [begin, end), which moves by one with each row. Other elements may
** have any values. */
typedef struct Diagonal {
  Dimension column, row; /* a row of size 1: the range does not move */
  int64_t begin, end;
  int64_t first, last;
} Diagonal;

typedef struct Contraction {
  Axes batch, rows, columns, depth; /* before all other fields: see contraction_keep */
  ContractionArray array[3];        /* for each Operand */
  bool keeps_negative_zero;         /* a sum of one product is that product, even if it is -0 */
  bool windowed;                    /* the rows of the lhs are overlapping windows of an image */
  bool keeps_rows;          /* parts may have any number of rows: do not swap rows and columns */
  const Diagonal *diagonal; /* NULL: all elements are used */
  bool in_pairs; /* s16 operands, widened to s32 to avoid packing; packed, a lane has two */
} Contraction;

/* A contraction in little memory, for plans: Axes have room for MAX_RANK axes, but few have more than two. */
typedef struct KeptContraction KeptContraction;
KeptContraction *contraction_keep(const Contraction *contraction, Arena *arena);
void contraction_restore(const KeptContraction *kept, Contraction *contraction);

void axes_add(Axes *axes, int64_t size, int64_t lhs, int64_t rhs, int64_t out);
int64_t axes_size(const Axes *axes);
/* Returns the stride of the innermost axis; 0 if there is none. */
int64_t axes_stride(const Axes *axes, Operand operand);
/* Returns whether the elements are contiguous along one of the axes. */
bool axes_have_neighbours(const Axes *axes, Operand operand);

/*
** The plan for one or more contractions, the parts. Parts may differ in their numbers of rows and depth; they
** write different elements of one result.
**
** First, operands that several units read are packed; then units multiply. Units are numbered by part, then by
** batch, and so on; a chunk is a range of units. If the depth is cut into splits, or the result's type differs
** from that of the sums, units write sums into scratch memory, in the order of the result. Finishing chunks then
** add them up and convert them.
*/
typedef enum ContractionWay { BY_TILES, BY_STREAM, BY_WHOLE_MATRICES, DIRECTLY } ContractionWay;

typedef struct ContractionPlan {
  ContractionWay way;
  bool swapped;         /* lhs and rhs are swapped: products commute */
  bool batches_columns; /* contraction_batch_columns was called */
  const Arithmetic *arithmetic;
  int64_t batches, lines[2];           /* lines: rows and columns of the largest part */
  int64_t tile[2], tiles[2];           /* rows and columns of a unit; number of tiles each way */
  int64_t run_parts;                   /* DIRECTLY: units in a run of contiguous columns */
  int64_t depth_block, blocks, splits; /* depth packed at a time; blocks and splits of the depth */
  int64_t units_per_part, units, units_per_chunk;
  int64_t packed_at[2], packed_bytes[2]; /* offsets in scratch; 0 bytes: units pack themselves */
  int64_t sums_at, result_elements;
  bool finishes;
  int64_t finish_elements; /* of a finishing chunk */
  double cost;             /* estimate, in multiplications at the micro-kernel's rate */
} ContractionPlan;

/* Swaps lhs and rhs. */
void contraction_swap(Contraction *contraction);
/* Makes batches of all axes of the columns but one: the axis along which the rhs is contiguous, or the longest. */
void contraction_batch_columns(Contraction *contraction);
/* Brings a part's axes into the order in which they are computed. */
void contraction_arrange(Contraction *contraction, const ContractionPlan *plan);

#endif
