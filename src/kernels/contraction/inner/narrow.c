/*
** Multiplies vectors by matrices of narrow numbers: narrow.h says what each loop computes.
**
** All loops are made of two templates, ROWS_BY_DEPTH and LINES_BY_COLUMNS, by the rows of the table "Types" below. A row is
**
**     NARROW(s8, 4, load, QUARTER_S8, PLAIN, TIMES, 4)
**
**     4            a step is 4 quarters of 4 numbers, which lie in 16 bytes; of bf16, 2 quarters
**     load         reads the bytes of a step; unpacks, flips or looks up all its numbers at once
**     QUARTER_S8   makes four of them f32, divided by the type's factor, by which scales or sums are multiplied. A byte at
**                  the top of an integer is 2^24 times too large; shifting it down would take an instruction more
**     PLAIN        changes a number before the product: PLAIN leaves it, LESS takes its zero away, SCALED multiplies it by its
**                  scale, MOVED does both
**     TIMES        by columns, changes the sum of a block: TIMES multiplies it by the scale, KEPT leaves it
**     4            by columns, the most lines by which one vector is multiplied at a time
**
** Only a quarter is widened at a time, so that registers do not spill. A template goes on while there are whole steps; what is
** left of a row or a line is copied into a buffer, zeros after it, for one more step (rest_by_depth, rest_by_columns).
*/
#include "kernels/contraction/inner/narrow.h"

#include <string.h>

#include "kernels/contraction/inner/vectors.h"

typedef uint8_t Byte;

/* ---- Four numbers of 16 bytes, in f32 and divided by the type's factor ---- */

/* q is a constant, once loops are unrolled. */
#define UNROLLED           _Pragma("clang loop unroll(full)")
#define QUARTER_S8(x, q)   wasm_f32x4_convert_i32x4(BYTES_HIGH(x, 4 * (q)))
#define QUARTER_BF16(x, q) ((q) ? upper_high(x) : upper_low(x))
#define QUARTER_F16(x, q)  half_to_tiny(QUARTER_BF16(x, q))

/* Sixteen numbers looked up at once, as four vectors of f32. */
typedef struct Found {
  v128_t part[4];
} Found;
#define QUARTER_FOUND(x, q) ((x).part[q])

/* 16 packed numbers of 4 bits, or their zeros: those at even places, then those at odd ones, in bytes 0 to 7. A quarter has
** four of either: see narrow_part. */
typedef struct Split {
  v128_t of[2];
} Split;
#define QUARTER_SPLIT(x, q) QUARTER_S8((x).of[(q) % 2], (q) / 2)

/* The largest f16 that a loop has read, as signed and as unsigned numbers. */
typedef struct Seen {
  v128_t most, negative;
} Seen;

/* The bytes that a load takes. */
enum {
  BYTES_load = 16,
  BYTES_load_f16 = 16,
  BYTES_load_flipped = 16,
  BYTES_look_up = 16,
  BYTES_load_signed = 8,
  BYTES_load_unsigned = 8,
  BYTES_load_centered = 8
};
#define LOADED(Number, load, ...) BYTES_##load

static inline Found look_up(const void *bytes, const Planes *planes, v128_t flipped, Split zero,
                            Seen *seen) {
  Found found;
  v128_t x = wasm_v128_and(wasm_v128_load(bytes), wasm_i8x16_const_splat(15));
  look_up_16(planes, x, found.part);
  return found;
}
static inline v128_t load(const void *bytes, const Planes *planes, v128_t flipped, Split zero,
                          Seen *seen) {
  return wasm_v128_load(bytes);
}
static inline v128_t load_f16(const void *bytes, const Planes *planes, v128_t flipped, Split zero,
                              Seen *seen) {
  v128_t x = wasm_v128_load(bytes);
  seen->most = wasm_i16x8_max(seen->most, x);
  seen->negative = wasm_u16x8_max(seen->negative, x);
  return x;
}
static inline v128_t load_flipped(const void *bytes, const Planes *planes, v128_t flipped,
                                  Split zero, Seen *seen) {
  return wasm_v128_xor(wasm_v128_load(bytes), flipped);
}

