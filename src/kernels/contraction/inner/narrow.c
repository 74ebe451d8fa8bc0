/* Multiplies vectors by matrices of narrow numbers: see narrow.h. */
#include "kernels/contraction/inner/narrow.h"

#include <string.h>

#include "kernels/contraction/inner/vectors.h"

typedef uint8_t Byte;

/* ---- Four numbers of a vector, in f32 and divided by the type's factor ---- */

static inline Halves same_twice(v128_t x) { return (Halves){x, x}; }
#define QUARTER_S8(halves, i) wasm_f32x4_convert_i32x4(BYTES_HIGH((halves).low, 4 * (i)))
#define QUARTER_U8(halves, i) wasm_f32x4_convert_i32x4(BYTES_LOW((halves).low, 4 * (i)))
#define QUARTER_E5M2(halves, i) half_to_tiny(BYTES_HIGH((halves).low, 4 * (i)))
/* Of two-byte numbers, in one vector; and of bytes that became such ones, in two. */
#define QUARTER_BF16(halves, i) ((i) % 2 ? upper_high((halves).low) : upper_low((halves).low))
#define QUARTER_F16(halves, i) half_to_tiny(QUARTER_BF16(halves, i))
#define QUARTER_HALVES(halves, i)                                                             \
  ((i) == 0   ? upper_low((halves).low)                                                       \
   : (i) == 1 ? upper_high((halves).low)                                                      \
   : (i) == 2 ? upper_low((halves).high)                                                      \
              : upper_high((halves).high))

#define SCALED(x, scale) wasm_f32x4_mul(x, scale)
#define UNSCALED(x, scale) (x)
#define MADD(sum, x, y) wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))

/* ---- What is left of 16 bytes ---- */

enum { REST_ROWS = 20 };

/* Multiplies the last columns: copies of them, with zeros after them. */
static void rest_by_depth(const NarrowBlock *b, NarrowLoop *loop, int step, int first) {
  Byte rest[NARROW_DEPTH][16];
  NarrowBlock part = *b;
  int bytes = 16 / step, left = b->columns - first;
  if (left == 0) return;
  part.columns = step;
  part.matrix = rest[0];
  part.matrix_stride = 16;
  part.scales += first;
  part.sums += 4 * (ptrdiff_t)first;
  for (int k = 0; k < b->depth; k += NARROW_DEPTH, part.vectors += 4 * NARROW_DEPTH) {
    part.depth = b->depth - k < NARROW_DEPTH ? b->depth - k : NARROW_DEPTH;
    memset(rest, 0, sizeof rest);
    for (int i = 0; i < part.depth; i++) {
      memcpy(rest[i], b->matrix + (k + i) * b->matrix_stride + first * bytes, (size_t)(left * bytes));
    }
    loop(&part);
  }
}

/* The same for the last numbers of the depth. */
static void rest_by_columns(const NarrowBlock *b, NarrowLoop *loop, int step, int first) {
  Byte rest[16], vectors[REST_ROWS][64];
  NarrowBlock part = *b;
  int bytes = 16 / step, left = b->depth - first;
  if (left == 0) return;
  memset(rest, 0, sizeof rest);
  memset(vectors, 0, sizeof vectors);
  for (int i = 0; i < b->rows; i++) {
    memcpy(vectors[i], b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)first, 4 * (size_t)left);
  }
  part.depth = step;
  part.columns = 1;
  part.vectors = vectors[0];
  part.vector_stride = sizeof vectors[0];
  part.matrix = rest;
  part.scales += first / b->scale_block;
  for (int j = 0; j < b->columns; j++, part.sums += 4) {
    memcpy(rest, b->matrix + j * b->matrix_stride + first * bytes, (size_t)(left * bytes));
    loop(&part);
    part.scales = (const float *)((const Byte *)part.scales + b->scale_stride);
  }
}

/* ---- Rows of the matrix ---- */

/* Multiplies four columns. */
#define QUARTER_BY_DEPTH(halves_of, quarter, scaled, ROWS, DEPTH, q)                             \
  {                                                                                              \
    v128_t sum[ROWS];                                                                            \
    for (int i = 0; i < (ROWS); i++) sum[i] = wasm_v128_load(to + i * apart + 16 * (q));         \
    _Pragma("clang loop unroll(full)") for (int k = 0; k < (DEPTH); k++) {                       \
      Halves halves = halves_of(wasm_v128_load(matrix + k * stride));                            \
      v128_t y = scaled(quarter(halves, q), wasm_v128_load(scale + 4 * (q)));                                             \
      for (int i = 0; i < (ROWS); i++) sum[i] = MADD(sum[i], x[i][k], y);                        \
    }                                                                                            \
    for (int i = 0; i < (ROWS); i++) wasm_v128_store(to + i * apart + 16 * (q), sum[i]);         \
  }

