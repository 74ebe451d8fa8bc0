/*
** Streams a matrix past a few vectors. If the columns of the matrix are contiguous, a block of their sums
** stays in the first cache, and rows of the matrix are added to it. If the depth is contiguous, each sum
** is an inner product in whole vectors. Either way memory is read front to back.
**
** Complex numbers are pairs of reals, and each complex vector becomes two real ones. With contiguous
** columns these are its real and its imaginary parts; each is multiplied by the matrix's reals, and they
** are combined when stored. With contiguous depth they are (r, -i) and (i, r), whose products with
** (re, im) of the matrix add up to the real and the imaginary part.
*/
#include "kernels/contraction/stream.h"

#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "kernels/contraction/inner/narrow.h"
#include "kernels/contraction/inner/unpack.h"
#include "kernels/contraction/scaled.h"

/* Threshold LINE_STEP, MAX_SCALED: "blocks of all sizes" in core/quantised.test.mjs. */
/* Threshold MAX_ROWS, MAX_BLOCKS: "products" in core/thresholds.test.mjs. */
/* Threshold MAX_VECTORS, VECTOR_BYTES, SUM_BYTES, MATRIX_BYTES, CONVERTED_ROWS, UNIT_ELEMENTS, MIN_COLUMNS:
** "products" in core/thresholds.test.mjs. */
enum {
  MAX_VECTORS = 20,      /* real vectors; for more, packing is faster */
  VECTOR_BYTES = 32768,  /* of all vectors, for a block of the depth */
  SUM_BYTES = 16384,     /* of all vectors, for a block of columns */
  MATRIX_BYTES = 16384,  /* of converted elements */
  CONVERTED_ROWS = 8,    /* converted at a time; or half as many lines */
  UNIT_ELEMENTS = 65536, /* of the matrix in a unit, if there are enough */
  MIN_COLUMNS = 1024,    /* read of a row before the next row */
  /* Sums of a block are added to those of MAX_BLOCKS blocks, and these to the total: so the error of a sum does not grow
  ** with the depth. */
  MAX_ROWS = 256, /* of a block, if columns are contiguous */
  MAX_BLOCKS = 64,
  /* Of narrow matrices: */
  LINE_STEP =
      16, /* bytes that loops read at once; elements that a block of one scale is a multiple of */
  MAX_SCALED = 256 /* elements of the depth that have one scale */
};

/* ---- Matrices of narrow numbers ---- */

/* The loops for the matrix as it lies in memory, and its scales; no loops: it is read as f32 or converted. */
typedef struct Narrow {
  const NarrowLoops *loops;
  const Generator *scaled; /* NULL: all scales are 1 */
  PrimitiveType type;
  int per_byte;  /* numbers; several are unpacked before loops read them */
  bool *misread; /* set if loops misread a number */
  bool exact;    /* sums are not multiplied by scales: they may be too large for that */
} Narrow;

/* Whether a block is scanned for misread numbers before it is multiplied. */
static bool looks_before(const Narrow *narrow) {
  return narrow->loops->misread == MISREAD_BYTES_FROM_16;
}

/* Whether numbers are unpacked or converted into a buffer before the loops read them. */
static bool is_prepared(const Narrow *narrow) {
  return narrow->loops->prepare || (narrow->per_byte > 1 && !narrow->loops->packed);
}

/* Whether rows, or lines, of packed numbers begin at bytes. */
static bool begin_bytes(const Axes *axes, int per_byte) {
  bool begin = true;
  for (int i = 0; i < axes->count; i++) {
    const Axis *axis = &axes->items[i];
    begin &= axis->size == 1 || axis->stride[RHS] == 1 || axis->stride[RHS] % per_byte == 0;
  }
  return begin;
}

static Narrow narrow_of(const Contraction *c, const Arithmetic *arithmetic, bool along_depth) {
  Narrow narrow = {.scaled = c->generator[RHS], .type = c->type[RHS], .per_byte = 1};
  if (arithmetic->reals != 1 || arithmetic->lanes != LANES_F32) return narrow;
  if (!narrow.scaled) {
    bool widens = operand_loader(c, arithmetic, RHS).widens;
    if (widens) narrow.loops = narrow_loops(narrow.type, NARROW_PLAIN);
    return narrow;
  }
  const Scaled *scaled = narrow.scaled->scaled;
  if (!scaled || !scaled->loops) return narrow;
  int per_byte = narrow.per_byte = scaled->numbers.per_byte;
  if (per_byte > 1 && !(scaled_is_aligned(&scaled->numbers) && begin_bytes(&c->batch, per_byte) &&
                        begin_bytes(&c->columns, per_byte) && begin_bytes(&c->depth, per_byte))) {
    return narrow;
  }
  narrow.type = scaled->numbers.type;
  int64_t run = scaled_run(scaled, SCALE), zero_run = scaled_run(scaled, ZERO);
  int64_t depth = axes_size(&c->depth), columns = axes_size(&c->columns);
  bool fits = along_depth ? run % depth == 0 || (run % LINE_STEP == 0 && run <= MAX_SCALED)
                          : scaled_lines(scaled, SCALE, columns) >= NARROW_DEPTH &&
                                scaled_lines(scaled, ZERO, columns) >= NARROW_DEPTH;
  if (along_depth && zero_run % depth != 0 && (run > MAX_SCALED || zero_run % run != 0)) {
    return narrow;
  }
  if (fits) narrow.loops = scaled->loops;
  return narrow;
}

