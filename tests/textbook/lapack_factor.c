/*
** Computes factorizations and solves with them: LU, Cholesky, QR, Hessenberg and tridiagonal form.
** Golub and Van Loan, Matrix Computations, chapters 3 to 5, 7.4 and 8.3.
*/
#include "textbook/lapack.h"

#include <float.h>
#include <math.h>

/* ---- LU ---- */

/* Returns the size by which pivots are chosen: LAPACK avoids the root in a complex absolute value. */
static double size_of(Number x) { return fabs(creal(x)) + fabs(cimag(x)); }

static void swap_rows(const Matrix *m, int64_t a, int64_t b) {
  for (int64_t j = 0; a != b && j < m->columns; j++) {
    Number x = *at(m, a, j);
    *at(m, a, j) = *at(m, b, j);
    *at(m, b, j) = x;
  }
}

static void swap_columns(const Matrix *m, int64_t a, int64_t b) {
  for (int64_t i = 0; a != b && i < m->rows; i++) {
    Number x = *at(m, i, a);
    *at(m, i, a) = *at(m, i, b);
    *at(m, i, b) = x;
  }
}

/* P A = L U with partial pivoting: L and U in one matrix, the row that each was swapped with
** (from 1), and the first column (from 1) without a pivot. */
bool lapack_getrf(Lapack *call) {
  const Matrix *a = &call->out[0];
  matrix_assign(a, &call->in[0]);
  int64_t steps = a->rows < a->columns ? a->rows : a->columns;
  for (int64_t k = 0; k < steps; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < a->rows; i++) {
      if (size_of(*at(a, i, k)) > size_of(*at(a, pivot, k))) pivot = i;
    }
    call->out[1].items[k] = (double)(pivot + 1);
    if (*at(a, pivot, k) == 0) {
      if (call->out[2].items[0] == 0) call->out[2].items[0] = (double)(k + 1);
      continue;
    }
    swap_rows(a, k, pivot);
    for (int64_t i = k + 1; i < a->rows; i++) {
      Number factor = *at(a, i, k) = number_divide(*at(a, i, k), *at(a, k, k));
      for (int64_t j = k + 1; j < a->columns; j++) *at(a, i, j) -= factor * *at(a, k, j);
    }
  }
  return true;
}

/* ---- Cholesky ---- */

/* A = L L^H in the lower triangle, or A = U^H U in the upper one; the other is unchanged. If A is not positive
** definite, info is the order of the first minor that is not. */
bool lapack_potrf(Lapack *call) {
  const Matrix *a = &call->in[0];
  bool lower = lapack_call_attribute(call->instruction, "uplo", 'L') == 'L';
  for (int64_t j = 0; j < a->rows; j++) {
    for (int64_t i = j; i < a->rows; i++) {
      /* U is L^H: entries are read and written mirrored and conjugated. */
      Number sum = lower ? *at(a, i, j) : conj(*at(a, j, i));
      for (int64_t k = 0; k < j; k++) {
        sum -= lower ? *at(a, i, k) * conj(*at(a, j, k)) : conj(*at(a, k, i)) * *at(a, k, j);
      }
      if (i == j) {
        if (!(creal(sum) > 0)) call->out[1].items[0] = (double)(j + 1);
        sum = creal(sum) > 0 ? sqrt(creal(sum)) : creal(sum);
      } else {
        sum = number_divide(sum, *at(a, j, j));
      }
      *(lower ? at(a, i, j) : at(a, j, i)) = lower ? sum : conj(sum);
      if (call->out[1].items[0] != 0) break;
    }
    if (call->out[1].items[0] != 0) break;
  }
  matrix_assign(&call->out[0], a);
  return true;
}

/* ---- Triangular systems ---- */

/* op(A) X = B, or X op(A) = B, for one column (or row) of B at a time: x, `stride` apart. */
static void substitute(const Matrix *a, Number *x, int64_t stride, bool forward, bool transposed,
                       bool conjugated, bool unit) {
  int64_t n = a->rows;
  for (int64_t step = 0; step < n; step++) {
    int64_t i = forward ? step : n - 1 - step;
    Number sum = x[i * stride];
    for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); k++) {
      Number factor = transposed ? *at(a, k, i) : *at(a, i, k);
      sum -= (conjugated ? conj(factor) : factor) * x[k * stride];
    }
    Number pivot = conjugated ? conj(*at(a, i, i)) : *at(a, i, i);
    x[i * stride] = unit ? sum : number_divide(sum, pivot);
  }
}

