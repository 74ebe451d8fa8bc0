#include "plan/fusible.h"

#include "plan/reduction.h"

#define LIGHT(name)  [HLO_##name] = COST_LIGHT
#define MEDIUM(name) [HLO_##name] = COST_MEDIUM
#define LONG(name)   [HLO_##name] = COST_LONG
/* clang-format off */
static const unsigned char costs[OPCODE_COUNT] = {
    LIGHT(ABS), LIGHT(ADD), LIGHT(AND), LIGHT(BITCAST_CONVERT), LIGHT(CLAMP), LIGHT(COMPARE), LIGHT(CONVERT),
    LIGHT(IS_FINITE), LIGHT(MAXIMUM), LIGHT(MINIMUM), LIGHT(MULTIPLY), LIGHT(NEGATE), LIGHT(NOT), LIGHT(OR),
    LIGHT(SELECT), LIGHT(SUBTRACT), LIGHT(XOR),
    MEDIUM(CEIL), MEDIUM(CLZ), MEDIUM(COMPLEX), MEDIUM(DIVIDE), MEDIUM(FLOOR), MEDIUM(IMAG), MEDIUM(MULHI),
    MEDIUM(POPCNT), MEDIUM(REAL), MEDIUM(REDUCE_PRECISION), MEDIUM(REMAINDER), MEDIUM(ROUND_NEAREST_AFZ),
    MEDIUM(ROUND_NEAREST_EVEN), MEDIUM(RSQRT), MEDIUM(SHIFT_LEFT), MEDIUM(SHIFT_RIGHT_ARITHMETIC),
    MEDIUM(SHIFT_RIGHT_LOGICAL), MEDIUM(SIGN), MEDIUM(SQRT), MEDIUM(STOCHASTIC_CONVERT),
    /* These are long, too, but rare: no program has been measured. */
    MEDIUM(ACOS), MEDIUM(ACOSH), MEDIUM(ASIN), MEDIUM(ASINH), MEDIUM(ATAN2), MEDIUM(ATANH), MEDIUM(CBRT), MEDIUM(COS),
    MEDIUM(COSH), MEDIUM(ERF), MEDIUM(SIN), MEDIUM(SINH), MEDIUM(TAN),
    LONG(EXP), LONG(EXPM1), LONG(LOG), LONG(LOG1P), LONG(LOGISTIC), LONG(POWER), LONG(TANH),
};
/* clang-format on */

OpcodeCost opcode_cost(Opcode opcode) { return costs[opcode]; }

static bool fits_loops(const Target *target, const Shape *shape) {
  if (!shape_is_array(shape) || !target->has_type(shape->type)) return false;
  if (shape->rank > MAX_DIMENSIONS) return false;
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == 0) return false;
  }
  return true;
}

/* Loop indices are signed 32-bit integers. Values inside a fusion may have any number of elements. */
bool is_within_loops(const Instruction *root) {
  bool reduces = root->opcode == HLO_REDUCE;
  const Shape *shape = reduces ? root->operands[0]->shape : root->shape;
  const Shape *result = shape_is_tuple(root->shape) ? root->shape->elements[0] : root->shape;
  for (int d = 0; d < shape->rank && reduces; d++) {
    if (shape->dims[d] > INT32_MAX) return false;
  }
  return shape_elements(result) <= INT32_MAX;
}

/* Whether an index can count the elements of each operand as well. */
static bool is_indexed(const Instruction *x) {
  for (int i = 0; i < x->operand_count; i++) {
    if (shape_elements(x->operands[i]->shape) > INT32_MAX) return false;
  }
  return is_within_loops(x);
}

