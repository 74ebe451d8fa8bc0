/*
** Emits conversions between element types, bit for bit as the evaluator; and reduce-precision, a conversion to
** an unnamed type.
*/
#include "codegen/loops/convert_emitter.h"

#include <string.h>

#include "codegen/formulas/lanes.h"
#include "codegen/loops/emitter.h"
#include "codegen/loops/lane_emitter.h"

/* Applies `opcode` (0: none) to both parts of x, and joins them into one vector by selecting lanes. */
static void emit_joined(Emitter *e, const LoopNode *x, int opcode, const int *lanes) {
  emit_value(e, x, 0);
  if (opcode) emit_simd(e, opcode);
  if (e->one_lane) return;
  emit_value(e, x, 1);
  if (opcode) emit_simd(e, opcode);
  wasm_shuffle32(&e->function, lanes[0], lanes[1], lanes[2], lanes[3]);
}

static const int low_halves[] = {0, 2, 4, 6};  /* of the 64-bit lanes of two vectors */
static const int first_pairs[] = {0, 1, 4, 5}; /* the low two 32-bit lanes of each */

/*
** A conversion lane by lane, as 64-bit integers have only scalar conversions. Each lane of one or two vectors on
** the stack is extracted, converted, and inserted into a vector of the result.
*/
typedef struct LaneConversion {
  short extract, op, splat, replace;
  int lanes; /* of the result */
} LaneConversion;

static const LaneConversion to_integers = {F64X2_EXTRACT_LANE, OP_I64_TRUNC_SAT_F64_S, I64X2_SPLAT,
                                           I64X2_REPLACE_LANE, 2};
static const LaneConversion to_doubles = {I64X2_EXTRACT_LANE, OP_F64_CONVERT_I64_S, F64X2_SPLAT,
                                          F64X2_REPLACE_LANE, 2};
static const LaneConversion to_floats = {I64X2_EXTRACT_LANE, OP_F32_CONVERT_I64_S, F32X4_SPLAT,
                                         F32X4_REPLACE_LANE, 4};

static void emit_lane_conversion(Emitter *e, const LaneConversion *c, bool from_or_to_signed) {
  WasmFunction *f = &e->function;
  int vectors[2], count = c->lanes / 2;
  for (int i = count - 1; i >= 0; i--) vectors[i] = emit_take(e);
  for (int lane = 0; lane < (e->one_lane ? 1 : c->lanes); lane++) {
    emit_local(e, vectors[lane / 2]);
    wasm_extract_lane(f, c->extract, lane % 2);
    if (c->op == OP_I64_TRUNC_SAT_F64_S) wasm_op(f, OP_SATURATING);
    wasm_op(f, c->op + !from_or_to_signed);
    if (lane == 0) {
      emit_simd(e, c->splat);
    } else {
      wasm_extract_lane(f, c->replace, lane);
    }
  }
  for (int i = 0; i < count; i++) wasm_local_release(f, vectors[i]);
}

/* x -> its integral part as i64x2. Below 2^51 the low bits of x + 1.5 * 2^52 hold it. */
static void emit_truncated(Emitter *e, bool to_signed) {
  static const uint64_t magic = UINT64_C(0x4338000000000000), limit = UINT64_C(0x4320000000000000);
  WasmFunction *f = &e->function;
  if (!to_signed) {
    emit_splat64(e, 0);
    emit_simd(e, F64X2_PMAX);
  }
  int x = emit_keep(e);
  emit_simd(e, F64X2_TRUNC);
  emit_splat64(e, magic);
  emit_simd(e, F64X2_ADD);
  emit_splat64(e, magic);
  emit_simd(e, I64X2_SUB);
  int result = emit_take(e);
  emit_local(e, x);
  emit_simd(e, F64X2_ABS);
  emit_splat64(e, limit);
  emit_simd(e, F64X2_LT);
  emit_simd(e, V128_NOT);
  emit_simd(e, I32X4_BITMASK);
  wasm_block(f, OP_IF);
  emit_local(e, x);
  emit_lane_conversion(e, &to_integers, to_signed);
  wasm_set(f, result);
  wasm_op(f, OP_END);
  emit_local(e, result);
  wasm_local_release(f, x);
  wasm_local_release(f, result);
}

