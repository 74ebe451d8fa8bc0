/*
** Convolves f32 with a window of 3 x 3 and stride 1, after Lavin and Gray ("Fast Algorithms for
** Convolutional Neural Networks", 2015), F(2 x 2, 3 x 3). A tile is 2 x 2 positions of the output; 4 x 4
** elements d of the lhs and the kernel g give it with 16 products instead of 36:
**
**     Y = A' [(G g G') * (B' d B)] A
**
**     B' = 1  0 -1  0     G = 1    0    0     A' = 1  1  1  0
**          0  1  1  0         1/2  1/2  1/2        0  1 -1 -1
**          0 -1  1  0         1/2 -1/2  1/2
**          0  1  0 -1         0    0    1
**
** Input features are summed up between the two transforms. So the products are 16 matrix products,
** tiles x input features by input x output features, which contraction_plan.h plans.
** The factors are small powers of two and the sums have a ninth as many terms, so the error is that of
** an f32 sum (tests/native/contractions.c checks it against a plain convolution). An infinity turns all
** positions of its tile into NaN; a position that is not finite is computed again by the definition.
**
** Tiles are done in rounds, so that the data between the transforms stays in the cache. If there is one round of tiles, but a
** large kernel, the rounds are blocks of output features: each transforms its part of the kernel.
*/
#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/contraction_plan.h"
#include "kernels/convolution/convolution.h"
#include "kernels/kernels.h"

enum {
  /* Threshold PRODUCTS: costs, and products of a tile. No path. */
  PRODUCTS = 16, /* for a tile and a pair of features */
  /* Threshold ROUND_BYTES, CHUNK_ELEMENTS, KERNEL_CHUNK, PANEL. Test: "convolutions:
  ** lines of tiles, places of a unit, transposed operands" in core/thresholds_programs.test.mjs. */
  /* Data between the transforms. Measured: half of it takes 1.03x as long (Node 20, 2026-11). */
  ROUND_BYTES = 4 << 20,
  CHUNK_ELEMENTS = 16384, /* of a transform's source */
  KERNEL_CHUNK = 8,       /* min inputs in a chunk, to write whole cache lines */
  PANEL = 8,              /* contiguous outputs in the transformed kernel */
  /* Threshold MIN_FEATURES: with fewer, sums are not longer than those of a plain convolution.
  ** Test: "convolutions around vectors, groups and features" in core/thresholds.test.mjs. */
  MIN_FEATURES = 16,
  /* Threshold BLOCK_BYTES, LINE. Test: "convolutions: lines of tiles, places of a unit, transposed
  ** operands" in core/thresholds_programs.test.mjs. */
  BLOCK_BYTES = 2 << 20, /* of the transformed kernel of a block of outputs */
  LINE = 16,             /* outputs in a line of the cache */
};

typedef struct Winograd {
  KernelPlan kernel;
  int64_t sizes[2], positions[2], padding[2]; /* of the spatial dimensions */
  int64_t tiles[2], images, inputs, outputs;
  int64_t lhs_stride[4], out_stride[4], rhs_stride[4]; /* image (rhs: input), feature, y, x */
  bool reversed[2];
  int64_t all_tiles, round_tiles, rounds;
  bool by_outputs;                                 /* rounds are blocks of outputs */
  int64_t padded[2];                               /* inputs, outputs of a round: whole vectors */
  int64_t kernel_plane, lhs_plane, products_plane; /* elements from one product to the next */
  int64_t kernel_at, lhs_at, products_at, contraction_at; /* offsets in scratch */
  int64_t kernel_chunk, lhs_chunk, out_chunk;             /* in a chunk: inputs; tiles; tiles */
  Contraction contraction;
  ContractionPlan plan;
} Winograd;

/* The phases of a round. One phase before them transforms the operand that all rounds share. */
enum { TRANSFORM_OPERAND, MULTIPLY, TRANSFORM_OUT = MULTIPLY + CONTRACTION_PHASES, ROUND_PHASES };

/* ---- Planning ---- */

