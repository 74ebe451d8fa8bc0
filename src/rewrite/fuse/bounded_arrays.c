/*
** Finds caches whose numbers are checked as they are written, so that at run time none is known to be infinite or NaN. Weights of
** attention are 0 where a mask drops positions. Their product with such a cache need not read these positions.
**
**     cache = dynamic-update-slice(parameter, update);  dot(weights, convert(cache))
**     p = opt-barrier(parameter), u = opt-barrier(update): both of set 1;  dot of set 1
**
** The arrays from which a cache takes its numbers are a set: through loops, branches, slices and updates. All of them hold only
** numbers below 2^30 as long as that is true of the numbers that come into the set: parameters, updates and constants. Constants
** must be below 1. The others pass a barrier, whose kernel (kernels/contraction/bounds.c) checks them and notes for the device
** the bound of the set. The dot's kernel reads that note. A result of the program that is in a set keeps the note in its Buffer
** (runtime/bounds.c), so that the next call need not check the array as a parameter.
**
** A dot may convert its operand or multiply two bounded arrays, such as integers and their scales. The bound leaves room for
** that; of f16 it is the largest finite number.
**
** A product that an added mask limits (limit_products.c) needs the bound of its results: of the cache, of the other operand,
** which its kernel checks, and of the depth. So the note is a power of two that bounds the set's numbers, as small as possible.
*/
#include <math.h>

#include "base/scope.h"
#include "hlo/ir/shorthand.h"
#include "plan/bounded.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_STEPS, MAX_SOURCES: the matrix of a product with more operations or caches is scanned as before. No path. */
/* Threshold BOUND_OF_F16, MAX_BOUND, NONE: binary logarithms, of what the kernel checks and of a finite f32. No path. */
enum { MAX_STEPS = 16, MAX_SOURCES = 4, BOUND_OF_F16 = 16, MAX_BOUND = 126, NONE = 2 * MAX_BOUND };

/* A number of the set comes from this operand of this user; or from `user` itself, a parameter, if the operand is -1. */
typedef struct Entrance {
  Instruction *user;
  int operand, set;
} Entrance;

typedef struct Product {
  Instruction *dot;
  int side, set;
  int factors, hides_below; /* of a limited product: Derived */
} Product;

typedef struct Analysis {
  Arena *arena;
  Module *module;
  Instruction **
      callers; /* by computation number: the loop or conditional whose body or branch it alone is */
  int *first;  /* by computation number: of `set_of` */
  int *set_of; /* by instruction; 0: none */
  int count, capacity; /* sets, from 1 on */
  struct Set {
    int joined; /* the set that it is part of; 0: none */
    bool fails, has_kept, is_used;
    int number; /* of those that are used */
  } *sets;
  int entrance_count, entrance_capacity, product_count, product_capacity;
  Entrance *entrances;
  Product *products;
  int pending_count, pending_capacity;
  Instruction **pending;
} Analysis;

static struct Set *set_at(const Analysis *a, int set) {
  while (a->sets[set].joined) set = a->sets[set].joined;
  return &a->sets[set];
}

static int *set_of(const Analysis *a, const Instruction *x) {
  return &a->set_of[a->first[x->parent->number] + x->id];
}

static void join(const Analysis *a, int one, int other) {
  struct Set *x = set_at(a, one), *y = set_at(a, other);
  if (x == y) return;
  y->fails |= x->fails;
  y->has_kept |= x->has_kept;
  x->joined = (int)(y - a->sets);
}

/* ---- What flows into an array ---- */

static bool is_float(const Instruction *x) {
  PrimitiveType type = x->shape->type;
  return shape_is_array(x->shape) && (type == F32 || type == BF16 || type == F16 || type == F64);
}

static bool moves_one(Opcode opcode) {
  return opcode == HLO_RESHAPE || opcode == HLO_COPY || opcode == HLO_TRANSPOSE ||
         opcode == HLO_BROADCAST || opcode == HLO_SLICE || opcode == HLO_DYNAMIC_SLICE ||
         opcode == HLO_REVERSE;
}

static bool is_entry(const Analysis *a, const Instruction *x) {
  return x->parent == a->module->entry;
}

/* Whether an array is operand 0 with some of its elements overwritten. */
static bool is_update(const Instruction *x) {
  if (x->opcode == HLO_DYNAMIC_UPDATE_SLICE) return true;
  return x->opcode == HLO_SCATTER && x->operand_count == 3 &&
         x->a->to_apply->root == x->a->to_apply->parameters[1];
}