/* Signed numbers are the upper halves of bytes: times 16. */
static inline Split load_signed(const void *bytes, const Planes *planes, v128_t flipped, Split zero,
                                Seen *seen) {
  v128_t x = wasm_v128_load64_zero(bytes), upper = wasm_i8x16_const_splat((int8_t)0xf0);
  return (Split){{wasm_v128_and(wasm_i16x8_shl(x, 4), upper), wasm_v128_and(x, upper)}};
}
/* They become unsigned if their sign is flipped. */
static inline Split load_unsigned(const void *bytes, const Planes *planes, v128_t flipped,
                                  Split zero, Seen *seen) {
  v128_t x = wasm_v128_xor(wasm_v128_load64_zero(bytes), flipped);
  v128_t lower = wasm_i8x16_const_splat(0x0f);
  return (Split){{wasm_v128_and(x, lower), wasm_v128_and(wasm_u16x8_shr(x, 4), lower)}};
}
/* Loads unsigned numbers and subtracts their zero points, which are bytes. */
static inline Split load_centered(const void *bytes, const Planes *planes, v128_t flipped,
                                  Split zero, Seen *seen) {
  Split x = load_unsigned(bytes, planes, flipped, zero, seen);
  return (Split){{wasm_i8x16_sub(x.of[0], zero.of[0]), wasm_i8x16_sub(x.of[1], zero.of[1])}};
}

/* Numbers with the largest exponent are misread. As signed numbers positive ones are the largest, as unsigned ones negative. */
static inline bool has_largest(Seen seen) {
  return wasm_v128_any_true(
      wasm_v128_or(wasm_i16x8_ge(seen.most, wasm_i16x8_const_splat(0x7c00)),
                   wasm_u16x8_ge(seen.negative, wasm_i16x8_const_splat((int16_t)0xfc00))));
}
#define NOTE_load(b, seen)
#define NOTE_load_flipped(b, seen)
#define NOTE_load_signed(b, seen)
#define NOTE_load_unsigned(b, seen)
#define NOTE_load_centered(b, seen)
#define NOTE_look_up(b, seen)
#define NOTE_load_f16(b, seen) \
  if (has_largest(seen)) *b->misread = true;

/* scale, zero: expressions, which need not be evaluated. */
#define PLAIN(x, scale, zero)  (x)
#define LESS(x, scale, zero)   wasm_f32x4_sub(x, zero)
#define SCALED(x, scale, zero) wasm_f32x4_mul(x, scale)
#define MOVED(x, scale, zero)  wasm_f32x4_mul(wasm_f32x4_sub(x, zero), scale)
#define MADD(sum, x, y)        wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))
/* What happens to sums of a block. */
#define TIMES(sum, scale) wasm_f32x4_mul(sum, scale)
#define KEPT(sum, scale)  (sum)

static Planes planes_for(const NarrowBlock *b) {
  static const float zeros[16];
  return planes_of(b->table ? b->table : zeros);
}

/* ---- What is left of 16 bytes ---- */

/* Threshold REST_ROWS: no path: room for `MAX_VECTORS` vectors. */
enum { REST_ROWS = 20 };

/* Multiplies the last columns: copies of them, with zeros after them. A step of the loop reads `bytes`. */
static void rest_by_depth(const NarrowBlock *b, NarrowLoop *loop, int step, int bytes, int first) {
  Byte rest[NARROW_DEPTH][16];
  NarrowBlock part = *b;
  int left = b->columns - first;
  if (left == 0) return;
  part.columns = step;
  part.matrix = rest[0];
  part.matrix_stride = 16;
  part.scales += first;
  part.zeros += first;
  part.sums += 4 * (ptrdiff_t)first;
  for (int k = 0; k < b->depth; k += NARROW_DEPTH, part.vectors += 4 * NARROW_DEPTH) {
    part.depth = b->depth - k < NARROW_DEPTH ? b->depth - k : NARROW_DEPTH;
    memset(rest, 0, sizeof rest);
    for (int i = 0; i < part.depth; i++) {
      memcpy(rest[i], b->matrix + (k + i) * b->matrix_stride + first * bytes / step,
             (size_t)((left * bytes + step - 1) / step));
    }
    loop(&part);
  }
}

