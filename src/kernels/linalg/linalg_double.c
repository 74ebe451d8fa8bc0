/* Balances matrices, finds eigenvectors of Schur forms, and solves tridiagonal systems: see linalg_double.h. */
#include "kernels/linalg/linalg_double.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

typedef double complex Complex;

/* --- Numbers ---------------------------------------------------------------------------------- */

static Complex complex_of(double re, double im) { return __builtin_complex(re, im); }

static double *entry_at(const LinalgGeneral *g, ptrdiff_t i, ptrdiff_t j) {
  return g->t + (i * g->stride + j) * g->parts;
}
static Complex entry(const LinalgGeneral *g, ptrdiff_t i, ptrdiff_t j) {
  const double *x = entry_at(g, i, j);
  return complex_of(x[0], g->parts == 2 ? x[1] : 0);
}
static double size_at(const LinalgGeneral *g, ptrdiff_t i, ptrdiff_t j) {
  Complex x = entry(g, i, j);
  return fabs(creal(x)) + fabs(cimag(x));
}
static double square(Complex x) { return creal(x) * creal(x) + cimag(x) * cimag(x); }

/* Returns x y, without C's checks for infinities and NaN. */
static Complex times(Complex x, Complex y) {
  return complex_of(creal(x) * creal(y) - cimag(x) * cimag(y),
                    creal(x) * cimag(y) + cimag(x) * creal(y));
}
static Complex over(Complex x, Complex y) {
  if (cimag(y) == 0) return complex_of(creal(x) / creal(y), cimag(x) / creal(y));
  double by = 1 / fmax(fabs(creal(y)), fabs(cimag(y)));
  y *= by;
  return times(x * by, conj(y)) / square(y);
}

/* Swaps `count` numbers that are `step` doubles apart. */
static void swap(const LinalgGeneral *g, double *x, double *y, ptrdiff_t step, ptrdiff_t count) {
  for (; x != y && count > 0; count--, x += step, y += step) {
    for (int part = 0; part < g->parts; part++) {
      double z = x[part];
      x[part] = y[part];
      y[part] = z;
    }
  }
}

/* --- Balancing -------------------------------------------------------------------------------- */

/* Returns whether row (or column) i is zero between low and high, except on the diagonal. */
static bool is_isolated(const LinalgGeneral *g, ptrdiff_t i, bool is_row) {
  for (ptrdiff_t j = (ptrdiff_t)g->low; j <= (ptrdiff_t)g->high; j++) {
    if (j != i && (is_row ? size_at(g, i, j) : size_at(g, j, i)) != 0) return false;
  }
  return true;
}

static void isolate(const LinalgGeneral *g, ptrdiff_t i, ptrdiff_t to) {
  ptrdiff_t low = (ptrdiff_t)g->low;
  g->scale[to] = (double)i;
  swap(g, entry_at(g, 0, i), entry_at(g, 0, to), g->stride * g->parts, (ptrdiff_t)g->high + 1);
  swap(g, entry_at(g, i, low), entry_at(g, to, low), g->parts, g->n - low);
}

/* Moves isolated rows to the end, then isolated columns to the front, until there are none. progress->at: the next row
** or column to test, from 1. */
static bool permute(LinalgGeneral *g, LinalgProgress *progress) {
  for (; progress->lines < 2; progress->lines++) {
    bool columns = progress->lines == 1;
    ptrdiff_t sign = columns ? 1 : -1;
    do {
      ptrdiff_t i = (ptrdiff_t)(columns ? g->low : g->high);
      if (progress->at > 0) i = progress->at - 1;
      if (progress->at == 0) progress->has_panel = false;
      for (; i >= 0 && i <= (ptrdiff_t)g->high; i += sign) {
        if (linalg_pauses(progress, i + 1, LINALG_MOVE * (double)g->n)) return false;
        if (!is_isolated(g, i, !columns)) continue;
        isolate(g, i, (ptrdiff_t)(columns ? g->low : g->high));
        progress->has_panel = g->high != 0;
        if (g->high == 0) progress->lines = 1; /* no columns */
        if (g->high == 0) break;
        *(columns ? &g->low : &g->high) += sign;
      }
      progress->at = 0;
    } while (progress->has_panel);
  }
  return true;
}

