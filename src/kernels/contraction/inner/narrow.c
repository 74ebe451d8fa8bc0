/* Multiplies vectors by matrices of narrow numbers: see narrow.h. */
#include "kernels/contraction/inner/narrow.h"

#include <string.h>

#include "kernels/contraction/inner/vectors.h"

/* Threshold REST_ROWS: no path: room for `MAX_VECTORS` vectors. */
/* Threshold STEP: "sizes on both sides of each limit" in core/quantised.test.mjs. */
/* Threshold STEP: "sizes on both sides of each limit" in core/quantised.test.mjs. */

typedef uint8_t Byte;

/* ---- Four numbers of 16 bytes, in f32 and divided by the type's factor ---- */

/* q is a constant, once loops are unrolled. */
#define UNROLLED           _Pragma("clang loop unroll(full)")
#define QUARTER_S8(x, q)   wasm_f32x4_convert_i32x4(BYTES_HIGH(x, 4 * (q)))
#define QUARTER_U8(x, q)   wasm_f32x4_convert_i32x4(BYTES_LOW(x, 4 * (q)))
#define QUARTER_BF16(x, q) ((q) ? upper_high(x) : upper_low(x))
#define QUARTER_F16(x, q)  half_to_tiny(QUARTER_BF16(x, q))

/* Numbers that are looked up: all of them at once. */
typedef struct Found {
  v128_t part[4];
} Found;
#define QUARTER_FOUND(x, q) ((x).part[q])

/* The bytes that a load takes. */
enum { BYTES_load = 16, BYTES_look_up = 16, BYTES_load_packed = 8 };
#define LOADED(Number, load, ...) BYTES_##load

/* What loads need beside the bytes. */
typedef struct Context {
  Planes planes;
  v128_t sign; /* of packed numbers: 8, or 0 if they are unsigned */
} Context;

static inline Found look_up(const void *bytes, const Context *context) {
  Found found;
  v128_t x = wasm_v128_and(wasm_v128_load(bytes), wasm_i8x16_const_splat(15));
  look_up_16(&context->planes, x, found.part);
  return found;
}
static inline v128_t load(const void *bytes, const Context *context) {
  return wasm_v128_load(bytes);
}

/* 16 packed numbers of 4 bits, as bytes. */
static inline v128_t load_packed(const void *bytes, const Context *context) {
  v128_t x = wasm_u16x8_load8x8(bytes);
  x = wasm_v128_and(wasm_v128_or(x, wasm_i16x8_shl(x, 4)), wasm_i8x16_const_splat(15));
  return wasm_i8x16_sub(wasm_v128_xor(x, context->sign), context->sign);
}

/* scale, zero: expressions, which need not be evaluated. */
#define PLAIN(x, scale, zero)  (x)
#define SCALED(x, scale, zero) wasm_f32x4_mul(x, scale)
#define MOVED(x, scale, zero)  wasm_f32x4_mul(wasm_f32x4_sub(x, zero), scale)
#define MADD(sum, x, y)        wasm_f32x4_add(sum, wasm_f32x4_mul(x, y))

static inline Context context_of(const NarrowBlock *b) {
  static const float zeros[16];
  return (Context){planes_of(b->table ? b->table : zeros), wasm_i8x16_splat((int8_t)b->sign)};
}

/* ---- What is left of 16 bytes ---- */

enum { REST_ROWS = 20 };

/* Multiplies the last columns: copies of them, with zeros after them. A step of the loop reads `bytes`. */
static void rest_by_depth(const NarrowBlock *b, NarrowLoop *loop, int step, int bytes, int first) {
  Byte rest[NARROW_DEPTH][16];
  NarrowBlock part = *b;
  int left = b->columns - first;
  if (left == 0) return;
  part.columns = step;
  part.matrix = rest[0];
  part.matrix_stride = 16;
  part.scales += first;
  part.zeros += first;
  part.sums += 4 * (ptrdiff_t)first;
  for (int k = 0; k < b->depth; k += NARROW_DEPTH, part.vectors += 4 * NARROW_DEPTH) {
    part.depth = b->depth - k < NARROW_DEPTH ? b->depth - k : NARROW_DEPTH;
    memset(rest, 0, sizeof rest);
    for (int i = 0; i < part.depth; i++) {
      memcpy(rest[i], b->matrix + (k + i) * b->matrix_stride + first * bytes / step,
             (size_t)((left * bytes + step - 1) / step));
    }
    loop(&part);
  }
}