static bool is_candidate(const Instruction *x) {
  if (x->opcode != HLO_CONVOLUTION || x->a->conv_dims.spatial != 2 || x->shape->type != F32 ||
      x->operands[0]->shape->type != F32 || x->operands[1]->shape->type != F32 ||
      x->a->feature_group_count * x->a->batch_group_count != 1 || !shape_elements(x->shape)) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    const WindowDimension *w = &x->a->window.items[i];
    if (w->size != 3 || w->stride != 1 || w->window_dilation != 1 || w->base_dilation != 1 ||
        w->padding_low < 0 || w->padding_high < 0) {
      return false;
    }
  }
  return true;
}

static void set_shapes(Winograd *w, const Instruction *x) {
  const ConvDims *dims = &x->a->conv_dims;
  const Shape *lhs = x->operands[0]->shape, *rhs = x->operands[1]->shape, *out = x->shape;
  int64_t strides[MAX_RANK];
  w->images = out->dims[dims->output_batch];
  w->inputs = rhs->dims[dims->kernel_input_feature];
  w->outputs = rhs->dims[dims->kernel_output_feature];
  w->all_tiles = w->images;
  for (int i = 0; i < 2; i++) {
    w->sizes[i] = lhs->dims[dims->input_spatial[i]];
    w->positions[i] = out->dims[dims->output_spatial[i]];
    w->padding[i] = x->a->window.items[i].padding_low;
    w->reversed[i] = x->a->window.items[i].window_reversal;
    w->tiles[i] = divide_up(w->positions[i], 2);
    w->all_tiles *= w->tiles[i];
  }
  shape_strides(lhs, strides);
  w->lhs_stride[0] = strides[dims->input_batch];
  w->lhs_stride[1] = strides[dims->input_feature];
  for (int i = 0; i < 2; i++) w->lhs_stride[2 + i] = strides[dims->input_spatial[i]];
  shape_strides(rhs, strides);
  w->rhs_stride[0] = strides[dims->kernel_input_feature];
  w->rhs_stride[1] = strides[dims->kernel_output_feature];
  for (int i = 0; i < 2; i++) w->rhs_stride[2 + i] = strides[dims->kernel_spatial[i]];
  shape_strides(out, strides);
  w->out_stride[0] = strides[dims->output_batch];
  w->out_stride[1] = strides[dims->output_feature];
  for (int i = 0; i < 2; i++) w->out_stride[2 + i] = strides[dims->output_spatial[i]];
}

static int64_t chunk_of(int64_t elements) {
  return elements < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / elements : 1;
}

/* Returns the size of a plane, an odd number of cache lines. Sixteen planes are accessed at the same time; with an odd
** distance they use different sets of the cache. */
static int64_t plane_of(int64_t elements) { return (divide_up(elements, 16) | 1) * 16; }

