/*
** Arithmetic for linalg_factor.h: numbers, rows of numbers, and matrix products. Numbers are real (IS_NARROW: f32) or
** complex (IS_COMPLEX). A vector holds one complex number, two f64 or four f32.
*/
#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "kernels/contraction/lanes.h"
#include "kernels/linalg/linalg.h"
#include "value/scalar.h"

#if IS_NARROW
typedef float Real;
#else
typedef double Real;
#endif

typedef Real Vector __attribute__((vector_size(16)));

#if IS_COMPLEX
typedef LinalgComplex Number;
enum { WIDTH = 1, REALS = 2 }; /* numbers in a vector; reals in a number */

static inline Number number(double re) { return (Number){re, 0}; }
static inline double real(Number x) { return x.re; }
static inline bool is_real(Number x) { return x.im == 0; }
static inline Number conjugate(Number x) { return (Number){x.re, -x.im}; }
static inline Number plus(Number x, Number y) { return (Number){x.re + y.re, x.im + y.im}; }
static inline Number minus(Number x, Number y) { return (Number){x.re - y.re, x.im - y.im}; }
static inline Number times(Number x, Number y) {
  return (Number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
static inline Number scaled(Number x, double by) { return (Number){x.re * by, x.im * by}; }
static inline double size_of(Number x) { return fabs(x.re) + fabs(x.im); }
static inline double length_of(Number x) { return hypot(x.re, x.im); }

/* Returns x / y. Divides by the larger part of y first (Smith), so that no intermediate result overflows. */
static inline Number over(Number x, Number y) {
  if (y.im == 0) return (Number){x.re / y.re, x.im / y.re};
  if (fabs(y.re) >= fabs(y.im)) {
    double r = y.im / y.re, d = y.re + y.im * r;
    return (Number){(x.re + x.im * r) / d, (x.im - x.re * r) / d};
  }
  double r = y.re / y.im, d = y.re * r + y.im;
  return (Number){(x.re * r + x.im) / d, (x.im * r - x.re) / d};
}

typedef struct Factor {
  Vector same, crossed;
} Factor;

static inline Factor factor_of(Number x) { return (Factor){{x.re, x.re}, {-x.im, x.im}}; }
static inline Vector product(Vector x, Factor f) {
  return x * f.same + __builtin_shufflevector(x, x, 1, 0) * f.crossed;
}

/* Returns i x. For products of one vector with several numbers, which then need no Factor. */
static inline Vector turned(Vector x) {
  return __builtin_shufflevector(x, x, 1, 0) * (Vector){-1, 1};
}
static inline Vector product_by(Vector x, Vector turned_x, const Number *by) {
  return x * (Vector){by->re, by->re} + turned_x * (Vector){by->im, by->im};
}
#else
typedef Real Number;
enum { WIDTH = 16 / sizeof(Real), REALS = 1 };

static inline Number number(double re) { return (Real)re; }
static inline double real(Number x) { return x; }
static inline bool is_real(Number x) { return true; }
static inline Number conjugate(Number x) { return x; }
static inline Number plus(Number x, Number y) { return x + y; }
static inline Number minus(Number x, Number y) { return x - y; }
static inline Number times(Number x, Number y) { return x * y; }
static inline Number scaled(Number x, double by) { return (Real)(x * by); }
static inline double size_of(Number x) { return fabs(x); }
static inline double length_of(Number x) { return fabs(x); }
static inline Number over(Number x, Number y) { return x / y; }

typedef Vector Factor;

static inline Factor factor_of(Number x) { return x - (Vector){0}; }
static inline Vector product(Vector x, Factor f) { return x * f; }
static inline Vector turned(Vector x) { return x; }
static inline Vector product_by(Vector x, Vector turned_x, const Number *by) {
  return x * factor_of(*by);
}
#endif

enum { TURN = LINALG_TURN / (REALS * REALS) };

static inline bool is_zero(Number x) { return size_of(x) == 0; }

static inline Vector load(const Number *from) {
  Vector v;
  memcpy(&v, from, sizeof v);
  return v;
}

static inline void store(Number *to, Vector v) { memcpy(to, &v, sizeof v); }

/* For loops over the tail of a row: few iterations, which compilers would unroll into much code. */
#define AS_IT_IS _Pragma("clang loop unroll(disable) vectorize(disable)")

/* --- Rows ------------------------------------------------------------------------------------- */

/* Functions that linalg_wide.c and linalg_exact.c call too, in double. */
#if IS_NARROW
#define SHARED static
#else
#define SHARED
#endif

#define subtract_row NAMED(linalg_subtract_row)
#define inner        NAMED(linalg_inner)

/* y -= a x. */
__attribute__((noinline)) SHARED void subtract_row(Number *y, Number a, const Number *x,
                                                   ptrdiff_t count) {
  Factor factor = factor_of(a);
  ptrdiff_t i = 0;
  for (; i + 2 * WIDTH <= count; i += 2 * WIDTH) {
    store(y + i, load(y + i) - product(load(x + i), factor));
    store(y + i + WIDTH, load(y + i + WIDTH) - product(load(x + i + WIDTH), factor));
  }
  AS_IT_IS
  for (; i < count; i++) y[i] = minus(y[i], times(a, x[i]));
}

/* y -= a x + b z. */
__attribute__((noinline)) static void subtract_rows(Number *y, Number a, const Number *x, Number b,
                                                    const Number *z, ptrdiff_t count) {
  Factor of_x = factor_of(a), of_z = factor_of(b);
  ptrdiff_t i = 0;
  for (; i + WIDTH <= count; i += WIDTH) {
    store(y + i, load(y + i) - product(load(x + i), of_x) - product(load(z + i), of_z));
  }
  AS_IT_IS
  for (; i < count; i++) y[i] = minus(minus(y[i], times(a, x[i])), times(b, z[i]));
}

/* Returns the sum of x y, or of conj(x) y. */
static inline Number short_inner(const Number *x, const Number *y, ptrdiff_t count,
                                 bool conjugates) {
#if IS_COMPLEX
  Vector re = {0}, im = {0}, re_next = {0}, im_next = {0}; /* by parts of y */
  ptrdiff_t i = 0;
  for (; i + 2 <= count; i += 2) {
    re += load(x + i) * y[i].re;
    im += load(x + i) * y[i].im;
    re_next += load(x + i + 1) * y[i + 1].re;
    im_next += load(x + i + 1) * y[i + 1].im;
  }
  if (i < count) re += load(x + i) * y[i].re, im += load(x + i) * y[i].im;
  re += re_next, im += im_next;
  return conjugates ? (Number){re[0] + im[1], im[0] - re[1]}
                    : (Number){re[0] - im[1], im[0] + re[1]};
#else
  Vector a = {0}, b = {0};
  ptrdiff_t i = 0;
  for (; i + 2 * WIDTH <= count; i += 2 * WIDTH) {
    a += load(x + i) * load(y + i);
    b += load(x + i + WIDTH) * load(y + i + WIDTH);
  }
  a += b;
  Real sum = 0;
  for (int lane = 0; lane < WIDTH; lane++) sum += a[lane];
  AS_IT_IS
  for (; i < count; i++) sum += x[i] * y[i];
  return sum;
#endif
}

__attribute__((noinline)) SHARED Number inner(const Number *x, const Number *y, ptrdiff_t count,
                                              bool conjugates) {
  return short_inner(x, y, count, conjugates);
}

/* --- Products --------------------------------------------------------------------------------- */

/* The left factor of a product; row and depth are the strides of its two dimensions. */
typedef struct Left {
  const Number *at;
  ptrdiff_t row, depth;
} Left;

enum { BLOCK_ROWS = 4, BLOCK_COLUMNS = 2 * WIDTH, STRIP_COLUMNS = 32 * WIDTH };

/* c -= a b for BLOCK_ROWS rows and BLOCK_COLUMNS columns. */
static inline void subtract_block(Left a, ptrdiff_t depth, const Number *b, ptrdiff_t b_stride,
                                  Number *c, ptrdiff_t c_stride) {
  Vector sum[BLOCK_ROWS][2];
#pragma unroll
  for (int r = 0; r < BLOCK_ROWS; r++) {
    sum[r][0] = load(c + r * c_stride);
    sum[r][1] = load(c + r * c_stride + WIDTH);
  }
  for (ptrdiff_t k = 0; k < depth; k++) {
    const Number *row = b + k * b_stride, *column = a.at + k * a.depth;
    Vector x = load(row), y = load(row + WIDTH), turned_x = turned(x), turned_y = turned(y);
#pragma unroll
    for (int r = 0; r < BLOCK_ROWS; r++) {
      sum[r][0] -= product_by(x, turned_x, &column[r * a.row]);
      sum[r][1] -= product_by(y, turned_y, &column[r * a.row]);
    }
  }
#pragma unroll
  for (int r = 0; r < BLOCK_ROWS; r++) {
    store(c + r * c_stride, sum[r][0]);
    store(c + r * c_stride + WIDTH, sum[r][1]);
  }
}

static void subtract_corner(ptrdiff_t rows, ptrdiff_t columns, Left a, ptrdiff_t depth,
                            const Number *b, ptrdiff_t b_stride, Number *c, ptrdiff_t c_stride) {
  for (ptrdiff_t i = 0; columns > 0 && i < rows; i++) {
    for (ptrdiff_t k = 0; k < depth; k++) {
      subtract_row(c + i * c_stride, a.at[i * a.row + k * a.depth], b + k * b_stride, columns);
    }
  }
}

static void subtract_strip(ptrdiff_t rows, ptrdiff_t columns, Left a, ptrdiff_t depth,
                           const Number *b, ptrdiff_t b_stride, Number *c, ptrdiff_t c_stride) {
  ptrdiff_t i = 0, j = 0, whole = columns - columns % BLOCK_COLUMNS;
  for (; i + BLOCK_ROWS <= rows; i += BLOCK_ROWS) {
    Left left = {a.at + i * a.row, a.row, a.depth};
    for (j = 0; j < whole; j += BLOCK_COLUMNS) {
      subtract_block(left, depth, b + j, b_stride, c + i * c_stride + j, c_stride);
    }
    subtract_corner(BLOCK_ROWS, columns - j, left, depth, b + j, b_stride, c + i * c_stride + j,
                    c_stride);
  }
  Left left = {a.at + i * a.row, a.row, a.depth};
  subtract_corner(rows - i, columns, left, depth, b, b_stride, c + i * c_stride, c_stride);
}

enum { PANEL_REALS = PANEL_COLUMN_BYTES / (int)sizeof(Real), PANEL = PANEL_REALS / REALS };

#if IS_COMPLEX
#define subtract_panels linalg_subtract_panels_f64
#else
#define subtract_panels NAMED(linalg_subtract_panels)

enum {
  PACKED_ROWS = 60, /* whole panels of 4 or 6 */
  PACKED_DEPTH = 32,
  STRIP_REALS = STRIP_COLUMNS * REALS,
  MIN_PACKED = 8
};

/* Packs a panel of b's columns. For complex numbers, i times the row follows each row. */
__attribute__((noinline)) static Real *pack_panel(const Real *b, ptrdiff_t stride, ptrdiff_t parts,
                                                  ptrdiff_t depth, Real *to) {
  for (; depth > 0; depth -= parts, b += stride) {
    memcpy(to, b, PANEL_COLUMN_BYTES);
    to += PANEL_REALS;
    AS_IT_IS
    for (int i = 0; !IS_NARROW && parts > 1 && i < PANEL_REALS; i += 2, to += 2)
      to[0] = -b[i + 1], to[1] = b[i];
  }
  return to;
}

static void subtract_packed(const LaneLoops *loops, ptrdiff_t rows, ptrdiff_t columns,
                            const Real *a, ptrdiff_t a_row, ptrdiff_t depth, const Real *b, Real *c,
                            ptrdiff_t c_stride) {
  ptrdiff_t height = loops->panel_rows;
  Real packed[PACKED_ROWS * PACKED_DEPTH];
  void *out[PACKED_ROWS];
  for (ptrdiff_t i = 0; i < rows; i++) {
    const Real *from = a + i * a_row;
    Real *to = packed + (i - i % height) * depth + i % height;
    AS_IT_IS
    for (ptrdiff_t k = 0; k < depth; k++) to[k * height] = -from[k];
  }
  for (ptrdiff_t j = 0; j < columns; j += PANEL_REALS, b += PANEL_REALS * depth) {
    for (ptrdiff_t i = 0; i < rows; i++) out[i] = c + i * c_stride + j;
    loops->tile((int)depth, packed, height * depth * (ptrdiff_t)sizeof *packed,
                (int)(rows / height), b, out, START_OUT);
  }
}

/*
** Computes c -= a b with the innermost loop of contractions, for whole panels of rows and columns. Works on a strip of
** columns and a block of the depth at a time. Returns the number of rows done; 0 if the product is too small. A complex
** product (parts = 2) is a real one of twice the depth. All sizes are in reals.
*/
__attribute__((noinline, minsize)) SHARED ptrdiff_t
subtract_panels(ptrdiff_t parts, ptrdiff_t rows, ptrdiff_t columns, const Real *a, ptrdiff_t a_row,
                ptrdiff_t depth, const Real *b, ptrdiff_t b_stride, Real *c, ptrdiff_t c_stride) {
  const LaneLoops *loops = lanes_of(IS_NARROW ? LANES_F32 : LANES_F64);
  ptrdiff_t high = rows - rows % loops->panel_rows, wide = columns - columns % PANEL_REALS;
  if (rows < 3 * loops->panel_rows || columns < 2 * PANEL_REALS || depth < MIN_PACKED) return 0;
  Real packed[PACKED_DEPTH * STRIP_REALS];
  for (ptrdiff_t j = 0; j < wide; j += STRIP_REALS) {
    ptrdiff_t width = min_i64(STRIP_REALS, wide - j);
    for (ptrdiff_t k = 0; k < depth; k += PACKED_DEPTH) {
      ptrdiff_t size = min_i64(PACKED_DEPTH, depth - k);
      Real *to = packed;
      for (ptrdiff_t p = 0; p < width; p += PANEL_REALS) {
        to = pack_panel(b + k / parts * b_stride + j + p, b_stride, parts, size, to);
      }
      for (ptrdiff_t i = 0; i < high; i += PACKED_ROWS) {
        subtract_packed(loops, min_i64(PACKED_ROWS, high - i), width, a + i * a_row + k, a_row,
                        size, packed, c + i * c_stride + j, c_stride);
      }
    }
  }
  return high;
}
#endif

/* c -= a b. The rows of a are contiguous. */
__attribute__((noinline)) static void subtract_product(ptrdiff_t rows, ptrdiff_t columns, Left a,
                                                       ptrdiff_t depth, const Number *b,
                                                       ptrdiff_t b_stride, Number *c,
                                                       ptrdiff_t c_stride) {
  ptrdiff_t wide = columns - columns % PANEL;
  ptrdiff_t high = subtract_panels(REALS, rows, columns * REALS, (const Real *)a.at, a.row * REALS,
                                   depth * REALS, (const Real *)b, b_stride * REALS, (Real *)c,
                                   c_stride * REALS);
  subtract_strip(high, columns - wide, a, depth, b + wide, b_stride, c + wide, c_stride);
  a.at += high * a.row;
  subtract_strip(rows - high, columns, a, depth, b, b_stride, c + high * c_stride, c_stride);
}
