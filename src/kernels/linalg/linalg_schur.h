/*
** Computes the Schur form of a general matrix, A = Z T Z^H, for one kind of number. linalg_routines.h includes it.
** Golub and Van Loan, Matrix Computations, 7.4 and 7.5.
**
** The order of the eigenvalues is LAPACK's. So balancing, shifts, the test for zero and the standard form of 2x2 blocks
** follow its gebal and lahqr (its hseqr calls lahqr up to 75 rows).
**
** The reflectors of a step are made in a window about the diagonal. The rest of T and Z take them a window at a time:
** a strip of columns (or rows) passes through all of the window's reflectors in registers.
*/

enum {
  SPAN = IS_COMPLEX ? 2 : 3, /* rows of a reflector */
  LINES = 4,
  STRIP = LINES * WIDTH, /* columns, or rows */
  WINDOW = 16,
  SHIFTS_UNTIL_ODD = 10,
  STEPS_EACH = 30,
};

/* Returns the row stride in numbers: whole strips, with at least one spare column. Matrices have a spare row, too,
** since reflectors of two rows are applied as reflectors of three. */
static FOR_SIZE ptrdiff_t schur_stride(ptrdiff_t n) {
  return (n + 16) / 16 * 16 + (n < 64 ? 0 : 8);
}

typedef struct Schur {
  ptrdiff_t n, stride, low, high; /* low, high: first and last row after balancing */
  Number *t, *z;                  /* z: the rows of Z^H */
  bool wants_t, wants_z;
  double epsilon;
} Schur;

static inline Number *at(const Schur *s, ptrdiff_t i, ptrdiff_t j) {
  return &s->t[i * s->stride + j];
}
static inline double size_at(const Schur *s, ptrdiff_t i, ptrdiff_t j) {
  return size_of(*at(s, i, j));
}

#if IS_COMPLEX
/* Complex numbers for scalar work; products skip C's checks for infinities and NaN. */
typedef double complex Wide;

static FOR_SIZE Wide times_wide(Wide x, Wide y) {
  return __builtin_complex(creal(x) * creal(y) - cimag(x) * cimag(y),
                           creal(x) * cimag(y) + cimag(x) * creal(y));
}

static FOR_SIZE Wide over_wide(Wide x, Wide y) {
  double by = 1 / fmax(fabs(creal(y)), fabs(cimag(y)));
  y *= by;
  return times_wide(x * by, conj(y)) / (creal(y) * creal(y) + cimag(y) * cimag(y));
}
#endif

/* --- To Hessenberg form ----------------------------------------------------------------------- */

#define ALWAYS_INLINE __attribute__((always_inline)) inline /* in files for size, too */

enum { PARTS = 4, MIN_ROWS = 64 };

/* An update of A's rows: A becomes A - v z^T - w conj(v)^T, then next_w = A next_v. next_z: partial sums of
** conj(next_v) A. */
typedef struct Sides {
  Number *a;
  ptrdiff_t stride, from, end, rows, parts; /* from, end: columns, in whole vectors */
  const Number *v, *conj_v, *z, *w, *next_v;
  Number *next_w, *next_z; /* [part][stride] */
  ptrdiff_t row, some;     /* rows [row, row + some) of each part; some is even */
} Sides;

ALWAYS_INLINE static Vector product_at(Vector x, const Number *y) {
#if IS_COMPLEX
  return product(x, factor_of(*y));
#else
  return x * load(y);
#endif
}

static inline Number sum_of(Vector v) {
#if IS_COMPLEX
  return (Number){v[0], v[1]};
#else
  Real sum = 0;
  for (int lane = 0; lane < WIDTH; lane++) sum += v[lane];
  return sum;
#endif
}

