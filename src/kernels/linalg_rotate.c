/*
** Iterations by rotations: eigenvalues of tridiagonal matrices (implicit QL) and singular values of
** bidiagonal ones (implicit QR). Golub and Van Loan, Matrix Computations, 8.3.5 and 8.6.2. The
** rotations of some steps are collected, and then applied to vectors: a few columns at a time, which stay
** in the cache from step to step.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/linalg.h"

enum { MOST_STEPS_EACH = 60, VECTORS = 4, MOST_SWEEPS = 32, ROOM_EACH = 24 };

/* Of one step: from row `first` on, every `step`-th one. */
typedef struct Sweep {
  ptrdiff_t first, step, count;
} Sweep;

/* That are still to be applied to z; their cosines, then their sines, are in `room`, as z's numbers. */
typedef struct Rotations {
  LinalgRows z;
  void *room;
  ptrdiff_t capacity, used;
  int sweeps;
  Sweep sweep[MOST_SWEEPS];
} Rotations;

/*
** Rotations one after the other, of rows that are `step` reals apart (or `step` the other way): for
** i < count, rows i and i + 1 become c[i] z[i] + s[i] z[i + 1] and c[i] z[i + 1] - s[i] z[i]. A block
** of columns at a time: row i + 1, turned, stays in registers for the next rotation.
*/
#define ROTATE(name, Real)                                                                 \
  typedef Real Vector_##name __attribute__((vector_size(16)));                             \
  static void rotate_block_##name(Real *z, ptrdiff_t step, ptrdiff_t count, const Real *c, \
                                  const Real *s) {                                         \
    enum { WIDTH = 16 / sizeof(Real) };                                                    \
    Vector_##name x[VECTORS], y;                                                           \
    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                  \
      memcpy(&x[v], z + (ptrdiff_t)WIDTH * v, sizeof y);                                   \
    }                                                                                      \
    for (ptrdiff_t i = 0; i < count; i++) {                                                \
      Vector_##name cosine = (Vector_##name){0} + c[i];                                    \
      Vector_##name sine = (Vector_##name){0} + s[i], turned;                              \
      Real *row = z + i * step;                                                            \
      _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                \
        memcpy(&y, row + step + (ptrdiff_t)WIDTH * v, sizeof y);                           \
        turned = x[v] * cosine + y * sine;                                                 \
        memcpy(row + (ptrdiff_t)WIDTH * v, &turned, sizeof turned);                        \
        x[v] = y * cosine - x[v] * sine;                                                   \
      }                                                                                    \
    }                                                                                      \
    _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                  \
      memcpy(z + count * step + (ptrdiff_t)WIDTH * v, &x[v], sizeof y);                    \
    }                                                                                      \
  }                                                                                        \
  static void rotate_##name(const Rotations *all, ptrdiff_t j, ptrdiff_t end) {            \
    const ptrdiff_t width = VECTORS * 16 / sizeof(Real);                                   \
    const Real *c = all->room, *s = c + all->capacity;                                     \
    for (int k = 0; k < all->sweeps; k++) {                                                \
      const Sweep *sweep = &all->sweep[k];                                                 \
      ptrdiff_t step = sweep->step * all->z.stride, count = sweep->count;                  \
      Real *z = (Real *)all->z.at + sweep->first * all->z.stride;                          \
      for (ptrdiff_t m = j; m < end; m++) {                                                \
        if (m + width <= end) {                                                            \
          rotate_block_##name(z + m, step, count, c, s);                                   \
          m += width - 1;                                                                  \
          continue;                                                                        \
        }                                                                                  \
        Real x = z[m];                                                                     \
        for (ptrdiff_t i = 0; i < count; i++) {                                            \
          Real y = z[(i + 1) * step + m];                                                  \
          z[i * step + m] = c[i] * x + s[i] * y;                                           \
          x = c[i] * y - s[i] * x;                                                         \
        }                                                                                  \
        z[count * step + m] = x;                                                           \
      }                                                                                    \
      c += count;                                                                          \
      s += count;                                                                          \
    }                                                                                      \
  }
ROTATE(f32, float)
ROTATE(f64, double)
#undef ROTATE

static void rotate_columns(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const Rotations *r = argument;
  ptrdiff_t width = VECTORS * 16 / (r->z.narrow ? 4 : 8);
  for (; first < end; first += width) {
    ptrdiff_t last = first + width < end ? first + width : end;
    if (r->z.narrow) {
      rotate_f32(r, first, last);
    } else {
      rotate_f64(r, first, last);
    }
  }
}

