/*
** Contracts tile by tile (tiles.h). For each block of the depth:
**   the rhs' columns are packed, as panels that stay in the second cache;
**   for each block of rows:
**     the lhs' rows are packed;
**     for each panel of columns, which stays in the first cache:
**       for each panel of rows: the micro-kernel adds to these rows x some columns of the result,
**       but for zeros that the panel of rows begins or ends with.
**
** An operand that several tiles need is packed beforehand, unless packing would enlarge it much, as it
** does for a window over an image (9 times for 3 x 3) and for weights that are stored in few bytes. In that
** case each unit packs a block of its tile when it needs it.
*/
#include "kernels/contraction/tiles.h"

#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/pack.h"
#include "kernels/contraction/zeros.h"

enum {
  /* Threshold BLOCK_PANELS, TILE_BLOCKS, MAX_BLOCK_ROWS, MAX_ROWS, MAX_COLUMNS, LHS_BLOCK_BYTES, RHS_BLOCK_BYTES,
  ** WANTED_UNITS, MIN_SPLIT, MAX_WINDOWS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  BLOCK_PANELS = 16, /* panels packed at a time */
  TILE_BLOCKS = 4,   /* max blocks of rows in a unit; it has at most BLOCK_PANELS of columns */
  MAX_BLOCK_ROWS = BLOCK_PANELS * MAX_PANEL_ROWS,
  MAX_ROWS = TILE_BLOCKS * MAX_BLOCK_ROWS,
  MAX_COLUMNS = BLOCK_PANELS * PANEL_COLUMN_BYTES / 4,
  LHS_BLOCK_BYTES = BLOCK_PANELS * (MAX_PANEL_ROWS * DEPTH_BYTES + 64),
  RHS_BLOCK_BYTES = BLOCK_PANELS * (MAX_COLUMNS / BLOCK_PANELS * DEPTH_BYTES + 64),
  WANTED_UNITS = 16, /* enough for a few threads to share the work evenly */
  MIN_SPLIT = 512,   /* min depth of a split; in shorter ones, adding up costs too much */
  MAX_WINDOWS =
      1 << 20,      /* bytes of packed windows and widened numbers: they stay in the second cache */
  PACK_VECTORS = 2, /* vector products in the time to pack an element */
  SUM_PRODUCTS = 6, /* products in the time to start and store a sum */
};

/* ---- Planning ---- */

/* Returns the size of equal tiles: a multiple of `step`, about `max` at most. */
static int64_t equal_tiles(int64_t lines, int64_t max, int64_t step) {
  int64_t count = divide_up(lines, max);
  return divide_up(divide_up(lines, count), step) * step;
}

static void set_tiles(ContractionPlan *plan, Operand side, int64_t max, int64_t panel) {
  plan->tile[side] = equal_tiles(plan->lines[side], max, panel);
  plan->tiles[side] = divide_up(plan->lines[side], plan->tile[side]);
}

static int64_t tile_count(const ContractionPlan *plan) {
  return plan->batches * plan->tiles[LHS] * plan->tiles[RHS];
}

/* Chooses the tiles. Large ones need less packing; small ones can be shared among threads. */
static void plan_tiles(ContractionPlan *plan) {
  int64_t height = panel_lines(plan->arithmetic, LHS), width = panel_lines(plan->arithmetic, RHS);
  int64_t rows = BLOCK_PANELS * height, columns = BLOCK_PANELS * width;
  set_tiles(plan, LHS, TILE_BLOCKS * rows, height);
  set_tiles(plan, RHS, columns, width);
  while (tile_count(plan) < WANTED_UNITS && plan->tile[LHS] > rows) {
    int64_t half = plan->tile[LHS] / 2;
    set_tiles(plan, LHS, half > rows ? half : rows, height);
  }
  if (tile_count(plan) < WANTED_UNITS) set_tiles(plan, RHS, columns / 2, width);
}

