/* Builds the boxes of operations, plans how to copy them, and copies them: see box.h. */
#include "kernels/memory/box.h"

#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "value/scalar.h"

/* Threshold PIECE, PIECE_ELEMENTS. Test: "chunks: elements of loops, of the evaluator, bytes of
** moves" in core/thresholds_programs.test.mjs. */
/* Threshold TILE, STRIP. Test: "transposes around tiles and short rows" in core/thresholds.test.mjs. */
/* Threshold MAX_INLINE. Test: "pieces of a few bytes" in core/thresholds_programs.test.mjs. */
enum { PIECE = 1 << 16, PIECE_ELEMENTS = 256, TILE = 16, STRIP = 4 * TILE, MAX_INLINE = 256 };

/* Planning is compiled for size (0.4 kB less to download), copying for speed. */
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)

/* --- The boxes of operations ------------------------------------------------------------------ */

void byte_strides(const Shape *shape, int64_t *strides) {
  shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) strides[d] *= type_bytes(shape->type);
}

Box box_between(const Shape *sizes, const Shape *from, const Shape *to) {
  Box box = {.rank = sizes->rank};
  for (int d = 0; d < sizes->rank; d++) box.sizes[d] = sizes->dims[d];
  byte_strides(from, box.from_strides);
  byte_strides(to, box.to_strides);
  return box;
}

Box box_concatenated(const Instruction *concatenate, int operand, int64_t *at) {
  int64_t dimension = concatenate->a->dimensions.items[0];
  const Shape *shape = concatenate->operands[operand]->shape;
  Box box = box_between(shape, shape, concatenate->shape);
  box.to = *at * box.to_strides[dimension];
  *at += shape->dims[dimension];
  return box;
}

Box box_padded(const Instruction *pad) {
  const Shape *operand = pad->operands[0]->shape, *result = pad->shape;
  Box box = box_between(operand, operand, result);
  for (int d = 0; d < operand->rank; d++) {
    const PaddingDimension *padding = &pad->a->padding.items[d];
    int64_t step = padding->interior + 1, first = 0, end = operand->dims[d];
    if (padding->low < 0) first = divide_up(-padding->low, step);
    int64_t room = result->dims[d] - padding->low; /* the last one is below it */
    if (end > divide_up(room, step)) end = divide_up(room, step);
    box.sizes[d] = end > first ? end - first : 0;
    box.from += first * box.from_strides[d];
    box.to += (padding->low + first * step) * box.to_strides[d];
    box.to_strides[d] *= step;
  }
  return box;
}

Box box_transposed(const Instruction *transpose) {
  const Shape *operand = transpose->operands[0]->shape, *result = transpose->shape;
  int64_t strides[MAX_RANK];
  Box box = box_between(result, operand, result);
  byte_strides(operand, strides);
  for (int d = 0; d < result->rank; d++) {
    box.from_strides[d] = strides[transpose->a->dimensions.items[d]];
  }
  return box;
}

/* --- Plans ------------------------------------------------------------------------------------ */

/* Removes dimensions of size 1 and merges dimensions that form one loop on both sides. */
static void simplify(Box *box) {
  int rank = 0;
  for (int d = 0; d < box->rank; d++) {
    int64_t size = box->sizes[d], from = box->from_strides[d], to = box->to_strides[d];
    if (size == 1) continue;
    bool joins = rank > 0 && box->from_strides[rank - 1] == size * from &&
                 box->to_strides[rank - 1] == size * to;
    if (!joins) box->sizes[rank++] = 1;
    box->sizes[rank - 1] *= size;
    box->from_strides[rank - 1] = from;
    box->to_strides[rank - 1] = to;
  }
  box->rank = rank;
}

static void take_out(Box *box, int dimension) {
  for (int d = dimension; d + 1 < box->rank; d++) {
    box->sizes[d] = box->sizes[d + 1];
    box->from_strides[d] = box->from_strides[d + 1];
    box->to_strides[d] = box->to_strides[d + 1];
  }
  box->rank--;
}

static int contiguous_source(const Box *box, int width) {
  for (int d = 0; d < box->rank; d++) {
    if (box->from_strides[d] == width) return d;
  }
  return -1;
}

