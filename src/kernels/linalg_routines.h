/*
** Routines, for one kind of number: from a matrix in memory to the results. Included once for each.
*/
#include <float.h>

#include "kernels/linalg_factor.h"

enum { REALS = IS_COMPLEX ? 2 : 1, FEW_VECTORS = 4 };

enum { MOST_EXPONENT = IS_NARROW ? 120 : 1000 };
#define ORDINARY (IS_NARROW ? 1e8 : 1e100) /* sizes that need no scaling */

/* Where doubles may be, in memory of numbers. */
static double *doubles_at(Number *memory) {
  return (double *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static Number get(const LinalgPlan *plan, const uint8_t *data, ptrdiff_t i) {
  double x[2] = {0, 0};
  for (int part = 0; part < REALS; part++) {
    ptrdiff_t at = REALS * i + part;
    x[part] = plan->narrow ? (double)((const float *)data)[at] : ((const double *)data)[at];
  }
#if IS_COMPLEX
  return (Number){x[0], x[1]};
#else
  return x[0];
#endif
}

static void put_real(const LinalgPlan *plan, uint8_t *data, ptrdiff_t i, double x) {
  if (plan->narrow) {
    ((float *)data)[i] = (float)x;
  } else {
    ((double *)data)[i] = x;
  }
}

static void put(const LinalgPlan *plan, uint8_t *data, ptrdiff_t i, Number x) {
#if IS_COMPLEX
  put_real(plan, data, 2 * i, x.re);
  put_real(plan, data, 2 * i + 1, x.im);
#else
  put_real(plan, data, i, x);
#endif
}

static void put_info(const LinalgData *data, int result, ptrdiff_t info) {
  *(int32_t *)data->out[result] = (int32_t)info;
}

/* to[row][column], or to[column][row] */
static void load_matrix(const LinalgPlan *plan, int operand, const LinalgData *data, Number *to,
                        bool by_columns) {
  ptrdiff_t rows = plan->in[operand].rows, columns = plan->in[operand].columns;
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < columns; j++) {
      to[by_columns ? j * rows + i : i * columns + j] =
          get(plan, data->in[operand], i * columns + j);
    }
  }
}

static void store_matrix(const LinalgPlan *plan, int result, const LinalgData *data,
                         const Number *from, ptrdiff_t stride, bool by_columns) {
  ptrdiff_t rows = plan->out[result].rows, columns = plan->out[result].columns;
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < columns; j++) {
      put(plan, data->out[result], i * columns + j,
          from[by_columns ? j * stride + i : i * stride + j]);
    }
  }
}

static void fill(const LinalgPlan *plan, int result, const LinalgData *data, double x) {
  ptrdiff_t count = plan->out[result].rows * plan->out[result].columns;
  for (ptrdiff_t i = 0; i < count; i++) put(plan, data->out[result], i, number(x));
}

/* The largest part of a number; NaN or infinity if there is one. */
static double largest_of(const Number *x, ptrdiff_t count) {
  double largest = 0;
  for (ptrdiff_t i = 0; i < count; i++) {
    double size = size_of(x[i]);
    if (!(size <= largest)) largest = size;
    if (size - size != 0) break;
  }
  return largest;
}

/* --- Cholesky and triangular systems ---------------------------------------------------------- */

/* The operation's upper form is the transpose, LAPACK's the adjoint. */
static bool run_cholesky(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  ptrdiff_t n = plan->in[0].rows;
  bool is_lapack = plan->routine == LINALG_POTRF;
  Number *a = memory;
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j <= i; j++) {
      Number x = get(plan, data->in[0], plan->lower ? i * n + j : j * n + i);
      a[i * n + j] = is_lapack && !plan->lower ? conjugate(x) : x;
    }
  }
  ptrdiff_t stopped = cholesky(a, n, n, memory + n * n);
  if (stopped && !is_lapack) return false;
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j < n; j++) {
      ptrdiff_t to = plan->lower ? i * n + j : j * n + i;
      Number x = j > i ? is_lapack ? get(plan, data->in[0], to) : number(0) : a[i * n + j];
      put(plan, data->out[0], to, is_lapack && !plan->lower && j <= i ? conjugate(x) : x);
    }
  }
  if (is_lapack) put_info(data, 1, stopped);
  return true;
}

/* Every system as one of a lower triangle: unknowns backwards where it is an upper one. False if the
** result may depend on the way. */
static bool load_triangle(const LinalgPlan *plan, const LinalgData *data, bool forward, Number *t) {
  ptrdiff_t n = plan->in[0].rows;
  bool is_regular = true;
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j <= i; j++) {
      ptrdiff_t row = forward ? i : n - 1 - i, column = forward ? j : n - 1 - j;
      Number x = get(plan, data->in[0], plan->transposed ? column * n + row : row * n + column);
      if (i == j && plan->unit) x = number(1);
      t[i * n + j] = plan->conjugated ? conjugate(x) : x;
      is_regular = is_regular && size_of(x) - size_of(x) == 0 && !(i == j && is_zero(x));
    }
  }
  return is_regular;
}

