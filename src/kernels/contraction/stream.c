/*
** Streams a matrix past a few vectors: plans the units, loads the vectors, and keeps the sums. How a block of the matrix is
** read depends on its order in memory (stream_order.h). Either way memory is read front to back.
**
** Complex numbers are pairs of reals, and each complex vector becomes two real ones, as that order needs them.
*/
#include "kernels/contraction/stream.h"

#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"

/* Threshold MAX_BLOCKS. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
/* Sums of a block are added to those of MAX_BLOCKS blocks, and these to the total: so the error of a sum does not grow with
** the depth. */
enum { MAX_BLOCKS = 64 };

/* ---- Planning ---- */

/* Returns the size of equal parts: a multiple of `step`, at most `max`. */
static int64_t equal_parts(int64_t size, int64_t max, int64_t step) {
  int64_t parts = divide_up(size, max < step ? step : max / step * step);
  return divide_up(divide_up(size, parts), step) * step;
}

/* Returns the matrix's order; NULL if neither its rows nor its columns are contiguous. */
static const StreamOrder *order_of(const Contraction *c) {
  bool dense = c->depth.count && axes_stride(&c->depth, RHS) == 1; /* along the depth */
  if (c->columns.count == 0) return dense ? &stream_by_columns : &stream_by_depth;
  if (axes_stride(&c->columns, RHS) == 1) return &stream_by_depth;
  return dense ? &stream_by_columns : NULL;
}

/* Returns false if the matrix has neither order. */
static bool stream_set(Stream *s, const Contraction *c, const Arithmetic *arithmetic) {
  *s = (Stream){.contraction = c, .arithmetic = arithmetic, .order = order_of(c)};
  if (!s->order) return false;
  bool along_depth = s->order->along_depth;
  s->vectors = operand_loader(c, arithmetic, LHS);
  s->matrix = operand_loader(c, arithmetic, RHS);
  s->line_stride = axes_stride(along_depth ? &c->columns : &c->depth, RHS);
  s->vector_lanes = along_depth ? arithmetic->reals : 1;
  s->sum_lanes = along_depth ? 1 : arithmetic->reals;
  s->narrow = narrow_of(s);
  return true;
}

void stream_init(Stream *s, const Contraction *c, const ContractionPlan *plan) {
  stream_set(s, c, plan->arithmetic);
  s->depth_block = plan->depth_block;
}

/* Returns how many elements of the matrix a unit has, if there are enough. If reading takes longer than arithmetic, they are many:
** processors read long runs faster.
** Measured against 65,536 elements for all: a step of a decoder of 100M f32 0.85, bf16 0.83 (AMD EPYC, Node 20, 2026-11-30). */
static int64_t unit_elements(const Stream *s, int64_t vectors) {
  int bits = type_bits(s->narrow.loops ? s->narrow.type : s->contraction->array[RHS].type);
  if (bits >= 16 && vectors <= READ_VECTORS) return 8 * UNIT_BYTES / bits;
  return s->narrow.loops ? LEAST_ELEMENTS : LEAST_ELEMENTS / 2;
}

