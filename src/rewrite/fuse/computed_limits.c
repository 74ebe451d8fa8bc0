/*
** Limits products by masks that are no comparison of positions with a scalar: an argument, rows of a stored triangle, numbers that
** are compared again, a mask that a loop over layers reads, and all masks that are added. The program looks which columns such a
** mask keeps (mask_ends.c). This costs a loop over the mask, so it must be small beside the product.
**
** A mask may be added:
**
**     add(f(dot(q, cache)), select(iota < n, 0, -3.4e38))
**
** Its large number M hides a score s if |s| is below a quarter of M's last bit: then s + M = M, to the bit. That holds if the dot's
** results are below 2^`hides_below`.
**
** Of a smaller number, such as -1e9, the sum depends on the score. But softmax(s + M) computes exp(s + M - max), which is 0 for all
** scores below half of M, if the largest sum is one without M. So each row must keep a column, and nothing else may read the sums.
**
** A bias that is added, too, such as T5's or ALiBi's, may be half as large as the scores that are hidden; the program looks.
**
** If the product reads a cache, its kernel checks that results are small, by what bounded arrays (bounded_arrays.c) say of the
** cache, and writes 0 for the scores that it leaves out: M hides 0, too. If it has more results than it reads numbers, as in a
** prefill, the program itself finds the largest numbers of both operands, and replaces the rest by 0:
**
**     end' = select(max |q| * max |k| * depth < 2^hides_below, end, columns)
**     add(f(select(column < end', dot(q, k), 0)), mask)
*/
#include <math.h>
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/fuse/limit_products.h"
#include "rewrite/fuse/mask_ends.h"

/* Threshold MAX_STEPS, MAX_SEARCHED. Test: "limit-products" in core/limited_products.test.mjs. */
/* Threshold MAX_CONDITIONS: a bias of positions, and a mask. No path. */
/* Threshold MAX_LOGARITHM, MAX_LOGARITHM_F16: of finite numbers, which scores stay on their way to a mask.
** Test: "masks that are added" in core/bounded_arrays.test.mjs. */
/* Threshold MIN_LOGARITHM: exp(-2^12 / 4) is 0, in f64, too. Test: "masks that are added" in core/bounded_arrays.test.mjs. */
/* Threshold MIN_WORK, ELEMENT_WORK: multiply-adds for an element that is looked at, and in the time of an element that is read.
** They decide about speed; results are the same.
** Test: "masks of each score are looked at beside a deep product" in core/limited_products.test.mjs. */
enum {
  MAX_STEPS = 16,
  MAX_SEARCHED = 64,
  MAX_CONDITIONS = 2,
  MAX_LOGARITHM = 126,
  MAX_LOGARITHM_F16 = 15,
  MIN_LOGARITHM = 12,
  MIN_WORK = 64,
  ELEMENT_WORK = 3
};
static const double LARGEST = 0x1p127;

/* What a product's masks depend on. */
typedef struct Masks {
  const Users *users;
  Instruction *const *callers;
  double work;     /* of the product, in multiply-adds */
  int hides_below; /* of a mask that is added: the binary logarithm of what it hides; else 0 */
  int count;
  Condition conditions[MAX_CONDITIONS];
} Masks;

/* Returns the binary logarithm of a number, rounded down; of 0, a large negative number; of infinities, a large one. */
static int logarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* Returns the binary logarithm, rounded up. */
static int logarithm_up(double x) { return -logarithm(1 / x); }

/* Numbers on the way from a dot to its mask: how many times as large as the dot's results they may be anywhere, and at the end.
** Below 2^`finite` all are finite. */
typedef struct Growth {
  double most, last;
  int finite;
} Growth;

/* Adds a condition on an array, where it is smallest. Returns NULL if it does not depend on the column, or is large, or there are
** too many. */
static Condition *add_condition(Masks *out, Instruction *x, Place place, ConditionKind kind) {
  Place next = place;
  for (; moves_elements(x) && move_place(x, &next); place = next) {
    if (next.column == ABSENT) return NULL;
    x = x->operands[0];
  }
  double work = (double)shape_elements(x->shape) * MIN_WORK;
  if (out->count == MAX_CONDITIONS || work > out->work) return NULL;
  Condition *condition = &out->conditions[out->count++];
  *condition = (Condition){.x = x, .place = place, .kind = kind};
  return condition;
}

