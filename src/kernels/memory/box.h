/*
** Boxes: blocks of elements that are copied from one array to another, with any strides. Every operation
** that only moves data is described by boxes.
*/
#ifndef XLA_KERNELS_MEMORY_BOX_H
#define XLA_KERNELS_MEMORY_BOX_H

#include "hlo/ir/module.h"

/* A box: element (i, j, ...) moves from `from` + i * from_strides[0] + ... to `to` + i * to_strides[0] + ...,
** all in bytes. */
typedef struct Box {
  int rank;
  int64_t sizes[MAX_RANK], from_strides[MAX_RANK], to_strides[MAX_RANK], from, to;
} Box;

/* Finds the distances of neighbours in each dimension, in bytes. */
void byte_strides(const Shape *shape, int64_t *strides);
/* Returns the box of the shape `sizes` at the start of arrays of shapes `from` and `to`. */
Box box_between(const Shape *sizes, const Shape *from, const Shape *to);
/* Returns the box of operand number `operand` of a concatenate. *at: its start along the concatenated
** dimension; advanced to the start of the next operand. */
Box box_concatenated(const Instruction *concatenate, int operand, int64_t *at);
/* Returns the box of the operand's elements that a pad keeps. */
Box box_padded(const Instruction *pad);
Box box_transposed(const Instruction *transpose);

/* Returns start index number `d` of a dynamic slice or update, clamped so that a range of `size` lies within
** `limit`. The indices are the operands from `first` on: scalars, or in the old form one vector. */
int64_t dynamic_start(const Instruction *instruction, const uint8_t *const *operands, int first,
                      int d, int64_t limit, int64_t size);

/* The plan to move a box, in units of about equal work. */
typedef struct BoxMove {
  Box box;   /* without the dimensions that one unit covers */
  int width; /* bytes of an element */
  enum { MOVE_RUNS, MOVE_ELEMENTS, MOVE_TILES } kind;
  int64_t run, pieces;     /* MOVE_RUNS: contiguous bytes; the pieces in which they are moved */
  int64_t count, from, to; /* MOVE_ELEMENTS: size and strides of the innermost dimension */
  int64_t rows, row_from, row_to; /* MOVE_TILES: the same for the innermost dimension in `from` */
  int64_t units, unit_bytes;
} BoxMove;

void box_plan(BoxMove *move, const Box *box, int width);
void box_run(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t begin, int64_t end);

/* Copies a row, short ones inline: engines take longer to start a bulk copy than to copy a short row. */
void box_copy(uint8_t *to, const uint8_t *from, int64_t bytes);

#endif
