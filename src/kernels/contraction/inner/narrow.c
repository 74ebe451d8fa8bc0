/*
** Multiplies vectors by matrices of narrow numbers: chooses the loops of narrow_loops.c and calls them for groups of vectors and
** of rows or lines. The loops handle whole steps. The rest of a row or a line is copied into a buffer, with zeros after it, for
** one more step (rest_by_depth, rest_by_columns).
*/
#include "kernels/contraction/inner/narrow.h"

#include <string.h>

#include "kernels/contraction/inner/narrow_loops.h"
#include "kernels/contraction/inner/vectors.h"

typedef uint8_t Byte;

/* What a row of narrow_loops.c reads at once: numbers, and bytes in which they lie; and the rows and lines that one vector is
** multiplied by. */
typedef struct Steps {
  uint8_t numbers, bytes, rows, lines;
} Steps;
static const Steps steps_of[] = {
    [ROW_bf16] = {8, 16, 4, 4},
    [ROW_scaled_bf16] = {8, 16, 4, 2},
    [ROW_scaled_f8e4m3fn] = {16, 16, 2, 2},
    [ROW_f8e4m3fn] = {16, 16, 2, 2},
    [ROW_f16] = {8, 16, 4, 4},
    [ROW_scaled_f16] = {8, 16, 4, 2},
    [ROW_scaled_f8e5m2] = {16, 16, 2, 2},
    [ROW_f8e5m2] = {16, 16, 2, 2},
    [ROW_s8] = {16, 16, 4, 4},
    [ROW_less_s8] = {16, 16, 4, 2},
    [ROW_scaled_s8] = {16, 16, 4, 2},
    [ROW_moved_s8] = {16, 16, 4, 2},
    [ROW_rounded_s8] = {16, 16, 4, 2},
    [ROW_affine_s8] = {16, 16, 1, 2},
    [ROW_signed] = {16, 8, 4, 4},
    [ROW_centered] = {16, 8, 4, 2},
    [ROW_scaled_signed] = {16, 8, 4, 2},
    [ROW_moved_unsigned] = {16, 8, 4, 2},
    [ROW_rounded_whole] = {16, 8, 4, 2},
    [ROW_rounded_unsigned] = {16, 8, 4, 2},
    [ROW_affine_unsigned] = {16, 8, 1, 2},
    [ROW_rounded_affine_unsigned] = {16, 8, 1, 2},
    [ROW_found] = {16, 16, 1, 2},
    [ROW_rounded_f32] = {8, 32, 2, 2},
};

/* ---- Rows of the matrix ---- */

/* Threshold SOME_NUMBERS. Test: "units, blocks of the depth and lists of scales of several sizes" in
** core/quantised.test.mjs. */
enum {
  REST_ROWS = 20,      /* room for `MAX_VECTORS` vectors */
  SOME_NUMBERS = 65536 /* of the matrix */
};

static void by_depth_whole(NarrowRow row, const NarrowBlock *b);

/* Multiplies the last columns: copies of them, with zeros after them. */
static void rest_by_depth(NarrowRow row, const NarrowBlock *b) {
  const Steps *steps = &steps_of[row];
  int step = steps->numbers, bytes = steps->bytes, first = b->columns & -step;
  Byte rest[NARROW_DEPTH][32];
  NarrowBlock part = *b;
  int left = b->columns - first;
  if (left == 0) return;
  part.columns = step;
  part.matrix = rest[0];
  part.matrix_stride = sizeof rest[0];
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
    by_depth_whole(row, &part);
  }
}

/* Multiplies vectors from number i on by the rows from number k on, `together` at a time. Rows that are read together are far
** from each other: each of these streams goes on in the next row. Returns the first row that is left. */
static int multiply_rows(const NarrowBlock *b, DepthLoop *loop, int together, int i, int k) {
  int apart = (b->depth - k) / together, end = k + apart;
  for (; k < end; k++) {
    loop(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k, b->matrix + k * b->matrix_stride,
         b->sums + i * b->sums_stride, apart);
  }
  return k + apart * (together - 1);
}

/* Multiplies vector i, or the two from number i on, by all rows. Returns the number of vectors. */
static int multiply_vectors(NarrowRow row, const NarrowBlock *b, int i) {
  bool one = b->rows - i < NARROW_VECTORS;
  int vectors = one ? 1 : NARROW_VECTORS;
  DepthLoop *loop = (DepthLoop *)narrow_loop(row, one ? SLOT_ROWS : SLOT_VECTORS);
  int k = multiply_rows(b, loop, one ? steps_of[row].rows : 2, i, 0);
  for (int l = 0; l < vectors && k < b->depth; l++) {
    multiply_rows(b, (DepthLoop *)narrow_loop(row, SLOT_ROW), 1, i + l, k);
  }
  return vectors;
}

