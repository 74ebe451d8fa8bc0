/*
** The routines, from a matrix in memory to the results, for one kind of number. Included once for each kind.
** The first stage of a routine loads the matrix; after the last stage the results are stored.
*/
#include "kernels/linalg/linalg_factor.h"
#include "kernels/linalg/linalg_wide.h"

/* Compiles the routines for size, whatever the file's level; the fast loops are in the functions that they call. Saves
** 4 kB of the download. */
#undef FOR_SIZE
#define FOR_SIZE __attribute__((minsize))
#undef MOVES
#define MOVES __attribute__((noinline)) /* fast, called by functions that are compiled for size */

enum { FEW_VECTORS = 4, LARGE_STRIPS = 4 };

enum { LOADS = 0 }; /* the first stage of every routine */

enum { MAX_EXPONENT = IS_NARROW ? 120 : 1000 };
#define ORDINARY (IS_NARROW ? 1e8 : 1e100) /* numbers up to it need no scaling */

/* Returns memory of numbers, aligned for doubles. */
static double *doubles_at(Number *memory) {
  return (double *)(((uintptr_t)memory + 7) & ~(uintptr_t)7);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static void put_real(const LinalgPlan *plan, uint8_t *data, ptrdiff_t i, double x) {
  if (plan->narrow) {
    ((float *)data)[i] = (float)x;
  } else {
    ((double *)data)[i] = x;
  }
}

#if IS_COMPLEX
static Number get(const LinalgPlan *plan, const uint8_t *data, ptrdiff_t i) {
  if (!plan->narrow) return ((const Number *)data)[i];
  const float *x = (const float *)data + 2 * i;
  return (Number){x[0], x[1]};
}

static void put(const LinalgPlan *plan, uint8_t *data, ptrdiff_t i, Number x) {
  put_real(plan, data, 2 * i, x.re);
  put_real(plan, data, 2 * i + 1, x.im);
}
#else
/* Loads a number. Computed in f64: f32 by routines for general matrices, which have no f32 version, and narrower
** floats. */
static Number get(const LinalgPlan *plan, const uint8_t *data, ptrdiff_t i) {
  if (!IS_NARROW && plan->narrow) return ((const float *)data)[i];
  if (!IS_NARROW && plan->type != F64) return scalar_load(plan->type, data, i).f;
  return ((const Number *)data)[i];
}

static void put(const LinalgPlan *plan, uint8_t *data, ptrdiff_t i, Number x) {
  if (IS_NARROW || plan->narrow || plan->type == F64) {
    put_real(plan, data, i, x);
  } else {
    scalar_store(plan->type, data, i, (Scalar){.f = x});
  }
}
#endif

static void put_info(const LinalgData *data, int result, ptrdiff_t info) {
  *(int32_t *)data->out[result] = (int32_t)info;
}

enum {
  SOME_COLUMNS = 16,
  SOME_ROWS = 8192
}; /* columns whose lines stay in the cache from row to row */

/* Returns whether to pause before step `at` moves `count` numbers. */
static bool pauses_to_move(LinalgProgress *progress, ptrdiff_t at, ptrdiff_t count) {
  return linalg_pauses(progress, at, LINALG_MOVE * (double)count);
}

/* Loads an operand as to[row][column], or as to[column][row] if `by_columns`: a stage. */
MOVES static bool load_matrix(const LinalgPlan *plan, int operand, const LinalgData *data,
                              Number *to, ptrdiff_t stride, bool by_columns,
                              LinalgProgress *progress) {
  LinalgSize size = plan->in[operand];
  ptrdiff_t down = by_columns ? 1 : stride, along = by_columns ? stride : 1;
  LinalgTile t;
  while (linalg_next_tile(size, &t, progress)) {
    for (ptrdiff_t i = t.row; i < t.rows; i++) {
      for (ptrdiff_t j = t.column; j < t.columns; j++) {
        to[i * down + j * along] = get(plan, data->in[operand], i * size.columns + j);
      }
    }
  }
  return t.ends;
}

MOVES static bool store_matrix(const LinalgPlan *plan, int result, const LinalgData *data,
                               const Number *from, ptrdiff_t stride, bool by_columns,
                               LinalgProgress *progress) {
  LinalgSize size = plan->out[result];
  ptrdiff_t down = by_columns ? 1 : stride, along = by_columns ? stride : 1;
  LinalgTile t;
  while (linalg_next_tile(size, &t, progress)) {
    for (ptrdiff_t i = t.row; i < t.rows; i++) {
      for (ptrdiff_t j = t.column; j < t.columns; j++) {
        put(plan, data->out[result], i * size.columns + j, from[i * down + j * along]);
      }
    }
  }
  return t.ends;
}

typedef struct Fill {
  const LinalgPlan *plan;
  uint8_t *out;
  double x;
} Fill;

FOR_SIZE static void fill_some(const void *argument, ptrdiff_t i, ptrdiff_t end) {
  const Fill *f = argument;
  for (; i < end; i++) put(f->plan, f->out, i, number(f->x));
}

ROUTINE static bool fill(const LinalgPlan *plan, int result, const LinalgData *data, double x,
                         LinalgProgress *progress) {
  Fill f = {plan, data->out[result], x};
  return linalg_some_by_some(plan->out[result].rows * plan->out[result].columns, fill_some, &f,
                             progress);
}

/* Returns the largest magnitude of a real or imaginary part; NaN or infinity if there is one. */
static double largest_of(const Number *x, ptrdiff_t count) {
  double largest = 0;
  for (ptrdiff_t i = 0; i < count; i++) {
    double size = size_of(x[i]);
    if (!(size <= largest)) largest = size;
    if (size - size != 0) break;
  }
  return largest;
}

typedef struct Largest {
  const Number *x;
  double *largest;
} Largest;

FOR_SIZE static void look_at_some(const void *argument, ptrdiff_t i, ptrdiff_t end) {
  const Largest *l = argument;
  double of_some = largest_of(l->x + i, end - i);
  if (*l->largest - *l->largest == 0 && !(of_some <= *l->largest)) *l->largest = of_some;
}

typedef struct Scaled {
  Number *x;
  double by;
} Scaled;

FOR_SIZE static void scale_some(const void *argument, ptrdiff_t i, ptrdiff_t end) {
  const Scaled *s = argument;
  for (; i < end; i++) s->x[i] = scaled(s->x[i], s->by);
}

/* Two stages: scale or conjugate all numbers. */
ROUTINE static bool scales(Number *x, ptrdiff_t count, double by, LinalgProgress *progress) {
  Scaled s = {x, by};
  return linalg_some_by_some(by == 1 ? 0 : count, scale_some, &s, progress);
}

FOR_SIZE static void conjugate_some(const void *argument, ptrdiff_t i, ptrdiff_t end) {
  Number *const *x = argument;
  for (; i < end; i++) (*x)[i] = conjugate((*x)[i]);
}

ROUTINE static bool conjugates(Number *x, ptrdiff_t count, LinalgProgress *progress) {
  return linalg_some_by_some(IS_COMPLEX ? count : 0, conjugate_some, &x, progress);
}

/* --- Cholesky and triangular systems ---------------------------------------------------------- */

/* Returns the operation's diagonal element for a root x. XLA divides the pivot by it, except in a 1x1 block: 0 / 0 and
** infinity / infinity are NaN, in both parts. */
static Number divided_by_root(Number x, ptrdiff_t i, ptrdiff_t n) {
  bool is_alone = i % XLA_BLOCK == 0 && i + 1 == n, divides = is_zero(x) || isinf(real(x));
  return divides && !is_alone ? times(number(NAN), number(NAN)) : x;
}

/* Runs cholesky and potrf. The upper form is the transpose in the operation, the adjoint in LAPACK. */
FOR_SIZE static LinalgEnd run_cholesky(const LinalgPlan *plan, const LinalgData *data,
                                       Number *memory, LinalgProgress *progress) {
  enum { FACTORS = LOADS + 1 };
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n);
  bool is_lapack = plan->routine == LINALG_POTRF;
  Number *a = memory;
  if (progress->stage == LOADS) {
    for (ptrdiff_t i = progress->at; i < n; i++) {
      if (pauses_to_move(progress, i, i)) return LINALG_PAUSED;
      for (ptrdiff_t j = 0; j <= i; j++) {
        Number x = get(plan, data->in[0], plan->lower ? i * n + j : j * n + i);
        a[i * stride + j] = is_lapack && !plan->lower ? conjugate(x) : x;
      }
    }
    linalg_stage_ends(progress);
  }
  if (progress->stage == FACTORS && !cholesky(a, n, stride, memory + n * stride, progress)) {
    return LINALG_PAUSED;
  }
  /* XLA: NaN if a pivot is NaN or negative; or 0, since that makes the next pivot NaN. */
  bool is_nan =
      !is_lapack && progress->info && (progress->info < n || real(a[(n - 1) * (stride + 1)]) != 0);
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (pauses_to_move(progress, i, n)) return LINALG_PAUSED;
    for (ptrdiff_t j = 0; j < n; j++) {
      ptrdiff_t to = plan->lower ? i * n + j : j * n + i;
      Number x = j > i ? is_lapack ? get(plan, data->in[0], to) : number(0) : a[i * stride + j];
      if (is_nan) x = number(NAN);
      if (i == j && !is_lapack) x = divided_by_root(x, i, n);
      put(plan, data->out[0], to, is_lapack && !plan->lower && j <= i ? conjugate(x) : x);
    }
  }
  if (is_lapack) put_info(data, 1, progress->info);
  return LINALG_DONE;
}

