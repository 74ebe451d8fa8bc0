/*
** Iterates with rotations: eigenvalues of tridiagonal matrices (implicit QL) and singular values of bidiagonal ones
** (implicit QR). Golub and Van Loan, Matrix Computations, 8.3.5 and 8.6.2. The rotations of several steps are
** collected and then applied to the vectors, a few columns at a time; these stay in the cache from step to step.
** While one thread collects rotations, the others apply those of the steps before.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/min_max.h"
#include "kernels/linalg/linalg.h"

/* Threshold MAX_STEPS: an iteration that does not converge ends. No path. */
/* Threshold VECTORS. Test: "L U of ${shape}" in core/linalg.test.mjs. */
/* Threshold SWEEPS, ROOM_EACH: room for rotations. No path. */
enum { MAX_STEPS = 60, VECTORS = 4, SWEEPS = 32, ROOM_EACH = 12, PIECES = 4 };
/* Threshold MIN_SHARED: min operations to use other threads. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { MIN_SHARED = 500 * 1000 };

/* The rotations of one step: `count` of them, from row `first` on, `step` rows apart. */
typedef struct Sweep {
  ptrdiff_t first, step, count;
} Sweep;

/* Rotations that wait to be applied to z. Their cosines, then their sines, are in `room`, in z's type. */
typedef struct Rotations {
  LinalgRows z;
  void *room;
  Sweep *sweep;
  ptrdiff_t n, used, sweeps;
} Rotations;

/* Threshold WIDTH. Test: "L U of ${shape}" in core/linalg.test.mjs. */
/*
** Applies consecutive rotations to rows that are `step` reals apart (negative: upwards). For i < count, rows i and
** i + 1 become c[i] z[i] + s[i] z[i + 1] and c[i] z[i + 1] - s[i] z[i]. Works on a block of columns at a time: the
** rotated row i + 1 stays in registers for the next rotation.
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
    const Real *c = all->room, *s = c + ROOM_EACH * all->n;                                \
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

/* Returns whether there is room for a step: at most 2 n rotations, in at most n + 1 sweeps. */
static bool has_room(const Rotations *r) {
  return r->used + 2 * r->n <= ROOM_EACH * r->n && r->sweeps < SWEEPS;
}

enum {
  /* The cost of a rotation, for the turn's clock. */
  STEP_WORK = 25,
  /* Threshold MAX_WORK. Test: "L U of ${shape}" in core/linalg.test.mjs. */
  MAX_WORK = LINALG_TURN / 4
}; /* operations to make a rotation; max at once */

static void collect(Rotations *r, Sweep sweep, const double *c, const double *s) {
  if (r->z.columns == 0) return;
  for (ptrdiff_t i = 0, sines = ROOM_EACH * r->n; i < sweep.count; i++, r->used++) {
    if (r->z.narrow) {
      ((float *)r->room)[r->used] = (float)c[i];
      ((float *)r->room)[sines + r->used] = (float)s[i];
    } else {
      ((double *)r->room)[r->used] = c[i];
      ((double *)r->room)[sines + r->used] = s[i];
    }
  }
  r->sweep[r->sweeps++] = sweep;
}

/*
** The state of an iteration: one set of rotations is collected while the other is applied to the rows of u and v. It
** lies in the routine's memory, since it continues in the next turn. Applying a set may take several turns; each
** round applies it to a few columns.
*/
typedef struct Iteration Iteration;
struct Iteration {
  void (*collect)(Iteration *all); /* collects rotations while there is room */
  double *d, *e, *c, *s;
  double *c_of_v, *s_of_v, small; /* for singular values */
  ptrdiff_t n, at, steps;
  double work; /* operations spent on collecting */
  ptrdiff_t round, rounds;
  bool ends;  /* all rotations are collected */
  bool skips; /* the run has been cancelled */
  bool fails;
  Rotations sets[2][2], *collected, *applied; /* each: for u and for v */
};

