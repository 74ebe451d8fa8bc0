/*
** Computes eigenvalues of general matrices: A = Z T Z^H with T upper triangular, by the shifted QR
** algorithm. Real matrices stay real: T then has a 2x2 block for each conjugate pair.
** Golub and Van Loan, Matrix Computations, 7.4 to 7.6.
*/
#include <float.h>
#include <math.h>

#include "textbook/lapack.h"

/* Threshold MAX_STEPS_EACH: no path: an iteration that does not converge ends. */
/* Threshold STEPS_UNTIL_ODD_SHIFT: no path: an iteration that does not converge takes another shift. */
enum { MAX_STEPS_EACH = 60, STEPS_UNTIL_ODD_SHIFT = 10 };

typedef struct Schur {
  Matrix t, z;
  bool is_complex;
  Arena *arena;
} Schur;

/* ---- To Hessenberg form ---- */

static void begin(Schur *s) {
  int64_t n = s->t.rows;
  Matrix tau = matrix_new(s->arena, n, 1);
  hessenberg(&s->t, &tau, 0, n - 1, s->arena);
  for (int64_t i = 0; i < n; i++) *at(&s->z, i, i) = 1;
  Number *v = ARENA_ARRAY(s->arena, Number, n);
  for (int64_t k = 0; k + 2 < n; k++) {
    v[0] = 1;
    for (int64_t i = k + 2; i < n; i++) {
      v[i - k - 1] = *at(&s->t, i, k);
      *at(&s->t, i, k) = 0;
    }
    reflect_columns(&s->z, n, k + 1, v, n - k - 1, tau.items[k]);
  }
  if (n > 1) reflect_columns(&s->z, n, n - 1, &(Number){1}, 1, tau.items[n - 2]);
}

/* ---- One step ---- */

/* Returns the eigenvalue of the trailing 2x2 block that is nearer to its last entry. */
static Number wilkinson_shift(const Matrix *t, int64_t high) {
  Number a = *at(t, high - 1, high - 1), b = *at(t, high - 1, high);
  Number c = *at(t, high, high - 1), d = *at(t, high, high);
  Number half = (a - d) / 2, root = csqrt(half * half + b * c);
  if (creal(half * conj(root)) < 0) root = -root;
  Number far = half + root;
  return far == 0 ? d : d - b * c / far;
}

/* Finds the first column of T - shift, or of (T - s1)(T - s2) with the eigenvalues s1 and s2 of the trailing 2x2
** block. The latter is real even if these are not. */
static int first_column(const Schur *s, int64_t low, int64_t high, bool odd, Number *x) {
  const Matrix *t = &s->t;
  Number a = *at(t, low, low), c = *at(t, low + 1, low);
  if (s->is_complex) {
    Number shift = wilkinson_shift(t, high);
    if (odd) shift = *at(t, high, high) + cabs(*at(t, high, high - 1));
    x[0] = a - shift;
    x[1] = c;
    return 2;
  }
  Number sum = *at(t, high - 1, high - 1) + *at(t, high, high);
  Number product = *at(t, high - 1, high - 1) * *at(t, high, high) -
                   *at(t, high - 1, high) * *at(t, high, high - 1);
  if (odd) {
    double size = cabs(*at(t, high, high - 1)) + cabs(*at(t, high - 1, high - 2));
    sum = 1.5 * size;
    product = size * size;
  }
  x[0] = a * a + *at(t, low, low + 1) * c - sum * a + product;
  x[1] = c * (a + *at(t, low + 1, low + 1) - sum);
  x[2] = c * *at(t, low + 2, low + 1);
  return 3;
}

/* Chases the bulge that the first column makes down the diagonal of rows low to high. */
static void step(Schur *s, int64_t low, int64_t high, bool odd) {
  Number x[3];
  int width = first_column(s, low, high, odd, x);
  for (int64_t k = low; k < high; k++) {
    int count = (int)(high - k + 1 < width ? high - k + 1 : width);
    if (k > low) {
      for (int i = 0; i < count; i++) x[i] = *at(&s->t, k + i, k - 1);
    }
    Number tau = reflector(x, count, 1);
    if (k > low) {
      for (int i = 0; i < count; i++) *at(&s->t, k + i, k - 1) = i == 0 ? x[0] : 0;
    }
    x[0] = 1;
    int64_t rows = k + width < high ? k + width : high;
    reflect_rows(&s->t, k, k, x, count, conj(tau));
    reflect_columns(&s->t, rows + 1, k, x, count, tau);
    reflect_columns(&s->z, s->z.rows, k, x, count, tau);
  }
}

/* ---- Real blocks of two ---- */