bool stream_plan(ContractionPlan *plan, const Contraction *c, int64_t parts) {
  const Arithmetic *arithmetic = plan->arithmetic;
  int64_t vectors = plan->lines[LHS] * arithmetic->reals, lines = plan->lines[RHS];
  int64_t depth = axes_size(&c->depth), bytes = arithmetic->lane_bytes * arithmetic->reals;
  Stream s;
  if (vectors > MAX_VECTORS || depth == 0 || !stream_set(&s, c, arithmetic)) return false;
  const StreamOrder *order = s.order;
  const Narrow *narrow = &s.narrow;
  bool converts = s.matrix.run != NULL || arithmetic->lane_elements > 1;
  bool scaled = narrow->loops && narrow->scaled;
  int64_t step = scaled ? order->depth_step(narrow->scaled->scaled) : DEPTH_STEP;
  /* Measured, f32[2048,8192] against FIRST_BYTES for all: a vector 0.70, 4 0.92; with SUM_BYTES 8 vectors 1.21, 16 1.15. Narrow
  ** numbers 0.86 to 1.07 with 8 and 16 (Node 20, 2026-11). */
  int64_t sum_bytes = narrow->loops || vectors <= FEW_VECTORS ? SUM_BYTES : FIRST_BYTES;
  int64_t max_lines = sum_bytes / (vectors * bytes);
  if (scaled) max_lines = min_i64(max_lines, MAX_SCALES);
  if (converts && !narrow->loops) {
    max_lines = min_i64(max_lines, order->converted_bytes / bytes);
  }
  int64_t run = c->depth.count > 1 ? c->depth.items[1].size : depth;
  int64_t elements = unit_elements(&s, vectors);
  int64_t wanted = order->unit_columns(run, elements); /* which are read front to back */
  bool one = depth * lines <= LEAST_ELEMENTS;
  if (one) wanted = lines;
  if (!one && order->along_depth) wanted = min_i64(wanted, divide_up(lines, 2));
  plan->tile[LHS] = plan->lines[LHS];
  plan->tiles[LHS] = 1;
  plan->tile[RHS] = equal_parts(lines, min_i64(wanted, max_lines), 16);
  plan->tiles[RHS] = divide_up(lines, plan->tile[RHS]);
  int64_t tile = min_i64(plan->tile[RHS], lines);
  plan->splits = min_i64(divide_up(tile * depth, 2 * elements), narrow->loops ? 16 : 32);
  if (!one && plan->tiles[RHS] == 1) plan->splits = round_up(plan->splits, 2); /* for two threads */
  if (plan->batches * plan->tiles[RHS] >= 32 || parts > 1) plan->splits = 1;
  int64_t split = round_up(divide_up(depth, plan->splits), step);
  int64_t max_depth = min_i64(VECTOR_BYTES / (vectors * bytes), order->max_depth);
  if (narrow->loops ? narrow->is_unpacked || narrow->loops->looks_before : converts) {
    max_depth = min_i64(max_depth, 2 * MATRIX_BYTES / CONVERTED_ROWS / bytes);
  }
  plan->depth_block = equal_parts(split, max_depth, step);
  plan->blocks = divide_up(split, plan->depth_block) * plan->splits;
  return true;
}

/* ---- The vectors ---- */