/* Counts in numbers of 4 bytes; wider numbers need no more of them. */
static int64_t rotation_numbers(int64_t n) {
  int64_t narrow = 8 * ROOM_EACH * n, sweeps = 4 * (n + SWEEPS) * (int64_t)sizeof(Sweep);
  return narrow + (4 * n * (int64_t)sizeof(double) + sweeps + (int64_t)sizeof(Iteration)) / 4 + 4;
}

int64_t linalg_vectors_numbers(int64_t size, int64_t lines, int64_t count) {
  return max_i64(linalg_panel_numbers(size, max_i64(lines, count), count), rotation_numbers(count));
}

/* Returns the iteration in scratch; sets it up if the stage begins. */
__attribute__((minsize)) static Iteration *iteration_in(double *scratch, const Iteration *new,
                                                        LinalgRows u, LinalgRows v,
                                                        LinalgProgress *progress) {
  ptrdiff_t n = new->n, bytes = (u.narrow ? 4 : 8) * 2 * ROOM_EACH *n;
  uint8_t *rooms = (uint8_t *)(scratch + 4 * n);
  Sweep *sweeps = (Sweep *)(rooms + 4 * bytes);
  Iteration *all = (Iteration *)(sweeps + 4 * (n + SWEEPS));
  if (progress->at) return all;
  progress->at = 1;
  *all = *new;
  all->c = scratch;
  all->s = scratch + n;
  all->c_of_v = scratch + 2 * n;
  all->s_of_v = scratch + 3 * n;
  all->rounds = 1;
  all->collected = all->sets[0];
  all->applied = all->sets[1];
  for (int i = 0; i < 4; i++) {
    all->sets[i / 2][i % 2] =
        (Rotations){i % 2 ? v : u, rooms + bytes * i, sweeps + (n + SWEEPS) * i, n, 0, 0};
  }
  return all;
}

/* Returns the columns of a part: an equal share, rounded up to a multiple of 16. */
static ptrdiff_t columns_of(ptrdiff_t columns, ptrdiff_t parts) {
  return round_up(divide_up(columns, parts), 16);
}

static bool iteration_part(void *argument, int part) {
  Iteration *all = argument;
  if (part == 0) {
    if (!all->ends && all->round == 0) all->collect(all);
    all->skips = false;
    return true;
  }
  const Rotations *r = &all->applied[part % 2];
  ptrdiff_t of_round = columns_of(r->z.columns, all->rounds), from = all->round * of_round;
  ptrdiff_t width = columns_of(of_round, PIECES), first = (part - 1) / 2 * width;
  ptrdiff_t end = min_i64(first + width, of_round);
  rotate_columns(r, from + first, min_i64(from + end, r->z.columns));
  return true;
}

/* Returns the operations that it takes to apply the collected rotations. */
static double waiting(const Rotations *r) {
  return 6.0 *
         ((double)r[0].used * (double)r[0].z.columns + (double)r[1].used * (double)r[1].z.columns);
}

/* Runs an iteration: a stage; false if it continues in another turn. */
static bool iterate(Iteration *all, LinalgProgress *progress) {
  for (double work; (work = waiting(all->applied)) > 0 || !all->ends;) {
    if (all->round == 0) all->rounds = 1 + (ptrdiff_t)(work / LINALG_TURN);
    if (linalg_pauses(progress, 1, work / (double)all->rounds)) return false;
    int parts = 1 + (work > 0 ? 2 * PIECES : 0);
    all->skips = true;
    if (work > MIN_SHARED) {
      progress->call->share(progress->call, parts, iteration_part, all);
    } else {
      for (int part = 0; part < parts; part++) iteration_part(all, part);
    }
    if (all->skips) return false;
    progress->work += all->work;
    all->work = 0;
    if (++all->round < all->rounds) continue;
    all->round = 0;
    Rotations *done = all->applied;
    for (int i = 0; i < 2; i++) done[i].used = done[i].sweeps = 0;
    all->applied = all->collected;
    all->collected = done;
  }
  progress->info = all->fails;
  return true;
}

