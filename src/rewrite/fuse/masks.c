/* Finds the limits of masks: see masks.h. */
#include "rewrite/fuse/masks.h"

#include <math.h>

#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
/* Threshold MAX_LENGTHS: more lengths take as long as the product of a position. No path. */
enum { MAX_STEPS = 16, MAX_LENGTHS = 4096 };

int same_dimension(const Shape *from, int dimension, const Shape *to) {
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

static bool splat_number(const Instruction *x, double *number) {
  Scalar value;
  PrimitiveType type = x->shape->type;
  if (type_is_complex(type) || !splat_value(x, &value)) return false;
  *number = scalar_convert(type, F64, value).f;
  return true;
}

/* column * index of the column + row * index of the row + number + scalar, or an array with a number for each batch */
typedef struct Sum {
  int column, row;
  int64_t number;
  Instruction *scalar;
} Sum;

/* Whether x is an integer that becomes a float. Its rounding keeps the order of numbers, and small ones. */
static bool becomes_float(const Instruction *x) {
  PrimitiveType from = x->opcode == HLO_CONVERT ? x->operands[0]->shape->type : PRED;
  return type_is_floating(x->shape->type) && (from == S32 || from == S64 || from == U32);
}

/* Adds the terms of x, or subtracts them. Returns false if it has others, or subtracts a scalar. sums: how many sums may be within
** each other. */
static bool add_terms(const Instruction *x, Place place, int sign, int sums, Sum *sum) {
  /* Threshold MAX_NUMBER, MAX_FLOAT: far below the ends of s32, and where f32 rounds sums. No path. */
  enum { MAX_NUMBER = 1 << 28, MAX_FLOAT = 1 << 16 };
  double value;
  for (;;) {
    Instruction *scalar = one_element((Instruction *)x);
    bool is_float = type_is_floating(x->shape->type);
    if (is_float && scalar) {
      x = scalar;
      place = (Place){ABSENT, ABSENT};
    }
    if (becomes_float(x)) {
      x = x->operands[0];
      sums = 0;
      continue;
    }
    if (x->opcode == HLO_IOTA) {
      if (scalar) return true;
      int d = (int)x->a->iota_dimension;
      if (d == place.column) sum->column += sign;
      if (d == place.row) sum->row += sign;
      return d == place.column || d == place.row;
    }
    if (splat_number(x, &value)) {
      if (!(fabs(value) <= (is_float ? MAX_FLOAT : MAX_NUMBER)) || value != floor(value)) {
        return false;
      }
      sum->number += sign * (int64_t)value;
      return true;
    }
    if (scalar && !is_float) {
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
      if (is_float) return false;
      bool is_one = place.column == ABSENT && place.row == ABSENT && sign > 0 && !sum->scalar;
      sum->scalar = (Instruction *)x;
      return is_one && shape_elements(x->shape) <= MAX_LENGTHS;
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

/* Sums of small numbers may be negative, but not wrap; so of the unsigned types only u32 is handled, without sums. Floats are
** integers that are converted: f32 holds columns, rows and their sums with small numbers exactly, and larger sums stay larger. */
static bool limit_of_comparison(const Instruction *x, Place place, bool wanted, Limit *out) {
  /* Threshold MAX_COLUMNS, MAX_FLOAT_COLUMNS: as MAX_NUMBER and MAX_FLOAT. No path. */
  enum { MAX_COLUMNS = INT32_MAX / 2 - 1, MAX_FLOAT_COLUMNS = 1 << 22 };
  ComparisonDirection direction = x->a->direction;
  Sum sums[2] = {{0}, {0}};
  out->type = x->operands[0]->shape->type;
  bool is_float = out->type == F32 || out->type == F64;
  bool is_signed = is_float || out->type == S32 || out->type == S64;
  if ((!is_signed && out->type != U32) || direction == COMPARE_EQ || direction == COMPARE_NE) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    if (!add_terms(x->operands[i], place, 1, is_signed ? MAX_STEPS : 0, &sums[i])) return false;
  }
  for (int d = 0; d < x->shape->rank; d++) {
    if (x->shape->dims[d] > (is_float ? MAX_FLOAT_COLUMNS : MAX_COLUMNS)) return false;
  }
  int i = !sums[0].column; /* the side with the column */
  if (!limit_of_sides(&sums[i], &sums[1 - i], direction, i, wanted, out)) return false;
  if (is_float) { /* whose sums do not wrap */
    out->number += out->before;
    out->before = 0;
  }
  return true;
}

/* Whether an element of a loop's state never changes. */
static bool is_invariant(const Instruction *loop, int64_t index) {
  const Computation *body = loop->a->body;
  if (body->root->opcode != HLO_TUPLE_OP || loop->operands[0]->opcode != HLO_TUPLE_OP) return false;
  const Instruction *next = body->root->operands[index];
  return next->opcode == HLO_GET_TUPLE_ELEMENT && next->operands[0] == body->parameters[0] &&
         next->a->tuple_index == index;
}

/* Returns the array that an invariant element of a loop's state is; NULL if x is something else. */
static const Instruction *before_loop(const Instruction *x, Instruction *const *callers) {
  if (x->opcode != HLO_GET_TUPLE_ELEMENT || x->operands[0]->opcode != HLO_PARAMETER) return NULL;
  const Instruction *loop = callers[x->parent->number];
  return loop && is_invariant(loop, x->a->tuple_index)
             ? loop->operands[0]->operands[x->a->tuple_index]
             : NULL;
}

Instruction **find_loops(Module *module, Arena *arena) {
  Instruction **callers = ARENA_ARRAY(arena, Instruction *, module->numbers);
  module_count_callers(module);
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *x = computation->instructions[i];
      bool is_loop = x->opcode == HLO_WHILE && x->a->body->callers == 1;
      if (is_loop) callers[x->a->body->number] = x;
    }
  }
  return callers;
}

Instruction *bring_scalar(Instruction *x, Computation *to, Instruction *const *callers, int steps) {
  /* Threshold MAX_OPERANDS: of operations of a position, such as a sum. No path. */
  enum { MAX_OPERANDS = 2 };
  if (x->parent == to) return x;
  Instruction *loop = callers[to->number], *operands[MAX_OPERANDS];
  if (!loop || steps == 0) return NULL;
  Instruction *before = bring_scalar(x, loop->parent, callers, steps - 1);
  if (!before) return NULL;
  const Instruction *state = loop->operands[0];
  for (int i = 0; state->opcode == HLO_TUPLE_OP && i < state->operand_count; i++) {
    if (state->operands[i] != before || !is_invariant(loop, i)) continue;
    return computation_add(to, HLO_GET_TUPLE_ELEMENT, x->shape, to->parameters, 1,
                           ATTRIBUTES(.tuple_index = i));
  }
  if (x->opcode == HLO_CONSTANT) return computation_add_constant(to, x->literal, NULL);
  bool copies = opcode_is_elementwise(x->opcode) || x->opcode == HLO_RESHAPE;
  if (!copies || x->operand_count > MAX_OPERANDS || !x->operand_count) return NULL;
  for (int i = 0; i < x->operand_count; i++) {
    operands[i] = bring_scalar(x->operands[i], to, callers, steps - 1);
    if (!operands[i]) return NULL;
  }
  return computation_add(to, x->opcode, x->shape, operands, x->operand_count, x->a);
}

static bool holds(ComparisonDirection direction, double x, double y) {
  switch (direction) {
  case COMPARE_EQ: return x == y;
  case COMPARE_NE: return x != y;
  case COMPARE_LT: return x < y;
  case COMPARE_LE: return x <= y;
  case COMPARE_GT: return x > y;
  default: return x >= y;
  }
}

/* A comparison of an array of two values with a number. Returns the predicate that chooses the values, moves the place to it, and
** turns `wanted` if the predicate is false where the comparison is true. Returns NULL if it is none, or does not depend on it. */
static const Instruction *compared_choice(const Instruction *x, Instruction *const *callers,
                                          Place *place, bool *wanted) {
  double number, values[2];
  for (int side = 0; side < 2 && !is_total_order(x); side++) {
    Place there = *place;
    const Instruction *choice = splat_number(x->operands[side], &number)
                                    ? find_choice(x->operands[1 - side], callers, &there, values)
                                    : NULL;
    if (!choice) continue;
    bool is[2];
    for (int i = 0; i < 2; i++) {
      is[i] = holds(x->a->direction, side ? values[i] : number, side ? number : values[i]);
    }
    if (is[0] == is[1]) return NULL;
    *wanted ^= is[0];
    *place = there;
    return choice;
  }
  return NULL;
}

bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal, Limit *out) {
  for (int i = 0; i < MAX_STEPS && place.column != ABSENT; i++) {
    Opcode opcode = mask->opcode;
    int other;
    Scalar value;
    if (opcode == HLO_COMPARE) {
      const Instruction *choice = compared_choice(mask, out->callers, &place, &wanted);
      if (!choice) {
        return limit_of_comparison(mask, place, wanted, out) && out->diagonal == diagonal;
      }
      mask = choice;
      continue;
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
    } else if (before_loop(mask, out->callers)) {
      mask = before_loop(mask, out->callers);
    } else {
      if (!moves_elements(mask) || !move_place(mask, &place)) return false;
      mask = mask->operands[0];
    }
  }
  return false;
}

