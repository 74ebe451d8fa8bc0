/*
** Limits products to the columns that are used. Attention over a cache masks the scores of positions that are not valid yet:
**
**     select(iota < n, f(dot(q, cache)), c)        the dot computes the first n positions, and reads only these of the cache
**     select(column < row + n, f(dot(q, k)), c)    a causal mask: in row i the dot computes at least the first n + i positions
**     and(..., iota >= begin)                      a window: the dot does not compute the positions before it, either
**     select(iota < n[batch], f(dot(q, k)), c)     a length for each batch: the dot computes positions up to the largest one
**
** where f is element-wise or moves dimensions, and nothing else reads the scores. The dot becomes a fusion of it with one
** more operand, n or (n, begin), which its computation does not read. `used_dimension` says which dimension of the result
** has the columns, and `used_diagonal`, which one has the rows of a causal mask. The select drops all other scores, so
** they may hold anything, even if the operands have infinities or NaNs there.
**
** The second product, of weights that are 0 where they are masked, is not limited: 0 times an infinity or a NaN is a NaN.
** Its kernel finds zeros as it runs; bounded_arrays.c lets it skip what they multiply.
**
** A mask may be added:
**
**     add(f(dot(q, cache)), select(iota < n, 0, -3.4e38))
**
** Its large number M hides a score s if |s| is below a quarter of M's last bit: then s + M = M, to the bit. That holds if the dot's
** results are below 2^`hides_below`. The kernel limits the product if bounded arrays (bounded_arrays.c) show that they are. It
** writes 0 for the scores that it leaves out: M hides 0, too.
**
** Of a smaller number, such as -1e9, the sum depends on the score. But softmax(s + M) computes exp(s + M - max), which is 0 for all
** scores below a quarter of M, if the largest sum is one without M. So each row must keep a column, which the kernel checks, and
** nothing else may read the sums.
*/
#include <math.h>
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/fuse/masks.h"

/* Threshold MIN_ELEMENTS, MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
/* Threshold MAX_LOGARITHM: of a finite f32, which scores stay on their way to a mask. Test: "masks that are added" in
** core/bounded_arrays.test.mjs. */
/* Threshold MIN_LOGARITHM: exp(-2^12 / 4) is 0, in f64, too. Test: "masks that are added" in core/bounded_arrays.test.mjs. */
enum { MIN_ELEMENTS = 4096, MAX_STEPS = 16, MAX_LOGARITHM = 127, MIN_LOGARITHM = 12 };

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

/* ---- Products ---- */

/* Moves a place from x to its user. A row may get lost, if the limit is to be one without it. */
static bool place_after(const Instruction *user, bool diagonal, Place *place) {
  if (user->opcode == HLO_SELECT) return true;
  place->column = dimension_after(user, place->column);
  if (diagonal) place->row = dimension_after(user, place->row);
  return place->column != ABSENT && (!diagonal || place->row != ABSENT);
}

/* Returns the binary logarithm of a number, rounded down; of 0, a large negative number; of infinities, a large one. */
static int logarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int)(bits >> 52 & 0x7ff) - 1023;
}

