/* Dequantises blocks of numbers: see steps.h. */
#include "kernels/contraction/inner/steps.h"

#include <stddef.h>

#include "kernels/contraction/inner/vectors.h"

/* ---- Steps ---- */

#define TIMES(x, y)      wasm_f32x4_mul(x, y)
#define PLUS(x, y)       wasm_f32x4_add(x, y)
#define MINUS(x, y)      wasm_f32x4_sub(x, y)
#define MINUS_FROM(x, y) wasm_f32x4_sub(y, x)

static void apply_last(StepKind kind, float *to, int64_t count, const float *operand, int next) {
  for (int64_t i = 0; i < count; i++, operand += next) {
    float x = to[i], y = *operand;
    to[i] = kind == STEP_MULTIPLY   ? x * y
            : kind == STEP_ADD      ? x + y
            : kind == STEP_SUBTRACT ? x - y
                                    : y - x;
  }
}

/* An operand for each number, or for each `run` of them. */
#define STEP_LOOPS(name, STEP)                                                            \
  static int64_t name##_each(float *to, int64_t count, const float *operands) {           \
    int64_t i = 0;                                                                        \
    for (; i + 8 <= count; i += 8) {                                                      \
      v128_t x = STEP(wasm_v128_load(to + i), wasm_v128_load(operands + i));              \
      v128_t y = STEP(wasm_v128_load(to + i + 4), wasm_v128_load(operands + i + 4));      \
      wasm_v128_store(to + i, x);                                                         \
      wasm_v128_store(to + i + 4, y);                                                     \
    }                                                                                     \
    return i;                                                                             \
  }                                                                                       \
  static int64_t name##_same(float *to, int64_t count, float operand) {                   \
    v128_t y = wasm_f32x4_splat(operand);                                                 \
    int64_t i = 0;                                                                        \
    for (; i + 16 <= count; i += 16) {                                                    \
      wasm_v128_store(to + i, STEP(wasm_v128_load(to + i), y));                           \
      wasm_v128_store(to + i + 4, STEP(wasm_v128_load(to + i + 4), y));                   \
      wasm_v128_store(to + i + 8, STEP(wasm_v128_load(to + i + 8), y));                   \
      wasm_v128_store(to + i + 12, STEP(wasm_v128_load(to + i + 12), y));                 \
    }                                                                                     \
    for (; i + 4 <= count; i += 4) {                                                      \
      wasm_v128_store(to + i, STEP(wasm_v128_load(to + i), y));                           \
    }                                                                                     \
    return i;                                                                             \
  }                                                                                       \
  static void name(StepKind kind, float *to, int64_t count, int64_t run, int64_t skipped, \
                   const float *operands) {                                               \
    if (run == 1) {                                                                       \
      int64_t done = name##_each(to, count, operands);                                    \
      apply_last(kind, to + done, count - done, operands + done, 1);                      \
      return;                                                                             \
    }                                                                                     \
    for (run -= skipped; count > 0;                                                       \
         operands++, to += run, count -= run, run += skipped, skipped = 0) {              \
      int64_t some = run < count ? run : count, done = name##_same(to, some, *operands);  \
      if (done < some) apply_last(kind, to + done, some - done, operands, 0);             \
    }                                                                                     \
  }
STEP_LOOPS(multiply, TIMES)
STEP_LOOPS(add, PLUS)
STEP_LOOPS(subtract, MINUS)
STEP_LOOPS(subtract_from, MINUS_FROM)

void step_apply(StepKind kind, float *numbers, int64_t count, int64_t run, int64_t skipped,
                const float *operands) {
  switch (kind) {
  case STEP_MULTIPLY: multiply(kind, numbers, count, run, skipped, operands); break;
  case STEP_ADD: add(kind, numbers, count, run, skipped, operands); break;
  case STEP_SUBTRACT: subtract(kind, numbers, count, run, skipped, operands); break;
  case STEP_SUBTRACT_FROM: subtract_from(kind, numbers, count, run, skipped, operands); break;
  case STEP_ROUND: break;
  }
}