bool lapack_trsm(Lapack *call) {
  const Matrix *a = &call->in[0], *x = &call->out[0];
  bool left = lapack_call_attribute(call->instruction, "side", 'L') == 'L';
  int64_t operation = lapack_call_attribute(call->instruction, "trans_x", 'N');
  bool lower = lapack_call_attribute(call->instruction, "uplo", 'L') == 'L';
  bool unit = lapack_call_attribute(call->instruction, "diag", 'N') == 'U';
  matrix_assign(x, &call->in[1]);
  if (a->rows != (left ? x->rows : x->columns)) {
    return error_set_op(call->context->error, STATUS_INVALID_ARGUMENT, "custom-call",
                        "trsm: a triangle of size %lld does not fit a right side of [%lld,%lld]",
                        (long long)a->rows, (long long)x->rows, (long long)x->columns);
  }
  /* X op(A) = B is op(A)^T X^T = B^T: one row at a time, with one more transposition. */
  bool transposed = (operation != 'N') == left;
  bool forward = lower != transposed, conjugated = operation == 'C';
  int64_t systems = left ? x->columns : x->rows;
  for (int64_t s = 0; s < systems; s++) {
    substitute(a, left ? at(x, 0, s) : at(x, s, 0), left ? x->columns : 1, forward, transposed,
               conjugated, unit);
  }
  return true;
}

/* Solves the tridiagonal system with diagonals dl, d, du by elimination with partial pivoting. The diagonals
** become those of U: d, du, and in dl the second superdiagonal, which swaps fill. */
bool lapack_gtsv(Lapack *call) {
  for (int i = 0; i < 4; i++) matrix_assign(&call->out[i], &call->in[i]);
  Number *dl = call->out[0].items, *d = call->out[1].items, *du = call->out[2].items;
  const Matrix *b = &call->out[3];
  int64_t n = b->rows;
  /* JAX's dl has n entries, with the first one unused; LAPACK takes the others. */
  for (int64_t i = 0; i + 1 < n; i++) dl[i] = dl[i + 1];
  for (int64_t i = 0; i + 1 < n; i++) {
    Number second = 0;
    if (size_of(d[i]) < size_of(dl[i])) {
      Number below = d[i + 1], right = i + 2 < n ? du[i + 1] : 0;
      Number factor = number_divide(d[i], dl[i]);
      d[i + 1] = du[i] - factor * below;
      if (i + 2 < n) du[i + 1] = -factor * right;
      second = right;
      d[i] = dl[i];
      du[i] = below;
      swap_rows(b, i, i + 1);
      for (int64_t j = 0; j < b->columns; j++) *at(b, i + 1, j) -= factor * *at(b, i, j);
    } else if (d[i] == 0) {
      call->out[4].items[0] = (double)(i + 1);
      return true;
    } else {
      Number factor = number_divide(dl[i], d[i]);
      d[i + 1] -= factor * du[i];
      for (int64_t j = 0; j < b->columns; j++) *at(b, i + 1, j) -= factor * *at(b, i, j);
    }
    dl[i] = second;
  }
  if (n > 0 && d[n - 1] == 0) call->out[4].items[0] = (double)n;
  for (int64_t i = n - 1; i >= 0 && call->out[4].items[0] == 0; i--) {
    for (int64_t j = 0; j < b->columns; j++) {
      Number sum = *at(b, i, j);
      if (i + 1 < n) sum -= du[i] * *at(b, i + 1, j);
      if (i + 2 < n) sum -= dl[i] * *at(b, i + 2, j);
      *at(b, i, j) = number_divide(sum, d[i]);
    }
  }
  return true;
}

