/*
** The innermost loops of products with narrow numbers: narrow.h says what they compute, narrow_loops.h how they are called.
**
** All loops are made of two templates, ROWS_BY_DEPTH and LINES_BY_COLUMNS, by the rows of the table "Types" below. A row is
**
**     NARROW(2, s8, 4, load, QUARTER_S8, PLAIN, TIMES, 4, 4)
**
**     2            the number of the row: NarrowRow
**     4            a step is 4 quarters of 4 numbers, which lie in 16 bytes; of bf16, 2 quarters
**     load         reads the bytes of a step; unpacks, flips or looks up all its numbers at once
**     QUARTER_S8   widens four of them to f32, up to a constant factor of the type; scales are multiplied by it, or vectors or
**                  sums. For s8 the factor is 2^-24: the byte stays in the top bits of its lane, which saves a shift
**     PLAIN        changes a number before the product: PLAIN leaves it, LESS takes its zero away, SCALED multiplies it by its
**                  scale, MOVED does both, and ROUNDED then rounds it; AFFINE multiplies by the scale and adds a bias
**     TIMES        by columns, changes the sum of a block: TIMES multiplies it by the scale, KEPT leaves it
**     4, 4         the rows and lines by which one vector is multiplied at a time
**
** Only a quarter is widened at a time, so that registers do not spill.
**
** In WebAssembly these loops are a module of their own, which is rewritten for the engine: see relax.h. So they call no function,
** and have no stack and no data.
*/
#include <stdint.h>

#include "kernels/contraction/inner/narrow_loops.h"
#include "kernels/contraction/inner/vectors.h"

typedef uint8_t Byte;

/* ---- Four numbers of 16 bytes, in f32 and divided by the type's factor ---- */

/* q is a constant, once loops are unrolled. */
#define QUARTER_S8(x, q)   wasm_f32x4_convert_i32x4(BYTES_HIGH(x, 4 * (q)))
#define QUARTER_BF16(x, q) ((q) ? upper_high(x) : upper_low(x))
#define QUARTER_F16(x, q)  half_to_tiny(QUARTER_BF16(x, q))

/* Sixteen numbers widened to bf16, or to f16, at once. */
#define QUARTER_OF_BF16(x, q) QUARTER_BF16((q) < 2 ? (x).low : (x).high, (q) % 2)
#define QUARTER_OF_F16(x, q)  half_to_tiny(QUARTER_OF_BF16(x, q))

/* Sixteen numbers looked up at once, as four vectors of f32. */
typedef struct Found {
  v128_t part[4];
} Found;
#define QUARTER_FOUND(x, q) ((x).part[q])
#define QUARTER_EACH(x, q)  ((q) ? (x).high : (x).low)

/* 16 unpacked numbers of 4 bits, or zero points: of[0] has the even ones, of[1] the odd ones, each in bytes 0 to 7. A quarter is
** four from one of the two: see narrow_part. */
typedef struct Split {
  v128_t of[2];
} Split;
#define QUARTER_SPLIT(x, q) QUARTER_S8((x).of[(q) % 2], (q) / 2)

/* The largest f16 or f8 that a loop has read, as signed and as unsigned numbers. */
typedef struct Seen {
  v128_t most, negative;
} Seen;

/* The bytes that a load takes. */
#define BYTES_load          16
#define BYTES_load_f16      16
#define BYTES_load_f8e4m3fn 16
#define BYTES_load_f8e5m2   16
#define BYTES_load_flipped  16
#define BYTES_look_up       16
#define BYTES_load_signed   8
#define BYTES_load_unsigned 8
#define BYTES_load_centered 8
#define BYTES_load_rounded  32

/* Whether all numbers of a step are loaded before the first quarter, and not again for the next one. Measured for a vector by bf16,
** 0.87 of the time; by f16, whose loops need more registers, 1.3 (Node 20, 2026-11). */
#define HOLDS_load          true
#define HOLDS_load_f16      false
#define HOLDS_load_f8e4m3fn true
#define HOLDS_load_f8e5m2   true
#define HOLDS_load_flipped  true
#define HOLDS_look_up       true
#define HOLDS_load_signed   true
#define HOLDS_load_unsigned true
#define HOLDS_load_centered true
#define HOLDS_load_rounded  true

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

