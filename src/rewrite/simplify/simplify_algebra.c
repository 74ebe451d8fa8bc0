/*
** Simplifies single instructions by algebra on their operands, one rule per operation. Every rule keeps
** every bit of the result, more than a rewrite must (docs/passes.md), including NaNs and negative zeros.
** So x + 0 stays for floats (it turns -0 into +0), while x - 0 and x * 1 become x.
**
** A rule returns NULL if it does not apply, its argument if it changed that in place, or else the
** argument's replacement.
*/

#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/simplify/move_gathers.h"
#include "value/scalar.h"

typedef Instruction *Rule(Instruction *x);

static bool is_negative_zero(const Instruction *x) {
  Scalar value;
  return type_is_floating(x->shape->type) && splat_value(x, &value) && value.f == 0 &&
         __builtin_signbit(value.f);
}

/* Whether x is this real number, and not -0. */
static bool is_number(const Instruction *x, double number) {
  return is_splat_of(x, number) && !type_is_complex(x->shape->type) && !is_negative_zero(x);
}

/* Whether all bits of an integer or PRED are set. */
static bool is_all_ones(const Instruction *x) {
  Scalar value;
  if (!splat_value(x, &value)) return false;
  int bits = type_bits(x->shape->type);
  switch (type_kind(x->shape->type)) {
  case KIND_PRED: return value.u == 1;
  case KIND_SIGNED: return value.i == -1;
  default: return value.u == UINT64_MAX >> (64 - bits);
  }
}

static bool is_floating(const Instruction *x) {
  return type_is_floating(x->shape->type) || type_is_complex(x->shape->type);
}

/* Returns the other operand if one has a property; else NULL. */
static Instruction *other_if(Instruction *x, bool (*property)(const Instruction *)) {
  if (property(x->operands[1])) return x->operands[0];
  if (property(x->operands[0])) return x->operands[1];
  return NULL;
}

static bool is_zero(const Instruction *x) { return is_number(x, 0); }
static bool is_one(const Instruction *x) { return is_number(x, 1); }

/* Merges an operation with its operand's: op(op(x)) -> op'(x), with the attributes in `x`. */
static Instruction *skip_operand(Instruction *x) {
  x->operands[0] = x->operands[0]->operands[0];
  return x;
}

static Instruction *become_unary(Instruction *x, Opcode opcode, Instruction *operand) {
  instruction_become(x, opcode, &operand, 1, NULL);
  return x;
}

static int64_t *new_list(const Instruction *x, int count) {
  return ARENA_ARRAY(x->parent->module->arena, int64_t, count);
}

/* --- element-wise ----------------------------------------------------------------------------- */

static Instruction *add(Instruction *x) {
  return other_if(x, is_floating(x) ? is_negative_zero : is_zero);
}

static Instruction *subtract(Instruction *x) {
  return is_zero(x->operands[1]) ? x->operands[0] : NULL;
}

static Instruction *multiply(Instruction *x) { return other_if(x, is_one); }

static Instruction *divide(Instruction *x) {
  return is_one(x->operands[1]) ? x->operands[0] : NULL;
}

/* x^2 in the wider type is exact, so rounding it gives the same as x * x. */
static Instruction *power(Instruction *x) {
  if (!type_is_floating(x->shape->type)) return NULL;
  if (is_one(x->operands[1])) return x->operands[0];
  if (!is_number(x->operands[1], 2)) return NULL;
  Instruction *base = x->operands[0];
  instruction_become(x, HLO_MULTIPLY, (Instruction *[]){base, base}, 2, NULL);
  return x;
}

/* Returns the operand that determines the result: 0 for `and`, all ones for `or`. */
static Instruction *this_if(const Instruction *x, bool (*is)(const Instruction *)) {
  for (int k = 0; k < 2; k++) {
    if (is(x->operands[k])) return x->operands[k];
  }
  return NULL;
}

static Instruction *bitwise(Instruction *x, bool (*decides)(const Instruction *),
                            bool (*is_neutral)(const Instruction *)) {
  if (x->operands[0] == x->operands[1]) return x->operands[0];
  Instruction *decided = this_if(x, decides);
  return decided ? decided : other_if(x, is_neutral);
}

