/*
** Emits element-wise operations as vector code. Operations of one or two SIMD instructions are emitted here;
** others are a formula (real_functions.c) or a call of a vector function (vector_functions.def). The results
** equal those of the evaluator's rules, bit for bit except in the transcendental functions.
*/
#include "codegen/loops/element_emitter.h"

#include <math.h>
#include <string.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/byte_table.h"
#include "codegen/loops/complex_emitter.h"
#include "codegen/loops/convert_emitter.h"
#include "codegen/loops/function_emitter.h"
#include "codegen/loops/lane_emitter.h"

/* --- Tables ---------------------------------------------------------------------- */

/* SIMD instructions by lane kind; 0: none. ORDER LANE_KIND */
typedef short OpByLanes[LANES_F64 + 1];
_Static_assert(LANES_MASK == 1 && LANES_I32 == 2 && LANES_I64 == 3 && LANES_F32 == 4 &&
                   LANES_F64 == 5,
               "the columns of the tables below");

static const OpByLanes plain_ops[OPCODE_COUNT] = {
    [HLO_ABS] = {0, 0, I32X4_ABS, I64X2_ABS, F32X4_ABS, F64X2_ABS},
    [HLO_NEGATE] = {0, 0, I32X4_NEG, I64X2_NEG, F32X4_NEG, F64X2_NEG},
    [HLO_NOT] = {0, V128_NOT, V128_NOT, V128_NOT, 0, 0},
    [HLO_CEIL] = {0, 0, 0, 0, F32X4_CEIL, F64X2_CEIL},
    [HLO_FLOOR] = {0, 0, 0, 0, F32X4_FLOOR, F64X2_FLOOR},
    [HLO_ROUND_NEAREST_EVEN] = {0, 0, 0, 0, F32X4_NEAREST, F64X2_NEAREST},
    [HLO_SQRT] = {0, 0, 0, 0, F32X4_SQRT, F64X2_SQRT},
    [HLO_ADD] = {0, V128_OR, I32X4_ADD, I64X2_ADD, F32X4_ADD, F64X2_ADD},
    [HLO_SUBTRACT] = {0, 0, I32X4_SUB, I64X2_SUB, F32X4_SUB, F64X2_SUB},
    [HLO_MULTIPLY] = {0, V128_AND, I32X4_MUL, I64X2_MUL, F32X4_MUL, F64X2_MUL},
    [HLO_DIVIDE] = {0, 0, 0, 0, F32X4_DIV, F64X2_DIV},
    [HLO_AND] = {0, V128_AND, V128_AND, V128_AND, 0, 0},
    [HLO_OR] = {0, V128_OR, V128_OR, V128_OR, 0, 0},
    [HLO_XOR] = {0, V128_XOR, V128_XOR, V128_XOR, 0, 0},
    [HLO_MAXIMUM] = {0, V128_OR, I32X4_MAX_S, 0, F32X4_MAX, F64X2_MAX},
    [HLO_MINIMUM] = {0, V128_AND, I32X4_MIN_S, 0, F32X4_MIN, F64X2_MIN},
};

/* The comparisons by direction. Predicates compare as unsigned masks; 64-bit integers have no unsigned form. */
static const OpByLanes compare_ops[] = {
    [COMPARE_EQ] = {0, I32X4_EQ, I32X4_EQ, I64X2_EQ, F32X4_EQ, F64X2_EQ},
    [COMPARE_NE] = {0, I32X4_NE, I32X4_NE, I64X2_NE, F32X4_NE, F64X2_NE},
    [COMPARE_GE] = {0, I32X4_GE_U, I32X4_GE_S, I64X2_GE_S, F32X4_GE, F64X2_GE},
    [COMPARE_GT] = {0, I32X4_GT_U, I32X4_GT_S, I64X2_GT_S, F32X4_GT, F64X2_GT},
    [COMPARE_LE] = {0, I32X4_LE_U, I32X4_LE_S, I64X2_LE_S, F32X4_LE, F64X2_LE},
    [COMPARE_LT] = {0, I32X4_LT_U, I32X4_LT_S, I64X2_LT_S, F32X4_LT, F64X2_LT},
};

/* --- Comparison and choice -------------------------------------------------------------------- */

/* Flips the sign bits of 64-bit lanes, so that signed comparisons give the unsigned order. */
static void emit_flip_sign(Emitter *e, PrimitiveType type) {
  if (type != U64) return;
  emit_splat64(e, UINT64_C(1) << 63);
  emit_simd(e, V128_XOR);
}