/* The same for the last numbers of the depth. */
static void rest_by_columns(const NarrowBlock *b, NarrowLoop *loop, int step, int bytes,
                            int first) {
  Byte rest[16], vectors[REST_ROWS][64];
  NarrowBlock part = *b;
  int left = b->depth - first;
  if (left == 0) return;
  memset(rest, 0, sizeof rest);
  memset(vectors, 0, sizeof vectors);
  for (int i = 0; i < b->rows; i++) {
    memcpy(vectors[i], b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)first, 4 * (size_t)left);
  }
  part.depth = step;
  part.columns = 1;
  part.vectors = vectors[0];
  part.vector_stride = sizeof vectors[0];
  part.matrix = rest;
  part.scales += first / b->scale_block;
  part.zeros += first / b->scale_block;
  for (int j = 0; j < b->columns; j++, part.sums += 4) {
    memcpy(rest, b->matrix + j * b->matrix_stride + first * bytes / step,
           (size_t)((left * bytes + step - 1) / step));
    loop(&part);
    part.scales = (const float *)((const Byte *)part.scales + b->scale_stride);
    part.zeros = (const float *)((const Byte *)part.zeros + b->scale_stride);
  }
}

/* ---- Rows of the matrix ---- */

/* Numbers that take work to load are loaded before the first quarter. */
#define HOLDS(load, DEPTH) (BYTES_##load == 8 || (DEPTH) == 1)

/* Multiplies ROWS vectors by DEPTH rows of the matrix, 16 bytes of each at a time, as long as there are as many. Goes by
** quarters, so that few registers are live. */
#define ROWS_BY_DEPTH(name, QUARTERS, Number, load, quarter, FORM, ROWS, DEPTH)               \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix, Byte *to) { \
    enum { STEP = 4 * (QUARTERS) };                                                           \
    const Context context = context_of(b);                                                    \
    v128_t x[ROWS][DEPTH];                                                                    \
    const float *scale = b->scales, *zero = b->zeros;                                         \
    const ptrdiff_t stride = b->matrix_stride, apart = b->sums_stride;                        \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                               \
      UNROLLED for (int k = 0; k < (DEPTH); k++) {                                            \
        x[i][k] = wasm_v128_load32_splat(vectors + i * b->vector_stride + 4 * k);             \
      }                                                                                       \
    }                                                                                         \
    for (int j = b->columns; j >= STEP;                                                       \
         j -= STEP, matrix += BYTES_##load, scale += STEP, zero += STEP, to += 4 * STEP) {    \
      Number held[DEPTH];                                                                     \
      UNROLLED for (int k = 0; k < (HOLDS(load, DEPTH) ? (DEPTH) : 0); k++) {                 \
        held[k] = load(matrix + k * stride, &context);                                        \
      }                                                                                       \
      UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                         \
        v128_t sum[ROWS];                                                                     \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                           \
          sum[i] = wasm_v128_load(to + i * apart + 16 * q);                                   \
        }                                                                                     \
        UNROLLED for (int k = 0; k < (DEPTH); k++) {                                          \
          Number number = HOLDS(load, DEPTH) ? held[k] : load(matrix + k * stride, &context); \
          v128_t y = FORM(quarter(number, q), wasm_v128_load(scale + (ptrdiff_t)4 * q),       \
                          wasm_v128_load(zero + (ptrdiff_t)4 * q));                           \
          UNROLLED for (int i = 0; i < (ROWS); i++) sum[i] = MADD(sum[i], x[i][k], y);        \
        }                                                                                     \
        UNROLLED for (int i = 0; i < (ROWS); i++) {                                           \
          wasm_v128_store(to + i * apart + 16 * q, sum[i]);                                   \
        }                                                                                     \
      }                                                                                       \
    }                                                                                         \
  }

#define ROWS_CASE(name, ROWS, DEPTH)                                                         \
  for (; k + (DEPTH) <= b->depth; k += (DEPTH)) {                                            \
    name##_##ROWS##x##DEPTH(b, b->vectors + i * b->vector_stride + 4 * (ptrdiff_t)k,         \
                            b->matrix + k * b->matrix_stride, b->sums + i * b->sums_stride); \
  }