/* Scales rows and columns by powers of two until their lengths are about equal. */
static bool equilibrate(const LinalgGeneral *g, LinalgProgress *progress) {
  ptrdiff_t low = (ptrdiff_t)g->low, high = (ptrdiff_t)g->high;
  do {
    if (progress->at == 0) progress->has_panel = false;
    for (ptrdiff_t i = low + progress->at; i <= high; i++) {
      if (linalg_pauses(progress, i - low, 4.0 * LINALG_MOVE * (double)g->n)) return false;
      double c = 0, r = 0, f = 1;
      for (ptrdiff_t j = low; j <= high; j++) {
        c += square(entry(g, j, i));
        r += square(entry(g, i, j));
      }
      c = sqrt(c), r = sqrt(r);
      double sum = c + r;
      if (c == 0 || r == 0) continue;
      for (; c < r / 2 && f < 1e30; f *= 2) c *= 2, r /= 2;
      for (; c / 2 >= r && f > 1e-30; f /= 2) c /= 2, r *= 2;
      bool too_far = g->scale[i] * f > 1e30 || g->scale[i] * f < 1e-30;
      if (c + r >= 0.95 * sum || too_far) continue;
      g->scale[i] *= f;
      progress->has_panel = true;
      for (int part = 0; part < g->parts; part++) {
        for (ptrdiff_t j = low; j < g->n; j++) entry_at(g, i, j)[part] /= f;
        for (ptrdiff_t j = 0; j <= high; j++) entry_at(g, j, i)[part] *= f;
      }
    }
    progress->at = 0;
  } while (progress->has_panel);
  return true;
}

bool linalg_balance(LinalgGeneral *g, bool scales, LinalgProgress *progress) {
  /* Threshold SCALES: a case. No path. */
  enum { SCALES = 3 };
  if (progress->lines < SCALES) {
    if (!permute(g, progress)) return false;
    for (ptrdiff_t i = (ptrdiff_t)g->low; i <= (ptrdiff_t)g->high && scales; i++) g->scale[i] = 1;
    progress->lines = SCALES;
  }
  if (scales && !equilibrate(g, progress)) return false;
  progress->lines = 0;
  return linalg_stage_ends(progress);
}

void linalg_unbalance(const LinalgGeneral *g, double *x, bool scales, bool from_left) {
  ptrdiff_t low = (ptrdiff_t)g->low, high = (ptrdiff_t)g->high;
  for (ptrdiff_t i = low * g->parts; scales && i < (high + 1) * g->parts; i++) {
    double by = g->scale[i / g->parts];
    x[i] *= from_left ? 1 / by : by;
  }
  for (ptrdiff_t k = 0; k < g->n; k++) {
    ptrdiff_t i = k < low ? low - 1 - k : k; /* from the middle to both ends */
    if (i >= low && i <= high) continue;
    swap(g, x + i * g->parts, x + (ptrdiff_t)g->scale[i] * g->parts, g->parts, 1);
  }
}

/* --- Eigenvectors of T ------------------------------------------------------------------------ */

/* The entries of an eigenvector. A real matrix has its real and imaginary parts in two rows; one row if it is real. */
typedef struct Entries {
  double *re, *im;
  int parts;
} Entries;

static Complex get(Entries x, ptrdiff_t i) {
  if (x.parts == 2) return complex_of(x.re[2 * i], x.re[2 * i + 1]);
  return complex_of(x.re[i], x.im ? x.im[i] : 0);
}

static void set(Entries x, ptrdiff_t i, Complex value) {
  x.re[i * x.parts] = creal(value);
  if (x.parts == 2) x.re[2 * i + 1] = cimag(value);
  if (x.im) x.im[i] = cimag(value);
}

