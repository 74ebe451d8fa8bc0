/* Widens narrow elements to f32, 16 or 32 at a time: see widen.h. */
#include "kernels/contraction/inner/widen.h"

#include "kernels/contraction/inner/vectors.h"
#include <string.h>

/* ---- Vectors of 16 bytes ---- */

static inline void widen_bf16(v128_t x, float *to) {
  wasm_v128_store(to, upper_low(x));
  wasm_v128_store(to + 4, upper_high(x));
}

static inline v128_t f16_finite(v128_t upper) {
  return wasm_f32x4_mul(half_to_tiny(upper), wasm_f32x4_const_splat(0x1p112f));
}

/* The same of numbers whose largest exponent must become the largest. */
static inline v128_t f16_any(v128_t upper) {
  v128_t largest = wasm_i32x4_const_splat(0x7c000000);
  v128_t special = wasm_i32x4_eq(wasm_v128_and(upper, largest), largest);
  return wasm_v128_or(f16_finite(upper),
                      wasm_v128_and(special, wasm_i32x4_const_splat(0x7f800000)));
}

static inline void widen_f16(v128_t x, float *to) {
  v128_t largest = wasm_i16x8_const_splat(0x7c00);
  v128_t low = upper_low(x), high = upper_high(x);
  if (wasm_v128_any_true(wasm_i16x8_eq(wasm_v128_and(x, largest), largest))) {
    wasm_v128_store(to, f16_any(low));
    wasm_v128_store(to + 4, f16_any(high));
    return;
  }
  wasm_v128_store(to, f16_finite(low));
  wasm_v128_store(to + 4, f16_finite(high));
}

static inline v128_t signed_lanes(v128_t high) {
  return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(high, 24));
}

static inline void widen_s8(v128_t x, float *to) {
  wasm_v128_store(to, signed_lanes(BYTES_HIGH(x, 0)));
  wasm_v128_store(to + 4, signed_lanes(BYTES_HIGH(x, 4)));
  wasm_v128_store(to + 8, signed_lanes(BYTES_HIGH(x, 8)));
  wasm_v128_store(to + 12, signed_lanes(BYTES_HIGH(x, 12)));
}

static inline void widen_u8(v128_t x, float *to) {
  wasm_v128_store(to, wasm_f32x4_convert_i32x4(BYTES_LOW(x, 0)));
  wasm_v128_store(to + 4, wasm_f32x4_convert_i32x4(BYTES_LOW(x, 4)));
  wasm_v128_store(to + 8, wasm_f32x4_convert_i32x4(BYTES_LOW(x, 8)));
  wasm_v128_store(to + 12, wasm_f32x4_convert_i32x4(BYTES_LOW(x, 12)));
}

static inline void widen_f8e4m3fn(v128_t x, float *to) {
  v128_t largest = wasm_i8x16_const_splat(0x7f);
  v128_t is_nan = wasm_i8x16_eq(wasm_v128_and(x, largest), largest);
  Halves halves = f8e4m3fn_finite(x);
  widen_bf16(wasm_v128_or(halves.low, LOW_BYTES(is_nan, is_nan)), to);
  widen_bf16(wasm_v128_or(halves.high, HIGH_BYTES(is_nan, is_nan)), to + 8);
}

static inline void widen_f8e5m2(v128_t x, float *to) {
  Halves halves = f8e5m2_to_f16(x);
  widen_f16(halves.low, to);
  widen_f16(halves.high, to + 8);
}

/* ---- Loops ---- */

/* The last elements go by way of a vector of their own. */
/* Threshold SOME. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
#define WIDEN_LOOP(name, bytes)                                                \
  static void name##_loop(const void *elements, int64_t count, void *out) {    \
    enum { SOME = 16 / (bytes) };                                              \
    const uint8_t *from = elements;                                            \
    float *to = out, rest[SOME];                                               \
    for (; count >= 2 * SOME; count -= 2 * SOME, from += 32, to += 2 * SOME) { \
      v128_t x = wasm_v128_load(from), y = wasm_v128_load(from + 16);          \
      name(x, to);                                                             \
      name(y, to + SOME);                                                      \
    }                                                                          \
    for (; count > 0; count -= SOME, from += 16, to += SOME) {                 \
      int64_t some = count < SOME ? count : SOME;                              \
      uint8_t last[16] = {0};                                                  \
      memcpy(last, from, (size_t)(some * (bytes)));                            \
      name(wasm_v128_load(last), rest);                                        \
      memcpy(to, rest, (size_t)some * sizeof *to);                             \
    }                                                                          \
  }
WIDEN_LOOP(widen_bf16, 2)
WIDEN_LOOP(widen_f16, 2)
WIDEN_LOOP(widen_s8, 1)
WIDEN_LOOP(widen_u8, 1)
WIDEN_LOOP(widen_f8e4m3fn, 1)
WIDEN_LOOP(widen_f8e5m2, 1)

WidenLoop *widen_loop(PrimitiveType from) {
  switch (from) {
  case BF16: return widen_bf16_loop;
  case F16: return widen_f16_loop;
  case S2:
  case S4:
  case S8: return widen_s8_loop;
  case U2:
  case U4:
  case U8: return widen_u8_loop;
  case F8E4M3FN: return widen_f8e4m3fn_loop;
  case F8E5M2: return widen_f8e5m2_loop;
  default: return NULL;
  }
}