/* Returns the granularity of depth blocks: the length of each block is a multiple of it. */
static int64_t depth_step(const Narrow *narrow, bool along_depth) {
  /* Threshold STEP: "blocks of all sizes" in core/quantised.test.mjs. */
  enum { STEP = 32 };
  if (!narrow->loops || !narrow->scaled || !narrow->scaled->scaled || !along_depth) return STEP;
  int64_t run = scaled_run(narrow->scaled->scaled, SCALE);
  return run > MAX_SCALED || STEP % run == 0 ? STEP : run % STEP == 0 ? run : 2 * run;
}

/* ---- Planning ---- */

/* Returns the size of equal parts: a multiple of `step`, at most `most`. */
static int64_t equal_parts(int64_t size, int64_t most, int64_t step) {
  int64_t parts = divide_up(size, most < step ? step : most / step * step);
  return divide_up(divide_up(size, parts), step) * step;
}

/* Whether lanes go along the depth: columns are apart, or there is one. */
static bool is_along_depth(const Contraction *c) {
  if (c->columns.count == 0) return c->depth.count == 1 && axes_stride(&c->depth, RHS) == 1;
  return c->columns.count == 1 && axes_stride(&c->columns, RHS) != 1;
}

bool stream_plan(ContractionPlan *plan, const Contraction *c) {
  const Arithmetic *arithmetic = plan->arithmetic;
  int64_t vectors = plan->lines[LHS] * arithmetic->reals, lines = plan->lines[RHS];
  int64_t depth = axes_size(&c->depth), bytes = arithmetic->lane_bytes * arithmetic->reals;
  bool along_depth = is_along_depth(c);
  if (vectors > MAX_VECTORS || depth == 0) return false;
  if (along_depth && (axes_stride(&c->depth, RHS) != 1 || c->depth.count == 0)) return false;
  bool converts = operand_loader(c, arithmetic, RHS).run != NULL || arithmetic->lane_elements > 1;
  Narrow narrow = narrow_of(c, arithmetic, along_depth);
  if (narrow.loops && vectors > 1) vectors = round_up(vectors, NARROW_ROWS);
  int64_t most_lines = SUM_BYTES / (vectors * bytes), step = depth_step(&narrow, along_depth);
  if (converts && !along_depth && !narrow.loops) {
    most_lines = min_i64(most_lines, MATRIX_BYTES / (CONVERTED_ROWS * bytes));
  }
  /* A unit is several lines along the depth, or a range of columns of several rows. */
  bool whole = narrow.loops && !is_prepared(&narrow); /* rows are read as they are */
  int64_t row = whole ? MIN_COLUMNS * 4 / type_bytes(narrow.type) : MIN_COLUMNS;
  int64_t wanted = along_depth ? UNIT_ELEMENTS / depth + 1 : row;
  if (depth * lines <= 2 * UNIT_ELEMENTS) wanted = lines;
  plan->tile[LHS] = plan->lines[LHS];
  plan->tiles[LHS] = 1;
  plan->tile[RHS] = equal_parts(lines, min_i64(wanted, most_lines), 16);
  plan->tiles[RHS] = divide_up(lines, plan->tile[RHS]);
  int64_t tile = min_i64(plan->tile[RHS], lines);
  plan->splits = min_i64(divide_up(tile * depth, 2 * UNIT_ELEMENTS), 32);
  if (plan->batches * plan->tiles[RHS] >= 32) plan->splits = 1;
  int64_t split = round_up(divide_up(depth, plan->splits), step);
  int64_t most_depth = VECTOR_BYTES / (vectors * bytes);
  if (!along_depth) most_depth = min_i64(most_depth, MAX_ROWS);
  if (narrow.loops ? is_prepared(&narrow) || looks_before(&narrow) : converts) {
    most_depth = min_i64(most_depth, 2 * MATRIX_BYTES / CONVERTED_ROWS / bytes);
  }
  plan->depth_block = equal_parts(split, most_depth, step);
  plan->blocks = divide_up(split, plan->depth_block) * plan->splits;
  return true;
}

/* ---- The vectors ---- */

/* The vectors of a unit, for one block of the depth. */
typedef struct Vectors {
  const void *data;
  size_t stride;    /* bytes */
  int count, depth; /* in lanes */
} Vectors;