/* Loads a triangle as a lower one; an upper one with its unknowns in reverse. info: set if the result may depend on the
** order of operations. */
MOVES static bool load_triangle(const LinalgPlan *plan, const LinalgData *data, bool forward,
                                Number *t, LinalgProgress *progress) {
  ptrdiff_t n = plan->in[0].rows, first = forward ? 0 : n * n - 1, sign = forward ? 1 : -1;
  ptrdiff_t down = sign * (plan->transposed ? 1 : n), along = sign * (plan->transposed ? n : 1);
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (pauses_to_move(progress, i, i)) return false;
    Real zero = 0; /* or NaN */
    for (ptrdiff_t j = 0; j <= i; j++) {
      Number x = get(plan, data->in[0], first + i * down + j * along);
      if (i == j && plan->unit) x = number(1);
      t[i * n + j] = plan->conjugated ? conjugate(x) : x;
      zero += (Real)size_of(x) * 0;
    }
    progress->info |= zero != 0 || is_zero(t[i * (n + 1)]);
  }
  return linalg_stage_ends(progress);
}

/* Loads or stores unknowns: x is [unknown][vector], or [vector][unknown] for few vectors. info: set if some are not
** finite. */
MOVES static bool move_unknowns(const LinalgPlan *plan, const LinalgData *data, Number *x,
                                LinalgSystems s, bool loads, LinalgProgress *progress) {
  bool few = s.vectors <= FEW_VECTORS;
  ptrdiff_t down = few ? 1 : s.vectors, along = few ? s.n : 1;
  for (ptrdiff_t i = progress->at; i < s.n; i++) {
    if (pauses_to_move(progress, i, s.vectors)) return false;
    ptrdiff_t at = (s.forward ? i : s.n - 1 - i) * s.step;
    Number *y = x + i * down;
    Real zero = 0; /* or NaN */
    for (ptrdiff_t v = 0; loads && v < s.vectors; v++) {
      y[v * along] = get(plan, data->in[1], at + v * s.next);
    }
    for (ptrdiff_t v = 0; !loads && v < s.vectors; v++) {
      put(plan, data->out[0], at + v * s.next, y[v * along]);
      zero += (Real)size_of(y[v * along]) * 0;
    }
    progress->info |= zero != 0;
  }
  return linalg_stage_ends(progress);
}

