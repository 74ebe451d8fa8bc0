/*
** Factorisations for one kind of number (Cholesky, LU, QR, tridiagonal, bidiagonal). Included once for each kind.
** They work on blocks of columns, so that most of the work is matrix products. A function that takes a
** LinalgProgress is a stage of a routine; it returns false if it continues in another turn.
*/
#include "kernels/linalg/linalg_reflector.h"

enum {
  BLOCK = LINALG_BLOCK,
  SMALL = 96,          /* matrices up to this size: one reflector at a time is cheaper */
  MIN_LINES = BLOCK,   /* min columns per thread, in LU and QR */
  ROWS_TOGETHER = 240, /* a multiple of the rows in a block of a product */
  LU_SMALL = 400,
};

/*
** Returns whether to look ahead. With look-ahead, the thread that updates the columns of the next panel factors it at
** once, while other threads update the remaining columns; no thread waits for a panel. A long panel is excluded, since
** factoring ahead cannot pause.
** Measured with two threads, n = 512: LU 1.2x to 1.35x (without look-ahead 1.06x to 1.2x), QR 1.45x (1.4x), Cholesky
** 1.3x to 1.4x (1.0x to 1.35x). n = 1024, f64: 1.65x, 1.6x and 1.5x.
*/
static bool looks_ahead(double panel_work) { return 4 * panel_work < LINALG_TURN; }

/* --- Triangular systems ----------------------------------------------------------------------- */

/* Computes the block of rows from k on of X = T^-1 X, for a lower triangular T; the rows above are done.
** X: [n][columns]. unit: T's diagonal is taken as ones. */
static void solve_block(const Number *t, ptrdiff_t n, ptrdiff_t t_stride, bool unit, Number *x,
                        ptrdiff_t columns, ptrdiff_t x_stride, ptrdiff_t k) {
  ptrdiff_t end = min_i64(k + BLOCK, n);
  Number *block = x + k * x_stride;
  subtract_product(end - k, columns, (Left){t + k * t_stride, t_stride, 1}, k, x, x_stride, block,
                   x_stride);
  for (ptrdiff_t i = k; i < end; i += BLOCK_ROWS) {
    ptrdiff_t rows = min_i64(BLOCK_ROWS, end - i);
    subtract_product(rows, columns, (Left){t + i * t_stride + k, t_stride, 1}, i - k, block,
                     x_stride, x + i * x_stride, x_stride);
    for (ptrdiff_t r = i; r < i + rows; r++) {
      Number *row = x + r * x_stride;
      for (ptrdiff_t l = i; l < r; l++) {
        subtract_row(row, t[r * t_stride + l], x + l * x_stride, columns);
      }
      Number pivot = t[r * t_stride + r];
      for (ptrdiff_t l = 0; !unit && l < columns; l++) row[l] = over(row[l], pivot);
    }
  }
}

/* Computes rows [first, end) of X = T^-1 X; the rows above are done. first: a multiple of BLOCK. */
__attribute__((noinline)) static void solve_lower(const Number *t, ptrdiff_t first, ptrdiff_t end,
                                                  ptrdiff_t t_stride, bool unit, Number *x,
                                                  ptrdiff_t columns, ptrdiff_t x_stride) {
  for (ptrdiff_t k = first; k < end; k += BLOCK) {
    solve_block(t, end, t_stride, unit, x, columns, x_stride, k);
  }
}

/* Solves T x = b for a few vectors at once, in turns. x: [vector][n]. */
static bool solve_vectors(const Number *t, ptrdiff_t n, bool unit, Number *x, ptrdiff_t vectors,
                          LinalgProgress *progress) {
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (linalg_pauses(progress, i, LINALG_MOVE * (double)i)) return false;
    const Number *row = t + i * n;
    for (ptrdiff_t v = 0; v < vectors; v++) {
      Number *y = x + v * n;
      y[i] = minus(y[i], inner(row, y, i, false));
      if (!unit) y[i] = over(y[i], row[i]);
    }
  }
  return linalg_stage_ends(progress);
}

/* --- Cholesky --------------------------------------------------------------------------------- */

/* Factors the diagonal block of `size` rows at a. Returns the first row (from 1) without a positive pivot, or 0. An
** infinite pivot is positive: LAPACK and XLA go on after it. */
static ptrdiff_t cholesky_block(Number *a, ptrdiff_t size, ptrdiff_t stride) {
  for (ptrdiff_t i = 0; i < size; i++) {
    Number *row = a + i * stride;
    for (ptrdiff_t j = 0; j < i; j++) {
      const Number *above = a + j * stride;
      Number sum = minus(row[j], short_inner(above, row, j, true));
      row[j] = scaled(sum, 1 / real(above[j]));
    }
    double pivot = real(row[i]) - real(short_inner(row, row, i, true));
    row[i] = number(pivot > 0 ? sqrt(pivot) : pivot);
    if (!(pivot > 0)) return i + 1;
  }
  return 0;
}

typedef struct Below {
  Number *a;
  ptrdiff_t n, stride, k, size;
  Number *y[2]; /* Y of this block of columns, and of the next one */
  bool ahead;
  ptrdiff_t *stopped;
} Below;

