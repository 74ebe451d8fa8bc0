#include "plan/comparator.h"

#include <string.h>

#include "hlo/ir/attribute_compare.h"
#include "value/scalar.h"

/* Threshold MAX_INSTRUCTIONS: comparators have a few dozen instructions; the limit bounds the depth of recursion. Test:
** "comparators and reducers of many instructions" in core/thresholds_programs.test.mjs. */
enum { MAX_INSTRUCTIONS = 256, UNKNOWN = -1 };

/* --- Whether two expressions differ only in left and right ----------------------------------- */

/* Parameter 2k is the left element of operand k, parameter 2k + 1 the right one. */
typedef struct Mirror {
  int image[MAX_INSTRUCTIONS]; /* by id of a left expression: the right one; UNKNOWN */
} Mirror;

static bool same_literal(const Literal *a, const Literal *b) {
  return shape_equal(a->shape, b->shape) &&
         memcmp(a->data, b->data, (size_t)shape_bytes(a->shape)) == 0;
}

static bool is_mirrored(Mirror *mirror, const Instruction *left, const Instruction *right) {
  if (left->opcode != right->opcode || !shape_is_scalar(left->shape)) return false;
  if (left->opcode == HLO_CONSTANT) return same_literal(left->literal, right->literal);
  if (left->opcode == HLO_PARAMETER) {
    return left->parameter_number % 2 == 0 && right->parameter_number == left->parameter_number + 1;
  }
  if (mirror->image[left->id] != UNKNOWN) return mirror->image[left->id] == right->id;
  mirror->image[left->id] = right->id;
  if (!opcode_is_elementwise(left->opcode) || left->operand_count != right->operand_count ||
      left->shape->type != right->shape->type ||
      !attributes_equal(left->opcode, left->a, right->a)) {
    return false;
  }
  for (int i = 0; i < left->operand_count; i++) {
    if (!is_mirrored(mirror, left->operands[i], right->operands[i])) return false;
  }
  return true;
}

static bool are_keys(const Instruction *left, const Instruction *right) {
  Mirror mirror;
  for (int i = 0; i < MAX_INSTRUCTIONS; i++) mirror.image[i] = UNKNOWN;
  return is_mirrored(&mirror, left, right);
}

/* --- Keys ------------------------------------------------------------------------------------- */

static bool is_compare(const Instruction *x, ComparisonDirection direction) {
  return x->opcode == HLO_COMPARE && x->a->direction == direction;
}

/* Whether x is select(compare(e, y), constant, rest); e, y and constant are looked at by callers. */
static bool is_choice(const Instruction *x, ComparisonDirection direction) {
  return x->opcode == HLO_SELECT && is_compare(x->operands[0], direction) &&
         !is_total_order(x->operands[0]) && x->operands[1]->opcode == HLO_CONSTANT;
}

static bool is_float_constant(const Instruction *x, bool *is_zero, bool *is_nan) {
  if (x->opcode != HLO_CONSTANT || !type_is_floating(x->shape->type)) return false;
  double value = scalar_load(x->shape->type, x->literal->data, 0).f;
  *is_zero = value == 0;
  *is_nan = value != value;
  return true;
}

/* Returns where a key comes from; operand -1: it is computed. */
static KeySource source_of(const Instruction *x) {
  KeySource source = {.operand = -1};
  const Instruction *zeros = NULL, *nans = NULL;
  bool is_zero, is_nan;
  for (; x->opcode == HLO_SELECT; x = x->operands[2]) {
    const Instruction *test = x->operands[0];
    if (is_choice(x, COMPARE_NE) && !nans && test->operands[0] == test->operands[1] &&
        is_float_constant(x->operands[1], &is_zero, &is_nan) && is_nan) {
      nans = test->operands[0];
      source.nan = x->operands[1]->literal;
    } else if (is_choice(x, COMPARE_EQ) && !zeros &&
               is_float_constant(x->operands[1], &is_zero, &is_nan) && is_zero &&
               is_float_constant(test->operands[1], &is_zero, &is_nan) && is_zero) {
      zeros = test->operands[0];
      source.zeros_tie = true;
    } else {
      return source;
    }
  }
  bool same = (!nans || nans == x) && (!zeros || zeros == x);
  if ((x->opcode == HLO_REAL || x->opcode == HLO_IMAG) &&
      type_is_complex(x->operands[0]->shape->type)) {
    source.part = x->opcode == HLO_IMAG;
    x = x->operands[0];
  }
  if (x->opcode == HLO_PARAMETER && same) source.operand = (int)(x->parameter_number / 2);
  return source;
}

