/*
** Computes triangular-solve as XLA:CPU expands it: inverts diagonal blocks of 128. Used for matrices that are singular
** or not finite, where the expansion decides which results are NaN. All in double, real or complex. tests/textbook/linalg.c,
** the oracle, does the same operations in the same order, for one vector at a time.
*/
#include <string.h>

#include "base/min_max.h"
#include "hlo/scalar/element.h"
#include "kernels/linalg/linalg.h"

/* Threshold STRIP: vectors that are computed at once. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { STRIP = 128 };

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
  LinalgSystems systems;
  ptrdiff_t parts, block;
  double *inverse;  /* of A's diagonal blocks, one below the other */
  double *x, *part; /* y of a strip of vectors; a block of it */
};

static Scalar element(const Work *work, ptrdiff_t row, ptrdiff_t column) {
  const LinalgPlan *p = work->p;
  bool counts = row == column ? !p->unit : p->lower == (row > column);
  if (!counts) return (Scalar){.f = row == column};
  return scalar_load(p->type, work->data->in[0], row * work->systems.n + column);
}

/* Returns an element of T. */
static Scalar factor_at(const Work *work, ptrdiff_t row, ptrdiff_t column) {
  Scalar value = work->p->transposed ? element(work, column, row) : element(work, row, column);
  return work->p->conjugated ? conjugate(value) : value;
}

static double *inverse_row(const Work *work, ptrdiff_t row) {
  return work->inverse + row * work->block * work->parts;
}
static double *vectors_at(const Work *work, double *of, ptrdiff_t row) {
  return of + row * min_i64(work->systems.vectors, STRIP) * work->parts;
}

/*
** Inverts a diagonal block of `size` at `begin`, row by row. With D its diagonal, U = A / D (by columns) has a unit
** diagonal. Its inverse V starts as a diagonal matrix: 1 in the first row, -1 in the others. Then each next row j
** becomes -(U[j,:] V). At the end inverse(A) = V / D (by rows). The products include zeros, as in XLA, so NaN and
** infinities spread.
*/
static void begin_inverse(const Work *work, ptrdiff_t begin, ptrdiff_t size) {
  ptrdiff_t first = work->p->lower ? 0 : size - 1;
  for (ptrdiff_t i = 0; i < size * size; i++) {
    ptrdiff_t row = i / size, column = i % size;
    double value = row != column ? 0 : row == first ? 1 : -1;
    set(work->p, inverse_row(work, begin + row), column, (Scalar){.f = value});
  }
}

static void invert_row(const Work *work, ptrdiff_t begin, ptrdiff_t size, ptrdiff_t row) {
  const LinalgPlan *p = work->p;
  memset(work->part, 0, (size_t)(size * work->parts) * sizeof(double));
  for (ptrdiff_t k = begin; k < begin + size; k++) {
    Scalar u = divide(p, element(work, row, k), element(work, k, k));
    subtract(p, work->part, u, inverse_row(work, k), size);
  }
  memcpy(inverse_row(work, row), work->part, (size_t)(size * work->parts) * sizeof(double));
}

static void end_inverse(const Work *work, ptrdiff_t begin, ptrdiff_t size) {
  for (ptrdiff_t row = begin; row < begin + size; row++) {
    double *of_row = inverse_row(work, row);
    for (ptrdiff_t c = 0; c < size; c++) {
      set(work->p, of_row, c, divide(work->p, get(work->p, of_row, c), element(work, row, row)));
    }
  }
}

static bool invert_blocks(Work *work) {
  LinalgProgress *progress = work->progress;
  for (ptrdiff_t at = progress->at; at < work->systems.n; at++) {
    ptrdiff_t i = at % work->block, begin = at - i,
              size = min_i64(work->block, work->systems.n - begin);
    if (linalg_pauses(progress, at, (double)(size * size * work->parts))) return false;
    if (i == 0) begin_inverse(work, begin, size);
    if (i > 0) invert_row(work, begin, size, begin + (work->p->lower ? i : size - 1 - i));
    if (i + 1 == size) end_inverse(work, begin, size);
  }
  return linalg_stage_ends(progress);
}