static void plan_depth(ContractionPlan *plan, int64_t depth) {
  int64_t max = DEPTH_BYTES / type_bytes(plan->arithmetic->element);
  plan->splits = 1;
  if (tile_count(plan) < WANTED_UNITS / 2 && depth >= 2 * MIN_SPLIT) {
    plan->splits = WANTED_UNITS / 2 / tile_count(plan);
    if (plan->splits > depth / MIN_SPLIT) plan->splits = depth / MIN_SPLIT;
  }
  int64_t split = divide_up(depth, plan->splits), blocks = divide_up(split, max);
  plan->depth_block = blocks <= 1 ? split : divide_up(divide_up(split, blocks), 4) * 4;
  if (plan->depth_block == 0) plan->depth_block = 1;
  plan->blocks = divide_up(divide_up(depth, plan->depth_block), plan->splits) * plan->splits;
}

static int64_t panels_of(const ContractionPlan *plan, Operand side) {
  return divide_up(plan->lines[side], panel_lines(plan->arithmetic, side));
}

/* Returns the bytes from one panel of a block of the depth to the next: an odd number of cache lines. Many panels
** are written at the same time; with an even number they would share few cache sets. */
static int64_t packed_panel(const ContractionPlan *plan, Operand side) {
  int64_t lanes = panel_depth(plan->arithmetic, (int)plan->depth_block);
  int64_t rows = panel_lines(plan->arithmetic, LHS);
  int64_t line = side == LHS ? rows * plan->arithmetic->lane_bytes : PANEL_COLUMN_BYTES;
  return (divide_up(lanes * line, 64) | 1) * 64;
}

/* Returns whether an operand already has the form of panels in memory. */
static bool is_in_panels(const ContractionPlan *plan, const Contraction *c, Operand side) {
  const Arithmetic *arithmetic = plan->arithmetic;
  const Axis *panel = c->columns.items, *column = panel + 1, *depth = c->depth.items;
  int64_t width = PANEL_COLUMN_BYTES / arithmetic->lane_bytes;
  return side == RHS && c->columns.count == 2 && c->depth.count == 1 && arithmetic->reals == 1 &&
         c->array[RHS].type == arithmetic->sum && column->size == width &&
         column->stride[RHS] == 1 && depth->stride[RHS] == width &&
         panel->stride[RHS] == depth->size * width;
}

/* Returns whether packing converts the larger operand to a wider type. A packed copy of the smaller operand is worth its
** memory: more tiles read it. */
static bool is_widened(const ContractionPlan *plan, const Contraction *c, Operand side) {
  bool is_larger = plan->lines[side] > plan->lines[side == LHS ? RHS : LHS] - (side == RHS);
  return is_larger && operand_loader(c, plan->arithmetic, side).run;
}

void tiles_plan(ContractionPlan *plan, const Contraction *largest, int64_t parts) {
  plan_tiles(plan);
  plan_depth(plan, axes_size(&largest->depth));
  int64_t at = 0, lanes = 16 / plan->arithmetic->lane_bytes, reals = plan->arithmetic->reals;
  int64_t depth = panel_depth(plan->arithmetic, (int)plan->depth_block) * plan->blocks;
  double padded[2], packed = 0;
  for (int side = LHS; side <= RHS; side++) {
    bool windowed = largest->windowed && side == (plan->swapped ? RHS : LHS);
    int64_t tiles = plan->tiles[side == LHS ? RHS : LHS];
    int64_t bytes = plan->batches * plan->blocks * panels_of(plan, side) * packed_panel(plan, side);
    bool enlarges = windowed || is_widened(plan, largest, side);
    bool beforehand = parts == 1 && tiles > 1 && (!enlarges || bytes <= MAX_WINDOWS);
    bool panels = is_in_panels(plan, largest, side);
    if (panels) beforehand = false;
    plan->packed_at[side] = at;
    plan->packed_bytes[side] = beforehand ? bytes : 0;
    at += plan->packed_bytes[side];
    padded[side] = (double)(panels_of(plan, side) * panel_lines(plan->arithmetic, side));
    packed += padded[side] * (double)(depth * (panels ? 0 : beforehand ? 1 : tiles));
  }
  plan->sums_at = at;
  plan->cost = (double)(plan->batches * parts) *
               (packed * (double)(PACK_VECTORS * lanes) +
                padded[LHS] * padded[RHS] * (double)((depth + SUM_PRODUCTS) * reals));
}

