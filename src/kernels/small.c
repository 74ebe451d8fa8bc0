#include "kernels/small.h"

#include <string.h>
#include <wasm_simd128.h>

#include "kernels/elements.h"

enum {
  COPY_BYTES = 16384, /* of each matrix: then they stay in the first cache */
  MOST_PRODUCTS = 64 * 64 * 64,
};

static int64_t round_up(int64_t a, int64_t step) { return (a + step - 1) / step * step; }

/* ---- Planning ---- */

/* The sizes in lanes: a complex depth is of reals, s16 are pairs. Columns are filled up to whole
** vectors. */
typedef struct Sizes {
  int64_t rows, columns, depth, padded;
} Sizes;

static Sizes sizes_of(const Contraction *c, const Arithmetic *arithmetic) {
  int64_t lanes = arithmetic->lane_elements;
  Sizes sizes = {.rows = axes_size(&c->rows),
                 .columns = axes_size(&c->columns) * arithmetic->reals,
                 .depth = (axes_size(&c->depth) + lanes - 1) / lanes * arithmetic->reals};
  sizes.padded = round_up(sizes.columns, 16 / arithmetic->lane_bytes);
  return sizes;
}

bool small_plan(ContractionPlan *plan, const Contraction *c) {
  const Arithmetic *arithmetic = plan->arithmetic;
  if (plan->lines[LHS] > COPY_BYTES || plan->lines[RHS] > COPY_BYTES) return false;
  if (axes_size(&c->depth) > COPY_BYTES) return false;
  Sizes sizes = sizes_of(c, arithmetic);
  int64_t most = COPY_BYTES / arithmetic->lane_bytes;
  if (sizes.rows * sizes.depth > most || sizes.depth * sizes.padded > most ||
      sizes.rows * sizes.padded > most || sizes.depth == 0) {
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

/* The lhs as rows of lanes along the depth: of complex numbers, the parts in turn. */
static Matrix load_lhs(const Contraction *c, const Arithmetic *arithmetic, const Sizes *sizes,
                       const uint8_t *from, uint8_t *copy) {
  Loader loader = loader_for(c->type[LHS], arithmetic, c->type[OUT]);
  int64_t row = axes_stride(&c->rows, LHS), depth = axes_stride(&c->depth, LHS);
  int64_t count = axes_size(&c->depth);
  size_t bytes = (size_t)type_bytes(loader.from), lane = (size_t)arithmetic->lane_bytes;
  if (!loader.run && arithmetic->lane_elements == 1) {
    if (arithmetic->reals == 1) return (Matrix){from, (size_t)row * bytes, (size_t)depth * bytes};
    if (depth == 1 || count == 1) return (Matrix){from, (size_t)row * bytes, lane};
  }
  size_t stride = (size_t)sizes->depth * lane, loaded = (size_t)type_bytes(loader.element);
  for (int64_t i = 0; i < sizes->rows; i++) {
    uint8_t *to = copy + (size_t)i * stride;
    load_elements(&loader, from + (size_t)(i * row) * bytes, depth, count, to);
    memset(to + (size_t)count * loaded, 0, stride - (size_t)count * loaded);
  }
  return (Matrix){copy, stride, lane};
}

/* Lines of 4-byte lanes along the depth, as rows of columns. */
static void turn_lines(const float *from, int64_t line, int64_t columns, int64_t depth, float *out,
                       int64_t padded) {
  for (int64_t j = 0; j < columns; j += 4) {
    const float *a = from + j * line, *b = a + (j + 1 < columns ? line : 0);
    const float *c = a + (j + 2 < columns ? 2 * line : 0);
    const float *d = a + (j + 3 < columns ? 3 * line : 0);
    float *to = out + j;
    int64_t k = 0;
    for (; k + 4 <= depth; k += 4, to += 4 * padded) {
      v128_t w = wasm_v128_load(a + k), x = wasm_v128_load(b + k);
      v128_t y = wasm_v128_load(c + k), z = wasm_v128_load(d + k);
      v128_t wx = wasm_i32x4_shuffle(w, x, 0, 4, 1, 5), yz = wasm_i32x4_shuffle(y, z, 0, 4, 1, 5);
      wasm_v128_store(to, wasm_i64x2_shuffle(wx, yz, 0, 2));
      wasm_v128_store(to + padded, wasm_i64x2_shuffle(wx, yz, 1, 3));
      wx = wasm_i32x4_shuffle(w, x, 2, 6, 3, 7);
      yz = wasm_i32x4_shuffle(y, z, 2, 6, 3, 7);
      wasm_v128_store(to + 2 * padded, wasm_i64x2_shuffle(wx, yz, 0, 2));
      wasm_v128_store(to + 3 * padded, wasm_i64x2_shuffle(wx, yz, 1, 3));
    }
    for (; k < depth; k++, to += padded) {
      wasm_v128_store(to, wasm_f32x4_make(a[k], b[k], c[k], d[k]));
    }
  }
}

/* Row k of a complex rhs meets real parts of the lhs, and below it is what imaginary parts meet. */
#define TURN_ROW(name, real)                                  \
  static void name(void *row, void *below, int64_t count) {   \
    const real *from = row;                                   \
    real *to = below;                                         \
    for (int64_t j = 0; j < count; j++, from += 2, to += 2) { \
      to[0] = -from[1];                                       \
      to[1] = from[0];                                        \
    }                                                         \
  }
TURN_ROW(turn_row_c64, float)
TURN_ROW(turn_row_c128, double)

static void interleave(const int16_t *a, const int16_t *b, int64_t count, int16_t *out) {
  for (int64_t j = 0; j < count; j++) {
    out[2 * j] = a[j];
    out[2 * j + 1] = b[j];
  }
}

/* The rhs as rows of columns that are neighbours, at least a vector of them. */
static Matrix load_rhs(const Contraction *c, const Arithmetic *arithmetic, const Sizes *sizes,
                       const uint8_t *from, uint8_t *copy) {
  Loader loader = loader_for(c->type[RHS], arithmetic, c->type[OUT]);
  int64_t column = axes_stride(&c->columns, RHS), depth = axes_stride(&c->depth, RHS);
  int64_t count = axes_size(&c->depth), columns = axes_size(&c->columns);
  size_t bytes = (size_t)type_bytes(loader.from);
  size_t stride = (size_t)(sizes->padded * arithmetic->lane_bytes);
  bool plain = !loader.run && arithmetic->lane_elements == 1 && arithmetic->reals == 1;
  if (plain && column == 1 && columns * (int64_t)bytes >= 16) {
    return (Matrix){from, 0, (size_t)depth * bytes};
  }
  if (plain && bytes == 4 && (depth == 1 || count == 1) && column != 1) {
    turn_lines((const float *)from, column, columns, count, (float *)copy, sizes->padded);
    return (Matrix){copy, 0, stride};
  }
  int16_t pair[2][COPY_BYTES / 4];
  for (int64_t k = 0; k < count; k++) {
    const uint8_t *row = from + (size_t)(k * depth) * bytes;
    uint8_t *to = copy + (size_t)k * stride;
    if (arithmetic->lane_elements == 2) {
      load_elements(&loader, row, column, columns, (uint8_t *)pair[k % 2]);
      if (k % 2 == 0) memset(pair[1], 0, (size_t)columns * sizeof **pair);
      interleave(pair[0], pair[1], columns, (int16_t *)(copy + (size_t)(k / 2) * stride));
    } else if (arithmetic->reals == 2) {
      to += (size_t)k * stride;
      load_elements(&loader, row, column, columns, to);
      (arithmetic->sum == C64 ? turn_row_c64 : turn_row_c128)(to, to + stride, columns);
    } else {
      load_elements(&loader, row, column, columns, to);
    }
  }
  return (Matrix){copy, 0, stride};
}

/* ---- A batch ---- */

static void store_out(const Contraction *c, const Arithmetic *arithmetic, const uint8_t *sums,
                      size_t stride, uint8_t *out) {
  _Alignas(16) uint8_t converted[COPY_BYTES];
  PrimitiveType type = c->type[OUT];
  int64_t rows = axes_size(&c->rows), columns = axes_size(&c->columns);
  int64_t row = axes_stride(&c->rows, OUT), column = axes_stride(&c->columns, OUT);
  size_t bytes = (size_t)type_bytes(type);
  for (int64_t i = 0; i < rows; i++, sums += stride) {
    uint8_t *to = out + (size_t)(i * row) * bytes;
    if (column == 1 || columns == 1) {
      store_sums(arithmetic, sums, columns, type, to);
    } else {
      store_sums(arithmetic, sums, columns, type, converted);
      scatter_elements(converted, columns, bytes, to, column);
    }
  }
}

void small_multiply(const Contraction *c, const ContractionPlan *plan, const size_t offset[3],
                    const uint8_t *const data[2], uint8_t *result) {
  _Alignas(16) uint8_t lhs_copy[COPY_BYTES], rhs_copy[COPY_BYTES], sums[COPY_BYTES];
  const Arithmetic *arithmetic = plan->arithmetic;
  Sizes sizes = sizes_of(c, arithmetic);
  size_t bytes = (size_t)type_bytes(c->type[OUT]);
  uint8_t *out = result + offset[OUT] * bytes;
  Matrix lhs = load_lhs(c, arithmetic, &sizes,
                        data[LHS] + offset[LHS] * (size_t)type_bytes(c->type[LHS]), lhs_copy);
  Matrix rhs = load_rhs(c, arithmetic, &sizes,
                        data[RHS] + offset[RHS] * (size_t)type_bytes(c->type[RHS]), rhs_copy);
  Start start = c->keeps_negative_zero ? START_NEGATIVE_ZERO : START_ZERO;
  SmallLoop *loop = lanes_of(arithmetic->lanes)->small;
  bool in_place = sums_are_results(arithmetic, c->type[OUT]) &&
                  axes_stride(&c->columns, OUT) == 1 &&
                  sizes.columns * arithmetic->lane_bytes >= 16;
  if (in_place) {
    loop((int)sizes.rows, (int)sizes.columns, (int)sizes.depth, &lhs, &rhs, out,
         (size_t)axes_stride(&c->rows, OUT) * bytes, start);
    return;
  }
  size_t stride = (size_t)(sizes.padded * arithmetic->lane_bytes);
  bool padded = rhs.data == rhs_copy;
  loop((int)sizes.rows, (int)(padded ? sizes.padded : sizes.columns), (int)sizes.depth, &lhs, &rhs,
       sums, stride, start);
  store_out(c, arithmetic, sums, stride, out);
}
