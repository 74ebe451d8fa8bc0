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

/* ---- Rows of the matrix ---- */

/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time. */
#define ROWS_BY_DEPTH(name, QUARTERS, halves_of, quarter, scaled, ROWS, DEPTH)                     \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to) {      \
    enum { STEP = 4 * (QUARTERS), BYTES = 16 / STEP };                                             \
    v128_t x[ROWS][DEPTH];                                                                         \
    Byte rest[DEPTH][16];                                                                          \
    const float *scale = b->scales;                                                                \
    ptrdiff_t stride = b->matrix_stride;                                                           \
    for (int i = 0; i < (ROWS); i++) {                                                             \
      for (int k = 0; k < (DEPTH); k++) {                                                          \
        x[i][k] = wasm_v128_load32_splat(vectors + i * b->vector_stride + 4 * k);                  \
      }                                                                                            \
    }                                                                                              \
    for (int j = 0; j < b->columns; j += STEP, matrix += 16, scale += STEP, to += 4 * STEP) {      \
      if (j + STEP > b->columns) {                                                                 \
        memset(rest, 0, sizeof rest);                                                              \
        for (int k = 0; k < (DEPTH); k++) {                                                        \
          memcpy(rest[k], matrix + k * stride, (size_t)(b->columns - j) * BYTES);                  \
        }                                                                                          \
        matrix = rest[0];                                                                          \
        stride = 16;                                                                               \
      }                                                                                            \
      v128_t sum[ROWS][QUARTERS];                                                                  \
      for (int i = 0; i < (ROWS); i++) {                                                           \
        for (int q = 0; q < (QUARTERS); q++) {                                                     \
          sum[i][q] = wasm_v128_load(to + i * b->sums_stride + 16 * q);                            \
        }                                                                                          \
      }                                                                                            \
      for (int k = 0; k < (DEPTH); k++) {                                                          \
        Halves halves = halves_of(wasm_v128_load(matrix + k * stride));                            \
        v128_t y[4];                                                                               \
        y[0] = scaled(quarter(halves, 0), wasm_v128_load(scale));                                  \
        y[1] = scaled(quarter(halves, 1), wasm_v128_load(scale + 4));                              \
        if ((QUARTERS) == 4) {                                                                     \
          y[2] = scaled(quarter(halves, 2), wasm_v128_load(scale + 8));                            \
          y[3] = scaled(quarter(halves, 3), wasm_v128_load(scale + 12));                           \
        }                                                                                          \
        for (int q = 0; q < (QUARTERS); q++) {                                                     \
          for (int i = 0; i < (ROWS); i++) sum[i][q] = MADD(sum[i][q], x[i][k], y[q]);             \
        }                                                                                          \
      }                                                                                            \
      for (int i = 0; i < (ROWS); i++) {                                                           \
        for (int q = 0; q < (QUARTERS); q++) {                                                     \
          wasm_v128_store(to + i * b->sums_stride + 16 * q, sum[i][q]);                            \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

#define ROWS_CASE(name, ROWS, DEPTH)                                                      \
  for (; k + (DEPTH) <= b->depth; k += (DEPTH)) {                                         \
    name##_##ROWS##x##DEPTH(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k,      \
                            b->matrix + k * b->matrix_stride, b->sums + i * b->sums_stride); \
  }

#define BY_DEPTH(name, ...)                              \
  ROWS_BY_DEPTH(name##_1x8, __VA_ARGS__, 1, 8)           \
  ROWS_BY_DEPTH(name##_1x1, __VA_ARGS__, 1, 1)           \
  ROWS_BY_DEPTH(name##_4x1, __VA_ARGS__, 4, 1)           \
  static void name(const NarrowBlock *b) {               \
    for (int i = 0; i < b->rows; i += 4) {               \
      int k = 0;                                         \
      if (b->rows > 1) {                                 \
        ROWS_CASE(name, 4, 1)                            \
      } else {                                           \
        ROWS_CASE(name, 1, 8)                            \
        ROWS_CASE(name, 1, 1)                            \
      }                                                  \
    }                                                    \
  }

/* ---- Lines of the matrix ---- */

/* Multiplies ROWS vectors by LINES lines of the matrix, 16 bytes of each at a time, with SUMS sums for each. */
#define LINES_BY_COLUMNS(name, QUARTERS, halves_of, quarter, scaled, ROWS, LINES, SUMS)           \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix,                 \
                   const Byte *scales, Byte *to) {                                                \
    enum { STEP = 4 * (QUARTERS), BYTES = 16 / STEP };                                            \
    v128_t sum[ROWS][LINES][SUMS];                                                                \
    Byte rest[LINES][16], more[ROWS][4 * STEP];                                                   \
    ptrdiff_t stride = b->matrix_stride, apart = b->vector_stride;                                \
    for (int i = 0; i < (ROWS) * (LINES) * (SUMS); i++) {                                         \
      sum[0][0][i] = wasm_i32x4_const_splat(0);                                                   \
    }                                                                                             \
    for (int begin = 0; begin < b->depth; begin += b->scale_block, scales += 4) {                 \
      int end = begin + b->scale_block < b->depth ? begin + b->scale_block : b->depth;            \
      v128_t scale[LINES];                                                                        \
      for (int l = 0; l < (LINES); l++) {                                                         \
        scale[l] = wasm_v128_load32_splat(scales + l * b->scale_stride);                          \
      }                                                                                           \
      for (int k = begin; k < end; k += STEP, matrix += 16, vectors += 4 * STEP) {                \
        if (k + STEP > b->depth) {                                                                \
          size_t left = (size_t)(b->depth - k);                                                   \
          memset(rest, 0, sizeof rest);                                                           \
          memset(more, 0, sizeof more);                                                           \
          for (int l = 0; l < (LINES); l++) memcpy(rest[l], matrix + l * stride, left * BYTES);   \
          for (int i = 0; i < (ROWS); i++) memcpy(more[i], vectors + i * apart, left * 4);        \
          matrix = rest[0];                                                                       \
          vectors = more[0];                                                                      \
          stride = 16;                                                                            \
          apart = sizeof more[0];                                                                 \
        }                                                                                         \
        for (int l = 0; l < (LINES); l++) {                                                       \
          Halves halves = halves_of(wasm_v128_load(matrix + l * stride));                         \
          v128_t y[4];                                                                            \
          y[0] = scaled(quarter(halves, 0), scale[l]);                                            \
          y[1] = scaled(quarter(halves, 1), scale[l]);                                            \
          if ((QUARTERS) == 4) {                                                                  \
            y[2] = scaled(quarter(halves, 2), scale[l]);                                          \
            y[3] = scaled(quarter(halves, 3), scale[l]);                                          \
          }                                                                                       \
          for (int q = 0; q < (QUARTERS); q++) {                                                  \
            for (int i = 0; i < (ROWS); i++) {                                                    \
              v128_t x = wasm_v128_load(vectors + i * apart + 16 * q);                            \
              sum[i][l][q % (SUMS)] = MADD(sum[i][l][q % (SUMS)], x, y[q]);                       \
            }                                                                                     \
          }                                                                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    for (int i = 0; i < (ROWS); i++) {                                                            \
      for (int l = 0; l < (LINES); l++) {                                                         \
        float *out = (float *)(to + i * b->sums_stride) + l;                                      \
        v128_t all = sum[i][l][0];                                                                \
        for (int u = 1; u < (SUMS); u++) all = wasm_f32x4_add(all, sum[i][l][u]);                 \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 2, 3, 0, 1));                      \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 1, 0, 3, 2));                      \
        *out += wasm_f32x4_extract_lane(all, 0);                                                  \
      }                                                                                           \
    }                                                                                             \
  }

#define LINES_CASE(name, ROWS, LINES)                                                             \
  for (; j + (LINES) <= b->columns; j += (LINES)) {                                               \
    name##_##ROWS##x##LINES(b, b->vectors + i * b->vector_stride, b->matrix + j * b->matrix_stride, \
                            (const Byte *)b->scales + j * b->scale_stride,                        \
                            b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j);                     \
  }

#define BY_COLUMNS(name, QUARTERS, ...)                               \
  LINES_BY_COLUMNS(name##_1x2, QUARTERS, __VA_ARGS__, 1, 2, QUARTERS) \
  LINES_BY_COLUMNS(name##_1x1, QUARTERS, __VA_ARGS__, 1, 1, QUARTERS) \
  LINES_BY_COLUMNS(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1, 2)        \
  static void name(const NarrowBlock *b) {                            \
    for (int i = 0; i < b->rows; i += 4) {                            \
      int j = 0;                                                      \
      if (b->rows > 1) {                                              \
        LINES_CASE(name, 4, 1)                                        \
      } else {                                                        \
        LINES_CASE(name, 1, 2)                                        \
        LINES_CASE(name, 1, 1)                                        \
      }                                                               \
    }                                                                 \
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
  if (!loops->special) return false;
  v128_t bits = bytes == 2 ? wasm_i16x8_splat((int16_t)(loops->special << 8))
                           : wasm_i8x16_splat((int8_t)loops->special);
  v128_t found = wasm_i32x4_const_splat(0);
  int64_t size = count * bytes, i = 0;
  for (; i < size; i += 16) {
    Byte rest[16] = {0};
    const Byte *from = elements + i;
    if (size - i < 16) from = memcpy(rest, from, (size_t)(size - i));
    v128_t x = wasm_v128_and(wasm_v128_load(from), bits);
    found = wasm_v128_or(found, bytes == 2 ? wasm_i16x8_eq(x, bits) : wasm_i8x16_eq(x, bits));
  }
  return wasm_v128_any_true(found);
}