/* Whether a computation works on scalars and can be emitted inline. */
static bool can_combine(const Target *target, const Computation *computation) {
  /* Threshold MAX_INSTRUCTIONS: a computation is emitted recursively, from the root down. Test:
  ** "comparators and reducers of many instructions" in core/thresholds_programs.test.mjs. */
  enum { MAX_INSTRUCTIONS = 1000 };
  if (computation->count > MAX_INSTRUCTIONS) return false;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->opcode == HLO_TUPLE_OP && x == computation->root) continue;
    if (!shape_is_scalar(x->shape) || !target->has_type(x->shape->type)) return false;
    if (x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT) continue;
    if (instruction_called(x, NULL) || !can_fuse(target, x)) return false;
  }
  return true;
}

static bool can_reduce(const Target *target, const Instruction *reduce) {
  int count = reduce->operand_count / 2;
  for (int i = 0; i < reduce->operand_count; i++) {
    const Shape *shape = reduce->operands[i]->shape;
    if (!fits_loops(target, shape)) return false;
    if (i < count && !shape_same_dims(shape, reduce->operands[0]->shape)) return false;
  }
  const Shape *result = shape_is_tuple(reduce->shape) ? reduce->shape->elements[0] : reduce->shape;
  if (!fits_loops(target, result) || !can_combine(target, reduce->a->to_apply)) return false;
  if (reduction_has_order(reduce)) return false;
  if (reduce->opcode == HLO_REDUCE) return reduce->a->dimensions.count > 0;
  bool backwards;
  if (!is_indexed(reduce)) return false;
  if (cumulative_dimension(reduce, &backwards) >= 0) {
    return !backwards || reduce_operation(reduce) != OPCODE_COUNT; /* it begins at the other end */
  }
  return 2 * result->rank <= MAX_DIMENSIONS && windows_have_plan(reduce);
}

static bool can_scatter(const Target *target, const Instruction *scatter) {
  int count = scatter->operand_count / 2;
  if (!is_indexed(scatter)) return false;
  for (int i = 0; i < scatter->operand_count; i++) {
    if (!fits_loops(target, scatter->operands[i]->shape)) return false;
  }
  return type_bytes(scatter->operands[count]->shape->type) >= 1 &&
         can_combine(target, scatter->a->to_apply);
}

/* Whether a transpose turns rows into columns, so that a loop along the result's rows would read columns. The kernel
** kernels/memory/move.c copies tiles instead. Exceptions: small arrays, which are in the cache; short rows, for which
** loops go along another dimension (short_rows.c); elements a few bytes apart, such as one colour of pixels.
** Measured: a loop reads elements 8 bytes apart in 1.25 times the time, 16 bytes apart and decoded in 2.8 times
** (Node 20, 2026-11). */
static bool turns_rows(const Instruction *x) {
  /* Threshold MIN_ELEMENTS, MIN_ROW. Test: "transposes of 4096 elements" in core/thresholds_programs.test.mjs. */
  /* Threshold FEW, FEW_BYTES. Test: "transposes around tiles and short rows" in core/thresholds.test.mjs. */
  enum { MIN_ELEMENTS = 4096, MIN_ROW = 8, FEW = 4, FEW_BYTES = 12 };
  const Int64List order = x->a->dimensions;
  int last = x->shape->rank - 1;
  if (x->opcode != HLO_TRANSPOSE || shape_elements(x->shape) < MIN_ELEMENTS) return false;
  while (last >= 0 && x->shape->dims[last] == 1) last--;
  if (x->shape->dims[last] < MIN_ROW) return false;
  PrimitiveType type = x->shape->type;
  int64_t apart = 1, bytes = type_bytes(type);
  for (int d = 0; d <= last; d++) {
    if (order.items[d] > order.items[last]) apart *= x->shape->dims[d];
  }
  bool is_decoded = type_is_floating(type) && bytes < 4;
  if (apart <= FEW && apart * bytes <= FEW_BYTES && bytes <= 4 && !is_decoded) return false;
  for (int d = last - 1; d >= 0; d--) { /* is the result's innermost dimension the operand's? */
    if (x->shape->dims[d] > 1 && order.items[d] > order.items[last]) return true;
  }
  return false;
}

