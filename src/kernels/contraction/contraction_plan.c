/* Chooses how to compute a contraction, and runs its phases: see contraction_plan.h. */
#include "kernels/contraction/contraction_plan.h"

#include <string.h>

#include "base/min_max.h"
#include "kernels/contraction/direct.h"
#include "kernels/contraction/elements.h"
#include "kernels/contraction/small.h"
#include "kernels/contraction/stream.h"

enum {
  /* Threshold CHUNK_PRODUCTS, FINISH_ELEMENTS. Test: "products: of [m,k] and [k,n] by sums" in
  ** core/thresholds.test.mjs. */
  CHUNK_PRODUCTS = 400 * 1000, /* min multiplications of a chunk */
  FINISH_ELEMENTS = 16 * 1024, /* of a finishing chunk */
};

/* ---- Plans ---- */

/* Returns whether to swap rows and columns: columns that are contiguous in the result can be stored as vectors. */
static bool should_swap(const Contraction *c) {
  return !c->keeps_rows && axes_have_neighbours(&c->rows, OUT) &&
         !axes_have_neighbours(&c->columns, OUT);
}

static bool are_neighbours(const Axes *axes, Operand operand) {
  return axes->count == 0 || axes->items[0].stride[operand] == 1;
}

enum {
  /* Threshold THIN, TINY, TINY_DEPTH. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  THIN = 3,        /* up to this many rows are streamed even if the matrix is small, */
  TINY = 256,      /* unless it has at most this many elements */
  TINY_DEPTH = 32, /* and at most this depth */
  /* Threshold FEW_COLUMNS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  FEW_COLUMNS = 4, /* fewer do not fill a vector of f32: */
  /* More than all other costs together. */
  FEW_COST = 4,
};

/* Returns a rank for choosing between a contraction and its swapped form; the smaller rank wins. It is 0 if there
** are at least FEW_COLUMNS columns, contiguous in the rhs and in the result. */
static int64_t swapping_cost(const Contraction *c, bool swapped) {
  int64_t rows = axes_size(swapped ? &c->columns : &c->rows);
  const Axes *columns = swapped ? &c->rows : &c->columns;
  int64_t cost = are_neighbours(columns, swapped ? LHS : RHS) ? 0 : 1;
  if (!are_neighbours(columns, OUT)) cost++;
  if (axes_size(columns) < FEW_COLUMNS && rows > axes_size(columns)) cost += FEW_COST;
  return cost;
}

static void set_lines(ContractionPlan *plan, const Contraction *c) {
  plan->lines[LHS] = axes_size(&c->rows);
  plan->lines[RHS] = axes_size(&c->columns);
}

static void swap_plan(ContractionPlan *plan, Contraction *c) {
  plan->swapped = !plan->swapped;
  contraction_swap(c);
  set_lines(plan, c);
}

/* Streams a matrix for each index of the columns' outer axes, if rows are few: weights of [heads, depth, size] are a matrix for
** each head. The operand with several axes of lines becomes the rhs. */
static ContractionWay plan_batched(ContractionPlan *plan, Contraction *c) {
  /* Threshold MIN_COLUMNS. Test: "weights whose depth lies between other dimensions" in
  ** core/quantised_places.test.mjs. */
  enum { MIN_COLUMNS = 16 };
  ContractionPlan batched = *plan;
  Contraction lines = *c;
  if (c->windowed || (c->rows.count > 1 && c->columns.count > 1)) return BY_TILES;
  if (c->rows.count > 1) swap_plan(&batched, &lines);
  contraction_batch_columns(&lines);
  batched.batches_columns = true;
  batched.batches = axes_size(&lines.batch);
  set_lines(&batched, &lines);
  if (batched.lines[RHS] < MIN_COLUMNS || !stream_plan(&batched, &lines, 1)) return BY_TILES;
  *plan = batched;
  *c = lines;
  return BY_STREAM;
}