/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time, as long as there are as many. */
#define ROWS_BY_DEPTH(name, QUARTERS, halves_of, quarter, scaled, ROWS, DEPTH)                  \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to) {   \
    enum { STEP = 4 * (QUARTERS) };                                                             \
    v128_t x[ROWS][DEPTH];                                                                      \
    const float *scale = b->scales;                                                             \
    const ptrdiff_t stride = b->matrix_stride, apart = b->sums_stride;                          \
    for (int i = 0; i < (ROWS); i++) {                                                          \
      _Pragma("clang loop unroll(full)") for (int k = 0; k < (DEPTH); k++) {                    \
        x[i][k] = wasm_v128_load32_splat(vectors + i * b->vector_stride + 4 * k);               \
      }                                                                                         \
    }                                                                                           \
    for (int j = b->columns; j >= STEP; j -= STEP, matrix += 16, scale += STEP, to += 4 * STEP) { \
      QUARTER_BY_DEPTH(halves_of, quarter, scaled, ROWS, DEPTH, 0)                              \
      QUARTER_BY_DEPTH(halves_of, quarter, scaled, ROWS, DEPTH, 1)                              \
      if ((QUARTERS) == 4) {                                                                    \
        QUARTER_BY_DEPTH(halves_of, quarter, scaled, ROWS, DEPTH, 2)                            \
        QUARTER_BY_DEPTH(halves_of, quarter, scaled, ROWS, DEPTH, 3)                            \
      }                                                                                         \
    }                                                                                           \
  }

#define ROWS_CASE(name, ROWS, DEPTH)                                                         \
  for (; k + (DEPTH) <= b->depth; k += (DEPTH)) {                                            \
    name##_##ROWS##x##DEPTH(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k,         \
                            b->matrix + k * b->matrix_stride, b->sums + i * b->sums_stride); \
  }

#define BY_DEPTH(name, QUARTERS, ...)                                        \
  ROWS_BY_DEPTH(name##_1x8, QUARTERS, __VA_ARGS__, 1, 8)                     \
  ROWS_BY_DEPTH(name##_1x1, QUARTERS, __VA_ARGS__, 1, 1)                     \
  ROWS_BY_DEPTH(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1)                     \
  static void name(const NarrowBlock *b) {                                   \
    for (int i = 0; i < b->rows; i += 4) {                                   \
      int k = 0;                                                             \
      if (b->rows > 1) {                                                     \
        ROWS_CASE(name, 4, 1)                                                \
      } else {                                                               \
        ROWS_CASE(name, 1, 8)                                                \
        ROWS_CASE(name, 1, 1)                                                \
      }                                                                      \
    }                                                                        \
    rest_by_depth(b, name, 4 * (QUARTERS), b->columns & -(4 * (QUARTERS)));  \
  }

/* ---- Lines of the matrix ---- */

/* Multiplies ROWS vectors by LINES lines of the matrix, 16 bytes of each at a time, with SUMS sums for each. */
#define LINES_BY_COLUMNS(name, QUARTERS, halves_of, quarter, scaled, ROWS, LINES, SUMS)          \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix,                \
                   const Byte *scales, Byte *to) {                                               \
    enum { STEP = 4 * (QUARTERS) };                                                              \
    v128_t sum[ROWS][LINES][SUMS];                                                               \
    const ptrdiff_t stride = b->matrix_stride, apart = b->vector_stride;                         \
    for (int i = 0; i < (ROWS); i++) {                                                           \
      for (int l = 0; l < (LINES); l++) {                                                        \
        for (int u = 0; u < (SUMS); u++) sum[i][l][u] = wasm_i32x4_const_splat(0);               \
      }                                                                                          \
    }                                                                                            \
    for (int left = b->depth; left >= STEP; scales += 4) {                                       \
      int count = b->scale_block < left ? b->scale_block : left;                                 \
      v128_t scale[LINES];                                                                       \
      left -= count;                                                                             \
      for (int l = 0; l < (LINES); l++) {                                                        \
        scale[l] = wasm_v128_load32_splat(scales + l * b->scale_stride);                         \
      }                                                                                          \
      for (; count >= STEP; count -= STEP, matrix += 16, vectors += 4 * STEP) {                  \
        for (int l = 0; l < (LINES); l++) {                                                      \
          Halves halves = halves_of(wasm_v128_load(matrix + l * stride));                        \
          v128_t y[4];                                                                           \
          y[0] = scaled(quarter(halves, 0), scale[l]);                                           \
          y[1] = scaled(quarter(halves, 1), scale[l]);                                           \
          if ((QUARTERS) == 4) {                                                                 \
            y[2] = scaled(quarter(halves, 2), scale[l]);                                         \
            y[3] = scaled(quarter(halves, 3), scale[l]);                                         \
          }                                                                                      \
          for (int q = 0; q < (QUARTERS); q++) {                                                 \
            for (int i = 0; i < (ROWS); i++) {                                                   \
              v128_t x = wasm_v128_load(vectors + i * apart + 16 * q);                           \
              sum[i][l][q % (SUMS)] = MADD(sum[i][l][q % (SUMS)], x, y[q]);                      \
            }                                                                                    \
          }                                                                                      \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
    for (int i = 0; i < (ROWS); i++) {                                                           \
      for (int l = 0; l < (LINES); l++) {                                                        \
        float *out = (float *)(to + i * b->sums_stride) + l;                                     \
        v128_t all = sum[i][l][0];                                                               \
        for (int u = 1; u < (SUMS); u++) all = wasm_f32x4_add(all, sum[i][l][u]);                \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 2, 3, 0, 1));                     \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 1, 0, 3, 2));                     \
        *out += wasm_f32x4_extract_lane(all, 0);                                                 \
      }                                                                                          \
    }                                                                                            \
  }