#define SPLIT_COMPLEX(name, real)                                                                  \
  static void name(const void *from, int64_t count, bool along_depth, void *first, void *second) { \
    const real *pair = from;                                                                       \
    real *a = first, *b = second;                                                                  \
    for (int64_t k = 0; k < count; k++, pair += 2) {                                               \
      if (along_depth) {                                                                           \
        a[2 * k] = b[2 * k + 1] = pair[0];                                                         \
        a[2 * k + 1] = -pair[1];                                                                   \
        b[2 * k] = pair[1];                                                                        \
      } else {                                                                                     \
        a[k] = pair[0];                                                                            \
        b[k] = pair[1];                                                                            \
      }                                                                                            \
    }                                                                                              \
  }
SPLIT_COMPLEX(split_c64, float)
SPLIT_COMPLEX(split_c128, double)

static void load_complex(const Loader *loader, const uint8_t *from, int64_t stride, int64_t count,
                         bool along_depth, uint8_t *first, uint8_t *second) {
  /* Threshold SOME: "products" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t pairs[SOME * 16];
  bool narrow = loader->element == C64;
  size_t step = (size_t)(narrow ? 4 : 8) * (along_depth ? 2 : 1);
  for (int64_t k = 0; k < count; k += SOME) {
    int64_t some = min_i64(count - k, SOME);
    load_elements(loader, from + (size_t)(k * stride) * (size_t)type_bytes(loader->from), stride,
                  some, pairs);
    (narrow ? split_c64 : split_c128)(pairs, some, along_depth, first + (size_t)k * step,
                                      second + (size_t)k * step);
  }
}

/* Loads rows as contiguous vectors, or points to them in memory. If `pads`, adds rows of zeros up to a multiple of NARROW_ROWS. */
static Vectors load_vectors(const Contraction *c, const Arithmetic *arithmetic, int64_t rows,
                            const uint8_t *from, int64_t count, bool along_depth, bool pads,
                            uint8_t *buffer) {
  Loader loader = operand_loader(c, arithmetic, LHS);
  int64_t row = axes_stride(&c->rows, LHS), depth = axes_stride(&c->depth, LHS);
  size_t bytes = (size_t)type_bytes(loader.from), out_bytes = (size_t)type_bytes(loader.element);
  int lanes = arithmetic->lane_elements, reals = arithmetic->reals;
  Vectors vectors = {.count = (int)rows * reals,
                     .depth = (int)divide_up(count, lanes) * (along_depth ? reals : 1)};
  int64_t missing = pads && rows > 1 ? round_up(rows, NARROW_ROWS) - rows : 0;
  if (!loader.run && !missing && reals == 1 && count % lanes == 0 && (depth == 1 || count == 1)) {
    vectors.data = from;
    vectors.stride = (size_t)row * bytes;
    return vectors;
  }
  vectors.data = buffer;
  vectors.stride = (size_t)(vectors.depth * arithmetic->lane_bytes);
  for (int64_t i = 0; i < rows; i++) {
    const uint8_t *elements = from + (size_t)(i * row) * bytes;
    uint8_t *to = buffer + (size_t)i * vectors.stride * (size_t)reals;
    if (reals == 2) {
      load_complex(&loader, elements, depth, count, along_depth, to, to + vectors.stride);
    } else {
      load_elements(&loader, elements, depth, count, to);
      if (count % lanes) memset(to + (size_t)count * out_bytes, 0, out_bytes);
    }
  }
  if (missing) {
    memset(buffer + (size_t)rows * vectors.stride, 0, (size_t)missing * vectors.stride);
  }
  return vectors;
}

/* ---- The matrix ---- */

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
  /* Threshold SOME: "products" in core/thresholds.test.mjs. */
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

/* A unit's block of the matrix, and its sums. columns: counted in reals. */
typedef struct Block {
  const Arithmetic *arithmetic;
  Loader loader;
  const uint8_t *data;
  size_t stride; /* bytes from one row, or line, to the next */
  int64_t columns, depth;
  uint8_t *sums;
  size_t sums_stride;
} Block;

static void add_by_depth(const Block *block, const Vectors *vectors) {
  const Arithmetic *arithmetic = block->arithmetic;
  StreamLoop *loop = lanes_of(arithmetic->lanes)->by_depth;
  int columns = (int)block->columns * arithmetic->reals, lanes = arithmetic->lane_elements;
  if (!block->loader.run && lanes == 1) {
    loop(vectors->count, columns, vectors->depth, vectors->data, vectors->stride, block->data,
         block->stride, block->sums, block->sums_stride);
    return;
  }
  enum { MOST = MATRIX_BYTES / CONVERTED_ROWS };
  for (int j = MOST / arithmetic->lane_bytes; j < columns; j += MOST / arithmetic->lane_bytes) {
    Block part = *block; /* blocks of narrow matrices may exceed the buffer */
    part.data += (size_t)j * (size_t)type_bytes(block->loader.from);
    part.sums += (size_t)(j * arithmetic->lane_bytes);
    part.columns = min_i64(columns - j, MOST / arithmetic->lane_bytes);
    add_by_depth(&part, vectors);
  }
  columns = (int)min_i64(columns, MOST / arithmetic->lane_bytes);
  _Alignas(16) uint8_t converted[MATRIX_BYTES];
  size_t row_bytes = (size_t)(columns * arithmetic->lane_bytes);
  int64_t some = CONVERTED_ROWS * lanes;
  for (int64_t k = 0; k < block->depth; k += some) {
    int64_t count = min_i64(block->depth - k, some);
    const uint8_t *from = block->data + (size_t)k * block->stride;
    if (lanes == 2) {
      load_pairs(&block->loader, from, block->stride, count, columns, converted);
    } else {
      for (int64_t i = 0; i < count; i++) {
        load_elements(&block->loader, from + (size_t)i * block->stride, 1,
                      columns / arithmetic->reals, converted + (size_t)i * row_bytes);
      }
    }
    loop(vectors->count, columns, (int)divide_up(count, lanes),
         (const uint8_t *)vectors->data + (size_t)(k / lanes * arithmetic->lane_bytes),
         vectors->stride, converted, row_bytes, block->sums, block->sums_stride);
  }
}

static void add_by_columns(const Block *block, const Vectors *vectors) {
  enum { LINES = CONVERTED_ROWS / 2, STRIDE = MATRIX_BYTES / LINES + 64 }; /* in other cache sets */
  const Arithmetic *arithmetic = block->arithmetic;
  StreamLoop *loop = lanes_of(arithmetic->lanes)->by_columns;
  if (!block->loader.run && block->depth % arithmetic->lane_elements == 0) {
    loop(vectors->count, (int)block->columns, vectors->depth, vectors->data, vectors->stride,
         block->data, block->stride, block->sums, block->sums_stride);
    return;
  }
  size_t bytes = (size_t)type_bytes(arithmetic->element);
  enum { MOST = MATRIX_BYTES / LINES };
  for (int64_t k = (int64_t)(MOST / bytes); k < block->depth; k += (int64_t)(MOST / bytes)) {
    Block part = *block; /* only blocks of narrow matrices are so deep */
    Vectors there = *vectors;
    part.data += (size_t)k * (size_t)type_bytes(block->loader.from);
    part.depth = min_i64(block->depth - k, (int64_t)(MOST / bytes));
    there.data = (const uint8_t *)vectors->data + (size_t)k * bytes;
    there.depth = (int)part.depth;
    add_by_columns(&part, &there);
  }
  int64_t deep = min_i64(block->depth, (int64_t)(MOST / bytes));
  _Alignas(16) uint8_t converted[LINES * STRIDE];
  for (int64_t j = 0; j < block->columns; j += LINES) {
    int64_t count = min_i64(block->columns - j, LINES);
    for (int64_t i = 0; i < count; i++) {
      uint8_t *line = converted + (size_t)i * STRIDE;
      load_elements(&block->loader, block->data + (size_t)(j + i) * block->stride, 1, deep, line);
      memset(line + (size_t)deep * bytes, 0, (size_t)(deep % arithmetic->lane_elements) * bytes);
    }
    loop(vectors->count, (int)count, deep < block->depth ? (int)deep : vectors->depth,
         vectors->data, vectors->stride, converted, STRIDE,
         block->sums + (size_t)(j * arithmetic->lane_bytes), block->sums_stride);
  }
}

/* ---- A narrow matrix ---- */

/* Threshold MAX_SCALES, PREPARED_BYTES: "units, blocks of the depth and lists of scales of several sizes" in
** core/quantised.test.mjs. */
enum { MAX_SCALES = 4096, PREPARED_BYTES = 17408 };

/* Returns the bytes from one prepared row to the next: rows in other cache sets. */
static int64_t prepared_row(int64_t count) { return 2 * round_up(count, LINE_STEP) + 64; }

/* The scales and zeros of a block's lines or rows, and the loops for them. `length` numbers have one scale; the lists of
** neighbouring lines are `apart` scales from each other. */
typedef struct Scales {
  const NarrowPair *loops;
  bool is_plain;
  _Alignas(16) float scale[MAX_SCALES + LINE_STEP];
  _Alignas(16) float zero[MAX_SCALES + LINE_STEP];
  const float *zeros;
  int64_t length, apart;
} Scales;

static void fill_same(float value, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i++) out[i] = value;
}

