/* Finds the limits of masks: see masks.h. */
#include "rewrite/fuse/masks.h"

#include <math.h>

#include "hlo/ir/shorthand.h"
#include "plan/fusible.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_STEPS. Test: "limit-products" in core/limited_products.test.mjs. */
enum { MAX_STEPS = 16 };

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

bool move_place(const Instruction *x, Place *place) {
  for (int i = 0; i < 2; i++) {
    int *d = i ? &place->row : &place->column;
    if (*d == ABSENT) continue;
    int before = dimension_before(x, *d);
    if (before == ABSENT && x->opcode != HLO_BROADCAST) return false;
    *d = before;
  }
  return true;
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

bool place_after(const Instruction *user, Place *place) {
  bool diagonal = place->row != ABSENT;
  if (user->opcode == HLO_SELECT) return true;
  place->column = dimension_after(user, place->column);
  if (diagonal) place->row = dimension_after(user, place->row);
  return place->column != ABSENT && (!diagonal || place->row != ABSENT);
}

const Instruction *only_user(const Users *users, const Instruction *x) {
  bool is_only = users->count[x->id] == 1 && x != x->parent->root;
  return is_only ? users->lists[x->id][0] : NULL;
}

bool moves_elements(const Instruction *x) {
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

/* column * index of the column + row * index of the row + number + scalar */
typedef struct Sum {
  int column, row;
  int64_t number;
  Instruction *scalar;
} Sum;

/* Adds the terms of x, or subtracts them. Returns false if it has others, or subtracts a scalar. sums: how many sums may be within
** each other. */
static bool add_terms(const Instruction *x, Place place, int sign, int sums, Sum *sum) {
  /* Threshold MAX_NUMBER: far below the ends of s32. No path. */
  enum { MAX_NUMBER = 1 << 28 };
  double value;
  for (;;) {
    Instruction *scalar = one_element((Instruction *)x);
    if (x->opcode == HLO_IOTA) {
      if (scalar) return true;
      int d = (int)x->a->iota_dimension;
      if (d == place.column) sum->column += sign;
      if (d == place.row) sum->row += sign;
      return d == place.column || d == place.row;
    }
    if (splat_number(x, &value)) {
      if (fabs(value) > MAX_NUMBER) return false;
      sum->number += sign * (int64_t)value;
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
  /* Threshold MAX_COLUMNS: as MAX_NUMBER. No path. */
  enum { MAX_COLUMNS = INT32_MAX / 2 - 1 };
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
  for (int d = 0; d < x->shape->rank; d++) {
    if (x->shape->dims[d] > MAX_COLUMNS) return false;
  }
  int i = !sums[0].column; /* the side with the column */
  return limit_of_sides(&sums[i], &sums[1 - i], direction, i, wanted, out);
}

/* Whether an element of a loop's state never changes. */
static bool is_invariant(const Instruction *loop, int64_t index) {
  const Computation *body = loop->a->body;
  if (body->root->opcode != HLO_TUPLE_OP || loop->operands[0]->opcode != HLO_TUPLE_OP) return false;
  const Instruction *next = body->root->operands[index];
  return next->opcode == HLO_GET_TUPLE_ELEMENT && next->operands[0] == body->parameters[0] &&
         next->a->tuple_index == index;
}

const Instruction *before_loop(const Instruction *x, Instruction *const *callers) {
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

bool find_limit(const Instruction *mask, Place place, bool wanted, bool diagonal, Limit *out) {
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
    } else if (before_loop(mask, out->callers)) {
      mask = before_loop(mask, out->callers);
    } else {
      if (!moves_elements(mask) || !move_place(mask, &place)) return false;
      mask = mask->operands[0];
    }
  }
  return false;
}
