/*
** Depthwise convolution: as many groups as features, one output feature per group, and the features of
** all three arrays contiguous. As a matrix product each group would have one column; instead, vectors run
** over the groups:
**
**     out[position, group] = sum over taps of lhs[position + tap, group] * rhs[tap, group]
**
** The gradient of the kernel has the same form, with few positions and as many taps as the image has
** pixels. There the groups are batch groups, and the batch is one more dimension of taps.
**
** No position reads beyond the lhs: each has a list of the taps that read an existing element.
*/
#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/contraction/elements.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/window.h"
#include "kernels/kernels.h"

enum {
  /* Threshold MIN_GROUPS: one vector of f32. Test: "convolutions around vectors, groups and
  ** features" in core/thresholds.test.mjs. */
  MIN_GROUPS = 4,
  /* Threshold MAX_LANES: lanes in a unit, so that a small kernel stays in the first cache. Test: "convolutions:
  ** lines of tiles, places of a unit, transposed operands" in core/thresholds_programs.test.mjs. */
  MAX_LANES = 128,
  /* Threshold MIN_LANES: a cache line of f32. Test: "convolutions around vectors, groups and
  ** features" in core/thresholds.test.mjs. */
  MIN_LANES = 16,
  /* Threshold MAX_POSITIONS, LISTED. Test: "convolutions: lines of tiles, places of a unit,
  ** transposed operands" in core/thresholds_programs.test.mjs. */
  MAX_POSITIONS = 64, /* in a unit, along the last dimension */
  LISTED = 64,        /* max taps of the other dimensions listed at a time */
  /* Threshold MAX_TERMS. Test: "convolutions of long windows of single features" in core/thresholds.test.mjs. */
  MAX_TERMS =
      256, /* products added one after the other, so that errors do not grow with the taps */
  /* Threshold UNIT_PRODUCTS, WANTED_UNITS, COPY_ELEMENTS. Test: "convolutions: lines of tiles,
  ** places of a unit, transposed operands" in core/thresholds_programs.test.mjs. */
  UNIT_PRODUCTS = 100000, /* multiplications in a unit, or in a chunk of small units, about */
  WANTED_UNITS = 16,
  COPY_ELEMENTS = 16 * 1024,
};

typedef struct Depthwise {
  const Instruction *instruction;
  const Arithmetic *arithmetic;
  Loader load[2];          /* of lhs and rhs */
  int64_t copy_bytes[2];   /* of the converted operand; 0: it needs no converting */
  int64_t groups, batches; /* batches of the output */
  int64_t inputs;          /* input features of a group: 1, or the batch of a kernel's gradient */
  int64_t lhs_batch, lhs_input, rhs_input, out_batch; /* strides */
  int outer;                                          /* spatial dimensions but the last one */
  Line lines[MAX_RANK]; /* in order; without spatial dimensions, one of size 1 */
  int64_t lhs_stride[MAX_RANK], rhs_stride[MAX_RANK], out_stride[MAX_RANK];
  int64_t taps, rows; /* taps times inputs; outer positions */
  int64_t listed;     /* taps of the outer dimensions listed at a time */
  int64_t lanes, lane_blocks, positions, position_blocks, units, units_per_chunk;
} Depthwise;

/* ---- Planning ---- */

static bool is_depthwise(const Instruction *instruction) {
  if (instruction->opcode != HLO_CONVOLUTION || shape_elements(instruction->shape) == 0) {
    return false;
  }
  const ConvDims *dims = &instruction->a->conv_dims;
  const Shape *lhs = instruction->operands[0]->shape, *rhs = instruction->operands[1]->shape;
  bool by_batch = instruction->a->batch_group_count > 1;
  int64_t groups = instruction->a->feature_group_count * instruction->a->batch_group_count;
  int last = lhs->rank - 1;
  int64_t grouped = by_batch ? dims->input_batch : dims->input_feature;
  return groups >= MIN_GROUPS && groups == rhs->dims[dims->kernel_output_feature] &&
         groups == lhs->dims[grouped] && grouped == last && dims->kernel_output_feature == last &&
         dims->output_feature == last && !type_is_complex(instruction->shape->type) &&
         type_bytes(instruction->shape->type) <=
             (type_is_floating(instruction->shape->type) ? 8 : 4);
}