/* A solve for rows [row, end) of unknowns; the rows above are done. */
typedef struct Triangle {
  const Number *t;
  ptrdiff_t n, row, end;
  bool unit;
  Number *x;
  ptrdiff_t stride;
} Triangle;

static void solve_columns(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const Triangle *t = argument;
  solve_lower(t->t, t->row, t->end, t->n, t->unit, t->x + first, end - first, t->stride);
}

/* Solves strip by strip of vectors, so that a strip stays in the cache. Large systems go block by block of rows. */
FOR_SIZE static bool solve_strips(const Number *t, bool unit, Number *x, LinalgSystems s,
                                  LinalgProgress *progress) {
  double a_vector = (double)s.n * (double)s.n;
  ptrdiff_t some = (ptrdiff_t)(TURN / a_vector) / STRIP_COLUMNS * STRIP_COLUMNS;
  ptrdiff_t rows = s.n;
  if (some < LARGE_STRIPS * STRIP_COLUMNS) {
    ptrdiff_t fit = (ptrdiff_t)(TURN / (2.0 * BLOCK * (double)s.n)) / STRIP_COLUMNS;
    rows = BLOCK, some = min_i64(max_i64(fit, 1), LARGE_STRIPS) * STRIP_COLUMNS;
  }
  ptrdiff_t strips = divide_up(s.vectors, some), blocks = divide_up(s.n, rows);
  for (ptrdiff_t k = progress->at; k < strips * blocks; k++) {
    ptrdiff_t first = k / blocks * some, count = min_i64(some, s.vectors - first);
    ptrdiff_t row = k % blocks * rows, end = min_i64(row + rows, s.n);
    double work = ((double)end * (double)end - (double)row * (double)row) * (double)count;
    if (linalg_pauses(progress, k, work)) return false;
    Triangle triangle = {t, s.n, row, end, unit, x + first, s.vectors};
    linalg_share(progress, count, STRIP_COLUMNS, work, solve_columns, &triangle);
  }
  return linalg_stage_ends(progress);
}

