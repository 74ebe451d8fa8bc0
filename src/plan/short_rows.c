/*
** Vectorises short rows along an outer loop. Rows of few elements, such as points and colours, leave lanes
** empty. If the last loop is still short after contiguous loops are merged, the lanes are steps of a longer
** loop around it.
** That loop is split into blocks, so that the memory used in one iteration of the short loops is cached for the next.
**
**     for n: for d < 3: y[n][d] = x[n][d] * c[d]
**     for block of n: for d < 3: for n in block, four at a time: y[n][d] = x[n][d] * c[d]
**
** Results are then not computed in row-major order, so the plan has the address of each.
*/
#include "plan/loop_walk.h"

enum {
  /* Threshold MIN_LOOP, MIN_STEPS, MIN_BLOCK. Test: "columns of element-wise loops" in core/thresholds.test.mjs. */
  MIN_LOOP = 2 * LANES, /* steps of a loop whose steps become lanes */
  MIN_STEPS = 128,      /* in all: fewer are unrolled in regions, where partial vectors are cheap */
  MIN_BLOCK = 64,
  /* Threshold BLOCK_ELEMENTS: elements of a result in a block. Test: "rows of element-wise
  ** loops: lanes, wide lanes, unrolled, blocks of short rows" in core/thresholds.test.mjs. */
  BLOCK_ELEMENTS = 2048,
};

/* Whether rows are too short for lanes. A full vector and a single lane take the same time. Assembling wide
** lanes takes longer than going to the next row. */
static bool has_short_rows(const LoopPlan *plan) {
  int64_t row = plan->sizes[plan->rank - 1];
  return row < 2 * LANES &&
         (row % LANES != 0 || type_bytes(plan->outputs[0]->instruction->shape->type) <= 4);
}

/* Returns the innermost loop that is long enough for lanes; -1 if there is none. */
static int longer_loop(const LoopPlan *plan) {
  int k = plan->rank - 2;
  while (k >= 0 && plan->sizes[k] < MIN_LOOP) k--;
  return k;
}

/* Returns the largest divisor of a loop's size up to `max`; the whole size if there is no useful one. */
static int64_t block_of(int64_t size, int64_t max) {
  for (int64_t block = max; block >= MIN_BLOCK && size > max; block--) {
    if (size % block == 0) return block;
  }
  return size;
}

static bool has_gathered(const LoopPlan *plan) {
  for (int i = 0; i < plan->count; i++) {
    if (plan->nodes[i]->kind == NODE_GATHERED)
      return true; /* addresses are computed once per row */
  }
  return false;
}

/* Adds the address of each result, as an affine function of the loops in row-major order. */
static void add_addresses(LoopPlan *plan) {
  plan->addresses = ARENA_ARRAY(plan->arena, LoopNode *, plan->output_count);
  for (int i = 0; i < plan->output_count; i++) {
    LoopNode *address = ARENA_NEW(plan->arena, LoopNode);
    *address =
        (LoopNode){.kind = NODE_RESULT, .instruction = plan->outputs[i]->instruction, .result = i};
    int64_t stride = 1;
    for (int k = plan->rank - 1; k >= 0; k--) {
      address->offset.coefficient[k] = stride;
      stride *= plan->sizes[k];
    }
    loop_plan_add(plan, address);
    plan->addresses[i] = address;
  }
}

void loop_plan_widen_rows(LoopPlan *plan) {
  int k = longer_loop(plan);
  if (!has_short_rows(plan) || k < 0 || plan->rank == MAX_LOOPS ||
      loop_plan_steps(plan) < MIN_STEPS || has_gathered(plan)) {
    return;
  }
  int64_t inside = 1;
  for (int j = k + 1; j < plan->rank; j++) inside *= plan->sizes[j];
  int64_t block = block_of(plan->sizes[k], BLOCK_ELEMENTS / inside);
  if (!plan->addresses) add_addresses(plan);
  for (int i = 0; i < plan->count; i++) {
    int64_t *coefficients = plan->nodes[i]->offset.coefficient;
    coefficients[plan->rank] = coefficients[k];
    coefficients[k] *= block;
  }
  plan->sizes[plan->rank++] = block;
  plan->sizes[k] /= block;
  loop_plan_reorder(plan, plan->rank - 1, plan->rank - 1);
}