/* If there are more vectors, they are multiplied by some rows at a time, which stay in the second cache. */
static void by_depth_whole(NarrowRow row, const NarrowBlock *b) {
  int some = b->rows > NARROW_VECTORS ? SOME_NUMBERS / b->columns + NARROW_DEPTH : b->depth;
  NarrowBlock part = *b;
  for (int k = 0; k < b->depth; k += some) {
    part.depth = b->depth - k < some ? b->depth - k : some;
    for (int i = 0; i < b->rows;) i += multiply_vectors(row, &part, i);
    part.vectors += 4 * (ptrdiff_t)some;
    part.matrix += some * b->matrix_stride;
  }
}

/* ---- Lines of the matrix ---- */

static void by_columns_whole(NarrowRow row, const NarrowBlock *b);

/* Multiplies the last numbers of the depth, like rest_by_depth. Vectors for packed numbers, which are parted, have zeros after
** them. */
static void rest_by_columns(NarrowRow row, const NarrowBlock *b) {
  const Steps *steps = &steps_of[row];
  int step = steps->numbers, bytes = steps->bytes, first = b->depth & -step;
  Byte rest[32], vectors[REST_ROWS][64];
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
    by_columns_whole(row, &part);
    part.scales = (const float *)((const Byte *)part.scales + b->scale_stride);
    part.zeros = (const float *)((const Byte *)part.zeros + b->scale_stride);
  }
}

/* Multiplies vectors from number i on by the lines from number j on, `together` at a time, which are far from each other. Returns
** the first line that is left. */
static int multiply_lines(const NarrowBlock *b, ColumnsLoop *loop, int together, int i, int j) {
  int apart = (b->columns - j) / together, end = j + apart;
  for (; j < end; j++) {
    loop(b, b->vectors + i * b->vector_stride, b->matrix + j * b->matrix_stride,
         apart * b->matrix_stride, (const Byte *)b->scales + j * b->scale_stride,
         (const Byte *)b->zeros + j * b->scale_stride, apart * b->scale_stride,
         b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j, apart);
  }
  return j + apart * (together - 1);
}

/* Multiplies vector i by all lines. One that is left over takes the place of both lines of a pair. */
static void multiply_vector(NarrowRow row, const NarrowBlock *b, int i) {
  ColumnsLoop *pair = (ColumnsLoop *)narrow_loop(row, SLOT_PAIR);
  int lines = steps_of[row].lines;
  int j = multiply_lines(b, (ColumnsLoop *)narrow_loop(row, SLOT_LINES), lines, i, 0);
  j = multiply_lines(b, pair, 2, i, j);
  if (j == b->columns) return;
  float sums[2] = {0, 0};
  pair(b, b->vectors + i * b->vector_stride, b->matrix + j * b->matrix_stride, 0,
       (const Byte *)b->scales + j * b->scale_stride, (const Byte *)b->zeros + j * b->scale_stride,
       0, (Byte *)sums, 1);
  ((float *)(b->sums + i * b->sums_stride))[j] += sums[0];
}

static void by_columns_whole(NarrowRow row, const NarrowBlock *b) {
  int i = 0;
  for (; b->rows - i >= LINE_VECTORS; i += LINE_VECTORS) {
    multiply_lines(b, (ColumnsLoop *)narrow_loop(row, SLOT_LINE), 1, i, 0);
  }
  for (; i < b->rows; i++) multiply_vector(row, b, i);
}

/* ---- Both ---- */

static const float no_table[16];

void narrow_multiply(NarrowRow row, const NarrowBlock *block, bool along_depth) {
  NarrowBlock b = *block;
  if (!b.table) b.table = no_table;
  if (along_depth) {
    by_columns_whole(row, &b);
    rest_by_columns(row, &b);
  } else {
    by_depth_whole(row, &b);
    rest_by_depth(row, &b);
  }
}

/* ---- Types ---- */

