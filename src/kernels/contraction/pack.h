/*
** Packing: bringing a block of an operand into the order in which micro-kernels read it.
**
** A block is some lines (rows of the lhs, columns of the rhs) times some of the depth, its elements
** wherever tables of offsets say. It becomes panels of as many lines as the micro-kernel takes:
**
**     panel[depth][line]
*/
#ifndef XLA_KERNELS_CONTRACTION_PACK_H
#define XLA_KERNELS_CONTRACTION_PACK_H

#include "kernels/contraction/contraction.h"
#include "kernels/elements.h"

enum {
  DEPTH_BYTES = 1024,          /* of one lane of a panel, at most */
  MAX_DEPTH = DEPTH_BYTES / 2, /* elements: s16 are the smallest */
};

/* A range of the depth: the offset of each element in one operand, and the runs of neighbours. */
typedef struct Depth {
  int count, runs;
  size_t at[MAX_DEPTH];
  int begin[MAX_DEPTH + 1]; /* run i is [begin[i], begin[i + 1]) */
} Depth;
void depth_init(Depth *depth, const Axes *axes, Operand operand, int64_t first, int count);

/* Lines of one operand: where the elements are, and what they become. */
typedef struct Side {
  const uint8_t *data; /* the element with offset 0 */
  Operand operand;     /* LHS or RHS */
  const Arithmetic *arithmetic;
  Loader loader;
} Side;
Side side_new(const Contraction *contraction, const Arithmetic *arithmetic, Operand operand,
              const uint8_t *data);

/* The offsets of indices [first, first + count) of the axes, last one fastest, plus `base`. */
void axes_offsets(const Axes *axes, Operand operand, int64_t first, int64_t count, size_t base,
                  size_t *out);

/* Lines in a panel; lanes of the depth that `count` elements become. */
int panel_lines(const Arithmetic *arithmetic, Operand operand);
int panel_depth(const Arithmetic *arithmetic, int count);

/* Packs lines at these offsets: panels that are `stride` bytes apart. A last panel that is not full
** is filled up with copies of its last line. */
void pack(const Side *side, const size_t *line, int64_t lines, const Depth *depth, uint8_t *out,
          size_t stride);

#endif
