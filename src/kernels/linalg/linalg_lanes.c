/*
** Computes batches of small real matrices, LINALG_LANES at a time: each lane of a vector belongs to one matrix. All
** types are computed in double. Matrices that are singular or not finite go to the routine for one matrix.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "kernels/linalg/linalg.h"

typedef double Lanes __attribute__((vector_size(8 * LINALG_LANES)));
typedef int64_t Mask __attribute__((vector_size(8 * LINALG_LANES)));
typedef float Narrow __attribute__((vector_size(4 * LINALG_LANES)));

/* --- Memory ----------------------------------------------------------------------------------- */

static void load_lanes(const LinalgPlan *plan, const LinalgData *data, int operand, Lanes *to) {
  ptrdiff_t count = plan->in[operand].rows * plan->in[operand].columns;
  for (int lane = 0; lane < LINALG_LANES; lane++) {
    const uint8_t *from = data[lane].in[operand];
    double *x = (double *)to + lane;
    for (ptrdiff_t i = 0; i < count; i++, x += LINALG_LANES) {
      *x = plan->narrow ? (double)((const float *)from)[i] : ((const double *)from)[i];
    }
  }
}

static void store_lane(const LinalgPlan *plan, const LinalgData *data, const double *from) {
  const char *order = plan->routine == LINALG_GTSV ? "1203" : "0"; /* of the results in memory */
  for (; *order; order++) {
    int k = *order - '0';
    ptrdiff_t count = plan->out[k].rows * plan->out[k].columns;
    for (ptrdiff_t i = 0; i < count; i++, from += LINALG_LANES) {
      if (plan->narrow) {
        ((float *)data->out[k])[i] = (float)*from;
      } else {
        ((double *)data->out[k])[i] = *from;
      }
    }
  }
  if (plan->results > 1) *(int32_t *)data->out[plan->results - 1] = 0; /* info */
}

static inline Lanes choose(Mask which, Lanes x, Lanes y) {
  return (Lanes)(((Mask)x & which) | ((Mask)y & ~which));
}

/* x -= the sum of a[k] b[k]. a_step, b_step: strides. */
static void subtract_inner(Lanes *x, const Lanes *a, ptrdiff_t a_step, const Lanes *b,
                           ptrdiff_t b_step, ptrdiff_t count) {
  Lanes sum = *x;
  for (; count > 0; count--, a += a_step, b += b_step) sum -= *a * *b;
  *x = sum;
}

/* --- Routines: each returns the mask of the lanes that have a result ---------------------------- */

static Mask cholesky_lanes(const LinalgPlan *plan, const LinalgData *data, Lanes *a) {
  ptrdiff_t n = plan->in[0].rows, row = plan->lower ? n : 1, column = plan->lower ? 1 : n;
  Lanes *inverses = a + n * n;
  Mask fine = ~(Mask){0};
  for (ptrdiff_t i = 0; i < n; i++) {
    Lanes *x = a + i * row;
    for (ptrdiff_t j = 0; j < i; j++) {
      subtract_inner(x + j * column, x, column, a + j * row, column, j);
      x[j * column] *= inverses[j];
      if (plan->routine == LINALG_CHOLESKY) a[j * row + i * column] = (Lanes){0};
    }
    subtract_inner(x + i * column, x, column, x, column, i);
    Lanes pivot = x[i * column];
    fine &= (pivot >= (plan->narrow ? FLT_MIN : DBL_MIN)) & (pivot <= DBL_MAX);
    x[i * column] = __builtin_elementwise_sqrt(pivot);
    inverses[i] = 1 / x[i * column];
  }
  return fine;
}

static Mask triangular_lanes(const LinalgPlan *plan, const LinalgData *data, Lanes *t) {
  LinalgSystems s = linalg_systems(plan);
  ptrdiff_t row = plan->transposed ? 1 : s.n, column = plan->transposed ? s.n : 1;
  Lanes *x = t + s.n * s.n;
  load_lanes(plan, data, 1, x);
  if (!s.forward) { /* unknowns in reverse */
    t += s.n * s.n - 1;
    x += (s.n - 1) * s.step;
    row = -row, column = -column, s.step = -s.step;
  }
  for (ptrdiff_t i = 0; i < s.n; i++) {
    for (ptrdiff_t v = 0; v < s.vectors; v++) {
      Lanes *y = x + v * s.next, *to = y + i * s.step;
      subtract_inner(to, t + i * row, column, y, s.step, i);
      Lanes z = plan->unit ? *to : *to / t[i * (row + column)];
      *to = plan->narrow ? __builtin_convertvector(__builtin_convertvector(z, Narrow), Lanes)
                         : z; /* z may be infinite */
    }
  }
  return ~(Mask){0};
}