/* The same for the last numbers of the depth. Vectors for packed numbers, which are parted, have zeros after them. */
static void rest_by_columns(const NarrowBlock *b, NarrowLoop *loop, int step, int bytes,
                            int first) {
  Byte rest[16], vectors[REST_ROWS][64];
  NarrowBlock part = *b;
  int left = b->depth - first;
  if (left == 0) return;
  memset(rest, 0, sizeof rest);
  memset(vectors, 0, sizeof vectors);
  for (int i = 0; i < b->rows; i++) {
    memcpy(vectors[i], b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)first,
           4 * (size_t)(step > bytes ? step : left));
  }
  part.depth = step;
  part.columns = 1;
  part.vectors = vectors[0];
  part.vector_stride = sizeof vectors[0];
  part.matrix = rest;
  part.scales += first / b->scale_block;
  part.zeros += first / b->scale_block;
  for (int j = 0; j < b->columns; j++, part.sums += 4) {
    memcpy(rest, b->matrix + j * b->matrix_stride + first * bytes / step,
           (size_t)((left * bytes + step - 1) / step));
    loop(&part);
    part.scales = (const float *)((const Byte *)part.scales + b->scale_stride);
    part.zeros = (const float *)((const Byte *)part.zeros + b->scale_stride);
  }
}

/* ---- Rows of the matrix ---- */

/* Zeros of 16 columns that are bytes. */
#define ZEROS_AT(zero)                                   \
  (Split) {                                              \
    { wasm_v128_load(zero), wasm_v128_load((zero) + 4) } \
  }
/* Numbers that take work to load are loaded before the first quarter. */
#define HOLDS(load, DEPTH) (BYTES_##load == 8 || (DEPTH) == 1)

/* Threshold STEP. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time, as long as there are as many. Goes by
** quarters, so that few registers are live. */
#define ROWS_BY_DEPTH(name, QUARTERS, Number, load, quarter, FORM, ROWS, DEPTH)                \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to,    \
                   int rows_apart) {                                                           \
    enum { STEP = 4 * (QUARTERS) };                                                            \
    const Planes planes = planes_for(b);                                                       \
    const v128_t flipped = wasm_i8x16_splat((int8_t)b->flipped);                               \
    Seen seen = {wasm_i32x4_const_splat(0), wasm_i32x4_const_splat(0)}, ignored = seen;        \
    v128_t x[ROWS][DEPTH];                                                                     \
    const float *scale = b->scales, *zero = b->zeros;                                          \
    const ptrdiff_t stride = b->matrix_stride * rows_apart, apart = b->sums_stride;            \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                                \
      UNROLLED for (int k = 0; k < (DEPTH); k++) {                                             \
        x[i][k] = wasm_v128_load32_splat(vectors + i * b->vector_stride + 4 * k * rows_apart); \
      }                                                                                        \
    }                                                                                          \
    for (int j = b->columns; j >= STEP;                                                        \
         j -= STEP, matrix += BYTES_##load, scale += STEP, zero += STEP, to += 4 * STEP) {     \
      Number held[DEPTH];                                                                      \
      UNROLLED for (int k = 0; k < (HOLDS(load, DEPTH) ? (DEPTH) : 0); k++) {                  \
        held[k] = load(matrix + k * stride, &planes, flipped, ZEROS_AT(zero), &seen);          \
      }                                                                                        \
      UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                          \
        v128_t sum[ROWS];                                                                      \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                            \
          sum[i] = wasm_v128_load(to + i * apart + 16 * q);                                    \
        }                                                                                      \
        UNROLLED for (int k = 0; k < (DEPTH); k++) {                                           \
          Number number = HOLDS(load, DEPTH) ? held[k]                                         \
                                             : load(matrix + k * stride, &planes, flipped,     \
                                                    ZEROS_AT(zero), (q) ? &ignored : &seen);   \
          v128_t y = FORM(quarter(number, q), wasm_v128_load(scale + (ptrdiff_t)4 * q),        \
                          wasm_v128_load(zero + (ptrdiff_t)4 * q));                            \
          UNROLLED for (int i = 0; i < (ROWS); i++) sum[i] = MADD(sum[i], x[i][k], y);         \
        }                                                                                      \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                            \
          wasm_v128_store(to + i * apart + 16 * q, sum[i]);                                    \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
    NOTE_##load(b, seen)                                                                       \
  }

