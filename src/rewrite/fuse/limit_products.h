/*
** Products whose results are not all used: limit_products.c finds them by comparisons, computed_limits.c by other masks, and
** limited_dots.c makes them.
*/
#ifndef XLA_REWRITE_FUSE_LIMIT_PRODUCTS_H
#define XLA_REWRITE_FUSE_LIMIT_PRODUCTS_H

#include "rewrite/fuse/masks.h"

/* Returns an array of numbers of s64. */
Instruction *list_of_limits(Instruction *const *numbers, int count);
/* Turns a dot into a limited product. n: the used columns. hides_below: Derived */
void limit_product(Instruction *dot, Instruction *n, Place place, int hides_below);
/* The ends of masks that were found for earlier products of a computation: layers share them. */
typedef struct FoundEnds FoundEnds;

/* What is known of the computation whose products are limited. */
typedef struct Limiter {
  Users users;
  Instruction *const
      *callers; /* by computation number, the loop whose body it alone is; else NULL */
  Arena *arena;
  FoundEnds *found;
} Limiter;

/* Limits a product by what the masks of its results hold. computed_limits.c */
bool compute_limit(Limiter *limiter, Instruction *dot);

#endif
