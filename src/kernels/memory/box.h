/*
** Boxes: elements of one array that go to places in another, as every operation that only moves data
** says them; and how to move them, whatever the strides.
*/
#ifndef XLA_KERNELS_MEMORY_BOX_H
#define XLA_KERNELS_MEMORY_BOX_H

#include "hlo/ir/module.h"

/* Element (i, j, ...) goes from `from` + i * from_strides[0] + ... to `to` + i * to_strides[0] + ...,
** all in bytes. */
typedef struct Box {
  int rank;
  int64_t sizes[MAX_RANK], from_strides[MAX_RANK], to_strides[MAX_RANK], from, to;
} Box;

/* Of arrays of shapes `from` and `to`, as many elements as `sizes` has, from their first ones on. */
Box box_between(const Shape *sizes, const Shape *from, const Shape *to);
/* What operand number `operand` of a concatenate is of the result: from `*at` on along its dimension,
** which then is where the next one begins. */
Box box_concatenated(const Instruction *concatenate, int operand, int64_t *at);
/* What of the operand of a pad is in the result. */
Box box_padded(const Instruction *pad);
Box box_transposed(const Instruction *transpose);

/* The start index number `d` of a dynamic slice or update, clamped so that what is `size` long lies
** within `limit`. The indices are the operands from `first` on: scalars, or in the old form one vector. */
int64_t dynamic_start(const Instruction *instruction, const uint8_t *const *operands, int first,
                      int d, int64_t limit, int64_t size);
int64_t clamped_index(PrimitiveType type, const uint8_t *data, int64_t index, int64_t most);

/* How a box is moved: in units, each of which is worth about as much. */
typedef struct BoxMove {
  Box box;   /* without what each unit does at once */
  int width; /* bytes of an element */
  enum { MOVE_RUNS, MOVE_ELEMENTS, MOVE_TILES } kind;
  int64_t run, pieces;     /* bytes in one piece on both sides, and in how many they are moved */
  int64_t count, from, to; /* elements: of the innermost dimension, and its strides */
  int64_t rows, row_from, row_to; /* tiles: of the dimension that is innermost in `from` */
  int64_t units, unit_bytes;
} BoxMove;

void box_plan(BoxMove *move, const Box *box, int width);
void box_run(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t begin, int64_t end);

/* memcpy of a row: engines take longer to begin a bulk copy than a short one takes. */
void box_copy(uint8_t *to, const uint8_t *from, int64_t bytes);

#endif