static void load_complex(const Stream *s, const uint8_t *from, int64_t stride, int64_t count,
                         uint8_t *first, uint8_t *second) {
  /* Threshold SOME. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t pairs[SOME * 16];
  const Loader *loader = &s->vectors;
  size_t step = (size_t)(s->arithmetic->lane_bytes * s->vector_lanes);
  for (int64_t k = 0; k < count; k += SOME) {
    int64_t some = min_i64(count - k, SOME);
    load_elements(loader, from + (size_t)(k * stride) * (size_t)type_bytes(loader->from), stride,
                  some, pairs);
    s->order->split[loader->element == C128](pairs, some, first + (size_t)k * step,
                                             second + (size_t)k * step);
  }
}

/* Loads rows as contiguous vectors, or points to them in memory. */
static Vectors load_vectors(const Stream *s, int64_t rows, const uint8_t *from, int64_t count,
                            uint8_t *buffer) {
  const Loader *loader = &s->vectors;
  const Axes *axes = &s->contraction->depth;
  int64_t row = axes_stride(&s->contraction->rows, LHS), depth = axes_stride(axes, LHS);
  size_t bytes = (size_t)type_bytes(loader->from), out_bytes = (size_t)type_bytes(loader->element);
  int lanes = s->arithmetic->lane_elements, reals = s->arithmetic->reals;
  Vectors vectors = {.count = (int)rows * reals,
                     .depth = (int)divide_up(count, lanes) * s->vector_lanes};
  if (!loader->run && reals == 1 && count % lanes == 0 && (depth == 1 || count == 1)) {
    vectors.data = from;
    vectors.stride = (size_t)row * bytes;
    return vectors;
  }
  vectors.data = buffer;
  vectors.stride = (size_t)(vectors.depth * s->arithmetic->lane_bytes);
  for (int64_t i = 0; i < rows; i++) {
    const uint8_t *elements = from + (size_t)(i * row) * bytes;
    uint8_t *to = buffer + (size_t)i * vectors.stride * (size_t)reals;
    if (reals == 2) {
      load_complex(s, elements, depth, count, to, to + vectors.stride);
    } else {
      load_elements(loader, elements, depth, count, to);
      if (count % lanes) memset(to + (size_t)count * out_bytes, 0, out_bytes);
    }
  }
  return vectors;
}

/* ---- The sums ---- */

static void clear(const Arithmetic *arithmetic, bool negative_zero, uint8_t *sums, size_t bytes) {
  v128_t zero = wasm_i32x4_const_splat(0);
  if (negative_zero && arithmetic->loops == LOOPS_F32) zero = wasm_f32x4_const_splat(-0.0f);
  if (negative_zero && arithmetic->loops == LOOPS_F64) zero = wasm_f64x2_const_splat(-0.0);
  for (size_t i = 0; i < bytes; i += 16) wasm_v128_store(sums + i, zero);
}

/* Stores one row of sums, contiguous and in the arithmetic's type of sums. */
static void store_row(const Arithmetic *arithmetic, const uint8_t *sums, int64_t count,
                      PrimitiveType to, uint8_t *out, int64_t stride) {
  /* Threshold SOME. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t converted[SOME * 16];
  size_t from_bytes = (size_t)type_bytes(arithmetic->sum), bytes = (size_t)type_bytes(to);
  if (stride == 1 || count == 1) {
    store_sums(arithmetic, sums, count, to, out);
    return;
  }
  for (int64_t j = 0; j < count; j += SOME) {
    int64_t some = min_i64(count - j, SOME);
    const uint8_t *from = sums + (size_t)j * from_bytes;
    if (!sums_are_results(arithmetic, to)) {
      store_sums(arithmetic, from, some, to, converted);
      from = converted;
    }
    scatter_elements(from, some, bytes, out + (size_t)(j * stride) * bytes, stride);
  }
}

/* Stores the unit's sums: `rows` rows of `columns` numbers. */
static void store_unit(const Stream *s, const uint8_t *sums, size_t sums_stride, int64_t rows,
                       int64_t columns, PrimitiveType to, uint8_t *out) {
  /* Threshold SOME. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { SOME = 64 };
  _Alignas(16) uint8_t pairs[SOME * 16];
  const Arithmetic *arithmetic = s->arithmetic;
  int64_t row = axes_stride(&s->contraction->rows, OUT);
  int64_t column = axes_stride(&s->contraction->columns, OUT);
  size_t bytes = (size_t)type_bytes(to);
  for (int64_t i = 0; i < rows; i++, sums += (size_t)arithmetic->reals * sums_stride) {
    uint8_t *to_row = out + (size_t)(i * row) * bytes;
    if (arithmetic->reals == 1) {
      store_row(arithmetic, sums, columns, to, to_row, column);
      continue;
    }
    for (int64_t j = 0; j < columns; j += SOME) {
      int64_t some = min_i64(columns - j, SOME);
      const uint8_t *first = sums + (size_t)(j * arithmetic->lane_bytes * s->sum_lanes);
      s->order->combine[arithmetic->sum == C128](first, first + sums_stride, some, pairs);
      store_row(arithmetic, pairs, some, to, to_row + (size_t)(j * column) * bytes, column);
    }
  }
}

/* Adds sums of reals to other ones, and clears them. */
static void move_sums(const Arithmetic *arithmetic, bool negative_zero, uint8_t *sums,
                      uint8_t *totals, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16) {
    v128_t x = wasm_v128_load(totals + i), y = wasm_v128_load(sums + i);
    switch (arithmetic->loops) {
    case LOOPS_F32: x = wasm_f32x4_add(x, y); break;
    case LOOPS_F64: x = wasm_f64x2_add(x, y); break;
    case LOOPS_S64: x = wasm_i64x2_add(x, y); break;
    default: x = wasm_i32x4_add(x, y); break;
    }
    wasm_v128_store(totals + i, x);
  }
  clear(arithmetic, negative_zero, sums, bytes);
}

/* Whether the unit must be computed again. If a number was misread, the general loop computes the unit. If a sum is infinite or
** NaN, loops that multiply each number by its scale compute it. */
static bool is_wrong(Narrow *narrow, const uint8_t *sums, size_t stride, int64_t rows,
                     int64_t columns) {
  if (*narrow->misread) {
    *narrow->misread = false;
    narrow->loops = NULL;
    return true;
  }
  if (!narrow->loops || !narrow->loops->is_integral || narrow->exact) return false;
  for (int64_t i = 0; i < rows; i++) {
    const float *row = (const float *)(sums + (size_t)i * stride);
    float all = 0; /* or NaN, if one is not finite */
    for (int64_t j = 0; j < columns; j++) all += row[j] * 0;
    if (all != 0) narrow->exact = true;
  }
  return narrow->exact;
}

/* ---- A unit ---- */

enum { LEVELS = 3 };
/* The sums of a block, of MAX_BLOCKS blocks, and of all blocks. */
typedef uint8_t Sums[LEVELS][SUM_BYTES + MAX_VECTORS * 64];

/* Computes a unit's sums in `sums[levels - 1]`. block: without its place and its depth. */
static void add_blocks(Block *block, const Unit *unit, const size_t offset[3],
                       const uint8_t *const data[2], Sums sums, int levels, size_t bytes) {
  _Alignas(16) uint8_t buffer[VECTOR_BYTES];
  const Stream *s = block->stream;
  const Contraction *c = s->contraction;
  /* The depth's only axis, or the two that a depth of runs has. */
  const Axis *outer = c->depth.items, *inner = outer + (c->depth.count > 1);
  size_t lhs_bytes = (size_t)type_bytes(c->array[LHS].type),
         rhs_bytes = (size_t)type_bytes(c->array[RHS].type);
  int64_t columns = (int64_t)offset[RHS] + unit->first[RHS] * axes_stride(&c->columns, RHS);
  bool keeps = c->keeps_negative_zero;
  for (int level = 0; level < levels; level++) clear(s->arithmetic, keeps, sums[level], bytes);
  for (int64_t k = unit->depth, blocks = 1, depth; k < unit->depth_end; k += depth, blocks++) {
    int64_t run = c->depth.count > 1 ? k / inner->size : 0, at = k - run * inner->size;
    int64_t left = c->depth.count > 1 ? inner->size - at : s->depth_block;
    depth = min_i64(min_i64(unit->depth_end - k, s->depth_block), left);
    *(s->order->along_depth ? &block->length : &block->lines) = depth;
    block->first = columns + run * outer->stride[RHS] + at * inner->stride[RHS];
    block->data = data[RHS] + (size_t)block->first * rhs_bytes;
    int64_t vector = run * outer->stride[LHS] + at * inner->stride[LHS];
    const uint8_t *lhs = data[LHS] + (offset[LHS] + (size_t)vector) * lhs_bytes;
    Vectors vectors = load_vectors(s, unit->lines[LHS], lhs, depth, buffer);
    stream_leave_out(block, &vectors);
    (block->narrow->loops ? stream_narrow : s->order->multiply)(block, &vectors);
    if (levels > 1) move_sums(s->arithmetic, keeps, sums[0], sums[1], bytes);
    if (blocks % MAX_BLOCKS == 0) move_sums(s->arithmetic, keeps, sums[1], sums[2], bytes);
  }
  if (levels > 1) move_sums(s->arithmetic, keeps, sums[1], sums[2], bytes);
}

void stream_multiply(const Stream *s, const Unit *unit, const size_t offset[3],
                     const uint8_t *const data[2], PrimitiveType to, uint8_t *out) {
  _Alignas(16) Sums sums;
  const Contraction *c = s->contraction;
  int64_t rows = unit->lines[LHS], columns = unit->lines[RHS];
  int64_t row_bytes = columns * s->sum_lanes * s->arithmetic->lane_bytes;
  bool misread = false;
  Narrow narrow = s->narrow;
  narrow.misread = &misread;
  size_t stride = (size_t)round_up(row_bytes, narrow.loops ? 64 : 16);
  int64_t sum_rows = rows * s->arithmetic->reals;
  Block block = {.stream = s,
                 .narrow = &narrow,
                 .stride = (size_t)(s->line_stride * type_bytes(c->array[RHS].type)),
                 .lines = columns,
                 .length = columns,
                 .sums = sums[0],
                 .sums_stride = stride};
  int levels = unit->depth_end - unit->depth <= s->depth_block ? 1 : LEVELS;
  const uint8_t *totals = sums[levels - 1];
  do {
    add_blocks(&block, unit, offset, data, sums, levels, (size_t)sum_rows * stride);
  } while (is_wrong(&narrow, totals, stride, rows, columns));
  int64_t first = unit->first[RHS] * axes_stride(&c->columns, OUT);
  store_unit(s, totals, stride, rows, columns, to,
             out + (offset[OUT] + (size_t)first) * (size_t)type_bytes(to));
}
