/* Converts operands' elements to the types of an arithmetic, and sums to the type of a result. */
#include "kernels/contraction/elements.h"

#include <string.h>
#include <wasm_simd128.h>

#include "kernels/contraction/inner/widen.h"
#include "value/scalar.h"

/* ---- Operands ---- */

static void load_any(const Loader *loader, const uint8_t *elements, int64_t count, void *out) {
  /* Within a kind, elements are not rounded before the product. */
  bool converts = type_kind(loader->from) != type_kind(loader->result);
  for (int64_t i = 0; i < count; i++) {
    Scalar value = scalar_load(loader->from, elements, i);
    if (converts) value = scalar_convert(loader->from, loader->result, value);
    scalar_store(loader->element, out, i, value);
  }
}

/* Widens by the loop of the type (widen.h). */
static void load_widened(const Loader *loader, const uint8_t *elements, int64_t count, void *out) {
  widen_loop(loader->from)(elements, count, out);
}

static void load_computed(const Loader *loader, const uint8_t *elements, int64_t count, void *out) {
  const Computed *computed = loader->computed;
  computed->run(computed, computed_number(computed, elements), count, out);
}

static void load_s8_as_s16(const Loader *loader, const uint8_t *elements, int64_t count,
                           void *out) {
  const int8_t *from = (const int8_t *)elements;
  int16_t *to = out;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) wasm_v128_store(to + i, wasm_i16x8_load8x8(from + i));
  for (; i < count; i++) to[i] = (int16_t)(int)from[i];
}

static void load_u8_as_s16(const Loader *loader, const uint8_t *elements, int64_t count,
                           void *out) {
  int16_t *to = out;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) wasm_v128_store(to + i, wasm_u16x8_load8x8(elements + i));
  for (; i < count; i++) to[i] = elements[i];
}

static void load_s8_as_s32(const Loader *loader, const uint8_t *elements, int64_t count,
                           void *out) {
  const int8_t *from = (const int8_t *)elements;
  int32_t *to = out;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    v128_t halves = wasm_i16x8_load8x8(from + i);
    wasm_v128_store(to + i, wasm_i32x4_extend_low_i16x8(halves));
    wasm_v128_store(to + i + 4, wasm_i32x4_extend_high_i16x8(halves));
  }
  for (; i < count; i++) {
    to[i] = from[i]; /* NOLINT(bugprone-signed-char-misuse): the sign is wanted */
  }
}

static void load_u8_as_s32(const Loader *loader, const uint8_t *elements, int64_t count,
                           void *out) {
  int32_t *to = out;
  for (int64_t i = 0; i < count; i++) to[i] = elements[i];
}

static bool is_same_bits(PrimitiveType a, PrimitiveType b) {
  return a == b || (type_is_integral(a) && type_is_integral(b) && type_bits(a) == type_bits(b));
}

/* Whether the evaluator's conversion to the result's type keeps each number. Within a kind it converts nothing. */
static bool is_exact(PrimitiveType from, PrimitiveType result) {
  return type_kind(from) == type_kind(result) || type_holds(result, from);
}

Loader loader_for(PrimitiveType from, const Arithmetic *arithmetic, PrimitiveType result) {
  PrimitiveType element = arithmetic->element;
  bool integral = type_is_integral(from) && type_is_integral(result);
  Loader loader = {.from = from, .element = element, .result = result, .run = load_any};
  if (is_same_bits(from, element) && (integral || !type_is_integral(from))) {
    loader.run = NULL;
  } else if (element == F32 && widen_loop(from) && is_exact(from, result)) {
    loader.run = load_widened;
    loader.widens = true;
  } else if (element == S16 && integral && type_bytes(from) == 1) {
    loader.run = type_kind(from) == KIND_SIGNED ? load_s8_as_s16 : load_u8_as_s16;
  } else if (element == S32 && integral && type_bits(from) == 8) {
    loader.run = type_kind(from) == KIND_SIGNED ? load_s8_as_s32 : load_u8_as_s32;
  }
  return loader;
}