/* Factors the block of columns at k: the diagonal block L11, then the block A21 below it, by solving with L11 for
** Y = conj(A21)^T. Returns the first column (from 1) without a positive pivot, or 0. */
static ptrdiff_t cholesky_panel(Number *a, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t k, Number *y) {
  ptrdiff_t size = min_i64(BLOCK, n - k), rest = n - k - size;
  Number *block = a + k * stride + k, *below = block + size * stride;
  ptrdiff_t stopped = cholesky_block(block, size, stride);
  if (stopped) return k + stopped;
  for (ptrdiff_t i = 0; i < rest; i++) {
    for (ptrdiff_t j = 0; j < size; j++) y[j * rest + i] = conjugate(below[i * stride + j]);
  }
  solve_lower(block, 0, size, stride, false, y, rest, rest);
  for (ptrdiff_t i = 0; i < rest; i++) {
    for (ptrdiff_t j = 0; j < size; j++) below[i * stride + j] = conjugate(y[j * rest + i]);
  }
  return 0;
}

/* Subtracts L21 Y from A22, in blocks of rows. With look-ahead, the call for the first block starts by updating and
** factoring the next block of columns. */
static void update_below(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const Below *b = argument;
  ptrdiff_t next = b->k + b->size, rest = b->n - next, skips = b->ahead ? min_i64(BLOCK, rest) : 0;
  Number *at = b->a + next * b->stride + b->k;
  if (first == 0 && b->ahead) {
    subtract_product(rest, skips, (Left){at, b->stride, 1}, b->size, b->y[0], rest, at + b->size,
                     b->stride);
    *b->stopped = cholesky_panel(b->a, b->n, b->stride, next, b->y[1]);
  }
  for (ptrdiff_t i = first * BLOCK; i < min_i64(end * BLOCK, rest); i += BLOCK) {
    ptrdiff_t rows = min_i64(BLOCK, rest - i);
    Number *row = at + i * b->stride;
    subtract_product(rows, i + rows - skips, (Left){row, b->stride, 1}, b->size, b->y[0] + skips,
                     rest, row + b->size + skips, b->stride);
  }
}

/* Factors A = L L^H in place, in the lower triangle. info: the first column (from 1) whose pivot is not positive, or 0.
** The factorisation stops there and leaves the pivot on the diagonal. scratch: 2 BLOCK n. */
ROUTINE static bool cholesky(Number *a, ptrdiff_t n, ptrdiff_t stride, Number *scratch,
                             LinalgProgress *progress) {
  for (ptrdiff_t k = progress->at; k < n; k += BLOCK) {
    ptrdiff_t size = min_i64(BLOCK, n - k), rest = n - k - size, odd = k / BLOCK % 2;
    Number *y = scratch + odd * BLOCK * n, *next_y = scratch + (1 - odd) * BLOCK * n;
    bool ahead = rest > 0 && looks_ahead((double)rest * BLOCK * BLOCK);
    Below of = {a, n, stride, k, size, {y, next_y}, ahead, &progress->info};
    if (!progress->has_panel) progress->info = cholesky_panel(a, n, stride, k, y);
    if (progress->info && progress->lines == 0) break;
    progress->has_panel = true;
    if (!linalg_share_in_turns(progress, k, divide_up(rest, BLOCK), 1, (double)rest * BLOCK * BLOCK,
                               update_below, &of)) {
      return false;
    }
    progress->has_panel = ahead;
  }
  progress->has_panel = false;
  return linalg_stage_ends(progress);
}

/* --- LU --------------------------------------------------------------------------------------- */

/* Searches rows [row, end) of a column for the pivot. *pivot: the row of the largest number so far. */
static void lu_search(const Number *x, ptrdiff_t row, ptrdiff_t end, int32_t *pivot) {
  double largest = size_of(x[*pivot]);
  for (ptrdiff_t i = row; i < end; i++) {
    double size = size_of(x[i]);
    if (size > largest) largest = size, *pivot = (int32_t)i;
  }
}

typedef struct LuColumns {
  Number *a;
  ptrdiff_t stride, start, left; /* rows */
  int32_t *pivots;               /* relative to row `start` until the column is done */
  Number *panel;
  ptrdiff_t *info;
} LuColumns;

enum { LU_LOADS = -1, LU_STORES = -2 };

/* Does step k for a slice of a column's rows. LU_LOADS and LU_STORES copy it to and from the panel. k < column:
** subtracts column k's part. k = column: searches the pivot and swaps rows. k = column + 1: divides by the pivot. */
static void lu_slice(const LuColumns *p, ptrdiff_t column, ptrdiff_t k, Slice s) {
  Number *from = p->a + p->start * (p->stride + 1) + column, *x = p->panel + column * p->left;
  ptrdiff_t first = max_i64(s.row, k + 1), trailing = max_i64(s.row, column + 1);
  if (k == LU_STORES) {
    for (ptrdiff_t i = s.row; i < s.end; i++) from[i * p->stride] = x[i];
  } else if (k == LU_LOADS) {
    for (ptrdiff_t i = s.row; i < s.end; i++) x[i] = from[i * p->stride];
    for (ptrdiff_t i = 0; s.is_last && i < column; i++) {
      swap_numbers(x + i, x + p->pivots[i] - p->start, 1);
    }
  } else if (k < column) {
    const Number *before = p->panel + k * p->left;
    if (!is_zero(before[k])) subtract_row(x + first, x[k], before + first, s.end - first);
  } else if (k == column) {
    if (s.row == 0) p->pivots[column] = (int32_t)column;
    lu_search(x, trailing, s.end, &p->pivots[column]);
    if (!s.is_last) return;
    ptrdiff_t pivot = p->pivots[column];
    p->pivots[column] = (int32_t)(p->start + pivot);
    if (is_zero(x[pivot]) && !*p->info) *p->info = p->start + column + 1;
    for (ptrdiff_t i = 0; i <= column; i++) {
      swap_numbers(p->panel + i * p->left + column, p->panel + i * p->left + pivot, 1);
    }
  } else {
    Number by = x[column];
    for (ptrdiff_t i = trailing; i < s.end && !is_zero(by); i++) x[i] = over(x[i], by);
  }
}

