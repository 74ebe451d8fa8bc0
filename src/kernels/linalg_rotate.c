/*
** Iterations by rotations: eigenvalues of tridiagonal matrices (implicit QL) and singular values of
** bidiagonal ones (implicit QR). Golub and Van Loan, Matrix Computations, 8.3.5 and 8.6.2. The
** rotations of a step are collected, and then applied to vectors.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/linalg.h"

enum { MOST_STEPS_EACH = 60, VECTORS = 4, WIDTH = 2 * VECTORS };

typedef double Vector __attribute__((vector_size(16)));

static Vector load(const double *from) {
  Vector v;
  memcpy(&v, from, sizeof v);
  return v;
}

static void store(double *to, Vector v) { memcpy(to, &v, sizeof v); }

/* WIDTH columns: row i + 1, turned, stays in registers for the next rotation. */
static void rotate_block(double *z, ptrdiff_t step, ptrdiff_t count, const double *c,
                         const double *s) {
  Vector x[VECTORS];
#pragma unroll
  for (int v = 0; v < VECTORS; v++) x[v] = load(z + (ptrdiff_t)2 * v);
  for (ptrdiff_t i = 0; i < count; i++) {
    Vector cosine = {c[i], c[i]}, sine = {s[i], s[i]};
    double *row = z + i * step;
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
      Vector y = load(row + step + (ptrdiff_t)2 * v);
      store(row + (ptrdiff_t)2 * v, x[v] * cosine + y * sine);
      x[v] = y * cosine - x[v] * sine;
    }
  }
#pragma unroll
  for (int v = 0; v < VECTORS; v++) store(z + count * step + (ptrdiff_t)2 * v, x[v]);
}

void rotate_rows(double *z, ptrdiff_t columns, ptrdiff_t step, ptrdiff_t count, const double *c,
                 const double *s) {
  ptrdiff_t j = 0;
  for (; j + WIDTH <= columns; j += WIDTH) rotate_block(z + j, step, count, c, s);
  for (; j < columns; j++) {
    double x = z[j];
    for (ptrdiff_t i = 0; i < count; i++) {
      double y = z[(i + 1) * step + j];
      z[i * step + j] = c[i] * x + s[i] * y;
      x = c[i] * y - s[i] * x;
    }
    z[count * step + j] = x;
  }
}

/* hypot, mostly without its care */
static double length_of(double x, double y) {
  double square = x * x + y * y;
  return square > 1e-280 && square < 1e300 ? sqrt(square) : hypot(x, y);
}

static void swap_reals(double *x, double *y, ptrdiff_t count) {
  for (ptrdiff_t j = 0; j < count; j++) {
    double z = x[j];
    x[j] = y[j];
    y[j] = z;
  }
}

static void swap_lines(LinalgRows z, ptrdiff_t i, ptrdiff_t j) {
  swap_reals(z.at + i * z.stride, z.at + j * z.stride, z.columns);
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

bool tridiagonal_eigenvalues(double *d, double *e, ptrdiff_t n, LinalgRows z, double *scratch) {
  double *c = scratch, *s = scratch + n;
  for (ptrdiff_t l = 0; l < n; l++) {
    for (int steps = 0;; steps++) {
      ptrdiff_t m = coupled(d, e, n, l);
      if (m == l) break;
      if (steps == MOST_STEPS_EACH) return false;
      ptrdiff_t count = ql_step(d, e, l, m, c, s);
      rotate_rows(z.at + m * z.stride, z.columns, -z.stride, count, c, s);
    }
  }
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    ptrdiff_t first = i;
    for (ptrdiff_t j = i + 1; j < n; j++) {
      if (d[j] < d[first]) first = j;
    }
    if (first == i) continue;
    swap_reals(d + i, d + first, 1);
    swap_lines(z, i, first);
  }
  return true;
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
      LinalgRows u = b->u;
      rotate_rows(u.at + (l - 1) * u.stride, u.columns, (i - l + 1) * u.stride, 1, &c, &s);
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
  rotate_rows(b->v.at + l * b->v.stride, b->v.columns, b->v.stride, k - l, b->c_of_v, b->s_of_v);
  rotate_rows(b->u.at + l * b->u.stride, b->u.columns, b->u.stride, k - l, b->c, b->s);
}

static void order_values(const Bidiagonal *b, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    double *row = b->v.at + i * b->v.stride;
    for (ptrdiff_t j = 0; b->d[i] < 0 && j < b->v.columns; j++) row[j] = -row[j];
    b->d[i] = fabs(b->d[i]);
  }
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    ptrdiff_t first = i;
    for (ptrdiff_t j = i + 1; j < n; j++) {
      if (b->d[j] > b->d[first]) first = j;
    }
    if (first == i) continue;
    swap_reals(b->d + i, b->d + first, 1);
    swap_lines(b->u, i, first);
    swap_lines(b->v, i, first);
  }
}

bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch) {
  double norm = 0;
  for (ptrdiff_t i = n - 1; i > 0; i--) e[i] = e[i - 1];
  e[0] = 0;
  for (ptrdiff_t i = 0; i < n; i++) norm = fmax(norm, fabs(d[i]) + fabs(e[i]));
  Bidiagonal b = {d, e, scratch, scratch + n, scratch + 2 * n, scratch + 3 * n, norm * DBL_EPSILON,
                  u, v};
  for (ptrdiff_t k = n - 1; k >= 0; k--) {
    for (int steps = 0;; steps++) {
      ptrdiff_t l = block_start(&b, k);
      if (l == k) break;
      if (steps == MOST_STEPS_EACH) return false;
      qr_step(&b, l, k);
    }
  }
  order_values(&b, n);
  return true;
}