static void set_rounds(Winograd *w) {
  w->padded[0] = (w->inputs + 3) & ~3;
  w->padded[1] = (w->outputs + PANEL - 1) & -PANEL;
  int64_t tile_bytes = PRODUCTS * (w->padded[0] + w->padded[1]) * (int64_t)sizeof(float);
  int64_t max = ROUND_BYTES / tile_bytes < 128 ? 128 : ROUND_BYTES / tile_bytes;
  w->rounds = divide_up(w->all_tiles, max);
  w->round_tiles = divide_up(w->all_tiles, w->rounds);
  /* With several blocks the transformed lhs is read as often; with one, a large kernel is written and read once more. Measured:
  ** 0.80x of the time for 7 x 7 positions of 512 features (Zen 5, Node 20, 2026-12). */
  int64_t blocks = PRODUCTS * w->inputs * w->padded[1] * (int64_t)sizeof(float) / BLOCK_BYTES;
  w->by_outputs = w->rounds == 1 && blocks > 2 && w->all_tiles * blocks < 2 * w->outputs;
  if (w->by_outputs) {
    w->padded[1] = (divide_up(w->outputs, blocks) + PANEL - 1) & -PANEL;
    w->rounds = divide_up(w->outputs, w->padded[1]);
  }
  w->out_chunk = chunk_of(PRODUCTS * w->padded[1]);
  Contraction *c = &w->contraction;
  *c = (Contraction){.array = {{.type = F32}, {.type = F32}, {.type = F32}}};
  int64_t rows = w->round_tiles, in = w->padded[0], out = w->padded[1];
  w->kernel_plane = plane_of(w->inputs * out);
  w->lhs_plane = plane_of(rows * in);
  w->products_plane = plane_of(rows * out);
  axes_add(&c->batch, PRODUCTS, w->lhs_plane, w->kernel_plane, w->products_plane);
  axes_add(&c->rows, rows, in, 0, out);
  axes_add(&c->columns, out / PANEL, 0, w->inputs * PANEL, PANEL);
  axes_add(&c->columns, PANEL, 0, 1, 1);
  axes_add(&c->depth, w->inputs, 1, PANEL, 0);
  w->plan = contraction_plan(c, 1, PRODUCTS * w->products_plane);
  w->lhs_at = w->kernel_at + PRODUCTS * w->kernel_plane * (int64_t)sizeof(float);
  w->products_at = w->lhs_at + PRODUCTS * w->lhs_plane * (int64_t)sizeof(float);
  w->contraction_at =
      (w->products_at + PRODUCTS * w->products_plane * (int64_t)sizeof(float) + 63) & -64;
  w->kernel_chunk = chunk_of(9 * w->padded[1]);
  if (w->kernel_chunk < KERNEL_CHUNK) w->kernel_chunk = KERNEL_CHUNK;
  w->lhs_chunk = chunk_of(PRODUCTS * w->inputs);
}

/* Returns whether Winograd's method is cheaper, counted in multiplications. An element of a transform counts as
** TRANSFORMED, an element of a kernel too large for the cache as UNCACHED. */
static bool pays(const Winograd *w, const Instruction *convolution) {
  enum { TRANSFORMED = 8, UNCACHED = 20 };
  bool cached = PRODUCTS * w->kernel_plane * (int64_t)sizeof(float) <= ROUND_BYTES;
  double kernel = (double)(w->inputs * w->outputs) * (cached ? TRANSFORMED : UNCACHED);
  double tiles = (double)(w->all_tiles * (w->inputs + w->outputs)) * TRANSFORMED;
  double cost = PRODUCTS * (kernel + tiles) + (double)w->rounds * w->plan.cost;
  return cost < 0.9 * convolution_cost(convolution);
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (!is_candidate(instruction)) return NULL;
  Winograd shapes = {.kernel_at = 0};
  set_shapes(&shapes, instruction);
  if (shapes.inputs < MIN_FEATURES || shapes.outputs < MIN_FEATURES) return NULL;
  set_rounds(&shapes);
  if (!pays(&shapes, instruction)) return NULL;
  Winograd *w = ARENA_NEW(arena, Winograd);
  *w = shapes;
  w->kernel.scratch_bytes = w->contraction_at + contraction_scratch_bytes(&w->plan);
  int *chunks = kernel_phases(&w->kernel, arena, 1 + (int)w->rounds * ROUND_PHASES);
  int kernel_chunks = (int)divide_up(w->inputs, w->kernel_chunk);
  int tile_chunks = (int)divide_up(w->round_tiles, w->lhs_chunk);
  *chunks++ = w->by_outputs ? tile_chunks : kernel_chunks;
  for (int64_t round = 0; round < w->rounds; round++, chunks += ROUND_PHASES) {
    int64_t tiles = w->all_tiles - (w->by_outputs ? 0 : round * w->round_tiles);
    if (tiles > w->round_tiles) tiles = w->round_tiles;
    if (tiles <= 0) continue;
    chunks[TRANSFORM_OPERAND] = w->by_outputs ? kernel_chunks : (int)divide_up(tiles, w->lhs_chunk);
    contraction_phases(&w->plan, chunks + MULTIPLY);
    chunks[TRANSFORM_OUT] = (int)divide_up(tiles, w->out_chunk);
  }
  return &w->kernel;
}

/* ---- Vectors of features ---- */

