/*
** Computes triangular-solve as XLA:CPU expands it: inverts diagonal blocks of 128. Used for matrices that are singular
** or not finite, where the expansion decides which results are NaN. All in double, real or complex. tests/textbook/linalg.c,
** the oracle, does the same operations in the same order, for one vector at a time.
*/
#include <string.h>

#include "base/min_max.h"
#include "hlo/scalar/element.h"
#include "kernels/linalg/linalg.h"

/* Threshold STRIP. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { STRIP = 128 }; /* vectors at once */

static int parts_of(const LinalgPlan *p) { return type_is_complex(p->type) ? 2 : 1; }

static ptrdiff_t block_of(const LinalgPlan *p) { return min_i64(XLA_BLOCK, p->in[0].rows); }

int64_t linalg_exact_numbers(const LinalgPlan *p) {
  int64_t n = p->in[0].rows, strip = min_i64(linalg_systems(p).vectors, STRIP), block = block_of(p);
  return p->by_blocks ? n * block + (n + block) * strip : 0;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static Scalar get(const LinalgPlan *p, const double *x, ptrdiff_t i) {
  if (parts_of(p) == 1) return (Scalar){.f = x[i]};
  return (Scalar){.f = x[2 * i], .im = x[2 * i + 1]};
}

static void set(const LinalgPlan *p, double *x, ptrdiff_t i, Scalar value) {
  int parts = parts_of(p);
  x[i * parts] = value.f;
  if (parts == 2) x[2 * i + 1] = value.im;
}

static Scalar conjugate(Scalar x) {
  x.im = -x.im;
  return x;
}

static Scalar divide(const LinalgPlan *p, Scalar x, Scalar y) {
  return scalar_binary_opcode(HLO_DIVIDE, parts_of(p) == 2 ? C128 : F64, x, y);
}

/* y -= a x, for rows of `count`. Real numbers stay out of complex products, where infinities give NaN. */
static void subtract(const LinalgPlan *p, double *y, Scalar a, const double *x, ptrdiff_t count) {
  if (parts_of(p) == 1) {
    linalg_subtract_row_f64(y, a.f, x, count);
  } else {
    linalg_subtract_row_c128((LinalgComplex *)y, (LinalgComplex){a.f, a.im},
                             (const LinalgComplex *)x, count);
  }
}

/* A solve of T y = r for each vector, where T is A, its transpose or its adjoint. */
struct Work {
  const LinalgPlan *p;
  const LinalgData *data;
  LinalgProgress *progress;
  LinalgSystems s;
  ptrdiff_t parts, block;
  double *inverse;  /* of A's diagonal blocks, one below the other */
  double *x, *part; /* y of a strip of vectors; a block of it */
};

static Scalar element(const Work *s, ptrdiff_t row, ptrdiff_t column) {
  const LinalgPlan *p = s->p;
  bool counts = row == column ? !p->unit : p->lower == (row > column);
  if (!counts) return (Scalar){.f = row == column};
  return scalar_load(p->type, s->data->in[0], row * s->s.n + column);
}

/* Returns an element of T. */
static Scalar factor_at(const Work *s, ptrdiff_t row, ptrdiff_t column) {
  Scalar value = s->p->transposed ? element(s, column, row) : element(s, row, column);
  return s->p->conjugated ? conjugate(value) : value;
}

static double *inverse_row(const Work *s, ptrdiff_t row) {
  return s->inverse + row * s->block * s->parts;
}
static double *vectors_at(const Work *s, double *of, ptrdiff_t row) {
  return of + row * min_i64(s->s.vectors, STRIP) * s->parts;
}

/*
** Inverts a diagonal block of `size` at `begin`, row by row. With D its diagonal, U = A / D (by columns) has a unit
** diagonal. Its inverse V starts as a diagonal matrix: 1 in the first row, -1 in the others. Then each next row j
** becomes -(U[j,:] V). At the end inverse(A) = V / D (by rows). The products include zeros, as in XLA, so NaN and
** infinities spread.
*/
static void begin_inverse(const Work *s, ptrdiff_t begin, ptrdiff_t size) {
  ptrdiff_t first = s->p->lower ? 0 : size - 1;
  for (ptrdiff_t i = 0; i < size * size; i++) {
    ptrdiff_t row = i / size, column = i % size;
    double value = row != column ? 0 : row == first ? 1 : -1;
    set(s->p, inverse_row(s, begin + row), column, (Scalar){.f = value});
  }
}

static void invert_row(const Work *s, ptrdiff_t begin, ptrdiff_t size, ptrdiff_t row) {
  const LinalgPlan *p = s->p;
  memset(s->part, 0, (size_t)(size * s->parts) * sizeof(double));
  for (ptrdiff_t k = begin; k < begin + size; k++) {
    Scalar u = divide(p, element(s, row, k), element(s, k, k));
    subtract(p, s->part, u, inverse_row(s, k), size);
  }
  memcpy(inverse_row(s, row), s->part, (size_t)(size * s->parts) * sizeof(double));
}

static void end_inverse(const Work *s, ptrdiff_t begin, ptrdiff_t size) {
  for (ptrdiff_t row = begin; row < begin + size; row++) {
    double *of_row = inverse_row(s, row);
    for (ptrdiff_t c = 0; c < size; c++) {
      set(s->p, of_row, c, divide(s->p, get(s->p, of_row, c), element(s, row, row)));
    }
  }
}

static bool invert_blocks(Work *s) {
  LinalgProgress *progress = s->progress;
  for (ptrdiff_t at = progress->at; at < s->s.n; at++) {
    ptrdiff_t i = at % s->block, begin = at - i, size = min_i64(s->block, s->s.n - begin);
    if (linalg_pauses(progress, at, (double)(size * size * s->parts))) return false;
    if (i == 0) begin_inverse(s, begin, size);
    if (i > 0) invert_row(s, begin, size, begin + (s->p->lower ? i : size - 1 - i));
    if (i + 1 == size) end_inverse(s, begin, size);
  }
  return linalg_stage_ends(progress);
}

/* y = inverse(T) r, for the block of rows at `begin`. */
static void apply_inverse(const Work *s, ptrdiff_t begin, ptrdiff_t size, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < size; i++) {
    double *sum = vectors_at(s, s->part, i);
    memset(sum, 0, (size_t)(count * s->parts) * sizeof(double));
    for (ptrdiff_t k = 0; k < size; k++) {
      bool turned = s->p->transposed;
      Scalar factor = get(s->p, inverse_row(s, begin + (turned ? k : i)), turned ? i : k);
      factor.f = -factor.f;
      if (!s->p->conjugated) factor.im = -factor.im;
      subtract(s->p, sum, factor, vectors_at(s, s->x, begin + k), count);
    }
  }
  for (ptrdiff_t i = 0; i < size; i++) {
    memcpy(vectors_at(s, s->x, begin + i), vectors_at(s, s->part, i),
           (size_t)(count * s->parts) * sizeof(double));
  }
}

