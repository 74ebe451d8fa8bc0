/*
** Plans FFT, IFFT, RFFT and IRFFT over the last one to three axes, of any length. Each axis is one pass
** over lines (fft.h). Long contiguous lines take two passes, so that the data of each step stays in the
** cache and several threads can share a line. With n = n1 n2, j = j1 n2 + j2 and k = k1 + n1 k2,
**
**     X[k] = sum over j2 of w_n2^(j2 k2) (w_n^(j2 k1) sum over j1 of x[j] w_n1^(j1 k1))
**
** This is n2 interleaved transforms of length n1, a product with factors, and n1 transforms of length
** n2 with interleaved results.
*/
#include "kernels/fft/fft.h"

#include "base/min_max.h"
#include "kernels/kernels.h"

enum {
  /* Threshold LONG_LINE, LONG_LINE_OF_FEW, FEW. Test: "Fourier transforms of long lines" in
  ** core/thresholds_numbers.test.mjs. */
  LONG_LINE = 16384, /* min elements of a line for two passes */
  LONG_LINE_OF_FEW = 8192,
  FEW = 4,
  /* Threshold MIN_FACTOR: lines that are long enough have a larger factor, if they have stages at all. No path. */
  MIN_FACTOR = 16,
  /* Threshold TILE_BYTES, CHUNK_REALS. Test: "Fourier transforms of long lines" in core/thresholds_numbers.test.mjs. */
  TILE_BYTES = 48 << 10, /* max bytes of a tile that has more lanes than a vector */
  CHUNK_REALS = 16384,   /* min reals of a chunk */
  /* Threshold MAX_CHUNKS: each chunk has a tile's memory. Test: "Fourier transforms of all small
  ** sizes, and around factors" in core/thresholds_programs.test.mjs. */
  MAX_CHUNKS = 8,
  /* Threshold LONG_CHUNK, SMALL_TILE: transforms of a million numbers; `compiling.test.mjs` has one of
  ** 1,000,003. No path in tests. */
  LONG_CHUNK = 1 << 20, /* min reals of a chunk beyond MAX_CHUNKS, if its tile is small */
  SMALL_TILE = 256 << 10,
  /* Threshold CHUNK_PAIRS. Test: "Fourier transforms of long lines" in core/thresholds_numbers.test.mjs. */
  CHUNK_PAIRS = 4096,
  /* Threshold STEPS_PER_AXIS, TURN_BYTES: steps and bytes of a plan. No path. */
  STEPS_PER_AXIS = 3,
  TURN_BYTES = 64, /* memory of an FftTurn */
  /* Threshold LONG_PAIRS: transforms of a million numbers; `compiling.test.mjs` has one of 1,000,003. No
  ** path in tests. */
  LONG_PAIRS = 4 * FFT_PIECE, /* pairs of a chunk that takes several turns */
};

/* The buffer of a pass's lines: the operand, the result, or scratch (MIDDLE, SPECTRUM). */
typedef enum FftBuffer { OPERAND, RESULT, MIDDLE, SPECTRUM } FftBuffer;

typedef struct Step {
  FftBuffer from, to;
  FftPass pass;
  int64_t tiles, tiles_per_chunk, tile_pairs;
  /* If `pairs`, the step works on pairs of long lines instead: */
  bool pairs;
  FftPairs pair;
  int64_t from_line, to_line, blocks; /* reals from line to line; chunks of a line */
} Step;

typedef struct FftPlan {
  KernelPlan kernel;
  PrimitiveType real;
  int64_t at[4], tile_bytes; /* scratch offsets of MIDDLE and SPECTRUM; bytes of a chunk's tile */
  int64_t tiles_at;
  /* Chunks take several turns: a first phase clears their FftTurn. */
  bool is_long;
  int count, max; /* number of steps; max chunks of a step */
  Step *steps;
} FftPlan;

/* The transform of the lines along one axis. */
typedef struct AxisJob {
  FftPlan *plan;
  FftTables *tables;
  int64_t length;       /* of the whole transform; in reals if it is from or to reals */
  int64_t outer, inner; /* lines are [outer][length][inner] */
  bool inverse;
  FftReal real;
  bool is_real; /* from or to reals */
  FftBuffer from, to;
} AxisJob;

static Step *add_step(FftPlan *plan, FftBuffer from, FftBuffer to) {
  Step *step = &plan->steps[plan->count++];
  *step = (Step){.from = from, .to = to};
  return step;
}

static bool has_few_lines(const FftPass *pass, PrimitiveType real) {
  return pass->lines <= (real == F64 ? 1 : 2);
}

