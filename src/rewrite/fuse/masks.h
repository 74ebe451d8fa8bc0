/*
** Masks of attention, and where they keep scores: iota < n, column < row + n, and with other masks or the other end of a
** window. limit_products.c uses them. A mask may be computed before the loop that uses it.
*/
#ifndef XLA_REWRITE_FUSE_MASKS_H
#define XLA_REWRITE_FUSE_MASKS_H

#include "hlo/ir/module.h"

/* Threshold MAX_CONDITIONS: a bias of positions, and a mask. No path. */
enum { ABSENT = -1, MAX_CONDITIONS = 2 };

/* Where the columns and the rows of a mask lie in an array: dimensions; ABSENT if its elements do not depend on them. */
typedef struct Place {
  int column, row;
} Place;

/* Elements of an array beside the scores that leave out their columns, if no other element keeps these: */
typedef enum ConditionKind {
  IS_WANTED, /* a predicate that is false */
  IS_UNWANTED,
  IS_BELOW,  /* a number that is at most `number` */
  IS_SMALL,  /* one whose magnitude is at most `number` */
  IS_FACTOR, /* the same, of a factor of scores */
} ConditionKind;

/* min_kept: if not 0, columns are left out only if each row has a number that is not below that. */
typedef struct Condition {
  Instruction *x;
  int column; /* dimension of x */
  ConditionKind kind;
  double number, min_kept;
} Condition;

/* The condition column < row + scalar + number, or without the row; or >=, if it is a lower limit. */
typedef struct Limit {
  Instruction *const
      *callers; /* given: by computation number, the loop whose body it alone is; else NULL */
  bool is_lower;
  bool diagonal;       /* with the row */
  Instruction *scalar; /* an integer; NULL: 0 */
  PrimitiveType type;
  int64_t before,
      number;       /* `before` is added to the scalar in its type, which may wrap; then `number` */
  int hides_below;  /* of a mask that is added: see limit_products.c; else 0 */
  bool is_computed; /* given: by these conditions, if there is no such comparison */
  bool reads_more;  /* given: the product reads more elements than it has */
  int count;
  Condition conditions[MAX_CONDITIONS];
} Limit;

/* Returns the dimension of the same size with as many elements after it; -1 if there is none. */
int same_dimension(const Shape *from, int dimension, const Shape *to);
/* Finds a limit, with or without the row: the mask equals `wanted` only at columns below it, or, if out->is_lower, not below. */
bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal, Limit *out);
/* Whether x only moves elements, or repeats them; and moves a place from such an x to its operand. */
bool moves_elements(const Instruction *x);
bool move_place(const Instruction *x, Place *place);
/* Returns the array that an invariant element of a loop's state is; NULL if x is something else. */
const Instruction *before_loop(const Instruction *x, Instruction *const *callers);
/* Lists the callers of all computations. */
Instruction **find_loops(Module *module, Arena *arena);
/* Adds the begin and the end of the columns that the conditions of a limit keep: scalars of s64. computed_limits.c */
void computed_ends(const Limit *limit, Instruction *ends[2]);

#endif
