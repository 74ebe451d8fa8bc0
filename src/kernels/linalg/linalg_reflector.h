/*
** Single reflectors: makes one from a column, and applies one to lines. Included once for each kind of number.
**
** The work on a long column may exceed a turn. So it goes slice by slice of the rows, pass after pass;
** progress->slice counts the slices that are done. A column of at most one slice goes through all passes at once.
*/
#include "base/min_max.h"
#include "kernels/linalg/linalg_numbers.h"

/* A routine that calls the fast loops: not inlined, compiled for size. */
#define ROUTINE __attribute__((noinline, minsize))

enum {
  SLICE = 1 << 16
}; /* rows; with the vectors used beside them, one or two megabytes of complex numbers */

typedef struct Slice {
  ptrdiff_t pass, passes; /* passes [pass, passes) */
  ptrdiff_t row, end;
  bool is_last;
} Slice;

static ptrdiff_t slices_of(ptrdiff_t rows) { return rows <= SLICE ? 1 : divide_up(rows, SLICE); }

static ptrdiff_t slices_of_passes(ptrdiff_t rows, ptrdiff_t passes) {
  return rows <= SLICE ? 1 : passes * slices_of(rows);
}

static Slice slice_at(ptrdiff_t number, ptrdiff_t rows, ptrdiff_t passes) {
  if (rows <= SLICE) return (Slice){0, passes, 0, rows, true};
  ptrdiff_t slices = slices_of(rows), pass = number / slices, row = number % slices * SLICE;
  return (Slice){pass, pass + 1, row, min_i64(row + SLICE, rows), rows - row <= SLICE};
}

static void swap_numbers(Number *x, Number *y, ptrdiff_t count) {
  for (ptrdiff_t j = 0; x != y && j < count; j++) {
    Number z = x[j];
    x[j] = y[j];
    y[j] = z;
  }
}

/* --- Norms ------------------------------------------------------------------------------------ */

/* Returns whether a sum of squares has neither overflowed nor underflowed. */
static bool is_ordinary(double squares) {
  return squares > (IS_NARROW ? 1e-25 : 1e-280) && squares < (IS_NARROW ? 1e36 : 1e300);
}

/* The norms to measure: of each column j with exact[j] < 0. The norm is stored in norms[j] and exact[j]. */
typedef struct Norms {
  const Number *x;
  ptrdiff_t size, stride;
  double *norms, *exact;
  Slice slice;
} Norms;

static double norm_of(const Number *x, ptrdiff_t count) {
  double sum = real(inner(x, x, count, true)), norm = 0;
  if (is_ordinary(sum)) return sqrt(sum);
  for (ptrdiff_t i = 0; i < count; i++) norm = hypot(norm, length_of(x[i]));
  return norm;
}

enum { NORM_PASSES = 2 }; /* sum of squares; if that over- or underflows, hypot */

static void measure_slice(const Norms *n, ptrdiff_t j) {
  if (!(n->exact[j] < 0)) return;
  Slice s = n->slice;
  const Number *x = n->x + j * n->stride;
  if (s.row == 0 && s.is_last) {
    n->exact[j] = n->norms[j] = norm_of(x, s.end);
    return;
  }
  double norm = s.row == 0 ? 0 : n->norms[j];
  if (s.pass == 0) norm += real(inner(x + s.row, x + s.row, s.end - s.row, true));
  for (ptrdiff_t i = s.row; s.pass > 0 && i < s.end; i++) norm = hypot(norm, length_of(x[i]));
  n->norms[j] = norm;
  if (!s.is_last || (s.pass == 0 && !is_ordinary(norm))) return;
  n->exact[j] = n->norms[j] = s.pass == 0 ? sqrt(norm) : norm;
}

/* --- Reflectors ------------------------------------------------------------------------------- */

/*
** Computes a reflector H = I - tau v v^H with H^H x = beta e1, v[0] = 1 and real beta, as LAPACK's larfg does. x[0]
** becomes beta, the rest of x becomes v. Norms below the smallest normal number count as 0, as in XLA:CPU: a matrix
** without full rank may leave only subnormal numbers, which are very slow.
**
** Returns beta. alpha: x[0]; rest: the norm of the other numbers. 0: they count as 0, and H is the identity.
*/
static double beta_of(Number alpha, double rest) {
  bool is_one = rest < (IS_NARROW ? FLT_MIN : DBL_MIN) && is_real(alpha);
  return is_one ? 0 : -copysign(hypot(length_of(alpha), rest), real(alpha));
}