FOR_SIZE static LinalgEnd run_triangular(const LinalgPlan *plan, const LinalgData *data,
                                         Number *memory, LinalgProgress *progress) {
  enum { LOADS_VECTORS = LOADS + 1, SOLVES };
  LinalgSystems s = linalg_systems(plan);
  Number *t = memory, *x = memory + s.n * s.n;
  if (progress->stage == LOADS) {
    if (!load_triangle(plan, data, s.forward, t, progress)) return LINALG_PAUSED;
    if (plan->by_blocks && progress->info) return LINALG_XLA_DECIDES;
  }
  if (progress->stage == LOADS_VECTORS && !move_unknowns(plan, data, x, s, true, progress)) {
    return LINALG_PAUSED;
  }
  if (progress->stage == SOLVES) {
    bool ends = s.vectors <= FEW_VECTORS ? solve_vectors(t, s.n, plan->unit, x, s.vectors, progress)
                                         : solve_strips(t, plan->unit, x, s, progress);
    if (!ends) return LINALG_PAUSED;
  }
  if (!move_unknowns(plan, data, x, s, false, progress)) return LINALG_PAUSED;
  return plan->by_blocks && progress->info ? LINALG_XLA_DECIDES : LINALG_DONE;
}

/* --- LU and QR -------------------------------------------------------------------------------- */

FOR_SIZE static LinalgEnd run_getrf(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { FACTORS = LOADS + 1 };
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns;
  ptrdiff_t stride = linalg_stride(columns);
  int32_t *pivots = (int32_t *)data->out[1];
  if ((progress->stage == LOADS && !load_matrix(plan, 0, data, memory, stride, false, progress)) ||
      (progress->stage == FACTORS &&
       !lu(memory, rows, columns, stride, pivots, memory + rows * stride, progress)) ||
      !store_matrix(plan, 0, data, memory, stride, false, progress)) {
    return LINALG_PAUSED;
  }
  put_info(data, 2, progress->info);
  for (ptrdiff_t k = 0; k < plan->out[1].rows; k++) pivots[k]++;
  return LINALG_DONE;
}

FOR_SIZE static LinalgEnd run_geqrf(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { FACTORS = LOADS + 1 };
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns, steps = plan->out[1].rows;
  Number *tau = memory + rows * columns;
  if ((progress->stage == LOADS && !load_matrix(plan, 0, data, memory, rows, true, progress)) ||
      (progress->stage == FACTORS &&
       !qr(memory, rows, columns, rows, tau, tau + steps, progress)) ||
      !store_matrix(plan, 0, data, memory, rows, true, progress)) {
    return LINALG_PAUSED;
  }
  for (ptrdiff_t k = 0; k < steps; k++) put(plan, data->out[1], k, tau[k]);
  return LINALG_DONE;
}

