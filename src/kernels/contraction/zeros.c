#include "kernels/contraction/zeros.h"

#include <wasm_simd128.h>

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

/* Finds the bits that are all set in infinities and NaNs only. They lie in the upper 16 bits of a number. Returns false if a
** type has other rules. */
static bool exponent_of(PrimitiveType type, v128_t *bits) {
  switch (type) {
  case F32: *bits = wasm_i32x4_const_splat(0x7f800000); return true;
  case F64: *bits = wasm_i64x2_const_splat(0x7ff0000000000000); return true;
  case BF16: *bits = wasm_i16x8_const_splat(0x7f80); return true;
  case F16: *bits = wasm_i16x8_const_splat(0x7c00); return true;
  default: return false;
  }
}

/* Returns what is not 0 if one of 4 rows, `apart` bytes from each other, has an infinity or a NaN. Processors read ahead along
** distant rows at the same time. */
static v128_t find_special(const uint8_t *data, size_t apart, int64_t bytes, v128_t bits,
                           v128_t wanted) {
  const uint8_t *a = data, *b = a + apart, *c = b + apart, *d = c + apart;
  v128_t x = wasm_i32x4_const_splat(0), y = x;
  for (int64_t at = 0; at < bytes; at += 16) {
    v128_t e = wasm_i16x8_eq(wasm_v128_and(wasm_v128_load(a + at), bits), wanted);
    v128_t f = wasm_i16x8_eq(wasm_v128_and(wasm_v128_load(b + at), bits), wanted);
    v128_t g = wasm_i16x8_eq(wasm_v128_and(wasm_v128_load(c + at), bits), wanted);
    v128_t h = wasm_i16x8_eq(wasm_v128_and(wasm_v128_load(d + at), bits), wanted);
    x = wasm_v128_or(x, wasm_v128_or(e, f));
    y = wasm_v128_or(y, wasm_v128_or(g, h));
  }
  return wasm_v128_or(x, y);
}

bool zeros_may_multiply(PrimitiveType type, const uint8_t *data, size_t stride, int64_t rows,
                        int64_t bytes) {
  v128_t bits, zero = wasm_i32x4_const_splat(0), any = zero;
  if (rows == 0 || type_is_integral(type)) return true;
  if (bytes % 16 || !exponent_of(type, &bits)) return false;
  v128_t never = wasm_i16x8_eq(bits, zero), wanted = wasm_v128_or(bits, never);
  int64_t apart = rows / 4;
  for (int64_t i = 0; i < apart; i++, data += stride) {
    any = wasm_v128_or(any, find_special(data, (size_t)apart * stride, bytes, bits, wanted));
  }
  data += (size_t)(3 * apart) * stride;
  for (int64_t i = 4 * apart; i < rows; i++, data += stride) {
    any = wasm_v128_or(any, find_special(data, 0, bytes, bits, wanted));
  }
  return !wasm_v128_any_true(any);
}
