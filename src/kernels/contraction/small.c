/* Multiplies small matrices in place or from copies in the first cache: see small.h. */
#include "kernels/contraction/small.h"

#include "base/min_max.h"
#include "kernels/contraction/pack.h"

#include <string.h>
#include <wasm_simd128.h>

enum {
  /* Threshold COPY_BYTES: max bytes of each copy, so that they stay in the first cache. Test:
  ** "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  COPY_BYTES = 16384,
};

/* ---- Planning ---- */

/* Sets the sizes. Columns are padded to whole vectors. */
static void set_sizes(Small *s, const Contraction *c, const Arithmetic *arithmetic) {
  int64_t lanes = arithmetic->lane_elements;
  s->rows = axes_size(&c->rows);
  s->columns = axes_size(&c->columns) * arithmetic->reals;
  s->depth = divide_up(axes_size(&c->depth), lanes) * arithmetic->reals;
  s->padded = round_up(s->columns, 16 / arithmetic->lane_bytes);
}

bool small_plan(ContractionPlan *plan, const Contraction *c) {
  const Arithmetic *arithmetic = plan->arithmetic;
  if (plan->lines[LHS] > SMALL_LINES || plan->lines[RHS] > COPY_BYTES) return false;
  Small sizes;
  set_sizes(&sizes, c, arithmetic);
  int64_t max = COPY_BYTES / arithmetic->lane_bytes;
  if (sizes.rows * sizes.depth > max || sizes.depth * sizes.padded > max ||
      sizes.rows * sizes.padded > max || sizes.depth == 0 || sizes.depth > SMALL_LINES) {
    return false;
  }
  for (int side = LHS; side <= RHS; side++) {
    plan->tile[side] = plan->lines[side];
    plan->tiles[side] = 1;
  }
  plan->splits = plan->blocks = 1;
  plan->depth_block = axes_size(&c->depth);
  return true;
}

/* ---- Copies ---- */

/* Copies an operand's rows, or columns, as lines of lanes along the depth. In the lanes of complex numbers, real and
** imaginary parts alternate. */
static void copy_lines(const Small *s, Operand side, const uint8_t *from, uint8_t *copy) {
  const Contraction *c = s->contraction;
  const Axes *axes = side == LHS ? &c->rows : &c->columns;
  int64_t line = axes_stride(axes, side), depth = axes_stride(&c->depth, side);
  int64_t count = axes_size(&c->depth), lines = axes_size(axes);
  const Loader *loader = &s->loader[side];
  size_t stride = (size_t)(s->depth * s->arithmetic->lane_bytes);
  size_t bytes = (size_t)type_bytes(loader->from), loaded = (size_t)type_bytes(loader->element);
  if (depth == 1 && line == count && stride == (size_t)count * loaded) { /* one long line */
    count *= lines;
    stride *= (size_t)lines;
    lines = 1;
  }
  for (int64_t i = 0; i < lines; i++, copy += stride) {
    load_elements(loader, from + (size_t)(i * line) * bytes, depth, count, copy);
    memset(copy + (size_t)count * loaded, 0, stride - (size_t)count * loaded);
  }
}

/* Transposes lines of 4-byte lanes along the depth into rows of columns. */
static void transpose_lines(const uint32_t *from, int64_t line, int64_t columns, int64_t depth,
                            uint32_t *out, int64_t padded) {
  for (int64_t j = 0; j < columns; j += 4) {
    const uint32_t *a = from + j * line, *b = a + (j + 1 < columns ? line : 0);
    const uint32_t *c = a + (j + 2 < columns ? 2 * line : 0);
    const uint32_t *d = a + (j + 3 < columns ? 3 * line : 0);
    transpose4(a, b, c, d, (int)depth, out + j, (int)padded);
  }
}

/* Loads rows of up to 4 elements of 4 bytes, a vector each. */
static void load_few(const uint32_t *from, int64_t row, int64_t column, int64_t rows,
                     int64_t columns, uint32_t *to) {
  for (int64_t i = 0; i < rows; i++, from += row, to += 4) {
    v128_t few = wasm_v128_load32_zero(from);
    if (columns > 1) few = wasm_v128_load32_lane(from + column, few, 1);
    if (columns > 2) few = wasm_v128_load32_lane(from + 2 * column, few, 2);
    if (columns > 3) few = wasm_v128_load32_lane(from + 3 * column, few, 3);
    wasm_v128_store(to, few);
  }
}

static void store_few(const uint32_t *from, int64_t rows, int64_t columns, uint32_t *to,
                      int64_t row, int64_t column) {
  for (int64_t i = 0; i < rows; i++, from += 4, to += row) {
    v128_t few = wasm_v128_load(from);
    wasm_v128_store32_lane(to, few, 0);
    if (columns > 1) wasm_v128_store32_lane(to + column, few, 1);
    if (columns > 2) wasm_v128_store32_lane(to + 2 * column, few, 2);
    if (columns > 3) wasm_v128_store32_lane(to + 3 * column, few, 3);
  }
}

/* Makes two rows of row k of a complex rhs: the first is multiplied by real parts of the lhs, the second by imaginary
** parts. */
#define TIMES_I(name, real)                                   \
  static void name(void *row, void *below, int64_t count) {   \
    const real *from = row;                                   \
    real *to = below;                                         \
    for (int64_t j = 0; j < count; j++, from += 2, to += 2) { \
      to[0] = -from[1];                                       \
      to[1] = from[0];                                        \
    }                                                         \
  }
TIMES_I(times_i_c64, float)
TIMES_I(times_i_c128, double)

static void interleave(const int16_t *a, const int16_t *b, int64_t count, int16_t *out) {
  for (int64_t j = 0; j < count; j++) {
    out[2 * j] = a[j];
    out[2 * j + 1] = b[j];
  }
}

/* The rows of the rhs along the depth. `row` and `stride`: bytes between two rows of the array, and of the copy. */
typedef struct Rows {
  const Loader *loader;
  const uint8_t *from;
  int64_t count, columns, column;
  size_t row, stride;
} Rows;

static void load_row(const Rows *rows, int64_t k, uint8_t *to) {
  load_elements(rows->loader, rows->from + (size_t)k * rows->row, rows->column, rows->columns, to);
}

/* Interleaves two rows each; after an odd number of rows follows one of zeros. */
static void copy_pairs(const Rows *rows, uint8_t *copy) {
  int16_t pair[2][COPY_BYTES / 4];
  for (int64_t k = 0; k < rows->count; k++) {
    load_row(rows, k, (uint8_t *)pair[k % 2]);
    if (k % 2 == 0) memset(pair[1], 0, (size_t)rows->columns * sizeof **pair);
    uint8_t *to = copy + (size_t)(k / 2) * rows->stride;
    interleave(pair[0], pair[1], rows->columns, (int16_t *)to);
  }
}

static void copy_complex(const Rows *rows, bool is_c64, uint8_t *copy) {
  for (int64_t k = 0; k < rows->count; k++, copy += 2 * rows->stride) {
    load_row(rows, k, copy);
    (is_c64 ? times_i_c64 : times_i_c128)(copy, copy + rows->stride, rows->columns);
  }
}

/* Copies the rhs as rows of contiguous columns, at least a vector of them. */
static void copy_rhs(const Small *s, const uint8_t *from, uint8_t *copy) {
  const Contraction *c = s->contraction;
  const Arithmetic *arithmetic = s->arithmetic;
  int64_t column = axes_stride(&c->columns, RHS), depth = axes_stride(&c->depth, RHS);
  int64_t count = axes_size(&c->depth), columns = axes_size(&c->columns);
  const Loader *loader = &s->loader[RHS];
  if (s->transposes_rhs) {
    _Alignas(16) uint8_t lines[COPY_BYTES];
    if (loader->run) copy_lines(s, RHS, from, lines);
    transpose_lines((const uint32_t *)(loader->run ? lines : from), loader->run ? s->depth : column,
                    columns, s->depth, (uint32_t *)copy, s->padded);
    return;
  }
  if (s->is_few) {
    load_few((const uint32_t *)from, depth, column, count, columns, (uint32_t *)copy);
    return;
  }
  Rows rows = {.loader = loader,
               .from = from,
               .count = count,
               .columns = columns,
               .column = column,
               .row = (size_t)depth * (size_t)type_bytes(loader->from),
               .stride = (size_t)(s->padded * arithmetic->lane_bytes)};
  if (arithmetic->lane_elements == 2) {
    copy_pairs(&rows, copy);
  } else if (arithmetic->reals == 2) {
    copy_complex(&rows, arithmetic->sum == C64, copy);
  } else if (column == 1 && depth == columns && s->padded == columns) { /* one long row */
    load_elements(loader, from, 1, count * columns, copy);
  } else {
    for (int64_t k = 0; k < count; k++, copy += rows.stride) load_row(&rows, k, copy);
  }
}

static void store_out(const Small *s, const uint8_t *sums, uint8_t *out) {
  _Alignas(16) uint8_t converted[COPY_BYTES];
  const Contraction *c = s->contraction;
  PrimitiveType type = c->array[OUT].type;
  int64_t columns = axes_size(&c->columns);
  int64_t row = axes_stride(&c->rows, OUT), column = axes_stride(&c->columns, OUT);
  size_t bytes = (size_t)type_bytes(type), stride = (size_t)(s->padded * s->arithmetic->lane_bytes);
  if (s->is_few) {
    store_few((const uint32_t *)sums, s->rows, columns, (uint32_t *)out, row, column);
    return;
  }
  int64_t rows = s->rows;
  if (column == 1 && row == columns && s->padded == columns) { /* one long row */
    columns *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; i++, sums += stride) {
    uint8_t *to = out + (size_t)(i * row) * bytes;
    if (column == 1 || columns == 1) {
      store_sums(s->arithmetic, sums, columns, type, to);
    } else {
      store_sums(s->arithmetic, sums, columns, type, converted);
      scatter_elements(converted, columns, bytes, to, column);
    }
  }
}

/* ---- A batch ---- */

static void set_lists(Small *s) {
  const Contraction *c = s->contraction;
  size_t lane = (size_t)s->arithmetic->lane_bytes, padded = (size_t)s->padded * lane;
  RowAt row = {(size_t)s->depth * lane, padded};
  DepthAt at = {lane, padded};
  if (s->keeps_lhs) {
    size_t bytes = (size_t)type_bytes(s->loader[LHS].from);
    row.lhs = (size_t)axes_stride(&c->rows, LHS) * bytes;
    if (s->arithmetic->reals == 1) at.lhs = (size_t)axes_stride(&c->depth, LHS) * bytes;
  }
  if (s->keeps_rhs) at.rhs = (size_t)axes_stride(&c->depth, RHS) * lane;
  if (s->keeps_out)
    row.out = (size_t)axes_stride(&c->rows, OUT) * (size_t)type_bytes(c->array[OUT].type);
  for (size_t i = 0; i < (size_t)s->rows; i++) s->row[i] = (RowAt){i * row.lhs, i * row.out};
  for (size_t k = 0; k < (size_t)s->depth; k++) s->at[k] = (DepthAt){k * at.lhs, k * at.rhs};
}

void small_init(Small *s, const Contraction *c, const ContractionPlan *plan) {
  const Arithmetic *arithmetic = plan->arithmetic;
  s->contraction = c;
  s->arithmetic = arithmetic;
  s->loop = lanes_of(arithmetic->loops)->plain;
  set_sizes(s, c, arithmetic);
  for (int side = LHS; side <= RHS; side++) {
    s->loader[side] = operand_loader(c, arithmetic, side);
  }
  bool one = axes_size(&c->depth) == 1, whole = s->columns * arithmetic->lane_bytes >= 16;
  bool plain = !s->loader[RHS].run && arithmetic->lane_elements == 1 && arithmetic->reals == 1;
  s->keeps_lhs = !s->loader[LHS].run && arithmetic->lane_elements == 1 &&
                 (arithmetic->reals == 1 || one || axes_stride(&c->depth, LHS) == 1);
  s->is_few = plain && arithmetic->lane_bytes == 4 && s->columns <= 4 &&
              sums_are_results(arithmetic, c->array[OUT].type);
  s->keeps_rhs = plain && whole && axes_stride(&c->columns, RHS) == 1;
  s->transposes_rhs = (plain || s->loader[RHS].run) && arithmetic->lane_bytes == 4 &&
                      arithmetic->reals == 1 && axes_stride(&c->columns, RHS) != 1 &&
                      s->columns > 4 && (one || axes_stride(&c->depth, RHS) == 1);
  s->keeps_out = whole && sums_are_results(arithmetic, c->array[OUT].type) &&
                 axes_stride(&c->columns, OUT) == 1;
  s->multiplied = (int)(s->keeps_out || s->keeps_rhs ? s->columns : s->padded);
  set_lists(s);
}

void small_multiply(const Small *s, const size_t offset[3], const uint8_t *const data[2],
                    uint8_t *result) {
  _Alignas(16) uint8_t lhs_copy[COPY_BYTES], rhs_copy[COPY_BYTES], sums[COPY_BYTES];
  const Contraction *c = s->contraction;
  const uint8_t *lhs = data[LHS] + offset[LHS] * (size_t)type_bytes(c->array[LHS].type);
  const uint8_t *rhs = data[RHS] + offset[RHS] * (size_t)type_bytes(c->array[RHS].type);
  uint8_t *out = result + offset[OUT] * (size_t)type_bytes(c->array[OUT].type);
  if (!s->keeps_lhs) copy_lines(s, LHS, lhs, lhs_copy);
  if (!s->keeps_rhs) copy_rhs(s, rhs, rhs_copy);
  s->loop((int)s->rows, s->multiplied, (int)s->depth, s->keeps_lhs ? lhs : lhs_copy, s->row,
          s->keeps_rhs ? rhs : rhs_copy, s->at, s->keeps_out ? out : sums,
          c->keeps_negative_zero ? START_NEGATIVE_ZERO : START_ZERO);
  if (!s->keeps_out) store_out(s, sums, out);
}