static bool has_negative_zero(PrimitiveType type) {
  return type_is_floating(type) && !type_is_fnuz(type);
}

/* Whether the order key is that of total order. The NaN of the FNUZ types has the bits of -0, but comes before
** all numbers. The upper half of scale factors is not negative. */
static bool can_order_totally(PrimitiveType type) {
  return has_negative_zero(type) && type != F8E8M0FNU;
}

static int compare_op(const Instruction *compare) {
  PrimitiveType type = compare->operands[0]->shape->type;
  const short *ops = compare_ops[compare->a->direction];
  LaneKind kind = lane_kind(type);
  if (is_total_order(compare)) return ops[kind == LANES_F64 ? LANES_I64 : LANES_I32];
  bool ordered = compare->a->direction != COMPARE_EQ && compare->a->direction != COMPARE_NE;
  /* Each unsigned form follows the signed one. */
  if (kind == LANES_I32 && ordered && !is_signed(type)) return ops[kind] + 1;
  return ops[kind];
}

static void emit_compare_part(Emitter *e, const LoopNode *node, int part) {
  PrimitiveType type = node->operands[0]->instruction->shape->type;
  for (int i = 0; i < 2; i++) {
    emit_value(e, node->operands[i], part);
    if (is_total_order(node->instruction)) {
      emit_value_to_bits(e, type);
      if (type_bits(type) < 32) emit_shift(e, I32X4_SHL, 32 - type_bits(type));
      emit_order_key(e, lane_kind(type));
    } else if (compare_op(node->instruction) != I64X2_EQ &&
               compare_op(node->instruction) != I64X2_NE) {
      emit_flip_sign(e, type);
    }
  }
  emit_simd(e, compare_op(node->instruction));
}

static void emit_compare(Emitter *e, const LoopNode *node) {
  LaneKind kind = lane_kind(node->operands[0]->instruction->shape->type);
  emit_compare_part(e, node, 0);
  if (lane_parts(kind) == 1 || e->one_lane) return;
  emit_compare_part(e, node, 1);
  wasm_shuffle32(&e->function, 0, 2, 4, 6);
}

/* Whether a node is a constant whose bits are all 0. */
static bool is_zero(const LoopNode *node) {
  static const uint8_t zeros[16];
  return node->kind == NODE_CONSTANT &&
         !memcmp(node->instruction->literal->data, zeros, (size_t)type_bytes(node_type(node)));
}

/* Engines make three instructions of a bitselect. With 0, or two constants, one or two are enough. */
static void emit_select(Emitter *e, const LoopNode *node, int part) {
  const LoopNode *yes = node->operands[1], *no = node->operands[2];
  bool wide = lane_parts(lane_kind(node_type(node))) == 2, by_mask = is_zero(no) || is_zero(yes);
  bool constant = !by_mask && is_constant_choice(node);
  if (!constant && (is_zero(no) || !is_zero(yes))) emit_value(e, yes, part);
  if (!constant && !is_zero(no)) emit_value(e, no, part);
  emit_value(e, node->operands[0], 0);
  if (wide) emit_widen(e, true, part);
  if (constant) {
    emit_constant_choice(e, node);
  } else {
    emit_simd(e, is_zero(no) ? V128_AND : is_zero(yes) ? V128_ANDNOT : V128_BITSELECT);
  }
}

/* x, y -> the one that `compare` prefers; for 64-bit integers, which lack min and max instructions. */
static void emit_choose_i64(Emitter *e, PrimitiveType type, int compare) {
  int x = wasm_local(&e->function, WASM_V128), y = wasm_local(&e->function, WASM_V128);
  wasm_set(&e->function, y);
  wasm_tee(&e->function, x);
  emit_local(e, y);
  emit_local(e, x);
  emit_flip_sign(e, type);
  emit_local(e, y);
  emit_flip_sign(e, type);
  emit_simd(e, compare);
  emit_simd(e, V128_BITSELECT);
  wasm_local_release(&e->function, x);
  wasm_local_release(&e->function, y);
}