/* Updates rows i and i + 1. `single`: there is only row i, and the second one's factors are 0. */
static inline void update_two(const Sides *s, ptrdiff_t i, bool single, Number *sums) {
  Number *x = s->a + i * s->stride, *y = x + s->stride, none = number(0);
  Factor xv = factor_of(s->v[i]), xw = factor_of(s->w[i]);
  Factor yv = factor_of(s->v[i + 1]), yw = factor_of(s->w[i + 1]);
  Factor xn = factor_of(conjugate(s->next_v[i])), yn = factor_of(conjugate(s->next_v[i + 1]));
  Vector of_x = {0}, of_y = {0};
  if (single) y = x, yv = yw = yn = factor_of(none);
  for (ptrdiff_t j = s->from; j < s->end; j += WIDTH) {
    Vector z = load(s->z + j), v = load(s->conj_v + j);
    Vector p = load(x + j) - product(z, xv) - product(v, xw);
    Vector q = load(y + j) - product(z, yv) - product(v, yw);
    if (!single) store(y + j, q);
    store(x + j, p);
    of_x += product_at(p, s->next_v + j);
    of_y += product_at(q, s->next_v + j);
    store(sums + j, load(sums + j) + product(p, xn) + product(q, yn));
  }
  s->next_w[i] = sum_of(of_x);
  if (!single) s->next_w[i + 1] = sum_of(of_y);
}

static void update_sides(const void *argument, ptrdiff_t part, ptrdiff_t end) {
  const Sides *s = argument;
  for (; part < end; part++) {
    Number *sums = s->next_z + part * s->stride;
    for (ptrdiff_t j = s->from; s->row == 0 && j < s->end; j++) sums[j] = number(0);
    ptrdiff_t i = part * s->rows / s->parts + s->row;
    ptrdiff_t last = min_i64(i + s->some, (part + 1) * s->rows / s->parts);
    for (; i < last; i += 2) update_two(s, i, i + 1 == last, sums);
  }
}

/* Reduces A to Hessenberg form between rows low and high: A = Q H Q^H. The reflectors go into the rows of v, as form_q
** takes them with a shift of 1; v is zero on entry. scratch: 14 strides, zero on entry.
**
** One pass over A applies a reflector from both sides and multiplies A by the next one. The next reflector needs only
** the next column, which is updated before the pass. */
ROUTINE static bool hessenberg(Number *a, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t low,
                               ptrdiff_t high, Number *v, Number *tau, Number *scratch,
                               LinalgProgress *progress) {
  for (ptrdiff_t k = low + progress->at; k <= high; k++) {
    Number *old = scratch + k % 2 * 7 * stride, *new = scratch + (k + 1) % 2 * 7 * stride;
    Number *old_conj = old + stride, *old_w = old + 2 * stride, *old_z = old + 3 * stride;
    Number *new_conj = new + stride, *new_w = new + 2 * stride, *new_z = new + 3 * stride;
    ptrdiff_t count = high - k, rows = high + 1;
    Number *x = v + k * stride + k + 1;
    double *beta = &progress->kept;
    if (!progress->has_panel) {
      if (linalg_pauses(progress, k - low, LINALG_MOVE * (double)n)) return false;
      for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t r = k + 1 + i;
        Number left = times(old[r], old_z[k]), right = times(old_w[r], old_conj[k]);
        x[i] = minus(minus(a[r * stride + k], left), right);
      }
      if (count > 0) {
        tau[k] = reflector(x, count);
        *beta = real(x[0]);
        x[0] = number(1);
      }
      for (ptrdiff_t i = 0; i < stride; i++) {
        bool is_in = i > k && i <= high;
        new[i] = is_in ? x[i - k - 1] : number(0);
        new_conj[i] = conjugate(new[i]);
      }
      progress->has_panel = true;
    }
    Number factor = count > 0 ? tau[k] : number(0);
    Sides all = {.a = a, .stride = stride, .from = k / WIDTH * WIDTH, .rows = rows};
    all.end = round_up(n, WIDTH);
    all.v = old, all.conj_v = old_conj, all.z = old_z, all.w = old_w;
    all.next_v = new, all.next_w = new_w, all.next_z = new_z;
    ptrdiff_t parts = all.parts = high < MIN_ROWS ? 1 : PARTS;
    double of_row = 8.0 * (double)(n - k);
    all.some = max_i64((ptrdiff_t)(TURN / (of_row * (double)parts)) & -2, 2);
    for (; progress->lines <= rows / parts; progress->lines += all.some) {
      double work = of_row * (double)min_i64(n, all.some * parts);
      if (linalg_pauses(progress, k - low, work)) return false;
      all.row = progress->lines;
      linalg_share(progress, parts, 1, work, update_sides, &all);
    }
    progress->lines = 0;
    progress->has_panel = false;
    if (count == 0) break;
    a[(k + 1) * stride + k] = number(*beta);
    for (ptrdiff_t i = k + 2; i <= high; i++) a[i * stride + k] = number(0);
    for (ptrdiff_t j = k; j < n; j++) {
      Number sum = new_z[j];
      for (ptrdiff_t p = 1; p < parts; p++) sum = plus(sum, new_z[p * stride + j]);
      new_z[j] = j > k ? times(conjugate(factor), sum) : number(0);
    }
    Number inner_product = number(0);
    for (ptrdiff_t i = 0; i < rows; i++) {
      new_w[i] = times(factor, new_w[i]);
      inner_product = plus(inner_product, times(new_conj[i], new_w[i]));
    }
    inner_product = times(conjugate(factor), inner_product);
    for (ptrdiff_t i = k + 1; i < rows; i++) {
      new_w[i] = minus(new_w[i], times(inner_product, new[i]));
    }
  }
  return linalg_stage_ends(progress);
}