static Instruction *and_rule(Instruction *x) { return bitwise(x, is_zero, is_all_ones); }
static Instruction *or_rule(Instruction *x) { return bitwise(x, is_all_ones, is_zero); }
static Instruction *xor_rule(Instruction *x) { return other_if(x, is_zero); }

static Instruction *same_operands(Instruction *x) {
  return x->operands[0] == x->operands[1] ? x->operands[0] : NULL;
}

static Instruction *involution(Instruction *x) {
  return x->operands[0]->opcode == x->opcode ? x->operands[0]->operands[0] : NULL;
}

static Instruction *select_rule(Instruction *x) {
  Scalar value;
  if (x->operands[1] == x->operands[2]) return x->operands[1];
  if (splat_value(x->operands[0], &value)) return x->operands[value.u ? 1 : 2];
  return NULL;
}

/* Converts the constants of a select instead of its result, so where(p, 255, 0).astype(uint8) uses byte lanes. */
static Instruction *convert_choice(Instruction *x) {
  const Instruction *choice = x->operands[0];
  PrimitiveType from = choice->shape->type, to = x->shape->type;
  Instruction *operands[3] = {choice->operands[0]};
  Scalar values[2];
  if (type_is_complex(from) || type_is_complex(to)) return NULL;
  for (int k = 0; k < 2; k++) {
    if (!splat_value(choice->operands[1 + k], &values[k])) return NULL;
  }
  for (int k = 0; k < 2; k++) {
    Instruction *number =
        computation_add_number(x->parent, to, scalar_convert(from, to, values[k]));
    operands[1 + k] = computation_add(x->parent, HLO_BROADCAST, x->shape, &number, 1, NULL);
  }
  instruction_become(x, HLO_SELECT, operands, 3, NULL);
  return x;
}

/* Converts floats before they are repeated: scales of blocks. */
static Instruction *convert_repeated(Instruction *x) {
  Instruction *repeated = x->operands[0];
  if (repeated->opcode == HLO_RESHAPE) repeated = repeated->operands[0];
  PrimitiveType type = x->shape->type;
  if (repeated->opcode != HLO_BROADCAST || !type_is_floating(type) || !is_floating(repeated) ||
      type_is_complex(repeated->shape->type) ||
      2 * shape_elements(repeated->operands[0]->shape) > shape_elements(x->shape)) {
    return NULL;
  }
  Arena *arena = x->parent->module->arena;
  Instruction *few = repeated->operands[0];
  few = computation_add(x->parent, HLO_CONVERT, shape_with_type(arena, few->shape, type), &few, 1,
                        NULL);
  if (repeated == x->operands[0]) {
    instruction_become(x, HLO_BROADCAST, &few, 1, repeated->a);
    return x;
  }
  const Shape *shape = shape_with_type(arena, repeated->shape, type);
  return become_unary(x, HLO_RESHAPE,
                      computation_add(x->parent, HLO_BROADCAST, shape, &few, 1, repeated->a));
}

static Instruction *convert(Instruction *x) {
  Instruction *operand = x->operands[0];
  if (operand->shape->type == x->shape->type) return operand;
  if (operand->opcode == HLO_SELECT) return convert_choice(x);
  if (operand->opcode == HLO_CONVERT && operand->operands[0]->shape->type == x->shape->type &&
      type_holds(operand->shape->type, x->shape->type)) {
    return operand->operands[0];
  }
  return convert_repeated(x);
}

/* --- comparisons ------------------------------------------------------------------------------ */

static bool compares(double a, ComparisonDirection direction, double b) {
  switch (direction) {
  case COMPARE_EQ: return a == b;
  case COMPARE_NE: return a != b;
  case COMPARE_GE: return a >= b;
  case COMPARE_GT: return a > b;
  case COMPARE_LE: return a <= b;
  default: return a < b;
  }
}