/* Chooses the number of lanes: the most that keep a tile in the cache, in whole vectors. A line is
** transformed by itself if there are fewer lines than a vector has lanes. */
static void choose_lanes(FftPass *pass, PrimitiveType real) {
  int vector = real == F64 ? 2 : 4;
  pass->lanes = 4 * vector;
  while (pass->lanes > vector && (fft_tile_bytes(pass, real) > TILE_BYTES ||
                                  pass->group <= pass->lanes * fft_lines_per_lane(pass) / 2)) {
    pass->lanes /= 2;
  }
  if (has_few_lines(pass, real) && fft_runs_alone(pass->transform, real)) pass->lanes = 1;
}

static void finish_pass(FftPlan *plan, Step *step) {
  FftPass *pass = &step->pass;
  step->tiles = fft_tiles(pass);
  int64_t reals = step->tiles * 2 * pass->transform->room * pass->lanes;
  int64_t bytes = (fft_tile_bytes(pass, plan->real) + 63) & -64;
  int64_t max = bytes <= SMALL_TILE ? MAX_CHUNKS + reals / LONG_CHUNK : MAX_CHUNKS;
  int64_t chunks = min_i64(max, divide_up(reals, CHUNK_REALS));
  chunks = min_i64(chunks, step->tiles);
  step->tiles_per_chunk = divide_up(step->tiles, chunks);
  if (bytes > plan->tile_bytes) plan->tile_bytes = bytes;
  step->tile_pairs = pass->transform->room * pass->lanes;
  plan->is_long |= step->tiles_per_chunk * step->tile_pairs > LONG_PAIRS;
}

/* --- Long lines ------------------------------------------------------------------------------- */

/* Returns the largest useful factor of n up to its root; 0 if there is none. */
static int64_t half_factor(int64_t n) {
  int64_t factor = 1;
  while ((factor + 1) * (factor + 1) <= n) factor++;
  for (; factor >= MIN_FACTOR; factor--) {
    if (n % factor == 0) return factor;
  }
  return 0;
}

/* [k1][re, im][l]: w_n^(k1 l). a: n, b: lanes; item i is k1 * lanes + l. */
static void fill_lane_root(const FftTable *t, void *table, int64_t i) {
  int64_t k = i / t->b, l = i % t->b;
  double re, im;
  fft_root(k * l % t->a, t->a, &re, &im);
  fft_set(t->real, table, 2 * k * t->b + l, re);
  fft_set(t->real, table, (2 * k + 1) * t->b + l, im);
}

/* [block][k1][re, im]: w_n^(k1 lanes block). a: n, b: lanes, c: length; item i is block * length + k1. */
static void fill_tile_root(const FftTable *t, void *table, int64_t i) {
  double re, im;
  fft_root(i / t->c * t->b % t->a * (i % t->c) % t->a, t->a, &re, &im);
  fft_set(t->real, table, 2 * i, re);
  fft_set(t->real, table, 2 * i + 1, im);
}

/* Adds the factors between the two passes over a line of n. */
static void add_factors(FftTables *tables, FftPass *pass, int64_t n) {
  int64_t length = pass->transform->length, lanes = pass->lanes;
  int64_t blocks = divide_up(pass->group, lanes);
  FftTable *of_lanes =
      fft_add_table(tables, &pass->lane_roots, 2 * length * lanes, length * lanes, fill_lane_root);
  FftTable *of_tiles = fft_add_table(tables, &pass->tile_roots, 2 * length * blocks,
                                     length * blocks, fill_tile_root);
  of_lanes->a = of_tiles->a = n;
  of_lanes->b = of_tiles->b = lanes;
  of_tiles->c = length;
}

static void add_pairs(const AxisJob *job, FftBuffer from, FftBuffer to, int64_t from_line,
                      int64_t to_line) {
  Step *step = add_step(job->plan, from, to);
  int64_t h = job->length / 2;
  step->pairs = true;
  step->pair = (FftPairs){.length = h, .split = job->real == FFT_SPLIT};
  fft_add_roots(job->tables, &step->pair.roots, h / 2 + 1, job->length);
  step->from_line = from_line;
  step->to_line = to_line;
  step->blocks = (h / 2 + CHUNK_PAIRS) / CHUNK_PAIRS;
  step->tiles = job->outer * step->blocks;
  int64_t chunks = min_i64(4 * MAX_CHUNKS, step->tiles);
  step->tiles_per_chunk = divide_up(step->tiles, chunks);
}

