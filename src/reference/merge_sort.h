/*
** Sorts the permutation 0, 1, ..., size-1 by a stable merge sort. Runs of 1, 2, 4, ... are merged. An element
** of the right run comes first only if it is strictly before the left one. So a rule that is no ordering
** still ends, and still gives a permutation.
*/
#ifndef XLA_REFERENCE_MERGE_SORT_H
#define XLA_REFERENCE_MERGE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns 1 if element `left` comes strictly before element `right`, 0 if not, -1 for an error. */
typedef int LessRule(void *state, int64_t left, int64_t right);

/* Fills `order`; `scratch` has the same length. Returns false if the rule reported an error. */
bool merge_sort(int64_t *order, int64_t *scratch, int64_t size, LessRule *less, void *state);

#endif