/* Plans a transpose: each array has a different innermost dimension. A unit is a strip of STRIP rows, so that each
** page lookup serves many elements. */
static void plan_tiles(BoxMove *move, int row) {
  Box *box = &move->box;
  move->kind = MOVE_TILES;
  move->rows = box->sizes[row];
  move->row_from = box->from_strides[row];
  move->row_to = box->to_strides[row];
  take_out(box, row);
  move->pieces = divide_up(move->rows, STRIP);
  move->unit_bytes = move->count * move->width * STRIP;
}

void box_plan(BoxMove *move, const Box *original, int width) {
  *move = (BoxMove){.box = *original, .width = width, .run = width, .pieces = 1, .count = 1};
  Box *box = &move->box;
  simplify(box);
  int last = box->rank - 1;
  if (last >= 0 && box->from_strides[last] == width && box->to_strides[last] == width) {
    move->run = box->sizes[last] * width;
    box->rank--;
    move->pieces = divide_up(move->run, PIECE);
    move->unit_bytes = move->run < PIECE ? move->run : PIECE;
  } else if (last >= 0) {
    move->kind = MOVE_ELEMENTS;
    move->count = box->sizes[last];
    move->from = box->from_strides[last];
    move->to = box->to_strides[last];
    box->rank--;
    move->pieces = divide_up(move->count, PIECE_ELEMENTS);
    int64_t piece = move->count < PIECE_ELEMENTS ? move->count : PIECE_ELEMENTS;
    move->unit_bytes = piece * width * 4; /* single elements are slower than copies */
    int row = move->to == width ? contiguous_source(box, width) : -1;
    if (row >= 0) plan_tiles(move, row);
  } else {
    move->unit_bytes = width;
  }
  move->units = move->pieces;
  for (int d = 0; d < box->rank; d++) move->units *= box->sizes[d];
}

#pragma clang attribute pop

/* --- Start indices ---------------------------------------------------------------------------- */

int64_t dynamic_start(const Instruction *instruction, const uint8_t *const *operands, int first,
                      int d, int64_t limit, int64_t size) {
  bool vector = instruction->operands[first]->shape->rank == 1;
  int operand = vector ? first : first + d;
  PrimitiveType type = instruction->operands[operand]->shape->type;
  Scalar start = scalar_load(type, operands[operand], vector ? d : 0);
  return scalar_clamped_index(type, start, limit - size);
}

/* --- Elements --------------------------------------------------------------------------------- */

#define COPY_ELEMENTS(type)                                                   \
  for (int64_t i = 0; i < count; i++, from += from_stride, to += to_stride) { \
    memcpy(to, from, sizeof(type));                                           \
  }

__attribute__((noinline)) static void copy_elements(int width, const uint8_t *from,
                                                    int64_t from_stride, uint8_t *to,
                                                    int64_t to_stride, int64_t count) {
  switch (width) {
  case 1: COPY_ELEMENTS(uint8_t) break;
  case 2: COPY_ELEMENTS(uint16_t) break;
  case 4: COPY_ELEMENTS(uint32_t) break;
  case 8: COPY_ELEMENTS(uint64_t) break;
  default: COPY_ELEMENTS(v128_t) break;
  }
}

/* --- Tiles ------------------------------------------------------------------------------------ */

/* Transposes 4 x 4 elements of 32 bits. from_stride, to_stride: bytes from row to row. */
static inline void transpose_32(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                                ptrdiff_t to_stride) {
  v128_t a = wasm_v128_load(from), b = wasm_v128_load(from + from_stride);
  v128_t c = wasm_v128_load(from + 2 * from_stride), d = wasm_v128_load(from + 3 * from_stride);
  v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5);
  wasm_v128_store(to, wasm_i64x2_shuffle(ab, cd, 0, 2));
  wasm_v128_store(to + to_stride, wasm_i64x2_shuffle(ab, cd, 1, 3));
  ab = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), cd = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
  wasm_v128_store(to + 2 * to_stride, wasm_i64x2_shuffle(ab, cd, 0, 2));
  wasm_v128_store(to + 3 * to_stride, wasm_i64x2_shuffle(ab, cd, 1, 3));
}