/* Returns a number that no element of x exceeds, if none is below 0: of bytes, and parts of them. -1: unknown.
** steps: how many instructions may be looked at. */
static int64_t upper_bound(const Instruction *x, int *steps) {
  PrimitiveType type = x->shape->type;
  int bits = type_bits(type);
  int64_t bound = type_kind(type) == KIND_UNSIGNED && bits <= 32 ? (INT64_C(1) << bits) - 1 : -1,
          other;
  Scalar value;
  if (!type_is_integral(type) || bits > 32 || --*steps < 0) return bound;
  if (splat_value(x, &value)) return scalar_convert(type, S64, value).i;
  switch (x->opcode) {
  case HLO_CONVERT:
    other = upper_bound(x->operands[0], steps);
    return other >= 0 && other <= (INT64_C(1) << (bits - (type_kind(type) == KIND_SIGNED))) - 1
               ? other
               : bound;
  case HLO_AND:
    bound = upper_bound(x->operands[0], steps);
    other = upper_bound(x->operands[1], steps);
    return bound < 0 || (other >= 0 && other < bound) ? other : bound;
  case HLO_SHIFT_RIGHT_LOGICAL:
    other = upper_bound(x->operands[1], steps);
    if (x->operands[1]->opcode != HLO_BROADCAST || !splat_value(x->operands[1], &value))
      return bound;
    bound = upper_bound(x->operands[0], steps);
    return bound < 0 || other < 0 || other >= bits ? bound : bound >> other;
  case HLO_CONCATENATE:
    bound = 0;
    for (int i = 0; i < x->operand_count && bound >= 0; i++) {
      other = upper_bound(x->operands[i], steps);
      bound = other < 0 || other > bound ? other : bound;
    }
    return bound;
  case HLO_BROADCAST:
  case HLO_COPY:
  case HLO_RESHAPE:
  case HLO_SLICE:
  case HLO_TRANSPOSE: return upper_bound(x->operands[0], steps);
  default: return bound;
  }
}

/* Compares an index with a limit that it cannot pass: a byte with the end of a codebook. */
static Instruction *compare_index(Instruction *x) {
  /* Threshold MAX_STEPS: how many instructions are looked at for a bound. No path. */
  enum { MAX_STEPS = 64 };
  int steps = MAX_STEPS;
  ComparisonDirection direction = x->a->direction;
  int64_t bound = upper_bound(x->operands[0], &steps);
  Scalar value;
  if (bound < 0 || direction == COMPARE_EQ || direction == COMPARE_NE ||
      !splat_value(x->operands[1], &value)) {
    return NULL;
  }
  double limit = scalar_convert(x->operands[1]->shape->type, F64, value).f;
  bool always = compares(0, direction, limit);
  if (always != compares((double)bound, direction, limit)) return NULL;
  return become_unary(x, HLO_BROADCAST, computation_add_integer(x->parent, PRED, always));
}

/* A predicate that is converted to 0 or 1 and compared with a number is itself, or its negation: masks as Flax combines them. */
static Instruction *compare(Instruction *x) {
  const Instruction *number = x->operands[0];
  PrimitiveType type = number->shape->type;
  Scalar value;
  if (type_is_integral(type)) {
    Instruction *known = compare_index(x);
    if (known) return known;
  }
  if (number->opcode != HLO_CONVERT || number->operands[0]->shape->type != PRED ||
      type_is_complex(type) || !splat_value(x->operands[1], &value)) {
    return NULL;
  }
  double other = scalar_convert(type, F64, value).f;
  bool at_zero = compares(0, x->a->direction, other), at_one = compares(1, x->a->direction, other);
  if (at_zero == at_one || x->a->compare_type == COMPARISON_TOTALORDER) return NULL;
  return at_one ? number->operands[0] : become_unary(x, HLO_NOT, number->operands[0]);
}

/* Gathers by indices as they are before they are widened, and before the table is computed. */
static Instruction *gather(Instruction *x) {
  Instruction *index = x->operands[1];
  const Shape *shape = index->shape;
  if (index->opcode == HLO_RESHAPE) index = index->operands[0];
  PrimitiveType from = index->opcode == HLO_CONVERT ? index->operands[0]->shape->type : PRED;
  if (!type_is_integral(from) || type_bits(from) < 8 || !type_holds(shape->type, from)) {
    return move_gather(x) ? x : NULL;
  }
  x->operands[1] = computation_add_reshape(x->parent, index->operands[0], shape->rank, shape->dims);
  return x;
}

