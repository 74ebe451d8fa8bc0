/* What the two sort kernels share. */
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

/* Elements [from, to) of all results of the line that begins at `begin`: element i is the operands'
** element number order[i], of which the lower 32 bits count. */
void sort_permute(const KernelCall *call, const SortLines *lines, int64_t begin,
                  const uint64_t *order, int64_t from, int64_t to);

#endif