/* ---- Packing beforehand: packed[batch][block of the depth][panel] ---- */

static int64_t pack_chunks(const ContractionPlan *plan, Operand side) {
  if (!plan->packed_bytes[side]) return 0;
  return plan->batches * plan->blocks * divide_up(panels_of(plan, side), BLOCK_PANELS);
}

int64_t tiles_pack_chunks(const ContractionPlan *plan) {
  return pack_chunks(plan, LHS) + pack_chunks(plan, RHS);
}

static size_t batch_offset(const Contraction *contraction, Operand operand, int64_t batch) {
  size_t offset;
  axes_offsets(&contraction->batch, operand, batch, 1, (size_t)contraction->array[operand].base,
               &offset);
  return offset;
}

static void pack_block(const Contraction *contraction, const ContractionPlan *plan,
                       const uint8_t *data, Operand side, int64_t chunk, uint8_t *packed) {
  size_t line[MAX_COLUMNS];
  Depth depth;
  Side from = side_new(contraction, plan->arithmetic, side, data);
  int64_t panels = panels_of(plan, side), groups = divide_up(panels, BLOCK_PANELS);
  int64_t group = chunk % groups, block = chunk / groups, total = axes_size(&contraction->depth);
  int64_t max = BLOCK_PANELS * panel_lines(plan->arithmetic, side);
  int64_t batch = block / plan->blocks, first = group * max, lines = plan->lines[side] - first;
  int64_t k = block % plan->blocks * plan->depth_block;
  if (lines > max) lines = max;
  if (k >= total) return;
  int count = (int)(total - k < plan->depth_block ? total - k : plan->depth_block);
  const Axes *axes = side == LHS ? &contraction->rows : &contraction->columns;
  axes_offsets(axes, side, first, lines, batch_offset(contraction, side, batch), line);
  depth_init(&depth, &contraction->depth, side, k, count);
  pack(&from, line, lines, &depth,
       packed + (block * panels + group * BLOCK_PANELS) * packed_panel(plan, side),
       (size_t)packed_panel(plan, side));
}

void tiles_pack(const Contraction *contraction, const ContractionPlan *plan,
                const uint8_t *const data[2], uint8_t *scratch, int64_t chunk) {
  Operand side = LHS;
  if (chunk >= pack_chunks(plan, LHS)) {
    chunk -= pack_chunks(plan, LHS);
    side = RHS;
  }
  pack_block(contraction, plan, data[side], side, chunk, scratch + plan->packed_at[side]);
}

/* ---- Multiplying ---- */

/* The memory of a tile's sums. bytes: of one sum. */
typedef struct TileTarget {
  uint8_t *sums;
  const size_t *row, *column;
  size_t bytes;
} TileTarget;

/* The panels of one operand, `stride` bytes apart. */
typedef struct Panels {
  const uint8_t *first;
  size_t stride;
} Panels;

/* Computes a panel of rows in a buffer: its columns are too few, or are not contiguous in the result. */
static void multiply_apart(const Arithmetic *arithmetic, int depth, const uint8_t *lhs,
                           const uint8_t *rhs, const TileTarget *target, int64_t rows,
                           int64_t columns, Start start) {
  _Alignas(16) uint8_t tile[MAX_PANEL_ROWS][PANEL_COLUMN_BYTES] = {{0}};
  void *out[MAX_PANEL_ROWS];
  for (int i = 0; i < MAX_PANEL_ROWS; i++) out[i] = tile[i];
  for (int64_t i = 0; i < rows && start == START_OUT; i++) {
    for (int64_t j = 0; j < columns; j++) {
      memcpy(tile[i] + (size_t)j * target->bytes,
             target->sums + (target->row[i] + target->column[j]) * target->bytes, target->bytes);
    }
  }
  lanes_of(arithmetic->loops)->tile(depth, lhs, 0, 1, rhs, out, start);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) {
      memcpy(target->sums + (target->row[i] + target->column[j]) * target->bytes,
             tile[i] + (size_t)j * target->bytes, target->bytes);
    }
  }
}

/* ---- Zeros ----
**
** Panels of rows often begin or end with zeros: rows masked by expert, weights of attention after a causal mask. Products of these
** with finite numbers are left out. */