/* Whether a depth of two axes can be streamed in runs: both operands have the axes in this order, and the inner one is long. */
static bool has_runs(const Contraction *c) {
  /* Threshold MIN_RUN. Test: "a depth of two axes" in core/thresholds.test.mjs. */
  enum { MIN_RUN = 32 };
  const Axis *axes = c->depth.items;
  return c->depth.count == 2 && axes[1].size >= MIN_RUN && c->rows.count <= 1 &&
         c->columns.count <= 1 && !c->array[LHS].computed && !c->array[RHS].computed &&
         axes[0].stride[LHS] >= axes[1].stride[LHS] && axes[0].stride[RHS] >= axes[1].stride[RHS];
}

/* Chooses a way without packing, if there are few rows or columns, or both operands are small. */
static ContractionWay plan_unpacked(ContractionPlan *plan, Contraction *c) {
  if (c->depth.count > 1 && !has_runs(c)) return BY_TILES;
  if (c->rows.count > 1 || c->columns.count > 1) return plan_batched(plan, c);
  int64_t min_lines = min_i64(plan->lines[LHS], plan->lines[RHS]);
  int64_t max_lines = max_i64(plan->lines[LHS], plan->lines[RHS]), depth = axes_size(&c->depth);
  bool computed = c->array[LHS].computed || c->array[RHS].computed;
  if (!computed && c->depth.count <= 1 &&
      (min_lines > THIN || (depth <= TINY_DEPTH && max_lines * depth <= TINY))) {
    if (swapping_cost(c, true) < swapping_cost(c, false)) swap_plan(plan, c);
    if (small_plan(plan, c)) return BY_WHOLE_MATRICES;
  }
  if (plan->lines[RHS] < plan->lines[LHS]) swap_plan(plan, c);
  return stream_plan(plan, c, 1) ? BY_STREAM : BY_TILES;
}

/* Streams a matrix for each part, if the parts have few rows in all: experts that a few tokens choose. */
static ContractionWay plan_parts(ContractionPlan *plan, const Contraction *c, int64_t parts) {
  const Computed *computed = c->array[RHS].computed;
  /* Threshold PACKED: each part's numbers of 2 or 4 bits begin at a byte if sizes are multiples of it. Test: "groups of few
  ** rows" in core/ragged_dot.test.mjs. */
  enum { PACKED = 4 };
  bool is_aligned =
      !computed || (plan->lines[RHS] % PACKED == 0 && axes_size(&c->depth) % PACKED == 0);
  if (!c->keeps_rows || plan->swapped || !is_aligned || c->rows.count > 1 || c->columns.count > 1 ||
      c->depth.count > 1) {
    return BY_TILES;
  }
  return stream_plan(plan, c, parts) ? BY_STREAM : BY_TILES;
}

ContractionPlan contraction_plan(Contraction *largest, int64_t parts, int64_t result_elements) {
  ContractionPlan plan = {.swapped = should_swap(largest)};
  contraction_arrange(largest, &plan);
  const ContractionArray *array = largest->array;
  plan.arithmetic = arithmetic_for(array[LHS].type, array[RHS].type, array[OUT].type);
  plan.batches = axes_size(&largest->batch);
  set_lines(&plan, largest);
  bool swapped = plan.swapped;
  plan.way = parts == 1 ? plan_unpacked(&plan, largest) : plan_parts(&plan, largest, parts);
  if (plan.way == BY_TILES) {
    if (plan.swapped != swapped) swap_plan(&plan, largest);
    ContractionPlan direct = plan;
    tiles_plan(&plan, largest, parts);
    if (direct_plan(&direct, largest, parts) && direct.cost < plan.cost) {
      plan = direct;
      plan.way = DIRECTLY;
    }
  }
  if (plan.cost == 0) { /* ways without packing run at about the micro-kernel's rate */
    plan.cost = (double)(plan.batches * plan.lines[LHS] * plan.lines[RHS]) *
                (double)(axes_size(&largest->depth) + 1);
  }
  plan.units_per_part = plan.batches * plan.tiles[LHS] * plan.tiles[RHS] * plan.splits;
  plan.units = plan.units_per_part * parts;
  int64_t depth = plan.blocks / plan.splits * plan.depth_block;
  int64_t products = plan.tile[LHS] * plan.tile[RHS] * (depth + 1);
  plan.units_per_chunk = products < CHUNK_PRODUCTS ? CHUNK_PRODUCTS / products : 1;
  plan.result_elements = result_elements;
  plan.finish_elements = FINISH_ELEMENTS;
  bool converts = plan.way == BY_STREAM || plan.way == BY_WHOLE_MATRICES;
  plan.finishes =
      plan.splits > 1 || (!converts && !sums_are_results(plan.arithmetic, array[OUT].type));
  return plan;
}