/* x, y -> maximum or minimum */
static void emit_limit(Emitter *e, Opcode opcode, PrimitiveType type) {
  LaneKind kind = lane_kind(type);
  int op = plain_ops[opcode][kind];
  if (kind == LANES_I64) {
    emit_choose_i64(e, type, opcode == HLO_MAXIMUM ? I64X2_GT_S : I64X2_LT_S);
  } else {
    emit_simd(e, kind == LANES_I32 && !is_signed(type) ? op + 1 : op);
  }
}

/*
** Replaces x on top of the stack by the maximum or minimum of it and `limit`. f32x4.max is eight machine
** instructions, for NaN and for zeros. pmax is one, x < limit ? limit : x, and correct for a constant limit: only
** x can be NaN. Zeros matter only to the maximum with 0, where x + 0 is 0 for -0, and to the minimum with -0.
*/
static void emit_limited(Emitter *e, Opcode opcode, const LoopNode *limit, int part) {
  PrimitiveType type = node_type(limit);
  bool is_maximum = opcode == HLO_MAXIMUM, is_64_bit = lane_kind(type) == LANES_F64,
       is_plain = false;
  double c = NAN;
  if (limit->kind == NODE_CONSTANT && type_is_floating(type)) {
    c = scalar_load(type, limit->instruction->literal->data, 0).f;
    is_plain = !isnan(c) && (is_maximum || c != 0 || !signbit(c));
  }
  emit_value(e, limit, part);
  if (!is_plain) {
    emit_limit(e, opcode, type);
    return;
  }
  emit_simd(e, is_64_bit    ? (is_maximum ? F64X2_PMAX : F64X2_PMIN)
               : is_maximum ? F32X4_PMAX
                            : F32X4_PMIN);
  if (!is_maximum || c != 0 || signbit(c)) return;
  emit_splat32(e, 0);
  emit_simd(e, is_64_bit ? F64X2_ADD : F32X4_ADD);
}

static void emit_clamp(Emitter *e, const LoopNode *node, int part) {
  emit_value(e, node->operands[1], part);
  emit_limited(e, HLO_MAXIMUM, node->operands[0], part);
  emit_limited(e, HLO_MINIMUM, node->operands[2], part);
}

static void emit_limit_of_two(Emitter *e, const LoopNode *node, int part) {
  bool turned = node->operands[0]->kind == NODE_CONSTANT;
  emit_value(e, node->operands[turned], part);
  emit_limited(e, node->instruction->opcode, node->operands[!turned], part);
}

/* --- Unary operations of more than one instruction -------------------------------------------- */

/* Compares the exponent bits: those of a finite number are not all ones. */
static void emit_is_finite(Emitter *e, const LoopNode *node) {
  const LoopNode *x = node->operands[0];
  LaneKind kind = lane_kind(x->instruction->shape->type);
  for (int part = 0; part < (e->one_lane ? 1 : lane_parts(kind)); part++) {
    for (int operand = 0; operand < 2; operand++) { /* x & mask < mask */
      if (operand == 0) emit_value(e, x, part);
      emit_splat_of(e, kind, 0x7f800000, UINT64_C(0x7ff0000000000000));
      if (operand == 0) emit_simd(e, V128_AND);
    }
    emit_simd(e, kind == LANES_F32 ? I32X4_LT_S : I64X2_LT_S);
  }
  if (lane_parts(kind) == 2 && !e->one_lane) wasm_shuffle32(&e->function, 0, 2, 4, 6);
}

/* x -> a float with the magnitude of the constant and the sign of x */
static void emit_copysign(Emitter *e, LaneKind kind, uint32_t bits32, uint64_t bits64) {
  emit_splat_of(e, kind, UINT32_C(1) << 31, UINT64_C(1) << 63);
  emit_simd(e, V128_AND);
  emit_splat_of(e, kind, bits32, bits64);
  emit_simd(e, V128_OR);
}

/* Pushes 1 with the sign of x where x is less or greater than zero; x itself where it is zero or NaN. */
static void emit_sign_float(Emitter *e, LaneKind kind) {
  bool is_64_bit = kind == LANES_F64;
  int x = emit_keep(e);
  emit_copysign(e, kind, 0x3f800000, UINT64_C(0x3ff0000000000000));
  emit_local(e, x);
  emit_local(e, x);
  emit_splat32(e, 0);
  emit_simd(e, is_64_bit ? F64X2_LT : F32X4_LT);
  emit_local(e, x);
  emit_splat32(e, 0);
  emit_simd(e, is_64_bit ? F64X2_GT : F32X4_GT);
  emit_simd(e, V128_OR);
  emit_simd(e, V128_BITSELECT);
  wasm_local_release(&e->function, x);
}

