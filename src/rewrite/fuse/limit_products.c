/*
** Limits products to the columns that are used. Attention over a cache masks the scores of positions that are not valid yet:
**
**     select(iota < n, f(dot(q, cache)), c)        the dot computes the first n positions, and reads only these of the cache
**     select(column < row + n, f(dot(q, k)), c)    a causal mask: in row i the dot computes at least the first n + i positions
**     and(..., iota >= begin)                      a window: the dot does not compute the positions before it, either
**
** where f is element-wise or moves dimensions, and nothing else reads the scores. The dot becomes a fusion of it with one
** more operand, n or (n, begin), which its computation does not read. `used_dimension` says which dimension of the result
** has the columns, and `used_diagonal`, which one has the rows of a causal mask. The select drops all other scores, so
** they may hold anything, even if the operands have infinities or NaNs there.
**
** The second product, of weights that are 0 where they are masked, is not limited: 0 times an infinity or a NaN is a NaN.
** Its kernel finds zeros as it runs; bounded_arrays.c lets it skip what they multiply. A mask that is added limits nothing, for
** the same reason.
*/
#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MIN_ELEMENTS, MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
enum { MIN_ELEMENTS = 4096, MAX_STEPS = 16, ABSENT = -1 };

/* Where the columns and the rows of a mask lie in an array: dimensions; ABSENT if its elements do not depend on them. */
typedef struct Place {
  int column, row;
} Place;

/* The condition column < row + scalar + number, or without the row; or >=, if it is a lower limit. */
typedef struct Limit {
  bool is_lower;
  bool diagonal;       /* with the row */
  Instruction *scalar; /* an integer, of one element; NULL: 0 */
  PrimitiveType type;
  int64_t before,
      number; /* `before` is added to the scalar in its type, which may wrap; then `number` */
} Limit;

/* Returns the dimension of the same size with as many elements after it; -1 if there is none. */
static int same_dimension(const Shape *from, int dimension, const Shape *to) {
  int64_t after = 1, found = 1;
  for (int d = from->rank - 1; d > dimension; d--) after *= from->dims[d];
  for (int d = to->rank - 1; d >= 0; found *= to->dims[d--]) {
    if (found == after && to->dims[d] == from->dims[dimension]) return d;
  }
  return -1;
}

/* Returns the operand's dimension that becomes `dimension` of x, an operation that only moves elements; -1 if none does. */
static int dimension_before(const Instruction *x, int dimension) {
  const Int64List *dims = &x->a->dimensions;
  switch (x->opcode) {
  case HLO_RESHAPE: return same_dimension(x->shape, dimension, x->operands[0]->shape);
  case HLO_COPY: return dimension;
  case HLO_TRANSPOSE: return (int)dims->items[dimension];
  case HLO_BROADCAST:
    for (int i = 0; i < dims->count; i++) {
      if (dims->items[i] == dimension) return i;
    }
    return -1;
  default: return -1;
  }
}

/* Returns the dimension of x that the operand's dimension becomes; -1 if none. */
static int dimension_after(const Instruction *x, int dimension) {
  switch (x->opcode) {
  case HLO_RESHAPE: return same_dimension(x->operands[0]->shape, dimension, x->shape);
  case HLO_COPY: return dimension;
  case HLO_TRANSPOSE:
    for (int d = 0; d < x->shape->rank; d++) {
      if (x->a->dimensions.items[d] == dimension) return d;
    }
    return -1;
  default:
    return opcode_is_elementwise(x->opcode) && shape_is_array(x->shape) &&
                   shape_same_dims(x->shape, x->operands[0]->shape)
               ? dimension
               : -1;
  }
}

/* ---- Masks ---- */

/* Moves a place from x to its operand, if x only moves elements. */
static bool move_place(const Instruction *x, Place *place) {
  for (int i = 0; i < 2; i++) {
    int *d = i ? &place->row : &place->column;
    if (*d == ABSENT) continue;
    int before = dimension_before(x, *d);
    if (before == ABSENT && x->opcode != HLO_BROADCAST) return false;
    *d = before;
  }
  return true;
}

static bool moves_elements(const Instruction *x) {
  return x->opcode == HLO_RESHAPE || x->opcode == HLO_COPY || x->opcode == HLO_TRANSPOSE ||
         x->opcode == HLO_BROADCAST;
}

static Instruction *one_element(Instruction *x) {
  while (shape_elements(x->shape) > 1 &&
         (x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE || x->opcode == HLO_COPY)) {
    x = x->operands[0];
  }
  return shape_elements(x->shape) == 1 ? x : NULL;
}

/* column * index of the column + row * index of the row + number + scalar */
typedef struct Sum {
  int column, row;
  int64_t number;
  Instruction *scalar;
} Sum;

