/* Implements the innermost loops of contractions for each kind of lane: see lanes.h. */
#include "kernels/contraction/inner/lanes.h"

#include <stdbool.h>
#include <wasm_simd128.h>

/* ---- Vectors ---- */

typedef uint8_t Byte;

/* Loads the first few lanes of a vector; the others are zero. */
static inline v128_t first_of_4(const void *from, int lanes) {
  if (lanes == 1) return wasm_v128_load32_zero(from);
  v128_t two = wasm_v128_load64_zero(from);
  return lanes == 2 ? two : wasm_v128_load32_lane((const uint32_t *)from + 2, two, 2);
}
static inline v128_t first_of_2(const void *from, int lanes) { return wasm_v128_load64_zero(from); }

static inline v128_t sum_of_f32(v128_t x) {
  x = wasm_f32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
  return wasm_f32x4_add(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2));
}
static inline v128_t sum_of_f64(v128_t x) {
  return wasm_f64x2_add(x, wasm_i64x2_shuffle(x, x, 1, 0));
}
#ifndef XLA_RELAXED_SIMD
static inline v128_t sum_of_s32(v128_t x) {
  x = wasm_i32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
  return wasm_i32x4_add(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2));
}
static inline v128_t sum_of_s64(v128_t x) {
  return wasm_i64x2_add(x, wasm_i64x2_shuffle(x, x, 1, 0));
}
#endif

#define MADD_F32(sum, x, y) wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))
#define MADD_F64(sum, x, y) wasm_f64x2_add(sum, wasm_f64x2_mul(x, y))
#define MADD_S32(sum, x, y) wasm_i32x4_add(sum, wasm_i32x4_mul(x, y))
#define MADD_S64(sum, x, y) wasm_i64x2_add(sum, wasm_i64x2_mul(x, y))
/* Multiplies pairs and adds both products in one instruction. The only sum that exceeds 32 bits wraps, as
** it should. */
#define MADD_S16(sum, x, y) wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(x, y))
#if defined XLA_RELAXED_SIMD || !defined __wasm__
/* Threshold REAL_ROWS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
enum { REAL_ROWS = 6 };
#else
/* Threshold REAL_ROWS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
enum { REAL_ROWS = 4 };
#endif
/* Threshold INTEGER_ROWS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
enum { INTEGER_ROWS = 4 };
#ifdef XLA_RELAXED_SIMD
#undef MADD_F32
#undef MADD_F64
#define MADD_F32(sum, x, y) wasm_f32x4_relaxed_madd(x, y, sum)
#define MADD_F64(sum, x, y) wasm_f64x2_relaxed_madd(x, y, sum)
#endif

/* Exports of the module for fused multiply-add are known by number. ORDER FUSED_LOOP */
#ifdef XLA_RELAXED_SIMD
#define LOOP
#define EXPORT(number) __attribute__((export_name(number)))
EXPORT("0") TileLoop tile_f32;
EXPORT("1") PlainLoop plain_f32;
EXPORT("2") StreamLoop by_depth_f32;
EXPORT("3") StreamLoop by_columns_f32;
EXPORT("4") TileLoop tile_f64;
EXPORT("5") PlainLoop plain_f64;
EXPORT("6") StreamLoop by_depth_f64;
EXPORT("7") StreamLoop by_columns_f64;
#else
#define LOOP static
#endif

/* ---- Panels ---- */