/* (x >> all) | (-x >>> all) */
static void emit_sign_integer(Emitter *e, LaneKind kind) {
  bool is_64_bit = kind == LANES_I64;
  int x = emit_keep(e);
  emit_shift(e, is_64_bit ? I64X2_SHR_S : I32X4_SHR_S, is_64_bit ? 63 : 31);
  emit_local(e, x);
  emit_simd(e, is_64_bit ? I64X2_NEG : I32X4_NEG);
  emit_shift(e, is_64_bit ? I64X2_SHR_U : I32X4_SHR_U, is_64_bit ? 63 : 31);
  emit_simd(e, V128_OR);
  wasm_local_release(&e->function, x);
}

/* trunc(x + copysign(c, x)), where c is the largest number below one half: with one half itself,
** 0.49999997 would round up. */
static void emit_round_away(Emitter *e, LaneKind kind) {
  bool is_64_bit = kind == LANES_F64;
  emit_twice(e);
  emit_copysign(e, kind, 0x3effffff, UINT64_C(0x3fdfffffffffffff));
  emit_simd(e, is_64_bit ? F64X2_ADD : F32X4_ADD);
  emit_simd(e, is_64_bit ? F64X2_TRUNC : F32X4_TRUNC);
}

/* --- Shifts and counts ------------------------------------------------------------------------ */

static bool constant_amount(const LoopNode *node, uint64_t *amount) {
  if (node->instruction->opcode != HLO_CONSTANT) return false;
  const void *data = node->instruction->literal->data;
  switch (type_bytes(node->instruction->shape->type)) {
  case 1: *amount = *(const uint8_t *)data; return true;
  case 2: *amount = *(const uint16_t *)data; return true;
  case 4: *amount = *(const uint32_t *)data; return true;
  default: *amount = *(const uint64_t *)data; return true;
  }
}

/* Extends the operand to the lane as the shift needs it. */
static void emit_extended(Emitter *e, Opcode opcode, PrimitiveType type) {
  int bits = type_bits(type);
  if (bits >= 32) return;
  if (opcode == HLO_SHIFT_RIGHT_LOGICAL && is_signed(type)) {
    emit_splat32(e, (1u << bits) - 1);
    emit_simd(e, V128_AND);
  } else if (opcode == HLO_SHIFT_RIGHT_ARITHMETIC && !is_signed(type)) {
    emit_shift(e, I32X4_SHL, 32 - bits);
    emit_shift(e, I32X4_SHR_S, 32 - bits);
  }
}

static void emit_constant_shift(Emitter *e, Opcode opcode, PrimitiveType type, uint64_t amount) {
  bool is_64_bit = lane_kind(type) == LANES_I64;
  int bits = type_bits(type);
  if (opcode == HLO_SHIFT_RIGHT_ARITHMETIC) {
    int min = amount < (uint64_t)bits ? (int)amount : bits - 1;
    emit_shift(e, is_64_bit ? I64X2_SHR_S : I32X4_SHR_S, min);
  } else if (amount >= (uint64_t)bits) {
    emit_splat32(e, 0);
    emit_simd(e, V128_AND);
  } else if (opcode == HLO_SHIFT_LEFT) {
    emit_shift(e, is_64_bit ? I64X2_SHL : I32X4_SHL, (int)amount);
  } else {
    emit_shift(e, is_64_bit ? I64X2_SHR_U : I32X4_SHR_U, (int)amount);
  }
}

/* x, y -> x shifted by y, for lanes of 8 or 16 bits: one step for each bit of the amounts. Amounts past the width
** leave zero, or the sign. (For lanes of 64 bits a function call takes a third.) */
static void emit_dense_shift(Emitter *e, Opcode opcode) {
  int y = emit_take(e), x = emit_take(e), bits = 8 * e->dense;
  int op = opcode == HLO_SHIFT_LEFT            ? I32X4_SHL
           : opcode == HLO_SHIFT_RIGHT_LOGICAL ? I32X4_SHR_U
                                               : I32X4_SHR_S;
  if (op == I32X4_SHR_S) {
    emit_local(e, y);
    emit_splat32(e, (uint32_t)bits - 1);
    emit_simd(e, I32X4_MIN_U);
    wasm_set(&e->function, y);
  }
  for (int amount = 1; amount < bits; amount *= 2) {
    emit_local(e, x);
    emit_shift(e, op, amount);
    emit_local(e, x);
    emit_local(e, y);
    emit_splat32(e, (uint32_t)amount);
    emit_simd(e, V128_AND);
    emit_splat32(e, (uint32_t)amount);
    emit_simd(e, I32X4_EQ);
    emit_simd(e, V128_BITSELECT);
    wasm_set(&e->function, x);
  }
  emit_local(e, x);
  if (op != I32X4_SHR_S) {
    emit_local(e, y);
    emit_splat32(e, (uint32_t)bits);
    emit_simd(e, I32X4_LT_U);
    emit_simd(e, V128_AND);
  }
  wasm_local_release(&e->function, x);
  wasm_local_release(&e->function, y);
}

