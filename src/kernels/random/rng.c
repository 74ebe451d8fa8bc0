/*
** Runs rng-bit-generator as the evaluator does (reference/rng.c), with four counters in a vector. The words of
** a counter depend only on the key and the counter, so chunks are ranges of counters.
**
** Blocks of words are generated into a buffer. If the result takes them in that order, they are copied: Philox's
** words, and ThreeFry's for types of 64 bits or if the halved dimension is the innermost. Otherwise ThreeFry's
** first and second words go to different rows.
*/
#include <string.h>
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/kernels.h"
#include "value/rng.h"

enum {
  /* Threshold LANES, STREAMS, BLOCK, CHUNK. Test: "random bits around blocks" in core/thresholds.test.mjs. */
  LANES = 4,
  STREAMS = 2, /* vectors at once, since each step of a round depends on the one before */
  BLOCK = 128, /* counters of a block; whole vectors and streams of them */
  CHUNK = 32 * BLOCK,
};

typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));

typedef struct Generator {
  const Instruction *instruction;
  const Shape *bits;
  bool is_threefry;
  RngSplit split;
  int64_t counters; /* number of counters used */
} Generator;

static Generator generator_of(const Instruction *instruction) {
  const Shape *shape = instruction->shape;
  Generator g = {.instruction = instruction,
                 .bits = shape_is_tuple(shape) ? shape->elements[1] : shape,
                 .is_threefry = instruction->a->rng_algorithm == RNG_THREE_FRY};
  int64_t count = shape_elements(g.bits), words = type_bits(g.bits->type) == 64 ? 2 : 1;
  g.split = rng_split(g.bits);
  if (!g.is_threefry) {
    g.counters = (count * words + 3) / 4;
  } else if (words == 2) {
    g.counters = count;
  } else {
    g.counters = g.split.outer * ((g.split.size + 1) / 2) * g.split.inner;
  }
  return g;
}

/* --- Generators ------------------------------------------------------------------------------- */

static u32x4 splat(uint32_t x) { return (u32x4){x, x, x, x}; }

/* Computes the 32-bit halves of counter, counter + 1, ... */
static void counter_lanes(uint64_t counter, u32x4 *low, u32x4 *high) {
  *low = splat((uint32_t)counter) + (u32x4){0, 1, 2, 3};
  u32x4 carry = (u32x4)(*low < splat((uint32_t)counter)); /* -1 */
  *high = splat((uint32_t)(counter >> 32)) - carry;
}

static u32x4 rotate_left(u32x4 x, int distance) { return x << distance | x >> (32 - distance); }

static void threefry_round(u32x4 *x0, u32x4 *x1, int distance) {
  for (int s = 0; s < STREAMS; s++) {
    x0[s] += x1[s];
    x1[s] = rotate_left(x1[s], distance) ^ x0[s];
  }
}

static void threefry_add(u32x4 *x0, u32x4 *x1, uint32_t a, uint32_t b) {
  for (int s = 0; s < STREAMS; s++) {
    x0[s] += splat(a);
    x1[s] += splat(b);
  }
}

static void threefry(uint64_t key, uint64_t counter, u32x4 *x0, u32x4 *x1) {
  const uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  const uint32_t keys[3] = {k0, k1, UINT32_C(0x1BD11BDA) ^ k0 ^ k1};
  for (int s = 0; s < STREAMS; s++) {
    counter_lanes(counter + (uint64_t)(s * LANES), &x0[s], &x1[s]);
  }
  threefry_add(x0, x1, k0, k1);
  for (uint32_t group = 0; group < 5; group++) {
    if (group % 2 == 0) {
      threefry_round(x0, x1, 13);
      threefry_round(x0, x1, 15);
      threefry_round(x0, x1, 26);
      threefry_round(x0, x1, 6);
    } else {
      threefry_round(x0, x1, 17);
      threefry_round(x0, x1, 29);
      threefry_round(x0, x1, 16);
      threefry_round(x0, x1, 24);
    }
    threefry_add(x0, x1, keys[(group + 1) % 3], keys[(group + 2) % 3] + group + 1);
  }
}

