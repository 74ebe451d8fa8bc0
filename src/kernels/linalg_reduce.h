/*
** Routines that front ends call less often, for f64 and complex numbers (f32 is computed in f64): products with
** the Q of a QR, QR with pivoting, tridiagonal forms. For size, but for what they call.
*/
/* Q C or C Q, or with its adjoint: lines of C (columns, or conjugates of rows) are reflected. */
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

/* QR with pivoting: columns, as they are left. */
typedef struct Pivoting {
  Number *at;
  ptrdiff_t rows, columns;
  double *norms, *exact; /* of what is left; and when they were last computed */
  int32_t *order;
} Pivoting;

static FOR_SIZE void exchange(const Pivoting *p, ptrdiff_t i, ptrdiff_t j) {
  int32_t column = p->order[i];
  p->order[i] = p->order[j];
  p->order[j] = column;
  swap_rows(p->at + i * p->rows, p->at + j * p->rows, i == j ? 0 : p->rows);
  p->norms[j] = p->norms[i];
  p->exact[j] = p->exact[i];
}

typedef struct PivotStep {
  const Pivoting *p;
  ptrdiff_t k;
  Number factor;
} PivotStep;

enum { OF_A_COLUMN = 40 }; /* operations, however short it is */

/* Columns from column k on. */
static FOR_SIZE void measure_columns(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const PivotStep *step = argument;
  const Pivoting *p = step->p;
  for (ptrdiff_t j = step->k + first; j < step->k + end; j++) {
    p->norms[j] = p->exact[j] = norm_of(p->at + j * p->rows + step->k, p->rows - step->k);
  }
}

/* Columns behind column k meet its reflector. Norms are of what is left: without what row k has of them, unless
** that is nearly all (LAPACK's laqp2). */
static FOR_SIZE void pivot_step(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const PivotStep *step = argument;
  const Pivoting *p = step->p;
  ptrdiff_t left = p->rows - step->k;
  Number *v = p->at + step->k * (p->rows + 1), *x = v + (first + 1) * p->rows;
  reflect_by_one(v, left, step->factor, x, end - first, p->rows);
  for (ptrdiff_t j = step->k + 1 + first; j < step->k + 1 + end; j++, x += p->rows) {
    if (p->norms[j] == 0) continue;
    double part = length_of(*x) / p->norms[j], rest = 1 - part * part;
    double times_exact = p->norms[j] / p->exact[j];
    if (rest > 0 &&
        rest * times_exact * times_exact > sqrt(IS_NARROW ? FLT_EPSILON : DBL_EPSILON)) {
      p->norms[j] *= sqrt(rest);
    } else {
      p->norms[j] = p->exact[j] = norm_of(x + 1, left - 1);
    }
  }
}

/* Always eliminates the longest column that is left; those that jpvt names come first. */
static FOR_SIZE LinalgEnd run_geqp3(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { FACTORS = LOADS + 1 };
  ptrdiff_t rows = plan->in[0].rows, columns = plan->in[0].columns, steps = plan->out[2].rows;
  double *norms = doubles_at(memory + rows * columns);
  Pivoting p = {memory, rows, columns, norms, norms + columns, (int32_t *)data->out[1]};
  if (progress->stage == LOADS) {
    if (!load_matrix(plan, 0, data, p.at, rows, true, progress)) return LINALG_PAUSED;
    for (ptrdiff_t j = 0; j < columns; j++) p.order[j] = (int32_t)(j + 1);
    for (ptrdiff_t j = 0; j < columns; j++) {
      if (((const int32_t *)data->in[1])[j] != 0) exchange(&p, progress->info++, j);
    }
  }
  Number *tau = (Number *)progress->numbers;
  for (ptrdiff_t k = progress->at; progress->stage == FACTORS && k < steps; k++) {
    PivotStep step = {&p, k, number(0)};
    double each = 8.0 * (double)(rows - k) + OF_A_COLUMN;
    if (!progress->has_panel) {
      bool measures = k <= progress->info; /* fixed columns so far */
      if (measures &&
          !linalg_share_in_turns(progress, k, columns - k, 1, each, measure_columns, &step)) {
        return LINALG_PAUSED;
      }
      ptrdiff_t longest = k;
      for (ptrdiff_t j = k + 1; k >= progress->info && j < columns; j++) {
        if (p.norms[j] > p.norms[longest]) longest = j;
      }
      exchange(&p, k, longest);
      *tau = reflector(p.at + k * (rows + 1), rows - k);
      put(plan, data->out[2], k, *tau);
      progress->has_panel = true;
    }
    step.factor = conjugate(*tau);
    if (!linalg_share_in_turns(progress, k, columns - k - 1, 1, each, pivot_step, &step)) {
      return LINALG_PAUSED;
    }
    progress->has_panel = false;
  }
  if (progress->stage == FACTORS) linalg_stage_ends(progress);
  if (!store_matrix(plan, 0, data, p.at, rows, true, progress)) return LINALG_PAUSED;
  return LINALG_DONE;
}

/* Tridiagonal form alone. The upper form begins at the other corner: (i, j) is (n-1-i, n-1-j). */
static FOR_SIZE LinalgEnd run_sytrd(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { REDUCES = LOADS + 1 };
  ptrdiff_t n = plan->in[0].rows, stride = linalg_stride(n), last = n - 1;
  Number *a = memory, *tau = a + n * stride, *scratch = tau + n;
  double *d = doubles_at(scratch + panel_numbers(n)), *e = d + n;
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
