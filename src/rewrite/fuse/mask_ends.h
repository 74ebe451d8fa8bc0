/*
** Instructions that find the columns which masks keep, as the program runs: see computed_limits.c.
*/
#ifndef XLA_REWRITE_FUSE_MASK_ENDS_H
#define XLA_REWRITE_FUSE_MASK_ENDS_H

#include "rewrite/base/make.h"
#include "rewrite/fuse/masks.h"

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
  Place place; /* in x */
  ConditionKind kind;
  bool is_negated; /* its numbers are subtracted from the scores */
  double number, min_kept;
} Condition;

/* The ends of what masks keep, scalars of s64. Row i keeps only columns in [begin, end) and [begin + i, end + i). */
typedef struct Ends {
  Instruction *begin[2],
      *end[2]; /* of all rows, and of row 0 of the diagonals; these are NULL if there are no rows */
} Ends;

/* Adds the ends of `count` conditions. rows: of the scores; 1: the ends of diagonals are not wanted. */
Ends mask_ends(Maker *m, const Condition *conditions, int count, int64_t rows);

#endif