static Complex row_times(const LinalgGeneral *g, ptrdiff_t row, Entries x, ptrdiff_t from,
                         ptrdiff_t end) {
  const double *t = entry_at(g, row, from);
  if (g->parts == 2) {
    LinalgComplex sum = linalg_inner_c128((const LinalgComplex *)t,
                                          (const LinalgComplex *)x.re + from, end - from, false);
    return complex_of(sum.re, sum.im);
  }
  return complex_of(linalg_inner_f64(t, x.re + from, end - from, false),
                    x.im ? linalg_inner_f64(t, x.im + from, end - from, false) : 0);
}

static bool is_pair(const LinalgGeneral *g,
                    ptrdiff_t last) { /* `last` is the last row of a 2x2 block */
  return g->parts == 1 && last > 0 && last < g->n && *entry_at(g, last, last - 1) != 0;
}

/* Returns the imaginary part of the eigenvalues of a 2x2 block. */
static double imaginary(const LinalgGeneral *g, ptrdiff_t last) {
  return sqrt(size_at(g, last - 1, last)) * sqrt(size_at(g, last, last - 1));
}

/* Returns x, a difference of eigenvalues to divide by; least_size if it is smaller. */
static Complex apart(Complex x, double min_size) { return cabs(x) < min_size ? min_size : x; }

#define LARGE 1e10 /* a vector with larger entries is scaled */

/* Computes a vector's entries before row `row`, by back substitution. */
static void substitute(const LinalgGeneral *g, Entries x, Complex value, ptrdiff_t row,
                       ptrdiff_t end) {
  double smallest = DBL_MIN * ((double)g->n / g->epsilon);
  double min_size = fmax(g->epsilon * (fabs(creal(value)) + fabs(cimag(value))), smallest);
  for (ptrdiff_t j = row - 1; j >= 0; j--) {
    bool two = is_pair(g, j);
    Complex d = entry(g, j, j) - value, last = -row_times(g, j, x, j + 1, end), other = 0;
    if (two) {
      Complex above = -row_times(g, j - 1, x, j + 1, end), below = last;
      Complex half = complex_of(0, imaginary(g, j));
      Complex determinant = times(apart(d + half, min_size), apart(d - half, min_size));
      other = over(times(d, above) - *entry_at(g, j - 1, j) * below, determinant);
      last = over(times(d, below) - *entry_at(g, j, j - 1) * above, determinant);
    } else {
      last = over(last, apart(d, min_size));
    }
    double size = fmax(cabs(last), cabs(other)), by = size > LARGE ? 1 / size : 1;
    for (ptrdiff_t i = j + 1; by != 1 && i < end; i++) set(x, i, get(x, i) * by);
    set(x, j, last * by);
    if (two) set(x, --j, other * by);
  }
}

static Entries entries_in(const LinalgGeneral *g, double *rows, ptrdiff_t last) {
  double *row = rows + last * g->stride * g->parts;
  return is_pair(g, last) ? (Entries){row - g->stride, row, 1} : (Entries){row, NULL, g->parts};
}

bool linalg_vectors_of_t(const LinalgGeneral *g, bool from_left, LinalgProgress *progress) {
  for (ptrdiff_t k = progress->at; k < g->n; k++) {
    if (is_pair(g, k + 1)) continue;
    if (linalg_pauses(progress, k, 4.0 * g->parts * (double)k * (double)k)) return false;
    Entries x = entries_in(g, g->x, k);
    Complex value = entry(g, k, k);
    set(x, k, -1);
    if (x.im) {
      double im = imaginary(g, k), above = *entry_at(g, k - 1, k), below = *entry_at(g, k, k - 1);
      bool first = fabs(above) >= fabs(below);
      set(x, k, complex_of(0, first ? -im / above : -1));
      set(x, k - 1, first ? -1 : im / below);
      value += complex_of(0, im);
    }
    substitute(g, x, value, x.im ? k - 1 : k, k + 1);
    for (ptrdiff_t i = 0; !from_left && i <= k; i++) set(x, i, conj(get(x, i)));
  }
  return linalg_stage_ends(progress);
}

