/*
** Plans chunks of a contraction that complete whole rows of its result. Operations on these rows can then
** follow while the rows are in the cache (compile/row_groups.c). A row has all columns.
*/
#include "base/min_max.h"
#include "kernels/contraction/contraction_plan.h"

enum {
  /* Threshold ENOUGH_CHUNKS: no path in tests: products of at least 16 chunks of whole rows;
  ** `native/contractions` has plans of them. */
  ENOUGH_CHUNKS = 16, /* for up to 16 threads */
  /* Threshold MAX_PRODUCTS: no path in tests: a chunk of 32 million products; `native/contractions` has plans
  ** of them. */
  MAX_PRODUCTS = 32 * 1000 * 1000, /* of a chunk: about two milliseconds */
};

/* Returns whether the result is contiguous in the order batch, row, column. */
static bool is_in_order(const Contraction *c) {
  const Axes *axes[] = {&c->columns, &c->rows, &c->batch};
  int64_t next = 1;
  for (int i = 0; i < 3; i++) {
    for (int k = axes[i]->count - 1; k >= 0; next *= axes[i]->items[k--].size) {
      if (axes[i]->items[k].stride[OUT] != next) return false;
    }
  }
  return true;
}

void contraction_plan_rows(ContractionPlan *plan, const Contraction *c) {
  int64_t row = plan->lines[RHS], units = plan->units_per_chunk;
  if (!is_in_order(c)) return;
  if (plan->finishes) {
    if (!row || row > plan->finish_elements) return;
    plan->row_elements = row;
    plan->finish_elements -= plan->finish_elements % row;
    return;
  }
  /* Units are numbered by rows, then by columns. */
  int64_t whole = divide_up(units, plan->tiles[RHS]) * plan->tiles[RHS];
  int chunks = (int)divide_up(plan->units, units);
  double products = (double)(plan->tile[LHS] * plan->tile[RHS]) * (double)axes_size(&c->depth);
  if (divide_up(plan->units, whole) < (chunks < ENOUGH_CHUNKS ? chunks : ENOUGH_CHUNKS) ||
      (whole > units && products * (double)whole > MAX_PRODUCTS)) {
    return;
  }
  plan->units_per_chunk = whole;
  plan->row_elements = row;
}

/* Returns the number of rows that the chunks before this one complete. */
static int64_t rows_before(const ContractionPlan *plan, int64_t chunk) {
  int64_t all = plan->result_elements / plan->row_elements;
  int64_t before = chunk * (plan->finish_elements / plan->row_elements);
  if (!plan->finishes) {
    int64_t tile = chunk * plan->units_per_chunk / plan->tiles[RHS], tiles = plan->tiles[LHS];
    before = tile / tiles * plan->lines[LHS] + tile % tiles * plan->tile[LHS];
  }
  return before < all ? before : all;
}

void contraction_rows(const ContractionPlan *plan, int phase, int64_t chunk, int64_t rows[2]) {
  bool completes = phase == (plan->finishes ? PHASE_FINISH : PHASE_MULTIPLY);
  for (int i = 0; i < 2; i++) rows[i] = completes ? rows_before(plan, chunk + i) : 0;
}