/* Returns the type of a panel's numbers; any integral type for integers. */
static PrimitiveType lane_type(const Arithmetic *arithmetic) {
  return arithmetic->loops == LOOPS_F32 ? F32 : arithmetic->loops == LOOPS_F64 ? F64 : S32;
}

/* Returns the depth from the first number of a panel of rows that is not 0 to the last one. */
static Used used_depth(const Arithmetic *arithmetic, const uint8_t *panel, int depth) {
  int line = panel_lines(arithmetic, LHS) * arithmetic->lane_bytes, bytes = depth * line;
  Used used = zeros_leave(arithmetic, panel, bytes);
  return (Used){used.begin / line, (int)divide_up(used.end, line)};
}

/* Sets the used depth of panels. Returns false if hardly anything is left out. */
static bool find_used(const Arithmetic *arithmetic, Panels rows, int64_t count, int depth,
                      Used *used) {
  int64_t all = 0;
  for (int64_t i = 0; i < count; i++) {
    used[i] = used_depth(arithmetic, rows.first + (size_t)i * rows.stride, depth);
    all += used[i].end - used[i].begin;
  }
  /* Threshold PART. Test: "zeros of rows are left out, but not times infinities and NaNs" in
  ** core/ragged_dot.test.mjs. */
  enum { PART = 8 };
  return all <= count * depth - count * depth / PART;
}

/* Multiplies panels of rows by a panel of columns, each along its used depth. out: places of their rows. */
static void multiply_used(const Arithmetic *arithmetic, Panels lhs, const Used *used,
                          int64_t panels, const uint8_t *rhs, void *const *out, Start start) {
  const LaneLoops *loops = lanes_of(arithmetic->loops);
  int line = loops->panel_rows * arithmetic->lane_bytes;
  for (int64_t i = 0; i < panels; i++, lhs.first += lhs.stride, out += loops->panel_rows) {
    int depth = used[i].end - used[i].begin;
    if (depth == 0 && start == START_OUT) continue;
    loops->tile(depth, lhs.first + used[i].begin * line, 0, 1,
                rhs + used[i].begin * PANEL_COLUMN_BYTES, out, start);
  }
}

/* Multiplies one panel of columns by all panels of a block of rows. used: NULL: all of the depth. */
static void multiply_panel(const Arithmetic *arithmetic, int depth, Panels lhs, const Used *used,
                           const uint8_t *rhs, const TileTarget *target, int64_t rows,
                           int64_t columns, Start start) {
  _Alignas(16)
      uint8_t nowhere[PANEL_COLUMN_BYTES] = {0}; /* the target of rows that the last panel lacks */
  void *out[MAX_BLOCK_ROWS];
  const LaneLoops *loops = lanes_of(arithmetic->loops);
  int64_t height = loops->panel_rows, panels = divide_up(rows, height);
  int64_t width = PANEL_COLUMN_BYTES / (int64_t)target->bytes;
  bool whole =
      columns >= width && target->column[width - 1] == target->column[0] + (size_t)width - 1;
  if (whole) {
    uint8_t *sums = target->sums + target->column[0] * target->bytes;
    for (int64_t i = 0; i < rows; i++) out[i] = sums + target->row[i] * target->bytes;
    for (int64_t i = rows; i < panels * height; i++) out[i] = nowhere;
    if (used) {
      multiply_used(arithmetic, lhs, used, panels, rhs, out, start);
    } else {
      loops->tile(depth, lhs.first, lhs.stride, (int)panels, rhs, out, start);
    }
    return;
  }
  if (columns > width) columns = width;
  for (int64_t i = 0; i < rows; i += height, lhs.first += lhs.stride) {
    TileTarget apart = {target->sums, target->row + i, target->column, target->bytes};
    multiply_apart(arithmetic, depth, lhs.first, rhs, &apart, rows - i < height ? rows - i : height,
                   columns, start);
  }
}

/* ---- Used parts of the result (contraction.h: Diagonal) ---- */

/* The indices of a panel's lines in both dimensions, the last ones included. A panel of rows may have the mask's columns, if the
** operands are swapped. */
typedef struct Position {
  Used column, row;
} Position;