/* Transposes T and reverses its rows and columns, so that it is upper triangular again. */
bool linalg_flip(const LinalgGeneral *g, LinalgProgress *progress) {
  ptrdiff_t last = g->n - 1, row = g->stride * g->parts;
  for (ptrdiff_t i = progress->at; i <= last; i++) {
    if (linalg_pauses(progress, i, 2.0 * LINALG_MOVE * (double)g->n)) return false;
    for (ptrdiff_t j = 0; j < last - i; j++) {
      swap(g, entry_at(g, i, j), entry_at(g, last - j, last - i), 1, 1);
    }
    if (i < last - i) swap(g, g->z + i * row, g->z + (last - i) * row, g->parts, g->n);
  }
  return linalg_stage_ends(progress);
}

/* --- Results ---------------------------------------------------------------------------------- */

static void put_pair(const LinalgGeneral *g, uint8_t *out, ptrdiff_t i, Complex x) {
  linalg_put(g->narrow, out, 2 * i, creal(x));
  linalg_put(g->narrow, out, 2 * i + 1, cimag(x));
}

void linalg_store_eigenvalues(const LinalgGeneral *g, const LinalgData *data, int first,
                              double by) {
  for (ptrdiff_t k = 0; k < g->n; k++) {
    Complex value = entry(g, k, k);
    if (is_pair(g, k)) value -= complex_of(0, imaginary(g, k));
    if (is_pair(g, k + 1)) value += complex_of(0, imaginary(g, k + 1));
    value *= by;
    if (g->parts == 2) {
      put_pair(g, data->out[first], k, value);
    } else {
      linalg_put(g->narrow, data->out[first], k, creal(value));
      linalg_put(g->narrow, data->out[first + 1], k, cimag(value));
    }
  }
}

bool linalg_store_vectors(const LinalgGeneral *g, uint8_t *out, bool from_left,
                          LinalgProgress *progress) {
  ptrdiff_t n = g->n;
  for (ptrdiff_t k = progress->at; k < n; k++) {
    if (is_pair(g, k + 1)) continue;
    if (linalg_pauses(progress, k, 4.0 * LINALG_MOVE * (double)n)) return false;
    Entries x = entries_in(g, g->y, k);
    linalg_unbalance(g, x.re, true, from_left);
    if (x.im) linalg_unbalance(g, x.im, true, from_left);
    double sum = 0, largest = 0;
    ptrdiff_t at_largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
      double size = square(get(x, i));
      sum += size;
      if (size > largest) largest = size, at_largest = i;
    }
    Complex by = 1;
    if (x.im || g->parts == 2) by = get(x, at_largest) / sqrt(largest);
    if (x.im && creal(by) < 0) by = -by; /* the sign of LAPACK's rotations */
    by /= sqrt(sum);
    ptrdiff_t column = from_left ? n - 1 - k : x.im ? k - 1 : k;
    for (ptrdiff_t i = 0; i < n; i++) {
      Complex value = times(conj(get(x, i)), by);
      if (i == at_largest) value = creal(value);
      put_pair(g, out, i * n + column, value);
      if (x.im) put_pair(g, out, i * n + column + 1, conj(value));
    }
  }
  return linalg_stage_ends(progress);
}

/* --- Tridiagonal systems ---------------------------------------------------------------------- */