/* Multiplies `scale` by the factor by which numbers may grow from x to its user, or makes it infinite if that is not known. It
** never shrinks: it bounds the numbers on the way, too. */
static void grow(const Instruction *user, const Instruction *x, Instruction *const *callers,
                 double *scale) {
  bool is_left = user->operands[0] == x;
  PrimitiveType type = user->shape->type;
  Scalar number;
  Place place = {ABSENT, ABSENT};
  double values[2] = {INFINITY, INFINITY};
  switch (user->opcode) {
  case HLO_CONVERT: /* to others numbers wrap, or become infinite or NaN */
    if (type != F32 && type != F64 && type != BF16) *scale = INFINITY;
    return;
  case HLO_RESHAPE:
  case HLO_COPY:
  case HLO_TRANSPOSE:
  case HLO_NEGATE:
  case HLO_TANH: return;
  case HLO_MULTIPLY:
  case HLO_DIVIDE:
    if (splat_value(user->operands[is_left], &number)) {
      values[0] = values[1] = user->opcode == HLO_MULTIPLY ? number.f : 1 / number.f;
      if (user->opcode == HLO_DIVIDE && !is_left) values[0] = INFINITY;
    } else if (user->opcode == HLO_MULTIPLY) {
      find_choice(user->operands[is_left], callers, &place, values);
    }
    break;
  default: break;
  }
  double factor = fmax(fabs(values[0]), fabs(values[1]));
  if (!(factor <= 1)) *scale *= factor; /* a NaN, too */
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

/* Finds the limit of a mask that is added to x, which is `scale` times the dot's results at most. Returns false if there is none,
** or it does not hide them. */
static bool find_added(const Users *users, const Instruction *user, const Instruction *x,
                       Place place, double scale, Limit *out) {
  bool is_left = user->operands[0] == x, diagonal = place.row != ABSENT;
  double values[2];
  int column = place.column;
  bool adds = user->opcode == HLO_ADD || (user->opcode == HLO_SUBTRACT && is_left);
  const Instruction *choice =
      adds ? find_choice(user->operands[is_left], out->callers, &place, values) : NULL;
  if (!choice || user->operands[is_left] == x) return false;
  double sign = user->opcode == HLO_ADD ? 1 : -1;
  bool masked = sign * values[1] < sign * values[0];
  double large = sign * values[masked];
  if (!(large < 0) || !(scale < INFINITY) || user->shape->type == F16) return false;
  int size = logarithm(large) < MAX_LOGARITHM ? logarithm(large) : MAX_LOGARITHM;
  if (!find_limit(choice, place, !masked, diagonal, out)) return false;
  out->needs_kept = size >= MIN_LOGARITHM && values[!masked] == 0 &&
                    mask_is_comparison(choice, out->callers) &&
                    (!out->scalar || shape_elements(out->scalar->shape) == 1) &&
                    becomes_softmax(users, user, column);
  /* A quarter of the last bit, or of the number, less 1 for the rounding of scores and 1 for that of `scale`. */
  int bits = out->needs_kept ? -1 : type_mantissa_bits(user->shape->type);
  out->hides_below = size - bits - 4 - logarithm(scale);
  return out->hides_below > 0;
}

/* Finds the limit of a dot's used columns. place.row: ABSENT if it is to be one without the row. */
static bool find_used(const Users *users, const Instruction *dot, Place place, Limit *out) {
  const Instruction *x = dot;
  bool diagonal = place.row != ABSENT;
  double scale = dot->shape->type == F16 ? INFINITY : 1;
  for (int i = 0; i < MAX_STEPS; i++) {
    if (users->count[x->id] != 1 || x == x->parent->root) return false;
    const Instruction *user = users->lists[x->id][0];
    if (user->opcode == HLO_SELECT && user->operands[0] != x) {
      const Shape *mask = user->operands[0]->shape;
      bool on_true = user->operands[1] == x;
      if (shape_same_dims(mask, user->shape) &&
          find_limit(user->operands[0], place, on_true, diagonal, out)) {
        out->hides_below = out->needs_kept = 0;
        return true;
      }
    }
    if (find_added(users, user, x, place, scale, out)) return true;
    if (!place_after(user, diagonal, &place)) return false;
    grow(user, x, out->callers, &scale);
    x = user;
  }
  return false;
}

/* Returns the largest of several limits, or the smallest of lower ones, as a scalar. */
static Instruction *widest_of(Instruction *n, bool is_lower) {
  Computation *computation = n->parent;
  Module *module = computation->module;
  PrimitiveType type = n->shape->type;
  if (shape_elements(n->shape) == 1) return computation_add_reshape(computation, n, 0, NULL);
  int64_t *all = ARENA_ARRAY(module->arena, int64_t, n->shape->rank);
  for (int d = 0; d < n->shape->rank; d++) all[d] = d;
  Opcode opcode = is_lower ? HLO_MINIMUM : HLO_MAXIMUM;
  Scalar start = is_lower ? scalar_highest(type) : scalar_lowest(type);
  Instruction *operands[] = {n, computation_add_number(computation, type, start)};
  const Attributes *a = ATTRIBUTES(.dimensions = {n->shape->rank, all},
                                   .to_apply = module_add_reducer(module, opcode, type));
  return computation_add(computation, HLO_REDUCE, operands[1]->shape, operands, 2, a);
}

/* Returns n: columns below n, or below n + row, are used. The kernel clamps it when it reads it. wide: in s64. */
static Instruction *count_of(Computation *computation, const Limit *limit, bool wide) {
  /* Above all dimensions; larger limits count as this one, so that sums do not wrap. */
  const int64_t MAX_LIMIT = INT64_C(1) << 40;
  if (!limit->scalar) return computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *n = limit->scalar;
  if (limit->before) {
    Instruction *before =
        computation_add_number(computation, limit->type, (Scalar){.i = limit->before});
    before = computation_add(computation, HLO_BROADCAST, n->shape, &before, 1, NULL);
    n = computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, before}, 2, NULL);
  }
  n = widest_of(n, limit->is_lower);
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

