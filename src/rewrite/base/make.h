/*
** Adds instructions whose shapes are inferred from their operands. Rewrites that make whole programs use it: gradients,
** batches, dynamic dimensions.
**
** A failure is kept, so that rules need not check each call: the first one is in `error`, and instructions added after it
** is valid memory, but no valid program.
*/
#ifndef XLA_REWRITE_BASE_MAKE_H
#define XLA_REWRITE_BASE_MAKE_H

#include "hlo/ir/module.h"

typedef struct Maker {
  Computation *computation; /* where instructions are added */
  Error *error;
  bool *failed;
} Maker;

/* `shape` may be NULL if the operands determine it. */
Instruction *make(Maker *m, Opcode opcode, const Shape *shape, Instruction *const *operands,
                  int count, const Attributes *attributes);
Instruction *make_unary(Maker *m, Opcode opcode, Instruction *x);
Instruction *make_binary(Maker *m, Opcode opcode, Instruction *x, Instruction *y);
Instruction *make_compare(Maker *m, ComparisonDirection direction, Instruction *x, Instruction *y);
Instruction *make_select(Maker *m, Instruction *p, Instruction *x, Instruction *y);
Instruction *make_convert(Maker *m, Instruction *x, PrimitiveType type);
/* Broadcasts a scalar; returns a scalar of a scalar's shape as it is. */
Instruction *make_splat(Maker *m, Instruction *scalar, const Shape *shape);
/* Adds an array whose elements are all the same number. */
Instruction *make_number(Maker *m, const Shape *shape, double value);
Instruction *make_zeros(Maker *m, const Shape *shape);
Instruction *make_iota(Maker *m, PrimitiveType type, const Shape *like, int64_t dimension);
/* Broadcasts: dimension i of x becomes dimension dimensions[i]. */
Instruction *make_broadcast(Maker *m, Instruction *x, const Shape *shape, Int64List dimensions);
/* Broadcasts over the dimensions `dropped` of the shape; those of x become the others, in order. */
Instruction *make_spread(Maker *m, Instruction *x, const Shape *shape, Int64List dropped);
Instruction *make_reshape(Maker *m, Instruction *x, const Shape *shape);
Instruction *make_transpose(Maker *m, Instruction *x, const int64_t *order);
/* Sums over these dimensions. */
Instruction *make_sum(Maker *m, Instruction *x, Int64List dimensions);
/* Reduces over these dimensions by an operation of two operands, from `start` on. */
Instruction *make_reduce(Maker *m, Opcode opcode, Instruction *x, double start,
                         Int64List dimensions);
/* Pads with zeros. */
Instruction *make_pad(Maker *m, Instruction *x, const PaddingDimension *padding);
Instruction *make_slice(Maker *m, Instruction *x, const SliceDimension *slice);
Instruction *make_conjugate(Maker *m, Instruction *x);
/* x + y, where NULL is zero. */
Instruction *make_plus(Maker *m, Instruction *x, Instruction *y);
/* Writes the arrays and tokens of a value, in order. Returns the end of the list. */
Instruction **value_leaves(Maker *m, Instruction *value, Instruction **out);
/* Makes a value with this form of its leaves, and moves the pointer past them. */
Instruction *value_from_leaves(Maker *m, const Shape *form, Instruction *const **leaves);
/* Returns all dimensions of a shape but those in the list, in order. */
Int64List other_dimensions(Maker *m, int rank, Int64List dimensions);
Int64List list_of(Maker *m, int count, const int64_t *items);
Int64List list_of_one(Maker *m, int64_t item);
/* Returns the list first, first + 1, ... of `count` numbers. */
Int64List list_counting(Maker *m, int64_t first, int count);
/* Returns the shape of an array. */
const Shape *shape_of(Maker *m, PrimitiveType type, int rank, const int64_t *dims);

#endif
