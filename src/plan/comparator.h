/*
** Finds the keys by which a sort's comparator orders. Nearly all comparators are lexicographic: they
** compare a key of one element with the same key of the other, then, if these are equal, the next key,
** and so on. Other keys than the forms below are computed: the pass sort-keys makes operands of them. If a comparator is not
** lexicographic, apply-in-order writes its sort as a loop.
*/
#ifndef XLA_PLAN_COMPARATOR_H
#define XLA_PLAN_COMPARATOR_H

#include "hlo/ir/module.h"

enum {
  /* Threshold MAX_SORT_KEYS. Test: "sorts of several arrays, by several keys" in core/thresholds_programs.test.mjs. */
  MAX_SORT_KEYS = 16,
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
  KeySource source; /* of the left element; the right one has the same. operand -1: computed */
  const Instruction *sides[2]; /* the key of the left, and of the right element */
  bool descending;             /* the larger key first */
  bool total;                  /* floats in the total order, not by value */
} SortKey;

typedef struct SortOrder {
  int count; /* of keys; 0: not lexicographic */
  SortKey keys[MAX_SORT_KEYS];
  bool computes; /* some keys */
  /* It compares by `less or equal`: a stable sort then turns the order of equal elements around, as
  ** each of them claims to come before the others. */
  bool reverses_ties;
} SortOrder;

SortOrder comparator_order(const Computation *comparator);

/* Whether kernels can sort by a comparator's keys. */
bool comparator_has_keys(const Computation *comparator);

#endif