/* --- Reflectors of a step --------------------------------------------------------------------- */

/* A reflector I - tau v v^H with v[0] = 1. */
typedef struct Turn {
#if IS_COMPLEX
  Number tau, v;
  double tau_v; /* real, since subdiagonals are */
#else
  Number v[SPAN], tau_v[SPAN];
#endif
} Turn;

static FOR_SIZE Turn turn_of(Number *x, ptrdiff_t count) {
  Turn t = {0};
#if IS_COMPLEX
  t.tau = reflector(x, count);
  t.v = x[1];
  t.tau_v = times(t.tau, t.v).re;
#else
  Number tau = reflector(x, count);
  for (ptrdiff_t i = 0; i < count; i++) {
    t.v[i] = i > 0 ? x[i] : 1;
    t.tau_v[i] = tau * t.v[i];
  }
#endif
  return t;
}

/* Applies a reflector to `count` places of rows (from the right: columns) x, x + across, ... */
static void turn_few(const Turn *t, Number *x, ptrdiff_t across, ptrdiff_t along, ptrdiff_t count,
                     bool right) {
  for (ptrdiff_t i = 0; i < count; i++, x += along) {
#if IS_COMPLEX
    Number sum = times(right ? t->tau : conjugate(t->tau), x[0]);
    sum = plus(sum, scaled(x[across], t->tau_v));
    x[0] = minus(x[0], sum);
    x[across] = minus(x[across], times(sum, right ? conjugate(t->v) : t->v));
#else
    Number sum = x[0] + t->v[1] * x[across] + t->v[2] * x[2 * across];
    x[0] -= sum * t->tau_v[0];
    x[across] -= sum * t->tau_v[1];
    x[2 * across] -= sum * t->tau_v[2];
#endif
  }
}

typedef struct TurnFactors {
#if IS_COMPLEX
  Factor tau, v;
  Vector tau_v;
#else
  Factor v[SPAN], tau_v[SPAN];
#endif
} TurnFactors;

ALWAYS_INLINE static TurnFactors factors_of(const Turn *t, bool right) {
  TurnFactors f;
#if IS_COMPLEX
  f.tau = factor_of(right ? t->tau : conjugate(t->tau));
  f.v = factor_of(right ? conjugate(t->v) : t->v);
  f.tau_v = (Vector){t->tau_v, t->tau_v};
#else
#pragma unroll
  for (int i = 0; i < SPAN; i++) {
    f.v[i] = factor_of(t->v[i]);
    f.tau_v[i] = factor_of(t->tau_v[i]);
  }
#endif
  return f;
}