/* Enlarges a pivot that is too small for the right side. */
static Number grown_pivot(Number pivot, double by, double safe, Number *row, int64_t count) {
  double largest = 0;
  for (int64_t j = 0; j < count; j++) largest = fmax(largest, cabs(row[j]));
  by = copysign(fmax(by, safe), creal(pivot));
  while (cabs(pivot) < 1) {
    double length = cabs(pivot);
    if (length < safe && length > 0 && largest * safe <= length) {
      for (int64_t j = 0; j < count; j++) row[j] /= safe;
      return pivot / safe;
    }
    if (length >= safe && largest <= length / safe) break;
    pivot += by;
    by *= 2;
  }
  return pivot;
}

/* jaxlib's tridiagonal solver for inverse iteration, LAPACK's lagtf and lagts. Here the matrix is dense, and rows are
** scaled for comparison. */
bool lapack_perturbed(Lapack *call) {
  const Matrix *b = &call->out[0];
  int64_t n = b->rows;
  matrix_assign(b, &call->in[3]);
  Matrix u = matrix_new(call->context->arena, n, n);
  for (int64_t i = 0; i < n; i++) {
    *at(&u, i, i) = call->in[1].items[i];
    if (i > 0) *at(&u, i, i - 1) = call->in[0].items[i];
    if (i + 1 < n) *at(&u, i, i + 1) = call->in[2].items[i];
  }
  double scale = 0, largest = cabs(*at(&u, 0, 0));
  if (n > 1) largest = fmax(largest, cabs(*at(&u, 0, 1)));
  for (int64_t j = 0; j < n && j < 2; j++) scale += cabs(*at(&u, 0, j));
  for (int64_t i = 0; i + 1 < n; i++) {
    double below = 0, next = 0;
    for (int64_t j = i; j < n; j++) below += cabs(*at(&u, i + 1, j));
    double pivot = cabs(*at(&u, i, i)), other = cabs(*at(&u, i + 1, i));
    next = below;
    if (other != 0) {
      bool exchanges = other / below > (pivot == 0 ? 0 : pivot / scale);
      if (exchanges) {
        swap_rows(&u, i, i + 1);
        swap_rows(b, i, i + 1);
      }
      Number factor = number_divide(*at(&u, i + 1, i), *at(&u, i, i));
      for (int64_t j = i; j < n; j++) *at(&u, i + 1, j) -= factor * *at(&u, i, j);
      for (int64_t j = 0; j < b->columns; j++) *at(b, i + 1, j) -= factor * *at(b, i, j);
      if (exchanges) {
        next = 0;
        for (int64_t j = i + 1; j < n; j++) next += cabs(*at(&u, i + 1, j));
      }
    }
    scale = next;
    for (int64_t j = i; j < n && i + 2 < n; j++) largest = fmax(largest, cabs(*at(&u, i, j)));
  }
  largest = fmax(largest, cabs(*at(&u, n - 1, n - 1)));
  bool narrow = call->is_narrow;
  double by = largest * (narrow ? FLT_EPSILON : DBL_EPSILON), safe = narrow ? FLT_MIN : DBL_MIN;
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t k = i + 1; k < n && k < i + 3; k++) {
      for (int64_t j = 0; j < b->columns; j++) *at(b, i, j) -= *at(&u, i, k) * *at(b, k, j);
    }
    Number pivot = grown_pivot(*at(&u, i, i), by, safe, at(b, i, 0), b->columns);
    for (int64_t j = 0; j < b->columns; j++) *at(b, i, j) = number_divide(*at(b, i, j), pivot);
  }
  return true;
}

/* ---- Reflectors ---- */

Number reflector(Number *x, int64_t count, int64_t stride) {
  double rest = 0;
  for (int64_t i = 1; i < count; i++) rest = hypot(rest, cabs(x[i * stride]));
  Number alpha = x[0];
  if (rest == 0 && cimag(alpha) == 0) return 0;
  double beta = -copysign(hypot(cabs(alpha), rest), creal(alpha));
  for (int64_t i = 1; i < count; i++) x[i * stride] = number_divide(x[i * stride], alpha - beta);
  x[0] = beta;
  return number((beta - creal(alpha)) / beta, -cimag(alpha) / beta);
}

