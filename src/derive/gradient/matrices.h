/* Declares operations on matrices, which lie in the last two dimensions of arrays. */
#ifndef XLA_DERIVE_GRADIENT_MATRICES_H
#define XLA_DERIVE_GRADIENT_MATRICES_H

#include "derive/gradient/linear.h"

Instruction *matrix_transposed(WorkingComputation *working, Instruction *x);
Instruction *matrix_adjoint(WorkingComputation *working, Instruction *x);
Instruction *matrix_product(WorkingComputation *working, Instruction *x, Instruction *y);
/* pred, in x's dimensions: compares the row of each element with its column. */
Instruction *matrix_compare(WorkingComputation *working, const Shape *shape,
                            ComparisonDirection direction);
/* The elements for which row `direction` column holds, and zeros elsewhere. */
Instruction *matrix_part(WorkingComputation *working, Instruction *x,
                         ComparisonDirection direction);
/* The lower triangle with half of the diagonal, and zeros elsewhere. */
Instruction *matrix_lower_half(WorkingComputation *working, Instruction *x);
/* The first rows, of columns [first, end). */
Instruction *matrix_block(WorkingComputation *working, Instruction *x, int64_t rows, int64_t first,
                          int64_t end);
/* Adds rows and columns of zeros, up to these numbers. */
Instruction *matrix_padded(WorkingComputation *working, Instruction *x, int64_t rows,
                           int64_t columns);
/* Adds columns. */
Instruction *matrix_beside(WorkingComputation *working, Instruction *x, Instruction *y);
Instruction *matrix_with_unit_diagonal(WorkingComputation *working, Instruction *x);
/* The part of the first columns below the diagonal, with ones on it. */
Instruction *matrix_unit_lower(WorkingComputation *working, Instruction *x, int64_t columns);
int64_t matrix_rows(const Instruction *x);
int64_t matrix_columns(const Instruction *x);
/* The diagonal as [..., min(rows, columns)]. */
Instruction *matrix_diagonal(WorkingComputation *working, Instruction *x);
/* Broadcasts a vector of each row (column) over the columns (rows) of `shape`. */
Instruction *matrix_of_rows(WorkingComputation *working, Instruction *vector, const Shape *shape);
Instruction *matrix_of_columns(WorkingComputation *working, Instruction *vector,
                               const Shape *shape);
/* op(a)^-1 b, or b op(a)^-1 unless `left`; a is triangular. */
Instruction *matrix_solve(WorkingComputation *working, Instruction *a, Instruction *b, bool left,
                          bool lower, bool unit_diagonal, Transpose op);

/* The tangent of the factor (linalg.c) for the tangent t of the matrix. `lower`: the factor's triangle. */
Instruction *cholesky_tangent(WorkingComputation *working, Instruction *factor, Instruction *t,
                              bool lower);
/* The tangent of op(a)^-1 b or b op(a)^-1, which is x; ta and tb may be NULL, but not both. */
Instruction *solve_tangent(WorkingComputation *working, Instruction *x, Instruction *a,
                           Instruction *ta, Instruction *tb, const Attributes *how);

typedef struct LuTangents {
  Instruction *lower, *upper;
} LuTangents;
/* The tangents of L and U for the tangent t of A = L U. L is a unit triangle with at least as many rows as columns, and U is
** square. */
LuTangents lu_tangents(WorkingComputation *working, Instruction *lower, Instruction *upper,
                       Instruction *t);

/* Returns P dA for a call of getrf, where P A = L U (lapack.c). */
Instruction *permuted_tangent(WorkingComputation *working, Instruction *x);

/* Sets the tangent of the select that JAX writes around a call of LAPACK, which may fail; else returns false (lapack.c). */
bool linearize_checked_call(WorkingComputation *working, Instruction *select);

/* ---- Rules of library calls, in files of their own ---- */

Linearization linearize_geqrf, linearize_orgqr, linearize_ormqr; /* qr.c */
Linearization linearize_gtsv;                                    /* tridiagonal.c */
Linearization linearize_csr;                                     /* sparse.c */

#endif