static void flush(Rotations *r, LinalgProgress *progress) {
  double work = 6.0 * (double)r->used * (double)r->z.columns;
  progress->work += work;
  linalg_share(progress, r->z.columns, 16, work, rotate_columns, r);
  r->used = r->sweeps = 0;
}

static void collect(Rotations *r, Sweep sweep, const double *c, const double *s,
                    LinalgProgress *progress) {
  if (r->z.columns == 0) return;
  if (r->used + sweep.count > r->capacity || r->sweeps == MOST_SWEEPS) flush(r, progress);
  for (ptrdiff_t i = 0; i < sweep.count; i++, r->used++) {
    if (r->z.narrow) {
      ((float *)r->room)[r->used] = (float)c[i];
      ((float *)r->room)[r->capacity + r->used] = (float)s[i];
    } else {
      ((double *)r->room)[r->used] = c[i];
      ((double *)r->room)[r->capacity + r->used] = s[i];
    }
  }
  r->sweep[r->sweeps++] = sweep;
}

/* The first or second user of what is behind 4 n doubles. */
static Rotations rotations_of(LinalgRows z, double *scratch, ptrdiff_t n, int user) {
  uint8_t *room = (uint8_t *)(scratch + 4 * n) + (z.narrow ? 4 : 8) * 2 * ROOM_EACH * n * user;
  return (Rotations){.z = z, .room = room, .capacity = ROOM_EACH * n};
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
  Rotations rotations = rotations_of(z, scratch, n, 0);
  for (ptrdiff_t l = progress->at; l < n; l++) {
    if (linalg_pauses(progress, l, 0)) {
      flush(&rotations, progress);
      return false;
    }
    for (int steps = 0;; steps++) {
      ptrdiff_t m = coupled(d, e, n, l);
      if (m == l) break;
      if (steps == MOST_STEPS_EACH) {
        progress->info = 1;
        return linalg_stage_ends(progress);
      }
      ptrdiff_t count = ql_step(d, e, l, m, c, s);
      collect(&rotations, (Sweep){m, -1, count}, c, s, progress);
    }
  }
  flush(&rotations, progress);
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
  Rotations u, v;
  LinalgProgress *progress;
} Bidiagonal;

/* The first row of the block that ends at row k. Where a diagonal entry above it is nothing, what is
** beside it is rotated away. */
static ptrdiff_t block_start(Bidiagonal *b, ptrdiff_t k) {
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
      collect(&b->u, (Sweep){l - 1, i - l + 1, 1}, &c, &s, b->progress);
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

static void qr_step(Bidiagonal *b, ptrdiff_t l, ptrdiff_t k) {
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
  collect(&b->v, (Sweep){l, 1, k - l}, b->c_of_v, b->s_of_v, b->progress);
  collect(&b->u, (Sweep){l, 1, k - l}, b->c, b->s, b->progress);
}

static void order_values(const Bidiagonal *b, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    LinalgRows v = b->v.z;
    for (ptrdiff_t j = 0; b->d[i] < 0 && j < v.columns; j++) {
      put(v, i * v.stride + j, -get(v, i * v.stride + j));
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
    swap_lines(b->u.z, i, first);
    swap_lines(b->v.z, i, first);
  }
}

static void flush_both(Bidiagonal *b) {
  flush(&b->u, b->progress);
  flush(&b->v, b->progress);
}

bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch, LinalgProgress *progress) {
  double *norm = &progress->numbers[1];
  if (progress->at == 0) {
    for (ptrdiff_t i = n - 1; i > 0; i--) e[i] = e[i - 1];
    e[0] = *norm = 0;
    for (ptrdiff_t i = 0; i < n; i++) *norm = fmax(*norm, fabs(d[i]) + fabs(e[i]));
  }
  Bidiagonal b = {d,
                  e,
                  scratch,
                  scratch + n,
                  scratch + 2 * n,
                  scratch + 3 * n,
                  *norm * DBL_EPSILON,
                  rotations_of(u, scratch, n, 0),
                  rotations_of(v, scratch, n, 1),
                  progress};
  for (ptrdiff_t k = n - (progress->at ? progress->at : 1); k >= 0; k--) {
    if (linalg_pauses(progress, n - k, 0)) {
      flush_both(&b);
      return false;
    }
    for (int steps = 0;; steps++) {
      ptrdiff_t l = block_start(&b, k);
      if (l == k) break;
      if (steps == MOST_STEPS_EACH) {
        progress->info = 1;
        return linalg_stage_ends(progress);
      }
      qr_step(&b, l, k);
    }
  }
  flush_both(&b);
  order_values(&b, n);
  return linalg_stage_ends(progress);
}