/* Adds the two passes over lines of n = n1 n2 complex numbers. */
static void add_long(const AxisJob *job, int64_t n, int64_t n1) {
  FftPlan *plan = job->plan;
  int64_t n2 = n / n1, line = 2 * n, half_line = 2 * (n + 1);
  FftBuffer from = job->from;
  if (job->real == FFT_JOIN) {
    add_pairs(job, from, SPECTRUM, half_line, line);
    from = SPECTRUM;
  }
  Step *columns = add_step(plan, from, SPECTRUM);
  FftLines in = {.inner = n2, .outer = line, .lane = 2, .step = 2 * n2, .parts = 2};
  columns->pass = (FftPass){.transform = fft_transform(n1, job->tables),
                            .from = in,
                            .to = in,
                            .loaded = n1,
                            .kept = n1,
                            .lines = job->outer * n2,
                            .group = n2,
                            .inverse = job->inverse,
                            .scale = 1};
  choose_lanes(&columns->pass, plan->real);
  add_factors(job->tables, &columns->pass, n);
  finish_pass(plan, columns);
  bool splits = job->real == FFT_SPLIT;
  Step *rows = add_step(plan, SPECTRUM, job->to);
  rows->pass = (FftPass){
      .transform = n1 == n2 ? columns->pass.transform : fft_transform(n2, job->tables),
      .from = {.inner = 1, .outer = 2 * n2, .step = 2, .parts = 2},
      .to =
          {.inner = n1, .outer = splits ? half_line : line, .lane = 2, .step = 2 * n1, .parts = 2},
      .loaded = n2,
      .kept = n2,
      .lines = job->outer * n1,
      .group = n1,
      .inverse = job->inverse,
      .scale = job->inverse ? 1.0 / (double)job->length : 1};
  choose_lanes(&rows->pass, plan->real);
  finish_pass(plan, rows);
  if (splits) add_pairs(job, job->to, job->to, half_line, half_line);
}

/* --- Axes ------------------------------------------------------------------------------------- */

/* Returns the lines of `size` elements; parts: 1 for reals, 2 for complex numbers. */
static FftLines lines_of(int64_t size, int64_t inner, int parts) {
  return (FftLines){inner, size * inner * parts, parts, inner * parts, parts};
}

static void add_short(const AxisJob *job, int64_t n) {
  FftPlan *plan = job->plan;
  Step *step = add_step(plan, job->from, job->to);
  FftPass *pass = &step->pass;
  bool halved = job->real == FFT_SPLIT || job->real == FFT_JOIN;
  bool from_real = job->is_real && !job->inverse, to_real = job->is_real && job->inverse;
  int64_t spectrum = job->is_real ? job->length / 2 + 1 : job->length;
  pass->transform = fft_transform(n, job->tables);
  pass->loaded = from_real ? n : spectrum;
  pass->kept = to_real ? n : spectrum;
  pass->from = lines_of(pass->loaded, job->inner, from_real && !halved ? 1 : 2);
  pass->to = lines_of(pass->kept, job->inner, to_real && !halved ? 1 : 2);
  pass->lines = job->outer * job->inner;
  pass->group = job->inner < FEW ? pass->lines : job->inner;
  pass->inverse = job->inverse;
  pass->scale = job->inverse ? 1.0 / (double)job->length : 1;
  pass->real = job->real;
  bool whole_reals = job->is_real && !halved;
  if (whole_reals && !has_few_lines(pass, plan->real)) {
    pass->real = job->inverse ? FFT_TWO_BACK : FFT_TWO;
  }
  if (halved) fft_add_roots(job->tables, &pass->real_roots, n / 2 + 1, job->length);
  choose_lanes(pass, plan->real);
  finish_pass(plan, step);
}

static void add_axis(AxisJob *job) {
  bool even = job->length % 2 == 0;
  if (job->is_real && even) job->real = job->inverse ? FFT_JOIN : FFT_SPLIT;
  if (job->is_real && !even && job->inverse) job->real = FFT_MIRROR;
  int64_t n = job->is_real && even ? job->length / 2 : job->length;
  bool is_long = n >= (job->outer < FEW ? LONG_LINE_OF_FEW : LONG_LINE) && job->inner == 1 &&
                 job->is_real <= even && fft_has_stages(n);
  int64_t n1 = is_long ? half_factor(n) : 0;
  if (n1) {
    add_long(job, n, n1);
  } else {
    add_short(job, n);
  }
}

/* --- The kernel's interface ------------------------------------------------------------------- */

static void plan_axes(FftPlan *plan, const Instruction *fft, FftTables *tables) {
  const Int64List *lengths = &fft->a->fft_length;
  const Shape *shape = fft->a->fft_type == FFT_IRFFT ? fft->operands[0]->shape : fft->shape;
  bool inverse = fft->a->fft_type == FFT_IFFT || fft->a->fft_type == FFT_IRFFT;
  bool is_real = fft->a->fft_type == FFT_RFFT || fft->a->fft_type == FFT_IRFFT;
  bool last_is_last = fft->a->fft_type == FFT_IRFFT;
  FftBuffer at = OPERAND;
  for (int i = 0; i < lengths->count; i++) {
    int back = last_is_last ? (i + 1) % lengths->count : i; /* axes from the last one */
    int d = shape->rank - 1 - back;
    AxisJob job = {.plan = plan,
                   .tables = tables,
                   .length = lengths->items[lengths->count - 1 - back],
                   .outer = 1,
                   .inner = 1,
                   .inverse = inverse,
                   .is_real = is_real && back == 0,
                   .from = at,
                   .to = last_is_last && back > 0 ? MIDDLE : RESULT};
    for (int e = 0; e < d; e++) job.outer *= shape->dims[e];
    for (int e = d + 1; e < shape->rank; e++) job.inner *= shape->dims[e];
    add_axis(&job);
    at = job.to;
  }
}