static bool has_steps(const Narrow *narrow) {
  return narrow->scaled && narrow->scaled->scaled->step_count;
}

/* Adds the type's zero point to each zero point of the list. If `moved` is false, the list is empty; it is filled with the
** type's zero point if that is not 0 or the loops are centered. Returns false if a sum is inexact. */
static bool set_zeros(Scales *scales, const Narrow *narrow, int64_t count, bool moved) {
  float zero = narrow->loops->zero / narrow->loops->factor;
  bool exact = true;
  bool listed = moved || zero != 0 || narrow->loops->centered;
  if (listed) scales->zeros = scales->zero;
  if (!moved && listed) fill_same(zero, count, scales->zero);
  for (int64_t i = 0; i < count && moved && zero != 0; i++) {
    float before = scales->zero[i];
    scales->zero[i] = before + zero;
    exact &= scales->zero[i] - zero == before;
  }
  return exact;
}

/* Chooses the loops for `count` scales and zero points, and converts scales and zero points to the form that the loops read. */
static void choose_loops(Scales *scales, const Narrow *narrow, int64_t count, bool along_depth) {
  const NarrowLoops *loops = narrow->loops;
  bool is_exact = !narrow->exact || (loops->factor == 1 && !has_steps(narrow));
  if (is_exact && has_steps(narrow)) {
    is_exact = scaled_has_integers(narrow->scaled->scaled) &&
               narrow_scales_are_exact(scales->scale, count);
  }
  scales->is_plain =
      is_exact && loops->plain.by_depth &&
      (!loops->centered || narrow_center(scales->zero, count, loops->factor, along_depth));
  scales->loops = scales->is_plain ? &loops->plain : &loops->scaled;
  if (!loops->packed || along_depth || scales->is_plain) return;
  narrow_part(scales->scale, count, scales->scale);
  if (loops->centered) narrow_part(scales->zero, count, scales->zero);
}

