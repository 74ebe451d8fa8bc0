/*
** Arrays of numbers in the widest form of a kind, for the inner loops of dot and convolution.
**
** Floats are multiplied and added in double and rounded once, when they are stored: for f32 and
** narrower this is more exact than XLA:CPU, which adds in f32 in an order of its own. Integers wrap
** modulo 2^64, hence modulo the width of whatever type they are stored as.
*/
#ifndef XLA_REFERENCE_PACKED_H
#define XLA_REFERENCE_PACKED_H

#include "reference/eval.h"
#include "reference/walk.h"

typedef union Part {
  double f;
  uint64_t u;
} Part;

typedef struct Packed {
  Part *re, *im; /* im: NULL unless complex */
} Packed;

/* Room for `count` numbers of the kind of `type`. */
Packed packed_new(PrimitiveType type, int64_t count, Arena *arena);
/* Sets the first `count` numbers to zero. Floats become -0.0 if `negative`: adding x to -0.0 gives x, even for x = -0.0. */
void packed_clear(PrimitiveType type, Packed packed, int64_t count, bool negative);

/* The operand's elements as `type`, in the order of the walk (its first array); uses up the walk. */
Packed packed_from(Walk *walk, const Literal *operand, PrimitiveType type, Arena *arena);

/* sum[c] += x[x_at] * y[y_at + c] for every column c. */
void packed_add_products(PrimitiveType type, Packed sum, Packed x, int64_t x_at, Packed y,
                         int64_t y_at, int64_t columns);

/* Stores as elements at, at + stride, at + 2 * stride, ... */
void packed_store(PrimitiveType type, Packed packed, int64_t count, void *data, int64_t at,
                  int64_t stride);

#endif
