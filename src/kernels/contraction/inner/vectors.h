/* Steps that widen 16 bytes of narrow elements, four at a time. */
#ifndef XLA_KERNELS_CONTRACTION_VECTORS_H
#define XLA_KERNELS_CONTRACTION_VECTORS_H

#include <wasm_simd128.h>

#define UNROLLED _Pragma("clang loop unroll(full)")

/* Moves bytes by indices that are below 16, or negative for a zero. */
#ifdef XLA_RELAXED_SIMD
#define MOVED_BYTES wasm_i8x16_relaxed_swizzle
#else
#define MOVED_BYTES wasm_i8x16_swizzle
#endif

/* Moves 16-bit lanes to the upper halves of 32-bit lanes: of bf16, that is the value. */
static inline v128_t upper_low(v128_t x) {
  return wasm_i16x8_shuffle(wasm_i16x8_const_splat(0), x, 0, 8, 1, 9, 2, 10, 3, 11);
}
static inline v128_t upper_high(v128_t x) {
  return wasm_i16x8_shuffle(wasm_i16x8_const_splat(0), x, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* Moves four bytes, from number `first` on, to the lowest byte of a lane. */
#define BYTES_LOW(x, first)                                                                     \
  MOVED_BYTES(x, wasm_i8x16_make((first), -1, -1, -1, (first) + 1, -1, -1, -1, (first) + 2, -1, \
                                 -1, -1, (first) + 3, -1, -1, -1))
/* The same to the highest byte, which keeps the sign: 2^24 times the number. */
#define BYTES_HIGH(x, first)                                                               \
  MOVED_BYTES(x, wasm_i8x16_make(-1, -1, -1, (first), -1, -1, -1, (first) + 1, -1, -1, -1, \
                                 (first) + 2, -1, -1, -1, (first) + 3))

/* Interleave the lower or the upper eight bytes of two vectors. */
#define LOW_BYTES(x, y) \
  wasm_i8x16_shuffle(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_BYTES(x, y) \
  wasm_i8x16_shuffle(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* Splits bytes that hold two elements each, the first in the lowest bits. */
static inline void split_bytes(v128_t x, int bits, v128_t out[2]) {
  v128_t mask = wasm_i8x16_splat((int8_t)((1 << bits) - 1));
  v128_t low = wasm_v128_and(x, mask);
  v128_t high = wasm_v128_and(wasm_u16x8_shr(x, (uint32_t)bits), mask);
  out[0] = LOW_BYTES(low, high);
  out[1] = HIGH_BYTES(low, high);
}

/* Moves the sign, exponent and mantissa of numbers with a 5-bit exponent, in the upper bits of lanes, to their place in
** f32: a number that is 2^112 too small. Infinity and NaN become numbers. */
static inline v128_t half_to_tiny(v128_t upper) {
  return wasm_v128_and(wasm_i32x4_shr(upper, 3), wasm_i32x4_const_splat((int)0x8fffffff));
}

/* Sixteen numbers of 16 bits: 0 to 7, and 8 to 15. */
typedef struct Halves {
  v128_t low, high;
} Halves;

/*
** Widens f8e4m3fn to bf16, in two bytes. The upper one depends on the sign and the upper three bits of the exponent, the lower
** one on the other bits. Of the least magnitudes, which are subnormal, tables say how much both bytes differ from that. NaNs
** become 480.
*/
static inline Halves f8e4m3fn_finite(v128_t x) {
  const v128_t upper = wasm_i8x16_const(0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x41, 0x42, 0x43, -0x44,
                                        -0x43, -0x42, -0x41, -0x40, -0x3f, -0x3e, -0x3d);
  const v128_t more_high = wasm_i8x16_const(-0x3c, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const v128_t more_low =
      wasm_i8x16_const(0, -0x10, 0x60, -0x70, -0x40, -0x30, -0x20, -0x10, 0, 0, 0, 0, 0, 0, 0, 0);
  v128_t first = wasm_v128_and(wasm_u16x8_shr(x, 4), wasm_i8x16_const_splat(0x0f));
  v128_t low = wasm_v128_and(wasm_i16x8_shl(x, 4), wasm_i8x16_const_splat((int8_t)0xf0));
  v128_t magnitude = wasm_v128_and(x, wasm_i8x16_const_splat(0x7f));
  v128_t index = wasm_u8x16_min(magnitude, wasm_i8x16_const_splat(15)); /* zeros are last */
  v128_t high = wasm_i8x16_add(MOVED_BYTES(upper, first), MOVED_BYTES(more_high, index));
  low = wasm_i8x16_add(low, MOVED_BYTES(more_low, index));
  return (Halves){LOW_BYTES(low, high), HIGH_BYTES(low, high)};
}

/* Widens f8e5m2 to f16: the byte is the upper one, the lower one is 0. */
static inline Halves f8e5m2_to_f16(v128_t x) {
  v128_t none = wasm_i32x4_const_splat(0);
  return (Halves){LOW_BYTES(none, x), HIGH_BYTES(none, x)};
}

/* Byte number i of each of 16 floats. */
typedef struct Planes {
  v128_t byte[4];
} Planes;

static inline Planes planes_of(const float *table) {
  v128_t a = wasm_v128_load(table), b = wasm_v128_load(table + 4);
  v128_t c = wasm_v128_load(table + 8), d = wasm_v128_load(table + 12);
  /* Of four floats: bytes 0, then 1, 2, 3. */
  const v128_t turn = wasm_i8x16_const(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  a = MOVED_BYTES(a, turn);
  b = MOVED_BYTES(b, turn);
  c = MOVED_BYTES(c, turn);
  d = MOVED_BYTES(d, turn);
  v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5);
  v128_t ab2 = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), cd2 = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  return (Planes){{wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3),
                   wasm_i64x2_shuffle(ab2, cd2, 0, 2), wasm_i64x2_shuffle(ab2, cd2, 1, 3)}};
}

/* Looks up 16 indices below 16. */
static inline void look_up_16(const Planes *planes, v128_t index, v128_t out[4]) {
  v128_t a = MOVED_BYTES(planes->byte[0], index);
  v128_t b = MOVED_BYTES(planes->byte[1], index);
  v128_t c = MOVED_BYTES(planes->byte[2], index);
  v128_t d = MOVED_BYTES(planes->byte[3], index);
  v128_t low = LOW_BYTES(a, b), high = LOW_BYTES(c, d);
  v128_t low2 = HIGH_BYTES(a, b), high2 = HIGH_BYTES(c, d);
  out[0] = wasm_i16x8_shuffle(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
  out[1] = wasm_i16x8_shuffle(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
  out[2] = wasm_i16x8_shuffle(low2, high2, 0, 8, 1, 9, 2, 10, 3, 11);
  out[3] = wasm_i16x8_shuffle(low2, high2, 4, 12, 5, 13, 6, 14, 7, 15);
}

#endif
