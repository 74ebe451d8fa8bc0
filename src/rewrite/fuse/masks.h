/*
** Masks of attention, and where they keep scores: iota < n, column < row + n, and with other masks or the other end of a
** window. limit_products.c uses them. A mask may be computed before the loop that uses it.
*/
#ifndef XLA_REWRITE_FUSE_MASKS_H
#define XLA_REWRITE_FUSE_MASKS_H

#include "hlo/ir/module.h"

enum { ABSENT = -1 };

/* Where the columns and the rows of a mask lie in an array: dimensions; ABSENT if its elements do not depend on them. */
typedef struct Place {
  int column, row;
} Place;

/* The condition column < row + scalar + number, or without the row; or >=, if it is a lower limit. */
typedef struct Limit {
  Instruction *const
      *callers; /* given: by computation number, the loop whose body it alone is; else NULL */
  bool is_lower;
  bool diagonal;       /* with the row */
  Instruction *scalar; /* an integer, or an array of those of other dimensions; NULL: 0 */
  PrimitiveType type;
  int64_t before,
      number;      /* `before` is added to the scalar in its type, which may wrap; then `number` */
  int hides_below; /* of a mask that is added: see limit_products.c; else 0 */
  bool needs_kept; /* then: it hides them only if each row keeps a column */
} Limit;

/* Returns the dimension of the same size with as many elements after it; -1 if there is none. */
int same_dimension(const Shape *from, int dimension, const Shape *to);
/* Finds a limit, with or without the row: the mask equals `wanted` only at columns below it, or, if out->is_lower, not below. */
bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal, Limit *out);
/* Whether a mask is a comparison: so where find_limit finds a limit, it equals `wanted` at all columns below it. */
bool mask_is_comparison(const Instruction *mask, Instruction *const *callers);
/* An array of two values. Finds the predicate that chooses them, and its place. No value is a NaN. */
const Instruction *find_choice(const Instruction *x, Instruction *const *callers, Place *place,
                               double values[2]);
/* Lists the callers of all computations. */
Instruction **find_loops(Module *module, Arena *arena);
/* Returns the scalar x in a computation: x itself, or the element of the loop's state that it becomes, or a copy of x that is
** computed of these. x is in that computation or around a loop around it. Returns NULL if there is none. */
Instruction *bring_scalar(Instruction *x, Computation *to, Instruction *const *callers, int steps);

#endif