static bool run_triangular(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  ptrdiff_t rows = plan->out[0].rows, columns = plan->out[0].columns;
  ptrdiff_t n = plan->left ? rows : columns, vectors = plan->left ? columns : rows;
  bool forward = plan->lower != plan->transposed, few = vectors <= FEW_VECTORS;
  Number *t = memory, *x = memory + n * n;
  bool is_regular = load_triangle(plan, data, forward, t);
  if (plan->by_blocks && !is_regular) return false;
  ptrdiff_t step = plan->left ? columns : 1, next = plan->left ? 1 : columns;
  for (ptrdiff_t i = 0; i < n; i++) {
    ptrdiff_t from = (forward ? i : n - 1 - i) * step;
    for (ptrdiff_t v = 0; v < vectors; v++) {
      x[few ? v * n + i : i * vectors + v] = get(plan, data->in[1], from + v * next);
    }
  }
  if (few) {
    solve_vectors(t, n, n, plan->unit, x, vectors);
  } else {
    solve_lower(t, n, n, plan->unit, x, vectors, vectors);
  }
  double largest = plan->by_blocks ? largest_of(x, n * vectors) : 0;
  if (largest - largest != 0) return false;
  for (ptrdiff_t i = 0; i < n; i++) {
    ptrdiff_t to = (forward ? i : n - 1 - i) * step;
    for (ptrdiff_t v = 0; v < vectors; v++) {
      put(plan, data->out[0], to + v * next, x[few ? v * n + i : i * vectors + v]);
    }
  }
  return true;
}

/* --- LU and QR -------------------------------------------------------------------------------- */

static bool run_getrf(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  int32_t *pivots = (int32_t *)data->out[1];
  load_matrix(plan, 0, data, memory, false);
  put_info(data, 2, lu(memory, plan->in[0].rows, plan->in[0].columns, plan->in[0].columns, pivots));
  store_matrix(plan, 0, data, memory, plan->in[0].columns, false);
  for (ptrdiff_t k = 0; k < plan->out[1].rows; k++) pivots[k]++;
  return true;
}

static bool run_geqrf(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns, steps = plan->out[1].rows;
  Number *tau = memory + rows * columns;
  load_matrix(plan, 0, data, memory, true);
  qr(memory, rows, columns, rows, tau, tau + steps);
  store_matrix(plan, 0, data, memory, rows, true);
  for (ptrdiff_t k = 0; k < steps; k++) put(plan, data->out[1], k, tau[k]);
  return true;
}

static bool run_orgqr(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns;
  ptrdiff_t count = least(plan->in[1].rows, least(rows, columns));
  Number *v = memory, *qt = v + rows * columns, *tau = qt + rows * columns;
  load_matrix(plan, 0, data, v, true);
  for (ptrdiff_t k = 0; k < count; k++) tau[k] = get(plan, data->in[1], k);
  form_q(v, rows, tau, count, 0, rows, qt, columns, rows, tau + count);
  store_matrix(plan, 0, data, qt, rows, true);
  return true;
}

/* --- Eigenvalues and singular values ---------------------------------------------------------- */

/* A power of two by which squares of numbers of this size neither overflow nor vanish. */
static double scale_for(double largest) {
  if (largest == 0 || (largest > 1 / ORDINARY && largest < ORDINARY)) return 1;
  int exponent;
  frexp(largest, &exponent);
  return ldexp(1, -exponent > MOST_EXPONENT ? MOST_EXPONENT : -exponent);
}

static void scale_all(Number *x, ptrdiff_t count, double by) {
  for (ptrdiff_t i = 0; by != 1 && i < count; i++) x[i] = scaled(x[i], by);
}

