/*
** Computes eigenvalues of Hermitian matrices and singular values by Jacobi's rotations. They are slower than
** algorithms that begin with a tridiagonal form, but short, and accurate to the last digits.
** Golub and Van Loan, Matrix Computations, 8.5 and 8.6.
*/
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "textbook/lapack.h"

/* Threshold MAX_SWEEPS: no path: an iteration that does not converge ends. */
enum { MAX_SWEEPS = 64 }; /* about ten are usual */

/* Makes the off-diagonal entry `z` of [[x, z], [conj z, y]] zero. Multiplying the second column by conj(phase)
** makes z real; then both columns are rotated. */
typedef struct Rotation {
  double c, s;
  Number phase;
} Rotation;

static Rotation rotation_of(double x, double y, Number z) {
  double size = cabs(z), half = (y - x) / (2 * size);
  double t = copysign(1, half) / (fabs(half) + hypot(1, half));
  double c = 1 / sqrt(1 + t * t);
  return (Rotation){c, t * c, z / size};
}

static void rotate(Number *p, Number *q, Rotation r, Number unphase) {
  Number x = *p, y = *q * unphase;
  *p = r.c * x - r.s * y;
  *q = r.s * x + r.c * y;
}

static void rotate_columns(const Matrix *m, int64_t p, int64_t q, Rotation r) {
  for (int64_t i = 0; i < m->rows; i++) rotate(at(m, i, p), at(m, i, q), r, conj(r.phase));
}

static void rotate_rows(const Matrix *m, int64_t p, int64_t q, Rotation r) {
  for (int64_t j = 0; j < m->columns; j++) rotate(at(m, p, j), at(m, q, j), r, r.phase);
}

/* ---- Order ---- */

typedef struct Ranked {
  double value;
  int64_t column;
} Ranked;

static int ascending(const void *a, const void *b) {
  const Ranked *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->column < y->column ? -1 : 1;
}

static int descending(const void *a, const void *b) { return ascending(b, a); }

static void set_all(const Matrix *m, double value) {
  for (int64_t i = 0; i < m->rows * m->columns; i++) m->items[i] = value;
}

static void set_identity(const Matrix *m) {
  set_all(m, 0);
  for (int64_t i = 0; i < m->rows && i < m->columns; i++) *at(m, i, i) = 1;
}

/* ---- Hermitian eigenvalues ---- */

static void diagonalize(const Matrix *a, const Matrix *vectors) {
  double norm = 0;
  for (int64_t i = 0; i < a->rows * a->rows; i++) norm = hypot(norm, cabs(a->items[i]));
  double small = norm * DBL_EPSILON / 16;
  bool changed = true;
  for (int sweep = 0; changed && sweep < MAX_SWEEPS; sweep++) {
    changed = false;
    for (int64_t p = 0; p < a->rows; p++) {
      for (int64_t q = p + 1; q < a->rows; q++) {
        Number z = *at(a, p, q);
        if (!(cabs(z) > small)) continue;
        Rotation r = rotation_of(creal(*at(a, p, p)), creal(*at(a, q, q)), z);
        rotate_columns(a, p, q, r);
        rotate_rows(a, p, q, r);
        rotate_columns(vectors, p, q, r);
        changed = true;
      }
    }
  }
}

/* Eigenvalues in ascending order, eigenvectors in the columns. */
bool lapack_syevd(Lapack *call) {
  const Matrix *a = &call->in[0];
  bool lower = lapack_call_attribute(call->instruction, "uplo", 'L') == 'L';
  int64_t n = a->rows;
  Matrix vectors = matrix_new(call->context->arena, n, n);
  Ranked *order = ARENA_ARRAY(call->context->arena, Ranked, n);
  for (int64_t i = 0; i < n; i++) {
    *at(a, i, i) = creal(*at(a, i, i));
    for (int64_t j = 0; j < i; j++) {
      if (lower)
        *at(a, j, i) = conj(*at(a, i, j));
      else
        *at(a, i, j) = conj(*at(a, j, i));
    }
  }
  if (!matrix_is_finite(a)) {
    set_all(&call->out[0], NAN);
    set_all(&call->out[1], NAN);
    return true;
  }
  set_identity(&vectors);
  diagonalize(a, &vectors);
  for (int64_t i = 0; i < n; i++) order[i] = (Ranked){creal(*at(a, i, i)), i};
  qsort(order, (size_t)n, sizeof *order, ascending);
  for (int64_t j = 0; j < n; j++) {
    call->out[1].items[j] = order[j].value;
    for (int64_t i = 0; i < n; i++) *at(&call->out[0], i, j) = *at(&vectors, i, order[j].column);
  }
  return true;
}

/* ---- Singular values ---- */

/* x^H y of two columns */
static Number inner(const Matrix *m, int64_t x, int64_t y) {
  Number sum = 0;
  for (int64_t i = 0; i < m->rows; i++) sum += conj(*at(m, i, x)) * *at(m, i, y);
  return sum;
}