static void emit_shift_operation(Emitter *e, const LoopNode *node, int part) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node->instruction->shape->type;
  uint64_t amount;
  emit_value(e, node->operands[0], part);
  emit_extended(e, opcode, type);
  if (constant_amount(node->operands[1], &amount)) {
    emit_constant_shift(e, opcode, type, amount);
  } else {
    emit_value(e, node->operands[1], part);
    const BinaryFunction *formula = math_binary_function(opcode, type);
    if (e->dense) {
      emit_dense_shift(e, opcode);
    } else if (formula) {
      emit_binary_function(e, formula, NULL);
    } else {
      emit_call(e, vector_function(opcode, type), 2);
    }
  }
}

/* Adds up the population counts of bytes. */
static void emit_popcnt(Emitter *e, bool is_64_bit) {
  emit_simd(e, I8X16_POPCNT);
  emit_simd(e, I16X8_EXTADD_PAIRWISE_I8X16_U);
  emit_simd(e, I32X4_EXTADD_PAIRWISE_I16X8_U);
  if (!is_64_bit) return;
  emit_twice(e);
  emit_shift(e, I64X2_SHR_U, 32);
  emit_simd(e, I32X4_ADD);
  emit_splat64(e, UINT32_MAX);
  emit_simd(e, V128_AND);
}

/* Counts in 32 or 64 bits: the bits above the type's own are cleared, and not counted. XLA counts the ones of
** 4-bit integers in whole bytes. */
static void emit_count(Emitter *e, const LoopNode *node) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node_type(node);
  bool whole = opcode == HLO_POPCNT && type_bits(type) == 4;
  int bits = whole ? 8 : type_bits(type);
  if (bits < 32) {
    emit_splat32(e, (1u << bits) - 1);
    emit_simd(e, V128_AND);
  }
  if (e->dense) {
    emit_simd(e, I8X16_POPCNT);
    return;
  }
  if (opcode == HLO_POPCNT) {
    emit_popcnt(e, lane_kind(type) == LANES_I64);
    return;
  }
  if (has_math(opcode, lane_kind(type))) {
    emit_math(e, node);
  } else {
    emit_call(e, vector_function(opcode, type), 1);
  }
  if (bits < 32) {
    emit_splat32(e, (uint32_t)(32 - bits));
    emit_simd(e, I32X4_SUB);
  }
}

/* --- Products of bytes ------------------------------------------------------------------------ */

/* x, y -> x y of bytes, by products of 16-bit lanes: one for the lower bytes, one for the upper ones. */
static void emit_multiply_bytes(Emitter *e) {
  int y = emit_take(e), x = emit_take(e);
  e->dense = 2;
  emit_local(e, x);
  emit_local(e, y);
  emit_simd(e, I32X4_MUL);
  emit_splat32(e, 0xff);
  emit_simd(e, V128_AND);
  emit_local(e, x);
  emit_shift(e, I32X4_SHR_U, 8);
  emit_local(e, y);
  emit_splat32(e, 0xff00);
  emit_simd(e, V128_AND);
  emit_simd(e, I32X4_MUL);
  emit_simd(e, V128_OR);
  e->dense = 1;
  wasm_local_release(&e->function, x);
  wasm_local_release(&e->function, y);
}

/* --- All operations --------------------------------------------------------------------------- */