/* Loads dl, d, du and b, or stores those that are results: a stage. */
static bool move_rows(const LinalgPlan *plan, const LinalgData *data, int parts, double *x,
                      bool loads, LinalgProgress *progress) {
  ptrdiff_t n = plan->in[3].rows;
  int first = !loads && plan->routine == LINALG_PERTURBED ? 3 : 0;
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (linalg_pauses(progress, i, LINALG_MOVE * (double)(3 + plan->in[3].columns))) return false;
    for (int k = first; k < 4; k++) {
      ptrdiff_t count = plan->in[k].columns;
      for (ptrdiff_t j = i * count; j < (i + 1) * count; j++) {
        ptrdiff_t from = k == 0 && i + 1 < n ? j + 1 : j; /* the first dl is unused */
        double *at = x + 2 * (k * n + j);
        for (int part = 0; part < parts; part++) {
          ptrdiff_t source = from * parts + part, to = j * parts + part;
          if (!loads) {
            linalg_put(plan->narrow, data->out[k - first], to, at[part]);
          } else {
            at[part] = plan->narrow ? (double)((const float *)data->in[k])[source]
                                    : ((const double *)data->in[k])[source];
          }
        }
        if (loads && parts == 1) at[1] = 0;
      }
    }
  }
  return linalg_stage_ends(progress);
}

static double size_of(Complex x) { return fabs(creal(x)) + fabs(cimag(x)); }

static void subtract(Complex *y, Complex factor, const Complex *x, ptrdiff_t count) {
  for (ptrdiff_t j = 0; j < count; j++) y[j] -= times(factor, x[j]);
}

/* Eliminates the first number of row i + 1 by row i. `exchanges`: first swaps the two rows, which fills the second
** superdiagonal; dl keeps it. */
static void eliminate(Complex *dl, Complex *d, Complex *du, Complex *x, ptrdiff_t n,
                      ptrdiff_t columns, bool exchanges) {
  Complex second = 0, factor = exchanges ? over(d[0], dl[0]) : over(dl[0], d[0]);
  if (exchanges) {
    Complex below = d[1];
    if (n > 2) second = du[1], du[1] = -times(factor, second);
    d[1] = du[0] - times(factor, below);
    d[0] = dl[0];
    du[0] = below;
    for (ptrdiff_t j = 0; j < columns; j++) {
      Complex z = x[j];
      x[j] = x[columns + j];
      x[columns + j] = z;
    }
  } else {
    d[1] -= times(factor, du[0]);
  }
  subtract(x + columns, factor, x, columns);
  dl[0] = second;
}

/* --- Tridiagonal systems that may be singular --------------------------------------------------- */

static double length_of(Complex x) { return hypot(creal(x), cimag(x)); }

/* Returns the pivot, grown until the row divided by it is finite in the result's type. May scale both up. */
static Complex grown(Complex pivot, double by, double safe, Complex *row, ptrdiff_t count) {
  double length = length_of(pivot), largest = 0;
  for (ptrdiff_t j = 0; j < count; j++) largest = fmax(largest, length_of(row[j]));
  by = copysign(fmax(by, safe), creal(pivot));
  while (length < 1 && (length < safe || largest > length / safe)) {
    if (length < safe && length > 0 && largest * safe <= length) {
      for (ptrdiff_t j = 0; j < count; j++) row[j] /= safe;
      return pivot / safe;
    }
    pivot += by;
    by *= 2;
    length = length_of(pivot);
  }
  return pivot;
}

/* Eliminates with scaled pivoting: swaps rows i and i + 1 if the lower one's first number is the larger part of its
** row. progress->norm: the length of the rest of row i; the largest number of U. */
static void eliminate_scaled(Complex *dl, Complex *d, Complex *du, Complex *x, ptrdiff_t n,
                             ptrdiff_t columns, LinalgProgress *progress) {
  double below = length_of(dl[0]) + length_of(d[1]) + (n > 2 ? length_of(du[1]) : 0);
  double pivot = length_of(d[0]), left = below;
  if (dl[0] != 0) {
    bool exchanges = length_of(dl[0]) / below > (pivot == 0 ? 0 : pivot / progress->norm[0]);
    eliminate(dl, d, du, x, n, columns, exchanges);
    if (exchanges) left = length_of(d[1]) + (n > 2 ? length_of(du[1]) : 0);
  }
  progress->norm[0] = left;
  if (n <= 2) return;
  double largest = fmax(length_of(d[0]), fmax(length_of(du[0]), length_of(dl[0])));
  progress->norm[1] = fmax(progress->norm[1], largest);
}