/* Returns the range of a dimension's indices in the elements from `first` to `last`. */
static Used indices_of(Dimension dimension, size_t first, size_t last) {
  size_t begin = first / (size_t)dimension.stride, end = last / (size_t)dimension.stride;
  size_t size = (size_t)dimension.size;
  if (begin / size != end / size) return (Used){0, (int)size - 1};
  return (Used){(int)(begin % size), (int)(end % size)};
}

/* Finds the positions of panels of `height` lines. out: the lines' offsets in the result, which ascend. */
static void find_positions(const Diagonal *diagonal, const size_t *out, int64_t lines,
                           int64_t height, Position *panel) {
  for (int64_t i = 0; i < lines; i += height) {
    size_t last = out[min_i64(i + height, lines) - 1];
    *panel++ = (Position){indices_of(diagonal->column, out[i], last),
                          indices_of(diagonal->row, out[i], last)};
  }
}

/* Whether some elements of a panel of rows and a panel of columns are used. */
static bool is_used(const Diagonal *diagonal, Position rows, Position columns) {
  int64_t first_row = rows.row.begin + columns.row.begin, last_row = rows.row.end + columns.row.end;
  int64_t first = rows.column.begin + columns.column.begin;
  int64_t last = rows.column.end + columns.column.end;
  return first < min_i64(diagonal->end + last_row, diagonal->last) &&
         last >= max_i64(diagonal->begin + first_row, diagonal->first);
}

/* Returns the range from the first panel of rows that has used elements to the last one. */
static Used used_panels(const Diagonal *diagonal, const Position *rows, int64_t panels,
                        Position columns) {
  int first = 0, end = (int)panels;
  while (end > first && !is_used(diagonal, rows[end - 1], columns)) end--;
  while (first < end && !is_used(diagonal, rows[first], columns)) first++;
  return (Used){first, end};
}

/* A unit's lines of one operand, packed a block of the depth at a time. */
typedef struct TileSide {
  Side side;
  size_t line[MAX_ROWS];
  Depth depth;
  const uint8_t *packed; /* panels of the unit's first line, of block 0; NULL: not packed yet */
  size_t panel_bytes, block_bytes; /* of a packed panel; of all panels of a block */
} TileSide;

static void tile_side_init(TileSide *tile, const Contraction *part, const ContractionPlan *plan,
                           const Unit *unit, Operand side, const uint8_t *data,
                           const uint8_t *scratch) {
  tile->side = side_new(part, plan->arithmetic, side, data);
  tile->panel_bytes = (size_t)packed_panel(plan, side);
  tile->block_bytes = (size_t)panels_of(plan, side) * tile->panel_bytes;
  tile->packed = NULL;
  if (is_in_panels(plan, part, side)) {
    size_t bytes = (size_t)plan->arithmetic->lane_bytes;
    size_t first = batch_offset(part, side, unit->batch) +
                   (size_t)(unit->first[side] * axes_size(&part->depth));
    tile->packed = data + first * bytes;
    tile->panel_bytes = (size_t)part->columns.items[0].stride[RHS] * bytes;
    tile->block_bytes = (size_t)(plan->depth_block * PANEL_COLUMN_BYTES);
    return;
  }
  if (plan->packed_bytes[side]) {
    int64_t panel = unit->first[side] / panel_lines(plan->arithmetic, side);
    tile->packed = scratch + plan->packed_at[side] +
                   (size_t)(unit->batch * plan->blocks) * tile->block_bytes +
                   (size_t)panel * tile->panel_bytes;
    return;
  }
  axes_offsets(side == LHS ? &part->rows : &part->columns, side, unit->first[side],
               unit->lines[side], batch_offset(part, side, unit->batch), tile->line);
}

/* Returns the panels of the unit's lines from `first` on, a multiple of the panel's lines. */
static Panels tile_panels(const TileSide *tile, int64_t block, int64_t first, int64_t lines,
                          uint8_t *buffer) {
  if (tile->packed) {
    int64_t panel = first / panel_lines(tile->side.arithmetic, tile->side.operand);
    const uint8_t *at = tile->packed + (size_t)block * tile->block_bytes;
    return (Panels){at + (size_t)panel * tile->panel_bytes, tile->panel_bytes};
  }
  pack(&tile->side, tile->line + first, lines, &tile->depth, buffer, tile->panel_bytes);
  return (Panels){buffer, tile->panel_bytes};
}