/* Follows numbers from x to its user. Their growth becomes infinite if it is not known. */
static void grow(const Instruction *user, const Instruction *x, Place place, Masks *out,
                 Growth *growth) {
  /* Threshold MIN_SCALE: numbers that shrink to denormals are rounded by more. No path. */
  const double MIN_SCALE = 1.0 / 1024;
  bool is_left = user->operands[0] == x;
  PrimitiveType type = user->shape->type;
  Scalar number;
  double factor = INFINITY;
  Condition *condition;
  if (type == F16) growth->finite = MAX_LOGARITHM_F16;
  switch (user->opcode) {
  case HLO_CONVERT: /* to others numbers wrap, or become infinite or NaN */
    if (type != F32 && type != F64 && type != BF16 && type != F16) growth->most = INFINITY;
    return;
  case HLO_RESHAPE:
  case HLO_COPY:
  case HLO_TRANSPOSE:
  case HLO_NEGATE:
  case HLO_TANH: return;
  case HLO_MULTIPLY:
  case HLO_DIVIDE:
    if (splat_value(user->operands[is_left], &number)) {
      factor = fabs(user->opcode == HLO_MULTIPLY ? number.f : 1 / number.f);
      if (user->opcode == HLO_DIVIDE && !is_left) factor = INFINITY;
    } else if (user->opcode == HLO_MULTIPLY && type_is_floating(type)) {
      condition = add_condition(out, user->operands[is_left], place, IS_FACTOR);
      if (condition) condition->number = factor = 1;
    }
    break;
  default: break;
  }
  growth->last *= factor;
  if (growth->last < MIN_SCALE) growth->last = MIN_SCALE;
  if (!(growth->last <= growth->most)) growth->most = growth->last; /* a NaN, too */
}

static bool are_exponentials(const Users *users, const Instruction *x) {
  for (int i = 0; i < users->count[x->id]; i++) {
    if (users->lists[x->id][i]->opcode != HLO_EXP) return false;
  }
  return x != x->parent->root;
}

/* Whether x is only read by exp(x - max(x)), of the maximum along a dimension. */
static bool becomes_softmax(const Users *users, const Instruction *x, int dimension) {
  int count = users->count[x->id];
  const Instruction *const *list = (const Instruction *const *)users->lists[x->id];
  if (count == 1 && list[0]->opcode == HLO_CONVERT && list[0]->shape->type != F16) {
    return becomes_softmax(users, list[0], dimension);
  }
  for (int i = 0; i < count; i++) {
    const Instruction *user = list[i];
    bool is_max = user->opcode == HLO_REDUCE && reduce_operation(user) == HLO_MAXIMUM &&
                  list_has(user->a->dimensions, dimension);
    bool is_difference = user->opcode == HLO_SUBTRACT && user->a->derived.at_most_zero;
    if (!is_max && !(is_difference && are_exponentials(users, user))) return false;
  }
  return count > 1 && x != x->parent->root;
}

/* Sets what `number` hides, or, in a softmax, one that is less than the kept ones by `span`. Returns false if nothing. */
static bool set_hidden(const Instruction *sum, double number, double span, const Growth *growth,
                       Masks *out) {
  /* The exponential of -760 is 0 in f64, too. Both numbers are rounded, and a score may be on either side. */
  const double MIN_EXPONENT = 760, ROUNDED = 2.02;
  /* A quarter of the last bit, less 1 for the rounding of scores. */
  int most = span > 0 ? logarithm((0.99 * span - MIN_EXPONENT) / ROUNDED)
                      : logarithm(number) - type_mantissa_bits(sum->shape->type) - 3;
  int finite = growth->finite - logarithm_up(growth->most);
  out->hides_below = most - logarithm_up(growth->last);
  if (out->hides_below > finite) out->hides_below = finite;
  return growth->most < INFINITY && out->hides_below > 0;
}