Loader operand_loader(const Contraction *c, const Arithmetic *arithmetic, Operand operand) {
  Loader loader = loader_for(c->array[operand].type, arithmetic, c->array[OUT].type);
  loader.computed = c->array[operand].computed;
  if (loader.computed) {
    loader.run = load_computed;
    loader.widens = false;
  }
  return loader;
}

/* ---- Strides ---- */

#define FOR_WIDTHS(MOVE)                \
  switch (bytes) {                      \
  case 1: MOVE(uint8_t); break;         \
  case 2: MOVE(uint16_t); break;        \
  case 4: MOVE(uint32_t); break;        \
  case 8: MOVE(uint64_t); break;        \
  default: MOVE(struct Bytes16); break; \
  }

struct Bytes16 {
  uint64_t words[2];
};

static void gather_elements(const uint8_t *elements, int64_t stride, int64_t count, size_t bytes,
                            uint8_t *out) {
#define GATHER(type) \
  for (int64_t i = 0; i < count; i++) ((type *)out)[i] = ((const type *)elements)[i * stride]
  FOR_WIDTHS(GATHER)
}

void scatter_elements(const uint8_t *elements, int64_t count, size_t bytes, uint8_t *out,
                      int64_t stride) {
#define SCATTER(type) \
  for (int64_t i = 0; i < count; i++) ((type *)out)[i * stride] = ((const type *)elements)[i]
  FOR_WIDTHS(SCATTER)
}

void load_elements(const Loader *loader, const uint8_t *elements, int64_t stride, int64_t count,
                   uint8_t *out) {
  /* Threshold GATHERED. Test: "products: of [m,k] and [k,n] by sums" in core/thresholds.test.mjs. */
  enum { GATHERED = 64 };
  _Alignas(16) uint8_t gathered[GATHERED * 16];
  size_t from_bytes = (size_t)type_bytes(loader->from);
  size_t to_bytes = (size_t)type_bytes(loader->element);
  if (stride == 1 && loader->run) {
    loader->run(loader, elements, count, out);
  } else if (stride == 1) {
    memcpy(out, elements, (size_t)count * to_bytes);
  } else if (!loader->run) {
    gather_elements(elements, stride, count, to_bytes, out);
  } else if (loader->computed) {
    for (int64_t i = 0; i < count; i++) {
      loader->run(loader, elements + i * stride, 1, out + (size_t)i * to_bytes);
    }
  } else {
    for (int64_t i = 0; i < count; i += GATHERED) {
      int64_t some = count - i < GATHERED ? count - i : GATHERED;
      gather_elements(elements + (size_t)(i * stride) * from_bytes, stride, some, from_bytes,
                      gathered);
      loader->run(loader, gathered, some, out + (size_t)i * to_bytes);
    }
  }
}

/* ---- Results ---- */

bool sums_are_results(const Arithmetic *arithmetic, PrimitiveType result) {
  return is_same_bits(arithmetic->sum, result);
}

/* Rounds to nearest even: adds half of the last kept bit's unit, or just less if that bit is 0, and truncates. */
static void store_bf16(const uint32_t *sums, int64_t count, uint16_t *out) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits = sums[i], rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    out[i] = (uint16_t)(is_nan ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded);
  }
}

/* A narrow float: the bits of its mantissa, its bias, its sign bit, and the magnitudes of too large numbers and of NaN. */
typedef struct Narrowed {
  int mantissa, bias, sign, max, nan;
} Narrowed;

