/*
** Limits products to the columns that are used. Attention over a cache masks the scores of positions that are not valid yet:
**
**     select(iota < n, f(dot(q, cache)), c)        the dot computes the first n positions, and reads only these of the cache
**     select(column < row + n, f(dot(q, k)), c)    a causal mask: in row i the dot computes at least the first n + i positions
**     and(..., iota >= begin)                      a window: the dot does not compute the positions before it, either
**
** where f is element-wise or moves dimensions, and nothing else reads the scores. The dot becomes a fusion of it with one
** more operand: n or (n, begin), or (n, begin) of a diagonal and then of all rows. Its computation does not read that.
** `used_dimension` says which dimension of the result has the columns, and `used_diagonal`, which one has the rows of a causal
** mask. The select drops all other scores, so they may hold anything, even if the operands have infinities or NaNs there.
**
** The second product, of weights that are 0 where they are masked, is not limited: 0 times an infinity or a NaN is a NaN.
** Its kernel finds zeros as it runs; bounded_arrays.c lets it skip what they multiply.
**
** Other masks, and those that are added, limit products by what they hold: computed_limits.c.
*/
#include "rewrite/fuse/limit_products.h"
#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MIN_ELEMENTS, MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
enum { MIN_ELEMENTS = 4096, MAX_STEPS = 16 };

/* Finds the limit of a dot's used columns. place.row: ABSENT if it is to be one without the row. */
static bool find_used(const Users *users, const Instruction *dot, Place place, Limit *out) {
  const Instruction *x = dot;
  bool diagonal = place.row != ABSENT;
  for (int i = 0; i < MAX_STEPS; i++) {
    const Instruction *user = only_user(users, x);
    if (!user) return false;
    bool chooses = user->opcode == HLO_SELECT && user->operands[0] != x;
    if (chooses && shape_same_dims(user->operands[0]->shape, user->shape) &&
        find_limit(user->operands[0], place, user->operands[1] == x, diagonal, out)) {
      return true;
    }
    if (!place_after(user, &place)) return false;
    x = user;
  }
  return false;
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
  n = computation_add_reshape(computation, n, 0, NULL);
  if (!limit->number && !wide) return n;
  Instruction *number = computation_add_number(computation, S64, (Scalar){.i = limit->number});
  Instruction *max = computation_add_number(computation, S64, (Scalar){.i = MAX_LIMIT});
  n = computation_add(computation, HLO_CONVERT, number->shape, &n, 1, NULL);
  n = computation_add(computation, HLO_MINIMUM, n->shape, (Instruction *[]){n, max}, 2, NULL);
  return computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){n, number}, 2, NULL);
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

/* Whether the limit's scalar is in the dot's computation, not before a loop around it. */
static bool is_near(const Limit *limit, const Instruction *dot) {
  return !limit->scalar || limit->scalar->parent == dot->parent;
}

static bool limit_dot(Limiter *limiter, Instruction *dot) {
  const Attributes *a = dot->a;
  const Users *users = &limiter->users;
  int batches = a->lhs_batch_dims.count, free = dot->shape->rank - batches;
  bool is_small = shape_elements(dot->operands[0]->shape) < MIN_ELEMENTS &&
                  shape_elements(dot->operands[1]->shape) < MIN_ELEMENTS;
  if (is_small || !free || a->control_predecessors.count) {
    return false;
  }
  for (int d = dot->shape->rank - 1; d >= batches; d--) {
    Limit limit = {.callers = limiter->callers};
    Place place = {.column = d};
    if (!find_place(users, dot, batches, &place, &limit)) continue;
    if (!is_near(&limit, dot)) continue;
    if (!limit.scalar && !limit.diagonal && limit.number >= dot->shape->dims[d]) continue;
    Instruction *n = count_of(dot->parent, &limit, false);
    Limit lower = {.callers = limiter->callers, .is_lower = true};
    if (find_used(users, dot, place, &lower) && is_near(&lower, dot)) {
      n = list_of_limits((Instruction *[]){count_of(dot->parent, &limit, true),
                                           count_of(dot->parent, &lower, true)},
                         2);
    }
    limit_product(dot, n, place, 0);
    return true;
  }
  return compute_limit(limiter, dot);
}

static bool limit_products(Computation *computation, Instruction *const *callers) {
  Arena *arena = arena_new();
  bool changed = false;
  int count = computation->count;
  Limiter limiter = {find_users(arena, computation), callers, arena, NULL};
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_DOT) changed |= limit_dot(&limiter, x);
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