static inline void transpose_64(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                                ptrdiff_t to_stride) {
  v128_t a = wasm_v128_load(from), b = wasm_v128_load(from + from_stride);
  wasm_v128_store(to, wasm_i64x2_shuffle(a, b, 0, 2));
  wasm_v128_store(to + to_stride, wasm_i64x2_shuffle(a, b, 1, 3));
}

__attribute__((noinline)) static void interleave_16(const v128_t *x, v128_t *y) {
  for (int i = 0; i < 4; i++) {
    y[2 * i] = wasm_i16x8_shuffle(x[i], x[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    y[2 * i + 1] = wasm_i16x8_shuffle(x[i], x[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
}

/* Transposes 8 x 8 elements of 16 bits, in three rounds of interleaving. */
__attribute__((noinline)) static void transpose_16(const uint8_t *from, ptrdiff_t from_stride,
                                                   uint8_t *to, ptrdiff_t to_stride) {
  v128_t x[8], y[8];
  for (int i = 0; i < 8; i++) x[i] = wasm_v128_load(from + i * from_stride);
  interleave_16(x, y);
  interleave_16(y, x);
  interleave_16(x, y);
  for (int i = 0; i < 8; i++) wasm_v128_store(to + i * to_stride, y[i]);
}

__attribute__((noinline)) static void interleave_8(const v128_t *x, v128_t *y) {
  for (int i = 0; i < 8; i++) {
    y[2 * i] =
        wasm_i8x16_shuffle(x[i], x[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    y[2 * i + 1] = wasm_i8x16_shuffle(x[i], x[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                      14, 30, 15, 31);
  }
}

/* Transposes 16 x 16 elements of 8 bits, in four rounds. */
__attribute__((noinline)) static void transpose_8(const uint8_t *from, ptrdiff_t from_stride,
                                                  uint8_t *to, ptrdiff_t to_stride) {
  v128_t x[16], y[16];
  for (int i = 0; i < 16; i++) x[i] = wasm_v128_load(from + i * from_stride);
  for (int rounds = 0; rounds < 2; rounds++) interleave_8(x, y), interleave_8(y, x);
  for (int i = 0; i < 16; i++) wasm_v128_store(to + i * to_stride, x[i]);
}

/* Transposes a band of blocks in one call: a block of 64-bit elements is too small for a call of its own. */
#define TRANSPOSE_BAND(bits)                                                                 \
  static void transpose_band_##bits(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to, \
                                    ptrdiff_t to_stride) {                                   \
    for (int column = 0; column < TILE; column += 128 / bits) {                              \
      transpose_##bits(from, from_stride, to, to_stride);                                    \
      from += 128 / bits * from_stride, to += 16;                                            \
    }                                                                                        \
  }
TRANSPOSE_BAND(8)
TRANSPOSE_BAND(16)
TRANSPOSE_BAND(32)
TRANSPOSE_BAND(64)

typedef void TransposeBand(const uint8_t *from, ptrdiff_t from_stride, uint8_t *to,
                           ptrdiff_t to_stride);

static TransposeBand *transpose_of(int width, int *side) {
  *side = 16 / width;
  switch (width) {
  case 1: return transpose_band_8;
  case 2: return transpose_band_16;
  case 4: return transpose_band_32;
  case 8: return transpose_band_64;
  default: return NULL;
  }
}

/* Copies `rows` x `columns` elements; a row is contiguous in `to`, a column in `from`. The inner loop is along the
** longer of the two. */
static void copy_part(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t rows,
                      int64_t columns) {
  for (int64_t column = 0; column < columns && columns < rows; column++) {
    copy_elements(move->width, from + column * move->from, move->width, to + column * move->width,
                  move->row_to, rows);
  }
  for (int64_t row = 0; row < rows && columns >= rows; row++) {
    copy_elements(move->width, from + row * move->width, move->from, to + row * move->row_to,
                  move->width, columns);
  }
}

/* Copies a tile through a buffer, so that each cache line is read or written once. With strides that are powers of
** two, a tile's lines would evict each other from the cache. */
static void copy_tile(const BoxMove *move, const uint8_t *from, uint8_t *to) {
  _Alignas(64) uint8_t tile[TILE * TILE * 8];
  int side, width = move->width;
  ptrdiff_t line = TILE * width, row_to = (ptrdiff_t)move->row_to, at = 0;
  TransposeBand *transpose = transpose_of(width, &side);
  for (; at < TILE * line; at += side * line, from += 16) {
    transpose(from, (ptrdiff_t)move->from, tile + at, line);
  }
  for (at = 0; at < TILE * line; to += row_to - line) {
    for (ptrdiff_t end = at + line; at < end; at += 16, to += 16) {
      wasm_v128_store(to, wasm_v128_load(tile + at));
    }
  }
}

static void copy_strip(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t piece) {
  int64_t first = piece * STRIP, end = first + STRIP < move->rows ? first + STRIP : move->rows;
  int64_t width = end - first < TILE ? 16 * TILE : TILE; /* few rows: longer pieces at once */
  for (int64_t column = 0; column < move->count; column += width) {
    int64_t columns = move->count - column < width ? move->count - column : width;
    for (int64_t row = first; row < end; row += TILE) {
      int64_t rows = end - row < TILE ? end - row : TILE;
      const uint8_t *source = from + row * move->row_from + column * move->from;
      uint8_t *target = to + row * move->row_to + column * move->to;
      if (rows == TILE && columns == TILE && move->width <= 8) {
        copy_tile(move, source, target);
      } else {
        copy_part(move, source, target, rows, columns);
      }
    }
  }
}

/* --- Units ------------------------------------------------------------------------------------ */

/* Copies less than a vector as two overlapping halves. */
#define COPY_HALVES(type)                         \
  do {                                            \
    int64_t last = bytes - (int64_t)sizeof(type); \
    type low, high;                               \
    memcpy(&low, from, sizeof low);               \
    memcpy(&high, from + last, sizeof high);      \
    memcpy(to, &low, sizeof low);                 \
    memcpy(to + last, &high, sizeof high);        \
  } while (0)

void box_copy(uint8_t *to, const uint8_t *from, int64_t bytes) {
  if (bytes > MAX_INLINE) {
    memcpy(to, from, (size_t)bytes);
  } else if (bytes >= 16) {
    for (int64_t i = 0; i < bytes - 16; i += 16) wasm_v128_store(to + i, wasm_v128_load(from + i));
    wasm_v128_store(to + bytes - 16, wasm_v128_load(from + bytes - 16));
  } else if (bytes >= 8) {
    COPY_HALVES(uint64_t);
  } else if (bytes >= 4) {
    COPY_HALVES(uint32_t);
  } else {
    for (int64_t i = 0; i < bytes; i++) to[i] = from[i];
  }
}

static void copy_run(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t piece) {
  int64_t first = piece * PIECE, rest = move->run - first;
  box_copy(to + first, from + first, rest < PIECE ? rest : PIECE);
}

static void copy_line(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t piece) {
  int64_t first = piece * PIECE_ELEMENTS, rest = move->count - first;
  copy_elements(move->width, from + first * move->from, move->from, to + first * move->to, move->to,
                rest < PIECE_ELEMENTS ? rest : PIECE_ELEMENTS);
}

void box_run(const BoxMove *move, const uint8_t *from, uint8_t *to, int64_t begin, int64_t end) {
  const Box *box = &move->box;
  int64_t index[MAX_RANK], piece = begin % move->pieces, row = begin / move->pieces;
  from += box->from;
  to += box->to;
  for (int d = box->rank - 1; d >= 0; d--) {
    index[d] = row % box->sizes[d];
    row /= box->sizes[d];
    from += index[d] * box->from_strides[d];
    to += index[d] * box->to_strides[d];
  }
  for (int64_t unit = begin; unit < end; unit++) {
    switch (move->kind) {
    case MOVE_RUNS: copy_run(move, from, to, piece); break;
    case MOVE_TILES: copy_strip(move, from, to, piece); break;
    default: copy_line(move, from, to, piece);
    }
    if (++piece < move->pieces) continue;
    piece = 0;
    for (int d = box->rank - 1; d >= 0; d--) {
      from += box->from_strides[d];
      to += box->to_strides[d];
      if (++index[d] < box->sizes[d]) break;
      from -= index[d] * box->from_strides[d];
      to -= index[d] * box->to_strides[d];
      index[d] = 0;
    }
  }
}
