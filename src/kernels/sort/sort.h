/* Declares the functions that both sort kernels use: lines of a sort, and the permutation of operands. */
#ifndef XLA_KERNELS_SORT_SORT_H
#define XLA_KERNELS_SORT_SORT_H

#include "kernels/kernels.h"

/* The lines along a sort's dimension; they begin `stride` elements in a row, and so on. */
typedef struct SortLines {
  int64_t count, size, stride;
} SortLines;

SortLines sort_lines(const Instruction *sort); /* of a sort that has elements */

/* Where the first element of a line is; the next ones are `stride` apart. */
static inline int64_t line_begin(const SortLines *lines, int64_t line) {
  return line / lines->stride * lines->stride * lines->size + line % lines->stride;
}

/* Writes elements [from, to) of all results in the line that begins at `begin`. Element i is element
** order[i] of the operands' line; only the lower 32 bits of order[i] count. */
void sort_permute(const KernelCall *call, const SortLines *lines, int64_t begin,
                  const uint64_t *order, int64_t from, int64_t to);

#endif
