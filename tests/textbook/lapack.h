/*
** Implements LAPACK's routines, which programs that JAX exports for the CPU call by custom-call. They are
** textbook algorithms, written once for all element types, in double complex numbers. Results that LAPACK
** defines are the same: pivots, reflectors, signs of QR, order of eigenvalues of Hermitian matrices and of
** singular values. Eigenvectors and singular vectors are defined up to a factor. Kernels run these calls;
** native builds compare the kernels with this code, which is not in the download.
*/
#ifndef XLA_TEXTBOOK_LAPACK_H
#define XLA_TEXTBOOK_LAPACK_H

#include <complex.h>

#include "hlo/ir/lapack_calls.h"
#include "reference/eval.h"

typedef double complex Number;

/* CMPLX of C11, which glibc does not define for Clang. */
static inline Number number(double re, double im) { return __builtin_complex(re, im); }

/* Row-major. A vector of n has n rows and one column, a scalar one of each. */
typedef struct Matrix {
  int64_t rows, columns;
  Number *items;
} Matrix;

static inline Number *at(const Matrix *m, int64_t row, int64_t column) {
  return &m->items[row * m->columns + column];
}

/* One call, of one matrix of a batch. */
typedef struct Lapack {
  Matrix in[LAPACK_OPERANDS]; /* may be overwritten */
  Matrix out[LAPACK_RESULTS]; /* zeros at first */
  bool is_complex, is_narrow; /* of f32 or c64 */
  const Instruction *instruction;
  EvalContext *context;
} Lapack;

/* False with the context's error. */
typedef bool LapackRoutine(Lapack *call);

/* lapack.c: evaluates a call whose shapes were checked. */
bool lapack_eval(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context);

/* lapack_factor.c */
LapackRoutine lapack_getrf, lapack_potrf, lapack_trsm, lapack_geqrf, lapack_geqp3, lapack_orgqr,
    lapack_ormqr, lapack_gehrd, lapack_sytrd, lapack_gtsv, lapack_perturbed;
/* lapack_eigen.c */
LapackRoutine lapack_syevd, lapack_gesdd;
/* lapack_schur.c */
LapackRoutine lapack_gees, lapack_geev;

/* Shared by them. */
Matrix matrix_new(Arena *arena, int64_t rows, int64_t columns); /* zeros */
Matrix matrix_copy(Arena *arena, const Matrix *from);
void matrix_assign(const Matrix *to, const Matrix *from);
bool matrix_is_finite(const Matrix *m);
Number number_divide(Number x,
                     Number y); /* by a real number without products with its zero imaginary part */

/*
** Makes a reflector H = I - tau v v^H with H^H x = beta e1, v[0] = 1, beta real: LAPACK's larfg. The
** `count` numbers at x, `stride` apart, become v, except the first, which becomes beta.
*/
Number reflector(Number *x, int64_t count, int64_t stride);
/* reflect_rows multiplies rows `row`... of m, from column `column` on, by I - factor v v^H from the left. The
** other multiplies columns `column`..., of the rows [0, rows), from the right. */
void reflect_rows(const Matrix *m, int64_t row, int64_t column, const Number *v, int64_t count,
                  Number factor);
void reflect_columns(const Matrix *m, int64_t rows, int64_t column, const Number *v, int64_t count,
                     Number factor);
/* Reduces to Hessenberg form by reflectors below the subdiagonal, between rows `low` and `high`
** (inclusive, from 0); `tau` has rows - 1. */
void hessenberg(const Matrix *a, const Matrix *tau, int64_t low, int64_t high, Arena *arena);

#endif
