/* Widens narrow elements to f32, 16 or 32 at a time: see widen.h. */
#include "kernels/contraction/inner/widen.h"

#include <string.h>
#include <wasm_simd128.h>

/* ---- Vectors of 16 bytes ---- */

/* Moves 16-bit lanes to the upper halves of 32-bit lanes: of bf16, that is the value. */
static inline v128_t upper_low(v128_t x) {
  return wasm_i16x8_shuffle(wasm_i16x8_const_splat(0), x, 0, 8, 1, 9, 2, 10, 3, 11);
}
static inline v128_t upper_high(v128_t x) {
  return wasm_i16x8_shuffle(wasm_i16x8_const_splat(0), x, 4, 12, 5, 13, 6, 14, 7, 15);
}

static inline void widen_bf16(v128_t x, float *to) {
  wasm_v128_store(to, upper_low(x));
  wasm_v128_store(to + 4, upper_high(x));
}

/* Widens f16 in the upper halves of lanes. Exponent and mantissa, moved to their place in f32, give a number that is
** 2^112 too small. */
static inline v128_t f16_finite(v128_t upper) {
  v128_t bits = wasm_v128_and(wasm_i32x4_shr(upper, 3), wasm_i32x4_const_splat((int)0x8fffe000));
  return wasm_f32x4_mul(bits, wasm_f32x4_const_splat(0x1p112f));
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

/* Converts four bytes from number `first` on, each at the lowest byte of a lane. */
#define BYTES_LOW(x, first)                                                                      \
  wasm_i8x16_swizzle(x, wasm_i8x16_const((first), -1, -1, -1, (first) + 1, -1, -1, -1, (first) + 2, \
                                         -1, -1, -1, (first) + 3, -1, -1, -1))
/* The same at the highest byte, which keeps the sign: 2^24 times the number. */
#define BYTES_HIGH(x, first)                                                                     \
  wasm_i8x16_swizzle(x, wasm_i8x16_const(-1, -1, -1, (first), -1, -1, -1, (first) + 1, -1, -1, -1, \
                                         (first) + 2, -1, -1, -1, (first) + 3))

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

/*
** Widens 8-bit floats by way of bf16, in two bytes. Exponent and mantissa X, moved to their place in bf16, need another
** bias. Of the least magnitudes, which are subnormal, tables say how much both bytes differ from that; magnitudes
** above `finite` get the largest exponent.
*/
static inline void widen_f8(v128_t x, int mantissa, int bias, int finite, v128_t more_high,
                            v128_t more_low, float *to) {
  v128_t magnitude = wasm_v128_and(x, wasm_i8x16_const_splat(0x7f));
  v128_t high = wasm_i8x16_add(wasm_u8x16_shr(magnitude, (uint32_t)mantissa + 1),
                               wasm_i8x16_splat((int8_t)bias));
  v128_t low = wasm_i8x16_shl(x, 7 - (uint32_t)mantissa);
  v128_t special = wasm_i8x16_gt(magnitude, wasm_i8x16_splat((int8_t)finite));
  high = wasm_i8x16_add(high, wasm_i8x16_swizzle(more_high, magnitude));
  low = wasm_i8x16_add(low, wasm_i8x16_swizzle(more_low, magnitude));
  high = wasm_v128_or(high, wasm_v128_and(special, wasm_i8x16_const_splat(0x7f)));
  high = wasm_v128_or(high, wasm_v128_and(x, wasm_i8x16_const_splat(-128)));
  widen_bf16(wasm_i8x16_shuffle(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
             to);
  widen_bf16(wasm_i8x16_shuffle(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                31),
             to + 8);
}

static inline void widen_f8e4m3fn(v128_t x, float *to) {
  widen_f8(x, 3, 0x3c, 0x7e,
           wasm_u8x16_const(0xc4, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
           wasm_u8x16_const(0, 0xf0, 0x60, 0x90, 0xc0, 0xd0, 0xe0, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0),
           to);
}

static inline void widen_f8e5m2(v128_t x, float *to) {
  widen_f8(x, 2, 0x38, 0x7b,
           wasm_u8x16_const(0xc8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
           wasm_u8x16_const(0, 0x60, 0xc0, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), to);
}

/* ---- Loops ---- */

/* The last elements go by way of a vector of their own. */
#define WIDEN_LOOP(name, bytes)                                             \
  static void name##_loop(const void *elements, int64_t count, void *out) { \
    enum { SOME = 16 / (bytes) };                                           \
    const uint8_t *from = elements;                                         \
    float *to = out, rest[SOME];                                            \
    for (; count >= 2 * SOME; count -= 2 * SOME, from += 32, to += 2 * SOME) { \
      v128_t x = wasm_v128_load(from), y = wasm_v128_load(from + 16);       \
      name(x, to);                                                          \
      name(y, to + SOME);                                                   \
    }                                                                       \
    for (; count > 0; count -= SOME, from += 16, to += SOME) {              \
      int64_t some = count < SOME ? count : SOME;                           \
      uint8_t last[16] = {0};                                               \
      memcpy(last, from, (size_t)(some * (bytes)));                         \
      name(wasm_v128_load(last), rest);                                     \
      memcpy(to, rest, (size_t)some * sizeof *to);                          \
    }                                                                       \
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