/* Factors columns [start, end) from row `start` on; the caller swaps the rows of the other columns. In `panel` each
** column is contiguous. A column is loaded, updated by the columns before it, and divided by its pivot; at the end
** all are stored. */
static bool lu_panel(Number *a, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t start, ptrdiff_t end,
                     int32_t *pivots, Number *panel, LinalgProgress *progress) {
  ptrdiff_t width = end - start, left = rows - start, steps = width + 3, slices = slices_of(left);
  LuColumns of = {a, stride, start, left, pivots + start, panel, &progress->info};
  for (; progress->lines < width * steps + width; progress->lines++) {
    ptrdiff_t column = progress->lines / steps, k = progress->lines % steps + LU_LOADS;
    if (column == width) {
      column = progress->lines - width * steps;
      k = LU_STORES;
    }
    if (k > column + 1) continue;
    for (; progress->slice < slices; progress->slice++) {
      Slice s = slice_at(progress->slice, left, 1);
      if (linalg_pauses(progress, start, LINALG_MOVE * (double)(s.end - s.row))) return false;
      lu_slice(&of, column, k, s);
    }
    progress->slice = 0;
  }
  progress->lines = 0;
  return true;
}

/* A factored panel of columns [k, end). The next panel ends at `next` with look-ahead; otherwise next = end. */
typedef struct LuPanel {
  Number *a;
  ptrdiff_t rows, columns, stride; /* columns: those after the panel */
  ptrdiff_t k, end, next;
  int32_t *pivots;
  Number *panel; /* lu_panel's */
  ptrdiff_t *info;
} LuPanel;

static void swap_columns(const LuPanel *p, ptrdiff_t first, ptrdiff_t end) {
  for (ptrdiff_t i = p->k; i < p->end; i++) {
    swap_numbers(p->a + i * p->stride + first, p->a + p->pivots[i] * p->stride + first,
                 end - first);
  }
}

/* Swaps the rows of columns after the panel and solves for their rows of U. One thread does both, so that its columns
** stay in its cache. */
static void lu_above(const LuPanel *p, ptrdiff_t first, ptrdiff_t end) {
  ptrdiff_t at = p->end + first;
  Number *above = p->a + p->k * p->stride;
  swap_columns(p, at, p->end + end);
  solve_lower(above + p->k, 0, p->end - p->k, p->stride, true, above + at, end - first, p->stride);
}

/* Updates rows [row, last) below the panel's diagonal block, in columns [first, end) after the panel. */
static void lu_below(const LuPanel *p, ptrdiff_t first, ptrdiff_t end, ptrdiff_t row,
                     ptrdiff_t last) {
  ptrdiff_t at = p->end + first;
  Number *below = p->a + (p->end + row) * p->stride;
  subtract_product(last - row, end - first, (Left){below + p->k, p->stride, 1}, p->end - p->k,
                   p->a + p->k * p->stride + at, p->stride, below + at, p->stride);
}

static void lu_trailing(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const LuPanel *p = argument;
  lu_above(p, first, end);
  lu_below(p, first, end, 0, p->rows - p->end);
  if (first > 0 || p->next == p->end) return;
  LinalgProgress ahead = {.info = *p->info};
  lu_panel(p->a, p->rows, p->stride, p->end, p->next, p->pivots, p->panel, &ahead);
  *p->info = ahead.info;
}

static void lu_columns(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  lu_above(argument, first, end);
}

static void lu_rows(const void *argument, ptrdiff_t row, ptrdiff_t last) {
  const LuPanel *p = argument;
  lu_below(p, 0, p->columns, row, last);
}

/* Updates the columns after the panel, where MIN_LINES columns are more work than a turn: first the rows of U, then
** blocks of the rows below. */
ROUTINE static bool lu_trailing_long(const LuPanel *p, LinalgProgress *progress) {
  double width = (double)(p->end - p->k);
  if (p->columns == 0) return true;
  if (progress->vectors == 0 &&
      !linalg_share_in_turns(progress, p->k, p->columns, MIN_LINES, LINALG_MOVE * width * width,
                             lu_columns, p)) {
    return false;
  }
  progress->vectors = 1;
  if (!linalg_share_in_turns(progress, p->k, p->rows - p->end, ROWS_TOGETHER,
                             2 * width * (double)p->columns, lu_rows, p)) {
    return false;
  }
  progress->vectors = 0;
  return true;
}

