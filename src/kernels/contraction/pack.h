/*
** Packs a block of an operand into the order in which micro-kernels read it.
**
** A block is a range of lines (rows of the lhs, columns of the rhs) times a range of the depth; tables of
** offsets locate its elements. It becomes panels of as many lines as the micro-kernel takes:
**
**     panel[depth][line]
*/
#ifndef XLA_KERNELS_CONTRACTION_PACK_H
#define XLA_KERNELS_CONTRACTION_PACK_H

#include "kernels/contraction/contraction.h"
#include "kernels/contraction/elements.h"

enum {
  /* Threshold DEPTH_BYTES, MAX_DEPTH. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  DEPTH_BYTES = 1024,          /* max bytes of one line of a panel */
  MAX_DEPTH = DEPTH_BYTES / 2, /* in elements: s16 are the smallest */
};

/* A range of the depth: the offset of each element in one operand, and its contiguous runs. */
typedef struct Depth {
  int count, runs;
  size_t at[MAX_DEPTH];
  int begin[MAX_DEPTH + 1]; /* run i is [begin[i], begin[i + 1]) */
} Depth;
void depth_init(Depth *depth, const Axes *axes, Operand operand, int64_t first, int count);

/* The source of one operand's lines and the type to convert them to. */
typedef struct Side {
  const uint8_t *data; /* the element with offset 0 */
  Operand operand;     /* LHS or RHS */
  const Arithmetic *arithmetic;
  Loader loader;
} Side;
Side side_new(const Contraction *contraction, const Arithmetic *arithmetic, Operand operand,
              const uint8_t *data);

/* Computes the offsets of indices [first, first + count) of the axes, the last one fastest, plus `base`. */
void axes_offsets(const Axes *axes, Operand operand, int64_t first, int64_t count, size_t base,
                  size_t *out);

/* panel_lines: the lines in a panel. panel_depth: the lanes of the depth for `count` elements. */
int panel_lines(const Arithmetic *arithmetic, Operand operand);
int panel_depth(const Arithmetic *arithmetic, int count);

/* Packs lines at these offsets into panels that are `stride` bytes apart. An incomplete last panel is
** filled with copies of its last line. */
void pack(const Side *side, const size_t *line, int64_t lines, const Depth *depth, uint8_t *out,
          size_t stride);

/* Transposes 4 lines of `count` contiguous lanes of 4 bytes: out[k * width + line]. */
void transpose4(const uint32_t *a, const uint32_t *b, const uint32_t *c, const uint32_t *d,
                int count, uint32_t *out, int width);

/* Transposes lines of `count` contiguous lanes of 4 or 8 bytes: out[k * width + i] = data[line[i] + k], in lanes. A negative
** width stores the lanes in reverse. */
void transpose_lanes(int lane_bytes, const void *data, const size_t *line, int lines, int count,
                     void *out, int width);

#endif