/* Subtracts the part of rows [from, to) of y from row `row` of r, for the vectors from `first` on. */
static void eliminate(const Work *s, ptrdiff_t row, ptrdiff_t from, ptrdiff_t to, ptrdiff_t first,
                      ptrdiff_t count) {
  const LinalgPlan *p = s->p;
  double *y = vectors_at(s, s->x, row);
  for (ptrdiff_t v = 0; v < count; v++) {
    set(p, y, v, scalar_load(p->type, s->data->in[1], row * s->s.step + (first + v) * s->s.next));
  }
  for (ptrdiff_t k = from; k < to; k++) {
    subtract(p, y, factor_at(s, row, k), vectors_at(s, s->x, k), count);
  }
}

/* Solves strip by strip of vectors, and block by block of rows. */
static bool solve(Work *s) {
  LinalgProgress *progress = s->progress;
  const LinalgPlan *p = s->p;
  ptrdiff_t n = s->s.n, blocks = divide_up(n, s->block);
  ptrdiff_t strips = divide_up(s->s.vectors, STRIP);
  for (ptrdiff_t at = progress->at; at < strips * blocks; at++, progress->lines = 0) {
    ptrdiff_t first = at / blocks * STRIP, count = min_i64(STRIP, s->s.vectors - first);
    ptrdiff_t begin = (s->s.forward ? at % blocks : blocks - 1 - at % blocks) * s->block;
    ptrdiff_t size = min_i64(s->block, n - begin), from = s->s.forward ? 0 : begin + size;
    ptrdiff_t to = s->s.forward ? begin : n;
    double of_vectors = 2.0 * (double)(count * s->parts) + LINALG_MOVE;
    for (; progress->lines < size; progress->lines++) {
      if (linalg_pauses(progress, at, of_vectors * (double)(to - from + LINALG_MOVE))) return false;
      eliminate(s, begin + progress->lines, from, to, first, count);
    }
    progress->work += of_vectors * (double)(size * size);
    apply_inverse(s, begin, size, count);
    for (ptrdiff_t i = begin; i < begin + size; i++) {
      for (ptrdiff_t v = 0; v < count; v++) {
        scalar_store(p->type, s->data->out[0], i * s->s.step + (first + v) * s->s.next,
                     get(p, vectors_at(s, s->x, i), v));
      }
    }
  }
  return linalg_stage_ends(progress);
}

LinalgEnd linalg_solve_as_xla(const LinalgPlan *p, const LinalgData *data, double *memory,
                              LinalgProgress *progress) {
  static Stage *const stages[] = {invert_blocks, solve, NULL};
  Work s = {.p = p, .data = data, .progress = progress, .s = linalg_systems(p), .inverse = memory};
  s.parts = parts_of(p);
  s.block = block_of(p);
  s.x = s.inverse + s.s.n * s.block * s.parts;
  s.part = vectors_at(&s, s.x, s.s.n);
  return linalg_run_stages(stages, &s, progress);
}