void contraction_phases(const ContractionPlan *plan, int *chunks) {
  chunks[PHASE_PACK] = (int)tiles_pack_chunks(plan);
  chunks[PHASE_MULTIPLY] = (int)divide_up(plan->units, plan->units_per_chunk);
  chunks[PHASE_FINISH] =
      plan->finishes ? (int)divide_up(plan->result_elements, plan->finish_elements) : 0;
}

static int64_t sum_bytes(const ContractionPlan *plan) {
  return plan->result_elements * type_bytes(plan->arithmetic->sum);
}

int64_t contraction_scratch_bytes(const ContractionPlan *plan) {
  return plan->sums_at + (plan->finishes ? plan->splits * sum_bytes(plan) : 0);
}

/* ---- Running ---- */

void contraction_pack(const Contraction *contraction, const ContractionPlan *plan,
                      const ContractionData *data, int64_t chunk) {
  const uint8_t *sides[2] = {plan->swapped ? data->rhs : data->lhs,
                             plan->swapped ? data->lhs : data->rhs};
  tiles_pack(contraction, plan, sides, data->scratch, chunk);
}

/* The start of a batch. Stepping to the next batch is cheaper than dividing its number. */
typedef struct Batch {
  int64_t index[MAX_RANK];
  size_t offset[3];
} Batch;

static void batch_find(Batch *batch, const Contraction *c, int64_t number) {
  *batch = (Batch){0};
  for (int o = LHS; o <= OUT; o++) batch->offset[o] = (size_t)c->array[o].base;
  for (int d = c->batch.count - 1; d >= 0; d--) {
    const Axis *axis = &c->batch.items[d];
    batch->index[d] = number % axis->size;
    number /= axis->size;
    for (int o = LHS; o <= OUT; o++) {
      batch->offset[o] += (size_t)(batch->index[d] * axis->stride[o]);
    }
  }
}

static void batch_next(Batch *batch, const Contraction *c) {
  for (int d = c->batch.count - 1; d >= 0; d--) {
    const Axis *axis = &c->batch.items[d];
    bool ends = ++batch->index[d] == axis->size;
    int64_t steps = ends ? 1 - axis->size : 1;
    for (int o = LHS; o <= OUT; o++) batch->offset[o] += (size_t)(steps * axis->stride[o]);
    if (!ends) return;
    batch->index[d] = 0;
  }
}

/* Finds the unit's lines and depth. Returns false if the unit is empty, as in parts smaller than the largest. */
static bool unit_find(Unit *unit, const Contraction *part, const ContractionPlan *plan,
                      int64_t number) {
  int64_t split = number % plan->splits, rest = number / plan->splits;
  int64_t tile[2] = {rest / plan->tiles[RHS] % plan->tiles[LHS], rest % plan->tiles[RHS]};
  int64_t lines[2] = {axes_size(&part->rows), axes_size(&part->columns)};
  int64_t depth = axes_size(&part->depth);
  int64_t split_depth = plan->blocks / plan->splits * plan->depth_block;
  *unit = (Unit){.batch = rest / plan->tiles[RHS] / plan->tiles[LHS],
                 .split = split,
                 .depth = split * split_depth,
                 .depth_end = (split + 1) * split_depth};
  if (unit->depth > depth) unit->depth = depth;
  if (unit->depth_end > depth) unit->depth_end = depth;
  for (int side = LHS; side <= RHS; side++) {
    unit->first[side] = tile[side] * plan->tile[side];
    unit->lines[side] = lines[side] - unit->first[side];
    if (unit->lines[side] <= 0) return false;
    if (unit->lines[side] > plan->tile[side]) unit->lines[side] = plan->tile[side];
  }
  return true;
}