/* Rotates rows and columns k and k + 1 by the angle of (c, s). */
static void turn(Schur *s, int64_t k, double c, double sine) {
  for (int64_t j = 0; j < s->t.columns; j++) {
    Number p = *at(&s->t, k, j), q = *at(&s->t, k + 1, j);
    *at(&s->t, k, j) = c * p + sine * q;
    *at(&s->t, k + 1, j) = c * q - sine * p;
  }
  const Matrix *both[] = {&s->t, &s->z};
  for (int m = 0; m < 2; m++) {
    for (int64_t i = 0; i < both[m]->rows; i++) {
      Number p = *at(both[m], i, k), q = *at(both[m], i, k + 1);
      *at(both[m], i, k) = c * p + sine * q;
      *at(both[m], i, k + 1) = c * q - sine * p;
    }
  }
}

/* Makes the block triangular if its eigenvalues are real, else its diagonal entries equal. */
static void standardize(Schur *s, int64_t k) {
  double a = creal(*at(&s->t, k, k)), b = creal(*at(&s->t, k, k + 1));
  double c = creal(*at(&s->t, k + 1, k)), d = creal(*at(&s->t, k + 1, k + 1));
  double half = (a - d) / 2, discriminant = half * half + b * c;
  if (discriminant >= 0) {
    double z = half + copysign(sqrt(discriminant), half), size = hypot(c, z);
    if (size > 0) turn(s, k, z / size, c / size); /* (z, c) is an eigenvector */
    *at(&s->t, k + 1, k) = 0;
  } else {
    /* A rotation by t makes the diagonal's difference (a - d) cos 2t + (b + c) sin 2t. */
    double angle = atan2(-(a - d), b + c) / 2;
    turn(s, k, cos(angle), sin(angle));
    *at(&s->t, k, k) = *at(&s->t, k + 1, k + 1) = (a + d) / 2;
  }
}

/* ---- The iteration ---- */

/* Returns the first row of the block that ends at row `high`. Rows above are not coupled to it. */
static int64_t block_start(const Matrix *t, int64_t high, double norm) {
  for (int64_t k = high; k > 0; k--) {
    double size = cabs(*at(t, k, k)) + cabs(*at(t, k - 1, k - 1));
    if (cabs(*at(t, k, k - 1)) <= DBL_EPSILON * (size > 0 ? size : norm)) {
      *at(t, k, k - 1) = 0;
      return k;
    }
  }
  return 0;
}

static double norm_of(const Matrix *m) {
  double norm = 0;
  for (int64_t i = 0; i < m->rows * m->columns; i++) norm = hypot(norm, cabs(m->items[i]));
  return norm;
}

/* Returns the number of eigenvalues not found: 0 on success. */
static int64_t iterate(Schur *s) {
  int64_t high = s->t.rows - 1;
  double norm = norm_of(&s->t);
  for (int steps = 0; high > 0;) {
    int64_t low = block_start(&s->t, high, norm);
    bool pair = !s->is_complex && low + 1 == high;
    if (low == high || pair) {
      if (pair) standardize(s, low);
      high = low - 1;
      steps = 0;
      continue;
    }
    if (steps++ > MAX_STEPS_EACH) return high + 1;
    step(s, low, high, steps % STEPS_UNTIL_ODD_SHIFT == 0);
  }
  return 0;
}

static int64_t schur(Schur *s, const Matrix *a, bool is_complex, Arena *arena) {
  *s = (Schur){matrix_copy(arena, a), matrix_new(arena, a->rows, a->rows), is_complex, arena};
  if (a->rows == 0) return 0;
  begin(s);
  return iterate(s);
}

/* ---- gees ---- */

/* Returns the eigenvalue at k of a T with 2x2 blocks, whose diagonal entries are equal. */
static Number eigenvalue(const Matrix *t, int64_t k) {
  bool first = k + 1 < t->rows && *at(t, k + 1, k) != 0, second = k > 0 && *at(t, k, k - 1) != 0;
  if (!first && !second) return *at(t, k, k);
  int64_t top = first ? k : k - 1;
  double im = sqrt(cabs(*at(t, top, top + 1))) * sqrt(cabs(*at(t, top + 1, top)));
  return number(creal(*at(t, k, k)), first ? im : -im);
}

static void set_nan(const Matrix *m) {
  for (int64_t i = 0; i < m->rows * m->columns; i++) m->items[i] = number(NAN, NAN);
}

/* Stores eigenvalues. Calls on real numbers have two vectors, the real parts and the imaginary parts. */
static void store_eigenvalues(Lapack *call, const Matrix *t, int first) {
  for (int64_t k = 0; k < t->rows; k++) {
    Number value = eigenvalue(t, k);
    call->out[first].items[k] = call->is_complex ? value : creal(value);
    if (!call->is_complex) call->out[first + 1].items[k] = cimag(value);
  }
}