static bool run_syevd(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n);
  Number *a = memory, *qt = a + n * stride, *tau = qt + n * stride, *scratch = tau + n;
  double *d = doubles_at(scratch + panel_numbers(n)), *e = d + n;
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; j <= i; j++) {
      Number x = get(plan, data->in[0], plan->lower ? i * n + j : j * n + i);
      if (!plan->lower) x = conjugate(x);
      a[i * stride + j] = i == j ? number(real(x)) : x;
      a[j * stride + i] = conjugate(a[i * stride + j]);
    }
  }
  double largest = 0;
  for (ptrdiff_t i = 0; i < n && largest - largest == 0; i++) {
    double of_row = largest_of(a + i * stride, n);
    if (!(of_row <= largest)) largest = of_row;
  }
  double scale = scale_for(largest);
  put_info(data, 2, 0);
  if (largest - largest != 0) {
    fill(plan, 0, data, NAN);
    for (ptrdiff_t i = 0; i < n; i++) put_real(plan, data->out[1], i, NAN);
    return true;
  }
  for (ptrdiff_t i = 0; i < n; i++) scale_all(a + i * stride, n, scale);
  tridiagonalize(a, n, stride, d, e, tau, scratch);
  if (n > 0) e[n - 1] = 0;
  if (plan->vectors) form_q(a, stride, tau, n - 1, 1, n, qt, n, stride, scratch);
  LinalgRows z = {qt, IS_NARROW, plan->vectors ? REALS * n : 0, REALS * stride};
  if (!tridiagonal_eigenvalues(d, e, n, z, doubles_at(scratch))) put_info(data, 2, 1);
  for (ptrdiff_t i = 0; i < n; i++) put_real(plan, data->out[1], i, d[i] / scale);
  if (plan->vectors) {
    store_matrix(plan, 0, data, qt, stride, true);
  } else {
    fill(plan, 0, data, 0);
  }
  return true;
}

/* Of a wide matrix, that of its adjoint: A^H = V S U^H. */
static bool run_gesdd(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  bool wide = plan->in[0].columns > plan->in[0].rows;
  ptrdiff_t rows = wide ? plan->in[0].columns : plan->in[0].rows;
  ptrdiff_t columns = wide ? plan->in[0].rows : plan->in[0].columns;
  ptrdiff_t wanted = least(wide ? plan->out[3].rows : plan->out[2].columns, rows);
  ptrdiff_t high = linalg_stride(rows), stride = linalg_stride(columns);
  Number *a = memory, *qv = a + rows * stride, *qt = qv + columns * high, *pt = qt + wanted * high;
  Number *tau_q = pt + columns * stride, *tau_p = tau_q + columns, *scratch = tau_p + columns;
  double *d = doubles_at(scratch + panel_numbers(rows)), *e = d + columns;
  load_matrix(plan, 0, data, qv, wide); /* qv is not needed yet */
  double largest = largest_of(qv, rows * columns), scale = scale_for(largest);
  bool is_finite = largest - largest == 0;
  fill(plan, 0, data, 0);
  put_info(data, 4, 0);
  if (!is_finite || !plan->vectors) {
    fill(plan, 2, data, is_finite ? 0 : NAN);
    fill(plan, 3, data, is_finite ? 0 : NAN);
  }
  if (!is_finite) {
    for (ptrdiff_t i = 0; i < columns; i++) put_real(plan, data->out[1], i, NAN);
    return true;
  }
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < columns; j++) {
      Number x = qv[i * columns + j];
      a[i * stride + j] = scaled(wide ? conjugate(x) : x, scale);
    }
  }
  bidiagonalize(a, rows, columns, stride, qv, high, d, e, tau_q, tau_p, scratch);
  LinalgRows u = {qt, IS_NARROW, 0, REALS * high}, v = {pt, IS_NARROW, 0, REALS * stride};
  if (plan->vectors) {
    form_q(qv, high, tau_q, columns, 0, rows, qt, wanted, high, scratch);
    form_q(a, stride, tau_p, columns - 1, 1, columns, pt, columns, stride, scratch);
    u.columns = REALS * rows;
    v.columns = REALS * columns;
  }
  if (!bidiagonal_values(d, e, columns, u, v, doubles_at(scratch))) put_info(data, 4, 1);
  for (ptrdiff_t i = 0; i < columns; i++) put_real(plan, data->out[1], i, d[i] / scale);
  if (!plan->vectors) return true;
  Number *adjoint = wide ? qt : pt; /* its rows are V's columns */
  ptrdiff_t next = wide ? high : stride, count = plan->out[3].rows * next;
  store_matrix(plan, 2, data, wide ? pt : qt, wide ? stride : high, true);
  for (ptrdiff_t i = 0; i < count; i++) adjoint[i] = conjugate(adjoint[i]);
  store_matrix(plan, 3, data, adjoint, next, false);
  return true;
}

bool NAMED(linalg_run)(const LinalgPlan *plan, const LinalgData *data, Number *memory) {
  static bool (*const routines[LINALG_ROUTINES])(const LinalgPlan *, const LinalgData *,
                                                 Number *) = {
      [LINALG_CHOLESKY] = run_cholesky, [LINALG_TRIANGULAR_SOLVE] = run_triangular,
      [LINALG_POTRF] = run_cholesky,    [LINALG_TRSM] = run_triangular,
      [LINALG_GETRF] = run_getrf,       [LINALG_GEQRF] = run_geqrf,
      [LINALG_ORGQR] = run_orgqr,       [LINALG_SYEVD] = run_syevd,
      [LINALG_GESDD] = run_gesdd,
  };
  return routines[plan->routine](plan, data, memory);
}