FOR_SIZE static LinalgEnd run_orgqr(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { FORMS = LOADS + 1 };
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns;
  ptrdiff_t count = min_i64(plan->in[1].rows, min_i64(rows, columns));
  Number *v = memory, *qt = v + rows * columns, *tau = qt + rows * columns;
  if (progress->stage == LOADS) {
    if (!load_matrix(plan, 0, data, v, rows, true, progress)) return LINALG_PAUSED;
    for (ptrdiff_t k = 0; k < count; k++) tau[k] = get(plan, data->in[1], k);
  }
  if ((progress->stage == FORMS &&
       !form_q(v, rows, tau, count, 0, rows, qt, columns, rows, tau + count, progress)) ||
      !store_matrix(plan, 0, data, qt, rows, true, progress)) {
    return LINALG_PAUSED;
  }
  return LINALG_DONE;
}

/* --- Eigenvalues and singular values ---------------------------------------------------------- */

/* Returns a power of two; numbers up to `largest` times it have squares that neither overflow nor underflow. */
ROUTINE static double scale_for(double largest) {
  if (largest == 0 || (largest > 1 / ORDINARY && largest < ORDINARY)) return 1;
  int exponent;
  frexp(largest, &exponent);
  return ldexp(1, -exponent > MAX_EXPONENT ? MAX_EXPONENT : -exponent);
}

/* Loads both triangles of a Hermitian matrix and finds its largest part: a stage. */
MOVES static bool load_hermitian(const LinalgPlan *plan, const LinalgData *data, Number *a,
                                 ptrdiff_t stride, double *largest, LinalgProgress *progress) {
  ptrdiff_t n = plan->in[0].rows;
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (pauses_to_move(progress, i, 2 * i)) return false;
    for (ptrdiff_t j = 0; j <= i; j++) {
      Number x = get(plan, data->in[0], plan->lower ? i * n + j : j * n + i);
      if (!plan->lower) x = conjugate(x);
      a[i * stride + j] = i == j ? number(real(x)) : x;
      a[j * stride + i] = conjugate(a[i * stride + j]);
    }
    double of_row = largest_of(a + i * stride, i + 1);
    if (*largest - *largest == 0 && !(of_row <= *largest)) *largest = of_row;
  }
  return linalg_stage_ends(progress);
}

FOR_SIZE static LinalgEnd run_syevd(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { NONE = LOADS + 1, SCALES, REDUCES, FORMS, ITERATES };
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n);
  Number *a = memory, *qt = a + n * stride, *tau = qt + n * stride, *scratch = tau + n;
  ptrdiff_t room = (ptrdiff_t)linalg_vectors_numbers(n, n, n);
  double *d = doubles_at(scratch + room), *e = d + n, *scale = &progress->kept;
  if (progress->stage == LOADS) {
    if (!load_hermitian(plan, data, a, stride, scale, progress)) return LINALG_PAUSED;
  }
  bool is_finite = *scale - *scale == 0;
  double by = is_finite ? scale_for(*scale) : 1;
  if (progress->stage == NONE) {
    if (is_finite && plan->wanted[0]) {
      linalg_stage_ends(progress);
    } else if (!fill(plan, 0, data, is_finite ? 0 : NAN, progress)) {
      return LINALG_PAUSED;
    }
    put_info(data, 2, 0);
    for (ptrdiff_t i = 0; i < n; i++) put_real(plan, data->out[1], i, NAN);
    if (!is_finite) return LINALG_DONE;
  }
  if (progress->stage == SCALES && !scales(a, n * stride, by, progress)) return LINALG_PAUSED;
  if (progress->stage == REDUCES) {
    if (!tridiagonalize(a, n, stride, d, e, tau, scratch, progress)) return LINALG_PAUSED;
    if (n > 0) e[n - 1] = 0;
  }
  if (progress->stage == FORMS) {
    if (!plan->wanted[0]) linalg_stage_ends(progress);
    if (plan->wanted[0] && !form_q(a, stride, tau, n - 1, 1, n, qt, n, stride, scratch, progress)) {
      return LINALG_PAUSED;
    }
  }
  LinalgRows z = {qt, IS_NARROW, plan->wanted[0] ? REALS * n : 0, REALS * stride};
  if ((progress->stage == ITERATES &&
       !tridiagonal_eigenvalues(d, e, n, z, doubles_at(scratch), progress)) ||
      (plan->wanted[0] && !store_matrix(plan, 0, data, qt, stride, true, progress))) {
    return LINALG_PAUSED;
  }
  put_info(data, 2, progress->info);
  for (ptrdiff_t i = 0; i < n; i++) put_real(plan, data->out[1], i, d[i] / by);
  return LINALG_DONE;
}

