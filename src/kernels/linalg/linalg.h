/*
** Linear algebra: the routines that linalg.c plans; matrices of a batch are computed one by one, small
** ones by lanes. Golub and Van Loan, Matrix Computations, chapters 3 to 5 and 8.
**
** f32, f64 and c128 are computed with as they are, c64 in c128. Functions are written once for all, in
** linalg_numbers.h, linalg_factor.h and linalg_routines.h.
*/
#ifndef XLA_KERNELS_LINALG_LINALG_H
#define XLA_KERNELS_LINALG_LINALG_H

#include <stddef.h>

#include "kernels/kernels.h"

typedef struct LinalgComplex {
  double re, im;
} LinalgComplex;

typedef enum LinalgRoutine {
  LINALG_CHOLESKY,         /* the operation: NaN where there is no result */
  LINALG_TRIANGULAR_SOLVE, /* the operation */
  /* LAPACK's: */
  LINALG_POTRF,
  LINALG_TRSM,
  LINALG_GETRF,
  LINALG_GEQRF,
  LINALG_ORGQR,
  LINALG_SYEVD,
  LINALG_GESDD,
  LINALG_ORMQR,
  LINALG_GEQP3,
  LINALG_GTSV,
  LINALG_GTSV_PERTURBED, /* jaxlib's: of a matrix that may be singular */
  LINALG_SYTRD,
  LINALG_GEHRD,
  LINALG_GEES,
  LINALG_GEEV,
  LINALG_ROUTINES,
} LinalgRoutine;

enum { LINALG_OPERANDS = 4, LINALG_RESULTS = 6 };
enum { XLA_BLOCK = 128 }; /* of its cholesky and triangular-solve */

typedef struct LinalgSize {
  int64_t rows, columns;
} LinalgSize;

typedef struct LinalgPlan {
  KernelPlan kernel;
  LinalgRoutine routine;
  bool narrow; /* f32 or c64 */
  LinalgSize in[LINALG_OPERANDS], out[LINALG_RESULTS];
  int64_t in_bytes[LINALG_OPERANDS], out_bytes[LINALG_RESULTS]; /* of one matrix */
  PrimitiveType type;
  int operands, results;
  bool lower, left, transposed, conjugated, unit;
  int64_t first, last;         /* rows that gehrd reduces */
  bool wanted[LINALG_RESULTS]; /* vectors: they are asked for, and somebody uses them */
  /* Where T is nearly singular or not finite, XLA's way decides what the result is. */
  bool by_blocks;
  int64_t batch, per_chunk, numbers; /* of memory, for one matrix */
  bool in_lanes;
} LinalgPlan;

/* Numbers from one row to the next, so that rows are not in each other's way in the cache. */
static inline int64_t linalg_stride(int64_t columns) {
  return columns < 64 ? columns : columns + 8;
}

/* One matrix, the operands and results of which are given. */
typedef struct LinalgData {
  const uint8_t *in[LINALG_OPERANDS];
  uint8_t *out[LINALG_RESULTS];
} LinalgData;

/* Systems of n unknowns; numbers from one unknown to the next, and from one vector to the next. */
typedef struct LinalgSystems {
  ptrdiff_t n, vectors, step, next;
  bool forward;
} LinalgSystems;

LinalgSystems linalg_systems(const LinalgPlan *plan); /* of triangular ones */

/*
** A large matrix takes several turns, between which others may run or the run may be cancelled. A
** routine is a few stages, one after the other; this says how far it has come. All zero at first.
*/
typedef struct LinalgProgress {
  const KernelCall *call; /* of this turn */
  int64_t matrix;         /* of the batch: linalg.c's */
  bool exactly;           /* in linalg_exact.c's stages: linalg.c's */
  int stage;
  ptrdiff_t at;              /* in the stage: a row, a column */
  bool has_panel;            /* there: what comes before its lines is done, */
  ptrdiff_t lines;           /* and so many of these */
  ptrdiff_t vectors, column; /* of the panel */
  ptrdiff_t slice;           /* of the rows of a long column, */
  bool is_made;              /* the reflector of which is done; */
  double norm[2];            /* that is measured before */
  ptrdiff_t info;            /* what the stages so far came to */
  double kept;               /* what a stage keeps */
  double work;               /* operations in this turn, */
  double looked;             /* and before the clock was looked at */
} LinalgProgress;

/* Memory for so many reflectors of `size` rows that are met by lines. */
int64_t linalg_panel_numbers(int64_t size, int64_t lines, int64_t count);

/* The same, and for rotations of as many values; of the latter alone, numbers of any type (linalg_rotate.c). */
int64_t linalg_vectors_numbers(int64_t size, int64_t lines, int64_t count);
int64_t linalg_rotation_numbers(int64_t n);

enum {
  LINALG_TURN = 20 * 1000 * 1000, /* operations on reals, about; most steps are less */
  LINALG_MOVE = 8,   /* what reading and writing a number of a large matrix counts as */
  LINALG_BLOCK = 32, /* columns that are worked on at once */
  /* No more rows than these when a panel is factored with the next one's columns in sight: linalg_factor.h's looks_ahead. */
  LINALG_AHEAD = LINALG_TURN / (16 * LINALG_BLOCK * LINALG_BLOCK) + LINALG_BLOCK + 1,
};