static Mask lu_lanes(const LinalgPlan *plan, const LinalgData *data, Lanes *a) {
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns, steps = plan->out[1].rows;
  Mask fine = ~(Mask){0};
  for (ptrdiff_t k = 0; k < steps; k++) {
    Lanes *row = a + k * columns, largest = {0};
    Mask pivot = {0};
    for (ptrdiff_t i = k; i < rows; i++) {
      Lanes size = __builtin_elementwise_abs(a[i * columns + k]);
      Mask larger = size > largest;
      largest = choose(larger, size, largest);
      pivot = (((Mask){0} + i) & larger) | (pivot & ~larger);
    }
    fine &= (largest > 0) & (largest <= DBL_MAX);
    for (int lane = 0; lane < LINALG_LANES; lane++) {
      ptrdiff_t other = fine[lane] ? (ptrdiff_t)pivot[lane] : k;
      ((int32_t *)data[lane].out[1])[k] = (int32_t)other + 1;
      double *x = (double *)row + lane, *y = (double *)(a + other * columns) + lane;
      for (ptrdiff_t j = 0; x != y && j < columns * LINALG_LANES; j += LINALG_LANES) {
        double z = x[j];
        x[j] = y[j];
        y[j] = z;
      }
    }
    for (ptrdiff_t i = k + 1; i < rows; i++) {
      Lanes *below = a + i * columns, factor = below[k] / row[k];
      below[k] = factor;
      for (ptrdiff_t j = k + 1; j < columns; j++) below[j] -= factor * row[j];
    }
  }
  return fine;
}

/* Swaps rows x and y in the lanes of `exchanges`, then y -= factor x. step: stride of a row. */
static void eliminate(Lanes *x, Lanes *y, ptrdiff_t step, ptrdiff_t count, Mask exchanges,
                      Lanes factor) {
  for (; count > 0; count--, x += step, y += step) {
    Lanes z = choose(exchanges, *y, *x);
    *y = choose(exchanges, *x, *y) - factor * z;
    *x = z;
  }
}

/* Solves tridiagonal systems. Row i is d[i], du[i] and second[i], which swaps fill; the row below is dl[i + 1],
** d[i + 1] and du[i + 1]. */
static Mask gtsv_lanes(const LinalgPlan *plan, const LinalgData *data, Lanes *dl) {
  ptrdiff_t n = plan->in[3].rows, columns = plan->in[3].columns;
  Lanes *d = dl + n, *du = d + n, *second = du + n, *b = second + n;
  Mask fine = ~(Mask){0};
  load_lanes(plan, data, 1, d);
  load_lanes(plan, data, 2, du);
  load_lanes(plan, data, 3, b);
  memset(second, 0, (size_t)n * sizeof *second);
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    Lanes above = d[i], below = dl[i + 1];
    Mask exchanges = __builtin_elementwise_abs(above) < __builtin_elementwise_abs(below);
    Lanes factor = choose(exchanges, above, below) / choose(exchanges, below, above);
    eliminate(d + i, dl + i + 1, n, 3, exchanges, factor);
    eliminate(b + i * columns, b + (i + 1) * columns, 1, columns, exchanges, factor);
  }
  for (ptrdiff_t i = n - 1; i >= 0; i--) {
    fine &= d[i] != 0;
    for (Lanes *x = b + i * columns; x < b + (i + 1) * columns; x++) {
      subtract_inner(x, du + i, n, x + columns, columns, min_i64(n - 1 - i, 2));
      *x /= d[i];
    }
  }
  return fine;
}

/* --- The interface for linalg_kernel.c -------------------------------------------------------------- */

typedef Mask LanesRoutine(const LinalgPlan *plan, const LinalgData *data, Lanes *a);

static LanesRoutine *const lane_routines[LINALG_ROUTINES] = {
    [LINALG_CHOLESKY] = cholesky_lanes,
    [LINALG_POTRF] = cholesky_lanes,
    [LINALG_TRIANGULAR_SOLVE] = triangular_lanes,
    [LINALG_TRSM] = triangular_lanes,
    [LINALG_GETRF] = lu_lanes,
    [LINALG_GTSV] = gtsv_lanes,
};

int64_t linalg_lanes_numbers(const LinalgPlan *p, PrimitiveType type) {
  /* Threshold LARGEST, MAX_NUMBERS. Test: "L U of ${shape}" in core/linalg.test.mjs. */
  enum { LARGEST = 16, MAX_NUMBERS = 1024 };
  int64_t numbers =
      p->in[0].rows; /* of a matrix and one more column; a tridiagonal matrix may be long */
  for (int k = 0; k < p->operands; k++) numbers += p->in[k].rows * p->in[k].columns;
  bool is_small = p->routine == LINALG_GTSV
                      ? numbers <= MAX_NUMBERS
                      : p->in[0].rows <= LARGEST && p->in[0].columns <= LARGEST;
  bool fits = is_small && (type == F32 || type == F64) && p->batch > 1 && !p->by_blocks &&
              lane_routines[p->routine];
  return fits ? LINALG_LANES * numbers : 0;
}

int linalg_run_lanes(const LinalgPlan *plan, const LinalgData *data, double *memory) {
  Lanes *a = (Lanes *)memory;
  load_lanes(plan, data, 0, a);
  Mask fine = lane_routines[plan->routine](plan, data, a);
  const Lanes *made = plan->operands > 1 ? a + plan->in[0].rows * plan->in[0].columns : a;
  int left = 0;
  for (int lane = 0; lane < LINALG_LANES; lane++) {
    if (fine[lane]) {
      store_lane(plan, &data[lane], (const double *)made + lane);
    } else {
      left |= 1 << lane;
    }
  }
  return left;
}
