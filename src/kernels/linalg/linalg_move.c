/* Copies matrices between memory and the routines' layouts, by rows or by columns, forwards or backwards. */
#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/pack.h"
#include "kernels/linalg/linalg.h"

enum { SQUARE = LINALG_SQUARE };

/* A matrix that is copied. Strides are in bytes; a row is contiguous in `to`. */
typedef struct Copied {
  const uint8_t *from;
  uint8_t *to;
  LinalgStrides s, t;
  ptrdiff_t rows, columns;
} Copied;

static inline ptrdiff_t length_of(ptrdiff_t x) { return x < 0 ? -x : x; }

#define COPY_NUMBERS(type) \
  for (; j < c->columns; j++) memcpy(to + j * width, from + j * c->s.along, sizeof(type));

/* Copies rows: by vectors if they are contiguous, forwards or backwards, or if a number is a vector. */
__attribute__((noinline)) static void copy_rows(ptrdiff_t width, const Copied *c) {
  ptrdiff_t some = 16 / width, along = c->s.along, first = along < 0 ? width - 16 : 0;
  ptrdiff_t whole = length_of(along) == width ? c->columns / some * some : 0;
  if (width == 16) whole = c->columns;
  for (ptrdiff_t i = 0; i < c->rows; i++) {
    const uint8_t *from = c->from + i * c->s.down;
    uint8_t *to = c->to + i * c->t.down;
    ptrdiff_t j = 0;
    for (; j < whole; j += some) {
      v128_t v = wasm_v128_load(from + j * along + first);
      if (first == -12) v = wasm_i32x4_shuffle(v, v, 1, 0, 3, 2);
      if (first < 0) v = wasm_i64x2_shuffle(v, v, 1, 0);
      wasm_v128_store(to + j * width, v);
    }
    if (width == 4) {
      COPY_NUMBERS(uint32_t)
    } else {
      COPY_NUMBERS(uint64_t)
    }
  }
}

/* Copies a square whose columns are contiguous in `from`, forwards or backwards. */
__attribute__((minsize)) static void transpose_square(ptrdiff_t width, const Copied *c) {
  size_t line[SQUARE];
  const uint8_t *from = c->from;
  uint8_t *to = c->to;
  ptrdiff_t down = c->t.down, last = c->columns - 1, first = c->s.along < 0 ? last * c->s.along : 0;
  if (c->s.down < 0) from += (c->rows - 1) * c->s.down, to += (c->rows - 1) * down, down = -down;
  from += first;
  for (ptrdiff_t j = 0; j <= last; j++) line[j] = (size_t)((j * c->s.along - first) / width);
  transpose_lanes((int)width, from, line, (int)c->columns, (int)c->rows, to, (int)(down / width));
}

__attribute__((minsize)) void linalg_copy(ptrdiff_t width, const void *from, LinalgStrides s,
                                          void *to, LinalgStrides t, LinalgSize size) {
  Copied c = {from, to, s, t, size.rows, size.columns};
  if (length_of(t.along) != width) {
    c = (Copied){from, to, {s.along, s.down}, {t.along, t.down}, size.columns, size.rows};
  }
  if (c.t.along < 0) {
    c.from += (c.columns - 1) * c.s.along, c.to += (c.columns - 1) * c.t.along;
    c.s.along = -c.s.along;
  }
  bool is_transposed = width < 16 && length_of(c.s.down) == width;
  if (!is_transposed && length_of(c.s.along) == width) {
    copy_rows(width, &c);
    return;
  }
  for (ptrdiff_t i = 0; i < c.rows; i += SQUARE) {
    for (ptrdiff_t j = 0; j < c.columns; j += SQUARE) {
      Copied square = c;
      square.from += i * c.s.down + j * c.s.along, square.to += i * c.t.down + j * width;
      square.rows = min_i64(SQUARE, c.rows - i), square.columns = min_i64(SQUARE, c.columns - j);
      if (is_transposed) {
        transpose_square(width, &square);
      } else {
        copy_rows(width, &square);
      }
    }
  }
}