static void limit_product(Instruction *dot, Instruction *n, Place place, const Limit *limit) {
  Module *module = dot->parent->module;
  Computation *fused =
      module_add_computation(module, arena_printf(module->arena, "limited_%s", dot->name));
  Instruction *operands[] = {dot->operands[0], dot->operands[1], n}, *parameters[3];
  for (int i = 0; i < 3; i++) {
    parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
  }
  instruction_attributes(parameters[2])->derived.is_limit = true;
  fused->root = computation_add(fused, HLO_DOT, dot->shape, parameters, 2, dot->a);
  instruction_become(dot, HLO_FUSION, operands, 3,
                     ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT,
                                .derived = {.used_dimension = place.column + 1,
                                            .used_diagonal = place.row + 1,
                                            .hides_below = limit->hides_below,
                                            .needs_kept = limit->needs_kept}));
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

/* Returns the smaller of two bounds; 0: none is needed. */
static int min_hides(int one, int other) { return !one || (other && other < one) ? other : one; }

/* Brings the limit's scalar to the dot, which may be in a loop. Returns false if it cannot. */
static bool bring_limit(Limit *limit, const Instruction *dot) {
  Instruction *scalar = limit->scalar;
  if (scalar) limit->scalar = bring_scalar(scalar, dot->parent, limit->callers, MAX_STEPS);
  return !scalar || limit->scalar;
}

static bool limit_dot(const Users *users, Instruction *const *callers, Instruction *dot) {
  const Attributes *a = dot->a;
  int batches = a->lhs_batch_dims.count, free = dot->shape->rank - batches;
  bool is_small = shape_elements(dot->operands[0]->shape) < MIN_ELEMENTS &&
                  shape_elements(dot->operands[1]->shape) < MIN_ELEMENTS;
  if (is_small || !free || a->control_predecessors.count) {
    return false;
  }
  for (int d = dot->shape->rank - 1; d >= batches; d--) {
    Limit limit = {.callers = callers};
    Place place = {.column = d};
    if (!find_place(users, dot, batches, &place, &limit)) continue;
    if (!bring_limit(&limit, dot)) continue;
    if (!limit.scalar && !limit.diagonal && limit.number >= dot->shape->dims[d]) continue;
    Instruction *n = count_of(dot->parent, &limit, false);
    Limit lower = {.callers = callers, .is_lower = true};
    if (find_used(users, dot, place, &lower) && bring_limit(&lower, dot)) {
      limit.hides_below = min_hides(limit.hides_below, lower.hides_below);
      n = both_of(count_of(dot->parent, &lower, true), count_of(dot->parent, &limit, true));
    }
    limit_product(dot, n, place, &limit);
    return true;
  }
  return false;
}

static bool limit_products(Computation *computation, Instruction *const *callers) {
  Arena *arena = arena_new();
  bool changed = false;
  int count = computation->count;
  Users users = find_users(arena, computation);
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_DOT) changed |= limit_dot(&users, callers, x);
  }
  arena_free(arena);
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_limit_products(Module *module) {
  bool changed = false;
  Arena *arena = arena_new();
  Instruction *const *callers = find_loops(module, arena);
  for (int i = 0, count = module->count; i < count; i++) {
    changed |= limit_products(module->computations[i], callers);
  }
  arena_free(arena);
  if (changed) module_keep_reached(module);
  return changed;
}