/* Factors P A = L U in place; row k was swapped with row pivots[k]. info: the first column (from 1) whose pivot is 0,
** or 0. scratch: BLOCK columns of `rows` numbers. */
ROUTINE static bool lu(Number *a, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t stride,
                       int32_t *pivots, Number *scratch, LinalgProgress *progress) {
  ptrdiff_t steps = min_i64(rows, columns);
  ptrdiff_t width = steps < LU_SMALL ? BLOCK / 2 : BLOCK;
  for (ptrdiff_t k = progress->at; k < steps; k += width) {
    ptrdiff_t end = min_i64(k + width, steps), next = min_i64(end + width, steps);
    double of_column = 2.0 * (double)(rows - k) * (double)width;
    bool is_long = of_column * MIN_LINES > TURN;
    if (is_long || !looks_ahead((double)(rows - end) * BLOCK * BLOCK / 2 * LINALG_MOVE)) next = end;
    LuPanel panel = {a,   rows, columns - end, stride,  k,
                     end, next, pivots,        scratch, &progress->info};
    if (!progress->has_panel) {
      if (!lu_panel(a, rows, stride, k, end, pivots, scratch, progress)) return false;
      swap_columns(&panel, 0, k);
    }
    progress->has_panel = true;
    bool ends = is_long ? lu_trailing_long(&panel, progress)
                        : linalg_share_in_turns(progress, k, columns - end, MIN_LINES, of_column,
                                                lu_trailing, &panel);
    if (!ends) return false;
    progress->has_panel = next > end;
    swap_columns(&(LuPanel){.a = a, .stride = stride, .k = end, .end = next, .pivots = pivots}, 0,
                 end);
  }
  return linalg_stage_ends(progress);
}

/* --- QR ---------------------------------------------------------------------------------------- */

/* A product of reflectors, I - V T V^H. The vectors are the rows of v; their conjugates are the columns of w. */
typedef struct Panel {
  ptrdiff_t size, count, width; /* length of a vector; number of vectors; stride of w's rows */
  Number *v, *w, *t, *u, *part; /* u, part: sums, [line][BLOCK] */
} Panel;

/* Lays out panel `number` (0 or 1) in linalg_panel_numbers(size, lines, count) numbers. Panel 1 is for look-ahead;
** its columns have at most LINALG_AHEAD rows. */
static Panel panel_in(Number *scratch, ptrdiff_t size, ptrdiff_t lines, ptrdiff_t count,
                      ptrdiff_t number) {
  ptrdiff_t width = min_i64(count, BLOCK);
  Panel p = {.width = width, .part = scratch, .u = scratch + max_i64(lines, 1) * BLOCK};
  p.t = p.u + max_i64(lines, 1) * BLOCK + number * (BLOCK * BLOCK + 2 * size * width);
  p.v = p.t + BLOCK * BLOCK;
  p.w = p.v + (number == 0 ? size : min_i64(size, LINALG_AHEAD)) * width;
  return p;
}

/* Copies a slice of vector k (i < 0), or adds the slice's part of its inner product with vector i. */
ROUTINE static void set_slice(const Panel *p, const Number *from, ptrdiff_t k, ptrdiff_t i,
                              Number factor, Slice s) {
  Number *v = p->v + k * p->size;
  if (i < 0) {
    for (ptrdiff_t l = s.row; l < s.end; l++) {
      v[l] = l < k ? number(0) : l == k ? number(1) : from[l];
      p->w[l * p->width + k] = conjugate(v[l]);
    }
    return;
  }
  ptrdiff_t row = max_i64(s.row, k);
  Number sum =
      s.end > row ? inner(p->v + i * p->size + row, v + row, s.end - row, true) : number(0);
  if (s.row > 0) sum = plus(p->u[i], sum);
  p->u[i] = s.is_last ? times(factor, sum) : sum;
}

/* Computes column k of T: -tau T (V^H v), and tau on the diagonal. */
static void set_column(const Panel *p, ptrdiff_t k, Number tau) {
  Number *t = p->t;
  for (ptrdiff_t i = 0; i < k; i++) {
    Number sum = number(0);
    t[k * BLOCK + i] = number(0);
    for (ptrdiff_t j = i; j < k; j++) sum = plus(sum, times(t[i * BLOCK + j], p->u[j]));
    t[i * BLOCK + k] = sum;
  }
  t[k * BLOCK + k] = tau;
}

/* Builds a panel from the vectors in the rows at `from`; the number on the diagonal is taken as 1. Works in turns:
** progress->vectors counts the steps from 1 on, and the caller resets it after the panel's use. */
ROUTINE static bool set_panel(Panel *p, const Number *from, ptrdiff_t stride, const Number *tau,
                              ptrdiff_t size, ptrdiff_t count, ptrdiff_t at,
                              LinalgProgress *progress) {
  enum { STEPS = BLOCK + 2 }; /* for each vector: the copy, the products, T's column */
  ptrdiff_t slices = slices_of(size);
  p->size = size;
  p->count = count;
  if (progress->vectors == 0) progress->vectors = 1;
  for (; progress->vectors <= count * STEPS; progress->vectors++) {
    ptrdiff_t k = (progress->vectors - 1) / STEPS, i = (progress->vectors - 1) % STEPS - 1;
    if (i == k) set_column(p, k, tau[k]);
    if (i >= k) continue;
    double each = i < 0 ? 4 * LINALG_MOVE : 2; /* a copy takes longer than a product */
    for (; progress->slice < slices; progress->slice++) {
      Slice s = slice_at(progress->slice, size, 1);
      if (linalg_pauses(progress, at, each * (double)(s.end - s.row))) return false;
      set_slice(p, from + k * stride, k, i, minus(number(0), tau[k]), s);
    }
    progress->slice = 0;
  }
  return true;
}

