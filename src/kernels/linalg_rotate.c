/*
** Iterations by rotations: eigenvalues of tridiagonal matrices (implicit QL) and singular values of
** bidiagonal ones (implicit QR). Golub and Van Loan, Matrix Computations, 8.3.5 and 8.6.2. The
** rotations of a step are collected, and then applied to vectors.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/linalg.h"

enum { MOST_STEPS_EACH = 60, VECTORS = 4 };

/*
** Rotations one after the other, of rows that are `step` reals apart (or `step` the other way): for
** i < count, rows i and i + 1 become c[i] z[i] + s[i] z[i + 1] and c[i] z[i + 1] - s[i] z[i]. A block
** of columns at a time: row i + 1, turned, stays in registers for the next rotation.
*/
#define ROTATE(name, Real)                                                                   \
  typedef Real Vector_##name __attribute__((vector_size(16)));                               \
  static void rotate_block_##name(Real *z, ptrdiff_t step, ptrdiff_t count, const double *c, \
                                  const double *s) {                                         \
    enum { WIDTH = 16 / sizeof(Real) };                                                      \
    Vector_##name x[VECTORS], y;                                                             \
    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                    \
      memcpy(&x[v], z + (ptrdiff_t)WIDTH * v, sizeof y);                                     \
    }                                                                                        \
    for (ptrdiff_t i = 0; i < count; i++) {                                                  \
      Vector_##name cosine = (Vector_##name){0} + (Real)c[i];                                \
      Vector_##name sine = (Vector_##name){0} + (Real)s[i], turned;                          \
      Real *row = z + i * step;                                                              \
      _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                  \
        memcpy(&y, row + step + (ptrdiff_t)WIDTH * v, sizeof y);                             \
        turned = x[v] * cosine + y * sine;                                                   \
        memcpy(row + (ptrdiff_t)WIDTH * v, &turned, sizeof turned);                          \
        x[v] = y * cosine - x[v] * sine;                                                     \
      }                                                                                      \
    }                                                                                        \
    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                    \
      memcpy(z + count * step + (ptrdiff_t)WIDTH * v, &x[v], sizeof y);                      \
    }                                                                                        \
  }                                                                                          \
  static void rotate_##name(Real *z, ptrdiff_t columns, ptrdiff_t step, ptrdiff_t count,     \
                            const double *c, const double *s) {                              \
    const ptrdiff_t width = VECTORS * 16 / sizeof(Real);                                     \
    ptrdiff_t j = 0;                                                                         \
    for (; j + width <= columns; j += width) rotate_block_##name(z + j, step, count, c, s);  \
    for (; j < columns; j++) {                                                               \
      Real x = z[j];                                                                         \
      for (ptrdiff_t i = 0; i < count; i++) {                                                \
        Real y = z[(i + 1) * step + j];                                                      \
        z[i * step + j] = (Real)c[i] * x + (Real)s[i] * y;                                   \
        x = (Real)c[i] * y - (Real)s[i] * x;                                                 \
      }                                                                                      \
      z[count * step + j] = x;                                                               \
    }                                                                                        \
  }
ROTATE(f32, float)
ROTATE(f64, double)
#undef ROTATE

/* From row `first` on, every `step`-th one. */
static void rotate_rows(LinalgRows z, ptrdiff_t first, ptrdiff_t step, ptrdiff_t count,
                        const double *c, const double *s) {
  ptrdiff_t at = first * z.stride;
  step *= z.stride;
  if (z.narrow) {
    rotate_f32((float *)z.at + at, z.columns, step, count, c, s);
  } else {
    rotate_f64((double *)z.at + at, z.columns, step, count, c, s);
  }
}

static double get(LinalgRows z, ptrdiff_t i) {
  return z.narrow ? (double)((float *)z.at)[i] : ((double *)z.at)[i];
}

static void put(LinalgRows z, ptrdiff_t i, double x) {
  if (z.narrow) {
    ((float *)z.at)[i] = (float)x;
  } else {
    ((double *)z.at)[i] = x;
  }
}

