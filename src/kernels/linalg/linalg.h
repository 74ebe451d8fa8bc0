/*
** Linear algebra: Cholesky, LU, QR, triangular solves, eigenvalues, singular values and Schur forms. The methods are
** those of Golub and Van Loan, Matrix Computations, chapters 3 to 5, 7 and 8.
**
** Input: the operations cholesky and triangular-solve, and custom calls of LAPACK's routines. Output: the results that
** XLA's CPU backend gives, from LAPACK or from its own expansion of the operation.
**
** linalg_kernel.c plans a routine. It computes the matrices of a batch one by one; small ones go LINALG_LANES at a time
** (linalg_lanes.c). f32, f64 and c128 are computed in their own type, c64 in c128, narrower floats in f64. Each
** function is written once and included for each type: linalg_numbers.inc, linalg_factor.inc, linalg_two_sided.inc,
** linalg_schur.inc, linalg_routines.inc.
**
** Invariant: a routine is a table of stages (linalg_run_stages), and LinalgProgress holds all that a stage needs to
** continue. So a stage can return after about LINALG_TURN operations and go on in another turn; between turns other work
** runs, or the run is cancelled. Turns and threads change no bits of a result.
**
** The main trick: factorisations work on blocks of LINALG_BLOCK columns, so that most of the work is matrix products.
**
** Read next: linalg_routines.inc (the stages of each routine), then linalg_factor.inc (the factorisations).
*/
#ifndef XLA_KERNELS_LINALG_LINALG_H
#define XLA_KERNELS_LINALG_LINALG_H

#include <stddef.h>

#include "kernels/kernels.h"

typedef struct LinalgComplex {
  double re, im;
} LinalgComplex;

typedef enum LinalgRoutine {
  LINALG_CHOLESKY,         /* the operation: NaN for a matrix that has no factor */
  LINALG_TRIANGULAR_SOLVE, /* the operation */
/* Then the rows of lapack_calls.def: */
#define LAPACK(ID, ...) LINALG_##ID,
#include "hlo/ir/lapack_calls.def"
#undef LAPACK
  LINALG_ROUTINES,
} LinalgRoutine;

enum { LINALG_OPERANDS = 4, LINALG_RESULTS = 6 };
/* Threshold XLA_BLOCK: the block size of XLA's expansions of cholesky and triangular-solve.
** Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { XLA_BLOCK = 128 };

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
  bool wanted[LINALG_RESULTS]; /* vectors: they are requested and some instruction uses them */
  /* Solve as XLA does, by blocks: for a T that is nearly singular or not finite, this decides the result. */
  bool by_blocks;
  int64_t batch, per_chunk, numbers; /* numbers: memory for one matrix */
  bool in_lanes;
} LinalgPlan;

/* Returns the row stride in numbers. The 8 extra numbers keep rows from sharing the same cache sets. */
static inline int64_t linalg_stride(int64_t columns) {
  return columns < 64 ? columns : columns + 8;
}

/* The operands and results of one matrix of the batch. */
typedef struct LinalgData {
  const uint8_t *in[LINALG_OPERANDS];
  uint8_t *out[LINALG_RESULTS];
} LinalgData;

/* Systems of n unknowns. step: numbers from one unknown to the next; next: from one vector to the next. */
typedef struct LinalgSystems {
  ptrdiff_t n, vectors, step, next;
  bool forward;
} LinalgSystems;

LinalgSystems linalg_systems(const LinalgPlan *plan); /* of a triangular solve */

/* Whether numbers are complex. */
static inline bool linalg_is_complex(PrimitiveType type) { return type == C64 || type == C128; }

typedef enum LinalgEnd {
  LINALG_DONE,
  LINALG_PAUSED,
  LINALG_XLA_DECIDES, /* the triangular matrix is singular or not finite: compute as XLA does */
} LinalgEnd;