static void divide_rows(Number *x, ptrdiff_t row, ptrdiff_t end, double beta) {
  Number by = minus(x[0], number(beta));
  for (ptrdiff_t i = row; i < end && beta == 0; i++) x[i] = number(0);
  for (ptrdiff_t i = row; i < end && beta != 0; i++) x[i] = over(x[i], by);
}

/* Stores beta after all numbers are divided. Returns tau. */
static Number end_reflector(Number *x, double beta) {
  Number alpha = x[0];
  if (beta == 0) return number(0);
  x[0] = number(beta);
  return over(minus(number(beta), alpha), number(beta));
}

__attribute__((noinline)) static Number reflector(Number *x, ptrdiff_t count) {
  double beta = beta_of(x[0], norm_of(x + 1, count - 1));
  divide_rows(x, 1, count, beta);
  return end_reflector(x, beta);
}

/* Computes a reflector, in turns if it is long. norm: two numbers that are kept between turns. */
ROUTINE static bool reflector_in_turns(Number *x, ptrdiff_t count, double *norm, Number *tau,
                                       ptrdiff_t at, LinalgProgress *progress) {
  ptrdiff_t rest = count - 1, slices = slices_of_passes(rest, NORM_PASSES + 1);
  if (slices == 1) {
    *tau = reflector(x, count);
    return true;
  }
  for (; progress->slice < slices; progress->slice++) {
    Slice s = slice_at(progress->slice, rest, NORM_PASSES + 1);
    if (linalg_pauses(progress, at, LINALG_MOVE * (double)(s.end - s.row))) return false;
    if (progress->slice == 0) norm[1] = -1;
    measure_slice(&(Norms){x + 1, rest, 0, &norm[0], &norm[1], s}, 0);
    if (s.pass == NORM_PASSES) divide_rows(x, s.row + 1, s.end + 1, beta_of(x[0], norm[0]));
  }
  progress->slice = 0;
  *tau = end_reflector(x, beta_of(x[0], norm[0]));
  return true;
}

/* Applies a reflector to lines: x -= factor v (v^H x). v[0] is taken as 1. */
__attribute__((noinline)) static void reflect_by_one(const Number *v, ptrdiff_t size, Number factor,
                                                     Number *x, ptrdiff_t lines, ptrdiff_t stride) {
  for (ptrdiff_t j = 0; j < lines && !is_zero(factor); j++) {
    Number *line = x + j * stride;
    Number sum = plus(line[0], inner(v + 1, line + 1, size - 1, true));
    sum = times(factor, sum);
    line[0] = minus(line[0], sum);
    subtract_row(line + 1, sum, v + 1, size - 1);
  }
}

typedef struct ReflectorOfLines {
  const Number *v;
  ptrdiff_t size;
  Number factor, *x;
  ptrdiff_t stride;
  Number *sums; /* v^H x of each line */
  Slice slice;
} ReflectorOfLines;

enum { REFLECTOR_PASSES = 2 }; /* sum up v^H x; subtract */

static void reflect_some(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const ReflectorOfLines *r = argument;
  Slice s = r->slice;
  if (s.row == 0 && s.is_last) {
    reflect_by_one(r->v, r->size, r->factor, r->x + first * r->stride, end - first, r->stride);
    return;
  }
  ptrdiff_t row = max_i64(s.row, 1), count = s.end - row;
  for (ptrdiff_t j = first; j < end && !is_zero(r->factor); j++) {
    Number *line = r->x + j * r->stride, *sum = r->sums + j;
    if (s.pass == 0) {
      Number so_far = s.row == 0 ? line[0] : *sum;
      *sum = plus(so_far, inner(r->v + row, line + row, count, true));
      if (s.is_last) *sum = times(r->factor, *sum);
    } else {
      if (s.row == 0) line[0] = minus(line[0], *sum);
      subtract_row(line + row, *sum, r->v + row, count);
    }
  }
}

/* Applies a reflector to lines, in turns. */
ROUTINE static bool reflect_by_one_in_turns(ReflectorOfLines of, ptrdiff_t lines, ptrdiff_t at,
                                            LinalgProgress *progress) {
  ptrdiff_t slices = slices_of_passes(of.size, REFLECTOR_PASSES);
  for (; progress->slice < slices; progress->slice++) {
    of.slice = slice_at(progress->slice, of.size, REFLECTOR_PASSES);
    double each = 2.0 * (double)((of.slice.end - of.slice.row) * (of.slice.passes - of.slice.pass));
    if (!linalg_share_in_turns(progress, at, lines, 1, each, reflect_some, &of)) return false;
  }
  progress->slice = 0;
  return true;
}