/* --- data movement ---------------------------------------------------------------------------- */

static Instruction *copy(Instruction *x) {
  return shape_compatible(x->shape, x->operands[0]->shape) ? x->operands[0] : NULL;
}

static Instruction *reshape(Instruction *x) {
  Instruction *operand = x->operands[0];
  if (shape_same_dims(x->shape, operand->shape)) return operand;
  if (operand->opcode == HLO_RESHAPE) return skip_operand(x);
  if (operand->opcode == HLO_BROADCAST && shape_is_scalar(operand->operands[0]->shape)) {
    return become_unary(x, HLO_BROADCAST, operand->operands[0]);
  }
  return NULL;
}

/* Reduces dimensions of one element: the test of a gather's indices, which are vectors of one index. Of floats, NaNs
** would have to keep their bits. */
static Instruction *reduce(Instruction *x) {
  Opcode operation = reduce_operation(x);
  if (x->operand_count != 2 || operation == OPCODE_COUNT || type_is_floating(x->shape->type) ||
      type_is_complex(x->shape->type) ||
      shape_elements(x->shape) != shape_elements(x->operands[0]->shape)) {
    return NULL;
  }
  Instruction *operands[2] = {
      computation_add_reshape(x->parent, x->operands[0], x->shape->rank, x->shape->dims),
      computation_add(x->parent, HLO_BROADCAST, x->shape, &x->operands[1], 1, NULL)};
  instruction_become(x, operation, operands, 2, NULL);
  return x;
}

/* Whether result dimension i is operand dimension from[i], looking only at those above size 1. */
static bool keeps_order(const Shape *shape, const int64_t *position, int count) {
  int64_t last = -1;
  for (int i = 0; i < count; i++) {
    if (shape->dims[i] == 1) continue;
    if (position[i] < last) return false;
    last = position[i];
  }
  return true;
}

static Instruction *transpose(Instruction *x) {
  Instruction *operand = x->operands[0];
  Int64List dims = x->a->dimensions;
  bool identity = true;
  for (int i = 0; i < dims.count; i++) identity &= dims.items[i] == i;
  if (identity) return operand;
  if (keeps_order(x->shape, dims.items, dims.count)) {
    return become_unary(x, HLO_RESHAPE, operand);
  }
  if (operand->opcode != HLO_TRANSPOSE) return NULL;
  int64_t *composed = new_list(x, dims.count);
  for (int i = 0; i < dims.count; i++) {
    composed[i] = operand->a->dimensions.items[dims.items[i]];
  }
  instruction_attributes(x)->dimensions.items = composed;
  return skip_operand(x);
}

static Instruction *broadcast(Instruction *x) {
  Instruction *operand = x->operands[0];
  Int64List dims = x->a->dimensions;
  if (shape_elements(x->shape) == shape_elements(operand->shape) &&
      keeps_order(operand->shape, dims.items, dims.count)) {
    return become_unary(x, HLO_RESHAPE, operand);
  }
  if (operand->opcode != HLO_BROADCAST) return NULL;
  Int64List inner = operand->a->dimensions;
  int64_t *composed = new_list(x, inner.count);
  for (int i = 0; i < inner.count; i++) composed[i] = dims.items[inner.items[i]];
  instruction_attributes(x)->dimensions = (Int64List){inner.count, composed};
  return skip_operand(x);
}

static Instruction *slice(Instruction *x) {
  Instruction *operand = x->operands[0];
  if (shape_same_dims(x->shape, operand->shape)) return operand;
  if (operand->opcode != HLO_SLICE) return NULL;
  int count = x->a->slice.count;
  SliceDimension *composed = ARENA_ARRAY(x->parent->module->arena, SliceDimension, count);
  for (int i = 0; i < count; i++) {
    SliceDimension inner = operand->a->slice.items[i], outer = x->a->slice.items[i];
    int64_t size = x->shape->dims[i];
    composed[i] =
        (SliceDimension){0, 0, 1}; /* of nothing, whose start may lie outside of the operand */
    if (!size) continue;
    int64_t start = inner.start + outer.start * inner.stride;
    int64_t stride = size > 1 ? inner.stride * outer.stride : 1;
    composed[i] = (SliceDimension){start, start + (size - 1) * stride + 1, stride};
  }
  instruction_attributes(x)->slice.items = composed;
  return skip_operand(x);
}