/* Whether an array is another one of the set, and not newly computed: a part of a kept array of at least half the elements of
** `whole`, with or without updates. */
static bool is_kept(const Instruction *x, const Shape *whole) {
  while (moves_one(x->opcode) || is_update(x)) x = x->operands[0];
  if (shape_elements(x->shape) < shape_elements(whole) / 2) return false;
  const Instruction *tuple = x->opcode == HLO_GET_TUPLE_ELEMENT ? x->operands[0] : x;
  return tuple->opcode == HLO_WHILE || tuple->opcode == HLO_PARAMETER;
}

static void push(Analysis *a, Instruction *x) {
  ARENA_PUSH(a->arena, a->pending, a->pending_count, a->pending_capacity, x);
}

/* Adds the array that a tuple has at an index. Returns false if it is not found. */
static bool push_element(Analysis *a, Instruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_TUPLE_OP) {
    push(a, tuple->operands[index]);
    return true;
  }
  Instruction *caller = tuple->opcode == HLO_PARAMETER ? a->callers[tuple->parent->number] : tuple;
  if (!caller) return false;
  if (caller->opcode == HLO_WHILE) {
    const Instruction *next = caller->a->body->root;
    if (next->opcode != HLO_TUPLE_OP) return false;
    push(a, next->operands[index]);
    return push_element(a, caller->operands[0], index);
  }
  if (caller->opcode != HLO_CONDITIONAL) return false;
  bool predicated, found = true;
  int count = conditional_branches(caller, NULL, &predicated);
  Computation **branches = ARENA_ARRAY(a->arena, Computation *, count);
  conditional_branches(caller, branches, &predicated);
  for (int b = 0; b < count && found; b++) {
    if (caller == tuple)
      found = push_element(a, branches[b]->root, index);
    else if (branches[b] == tuple->parent)
      return push_element(a, caller->operands[b + 1], index);
  }
  return found && caller == tuple;
}

static bool add_entrance(Analysis *a, Instruction *user, int operand, int set) {
  ARENA_PUSH(a->arena, a->entrances, a->entrance_count, a->entrance_capacity,
             ((Entrance){user, operand, set}));
  return true;
}

/* A parameter is worth a check, as its Buffer keeps what was found for other calls. */
static bool add_parameter(Analysis *a, Instruction *x, int set) {
  set_at(a, set)->has_kept = true;
  return add_entrance(a, x, -1, set);
}

/* Adds an operand that is kept, or checks what is newly computed. */
static bool push_source(Analysis *a, Instruction *user, int operand, int set) {
  if (is_kept(user->operands[operand], user->shape)) {
    push(a, user->operands[operand]);
    return true;
  }
  while (moves_one(user->operands[operand]->opcode)) {
    user = user->operands[operand];
    operand = 0;
  }
  return add_entrance(a, user, operand, set);
}

/* Adds the operands of an array that is made of parts of them, from operand `first` on. */
static bool push_parts(Analysis *a, Instruction *x, int first, int set) {
  for (int i = first; i < x->operand_count; i++) {
    set_at(a, set)->has_kept |= is_kept(x->operands[i], x->shape);
    push_source(a, x, i, set);
  }
  return true;
}

static bool push_update(Analysis *a, Instruction *x, int operand, int set) {
  set_at(a, set)->has_kept = true;
  push(a, x->operands[0]);
  return push_source(a, x, operand, set);
}

/* Adds what an array of a set takes numbers from. Returns false if it is no cache. */
static bool push_sources(Analysis *a, Instruction *x, int set) {
  Scalar value;
  switch (x->opcode) {
  case HLO_CONSTANT: /* which no barrier notes: it must be below all bounds */
    return splat_value(x, &value) && fabs(value.f) < 1;
  case HLO_PARAMETER: return is_entry(a, x) && add_parameter(a, x, set);
  case HLO_GET_TUPLE_ELEMENT:
    if (x->operands[0]->opcode == HLO_PARAMETER && is_entry(a, x)) return add_parameter(a, x, set);
    return push_element(a, x->operands[0], x->a->tuple_index);
  case HLO_DYNAMIC_UPDATE_SLICE: return push_update(a, x, 1, set);
  case HLO_SCATTER: return is_update(x) && push_update(a, x, 2, set);
  case HLO_SELECT: return push_parts(a, x, 1, set);
  case HLO_CONCATENATE: return push_parts(a, x, 0, set);
  default:
    if (!moves_one(x->opcode)) return false;
    push(a, x->operands[0]);
    return true;
  }
}

/* Finds all arrays of the set of x. */
static void find_set(Analysis *a, Instruction *x, int set) {
  push(a, x);
  while (a->pending_count) {
    x = a->pending[--a->pending_count];
    int *at = set_of(a, x);
    if (*at) {
      join(a, set, *at);
      continue;
    }
    *at = set;
    if (!is_float(x) || !push_sources(a, x, set)) set_at(a, set)->fails = true;
  }
}

/* ---- Products ---- */