void reflect_rows(const Matrix *m, int64_t row, int64_t column, const Number *v, int64_t count,
                  Number factor) {
  for (int64_t j = column; j < m->columns; j++) {
    Number sum = 0;
    for (int64_t i = 0; i < count; i++) sum += conj(v[i]) * *at(m, row + i, j);
    sum *= factor;
    for (int64_t i = 0; i < count; i++) *at(m, row + i, j) -= v[i] * sum;
  }
}

void reflect_columns(const Matrix *m, int64_t rows, int64_t column, const Number *v, int64_t count,
                     Number factor) {
  for (int64_t i = 0; i < rows; i++) {
    Number sum = 0;
    for (int64_t j = 0; j < count; j++) sum += *at(m, i, column + j) * v[j];
    sum *= factor;
    for (int64_t j = 0; j < count; j++) *at(m, i, column + j) -= sum * conj(v[j]);
  }
}

/* Returns the vector of the reflector in column `column` of a, with its 1 in row `row`. */
static Number *vector_of(const Matrix *a, int64_t row, int64_t column, Arena *arena) {
  Number *v = ARENA_ARRAY(arena, Number, a->rows - row);
  v[0] = 1;
  for (int64_t i = row + 1; i < a->rows; i++) v[i - row] = *at(a, i, column);
  return v;
}

/* ---- QR ---- */

/* Makes column k below the diagonal zero by a reflector, which is applied to the columns after it. */
static void eliminate_column(const Matrix *a, int64_t k, Number *tau, Arena *arena) {
  *tau = reflector(at(a, k, k), a->rows - k, a->columns);
  reflect_rows(a, k, k + 1, vector_of(a, k, k, arena), a->rows - k, conj(*tau));
}

bool lapack_geqrf(Lapack *call) {
  const Matrix *a = &call->out[0];
  matrix_assign(a, &call->in[0]);
  for (int64_t k = 0; k < call->out[1].rows; k++) {
    eliminate_column(a, k, &call->out[1].items[k], call->context->arena);
  }
  return true;
}

static double column_norm(const Matrix *a, int64_t row, int64_t column) {
  double norm = 0;
  for (int64_t i = row; i < a->rows; i++) norm = hypot(norm, cabs(*at(a, i, column)));
  return norm;
}

/* QR with column pivoting: eliminates the longest remaining column, after those that jpvt names on entry. */
bool lapack_geqp3(Lapack *call) {
  const Matrix *a = &call->out[0], *order = &call->out[1];
  matrix_assign(a, &call->in[0]);
  int64_t fixed = 0;
  for (int64_t j = 0; j < a->columns; j++) order->items[j] = (double)(j + 1);
  for (int64_t j = 0; j < a->columns; j++) {
    if (call->in[1].items[j] == 0) continue;
    swap_columns(a, j, fixed);
    Number at_front = order->items[fixed];
    order->items[fixed++] = order->items[j];
    order->items[j] = at_front;
  }
  for (int64_t k = 0; k < call->out[2].rows; k++) {
    int64_t longest = k;
    for (int64_t j = k + 1; k >= fixed && j < a->columns; j++) {
      if (column_norm(a, k, j) > column_norm(a, k, longest)) longest = j;
    }
    swap_columns(a, k, longest);
    Number here = order->items[k];
    order->items[k] = order->items[longest];
    order->items[longest] = here;
    eliminate_column(a, k, &call->out[2].items[k], call->context->arena);
  }
  return true;
}

/* The product H_0 H_1 ... of the reflectors below the diagonal: its first columns. */
bool lapack_orgqr(Lapack *call) {
  const Matrix *a = &call->in[0], *tau = &call->in[1], *q = &call->out[0];
  for (int64_t i = 0; i < q->rows && i < q->columns; i++) *at(q, i, i) = 1;
  int64_t count = tau->rows < a->columns ? tau->rows : a->columns;
  for (int64_t k = (count < a->rows ? count : a->rows) - 1; k >= 0; k--) {
    Number *v = vector_of(a, k, k, call->context->arena);
    reflect_rows(q, k, k, v, a->rows - k, tau->items[k]);
  }
  return true;
}