/* Ends the iteration if it does not converge: after MAX_STEPS for each value on average, as LAPACK counts them, or at a NaN. The
** first value of a matrix without full rank may take more steps, and leaves less to do for the others. */
static bool gives_up(Iteration *all, ptrdiff_t at) {
  all->fails = all->ends = all->steps >= MAX_STEPS * all->n || isnan(all->d[at]);
  return all->ends;
}

static double get(LinalgRows z, ptrdiff_t i) {
  return z.narrow ? (double)((float *)z.at)[i] : ((double *)z.at)[i];
}

/* Returns hypot(x, y), by the plain formula where that neither overflows nor underflows. */
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
    linalg_put(z.narrow, z.at, i * z.stride + k, get(z, j * z.stride + k));
    linalg_put(z.narrow, z.at, j * z.stride + k, x);
  }
}

static void negate_line(LinalgRows z, ptrdiff_t i) {
  for (ptrdiff_t j = 0; j < z.columns; j++)
    linalg_put(z.narrow, z.at, i * z.stride + j, -get(z, i * z.stride + j));
}

/* Sorts the values, and with them the rows of u and v: ascending, or made positive and descending. */
__attribute__((minsize)) static bool order_values(const Iteration *all, LinalgProgress *progress,
                                                  bool descend) {
  double *d = all->d;
  LinalgRows u = all->sets[0][0].z, v = all->sets[0][1].z;
  double of_rows = LINALG_MOVE * (double)(u.columns + v.columns) + (double)all->n;
  for (; !progress->info && progress->lines < all->n; progress->lines++) {
    ptrdiff_t i = progress->lines, first = i;
    if (linalg_pauses(progress, progress->at, of_rows)) return false;
    for (ptrdiff_t j = i + 1; j < all->n; j++) {
      if (descend ? fabs(d[j]) > fabs(d[first]) : d[j] < d[first]) first = j;
    }
    if (first != i) {
      swap_reals(d + i, d + first);
      swap_lines(u, i, first);
      swap_lines(v, i, first);
    }
    if (descend && d[i] < 0) negate_line(v, i);
    if (descend) d[i] = fabs(d[i]);
  }
  progress->lines = 0;
  return linalg_stage_ends(progress);
}

/* --- Eigenvalues ------------------------------------------------------------------------------ */

/* Returns the last row of the block that begins at row l. */
static ptrdiff_t coupled(const double *d, const double *e, ptrdiff_t n, ptrdiff_t l) {
  for (; l + 1 < n; l++) {
    if (fabs(e[l]) <= DBL_EPSILON * (fabs(d[l]) + fabs(d[l + 1])) || fabs(e[l]) < DBL_MIN) break;
  }
  return l;
}

/* Does one QL step from row m up to row l. Returns the number of rotations; it is smaller if the matrix splits on the
** way. */
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

static void collect_ql(Iteration *all) {
  for (; all->at < all->n; all->at++) {
    for (;; all->steps++) {
      ptrdiff_t l = all->at, m = coupled(all->d, all->e, all->n, l);
      if (m == l) break;
      if (!has_room(all->collected) || all->work > MAX_WORK) return;
      all->work += STEP_WORK * (double)(m - l);
      if (gives_up(all, l)) return;
      ptrdiff_t count = ql_step(all->d, all->e, l, m, all->c, all->s);
      collect(all->collected, (Sweep){m, -1, count}, all->c, all->s);
    }
  }
  all->ends = true;
}

bool tridiagonal_eigenvalues(double *d, double *e, ptrdiff_t n, LinalgRows z, double *scratch,
                             LinalgProgress *progress) {
  Iteration new = {.collect = collect_ql, .d = d, .e = e, .n = n};
  Iteration *all = iteration_in(scratch, &new, z, (LinalgRows){.narrow = z.narrow}, progress);
  return iterate(all, progress) && order_values(all, progress, false);
}