ALWAYS_INLINE static void turn_lines(Vector (*x)[LINES], const TurnFactors *f) {
#pragma unroll
  for (int l = 0; l < LINES; l++) {
#if IS_COMPLEX
    Vector sum = product(x[0][l], f->tau) + x[1][l] * f->tau_v;
    x[0][l] -= sum;
    x[1][l] -= product(sum, f->v);
#else
    Vector sum = x[0][l] + x[1][l] * f->v[1] + x[2][l] * f->v[2];
    x[0][l] -= sum * f->tau_v[0];
    x[1][l] -= sum * f->tau_v[1];
    x[2][l] -= sum * f->tau_v[2];
#endif
  }
}

/* Loads a vector of a row; from the right, of a column. */
ALWAYS_INLINE static Vector line_at(const Number *x, ptrdiff_t stride, bool right) {
#if !IS_COMPLEX
  Vector v;
#pragma unroll
  for (int lane = 0; right && lane < WIDTH; lane++) v[lane] = x[lane * stride];
  if (right) return v;
#endif
  return load(x);
}

ALWAYS_INLINE static void put_line(Number *x, ptrdiff_t stride, bool right, Vector v) {
#if !IS_COMPLEX
#pragma unroll
  for (int lane = 0; right && lane < WIDTH; lane++) x[lane * stride] = v[lane];
  if (right) return;
#endif
  store(x, v);
}

/* Applies consecutive reflectors to a strip of columns; from the right, to a strip of rows. */
ALWAYS_INLINE static void turn_strip(const Turn *turns, ptrdiff_t count, Number *x,
                                     ptrdiff_t stride, bool right) {
  ptrdiff_t across = right ? 1 : stride, along = right ? stride * WIDTH : WIDTH;
  Vector v[SPAN][LINES];
#pragma unroll
  for (int i = 0; i + 1 < SPAN; i++) {
#pragma unroll
    for (int l = 0; l < LINES; l++) v[i][l] = line_at(x + i * across + l * along, stride, right);
  }
  for (ptrdiff_t k = 0; k < count; k++, x += across) {
    Number *last = x + (SPAN - 1) * across;
#pragma unroll
    for (int l = 0; l < LINES; l++) v[SPAN - 1][l] = line_at(last + l * along, stride, right);
    TurnFactors f = factors_of(&turns[k], right);
    turn_lines(v, &f);
#pragma unroll
    for (int l = 0; l < LINES; l++) {
      put_line(x + l * along, stride, right, v[0][l]);
#pragma unroll
      for (int i = 0; i + 1 < SPAN; i++) v[i][l] = v[i + 1][l];
    }
  }
#pragma unroll
  for (int i = 0; i + 1 < SPAN; i++) {
#pragma unroll
    for (int l = 0; l < LINES; l++) put_line(x + i * across + l * along, stride, right, v[i][l]);
  }
}

/* The parts of T and Z that a window's reflectors are not yet applied to: T's columns after the window, Z^H's columns,
** T's rows above. */
typedef struct Beside {
  const Schur *s;
  Turn turns[WINDOW];
  ptrdiff_t count, first; /* number of reflectors; row of the first one */
  ptrdiff_t begin, trailing, of_z,
      top; /* first column after the window; strips after it; strips of z; first row */
} Beside;

static void turn_beside(const void *argument, ptrdiff_t unit, ptrdiff_t end) {
  const Beside *b = argument;
  const Schur *s = b->s;
  for (; unit < end; unit++) {
    ptrdiff_t column = unit - b->trailing, row = b->top + (column - b->of_z) * STRIP;
    if (column < b->of_z) {
      Number *x = column < 0 ? at(s, b->first, b->begin + unit * STRIP)
                             : s->z + b->first * s->stride + column * STRIP;
      turn_strip(b->turns, b->count, x, s->stride, false);
    } else if (row + STRIP <= b->first) {
      turn_strip(b->turns, b->count, at(s, row, b->first), s->stride, true);
    } else {
      for (ptrdiff_t k = 0; k < b->count; k++) {
        turn_few(&b->turns[k], at(s, row, b->first + k), 1, s->stride, b->first - row, true);
      }
    }
  }
}

