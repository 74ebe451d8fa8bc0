/*
** Arrays of numbers in the widest form of a kind, for the inner loops of dot and convolution.
**
** Floats are multiplied and added in double and rounded once, when they are stored: for f32 and
** narrower this is more exact than XLA:CPU, which adds in f32 in an order of its own. Integers wrap
** modulo 2^64, hence modulo the width of whatever type they are stored as.
*/
#ifndef XLA_REFERENCE_WIDE_NUMBERS_H
#define XLA_REFERENCE_WIDE_NUMBERS_H

#include "reference/eval.h"
#include "reference/walk.h"

typedef union WideNumber {
  double f;
  uint64_t u;
} WideNumber;

typedef struct WideNumbers {
  WideNumber *re, *im; /* im: NULL unless complex */
} WideNumbers;

/* Room for `count` numbers of the kind of `type`. */
WideNumbers wide_numbers_new(PrimitiveType type, int64_t count, Arena *arena);
/* Sets the first `count` numbers to zero. Floats become -0.0 if `negative`: adding x to -0.0 gives x, even for x = -0.0. */
void wide_numbers_clear(PrimitiveType type, WideNumbers numbers, int64_t count, bool negative);

/* The operand's elements as `type`, in the order of the walk (its first array); uses up the walk. */
WideNumbers wide_numbers_from(Walk *walk, const Literal *operand, PrimitiveType type, Arena *arena);

/* sum[c] += x[x_at] * y[y_at + c] for every column c. */
void wide_numbers_add_products(PrimitiveType type, WideNumbers sum, WideNumbers x, int64_t x_at,
                               WideNumbers y, int64_t y_at, int64_t columns);

/* Stores as elements at, at + stride, at + 2 * stride, ... */
void wide_numbers_store(PrimitiveType type, WideNumbers numbers, int64_t count, void *data,
                        int64_t at, int64_t stride);

#endif