/* Adds the terms of x, or subtracts them. Returns false if it has others, or subtracts a scalar. sums: how many sums may be within
** each other. */
static bool add_terms(const Instruction *x, Place place, int sign, int sums, Sum *sum) {
  /* Threshold MAX_NUMBER: above all dimensions, and far below the ends of s32. No path. */
  enum { MAX_NUMBER = 1 << 28 };
  Scalar value;
  for (;;) {
    Instruction *scalar = one_element((Instruction *)x);
    if (x->opcode == HLO_IOTA && shape_elements(x->shape) > 1) {
      int d = (int)x->a->iota_dimension;
      if (d == place.column) sum->column += sign;
      if (d == place.row) sum->row += sign;
      return d == place.column || d == place.row;
    }
    if (splat_value(x, &value)) {
      if (value.i < -MAX_NUMBER || value.i > MAX_NUMBER) return false;
      sum->number += sign * value.i;
      return true;
    }
    if (scalar) {
      if (sum->scalar || sign < 0) return false;
      sum->scalar = scalar;
      return true;
    }
    if ((x->opcode == HLO_ADD || x->opcode == HLO_SUBTRACT) && sums-- > 0) {
      if (!add_terms(x->operands[0], place, sign, sums, sum)) return false;
      if (x->opcode == HLO_SUBTRACT) sign = -sign;
      x = x->operands[1];
    } else if (moves_elements(x) && move_place(x, &place)) {
      x = x->operands[0];
    } else {
      return false;
    }
  }
}

/* Finds the limit that a comparison gives a column on its left side, or on its right if `turned`. */
static bool limit_of_sides(const Sum *left, const Sum *right, ComparisonDirection direction,
                           bool turned, bool wanted, Limit *out) {
  int sign = left->column, row = sign * (right->row - left->row);
  bool flips = turned != (sign < 0);
  bool is_less = direction == COMPARE_LT || direction == COMPARE_LE;
  bool next = (direction == COMPARE_LE || direction == COMPARE_GT) != flips;
  if ((is_less != flips) == (out->is_lower == wanted) || (sign != 1 && sign != -1) ||
      left->scalar || right->column || (sign < 0 && right->scalar) || row < 0 || row > 1 ||
      right->row < 0) {
    return false;
  }
  out->diagonal = row;
  out->scalar = right->scalar;
  out->before = right->scalar ? right->number : 0;
  out->number = sign * (right->number - left->number) - out->before + next;
  return true;
}

/* Sums of small numbers may be negative, but not wrap; so of the unsigned types only u32 is handled, without sums. */
static bool limit_of_comparison(const Instruction *x, Place place, bool wanted, Limit *out) {
  ComparisonDirection direction = x->a->direction;
  Sum sums[2] = {{0}, {0}};
  out->type = x->operands[0]->shape->type;
  bool is_signed = out->type == S32 || out->type == S64;
  if ((!is_signed && out->type != U32) || direction == COMPARE_EQ || direction == COMPARE_NE) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    if (!add_terms(x->operands[i], place, 1, is_signed ? MAX_STEPS : 0, &sums[i])) return false;
  }
  for (int i = 0; i < 2; i++) {
    if (sums[i].column) {
      return limit_of_sides(&sums[i], &sums[1 - i], direction, i, wanted, out) &&
             x->shape->dims[place.column] < INT32_MAX / 2;
    }
  }
  return false;
}

/* Finds a limit, with or without the row: the mask equals `wanted` only at columns below it, or, if out->is_lower, not below. */
static bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal,
                       Limit *out) {
  for (int i = 0; i < MAX_STEPS && place.column != ABSENT; i++) {
    Opcode opcode = mask->opcode;
    int other;
    Scalar value;
    if (opcode == HLO_COMPARE) {
      return limit_of_comparison(mask, place, wanted, out) && out->diagonal == diagonal;
    }
    if (opcode == (wanted ? HLO_AND : HLO_OR)) {
      if (find_limit(mask->operands[0], place, wanted, diagonal, out)) return true;
      mask = mask->operands[1];
    } else if (opcode == HLO_NOT) {
      wanted = !wanted;
      mask = mask->operands[0];
    } else if (opcode == HLO_SELECT && shape_same_dims(mask->shape, mask->operands[0]->shape)) {
      /* One branch is a constant that is not wanted: the condition chooses the other one. */
      for (other = 0; other < 2; other++) {
        if (splat_value(mask->operands[1 + other], &value) && (value.u != 0) != wanted) break;
      }
      if (other == 2) return false;
      if (find_limit(mask->operands[2 - other], place, wanted, diagonal, out)) return true;
      wanted = other;
      mask = mask->operands[0];
    } else {
      if (!moves_elements(mask) || !move_place(mask, &place)) return false;
      mask = mask->operands[0];
    }
  }
  return false;
}

/* ---- Products ---- */

/* Moves a place from x to its user. A row may get lost, if the limit is to be one without it. */
static bool place_after(const Instruction *user, bool diagonal, Place *place) {
  if (user->opcode == HLO_SELECT) return true;
  place->column = dimension_after(user, place->column);
  if (diagonal) place->row = dimension_after(user, place->row);
  return place->column != ABSENT && (!diagonal || place->row != ABSENT);
}