/* A singular value decomposition. A wide matrix is decomposed as its adjoint: A^H = V S U^H. */
typedef struct Svd {
  bool wide, wants_q, wants_p;
  ptrdiff_t rows, columns, wanted, high, stride;
  Number *a, *qv, *qt, *pt, *tau_q, *tau_p, *scratch;
  double *d, *e;
} Svd;

FOR_SIZE static Svd svd_in(const LinalgPlan *plan, Number *memory) {
  Svd s = {.wide = plan->in[0].columns > plan->in[0].rows};
  s.wants_q = plan->wanted[s.wide ? 3 : 2];
  s.wants_p = plan->wanted[s.wide ? 2 : 3];
  s.rows = s.wide ? plan->in[0].columns : plan->in[0].rows;
  s.columns = s.wide ? plan->in[0].rows : plan->in[0].columns;
  s.wanted = min_i64(s.wide ? plan->out[3].rows : plan->out[2].columns, s.rows);
  s.high = linalg_stride(s.rows);
  s.stride = linalg_stride(s.columns);
  s.a = memory;
  s.qv = s.a + s.rows * s.stride;
  s.qt = s.qv + s.columns * s.high;
  s.pt = s.qt + s.wanted * s.high;
  s.tau_q = s.pt + s.columns * s.stride;
  s.tau_p = s.tau_q + s.columns;
  s.scratch = s.tau_p + s.columns;
  s.d = doubles_at(s.scratch + linalg_vectors_numbers(s.rows, s.wanted, s.columns));
  s.e = s.d + s.columns;
  return s;
}

/* Moves the loaded matrix from qv to where bidiagonalize takes it; the first column stays in qv. */
MOVES static bool set_svd(const Svd *s, double scale, LinalgProgress *progress) {
  for (ptrdiff_t i = progress->at; i < s->rows; i++) {
    if (pauses_to_move(progress, i, s->columns)) return false;
    Number *row = s->a + i * s->stride;
    for (ptrdiff_t j = 0; j < s->columns; j++) {
      Number x = s->qv[i * s->columns + j];
      row[j] = scaled(s->wide ? conjugate(x) : x, scale);
    }
    s->qv[i] = row[0];
  }
  return linalg_stage_ends(progress);
}

FOR_SIZE static bool store_u(const LinalgPlan *plan, const LinalgData *data, const Svd *s,
                             LinalgProgress *progress) {
  if (!plan->wanted[2]) return linalg_stage_ends(progress);
  return store_matrix(plan, 2, data, s->wide ? s->pt : s->qt, s->wide ? s->stride : s->high, true,
                      progress);
}