static FOR_SIZE ptrdiff_t strips(ptrdiff_t count) {
  return count > 0 ? divide_up(count, STRIP) : 0;
}

/* --- One step --------------------------------------------------------------------------------- */

/* The active block, rows [low, high], and the part of T that its reflectors reach: rows from top, columns up to end. */
typedef struct Active {
  ptrdiff_t low, high, top, end;
} Active;

static FOR_SIZE void begin_window(const Schur *s, const Active *a, ptrdiff_t k, Beside *b) {
  b->count = 0;
  b->first = k;
  b->begin = min_i64(round_up(k + WINDOW + SPAN, STRIP), a->end);
}

static FOR_SIZE void end_window(const Schur *s, const Active *a, Beside *b,
                                const LinalgProgress *progress) {
  b->trailing = strips(a->end - b->begin);
  b->of_z = s->wants_z ? strips(s->n) : 0;
  b->top = a->top;
  ptrdiff_t units = b->trailing + b->of_z + strips(b->first - a->top);
  double work = 12.0 * STRIP * (double)b->count * (double)units;
  linalg_share(progress, units, 1, work, turn_beside, b);
}

#if IS_COMPLEX
/* Multiplies row j of T and of Z^H by a number of length 1, and column j of T by its conjugate. */
static FOR_SIZE void scale_phase(const Schur *s, const Active *a, ptrdiff_t j, Number by) {
  for (ptrdiff_t i = j + 1; i < a->end; i++) *at(s, j, i) = times(*at(s, j, i), by);
  for (ptrdiff_t i = a->top; i < j; i++) *at(s, i, j) = times(*at(s, i, j), conjugate(by));
  Number *z = s->z + j * s->stride;
  for (ptrdiff_t i = 0; s->wants_z && i < s->n; i++) z[i] = times(z[i], by);
}
static FOR_SIZE Number phase_of(Number x) { return scaled(x, 1 / length_of(x)); }
#endif

/* Chases the bulge down the diagonal from row m on. x: the bulge's first column. */
static FOR_SIZE void step(const Schur *s, const Active *a, ptrdiff_t m, Number *x,
                          const LinalgProgress *progress) {
  Beside b = {.s = s};
  begin_window(s, a, m, &b);
  for (ptrdiff_t k = m; k < a->high; k++) {
    ptrdiff_t count = min_i64(SPAN, a->high - k + 1);
    for (ptrdiff_t i = 0; k > m && i < count; i++) x[i] = *at(s, k + i, k - 1);
    Turn *t = &b.turns[b.count++];
    *t = turn_of(x, count);
    for (ptrdiff_t i = 0; k > m && i < count; i++) *at(s, k + i, k - 1) = i > 0 ? number(0) : x[0];
#if !IS_COMPLEX
    if (k == m && m > a->low) *at(s, k, k - 1) *= 1 - t->tau_v[0];
#endif
    turn_few(t, at(s, k, k), s->stride, 1, b.begin - k, false);
    turn_few(t, at(s, b.first, k), 1, s->stride, min_i64(k + SPAN, a->high) + 1 - b.first, true);
    bool rescales = IS_COMPLEX && k == m && m > a->low;
    if (b.count < WINDOW && k + 1 < a->high && !rescales) continue;
    end_window(s, a, &b, progress);
#if IS_COMPLEX
    if (rescales) { /* keeps subdiagonals real */
      Number by = phase_of(minus(number(1), t->tau));
      *at(s, m + 1, m) = times(*at(s, m + 1, m), conjugate(by));
      if (m + 2 <= a->high) *at(s, m + 2, m + 1) = times(*at(s, m + 2, m + 1), by);
      for (ptrdiff_t j = m; j <= a->high; j++) {
        if (j != m + 1) scale_phase(s, a, j, by);
      }
    }
#endif
    begin_window(s, a, k + 1, &b);
  }
#if IS_COMPLEX
  Number *last = at(s, a->high, a->high - 1);
  if (last->im != 0) {
    Number by = phase_of(*last);
    *last = number(length_of(*last));
    scale_phase(s, a, a->high, conjugate(by));
  }
#endif
}