static Instruction *pad(Instruction *x) {
  for (int i = 0; i < x->a->padding.count; i++) {
    PaddingDimension padding = x->a->padding.items[i];
    if (padding.low || padding.high || padding.interior) return NULL;
  }
  return x->operands[0];
}

static Instruction *concatenate(Instruction *x) {
  if (x->operand_count == 1) return x->operands[0];
  int kept = 0, count = x->operand_count;
  int64_t dimension = x->a->dimensions.items[0];
  if (x->shape->dims[dimension] == 0) return NULL;
  for (int i = 0; i < count; i++) {
    if (x->operands[i]->shape->dims[dimension]) x->operands[kept++] = x->operands[i];
  }
  x->operand_count = kept;
  return kept < count ? x : NULL;
}

static Instruction *reverse(Instruction *x) {
  for (int i = 0; i < x->a->dimensions.count; i++) {
    if (x->shape->dims[x->a->dimensions.items[i]] > 1) return NULL;
  }
  return x->operands[0];
}

static Instruction *dynamic_slice(Instruction *x) {
  const Shape *operand = x->operands[0]->shape;
  if (shape_same_dims(x->shape, operand)) return x->operands[0];
  int rank = operand->rank;
  if (x->operand_count != rank + 1) return NULL; /* the old form, with one vector of indices */
  SliceDimension *slices = ARENA_ARRAY(x->parent->module->arena, SliceDimension, rank);
  for (int i = 0; i < rank; i++) {
    Scalar value;
    int64_t size = x->shape->dims[i], last = operand->dims[i] - size;
    if (!splat_value(x->operands[i + 1], &value)) return move_slice(x);
    int64_t start = scalar_clamped_index(x->operands[i + 1]->shape->type, value, last);
    slices[i] = (SliceDimension){start, start + size, 1};
  }
  const Attributes *attributes = ATTRIBUTES(.slice = {rank, slices});
  Instruction *source = x->operands[0];
  instruction_become(x, HLO_SLICE, &source, 1, attributes);
  return x;
}

/* An iota of floats with more values than 32 bits count is that of s64, converted, for which loops have a counter. */
static Instruction *iota(Instruction *x) {
  int64_t size = x->shape->dims[x->a->iota_dimension];
  if (size <= INT32_MAX || type_is_integral(x->shape->type)) return NULL;
  const Shape *shape = shape_with_type(x->parent->module->arena, x->shape, S64);
  Instruction *counted = computation_add(x->parent, HLO_IOTA, shape, NULL, 0, x->a);
  instruction_become(x, HLO_CONVERT, &counted, 1, NULL);
  return x;
}

static Instruction *dynamic_update_slice(Instruction *x) {
  return shape_same_dims(x->shape, x->operands[1]->shape) ? x->operands[1] : NULL;
}

/* --- tuples and control flow ------------------------------------------------------------------ */

static Instruction *get_tuple_element(Instruction *x) {
  Instruction *operand = x->operands[0];
  return operand->opcode == HLO_TUPLE_OP ? operand->operands[x->a->tuple_index] : NULL;
}