bool lapack_gees(Lapack *call) {
  Schur s;
  int values = 2, info = call->is_complex ? 4 : 5;
  if (lapack_call_attribute(call->instruction, "sort", 'N') != 'N') {
    return error_set_op(call->context->error, STATUS_UNIMPLEMENTED, "custom-call",
                        "gees: eigenvalues are not sorted; sort must be N");
  }
  if (!matrix_is_finite(&call->in[0])) {
    for (int i = 0; i < info - 1; i++) set_nan(&call->out[i]);
    return true;
  }
  call->out[info].items[0] =
      (double)schur(&s, &call->in[0], call->is_complex, call->context->arena);
  matrix_assign(&call->out[0], &s.t);
  matrix_assign(&call->out[1], &s.z);
  store_eigenvalues(call, &s.t, values);
  return true;
}

/* ---- geev ---- */

static Number apart(Number value, Number from, double min) {
  Number difference = value - from;
  return cabs(difference) < min ? min : difference;
}

/* Finds x with T x = T[k,k] x for a triangular T, or, for `left`, x^H T = T[k,k] x^H. */
static void vector_of(const Matrix *t, int64_t k, bool left, double min, Number *x) {
  int64_t n = t->rows;
  for (int64_t i = 0; i < n; i++) x[i] = i == k;
  for (int64_t i = k + 1; left && i < n; i++) {
    Number sum = 0;
    for (int64_t j = k; j < i; j++) sum -= conj(x[j]) * *at(t, j, i);
    x[i] = conj(sum / apart(*at(t, i, i), *at(t, k, k), min));
  }
  for (int64_t i = k - 1; !left && i >= 0; i--) {
    Number sum = 0;
    for (int64_t j = i + 1; j <= k; j++) sum -= *at(t, i, j) * x[j];
    x[i] = sum / apart(*at(t, i, i), *at(t, k, k), min);
  }
}

/* Scales a column to length 1, with its largest component real. */
static void normalize(const Matrix *m, int64_t column) {
  double norm = 0;
  Number largest = 0;
  for (int64_t i = 0; i < m->rows; i++) {
    Number x = *at(m, i, column);
    norm = hypot(norm, cabs(x));
    if (cabs(x) > cabs(largest)) largest = x;
  }
  Number turn_back = cimag(largest) == 0 ? 1 : conj(largest) / cabs(largest);
  for (int64_t i = 0; i < m->rows; i++) *at(m, i, column) *= turn_back / norm;
}

/* Computes the eigenvectors of Z T Z^H, in the columns of `out`. */
static void eigenvectors(const Schur *s, bool left, const Matrix *out) {
  int64_t n = s->t.rows;
  Number *x = ARENA_ARRAY(s->arena, Number, n);
  double min = norm_of(&s->t) * DBL_EPSILON;
  if (min == 0) min = DBL_MIN;
  for (int64_t k = 0; k < n; k++) {
    vector_of(&s->t, k, left, min, x);
    for (int64_t i = 0; i < n; i++) {
      Number sum = 0;
      for (int64_t j = 0; j < n; j++) sum += *at(&s->z, i, j) * x[j];
      *at(out, i, k) = sum;
    }
    normalize(out, k);
  }
}

/* Makes the vectors of a real matrix's pairs conjugate, that of the positive imaginary part first. `t` is already
** triangular, with a pair's eigenvalues in either order. */
static void pair_vectors(const Matrix *real_t, const Matrix *t, const Matrix *out) {
  for (int64_t k = 0; k + 1 < t->rows; k++) {
    if (*at(real_t, k + 1, k) == 0) continue;
    int64_t positive = cimag(*at(t, k, k)) > 0 ? k : k + 1;
    for (int64_t i = 0; i < t->rows; i++) {
      Number x = *at(out, i, positive);
      *at(out, i, k) = x;
      *at(out, i, k + 1) = conj(x);
    }
    k++;
  }
}

bool lapack_geev(Lapack *call) {
  Schur s;
  int left = call->is_complex ? 1 : 2, info = left + 2;
  if (!matrix_is_finite(&call->in[0])) {
    for (int i = 0; i < info; i++) set_nan(&call->out[i]);
    return true;
  }
  int64_t missing = schur(&s, &call->in[0], call->is_complex, call->context->arena);
  store_eigenvalues(call, &s.t, 0);
  Matrix real_t = matrix_copy(s.arena, &s.t);
  s.is_complex = true; /* now 2x2 blocks become triangular too */
  if (!call->is_complex && !missing) missing = iterate(&s);
  call->out[info].items[0] = (double)missing;
  for (int i = 0; i < 2; i++) {
    bool wanted = lapack_call_attribute(call->instruction,
                                        i == 0 ? "compute_left" : "compute_right", 'V') == 'V';
    if (!wanted) continue;
    eigenvectors(&s, i == 0, &call->out[left + i]);
    if (!call->is_complex) pair_vectors(&real_t, &s.t, &call->out[left + i]);
  }
  return true;
}
