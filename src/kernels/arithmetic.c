#include "kernels/arithmetic.h"

#include <wasm_simd128.h>

/* ---- Micro-kernels ---- */

/*
** 8 vectors of sums, 2 of rhs, one of lhs and one product: more than that does not fit into the 16
** registers of x86, 15 of which V8 gives out. Against this, under V8 11.3 on a Zen 4 (f32, a depth of
** 256), 5 x 8 ran at 0.85, 6 x 8 and 4 x 12 at 0.65, and four pointers to the rows of a lhs that is
** not packed at 0.9.
**
** V8 unrolls inner loops itself, the further the deeper they are nested; hence the loop over the
** rows in here, and the depth in two loops: without them it is 0.8. Unrolled by hand it is slower,
** as V8 then loads early what it must spill. Sums start at zero and meet those at `out` in the end:
** two ways into the loop cost as much as a tenth.
*/
#define MICRO_KERNEL(name, real, splat, multiply, add, negative_zero)                          \
  static void name(int depth, const void *lhs, size_t lhs_stride, int panels, const void *rhs, \
                   void *const *out, Start start) {                                            \
    enum { LANES = 16 / sizeof(real), NESTED = 128 };                                          \
    v128_t zero = start == START_NEGATIVE_ZERO ? negative_zero : wasm_i32x4_splat(0);          \
    for (int panel = 0; panel < panels; panel++, out += PANEL_ROWS) {                          \
      const real *a = (const real *)((const uint8_t *)lhs + (size_t)panel * lhs_stride);       \
      const real *b = rhs;                                                                     \
      v128_t sum[PANEL_ROWS][2];                                                               \
      for (int i = 0; i < PANEL_ROWS; i++) sum[i][0] = sum[i][1] = zero;                       \
      for (int k = 0; k < depth;) {                                                            \
        int end = k + NESTED < depth ? k + NESTED : depth;                                     \
        for (; k < end; k++, a += PANEL_ROWS, b += 2 * LANES) {                                \
          v128_t b0 = wasm_v128_load(b), b1 = wasm_v128_load(b + LANES);                       \
          for (int i = 0; i < PANEL_ROWS; i++) {                                               \
            v128_t x = splat(a + i);                                                           \
            sum[i][0] = add(sum[i][0], multiply(x, b0));                                       \
            sum[i][1] = add(sum[i][1], multiply(x, b1));                                       \
          }                                                                                    \
        }                                                                                      \
      }                                                                                        \
      for (int i = 0; i < PANEL_ROWS; i++) {                                                   \
        real *row = out[i];                                                                    \
        if (start == START_OUT) {                                                              \
          sum[i][0] = add(sum[i][0], wasm_v128_load(row));                                     \
          sum[i][1] = add(sum[i][1], wasm_v128_load(row + LANES));                             \
        }                                                                                      \
        wasm_v128_store(row, sum[i][0]);                                                       \
        wasm_v128_store(row + LANES, sum[i][1]);                                               \
      }                                                                                        \
    }                                                                                          \
  }

MICRO_KERNEL(multiply_f32, float, wasm_v128_load32_splat, wasm_f32x4_mul, wasm_f32x4_add,
             wasm_f32x4_splat(-0.0f))
MICRO_KERNEL(multiply_f64, double, wasm_v128_load64_splat, wasm_f64x2_mul, wasm_f64x2_add,
             wasm_f64x2_splat(-0.0))
MICRO_KERNEL(multiply_s32, int32_t, wasm_v128_load32_splat, wasm_i32x4_mul, wasm_i32x4_add,
             wasm_i32x4_splat(0))
MICRO_KERNEL(multiply_s64, int64_t, wasm_v128_load64_splat, wasm_i64x2_mul, wasm_i64x2_add,
             wasm_i32x4_splat(0))
/* A lane is two s16 of the depth: one instruction multiplies and adds both. Its only sum that does
** not fit into 32 bits wraps as it should. */
MICRO_KERNEL(multiply_s16, int32_t, wasm_v128_load32_splat, wasm_i32x4_dot_i16x8, wasm_i32x4_add,
             wasm_i32x4_splat(0))

/* ---- The table ---- */

typedef enum Row { ROW_F32, ROW_F64, ROW_S16, ROW_S32, ROW_S64, ROW_C64, ROW_C128 } Row;

static const Arithmetic arithmetics[] = {
    [ROW_F32] = {F32, F32, 1, 4, 1, multiply_f32},    [ROW_F64] = {F64, F64, 1, 8, 1, multiply_f64},
    [ROW_S16] = {S16, S32, 1, 4, 2, multiply_s16},    [ROW_S32] = {S32, S32, 1, 4, 1, multiply_s32},
    [ROW_S64] = {S64, S64, 1, 8, 1, multiply_s64},    [ROW_C64] = {C64, C64, 2, 4, 1, multiply_f32},
    [ROW_C128] = {C128, C128, 2, 8, 1, multiply_f64},
};

static bool is_double(PrimitiveType type) { return type == F64 || type == C128; }

static bool fits_s16(PrimitiveType type) {
  return type_kind(type) == KIND_PRED ||
         (type_kind(type) == KIND_SIGNED && type_bits(type) <= 16) ||
         (type_kind(type) == KIND_UNSIGNED && type_bits(type) <= 8);
}

const Arithmetic *arithmetic_for(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  bool wide = is_double(lhs) || is_double(rhs) || is_double(result);
  Row row;
  switch (type_kind(result)) {
  case KIND_COMPLEX: row = wide ? ROW_C128 : ROW_C64; break;
  case KIND_FLOAT: row = wide ? ROW_F64 : ROW_F32; break;
  default:
    row = type_bytes(result) == 8 ? ROW_S64 : fits_s16(lhs) && fits_s16(rhs) ? ROW_S16 : ROW_S32;
  }
  return &arithmetics[row];
}

const Arithmetic *arithmetic_plain(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  const Arithmetic *arithmetic = arithmetic_for(lhs, rhs, result);
  return arithmetic->element == S16 ? &arithmetics[ROW_S32] : arithmetic;
}