/* --- Conversion ------------------------------------------------------------------------------- */

static void emit_convert_to_mask(Emitter *e, const LoopNode *x, LaneKind from) {
  static const short not_equal[] = {0, 0, I32X4_NE, I64X2_NE, F32X4_NE, F64X2_NE};
  emit_value(e, x, 0);
  if (from == LANES_MASK) return;
  emit_splat32(e, 0);
  emit_simd(e, not_equal[from]);
  if (lane_parts(from) == 1 || e->one_lane) return;
  emit_value(e, x, 1);
  emit_splat32(e, 0);
  emit_simd(e, not_equal[from]);
  wasm_shuffle32(&e->function, 0, 2, 4, 6);
}

/* Saturates a 32-bit integer to the narrower `type`. */
static void emit_saturate(Emitter *e, PrimitiveType type) {
  int bits = type_bits(type);
  if (bits == 32) return;
  if (is_signed(type)) {
    emit_splat32(e, (1u << (bits - 1)) - 1);
    emit_simd(e, I32X4_MIN_S);
    emit_splat32(e, ~0u << (bits - 1));
    emit_simd(e, I32X4_MAX_S);
  } else {
    emit_splat32(e, (1u << bits) - 1);
    emit_simd(e, I32X4_MIN_U);
  }
}

/* x -> its integral part, clamped to 0 .. `limit`, which fits into the mantissa: the low bits of x + 2^23. Half the
** instructions of a saturating conversion. */
static void emit_few_bits(Emitter *e, const LoopNode *x, uint32_t limit) {
  float max = (float)limit;
  uint32_t bits;
  memcpy(&bits, &max, sizeof bits);
  emit_splat32(e, 0);
  emit_value(e, x, 0);
  emit_simd(e, F32X4_PMAX); /* of NaN: 0 */
  emit_splat32(e, bits);
  emit_simd(e, F32X4_PMIN);
  emit_simd(e, F32X4_TRUNC);
  emit_splat32(e, 0x4b000000);
  emit_simd(e, F32X4_ADD);
  emit_splat32(e, limit);
  emit_simd(e, V128_AND);
}

static void emit_convert_to_i32(Emitter *e, const LoopNode *x, LaneKind from, PrimitiveType to) {
  bool to_signed = is_signed(to);
  switch (from) {
  case LANES_I64: emit_joined(e, x, 0, low_halves); return;
  case LANES_F64:
    emit_joined(e, x, to_signed ? I32X4_TRUNC_SAT_F64X2_S_ZERO : I32X4_TRUNC_SAT_F64X2_U_ZERO,
                first_pairs);
    emit_saturate(e, to);
    return;
  default: break;
  }
  if (from == LANES_F32 && !to_signed && type_bits(to) < 32) {
    emit_few_bits(e, x, (1u << type_bits(to)) - 1);
    return;
  }
  emit_value(e, x, 0);
  if (from == LANES_MASK) {
    emit_shift(e, I32X4_SHR_U, 31);
  } else if (from == LANES_F32) {
    emit_simd(e, to_signed ? I32X4_TRUNC_SAT_F32X4_S : I32X4_TRUNC_SAT_F32X4_U);
    emit_saturate(e, to);
  }
}

static void emit_convert_to_i64(Emitter *e, const LoopNode *x, LaneKind from, PrimitiveType to,
                                int part) {
  emit_value(e, x, lane_parts(from) == 2 ? part : 0);
  switch (from) {
  case LANES_MASK:
    emit_shift(e, I32X4_SHR_U, 31);
    emit_widen(e, false, part);
    break;
  case LANES_I32: emit_widen(e, is_signed(x->instruction->shape->type), part); break;
  case LANES_F32:
    emit_take_part(e, part);
    emit_simd(e, F64X2_PROMOTE_LOW_F32X4);
    emit_truncated(e, is_signed(to));
    break;
  case LANES_F64: emit_truncated(e, is_signed(to)); break;
  default: break;
  }
}

/* Whether integers are signed, or narrow enough to be converted as signed: one instruction. */
static bool converts_signed(const LoopNode *x) {
  return is_signed(node_type(x)) || type_bits(node_type(x)) < 32;
}