/* y = inverse(T) r, for the block of rows at `begin`. */
static void apply_inverse(const Work *work, ptrdiff_t begin, ptrdiff_t size, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < size; i++) {
    double *sum = vectors_at(work, work->part, i);
    memset(sum, 0, (size_t)(count * work->parts) * sizeof(double));
    for (ptrdiff_t k = 0; k < size; k++) {
      bool turned = work->p->transposed;
      Scalar factor = get(work->p, inverse_row(work, begin + (turned ? k : i)), turned ? i : k);
      factor.f = -factor.f;
      if (!work->p->conjugated) factor.im = -factor.im;
      subtract(work->p, sum, factor, vectors_at(work, work->x, begin + k), count);
    }
  }
  for (ptrdiff_t i = 0; i < size; i++) {
    memcpy(vectors_at(work, work->x, begin + i), vectors_at(work, work->part, i),
           (size_t)(count * work->parts) * sizeof(double));
  }
}

/* Subtracts the part of rows [from, to) of y from row `row` of r, for the vectors from `first` on. */
static void eliminate(const Work *work, ptrdiff_t row, ptrdiff_t from, ptrdiff_t to,
                      ptrdiff_t first, ptrdiff_t count) {
  const LinalgPlan *p = work->p;
  double *y = vectors_at(work, work->x, row);
  for (ptrdiff_t v = 0; v < count; v++) {
    set(p, y, v,
        scalar_load(p->type, work->data->in[1],
                    row * work->systems.step + (first + v) * work->systems.next));
  }
  for (ptrdiff_t k = from; k < to; k++) {
    subtract(p, y, factor_at(work, row, k), vectors_at(work, work->x, k), count);
  }
}

/* Solves strip by strip of vectors, and block by block of rows. */
static bool solve(Work *work) {
  LinalgProgress *progress = work->progress;
  const LinalgPlan *p = work->p;
  ptrdiff_t n = work->systems.n, blocks = divide_up(n, work->block);
  ptrdiff_t strips = divide_up(work->systems.vectors, STRIP);
  for (ptrdiff_t at = progress->at; at < strips * blocks; at++, progress->lines = 0) {
    ptrdiff_t first = at / blocks * STRIP, count = min_i64(STRIP, work->systems.vectors - first);
    ptrdiff_t begin =
        (work->systems.forward ? at % blocks : blocks - 1 - at % blocks) * work->block;
    ptrdiff_t size = min_i64(work->block, n - begin),
              from = work->systems.forward ? 0 : begin + size;
    ptrdiff_t to = work->systems.forward ? begin : n;
    double of_vectors = 2.0 * (double)(count * work->parts) + LINALG_MOVE;
    for (; progress->lines < size; progress->lines++) {
      if (linalg_pauses(progress, at, of_vectors * (double)(to - from + LINALG_MOVE))) return false;
      eliminate(work, begin + progress->lines, from, to, first, count);
    }
    progress->work += of_vectors * (double)(size * size);
    apply_inverse(work, begin, size, count);
    for (ptrdiff_t i = begin; i < begin + size; i++) {
      for (ptrdiff_t v = 0; v < count; v++) {
        scalar_store(p->type, work->data->out[0],
                     i * work->systems.step + (first + v) * work->systems.next,
                     get(p, vectors_at(work, work->x, i), v));
      }
    }
  }
  return linalg_stage_ends(progress);
}

LinalgEnd linalg_solve_as_xla(const LinalgPlan *p, const LinalgData *data, double *memory,
                              LinalgProgress *progress) {
  static Stage *const stages[] = {invert_blocks, solve, NULL};
  Work work = {
      .p = p, .data = data, .progress = progress, .systems = linalg_systems(p), .inverse = memory};
  work.parts = parts_of(p);
  work.block = block_of(p);
  work.x = work.inverse + work.systems.n * work.block * work.parts;
  work.part = vectors_at(&work, work.x, work.systems.n);
  return linalg_run_stages(stages, &work, progress);
}