/* Computes op(Q) C or C op(Q) for the product Q of the reflectors. Q C and C Q^H apply the last one first. */
bool lapack_ormqr(Lapack *call) {
  const Matrix *a = &call->in[0], *tau = &call->in[1], *c = &call->out[0];
  bool left = lapack_call_attribute(call->instruction, "left", 1) != 0;
  bool adjoint = lapack_call_attribute(call->instruction, "transpose", 0) != 0;
  matrix_assign(c, &call->in[2]);
  int64_t size = left ? c->rows : c->columns;
  if (a->rows != size || tau->rows > size) {
    return error_set_op(call->context->error, STATUS_INVALID_ARGUMENT, "custom-call",
                        "ormqr: %lld reflectors of %lld rows do not fit a matrix of [%lld,%lld]",
                        (long long)tau->rows, (long long)a->rows, (long long)c->rows,
                        (long long)c->columns);
  }
  for (int64_t step = 0; step < tau->rows; step++) {
    int64_t k = left != adjoint ? tau->rows - 1 - step : step;
    Number *v = vector_of(a, k, k, call->context->arena);
    Number factor = adjoint ? conj(tau->items[k]) : tau->items[k];
    if (left)
      reflect_rows(c, k, 0, v, size - k, factor);
    else
      reflect_columns(c, c->rows, k, v, size - k, factor);
  }
  return true;
}

/* ---- Hessenberg and tridiagonal form ---- */

void hessenberg(const Matrix *a, const Matrix *tau, int64_t low, int64_t high, Arena *arena) {
  for (int64_t k = low; k < high; k++) {
    int64_t count = high - k;
    Number factor = tau->items[k] = reflector(at(a, k + 1, k), count, a->columns);
    Number *v = vector_of(a, k + 1, k, arena);
    reflect_columns(a, high + 1, k + 1, v, count, factor);
    reflect_rows(a, k + 1, k + 1, v, count, conj(factor));
  }
}

bool lapack_gehrd(Lapack *call) {
  const Matrix *a = &call->out[0];
  int64_t low = lapack_call_attribute(call->instruction, "low", 1) - 1;
  int64_t high = lapack_call_attribute(call->instruction, "high", a->rows) - 1;
  if (low < 0 || high >= a->rows) {
    return a->rows == 0 ||
           error_set_op(call->context->error, STATUS_INVALID_ARGUMENT, "custom-call",
                        "gehrd: low and high must be rows of [%lld]", (long long)a->rows);
  }
  matrix_assign(a, &call->in[0]);
  hessenberg(a, &call->out[1], low, high, call->context->arena);
  return true;
}

/* Maps the lower triangle to the one given: (i, j) of the upper one is (n-1-i, n-1-j). */
static Number *from_corner(const Matrix *a, bool lower, int64_t i, int64_t j) {
  int64_t last = a->rows - 1;
  return lower ? at(a, i, j) : at(a, last - i, last - j);
}

/* A = Q T Q^H with T real and tridiagonal. The upper form begins at the other corner. */
bool lapack_sytrd(Lapack *call) {
  const Matrix *a = &call->in[0], *tau = &call->out[3];
  bool lower = lapack_call_attribute(call->instruction, "uplo", 'L') == 'L';
  int64_t n = a->rows;
  Matrix m = matrix_new(call->context->arena, n, n);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      *at(&m, i, j) = *from_corner(a, lower, i, j);
      *at(&m, j, i) = i == j ? creal(*at(&m, i, j)) : conj(*at(&m, i, j));
    }
  }
  Matrix factors = matrix_new(call->context->arena, n, 1);
  if (n > 0) hessenberg(&m, &factors, 0, n - 1, call->context->arena);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) *from_corner(a, lower, i, j) = *at(&m, i, j);
    call->out[1].items[lower ? i : n - 1 - i] = *at(&m, i, i);
    if (i + 1 == n) break;
    call->out[2].items[lower ? i : n - 2 - i] = *at(&m, i + 1, i);
    tau->items[lower ? i : n - 2 - i] = factors.items[i];
  }
  matrix_assign(&call->out[0], a);
  return true;
}