/* --- Shifts ----------------------------------------------------------------------------------- */

enum {
  USUAL,
  AT_THE_END,
  AT_THE_START
}; /* the usual shift, or an exceptional one from either end */

#if IS_COMPLEX
static Wide wide(Number x) { return __builtin_complex(x.re, x.im); }
static Number narrow(Wide x) { return (Number){creal(x), cimag(x)}; }

/* Returns the shift: the eigenvalue of the last 2x2 block that is nearer to its last entry. */
static FOR_SIZE Wide shift_of(const Schur *s, const Active *a, int kind) {
  ptrdiff_t i = kind == AT_THE_START ? a->low : a->high, below = i + (kind == AT_THE_START);
  if (kind != USUAL) return wide(*at(s, i, i)) + 0.75 * size_at(s, below, below - 1);
  Wide t = wide(*at(s, i, i));
  Wide u = times_wide(csqrt(wide(*at(s, i - 1, i))), csqrt(wide(*at(s, i, i - 1))));
  Wide x = 0.5 * (wide(*at(s, i - 1, i - 1)) - t);
  double size = fmax(size_of(narrow(u)), size_of(narrow(x)));
  if (size_of(narrow(u)) == 0) return t;
  Wide p = x / size, q = u / size, y = size * csqrt(times_wide(p, p) + times_wide(q, q));
  if (creal(x) * creal(y) + cimag(x) * cimag(y) < 0) y = -y;
  return t - times_wide(u, over_wide(u, x + y));
}

/* Returns the row where a step begins, at two small subdiagonals. v: the step's first column. */
static FOR_SIZE ptrdiff_t step_start(const Schur *s, const Active *a, int kind, Number *v) {
  Number shift = narrow(shift_of(s, a, kind));
  for (ptrdiff_t m = a->high - 1;; m--) {
    Number x = minus(*at(s, m, m), shift), y = number(at(s, m + 1, m)->re);
    double size = size_of(x) + size_of(y);
    v[0] = scaled(x, 1 / size);
    v[1] = scaled(y, 1 / size);
    if (m == a->low) return m;
    double diagonal = size_at(s, m, m) + size_at(s, m + 1, m + 1);
    if (size_at(s, m, m - 1) * size_of(v[1]) <= s->epsilon * size_of(v[0]) * diagonal) return m;
  }
}
#else
typedef struct Shifts {
  double re[2], im; /* and -im */
} Shifts;

/* Returns the eigenvalues of the last 2x2 block; if they are real, twice the one that is nearer to its last entry. */
static FOR_SIZE Shifts shifts_of(const Schur *s, const Active *a, int kind) {
  ptrdiff_t i = kind == AT_THE_START ? a->low : a->high;
  double h11, h12, h21, h22;
  if (kind == USUAL) {
    h11 = *at(s, i - 1, i - 1), h12 = *at(s, i - 1, i), h21 = *at(s, i, i - 1), h22 = *at(s, i, i);
  } else {
    ptrdiff_t below = i + (kind == AT_THE_START ? 2 : 0);
    double size = size_at(s, below, below - 1) + size_at(s, below - 1, below - 2);
    h11 = h22 = 0.75 * size + *at(s, i, i), h12 = -0.4375 * size, h21 = size;
  }
  double size = fabs(h11) + fabs(h12) + fabs(h21) + fabs(h22);
  if (size == 0) return (Shifts){{0, 0}, 0};
  h11 /= size, h12 /= size, h21 /= size, h22 /= size;
  double half = (h11 + h22) / 2, d = (h11 - half) * (h22 - half) - h12 * h21, root = sqrt(fabs(d));
  if (d >= 0) return (Shifts){{half * size, half * size}, root * size};
  double x = fabs(half + root - h22) <= fabs(half - root - h22) ? half + root : half - root;
  return (Shifts){{x * size, x * size}, 0};
}