static void emit_convert_to_f32(Emitter *e, const LoopNode *x, LaneKind from) {
  bool from_signed = converts_signed(x);
  if (from == LANES_F64) {
    emit_joined(e, x, F32X4_DEMOTE_F64X2_ZERO, first_pairs);
  } else {
    emit_value(e, x, 0);
  }
  switch (from) {
  case LANES_MASK:
    emit_splat32(e, 0x3f800000); /* 1.0f */
    emit_simd(e, V128_AND);
    break;
  case LANES_I32: emit_simd(e, from_signed ? F32X4_CONVERT_I32X4_S : F32X4_CONVERT_I32X4_U); break;
  case LANES_I64:
    emit_value(e, x, e->one_lane ? 0 : 1);
    emit_lane_conversion(e, &to_floats, from_signed);
    break;
  default: break;
  }
}

static void emit_convert_to_f64(Emitter *e, const LoopNode *x, LaneKind from, int part) {
  bool from_signed = converts_signed(x);
  emit_value(e, x, lane_parts(from) == 2 ? part : 0);
  switch (from) {
  case LANES_MASK:
    emit_widen(e, true, part);
    emit_splat64(e, UINT64_C(0x3ff0000000000000)); /* 1.0 */
    emit_simd(e, V128_AND);
    break;
  case LANES_I32:
    emit_take_part(e, part);
    emit_simd(e, from_signed ? F64X2_CONVERT_LOW_I32X4_S : F64X2_CONVERT_LOW_I32X4_U);
    break;
  case LANES_I64: emit_lane_conversion(e, &to_doubles, from_signed); break;
  case LANES_F32:
    emit_take_part(e, part);
    emit_simd(e, F64X2_PROMOTE_LOW_F32X4);
    break;
  default: break;
  }
}

void emit_converted(Emitter *e, const LoopNode *x, PrimitiveType to, int part) {
  LaneKind from = lane_kind(x->instruction->shape->type);
  switch (lane_kind(to)) {
  case LANES_MASK: emit_convert_to_mask(e, x, from); break;
  case LANES_I32: emit_convert_to_i32(e, x, from, to); break;
  case LANES_I64: emit_convert_to_i64(e, x, from, to, part); break;
  case LANES_F32: emit_convert_to_f32(e, x, from); break;
  default: emit_convert_to_f64(e, x, from, part); break;
  }
}

/* Converts between types of one width; the bits of narrow integers may be sign-extended. */
void emit_bitcast_convert(Emitter *e, const LoopNode *node, int part) {
  PrimitiveType from = node->operands[0]->instruction->shape->type;
  PrimitiveType to = node->instruction->shape->type;
  emit_value(e, node->operands[0], part);
  emit_value_to_bits(e, from);
  if (lane_kind(to) == LANES_I32) {
    emit_round(e, to);
  } else {
    if (is_signed(from) && type_bits(from) < 32) {
      emit_splat32(e, (1u << type_bits(from)) - 1);
      emit_simd(e, V128_AND);
    }
    emit_bits_to_value(e, to);
  }
}

void emit_index_to_value(Emitter *e, PrimitiveType type, int part) {
  if (type_is_complex(type)) {
    emit_index_to_value(e, type_complex_component(type), part / 2);
    if (part % 2 == 0) return;
    wasm_op(&e->function, OP_DROP);
    emit_splat32(e, 0);
    return;
  }
  switch (lane_kind(type)) {
  case LANES_I32: emit_round(e, type); break;
  case LANES_I64: emit_widen(e, false, part); break;
  case LANES_F32:
    emit_simd(e, F32X4_CONVERT_I32X4_S);
    emit_round(e, type);
    break;
  default: emit_take_part(e, part); emit_simd(e, F64X2_CONVERT_LOW_I32X4_S);
  }
}
/* --- reduce-precision ------------------------------------------------------------------------- */

/* The evaluator's reduce_precision() on the element's bits, in lanes of 32 or 64; floats of 8 bits become f16, as
** there. */
typedef struct PrecisionEmitter {
  Emitter *e;
  bool is_64_bit;
  int bits, sign; /* locals */
} PrecisionEmitter;

static void emit_word(const PrecisionEmitter *p, uint64_t word) {
  if (p->is_64_bit) {
    emit_splat64(p->e, word);
  } else {
    emit_splat32(p->e, (uint32_t)word);
  }
}

