/*
** Emits vector code for lanes of any value: constants in all lanes, parts of a vector, and conversions between an
** element's bits and its value.
*/
#include "codegen/loops/lane_emitter.h"

#include <string.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/expression_emitter.h"

int node_parts(const LoopNode *node) { return lane_parts(lane_kind(node_type(node))); }

int live_parts(const Emitter *e, PrimitiveType type) {
  LaneKind kind = lane_kind(type);
  bool half = e->one_lane || (e->tail && e->tail <= LANES / 2 && kind != LANES_C64);
  if (!half || lane_parts(kind) == 1) return lane_parts(kind);
  return is_complex(kind) ? 2 : 1;
}

/* --- Small pieces ----------------------------------------------------------------------------- */

void emit_scalar(Emitter *e, PrimitiveType type, Scalar value, int part) {
  if (type_is_complex(type)) {
    if (part % 2) value.f = value.im;
    emit_scalar(e, type_complex_component(type), value, part / 2);
    return;
  }
  uint32_t bits32;
  uint64_t bits64;
  float narrow = (float)value.f;
  switch (lane_kind(type)) {
  case LANES_MASK: emit_splat32(e, value.u ? ~0u : 0); return;
  case LANES_I32: emit_splat32(e, (uint32_t)value.u); return;
  case LANES_I64: emit_splat64(e, value.u); return;
  case LANES_F32:
    memcpy(&bits32, &narrow, sizeof bits32);
    emit_splat32(e, bits32);
    return;
  default: memcpy(&bits64, &value.f, sizeof bits64); emit_splat64(e, bits64);
  }
}

void emit_splat_of(Emitter *e, LaneKind kind, uint32_t bits32, uint64_t bits64) {
  if (lane_parts(kind) == 1) {
    emit_splat32(e, bits32);
  } else {
    emit_splat64(e, bits64);
  }
}

void emit_twice(Emitter *e) {
  int x = emit_keep(e);
  emit_local(e, x);
  wasm_local_release(&e->function, x);
}

void emit_order_key(Emitter *e, LaneKind kind) {
  bool is_64_bit = kind == LANES_F64;
  emit_twice(e);
  emit_shift(e, is_64_bit ? I64X2_SHR_S : I32X4_SHR_S, is_64_bit ? 63 : 31);
  emit_shift(e, is_64_bit ? I64X2_SHR_U : I32X4_SHR_U, 1);
  emit_simd(e, V128_XOR);
}

void emit_take_part(Emitter *e, int part) {
  if (part == 0) return;
  emit_twice(e);
  wasm_shuffle32(&e->function, 2, 3, 2, 3);
}

void emit_widen(Emitter *e, bool with_sign, int part) {
  int low = with_sign ? I64X2_EXTEND_LOW_I32X4_S : I64X2_EXTEND_LOW_I32X4_U;
  emit_simd(e, part == 0 ? low : low + 1);
}

/* --- Narrow floats ---------------------------------------------------------------------------- */

/* Not inlined, as expressions take much stack. */
__attribute__((noinline)) static int emit_step(Emitter *e, NarrowStep *step, PrimitiveType type,
                                               int input) {
  Expression expression = {0};
  Value value = step(&expression, type, expression_input(&expression, input));
  int result;
  emit_expression(e, &expression, &value, 1, &result);
  return result;
}

static void emit_narrow(Emitter *e, NarrowStep *step, PrimitiveType type) {
  WasmFunction *f = &e->function;
  int x = emit_take(e), result = emit_step(e, step, type, x);
  NarrowStep *of_nan = narrow_step_of_nan(step, type);
  if (of_nan) {
    wasm_get(f, x);
    wasm_get(f, x);
    wasm_simd(f, F32X4_NE);
    int where = emit_take(e);
    begin_exception(e, where);
    end_exception(e, where, emit_step(e, of_nan, type, x), result);
  }
  wasm_get(f, result);
  wasm_local_release(f, result);
  wasm_local_release(f, x);
}

/* --- The values that an element type can hold ------------------------------------------------- */

void emit_bits_to_value(Emitter *e, PrimitiveType type) {
  if (type == PRED) { /* engines have one instruction for > of signed lanes, three for != */
    if (e->dense) {
      emit_splat32(e, 1);
      emit_simd(e, I32X4_MIN_U);
    }
    emit_splat32(e, 0);
    emit_simd(e, I32X4_GT_S);
  } else if (is_narrow_float(type)) {
    emit_narrow(e, decoded, type);
  }
}

void emit_value_to_bits(Emitter *e, PrimitiveType type) {
  if (type == PRED) {
    emit_shift(e, I32X4_SHR_U, 31);
  } else if (type == BF16) {
    emit_shift(e, I32X4_SHR_U, 16);
  } else if (is_narrow_float(type)) {
    emit_narrow(e, encoded, type);
  }
}

void emit_rounded_bits(Emitter *e, PrimitiveType type) { emit_narrow(e, encoded, type); }

void emit_round(Emitter *e, PrimitiveType type) {
  int bits = type_bits(type);
  if (is_narrow_float(type)) {
    if (e->unrounded) return;
    emit_narrow(e, rounded, type);
  } else if (lane_kind(type) == LANES_I32 && bits < 32 && !e->dense) {
    if (is_signed(type)) {
      emit_shift(e, I32X4_SHL, 32 - bits);
      emit_shift(e, I32X4_SHR_S, 32 - bits);
    } else {
      emit_splat32(e, (1u << bits) - 1);
      emit_simd(e, V128_AND);
    }
  }
}