/* Returns the affine loops: of numbers of 4 bits in pairs, or of bytes. Those that round are for pairs only. */
static const NarrowLoops *affine_loops(PrimitiveType type, bool packed, bool rounds) {
  static const NarrowLoops pairs = {
      .scaled = ROW_affine_unsigned, .factor = 0x1p-24f, .packed = true, .adds = true};
  static const NarrowLoops rounded_pairs = {.scaled = ROW_rounded_affine_unsigned,
                                            .factor = 0x1p-24f,
                                            .packed = true,
                                            .rounds = true,
                                            .adds = true};
  static const NarrowLoops bytes = {.scaled = ROW_affine_s8, .factor = 0x1p-24f, .adds = true};
  static const NarrowLoops u8 = {
      .scaled = ROW_affine_s8, .factor = 0x1p-24f, .flipped = 0x80, .zero = -128, .adds = true};
  if (packed && type == U4) return rounds ? &rounded_pairs : &pairs;
  if (rounds || !type_is_integral(type)) return NULL;
  return type == U8 ? &u8 : &bytes;
}

const NarrowLoops *narrow_loops(PrimitiveType type, NarrowForm form) {
  static const NarrowLoops bf16 = {.plain = ROW_bf16, .scaled = ROW_scaled_bf16, .factor = 1};
  static const NarrowLoops f16 = {
      .plain = ROW_f16, .scaled = ROW_scaled_f16, .factor = 0x1p112f, .of_one = true};
  static const NarrowLoops s8 = {
      .plain = ROW_s8, .scaled = ROW_scaled_s8, .factor = 0x1p-24f, .is_integral = true};
  static const NarrowLoops moved_s8 = {
      .plain = ROW_less_s8, .scaled = ROW_moved_s8, .factor = 0x1p-24f, .is_integral = true};
  static const NarrowLoops u8 = {ROW_less_s8, ROW_moved_s8,    0x1p-24f,
                                 true,        .flipped = 0x80, .zero = -128};
  static const NarrowLoops rounded_s8 = {
      .scaled = ROW_rounded_s8, .factor = 0x1p-24f, .is_integral = true, .rounds = true};
  static const NarrowLoops rounded_u8 = {.scaled = ROW_rounded_s8,
                                         .factor = 0x1p-24f,
                                         .is_integral = true,
                                         .flipped = 0x80,
                                         .zero = -128,
                                         .rounds = true};
  static const NarrowLoops f8e4m3fn = {
      .plain = ROW_f8e4m3fn, .scaled = ROW_scaled_f8e4m3fn, .factor = 1, .of_one = true};
  static const NarrowLoops f8e5m2 = {
      .plain = ROW_f8e5m2, .scaled = ROW_scaled_f8e5m2, .factor = 0x1p112f, .of_one = true};
  static const NarrowLoops byte = {.scaled = ROW_found, .factor = 1, .looks_before = true};
  static const NarrowLoops half_byte = {.scaled = ROW_found, .factor = 1};
  static const NarrowLoops rounded_f32 = {.plain = ROW_rounded_f32, .factor = 1, .of_one = true};
  if (form == NARROW_ROUNDED_F32) return &rounded_f32;
  if (form == NARROW_LOOKED_UP) return type_bits(type) == 8 ? &byte : &half_byte;
  bool rounds = form == NARROW_ROUNDED_AFFINE;
  if (form == NARROW_AFFINE || rounds) return affine_loops(type, false, rounds);
  if (form == NARROW_ROUNDED) {
    if (!type_is_integral(type)) return NULL;
    return type == U8 ? &rounded_u8 : &rounded_s8;
  }
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
  static const NarrowLoops plain = {ROW_signed, ROW_scaled_signed, 0x1p-28f, true, .packed = true};
  static const NarrowLoops moved_s4 = {
      ROW_centered,    ROW_moved_unsigned, 0x1p-24f,         true,
      .flipped = 0x88, .zero = 8,          .centered = true, .packed = true};
  static const NarrowLoops u4 = {ROW_centered, ROW_moved_unsigned, 0x1p-24f,
                                 true,         .centered = true,   .packed = true};
  static const NarrowLoops rounded_s4 = {.scaled = ROW_rounded_unsigned,
                                         .whole = ROW_rounded_whole,
                                         .factor = 0x1p-24f,
                                         .is_integral = true,
                                         .flipped = 0x88,
                                         .zero = 8,
                                         .packed = true,
                                         .rounds = true,
                                         .rounds_moved = true};
  static const NarrowLoops rounded_u4 = {.scaled = ROW_rounded_unsigned,
                                         .whole = ROW_rounded_whole,
                                         .factor = 0x1p-24f,
                                         .is_integral = true,
                                         .packed = true,
                                         .rounds = true,
                                         .rounds_moved = true};
  if (type_bits(type) != 4 || form == NARROW_LOOKED_UP) return narrow_loops(type, form);
  bool rounds = form == NARROW_ROUNDED_AFFINE;
  if (form == NARROW_AFFINE || rounds) return affine_loops(type, true, rounds);
  if (form == NARROW_ROUNDED) return type == U4 ? &rounded_u4 : &rounded_s4;
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

/* Threshold MIN_SCALE, MAX_SCALE. Test: "a number times its scale is rounded first, and large sums do not overflow" in
** core/quantised.test.mjs. */
/* Threshold MIN_F16, MAX_F16, MAX_F16_BIAS. Test: "a number times its scale plus a bias is rounded as the program says" in
** core/quantised.test.mjs. */
/* The bits that scales must not have, so that a product with nine bits has at most 24. Exponents that are far from the ends; those
** of a product with 9 bits that f16 has; those of numbers that can be added to it. As bits of f32. */
enum {
  LOW_BITS = 0x1ff,
  MIN_SCALE = (127 - 64) << 23,
  MAX_SCALE = (127 + 64) << 23,
  MIN_F16 = (127 - 14) << 23,
  MAX_F16 = (127 + 6) << 23,
  MAX_F16_BIAS = (127 + 14) << 23,
};
typedef struct Limits {
  int32_t min, max;
} Limits;
static const Limits moderate = {MIN_SCALE, MAX_SCALE}, in_f16 = {MIN_F16, MAX_F16},
                    addend_in_f16 = {1, MAX_F16_BIAS};

/* Whether numbers are 0 or within limits, and have none of the bits `low`. */
static bool scales_lack(uint32_t low, Limits limits, const float *scales, int64_t count) {
  v128_t bits = wasm_i32x4_const_splat(0), max = bits, min = wasm_i32x4_const_splat(-1);
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    v128_t x = wasm_v128_load(scales + i);
    v128_t magnitude = wasm_v128_and(x, wasm_i32x4_const_splat(INT32_MAX));
    bits = wasm_v128_or(bits, x);
    max = wasm_u32x4_max(max, magnitude);
    /* 0, which is exact, becomes the largest number. */
    min = wasm_u32x4_min(min, wasm_i32x4_sub(magnitude, wasm_i32x4_const_splat(1)));
  }
  if (i < count) {
    float last[4] = {1, 1, 1, 1};
    memcpy(last, scales + i, (size_t)(count - i) * sizeof *last);
    if (!scales_lack(low, limits, last, 4)) return false;
  }
  v128_t wrong = wasm_v128_or(wasm_v128_and(bits, wasm_i32x4_splat((int32_t)low)),
                              wasm_u32x4_gt(max, wasm_i32x4_splat(limits.max)));
  return !wasm_v128_any_true(
      wasm_v128_or(wrong, wasm_u32x4_lt(min, wasm_i32x4_splat(limits.min - 1))));
}