bool is_plain(Opcode opcode) {
  return opcode == HLO_IOTA || opcode_is_elementwise(opcode) || is_index_operation(opcode);
}

/* Whether padding is only outside. Interior padding would make one box per element. */
static bool is_padded_around(const Instruction *pad) {
  bool around = true;
  for (int d = 0; d < pad->shape->rank; d++) around &= pad->a->padding.items[d].interior == 0;
  return around;
}

/* Whether loops can gather. Single elements are loaded lane by lane, rows as vectors. */
static bool can_gather(const Instruction *gather) {
  const Shape *indices = gather->operands[1]->shape;
  return !type_is_complex(gather->shape->type) && type_is_integral(indices->type) &&
         indices->type != PRED && is_indexed(gather);
}

/* Whether a plan has room for the starts of a dynamic slice, one for each dimension that is not whole. */
static bool can_slice(const Instruction *slice) {
  const Shape *operand = slice->operands[0]->shape;
  int starts = 0;
  for (int d = 0; d < operand->rank; d++) starts += slice->shape->dims[d] < operand->dims[d];
  return slice->operand_count == 1 + operand->rank && starts <= MAX_STARTS;
}

/* Whether a loop has a counter for an iota. A float's would need 64 bits and a conversion; simplify_algebra.c writes
** that as an iota of s64 and a convert. */
static bool can_count(const Instruction *iota) {
  return iota->shape->dims[iota->a->iota_dimension] <= INT32_MAX ||
         type_is_integral(iota->shape->type);
}

bool can_unpack(const Instruction *x) {
  if (x->opcode == HLO_BITCAST_CONVERT && instruction_is_alias(x)) x = x->operands[0];
  return x->opcode == HLO_PARAMETER || x->opcode == HLO_GET_TUPLE_ELEMENT ||
         (x->opcode == HLO_CONSTANT && shape_elements(x->shape) > 1);
}

bool can_fuse(const Target *target, const Instruction *instruction) {
  if (instruction->opcode == HLO_REDUCE || instruction->opcode == HLO_REDUCE_WINDOW) {
    return can_reduce(target, instruction);
  }
  if (instruction->opcode == HLO_SCATTER) return can_scatter(target, instruction);
  if (!fits_loops(target, instruction->shape)) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!fits_loops(target, instruction->operands[i]->shape)) return false;
  }
  switch (instruction->opcode) {
  case HLO_CONSTANT: return shape_elements(instruction->shape) == 1;
  case HLO_GATHER: return can_gather(instruction);
  case HLO_IOTA: return can_count(instruction);
  case HLO_PAD: return is_padded_around(instruction);
  case HLO_TRANSPOSE: return !turns_rows(instruction);
  case HLO_DYNAMIC_SLICE: return can_slice(instruction);
  default: break;
  }
  if (is_index_operation(instruction->opcode)) return true;
  if (is_unpacking(instruction)) return can_unpack(instruction->operands[0]);
  return opcode_is_elementwise(instruction->opcode) && target->can_emit(instruction);
}

static bool fills_its_bytes(const Shape *shape) {
  return type_bits(shape->type) == 8 * type_bytes(shape->type);
}

bool instruction_is_alias(const Instruction *instruction) {
  switch (instruction->opcode) {
  case HLO_BITCAST_CONVERT: /* the bytes do not move, for any element width */
    return fills_its_bytes(instruction->shape) && fills_its_bytes(instruction->operands[0]->shape);
  case HLO_OPTIMIZATION_BARRIER:
  case HLO_ADD_DEPENDENCY:
  case HLO_DOMAIN:
  case HLO_RESHAPE: /* dense and row-major on both sides */
  case HLO_COPY:
  case HLO_TUPLE_OP:
  case HLO_AFTER_ALL:
  case HLO_RECV:
  case HLO_SEND_DONE: return true;
  default: return false;
  }
}