/*
** The progress of a routine through its stages. A large matrix takes several turns; between them other work may
** run, or the run may be cancelled. All zero at first.
*/
typedef struct LinalgProgress {
  const KernelCall *call; /* the call of this turn */
  int64_t matrix;         /* index in the batch; linalg_kernel.c's */
  bool exactly;           /* in linalg_exact.c's stages; linalg_kernel.c's */
  int stage;
  ptrdiff_t at;              /* step of the stage: a row or column */
  bool has_panel;            /* the panel of step `at` is done */
  ptrdiff_t lines;           /* lines of step `at` that are done */
  ptrdiff_t vectors, column; /* progress within the panel */
  ptrdiff_t slice;           /* slices of a long column that are done */
  bool is_made;              /* the long column's reflector is done */
  double norm[2];            /* partial norm of the long column */
  ptrdiff_t info;            /* LAPACK's info after the stages so far */
  double kept;               /* a value that a stage keeps between turns */
  double work;               /* operations in this turn */
  double looked;             /* operations at the last look at the clock */
  LinalgEnd end;             /* of a routine whose stage returns false */
} LinalgProgress;

/* One matrix on its way through a routine. Each file of routines has its own. */
typedef struct Work Work;

/* Does a part of a routine. Returns true if it is done; then linalg_stage_ends() was called. Returns false if it goes on
** in another turn, or if the routine has ended with `progress->end`. */
typedef bool Stage(Work *w);

/* Runs the stages from the current one on; NULL ends the table. */
LinalgEnd linalg_run_stages(Stage *const *stages, Work *w, LinalgProgress *progress);

/* Returns the memory, in numbers, to apply `count` reflectors of `size` rows to lines. */
int64_t linalg_panel_numbers(int64_t size, int64_t lines, int64_t count);

/* Returns the larger of that memory and the memory for rotations of `count` values: linalg_rotate.c. */
int64_t linalg_vectors_numbers(int64_t size, int64_t lines, int64_t count);

enum {
  /* Threshold LINALG_TURN, LINALG_MOVE: operations until the host has its turn; `yielding.test.mjs` and
  ** `linalg.test.mjs` have longer routines. No path. */
  LINALG_TURN = 20 * 1000 * 1000, /* operations on reals in a turn, about */
  LINALG_MOVE = 8, /* operations that a read and write of a large matrix's number counts as */
  /* Threshold LINALG_BLOCK: columns in a block. Test: "L U of ${shape}" in core/linalg.test.mjs. */
  LINALG_BLOCK = 32,
  /* Max rows of a panel that is factored ahead: looks_ahead in linalg_factor.inc. */
  LINALG_AHEAD = LINALG_TURN / (16 * LINALG_BLOCK * LINALG_BLOCK) + LINALG_BLOCK + 1,
};

/* Returns whether the stage must return before step `at`, which takes `work` operations: the turn is used up or the run
** has been cancelled. False if progress has no call. */
bool linalg_pauses(LinalgProgress *progress, ptrdiff_t at, double work);
/* Ends a stage; returns true. */
bool linalg_stage_ends(LinalgProgress *progress);
/* Ends the routine before its last stage; returns false. */
bool linalg_routine_ends(LinalgProgress *progress, LinalgEnd end);

/* Sets `tile` to the next tile of a matrix that a stage moves. A tile fits into the cache. Returns false after the
** last tile (`ends` is set), or if the stage must pause. */
typedef struct LinalgTile {
  ptrdiff_t row, rows, column, columns; /* [row, rows) and [column, columns) */
  bool ends;
} LinalgTile;
bool linalg_next_tile(LinalgSize size, LinalgTile *tile, LinalgProgress *progress);

typedef void LinalgBody(const void *argument, ptrdiff_t first, ptrdiff_t end);

/* Calls body(argument, first, end) for consecutive parts of [0, count), pausing between them: a stage. */
bool linalg_some_by_some(ptrdiff_t count, LinalgBody *body, const void *argument,
                         LinalgProgress *progress);

/* Threshold CROSSING, BY_ROWS. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { CROSSING = 8, BY_ROWS = 4 };
/* Calls body(argument, first, end) for parts of [0, count), on several threads if `work`, the operations in all, is
** enough. Parts begin at multiples of `multiple`.
**
** The two-sided reductions alternate loops over rows and over columns, so that each thread finds half of the matrix in
** the other thread's cache. The work of such loops is divided by CROSSING.
** Measured without it: svd 1.2x, eigvals 1.1x as long (256 columns, two threads, Node 20, 2026-11).
*/
void linalg_share(const LinalgProgress *progress, ptrdiff_t count, ptrdiff_t multiple, double work,
                  LinalgBody *body, const void *argument);