static v128_t load_features(const float *from, int64_t stride, int64_t count) {
  if (count >= 4 && stride == 1) return wasm_v128_load(from);
  return wasm_f32x4_make(count > 0 ? from[0] : 0, count > 1 ? from[stride] : 0,
                         count > 2 ? from[2 * stride] : 0, count > 3 ? from[3 * stride] : 0);
}

static void store_features(v128_t features, float *to, int64_t stride, int64_t count) {
  float lanes[4];
  if (count >= 4 && stride == 1) {
    wasm_v128_store(to, features);
    return;
  }
  wasm_v128_store(lanes, features);
  for (int i = 0; i < 4 && i < count; i++) to[i * stride] = lanes[i];
}

/* ---- Transforms ---- */

/* Unrolls a loop, to keep its arrays in registers: this file is compiled for size. */
#define UNROLLED _Pragma("unroll")

/* Returns the first output feature of a round. */
static int64_t first_output(const Winograd *w, int64_t round) {
  return w->by_outputs ? round * w->padded[1] : 0;
}

static void transform_kernel(const Winograd *w, const float *rhs, float *out, int64_t first,
                             int64_t chunk) {
  int64_t begin = chunk * w->kernel_chunk, end = begin + w->kernel_chunk;
  if (end > w->inputs) end = w->inputs;
  v128_t half = wasm_f32x4_const_splat(0.5f);
  size_t at[3][3], next = (size_t)w->kernel_plane;
  for (int y = 0; y < 3; y++) {
    for (int x = 0; x < 3; x++) {
      at[y][x] = (size_t)((w->reversed[0] ? 2 - y : y) * w->rhs_stride[2] +
                          (w->reversed[1] ? 2 - x : x) * w->rhs_stride[3]);
    }
  }
  /* A line of outputs at a time, as lines of the 9 positions often lie in the same sets of the cache. Of a block, lines of
  ** several inputs are read one after the other, as each has few; else lines of an input. */
  for (int64_t n = 0; n < divide_up(w->padded[1], LINE) * (end - begin); n++) {
    int64_t lines = divide_up(w->padded[1], LINE), inputs = end - begin;
    int64_t line = (w->by_outputs ? n / inputs : n % lines) * LINE;
    int64_t i = begin + (w->by_outputs ? n % inputs : n / lines);
    for (int64_t o = line; o < min_i64(line + LINE, w->padded[1]); o += 4) {
      const float *from = rhs + i * w->rhs_stride[0] + (first + o) * w->rhs_stride[1];
      v128_t rows[4][3];
      UNROLLED for (int x = 0; x < 3; x++) {
        v128_t g[3];
        UNROLLED for (int y = 0; y < 3; y++) {
          g[y] = load_features(from + at[y][x], w->rhs_stride[1], w->outputs - first - o);
        }
        v128_t ends = wasm_f32x4_add(g[0], g[2]);
        rows[0][x] = g[0];
        rows[1][x] = wasm_f32x4_mul(half, wasm_f32x4_add(ends, g[1]));
        rows[2][x] = wasm_f32x4_mul(half, wasm_f32x4_sub(ends, g[1]));
        rows[3][x] = g[2];
      }
      float *to = out + (o / PANEL * w->inputs + i) * PANEL + o % PANEL;
      UNROLLED for (int y = 0; y < 4; y++, to += 4 * next) {
        v128_t ends = wasm_f32x4_add(rows[y][0], rows[y][2]);
        wasm_v128_store(to, rows[y][0]);
        wasm_v128_store(to + next, wasm_f32x4_mul(half, wasm_f32x4_add(ends, rows[y][1])));
        wasm_v128_store(to + 2 * next, wasm_f32x4_mul(half, wasm_f32x4_sub(ends, rows[y][1])));
        wasm_v128_store(to + 3 * next, rows[y][2]);
      }
    }
  }
}

/* A tile: its image and its first position. */
typedef struct Tile {
  int64_t image, y, x;
} Tile;

static Tile tile_of(const Winograd *w, int64_t number) {
  int64_t rest = number / w->tiles[1];
  return (Tile){rest / w->tiles[0], rest % w->tiles[0] * 2, number % w->tiles[1] * 2};
}

