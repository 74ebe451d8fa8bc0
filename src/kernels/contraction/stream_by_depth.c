/*
** Streams a matrix whose rows are contiguous: a block of their sums stays in the first cache, and each row times a number of
** the vector is added to it. See stream_order.h.
**
** The two vectors of a complex one are its real and its imaginary parts; each is multiplied by the matrix's reals. The sums of
** (re, im) times either are combined when they are stored.
*/
#include "kernels/contraction/stream_order.h"

#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"

/* Threshold MAX_ROWS: rows of a block, so that the error of a sum does not grow with the depth.
** Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
enum { MAX_ROWS = 256 };

/* Whole rows, as long as their sums fit: processors read ahead along a row, but not to the next part of a row.
** Measured: 1.5x on f32[4096,4096] against parts of 4 kB (Zen 3, Node 20, 2026-11). */
static int64_t unit_columns(int64_t depth, int64_t elements) { return INT64_MAX; }

/* ---- Complex numbers ---- */

#define SPLIT(name, real)                                                         \
  static void name(const void *pairs, int64_t count, void *first, void *second) { \
    const real *pair = pairs;                                                     \
    real *a = first, *b = second;                                                 \
    for (int64_t k = 0; k < count; k++, pair += 2) {                              \
      a[k] = pair[0];                                                             \
      b[k] = pair[1];                                                             \
    }                                                                             \
  }
SPLIT(split_c64, float)
SPLIT(split_c128, double)

#define COMBINE(name, real)                                                             \
  static void name(const void *first, const void *second, int64_t count, void *pairs) { \
    const real *a = first, *b = second;                                                 \
    real *pair = pairs;                                                                 \
    for (int64_t j = 0; j < count; j++, pair += 2) {                                    \
      pair[0] = a[2 * j] - b[2 * j + 1];                                                \
      pair[1] = a[2 * j + 1] + b[2 * j];                                                \
    }                                                                                   \
  }
COMBINE(combine_c64, float)
COMBINE(combine_c128, double)

/* ---- Numbers of the arithmetic ---- */

/* Interleaves two rows of s16 into a row of pairs. */
static void interleave_s16(const int16_t *a, const int16_t *b, int64_t count, int16_t *out) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    v128_t x = wasm_v128_load(a + i), y = wasm_v128_load(b + i);
    wasm_v128_store(out + 2 * i, wasm_i16x8_shuffle(x, y, 0, 8, 1, 9, 2, 10, 3, 11));
    wasm_v128_store(out + 2 * i + 8, wasm_i16x8_shuffle(x, y, 4, 12, 5, 13, 6, 14, 7, 15));
  }
  for (; i < count; i++) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