/* Lines x (columns of a matrix) that become (I - V T V^H) x, or (I - V T^H V^H) x if `adjoint`. */
typedef struct Lines {
  const Panel *p;
  Number *x;
  ptrdiff_t stride;
  bool adjoint;
} Lines;

/* Multiplies the sums V^H x by T, or by T^H. A line's sums are a row, so the right factor is -T^T, or -conj(T). */
ROUTINE static void turn_sums(const Lines *all, const Number *part, Number *sums, ptrdiff_t lines) {
  const Panel *p = all->p;
  ptrdiff_t count = p->count;
  for (ptrdiff_t i = 0; i < lines * BLOCK; i++) sums[i] = number(0);
  Number transposed[BLOCK * BLOCK];
  for (ptrdiff_t i = 0; i < count; i++) {
    for (ptrdiff_t j = 0; j < count; j++) {
      bool upper = all->adjoint ? i <= j : j <= i;
      Number factor = all->adjoint ? conjugate(p->t[i * BLOCK + j]) : p->t[j * BLOCK + i];
      transposed[i * BLOCK + j] = upper ? factor : number(0);
    }
  }
  subtract_product(lines, count, (Left){part, BLOCK, 1}, count, transposed, BLOCK, sums, BLOCK);
}

/* Handles rows [row, end) of the lines: adds their part of V^H x, or subtracts their part of V times the sums. */
ROUTINE static void reflect_slice(const Lines *all, ptrdiff_t first, ptrdiff_t lines, ptrdiff_t row,
                                  ptrdiff_t end, bool sums_up) {
  const Panel *p = all->p;
  Number *x = all->x + first * all->stride + row;
  Number *part = p->part + first * BLOCK, *sums = p->u + first * BLOCK;
  if (!sums_up) {
    subtract_product(lines, end - row, (Left){sums, BLOCK, 1}, p->count, p->v + row, p->size, x,
                     all->stride);
    return;
  }
  for (ptrdiff_t i = 0; row == 0 && i < lines * BLOCK; i++) part[i] = number(0);
  subtract_product(lines, p->count, (Left){x, all->stride, 1}, end - row, p->w + row * p->width,
                   p->width, part, BLOCK);
  if (end == p->size) turn_sums(all, part, sums, lines);
}

static void reflect_lines(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const Lines *all = argument;
  for (int step = 0; step < 2; step++) {
    reflect_slice(all, first, end - first, 0, all->p->size, step == 0);
  }
}

/* Returns whether reflecting `lines` lines of `size` numbers takes more than one turn. */
static bool are_long(ptrdiff_t lines, ptrdiff_t size) {
  return 4.0 * (double)(lines * BLOCK) * (double)size > TURN;
}

/* Reflects long lines, `some` at once, slice by slice of their rows. Slices are whole blocks of products, so the
** result keeps its bits. */
ROUTINE static bool reflect_long(const Lines *all, ptrdiff_t lines, ptrdiff_t some, ptrdiff_t at,
                                 LinalgProgress *progress) {
  enum { SLICE = 4096 };
  ptrdiff_t size = all->p->size, slices = max_i64(size / SLICE, 1), steps = 2 * slices;
  for (; progress->lines < divide_up(lines, some) * steps; progress->lines++) {
    ptrdiff_t step = progress->lines % steps, first = progress->lines / steps * some;
    ptrdiff_t count = min_i64(some, lines - first), row = step % slices * SLICE;
    ptrdiff_t end = (step + 1) % slices == 0 ? size : row + SLICE;
    if (linalg_pauses(progress, at, 2.0 * (double)(count * BLOCK) * (double)(end - row))) {
      return false;
    }
    reflect_slice(all, first, count, row, end, step < slices);
  }
  progress->lines = 0;
  return true;
}

ROUTINE static bool reflect_in_turns(const Panel *p, Number *x, ptrdiff_t lines, ptrdiff_t stride,
                                     bool adjoint, ptrdiff_t at, LinalgProgress *progress) {
  Lines all = {p, x, stride, adjoint};
  if (are_long(BLOCK_ROWS, p->size)) return reflect_long(&all, lines, BLOCK_ROWS, at, progress);
  return linalg_share_in_turns(progress, at, lines, BLOCK_ROWS, 4.0 * (double)p->size * BLOCK,
                               reflect_lines, &all);
}