bool mask_is_comparison(const Instruction *mask, Instruction *const *callers) {
  for (int i = 0; i < MAX_STEPS; i++) {
    const Instruction *next = before_loop(mask, callers);
    Place place = {ABSENT, ABSENT};
    bool wanted = true;
    if (!next && mask->opcode == HLO_COMPARE) {
      next = compared_choice(mask, callers, &place, &wanted);
    } else if (!next && (mask->opcode == HLO_NOT || moves_elements(mask))) {
      next = mask->operands[0];
    }
    if (!next) break;
    mask = next;
  }
  return mask->opcode == HLO_COMPARE;
}

/* Applies an operation with a constant, which is its operand number `side`. */
static bool apply_constant(Opcode opcode, double constant, int side, double values[2]) {
  for (int i = 0; i < 2; i++) {
    double x = values[i];
    switch (opcode) {
    case HLO_ADD: x += constant; break;
    case HLO_SUBTRACT: x = side ? x - constant : constant - x; break;
    case HLO_MULTIPLY: x *= constant; break;
    default: return false;
    }
    values[i] = x;
  }
  return true;
}

/* Rounds numbers as their type does. Returns false for NaNs, and for integers that wrap, are truncated or exceed a double. */
static bool round_values(PrimitiveType type, double values[2]) {
  /* Threshold MAX_INTEGER: a double holds integers below it exactly. No path. */
  const double MAX_INTEGER = (double)(INT64_C(1) << 53);
  for (int i = 0; i < 2; i++) {
    double x = scalar_convert(type, F64, scalar_convert(F64, type, (Scalar){.f = values[i]})).f;
    bool changes = x != values[i] || fabs(x) >= MAX_INTEGER;
    if (isnan(x) || (type_is_integral(type) && changes)) return false;
    values[i] = x;
  }
  return true;
}