/* Rows that are read together are far from each other: each of these streams goes on in the next row. */
#define ROWS_CASE(name, ROWS, DEPTH)                                                          \
  {                                                                                           \
    int apart = (b->depth - k) / (DEPTH), end = k + apart;                                    \
    for (; k < end; k++) {                                                                    \
      name##_##ROWS##x##DEPTH(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k,        \
                              b->matrix + k * b->matrix_stride, b->sums + i * b->sums_stride, \
                              apart);                                                         \
    }                                                                                         \
    k += apart * ((DEPTH) - 1);                                                               \
  }

/* DEPTH: rows that one vector is multiplied by at a time. */
#define BY_DEPTH(name, QUARTERS, DEPTH, ...)                       \
  ROWS_BY_DEPTH(name##_1x##DEPTH, QUARTERS, __VA_ARGS__, 1, DEPTH) \
  BY_DEPTH_1(name, QUARTERS, DEPTH, __VA_ARGS__)
#define BY_DEPTH_1(name, QUARTERS, DEPTH, ...)                                                   \
  ROWS_BY_DEPTH(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1)                                         \
  static void name(const NarrowBlock *b) {                                                       \
    for (int i = 0; i < b->rows; i += 4) {                                                       \
      int k = 0;                                                                                 \
      if (b->rows > 1) {                                                                         \
        ROWS_CASE(name, 4, 1)                                                                    \
      } else {                                                                                   \
        ROWS_CASE(name, 1, DEPTH)                                                                \
        if ((DEPTH) > 1) ROWS_CASE(name, 1, 1)                                                   \
      }                                                                                          \
    }                                                                                            \
    rest_by_depth(b, name, 4 * (QUARTERS), LOADED(__VA_ARGS__), b->columns & -(4 * (QUARTERS))); \
  }

/* ---- Lines of the matrix ---- */

static inline float sum_of(v128_t x) {
  x = wasm_f32x4_add(x, wasm_i32x4_shuffle(x, x, 2, 3, 0, 1));
  x = wasm_f32x4_add(x, wasm_i32x4_shuffle(x, x, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(x, 0);
}

/* Threshold BLOCK_DEPTH. Test: "units, blocks of the depth and lists of scales of several sizes" in
** core/quantised.test.mjs. */
enum { BLOCK_DEPTH = 1024 };

/* Threshold STEP. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Multiplies ROWS vectors by STEP numbers of LINES lines. If `begins`, sums begin with these products. */
#define LINES_STEP(QUARTERS, Number, load, quarter, FORM, ROWS, LINES, begins)                   \
  {                                                                                              \
    UNROLLED for (int l = 0; l < (LINES); l++) {                                                 \
      v128_t scale = wasm_v128_load32_splat(scales + l * scale_stride);                          \
      v128_t zero = wasm_v128_load32_splat(zeros + l * scale_stride);                            \
      (void)scale;                                                                               \
      Number number = load(matrix + l * stride, &planes, flipped, (Split){{zero, zero}}, &seen); \
      UNROLLED for (int q = 0; q < (QUARTERS); q += 2) {                                         \
        v128_t y = FORM(quarter(number, q), scale, zero);                                        \
        v128_t z = FORM(quarter(number, q + 1), scale, zero);                                    \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                              \
          const Byte *x = vectors + i * row + (ptrdiff_t)16 * q;                                 \
          v128_t product = wasm_f32x4_mul(wasm_v128_load(x), y);                                 \
          product = MADD(product, wasm_v128_load(x + 16), z);                                    \
          sum[i][l] = (begins) && q == 0 ? product : wasm_f32x4_add(sum[i][l], product);         \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
    matrix += BYTES_##load;                                                                      \
    vectors += 4 * STEP;                                                                         \
  }

/* Multiplies ROWS vectors by LINES lines of the matrix, STEP numbers of each at a time. Sums of a block of the scale, or of
** BLOCK_DEPTH numbers, are added up by themselves. The sums of lines are `apart` numbers from each other. */
#define LINES_BY_COLUMNS(name, QUARTERS, Number, load, quarter, FORM, FOLD, ROWS, LINES)      \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix,             \
                   ptrdiff_t stride, const Byte *scales, const Byte *zeros,                   \
                   ptrdiff_t scale_stride, Byte *to, int apart) {                             \
    enum { STEP = 4 * (QUARTERS) };                                                           \
    const Planes planes = planes_for(b);                                                      \
    const v128_t flipped = wasm_i8x16_splat((int8_t)b->flipped);                              \
    Seen seen = {wasm_i32x4_const_splat(0), wasm_i32x4_const_splat(0)};                       \
    const ptrdiff_t row = b->vector_stride;                                                   \
    const v128_t factor = wasm_f32x4_splat(b->factor);                                        \
    (void)factor;                                                                             \
    v128_t sum[ROWS][LINES], total[ROWS][LINES];                                              \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
      UNROLLED for (int l = 0; l < (LINES); l++) total[i][l] = wasm_i32x4_const_splat(0);     \
    }                                                                                         \
    for (int left = b->depth & -STEP, same = b->scale_block; left > 0;) {                     \
      int count = same < BLOCK_DEPTH ? same : BLOCK_DEPTH;                                    \
      count = count < left ? count : left;                                                    \
      left -= count;                                                                          \
      same -= count;                                                                          \
      LINES_STEP(QUARTERS, Number, load, quarter, FORM, ROWS, LINES, true)                    \
      while ((count -= STEP) > 0) {                                                           \
        LINES_STEP(QUARTERS, Number, load, quarter, FORM, ROWS, LINES, false)                 \
      }                                                                                       \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                            \
        const Byte *scale = scales + l * scale_stride;                                        \
        (void)scale;                                                                          \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                           \
          total[i][l] =                                                                       \
              wasm_f32x4_add(total[i][l], FOLD(sum[i][l], wasm_v128_load32_splat(scale)));    \
        }                                                                                     \
      }                                                                                       \
      if (same > 0) continue;                                                                 \
      same = b->scale_block;                                                                  \
      scales += 4;                                                                            \
      zeros += 4;                                                                             \
    }                                                                                         \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                            \
        ((float *)(to + i * b->sums_stride))[l * apart] += sum_of(FOLD(total[i][l], factor)); \
      }                                                                                       \
    }                                                                                         \
    NOTE_##load(b, seen)                                                                      \
  }