/* Shares out the indices [0, count) in turns; each takes `each` operations. Returns false if it continues in another turn,
** after the stage has come to step `at` again. */
bool linalg_share_in_turns(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t count,
                           ptrdiff_t multiple, double each, LinalgBody *body, const void *argument);

/* Shares out rows in turns; the work counts as BY_ROWS. */
bool linalg_share_rows(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t rows, double each,
                       LinalgBody *body, const void *argument);

LinalgEnd linalg_run_f32(const LinalgPlan *plan, const LinalgData *data, float *memory,
                         LinalgProgress *progress);
LinalgEnd linalg_run_f64(const LinalgPlan *plan, const LinalgData *data, double *memory,
                         LinalgProgress *progress);
LinalgEnd linalg_run_c128(const LinalgPlan *plan, const LinalgData *data, LinalgComplex *memory,
                          LinalgProgress *progress);

/* Stores x as number i of an array of f32 (narrow) or f64. */
static inline void linalg_put(bool narrow, void *out, ptrdiff_t i, double x) {
  if (narrow) {
    ((float *)out)[i] = (float)x;
  } else {
    ((double *)out)[i] = x;
  }
}

/* linalg_exact.c: triangular-solve by blocks, as XLA computes it. The numbers are doubles or pairs. */
int64_t linalg_exact_numbers(const LinalgPlan *plan);
LinalgEnd linalg_solve_as_xla(const LinalgPlan *plan, const LinalgData *data, double *memory,
                              LinalgProgress *progress);

/* Threshold LINALG_LANES. Test: "L U of ${shape}" in core/linalg.test.mjs. */
enum { LINALG_LANES = 4 };
/* linalg_lanes.c: LINALG_LANES matrices at once. Returns a bit for each matrix that has no result yet. The numbers are
** doubles; 0 if matrices go one by one. */
int64_t linalg_lanes_numbers(const LinalgPlan *plan, PrimitiveType type);
int linalg_run_lanes(const LinalgPlan *plan, const LinalgData *data, double *memory);

/* linalg_numbers.inc: y -= a x. */
void linalg_subtract_row_f64(double *y, double a, const double *x, ptrdiff_t count);
void linalg_subtract_row_c128(LinalgComplex *y, LinalgComplex a, const LinalgComplex *x,
                              ptrdiff_t count);

/* linalg_numbers.inc: c -= a b for leading rows; returns how many. */
ptrdiff_t linalg_subtract_panels_f64(ptrdiff_t parts, ptrdiff_t rows, ptrdiff_t columns,
                                     const double *a, ptrdiff_t a_row, ptrdiff_t depth,
                                     const double *b, ptrdiff_t b_stride, double *c,
                                     ptrdiff_t c_stride);

/* Returns the sum of x y, or of conj(x) y. */
double linalg_inner_f64(const double *x, const double *y, ptrdiff_t count, bool conjugates);
LinalgComplex linalg_inner_c128(const LinalgComplex *x, const LinalgComplex *y, ptrdiff_t count,
                                bool conjugates);

/* Rows of reals to apply rotations to. */
typedef struct LinalgRows {
  void *at;
  bool narrow;       /* f32 */
  ptrdiff_t columns; /* 0: the vectors are not wanted */
  ptrdiff_t stride;
} LinalgRows;

/* Both functions below are stages: false if they continue in another turn. `info` is 1 if the iteration does not
** converge.
**
** Replaces d, the diagonal of a symmetric tridiagonal matrix, by its eigenvalues in ascending order (implicit QL).
** Overwrites e, the subdiagonal; both have n elements. The rows of z are rotated and ordered as the matrix's columns.
** scratch: 4 n, 96 n numbers of z's type, and room for 4 n + 128 sweeps and an Iteration. */
bool tridiagonal_eigenvalues(double *d, double *e, ptrdiff_t n, LinalgRows z, double *scratch,
                             LinalgProgress *progress);

/* Replaces d, the diagonal of an upper bidiagonal matrix, by its singular values in descending order (implicit QR).
** Overwrites e, the superdiagonal; both have n elements. The rows of u and v are rotated as the matrix's rows and
** columns, and ordered. scratch: as above. */
bool bidiagonal_values(double *d, double *e, ptrdiff_t n, LinalgRows u, LinalgRows v,
                       double *scratch, LinalgProgress *progress);

#endif