/* Factors columns [k, end) from row k on and applies their reflectors to the columns up to `reach`. progress->column:
** columns that are done. Long columns require reach = end: they keep sums in tau's entries of later columns. */
ROUTINE static bool qr_panel(Number *at, ptrdiff_t rows, ptrdiff_t stride, ptrdiff_t k,
                             ptrdiff_t end, ptrdiff_t reach, Number *tau,
                             LinalgProgress *progress) {
  for (ptrdiff_t j; (j = k + progress->column) < end; progress->column++) {
    Number *line = at + j * (stride + 1);
    ptrdiff_t left = rows - j, trailing = reach - j - 1;
    double work = 4.0 * (double)left * (double)(trailing + 1);
    if (work > TURN) {
      ReflectorOfLines of = {line, left, number(0), line + stride, stride, tau + j + 1, {0}};
      if (!progress->is_made) {
        if (!reflector_in_turns(line, left, progress->norm, &tau[j], k, progress)) return false;
        progress->is_made = true;
      }
      of.factor = conjugate(tau[j]);
      if (!reflect_by_one_in_turns(of, trailing, k, progress)) return false;
      progress->is_made = false;
      continue;
    }
    if (linalg_pauses(progress, k, work)) return false;
    tau[j] = reflector(line, left);
    reflect_by_one(line, left, conjugate(tau[j]), line + stride, trailing, stride);
  }
  progress->column = 0;
  return true;
}

/* The columns after a panel. With look-ahead the next panel is columns [k, end); otherwise k = end. */
typedef struct QrTrailing {
  Lines lines;
  Number *at;
  ptrdiff_t rows, k, end;
  Number *tau;
  Panel *next;
} QrTrailing;

static void qr_trailing(const void *argument, ptrdiff_t first, ptrdiff_t last) {
  const QrTrailing *q = argument;
  ptrdiff_t stride = q->lines.stride, k = q->k;
  reflect_lines(&q->lines, first, last);
  if (first > 0 || k == q->end) return;
  LinalgProgress ahead = {0}; /* too little work to pause */
  qr_panel(q->at, q->rows, stride, k, q->end, q->end, q->tau, &ahead);
  set_panel(q->next, q->at + k * stride + k, stride, q->tau + k, q->rows - k, q->end - k, 0,
            &ahead);
}

/* Householder's QR, in place, of a matrix stored by columns: at[column][row]. The result is that of LAPACK's geqrf.
** tau: min(rows, columns). */
ROUTINE static bool qr(Number *at, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t stride, Number *tau,
                       Number *scratch, LinalgProgress *progress) {
  ptrdiff_t steps = min_i64(rows, columns);
  if (max_i64(rows, columns) <= SMALL) {
    return qr_panel(at, rows, stride, 0, steps, columns, tau, progress) &&
           linalg_stage_ends(progress);
  }
  Panel panels[2];
  for (int i = 0; i < 2; i++) panels[i] = panel_in(scratch, rows, columns, steps, i);
  for (ptrdiff_t k = progress->at; k < steps; k += BLOCK) {
    ptrdiff_t odd = rows - k <= LINALG_AHEAD ? k / BLOCK % 2 : 0;
    Panel *panel = &panels[odd], *next_panel = &panels[1 - odd];
    ptrdiff_t end = min_i64(k + BLOCK, steps), next = min_i64(end + BLOCK, steps);
    if (!looks_ahead(4.0 * (double)(rows - end) * BLOCK * BLOCK)) next = end;
    if (!progress->has_panel) {
      if (progress->vectors == 0) {
        if (!qr_panel(at, rows, stride, k, end, end, tau, progress)) return false;
        if (end == columns) break;
      }
      if (!set_panel(panel, at + k * stride + k, stride, tau + k, rows - k, end - k, k, progress)) {
        return false;
      }
      progress->vectors = 0;
    }
    bool none = true;
    for (ptrdiff_t j = k; j < end; j++) none &= is_zero(tau[j]);
    progress->has_panel = !none;
    if (none) continue;
    panel->size = rows - k, panel->count = end - k;
    QrTrailing trailing = {
        {panel, at + end * stride + k, stride, true}, at, rows, end, next, tau, next_panel};
    ptrdiff_t lines = columns - end;
    bool ends =
        are_long(MIN_LINES, rows - k)
            ? reflect_long(&trailing.lines, lines, MIN_LINES, k, progress)
            : linalg_share_in_turns(progress, k, lines, MIN_LINES, 4.0 * (double)(rows - k) * BLOCK,
                                    qr_trailing, &trailing);
    if (!ends) return false;
    progress->has_panel = next > end;
  }
  return linalg_stage_ends(progress);
}

/* Q = H_0 H_1 ... H_(count-1). The vector of H_k is row k of v, from element k + shift on, which is taken as 1. */
typedef struct Reflectors {
  const Number *v;
  ptrdiff_t stride;
  const Number *tau;
  ptrdiff_t count, shift, size;
  bool adjoint;
} Reflectors;