/* Lines that are multiplied together are far from each other, as in lanes.c. */
#define LINES_CASE(name, ROWS, LINES)                                              \
  {                                                                                \
    int apart = (b->columns - j) / (LINES), end = j + apart;                       \
    for (; j < end; j++) {                                                         \
      name##_##ROWS##x##LINES(                                                     \
          b, b->vectors + i * b->vector_stride, b->matrix + j * b->matrix_stride,  \
          apart * b->matrix_stride, (const Byte *)b->scales + j * b->scale_stride, \
          (const Byte *)b->zeros + j * b->scale_stride, apart * b->scale_stride,   \
          b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j, apart);                 \
    }                                                                              \
    j += apart * ((LINES) - 1);                                                    \
  }

/* A line that is left over takes the place of both lines. */
#define LAST_LINE(name)                                                                   \
  if (j < b->columns) {                                                                   \
    float sums[2] = {0, 0};                                                               \
    name##_1x2(b, b->vectors + i * b->vector_stride, b->matrix + j * b->matrix_stride, 0, \
               (const Byte *)b->scales + j * b->scale_stride,                             \
               (const Byte *)b->zeros + j * b->scale_stride, 0, (Byte *)sums, 1);         \
    ((float *)(b->sums + i * b->sums_stride))[j] += sums[0];                              \
  }
