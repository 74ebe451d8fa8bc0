/*
** Leaves out rows of a streamed matrix that zeros at the ends of all vectors multiply: positions of a cache that a mask of attention
** drops. Zero times an infinity or a NaN is a NaN, so these rows are scanned for them; if there is one, all rows are multiplied.
** A scan reads each row once, whatever the number of vectors, and converts nothing.
*/
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/stream_order.h"

/* Threshold ROWS_AT_ONCE. Test: "zeros at the ends of vectors" in core/limited_products.test.mjs. */
enum { ROWS_AT_ONCE = 16 }; /* loops that begin elsewhere would add in another order */

/* ---- Zeros ---- */

/* Whether 16 bytes are zeros of either sign. */
static bool are_zeros(const Arithmetic *arithmetic, const uint8_t *numbers) {
  v128_t x = wasm_v128_load(numbers);
  x = arithmetic->loops == LOOPS_F32 ? wasm_i32x4_shl(x, 1) : wasm_i64x2_shl(x, 1);
  return !wasm_v128_any_true(x);
}

/* Finds the bytes [*begin, *end) of the vectors outside of which all are zeros: multiples of ROWS_AT_ONCE numbers. */
static void find_used(const Arithmetic *arithmetic, const Vectors *vectors, int64_t *begin,
                      int64_t *end) {
  int64_t step = ROWS_AT_ONCE * arithmetic->lane_bytes,
          bytes = vectors->depth * arithmetic->lane_bytes;
  int64_t first = bytes & -16, last = 0; /* a rest below 16 bytes counts as used */
  if (first < bytes) last = bytes;
  for (int i = 0; i < vectors->count; i++) {
    const uint8_t *numbers = (const uint8_t *)vectors->data + (size_t)i * vectors->stride;
    int64_t at = 0;
    while (at < first && are_zeros(arithmetic, numbers + at)) at += 16;
    first = at;
    at = bytes & -16;
    while (at > last && are_zeros(arithmetic, numbers + at - 16)) at -= 16;
    last = max_i64(last, at);
  }
  *begin = first / step * step;
  *end = min_i64(round_up(last, step), bytes);
}

/* ---- Infinities and NaNs ---- */

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

/* Whether rows of `bytes` bytes, a multiple of 16, have no infinity and no NaN. */
static bool are_finite(const uint8_t *data, size_t stride, int64_t rows, int64_t bytes,
                       v128_t bits) {
  v128_t zero = wasm_i32x4_const_splat(0), any = zero;
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

static bool rows_are_finite(const Block *block, PrimitiveType type, int64_t first, int64_t rows) {
  v128_t bits;
  int64_t bytes = block->length * type_bytes(type);
  if (rows == 0 || type_is_integral(type)) return true;
  if (bytes % 16 || !exponent_of(type, &bits)) return false;
  const uint8_t *data = block->data + (size_t)first * block->stride;
  return are_finite(data, block->stride, rows, bytes, bits);
}

void stream_leave_out(Block *block, Vectors *vectors) {
  const Arithmetic *arithmetic = block->stream->arithmetic;
  const Contraction *c = block->stream->contraction;
  bool has_floats = arithmetic->loops == LOOPS_F32 || arithmetic->loops == LOOPS_F64;
  /* A scan takes as long as a product with one vector of the same type: both wait for memory. */
  bool gains = vectors->count > 1 || block->stream->matrix.run;
  if (!has_floats || !gains || arithmetic->reals > 1 || block->stream->order->along_depth ||
      c->keeps_negative_zero || c->array[RHS].computed) {
    return;
  }
  int64_t begin, end, rows = block->lines;
  find_used(arithmetic, vectors, &begin, &end);
  int64_t first = begin / arithmetic->lane_bytes, last = end / arithmetic->lane_bytes;
  if (last < first) last = first; /* all are zeros */
  if (last - first > rows - ROWS_AT_ONCE || !rows_are_finite(block, c->array[RHS].type, 0, first) ||
      !rows_are_finite(block, c->array[RHS].type, last, rows - last)) {
    return;
  }
  block->data += (size_t)first * block->stride;
  block->first += first * block->stream->line_stride;
  block->lines = last - first;
  vectors->data = (const uint8_t *)vectors->data + begin;
  vectors->depth = (int)block->lines;
}