/* DEPTH: rows that one vector is multiplied by at a time. */
#define BY_DEPTH(name, QUARTERS, DEPTH, ...)                       \
  ROWS_BY_DEPTH(name##_1x##DEPTH, QUARTERS, __VA_ARGS__, 1, DEPTH) \
  BY_DEPTH_1(name, QUARTERS, DEPTH, __VA_ARGS__)
#define BY_DEPTH_1(name, QUARTERS, DEPTH, ...)                                                   \
  ROWS_BY_DEPTH(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1)                                         \
  static void name(const NarrowBlock *b) {                                                       \
    for (int i = 0; i < b->rows; i += 4) {                                                       \
      int k = 0;                                                                                 \
      if (b->rows > 1) {                                                                         \
        ROWS_CASE(name, 4, 1)                                                                    \
      } else {                                                                                   \
        ROWS_CASE(name, 1, DEPTH)                                                                \
        if ((DEPTH) > 1) ROWS_CASE(name, 1, 1)                                                   \
      }                                                                                          \
    }                                                                                            \
    rest_by_depth(b, name, 4 * (QUARTERS), LOADED(__VA_ARGS__), b->columns & -(4 * (QUARTERS))); \
  }

/* ---- Lines of the matrix ---- */

/* Multiplies ROWS vectors by LINES lines of the matrix, 16 bytes of each at a time, with SUMS sums for each: as many as
** stay in registers. */
#define LINES_BY_COLUMNS(name, QUARTERS, Number, load, quarter, FORM, ROWS, LINES, SUMS)    \
  static void name(const NarrowBlock *b, const Byte *vectors, const Byte *matrix,           \
                   const Byte *scales, const Byte *zeros, Byte *to) {                       \
    enum { STEP = 4 * (QUARTERS) };                                                         \
    const Context context = context_of(b);                                                  \
    v128_t sum[ROWS][LINES][SUMS];                                                          \
    const ptrdiff_t stride = b->matrix_stride, apart = b->vector_stride;                    \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                             \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        UNROLLED for (int u = 0; u < (SUMS); u++) sum[i][l][u] = wasm_i32x4_const_splat(0); \
      }                                                                                     \
    }                                                                                       \
    for (int left = b->depth; left >= STEP; scales += 4, zeros += 4) {                      \
      int count = b->scale_block < left ? b->scale_block : left;                            \
      v128_t scale[LINES], zero[LINES];                                                     \
      left -= count;                                                                        \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        scale[l] = wasm_v128_load32_splat(scales + l * b->scale_stride);                    \
        zero[l] = wasm_v128_load32_splat(zeros + l * b->scale_stride);                      \
      }                                                                                     \
      for (; count >= STEP; count -= STEP, matrix += BYTES_##load, vectors += 4 * STEP) {   \
        UNROLLED for (int l = 0; l < (LINES); l++) {                                        \
          Number number = load(matrix + l * stride, &context);                              \
          UNROLLED for (int q = 0; q < (QUARTERS); q++) {                                   \
            v128_t y = FORM(quarter(number, q), scale[l], zero[l]);                         \
            UNROLLED for (int i = 0; i < (ROWS); i++) {                                     \
              v128_t x = wasm_v128_load(vectors + i * apart + (ptrdiff_t)16 * q);           \
              sum[i][l][q % (SUMS)] = MADD(sum[i][l][q % (SUMS)], x, y);                    \
            }                                                                               \
          }                                                                                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
    UNROLLED for (int i = 0; i < (ROWS); i++) {                                             \
      UNROLLED for (int l = 0; l < (LINES); l++) {                                          \
        float *out = (float *)(to + i * b->sums_stride) + l;                                \
        v128_t all = sum[i][l][0];                                                          \
        UNROLLED for (int u = 1; u < (SUMS); u++) all = wasm_f32x4_add(all, sum[i][l][u]);  \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 2, 3, 0, 1));                \
        all = wasm_f32x4_add(all, wasm_i32x4_shuffle(all, all, 1, 0, 3, 2));                \
        *out += wasm_f32x4_extract_lane(all, 0);                                            \
      }                                                                                     \
    }                                                                                       \
  }

#define LINES_CASE(name, ROWS, LINES)                                         \
  for (; j + (LINES) <= b->columns; j += (LINES)) {                           \
    name##_##ROWS##x##LINES(b, b->vectors + i * b->vector_stride,             \
                            b->matrix + j * b->matrix_stride,                 \
                            (const Byte *)b->scales + j * b->scale_stride,    \
                            (const Byte *)b->zeros + j * b->scale_stride,     \
                            b->sums + i * b->sums_stride + 4 * (ptrdiff_t)j); \
  }

