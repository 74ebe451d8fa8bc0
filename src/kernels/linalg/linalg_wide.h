/*
** Of what takes little time, one version for all kinds of numbers, in double and complex: how general matrices are
** balanced, eigenvectors of their Schur form by substitution (Golub and Van Loan, Matrix Computations, 7.4.7 and
** 7.6.4), and tridiagonal systems.
*/
#ifndef XLA_KERNELS_LINALG_LINALG_WIDE_H
#define XLA_KERNELS_LINALG_LINALG_WIDE_H

#include "kernels/linalg/linalg.h"

typedef struct LinalgGeneral {
  ptrdiff_t n, stride; /* numbers from one row to the next, of all matrices */
  int parts;           /* of a number: 1 or 2 */
  bool narrow;         /* results are of f32 or c64 */
  double epsilon;
  double *t, *z;         /* T; Z^H by rows */
  double *x, *y;         /* vectors of T, and of the matrix: conjugates, in rows */
  double *scale;         /* of each row, or the row that it was swapped with */
  double low, high;      /* the rows that balancing left */
  double *tau, *scratch; /* of the reduction */
} LinalgGeneral;

/* A stage, as LAPACK's gebal: low and high are all rows at first. Eigenvalues that are on the diagonal go to the ends; if it scales, rows and columns of the
** same number are about as long. */
bool linalg_balance(LinalgGeneral *g, bool scales, LinalgProgress *progress);
/* A row of numbers, of the balanced matrix, as one of the matrix that was given. */
void linalg_unbalance(const LinalgGeneral *g, double *x, bool scales, bool from_left);

/* Results from `first` on; real matrices have two, of parts. */
void linalg_store_eigenvalues(const LinalgGeneral *g, const LinalgData *data, int first, double by);

/* Stages: conjugates of vectors of T, in the rows of x, which were zeros (less than zero, as products are subtracted); vectors of the
** matrix, from y, as columns of length 1 whose largest number is real. */
bool linalg_vectors_of_t(const LinalgGeneral *g, bool from_left, LinalgProgress *progress);
bool linalg_store_vectors(const LinalgGeneral *g, uint8_t *out, bool from_left,
                          LinalgProgress *progress);
/* T and Z as what left vectors are the right ones of, if they are wanted: a stage. */
bool linalg_flip(const LinalgGeneral *g, bool flips, LinalgProgress *progress);

/* gtsv. memory: 2 (3 + columns) rows doubles. */
LinalgEnd linalg_run_gtsv(const LinalgPlan *plan, const LinalgData *data, int parts, double *memory,
                          LinalgProgress *progress);

/*
** tridiagonal_solve_perturbed: x of T x = b where T may be singular, as for an eigenvector of it. Pivots that are so
** small that x would overflow grow by an amount of the order of the last digit of the largest number of U (LAPACK's
** lagtf and lagts). memory: as for gtsv.
*/
LinalgEnd linalg_run_perturbed(const LinalgPlan *plan, const LinalgData *data, int parts,
                               double *memory, LinalgProgress *progress);

#endif