/* Sets the scales and zero points of `lines` lines of `count` numbers, which begin with element `first`. Returns false if the
** loops cannot use them: a scale is inexact, or a line begins inside a group. */
static bool scales_set(Scales *scales, const Narrow *narrow, bool along_depth, int64_t first,
                       int64_t stride, int64_t lines, int64_t count) {
  const Generator *scaled = narrow->scaled;
  int64_t listed = along_depth ? 1 : count;
  bool suits = true;
  scales->length = count;
  scales->apart = 0;
  scales->zeros = scales->scale;
  if (!has_steps(narrow)) {
    fill_same(narrow->loops->factor, listed, scales->scale);
    set_zeros(scales, narrow, listed, false);
    choose_loops(scales, narrow, listed, along_depth);
    return true;
  }
  bool moved = scaled->scaled->step_count > 1;
  if (!along_depth) {
    suits = scaled_fill(scaled, SCALE, first, count, 1, scales->scale) &&
            (!moved || scaled_fill(scaled, ZERO, first, count, 1, scales->zero));
  } else {
    int64_t run = scaled_run(scaled->scaled, SCALE);
    if (first % run + count > run) {
      if (first % run) return false;
      scales->length = run;
    }
    int64_t apart = scales->apart = divide_up(count, scales->length), length = scales->length;
    suits = scaled_fill_lines(scaled, SCALE, first, stride, lines, apart, length, scales->scale) &&
            (!moved ||
             scaled_fill_lines(scaled, ZERO, first, stride, lines, apart, length, scales->zero));
    listed = lines * apart;
  }
  suits = suits && set_zeros(scales, narrow, listed, moved);
  choose_loops(scales, narrow, listed, along_depth);
  return suits;
}

/* Multiplies into separate sums and adds these to the block's sums. Sums of packed numbers are first reordered (narrow_join).
** Sums of plain loops are first multiplied by the scales. */
static void add_apart(const NarrowBlock *block, const Scales *scales, bool packed) {
  _Alignas(16) uint8_t apart[SUM_BYTES + MAX_VECTORS * 64];
  int rows = block->rows > 1 ? (int)round_up(block->rows, NARROW_ROWS) : 1;
  NarrowBlock all = *block;
  all.sums = apart;
  memset(apart, 0, (size_t)(rows * block->sums_stride));
  scales->loops->by_depth(&all);
  for (int i = 0; i < rows; i++) {
    float *row = (float *)(apart + i * block->sums_stride);
    if (packed) narrow_join(row, block->columns, row);
    narrow_add_scaled(row, scales->is_plain ? block->scales : NULL, block->columns,
                      (float *)(block->sums + i * block->sums_stride));
  }
}

