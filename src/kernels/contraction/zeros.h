/* Finds leading and trailing zeros of vectors, and infinities and NaNs: products with zeros may be left out only if they are 0. */
#ifndef XLA_KERNELS_CONTRACTION_ZEROS_H
#define XLA_KERNELS_CONTRACTION_ZEROS_H

#include "kernels/contraction/inner/arithmetic.h"

/* A range [begin, end). */
typedef struct Used {
  int begin, end;
} Used;

/* Returns a range of bytes that contains all nonzero numbers. It lacks as many whole vectors of zeros at either end as possible;
** -0 is a zero, too. */
Used zeros_leave(const Arithmetic *arithmetic, const uint8_t *numbers, int bytes);

/* Whether no number of the rows is infinite or NaN, so that products with zeros may be left out. A row has `bytes` bytes,
** a multiple of 16. Integers are always finite. Returns false for types that it cannot check. */
bool zeros_may_multiply(PrimitiveType type, const uint8_t *data, size_t stride, int64_t rows,
                        int64_t bytes);
/* Returns BOUNDS_SMALL plus the smallest n from 0 on so that all numbers are below 2^n. BOUNDS_LARGE: of more than ARRAY_BOUND, or
** types that it cannot check. */
uint8_t bounds_of_numbers(PrimitiveType type, const uint8_t *data, int64_t bytes);

#endif