/* Multiplies lines by Q, or by its adjoint. of_one: the lines are the first columns of the identity, so that the result
** is Q's first columns. */
ROUTINE static bool apply_q(Reflectors q, Number *x, ptrdiff_t lines, ptrdiff_t x_stride,
                            bool of_one, Number *scratch, LinalgProgress *progress) {
  Panel panel = panel_in(scratch, q.size, lines, q.count, 0);
  ptrdiff_t last = (q.count - 1) / BLOCK * BLOCK;
  for (ptrdiff_t step = progress->at; q.count > 0 && step <= last; step += BLOCK) {
    ptrdiff_t k = q.adjoint ? step : last - step, count = min_i64(BLOCK, q.count - k);
    ptrdiff_t first = k + q.shift, skipped = of_one ? first : 0;
    if (skipped >= lines) continue;
    const Number *from = q.v + k * q.stride + first;
    Number *to = x + skipped * x_stride + first;
    if (count == 1) {
      ReflectorOfLines one = {from, q.size - first, q.adjoint ? conjugate(q.tau[k]) : q.tau[k],
                              to,   x_stride,       panel.part,
                              {0}};
      if (!reflect_by_one_in_turns(one, lines - skipped, step, progress)) return false;
      continue;
    }
    if (q.size <= SMALL && lines <= SMALL) {
      for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t r = q.adjoint ? i : count - 1 - i, skips = of_one ? r : 0;
        reflect_by_one(from + r * (q.stride + 1), q.size - first - r,
                       q.adjoint ? conjugate(q.tau[k + r]) : q.tau[k + r],
                       to + r + skips * x_stride, lines - skipped - skips, x_stride);
      }
      continue;
    }
    if (!set_panel(&panel, from, q.stride, q.tau + k, q.size - first, count, step, progress) ||
        !reflect_in_turns(&panel, to, lines - skipped, x_stride, q.adjoint, step, progress)) {
      return false;
    }
    progress->vectors = 0;
  }
  progress->has_panel = false;
  return linalg_stage_ends(progress);
}

/* Computes the first columns of Q, stored by columns. */
ROUTINE static bool form_q(const Number *v, ptrdiff_t v_stride, const Number *tau, ptrdiff_t count,
                           ptrdiff_t shift, ptrdiff_t rows, Number *qt, ptrdiff_t columns,
                           ptrdiff_t q_stride, Number *scratch, LinalgProgress *progress) {
  ptrdiff_t slices = slices_of(rows), column;
  for (; !progress->has_panel && (column = progress->slice / slices) < columns; progress->slice++) {
    Slice s = slice_at(progress->slice % slices, rows, 1);
    if (linalg_pauses(progress, 0, LINALG_MOVE * (double)(s.end - s.row))) return false;
    for (ptrdiff_t i = s.row; i < s.end; i++) qt[column * q_stride + i] = number(i == column);
  }
  if (!progress->has_panel) progress->slice = 0;
  progress->has_panel = true;
  Reflectors q = {v, v_stride, tau, count, shift, rows, false};
  return apply_q(q, qt, columns, q_stride, true, scratch, progress);
}

/* --- Two-sided reductions --------------------------------------------------------------------- */

/* An update of A's rows: A becomes A - v w^H - w v^H, then next_w = factor A next_v. */
typedef struct TwoSided {
  Number *a;
  ptrdiff_t stride, size;
  const Number *v, *w, *conj_v, *conj_w, *next_v;
  Number *next_w, factor;
} TwoSided;

static void update_and_multiply(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const TwoSided *t = argument;
  for (ptrdiff_t i = first; i < end; i++) {
    Number *row = t->a + i * t->stride;
    subtract_rows(row, t->v[i], t->conj_w, t->w[i], t->conj_v, t->size);
    t->next_w[i] = times(t->factor, inner(row, t->next_v, t->size, false));
  }
}

/* Reduces a Hermitian matrix (both triangles are given): A = Q T Q^H. d, e: T's diagonal and subdiagonal. The
** reflectors go into the rows of a, as form_q takes them with a shift of 1. tau: n - 1. scratch: 6 n.
**
** A becomes A - v w^H - w v^H, with w = tau A v - (tau^2 / 2) (v^H A v) v. One pass over A does this update and the
** product with the next v; the column that gives the next v is updated before the pass. */
ROUTINE static bool tridiagonalize(Number *a, ptrdiff_t n, ptrdiff_t stride, double *d, double *e,
                                   Number *tau, Number *scratch, LinalgProgress *progress) {
  Number *conj_v = scratch + 4 * n, *conj_w = scratch + 5 * n;
  if (progress->at == 0) {
    for (ptrdiff_t i = 0; i < 2 * n; i++) scratch[i] = number(0);
  }
  for (ptrdiff_t k = progress->at; k < n; k++) {
    /* v and w of the step before; their first number is at index k. */
    Number *v = scratch + k % 2 * 2 * n, *w = v + n, *next_v = scratch + (k + 1) % 2 * 2 * n;
    Number *corner = a + k * stride + k, *row = corner + 1;
    ptrdiff_t size = n - k - 1;
    if (!progress->has_panel) {
      if (linalg_pauses(progress, k, LINALG_MOVE * (double)size)) return false;
      for (ptrdiff_t i = k; i < n; i++) conj_v[i] = conjugate(v[i]), conj_w[i] = conjugate(w[i]);
      subtract_rows(corner, v[k], conj_w + k, w[k], conj_v + k, size + 1);
      d[k] = real(*corner);
      if (size == 0) break;
      for (ptrdiff_t i = 0; i < size; i++) row[i] = conjugate(row[i]); /* the column */
      tau[k] = reflector(row, size);
      e[k] = real(row[0]);
      row[0] = number(1);
      for (ptrdiff_t i = 0; i < size; i++) next_v[k + 1 + i] = row[i];
      progress->has_panel = true;
    }
    Number *w_of_next = next_v + n + k + 1;
    TwoSided all = {row + stride,   stride,         size, v + k + 1, w + k + 1,
                    conj_v + k + 1, conj_w + k + 1, row,  w_of_next, tau[k]};
    if (!linalg_share_rows(progress, k, size, 8.0 * (double)size, update_and_multiply, &all)) {
      return false;
    }
    progress->has_panel = false;
    Number half = scaled(times(tau[k], inner(w_of_next, row, size, true)), -0.5);
    for (ptrdiff_t i = 0; i < size; i++) w_of_next[i] = plus(w_of_next[i], times(half, row[i]));
  }
  return linalg_stage_ends(progress);
}