static void load_pairs(const Loader *loader, const uint8_t *from, size_t stride, int64_t rows,
                       int64_t columns, uint8_t *out) {
  /* Threshold SOME. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { SOME = 256 };
  int16_t row[2][SOME];
  size_t bytes = (size_t)type_bytes(loader->from);
  for (int64_t k = 0; k < rows; k += 2) {
    for (int64_t j = 0; j < columns; j += SOME) {
      int64_t count = min_i64(columns - j, SOME);
      const uint8_t *at = from + (size_t)k * stride + (size_t)j * bytes;
      load_elements(loader, at, 1, count, (uint8_t *)row[0]);
      if (k + 1 < rows)
        load_elements(loader, at + stride, 1, count, (uint8_t *)row[1]);
      else
        memset(row[1], 0, sizeof row[1]);
      interleave_s16(row[0], row[1], count, (int16_t *)out + 2 * (k / 2 * columns + j));
    }
  }
}

/* Threshold SOME_BYTES, LOOP_VECTORS. Test: "units, blocks of the depth and lists of scales of several sizes" in
** core/quantised.test.mjs. */
/* Multiplies rows as they lie in memory: all, or for more vectors than the loop takes at a time some that stay in the second
** cache.
** Measured: 8 vectors by f32[4096,4096] 0.80 of the time (Node 20, 2026-11). */
static void multiply_rows(StreamLoop *loop, int columns, const Block *block,
                          const Vectors *vectors) {
  enum { SOME_BYTES = 131072, LOOP_VECTORS = 4 };
  ptrdiff_t bytes = block->stream->arithmetic->lane_bytes, stride = (ptrdiff_t)block->stride;
  int depth = vectors->depth, some = depth;
  if (vectors->count > LOOP_VECTORS) {
    some = (int)max_i64(SOME_BYTES / (columns * bytes), CONVERTED_ROWS);
  }
  for (int k = 0; k < depth; k += some) {
    loop(vectors->count, columns, depth - k < some ? depth - k : some,
         (const uint8_t *)vectors->data + k * bytes, (ptrdiff_t)vectors->stride,
         block->data + k * stride, stride, block->sums, (ptrdiff_t)block->sums_stride);
  }
}

static void multiply(const Block *block, const Vectors *vectors) {
  enum { MOST = MATRIX_BYTES / CONVERTED_ROWS };
  const Arithmetic *arithmetic = block->stream->arithmetic;
  const Loader *loader = &block->stream->matrix;
  StreamLoop *loop = lanes_of(arithmetic->loops)->by_depth;
  int columns = (int)block->length * arithmetic->reals, lanes = arithmetic->lane_elements;
  if (!loader->run && lanes == 1) {
    multiply_rows(loop, columns, block, vectors);
    return;
  }
  for (int j = MOST / arithmetic->lane_bytes; j < columns; j += MOST / arithmetic->lane_bytes) {
    Block part = *block; /* blocks of narrow matrices may exceed the buffer */
    part.data += (size_t)j * (size_t)type_bytes(loader->from);
    part.sums += (size_t)(j * arithmetic->lane_bytes);
    part.length = min_i64(columns - j, MOST / arithmetic->lane_bytes);
    multiply(&part, vectors);
  }
  columns = (int)min_i64(columns, MOST / arithmetic->lane_bytes);
  _Alignas(16) uint8_t converted[MATRIX_BYTES];
  size_t row_bytes = (size_t)(columns * arithmetic->lane_bytes);
  int64_t some = CONVERTED_ROWS * lanes;
  for (int64_t k = 0; k < block->lines; k += some) {
    int64_t count = min_i64(block->lines - k, some);
    const uint8_t *from = block->data + (size_t)k * block->stride;
    if (lanes == 2) {
      load_pairs(loader, from, block->stride, count, columns, converted);
    } else {
      for (int64_t i = 0; i < count; i++) {
        load_elements(loader, from + (size_t)i * block->stride, 1, columns / arithmetic->reals,
                      converted + (size_t)i * row_bytes);
      }
    }
    loop(vectors->count, columns, (int)divide_up(count, lanes),
         (const uint8_t *)vectors->data + (size_t)(k / lanes * arithmetic->lane_bytes),
         (ptrdiff_t)vectors->stride, converted, (ptrdiff_t)row_bytes, block->sums,
         (ptrdiff_t)block->sums_stride);
  }
}

static void skip(Block *block, Vectors *vectors, int64_t line) {
  vectors->data = (const float *)vectors->data + line;
  vectors->depth = (int)block->lines;
}

/* ---- Narrow numbers ---- */

/* A call may have fewer columns than the matrix, but multiplies in the same order. */
static bool fits(const Scaled *scaled, const Contraction *c) {
  int64_t line = axes_stride(&c->depth, RHS);
  return line && scaled_lines(scaled, SCALE, line) >= NARROW_DEPTH &&
         scaled_lines(scaled, ZERO, line) >= NARROW_DEPTH;
}

static int64_t depth_step(const Scaled *scaled) { return DEPTH_STEP; }

static int64_t lines_at_once(const Block *block, const Scaled *scaled, int64_t first) {
  int64_t stride = block->stream->line_stride, line = first / stride;
  int64_t same = scaled_lines(scaled, SCALE, stride);
  int64_t same_zero = scaled_lines(scaled, ZERO, stride);
  return min_i64(same - line % same, same_zero - line % same_zero);
}

/* All lines have the same list. */
static int64_t read_scales(Scales *scales, const Block *block, bool moved) {
  const Computed *scaled = block->narrow->scaled;
  int64_t count = block->length;
  scaled_fill(scaled, SCALE, block->first, count, 1, scales->scale);
  if (moved) scaled_fill(scaled, ZERO, block->first, count, 1, scales->zero);
  return count;
}

static void part_scales(Scales *scales, int64_t count) {
  narrow_part(scales->scale, count, scales->scale);
  if (scales->zeros == scales->zero) narrow_part(scales->zero, count, scales->zero);
}

/* Multiplies into separate sums and adds these to the block's sums. Sums of packed numbers are first reordered (narrow_join).
** Sums of plain loops are first multiplied by the scales. */
static void multiply_apart(const NarrowBlock *block, const Scales *scales, bool packed,
                           bool scale_sums) {
  _Alignas(16) uint8_t apart[SUM_BYTES + MAX_VECTORS * 64];
  NarrowBlock all = *block;
  all.sums = apart;
  memset(apart, 0, (size_t)(block->rows * block->sums_stride));
  narrow_multiply(scales->row, &all, false);
  for (int i = 0; i < block->rows; i++) {
    float *row = (float *)(apart + i * block->sums_stride);
    if (packed) narrow_join(row, block->columns, row);
    narrow_add_scaled(row, scale_sums ? block->scales : NULL, block->columns,
                      (float *)(block->sums + i * block->sums_stride));
  }
}

static void multiply_narrow(NarrowBlock *all, const Block *block, const Scales *scales) {
  const NarrowLoops *loops = block->narrow->loops;
  all->columns = (int)block->length;
  all->depth = (int)block->lines;
  bool scale_sums = scales->is_plain && block->narrow->has_steps;
  if (loops->packed || scale_sums) {
    multiply_apart(all, scales, loops->packed, scale_sums);
  } else {
    narrow_multiply(scales->row, all, false);
  }
}

const StreamOrder stream_by_depth = {.max_depth = MAX_ROWS,
                                     .converted_bytes = MATRIX_BYTES / CONVERTED_ROWS,
                                     .unit_columns = unit_columns,
                                     .split = {split_c64, split_c128},
                                     .combine = {combine_c64, combine_c128},
                                     .multiply = multiply,
                                     .skip = skip,
                                     .fits = fits,
                                     .depth_step = depth_step,
                                     .lines_at_once = lines_at_once,
                                     .read_scales = read_scales,
                                     .part_scales = part_scales,
                                     .multiply_narrow = multiply_narrow};
