/*
** Routines that front ends call less often: products with the Q of a QR, QR with pivoting, tridiagonal forms. For f64
** and complex numbers (f32 is computed in f64). Compiled for size, except for the loops that they call.
*/
/* Computes Q C or C Q, or with Q's adjoint, by reflecting lines of C (columns, or conjugates of rows). */
static FOR_SIZE LinalgEnd run_ormqr(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { LOADS_LINES = LOADS + 1, CONJUGATES_LINES, APPLIES, CONJUGATES_RESULT };
  ptrdiff_t size = plan->in[0].rows, count = plan->in[1].rows;
  ptrdiff_t lines = plan->left ? plan->in[2].columns : plan->in[2].rows;
  Number *v = memory, *x = v + size * plan->in[0].columns, *tau = x + lines * size;
  if (progress->stage == LOADS && !load_matrix(plan, 0, data, v, size, true, progress)) {
    return LINALG_PAUSED;
  }
  if (progress->stage == LOADS_LINES) {
    if (!load_matrix(plan, 2, data, x, size, plan->left, progress)) return LINALG_PAUSED;
    for (ptrdiff_t k = 0; k < count; k++) tau[k] = get(plan, data->in[1], k);
  }
  ptrdiff_t turned = plan->left ? 0 : lines * size;
  Reflectors of = {v, size, tau, count, 0, size, plan->left == plan->transposed};
  if ((progress->stage == CONJUGATES_LINES && !conjugates(x, turned, progress)) ||
      (progress->stage == APPLIES && !apply_q(of, x, lines, size, false, tau + count, progress)) ||
      (progress->stage == CONJUGATES_RESULT && !conjugates(x, turned, progress)) ||
      !store_matrix(plan, 0, data, x, size, plan->left, progress)) {
    return LINALG_PAUSED;
  }
  return LINALG_DONE;
}

/* The state of QR with pivoting: the columns after the steps so far. */
typedef struct Pivoting {
  Number *at;
  ptrdiff_t rows, columns;
  double *norms, *exact; /* norms of the remaining rows: updated; when last measured */
  int32_t *order;
} Pivoting;

static FOR_SIZE bool exchange(const Pivoting *p, ptrdiff_t i, ptrdiff_t j, ptrdiff_t at,
                              LinalgProgress *progress) {
  for (ptrdiff_t slices = slices_of(p->rows); i != j && progress->slice < slices;
       progress->slice++) {
    Slice s = slice_at(progress->slice, p->rows, 1);
    if (linalg_pauses(progress, at, LINALG_MOVE * (double)(s.end - s.row))) return false;
    swap_numbers(p->at + i * p->rows + s.row, p->at + j * p->rows + s.row, s.end - s.row);
  }
  progress->slice = 0;
  int32_t column = p->order[i];
  p->order[i] = p->order[j];
  p->order[j] = column;
  p->norms[j] = p->norms[i];
  p->exact[j] = p->exact[i];
  return true;
}

typedef struct PivotStep {
  ReflectorOfLines of; /* lines: the columns after this one */
  Norms norms;         /* of these columns, in the rows below */
} PivotStep;

enum { OF_A_COLUMN = 40 }; /* overhead of a column, in operations */

/* Removes row k from the norms, as LAPACK's laqp2 does. If row k held nearly all of a norm, marks that norm to be
** measured. */
static FOR_SIZE void shorten_norms(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const PivotStep *step = argument;
  const Norms *n = &step->norms;
  for (ptrdiff_t j = first; j < end; j++) {
    if (n->norms[j] == 0) continue;
    double part = length_of(step->of.x[j * n->stride]) / n->norms[j], rest = 1 - part * part;
    double times_exact = n->norms[j] / n->exact[j];
    if (rest > 0 &&
        rest * times_exact * times_exact > sqrt(IS_NARROW ? FLT_EPSILON : DBL_EPSILON)) {
      n->norms[j] *= sqrt(rest);
    } else {
      n->exact[j] = -1;
    }
  }
}

static FOR_SIZE void measure_some(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  for (; first < end; first++) measure_slice(argument, first);
}

static FOR_SIZE void pivot_step(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const PivotStep *step = argument;
  reflect_some(&step->of, first, end);
  shorten_norms(step, first, end);
  measure_some(&step->norms, first, end);
}

static FOR_SIZE bool measure_in_turns(Norms n, ptrdiff_t columns, ptrdiff_t at,
                                      LinalgProgress *progress) {
  ptrdiff_t slices = slices_of_passes(n.size, NORM_PASSES);
  for (; progress->slice < slices; progress->slice++) {
    n.slice = slice_at(progress->slice, n.size, NORM_PASSES);
    double each = 4.0 * (double)(n.slice.end - n.slice.row) + OF_A_COLUMN;
    if (!linalg_share_in_turns(progress, at, columns, 1, each, measure_some, &n)) return false;
  }
  progress->slice = 0;
  return true;
}

/* Applies the reflector of column k to the columns after it and updates their norms. A short column stays in the cache
** for both. */
static FOR_SIZE bool pivot_in_turns(PivotStep step, ptrdiff_t columns, ptrdiff_t at,
                                    LinalgProgress *progress) {
  if (step.of.size <= SLICE) {
    step.of.slice = slice_at(0, step.of.size, REFLECTOR_PASSES);
    step.norms.slice = slice_at(0, step.norms.size, NORM_PASSES);
    return linalg_share_in_turns(progress, at, columns, 1, 8.0 * (double)step.of.size + OF_A_COLUMN,
                                 pivot_step, &step);
  }
  if (progress->column == 0) {
    if (!reflect_by_one_in_turns(step.of, columns, at, progress)) return false;
    shorten_norms(&step, 0, columns);
    progress->column = 1;
  }
  if (!measure_in_turns(step.norms, columns, at, progress)) return false;
  progress->column = 0;
  return true;
}