/* Whether each element of x is computed from an exponential. Then x may be weights of attention, many of them 0. */
static bool has_exponential(const Instruction *x, int *steps) {
  while ((*steps)-- > 0) {
    switch (x->opcode) {
    case HLO_EXP: return true;
    case HLO_MULTIPLY:
      if (has_exponential(x->operands[1], steps)) return true;
      break;
    case HLO_SELECT:
      if (has_exponential(x->operands[2], steps)) return true;
      x = x->operands[1];
      continue;
    case HLO_CONVERT:
    case HLO_DIVIDE: break;
    default:
      if (!moves_one(x->opcode)) return false;
    }
    x = x->operands[0];
  }
  return false;
}

static bool is_arithmetic(Opcode opcode) {
  return opcode == HLO_MULTIPLY || opcode == HLO_ADD || opcode == HLO_SUBTRACT;
}

static int bound_of(PrimitiveType type) { return type == F16 ? BOUND_OF_F16 : ARRAY_BOUND; }

/* Adds the caches from which a product's operand is computed. Returns the binary logarithm of a bound of its numbers if those
** of the caches are bounded, by 2^`max`; else more than MAX_BOUND. */
static int find_bound(const Instruction *x, int steps, int max, const Instruction **caches,
                      int *count) {
  if (!shape_is_array(x->shape) || steps == 0) return NONE;
  PrimitiveType type = x->shape->type;
  if (type_is_integral(type)) return type_bits(type);
  if (!is_float(x)) return NONE;
  const Instruction *from = x;
  while (moves_one(from->opcode)) from = from->operands[0];
  bool computes = is_arithmetic(from->opcode) || from->opcode == HLO_CONVERT;
  if (from != x && computes) return find_bound(from, steps - 1, max, caches, count);
  if (is_arithmetic(x->opcode)) {
    int one = find_bound(x->operands[0], steps - 1, max, caches, count);
    int other = find_bound(x->operands[1], steps - 1, max, caches, count),
        larger = one > other ? one : other;
    int bound = x->opcode == HLO_MULTIPLY ? one + other : larger + 1;
    return type == F16 && bound >= BOUND_OF_F16 ? NONE : bound;
  }
  if (x->opcode == HLO_CONVERT) {
    int bound = find_bound(x->operands[0], steps - 1, max, caches, count);
    return type == F16 && bound >= BOUND_OF_F16 ? NONE : bound;
  }
  if (*count == MAX_SOURCES) return NONE;
  caches[(*count)++] = x;
  return bound_of(type) < max ? bound_of(type) : max;
}

/* Returns the binary logarithm of the number of terms of a product, rounded up. */
static int depth_bound(const Instruction *dot) {
  const Attributes *a = dot->opcode == HLO_FUSION ? dot->a->calls->root->a : dot->a;
  int64_t depth = 1;
  int bound = 0;
  for (int i = 0; i < a->lhs_contracting_dims.count; i++) {
    depth *= dot->operands[0]->shape->dims[a->lhs_contracting_dims.items[i]];
  }
  while (INT64_C(1) << bound < depth) bound++;
  return bound;
}

/* dot: or a limited product whose mask is added. */
static void find_product(Analysis *a, Instruction *dot, int side) {
  int steps = MAX_STEPS, count = 0, factors = 0, hides = (int)dot->a->derived.hides_below;
  const Instruction *caches[MAX_SOURCES], *other = dot->operands[1 - side];
  if (!is_float(dot) || (dot->shape->type == F16 && !hides)) return;
  if (hides ? !is_float(other) : !has_exponential(other, &steps)) return;
  if (find_bound(dot->operands[side], MAX_STEPS, MAX_BOUND, caches, &count) > MAX_BOUND) return;
  if (!count) return;
  if (hides) {
    hides -= depth_bound(dot) + find_bound(dot->operands[side], MAX_STEPS, 0, caches, &factors);
    if (hides <= 0) return;
  }
  for (int i = 0; i < count; i++) {
    ARENA_PUSH(a->arena, a->sets, a->count, a->capacity, ((struct Set){0}));
    find_set(a, (Instruction *)caches[i], a->count - 1);
    if (i) join(a, a->count - 1, a->count - 2);
  }
  ARENA_PUSH(a->arena, a->products, a->product_count, a->product_capacity,
             ((Product){dot, side, a->count - 1, factors, hides}));
}

static int number_of(const Analysis *a, int set) { return set ? set_at(a, set)->number : 0; }

/* Gives numbers to the sets of products that keep arrays for other calls or iterations. Returns how many there are. */
static int number_sets(const Analysis *a) {
  int count = 0;
  for (int i = 0; i < a->product_count; i++) {
    struct Set *set = set_at(a, a->products[i].set);
    if (!set->fails && set->has_kept && !set->number) set->number = ++count;
  }
  return count;
}

/* ---- The new module ---- */

