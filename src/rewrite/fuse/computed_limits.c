/*
** Computes the limits of masks that are no comparison of positions: rows of a stored triangle, a mask that is an argument, or one
** to which a bias was added. The program looks which columns no row keeps at the ends of the mask.
**
**     end = reduce(select(kept, iota + 1, 0), maximum), begin = reduce(select(kept, iota, columns), minimum)
**
** The mask is read where it is smallest, before it is repeated for each head.
*/
#include <math.h>

#include "hlo/ir/shorthand.h"
#include "rewrite/base/make.h"
#include "rewrite/fuse/masks.h"

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

/* Returns whether each row has a number that is large enough. */
static Instruction *rows_are_kept(Maker *m, const Condition *condition) {
  Instruction *x = condition->x;
  Instruction *most = make_reduce(m, HLO_MAXIMUM, x, -INFINITY, list_of_one(m, condition->column));
  Instruction *least =
      make_reduce(m, HLO_MINIMUM, most, INFINITY, list_counting(m, 0, most->shape->rank));
  return make_compare(m, COMPARE_GE, least, make_number(m, least->shape, condition->min_kept));
}

/* Returns the end or the begin of the columns that a condition keeps: s32. are_kept: the rows, or NULL. */
static Instruction *end_of(Maker *m, const Condition *condition, Instruction *are_kept,
                           bool is_begin) {
  const Shape *shape = condition->x->shape;
  double columns = (double)shape->dims[condition->column], none = is_begin ? columns : 0;
  Instruction *at = make_iota(m, S32, shape, condition->column);
  if (!is_begin) at = make_binary(m, HLO_ADD, at, make_number(m, at->shape, 1));
  Instruction *end = make_reduce(m, is_begin ? HLO_MINIMUM : HLO_MAXIMUM,
                                 choose(m, condition, at, make_number(m, at->shape, none)), none,
                                 list_counting(m, 0, shape->rank));
  return are_kept ? make_select(m, are_kept, end, make_number(m, end->shape, columns - none)) : end;
}

void computed_ends(const Limit *limit, Instruction *ends[2]) {
  Error error;
  bool failed = false;
  Maker m = {limit->conditions[0].x->parent, &error, &failed};
  for (int i = 0; i < limit->count; i++) {
    const Condition *condition = &limit->conditions[i];
    Instruction *are_kept = condition->min_kept ? rows_are_kept(&m, condition) : NULL;
    for (int k = 0; k < 2; k++) {
      Instruction *end = end_of(&m, condition, are_kept, k == 0);
      if (i) end = make_binary(&m, k ? HLO_MAXIMUM : HLO_MINIMUM, ends[k], end);
      ends[k] = end;
    }
  }
  for (int k = 0; k < 2; k++) ends[k] = computation_add_convert(m.computation, ends[k], S64);
}