void contraction_multiply(const Contraction *part, const ContractionPlan *plan,
                          const ContractionData *data, int64_t unit, int64_t end) {
  const uint8_t *sides[2] = {plan->swapped ? data->rhs : data->lhs,
                             plan->swapped ? data->lhs : data->rhs};
  PrimitiveType to = plan->finishes ? plan->arithmetic->sum : part->array[OUT].type;
  bool whole = plan->units_per_part == plan->batches; /* a unit is a batch */
  if (plan->way == DIRECTLY) {
    direct_multiply(part, plan, unit, end, sides,
                    plan->finishes ? data->scratch + plan->sums_at : data->result);
    return;
  }
  Unit work = {.lines = {axes_size(&part->rows), axes_size(&part->columns)},
               .depth_end = plan->depth_block};
  if (plan->units_per_part == plan->batches && work.lines[LHS] * work.lines[RHS] == 0) return;
  Batch batch;
  Small small;
  Stream stream;
  batch_find(&batch, part, whole ? unit : 0);
  if (plan->way == BY_WHOLE_MATRICES) small_init(&small, part, plan);
  if (plan->way == BY_STREAM) stream_init(&stream, part, plan);
  for (; unit < end; unit++) {
    if (plan->way == BY_WHOLE_MATRICES) {
      small_multiply(&small, batch.offset, sides, data->result);
      batch_next(&batch, part);
      continue;
    }
    if (!whole || plan->way == BY_TILES) {
      if (!unit_find(&work, part, plan, unit)) continue;
    } else {
      work.depth_end = axes_size(&part->depth);
    }
    uint8_t *sums = plan->finishes ? data->scratch + plan->sums_at + work.split * sum_bytes(plan)
                                   : data->result;
    if (plan->way == BY_TILES) {
      tiles_multiply(part, plan, &work, sides, data->scratch, sums);
      continue;
    }
    if (!whole) batch_find(&batch, part, work.batch);
    stream_multiply(&stream, &work, batch.offset, sides, to, sums);
    if (whole) batch_next(&batch, part);
  }
}

/* ---- Finishing ---- */

#define ADD_SUMS(name, real)                                    \
  static void name(void *to, const void *from, int64_t count) { \
    real *sum = to;                                             \
    const real *more = from;                                    \
    for (int64_t i = 0; i < count; i++) sum[i] += more[i];      \
  }
ADD_SUMS(add_f32, float)
ADD_SUMS(add_f64, double)
ADD_SUMS(add_u32, uint32_t)
ADD_SUMS(add_u64, uint64_t)

static void add_sums(PrimitiveType type, void *to, const void *from, int64_t count) {
  switch (type) {
  case F32: add_f32(to, from, count); break;
  case F64: add_f64(to, from, count); break;
  case C64: add_f32(to, from, 2 * count); break;
  case C128: add_f64(to, from, 2 * count); break;
  case S32: add_u32(to, from, count); break;
  default: add_u64(to, from, count); break;
  }
}

void contraction_finish(const ContractionPlan *plan, PrimitiveType type,
                        const ContractionData *data, int64_t chunk) {
  int64_t first = chunk * plan->finish_elements, count = plan->result_elements - first;
  if (count > plan->finish_elements) count = plan->finish_elements;
  int64_t bytes = type_bytes(plan->arithmetic->sum);
  uint8_t *sums = data->scratch + plan->sums_at + first * bytes;
  for (int64_t split = 1; split < plan->splits; split++) {
    add_sums(plan->arithmetic->sum, sums, sums + split * sum_bytes(plan), count);
  }
  store_sums(plan->arithmetic, sums, count, type, data->result + first * type_bytes(type));
}
