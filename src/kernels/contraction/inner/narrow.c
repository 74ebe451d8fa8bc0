/* Multiplies vectors by matrices of narrow numbers: see narrow.h. */
#include "kernels/contraction/inner/narrow.h"

#include <string.h>

#include "kernels/contraction/inner/vectors.h"

typedef uint8_t Byte;

/* ---- Four numbers of a vector, in f32 and divided by the type's factor ---- */

/* q is a constant, once loops are unrolled. */
#define UNROLLED           _Pragma("clang loop unroll(full)")
#define QUARTER_S8(x, q)   wasm_f32x4_convert_i32x4(BYTES_HIGH(x, 4 * (q)))
#define QUARTER_U8(x, q)   wasm_f32x4_convert_i32x4(BYTES_LOW(x, 4 * (q)))
#define QUARTER_BF16(x, q) ((q) ? upper_high(x) : upper_low(x))
#define QUARTER_F16(x, q)  half_to_tiny(QUARTER_BF16(x, q))

#define SCALED(x, scale)   wasm_f32x4_mul(x, scale)
#define UNSCALED(x, scale) (x)
#define MADD(sum, x, y)    wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))

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
      memcpy(rest[i], b->matrix + (k + i) * b->matrix_stride + first * bytes,
             (size_t)(left * bytes));
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

/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time, as long as there are as many. Goes by
** quarters, so that few registers are live. */
#define ROWS_BY_DEPTH(name, QUARTERS, quarter, scaled, ROWS, DEPTH)                               \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to) {     \
    enum { STEP = 4 * (QUARTERS) };                                                               \
    v128_t x[ROWS][DEPTH];                                                                        \
    const float *scale = b->scales;                                                               \
    const ptrdiff_t stride = b->matrix_stride, apart = b->sums_stride;                            \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                                   \
      UNROLLED for (int k = 0; k < (DEPTH); k++) {                                                \
        x[i][k] = wasm_v128_load32_splat(vectors + i * b->vector_stride + 4 * k);                 \
      }                                                                                           \
    }                                                                                             \
    for (int j = b->columns; j >= STEP; j -= STEP, matrix += 16, scale += STEP, to += 4 * STEP) { \
      UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                             \
        v128_t sum[ROWS];                                                                         \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
          sum[i] = wasm_v128_load(to + i * apart + 16 * q);                                       \
        }                                                                                         \
        UNROLLED for (int k = 0; k < (DEPTH); k++) {                                              \
          v128_t y = quarter(wasm_v128_load(matrix + k * stride), q);                             \
          y = scaled(y, wasm_v128_load(scale + (ptrdiff_t)4 * q));                                \
          UNROLLED for (int i = 0; i < (ROWS); i++) sum[i] = MADD(sum[i], x[i][k], y);            \
        }                                                                                         \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
          wasm_v128_store(to + i * apart + 16 * q, sum[i]);                                       \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }

#define ROWS_CASE(name, ROWS, DEPTH)                                                         \
  for (; k + (DEPTH) <= b->depth; k += (DEPTH)) {                                            \
    name##_##ROWS##x##DEPTH(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k,         \
                            b->matrix + k * b->matrix_stride, b->sums + i * b->sums_stride); \
  }