static inline Halves load_f8e4m3fn(const void *bytes, const Planes *planes, v128_t flipped,
                                   Split zero, Seen *seen) {
  v128_t x = wasm_v128_load(bytes);
  seen->most = wasm_i8x16_max(seen->most, wasm_v128_and(x, wasm_i8x16_const_splat(0x7f)));
  return f8e4m3fn_finite(x);
}

static inline Halves load_f8e5m2(const void *bytes, const Planes *planes, v128_t flipped,
                                 Split zero, Seen *seen) {
  v128_t x = wasm_v128_load(bytes);
  seen->most = wasm_i8x16_max(seen->most, x);
  seen->negative = wasm_u8x16_max(seen->negative, x);
  return f8e5m2_to_f16(x);
}

/* Numbers of f32, as rounded_to_bf16 in steps.c rounds those that are no NaN. Their sum is a NaN if one is. */
static inline v128_t rounded_number(v128_t x) {
  v128_t odd = wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_const_splat(1));
  v128_t sum = wasm_i32x4_add(wasm_i32x4_add(x, wasm_i32x4_const_splat(0x7fff)), odd);
  return wasm_v128_and(sum, wasm_i32x4_const_splat((int)0xffff0000));
}
static inline Halves load_rounded(const void *bytes, const Planes *planes, v128_t flipped,
                                  Split zero, Seen *seen) {
  v128_t x = wasm_v128_load(bytes), y = wasm_v128_load((const Byte *)bytes + 16);
  seen->most = wasm_f32x4_add(seen->most, x);
  seen->negative = wasm_f32x4_add(seen->negative, y);
  return (Halves){rounded_number(x), rounded_number(y)};
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

/* Infinities and NaNs are misread. Their bits are the largest: of positive ones among signed integers, of negative ones among
** unsigned integers. */
static inline bool has_f16(Seen seen) {
  return wasm_v128_any_true(
      wasm_v128_or(wasm_i16x8_ge(seen.most, wasm_i16x8_const_splat(0x7c00)),
                   wasm_u16x8_ge(seen.negative, wasm_i16x8_const_splat((int16_t)0xfc00))));
}
static inline bool has_f8e5m2(Seen seen) {
  return wasm_v128_any_true(
      wasm_v128_or(wasm_i8x16_ge(seen.most, wasm_i8x16_const_splat(0x7c)),
                   wasm_u8x16_ge(seen.negative, wasm_i8x16_const_splat((int8_t)0xfc))));
}
/* Signs are left out. */
static inline bool has_f8e4m3fn(Seen seen) {
  return wasm_v128_any_true(wasm_i8x16_eq(seen.most, wasm_i8x16_const_splat(0x7f)));
}
/* Infinities of both signs count as NaNs. */
static inline bool has_nan(Seen seen) {
  v128_t sum = wasm_f32x4_add(seen.most, seen.negative);
  return wasm_v128_any_true(wasm_f32x4_ne(sum, sum));
}
#define NOTE_load(b, seen)
#define NOTE_load_flipped(b, seen)
#define NOTE_load_signed(b, seen)
#define NOTE_load_unsigned(b, seen)
#define NOTE_load_centered(b, seen)
#define NOTE_look_up(b, seen)
#define NOTE_load_f16(b, seen)      NOTE(b, has_f16(seen))
#define NOTE_load_rounded(b, seen)  NOTE(b, has_nan(seen))
#define NOTE_load_f8e4m3fn(b, seen) NOTE(b, has_f8e4m3fn(seen))
#define NOTE_load_f8e5m2(b, seen)   NOTE(b, has_f8e5m2(seen))
#define NOTE(b, has_misread) \
  if (has_misread) *(b)->misread = true;

/* Rounds to nearest even by a power: 2^16 to bf16, 2^13 to f16, 1 not at all. 2^16 x must be finite, and x be 0 or normal in the
** narrow type, or have few enough bits. 2^16 x - x is rounded to a multiple of bf16's last unit, and taking it from 2^16 x,
** which is exact, leaves x rounded to that unit (Dekker, A Floating-Point Technique for Extending the Available Precision,
** 1971; all 2^24 significands were compared with rounding by bits). */
static inline v128_t rounded(v128_t x, v128_t power) {
  v128_t large = wasm_f32x4_mul(x, power);
  return wasm_f32x4_sub(large, wasm_f32x4_sub(large, x));
}

/* The same, also of subnormal results: adds 3/2 of a power of two whose last unit is x's, or the smallest one's, and subtracts it.
** Below `least` all exponents count as that; `above` is the distance of the exponents, and the half. As bits of f32. */
static inline v128_t rounded_all(v128_t x, v128_t least, v128_t above) {
  v128_t exponent = wasm_v128_and(x, wasm_i32x4_const_splat(0x7f800000));
  v128_t power = wasm_i32x4_add(wasm_i32x4_max(exponent, least), above);
  return wasm_f32x4_sub(wasm_f32x4_add(x, power), power);
}

/* scale, zero: expressions, which need not be evaluated. `less` and `rounding` are variables of the loops. */
#define PLAIN(x, scale, zero)      (x)
#define LESS(x, scale, zero)       wasm_f32x4_sub(x, zero)
#define SCALED(x, scale, zero)     wasm_f32x4_mul(x, scale)
#define FEW_SCALES(x, scale, zero) SCALED(x, scale, zero)
#define MOVED(x, scale, zero)      wasm_f32x4_mul(wasm_f32x4_sub(x, zero), scale)
#define ROUNDED(x, scale, zero)    rounded(MOVED(x, scale, zero), rounding[0])
#define ROUNDED_MOVED(x, scale, zero) \
  rounded_all(wasm_f32x4_mul(rounded(wasm_f32x4_sub(x, zero), rounding[1]), scale), least, above)
#define AFFINE(x, scale, zero) wasm_f32x4_add(wasm_f32x4_mul(x, scale), zero)
#define ROUNDED_AFFINE(x, scale, zero) \
  rounded(wasm_f32x4_add(rounded(wasm_f32x4_mul(x, scale), rounding[0]), zero), rounding[1])
#define LESS_AFFINE(x, scale, zero) AFFINE(wasm_f32x4_sub(x, less), scale, zero)
/* Whether the first step of a sum by columns is code of its own. That makes blocks of 32 numbers with one scale 1.25 times as fast,
** and the code longer. FEW_SCALES is for floats, whose blocks are longer. */
#define BEGINS_PLAIN_KEPT          0
#define BEGINS_PLAIN_TIMES         1
#define BEGINS_LESS_TIMES          1
#define BEGINS_SCALED_KEPT         1
#define BEGINS_FEW_SCALES_KEPT     0
#define BEGINS_MOVED_KEPT          1
#define BEGINS_ROUNDED_KEPT        1
#define BEGINS_ROUNDED_MOVED_KEPT  0
#define BEGINS_AFFINE_KEPT         0
#define BEGINS_LESS_AFFINE_KEPT    0
#define BEGINS_ROUNDED_AFFINE_KEPT 0
#ifdef XLA_RELAXED_SIMD
#define MADD(sum, x, y) wasm_f32x4_relaxed_madd(x, y, sum)
#else
#define MADD(sum, x, y) wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))
#endif
/* What happens to sums of a block. */
#define TIMES(sum, scale) wasm_f32x4_mul(sum, scale)
#define KEPT(sum, scale)  (sum)

/* ---- Exports ---- */

#ifdef XLA_RELAXED_SIMD
/* Exports are known by number: ten times the row's, and the slot's. */
#define LOOP
#define SLOT(ROW, slot, Type, name) __attribute__((export_name(#ROW #slot))) Type name;
#else
#define LOOP                        static
#define SLOT(ROW, slot, Type, name) static Type name;
#endif
/* ORDER NARROW_SLOT: the numbers in NARROW_BY. */
_Static_assert(SLOT_ROWS == 0 && SLOT_LINE == 5, "the exports");

/* ---- Rows of the matrix ---- */

/* Zeros of 16 columns that are bytes. */
#define ZEROS_AT(zero)                                   \
  (Split) {                                              \
    { wasm_v128_load(zero), wasm_v128_load((zero) + 4) } \
  }
/* The numbers that all steps share. */
#define STEP_NUMBERS(b)                                                            \
  const v128_t less = wasm_f32x4_splat((b)->less);                                 \
  const v128_t rounding[] = {wasm_f32x4_splat((b)->rounding[0]),                   \
                             wasm_f32x4_splat((b)->rounding[1])};                  \
  const bool is_f16 = (b)->rounding[(b)->rounding[0] == 1] == 0x1p13f;             \
  const v128_t least = wasm_i32x4_splat(is_f16 ? 113 << 23 : 0);                   \
  const v128_t above = wasm_i32x4_splat((is_f16 ? 13 << 23 : 16 << 23) | 1 << 22); \
  (void)less, (void)rounding, (void)least, (void)above;

/* Threshold STEP. Test: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time, as long as there are as many. Goes by
** quarters, so that few registers are live. */
#define ROWS_BY_DEPTH(name, QUARTERS, Number, load, quarter, FORM, ROWS, DEPTH)                \
  LOOP void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to,      \
                 int rows_apart) {                                                             \
    enum { STEP = 4 * (QUARTERS) };                                                            \
    const Planes planes = planes_of(b->table);                                                 \
    const v128_t flipped = wasm_i8x16_splat((int8_t)b->flipped);                               \
    STEP_NUMBERS(b)                                                                            \
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
      UNROLLED for (int k = 0; k < (HOLDS_##load ? (DEPTH) : 0); k++) {                        \
        held[k] = load(matrix + k * stride, &planes, flipped, ZEROS_AT(zero), &seen);          \
      }                                                                                        \
      UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                          \
        v128_t sum[ROWS];                                                                      \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                            \
          sum[i] = wasm_v128_load(to + i * apart + 16 * q);                                    \
        }                                                                                      \
        UNROLLED for (int k = 0; k < (DEPTH); k++) {                                           \
          Number number = HOLDS_##load ? held[k]                                               \
                                       : load(matrix + k * stride, &planes, flipped,           \
                                              ZEROS_AT(zero), (q) ? &ignored : &seen);         \
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
/* Multiplies ROWS vectors by STEP numbers of LINES lines. If `begins`, sums begin with these products. Two sums, so that each
** product is added by one fused operation, gained 6 % where engines have it, but nothing in a model's step, for 1.1 kB. */
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
#define LINES_BY_COLUMNS(name, QUARTERS, Number, load, quarter, FORM, FOLD, ROWS, LINES)          \
  LOOP void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, ptrdiff_t stride, \
                 const Byte *scales, const Byte *zeros, ptrdiff_t scale_stride, Byte *to,         \
                 int apart) {                                                                     \
    enum { STEP = 4 * (QUARTERS) };                                                               \
    const Planes planes = planes_of(b->table);                                                    \
    const v128_t flipped = wasm_i8x16_splat((int8_t)b->flipped);                                  \
    STEP_NUMBERS(b)                                                                               \
    Seen seen = {wasm_i32x4_const_splat(0), wasm_i32x4_const_splat(0)};                           \
    const ptrdiff_t row = b->vector_stride;                                                       \
    const v128_t factor = wasm_f32x4_splat(b->factor);                                            \
    (void)factor;                                                                                 \
    v128_t sum[ROWS][LINES], total[ROWS][LINES];                                                  \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                                   \
      UNROLLED for (int l = 0; l < (LINES); l++) total[i][l] = wasm_i32x4_const_splat(0);         \
    }                                                                                             \
    for (int left = b->depth & -STEP, same = b->scale_block; left > 0;) {                         \
      int count = same < BLOCK_DEPTH ? same : BLOCK_DEPTH;                                        \
      count = count < left ? count : left;                                                        \
      left -= count;                                                                              \
      same -= count;                                                                              \
      if (BEGINS_##FORM##_##FOLD) {                                                               \
        LINES_STEP(QUARTERS, Number, load, quarter, FORM, ROWS, LINES, true)                      \
        count -= STEP;                                                                            \
      }                                                                                           \
      UNROLLED for (int i = 0; i < (BEGINS_##FORM##_##FOLD ? 0 : (ROWS)); i++) {                  \
        UNROLLED for (int l = 0; l < (LINES); l++) sum[i][l] = wasm_i32x4_const_splat(0);         \
      }                                                                                           \
      for (; count > 0; count -= STEP) {                                                          \
        LINES_STEP(QUARTERS, Number, load, quarter, FORM, ROWS, LINES, false)                     \
      }                                                                                           \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                                \
        const Byte *scale = scales + l * scale_stride;                                            \
        (void)scale;                                                                              \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
          total[i][l] =                                                                           \
              wasm_f32x4_add(total[i][l], FOLD(sum[i][l], wasm_v128_load32_splat(scale)));        \
        }                                                                                         \
      }                                                                                           \
      if (same > 0) continue;                                                                     \
      same = b->scale_block;                                                                      \
      scales += 4;                                                                                \
      zeros += 4;                                                                                 \
    }                                                                                             \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                                   \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                                \
        ((float *)(to + i * b->sums_stride))[l * apart] += sum_of(FOLD(total[i][l], factor));     \
      }                                                                                           \
    }                                                                                             \
    NOTE_##load(b, seen)                                                                          \
  }