/* ---- Conditions ---- */

/* Returns the most negative number among the constants that x is computed of, or, if a mask is subtracted, minus the largest one; 0
** if there is none. It is the mask's, as a rule: the program compares with it. No mask is made by a product. */
static double most_negative(const Instruction *x, Instruction *const *callers, double sign,
                            int *steps) {
  Scalar value;
  double found = 0;
  if ((*steps)-- <= 0 || !shape_is_array(x->shape) || x->opcode == HLO_DOT) return 0;
  const Instruction *outer = before_loop(x, callers);
  if (outer) return most_negative(outer, callers, sign, steps);
  if (type_is_floating(x->shape->type) && splat_value(x, &value)) return fmin(sign * value.f, 0);
  for (int i = 0; i < x->operand_count; i++) {
    found = fmin(found, most_negative(x->operands[i], callers, sign, steps));
  }
  return found;
}

/* Adds the condition of a select's predicate. The select drops what was added before. */
static bool add_chosen(Masks *out, const Instruction *select, bool wanted, Place place) {
  Instruction *mask = select->operands[0];
  out->count = out->hides_below = 0;
  return shape_same_dims(mask->shape, select->shape) &&
         add_condition(out, mask, place, wanted ? IS_WANTED : IS_UNWANTED);
}

/* Adds the condition of a number that is added to x: of a mask, or else of a bias, which must be small. */
static bool add_added(const Instruction *sum, const Instruction *x, Place place,
                      const Growth *growth, Masks *out, bool *is_mask) {
  bool is_left = sum->operands[0] == x, subtracts = sum->opcode == HLO_SUBTRACT;
  Instruction *other = sum->operands[is_left];
  if (other == x || (subtracts && !is_left) || !type_is_floating(sum->shape->type)) return false;
  int steps = MAX_SEARCHED;
  double large = fmin(-most_negative(other, out->callers, subtracts ? -1 : 1, &steps), LARGEST);
  *is_mask = logarithm(large) >= MIN_LOGARITHM;
  Condition *added = add_condition(out, other, place, *is_mask ? IS_BELOW : IS_SMALL);
  if (!added) return false;
  added->number = growth->last;
  if (!*is_mask) return true;
  added->is_negated = subtracts;
  bool is_softmax = becomes_softmax(out->users, sum, place.column);
  added->number = -0.75 * large; /* a bias may be in the rest */
  added->min_kept = is_softmax ? -0.25 * large : 0;
  if (!set_hidden(sum, 0.75 * large, is_softmax ? 0.5 * large : 0, growth, out)) return false;
  for (int i = 0; i + 1 < out->count; i++) { /* a score and its bias take half of the bound each */
    if (out->conditions[i].kind == IS_FACTOR) continue;
    if (growth->last > out->conditions[i].number) return false;
    out->conditions[i].number = ldexp(growth->last, (int)--out->hides_below);
  }
  return out->hides_below > 0;
}

/* Finds the masks of a dot's results, at this place. */
static bool find_masks(const Instruction *dot, Place place, Masks *out) {
  const Instruction *x = dot;
  Growth growth = {1, 1, dot->shape->type == F16 ? MAX_LOGARITHM_F16 : MAX_LOGARITHM};
  out->count = out->hides_below = 0;
  for (int i = 0; i < MAX_STEPS; i++) {
    const Instruction *user = only_user(out->users, x);
    if (!user) return false;
    if (user->opcode == HLO_SELECT && user->operands[0] != x) {
      return add_chosen(out, user, user->operands[1] == x, place);
    }
    bool is_mask = false, adds = user->opcode == HLO_ADD || user->opcode == HLO_SUBTRACT;
    if (adds && !add_added(user, x, place, &growth, out, &is_mask)) return false;
    if (is_mask) return true;
    if (!place_after(user, &place)) return false;
    if (!adds) grow(user, x, place, out, &growth);
    x = user;
  }
  return false;
}