/* Computes both halves of the products of all lanes with a constant. */
static void multiply(u32x4 x, uint32_t by, u32x4 *low, u32x4 *high) {
  v128_t a = wasm_u64x2_extmul_low_u32x4((v128_t)x, (v128_t)splat(by));
  v128_t b = wasm_u64x2_extmul_high_u32x4((v128_t)x, (v128_t)splat(by));
  *low = (u32x4)wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
  *high = (u32x4)wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
}

static void philox(uint64_t key, uint64_t low, uint64_t high, u32x4 *x) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  counter_lanes(low, &x[0], &x[1]);
  for (int i = 0; i < LANES; i++) { /* 128 bits: the low half carries into the high one */
    uint64_t lane_high = high + (low + (uint64_t)i < low);
    x[2][i] = (uint32_t)lane_high;
    x[3][i] = (uint32_t)(lane_high >> 32);
  }
  for (int round = 0; round < 10; round++) {
    u32x4 low_a, high_a, low_b, high_b;
    multiply(x[0], UINT32_C(0xD2511F53), &low_a, &high_a);
    multiply(x[2], UINT32_C(0xCD9E8D57), &low_b, &high_b);
    x[0] = high_b ^ x[1] ^ splat(k0);
    x[1] = low_b;
    x[2] = high_a ^ x[3] ^ splat(k1);
    x[3] = low_a;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
}

/* --- Blocks of words -------------------------------------------------------------------------- */

/* Stores a0 b0 a1 b1 ... */
static void store_pairs(uint32_t *to, u32x4 a, u32x4 b) {
  wasm_v128_store(to, wasm_i32x4_shuffle((v128_t)a, (v128_t)b, 0, 4, 1, 5));
  wasm_v128_store(to + 4, wasm_i32x4_shuffle((v128_t)a, (v128_t)b, 2, 6, 3, 7));
}

/* Generates the words of at most BLOCK counters: all first words, then all second words; or in pairs. */
static void threefry_block(uint64_t key, uint64_t counter, int64_t count, bool in_pairs,
                           uint32_t *words) {
  for (int at = 0; at < count; at += STREAMS * LANES) {
    u32x4 x0[STREAMS], x1[STREAMS];
    threefry(key, counter + (uint64_t)at, x0, x1);
    for (int s = 0; s < STREAMS; s++) {
      int i = at + s * LANES;
      if (in_pairs) {
        store_pairs(words + (ptrdiff_t)2 * i, x0[s], x1[s]);
      } else {
        wasm_v128_store(words + i, (v128_t)x0[s]);
        wasm_v128_store(words + BLOCK + i, (v128_t)x1[s]);
      }
    }
  }
}

static void philox_block(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                         uint32_t *words) {
  for (int at = 0; at < count; at += LANES) {
    u32x4 x[4];
    uint64_t counter = low + (uint64_t)at;
    philox(key, counter, high + (counter < low), x);
    for (int i = 0; i < LANES; i++) {
      u32x4 block = {x[0][i], x[1][i], x[2][i], x[3][i]};
      wasm_v128_store(words + (ptrdiff_t)4 * (at + i), (v128_t)block);
    }
  }
}

/* Stores the low bits of words as elements. */
static void store_words(uint8_t *to, int bytes, const uint32_t *words, int64_t count) {
  uint16_t half;
  switch (bytes) {
  case 1:
    for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)words[i];
    break;
  case 2:
    for (int64_t i = 0; i < count; i++) {
      half = (uint16_t)words[i];
      memcpy(to + 2 * i, &half, sizeof half);
    }
    break;
  default: memcpy(to, words, (size_t)count * sizeof *words); /* 8 bytes are two words */
  }
}

/* --- From counters to elements ---------------------------------------------------------------- */

/* Stores the words of consecutive counters, `per_counter` words each. */
static void store_stream(const Generator *g, uint8_t *to, int64_t first, int64_t counters,
                         int per_counter, const uint32_t *words) {
  int bytes = type_bytes(g->bits->type) < 4 ? type_bytes(g->bits->type) : 4;
  int64_t all = shape_elements(g->bits) * (type_bytes(g->bits->type) == 8 ? 2 : 1);
  int64_t at = first * per_counter, count = counters * per_counter;
  store_words(to + at * bytes, bytes, words, at + count < all ? count : all - at);
}

