#include "kernels/contraction/zeros.h"

#include <string.h>
#include <wasm_simd128.h>

#include "kernels/kernels.h"
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

/* The exponent of a number, in its upper 16 bits: all of its bits, its lowest bit and the exponent of 1. */
typedef struct Exponent {
  int bits, shift, bias;
} Exponent;

/* Returns false if a type has none. */
static bool exponent_of(PrimitiveType type, Exponent *e) {
  switch (type) {
  case F32:
  case BF16: *e = (Exponent){0x7f80, 7, 127}; return true;
  case F64: *e = (Exponent){0x7ff0, 4, 1023}; return true;
  case F16: *e = (Exponent){0x7c00, 10, 15}; return true;
  default: return false;
  }
}

static v128_t bits_of(PrimitiveType type, const Exponent *e) {
  v128_t bits = wasm_i16x8_splat((int16_t)e->bits);
  if (type == F32) bits = wasm_i32x4_shl(bits, 16);
  if (type == F64) bits = wasm_i64x2_shl(bits, 48);
  return bits;
}

/* Returns the largest exponents of 4 rows, `apart` bytes from each other, or x. Processors read ahead along distant rows at the
** same time. */
static v128_t max_exponents(const uint8_t *data, size_t apart, int64_t bytes, v128_t bits,
                            v128_t x) {
  const uint8_t *a = data, *b = a + apart, *c = b + apart, *d = c + apart;
  v128_t y = x;
  for (int64_t at = 0; at < bytes; at += 16) {
    x = wasm_i16x8_max(x, wasm_v128_and(wasm_v128_load(a + at), bits));
    y = wasm_i16x8_max(y, wasm_v128_and(wasm_v128_load(b + at), bits));
    x = wasm_i16x8_max(x, wasm_v128_and(wasm_v128_load(c + at), bits));
    y = wasm_i16x8_max(y, wasm_v128_and(wasm_v128_load(d + at), bits));
  }
  return wasm_i16x8_max(x, y);
}

static int max_lane(v128_t x) {
  int16_t lanes[8];
  int max = 0;
  wasm_v128_store(lanes, x);
  for (int i = 0; i < 8; i++) max = lanes[i] > max ? lanes[i] : max;
  return max;
}

bool zeros_may_multiply(PrimitiveType type, const uint8_t *data, size_t stride, int64_t rows,
                        int64_t bytes) {
  Exponent e;
  if (rows == 0 || type_is_integral(type)) return true;
  if (bytes % 16 || !exponent_of(type, &e)) return false;
  v128_t bits = bits_of(type, &e), max = wasm_i32x4_const_splat(0);
  int64_t apart = rows / 4;
  for (int64_t i = 0; i < apart; i++, data += stride) {
    max = max_exponents(data, (size_t)apart * stride, bytes, bits, max);
  }
  data += (size_t)(3 * apart) * stride;
  for (int64_t i = 4 * apart; i < rows; i++, data += stride) {
    max = max_exponents(data, 0, bytes, bits, max);
  }
  return max_lane(max) < e.bits;
}

uint8_t bounds_of_numbers(PrimitiveType type, const uint8_t *data, int64_t bytes) {
  _Alignas(16) uint8_t rest[16] = {0};
  Exponent e;
  if (!exponent_of(type, &e)) return BOUNDS_LARGE;
  v128_t bits = bits_of(type, &e), max = wasm_i32x4_const_splat(0);
  int64_t quarter = bytes / 64 * 16, whole = bytes / 16 * 16;
  max = max_exponents(data, (size_t)quarter, quarter, bits, max);
  max = max_exponents(data + 4 * quarter, 0, whole - 4 * quarter, bits, max);
  memcpy(rest, data + whole, (size_t)(bytes - whole));
  int lane = max_lane(max_exponents(rest, 0, sizeof rest, bits, max));
  int bound = (lane >> e.shift) - e.bias + 1;
  if (lane == e.bits || bound > ARRAY_BOUND) return BOUNDS_LARGE;
  return (uint8_t)(BOUNDS_SMALL + (bound > 0 ? bound : 0));
}