/* --- Both ------------------------------------------------------------------------------------- */

struct Work {
  const LinalgPlan *plan;
  const LinalgData *data;
  LinalgProgress *progress;
  int parts;
  double *memory;
  ptrdiff_t n, columns;
  Complex *dl, *d, *du, *b;
};

static bool perturbs(const Work *w) { return w->plan->routine == LINALG_PERTURBED; }

/* Returns the operations for a row. */
static double row_work(const Work *w) { return 50 + 8 * (double)w->columns; }

static bool load_tridiagonal(Work *w) {
  return move_rows(w->plan, w->data, w->parts, w->memory, true, w->progress);
}

static bool eliminate_tridiagonal(Work *w) {
  LinalgProgress *progress = w->progress;
  Complex *dl = w->dl, *d = w->d, *du = w->du;
  ptrdiff_t n = w->n;
  if (progress->at == 0) {
    progress->norm[0] = length_of(d[0]) + (n > 1 ? length_of(du[0]) : 0);
    progress->norm[1] = fmax(length_of(d[0]), n > 1 ? length_of(du[0]) : 0);
  }
  for (ptrdiff_t i = progress->at; i < n && !progress->info; i++) {
    if (linalg_pauses(progress, i, row_work(w))) return false;
    Complex *x = w->b + i * w->columns;
    bool is_last = i + 1 == n;
    if (perturbs(w) && !is_last) {
      eliminate_scaled(dl + i, d + i, du + i, x, n - i, w->columns, progress);
    } else if (!perturbs(w) && d[i] == 0 && (is_last || dl[i] == 0)) {
      progress->info = i + 1;
    } else if (!is_last) {
      eliminate(dl + i, d + i, du + i, x, n - i, w->columns, size_of(d[i]) < size_of(dl[i]));
    }
  }
  progress->norm[1] = fmax(progress->norm[1], length_of(d[n - 1]));
  return linalg_stage_ends(progress);
}

static bool substitute_tridiagonal(Work *w) {
  LinalgProgress *progress = w->progress;
  ptrdiff_t n = w->n, columns = w->columns;
  double by = progress->norm[1] * (w->plan->narrow ? FLT_EPSILON : DBL_EPSILON);
  double safe = w->plan->narrow ? FLT_MIN : DBL_MIN;
  for (ptrdiff_t i = n - 1 - progress->at; i >= 0 && !progress->info; i--) {
    if (linalg_pauses(progress, n - 1 - i, row_work(w))) return false;
    Complex *x = w->b + i * columns;
    if (i + 1 < n) subtract(x, w->du[i], x + columns, columns);
    if (i + 2 < n) subtract(x, w->dl[i], x + 2 * columns, columns);
    Complex pivot = perturbs(w) ? grown(w->d[i], by, safe, x, columns) : w->d[i];
    for (ptrdiff_t j = 0; j < columns; j++) x[j] = over(x[j], pivot);
  }
  return linalg_stage_ends(progress);
}

static bool store_tridiagonal(Work *w) {
  if (!move_rows(w->plan, w->data, w->parts, w->memory, false, w->progress)) return false;
  if (!perturbs(w)) *(int32_t *)w->data->out[4] = (int32_t)w->progress->info;
  return true;
}

LinalgEnd linalg_run_tridiagonal(const LinalgPlan *plan, const LinalgData *data, int parts,
                                 double *memory, LinalgProgress *progress) {
  static Stage *const stages[] = {load_tridiagonal, eliminate_tridiagonal, substitute_tridiagonal,
                                  store_tridiagonal, NULL};
  Work w = {.plan = plan, .data = data, .progress = progress, .parts = parts, .memory = memory};
  w.n = plan->in[3].rows, w.columns = plan->in[3].columns;
  w.dl = (Complex *)memory;
  w.d = w.dl + w.n;
  w.du = w.d + w.n;
  w.b = w.du + w.n;
  return linalg_run_stages(stages, &w, progress);
}