static void transform_tile(const Winograd *w, const float *lhs, Tile tile, float *out) {
  int64_t y0 = tile.y - w->padding[0], x0 = tile.x - w->padding[1];
  int64_t next = w->lhs_plane;
  const float *base = lhs + tile.image * w->lhs_stride[0];
  size_t at[4][4];
  bool inside[4][4];
  for (int y = 0; y < 4; y++) {
    for (int x = 0; x < 4; x++) {
      inside[y][x] = y0 + y >= 0 && y0 + y < w->sizes[0] && x0 + x >= 0 && x0 + x < w->sizes[1];
      at[y][x] =
          inside[y][x] ? (size_t)((y0 + y) * w->lhs_stride[2] + (x0 + x) * w->lhs_stride[3]) : 0;
    }
  }
  for (int64_t f = 0; f < w->inputs; f += 4, out += 4) {
    v128_t rows[4][4];
    for (int x = 0; x < 4; x++) {
      v128_t d[4];
      UNROLLED for (int y = 0; y < 4; y++) {
        d[y] = inside[y][x] ? load_features(base + at[y][x] + f * w->lhs_stride[1],
                                            w->lhs_stride[1], w->inputs - f)
                            : wasm_i32x4_const_splat(0);
      }
      rows[0][x] = wasm_f32x4_sub(d[0], d[2]);
      rows[1][x] = wasm_f32x4_add(d[1], d[2]);
      rows[2][x] = wasm_f32x4_sub(d[2], d[1]);
      rows[3][x] = wasm_f32x4_sub(d[1], d[3]);
    }
    UNROLLED for (int y = 0; y < 4; y++) {
      float *to = out + 4 * y * next;
      wasm_v128_store(to, wasm_f32x4_sub(rows[y][0], rows[y][2]));
      wasm_v128_store(to + next, wasm_f32x4_add(rows[y][1], rows[y][2]));
      wasm_v128_store(to + 2 * next, wasm_f32x4_sub(rows[y][2], rows[y][1]));
      wasm_v128_store(to + 3 * next, wasm_f32x4_sub(rows[y][1], rows[y][3]));
    }
  }
}

/* Computes one position of up to 4 features by the definition. Ends early if all are NaN, as in a network that diverged. */
static v128_t convolve_plainly(const Winograd *w, const float *lhs, const float *rhs, Tile tile,
                               int64_t feature) {
  v128_t sums = wasm_i32x4_const_splat(0);
  for (int64_t t = 0; t < 9; t++) {
    int64_t ky = t / 3, kx = t % 3, y = tile.y + ky - w->padding[0],
            x = tile.x + kx - w->padding[1];
    if (y < 0 || y >= w->sizes[0] || x < 0 || x >= w->sizes[1]) continue;
    const float *a =
        lhs + tile.image * w->lhs_stride[0] + y * w->lhs_stride[2] + x * w->lhs_stride[3];
    const float *b = rhs + (w->reversed[0] ? 2 - ky : ky) * w->rhs_stride[2] +
                     (w->reversed[1] ? 2 - kx : kx) * w->rhs_stride[3] + feature * w->rhs_stride[1];
    for (int64_t i = 0; i < w->inputs; i++) {
      v128_t weights =
          load_features(b + i * w->rhs_stride[0], w->rhs_stride[1], w->outputs - feature);
      v128_t product = wasm_f32x4_mul(wasm_f32x4_splat(a[i * w->lhs_stride[1]]), weights);
      sums = wasm_f32x4_add(sums, product);
      if (wasm_i32x4_all_true(wasm_f32x4_ne(sums, sums))) return sums;
    }
  }
  return sums;
}

static bool is_finite(v128_t x) {
  v128_t zero = wasm_f32x4_sub(x, x);
  return wasm_i32x4_all_true(wasm_f32x4_eq(zero, zero));
}