/* Adds half of the last kept bit's unit, or just less if that bit is 0, and truncates. */
static v128_t rounded_to_bf16(v128_t x) {
  v128_t odd = wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_const_splat(1));
  v128_t sum = wasm_i32x4_add(x, wasm_i32x4_add(odd, wasm_i32x4_const_splat(0x7fff)));
  v128_t is_nan = wasm_f32x4_ne(x, x);
  sum = wasm_v128_or(sum, wasm_v128_and(is_nan, wasm_i32x4_const_splat(0x7fc00000)));
  return wasm_v128_and(sum, wasm_i32x4_const_splat((int)0xffff0000));
}

/* Adds a power of two whose last unit is that of f16 at x, or its smallest one, and subtracts it. What reaches 2^16 is infinite
** once it is multiplied by 2^112. */
static v128_t rounded_to_f16(v128_t x) {
  const v128_t least = wasm_i32x4_const_splat((127 - 14) << 23),
               most = wasm_i32x4_const_splat((127 + 16) << 23);
  v128_t sign = wasm_v128_and(x, wasm_i32x4_const_splat(INT32_MIN));
  v128_t exponent = wasm_v128_and(x, wasm_i32x4_const_splat(0x7f800000));
  exponent = wasm_i32x4_min(wasm_i32x4_max(exponent, least), most);
  v128_t power = wasm_i32x4_add(exponent, wasm_i32x4_const_splat(13 << 23 | 1 << 22));
  v128_t kept = wasm_f32x4_sub(wasm_f32x4_add(x, power), power);
  kept = wasm_f32x4_mul(kept, wasm_f32x4_const_splat(0x1p112f));
  return wasm_v128_or(wasm_f32x4_mul(kept, wasm_f32x4_const_splat(0x1p-112f)), sign);
}

#define ROUND_LOOP(name, ROUND)                                                     \
  static void name(float *numbers, int64_t count) {                                 \
    int64_t i = 0;                                                                  \
    for (; i + 4 <= count; i += 4) {                                                \
      wasm_v128_store(numbers + i, ROUND(wasm_v128_load(numbers + i)));             \
    }                                                                               \
    for (; i < count; i++) {                                                        \
      numbers[i] = wasm_f32x4_extract_lane(ROUND(wasm_f32x4_splat(numbers[i])), 0); \
    }                                                                               \
  }
ROUND_LOOP(round_to_bf16, rounded_to_bf16)
ROUND_LOOP(round_to_f16, rounded_to_f16)

void step_round(PrimitiveType type, float *numbers, int64_t count) {
  (type == F16 ? round_to_f16 : round_to_bf16)(numbers, count);
}

bool step_scale(const float *numbers, int64_t count, float power, float *to) {
  v128_t by = wasm_f32x4_splat(power), back = wasm_f32x4_splat(1 / power);
  v128_t differs = wasm_i32x4_const_splat(0);
  bool exact = true;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    v128_t x = wasm_v128_load(numbers + i), y = wasm_f32x4_mul(x, by);
    v128_t is_number = wasm_f32x4_eq(x, x);
    differs =
        wasm_v128_or(differs, wasm_v128_and(is_number, wasm_f32x4_ne(x, wasm_f32x4_mul(y, back))));
    wasm_v128_store(to + i, y);
  }
  for (; i < count; i++) {
    float x = numbers[i], y = x * power;
    exact &= y * (1 / power) == x || x != x;
    to[i] = y;
  }
  return exact && !wasm_v128_any_true(differs);
}

/* ---- Tables ---- */

void step_lookup(const uint8_t *bytes, int64_t count, int mask, const float *table, float *out) {
  const Planes planes = planes_of(table);
  const v128_t bits = wasm_i8x16_splat((int8_t)mask), high = wasm_i8x16_const_splat((int8_t)0xf0);
  for (; count >= 16; count -= 16, bytes += 16, out += 16) {
    v128_t index = wasm_v128_and(wasm_v128_load(bytes), bits);
    if (wasm_v128_any_true(wasm_v128_and(index, high))) {
      for (int i = 0; i < 16; i++) out[i] = table[bytes[i] & mask];
    } else {
      v128_t found[4];
      look_up_16(&planes, index, found);
      for (int i = 0; i < 4; i++) wasm_v128_store(out + (ptrdiff_t)4 * i, found[i]);
    }
  }
  for (int64_t i = 0; i < count; i++) out[i] = table[bytes[i] & mask];
}