/* Threshold LANES, NESTED. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/*
** Two vectors of sums per row, two of the rhs, one of the lhs and one product must fit into the 16
** registers of x86; V8 leaves 15 of them free. Fused multiply-add keeps no product, and needs more than
** 8 sums to hide its latency.
** Measured against 4 x 8 (V8 11.3, Zen 4, f32, depth 256): 5 x 8 0.85x, 6 x 8 and 4 x 12 0.65x, four
** pointers to the rows of an unpacked lhs 0.9x.
** Measured with fused multiply-add (V8 13.6, SpiderMonkey 153): 6 x 8 1.17x, 5 x 8 1.1x.
** Natively, reals have 6 rows too, so that the sanitizers see both heights.
**
** V8 unrolls inner loops itself, and deeper nested ones further. So the loop over the rows is in here, and
** the depth is two loops. Unrolling by hand is slower: V8 then loads values early and must spill them.
** Measured without the two loops: 0.8x (Node 20, 2026-11).
** Sums start at zero and are added to those at `out` at the end. A second entry into the loop costs up to a tenth.
*/
#define TILE_LOOP(name, ROWS, real, splat, madd, add, negative_zero)                            \
  LOOP void name(int depth, const void *lhs, ptrdiff_t lhs_stride, int panels, const void *rhs, \
                 void *const *out, Start start) {                                               \
    enum { LANES = 16 / sizeof(real), NESTED = 128 };                                           \
    v128_t zero = start == START_NEGATIVE_ZERO ? negative_zero : wasm_i32x4_const_splat(0);     \
    for (int panel = 0; panel < panels; panel++, out += (ROWS)) {                               \
      const real *a = (const real *)((const Byte *)lhs + (ptrdiff_t)panel * lhs_stride);        \
      const real *b = rhs;                                                                      \
      v128_t sum[ROWS][2];                                                                      \
      for (int i = 0; i < (ROWS); i++) sum[i][0] = sum[i][1] = zero;                            \
      for (int k = 0; k < depth;) {                                                             \
        int end = k + NESTED < depth ? k + NESTED : depth;                                      \
        for (; k < end; k++, a += (ROWS), b += 2 * LANES) {                                     \
          v128_t b0 = wasm_v128_load(b), b1 = wasm_v128_load(b + LANES);                        \
          for (int i = 0; i < (ROWS); i++) {                                                    \
            v128_t x = splat(a + i);                                                            \
            sum[i][0] = madd(sum[i][0], x, b0);                                                 \
            sum[i][1] = madd(sum[i][1], x, b1);                                                 \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
      for (int i = 0; i < (ROWS); i++) {                                                        \
        real *row = out[i];                                                                     \
        if (start == START_OUT) {                                                               \
          sum[i][0] = add(sum[i][0], wasm_v128_load(row));                                      \
          sum[i][1] = add(sum[i][1], wasm_v128_load(row + LANES));                              \
        }                                                                                       \
        wasm_v128_store(row, sum[i][0]);                                                        \
        wasm_v128_store(row + LANES, sum[i][1]);                                                \
      }                                                                                         \
    }                                                                                           \
  }

/* ---- Without packing ---- */

/* Threshold MAX_TERMS: products of a block, which are added one after the other. Its sum is then added to that of the blocks
** before, so the error of a sum does not grow with the depth. Test: "products: of [m,k] and [k,n] by sums" in
** core/thresholds.test.mjs. */
enum { MAX_TERMS = 64 };

/* Threshold LANES, WIDTH. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/* Computes ROWS rows, VECTORS vectors of columns at a time, until fewer than LEAST columns are left. Returns the first
** column that is left. Of two vectors, the second ends at the last column at the latest. */
#define PLAIN_ROWS(name, real, splat, madd, add, ROWS, VECTORS, LEAST)                            \
  static int name(int j, int columns, int depth, const Byte *lhs, const RowAt *row,               \
                  const Byte *rhs, const DepthAt *at, Byte *out, v128_t zero) {                   \
    enum { LANES = 16 / sizeof(real), WIDTH = (VECTORS) * LANES };                                \
    for (; columns - j >= (LEAST); j += WIDTH) {                                                  \
      int first = j + LANES <= columns ? j : columns - LANES;                                     \
      int last = j + WIDTH <= columns ? j + WIDTH - LANES : columns - LANES;                      \
      const Byte *b0 = rhs + (size_t)first * sizeof(real);                                        \
      const Byte *b1 = rhs + (size_t)last * sizeof(real), *a[ROWS];                               \
      const DepthAt *k = at, *end = at + depth;                                                   \
      for (int i = 0; i < (ROWS); i++) a[i] = lhs + row[i].lhs;                                   \
      do {                                                                                        \
        v128_t sum[ROWS][VECTORS];                                                                \
        for (int i = 0; i < (ROWS); i++) {                                                        \
          for (int v = 0; v < (VECTORS); v++) sum[i][v] = zero;                                   \
        }                                                                                         \
        const DepthAt *begin = k, *stop = end - k > MAX_TERMS ? k + MAX_TERMS : end;              \
        for (; k < stop; k++) {                                                                   \
          v128_t b[VECTORS];                                                                      \
          for (int v = 0; v < (VECTORS); v++) {                                                   \
            b[v] = wasm_v128_load((VECTORS) == 2 && v == 1 ? b1 + k->rhs : b0 + k->rhs + 16 * v); \
          }                                                                                       \
          for (int i = 0; i < (ROWS); i++) {                                                      \
            v128_t x = splat(a[i] + k->lhs);                                                      \
            for (int v = 0; v < (VECTORS); v++) sum[i][v] = madd(sum[i][v], x, b[v]);             \
          }                                                                                       \
        }                                                                                         \
        for (int i = 0; i < (ROWS) && begin > at; i++) {                                          \
          const real *from = (const real *)(out + row[i].out);                                    \
          for (int v = 0; v < (VECTORS); v++) {                                                   \
            int column = (VECTORS) == 2 && v == 1 ? last : first + v * LANES;                     \
            sum[i][v] = add(sum[i][v], wasm_v128_load(from + column));                            \
          }                                                                                       \
        }                                                                                         \
        for (int i = 0; i < (ROWS); i++) {                                                        \
          real *to = (real *)(out + row[i].out);                                                  \
          for (int v = 0; v < (VECTORS); v++) {                                                   \
            wasm_v128_store(to + ((VECTORS) == 2 && v == 1 ? last : first + v * LANES),           \
                            sum[i][v]);                                                           \
          }                                                                                       \
        }                                                                                         \
      } while (k < end);                                                                          \
    }                                                                                             \
    return j;                                                                                     \
  }

/* Computes as many sums at a time as registers allow, for any number of rows: blocks of four rows, two or
** one. The last block of four may overlap the one before. */
#define PLAIN_LOOP(name, real, splat, madd, add, negative_zero)                             \
  PLAIN_ROWS(name##_1x8, real, splat, madd, add, 1, 8, WIDTH)                               \
  PLAIN_ROWS(name##_1x2, real, splat, madd, add, 1, 2, 1)                                   \
  PLAIN_ROWS(name##_2x4, real, splat, madd, add, 2, 4, WIDTH)                               \
  PLAIN_ROWS(name##_2x2, real, splat, madd, add, 2, 2, 1)                                   \
  PLAIN_ROWS(name##_4x2, real, splat, madd, add, 4, 2, LANES + 1)                           \
  PLAIN_ROWS(name##_4x1, real, splat, madd, add, 4, 1, 1)                                   \
  LOOP void name(int rows, int columns, int depth, const void *lhs, const RowAt *row,       \
                 const void *rhs, const DepthAt *at, void *out, Start start) {              \
    v128_t zero = start == START_NEGATIVE_ZERO ? negative_zero : wasm_i32x4_const_splat(0); \
    for (int i = 0, height; i < rows; i += height) {                                        \
      int rest = rows - i, j = 0;                                                           \
      height = rest >= 4 || (rest == 3 && i) ? 4 : rest >= 2 ? 2 : 1;                       \
      const RowAt *first = row + (rest < height ? rows - height : i);                       \
      if (height == 4) {                                                                    \
        j = name##_4x2(j, columns, depth, lhs, first, rhs, at, out, zero);                  \
        name##_4x1(j, columns, depth, lhs, first, rhs, at, out, zero);                      \
      } else if (height == 2) {                                                             \
        j = name##_2x4(j, columns, depth, lhs, first, rhs, at, out, zero);                  \
        name##_2x2(j, columns, depth, lhs, first, rhs, at, out, zero);                      \
      } else {                                                                              \
        j = name##_1x8(j, columns, depth, lhs, first, rhs, at, out, zero);                  \
        name##_1x2(j, columns, depth, lhs, first, rhs, at, out, zero);                      \
      }                                                                                     \
    }                                                                                       \
  }

/* Computes one row after the other. For 64-bit integers, whose products take much longer than loading the matrix again,
** and for streams of 32-bit integers.
** Measured for these: 2 to 12 rows take 1.1x to 1.3x as long, the download is 0.85 kB smaller. Batches of small 32-bit
** matrices would take 1.25x (Node 20, 2026-11). */
#define PLAIN_LOOP_ONE(name, real, splat, madd, add)                                  \
  PLAIN_ROWS(name##_1x8, real, splat, madd, add, 1, 8, WIDTH)                         \
  PLAIN_ROWS(name##_1x2, real, splat, madd, add, 1, 2, 1)                             \
  LOOP void name(int rows, int columns, int depth, const void *lhs, const RowAt *row, \
                 const void *rhs, const DepthAt *at, void *out, Start start) {        \
    v128_t zero = wasm_i32x4_const_splat(0);                                          \
    for (int i = 0; i < rows; i++) {                                                  \
      int j = name##_1x8(0, columns, depth, lhs, row + i, rhs, at, out, zero);        \
      name##_1x2(j, columns, depth, lhs, row + i, rhs, at, out, zero);                \
    }                                                                                 \
  }

/* ---- Streams ---- */

/* Threshold LANES. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/* Multiplies ROWS vectors by DEPTH rows of the matrix, STEPS vectors of columns at a time; the sums stay in the first cache.
** Measured: a vector by 8 rows, one vector of columns at a time, takes 1.2 times as long as by 4 and two (rows in memory, of 3 to
** 32 kB); by 2 and four, 0.95 for rows of 8 kB, 1.3 of 32 kB. Four vectors by 2 rows take 1.3 times as long as by 4, whose numbers
** of the vectors are loaded again each time (Node 20, 2026-11). */
#define BY_DEPTH_ROWS(name, real, splat, madd, partial, ROWS, DEPTH, STEPS)                       \
  static void name(int columns, const Byte *vectors, ptrdiff_t vector_stride, const Byte *matrix, \
                   ptrdiff_t matrix_stride, Byte *sums, ptrdiff_t sums_stride, int apart) {       \
    enum { LANES = 16 / sizeof(real) };                                                           \
    v128_t x[ROWS][DEPTH];                                                                        \
    matrix_stride *= apart;                                                                       \
    for (int i = 0; i < (ROWS); i++) {                                                            \
      const real *vector = (const real *)(vectors + (ptrdiff_t)i * vector_stride);                \
      for (int k = 0; k < (DEPTH); k++) x[i][k] = splat(vector + (ptrdiff_t)k * apart);           \
    }                                                                                             \
    int j = 0;                                                                                    \
    BY_DEPTH_STEPS(madd, ROWS, DEPTH, STEPS)                                                      \
    if ((STEPS) > 1) BY_DEPTH_STEPS(madd, ROWS, DEPTH, 1)                                         \
    for (int i = 0; i < (ROWS) && j < columns; i++) {                                             \
      Byte *to = sums + (ptrdiff_t)i * sums_stride;                                               \
      v128_t sum = wasm_v128_load(to);                                                            \
      for (int k = 0; k < (DEPTH); k++) {                                                         \
        sum = madd(sum, x[i][k], partial(matrix + (ptrdiff_t)k * matrix_stride, columns - j));    \
      }                                                                                           \
      wasm_v128_store(to, sum);                                                                   \
    }                                                                                             \
  }
#define BY_DEPTH_STEPS(madd, ROWS, DEPTH, STEPS)                                                 \
  for (; j + (STEPS) * LANES <= columns;                                                         \
       j += (STEPS) * LANES, matrix += 16 * (STEPS), sums += 16 * (STEPS)) {                     \
    for (int step = 0; step < (STEPS); step++) {                                                 \
      v128_t sum[ROWS];                                                                          \
      Byte *to = sums + 16 * step;                                                               \
      const Byte *from = matrix + 16 * step;                                                     \
      for (int i = 0; i < (ROWS); i++) sum[i] = wasm_v128_load(to + (ptrdiff_t)i * sums_stride); \
      for (int k = 0; k < (DEPTH); k++) {                                                        \
        v128_t y = wasm_v128_load(from + (ptrdiff_t)k * matrix_stride);                          \
        for (int i = 0; i < (ROWS); i++) sum[i] = madd(sum[i], x[i][k], y);                      \
      }                                                                                          \
      for (int i = 0; i < (ROWS); i++) wasm_v128_store(to + (ptrdiff_t)i * sums_stride, sum[i]); \
    }                                                                                            \
  }

/* Multiplies ROWS vectors by DEPTH rows of the matrix at a time, which are far from each other: the next row continues what is read
** of the one before. */
#define BY_DEPTH_CASE(name, real, ROWS, DEPTH)                                              \
  for (; rows - i >= (ROWS); i += (ROWS)) {                                                 \
    const Byte *x = (const Byte *)vectors + (ptrdiff_t)i * vector_stride;                   \
    const Byte *m = matrix;                                                                 \
    Byte *to = (Byte *)sums + (ptrdiff_t)i * sums_stride;                                   \
    int apart = depth / (DEPTH);                                                            \
    for (int k = 0; k < apart; k++, x += sizeof(real), m += matrix_stride) {                \
      name##_##ROWS##x##DEPTH(columns, x, vector_stride, m, matrix_stride, to, sums_stride, \
                              apart);                                                       \
    }                                                                                       \
    x += (ptrdiff_t)((DEPTH) - 1) * apart * (ptrdiff_t)sizeof(real);                        \
    m += ((DEPTH) - 1) * apart * matrix_stride;                                             \
    for (int k = (DEPTH) * apart; k < depth; k++, x += sizeof(real), m += matrix_stride) {  \
      name##_##ROWS##x1(columns, x, vector_stride, m, matrix_stride, to, sums_stride, 1);   \
    }                                                                                       \
  }

#define BY_DEPTH(name, real, splat, madd, partial)                                                 \
  BY_DEPTH_ROWS(name##_1x4, real, splat, madd, partial, 1, 4, 2)                                   \
  BY_DEPTH_ROWS(name##_1x1, real, splat, madd, partial, 1, 1, 1)                                   \
  BY_DEPTH_ROWS(name##_2x4, real, splat, madd, partial, 2, 4, 1)                                   \
  BY_DEPTH_ROWS(name##_2x1, real, splat, madd, partial, 2, 1, 1)                                   \
  BY_DEPTH_ROWS(name##_4x4, real, splat, madd, partial, 4, 4, 2)                                   \
  BY_DEPTH_ROWS(name##_4x1, real, splat, madd, partial, 4, 1, 1)                                   \
  LOOP void name(int rows, int columns, int depth, const void *vectors, ptrdiff_t vector_stride,   \
                 const void *matrix, ptrdiff_t matrix_stride, void *sums, ptrdiff_t sums_stride) { \
    int i = 0;                                                                                     \
    BY_DEPTH_CASE(name, real, 4, 4)                                                                \
    BY_DEPTH_CASE(name, real, 2, 4)                                                                \
    BY_DEPTH_CASE(name, real, 1, 4)                                                                \
  }

#define BY_DEPTH_ONE(name, real, splat, madd, partial)                                             \
  BY_DEPTH_ROWS(name##_1x8, real, splat, madd, partial, 1, 8, 1)                                   \
  BY_DEPTH_ROWS(name##_1x1, real, splat, madd, partial, 1, 1, 1)                                   \
  LOOP void name(int rows, int columns, int depth, const void *vectors, ptrdiff_t vector_stride,   \
                 const void *matrix, ptrdiff_t matrix_stride, void *sums, ptrdiff_t sums_stride) { \
    int i = 0;                                                                                     \
    BY_DEPTH_CASE(name, real, 1, 8)                                                                \
  }

/* Threshold BLOCK_BYTES. Test: "units, blocks of the depth and lists of scales of several sizes" in
** core/quantised.test.mjs. */
/* A block of the depth, which is added up by itself. (With twice as many, a dot of 2^20 equal numbers of c128 is 33 units of
** roundoff off, of f64 19.) */
enum { BLOCK_BYTES = 2048 };

/* Threshold LANES, STEP. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/* Multiplies ROWS vectors by LINES lines of the matrix, with UNROLLED sums for each. The sums of lines are `apart` numbers
** from each other. */
#define BY_COLUMNS_LINES(name, real, madd, add, partial, sum_of, lane_of, ROWS, LINES, UNROLLED)  \
  static void name(int depth, const Byte *vectors, ptrdiff_t vector_stride, const Byte *matrix,   \
                   ptrdiff_t matrix_stride, Byte *sums, ptrdiff_t sums_stride, int apart) {       \
    enum { LANES = 16 / sizeof(real), STEP = (UNROLLED) * LANES };                                \
    v128_t sum[ROWS][LINES][UNROLLED];                                                            \
    for (int i = 0; i < (ROWS); i++) {                                                            \
      for (int j = 0; j < (LINES); j++) {                                                         \
        for (int u = 0; u < (UNROLLED); u++) sum[i][j][u] = wasm_i32x4_const_splat(0);            \
      }                                                                                           \
    }                                                                                             \
    int k = 0;                                                                                    \
    for (; k + STEP <= depth; k += STEP, vectors += 16 * (UNROLLED), matrix += 16 * (UNROLLED)) { \
      for (int u = 0; u < (UNROLLED); u++) {                                                      \
        v128_t x[ROWS];                                                                           \
        for (int i = 0; i < (ROWS); i++) {                                                        \
          x[i] = wasm_v128_load(vectors + (ptrdiff_t)i * vector_stride + 16 * u);                 \
        }                                                                                         \
        for (int j = 0; j < (LINES); j++) {                                                       \
          v128_t y = wasm_v128_load(matrix + (ptrdiff_t)j * matrix_stride + 16 * u);              \
          for (int i = 0; i < (ROWS); i++) sum[i][j][u] = madd(sum[i][j][u], x[i], y);            \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    for (; k < depth; k += LANES, vectors += 16, matrix += 16) {                                  \
      bool whole = k + LANES <= depth;                                                            \
      v128_t x[ROWS];                                                                             \
      for (int i = 0; i < (ROWS); i++) {                                                          \
        const Byte *from = vectors + (ptrdiff_t)i * vector_stride;                                \
        x[i] = whole ? wasm_v128_load(from) : partial(from, depth - k);                           \
      }                                                                                           \
      for (int j = 0; j < (LINES); j++) {                                                         \
        const Byte *from = matrix + (ptrdiff_t)j * matrix_stride;                                 \
        v128_t y = whole ? wasm_v128_load(from) : partial(from, depth - k);                       \
        for (int i = 0; i < (ROWS); i++) sum[i][j][0] = madd(sum[i][j][0], x[i], y);              \
      }                                                                                           \
    }                                                                                             \
    for (int i = 0; i < (ROWS); i++) {                                                            \
      real *to = (real *)(sums + (ptrdiff_t)i * sums_stride);                                     \
      for (int j = 0; j < (LINES); j++) {                                                         \
        for (int u = 1; u < (UNROLLED); u++) sum[i][j][0] = add(sum[i][j][0], sum[i][j][u]);      \
        to[j * apart] += (real)lane_of(sum_of(sum[i][j][0]), 0);                                  \
      }                                                                                           \
    }                                                                                             \
  }

/* Multiplies lines that are far from each other together: each continues a contiguous read of its own, which the processor
** loads ahead. A block of the depth is added up by itself.
** Measured: from 2.3 to 4.3 G numbers a second (lines of 768 f32 in memory, Node 20, 2026-11). */
#define BY_COLUMNS_CASE(name, real, ROWS, LINES)                                               \
  {                                                                                            \
    enum { BLOCK = BLOCK_BYTES / sizeof(real) };                                               \
    int apart = (columns - j) / (LINES), end = j + apart;                                      \
    for (; j < end; j++) {                                                                     \
      for (int k = 0; k < depth; k += BLOCK) {                                                 \
        name##_##ROWS##x##LINES(                                                               \
            depth - k < BLOCK ? depth - k : BLOCK,                                             \
            (const Byte *)vectors + (ptrdiff_t)i * vector_stride + (size_t)k * sizeof(real),   \
            vector_stride,                                                                     \
            (const Byte *)matrix + (ptrdiff_t)j * matrix_stride + (size_t)k * sizeof(real),    \
            (ptrdiff_t)apart * matrix_stride,                                                  \
            (Byte *)sums + (ptrdiff_t)i * sums_stride + (size_t)j * sizeof(real), sums_stride, \
            apart);                                                                            \
      }                                                                                        \
    }                                                                                          \
    j += apart * ((LINES) - 1);                                                                \
  }

#define BY_COLUMNS(name, real, madd, add, partial, sum_of, lane_of)                                \
  BY_COLUMNS_LINES(name##_2x4, real, madd, add, partial, sum_of, lane_of, 2, 4, 1)                 \
  BY_COLUMNS_LINES(name##_2x1, real, madd, add, partial, sum_of, lane_of, 2, 1, 2)                 \
  BY_COLUMNS_LINES(name##_1x4, real, madd, add, partial, sum_of, lane_of, 1, 4, 2)                 \
  BY_COLUMNS_LINES(name##_1x1, real, madd, add, partial, sum_of, lane_of, 1, 1, 4)                 \
  LOOP void name(int rows, int columns, int depth, const void *vectors, ptrdiff_t vector_stride,   \
                 const void *matrix, ptrdiff_t matrix_stride, void *sums, ptrdiff_t sums_stride) { \
    int i = 0;                                                                                     \
    for (; i + 2 <= rows; i += 2) {                                                                \
      int j = 0;                                                                                   \
      BY_COLUMNS_CASE(name, real, 2, 4)                                                            \
      BY_COLUMNS_CASE(name, real, 2, 1)                                                            \
    }                                                                                              \
    for (; i < rows; i++) {                                                                        \
      int j = 0;                                                                                   \
      BY_COLUMNS_CASE(name, real, 1, 4)                                                            \
      BY_COLUMNS_CASE(name, real, 1, 1)                                                            \
    }                                                                                              \
  }

#define BY_COLUMNS_ONE(name, real, madd, add, partial, sum_of, lane_of)                            \
  BY_COLUMNS_LINES(name##_1x4, real, madd, add, partial, sum_of, lane_of, 1, 4, 2)                 \
  BY_COLUMNS_LINES(name##_1x1, real, madd, add, partial, sum_of, lane_of, 1, 1, 4)                 \
  LOOP void name(int rows, int columns, int depth, const void *vectors, ptrdiff_t vector_stride,   \
                 const void *matrix, ptrdiff_t matrix_stride, void *sums, ptrdiff_t sums_stride) { \
    for (int i = 0; i < rows; i++) {                                                               \
      int j = 0;                                                                                   \
      BY_COLUMNS_CASE(name, real, 1, 4)                                                            \
      BY_COLUMNS_CASE(name, real, 1, 1)                                                            \
    }                                                                                              \
  }

/* ---- The table ---- */

#define LANE_LOOPS(lanes, ROWS, real, splat, madd, add, partial, sum_of, lane_of, negative_zero) \
  TILE_LOOP(tile_##lanes, ROWS, real, splat, madd, add, negative_zero)                           \
  PLAIN_LOOP(plain_##lanes, real, splat, madd, add, negative_zero)                               \
  BY_DEPTH(by_depth_##lanes, real, splat, madd, partial)                                         \
  BY_COLUMNS(by_columns_##lanes, real, madd, add, partial, sum_of, lane_of)

LANE_LOOPS(f32, REAL_ROWS, float, wasm_v128_load32_splat, MADD_F32, wasm_f32x4_add, first_of_4,
           sum_of_f32, wasm_f32x4_extract_lane, wasm_f32x4_const_splat(-0.0f))
LANE_LOOPS(f64, REAL_ROWS, double, wasm_v128_load64_splat, MADD_F64, wasm_f64x2_add, first_of_2,
           sum_of_f64, wasm_f64x2_extract_lane, wasm_f64x2_const_splat(-0.0))
#ifndef XLA_RELAXED_SIMD
TILE_LOOP(tile_s32, INTEGER_ROWS, uint32_t, wasm_v128_load32_splat, MADD_S32, wasm_i32x4_add,
          wasm_i32x4_const_splat(0))
PLAIN_LOOP(plain_s32, uint32_t, wasm_v128_load32_splat, MADD_S32, wasm_i32x4_add,
           wasm_i32x4_const_splat(0))
BY_DEPTH_ONE(by_depth_s32, uint32_t, wasm_v128_load32_splat, MADD_S32, first_of_4)
BY_COLUMNS_ONE(by_columns_s32, uint32_t, MADD_S32, wasm_i32x4_add, first_of_4, sum_of_s32,
               wasm_i32x4_extract_lane)
TILE_LOOP(tile_s64, INTEGER_ROWS, uint64_t, wasm_v128_load64_splat, MADD_S64, wasm_i64x2_add,
          wasm_i32x4_const_splat(0))
PLAIN_LOOP_ONE(plain_s64, uint64_t, wasm_v128_load64_splat, MADD_S64, wasm_i64x2_add)
BY_DEPTH_ONE(by_depth_s64, uint64_t, wasm_v128_load64_splat, MADD_S64, first_of_2)
BY_COLUMNS_ONE(by_columns_s64, uint64_t, MADD_S64, wasm_i64x2_add, first_of_2, sum_of_s64,
               wasm_i64x2_extract_lane)
LANE_LOOPS(s16, INTEGER_ROWS, uint32_t, wasm_v128_load32_splat, MADD_S16, wasm_i32x4_add,
           first_of_4, sum_of_s32, wasm_i32x4_extract_lane, wasm_i32x4_const_splat(0))

#define LANE_TABLE(lanes, rows) \
  {rows, tile_##lanes, plain_##lanes, by_depth_##lanes, by_columns_##lanes}
const LaneLoops lane_loops[LOOP_KINDS] = {
    [LOOPS_F32] = LANE_TABLE(f32, REAL_ROWS),    [LOOPS_F64] = LANE_TABLE(f64, REAL_ROWS),
    [LOOPS_S32] = LANE_TABLE(s32, INTEGER_ROWS), [LOOPS_S64] = LANE_TABLE(s64, INTEGER_ROWS),
    [LOOPS_S16] = LANE_TABLE(s16, INTEGER_ROWS),
};
#endif