#define LINES_CASE(name, ROWS, number, LINES)                                               \
  for (; j + (LINES) <= b->columns; j += (LINES)) {                                         \
    name##_##ROWS##x##number(b, b->vectors + i * b->vector_stride,                           \
                            b->matrix + j * b->matrix_stride,                               \
                            (const Byte *)b->scales + j * b->scale_stride,                  \
                            b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j);               \
  }

#define BY_COLUMNS(name, QUARTERS, ...)                                       \
  LINES_BY_COLUMNS(name##_1x2, QUARTERS, __VA_ARGS__, 1, 8 / (QUARTERS), QUARTERS) \
  LINES_BY_COLUMNS(name##_1x1, QUARTERS, __VA_ARGS__, 1, 1, QUARTERS)         \
  LINES_BY_COLUMNS(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1, 2)                \
  static void name(const NarrowBlock *b) {                                    \
    for (int i = 0; i < b->rows; i += 4) {                                    \
      int j = 0;                                                              \
      if (b->rows > 1) {                                                      \
        LINES_CASE(name, 4, 1, 1)                                             \
      } else {                                                                \
        LINES_CASE(name, 1, 2, 8 / (QUARTERS))                                \
        LINES_CASE(name, 1, 1, 1)                                             \
      }                                                                       \
    }                                                                         \
    rest_by_columns(b, name, 4 * (QUARTERS), b->depth & -(4 * (QUARTERS)));   \
  }

/* ---- Types ---- */

#define NARROW_LOOPS(name, ...)         \
  BY_DEPTH(by_depth_##name, __VA_ARGS__) \
  BY_COLUMNS(by_columns_##name, __VA_ARGS__)
NARROW_LOOPS(bf16, 2, same_twice, QUARTER_BF16, UNSCALED)
NARROW_LOOPS(f16, 2, same_twice, QUARTER_F16, SCALED)
NARROW_LOOPS(s8, 4, same_twice, QUARTER_S8, SCALED)
NARROW_LOOPS(u8, 4, same_twice, QUARTER_U8, SCALED)
NARROW_LOOPS(f8e4m3fn, 4, f8e4m3fn_to_bf16, QUARTER_HALVES, SCALED)
NARROW_LOOPS(f8e5m2, 4, same_twice, QUARTER_E5M2, SCALED)

const NarrowLoops *narrow_loops(PrimitiveType type) {
  static const NarrowLoops bf16 = {by_depth_bf16, by_columns_bf16, 0, 0};
  static const NarrowLoops f16 = {by_depth_f16, by_columns_f16, 0x1p112f, 0x7c};
  static const NarrowLoops s8 = {by_depth_s8, by_columns_s8, 0x1p-24f, 0};
  static const NarrowLoops u8 = {by_depth_u8, by_columns_u8, 1, 0};
  static const NarrowLoops f8e4m3fn = {by_depth_f8e4m3fn, by_columns_f8e4m3fn, 1, 0};
  static const NarrowLoops f8e5m2 = {by_depth_f8e5m2, by_columns_f8e5m2, 0x1p112f, 0x7c};
  switch (type) {
  case BF16: return &bf16;
  case F16: return &f16;
  case S2:
  case S4:
  case S8: return &s8;
  case U2:
  case U4:
  case U8: return &u8;
  case F8E4M3FN: return &f8e4m3fn;
  case F8E5M2: return &f8e5m2;
  default: return NULL;
  }
}

bool narrow_has_special(const NarrowLoops *loops, int bytes, const uint8_t *elements,
                        int64_t count) {
  bool pairs = bytes == 2;
  v128_t bits = pairs ? wasm_i16x8_splat((int16_t)(loops->special << 8))
                      : wasm_i8x16_splat((int8_t)loops->special);
  v128_t special = wasm_i32x4_const_splat(0);
  int64_t left = count * bytes;
  Byte rest[16];
  for (; left > 0; left -= 16, elements += 16) {
    if (left < 16) { /* a call of memcpy takes as long as many vectors */
      memset(rest, 0, sizeof rest);
      elements = memcpy(rest, elements, (size_t)left);
    }
    v128_t x = wasm_v128_and(wasm_v128_load(elements), bits);
    special = wasm_v128_or(special, pairs ? wasm_i16x8_eq(x, bits) : wasm_i8x16_eq(x, bits));
  }
  return wasm_v128_any_true(special);
}
