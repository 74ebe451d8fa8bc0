/*
** The two orders of a streamed matrix in memory. A line is what lies contiguous: a row or a column.
**
**     stream_by_depth.c      lines are rows, matrix[depth]: each one, times a number of the vector, is added to all sums
**     stream_by_columns.c    lines are columns, matrix[column]: each sum is the inner product of a line and the vector
**
** The names are those of the inner loops (lanes.h, inner/narrow.h). A StreamOrder is the list of all that differs. Plans, units and
** sums (stream.c) and narrow numbers (stream_narrow.c) are common to both.
*/
#ifndef XLA_KERNELS_CONTRACTION_STREAM_ORDER_H
#define XLA_KERNELS_CONTRACTION_STREAM_ORDER_H

#include "kernels/contraction/elements.h"
#include "kernels/contraction/inner/narrow.h"
#include "kernels/contraction/scaled.h"

/* Threshold LINE_STEP, MAX_SCALED, DEPTH_STEP. Test: "blocks of all sizes" in core/quantised.test.mjs. */
/* Threshold MAX_VECTORS, FEW_VECTORS, VECTOR_BYTES, SUM_BYTES, FIRST_BYTES, MATRIX_BYTES, CONVERTED_ROWS, READ_VECTORS,
** UNIT_BYTES, LEAST_ELEMENTS.
** Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/* Threshold MAX_SCALES. Test: "units, blocks of the depth and lists of scales of several sizes" in core/quantised.test.mjs. */
enum {
  MAX_VECTORS = 20,     /* real vectors; for more, packing is faster */
  VECTOR_BYTES = 32768, /* of all vectors, for a block of the depth */
  FEW_VECTORS = 4,      /* whose sums may leave the first cache, as reading whole rows gains more */
  SUM_BYTES = 65536,    /* of all vectors, for a block of columns. Longer rows are read in parts */
  FIRST_BYTES = 16384, /* the same, of more than FEW_VECTORS: their sums fit into the first cache */
  MATRIX_BYTES = 16384,    /* of converted elements */
  CONVERTED_ROWS = 8,      /* converted at a time; or half as many columns */
  READ_VECTORS = 2,        /* of at most as many, reading the matrix takes longer than arithmetic */
  UNIT_BYTES = 2097152,    /* of the matrix in a unit, if reading takes longer */
  LEAST_ELEMENTS = 131072, /* of a matrix of several units */
  DEPTH_STEP = 32,         /* the length of a block of the depth is a multiple of it */
  /* Of narrow matrices: */
  LINE_STEP =
      16, /* bytes that loops read at once; elements that a block of one scale is a multiple of */
  MAX_SCALED = 256,  /* elements of the depth that have one scale */
  MAX_SCALES = 16384 /* in a list: as many as sums of a row */
};

/* ---- What all units share ---- */

/* The loops for a matrix of narrow numbers as it lies in memory, and its scales. No loops: the matrix is read as the
** arithmetic's elements, or converted to them. */
typedef struct Narrow {
  const NarrowLoops *loops;
  const Computed *scaled; /* NULL: all scales are 1 */
  PrimitiveType type;
  int per_byte;     /* numbers; several are unpacked before loops read them */
  bool has_steps;   /* numbers are multiplied by scales, or moved by zero points */
  bool is_unpacked; /* numbers are unpacked into a buffer before loops read them */
  /* Of a unit: */
  bool *misread; /* set if loops misread a number */
  bool exact;    /* sums are not multiplied by scales: they may be too large for that */
} Narrow;

/* What all units of a contraction share. */
typedef struct Stream {
  const Contraction *contraction;
  const Arithmetic *arithmetic;
  const struct StreamOrder *order;
  Loader vectors, matrix;
  Narrow narrow;
  int64_t line_stride;         /* elements from one line of the matrix to the next */
  int vector_lanes, sum_lanes; /* of one number in a vector, and in the sums */
  int64_t depth_block;         /* from the plan */
} Stream;