#define BY_COLUMNS(name, MAX_LINES, QUARTERS, ...)                                               \
  LINES_BY_COLUMNS(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1)                                      \
  LINES_BY_COLUMNS(name##_1x2, QUARTERS, __VA_ARGS__, 1, 2)                                      \
  static void name(const NarrowBlock *b) {                                                       \
    for (int i = 0; i < b->rows; i += 4) {                                                       \
      int j = 0;                                                                                 \
      if (b->rows > 1) {                                                                         \
        LINES_CASE(name, 4, 1)                                                                   \
      } else {                                                                                   \
        if ((MAX_LINES) > 2) LINES_CASE(name, 1, MAX_LINES)                                      \
        LINES_CASE(name, 1, 2)                                                                   \
        LAST_LINE(name)                                                                          \
      }                                                                                          \
    }                                                                                            \
    rest_by_columns(b, name, 4 * (QUARTERS), LOADED(__VA_ARGS__), b->depth & -(4 * (QUARTERS))); \
  }

/* ---- Types ---- */

/* LINES, DEPTH: lines and rows that one vector is multiplied by at a time. */
#define NARROW(name, ...) NARROW_BY(name, v128_t, 4, __VA_ARGS__)
#define NARROW_BY(name, Number, DEPTH, QUARTERS, load, quarter, FORM, FOLD, LINES)  \
  BY_COLUMNS(by_columns_##name, LINES, QUARTERS, Number, load, quarter, FORM, FOLD) \
  ROWS_BY_DEPTH(by_depth_##name##_1x1, QUARTERS, Number, load, quarter, FORM, 1, 1) \
  BY_DEPTH(by_depth_##name, QUARTERS, DEPTH, Number, load, quarter, FORM)
/* Loops of four lines, for the types with LINES 4 below. */
LINES_BY_COLUMNS(by_columns_bf16_1x4, 2, v128_t, load, QUARTER_BF16, PLAIN, KEPT, 1, 4)
LINES_BY_COLUMNS(by_columns_s8_1x4, 4, v128_t, load, QUARTER_S8, PLAIN, TIMES, 1, 4)
LINES_BY_COLUMNS(by_columns_signed_1x4, 4, Split, load_signed, QUARTER_SPLIT, PLAIN, TIMES, 1, 4)
NARROW(bf16, 2, load, QUARTER_BF16, PLAIN, KEPT, 4)
NARROW(s8, 4, load, QUARTER_S8, PLAIN, TIMES, 4)
NARROW_BY(less_s8, v128_t, 4, 4, load_flipped, QUARTER_S8, LESS, TIMES, 2)
NARROW_BY(signed, Split, 4, 4, load_signed, QUARTER_SPLIT, PLAIN, TIMES, 4)
NARROW_BY(centered, Split, 4, 4, load_centered, QUARTER_SPLIT, PLAIN, TIMES, 2)
NARROW(scaled_bf16, 2, load, QUARTER_BF16, SCALED, KEPT, 2)
NARROW(scaled_f16, 2, load_f16, QUARTER_F16, SCALED, KEPT, 2)
NARROW(scaled_s8, 4, load, QUARTER_S8, SCALED, KEPT, 2)
NARROW_BY(scaled_signed, Split, 4, 4, load_signed, QUARTER_SPLIT, SCALED, KEPT, 2)
NARROW_BY(moved_unsigned, Split, 4, 4, load_unsigned, QUARTER_SPLIT, MOVED, KEPT, 2)
NARROW_BY(moved_s8, v128_t, 4, 4, load_flipped, QUARTER_S8, MOVED, KEPT, 2)
BY_DEPTH(by_depth_found, 4, 1, Found, look_up, QUARTER_FOUND, SCALED)
BY_COLUMNS(by_columns_found, 2, 4, Found, look_up, QUARTER_FOUND, SCALED, KEPT)

/* The last elements are copied into a whole vector first. */
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

const NarrowLoops *narrow_loops(PrimitiveType type, NarrowForm form) {
#define LOOPS(name) {by_depth_##name, by_columns_##name}
  static const NarrowLoops bf16 = {.plain = LOOPS(bf16), .scaled = LOOPS(scaled_bf16), .factor = 1};
  static const NarrowLoops f16 = {
      .scaled = LOOPS(scaled_f16), .factor = 0x1p112f, .misread = MISREAD_LARGEST_F16};
  static const NarrowLoops s8 = {
      .plain = LOOPS(s8), .scaled = LOOPS(scaled_s8), .factor = 0x1p-24f, .is_integral = true};
  static const NarrowLoops moved_s8 = {
      .plain = LOOPS(less_s8), .scaled = LOOPS(moved_s8), .factor = 0x1p-24f, .is_integral = true};
  static const NarrowLoops u8 = {LOOPS(less_s8), LOOPS(moved_s8), 0x1p-24f,
                                 true,           .flipped = 0x80, .zero = -128};
  static const NarrowLoops f8e4m3fn = {LOOPS(bf16), LOOPS(scaled_bf16), 1,
                                       .prepare = prepare_f8e4m3fn};
  static const NarrowLoops f8e5m2 = {
      .plain = LOOPS(bf16), .scaled = LOOPS(scaled_bf16), .factor = 1, .prepare = prepare_f8e5m2};
  static const NarrowLoops byte = {
      .scaled = LOOPS(found), .factor = 1, .misread = MISREAD_BYTES_FROM_16};
  static const NarrowLoops half_byte = {.scaled = LOOPS(found), .factor = 1};
  if (form == NARROW_LOOKED_UP) return type_bits(type) == 8 ? &byte : &half_byte;
  bool moved = form == NARROW_MOVED;
  switch (type) {
  case BF16: return moved ? NULL : &bf16;
  case F16: return moved ? NULL : &f16;
  case U2:
  case U4: /* below 128 */
  case S2:
  case S4:
  case S8: return moved ? &moved_s8 : &s8;
  case U8: return &u8;
  case F8E4M3FN: return moved ? NULL : &f8e4m3fn;
  case F8E5M2: return moved ? NULL : &f8e5m2;
  default: return NULL;
  }
}

const NarrowLoops *narrow_packed_loops(PrimitiveType type, NarrowForm form) {
  static const NarrowLoops plain = {LOOPS(signed), LOOPS(scaled_signed), 0x1p-28f, true,
                                    .packed = true};
  static const NarrowLoops moved_s4 = {
      LOOPS(centered), LOOPS(moved_unsigned), 0x1p-24f,      true, .flipped = 0x88,
      .zero = 8,       .centered = true,      .packed = true};
  static const NarrowLoops u4 = {LOOPS(centered),  LOOPS(moved_unsigned), 0x1p-24f, true,
                                 .centered = true, .packed = true};
  if (type_bits(type) != 4 || form == NARROW_LOOKED_UP) return narrow_loops(type, form);
  return type == U4 ? &u4 : form == NARROW_MOVED ? &moved_s4 : &plain;
}

/* ---- Places of packed numbers ---- */

void narrow_part(const float *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; i += 8) {
    v128_t x = wasm_v128_load(from + i), y = wasm_v128_load(from + i + 4);
    wasm_v128_store(to + i, wasm_i32x4_shuffle(x, y, 0, 2, 4, 6));
    wasm_v128_store(to + i + 4, wasm_i32x4_shuffle(x, y, 1, 3, 5, 7));
  }
}

void narrow_join(const float *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; i += 8) {
    v128_t x = wasm_v128_load(from + i), y = wasm_v128_load(from + i + 4);
    wasm_v128_store(to + i, wasm_i32x4_shuffle(x, y, 0, 4, 1, 5));
    wasm_v128_store(to + i + 4, wasm_i32x4_shuffle(x, y, 2, 6, 3, 7));
  }
}

/* Returns four zeros as integers. */
static inline v128_t integers_at(const float *zeros, v128_t factor) {
  return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_mul(wasm_v128_load(zeros), factor));
}

bool narrow_center(float *zeros, int64_t count, float factor, bool along_depth) {
  const v128_t by = wasm_f32x4_splat(factor);
  v128_t wrong = wasm_i32x4_const_splat(0);
  memset(zeros + count, 0, (size_t)(-count & 15) * sizeof *zeros);
  for (int64_t i = 0; i < count; i += 4) {
    v128_t zero = integers_at(zeros + i, by);
    v128_t differs = wasm_f32x4_ne(wasm_f32x4_convert_i32x4(zero),
                                   wasm_f32x4_mul(wasm_v128_load(zeros + i), by));
    v128_t is_far = wasm_u32x4_gt(wasm_i32x4_add(zero, wasm_i32x4_const_splat(112)),
                                  wasm_i32x4_const_splat(112 + 127));
    wrong = wasm_v128_or(wrong, wasm_v128_or(differs, is_far));
  }
  if (wasm_v128_any_true(wrong)) return false;
  for (int64_t i = 0; i < count; i += 16) {
    v128_t x[4];
    UNROLLED for (int q = 0; q < 4; q++) x[q] = integers_at(zeros + i + (ptrdiff_t)4 * q, by);
    if (along_depth) {
      UNROLLED for (int q = 0; q < 4; q++) {
        v128_t byte = wasm_v128_and(x[q], wasm_i32x4_const_splat(0xff));
        wasm_v128_store(zeros + i + (ptrdiff_t)4 * q,
                        wasm_i32x4_mul(byte, wasm_i32x4_const_splat(0x01010101)));
      }
    } else {
      v128_t bytes = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(x[0], x[1]),
                                             wasm_i16x8_narrow_i32x4(x[2], x[3]));
      wasm_v128_store(zeros + i, wasm_i8x16_shuffle(bytes, bytes, 0, 2, 4, 6, 8, 10, 12, 14, 0, 2,
                                                    4, 6, 8, 10, 12, 14));
      wasm_v128_store(zeros + i + 4, wasm_i8x16_shuffle(bytes, bytes, 1, 3, 5, 7, 9, 11, 13, 15, 1,
                                                        3, 5, 7, 9, 11, 13, 15));
    }
  }
  return true;
}