static void transform_out(const Winograd *w, const float *products, const KernelCall *call,
                          int64_t first, Tile tile) {
  const float *lhs = (const float *)call->operands[0], *rhs = (const float *)call->operands[1];
  float *out = (float *)call->results[0];
  int64_t next = w->products_plane;
  int64_t end = min_i64(first + w->padded[1], w->outputs);
  for (int64_t f = first; f < end; f += 4, products += 4) {
    v128_t rows[2][4];
    UNROLLED for (int x = 0; x < 4; x++) {
      v128_t m[4];
      UNROLLED for (int y = 0; y < 4; y++) m[y] = wasm_v128_load(products + (4 * y + x) * next);
      rows[0][x] = wasm_f32x4_add(wasm_f32x4_add(m[0], m[1]), m[2]);
      rows[1][x] = wasm_f32x4_sub(wasm_f32x4_sub(m[1], m[2]), m[3]);
    }
    for (int y = 0; y < 2 && tile.y + y < w->positions[0]; y++) {
      const v128_t *m = rows[y];
      v128_t positions[2] = {wasm_f32x4_add(wasm_f32x4_add(m[0], m[1]), m[2]),
                             wasm_f32x4_sub(wasm_f32x4_sub(m[1], m[2]), m[3])};
      for (int x = 0; x < 2 && tile.x + x < w->positions[1]; x++) {
        Tile position = {tile.image, tile.y + y, tile.x + x};
        if (!is_finite(positions[x])) positions[x] = convolve_plainly(w, lhs, rhs, position, f);
        store_features(positions[x],
                       out + position.image * w->out_stride[0] + f * w->out_stride[1] +
                           position.y * w->out_stride[2] + position.x * w->out_stride[3],
                       w->out_stride[1], w->outputs - f);
      }
    }
  }
}

/* ---- The kernel's interface ---- */

static void transform_chunk(const Winograd *w, const KernelCall *call, int64_t round, bool is_out,
                            int64_t chunk) {
  int64_t size = is_out ? w->out_chunk : w->lhs_chunk;
  int64_t first = w->by_outputs ? 0 : round * w->round_tiles;
  int64_t end = (chunk + 1) * size;
  if (end > w->round_tiles) end = w->round_tiles;
  if (end > w->all_tiles - first) end = w->all_tiles - first;
  for (int64_t t = chunk * size; t < end; t++) {
    Tile tile = tile_of(w, first + t);
    if (is_out) {
      transform_out(w, (const float *)(call->scratch + w->products_at) + t * w->padded[1], call,
                    first_output(w, round), tile);
    } else {
      transform_tile(w, (const float *)call->operands[0], tile,
                     (float *)(call->scratch + w->lhs_at) + t * w->padded[0]);
    }
  }
}

static void multiply(const Winograd *w, const KernelCall *call, int phase, int64_t chunk) {
  const ContractionPlan *plan = &w->plan;
  ContractionData data = {call->scratch + w->lhs_at, call->scratch + w->kernel_at,
                          call->scratch + w->products_at, call->scratch + w->contraction_at};
  if (phase == PHASE_PACK) {
    contraction_pack(&w->contraction, plan, &data, chunk);
  } else if (phase == PHASE_FINISH) {
    contraction_finish(plan, F32, &data, chunk);
  } else {
    int64_t unit = chunk * plan->units_per_chunk, end = unit + plan->units_per_chunk;
    contraction_multiply(&w->contraction, plan, &data, unit, end < plan->units ? end : plan->units);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  const Winograd *w = (const Winograd *)call->plan;
  int64_t round = phase ? (phase - 1) / ROUND_PHASES : 0;
  int step = phase ? (phase - 1) % ROUND_PHASES : TRANSFORM_OPERAND;
  if (step == TRANSFORM_OPERAND && w->by_outputs == (phase > 0)) {
    transform_kernel(w, (const float *)call->operands[1], (float *)(call->scratch + w->kernel_at),
                     first_output(w, round), chunk);
  } else if (step == TRANSFORM_OPERAND || step == TRANSFORM_OUT) {
    transform_chunk(w, call, round, step == TRANSFORM_OUT, chunk);
  } else {
    multiply(w, call, step - MULTIPLY, chunk);
  }
}

const Kernel kernel_winograd = {"winograd", plan, run};