#define BY_DEPTH(name, QUARTERS, ...)                                       \
  ROWS_BY_DEPTH(name##_1x8, QUARTERS, __VA_ARGS__, 1, 8)                    \
  ROWS_BY_DEPTH(name##_1x1, QUARTERS, __VA_ARGS__, 1, 1)                    \
  ROWS_BY_DEPTH(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1)                    \
  static void name(const NarrowBlock *b) {                                  \
    for (int i = 0; i < b->rows; i += 4) {                                  \
      int k = 0;                                                            \
      if (b->rows > 1) {                                                    \
        ROWS_CASE(name, 4, 1)                                               \
      } else {                                                              \
        ROWS_CASE(name, 1, 8)                                               \
        ROWS_CASE(name, 1, 1)                                               \
      }                                                                     \
    }                                                                       \
    rest_by_depth(b, name, 4 * (QUARTERS), b->columns & -(4 * (QUARTERS))); \
  }

/* ---- Lines of the matrix ---- */

/* Multiplies ROWS vectors by LINES lines of the matrix, 16 bytes of each at a time, with SUMS sums for each: as many as
** stay in registers. */
#define LINES_BY_COLUMNS(name, QUARTERS, quarter, scaled, ROWS, LINES, SUMS)                \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix,           \
                   const Byte *scales, Byte *to) {                                          \
    enum { STEP = 4 * (QUARTERS) };                                                         \
    v128_t sum[ROWS][LINES][SUMS];                                                          \
    const ptrdiff_t stride = b->matrix_stride, apart = b->vector_stride;                    \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                             \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        UNROLLED for (int u = 0; u < (SUMS); u++) sum[i][l][u] = wasm_i32x4_const_splat(0); \
      }                                                                                     \
    }                                                                                       \
    for (int left = b->depth; left >= STEP; scales += 4) {                                  \
      int count = b->scale_block < left ? b->scale_block : left;                            \
      v128_t scale[LINES];                                                                  \
      left -= count;                                                                        \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        scale[l] = wasm_v128_load32_splat(scales + l * b->scale_stride);                    \
      }                                                                                     \
      for (; count >= STEP; count -= STEP, matrix += 16, vectors += 4 * STEP) {             \
        UNROLLED for (int l = 0; l < (LINES); l++) {                                        \
          v128_t number = wasm_v128_load(matrix + l * stride);                              \
          UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                   \
            v128_t y = scaled(quarter(number, q), scale[l]);                                \
            UNROLLED for (int i = 0; i < (ROWS); i++) {                                     \
              v128_t x = wasm_v128_load(vectors + i * apart + (ptrdiff_t)16 * q);           \
              sum[i][l][q % (SUMS)] = MADD(sum[i][l][q % (SUMS)], x, y);                    \
            }                                                                               \
          }                                                                                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                             \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        float *out = (float *)(to + i * b->sums_stride) + l;                                \
        v128_t all = sum[i][l][0];                                                          \
        UNROLLED for (int u = 1; u < (SUMS); u++) all = wasm_f32x4_add(all, sum[i][l][u]);  \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 2, 3, 0, 1));                \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 1, 0, 3, 2));                \
        *out += wasm_f32x4_extract_lane(all, 0);                                            \
      }                                                                                     \
    }                                                                                       \
  }

#define LINES_CASE(name, ROWS, LINES)                                         \
  for (; j + (LINES) <= b->columns; j += (LINES)) {                           \
    name##_##ROWS##x##LINES(b, b->vectors + i * b->vector_stride,             \
                            b->matrix + j * b->matrix_stride,                 \
                            (const Byte *)b->scales + j * b->scale_stride,    \
                            b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j); \
  }