/* Stores first words to rows 2h of the halved dimension and second words to rows 2h + 1; a dimension of odd
** size lacks the last of these. Counters are row-major over [outer, h, inner]. */
static void store_rows(const Generator *g, uint8_t *to, int64_t first, int64_t counters,
                       const uint32_t *words) {
  const RngSplit *split = &g->split;
  int bytes = type_bytes(g->bits->type);
  int64_t half = (split->size + 1) / 2;
  for (int64_t done = 0, run; done < counters; done += run) {
    int64_t i = (first + done) % split->inner, row = (first + done) / split->inner;
    int64_t h = row % half, outer = row / half;
    uint8_t *at = to + ((outer * split->size + 2 * h) * split->inner + i) * bytes;
    run = split->inner - i < counters - done ? split->inner - i : counters - done;
    store_words(at, bytes, words + done, run);
    if (2 * h + 1 == split->size) continue;
    store_words(at + split->inner * bytes, bytes, words + BLOCK + done, run);
  }
}

/* Stores the next state; the first chunk does this. */
static void store_state(const Generator *g, const uint64_t *state, uint8_t *result,
                        bool is_long_state) {
  uint64_t next[3] = {state[0], state[1] + (uint64_t)g->counters, is_long_state ? state[2] : 0};
  if (!g->is_threefry) next[2] += next[1] < state[1];
  memcpy(result, next, sizeof *next * (is_long_state ? 3 : 2));
}

typedef struct GeneratorPlan {
  KernelPlan kernel;
  Generator generator;
} GeneratorPlan;

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_RNG_BIT_GENERATOR) return NULL;
  Generator g = generator_of(instruction);
  TypeKind kind = type_kind(g.bits->type);
  if (type_bits(g.bits->type) != 8 * type_bytes(g.bits->type) || kind == KIND_PRED ||
      kind == KIND_COMPLEX) {
    return NULL;
  }
  GeneratorPlan *p = ARENA_NEW(arena, GeneratorPlan);
  p->generator = g;
  int *chunks = kernel_phases(&p->kernel, arena, 1);
  chunks[0] = g.counters <= CHUNK ? 1 : (int)divide_up(g.counters, CHUNK); /* 1: the state */
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  Generator g = ((const GeneratorPlan *)call->plan)->generator;
  uint32_t words[4 * BLOCK];
  uint64_t state[3] = {0};
  bool is_tuple = shape_is_tuple(call->instruction->shape);
  bool is_long_state = call->instruction->operands[0]->shape->dims[0] > 2;
  bool in_pairs = type_bits(g.bits->type) == 64 || (g.split.inner == 1 && g.split.size % 2 == 0);
  memcpy(state, call->operands[0], sizeof *state * (is_long_state ? 3 : 2));
  uint64_t high = is_long_state ? state[2] : state[0]; /* XLA:CPU's choice for the short state */
  uint8_t *to = call->results[is_tuple ? 1 : 0];
  int64_t first = (int64_t)chunk * CHUNK, end = first + CHUNK;
  if (end > g.counters) end = g.counters;
  for (; first < end; first += BLOCK) {
    int64_t count = end - first < BLOCK ? end - first : BLOCK;
    uint64_t counter = state[1] + (uint64_t)first;
    if (!g.is_threefry) {
      philox_block(state[0], counter, high + (counter < state[1]), count, words);
      store_stream(&g, to, first, count, 4, words);
    } else {
      threefry_block(state[0], counter, count, in_pairs, words);
      if (in_pairs) store_stream(&g, to, first, count, 2, words);
      if (!in_pairs) store_rows(&g, to, first, count, words);
    }
  }
  if (chunk == 0 && is_tuple) store_state(&g, state, call->results[0], is_long_state);
}

const Kernel kernel_rng = {"rng-bit-generator", plan, run};