enum { PIECES = 4, MIN_HEIGHT = 64, OF_A_ROW = 4 }; /* OF_A_ROW: overhead of a row, in numbers */

/* Sums of left v^H A over pieces of A's rows. A call handles rows [from, from + some) of each piece. */
typedef struct FromLeft {
  const Number *v;
  Number left;
  const Number *a;
  ptrdiff_t stride, height, width, pieces;
  Number *sums; /* [piece][width] */
  ptrdiff_t from, some;
} FromLeft;

static void sum_pieces(const void *argument, ptrdiff_t piece, ptrdiff_t end) {
  const FromLeft *f = argument;
  for (; piece < end; piece++) {
    Number *sums = f->sums + piece * f->width;
    for (ptrdiff_t j = 0; f->from == 0 && j < f->width; j++) sums[j] = number(0);
    ptrdiff_t row = piece * f->height / f->pieces + f->from;
    ptrdiff_t last = min_i64(row + f->some, (piece + 1) * f->height / f->pieces);
    for (; row < last; row++) {
      subtract_row(sums, minus(number(0), times(f->left, conjugate(f->v[row]))),
                   f->a + row * f->stride, f->width);
    }
  }
}

/* An update of A's rows: B = A - v sums, then A = B - right B u^T conj(u). next: the first column of the new A. */
typedef struct BothSides {
  const Number *v;
  Number right, *a;
  ptrdiff_t stride, width;
  const Number *sums, *u, *conj_u;
  Number *next;
} BothSides;

static void reflect_rows(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const BothSides *b = argument;
  for (ptrdiff_t i = first; i < end; i++) {
    Number *line = b->a + i * b->stride;
    subtract_row(line, b->v[i], b->sums, b->width);
    subtract_row(line, times(b->right, inner(line, b->u, b->width, false)), b->conj_u, b->width);
    b->next[i] = line[0];
  }
}

/* Reduces a matrix with rows >= columns: A = Q B P^H. d, e: B's diagonal and superdiagonal. Q's reflectors go into the
** rows of qv; on entry row 0 of qv is A's first column. P's reflectors, with a shift of 1, go into the rows of a.
** scratch: 5 columns.
**
** A reflector from the left makes column k zero below the diagonal. One from the right then makes row k zero after
** the superdiagonal. One pass over the rows applies both. */
ROUTINE static bool bidiagonalize(Number *a, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t stride,
                                  Number *qv, ptrdiff_t qv_stride, double *d, double *e,
                                  Number *tau_q, Number *tau_p, Number *scratch,
                                  LinalgProgress *progress) {
  Number *sums = scratch, *conj_u = scratch + PIECES * columns;
  for (ptrdiff_t k = progress->at; k < columns; k++) {
    Number *row = a + k * stride + k + 1, *v = qv + k * qv_stride + k;
    ptrdiff_t height = rows - k, width = columns - k - 1;
    if (!progress->has_panel) {
      ptrdiff_t pieces = height < MIN_HEIGHT ? 1 : PIECES;
      FromLeft sum = {v, number(0), row, stride, height, width, pieces, sums, 0, 0};
      double of_row = 4.0 * (double)(width + OF_A_ROW);
      sum.some = max_i64((ptrdiff_t)(TURN / (of_row * (double)pieces)), 1);
      if (!progress->is_made) {
        if (!reflector_in_turns(v, height, progress->norm, &tau_q[k], k, progress)) return false;
        d[k] = real(v[0]);
        v[0] = number(1);
        progress->is_made = true;
      }
      for (; width > 0 && progress->lines <= height / pieces; progress->lines += sum.some) {
        double work = of_row * (double)min_i64(height, pieces * sum.some);
        if (linalg_pauses(progress, k, work)) return false;
        sum.left = conjugate(tau_q[k]);
        sum.from = progress->lines;
        linalg_share(progress, pieces, 1, BY_ROWS * work, sum_pieces, &sum);
      }
      progress->lines = 0;
      progress->is_made = false;
      if (width == 0) break;
      for (ptrdiff_t p = 1; p < pieces; p++) {
        subtract_row(sums, number(-1), sums + p * width, width);
      }
      subtract_row(row, v[0], sums, width);
      for (ptrdiff_t j = 0; j < width; j++) row[j] = conjugate(row[j]);
      tau_p[k] = reflector(row, width);
      e[k] = real(row[0]);
      row[0] = number(1);
      for (ptrdiff_t j = 0; j < width; j++) conj_u[j] = conjugate(row[j]);
      progress->has_panel = true;
    }
    BothSides both = {v + 1, tau_p[k], row + stride, stride,           width,
                      sums,  row,      conj_u,       v + qv_stride + 1};
    if (!linalg_share_rows(progress, k, height - 1, 8.0 * (double)(width + OF_A_ROW), reflect_rows,
                           &both)) {
      return false;
    }
    progress->has_panel = false;
  }
  return linalg_stage_ends(progress);
}