/* Whether it is time to return, before the step `at`, which is so much work, or the run has been cancelled; never
** where no call is. The end of a stage, which is true. */
bool linalg_pauses(LinalgProgress *progress, ptrdiff_t at, double work);
bool linalg_stage_ends(LinalgProgress *progress);

/* Some rows of some columns, whose lines stay in the cache from row to row: the next ones of a matrix that is moved,
** a stage. False behind the last, where it ends, or if it is time to return. */
typedef struct LinalgTile {
  ptrdiff_t row, rows, column, columns; /* and those behind it */
  bool ends;
} LinalgTile;
bool linalg_next_tile(LinalgSize size, LinalgTile *tile, LinalgProgress *progress);

typedef void LinalgBody(const void *argument, ptrdiff_t first, ptrdiff_t end);

/* body(argument, first, end) for some of [0, count) after the others: a stage. */
bool linalg_some_by_some(ptrdiff_t count, LinalgBody *body, const void *argument,
                         LinalgProgress *progress);

/* body(argument, first, end) for parts of [0, count), by several threads where they are worth it: `work`
** operations in all. Parts begin at multiples of `multiple`.
**
** Where loops over rows and over columns of a matrix take turns, as in the reductions from both sides, each
** thread finds half of it in the other one's cache. For 256 columns and two threads that cost more (svd 1.2, eigvals 1.1
** times as long) than was won; such loops count as less work by CROSSING.
*/
enum { CROSSING = 8, BY_ROWS = 4 };
void linalg_share(const LinalgProgress *progress, ptrdiff_t count, ptrdiff_t multiple, double work,
                  LinalgBody *body, const void *argument);

/* The same in turns, each of [0, count) being so much work; false: it goes on in another turn, when the
** stage has come to step `at` again. */
bool linalg_share_in_turns(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t count,
                           ptrdiff_t multiple, double each, LinalgBody *body, const void *argument);

/* The same of rows, BY_ROWS. */
bool linalg_share_rows(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t rows, double each,
                       LinalgBody *body, const void *argument);

typedef enum LinalgEnd {
  LINALG_DONE,
  LINALG_PAUSED,
  LINALG_XLA_DECIDES, /* there is no result but XLA's */
} LinalgEnd;

LinalgEnd linalg_run_f32(const LinalgPlan *plan, const LinalgData *data, float *memory,
                         LinalgProgress *progress);
LinalgEnd linalg_run_f64(const LinalgPlan *plan, const LinalgData *data, double *memory,
                         LinalgProgress *progress);
LinalgEnd linalg_run_c128(const LinalgPlan *plan, const LinalgData *data, LinalgComplex *memory,
                          LinalgProgress *progress);

/* linalg_exact.c: the operations' results, whatever the matrix and the type of floats. `numbers` are doubles, or pairs. */
int64_t linalg_exact_numbers(const LinalgPlan *plan);
LinalgEnd linalg_run_exactly(const LinalgPlan *plan, const LinalgData *data, double *memory,
                             LinalgProgress *progress);

/* linalg_lanes.c: so many matrices at once; those of the bits that are returned have no result yet. `numbers`
** are doubles, 0 where matrices go one by one. */
enum { LINALG_LANES = 4 };
int64_t linalg_lanes_numbers(const LinalgPlan *plan, PrimitiveType type);
int linalg_run_lanes(const LinalgPlan *plan, const LinalgData *data, double *memory);

/* linalg_numbers.h: y -= a x */
void linalg_subtract_row_f64(double *y, double a, const double *x, ptrdiff_t count);
void linalg_subtract_row_c128(LinalgComplex *y, LinalgComplex a, const LinalgComplex *x,
                              ptrdiff_t count);

/* linalg_numbers.h: c -= a b, rows that are worth it */
ptrdiff_t linalg_subtract_panels_f64(ptrdiff_t parts, ptrdiff_t rows, ptrdiff_t columns,
                                     const double *a, ptrdiff_t a_row, ptrdiff_t depth,
                                     const double *b, ptrdiff_t b_stride, double *c,
                                     ptrdiff_t c_stride);

/* The sum of x y, or of conj(x) y */
double linalg_inner_f64(const double *x, const double *y, ptrdiff_t count, bool conjugates);
LinalgComplex linalg_inner_c128(const LinalgComplex *x, const LinalgComplex *y, ptrdiff_t count,
                                bool conjugates);

/* Rows of reals that rotations are to be applied to. */
typedef struct LinalgRows {
  void *at;
  bool narrow;       /* of f32 */
  ptrdiff_t columns; /* none: nobody wants them */
  ptrdiff_t stride;
} LinalgRows;

/* A stage each; false: it goes on in another turn. `info` is 1 if they do not converge.
**
** Eigenvalues of a symmetric tridiagonal matrix in ascending order, d, by the implicit QL method; e,
** its subdiagonal, is used up; both have n. The rows of z are rotated as the matrix' columns, and ordered.
** scratch: 4 n, 96 n numbers of z's type, and room for 4 n + 128 sweeps and an Iteration. */
bool tridiagonal_eigenvalues(double *d, double *e, ptrdiff_t n, LinalgRows z, double *scratch,
                             LinalgProgress *progress);

/* Singular values of an upper bidiagonal matrix in descending order, d, by the implicit QR method; e,
** its superdiagonal, is used up; both have n. The rows of u and v are rotated as its rows and columns, and
** ordered. scratch: as above. */
bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch, LinalgProgress *progress);

#endif
