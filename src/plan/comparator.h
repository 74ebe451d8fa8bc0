/*
** Finds the keys by which a sort's comparator orders. Nearly all comparators are lexicographic: they
** compare a key of one element with the same key of the other, then, if these are equal, the next key,
** and so on. A comparator whose keys have none of the forms below counts as having no keys; it is called for each pair.
*/
#ifndef XLA_PLAN_COMPARATOR_H
#define XLA_PLAN_COMPARATOR_H

#include "hlo/ir/module.h"

enum {
  /* Threshold MAX_SORT_KEYS. Test: "sorts of several arrays, by several keys" in core/thresholds_programs.test.mjs. */
  MAX_SORT_KEYS = 16,
  /* Threshold COMPARATOR_PAIRS: pairs that a comparator on arrays compares at once. Test: "lines
  ** of sorts and of the largest elements, by all elements" in core/thresholds_programs.test.mjs. */
  COMPARATOR_PAIRS = 64,
};

/*
** Where a key comes from: an operand's element, the real or the imaginary part of one, or JAX's adaptation of these to
** the total order: select(x != x, NaN, select(x == 0, 0, x)).
*/
typedef struct KeySource {
  int operand, part; /* part: 1: the imaginary part */
  bool zeros_tie;
  const Literal *nan; /* replaces all NaNs; NULL: they are unchanged */
} KeySource;

typedef struct SortKey {
  KeySource source; /* of the left element; the right one has the same */
  bool descending;  /* the larger key first */
  bool total;       /* floats in the total order, not by value */
} SortKey;

typedef struct SortOrder {
  int count; /* of keys; 0: not lexicographic */
  SortKey keys[MAX_SORT_KEYS];
  /* It compares by `less or equal`: a stable sort then turns the order of equal elements around, as
  ** each of them claims to come before the others. */
  bool reverses_ties;
} SortOrder;

SortOrder comparator_order(const Computation *comparator);

/* Whether a comparator has only element-wise operations on scalars, so that it can be applied to arrays, and
** is small enough for recursion. */
bool comparator_is_elementwise(const Computation *comparator);

#endif
