/* Declares the rules that the evaluator and the kernel of rng-bit-generator share. */
#ifndef XLA_VALUE_RNG_H
#define XLA_VALUE_RNG_H

#include "value/shape.h"

/* A shape as [outer, size, inner] around the dimension that ThreeFry halves: the first one of even size, or
** else the first of the longest ones. Scalars are [1, 1, 1]. */
typedef struct RngSplit {
  int64_t outer, size, inner;
} RngSplit;

RngSplit rng_split(const Shape *shape);

#endif