/* Emits an operation on operands that are on the stack. */
static void emit_on_stack(Emitter *e, const LoopNode *node) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node_type(node);
  LaneKind kind = lane_kind(type);
  switch (opcode) {
  case HLO_SIGN:
    if (kind == LANES_F32 || kind == LANES_F64) {
      emit_sign_float(e, kind);
    } else {
      emit_sign_integer(e, kind);
    }
    return;
  case HLO_ROUND_NEAREST_AFZ: emit_round_away(e, kind); return;
  case HLO_CLZ:
  case HLO_POPCNT: emit_count(e, node); return;
  default: break;
  }
  const BinaryFunction *binary = math_binary_function(opcode, type);
  if (e->dense == 1 && plain_ops[opcode][kind] == I32X4_MUL) {
    emit_multiply_bytes(e);
  } else if (has_math(opcode, kind) || is_sign_change(opcode, kind)) {
    emit_math(e, node);
  } else if (plain_ops[opcode][kind]) {
    emit_simd(e, plain_ops[opcode][kind]);
  } else if (binary) {
    emit_binary_function(e, binary, vector_function(opcode, type));
  } else {
    emit_call(e, vector_function(opcode, type), opcode_rows[opcode].arity);
  }
}

/* 1 / sqrt(x) */
static void emit_rsqrt(Emitter *e, const LoopNode *node, int part) {
  bool is_64_bit = lane_kind(node->instruction->shape->type) == LANES_F64;
  emit_splat_of(e, is_64_bit ? LANES_F64 : LANES_F32, 0x3f800000, UINT64_C(0x3ff0000000000000));
  emit_value(e, node->operands[0], part);
  emit_simd(e, is_64_bit ? F64X2_SQRT : F32X4_SQRT);
  emit_simd(e, is_64_bit ? F64X2_DIV : F32X4_DIV);
}

static bool has_complex(const Instruction *instruction) {
  bool found = type_is_complex(instruction->shape->type);
  for (int i = 0; i < instruction->operand_count; i++) {
    found |= type_is_complex(instruction->operands[i]->shape->type);
  }
  return found;
}

/* Whether rounding to f16 first shows in a result. XLA computes floats of 8 bits in those of 16. */
static bool rounds_twice(Opcode opcode, PrimitiveType type) {
  return type_is_float8(type) && opcode != HLO_REMAINDER && is_long_function(opcode, type);
}

bool is_exact(const Instruction *instruction) {
  PrimitiveType type = instruction->shape->type;
  switch (instruction->opcode) {
  case HLO_CEIL:
  case HLO_FLOOR:
  case HLO_ROUND_NEAREST_AFZ:
  case HLO_ROUND_NEAREST_EVEN: /* of f8e3m4, 15.5 is the largest number: 16 is infinity */
    return has_negative_zero(type) && type != F8E3M4;
  case HLO_ABS:
  case HLO_CLAMP:
  case HLO_MAXIMUM:
  case HLO_MINIMUM:
  case HLO_NEGATE:
  case HLO_SELECT:
  case HLO_SIGN: return has_negative_zero(type);
  default: return false;
  }
}

void emit_operation(Emitter *e, const LoopNode *node, int part) {
  if (has_complex(node->instruction)) {
    emit_complex_operation(e, node, part);
    return;
  }
  if (has_byte_table(node) && emit_table_lookup(e, node, false)) return;
  switch (node->instruction->opcode) {
  case HLO_COMPARE: emit_compare(e, node); return;
  case HLO_SELECT: emit_select(e, node, part); return;
  case HLO_CLAMP: emit_clamp(e, node, part); return;
  case HLO_MAXIMUM:
  case HLO_MINIMUM: emit_limit_of_two(e, node, part); break;
  case HLO_CONVERT: emit_converted(e, node->operands[0], node_type(node), part); break;
  case HLO_BITCAST_CONVERT: emit_bitcast_convert(e, node, part); return;
  case HLO_IS_FINITE: emit_is_finite(e, node); return;
  case HLO_REDUCE_PRECISION: emit_reduce_precision(e, node, part); return;
  case HLO_RSQRT: emit_rsqrt(e, node, part); break;
  case HLO_SHIFT_LEFT:
  case HLO_SHIFT_RIGHT_ARITHMETIC:
  case HLO_SHIFT_RIGHT_LOGICAL: emit_shift_operation(e, node, part); break;
  default:
    emit_value(e, node->operands[0], part);
    if (is_with_constant(node)) {
      emit_with_constant(e, node);
      break;
    }
    for (int i = 1; i < node->operand_count; i++) emit_value(e, node->operands[i], part);
    emit_on_stack(e, node);
  }
  PrimitiveType type = node->instruction->shape->type;
  if (rounds_twice(node->instruction->opcode, type)) emit_round(e, F16);
  if (node != e->stored && !is_exact(node->instruction)) emit_round(e, type);
}