/* Rotates columns of a until they are orthogonal: a V = U S. */
static void orthogonalize(const Matrix *a, const Matrix *v) {
  bool changed = true;
  for (int sweep = 0; changed && sweep < MAX_SWEEPS; sweep++) {
    changed = false;
    for (int64_t p = 0; p < a->columns; p++) {
      for (int64_t q = p + 1; q < a->columns; q++) {
        double x = creal(inner(a, p, p)), y = creal(inner(a, q, q));
        Number z = inner(a, p, q);
        if (!(cabs(z) > DBL_EPSILON * sqrt(x) * sqrt(y))) continue;
        Rotation r = rotation_of(x, y, z);
        rotate_columns(a, p, q, r);
        rotate_columns(v, p, q, r);
        changed = true;
      }
    }
  }
}

/* Makes column `column` of u a unit vector orthogonal to those before it: takes the unit vector e_i with the
** smallest projection on these, and subtracts the projection (twice, against rounding). */
static void complete(const Matrix *u, int64_t column) {
  int64_t best = 0;
  double min = INFINITY;
  for (int64_t i = 0; i < u->rows; i++) {
    double covered = 0;
    for (int64_t j = 0; j < column; j++) covered += creal(*at(u, i, j) * conj(*at(u, i, j)));
    if (covered < min) min = covered, best = i;
  }
  for (int64_t i = 0; i < u->rows; i++) *at(u, i, column) = i == best;
  for (int round = 0; round < 2; round++) {
    for (int64_t j = 0; j < column; j++) {
      Number part = inner(u, j, column);
      for (int64_t i = 0; i < u->rows; i++) *at(u, i, column) -= part * *at(u, i, j);
    }
    double norm = sqrt(creal(inner(u, column, column)));
    for (int64_t i = 0; i < u->rows; i++) *at(u, i, column) /= norm;
  }
}

/* Computes tall = U S V^H with as many columns as `u` has; s in descending order. Columns whose value is only
** rounding error have no direction: any one orthogonal to the others is right. */
static void decompose(const Matrix *tall, const Matrix *u, Number *s, const Matrix *v,
                      Arena *arena) {
  int64_t n = tall->columns;
  Matrix turned = matrix_new(arena, n, n);
  Ranked *order = ARENA_ARRAY(arena, Ranked, n);
  set_identity(&turned);
  orthogonalize(tall, &turned);
  for (int64_t j = 0; j < n; j++) order[j] = (Ranked){sqrt(creal(inner(tall, j, j))), j};
  qsort(order, (size_t)n, sizeof *order, descending);
  for (int64_t j = 0; j < u->columns; j++) {
    bool told = j < n && order[j].value > order[0].value * DBL_EPSILON;
    if (!told) complete(u, j);
    for (int64_t i = 0; told && i < u->rows; i++) {
      *at(u, i, j) = *at(tall, i, order[j].column) / order[j].value;
    }
  }
  for (int64_t j = 0; j < n; j++) {
    s[j] = order[j].value;
    for (int64_t i = 0; i < n; i++) *at(v, i, j) = *at(&turned, i, order[j].column);
  }
}

static Matrix adjoint(Arena *arena, const Matrix *a) {
  Matrix out = matrix_new(arena, a->columns, a->rows);
  for (int64_t i = 0; i < a->rows; i++) {
    for (int64_t j = 0; j < a->columns; j++) *at(&out, j, i) = conj(*at(a, i, j));
  }
  return out;
}

/* Copies the first rows and columns of `from`, as many as `to` has. */
static void assign_corner(const Matrix *to, const Matrix *from) {
  for (int64_t i = 0; i < to->rows && i < from->rows; i++) {
    for (int64_t j = 0; j < to->columns && j < from->columns; j++) *at(to, i, j) = *at(from, i, j);
  }
}

/* A = U S V^H; a wide matrix by its adjoint, A^H = V S U^H. Also gesvd. */
bool lapack_gesdd(Lapack *call) {
  Arena *arena = call->context->arena;
  const Matrix *a = &call->in[0], *s = &call->out[1], *u = &call->out[2], *vt = &call->out[3];
  if (!matrix_is_finite(a)) {
    set_all(s, NAN);
    set_all(u, NAN);
    set_all(vt, NAN);
    return true;
  }
  bool by_adjoint = a->columns > a->rows;
  Matrix tall = by_adjoint ? adjoint(arena, a) : matrix_copy(arena, a);
  int64_t wanted = by_adjoint ? vt->rows : u->columns;
  Matrix left = matrix_new(arena, tall.rows, wanted < tall.rows ? wanted : tall.rows);
  Matrix right = matrix_new(arena, tall.columns, tall.columns);
  decompose(&tall, &left, s->items, &right, arena);
  Matrix adjoint_of_v = adjoint(arena, by_adjoint ? &left : &right);
  assign_corner(u, by_adjoint ? &right : &left);
  assign_corner(vt, &adjoint_of_v);
  return true;
}