/* Multiplies the lines of a block. `line` is the number of the first line in the list of scales. Returns false and changes
** nothing if the loops would misread a number. */
static bool multiply_narrow(const Narrow *narrow, const Block *block, const Vectors *vectors,
                            const Scales *scales, int64_t first, int64_t line, bool along_depth) {
  _Alignas(16) uint8_t prepared[PREPARED_BYTES];
  const NarrowLoops *loops = narrow->loops;
  int64_t lines = along_depth ? block->columns : block->depth;
  int64_t count = along_depth ? block->depth : block->columns;
  ptrdiff_t bytes = type_bytes(narrow->type);
  ptrdiff_t stride = (ptrdiff_t)block->stride / type_bytes(block->loader.from) * bytes;
  const uint8_t *numbers =
      narrow->scaled ? narrow->scaled->numbers + first / narrow->per_byte * bytes : block->data;
  for (int64_t i = 0; i < lines && looks_before(narrow); i++) {
    if (narrow_has_misread(loops, numbers + i * stride, count)) return false;
  }
  if (loops->packed) stride /= narrow->per_byte;
  if (is_prepared(narrow)) {
    int64_t row = prepared_row(count);
    for (int64_t i = 0; i < lines; i++) {
      if (narrow->per_byte > 1) {
        unpack(narrow->type, numbers, i * stride, count, prepared + i * row);
      } else {
        loops->prepare(numbers + i * stride, count, prepared + i * row);
      }
    }
    numbers = prepared;
    stride = row;
  }
  int64_t list = along_depth ? line * scales->apart : 0;
  NarrowBlock all = {.rows = (int)vectors->count,
                     .columns = (int)block->columns,
                     .depth = (int)block->depth,
                     .vectors = vectors->data,
                     .matrix = numbers,
                     .vector_stride = (ptrdiff_t)vectors->stride,
                     .matrix_stride = stride,
                     .scales = scales->scale + list,
                     .zeros = scales->zeros + list,
                     .scale_stride = scales->apart * (ptrdiff_t)sizeof *scales->scale,
                     .scale_block = (int)round_up(scales->length, LINE_STEP),
                     .flipped = loops->flipped,
                     .table = narrow->scaled ? narrow->scaled->table : NULL,
                     .sums = block->sums,
                     .sums_stride = (ptrdiff_t)block->sums_stride,
                     .misread = narrow->misread};
  if (along_depth) {
    scales->loops->by_columns(&all);
  } else if (loops->packed || (scales->is_plain && (loops->factor != 1 || has_steps(narrow)))) {
    add_apart(&all, scales, loops->packed);
  } else {
    scales->loops->by_depth(&all);
  }
  return true;
}

/* Returns how many lines, beginning with the first, share one list of scales, or fit their lists into Scales. */
static int64_t lines_at_once(const Narrow *narrow, const Block *block, int64_t first,
                             bool along_depth) {
  const Generator *scaled = narrow->scaled;
  int64_t count = along_depth ? block->depth : block->columns;
  if (!has_steps(narrow)) return INT32_MAX;
  if (along_depth) {
    int64_t run = scaled_run(scaled->scaled, SCALE);
    return run >= count ? MAX_SCALES : MAX_SCALES / divide_up(count, run);
  }
  int64_t stride = (int64_t)block->stride / type_bytes(block->loader.from), line = first / stride;
  int64_t same = scaled_lines(scaled->scaled, SCALE, stride);
  int64_t same_zero = scaled_lines(scaled->scaled, ZERO, stride);
  return min_i64(same - line % same, same_zero - line % same_zero);
}

/* Multiplies the lines [begin, end) of a block. If `suits`, `scales` holds their scales; else the general loop runs.
** `parted` holds the vectors in the order that loops of packed numbers read (part_vectors). */
static void add_lines(const Narrow *narrow, const Block *block, const Vectors *vectors,
                      const Vectors *parted, const Scales *scales, bool suits, int64_t first,
                      int64_t begin, int64_t end, bool along_depth) {
  int64_t stride = (int64_t)block->stride / type_bytes(block->loader.from), some;
  int64_t count = along_depth ? block->depth : block->columns;
  /* Numbers that are looked at before, or prepared, stay in the first cache. */
  bool apart = looks_before(narrow) || is_prepared(narrow);
  int64_t most = apart ? max_i64(PREPARED_BYTES / prepared_row(count), 1) : end - begin;
  for (int64_t i = begin; i < end; i += some) {
    Block part = *block;
    Vectors there = *vectors;
    some = min_i64(most, end - i);
    part.data += (size_t)i * block->stride;
    *(along_depth ? &part.columns : &part.depth) = some;
    if (along_depth) {
      part.sums += (size_t)i * sizeof(float);
    } else {
      there.data = (const float *)vectors->data + i;
      there.depth = (int)some;
    }
    if (suits && multiply_narrow(narrow, &part, along_depth ? parted : &there, scales,
                                 first + i * stride, i - begin, along_depth)) {
      continue;
    }
    (along_depth ? add_by_columns : add_by_depth)(&part, &there);
  }
}

/* Returns the vectors reordered like packed numbers (narrow_part) and padded with zeros. */
static Vectors part_vectors(const Vectors *vectors, uint8_t *buffer) {
  Vectors parted = *vectors;
  size_t bytes = (size_t)vectors->depth * sizeof(float);
  parted.stride = (size_t)round_up((int64_t)bytes, 64);
  parted.data = buffer;
  for (int i = 0; i < vectors->count; i++, buffer += parted.stride) {
    memcpy(buffer, (const uint8_t *)vectors->data + (size_t)i * vectors->stride, bytes);
    memset(buffer + bytes, 0, parted.stride - bytes);
    narrow_part((float *)buffer, vectors->depth, (float *)buffer);
  }
  return parted;
}