static const Instruction *choice_of(const Instruction *x, Instruction *const *callers, Place *place,
                                    double values[2]) {
  const Instruction *outer = before_loop(x, callers);
  if (outer) return find_choice(outer, callers, place, values);
  const Instruction *from = x->operand_count ? x->operands[0] : NULL, *found;
  if (moves_elements(x))
    return move_place(x, place) ? find_choice(from, callers, place, values) : NULL;
  if (x->opcode == HLO_CONVERT && from->shape->type == PRED) {
    values[0] = 0, values[1] = 1;
    return from;
  }
  if (x->opcode == HLO_CONVERT) return find_choice(from, callers, place, values);
  if (x->opcode == HLO_SELECT) {
    bool chooses = shape_same_dims(x->shape, from->shape) &&
                   splat_number(x->operands[1], &values[1]) &&
                   splat_number(x->operands[2], &values[0]);
    return chooses ? from : NULL;
  }
  for (int side = 0; side < 2 && x->operand_count == 2; side++) {
    double constant;
    if (!splat_number(x->operands[side], &constant)) continue;
    found = find_choice(x->operands[1 - side], callers, place, values);
    return found && apply_constant(x->opcode, constant, side, values) ? found : NULL;
  }
  return NULL;
}

const Instruction *find_choice(const Instruction *x, Instruction *const *callers, Place *place,
                               double values[2]) {
  const Instruction *found = choice_of(x, callers, place, values);
  return found && round_values(x->shape->type, values) ? found : NULL;
}