/* ---- Scales ---- */

/* Threshold LEAST, MOST. Test: "a number times its scale is rounded first, and large sums do not overflow" in
** core/quantised.test.mjs. */
/* The bits that scales must not have, so that a product with nine bits has at most 24; exponents are far from the ends. */
enum { LOW_BITS = 0x1ff, LEAST = (127 - 64) << 23, MOST = (127 + 64) << 23 };

bool narrow_scales_are_exact(const float *scales, int64_t count) {
  v128_t bits = wasm_i32x4_const_splat(0), most = bits, least = wasm_i32x4_const_splat(-1);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    v128_t x = wasm_v128_load(scales + i);
    v128_t magnitude = wasm_v128_and(x, wasm_i32x4_const_splat(INT32_MAX));
    bits = wasm_v128_or(bits, x);
    most = wasm_u32x4_max(most, magnitude);
    /* 0, which is exact, becomes the largest number. */
    least = wasm_u32x4_min(least, wasm_i32x4_sub(magnitude, wasm_i32x4_const_splat(1)));
  }
  if (i < count) {
    float last[4] = {1, 1, 1, 1};
    memcpy(last, scales + i, (size_t)(count - i) * sizeof *last);
    if (!narrow_scales_are_exact(last, 4)) return false;
  }
  v128_t wrong = wasm_v128_or(wasm_v128_and(bits, wasm_i32x4_const_splat(LOW_BITS)),
                              wasm_u32x4_gt(most, wasm_i32x4_const_splat(MOST)));
  return !wasm_v128_any_true(
      wasm_v128_or(wrong, wasm_u32x4_lt(least, wasm_i32x4_const_splat(LEAST - 1))));
}

