/* Contracts operands in place, with lists of offsets: see direct.h. */
#include "kernels/contraction/direct.h"

#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "kernels/contraction/pack.h"

enum {
  /* Threshold MAX_ROWS, LISTED_DEPTH, LISTED, MATRIX_BYTES, MIN_COLUMNS, WANTED_UNITS. Test:
  ** "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  MAX_ROWS = 128,         /* of a unit */
  LISTED_DEPTH = 2048,    /* numbers of the depth */
  LISTED = 256,           /* at a time */
  MATRIX_BYTES = 1 << 18, /* max bytes of a unit's part of the rhs: it stays in the second cache */
  MIN_COLUMNS = 64,       /* of a part, if there are as many */
  WANTED_UNITS = 16,
};

/* Returns the number of columns that are contiguous in both arrays. */
static int64_t run_of(const Contraction *c) {
  return c->columns.count ? c->columns.items[c->columns.count - 1].size : 1;
}

/* ---- Planning ---- */

static bool is_possible(const ContractionPlan *plan, const Contraction *c) {
  const Arithmetic *arithmetic = plan->arithmetic;
  if (arithmetic->reals != 1 || arithmetic->lane_elements != 1 || c->columns.count == 0) {
    return false;
  }
  const Axis *columns = &c->columns.items[c->columns.count - 1];
  int64_t depth = axes_size(&c->depth);
  return columns->stride[RHS] == 1 && columns->stride[OUT] == 1 &&
         columns->size * arithmetic->lane_bytes >= 16 && depth > 0 && depth <= LISTED_DEPTH &&
         !operand_loader(c, arithmetic, LHS).run && !operand_loader(c, arithmetic, RHS).run;
}

/*
** Returns the time of a product, relative to one of the micro-kernel on packed panels. Every few rows read
** all of the rhs again, from the caches if it fits. Lines of the rhs that are a large power of two apart
** evict each other, since they share a few cache sets.
** Measured: 24 rows times 2048 x 2048 take 3x as long as with a packed matrix (Node 20, 2026-11).
*/
static double product_cost(const Contraction *c) {
  /* Threshold NEAR, WAY_BYTES, WAYS: rows that share a set of the cache; only the speed depends on it. No path
  ** in tests. */
  enum { NEAR = 1 << 17, WAY_BYTES = 1 << 17, WAYS = 8 }; /* bytes; bytes; lines in a cache set */
  const Axes *axes = &c->depth;
  int64_t depth = axes_size(axes), bytes = type_bytes(c->array[RHS].type);
  int64_t stride = axes->count ? axes->items[axes->count - 1].stride[RHS] * bytes : 0;
  int64_t apart = stride & -stride;
  if (apart > 64 && depth > WAYS * WAY_BYTES / apart) return 3;
  return depth * run_of(c) * bytes <= NEAR ? 8.0 / 7 : 10.0 / 7;
}

/* Threshold SUM_PRODUCTS, ROWS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
enum { SUM_PRODUCTS = 14, ROWS = 4 };

/* Estimates the cost over all rows and whole vectors. Starting and storing a sum, and locating its row, costs
** SUM_PRODUCTS products. */
static double cost_of(const ContractionPlan *plan, const Contraction *c) {
  int64_t run = run_of(c), rows = plan->lines[LHS], lanes = 16 / plan->arithmetic->lane_bytes;
  if (rows >= ROWS) rows = round_up(rows, ROWS);
  int64_t columns = plan->lines[RHS] / run * round_up(run, lanes);
  double sums = (double)(plan->batches * rows) * (double)columns;
  double products = (double)axes_size(&c->depth) * product_cost(c) + SUM_PRODUCTS;
  return sums * products * (c->in_pairs ? 2 : 1);
}

static void set_parts(ContractionPlan *plan, const Contraction *c) {
  int64_t run = run_of(c), depth = axes_size(&c->depth);
  int64_t columns = MATRIX_BYTES / (depth * plan->arithmetic->lane_bytes);
  int64_t parts = divide_up(run, columns < MIN_COLUMNS ? MIN_COLUMNS : columns);
  plan->tile[LHS] = plan->lines[LHS] < MAX_ROWS ? plan->lines[LHS] : MAX_ROWS;
  int64_t others =
      plan->batches * divide_up(plan->lines[LHS], plan->tile[LHS]) * (plan->lines[RHS] / run);
  if (others * parts < WANTED_UNITS) parts = divide_up(WANTED_UNITS, others);
  if (parts > run / MIN_COLUMNS) parts = run / MIN_COLUMNS ? run / MIN_COLUMNS : 1;
  plan->run_parts = parts;
  plan->tile[RHS] = divide_up(run, parts);
  plan->tiles[LHS] = divide_up(plan->lines[LHS], plan->tile[LHS]);
  plan->tiles[RHS] = plan->lines[RHS] / run * parts;
}

