/*
** Finds which columns masks keep at their ends, row by row.
**
**     last = reduce(select(kept, iota + 1, 0), maximum), first = reduce(select(kept, iota, columns), minimum)
**
** of each row, or of all of them if the mask does not depend on the row. The mask is read where it is smallest, before it is
** repeated for each head.
*/
#include "rewrite/fuse/mask_ends.h"

#include <math.h>

#include "hlo/ir/shorthand.h"

/* Returns `kept` where the elements of a condition's array keep their columns, else `none`. */
static Instruction *choose(Maker *m, const Condition *condition, Instruction *kept,
                           Instruction *none) {
  Instruction *x = condition->x;
  if (condition->kind == IS_WANTED) return make_select(m, x, kept, none);
  if (condition->kind >= IS_SMALL) x = make_unary(m, HLO_ABS, x);
  if (condition->kind != IS_UNWANTED) { /* a NaN keeps its column */
    x = make_compare(m, COMPARE_LE, x, make_number(m, x->shape, condition->number));
  }
  return make_select(m, x, none, kept);
}

/* Reduces an array to a scalar. */
static Instruction *reduce_all(Maker *m, Opcode opcode, Instruction *x, double start) {
  return make_reduce(m, opcode, x, start, list_counting(m, 0, x->shape->rank));
}

/* Returns whether each row has a number that is large enough. */
static Instruction *rows_are_kept(Maker *m, const Condition *condition) {
  Instruction *x = condition->x;
  Int64List columns = list_of_one(m, condition->place.column);
  Instruction *most = make_reduce(m, HLO_MAXIMUM, x, -INFINITY, columns);
  Instruction *least = reduce_all(m, HLO_MINIMUM, most, INFINITY);
  return make_compare(m, COMPARE_GE, least, make_number(m, least->shape, condition->min_kept));
}

/* Returns the end or the begin of the columns that each row keeps: s32[rows], or s32[] if the array does not depend on the row. */
static Instruction *ends_of_rows(Maker *m, const Condition *condition, bool is_begin) {
  const Shape *shape = condition->x->shape;
  Place place = condition->place;
  double none = is_begin ? (double)shape->dims[place.column] : 0;
  Instruction *at = make_iota(m, S32, shape, place.column);
  if (!is_begin) at = make_binary(m, HLO_ADD, at, make_number(m, at->shape, 1));
  Int64List row = {place.row != ABSENT, NULL};
  if (row.count) row = list_of_one(m, place.row);
  return make_reduce(m, is_begin ? HLO_MINIMUM : HLO_MAXIMUM,
                     choose(m, condition, at, make_number(m, at->shape, none)), none,
                     other_dimensions(m, shape->rank, row));
}

/* Returns the end of all rows, or, if `diagonal`, that of row 0 in the steepest diagonal. */
static Instruction *end_of(Maker *m, const Condition *condition, Instruction *rows,
                           Instruction *are_kept, bool is_begin, int64_t diagonal) {
  double columns = (double)condition->x->shape->dims[condition->place.column];
  double none = is_begin ? columns : 0;
  bool is_long = rows->shape->rank == 1;
  if (diagonal && is_long) {
    rows = make_binary(m, HLO_SUBTRACT, rows, make_iota(m, S32, rows->shape, 0));
    none -= is_begin ? 0 : (double)diagonal;
  }
  Instruction *end =
      is_long ? reduce_all(m, is_begin ? HLO_MINIMUM : HLO_MAXIMUM, rows, none) : rows;
  if (diagonal && is_begin && !is_long) { /* the last row begins there */
    end = make_binary(m, HLO_SUBTRACT, end, make_number(m, end->shape, (double)diagonal - 1));
  }
  if (!are_kept) return end;
  double all = is_begin ? -(double)diagonal : columns;
  return make_select(m, are_kept, end, make_number(m, end->shape, all));
}

/* Adds an end of another condition: columns are kept if one of them keeps them. */
static void join(Maker *m, Instruction **all, Instruction *end, bool is_begin) {
  *all = *all ? make_binary(m, is_begin ? HLO_MINIMUM : HLO_MAXIMUM, *all, end) : end;
}

Ends mask_ends(Maker *m, const Condition *conditions, int count, int64_t rows) {
  Ends ends = {{NULL}, {NULL}};
  for (int i = 0; i < count; i++) {
    Condition condition = conditions[i];
    if (condition.is_negated) condition.x = make_unary(m, HLO_NEGATE, condition.x);
    Instruction *are_kept = condition.min_kept ? rows_are_kept(m, &condition) : NULL;
    for (int is_begin = 0; is_begin < 2; is_begin++) {
      Instruction *of_rows = ends_of_rows(m, &condition, is_begin);
      for (int k = 0; k < (rows > 1 ? 2 : 1); k++) {
        Instruction *end = end_of(m, &condition, of_rows, are_kept, is_begin, k ? rows : 0);
        join(m, is_begin ? &ends.begin[k] : &ends.end[k], end, is_begin);
      }
    }
  }
  for (int k = 0; k < 2 && ends.end[k]; k++) {
    ends.begin[k] = make_convert(m, ends.begin[k], S64);
    ends.end[k] = make_convert(m, ends.end[k], S64);
  }
  return ends;
}