void narrow_add_scaled(const float *plain, const float *scales, float factor, int64_t count,
                       float *sums) {
  v128_t by = wasm_f32x4_splat(factor);
  for (int64_t i = 0; i < count; i += 4) {
    v128_t more = wasm_v128_load(plain + i);
    if (scales) more = wasm_f32x4_mul(wasm_f32x4_mul(more, wasm_v128_load(scales + i)), by);
    wasm_v128_store(sums + i, wasm_f32x4_add(wasm_v128_load(sums + i), more));
  }
}

/* ---- Misread numbers ---- */

static bool has_bytes_from_16(const uint8_t *elements, int64_t count) {
  v128_t all = wasm_i32x4_const_splat(0);
  for (; count >= 16; count -= 16, elements += 16) {
    all = wasm_v128_or(all, wasm_v128_load(elements));
  }
  if (wasm_v128_any_true(wasm_v128_and(all, wasm_i8x16_const_splat((int8_t)0xf0)))) return true;
  for (int64_t i = 0; i < count; i++) {
    if (elements[i] >= 16) return true;
  }
  return false;
}

bool narrow_has_misread(const NarrowLoops *loops, const uint8_t *elements, int64_t count) {
  return loops->misread == MISREAD_BYTES_FROM_16 && has_bytes_from_16(elements, count);
}