/* first: the number of the block's first element. */
static void add_narrow(const Narrow *narrow, const Block *block, const Vectors *vectors,
                       int64_t first, bool along_depth) {
  Scales scales;
  _Alignas(16) uint8_t buffer[VECTOR_BYTES + MAX_VECTORS * 64];
  Vectors parted = *vectors;
  if (narrow->loops->packed && along_depth) parted = part_vectors(vectors, buffer);
  int64_t lines = along_depth ? block->columns : block->depth, some;
  int64_t count = along_depth ? block->depth : block->columns;
  int64_t stride = (int64_t)block->stride / type_bytes(block->loader.from);
  for (int64_t i = 0; i < lines; i += some) {
    int64_t at = first + i * stride;
    some = min_i64(lines_at_once(narrow, block, at, along_depth), lines - i);
    bool suits = scales_set(&scales, narrow, along_depth, at, stride, some, count);
    add_lines(narrow, block, vectors, &parted, &scales, suits, first, i, i + some, along_depth);
  }
}

/* ---- The sums ---- */

static void clear(const Arithmetic *arithmetic, bool negative_zero, uint8_t *sums, size_t bytes) {
  v128_t zero = wasm_i32x4_const_splat(0);
  if (negative_zero && arithmetic->lanes == LANES_F32) zero = wasm_f32x4_const_splat(-0.0f);
  if (negative_zero && arithmetic->lanes == LANES_F64) zero = wasm_f64x2_const_splat(-0.0);
  for (size_t i = 0; i < bytes; i += 16) wasm_v128_store(sums + i, zero);
}

#define COMBINE(name, real)                                                                \
  static void name(const void *first, const void *second, int64_t count, bool along_depth, \
                   void *out) {                                                            \
    const real *a = first, *b = second;                                                    \
    real *pair = out;                                                                      \
    for (int64_t j = 0; j < count; j++, pair += 2) {                                       \
      pair[0] = along_depth ? a[j] : a[2 * j] - b[2 * j + 1];                              \
      pair[1] = along_depth ? b[j] : a[2 * j + 1] + b[2 * j];                              \
    }                                                                                      \
  }
COMBINE(combine_c64, float)
COMBINE(combine_c128, double)

/* Stores one row of sums, contiguous and in the arithmetic's type of sums. */
static void store_row(const Arithmetic *arithmetic, const uint8_t *sums, int64_t count,
                      PrimitiveType to, uint8_t *out, int64_t stride) {
  /* Threshold SOME: "products" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t converted[SOME * 16];
  size_t from_bytes = (size_t)type_bytes(arithmetic->sum), bytes = (size_t)type_bytes(to);
  if (stride == 1 || count == 1) {
    store_sums(arithmetic, sums, count, to, out);
    return;
  }
  for (int64_t j = 0; j < count; j += SOME) {
    int64_t some = min_i64(count - j, SOME);
    const uint8_t *from = sums + (size_t)j * from_bytes;
    if (!sums_are_results(arithmetic, to)) {
      store_sums(arithmetic, from, some, to, converted);
      from = converted;
    }
    scatter_elements(from, some, bytes, out + (size_t)(j * stride) * bytes, stride);
  }
}

static void store_block(const Contraction *c, const Block *block, int64_t rows, bool along_depth,
                        PrimitiveType to, uint8_t *out) {
  /* Threshold SOME: "products" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t pairs[SOME * 16];
  const Arithmetic *arithmetic = block->arithmetic;
  int64_t row = axes_stride(&c->rows, OUT), column = axes_stride(&c->columns, OUT);
  size_t bytes = (size_t)type_bytes(to), real_bytes = (size_t)arithmetic->lane_bytes;
  for (int64_t i = 0; i < rows; i++) {
    const uint8_t *sums = block->sums + (size_t)(i * arithmetic->reals) * block->sums_stride;
    uint8_t *to_row = out + (size_t)(i * row) * bytes;
    if (arithmetic->reals == 1) {
      store_row(arithmetic, sums, block->columns, to, to_row, column);
      continue;
    }
    for (int64_t j = 0; j < block->columns; j += SOME) {
      int64_t some = min_i64(block->columns - j, SOME);
      const uint8_t *first = sums + (size_t)j * real_bytes * (along_depth ? 1 : 2);
      (arithmetic->sum == C64 ? combine_c64 : combine_c128)(first, first + block->sums_stride, some,
                                                            along_depth, pairs);
      store_row(arithmetic, pairs, some, to, to_row + (size_t)(j * column) * bytes, column);
    }
  }
}

/* Adds sums of reals to other ones, and clears them. */
static void move_sums(const Arithmetic *arithmetic, bool negative_zero, uint8_t *sums,
                      uint8_t *totals, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16) {
    v128_t x = wasm_v128_load(totals + i), y = wasm_v128_load(sums + i);
    switch (arithmetic->lanes) {
    case LANES_F32: x = wasm_f32x4_add(x, y); break;
    case LANES_F64: x = wasm_f64x2_add(x, y); break;
    case LANES_S64: x = wasm_i64x2_add(x, y); break;
    default: x = wasm_i32x4_add(x, y); break;
    }
    wasm_v128_store(totals + i, x);
  }
  clear(arithmetic, negative_zero, sums, bytes);
}