static FOR_SIZE ptrdiff_t step_start(const Schur *s, const Active *a, int kind, Number *v) {
  Shifts shifts = shifts_of(s, a, kind);
  for (ptrdiff_t m = a->high - 2;; m--) {
    double h = *at(s, m, m), from = h - shifts.re[0], from_other = h - shifts.re[1];
    double below = *at(s, m + 1, m), h22 = *at(s, m + 1, m + 1);
    double size = fabs(from_other) + fabs(shifts.im) + fabs(below);
    below /= size;
    double x =
        below * *at(s, m, m + 1) + from * (from_other / size) + shifts.im * (shifts.im / size);
    double y = below * (h + h22 - shifts.re[0] - shifts.re[1]), z = below * *at(s, m + 2, m + 1);
    size = fabs(x) + fabs(y) + fabs(z);
    x /= size, y /= size, z /= size;
    v[0] = (Number)x, v[1] = (Number)y, v[2] = (Number)z;
    if (m == a->low) return m;
    double diagonal = size_at(s, m - 1, m - 1) + fabs(h) + fabs(h22);
    if (size_at(s, m, m - 1) * (fabs(y) + fabs(z)) <= s->epsilon * fabs(x) * diagonal) return m;
  }
}

/* --- Blocks of two ---------------------------------------------------------------------------- */

static FOR_SIZE void rotate_lines(Number *x, Number *y, ptrdiff_t step, ptrdiff_t count, double c,
                                  double sine) {
  for (ptrdiff_t i = 0; i < count; i++, x += step, y += step) {
    Number p = *x, q = *y;
    *x = (Number)(c * p + sine * q);
    *y = (Number)(c * q - sine * p);
  }
}

/* Rotates a 2x2 block to its standard form, as LAPACK's lanv2: triangular if its eigenvalues are real, else with equal
** diagonals and off-diagonals of opposite signs. x: a, b, c, d. Returns the rotation's cosine and sine. */
static FOR_SIZE void standard_form(double *x, double epsilon, double *cosine, double *sine) {
  double a = x[0], b = x[1], c = x[2], d = x[3], cs = 1, sn = 0;
  if (c == 0) {
  } else if (b == 0) {
    cs = 0, sn = 1;
    x[0] = d, x[1] = -c, x[2] = 0, x[3] = a;
  } else if (a != d || signbit(b) == signbit(c)) {
    double p = 0.5 * (a - d), large = fmax(fabs(b), fabs(c));
    double small = copysign(fmin(fabs(b), fabs(c)), b) * copysign(1, c);
    double scale = fmax(fabs(p), large), z = p / scale * p + large / scale * small;
    if (z >= 4 * epsilon) {
      z = p + copysign(sqrt(scale) * sqrt(z), p);
      double length = hypot(c, z);
      cs = z / length, sn = c / length;
      x[0] = d + z, x[1] = b - c, x[2] = 0, x[3] = d - large / z * small;
    } else { /* complex, or nearly equal: equal diagonals */
      double sigma = b + c, length = hypot(sigma, a - d);
      cs = sqrt(0.5 * (1 + fabs(sigma) / length));
      sn = -(p / (length * cs)) * copysign(1, sigma);
      double aa = a * cs + b * sn, bb = b * cs - a * sn, cc = c * cs + d * sn, dd = d * cs - c * sn;
      b = bb * cs + dd * sn, c = cc * cs - aa * sn;
      double mean = 0.5 * (aa * cs + cc * sn + dd * cs - bb * sn);
      x[0] = x[3] = mean, x[1] = b, x[2] = c;
      if (c != 0 && b == 0) {
        double other = cs;
        x[1] = -c, x[2] = 0, cs = -sn, sn = other;
      } else if (c != 0 && signbit(b) == signbit(c)) {
        double root_b = sqrt(fabs(b)), root_c = sqrt(fabs(c)), by = 1 / sqrt(fabs(b + c));
        double far = copysign(root_b * root_c, c), c1 = root_b * by, s1 = root_c * by, other = cs;
        x[0] = mean + far, x[1] = b - c, x[2] = 0, x[3] = mean - far;
        cs = cs * c1 - sn * s1, sn = other * s1 + sn * c1;
      }
    }
  }
  *cosine = cs, *sine = sn;
}