/* tuple(t.0, t.1, ..., t.n-1) is t. */
static Instruction *tuple(Instruction *x) {
  if (x->operand_count == 0 || x->operands[0]->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
  Instruction *whole = x->operands[0]->operands[0];
  if (whole->shape->tuple_size != x->operand_count) return NULL;
  for (int i = 0; i < x->operand_count; i++) {
    const Instruction *element = x->operands[i];
    if (element->opcode != HLO_GET_TUPLE_ELEMENT || element->operands[0] != whole ||
        element->a->tuple_index != i) {
      return NULL;
    }
  }
  return whole;
}

/* A sort whose comparator is always false changes nothing. */
static Instruction *sort(Instruction *x) {
  Scalar is_before;
  return splat_value(x->a->to_apply->root, &is_before) && !is_before.u ? x->operands[0] : NULL;
}

static Instruction *conditional(Instruction *x) {
  Scalar value;
  bool predicated;
  if (!splat_value(x->operands[0], &value)) return NULL;
  int count = conditional_branches(x, NULL, &predicated);
  Computation **branches = ARENA_ARRAY(x->parent->module->arena, Computation *, count);
  conditional_branches(x, branches, &predicated);
  int64_t taken = predicated ? !value.u : value.i;
  if (taken < 0 || taken >= count) taken = count - 1;
  const Attributes *attributes = ATTRIBUTES(.to_apply = branches[taken]);
  Instruction *argument = x->operands[taken + 1];
  instruction_become(x, HLO_CALL, &argument, 1, attributes);
  return x;
}

static Instruction *while_rule(Instruction *x) {
  Scalar value;
  bool never = splat_value(x->a->condition->root, &value) && !value.u;
  return never ? x->operands[0] : NULL;
}

static Rule *const rules[OPCODE_COUNT] = {
    [HLO_ADD] = add,
    [HLO_SUBTRACT] = subtract,
    [HLO_MULTIPLY] = multiply,
    [HLO_DIVIDE] = divide,
    [HLO_POWER] = power,
    [HLO_AND] = and_rule,
    [HLO_OR] = or_rule,
    [HLO_XOR] = xor_rule,
    [HLO_MAXIMUM] = same_operands,
    [HLO_MINIMUM] = same_operands,
    [HLO_SHIFT_LEFT] = subtract,
    [HLO_SHIFT_RIGHT_ARITHMETIC] = subtract,
    [HLO_SHIFT_RIGHT_LOGICAL] = subtract,
    [HLO_NOT] = involution,
    [HLO_NEGATE] = involution,
    [HLO_SELECT] = select_rule,
    [HLO_CONVERT] = convert,
    [HLO_COMPARE] = compare,
    [HLO_GATHER] = gather,
    [HLO_COPY] = copy,
    [HLO_RESHAPE] = reshape,
    [HLO_REDUCE] = reduce,
    [HLO_TRANSPOSE] = transpose,
    [HLO_BROADCAST] = broadcast,
    [HLO_SLICE] = slice,
    [HLO_PAD] = pad,
    [HLO_CONCATENATE] = concatenate,
    [HLO_REVERSE] = reverse,
    [HLO_IOTA] = iota,
    [HLO_DYNAMIC_SLICE] = dynamic_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = dynamic_update_slice,
    [HLO_GET_TUPLE_ELEMENT] = get_tuple_element,
    [HLO_TUPLE_OP] = tuple,
    [HLO_SORT] = sort,
    [HLO_CONDITIONAL] = conditional,
    [HLO_WHILE] = while_rule,
};

/* The rules do not support dynamic sizes. */
static bool is_simple(const Instruction *x) {
  OpCategory category = opcode_category(x->opcode);
  if (category == STRUCTURE || category == CONTROL) return true;
  if (!shape_is_array(x->shape)) return false;
  for (int i = 0; i < x->operand_count; i++) {
    if (!shape_is_array(x->operands[i]->shape)) return false;
  }
  return true;
}

/* Applies rules to one instruction until none applies. */
static void simplify_instruction(Rewrite *rewrite, Instruction *x) {
  for (;;) {
    Rule *rule = rules[x->opcode];
    Instruction *better = rule && is_simple(x) ? rule(x) : NULL;
    if (!better) return;
    if (better != x) {
      rewrite_replace(rewrite, x, better);
      return;
    }
    rewrite->changed = true;
  }
}

static bool simplify_algebra(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  for (int i = 0; i < rewrite.count; i++) {
    simplify_instruction(&rewrite, rewrite_visit(&rewrite, i));
  }
  return rewrite_end(&rewrite);
}

bool pass_simplify_algebra(Module *module) {
  return for_each_computation(module, simplify_algebra);
}
