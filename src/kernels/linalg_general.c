/*
** Eigenvalues of general real matrices, without vectors: to Hessenberg form by reflectors, then the
** implicit QR algorithm with two shifts at a time, on the block that is left (Golub and Van Loan, Matrix
** Computations, 7.4 and 7.5; Wilkinson and Reinsch, Handbook, II/14). In double, row-major.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/linalg.h"
#include "scalar/scalar.h"

enum { STAGE_LOAD, STAGE_REDUCE, STAGE_ITERATE, MOST_STEPS = 60, STEPS_UNTIL_ODD_SHIFT = 10 };

typedef double Lanes __attribute__((vector_size(16)));

static inline Lanes load_lanes(const double *from) {
  Lanes v;
  memcpy(&v, from, sizeof v);
  return v;
}
static inline void store_lanes(double *to, Lanes v) { memcpy(to, &v, sizeof v); }

/* A square matrix and room for two vectors. */
typedef struct General {
  ptrdiff_t n, stride;
  double *at, *v, *w, *re, *im;
} General;

static inline double *row(const General *g, ptrdiff_t i) { return g->at + i * g->stride; }

/* --- To Hessenberg form ----------------------------------------------------------------------- */

/* The reflector I - tau v v^T that leaves of column k only its first two elements below the diagonal's
** row: v goes to g->v. Returns tau. */
static double column_reflector(const General *g, ptrdiff_t k) {
  ptrdiff_t count = g->n - k - 1;
  double largest = 0, sum = 0;
  for (ptrdiff_t i = 0; i < count; i++) {
    g->v[i] = row(g, k + 1 + i)[k];
    largest = fmax(largest, fabs(g->v[i]));
  }
  for (ptrdiff_t i = 1; i < count; i++) sum += (g->v[i] / largest) * (g->v[i] / largest);
  if (largest == 0 || sum == 0) return 0;
  double alpha = g->v[0] / largest, beta = -copysign(sqrt(alpha * alpha + sum), alpha);
  for (ptrdiff_t i = 1; i < count; i++) g->v[i] /= largest * (alpha - beta);
  g->v[0] = 1;
  row(g, k + 1)[k] = beta * largest;
  for (ptrdiff_t i = k + 2; i < g->n; i++) row(g, i)[k] = 0;
  return (beta - alpha) / beta;
}

typedef struct Reflection {
  const General *g;
  ptrdiff_t first;
  double tau;
} Reflection;

/* w = v^T A, for some of its numbers. */
static void sum_from_left(const void *argument, ptrdiff_t from, ptrdiff_t end) {
  const Reflection *r = argument;
  const General *g = r->g;
  memset(g->w + from, 0, sizeof(double) * (size_t)(end - from));
  for (ptrdiff_t i = 0; i < g->n - r->first; i++) {
    linalg_subtract_row_f64(g->w + from, -g->v[i], row(g, r->first + i) + r->first + from,
                            end - from);
  }
}

static void reflect_rows(const void *argument, ptrdiff_t from, ptrdiff_t end) {
  const Reflection *r = argument;
  const General *g = r->g;
  ptrdiff_t count = g->n - r->first;
  for (ptrdiff_t i = from; i < end; i++) {
    double *right = row(g, i) + r->first;
    if (i >= r->first) linalg_subtract_row_f64(right, r->tau * g->v[i - r->first], g->w, count);
    linalg_subtract_row_f64(right, r->tau * linalg_inner_f64(right, g->v, count, false), g->v,
                            count);
  }
}

/* A = H A H: rows from the left, and each, as it is done, from the right. */
static void reflect(const General *g, ptrdiff_t k, double tau, const LinalgProgress *progress) {
  double work = 4.0 * (double)(g->n - k) * (double)g->n;
  Reflection r = {g, k + 1, tau};
  linalg_share(progress, g->n - r.first, 2, work / CROSSING, sum_from_left, &r);
  linalg_share(progress, g->n, 1, 2 * work / CROSSING, reflect_rows, &r);
}

static bool reduce(const General *g, LinalgProgress *progress) {
  double n = (double)g->n;
  for (ptrdiff_t k = progress->at; k + 2 < g->n; k++) {
    if (linalg_pauses(progress, k, 8 * n * (n - (double)k))) return false;
    double tau = column_reflector(g, k);
    if (tau != 0) reflect(g, k, tau, progress);
  }
  progress->stage++;
  progress->at = g->n - 1;
  return true;
}

/* --- One step --------------------------------------------------------------------------------- */

/* A reflector of three rows or columns: I - (1, y, z)^T (a, b, c) */
typedef struct Bulge {
  double a, b, c, y, z;
} Bulge;

/* That makes multiples of (1, 0, 0) of p, whose new first element is -size. */
static double bulge_of(const double *p, Bulge *bulge) {
  double size = copysign(sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), p[0]);
  if (size == 0) return 0;
  double first = p[0] + size;
  *bulge = (Bulge){first / size, p[1] / size, p[2] / size, p[1] / first, p[2] / first};
  return size;
}