/* --- Singular values -------------------------------------------------------------------------- */

/* d: the diagonal; e[i]: the entry between i - 1 and i. Rotations of rows are collected for u, of columns for v. */

/* Returns the first row of the block that ends at row k. If a diagonal entry of the block is zero, rotates away the
** entry beside it. */
static ptrdiff_t block_start(Iteration *all, ptrdiff_t k) {
  double *d = all->d, *e = all->e;
  for (ptrdiff_t l = k; l > 0; l--) {
    if (fabs(e[l]) <= all->small) {
      e[l] = 0;
      return l;
    }
    if (fabs(d[l - 1]) > all->small) continue;
    double c = 0, s = 1;
    for (ptrdiff_t i = l; i <= k; i++) {
      double f = s * e[i];
      e[i] *= c;
      if (fabs(f) <= all->small) break;
      double g = d[i], h = length_of(f, g);
      d[i] = h;
      c = g / h;
      s = -f / h;
      collect(&all->collected[0], (Sweep){l - 1, i - l + 1, 1}, &c, &s);
    }
    return l;
  }
  return 0;
}

static double shift_of(const double *d, const double *e, ptrdiff_t l, ptrdiff_t k) {
  double x = d[l], y = d[k - 1], z = d[k], g = e[k - 1], h = e[k];
  double f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y);
  return ((x - z) * (x + z) + h * (y / (f + copysign(hypot(f, 1), f)) - h)) / x;
}

static void qr_step(Iteration *all, ptrdiff_t l, ptrdiff_t k) {
  double *d = all->d, *e = all->e, f = shift_of(d, e, l, k), x = d[l], c = 1, s = 1;
  for (ptrdiff_t i = l + 1; i <= k; i++) {
    double g = c * e[i], h = s * e[i], y = d[i], z = length_of(f, h);
    e[i - 1] = z;
    all->c_of_v[i - l - 1] = c = z == 0 ? 1 : f / z;
    all->s_of_v[i - l - 1] = s = z == 0 ? 0 : h / z;
    f = x * c + g * s;
    g = g * c - x * s;
    h = y * s;
    y *= c;
    d[i - 1] = z = length_of(f, h);
    if (z != 0) {
      c = f / z;
      s = h / z;
    }
    all->c[i - l - 1] = c;
    all->s[i - l - 1] = s;
    f = c * g + s * y;
    x = c * y - s * g;
  }
  e[l] = 0;
  e[k] = f;
  d[k] = x;
  collect(&all->collected[1], (Sweep){l, 1, k - l}, all->c_of_v, all->s_of_v);
  collect(&all->collected[0], (Sweep){l, 1, k - l}, all->c, all->s);
}

static void collect_qr(Iteration *all) {
  for (; all->at <= all->n; all->at++) {
    for (;; all->steps++) {
      if (!has_room(&all->collected[0]) || !has_room(&all->collected[1])) return;
      if (all->work > MAX_WORK) return;
      ptrdiff_t k = all->n - all->at, l = block_start(all, k);
      if (l == k) break;
      all->work += 2 * STEP_WORK * (double)(k - l);
      if (gives_up(all, k)) return;
      qr_step(all, l, k);
    }
  }
  all->ends = true;
}

bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch, LinalgProgress *progress) {
  Iteration new = {
      .collect = collect_qr, .d = d, .e = e, .n = n, .at = 1}; /* the last row's block */
  if (progress->at == 0) {
    double norm = 0;
    for (ptrdiff_t i = n - 1; i > 0; i--) e[i] = e[i - 1];
    e[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) norm = fmax(norm, fabs(d[i]) + fabs(e[i]));
    new.small = norm *DBL_EPSILON;
  }
  Iteration *all = iteration_in(scratch, &new, u, v, progress);
  return iterate(all, progress) && order_values(all, progress, true);
}
