/*
** Limits products to the columns that are used. Attention over a cache masks the scores of positions that are not valid yet:
**
**     select(iota < n, f(dot(q, cache)), c)        the dot computes the first n positions, and reads so much of the cache
**
** where f is element-wise or moves dimensions, and nothing else reads the scores. The dot becomes a fusion of it with one
** more operand, n, which its computation does not read; `used_dimension` says which dimension of the result has n numbers
** that are used. The others may hold anything, as the select drops them: also if the cache has infinities or NaNs there.
**
** The second product, of weights that are 0 after position n, is not limited: 0 times an infinity or a NaN is a NaN. A mask
** that is added limits nothing, for the same reason.
*/
#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MIN_ELEMENTS, MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
enum { MIN_ELEMENTS = 4096, MAX_STEPS = 16 };

/* The condition index < limit, or index <= limit. */
typedef struct Limit {
  Instruction *limit; /* an integer, of one element */
  bool inclusive;
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

/* Whether x is an iota along a dimension, possibly reshaped, transposed or broadcast. */
static bool counts(const Instruction *x, int dimension) {
  while (dimension >= 0 && x->opcode != HLO_IOTA) {
    dimension = dimension_before(x, dimension);
    if (dimension >= 0) x = x->operands[0];
  }
  return dimension >= 0 && x->a->iota_dimension == dimension && type_is_integral(x->shape->type);
}

static Instruction *one_element(Instruction *x) {
  while (shape_elements(x->shape) > 1 &&
         (x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE || x->opcode == HLO_COPY)) {
    x = x->operands[0];
  }
  return shape_elements(x->shape) == 1 ? x : NULL;
}

static ComparisonDirection turned(ComparisonDirection direction) {
  switch (direction) {
  case COMPARE_LT: return COMPARE_GT;
  case COMPARE_LE: return COMPARE_GE;
  case COMPARE_GT: return COMPARE_LT;
  case COMPARE_GE: return COMPARE_LE;
  default: return direction;
  }
}

static bool limit_of_comparison(const Instruction *x, int dimension, bool wanted, Limit *out) {
  for (int i = 0; i < 2; i++) {
    ComparisonDirection direction = i ? turned(x->a->direction) : x->a->direction;
    bool below = direction == COMPARE_LT || direction == COMPARE_LE;
    bool above = direction == COMPARE_GT || direction == COMPARE_GE;
    out->limit = one_element(x->operands[1 - i]);
    out->inclusive = wanted ? direction == COMPARE_LE : direction == COMPARE_GT;
    if ((wanted ? below : above) && out->limit && counts(x->operands[i], dimension)) return true;
  }
  return false;
}

/* Finds a limit: the mask equals `wanted` only at indices below it, or at it if the limit is inclusive. */
static bool find_limit(const Instruction *mask, int dimension, bool wanted, Limit *out) {
  for (int i = 0; i < MAX_STEPS && dimension >= 0; i++) {
    Opcode opcode = mask->opcode;
    if (opcode == HLO_COMPARE) return limit_of_comparison(mask, dimension, wanted, out);
    if (opcode == (wanted ? HLO_AND : HLO_OR)) {
      if (find_limit(mask->operands[0], dimension, wanted, out)) return true;
      mask = mask->operands[1];
      continue;
    }
    if (opcode == HLO_NOT) {
      wanted = !wanted;
    } else {
      dimension = dimension_before(mask, dimension);
      if (dimension < 0) return false;
    }
    mask = mask->operands[0];
  }
  return false;
}

/* ---- Products ---- */

/* Finds the limit of the used indices of a dot's dimension. */
static bool find_used(const Users *users, const Instruction *dot, int dimension, Limit *out) {
  const Instruction *x = dot;
  for (int i = 0; i < MAX_STEPS && dimension >= 0; i++) {
    if (users->count[x->id] != 1 || x == x->parent->root) return false;
    const Instruction *user = users->lists[x->id][0];
    if (user->opcode == HLO_SELECT && user->operands[0] != x) {
      const Shape *mask = user->operands[0]->shape;
      bool on_true = user->operands[1] == x;
      if (shape_same_dims(mask, user->shape) &&
          find_limit(user->operands[0], dimension, on_true, out)) {
        return true;
      }
    }
    dimension = user->opcode == HLO_SELECT ? dimension : dimension_after(user, dimension);
    x = user;
  }
  return false;
}

/* Returns the number of used indices: a scalar, which is clamped when it is read. */
static Instruction *count_of(Computation *computation, Limit limit, int64_t size) {
  PrimitiveType type = limit.limit->shape->type;
  Instruction *n = computation_add_reshape(computation, limit.limit, 0, NULL);
  if (!limit.inclusive) return n;
  Instruction *max = computation_add_number(computation, type, (Scalar){.i = size});
  Instruction *one = computation_add_number(computation, type, (Scalar){.i = 1});
  Instruction *less =
      computation_add(computation, HLO_MINIMUM, n->shape, (Instruction *[]){n, max}, 2, NULL);
  return computation_add(computation, HLO_ADD, n->shape, (Instruction *[]){less, one}, 2, NULL);
}

static void limit_product(Instruction *dot, Instruction *n, int dimension) {
  Module *module = dot->parent->module;
  Computation *fused =
      module_add_computation(module, arena_printf(module->arena, "limited_%s", dot->name));
  Instruction *operands[] = {dot->operands[0], dot->operands[1], n}, *parameters[3];
  for (int i = 0; i < 3; i++) {
    parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
  }
  fused->root = computation_add(fused, HLO_DOT, dot->shape, parameters, 2, dot->a);
  instruction_become(dot, HLO_FUSION, operands, 3,
                     ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT,
                                .derived.used_dimension = dimension + 1));
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
    Limit limit;
    int64_t size = dot->shape->dims[d];
    if (!find_used(users, dot, d, &limit)) continue;
    PrimitiveType type = limit.limit->shape->type;
    bool has_size = type_is_integral(type) && type != PRED && type_bits(type) >= 16 &&
                    (type_bits(type) >= 32 || size < INT16_MAX);
    if (!has_size || limit.limit->parent != dot->parent) continue;
    limit_product(dot, count_of(dot->parent, limit, size), d);
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
