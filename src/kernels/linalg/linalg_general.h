/*
** Runs the routines for general square matrices, for one kind of number: Hessenberg and Schur form, eigenvalues
** and eigenvectors.
*/
#include "kernels/linalg/linalg_schur.h"

/* Indices of values that are kept between turns: the rows after balancing and the matrix's scale. */
enum { LOW, HIGH, SCALED_BY, KEPT };

static FOR_SIZE LinalgGeneral general_in(const LinalgPlan *plan, Number *memory) {
  ptrdiff_t n = plan->in[0].rows, stride = schur_stride(n), size = (n + 1) * stride;
  LinalgGeneral g = {.n = n, .stride = stride, .parts = REALS, .narrow = plan->narrow};
  g.epsilon = plan->narrow ? FLT_EPSILON : DBL_EPSILON;
  g.t = (double *)memory;
  g.z = (double *)(memory + size);
  g.x = (double *)(memory + 2 * size);
  g.y = (double *)(memory + 3 * size);
  g.tau = (double *)(memory + 4 * size);
  g.scale = (double *)(memory + 4 * size + n);
  g.low = g.scale[n + LOW], g.high = g.scale[n + HIGH];
  g.scratch = g.scale + n + KEPT + 1;
  return g;
}

FOR_SIZE static void clear_some(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  Number *const *x = argument;
  memset(*x + first, 0, (size_t)(end - first) * sizeof(Number));
}

ROUTINE static bool clears(double *x, ptrdiff_t count, LinalgProgress *progress) {
  return linalg_some_by_some(count, clear_some, &x, progress);
}

enum { CLEARS = LOADS, LOADS_T };

/* Runs the first stages, which load the matrix. */
static FOR_SIZE bool begin_reduction(const LinalgPlan *plan, const LinalgData *data,
                                     const LinalgGeneral *g, LinalgProgress *progress) {
  if (progress->stage == CLEARS) {
    memset(g->tau, 0, (size_t)g->n * sizeof(Number));
    memset(g->scratch, 0, (size_t)(14 * g->stride) * sizeof(Number));
    if (!clears(g->t, 3 * (g->n + 1) * g->stride, progress)) return false;
  }
  return progress->stage > LOADS_T ||
         load_matrix(plan, 0, data, (Number *)g->t, g->stride, false, progress);
}

static FOR_SIZE bool reduces(const LinalgGeneral *g, ptrdiff_t low, ptrdiff_t high,
                             LinalgProgress *progress) {
  return hessenberg((Number *)g->t, g->n, g->stride, low, high, (Number *)g->x, (Number *)g->tau,
                    (Number *)g->scratch, progress);
}

static FOR_SIZE LinalgEnd run_gehrd(const LinalgPlan *plan, const LinalgData *data, Number *memory,
                                    LinalgProgress *progress) {
  enum { REDUCES = LOADS_T + 1 };
  LinalgGeneral g = general_in(plan, memory);
  Number *t = (Number *)g.t, *x = (Number *)g.x;
  if (!begin_reduction(plan, data, &g, progress)) return LINALG_PAUSED;
  if (progress->stage == REDUCES && !reduces(&g, plan->first, plan->last, progress)) {
    return LINALG_PAUSED;
  }
  for (ptrdiff_t k = 0; progress->at == 0 && k + 1 < g.n; k++) {
    put(plan, data->out[1], k, ((Number *)g.tau)[k]);
    bool is_reduced = k >= plan->first && k < plan->last;
    for (ptrdiff_t i = k + 2; is_reduced && i <= plan->last; i++) {
      t[i * g.stride + k] = x[k * g.stride + i];
    }
  }
  if (!store_matrix(plan, 0, data, t, g.stride, false, progress)) return LINALG_PAUSED;
  put_info(data, 2, 0);
  return LINALG_DONE;
}

/* --- gees, geev ------------------------------------------------------------------------------- */

/* Products of several vectors with Z; a call computes some of their columns. */
typedef struct Products {
  const LinalgGeneral *g;
  ptrdiff_t k, count, depth;
} Products;

static FOR_SIZE void multiply_columns(const void *argument, ptrdiff_t first, ptrdiff_t end) {
  const Products *p = argument;
  const LinalgGeneral *g = p->g;
  ptrdiff_t stride = g->stride, at = p->k * stride;
  subtract_product(p->count, end - first, (Left){(Number *)g->x + at, stride, 1}, p->depth,
                   (Number *)g->z + first, stride, (Number *)g->y + at + first, stride);
}

static FOR_SIZE bool multiply_vectors(const LinalgGeneral *g, LinalgProgress *progress) {
  enum { SOME_VECTORS = 120 };
  for (ptrdiff_t k = progress->at; k < g->n; k += SOME_VECTORS) {
    Products some = {g, k, min_i64(SOME_VECTORS, g->n - k), 0};
    some.depth = min_i64(k + some.count + 1, g->n); /* of a pair */
    double each = 2 * (double)some.count * (double)some.depth;
    if (!linalg_share_in_turns(progress, k, g->n, STRIP_COLUMNS, each, multiply_columns, &some)) {
      return false;
    }
  }
  return linalg_stage_ends(progress);
}

FOR_SIZE static void fill_reals(const void *argument, ptrdiff_t i, ptrdiff_t end) {
  const Fill *f = argument;
  for (; i < end; i++) put_real(f->plan, f->out, i, f->x);
}