/* ---- Types ---- */

/* DEPTH, LINES: rows and lines that one vector is multiplied by at a time. */
#define NARROW(ROW, name, ...) NARROW_BY(ROW, name, v128_t, __VA_ARGS__)
#define NARROW_BY(ROW, name, Number, QUARTERS, load, quarter, FORM, FOLD, DEPTH, LINES)   \
  NARROW_ONE(ROW, name, Number, QUARTERS, load, quarter, FORM, FOLD, DEPTH, LINES)        \
  SLOT(ROW, 2, DepthLoop, vectors_##name)                                                 \
  SLOT(ROW, 5, ColumnsLoop, line_##name)                                                  \
  ROWS_BY_DEPTH(vectors_##name, QUARTERS, Number, load, quarter, FORM, NARROW_VECTORS, 2) \
  LINES_BY_COLUMNS(line_##name, QUARTERS, Number, load, quarter, FORM, FOLD, LINE_VECTORS, 1)
/* The same of one vector only. */
#define NARROW_ONE(ROW, name, Number, QUARTERS, load, quarter, FORM, FOLD, DEPTH, LINES) \
  _Static_assert(ROW_##name == (ROW), "the row's number");                               \
  SLOT(ROW, 0, DepthLoop, rows_##name)                                                   \
  SLOT(ROW, 1, DepthLoop, row_##name)                                                    \
  SLOT(ROW, 3, ColumnsLoop, lines_##name)                                                \
  SLOT(ROW, 4, ColumnsLoop, pair_##name)                                                 \
  ROWS_BY_DEPTH(rows_##name, QUARTERS, Number, load, quarter, FORM, 1, DEPTH)            \
  ROWS_BY_DEPTH(row_##name, QUARTERS, Number, load, quarter, FORM, 1, 1)                 \
  LINES_BY_COLUMNS(lines_##name, QUARTERS, Number, load, quarter, FORM, FOLD, 1, LINES)  \
  LINES_BY_COLUMNS(pair_##name, QUARTERS, Number, load, quarter, FORM, FOLD, 1, 2)

/* ORDER NARROW_ROW. Similar rows are neighbours, which compress to less. */
_Static_assert(ROW_bf16 == 1 && ROW_rounded_f32 == 24,
               "the numbers of rows; each row asserts its own");
NARROW(1, bf16, 2, load, QUARTER_BF16, PLAIN, KEPT, 4, 4)
NARROW(2, scaled_bf16, 2, load, QUARTER_BF16, FEW_SCALES, KEPT, 4, 2)
NARROW_BY(3, scaled_f8e4m3fn, Halves, 4, load_f8e4m3fn, QUARTER_OF_BF16, FEW_SCALES, KEPT, 2, 2)
NARROW_ONE(4, f8e4m3fn, Halves, 4, load_f8e4m3fn, QUARTER_OF_BF16, PLAIN, KEPT, 2, 2)
NARROW_ONE(5, f16, v128_t, 2, load_f16, QUARTER_F16, PLAIN, KEPT, 4, 4)
NARROW(6, scaled_f16, 2, load_f16, QUARTER_F16, FEW_SCALES, KEPT, 4, 2)
NARROW_BY(7, scaled_f8e5m2, Halves, 4, load_f8e5m2, QUARTER_OF_F16, FEW_SCALES, KEPT, 2, 2)
NARROW_ONE(8, f8e5m2, Halves, 4, load_f8e5m2, QUARTER_OF_F16, PLAIN, KEPT, 2, 2)
NARROW(9, s8, 4, load, QUARTER_S8, PLAIN, TIMES, 4, 4)
NARROW(10, less_s8, 4, load_flipped, QUARTER_S8, LESS, TIMES, 4, 2)
NARROW(11, scaled_s8, 4, load, QUARTER_S8, SCALED, KEPT, 4, 2)
NARROW(12, moved_s8, 4, load_flipped, QUARTER_S8, MOVED, KEPT, 4, 2)
NARROW(13, rounded_s8, 4, load_flipped, QUARTER_S8, ROUNDED, KEPT, 4, 2)
NARROW(14, affine_s8, 4, load_flipped, QUARTER_S8, LESS_AFFINE, KEPT, 1, 2)
NARROW_BY(15, signed, Split, 4, load_signed, QUARTER_SPLIT, PLAIN, TIMES, 4, 4)
NARROW_BY(16, centered, Split, 4, load_centered, QUARTER_SPLIT, PLAIN, TIMES, 4, 2)
NARROW_BY(17, scaled_signed, Split, 4, load_signed, QUARTER_SPLIT, SCALED, KEPT, 4, 2)
NARROW_BY(18, moved_unsigned, Split, 4, load_unsigned, QUARTER_SPLIT, MOVED, KEPT, 4, 2)
NARROW_BY(19, rounded_whole, Split, 4, load_unsigned, QUARTER_SPLIT, ROUNDED, KEPT, 4, 2)
NARROW_BY(20, rounded_unsigned, Split, 4, load_unsigned, QUARTER_SPLIT, ROUNDED_MOVED, KEPT, 4, 2)
NARROW_BY(21, affine_unsigned, Split, 4, load_unsigned, QUARTER_SPLIT, AFFINE, KEPT, 1, 2)
NARROW_BY(22, rounded_affine_unsigned, Split, 4, load_unsigned, QUARTER_SPLIT, ROUNDED_AFFINE, KEPT,
          1, 2)
NARROW_BY(23, found, Found, 4, look_up, QUARTER_FOUND, SCALED, KEPT, 1, 2)
NARROW_ONE(24, rounded_f32, Halves, 2, load_rounded, QUARTER_EACH, PLAIN, KEPT, 2, 2)

#ifndef XLA_RELAXED_SIMD
/* clang-format off */
#define SLOTS(name) \
  [ROW_##name] = {rows_##name, row_##name, vectors_##name, lines_##name, pair_##name, line_##name}
#define SLOTS_ONE(name) \
  [ROW_##name] = {rows_##name, row_##name, NULL, lines_##name, pair_##name, NULL}
/* clang-format on */
void *narrow_loop(NarrowRow row, int slot) {
  static void *const loops[][NARROW_SLOTS] = {
      SLOTS(bf16),
      SLOTS(scaled_bf16),
      SLOTS(scaled_f8e4m3fn),
      SLOTS_ONE(f8e4m3fn),
      SLOTS_ONE(f16),
      SLOTS(scaled_f16),
      SLOTS(scaled_f8e5m2),
      SLOTS_ONE(f8e5m2),
      SLOTS(s8),
      SLOTS(less_s8),
      SLOTS(scaled_s8),
      SLOTS(moved_s8),
      SLOTS(rounded_s8),
      SLOTS(affine_s8),
      SLOTS(signed),
      SLOTS(centered),
      SLOTS(scaled_signed),
      SLOTS(moved_unsigned),
      SLOTS(rounded_whole),
      SLOTS(rounded_unsigned),
      SLOTS(affine_unsigned),
      SLOTS(rounded_affine_unsigned),
      SLOTS(found),
      SLOTS_ONE(rounded_f32),
  };
  return loops[row][slot];
}
#endif
