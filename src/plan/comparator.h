/*
** What the comparator of a sort orders by. Nearly all that programs have are lexicographic: they
** compare a key of the one element with the same key of the other, and where these are equal the
** next key, and so on. A key may be an operand's element as it is, or anything computed from one
** element of each operand.
*/
#ifndef XLA_PLAN_COMPARATOR_H
#define XLA_PLAN_COMPARATOR_H

#include "hlo/ir/module.h"

enum {
  MAX_SORT_KEYS = 16,
  COMPARATOR_PAIRS = 64, /* that a comparator on arrays compares */
};

typedef struct SortKey {
  const Instruction *left, *right; /* computed from the left element alone; from the right one */
  const Instruction *compare;      /* the comparison of the two that says which comes first */
  bool descending;                 /* the larger key first */
  bool total;                      /* floats in the total order, not by value */
} SortKey;

typedef struct SortOrder {
  int count; /* of keys; 0: the comparator is of another kind */
  SortKey keys[MAX_SORT_KEYS];
  /* It compares by `less or equal`: a stable sort then turns the order of equal elements around, as
  ** each of them claims to come before the others. */
  bool reverses_ties;
} SortOrder;

SortOrder comparator_order(const Computation *comparator);

/*
** A key that is an operand's element, or what JAX makes of one so that the total order suits it:
** select(x != x, NaN, select(x == 0, 0, x)).
*/
typedef struct KeySource {
  int operand; /* -1: the key is of another kind */
  bool zeros_tie;
  const Literal *nan; /* that stands for all NaNs; NULL: they are as they are */
} KeySource;

KeySource sort_key_source(const SortKey *key);

/* Whether all of it is element-wise operations on scalars, so that it can be made one on arrays; and
** whether it is not so large that recursion through it would be too deep. */
bool comparator_is_elementwise(const Computation *comparator);

#endif