/* Finds the limit of a dot's used columns. place.row: ABSENT if it is to be one without the row. */
static bool find_used(const Users *users, const Instruction *dot, Place place, Limit *out) {
  const Instruction *x = dot;
  bool diagonal = place.row != ABSENT;
  for (int i = 0; i < MAX_STEPS; i++) {
    if (users->count[x->id] != 1 || x == x->parent->root) return false;
    const Instruction *user = users->lists[x->id][0];
    if (user->opcode == HLO_SELECT && user->operands[0] != x) {
      const Shape *mask = user->operands[0]->shape;
      bool on_true = user->operands[1] == x;
      if (shape_same_dims(mask, user->shape) &&
          find_limit(user->operands[0], place, on_true, diagonal, out)) {
        return true;
      }
    }
    if (!place_after(user, diagonal, &place)) return false;
    x = user;
  }
  return false;
}

/* Returns n: columns below n, or below n + row, are used. The kernel clamps it when it reads it. wide: in s64. */
static Instruction *count_of(Computation *computation, const Limit *limit, bool wide) {
  /* Above all dimensions; larger limits count as this one, so that sums do not wrap. */
  const int64_t MAX_LIMIT = INT64_C(1) << 40;
  if (!limit->scalar) return computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *n = computation_add_reshape(computation, limit->scalar, 0, NULL);
  if (limit->before) {
    Instruction *before =
        computation_add_number(computation, limit->type, (Scalar){.i = limit->before});
    n = computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, before}, 2, NULL);
  }
  if (!limit->number && !wide) return n;
  Instruction *number = computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *max = computation_add_number(computation, S64, (Scalar){.i = MAX_LIMIT});
  n = computation_add(computation, HLO_CONVERT, number->shape, &n, 1, NULL);
  n = computation_add(computation, HLO_MINIMUM, n->shape, (Instruction *[]){n, max}, 2, NULL);
  return computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, number}, 2, NULL);
}

/* Returns an array of the end and the begin of the used columns. */
static Instruction *both_of(Instruction *begin, Instruction *end) {
  Computation *c = begin->parent;
  Arena *arena = c->module->arena;
  int64_t one = 1, two = 2;
  Instruction *parts[] = {computation_add_reshape(c, end, 1, &one),
                          computation_add_reshape(c, begin, 1, &one)};
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(arena, &(int64_t){0}, sizeof(int64_t))});
  return computation_add(c, HLO_CONCATENATE, shape_make(arena, S64, 1, &two, NULL), parts, 2, a);
}

static void limit_product(Instruction *dot, Instruction *n, Place place) {
  Module *module = dot->parent->module;
  Computation *fused =
      module_add_computation(module, arena_printf(module->arena, "limited_%s", dot->name));
  Instruction *operands[] = {dot->operands[0], dot->operands[1], n}, *parameters[3];
  for (int i = 0; i < 3; i++) {
    parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
  }
  fused->root = computation_add(fused, HLO_DOT, dot->shape, parameters, 2, dot->a);
  instruction_become(
      dot, HLO_FUSION, operands, 3,
      ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT,
                 .derived = {.used_dimension = place.column + 1, .used_diagonal = place.row + 1}));
}

/* Finds the limit of a dot with these columns: one with any dimension as the row, or one without. */
static bool find_place(const Users *users, const Instruction *dot, int batches, Place *place,
                       Limit *out) {
  for (place->row = dot->shape->rank - 1; place->row >= batches; place->row--) {
    if (place->row == place->column || dot->shape->dims[place->row] == 1) continue;
    if (find_used(users, dot, *place, out)) return true;
  }
  place->row = ABSENT;
  return find_used(users, dot, *place, out);
}

static bool limit_dot(const Users *users, Instruction *dot) {
  const Attributes *a = dot->a;
  int batches = a->lhs_batch_dims.count, free = dot->shape->rank - batches;
  bool is_small = shape_elements(dot->operands[0]->shape) < MIN_ELEMENTS &&
                  shape_elements(dot->operands[1]->shape) < MIN_ELEMENTS;
  if (is_small || !free || a->control_predecessors.count) {
    return false;
  }
  for (int d = dot->shape->rank - 1; d >= batches; d--) {
    Limit limit = {0};
    Place place = {.column = d};
    if (!find_place(users, dot, batches, &place, &limit)) continue;
    if (limit.scalar && limit.scalar->parent != dot->parent) continue;
    if (!limit.scalar && !limit.diagonal && limit.number >= dot->shape->dims[d]) continue;
    Instruction *n = count_of(dot->parent, &limit, false);
    Limit lower = {.is_lower = true};
    if (find_used(users, dot, place, &lower) &&
        (!lower.scalar || lower.scalar->parent == dot->parent)) {
      n = both_of(count_of(dot->parent, &lower, true), count_of(dot->parent, &limit, true));
    }
    limit_product(dot, n, place);
    return true;
  }
  return false;
}

static bool limit_products(Computation *computation) {
  Arena *arena = arena_new();
  bool changed = false;
  int count = computation->count;
  Users users = find_users(arena, computation);
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_DOT) changed |= limit_dot(&users, x);
  }
  arena_free(arena);
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_limit_products(Module *module) {
  bool changed = false;
  for (int i = 0, count = module->count; i < count; i++) {
    changed |= limit_products(module->computations[i]);
  }
  if (changed) module_keep_reached(module);
  return changed;
}