/* Brings T and Z into their stored form: a stage. */
static FOR_SIZE bool finish_schur(const LinalgGeneral *g, bool wants_z, LinalgProgress *progress) {
  for (ptrdiff_t i = progress->at; i < g->n; i++) {
    if (pauses_to_move(progress, i, 2 * g->n)) return false;
    Number *row = (Number *)g->z + i * g->stride;
    Scaled t = {(Number *)g->t + i * g->stride, 1 / g->scale[g->n + SCALED_BY]};
    scale_some(&t, 0, g->n);
    if (!wants_z) continue;
    linalg_unbalance(g, (double *)row, false, false);
    for (ptrdiff_t j = 0; j < g->n; j++) row[j] = conjugate(row[j]);
  }
  return linalg_stage_ends(progress);
}

static FOR_SIZE LinalgEnd run_general(const LinalgPlan *plan, const LinalgData *data,
                                      Number *memory, LinalgProgress *progress) {
  enum { LOOKS = LOADS_T + 1, FILLS, SCALES = FILLS + 4, BALANCES, REDUCES };
  enum { FORMS = REDUCES + 1, TURNS, ITERATES, FINISHES, STORES, RIGHT = FINISHES };
  enum { FLIPS, CLEARS_VECTORS, SUBSTITUTES, MULTIPLIES, STORES_VECTORS, STAGES_OF_VECTORS };
  LinalgGeneral g = general_in(plan, memory);
  Number *t = (Number *)g.t, *z = (Number *)g.z;
  ptrdiff_t n = g.n, stride = g.stride;
  bool is_geev = plan->routine == LINALG_GEEV;
  int left = IS_COMPLEX ? 1 : 2, info = plan->results - 1;
  bool wants[] = {is_geev && plan->wanted[left + 1], is_geev && plan->wanted[left]};
  bool wants_z = is_geev ? wants[0] || wants[1] : plan->wanted[1];
  int reals = is_geev ? info : info - 1; /* then whole numbers */
  double *largest = &progress->kept, *by = &g.scale[n + SCALED_BY];
  Largest of = {t, largest};
  if (!begin_reduction(plan, data, &g, progress) ||
      (progress->stage == LOOKS && !linalg_some_by_some(n * stride, look_at_some, &of, progress))) {
    return LINALG_PAUSED;
  }
  if (progress->stage <= SCALES) {
    bool is_finite = *largest - *largest == 0;
    for (int k = progress->stage - FILLS; k < reals; k++) {
      Fill f = {plan, data->out[k], is_finite ? 0 : NAN};
      ptrdiff_t count = plan->out_bytes[k] / (plan->narrow ? 4 : 8);
      if (!linalg_some_by_some(count, fill_reals, &f, progress)) return LINALG_PAUSED;
    }
    put_info(data, reals, 0);
    put_info(data, info, 0);
    if (!is_finite) return LINALG_DONE;
    progress->stage = SCALES;
    *by = scale_for(*largest);
    if (!scales(t, n * stride, *by, progress)) return LINALG_PAUSED;
    g.low = 0, g.high = (double)(n - 1);
  }
  if (progress->stage == BALANCES) {
    bool ends = linalg_balance(&g, is_geev, progress);
    g.scale[n + LOW] = g.low, g.scale[n + HIGH] = g.high;
    if (!ends) return LINALG_PAUSED;
  }
  ptrdiff_t low = (ptrdiff_t)g.low, high = (ptrdiff_t)g.high;
  if (progress->stage == REDUCES && !reduces(&g, low, high, progress)) return LINALG_PAUSED;
  if (progress->stage == FORMS) {
    if (!wants_z) {
      linalg_stage_ends(progress);
    } else if (!form_q((Number *)g.x, stride, (Number *)g.tau, n - 1, 1, n, z, n, stride,
                       (Number *)g.scratch, progress)) {
      return LINALG_PAUSED;
    }
  }
  if (progress->stage == TURNS && !conjugates(z, n * stride, progress)) return LINALG_PAUSED;
  if (progress->stage == ITERATES) {
    Schur s = {n, stride, low, high, t, z, !is_geev || wants_z, wants_z, g.epsilon};
    if (!schur(&s, progress)) return LINALG_PAUSED;
    linalg_store_eigenvalues(&g, data, is_geev ? 0 : 2, 1 / g.scale[n + SCALED_BY]);
    put_info(data, info, progress->info);
  }
  if (!is_geev) {
    return (progress->stage == FINISHES && !finish_schur(&g, wants_z, progress)) ||
                   (progress->stage == STORES &&
                    !store_matrix(plan, 0, data, t, stride, false, progress)) ||
                   !store_matrix(plan, 1, data, z, stride, true, progress)
               ? LINALG_PAUSED
               : LINALG_DONE;
  }
  for (int side = 0; side < 2; side++) {
    int first = RIGHT + side * STAGES_OF_VECTORS;
    if (!wants[side]) continue;
    if (progress->stage < first) progress->stage = first;
    int stage = progress->stage - first;
    if ((stage <= FLIPS && !linalg_flip(&g, side == 1, progress)) ||
        (stage <= CLEARS_VECTORS && !clears(g.x, 2 * (n + 1) * stride, progress)) ||
        (stage <= SUBSTITUTES && !linalg_vectors_of_t(&g, side == 1, progress)) ||
        (stage <= MULTIPLIES && !multiply_vectors(&g, progress)) ||
        (stage <= STORES_VECTORS &&
         !linalg_store_vectors(&g, data->out[left + 1 - side], side == 1, progress))) {
      return LINALG_PAUSED;
    }
  }
  return LINALG_DONE;
}