#define BY_COLUMNS(name, QUARTERS, LINES, ...)                                  \
  LINES_BY_COLUMNS(name##_1x##LINES, QUARTERS, __VA_ARGS__, 1, LINES, QUARTERS) \
  LINES_BY_COLUMNS(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1, 4 / (QUARTERS))     \
  static void name(const NarrowBlock *b) {                                      \
    for (int i = 0; i < b->rows; i += 4) {                                      \
      int j = 0;                                                                \
      if (b->rows > 1) {                                                        \
        LINES_CASE(name, 4, 1)                                                  \
      } else {                                                                  \
        LINES_CASE(name, 1, LINES)                                              \
        if ((LINES) > 1) LINES_CASE(name, 1, 1)                                 \
      }                                                                         \
    }                                                                           \
    rest_by_columns(b, name, 4 * (QUARTERS), b->depth & -(4 * (QUARTERS)));     \
  }

/* ---- Types ---- */

/* Of numbers of two bytes, two lines go at a time. */
#define NARROW_PAIRS(name, ...)                                      \
  LINES_BY_COLUMNS(by_columns_##name##_1x1, 2, __VA_ARGS__, 1, 1, 2) \
  BY_DEPTH(by_depth_##name, 2, __VA_ARGS__)                          \
  BY_COLUMNS(by_columns_##name, 2, 2, __VA_ARGS__)
#define NARROW_BYTES(name, ...)             \
  BY_DEPTH(by_depth_##name, 4, __VA_ARGS__) \
  BY_COLUMNS(by_columns_##name, 4, 1, __VA_ARGS__)
NARROW_PAIRS(bf16, QUARTER_BF16, UNSCALED)
NARROW_PAIRS(scaled_bf16, QUARTER_BF16, SCALED)
NARROW_PAIRS(f16, QUARTER_F16, SCALED)
NARROW_BYTES(s8, QUARTER_S8, SCALED)
NARROW_BYTES(u8, QUARTER_U8, SCALED)

/* The last elements go by way of a vector of their own. */
#define PREPARE(name, halves_of)                                      \
  static void name(const uint8_t *from, int64_t count, uint8_t *to) { \
    for (; count > 0; count -= 16, from += 16, to += 32) {            \
      Byte rest[16];                                                  \
      if (count < 16) {                                               \
        memset(rest, 0, sizeof rest);                                 \
        from = memcpy(rest, from, (size_t)count);                     \
      }                                                               \
      Halves halves = halves_of(wasm_v128_load(from));                \
      wasm_v128_store(to, halves.low);                                \
      wasm_v128_store(to + 16, halves.high);                          \
    }                                                                 \
  }
PREPARE(prepare_f8e4m3fn, f8e4m3fn_to_bf16)
PREPARE(prepare_f8e5m2, f8e5m2_to_bf16)

const NarrowLoops *narrow_loops(PrimitiveType type, bool scaled) {
#define LOOPS(name) .by_depth = by_depth_##name, .by_columns = by_columns_##name
  static const NarrowLoops bf16 = {LOOPS(bf16)};
  static const NarrowLoops scaled_bf16 = {LOOPS(scaled_bf16), .factor = 1};
  static const NarrowLoops f16 = {LOOPS(f16), .factor = 0x1p112f, .special = 0x7c};
  static const NarrowLoops s8 = {LOOPS(s8), .factor = 0x1p-24f};
  static const NarrowLoops u8 = {LOOPS(u8), .factor = 1};
#define F8_LOOPS(name)                                                       \
  static const NarrowLoops name = {LOOPS(bf16), .prepare = prepare_##name};  \
  static const NarrowLoops scaled_##name = {LOOPS(scaled_bf16), .factor = 1, \
                                            .prepare = prepare_##name};
  F8_LOOPS(f8e4m3fn)
  F8_LOOPS(f8e5m2)
  switch (type) {
  case BF16: return scaled ? &scaled_bf16 : &bf16;
  case F16: return &f16;
  case S2:
  case S4:
  case S8: return &s8;
  case U2:
  case U4:
  case U8: return &u8;
  case F8E4M3FN: return scaled ? &scaled_f8e4m3fn : &f8e4m3fn;
  case F8E5M2: return scaled ? &scaled_f8e5m2 : &f8e5m2;
  default: return NULL;
  }
}

bool narrow_has_special(const NarrowLoops *loops, const uint8_t *elements, int64_t count) {
  v128_t bits = wasm_i16x8_splat((int16_t)(loops->special << 8));
  v128_t most = wasm_i32x4_const_splat(0), more = most;
  for (; count >= 16; count -= 16, elements += 32) {
    most = wasm_i16x8_max(most, wasm_v128_and(wasm_v128_load(elements), bits));
    more = wasm_i16x8_max(more, wasm_v128_and(wasm_v128_load(elements + 16), bits));
  }
  if (count) {
    Byte rest[32];
    memset(rest, 0, sizeof rest);
    memcpy(rest, elements, 2 * (size_t)count);
    most = wasm_i16x8_max(most, wasm_v128_and(wasm_v128_load(rest), bits));
    more = wasm_i16x8_max(more, wasm_v128_and(wasm_v128_load(rest + 16), bits));
  }
  return wasm_v128_any_true(wasm_i16x8_eq(wasm_i16x8_max(most, more), bits));
}