/* Narrows f32. Normal numbers go as in store_bf16, with a smaller exponent. Adding a power of two rounds subnormal ones: its last
** bit is at the place of theirs. */
static inline v128_t narrowed(v128_t bits, Narrowed to) {
  int dropped = 23 - to.mantissa, rebase = (127 - to.bias) << 23;
  v128_t sign = wasm_u32x4_shr(wasm_v128_and(bits, wasm_i32x4_const_splat(INT32_MIN)),
                               (uint32_t)(31 - to.sign));
  v128_t magnitude = wasm_v128_and(bits, wasm_i32x4_const_splat(INT32_MAX));
  v128_t even = wasm_v128_and(wasm_u32x4_shr(magnitude, (uint32_t)dropped), wasm_i32x4_splat(1));
  v128_t rebased = wasm_i32x4_sub(magnitude, wasm_i32x4_splat(rebase - ((1 << (dropped - 1)) - 1)));
  v128_t normal = wasm_u32x4_shr(wasm_i32x4_add(rebased, even), (uint32_t)dropped);
  v128_t power = wasm_i32x4_splat((127 + 24 - to.bias - to.mantissa) << 23);
  v128_t tiny = wasm_i32x4_sub(wasm_f32x4_add(magnitude, power), power);
  v128_t is_tiny = wasm_i32x4_lt(magnitude, wasm_i32x4_splat(rebase + (1 << 23)));
  v128_t value = wasm_v128_bitselect(tiny, normal, is_tiny);
  value = wasm_i32x4_min(value, wasm_i32x4_splat(to.max));
  v128_t is_nan = wasm_i32x4_gt(magnitude, wasm_i32x4_const_splat(0x7f800000));
  value = wasm_v128_bitselect(wasm_i32x4_splat(to.nan), value, is_nan);
  return wasm_v128_or(value, sign);
}

/* STORE writes the numbers of x and y, of eight. */
#define STORE_NARROWED(name, type, STORE, ...)                       \
  static void name(const uint32_t *sums, int64_t count, type *out) { \
    const Narrowed to = __VA_ARGS__;                                 \
    int64_t i = 0;                                                   \
    for (; i + 8 <= count; i += 8) {                                 \
      v128_t x = narrowed(wasm_v128_load(sums + i), to);             \
      v128_t y = narrowed(wasm_v128_load(sums + i + 4), to);         \
      STORE(out + i, wasm_u16x8_narrow_i32x4(x, y));                 \
    }                                                                \
    for (; i < count; i++) {                                         \
      v128_t x = narrowed(wasm_i32x4_splat((int)sums[i]), to);       \
      out[i] = (type)wasm_i32x4_extract_lane(x, 0);                  \
    }                                                                \
  }
#define STORE_BYTES(to, x) wasm_v128_store64_lane(to, wasm_u8x16_narrow_i16x8(x, x), 0)
STORE_NARROWED(store_f16, uint16_t, wasm_v128_store, {10, 15, 15, 0x7c00, 0x7e00})
STORE_NARROWED(store_f8e5m2, uint8_t, STORE_BYTES, {2, 15, 7, 0x7c, 0x7e})
STORE_NARROWED(store_f8e4m3fn, uint8_t, STORE_BYTES, {3, 7, 7, 0x7f, 0x7f})

static void store_any(PrimitiveType sum, const void *sums, int64_t count, PrimitiveType result,
                      void *out) {
  for (int64_t i = 0; i < count; i++) scalar_store(result, out, i, scalar_load(sum, sums, i));
}

void store_sums(const Arithmetic *arithmetic, const void *sums, int64_t count, PrimitiveType result,
                void *out) {
  if (sums_are_results(arithmetic, result)) {
    memcpy(out, sums, (size_t)(count * type_bytes(result)));
  } else if (arithmetic->sum == F32 && result == BF16) {
    store_bf16(sums, count, out);
  } else if (arithmetic->sum == F32 && result == F16) {
    store_f16(sums, count, out);
  } else if (arithmetic->sum == F32 && result == F8E5M2) {
    store_f8e5m2(sums, count, out);
  } else if (arithmetic->sum == F32 && result == F8E4M3FN) {
    store_f8e4m3fn(sums, count, out);
  } else {
    store_any(arithmetic->sum, sums, count, result, out);
  }
}