/* Moves the longest remaining column to position k, after the columns that jpvt puts first. */
static FOR_SIZE bool choose_column(const Pivoting *p, ptrdiff_t k, LinalgProgress *progress) {
  ptrdiff_t left = p->columns - k, size = p->rows - k;
  if (k < progress->info) return true;
  if (!progress->has_panel) {
    if (k == progress->info) {
      Norms all = {p->at + k * (p->rows + 1), size, p->rows, p->norms + k, p->exact + k, {0}};
      for (ptrdiff_t j = k; progress->slice + progress->lines == 0 && j < p->columns; j++) {
        p->exact[j] = -1;
      }
      if (!measure_in_turns(all, left, k, progress)) return false;
    }
    progress->column = k;
    for (ptrdiff_t j = k + 1; j < p->columns; j++) {
      if (p->norms[j] > p->norms[progress->column]) progress->column = j;
    }
    progress->has_panel = true;
  }
  if (!exchange(p, k, progress->column, k, progress)) return false;
  progress->has_panel = false;
  progress->column = 0;
  return true;
}

/* Eliminates the columns that jpvt names, then always the longest remaining one. */
static FOR_SIZE LinalgEnd run_geqp3(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { CHOOSES_FIRST = LOADS + 1, FACTORS, NONE = 0, HAS_COLUMN, HAS_REFLECTOR };
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns, steps = plan->out[2].rows;
  Number *tau = memory + rows * columns, *sums = tau + 1;
  double *norms = doubles_at(sums + columns);
  Pivoting p = {memory, rows, columns, norms, norms + columns, (int32_t *)data->out[1]};
  if (progress->stage == LOADS) {
    if (!load_matrix(plan, 0, data, p.at, rows, true, progress)) return LINALG_PAUSED;
    for (ptrdiff_t j = 0; j < columns; j++) {
      p.order[j] = (int32_t)(j + 1);
      p.norms[j] = p.exact[j] = 0;
    }
  }
  for (ptrdiff_t j = progress->at; progress->stage == CHOOSES_FIRST && j < columns; j++) {
    if (((const int32_t *)data->in[1])[j] == 0) continue;
    if (!exchange(&p, progress->info, j, j, progress)) return LINALG_PAUSED;
    progress->info++;
  }
  if (progress->stage == CHOOSES_FIRST) linalg_stage_ends(progress);
  for (ptrdiff_t k = progress->at; progress->stage == FACTORS && k < steps; k++) {
    Number *v = p.at + k * (rows + 1);
    if (progress->vectors == NONE) {
      if (!choose_column(&p, k, progress)) return LINALG_PAUSED;
      progress->vectors = HAS_COLUMN;
    }
    if (progress->vectors == HAS_COLUMN) {
      if (!reflector_in_turns(v, rows - k, progress->norm, tau, k, progress)) return LINALG_PAUSED;
      put(plan, data->out[2], k, *tau);
      progress->vectors = HAS_REFLECTOR;
    }
    PivotStep step = {{v, rows - k, conjugate(*tau), v + rows, rows, sums, {0}}, {0}};
    step.norms = (Norms){v + rows + 1, rows - k - 1, rows, p.norms + k + 1, p.exact + k + 1, {0}};
    if (!pivot_in_turns(step, columns - k - 1, k, progress)) return LINALG_PAUSED;
    progress->vectors = NONE;
  }
  if (progress->stage == FACTORS) linalg_stage_ends(progress);
  if (!store_matrix(plan, 0, data, p.at, rows, true, progress)) return LINALG_PAUSED;
  return LINALG_DONE;
}

/* Computes a tridiagonal form alone. The upper form starts at the last corner: (i, j) is (n-1-i, n-1-j). */
static FOR_SIZE LinalgEnd run_sytrd(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { REDUCES = LOADS + 1 };
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n), last = n - 1;
  Number *a = memory, *tau = a + n * stride, *scratch = tau + n;
  double *d = doubles_at(scratch + 6 * n), *e = d + n;
  const uint8_t *from = data->in[0];
  ptrdiff_t corner = plan->lower ? 0 : n * n - 1, sign = plan->lower ? 1 : -1;
  if (progress->stage == LOADS) {
    for (ptrdiff_t i = progress->at; i < n; i++) {
      if (pauses_to_move(progress, i, 2 * i)) return LINALG_PAUSED;
      for (ptrdiff_t j = 0; j <= i; j++) {
        Number x = get(plan, from, corner + sign * (i * n + j));
        a[i * stride + j] = i == j ? number(real(x)) : x;
        a[j * stride + i] = conjugate(a[i * stride + j]);
      }
    }
    linalg_stage_ends(progress);
  }
  if (progress->stage == REDUCES && !tridiagonalize(a, n, stride, d, e, tau, scratch, progress)) {
    return LINALG_PAUSED;
  }
  for (ptrdiff_t i = progress->at; i < n; i++) {
    if (pauses_to_move(progress, i, n)) return LINALG_PAUSED;
    for (ptrdiff_t j = 0; j < n; j++) {
      ptrdiff_t to = corner + sign * (i * n + j);
      Number x = j > i ? get(plan, from, to) : a[j * stride + i];
      put(plan, data->out[0], to, i == j ? number(d[i]) : i == j + 1 ? number(e[j]) : x);
    }
    put_real(plan, data->out[1], plan->lower ? i : last - i, d[i]);
    if (i == last) break;
    put_real(plan, data->out[2], plan->lower ? i : last - 1 - i, e[i]);
    put(plan, data->out[3], plan->lower ? i : last - 1 - i, tau[i]);
  }
  put_info(data, 4, 0);
  return LINALG_DONE;
}