FOR_SIZE static LinalgEnd run_gesdd(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum {
    LOOKS = LOADS + 1,
    FILLS,
    SCALES = FILLS + 3,
    REDUCES,
    FORMS_Q,
    FORMS_P,
    ITERATES,
    STORES,
    CONJUGATES
  };
  Svd s = svd_in(plan, memory);
  Number *adjoint = s.wide ? s.qt : s.pt; /* rows: V's columns */
  ptrdiff_t next = s.wide ? s.high : s.stride;
  double *largest = &progress->kept;
  Largest of = {s.qv, largest}; /* loaded into qv, which is not needed yet */
  if ((progress->stage == LOADS &&
       !load_matrix(plan, 0, data, s.qv, s.columns, s.wide, progress)) ||
      (progress->stage == LOOKS &&
       !linalg_some_by_some(s.rows * s.columns, look_at_some, &of, progress))) {
    return LINALG_PAUSED;
  }
  bool is_finite = *largest - *largest == 0;
  double scale = is_finite ? scale_for(*largest) : 1;
  for (int k = progress->stage - FILLS; k >= 0 && k < 3; k++) {
    int result = k + (k > 0); /* values; vectors */
    if (k > 0 && is_finite && plan->wanted[result]) {
      linalg_stage_ends(progress);
    } else if (!fill(plan, result, data, k == 0 || is_finite ? 0 : NAN, progress)) {
      return LINALG_PAUSED;
    }
  }
  if (!is_finite) {
    put_info(data, 4, 0);
    for (ptrdiff_t i = 0; i < s.columns; i++) put_real(plan, data->out[1], i, NAN);
    return LINALG_DONE;
  }
  if (progress->stage == SCALES && !set_svd(&s, scale, progress)) return LINALG_PAUSED;
  if (progress->stage == REDUCES) {
    if (!bidiagonalize(s.a, s.rows, s.columns, s.stride, s.qv, s.high, s.d, s.e, s.tau_q, s.tau_p,
                       s.scratch, progress)) {
      return LINALG_PAUSED;
    }
  }
  if (progress->stage == FORMS_Q && !s.wants_q) linalg_stage_ends(progress);
  if (progress->stage == FORMS_Q && !form_q(s.qv, s.high, s.tau_q, s.columns, 0, s.rows, s.qt,
                                            s.wanted, s.high, s.scratch, progress)) {
    return LINALG_PAUSED;
  }
  if (progress->stage == FORMS_P && !s.wants_p) linalg_stage_ends(progress);
  if (progress->stage == FORMS_P && !form_q(s.a, s.stride, s.tau_p, s.columns - 1, 1, s.columns,
                                            s.pt, s.columns, s.stride, s.scratch, progress)) {
    return LINALG_PAUSED;
  }
  LinalgRows u = {s.qt, IS_NARROW, s.wants_q ? REALS * s.rows : 0, REALS * s.high};
  LinalgRows v = {s.pt, IS_NARROW, s.wants_p ? REALS * s.columns : 0, REALS * s.stride};
  if ((progress->stage == ITERATES &&
       !bidiagonal_values(s.d, s.e, s.columns, u, v, doubles_at(s.scratch), progress)) ||
      (progress->stage == STORES && !store_u(plan, data, &s, progress)) ||
      (progress->stage == CONJUGATES &&
       !conjugates(adjoint, plan->wanted[3] ? plan->out[3].rows * next : 0, progress)) ||
      (plan->wanted[3] && !store_matrix(plan, 3, data, adjoint, next, false, progress))) {
    return LINALG_PAUSED;
  }
  put_info(data, 4, progress->info);
  for (ptrdiff_t i = 0; i < s.columns; i++) put_real(plan, data->out[1], i, s.d[i] / scale);
  return LINALG_DONE;
}

#if !IS_NARROW
#include "kernels/linalg/linalg_reduce.h"

#include "kernels/linalg/linalg_general.h"
#endif

LinalgEnd NAMED(linalg_run)(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                            LinalgProgress *progress) {
  static LinalgEnd (*const routines[LINALG_ROUTINES])(const LinalgPlan *, const LinalgData *,
                                                      Number *, LinalgProgress *) = {
      [LINALG_CHOLESKY] = run_cholesky, [LINALG_TRIANGULAR_SOLVE] = run_triangular,
      [LINALG_POTRF] = run_cholesky,    [LINALG_TRSM] = run_triangular,
      [LINALG_GETRF] = run_getrf,       [LINALG_GEQRF] = run_geqrf,
      [LINALG_ORGQR] = run_orgqr,       [LINALG_SYEVD] = run_syevd,
      [LINALG_GESDD] = run_gesdd,
#if !IS_NARROW
      [LINALG_ORMQR] = run_ormqr,       [LINALG_GEQP3] = run_geqp3,
      [LINALG_SYTRD] = run_sytrd,       [LINALG_GEHRD] = run_gehrd,
      [LINALG_GEES] = run_general,      [LINALG_GEEV] = run_general,
#endif
  };
  return routines[plan->routine](plan, data, memory, progress);
}