void tiles_multiply(const Contraction *part, const ContractionPlan *plan, const Unit *unit,
                    const uint8_t *const data[2], const uint8_t *scratch, uint8_t *sums) {
  _Alignas(16) uint8_t lhs_buffer[LHS_BLOCK_BYTES], rhs_buffer[RHS_BLOCK_BYTES];
  size_t row[MAX_ROWS], column[MAX_COLUMNS];
  Used used[BLOCK_PANELS];
  Position row_position[TILE_BLOCKS * BLOCK_PANELS], column_position[BLOCK_PANELS];
  TileSide lhs, rhs;
  const Arithmetic *arithmetic = plan->arithmetic;
  tile_side_init(&lhs, part, plan, unit, LHS, data[LHS], scratch);
  tile_side_init(&rhs, part, plan, unit, RHS, data[RHS], scratch);
  axes_offsets(&part->rows, OUT, unit->first[LHS], unit->lines[LHS],
               batch_offset(part, OUT, unit->batch), row);
  axes_offsets(&part->columns, OUT, unit->first[RHS], unit->lines[RHS], 0, column);
  Start start = part->keeps_negative_zero ? START_NEGATIVE_ZERO : START_ZERO;
  int width = panel_lines(arithmetic, RHS), tall = panel_lines(arithmetic, LHS);
  int max_rows = BLOCK_PANELS * tall;
  const Diagonal *diagonal = part->diagonal;
  if (diagonal) {
    find_positions(diagonal, row, unit->lines[LHS], tall, row_position);
    find_positions(diagonal, column, unit->lines[RHS], width, column_position);
  }
  int64_t k = unit->depth;
  do {
    int64_t rest = unit->depth_end - k, block = k / plan->depth_block;
    int count = (int)(rest < plan->depth_block ? rest : plan->depth_block);
    if (!lhs.packed) depth_init(&lhs.depth, &part->depth, LHS, k, count);
    if (!rhs.packed) depth_init(&rhs.depth, &part->depth, RHS, k, count);
    Panels columns = tile_panels(&rhs, block, 0, unit->lines[RHS], rhs_buffer);
    int lanes = panel_depth(arithmetic, count);
    enum { UNKNOWN = -1 };
    int finite = start == START_NEGATIVE_ZERO ? 0 : UNKNOWN;
    for (int64_t i = 0; i < unit->lines[LHS]; i += max_rows) {
      int64_t height = unit->lines[LHS] - i < max_rows ? unit->lines[LHS] - i : max_rows;
      Panels rows = tile_panels(&lhs, block, i, height, lhs_buffer);
      Used panels = {0, (int)divide_up(height, tall)};
      bool skips = finite && find_used(arithmetic, rows, panels.end, lanes, used);
      if (skips && finite == UNKNOWN) {
        finite = zeros_may_multiply(lane_type(arithmetic), columns.first, columns.stride,
                                    divide_up(unit->lines[RHS], width), lanes * PANEL_COLUMN_BYTES);
      }
      const uint8_t *panel = columns.first;
      for (int64_t j = 0; j < unit->lines[RHS]; j += width, panel += columns.stride) {
        if (diagonal) {
          panels = used_panels(diagonal, row_position + i / tall, divide_up(height, tall),
                               column_position[j / width]);
        }
        int64_t first = panels.begin * tall, end = min_i64(panels.end * tall, height);
        if (first >= end) continue;
        Panels some = {rows.first + (size_t)panels.begin * rows.stride, rows.stride};
        TileTarget target = {sums, row + i + first, column + j,
                             (size_t)type_bytes(arithmetic->sum)};
        multiply_panel(arithmetic, lanes, some, skips && finite ? used + panels.begin : NULL, panel,
                       &target, end - first, unit->lines[RHS] - j, start);
      }
    }
    start = START_OUT;
    k += count;
  } while (k < unit->depth_end);
}