#define BY_COLUMNS(name, QUARTERS, LINES, ...)                                                   \
  LINES_BY_COLUMNS(name##_1x##LINES, QUARTERS, __VA_ARGS__, 1, LINES, 4 / (LINES))               \
  LINES_BY_COLUMNS(name##_4x1, QUARTERS, __VA_ARGS__, 4, 1, 4 / (QUARTERS))                      \
  static void name(const NarrowBlock *b) {                                                       \
    for (int i = 0; i < b->rows; i += 4) {                                                       \
      int j = 0;                                                                                 \
      if (b->rows > 1) {                                                                         \
        LINES_CASE(name, 4, 1)                                                                   \
      } else {                                                                                   \
        LINES_CASE(name, 1, LINES)                                                               \
        if ((LINES) > 1) LINES_CASE(name, 1, 1)                                                  \
      }                                                                                          \
    }                                                                                            \
    rest_by_columns(b, name, 4 * (QUARTERS), LOADED(__VA_ARGS__), b->depth & -(4 * (QUARTERS))); \
  }

/* ---- Types ---- */

/* Of numbers of two bytes, two lines go at a time. */
#define NARROW_PAIRS(name, ...)                                                    \
  LINES_BY_COLUMNS(by_columns_##name##_1x1, 2, v128_t, load, __VA_ARGS__, 1, 1, 2) \
  ROWS_BY_DEPTH(by_depth_##name##_1x1, 2, v128_t, load, __VA_ARGS__, 1, 1)         \
  BY_DEPTH(by_depth_##name, 2, 8, v128_t, load, __VA_ARGS__)                       \
  BY_COLUMNS(by_columns_##name, 2, 2, v128_t, load, __VA_ARGS__)
#define NARROW_BYTES_BY(name, DEPTH, load, ...)                                    \
  ROWS_BY_DEPTH(by_depth_##name##_1x1, 4, v128_t, load, __VA_ARGS__, 1, 1)         \
  BY_DEPTH(by_depth_##name, 4, DEPTH, v128_t, load, __VA_ARGS__)                   \
  LINES_BY_COLUMNS(by_columns_##name##_1x1, 4, v128_t, load, __VA_ARGS__, 1, 1, 4) \
  BY_COLUMNS(by_columns_##name, 4, 2, v128_t, load, __VA_ARGS__)
#define NARROW_BYTES(name, ...) NARROW_BYTES_BY(name, 8, load, __VA_ARGS__)
NARROW_PAIRS(bf16, QUARTER_BF16, PLAIN)
NARROW_PAIRS(scaled_bf16, QUARTER_BF16, SCALED)
NARROW_PAIRS(f16, QUARTER_F16, SCALED)
NARROW_BYTES(s8, QUARTER_S8, SCALED)
NARROW_BYTES(u8, QUARTER_U8, SCALED)
NARROW_BYTES(moved_s8, QUARTER_S8, MOVED)
NARROW_BYTES(moved_u8, QUARTER_U8, MOVED)
NARROW_BYTES_BY(packed, 8, load_packed, QUARTER_S8, SCALED)
NARROW_BYTES_BY(moved_packed, 4, load_packed, QUARTER_S8, MOVED)
BY_DEPTH(by_depth_byte, 4, 1, Found, look_up, QUARTER_FOUND, SCALED)
BY_COLUMNS(by_columns_byte, 4, 1, Found, look_up, QUARTER_FOUND, SCALED)

/* The last elements go by way of a vector of their own. */
#define PREPARE(name, halves_of)                                      \
  static void name(const uint8_t *from, int64_t count, uint8_t *to) { \
    for (; count > 0; count -= 16, from += 16, to += 32) {            \
      Byte rest[16];                                                  \
      if (count < 16) {                                               \
        memset(rest, 0, sizeof rest);                                 \
        from = memcpy(rest, from, (size_t)count);                     \
      }                                                               \
      Halves halves = halves_of(wasm_v128_load(from));                \
      wasm_v128_store(to, halves.low);                                \
      wasm_v128_store(to + 16, halves.high);                          \
    }                                                                 \
  }
PREPARE(prepare_f8e4m3fn, f8e4m3fn_to_bf16)
PREPARE(prepare_f8e5m2, f8e5m2_to_bf16)

const NarrowLoops *narrow_loops(PrimitiveType type, NarrowForm form) {
#define LOOPS(name) .by_depth = by_depth_##name, .by_columns = by_columns_##name
  static const NarrowLoops bf16 = {LOOPS(bf16)};
  static const NarrowLoops scaled_bf16 = {LOOPS(scaled_bf16), .factor = 1};
  static const NarrowLoops f16 = {LOOPS(f16), .factor = 0x1p112f, .misread = MISREAD_LARGEST_F16};
  static const NarrowLoops s8 = {LOOPS(s8), .factor = 0x1p-24f};
  static const NarrowLoops u8 = {LOOPS(u8), .factor = 1};
  static const NarrowLoops moved_s8 = {LOOPS(moved_s8), .factor = 0x1p-24f};
  static const NarrowLoops moved_u8 = {LOOPS(moved_u8), .factor = 1};
#define F8_LOOPS(name)                                                       \
  static const NarrowLoops name = {LOOPS(bf16), .prepare = prepare_##name};  \
  static const NarrowLoops scaled_##name = {LOOPS(scaled_bf16), .factor = 1, \
                                            .prepare = prepare_##name};
  F8_LOOPS(f8e4m3fn)
  F8_LOOPS(f8e5m2)
  static const NarrowLoops byte = {LOOPS(byte), .factor = 1, .misread = MISREAD_BYTES_FROM_16};
  static const NarrowLoops half_byte = {LOOPS(byte), .factor = 1};
  if (form == NARROW_LOOKED_UP) return type_bits(type) == 8 ? &byte : &half_byte;
  bool moved = form == NARROW_MOVED;
  switch (type) {
  case BF16: return moved ? NULL : form == NARROW_SCALED ? &scaled_bf16 : &bf16;
  case F16: return moved ? NULL : &f16;
  case S2:
  case S4:
  case S8: return moved ? &moved_s8 : &s8;
  case U2:
  case U4:
  case U8: return moved ? &moved_u8 : &u8;
  case F8E4M3FN: return moved ? NULL : form == NARROW_SCALED ? &scaled_f8e4m3fn : &f8e4m3fn;
  case F8E5M2: return moved ? NULL : form == NARROW_SCALED ? &scaled_f8e5m2 : &f8e5m2;
  default: return NULL;
  }
}

const NarrowLoops *narrow_packed_loops(PrimitiveType type, NarrowForm form) {
  static const NarrowLoops scaled = {LOOPS(packed), .factor = 0x1p-24f, .packed = true};
  static const NarrowLoops moved = {LOOPS(moved_packed), .factor = 0x1p-24f, .packed = true};
  if (type_bits(type) != 4 || form == NARROW_LOOKED_UP) return narrow_loops(type, form);
  return form == NARROW_MOVED ? &moved : &scaled;
}

/* ---- Misread numbers ---- */

/* Of f16: those with the largest exponent. As signed numbers the positive ones are the largest; as unsigned ones the
** negative ones. */
static bool has_largest_f16(const uint8_t *elements, int64_t count) {
  v128_t most = wasm_i32x4_const_splat(0), negative = most;
  for (; count >= 16; count -= 16, elements += 32) {
    v128_t x = wasm_v128_load(elements), y = wasm_v128_load(elements + 16);
    most = wasm_i16x8_max(most, wasm_i16x8_max(x, y));
    negative = wasm_u16x8_max(negative, wasm_u16x8_max(x, y));
  }
  v128_t is_large = wasm_v128_or(wasm_i16x8_ge(most, wasm_i16x8_const_splat(0x7c00)),
                                 wasm_u16x8_ge(negative, wasm_i16x8_const_splat((int16_t)0xfc00)));
  if (wasm_v128_any_true(is_large)) return true;
  Byte rest[32];
  memset(rest, 0, sizeof rest);
  memcpy(rest, elements, 2 * (size_t)count);
  return count > 0 && has_largest_f16(rest, 16);
}

static bool has_bytes_from_16(const uint8_t *elements, int64_t count) {
  v128_t all = wasm_i32x4_const_splat(0);
  for (; count >= 16; count -= 16, elements += 16) {
    all = wasm_v128_or(all, wasm_v128_load(elements));
  }
  if (wasm_v128_any_true(wasm_v128_and(all, wasm_i8x16_const_splat((int8_t)0xf0)))) return true;
  for (int64_t i = 0; i < count; i++) {
    if (elements[i] >= 16) return true;
  }
  return false;
}

bool narrow_has_misread(const NarrowLoops *loops, const uint8_t *elements, int64_t count) {
  switch (loops->misread) {
  case MISREAD_LARGEST_F16: return has_largest_f16(elements, count);
  case MISREAD_BYTES_FROM_16: return has_bytes_from_16(elements, count);
  default: return false;
  }
}
