/*
** Streams a matrix whose columns are contiguous: each sum is an inner product, in whole vectors along the depth. See
** stream_order.h.
**
** The two vectors of a complex one are (r, -i) and (i, r), repeated. Their products with (re, im) of the matrix add up to the
** real and the imaginary part.
*/
#include "kernels/contraction/stream_order.h"

#include <string.h>

#include "base/min_max.h"

static int64_t unit_columns(int64_t depth, int64_t elements) { return elements / depth + 1; }

/* ---- Complex numbers ---- */

#define SPLIT(name, real)                                                         \
  static void name(const void *pairs, int64_t count, void *first, void *second) { \
    const real *pair = pairs;                                                     \
    real *a = first, *b = second;                                                 \
    for (int64_t k = 0; k < count; k++, pair += 2) {                              \
      a[2 * k] = b[2 * k + 1] = pair[0];                                          \
      a[2 * k + 1] = -pair[1];                                                    \
      b[2 * k] = pair[1];                                                         \
    }                                                                             \
  }
SPLIT(split_c64, float)
SPLIT(split_c128, double)

#define COMBINE(name, real)                                                             \
  static void name(const void *first, const void *second, int64_t count, void *pairs) { \
    const real *a = first, *b = second;                                                 \
    real *pair = pairs;                                                                 \
    for (int64_t j = 0; j < count; j++, pair += 2) {                                    \
      pair[0] = a[j];                                                                   \
      pair[1] = b[j];                                                                   \
    }                                                                                   \
  }
COMBINE(combine_c64, float)
COMBINE(combine_c128, double)

/* ---- Numbers of the arithmetic ---- */

static void multiply(const Block *block, const Vectors *vectors) {
  enum { LINES = CONVERTED_ROWS / 2, STRIDE = MATRIX_BYTES / LINES + 64 }; /* in other cache sets */
  enum { MOST = MATRIX_BYTES / LINES };
  const Arithmetic *arithmetic = block->stream->arithmetic;
  const Loader *loader = &block->stream->matrix;
  StreamLoop *loop = lanes_of(arithmetic->loops)->by_columns;
  if (!loader->run && block->length % arithmetic->lane_elements == 0) {
    loop(vectors->count, (int)block->lines, vectors->depth, vectors->data,
         (ptrdiff_t)vectors->stride, block->data, (ptrdiff_t)block->stride, block->sums,
         (ptrdiff_t)block->sums_stride);
    return;
  }
  size_t bytes = (size_t)type_bytes(arithmetic->element);
  for (int64_t k = (int64_t)(MOST / bytes); k < block->length; k += (int64_t)(MOST / bytes)) {
    Block part = *block; /* only blocks of narrow matrices are so deep */
    Vectors there = *vectors;
    part.data += (size_t)k * (size_t)type_bytes(loader->from);
    part.length = min_i64(block->length - k, (int64_t)(MOST / bytes));
    there.data = (const uint8_t *)vectors->data + (size_t)k * bytes;
    there.depth = (int)part.length;
    multiply(&part, &there);
  }
  int64_t deep = min_i64(block->length, (int64_t)(MOST / bytes));
  _Alignas(16) uint8_t converted[LINES * STRIDE];
  for (int64_t j = 0; j < block->lines; j += LINES) {
    int64_t count = min_i64(block->lines - j, LINES);
    for (int64_t i = 0; i < count; i++) {
      uint8_t *line = converted + (size_t)i * STRIDE;
      load_elements(loader, block->data + (size_t)(j + i) * block->stride, 1, deep, line);
      memset(line + (size_t)deep * bytes, 0, (size_t)(deep % arithmetic->lane_elements) * bytes);
    }
    loop(vectors->count, (int)count, deep < block->length ? (int)deep : vectors->depth,
         vectors->data, (ptrdiff_t)vectors->stride, converted, STRIDE,
         block->sums + (size_t)(j * arithmetic->lane_bytes), (ptrdiff_t)block->sums_stride);
  }
}

static void skip(Block *block, Vectors *vectors, int64_t line) {
  block->sums += (size_t)line * sizeof(float);
}

/* ---- Narrow numbers ---- */

static bool fits(const Scaled *scaled, const Contraction *c) {
  int64_t run = scaled_run(scaled, SCALE), zero_run = scaled_run(scaled, ZERO);
  int64_t depth = axes_size(&c->depth);
  bool whole = run % depth == 0, whole_zero = zero_run % depth == 0; /* lines have one */
  return (whole || (run % LINE_STEP == 0 && run <= MAX_SCALED)) &&
         (whole_zero || (run <= MAX_SCALED && zero_run % run == 0));
}

/* A block has whole groups of numbers with one scale. */
static int64_t depth_step(const Scaled *scaled) {
  int64_t run = scaled_run(scaled, SCALE);
  if (run > MAX_SCALED || DEPTH_STEP % run == 0) return DEPTH_STEP;
  return run % DEPTH_STEP == 0 ? run : 2 * run;
}

static int64_t lines_at_once(const Block *block, const Scaled *scaled, int64_t first) {
  int64_t run = scaled_run(scaled, SCALE);
  return run >= block->length ? MAX_SCALES : MAX_SCALES / divide_up(block->length, run);
}

/* Each line has a list, of one scale for each of its groups. */
static int64_t read_scales(Scales *scales, const Block *block, bool moved) {
  const Computed *scaled = block->narrow->scaled;
  int64_t run = scaled_run(scaled->scaled, SCALE), first = block->first, lines = block->lines;
  if (first % run + block->length > run) {
    if (first % run) return 0;
    scales->length = run;
  }
  int64_t length = scales->length, apart = scales->apart = divide_up(block->length, length);
  int64_t stride = block->stream->line_stride;
  scaled_fill_lines(scaled, SCALE, first, stride, lines, apart, length, scales->scale);
  if (moved) scaled_fill_lines(scaled, ZERO, first, stride, lines, apart, length, scales->zero);
  return lines * apart;
}

static void multiply_narrow(NarrowBlock *all, const Block *block, const Scales *scales) {
  all->columns = (int)block->lines;
  all->depth = (int)block->length;
  narrow_multiply(scales->row, all, true);
}

const StreamOrder stream_by_columns = {.along_depth = true,
                                       .max_depth = INT64_MAX,
                                       .converted_bytes = INT64_MAX,
                                       .unit_columns = unit_columns,
                                       .split = {split_c64, split_c128},
                                       .combine = {combine_c64, combine_c128},
                                       .multiply = multiply,
                                       .skip = skip,
                                       .fits = fits,
                                       .depth_step = depth_step,
                                       .lines_at_once = lines_at_once,
                                       .read_scales = read_scales,
                                       .multiply_narrow = multiply_narrow};
