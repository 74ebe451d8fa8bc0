/*
** Parts of linear algebra that take little time, written once for all kinds of numbers, in double or complex double:
** balancing of general matrices, eigenvectors of their Schur form by substitution (Golub and Van Loan, Matrix
** Computations, 7.4.7 and 7.6.4), and tridiagonal systems.
*/
#ifndef XLA_KERNELS_LINALG_LINALG_DOUBLE_H
#define XLA_KERNELS_LINALG_LINALG_DOUBLE_H

#include "kernels/linalg/linalg.h"

typedef struct LinalgGeneral {
  ptrdiff_t n, stride; /* stride: row stride of all matrices, in numbers */
  int parts;           /* doubles in a number: 1 or 2 */
  bool narrow;         /* results are f32 or c64 */
  double epsilon;
  double *t, *z;         /* T; Z^H by rows */
  double *x, *y;         /* conjugated eigenvectors of T, and of the matrix, in rows */
  double *scale;         /* each row's scale, or the row that it was swapped with */
  double low, high;      /* first and last row after balancing */
  double *tau, *scratch; /* of the Hessenberg reduction */
} LinalgGeneral;

/* Balances a matrix as LAPACK's gebal does: a stage. low, high: on entry the first and last row. Moves isolated
** eigenvalues to the ends; if `scales`, also gives row i and column i about the same length. */
bool linalg_balance(LinalgGeneral *g, bool scales, LinalgProgress *progress);
/* Maps x, an eigenvector of the balanced matrix, to one of the given matrix. */
void linalg_unbalance(const LinalgGeneral *g, double *x, bool scales, bool from_left);

/* Stores eigenvalues in results from `first` on. Real matrices have two results: real and imaginary parts. */
void linalg_store_eigenvalues(const LinalgGeneral *g, const LinalgData *data, int first, double by);

/* Two stages. linalg_vectors_of_t: computes the negated conjugates of T's eigenvectors in the rows of x, which is zero
** on entry. linalg_store_vectors: stores the matrix's eigenvectors from y, as columns of length 1 whose largest number
** is real. */
bool linalg_vectors_of_t(const LinalgGeneral *g, bool from_left, LinalgProgress *progress);
bool linalg_store_vectors(const LinalgGeneral *g, uint8_t *out, bool from_left,
                          LinalgProgress *progress);
/* Transforms T and Z so that their right eigenvectors are the matrix's left ones: a stage. */
bool linalg_flip(const LinalgGeneral *g, LinalgProgress *progress);

/*
** Runs gtsv, or tridiagonal_solve_perturbed: that solves T x = b where T may be singular, for example to find an
** eigenvector. If a pivot is so small that x would overflow, it grows by about the rounding error of U's largest number
** (LAPACK's lagtf and lagts). memory: 2 (3 + columns) rows doubles.
*/
LinalgEnd linalg_run_tridiagonal(const LinalgPlan *plan, const LinalgData *data, int parts,
                                 double *memory, LinalgProgress *progress);

#endif