bool narrow_are_small(float *zeros, int64_t count) {
  /* Threshold MAX_SMALL: 2^7 less 16. Test: "zero points that are small integers, large ones and fractions, with rounding to bf16"
  ** in core/quantised.test.mjs. */
  enum { MAX_SMALL = 112 };
  v128_t wrong = wasm_i32x4_const_splat(0);
  memset(zeros + count, 0, (size_t)(-count & 3) * sizeof *zeros);
  for (int64_t i = 0; i < count; i += 4) {
    v128_t x = wasm_v128_load(zeros + i), whole = wasm_f32x4_nearest(x);
    v128_t is_large = wasm_f32x4_gt(wasm_f32x4_abs(x), wasm_f32x4_const_splat(MAX_SMALL));
    wrong = wasm_v128_or(wrong, wasm_v128_or(is_large, wasm_f32x4_ne(x, whole)));
  }
  return !wasm_v128_any_true(wrong);
}

bool narrow_scales_are_exact(const float *scales, int64_t count) {
  return scales_lack(LOW_BITS, moderate, scales, count);
}

bool narrow_scales_can_round(PrimitiveType type, const float *scales, int64_t count) {
  return scales_lack(0, type == F16 ? in_f16 : moderate, scales, count);
}

bool narrow_biases_can_round(PrimitiveType type, const float *biases, int64_t count) {
  return scales_lack(0, type == F16 ? addend_in_f16 : moderate, biases, count);
}

void narrow_add_scaled(const float *plain, const float *scales, int64_t count, float *sums) {
  for (int64_t i = 0; i < count; i += 4) {
    v128_t more = wasm_v128_load(plain + i);
    if (scales) more = wasm_f32x4_mul(more, wasm_v128_load(scales + i));
    wasm_v128_store(sums + i, wasm_f32x4_add(wasm_v128_load(sums + i), more));
  }
}

/* ---- Misread numbers ---- */

bool narrow_has_bytes_from_16(const uint8_t *elements, int64_t count) {
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
