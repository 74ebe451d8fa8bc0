/*
** Masks of attention, and where they keep scores: iota < n, column < row + n, and with other masks or the other end of a
** window. limit_products.c uses them. A mask may be computed before the loop that uses it.
*/
#ifndef XLA_REWRITE_FUSE_MASKS_H
#define XLA_REWRITE_FUSE_MASKS_H

#include "rewrite/base/users.h"

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
  Instruction *scalar; /* an integer; NULL: 0 */
  PrimitiveType type;
  int64_t before,
      number; /* `before` is added to the scalar in its type, which may wrap; then `number` */
} Limit;

/* Finds a limit, with or without the row: the mask equals `wanted` only at columns below it, or, if out->is_lower, not below. */
bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal, Limit *out);
/* Whether x only moves elements, or repeats them; and moves a place from such an x to its operand. */
bool moves_elements(const Instruction *x);
bool move_place(const Instruction *x, Place *place);
/* Moves a place from an array to its user. Returns false if it has no such dimensions, of both or of the column alone. */
bool place_after(const Instruction *user, Place *place);
/* Returns the only instruction that reads x, if x is not the computation's result; else NULL. */
const Instruction *only_user(const Users *users, const Instruction *x);
/* Returns the array that an invariant element of a loop's state is; NULL if x is something else. */
const Instruction *before_loop(const Instruction *x, Instruction *const *callers);
/* Lists the callers of all computations. */
Instruction **find_loops(Module *module, Arena *arena);
#endif