/* --- The lexicographic form ------------------------------------------------------------------- */

/* Whether `x` tells if the two sides of `compare` are equal (or differ, for NE). */
static bool is_equality(const Instruction *x, ComparisonDirection direction,
                        const Instruction *compare) {
  Instruction *const *a = x->operands, *const *b = compare->operands;
  return is_compare(x, direction) && is_total_order(x) == is_total_order(compare) &&
         ((a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]));
}

/* Adds the key of a comparison; false if it is none of keys. */
static bool add_key(SortOrder *order, const Instruction *compare, bool is_last) {
  const Instruction *x = compare->operands[0], *y = compare->operands[1];
  ComparisonDirection direction = compare->a->direction;
  bool greater = direction == COMPARE_GT || direction == COMPARE_GE;
  bool or_equal = direction == COMPARE_LE || direction == COMPARE_GE;
  if (direction == COMPARE_EQ || direction == COMPARE_NE) return false;
  if (or_equal && !is_last) return false; /* then the next key is never asked */
  if (type_is_complex(x->shape->type) || order->count == MAX_SORT_KEYS) return false;
  bool swapped = !are_keys(x, y);
  if (swapped && !are_keys(y, x)) return false;
  if (swapped) x = compare->operands[1], y = compare->operands[0];
  SortKey key = {source_of(x), {x, y}, greater != swapped, is_total_order(compare)};
  order->computes |= key.source.operand < 0;
  order->keys[order->count++] = key;
  order->reverses_ties = or_equal;
  return true;
}

/* Whether x is `equal and rest`, with `equal` about the keys of `compare`; then `rest` is set. */
static bool match_rest(const Instruction *x, const Instruction *compare, const Instruction **rest) {
  if (x->opcode != HLO_AND || compare->opcode != HLO_COMPARE) return false;
  for (int i = 0; i < 2; i++) {
    *rest = x->operands[1 - i];
    if (is_equality(x->operands[i], COMPARE_EQ, compare)) return true;
  }
  return false;
}

/* The comparison that comes first, and what decides if that finds the keys equal: in the forms
** `less or (equal and rest)`, select(equal, rest, less) and select(differ, less, rest). */
static bool match_step(const Instruction *x, const Instruction **less, const Instruction **rest) {
  if (x->opcode == HLO_OR) {
    for (int i = 0; i < 2; i++) {
      *less = x->operands[i];
      if (match_rest(x->operands[1 - i], *less, rest)) return true;
    }
  }
  if (x->opcode != HLO_SELECT) return false;
  for (int differ = 0; differ < 2; differ++) {
    *less = x->operands[2 - differ];
    *rest = x->operands[1 + differ];
    if ((*less)->opcode == HLO_COMPARE &&
        is_equality(x->operands[0], differ ? COMPARE_NE : COMPARE_EQ, *less)) {
      return true;
    }
  }
  return false;
}

SortOrder comparator_order(const Computation *comparator) {
  SortOrder order = {0};
  const Instruction *x = comparator->root, *less, *rest;
  if (comparator->count > MAX_INSTRUCTIONS) return order;
  for (; match_step(x, &less, &rest); x = rest) {
    if (!add_key(&order, less, false)) return (SortOrder){0};
  }
  if (x->opcode != HLO_COMPARE || !add_key(&order, x, true)) return (SortOrder){0};
  return order;
}

bool comparator_has_keys(const Computation *comparator) {
  SortOrder order = comparator_order(comparator);
  return order.count > 0 && !order.computes;
}