/* Brings the block at rows and columns k and k + 1 to its standard form. */
static FOR_SIZE void standardize(const Schur *s, const Active *a, ptrdiff_t k) {
  Number *p = at(s, k, k), *q = p + s->stride;
  double x[4] = {p[0], p[1], q[0], q[1]}, c, sine;
  standard_form(x, s->epsilon, &c, &sine);
  p[0] = (Number)x[0], p[1] = (Number)x[1], q[0] = (Number)x[2], q[1] = (Number)x[3];
  rotate_lines(p + 2, q + 2, 1, a->end - k - 2, c, sine);
  rotate_lines(at(s, a->top, k), at(s, a->top, k + 1), s->stride, k - a->top, c, sine);
  Number *z = s->z + k * s->stride;
  if (s->wants_z) rotate_lines(z, z + s->stride, 1, s->n, c, sine);
}
#endif

/* --- The iteration ---------------------------------------------------------------------------- */

/* Returns whether the subdiagonal in column k - 1 may be set to zero (Ahues and Tisseur's test). */
static FOR_SIZE bool is_negligible(const Schur *s, ptrdiff_t k, double smallest) {
  double below = size_at(s, k, k - 1), above = size_at(s, k - 1, k);
  double here = size_at(s, k, k), before = size_at(s, k - 1, k - 1), sum = here + before;
  if (below <= smallest) return true;
  if (sum == 0) {
    if (k - 2 >= s->low) sum += size_at(s, k - 1, k - 2);
    if (k + 1 <= s->high) sum += size_at(s, k + 1, k);
  }
  if (below > s->epsilon * sum) return false;
  double apart = size_of(minus(*at(s, k - 1, k - 1), *at(s, k, k)));
  double ab = fmax(below, above), ba = fmin(below, above);
  double aa = fmax(here, apart), bb = fmin(here, apart), all = aa + ab;
  return ba * (ab / all) <= fmax(smallest, s->epsilon * (bb * (aa / all)));
}

/* Computes the Schur form from the Hessenberg form: a stage. progress->at: rows from the end that are done; lines:
** steps spent on the next one. info: 0, or if the iteration fails, the last row (from 1) without an eigenvalue. */
static FOR_SIZE bool schur(const Schur *s, LinalgProgress *progress) {
  ptrdiff_t rows = s->high - s->low + 1;
  double smallest = (IS_NARROW ? FLT_MIN : DBL_MIN) * ((double)rows / s->epsilon);
  for (ptrdiff_t high = s->high - progress->at; high >= s->low;) {
    ptrdiff_t low = high;
    while (low > s->low && !is_negligible(s, low, smallest)) low--;
    if (low > s->low) *at(s, low, low - 1) = number(0);
    Active a = {low, high, s->wants_t ? 0 : low, s->wants_t ? s->n : high + 1};
    if (high - low < SPAN - 1) {
#if !IS_COMPLEX
      if (low < high) standardize(s, &a, low);
#endif
      high = low - 1;
      progress->lines = 0;
      continue;
    }
    double size = (double)(high - low),
           work = 12 * size * (double)(s->wants_t ? 2 * s->n : high - low);
    if (linalg_pauses(progress, s->high - high, work)) return false;
    if (++progress->lines > STEPS_EACH * max_i64(10, rows)) {
      progress->info = high + 1;
      break;
    }
    int kind = progress->lines % (2 * SHIFTS_UNTIL_ODD) == 0 ? AT_THE_END
               : progress->lines % SHIFTS_UNTIL_ODD == 0     ? AT_THE_START
                                                             : USUAL;
    Number v[SPAN];
    ptrdiff_t m = step_start(s, &a, kind, v);
    step(s, &a, m, v, progress);
  }
  progress->lines = 0;
  return linalg_stage_ends(progress);
}