/* Whether x is computed from a dot: of two products that are added to each other, only one can be limited by the other. */
static bool comes_from(const Instruction *x, const Instruction *dot) {
  Arena *arena = arena_new();
  int count = x->parent->count, left = 1;
  bool *seen = ARENA_ARRAY(arena, bool, count);
  const Instruction **stack = ARENA_ARRAY(arena, const Instruction *, count);
  for (stack[0] = x; left && !seen[dot->id];) {
    const Instruction *next = stack[--left];
    for (int i = 0; i < next->operand_count; i++) {
      const Instruction *operand = next->operands[i];
      if (!seen[operand->id]) stack[left++] = operand;
      seen[operand->id] = true;
    }
  }
  bool found = seen[dot->id];
  arena_free(arena);
  return found;
}

static bool are_apart(const Masks *masks, const Instruction *dot) {
  for (int i = 0; i < masks->count; i++) {
    if (comes_from(masks->conditions[i].x, dot)) return false;
  }
  return true;
}

/* ---- Products ---- */

static double depth_of(const Instruction *dot) {
  double depth = 1;
  Int64List dims = dot->a->lhs_contracting_dims;
  for (int i = 0; i < dims.count; i++)
    depth *= (double)dot->operands[0]->shape->dims[dims.items[i]];
  return depth;
}

static double elements_read(const Instruction *dot) {
  return (double)shape_elements(dot->operands[0]->shape) +
         (double)shape_elements(dot->operands[1]->shape);
}

/* Finds masks at this place, or, if it has a row, masks that depend on this row. */
static bool are_masked_at(const Instruction *dot, Place place, Masks *out) {
  bool has_row = place.row == ABSENT;
  if (!find_masks(dot, place, out) || !are_apart(out, dot)) return false;
  for (int i = 0; i < out->count; i++) has_row |= out->conditions[i].place.row != ABSENT;
  return has_row;
}

static bool find_place(const Instruction *dot, int column, Place *place, Masks *out) {
  const int64_t *dims = dot->shape->dims;
  int batches = dot->a->lhs_batch_dims.count;
  place->column = column;
  for (place->row = dot->shape->rank - 1; place->row >= batches; place->row--) {
    bool is_row = place->row != column && dims[place->row] > 1;
    if (is_row && are_masked_at(dot, *place, out)) return true;
  }
  place->row = ABSENT;
  return are_masked_at(dot, *place, out);
}

/* Returns the largest magnitude of an array; NaN if it has one. */
static Instruction *largest(Maker *m, Instruction *x) {
  x = make_unary(m, HLO_ABS, make_convert(m, x, F32));
  return make_reduce(m, HLO_MAXIMUM, x, 0, list_counting(m, 0, x->shape->rank));
}

/* Returns whether all results of a dot are below a power of two, by the largest numbers of its operands. */
static Instruction *results_are_small(Maker *m, const Instruction *dot, int logarithm) {
  Instruction *product =
      make_binary(m, HLO_MULTIPLY, largest(m, dot->operands[0]), largest(m, dot->operands[1]));
  /* The product and the number are rounded, so half of it. */
  double bound = fmin(ldexp(0.5, logarithm), LARGEST) / depth_of(dot);
  return make_compare(m, COMPARE_LT, product, make_number(m, product->shape, bound));
}

/* Returns where a place is in [begin, end), or, along the diagonals, in [begin + row, end + row). */
static Instruction *is_between(Maker *m, const Shape *shape, Place place, Instruction *begin,
                               Instruction *end, bool diagonal) {
  Instruction *at = make_iota(m, S32, shape, place.column);
  if (diagonal) at = make_binary(m, HLO_SUBTRACT, at, make_iota(m, S32, shape, place.row));
  Instruction *is[2];
  for (int i = 0; i < 2; i++) {
    Instruction *bound = make_splat(m, make_convert(m, i ? end : begin, S32), shape);
    is[i] = make_compare(m, i ? COMPARE_LT : COMPARE_GE, at, bound);
  }
  return make_binary(m, HLO_AND, is[0], is[1]);
}