static bool uses(const FftPlan *plan, FftBuffer buffer) {
  for (int i = 0; i < plan->count; i++) {
    if (plan->steps[i].to == buffer) return true;
  }
  return false;
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_FFT || shape_elements(instruction->shape) == 0 ||
      shape_elements(instruction->operands[0]->shape) == 0) {
    return NULL;
  }
  FftPlan *p = ARENA_NEW(arena, FftPlan);
  PrimitiveType type = instruction->shape->type;
  p->real = type == C128 || type == F64 ? F64 : F32;
  p->steps = ARENA_ARRAY(arena, Step, STEPS_PER_AXIS * instruction->a->fft_length.count);
  FftTables tables = {.arena = arena, .real = p->real};
  tables.end = &tables.first;
  plan_axes(p, instruction, &tables);
  p->kernel.preparation = tables.first;
  const Shape *operand = instruction->operands[0]->shape;
  int64_t bytes = shape_bytes(operand), result_bytes = shape_bytes(instruction->shape), scratch = 0;
  if (result_bytes > bytes) bytes = result_bytes;
  for (FftBuffer buffer = MIDDLE; buffer <= SPECTRUM; buffer++) {
    p->at[buffer] = scratch;
    if (uses(p, buffer)) scratch += (bytes + 63) & -64;
  }
  p->tiles_at = scratch;
  int *chunks = kernel_phases(&p->kernel, arena, p->count + p->is_long), max = 0;
  if (p->is_long) {
    *chunks++ = 1;
    p->tile_bytes += TURN_BYTES;
  }
  for (int i = 0; i < p->count; i++) {
    const Step *step = &p->steps[i];
    chunks[i] = (int)divide_up(step->tiles, step->tiles_per_chunk);
    if (!step->pairs && chunks[i] > max) max = chunks[i];
  }
  p->max = max;
  p->kernel.is_long = p->is_long;
  p->kernel.scratch_bytes = scratch + max * p->tile_bytes;
  return &p->kernel;
}

static void run_pairs(const FftPlan *plan, const Step *step, const uint8_t *from, uint8_t *to,
                      int64_t block) {
  FftPairs pairs = step->pair;
  int64_t line = block / step->blocks, bytes = plan->real == F64 ? 8 : 4;
  pairs.first = block % step->blocks * CHUNK_PAIRS;
  pairs.end = min_i64(pairs.first + CHUNK_PAIRS, pairs.length / 2 + 1);
  from += line * step->from_line * bytes;
  to += line * step->to_line * bytes;
  if (plan->real == F64) {
    fft_pairs_f64(&pairs, (const double *)from, (double *)to);
  } else {
    fft_pairs_f32(&pairs, (const float *)from, (float *)to);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  const FftPlan *p = (const FftPlan *)call->plan;
  uint8_t *memory = call->scratch + p->tiles_at + chunk * p->tile_bytes;
  FftTurn once = {.left = INT64_MAX}, *turn = &once;
  if (p->is_long) {
    turn = (FftTurn *)memory;
    memory += TURN_BYTES;
    if (phase-- == 0) {
      for (int i = 0; i < p->max; i++) {
        *(FftTurn *)(call->scratch + p->tiles_at + i * p->tile_bytes) = (FftTurn){0};
      }
      return;
    }
  }
  const Step *step = &p->steps[phase];
  uint8_t *to = step->to == RESULT ? call->results[0] : call->scratch + p->at[step->to];
  const uint8_t *from = step->from == OPERAND  ? call->operands[0]
                        : step->from == RESULT ? call->results[0]
                                               : call->scratch + p->at[step->from];
  int64_t first = chunk * step->tiles_per_chunk;
  int64_t end = min_i64(first + step->tiles_per_chunk, step->tiles);
  if (step->pairs) {
    for (; first < end; first++) run_pairs(p, step, from, to, first);
    return;
  }
  if (p->is_long) turn->left = 2 + LONG_PAIRS / step->tile_pairs;
  bool ends = p->real == F64 ? fft_run_f64(&step->pass, (const double *)from, (double *)to,
                                           (double *)memory, first, end, turn)
                             : fft_run_f32(&step->pass, (const float *)from, (float *)to,
                                           (float *)memory, first, end, turn);
  if (ends) *turn = (FftTurn){0};
  *call->again = !ends;
}

const Kernel kernel_fft = {"fft", plan, run};