/* hypot, mostly without its care */
static double length_of(double x, double y) {
  double square = x * x + y * y;
  return square > 1e-280 && square < 1e300 ? sqrt(square) : hypot(x, y);
}

static void swap_reals(double *x, double *y) {
  double z = *x;
  *x = *y;
  *y = z;
}

static void swap_lines(LinalgRows z, ptrdiff_t i, ptrdiff_t j) {
  for (ptrdiff_t k = 0; k < z.columns; k++) {
    double x = get(z, i * z.stride + k);
    put(z, i * z.stride + k, get(z, j * z.stride + k));
    put(z, j * z.stride + k, x);
  }
}

/* --- Eigenvalues ------------------------------------------------------------------------------ */

/* The last row that row l is coupled to. */
static ptrdiff_t coupled(const double *d, const double *e, ptrdiff_t n, ptrdiff_t l) {
  for (; l + 1 < n; l++) {
    if (fabs(e[l]) <= DBL_EPSILON * (fabs(d[l]) + fabs(d[l + 1])) || fabs(e[l]) < DBL_MIN) break;
  }
  return l;
}

/* Chases from row m up to row l. Returns how many rotations there are: fewer, if the matrix falls
** apart on the way. */
static ptrdiff_t ql_step(double *d, double *e, ptrdiff_t l, ptrdiff_t m, double *c, double *s) {
  double half = (d[l + 1] - d[l]) / (2 * e[l]);
  double g = d[m] - d[l] + e[l] / (half + copysign(hypot(half, 1), half));
  double sine = 1, cosine = 1, p = 0;
  for (ptrdiff_t i = m - 1; i >= l; i--) {
    double f = sine * e[i], b = cosine * e[i], r = length_of(f, g);
    e[i + 1] = r;
    if (r == 0) {
      d[i + 1] -= p;
      e[m] = 0;
      return m - 1 - i;
    }
    s[m - 1 - i] = sine = f / r;
    c[m - 1 - i] = cosine = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * sine + 2 * cosine * b;
    p = sine * r;
    d[i + 1] = g + p;
    g = cosine * r - b;
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
  return m - l;
}

bool tridiagonal_eigenvalues(double *d, double *e, ptrdiff_t n, LinalgRows z, double *scratch,
                             LinalgProgress *progress) {
  double *c = scratch, *s = scratch + n;
  for (ptrdiff_t l = progress->at; l < n; l++) {
    if (linalg_pauses(progress, l, 0)) return false;
    for (int steps = 0;; steps++) {
      ptrdiff_t m = coupled(d, e, n, l);
      if (m == l) break;
      if (steps == MOST_STEPS_EACH) {
        progress->info = 1;
        return linalg_stage_ends(progress);
      }
      ptrdiff_t count = ql_step(d, e, l, m, c, s);
      rotate_rows(z, m, -1, count, c, s);
      progress->work += 4.0 * (double)count * (double)z.columns;
    }
  }
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    ptrdiff_t first = i;
    for (ptrdiff_t j = i + 1; j < n; j++) {
      if (d[j] < d[first]) first = j;
    }
    if (first == i) continue;
    swap_reals(d + i, d + first);
    swap_lines(z, i, first);
  }
  return linalg_stage_ends(progress);
}

/* --- Singular values -------------------------------------------------------------------------- */

/* d, and e with e[i] between i - 1 and i; rotations of rows (of u) and of columns (of v). */
typedef struct Bidiagonal {
  double *d, *e, *c, *s, *c_of_v, *s_of_v;
  double small;
  LinalgRows u, v;
} Bidiagonal;