/* Returns the end and the begin of the diagonals, and then of all rows; or those of all rows alone. */
static Instruction *limits_of(const Ends *ends) {
  if (!ends->end[1]) return list_of_limits((Instruction *[]){ends->end[0], ends->begin[0]}, 2);
  return list_of_limits(
      (Instruction *[]){ends->end[1], ends->begin[1], ends->end[0], ends->begin[0]}, 4);
}

/* Limits a copy of a dot whose operands the program checks, and makes the dot that copy's used part, with zeros beside it. */
static void limit_checked(Maker *m, Instruction *dot, Place place, Ends *ends, int hides_below) {
  const Shape *shape = dot->shape;
  Instruction *is_small = results_are_small(m, dot, hides_below);
  int64_t rows = place.row == ABSENT ? 0 : shape->dims[place.row];
  Instruction *used = NULL;
  for (int k = 0; k < 2 && ends->end[k]; k++) {
    const Shape *scalar = ends->end[k]->shape;
    Instruction *least = make_number(m, scalar, k ? -(double)rows : 0);
    Instruction *most = make_number(m, scalar, (double)shape->dims[place.column]);
    ends->begin[k] = make_select(m, is_small, ends->begin[k], least);
    ends->end[k] = make_select(m, is_small, ends->end[k], most);
    Instruction *is = is_between(m, shape, place, ends->begin[k], ends->end[k], k);
    used = used ? make_binary(m, HLO_AND, used, is) : is;
  }
  Instruction *copy = computation_add(m->computation, HLO_DOT, shape, dot->operands, 2, dot->a);
  Instruction *parts[] = {used, copy, make_zeros(m, shape)};
  instruction_become(dot, HLO_SELECT, parts, 3, NULL);
  limit_product(copy, limits_of(ends), place, 0);
}

struct FoundEnds {
  FoundEnds *next;
  Condition conditions[MAX_CONDITIONS];
  int count;
  int64_t rows;
  Ends ends;
};

static bool is_same(const Condition *one, const Condition *other) {
  return one->x == other->x && one->place.column == other->place.column &&
         one->place.row == other->place.row && one->kind == other->kind &&
         one->is_negated == other->is_negated && one->number == other->number &&
         one->min_kept == other->min_kept;
}

/* Returns the ends of masks, of those that were found before if there are such. rows: of the scores, or 1. */
static Ends find_ends(Limiter *limiter, Maker *m, const Masks *masks, int64_t rows) {
  FoundEnds *found = limiter->found;
  for (; found; found = found->next) {
    bool same = found->count == masks->count && found->rows == rows;
    for (int i = 0; i < masks->count && same; i++) {
      same = is_same(&found->conditions[i], &masks->conditions[i]);
    }
    if (same) return found->ends;
  }
  found = arena_alloc(limiter->arena, sizeof *found);
  *found = (FoundEnds){.next = limiter->found, .count = masks->count, .rows = rows};
  memcpy(found->conditions, masks->conditions, sizeof found->conditions);
  found->ends = mask_ends(m, masks->conditions, masks->count, rows);
  limiter->found = found;
  return found->ends;
}

bool compute_limit(Limiter *limiter, Instruction *dot) {
  Masks masks = {.users = &limiter->users, .callers = limiter->callers};
  const Shape *shape = dot->shape;
  double results = (double)shape_elements(shape), reads = elements_read(dot);
  masks.work = results * depth_of(dot) + ELEMENT_WORK * reads;
  for (int d = shape->rank - 1; d >= dot->a->lhs_batch_dims.count; d--) {
    Place place;
    if (shape->dims[d] == 1 || !find_place(dot, d, &place, &masks)) continue;
    Error error;
    bool failed = false;
    Maker m = {dot->parent, &error, &failed};
    int64_t rows = place.row == ABSENT ? 1 : shape->dims[place.row];
    Ends ends = find_ends(limiter, &m, &masks, rows);
    if (masks.hides_below && results > reads) {
      limit_checked(&m, dot, place, &ends, masks.hides_below);
    } else {
      limit_product(dot, limits_of(&ends), place, masks.hides_below);
    }
    return true;
  }
  return false;
}