/* bits = bits rounded to a multiple of 1 << shift, ties to even */
static void emit_round_mantissa(const PrecisionEmitter *p, int shift) {
  Emitter *e = p->e;
  uint64_t unit = UINT64_C(1) << shift;
  emit_local(e, p->bits);
  emit_word(p, unit / 2 - 1);
  emit_simd(e, p->is_64_bit ? I64X2_ADD : I32X4_ADD);
  emit_local(e, p->bits);
  emit_shift(e, p->is_64_bit ? I64X2_SHR_U : I32X4_SHR_U, shift);
  emit_word(p, 1);
  emit_simd(e, V128_AND);
  emit_simd(e, p->is_64_bit ? I64X2_ADD : I32X4_ADD);
  emit_word(p, ~(unit - 1));
  emit_simd(e, V128_AND);
  wasm_set(&e->function, p->bits);
}

/* bits = exponent < limit ? below : bits, or >= and above; with the sign of x */
static void emit_cut_exponent(const PrecisionEmitter *p, int exponent, bool below, uint64_t limit,
                              uint64_t value) {
  Emitter *e = p->e;
  int less = p->is_64_bit ? I64X2_LT_S : I32X4_LT_S,
      not_less = p->is_64_bit ? I64X2_GE_S : I32X4_GE_S;
  emit_local(e, p->sign);
  emit_word(p, value);
  emit_simd(e, V128_OR);
  emit_local(e, p->bits);
  emit_local(e, exponent);
  emit_word(p, limit);
  emit_simd(e, below ? less : not_less);
  emit_simd(e, V128_BITSELECT);
  wasm_set(&e->function, p->bits);
}

static void emit_cut_exponents(const PrecisionEmitter *p, int bits, int keep, int mantissa) {
  Emitter *e = p->e;
  int64_t bias = (INT64_C(1) << (bits - 1)) - 1, kept = (INT64_C(1) << (keep - 1)) - 1;
  int exponent = wasm_local(&e->function, WASM_V128); /* and the mantissa below it */
  emit_local(e, p->bits);
  emit_local(e, p->sign);
  emit_simd(e, V128_ANDNOT);
  wasm_set(&e->function, exponent);
  uint64_t infinity = (UINT64_C(1) << bits) - 1;
  emit_cut_exponent(p, exponent, false, (uint64_t)(bias + kept + 1) << mantissa,
                    infinity << mantissa);
  emit_cut_exponent(p, exponent, true, (uint64_t)(bias - kept + 1) << mantissa, 0);
  wasm_local_release(&e->function, exponent);
}

void emit_reduce_precision(Emitter *e, const LoopNode *node, int part) {
  PrimitiveType stated = node_type(node), type = type_bits(stated) == 8 ? F16 : stated;
  const Attributes *a = node->instruction->a;
  int total = type_bits(type), mantissa = type_mantissa_bits(type);
  PrecisionEmitter p = {e, total == 64, wasm_local(&e->function, WASM_V128), 0};
  emit_value(e, node->operands[0], part);
  int x = emit_keep(e);
  emit_value_to_bits(e, type);
  wasm_tee(&e->function, p.bits);
  emit_word(&p, UINT64_C(1) << (total - 1));
  emit_simd(e, V128_AND);
  p.sign = emit_keep(e);
  wasm_op(&e->function, OP_DROP);
  if (a->mantissa_bits < mantissa) emit_round_mantissa(&p, mantissa - (int)a->mantissa_bits);
  if (a->exponent_bits < total - 1 - mantissa) {
    emit_cut_exponents(&p, total - 1 - mantissa, (int)a->exponent_bits, mantissa);
  }
  emit_local(e, p.bits);
  emit_bits_to_value(e, type);
  if (type != stated) emit_round(e, stated);
  emit_local(e, x); /* where it is NaN */
  emit_local(e, x);
  emit_local(e, x);
  emit_simd(e, p.is_64_bit ? F64X2_EQ : F32X4_EQ);
  emit_simd(e, V128_BITSELECT);
  wasm_local_release(&e->function, x);
  wasm_local_release(&e->function, p.bits);
  wasm_local_release(&e->function, p.sign);
}
