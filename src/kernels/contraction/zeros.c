#include "kernels/contraction/zeros.h"

#include <string.h>
#include <wasm_simd128.h>

#include "plan/bounded.h"

/* Whether 16 bytes are zeros, of either sign if they are floats. */
static bool are_zeros(const Arithmetic *arithmetic, const uint8_t *numbers) {
  v128_t x = wasm_v128_load(numbers);
  if (arithmetic->loops == LOOPS_F32) x = wasm_i32x4_shl(x, 1);
  if (arithmetic->loops == LOOPS_F64) x = wasm_i64x2_shl(x, 1);
  return !wasm_v128_any_true(x);
}

Used zeros_leave(const Arithmetic *arithmetic, const uint8_t *numbers, int bytes) {
  int begin = 0, end = bytes;
  while (begin + 16 <= bytes && are_zeros(arithmetic, numbers + begin)) begin += 16;
  while (end >= begin + 16 && are_zeros(arithmetic, numbers + end - 16)) end -= 16;
  return (Used){begin, end};
}

/* Finds the bits of the exponent, which lie in the upper 16 bits of a number, and the largest one of finite numbers, or of
** those below ARRAY_BOUND. Returns false if a type has other rules. */
static bool exponent_of(PrimitiveType type, bool bounded, v128_t *bits, v128_t *max) {
  int exponent, large;
  switch (type) {
  case F32:
  case BF16: exponent = 0x7f80, large = (127 + ARRAY_BOUND) << 7; break;
  case F64: exponent = 0x7ff0, large = (1023 + ARRAY_BOUND) << 4; break;
  case F16: exponent = large = 0x7c00; break;
  default: return false;
  }
  *bits = wasm_i16x8_splat((int16_t)exponent);
  if (type == F32) *bits = wasm_i32x4_shl(*bits, 16);
  if (type == F64) *bits = wasm_i64x2_shl(*bits, 48);
  *max = wasm_i16x8_splat((int16_t)((bounded ? large : exponent) - 1));
  return true;
}

/* Returns what is not 0 if one of 4 rows, `apart` bytes from each other, has a number with an exponent above `max`. Processors
** read ahead along distant rows at the same time. */
static v128_t find_special(const uint8_t *data, size_t apart, int64_t bytes, v128_t bits,
                           v128_t max) {
  const uint8_t *a = data, *b = a + apart, *c = b + apart, *d = c + apart;
  v128_t x = wasm_i32x4_const_splat(0), y = x;
  for (int64_t at = 0; at < bytes; at += 16) {
    v128_t e = wasm_i16x8_gt(wasm_v128_and(wasm_v128_load(a + at), bits), max);
    v128_t f = wasm_i16x8_gt(wasm_v128_and(wasm_v128_load(b + at), bits), max);
    v128_t g = wasm_i16x8_gt(wasm_v128_and(wasm_v128_load(c + at), bits), max);
    v128_t h = wasm_i16x8_gt(wasm_v128_and(wasm_v128_load(d + at), bits), max);
    x = wasm_v128_or(x, wasm_v128_or(e, f));
    y = wasm_v128_or(y, wasm_v128_or(g, h));
  }
  return wasm_v128_or(x, y);
}

bool zeros_may_multiply(PrimitiveType type, const uint8_t *data, size_t stride, int64_t rows,
                        int64_t bytes) {
  v128_t bits, max, any = wasm_i32x4_const_splat(0);
  if (rows == 0 || type_is_integral(type)) return true;
  if (bytes % 16 || !exponent_of(type, false, &bits, &max)) return false;
  int64_t apart = rows / 4;
  for (int64_t i = 0; i < apart; i++, data += stride) {
    any = wasm_v128_or(any, find_special(data, (size_t)apart * stride, bytes, bits, max));
  }
  data += (size_t)(3 * apart) * stride;
  for (int64_t i = 4 * apart; i < rows; i++, data += stride) {
    any = wasm_v128_or(any, find_special(data, 0, bytes, bits, max));
  }
  return !wasm_v128_any_true(any);
}

bool numbers_are_bounded(PrimitiveType type, const uint8_t *data, int64_t bytes) {
  _Alignas(16) uint8_t rest[16] = {0};
  v128_t bits, max;
  if (!exponent_of(type, true, &bits, &max)) return false;
  int64_t quarter = bytes / 64 * 16, whole = bytes / 16 * 16;
  v128_t any = find_special(data, (size_t)quarter, quarter, bits, max);
  any = wasm_v128_or(any, find_special(data + 4 * quarter, 0, whole - 4 * quarter, bits, max));
  memcpy(rest, data + whole, (size_t)(bytes - whole));
  return !wasm_v128_any_true(wasm_v128_or(any, find_special(rest, 0, sizeof rest, bits, max)));
}