/* The first row of the block that ends at row k. Where a diagonal entry above it is nothing, what is
** beside it is rotated away. */
static ptrdiff_t block_start(const Bidiagonal *b, ptrdiff_t k) {
  for (ptrdiff_t l = k; l > 0; l--) {
    if (fabs(b->e[l]) <= b->small) {
      b->e[l] = 0;
      return l;
    }
    if (fabs(b->d[l - 1]) > b->small) continue;
    double c = 0, s = 1;
    for (ptrdiff_t i = l; i <= k; i++) {
      double f = s * b->e[i];
      b->e[i] *= c;
      if (fabs(f) <= b->small) break;
      double g = b->d[i], h = length_of(f, g);
      b->d[i] = h;
      c = g / h;
      s = -f / h;
      rotate_rows(b->u, l - 1, i - l + 1, 1, &c, &s);
    }
    return l;
  }
  return 0;
}

static double shift_of(const Bidiagonal *b, ptrdiff_t l, ptrdiff_t k) {
  double x = b->d[l], y = b->d[k - 1], z = b->d[k], g = b->e[k - 1], h = b->e[k];
  double f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y);
  return ((x - z) * (x + z) + h * (y / (f + copysign(hypot(f, 1), f)) - h)) / x;
}

static void qr_step(const Bidiagonal *b, ptrdiff_t l, ptrdiff_t k) {
  double *d = b->d, *e = b->e, f = shift_of(b, l, k), x = d[l], c = 1, s = 1;
  for (ptrdiff_t i = l + 1; i <= k; i++) {
    double g = c * e[i], h = s * e[i], y = d[i], z = length_of(f, h);
    e[i - 1] = z;
    b->c_of_v[i - l - 1] = c = z == 0 ? 1 : f / z;
    b->s_of_v[i - l - 1] = s = z == 0 ? 0 : h / z;
    f = x * c + g * s;
    g = g * c - x * s;
    h = y * s;
    y *= c;
    d[i - 1] = z = length_of(f, h);
    if (z != 0) {
      c = f / z;
      s = h / z;
    }
    b->c[i - l - 1] = c;
    b->s[i - l - 1] = s;
    f = c * g + s * y;
    x = c * y - s * g;
  }
  e[l] = 0;
  e[k] = f;
  d[k] = x;
  rotate_rows(b->v, l, 1, k - l, b->c_of_v, b->s_of_v);
  rotate_rows(b->u, l, 1, k - l, b->c, b->s);
}

static void order_values(const Bidiagonal *b, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    for (ptrdiff_t j = 0; b->d[i] < 0 && j < b->v.columns; j++) {
      put(b->v, i * b->v.stride + j, -get(b->v, i * b->v.stride + j));
    }
    b->d[i] = fabs(b->d[i]);
  }
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    ptrdiff_t first = i;
    for (ptrdiff_t j = i + 1; j < n; j++) {
      if (b->d[j] > b->d[first]) first = j;
    }
    if (first == i) continue;
    swap_reals(b->d + i, b->d + first);
    swap_lines(b->u, i, first);
    swap_lines(b->v, i, first);
  }
}

bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch, LinalgProgress *progress) {
  double *norm = &progress->numbers[1];
  if (progress->at == 0) {
    for (ptrdiff_t i = n - 1; i > 0; i--) e[i] = e[i - 1];
    e[0] = *norm = 0;
    for (ptrdiff_t i = 0; i < n; i++) *norm = fmax(*norm, fabs(d[i]) + fabs(e[i]));
  }
  Bidiagonal b = {d, e, scratch, scratch + n, scratch + 2 * n, scratch + 3 * n, *norm * DBL_EPSILON,
                  u, v};
  for (ptrdiff_t k = n - (progress->at ? progress->at : 1); k >= 0; k--) {
    if (linalg_pauses(progress, n - k, 0)) return false;
    for (int steps = 0;; steps++) {
      ptrdiff_t l = block_start(&b, k);
      if (l == k) break;
      if (steps == MOST_STEPS_EACH) {
        progress->info = 1;
        return linalg_stage_ends(progress);
      }
      qr_step(&b, l, k);
      progress->work += 4.0 * (double)(k - l) * (double)(u.columns + v.columns);
    }
  }
  order_values(&b, n);
  return linalg_stage_ends(progress);
}