static void set_lines(Depthwise *d) {
  const ConvDims *dims = &d->instruction->a->conv_dims;
  const Shape *lhs = d->instruction->operands[0]->shape, *rhs = d->instruction->operands[1]->shape;
  const Shape *out = d->instruction->shape;
  int64_t lhs_strides[MAX_RANK], rhs_strides[MAX_RANK], out_strides[MAX_RANK];
  shape_strides(lhs, lhs_strides);
  shape_strides(rhs, rhs_strides);
  shape_strides(out, out_strides);
  d->lhs_batch = lhs_strides[dims->input_batch];
  d->lhs_input = lhs_strides[dims->input_feature];
  d->rhs_input = rhs_strides[dims->kernel_input_feature];
  d->out_batch = out_strides[dims->output_batch];
  d->outer = dims->spatial - 1;
  d->taps = d->inputs;
  for (int i = 0; i < dims->spatial; i++) {
    int64_t positions = out->dims[dims->output_spatial[i]];
    Line *line = &d->lines[i];
    *line =
        line_of(&d->instruction->a->window.items[i], lhs->dims[dims->input_spatial[i]], positions);
    d->lhs_stride[i] = lhs_strides[dims->input_spatial[i]];
    d->rhs_stride[i] = rhs_strides[dims->kernel_spatial[i]];
    d->out_stride[i] = out_strides[dims->output_spatial[i]];
    d->taps *= line->taps;
    if (i < d->outer) d->rows *= positions;
  }
  if (dims->spatial == 0) {
    WindowDimension point = {.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
    d->outer = 0;
    d->lines[0] = line_of(&point, 1, 1);
    d->lhs_stride[0] = d->rhs_stride[0] = d->out_stride[0] = 0;
  }
}

static void set_units(Depthwise *d) {
  const Line *last = &d->lines[d->outer];
  d->listed = min_i64(LISTED, max_i64(1, MAX_TERMS / max_i64(1, last->taps)));
  int64_t products = d->taps + 1;
  d->lanes = d->groups < MAX_LANES ? d->groups : MAX_LANES;
  d->positions = UNIT_PRODUCTS / (products * d->lanes);
  if (d->positions > MAX_POSITIONS) d->positions = MAX_POSITIONS;
  if (d->positions > last->positions) d->positions = last->positions;
  if (d->positions < 1) d->positions = 1;
  d->position_blocks = divide_up(last->positions, d->positions);
  d->lane_blocks = divide_up(d->groups, d->lanes);
  while (d->rows * d->position_blocks * d->lane_blocks < WANTED_UNITS &&
         d->lanes >= 2 * MIN_LANES && products * d->positions * d->lanes > UNIT_PRODUCTS) {
    d->lanes = divide_up(d->lanes / 2, MIN_LANES) * MIN_LANES;
    d->lane_blocks = divide_up(d->groups, d->lanes);
  }
  d->units = d->rows * d->position_blocks * d->lane_blocks;
  /* A unit takes all lanes, if that is not much more work. */
  int64_t units = UNIT_PRODUCTS / (products * d->lanes * d->positions) + 1;
  int64_t whole = divide_up(units, d->lane_blocks) * d->lane_blocks;
  d->units_per_chunk = whole <= 4 * units && d->units >= WANTED_UNITS * whole ? whole : units;
}

static void depthwise_of(const Instruction *instruction, Depthwise *d) {
  const ConvDims *dims = &instruction->a->conv_dims;
  const Shape *lhs = instruction->operands[0]->shape, *rhs = instruction->operands[1]->shape;
  const Shape *out = instruction->shape;
  d->instruction = instruction;
  d->arithmetic = arithmetic_plain(lhs->type, rhs->type, out->type);
  for (int i = 0; i < 2; i++) {
    const Shape *shape = instruction->operands[i]->shape;
    d->load[i] = loader_for(shape->type, d->arithmetic, out->type);
    int64_t bytes = shape_elements(shape) * type_bytes(d->arithmetic->element);
    d->copy_bytes[i] = d->load[i].run ? (bytes + 63) & -64 : 0;
  }
  d->groups = rhs->dims[dims->kernel_output_feature];
  d->batches = d->rows = out->dims[dims->output_batch];
  d->inputs = rhs->dims[dims->kernel_input_feature];
  set_lines(d);
  set_units(d);
}

/* ---- Multiplying ---- */

/* Taps: `count` of the outer dimensions and inputs, times `inner` of the last dimension. */
typedef struct Taps {
  int count;
  bool adds; /* to the existing sums */
  int64_t inner;
  size_t lhs[LISTED], rhs[LISTED]; /* offsets */
  ptrdiff_t lhs_step, rhs_step;    /* from one inner tap to the next */
} Taps;

/* Elements from one position to the next, in the lhs and in the sums. */
typedef struct Steps {
  size_t lhs, sums;
} Steps;

/*
** Sums the products of these taps for POSITIONS positions, VECTORS vectors of lanes at a time, while that many
** lanes are left. Returns the number of lanes done.
*/
/* Threshold LANES, WIDTH. Test: "convolutions: lines of tiles, places of a unit, transposed
** operands" in core/thresholds_programs.test.mjs. */
#define ADD_TAPS(name, real, POSITIONS, VECTORS, multiply, add)                               \
  static int64_t name(const void *lhs, const void *rhs, void *sums, int64_t lanes,            \
                      const Taps *taps, const Steps *steps) {                                 \
    enum { LANES = 16 / sizeof(real), WIDTH = (VECTORS) * LANES };                            \
    int64_t lane = 0;                                                                         \
    for (; lane + WIDTH <= lanes; lane += WIDTH) {                                            \
      v128_t sum[POSITIONS][VECTORS];                                                         \
      for (int p = 0; p < (POSITIONS); p++) {                                                 \
        for (int v = 0; v < (VECTORS); v++) sum[p][v] = wasm_i32x4_splat(0);                  \
      }                                                                                       \
      for (int i = 0; i < taps->count; i++) {                                                 \
        const real *a = (const real *)lhs + taps->lhs[i] + lane;                              \
        const real *b = (const real *)rhs + taps->rhs[i] + lane;                              \
        for (int64_t t = 0; t < taps->inner; t++, a += taps->lhs_step, b += taps->rhs_step) { \
          for (int v = 0; v < (VECTORS); v++) {                                               \
            v128_t y = wasm_v128_load(b + v * LANES);                                         \
            for (int p = 0; p < (POSITIONS); p++) {                                           \
              v128_t x = wasm_v128_load(a + (size_t)p * steps->lhs + v * LANES);              \
              sum[p][v] = add(sum[p][v], multiply(x, y));                                     \
            }                                                                                 \
          }                                                                                   \
        }                                                                                     \
      }                                                                                       \
      for (int p = 0; p < (POSITIONS); p++) {                                                 \
        real *to = (real *)sums + (size_t)p * steps->sums + lane;                             \
        for (int v = 0; v < (VECTORS); v++, to += LANES) {                                    \
          if (taps->adds) sum[p][v] = add(sum[p][v], wasm_v128_load(to));                     \
          wasm_v128_store(to, sum[p][v]);                                                     \
        }                                                                                     \
      }                                                                                       \
    }                                                                                         \
    return lane;                                                                              \
  }

/* Does the lanes that do not fill a vector. */
#define ADD_LANES(name, real)                                                                 \
  static void name(const void *lhs, const void *rhs, void *sums, int64_t lane, int64_t lanes, \
                   const Taps *taps) {                                                        \
    for (; lane < lanes; lane++) {                                                            \
      real sum = 0;                                                                           \
      for (int i = 0; i < taps->count; i++) {                                                 \
        const real *a = (const real *)lhs + taps->lhs[i] + lane;                              \
        const real *b = (const real *)rhs + taps->rhs[i] + lane;                              \
        for (int64_t t = 0; t < taps->inner; t++, a += taps->lhs_step, b += taps->rhs_step) { \
          sum += *a * *b;                                                                     \
        }                                                                                     \
      }                                                                                       \
      if (taps->adds) sum += ((real *)sums)[lane];                                            \
      ((real *)sums)[lane] = sum;                                                             \
    }                                                                                         \
  }

typedef struct LaneKernels {
  int64_t (*four_positions)(const void *lhs, const void *rhs, void *sums, int64_t lanes,
                            const Taps *taps, const Steps *steps);
  int64_t (*one_position)(const void *lhs, const void *rhs, void *sums, int64_t lanes,
                          const Taps *taps, const Steps *steps);
  int64_t (*one_vector)(const void *lhs, const void *rhs, void *sums, int64_t lanes,
                        const Taps *taps, const Steps *steps);
  void (*rest)(const void *lhs, const void *rhs, void *sums, int64_t lane, int64_t lanes,
               const Taps *taps);
} LaneKernels;

#define LANE_KERNELS(type, real, multiply, add)      \
  ADD_TAPS(four_##type, real, 4, 2, multiply, add)   \
  ADD_TAPS(one_##type, real, 1, 4, multiply, add)    \
  ADD_TAPS(vector_##type, real, 1, 1, multiply, add) \
  ADD_LANES(rest_##type, real)                       \
  static const LaneKernels kernels_##type = {four_##type, one_##type, vector_##type, rest_##type};

LANE_KERNELS(f32, float, wasm_f32x4_mul, wasm_f32x4_add)
LANE_KERNELS(f64, double, wasm_f64x2_mul, wasm_f64x2_add)
LANE_KERNELS(s32, uint32_t, wasm_i32x4_mul, wasm_i32x4_add)

/* A unit: positions [first, end) of the last dimension and a range of lanes. The pointers are to its first
** lane; the pointer to the sums is to its first position. */
typedef struct Work {
  const uint8_t *lhs, *rhs;
  uint8_t *sums;
  size_t bytes, position_stride; /* of an element; elements of sums from one position to the next */
  int64_t lanes, first, end;
} Work;

static const LaneKernels *lane_kernels(const Depthwise *d) {
  switch (d->arithmetic->element) {
  case F32: return &kernels_f32;
  case F64: return &kernels_f64;
  default: return &kernels_s32;
  }
}

/* Adds the lanes from `lane` on of one position. */
static void add_position(const LaneKernels *kernels, const Work *work, const uint8_t *lhs,
                         const uint8_t *rhs, uint8_t *sums, int64_t lane, const Taps *taps) {
  const Steps none = {0, 0};
  size_t at = (size_t)lane * work->bytes;
  lane += kernels->one_position(lhs + at, rhs + at, sums + at, work->lanes - lane, taps, &none);
  at = (size_t)lane * work->bytes;
  lane += kernels->one_vector(lhs + at, rhs + at, sums + at, work->lanes - lane, taps, &none);
  kernels->rest(lhs, rhs, sums, lane, work->lanes, taps);
}

/* Adds the next position, or four of them. */
static void add_positions(const Work *work, const LaneKernels *kernels, const uint8_t *lhs,
                          const uint8_t *rhs, uint8_t *sums, bool four, const Taps *taps,
                          const Steps *steps) {
  if (!four) {
    add_position(kernels, work, lhs, rhs, sums, 0, taps);
    return;
  }
  int64_t lane = kernels->four_positions(lhs, rhs, sums, work->lanes, taps, steps);
  for (int i = 0; i < 4 && lane < work->lanes; i++) {
    add_position(kernels, work, lhs + (size_t)i * steps->lhs * work->bytes, rhs,
                 sums + (size_t)i * steps->sums * work->bytes, lane, taps);
  }
}

/* Adds all positions of one class, with the listed outer taps. Four consecutive positions that have all taps
** share the loads of the rhs. */
static void add_class(const Depthwise *d, const Work *work, Taps *taps, int64_t class) {
  const LaneKernels *kernels = lane_kernels(d);
  const Line *line = &d->lines[d->outer];
  const LineClass all = line_class(line, class);
  size_t lhs_stride = (size_t)d->lhs_stride[d->outer], rhs_stride = (size_t)d->rhs_stride[d->outer];
  size_t tap = line->reversed ? 0 - rhs_stride : rhs_stride;
  size_t base = line->reversed ? (size_t)(line->taps - 1) * rhs_stride : 0;
  Steps steps = {(size_t)line->position_elements * lhs_stride,
                 (size_t)line->classes * work->position_stride};
  taps->lhs_step = (ptrdiff_t)(line->tap_elements * d->lhs_stride[d->outer]);
  taps->rhs_step = (ptrdiff_t)((size_t)line->tap_step * tap);
  int64_t q = work->first > class ? divide_up(work->first - class, line->classes) : 0;
  for (int64_t left; (left = divide_up(work->end - class, line->classes) - q) > 0;) {
    LineClass position = line_position(line, all, q);
    int64_t last =
        position.element + 3 * line->position_elements + (all.taps - 1) * line->tap_elements;
    bool four = left >= 4 && position.taps == all.taps && last < line->length;
    const uint8_t *lhs = work->lhs + (size_t)position.element * lhs_stride * work->bytes;
    const uint8_t *rhs = work->rhs + (base + (size_t)position.first_tap * tap) * work->bytes;
    int64_t p = class + q * line->classes - work->first;
    uint8_t *sums = work->sums + (size_t)p * work->position_stride * work->bytes;
    bool adds = taps->adds;
    int64_t done = 0;
    do { /* at least once: no taps give zeros */
      taps->inner = min_i64(position.taps - done, MAX_TERMS);
      taps->adds = adds || done;
      add_positions(work, kernels, lhs + (size_t)(done * taps->lhs_step) * work->bytes,
                    rhs + (size_t)(done * taps->rhs_step) * work->bytes, sums, four, taps, &steps);
      done += taps->inner;
    } while (done < position.taps);
    taps->adds = adds;
    q += four ? 4 : 1;
  }
}

/* A row: the offsets that its outer dimensions and batch add, and their taps. */
typedef struct Row {
  LineClass position[MAX_RANK];
  int64_t taps; /* of the outer dimensions, times inputs */
  size_t lhs, out;
} Row;

static Row row_of(const Depthwise *d, int64_t row) {
  Row r = {.taps = d->inputs};
  for (int i = d->outer - 1; i >= 0; i--) {
    const Line *line = &d->lines[i];
    int64_t position = row % line->positions;
    row /= line->positions;
    r.position[i] =
        line_position(line, line_class(line, position % line->classes), position / line->classes);
    r.taps *= r.position[i].taps;
    r.out += (size_t)(position * d->out_stride[i]);
  }
  r.lhs = (size_t)(row * d->lhs_batch);
  r.out += (size_t)(row * d->out_batch);
  return r;
}

/* Lists the taps of the outer dimensions and inputs from number `first` on. */
static void list_taps(const Depthwise *d, const Row *row, int64_t first, Taps *taps) {
  taps->count = (int)min_i64(row->taps - first, d->listed);
  taps->adds = first > 0;
  for (int k = 0; k < taps->count; k++) {
    int64_t rest = first + k, input = rest % d->inputs, lhs = input * d->lhs_input;
    int64_t rhs = input * d->rhs_input;
    rest /= d->inputs;
    for (int i = d->outer - 1; i >= 0; i--) {
      const Line *line = &d->lines[i];
      const LineClass *position = &row->position[i];
      int64_t tap = rest % position->taps, at = position->first_tap + tap * line->tap_step;
      rest /= position->taps;
      lhs += (position->element + tap * line->tap_elements) * d->lhs_stride[i];
      rhs += (line->reversed ? line->taps - 1 - at : at) * d->rhs_stride[i];
    }
    taps->lhs[k] = (size_t)lhs;
    taps->rhs[k] = (size_t)rhs;
  }
}

static void run_unit(const Depthwise *d, const uint8_t *lhs, const uint8_t *rhs, uint8_t *result,
                     int64_t unit) {
  _Alignas(16) uint8_t buffer[MAX_POSITIONS * MAX_LANES * 8];
  PrimitiveType type = d->instruction->shape->type;
  int64_t lane = unit % d->lane_blocks * d->lanes, rest = unit / d->lane_blocks;
  const Line *last = &d->lines[d->outer];
  Row row = row_of(d, rest / d->position_blocks);
  Work work = {.bytes = (size_t)type_bytes(d->arithmetic->sum),
               .lanes = d->groups - lane < d->lanes ? d->groups - lane : d->lanes,
               .first = rest % d->position_blocks * d->positions};
  work.end =
      work.first + d->positions < last->positions ? work.first + d->positions : last->positions;
  work.lhs = lhs + (row.lhs + (size_t)lane) * work.bytes;
  work.rhs = rhs + (size_t)lane * work.bytes;
  size_t out_stride = (size_t)d->out_stride[d->outer], out = row.out + (size_t)lane;
  bool direct = sums_are_results(d->arithmetic, type);
  work.position_stride = direct ? out_stride : (size_t)work.lanes;
  uint8_t *first = result + (out + (size_t)work.first * out_stride) * work.bytes;
  work.sums = direct ? first : buffer;
  Taps taps = {0};
  int64_t listed = 0;
  do { /* at least once: no taps give zeros */
    list_taps(d, &row, listed, &taps);
    for (int64_t c = 0; c < line_classes(last); c++) add_class(d, &work, &taps, c);
    listed += d->listed;
  } while (listed < row.taps);
  for (int64_t p = 0; p < work.end - work.first && !direct; p++) {
    size_t at = out + (size_t)(work.first + p) * out_stride;
    store_sums(d->arithmetic, buffer + (size_t)p * work.position_stride * work.bytes, work.lanes,
               type, result + at * (size_t)type_bytes(type));
  }
}

/* ---- The kernel's interface ---- */

enum { PHASE_CONVERT, PHASE_MULTIPLY, PHASES };

static int64_t convert_chunks(const Depthwise *d, int operand) {
  if (!d->copy_bytes[operand]) return 0;
  return divide_up(shape_elements(d->instruction->operands[operand]->shape), COPY_ELEMENTS);
}

static void convert_chunk(const Depthwise *d, const KernelCall *call, int64_t chunk) {
  int operand = chunk >= convert_chunks(d, 0);
  if (operand) chunk -= convert_chunks(d, 0);
  const Loader *loader = &d->load[operand];
  int64_t first = chunk * COPY_ELEMENTS;
  int64_t count = shape_elements(d->instruction->operands[operand]->shape) - first;
  loader->run(loader, call->operands[operand] + first * type_bytes(loader->from),
              count < COPY_ELEMENTS ? count : COPY_ELEMENTS,
              call->scratch + (operand ? d->copy_bytes[0] : 0) +
                  first * type_bytes(loader->element));
}

typedef struct DepthwisePlan {
  KernelPlan kernel;
  Depthwise depthwise;
} DepthwisePlan;

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (!is_depthwise(instruction)) return NULL;
  DepthwisePlan *p = ARENA_NEW(arena, DepthwisePlan);
  Depthwise *d = &p->depthwise;
  depthwise_of(instruction, d);
  p->kernel.scratch_bytes = d->copy_bytes[0] + d->copy_bytes[1];
  int *chunks = kernel_phases(&p->kernel, arena, PHASES);
  chunks[PHASE_CONVERT] = (int)(convert_chunks(d, 0) + convert_chunks(d, 1));
  chunks[PHASE_MULTIPLY] = (int)divide_up(d->units, d->units_per_chunk);
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const Depthwise *d = &((const DepthwisePlan *)call->plan)->depthwise;
  if (phase == PHASE_CONVERT) {
    convert_chunk(d, call, chunk);
    return;
  }
  const uint8_t *lhs = d->copy_bytes[0] ? call->scratch : call->operands[0];
  const uint8_t *rhs = d->copy_bytes[1] ? call->scratch + d->copy_bytes[0] : call->operands[1];
  int64_t unit = chunk * d->units_per_chunk, end = unit + d->units_per_chunk;
  for (; unit < end && unit < d->units; unit++) run_unit(d, lhs, rhs, call->results[0], unit);
}

const Kernel kernel_depthwise = {"depthwise", plan, run};