/* Whether the unit must be computed again. If a number was misread, the general loop computes the unit. If a sum is infinite or
** NaN, loops that multiply each number by its scale compute it. */
static bool is_wrong(Narrow *narrow, const uint8_t *sums, size_t stride, int64_t rows,
                     int64_t columns) {
  if (*narrow->misread) {
    *narrow->misread = false;
    narrow->loops = NULL;
    return true;
  }
  if (!narrow->loops || !narrow->loops->is_integral || narrow->exact) return false;
  for (int64_t i = 0; i < rows; i++) {
    const float *row = (const float *)(sums + (size_t)i * stride);
    float all = 0; /* or NaN, if one is not finite */
    for (int64_t j = 0; j < columns; j++) all += row[j] * 0;
    if (all != 0) narrow->exact = true;
  }
  return narrow->exact;
}

/* ---- A unit ---- */

void stream_multiply(const Contraction *c, const ContractionPlan *plan, const Unit *unit,
                     const size_t offset[3], const uint8_t *const data[2], PrimitiveType to,
                     uint8_t *out) {
  /* Threshold LEVELS: no path: levels of sums. */
  enum { LEVELS = 3 };
  _Alignas(16) uint8_t sums[LEVELS][SUM_BYTES + MAX_VECTORS * 64], buffer[VECTOR_BYTES];
  const Arithmetic *arithmetic = plan->arithmetic;
  bool along_depth = is_along_depth(c);
  int64_t rows = unit->lines[LHS], first = unit->first[RHS], reals = arithmetic->reals;
  int64_t lhs_depth = axes_stride(&c->depth, LHS), rhs_depth = axes_stride(&c->depth, RHS);
  int64_t column = along_depth ? axes_stride(&c->columns, RHS) : 1;
  size_t lhs_bytes = (size_t)type_bytes(c->type[LHS]), rhs_bytes = (size_t)type_bytes(c->type[RHS]);
  Block block = {.arithmetic = arithmetic,
                 .loader = operand_loader(c, arithmetic, RHS),
                 .stride = (size_t)(along_depth ? column : rhs_depth) * rhs_bytes,
                 .columns = unit->lines[RHS],
                 .sums = sums[0]};
  int64_t sums_of_row = block.columns * (along_depth ? 1 : reals) * arithmetic->lane_bytes;
  bool misread = false;
  Narrow narrow = narrow_of(c, arithmetic, along_depth);
  narrow.misread = &misread;
  block.sums_stride = (size_t)round_up(sums_of_row, narrow.loops ? 64 : 16);
  size_t bytes = (size_t)(rows * reals) * block.sums_stride;
  if (narrow.loops && rows > 1) bytes = (size_t)round_up(rows, NARROW_ROWS) * block.sums_stride;
  bool keeps = c->keeps_negative_zero;
  int levels = unit->depth_end - unit->depth <= plan->depth_block ? 1 : LEVELS;
  do {
    for (int level = 0; level < levels; level++) clear(arithmetic, keeps, sums[level], bytes);
    for (int64_t k = unit->depth, blocks = 1; k < unit->depth_end;
         k += plan->depth_block, blocks++) {
      block.depth = min_i64(unit->depth_end - k, plan->depth_block);
      const uint8_t *lhs = data[LHS] + (offset[LHS] + (size_t)(k * lhs_depth)) * lhs_bytes;
      block.data = data[RHS] + (offset[RHS] + (size_t)(k * rhs_depth + first * column)) * rhs_bytes;
      Vectors vectors =
          load_vectors(c, arithmetic, rows, lhs, block.depth, along_depth, narrow.loops, buffer);
      if (narrow.loops) {
        int64_t number = (int64_t)offset[RHS] + k * rhs_depth + first * column;
        add_narrow(&narrow, &block, &vectors, number, along_depth);
      } else {
        (along_depth ? add_by_columns : add_by_depth)(&block, &vectors);
      }
      if (levels > 1) move_sums(arithmetic, keeps, sums[0], sums[1], bytes);
      if (blocks % MAX_BLOCKS == 0) move_sums(arithmetic, keeps, sums[1], sums[2], bytes);
    }
    if (levels > 1) move_sums(arithmetic, keeps, sums[1], sums[2], bytes);
  } while (is_wrong(&narrow, sums[levels - 1], block.sums_stride, rows, block.columns));
  block.sums = sums[levels - 1];
  size_t at = offset[OUT] + (size_t)(first * axes_stride(&c->columns, OUT));
  store_block(c, &block, rows, along_depth, to, out + at * (size_t)type_bytes(to));
}