bool direct_plan(ContractionPlan *plan, const Contraction *largest, int64_t parts) {
  if (!is_possible(plan, largest)) return false;
  plan->cost = cost_of(plan, largest) * (double)parts;
  set_parts(plan, largest);
  plan->splits = plan->blocks = 1;
  plan->depth_block = axes_size(&largest->depth);
  return true;
}

/* ---- Lists ---- */

/* Returns the min offset of any number of the depth: negative if windows are reversed. */
static int64_t min_offset(const Axes *depth, Operand operand) {
  int64_t start = 0;
  for (int i = 0; i < depth->count; i++) {
    const Axis *axis = &depth->items[i];
    if (axis->stride[operand] < 0) start += (axis->size - 1) * axis->stride[operand];
  }
  return start;
}

/* Computes offsets relative to `start`. */
static void list_depth(const Contraction *c, const size_t start[2], size_t bytes, DepthAt *at) {
  int64_t depth = axes_size(&c->depth);
  size_t offset[2][LISTED];
  for (int64_t k = 0; k < depth; k += LISTED) {
    int64_t count = depth - k < LISTED ? depth - k : LISTED;
    for (int side = LHS; side <= RHS; side++) {
      axes_offsets(&c->depth, side, k, count, (size_t)0 - start[side], offset[side]);
    }
    for (int64_t i = 0; i < count; i++) {
      at[k + i] = (DepthAt){offset[LHS][i] * bytes, offset[RHS][i] * bytes};
    }
  }
}

static void list_rows(const Contraction *c, size_t bytes, int64_t first, int64_t count,
                      RowAt *row) {
  size_t lhs[MAX_ROWS], out[MAX_ROWS];
  axes_offsets(&c->rows, LHS, first, count, 0, lhs);
  axes_offsets(&c->rows, OUT, first, count, 0, out);
  for (int64_t i = 0; i < count; i++) row[i] = (RowAt){lhs[i] * bytes, out[i] * bytes};
}

/* ---- Units ---- */

/* Of a list of lines with some in each batch: where a batch's first one is. */
static size_t offset_of(const Axes *axes, Operand operand, int64_t index) {
  size_t offset;
  axes_offsets(axes, operand, index, 1, 0, &offset);
  return offset;
}

void direct_multiply(const Contraction *c, const ContractionPlan *plan, int64_t unit, int64_t end,
                     const uint8_t *const data[2], uint8_t *sums) {
  DepthAt at[LISTED_DEPTH];
  RowAt row[MAX_ROWS];
  size_t bytes = (size_t)plan->arithmetic->lane_bytes;
  PlainLoop *loop = lanes_of(plan->arithmetic->loops)->plain;
  int64_t rows = axes_size(&c->rows), columns = axes_size(&c->columns), run = run_of(c);
  int64_t parts = plan->run_parts, listed = -1;
  size_t start[2] = {(size_t)min_offset(&c->depth, LHS), (size_t)min_offset(&c->depth, RHS)};
  list_depth(c, start, bytes, at);
  for (; unit < end; unit++) {
    int64_t number = unit, tile[2];
    for (int side = RHS; side >= LHS; side--) {
      tile[side] = number % plan->tiles[side];
      number /= plan->tiles[side];
    }
    int64_t first = tile[LHS] * plan->tile[LHS], count = rows - first, part = tile[RHS] % parts;
    int64_t column = tile[RHS] / parts * run + part * run / parts;
    if (count <= 0 || column >= columns) continue; /* a part of fewer rows or columns */
    if (count > plan->tile[LHS]) count = plan->tile[LHS];
    if (first != listed) list_rows(c, bytes, first, count, row);
    listed = first;
    size_t lhs = (size_t)c->array[LHS].base + start[LHS] + offset_of(&c->batch, LHS, number);
    size_t rhs = (size_t)c->array[RHS].base + start[RHS] + offset_of(&c->batch, RHS, number) +
                 offset_of(&c->columns, RHS, column);
    size_t out = (size_t)c->array[OUT].base + offset_of(&c->batch, OUT, number) +
                 offset_of(&c->columns, OUT, column);
    loop((int)count, (int)((part + 1) * run / parts - part * run / parts),
         (int)axes_size(&c->depth), data[LHS] + lhs * bytes, row, data[RHS] + rhs * bytes, at,
         sums + out * bytes, c->keeps_negative_zero ? START_NEGATIVE_ZERO : START_ZERO);
  }
}