/* Returns the number of the set of an element of the program's result; 0: none. */
static int set_of_result(const Analysis *a, const Instruction *x, int64_t index) {
  if (x->opcode == HLO_TUPLE_OP) return set_of_result(a, x->operands[index], 0);
  if (x->opcode == HLO_GET_TUPLE_ELEMENT) {
    int found = number_of(a, *set_of(a, x));
    return found ? found : set_of_result(a, x->operands[0], x->a->tuple_index);
  }
  if (x->opcode == HLO_WHILE && shape_is_tuple(x->shape)) {
    const Instruction *root = x->a->body->root;
    int begin = set_of_result(a, x->operands[0], index);
    bool same =
        root->opcode == HLO_TUPLE_OP && begin == number_of(a, *set_of(a, root->operands[index]));
    return same ? begin : 0;
  }
  while (moves_one(x->opcode)) x = x->operands[0];
  return number_of(a, *set_of(a, x));
}

static void note_results(const Analysis *a) {
  const Instruction *root = a->module->entry->root;
  const Shape *shape = root->shape;
  int *sets = ARENA_ARRAY(a->module->arena, int, shape_leaves(shape)), *next = sets;
  int elements = shape_is_tuple(shape) ? shape->tuple_size : 1;
  for (int i = 0; i < elements; i++) {
    const Shape *element = shape_is_tuple(shape) ? shape->elements[i] : shape;
    if (shape_is_array(element)) *next = set_of_result(a, root, i);
    next += shape_leaves(element);
  }
  a->module->bounded_results = sets;
}

static void add_barrier(const Analysis *a, const Entrance *entrance) {
  Instruction *user = entrance->user;
  int set = number_of(a, entrance->set);
  if (!set) return;
  bool is_parameter = entrance->operand < 0;
  Instruction *x = is_parameter ? user : user->operands[entrance->operand];
  int count = user->parent->count;
  Instruction *barrier = computation_add(user->parent, HLO_OPTIMIZATION_BARRIER, x->shape, &x, 1,
                                         ATTRIBUTES(.derived.bounded = set));
  if (!is_parameter) user->operands[entrance->operand] = barrier;
  for (int i = 0; i < count && is_parameter; i++) {
    Instruction *other = user->parent->instructions[i];
    for (int k = 0; k < other->operand_count; k++) {
      if (other->operands[k] == x) other->operands[k] = barrier;
    }
  }
}

static void apply(const Analysis *a) {
  note_results(a);
  for (int i = 0; i < a->product_count; i++) {
    int set = number_of(a, a->products[i].set);
    if (!set) continue;
    Attributes *dot = instruction_attributes(a->products[i].dot);
    dot->derived.bounded = set;
    dot->derived.bounds_rhs = a->products[i].side;
    dot->derived.bounds_factors = a->products[i].factors;
    dot->derived.hides_below = a->products[i].hides_below;
  }
  for (int i = 0; i < a->entrance_count; i++) add_barrier(a, &a->entrances[i]);
  for (int c = 0; c < a->module->count; c++) computation_sort(a->module->computations[c]);
}

/* Lists the loops and conditionals that alone call a body or a branch, and numbers all instructions. */
static void begin(Analysis *a, Module *module) {
  int total = 0;
  a->module = module;
  a->callers = ARENA_ARRAY(a->arena, Instruction *, module->numbers);
  a->first = ARENA_ARRAY(a->arena, int, module->numbers);
  module_count_callers(module);
  for (int c = 0; c < module->count; c++) {
    Computation *computation = module->computations[c];
    computation_renumber(computation);
    a->first[computation->number] = total;
    total += computation->count;
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      if (x->opcode != HLO_WHILE && x->opcode != HLO_CONDITIONAL) continue;
      int count = instruction_called(x, NULL);
      Computation **called = ARENA_ARRAY(a->arena, Computation *, count);
      instruction_called(x, called);
      for (int k = 0; k < count; k++) {
        bool is_condition = x->opcode == HLO_WHILE && called[k] == x->a->condition;
        if (called[k]->callers == 1 && !is_condition) a->callers[called[k]->number] = x;
      }
    }
  }
  a->set_of = ARENA_ARRAY(a->arena, int, total);
  ARENA_PUSH(a->arena, a->sets, a->count, a->capacity, ((struct Set){0}));
}

bool pass_bounded_arrays(Module *module) {
  Analysis a = {.arena = arena_new()};
  begin(&a, module);
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      bool multiplies = x->opcode == HLO_DOT || x->a->derived.hides_below;
      for (int side = 0; side < 2 && multiplies; side++) find_product(&a, x, side);
    }
  }
  module->bounded_sets = number_sets(&a);
  if (module->bounded_sets) apply(&a);
  arena_free(a.arena);
  return module->bounded_sets > 0;
}