/* Rows k to k + 2 (or k + 1, if it is the `last`), in columns [k, end) */
static void turn_rows(const General *g, ptrdiff_t k, ptrdiff_t end, const Bulge *t, bool last) {
  double *x = row(g, k), *y = row(g, k + 1), *z = last ? y : row(g, k + 2);
  ptrdiff_t j = k;
  for (; !last && j + 2 <= end; j += 2) {
    Lanes p = load_lanes(x + j), q = load_lanes(y + j), r = load_lanes(z + j);
    Lanes sum = p + t->y * q + t->z * r;
    store_lanes(x + j, p - sum * t->a);
    store_lanes(y + j, q - sum * t->b);
    store_lanes(z + j, r - sum * t->c);
  }
  for (; j < end; j++) {
    double sum = x[j] + t->y * y[j] + (last ? 0 : t->z * z[j]);
    x[j] -= sum * t->a;
    y[j] -= sum * t->b;
    if (!last) z[j] -= sum * t->c;
  }
}

/* Columns k to k + 2, of rows [begin, end) */
static void turn_columns(const General *g, ptrdiff_t k, ptrdiff_t begin, ptrdiff_t end,
                         const Bulge *t, bool last) {
  for (ptrdiff_t i = begin; i < end; i++) {
    double *x = row(g, i) + k, sum = t->a * x[0] + t->b * x[1] + (last ? 0 : t->c * x[2]);
    x[0] -= sum;
    x[1] -= sum * t->y;
    if (!last) x[2] -= sum * t->z;
  }
}

/* What the shifts are: their sum's halves x and y, and x y less their product, w. */
typedef struct Shifts {
  double x, y, w;
} Shifts;

/* Where a step may begin, at two small elements below the diagonal, and its first column there. */
static ptrdiff_t step_start(const General *g, ptrdiff_t low, ptrdiff_t high, Shifts s, double *p) {
  for (ptrdiff_t m = high - 2;; m--) {
    const double *a = row(g, m), *b = row(g, m + 1);
    double dx = s.x - a[m], dy = s.y - a[m];
    p[0] = (dx * dy - s.w) / b[m] + a[m + 1];
    p[1] = b[m + 1] - a[m] - dx - dy;
    p[2] = row(g, m + 2)[m + 1];
    double size = fabs(p[0]) + fabs(p[1]) + fabs(p[2]);
    for (int i = 0; i < 3 && size != 0; i++) p[i] /= size;
    if (m == low) return m;
    double left = fabs(a[m - 1]) * (fabs(p[1]) + fabs(p[2]));
    double diagonal = fabs(row(g, m - 1)[m - 1]) + fabs(a[m]) + fabs(b[m + 1]);
    if (left <= DBL_EPSILON * fabs(p[0]) * diagonal) return m;
  }
}

/* Chases the bulge that the first column makes down the diagonal of rows low to high. */
static void step(const General *g, ptrdiff_t low, ptrdiff_t high, Shifts shifts) {
  double p[3];
  ptrdiff_t first = step_start(g, low, high, shifts, p);
  for (ptrdiff_t i = first + 2; i <= high; i++) {
    row(g, i)[i - 2] = 0;
    if (i > first + 2) row(g, i)[i - 3] = 0;
  }
  for (ptrdiff_t k = first; k < high; k++) {
    bool last = k + 1 == high;
    double scale = 1;
    if (k > first) {
      for (int i = 0; i < 3; i++) p[i] = last && i == 2 ? 0 : row(g, k + i)[k - 1];
      scale = fabs(p[0]) + fabs(p[1]) + fabs(p[2]);
      for (int i = 0; i < 3 && scale != 0; i++) p[i] /= scale;
    }
    Bulge bulge;
    double size = bulge_of(p, &bulge);
    if (size == 0) continue;
    if (k > first) {
      row(g, k)[k - 1] = -size * scale;
      for (ptrdiff_t i = k + 1; i <= high && i <= k + 2; i++) row(g, i)[k - 1] = 0;
    } else if (first > low) {
      row(g, k)[k - 1] = -row(g, k)[k - 1];
    }
    turn_rows(g, k, high + 1, &bulge, last);
    turn_columns(g, k, low, k + 3 < high ? k + 4 : high + 1, &bulge, last);
  }
}

/* --- The iteration ---------------------------------------------------------------------------- */

static double norm_of(const General *g) {
  double norm = 0;
  for (ptrdiff_t i = 0; i < g->n; i++) {
    for (ptrdiff_t j = i > 0 ? i - 1 : 0; j < g->n; j++) norm += fabs(row(g, i)[j]);
  }
  return norm;
}