/* ---- A block ---- */

/* The vectors of a unit, for one block of the depth. */
typedef struct Vectors {
  const void *data;
  size_t stride;    /* bytes */
  int count, depth; /* in lanes */
} Vectors;

/* A unit's block of the matrix, or some of its lines, and the sums of its columns. */
typedef struct Block {
  const Stream *stream;
  const Narrow *narrow; /* the unit's */
  const uint8_t *data;
  size_t stride; /* bytes from one line to the next */
  int64_t first; /* the number of its first element in the operand */
  int64_t lines, length;
  uint8_t *sums;
  size_t sums_stride;
} Block;

/* The scales and zeros of some lines, and the loops for them. `length` numbers of a line have one scale; the lists of
** neighbouring lines are `apart` scales from each other. */
typedef struct Scales {
  NarrowRow row;
  bool is_plain;
  bool is_whole;     /* zero points are small integers */
  bool may_be_plain; /* vectors times the loops' factor are exact */
  _Alignas(16) float scale[MAX_SCALES + LINE_STEP];
  _Alignas(16) float zero[MAX_SCALES + LINE_STEP];
  const float *zeros;
  int64_t length, apart;
} Scales;

/* ---- What differs ---- */

typedef struct StreamOrder {
  bool along_depth;        /* lines are columns */
  int64_t max_depth;       /* of a block */
  int64_t converted_bytes; /* max bytes of a converted line of a unit */
  /* Returns the wanted columns of a unit of `elements`. */
  int64_t (*unit_columns)(int64_t depth, int64_t elements);
  /* Separate complex numbers into two real vectors, and make complex sums of theirs. Of C64 and C128. */
  void (*split[2])(const void *pairs, int64_t count, void *first, void *second);
  void (*combine[2])(const void *first, const void *second, int64_t count, void *pairs);
  /* Multiplies a block whose elements are the arithmetic's, or are converted to them, and adds to its sums. */
  void (*multiply)(const Block *block, const Vectors *vectors);
  /* Moves a block's sums, or the vectors, on to those of `line`; the block has its lines already. */
  void (*skip)(Block *block, Vectors *vectors, int64_t line);

  /* Of narrow numbers with scales: whether the loops can read them. */
  bool (*fits)(const Scaled *scaled, const Contraction *contraction);
  /* Returns the granularity of blocks of the depth. */
  int64_t (*depth_step)(const Scaled *scaled);
  /* Returns how many lines, from the one that begins with element `first` on, share one list of scales, or fit their lists into
  ** Scales. */
  int64_t (*lines_at_once)(const Block *block, const Scaled *scaled, int64_t first);
  /* Reads the scales, and if they are moved the zero points, of some lines. Returns their number; 0 if a line begins inside a
  ** group. */
  int64_t (*read_scales)(Scales *scales, const Block *block, bool moved);
  /* Reorders scales that loops of packed numbers read (narrow_part); NULL: they have the numbers' order. */
  void (*part_scales)(Scales *scales, int64_t count);
  /* Multiplies the lines of a block, which has all but its numbers of columns and depth, and adds to its sums. */
  void (*multiply_narrow)(NarrowBlock *all, const Block *block, const Scales *scales);
} StreamOrder;

extern const StreamOrder stream_by_depth, stream_by_columns;

/* ---- Zeros (stream_zeros.c) ---- */

/* Leaves out the first and the last lines of a block if all vectors have zeros there and the lines are finite. */
void stream_leave_out(Block *block, Vectors *vectors);

/* ---- Narrow numbers (stream_narrow.c) ---- */

/* Returns the loops for the stream's matrix, if there are any. */
Narrow narrow_of(const Stream *stream);
/* Multiplies a block by these loops and adds to its sums. */
void stream_narrow(const Block *block, const Vectors *vectors);

#endif
