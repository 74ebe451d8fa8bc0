/*
** Evaluates rng-bit-generator, with the same bits as XLA:CPU, and rng and rng-get-and-update-state by the
** same generator.
**
** Both generators are functions of a key and a counter (Salmon et al., "Parallel random numbers: as
** easy as 1, 2, 3", SC 2011): ThreeFry2x32 with 20 rounds makes 2 words of a 64-bit counter,
** Philox4x32 with 10 rounds makes 4 words of a 128-bit counter. Words are 32 bits, the low one of
** a wider number first.
*/
#include "value/rng.h"

#include <math.h>
#include <string.h>

#include "reference/eval.h"

/* --- ThreeFry -------------------------------------------------------------------------------- */

static uint32_t rotate_left(uint32_t x, int distance) {
  return x << distance | x >> (32 - distance);
}

static void threefry(uint64_t key, uint64_t counter, uint32_t out[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  const uint32_t keys[3] = {k0, k1, UINT32_C(0x1BD11BDA) ^ k0 ^ k1};
  uint32_t x0 = (uint32_t)counter + k0, x1 = (uint32_t)(counter >> 32) + k1;
  for (uint32_t group = 0; group < 5; group++) {
    for (int i = 0; i < 4; i++) {
      x0 += x1;
      x1 = rotate_left(x1, rotations[group % 2][i]) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  out[0] = x0;
  out[1] = x1;
}

/* --- Philox ---------------------------------------------------------------------------------- */

typedef struct Counter {
  uint64_t low, high;
} Counter;

static Counter counter_add(Counter counter, uint64_t n) {
  uint64_t low = counter.low + n;
  return (Counter){low, counter.high + (low < counter.low)};
}

static void philox(uint64_t key, Counter counter, uint32_t x[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  x[0] = (uint32_t)counter.low;
  x[1] = (uint32_t)(counter.low >> 32);
  x[2] = (uint32_t)counter.high;
  x[3] = (uint32_t)(counter.high >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t a = UINT64_C(0xD2511F53) * x[0], b = UINT64_C(0xCD9E8D57) * x[2];
    x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k0;
    x[1] = (uint32_t)b;
    x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k1;
    x[3] = (uint32_t)a;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
}

/* A stream of the words of successive blocks. */
typedef struct Words {
  uint64_t key;
  Counter counter;
  uint32_t block[4];
  int used; /* words of the block; 4 at first */
} Words;

static uint32_t next_word(Words *words) {
  if (words->used == 4) {
    philox(words->key, words->counter, words->block);
    words->counter = counter_add(words->counter, 1);
    words->used = 0;
  }
  return words->block[words->used++];
}

static uint64_t next_bits(Words *words, bool is_64_bit) {
  uint64_t low = next_word(words);
  return is_64_bit ? low | (uint64_t)next_word(words) << 32 : low;
}

/* --- rng-bit-generator ----------------------------------------------------------------------- */

/* Stores bits: types narrower than a word take its low bits; floats take the bits unchanged. */
static void store_bits(const Literal *result, int64_t index, uint64_t bits) {
  PrimitiveType type = result->shape->type;
  if (type_is_floating(type)) {
    size_t bytes = (size_t)type_bytes(type);
    memcpy((char *)result->data + (size_t)index * bytes, &bits, bytes); /* little-endian */
  } else {
    scalar_store(type, result->data, index, (Scalar){.u = bits});
  }
}

static uint64_t philox_bits(uint64_t key, Counter counter, const Literal *result) {
  Words words = {.key = key, .counter = counter, .used = 4};
  int64_t count = shape_elements(result->shape);
  bool is_64_bit = type_bits(result->shape->type) == 64;
  for (int64_t i = 0; i < count; i++) store_bits(result, i, next_bits(&words, is_64_bit));
  return words.counter.low;
}

/* Writes the two words of counter + i to elements 2h and 2h + 1 along the halved dimension. i is the position
** [outer, h, inner] in the shape of half the length. An odd length has no last word. */
static uint64_t threefry_halves(uint64_t key, uint64_t counter, const Literal *result) {
  RngSplit split = rng_split(result->shape);
  for (int64_t o = 0; o < split.outer; o++) {
    for (int64_t at = 0; at < split.size; at += 2) {
      for (int64_t i = 0; i < split.inner; i++) {
        uint32_t words[2];
        threefry(key, counter++, words);
        int64_t to = (o * split.size + at) * split.inner + i;
        store_bits(result, to, words[0]);
        if (at + 1 < split.size) store_bits(result, to + split.inner, words[1]);
      }
    }
  }
  return counter;
}

static uint64_t threefry_bits(uint64_t key, uint64_t counter, const Literal *result) {
  if (type_bits(result->shape->type) < 64) return threefry_halves(key, counter, result);
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    uint32_t words[2];
    threefry(key, counter++, words);
    store_bits(result, i, words[0] | (uint64_t)words[1] << 32);
  }
  return counter;
}

/* The state is u64[2], key and counter, or for Philox also u64[3], with a counter of two numbers;
** Philox takes the key of u64[2] as the counter's high half too. The result is (state, bits), or
** the bits alone. */
bool eval_rng_bit_generator(const Instruction *instruction, Literal *const *operands,
                            Literal *result, EvalContext *context) {
  const uint64_t *state = operands[0]->data;
  bool is_tuple = shape_is_tuple(result->shape);
  const Literal *bits = is_tuple ? result->elements[1] : result;
  bool is_long_state = operands[0]->shape->dims[0] > 2;
  uint64_t next[3] = {state[0], 0, is_long_state ? state[2] : 0};
  if (instruction->a->rng_algorithm == RNG_THREE_FRY) {
    next[1] = threefry_bits(state[0], state[1], bits);
  } else {
    next[1] = philox_bits(state[0], (Counter){state[1], is_long_state ? state[2] : state[0]}, bits);
    next[2] += next[1] < state[1];
  }
  if (is_tuple) memcpy(result->elements[0]->data, next, sizeof(uint64_t) * (is_long_state ? 3 : 2));
  return true;
}

/* --- rng and rng-get-and-update-state -------------------------------------------------------- */

static Counter take_state(EvalContext *context, uint64_t delta) {
  Counter old = {context->rng_state[0], context->rng_state[1]};
  Counter now = counter_add(old, delta);
  context->rng_state[0] = now.low;
  context->rng_state[1] = now.high;
  return old;
}

bool eval_rng_state(const Instruction *instruction, Literal *const *operands, Literal *result,
                    EvalContext *context) {
  Counter state = take_state(context, (uint64_t)instruction->a->delta);
  uint64_t *out = result->data;
  out[0] = state.low;
  out[1] = state.high;
  return true;
}

/* Returns a number in [0, 1), with as many random bits as the type's significand has after the leading one. Types
** narrower than f32 are computed as f32, as in XLA. */
static double next_unit(Words *words, bool is_64_bit) {
  int bits = is_64_bit ? 52 : 23;
  return ldexp((double)(next_bits(words, is_64_bit) >> ((is_64_bit ? 64 : 32) - bits)), -bits);
}

static void uniform_floats(Words *words, double low, double high, Literal *result) {
  PrimitiveType type = result->shape->type;
  int64_t count = shape_elements(result->shape);
  for (int64_t i = 0; i < count; i++) {
    double value = next_unit(words, type == F64) * (high - low) + low;
    scalar_store(type, result->data, i, (Scalar){.f = value});
  }
}

/* Draws low + bits modulo the range; a range of 0 means all values. */
static void uniform_integers(Words *words, uint64_t low, uint64_t high, Literal *result) {
  PrimitiveType type = result->shape->type;
  int64_t count = shape_elements(result->shape);
  bool is_64_bit = type_bits(type) == 64;
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = next_bits(words, is_64_bit), range = high - low;
    scalar_store(type, result->data, i, (Scalar){.u = low + (range ? bits % range : bits)});
  }
}

/* Makes two normal numbers from two uniform ones (Box and Muller). */
static void normal_pair(Words *words, bool is_64_bit, double out[2]) {
  double x = next_unit(words, is_64_bit), y = next_unit(words, is_64_bit);
  double radius = sqrt(-2 * log(x > 1e-7 ? x : 1e-7)); /* keeps the logarithm finite */
  double angle = 2 * 3.14159265358979323846 * y;
  out[0] = sin(angle) * radius;
  out[1] = cos(angle) * radius;
}

static void normals(Words *words, double mean, double deviation, Literal *result) {
  PrimitiveType type = result->shape->type;
  int64_t count = shape_elements(result->shape);
  double pair[2];
  for (int64_t i = 0; i < count; i++) {
    if (i % 2 == 0) normal_pair(words, type == F64, pair);
    scalar_store(type, result->data, i, (Scalar){.f = mean + deviation * pair[i % 2]});
  }
}

bool eval_rng(const Instruction *instruction, Literal *const *operands, Literal *result,
              EvalContext *context) {
  PrimitiveType type = result->shape->type;
  int64_t count = shape_elements(result->shape);
  uint64_t units = (uint64_t)(count + count % 2) * (type_bits(type) == 64 ? 2 : 1);
  Words words = {.counter = take_state(context, units), .used = 4};
  Scalar a = scalar_load(type, operands[0]->data, 0), b = scalar_load(type, operands[1]->data, 0);
  if (instruction->a->distribution == RNG_NORMAL) {
    normals(&words, a.f, b.f, result);
  } else if (type_is_floating(type)) {
    uniform_floats(&words, a.f, b.f, result);
  } else {
    uniform_integers(&words, a.u, b.u, result);
  }
  return true;
}