/* The first row of the block that ends at row `high`: what is above is not coupled to it. */
static ptrdiff_t block_start(const General *g, ptrdiff_t high, double norm) {
  for (ptrdiff_t k = high; k > 0; k--) {
    double size = fabs(row(g, k)[k]) + fabs(row(g, k - 1)[k - 1]);
    if (fabs(row(g, k)[k - 1]) <= DBL_EPSILON * (size > 0 ? size : norm)) {
      row(g, k)[k - 1] = 0;
      return k;
    }
  }
  return 0;
}

/* Of the block of rows k and k + 1; of a conjugate pair, the one above comes first. */
static void eigenvalue_pair(const General *g, ptrdiff_t k, double shifted) {
  const double *x = row(g, k) + k, *y = row(g, k + 1) + k;
  double half = (x[0] - y[1]) / 2, product = x[1] * y[0], d = y[1] + shifted;
  double discriminant = half * half + product, root = sqrt(fabs(discriminant));
  if (discriminant < 0) {
    g->re[k] = g->re[k + 1] = d + half;
    g->im[k] = root;
    g->im[k + 1] = -root;
    return;
  }
  double far = half + copysign(root, half);
  g->re[k] = d + far;
  g->re[k + 1] = far == 0 ? d : d - product / far;
  g->im[k] = g->im[k + 1] = 0;
}

/* All of the diagonal moves, once in a while; `shifted` is by how much it has. */
static Shifts shifts_of(const General *g, ptrdiff_t high, bool odd, double *shifted) {
  const double *last = row(g, high), *before = row(g, high - 1);
  if (!odd) return (Shifts){last[high], before[high - 1], last[high - 1] * before[high]};
  double x = last[high], size = fabs(last[high - 1]) + fabs(before[high - 2]);
  for (ptrdiff_t i = 0; i <= high; i++) row(g, i)[i] -= x;
  *shifted += x;
  return (Shifts){0.75 * size, 0.75 * size, -0.4375 * size * size};
}

/* numbers: the norm, and by how much the diagonal has moved. info: steps that this block took */
static bool iterate(const General *g, LinalgProgress *progress, ptrdiff_t *missing) {
  double *norm = &progress->numbers[0], *shifted = &progress->numbers[1];
  if (*norm == 0) *norm = norm_of(g);
  for (ptrdiff_t high = progress->at; high >= 0;) {
    ptrdiff_t low = block_start(g, high, *norm), size = high - low + 1;
    if (size <= 2) {
      if (size == 2) {
        eigenvalue_pair(g, low, *shifted);
      } else {
        g->re[high] = row(g, high)[high] + *shifted;
        g->im[high] = 0;
      }
      high = low - 1;
      progress->info = 0;
      continue;
    }
    if (linalg_pauses(progress, high, 12.0 * (double)size * (double)size)) return false;
    if (++progress->info > MOST_STEPS) {
      *missing = high + 1;
      return true;
    }
    bool odd = progress->info % STEPS_UNTIL_ODD_SHIFT == 0;
    step(g, low, high, shifts_of(g, high, odd, shifted));
  }
  return true;
}

/* --- geev ------------------------------------------------------------------------------------- */

static bool load_general(const General *g, const LinalgData *data, PrimitiveType type) {
  bool finite = true;
  for (ptrdiff_t i = 0; i < g->n * g->n; i++) {
    double x = scalar_load(type, data->in[0], i).f;
    row(g, i / g->n)[i % g->n] = x;
    finite = finite && isfinite(x);
  }
  return finite;
}

int64_t linalg_geev_numbers(int64_t n) { return n * linalg_stride(n) + 4 * n; }

LinalgEnd linalg_run_geev(const LinalgPlan *plan, const LinalgData *data, PrimitiveType type,
                          double *memory, LinalgProgress *progress) {
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n), missing = 0;
  General g = {.n = n, .stride = stride, .at = memory, .v = memory + n * stride};
  g.w = g.v + n;
  g.re = g.w + n;
  g.im = g.re + n;
  bool finite = true;
  progress->work = 0; /* of this turn */
  if (progress->stage == STAGE_LOAD) {
    finite = load_general(&g, data, type);
    linalg_stage_ends(progress);
  }
  if (finite) {
    if (progress->stage == STAGE_REDUCE && !reduce(&g, progress)) return LINALG_PAUSED;
    if (!iterate(&g, progress, &missing)) return LINALG_PAUSED;
  }
  for (ptrdiff_t i = 0; i < n; i++) {
    scalar_store(type, data->out[0], i, (Scalar){.f = finite ? g.re[i] : NAN});
    scalar_store(type, data->out[1], i, (Scalar){.f = finite ? g.im[i] : NAN});
  }
  for (int k = 2; k < 4; k++) { /* the vectors that nobody asked for */
    int64_t count = 2 * plan->out[k].rows * plan->out[k].columns;
    for (int64_t i = 0; i < count; i++) {
      scalar_store(type, data->out[k], i, (Scalar){.f = finite ? 0 : NAN});
    }
  }
  ((int32_t *)data->out[4])[0] = (int32_t)missing;
  return LINALG_DONE;
}