/* Whether a type is an integer of `bytes` bytes, or a predicate: a mask of all bits. */
static bool is_dense(PrimitiveType type, int bytes) {
  return type == PRED || (lane_kind(type) == LANES_I32 && type_bits(type) == 8 * bytes);
}

bool can_be_dense(const LoopNode *node, int bytes) {
  Opcode opcode = node->instruction->opcode;
  PrimitiveType type = node_type(node);
  bool is = is_dense(type, bytes);
  for (int i = 0; i < node->operand_count; i++) is &= is_dense(node_type(node->operands[i]), bytes);
  if (!is || node->level < LEVEL_ELEMENT || is_leaf(node)) return is;
  switch (opcode) {
  case HLO_BITCAST_CONVERT:
  case HLO_CLAMP:
  case HLO_COMPARE:
  case HLO_CONVERT:
  case HLO_PARAMETER: /* of a combining computation */
  case HLO_SELECT:
  case HLO_SIGN: return true;
  case HLO_POPCNT: return bytes == 1;
  case HLO_SHIFT_LEFT:
  case HLO_SHIFT_RIGHT_ARITHMETIC:
  case HLO_SHIFT_RIGHT_LOGICAL: return true;
  default: return plain_ops[opcode][lane_kind(type)];
  }
}

static bool can_emit_conversion(PrimitiveType from, PrimitiveType to, Opcode opcode) {
  if (opcode == HLO_BITCAST_CONVERT) {
    return type_bits(from) == type_bits(to) && from != PRED && to != PRED;
  }
  /* XLA has zero for the smallest scale factor here, and its largest f4 is out of all integers' range. */
  if (from == F8E8M0FNU && to == PRED) return false;
  if (from == F4E2M1FN && lane_kind(to) != LANES_F32 && lane_kind(to) != LANES_F64) return false;
  /* Through f32, as here, these would be rounded twice. */
  bool from_64_bit = lane_parts(lane_kind(from)) == 2;
  return !(from_64_bit && is_narrow_float(to) && type_bits(to) <= 8);
}

/* Whether an operation can have a type. Formats that are only stored occur only in operations that move them:
** rewrite/expand/normalize_floats.c inserts conversions. */
static bool can_hold(PrimitiveType type, Opcode opcode) {
  bool passes_on = opcode == HLO_SELECT || opcode == HLO_CONVERT || opcode == HLO_BITCAST_CONVERT;
  return passes_on || type_computed_in(type) == type;
}

bool can_emit_operation(const Instruction *instruction) {
  Opcode opcode = instruction->opcode;
  PrimitiveType type = instruction->shape->type;
  LaneKind kind = lane_kind(type);
  if (has_complex(instruction)) return can_emit_complex(instruction);
  if (kind == LANES_NONE || !can_hold(type, opcode)) return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (lane_kind(instruction->operands[i]->shape->type) == LANES_NONE) return false;
  }
  bool is_float = kind == LANES_F32 || kind == LANES_F64;
  bool is_integer = kind == LANES_I32 || kind == LANES_I64;
  switch (opcode) {
  case HLO_COMPARE:
    return !is_total_order(instruction) || can_order_totally(instruction->operands[0]->shape->type);
  case HLO_SELECT:
  case HLO_CLAMP:
  case HLO_IS_FINITE: return true;
  case HLO_CONVERT:
  case HLO_BITCAST_CONVERT:
    return can_emit_conversion(instruction->operands[0]->shape->type, type, opcode);
  case HLO_REDUCE_PRECISION:
  case HLO_RSQRT:
  case HLO_ROUND_NEAREST_AFZ: return is_float;
  case HLO_MAXIMUM:
  case HLO_MINIMUM: return true;
  case HLO_ABS:
  case HLO_SIGN: return is_float || is_signed(type);
  case HLO_LOGISTIC:
    return is_float && !type_is_float8(type); /* computed in steps: hlo/scalar/real.c */
  case HLO_POWER: return is_float || (is_integer && type_bits(type) >= 32);
  case HLO_POPCNT: return is_integer;
  default:
    return plain_ops[opcode][kind] || has_math(opcode, kind) || vector_function(opcode, type) ||
           math_binary_function(opcode, type);
  }
}
