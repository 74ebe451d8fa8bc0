/* Finds zeros at the ends of numbers, and infinities and NaNs: what zeros multiply may be left out only if it is finite. */
#ifndef XLA_KERNELS_CONTRACTION_ZEROS_H
#define XLA_KERNELS_CONTRACTION_ZEROS_H

#include "kernels/contraction/inner/arithmetic.h"

/* A range [begin, end). */
typedef struct Used {
  int begin, end;
} Used;

/* Returns the range of bytes outside of which all numbers are zeros, of either sign if they are floats: to within 16 bytes. */
Used zeros_leave(const Arithmetic *arithmetic, const uint8_t *numbers, int bytes);

/* Whether rows of `bytes` bytes, a multiple of 16, have no infinity and no NaN. Integers have none. Returns false for types of which
** that is not known. */
bool zeros_may_multiply(PrimitiveType type, const uint8_t *data, size_t stride, int64_t rows,
                        int64_t bytes);

#endif
