/*
** Vector functions for what programs spend time in: four lanes at once, branch-free.
**
** log computes in f32, with the polynomial of Moshier's Cephes library (logf.c). The others compute
** in double, where a short series is enough, and round once: their errors are hardly above half an
** ulp. tests/accuracy has the bounds. What programs spend most time in is in math_emitter.c.
*/
#include <math.h>
#include <wasm_simd128.h>

#include "codegen/vector_functions.h"

/* Two v128, to the compiler. It warns that calls with them depend on the CPU: there are none, as all
** such functions are static. */
#pragma clang diagnostic ignored "-Wpsabi"
typedef double f64x4 __attribute__((vector_size(32)));
typedef int64_t s64x4 __attribute__((vector_size(32)));

#define SELECT(mask, yes, no) \
  ((__typeof__(yes))(((mask) & (__typeof__(mask))(yes)) | (~(mask) & (__typeof__(mask))(no))))

static f64x4 splat_f64(double x) { return (f64x4){x, x, x, x}; }
static f64x4 widen(f32x4 x) { return __builtin_convertvector(x, f64x4); }
static f32x4 absolute(f32x4 x) { return (f32x4)((s32x4)x & INT32_MAX); }

/* Both halves of x through an intrinsic that fills the low half of its result; what the compiler
** makes of __builtin_convertvector here goes lane by lane. */
#define BOTH_HALVES(vector, intrinsic, x)                                                          \
  __builtin_shufflevector((vector)intrinsic((v128_t)__builtin_shufflevector(x, x, 0, 1)),          \
                          (vector)intrinsic((v128_t)__builtin_shufflevector(x, x, 2, 3)), 0, 1, 4, \
                          5)
static f32x4 narrow(f64x4 x) { return BOTH_HALVES(f32x4, wasm_f32x4_demote_f64x2_zero, x); }
static s32x4 truncate_s32(f64x4 x) {
  return BOTH_HALVES(s32x4, wasm_i32x4_trunc_sat_f64x2_zero, x);
}
/* Polynomials by Horner's rule, highest coefficient first. */
#define POLY_STEP(i) sum = sum * x + coefficients[i];
static f64x4 poly_f64(f64x4 x, const double *coefficients, int count) {
  f64x4 sum = splat_f64(coefficients[0]);
  for (int i = 1; i < count; i++) POLY_STEP(i)
  return sum;
}
/* From memory: V8 makes a vector constant anew at each use, in three instructions. The compiler must
** not see what is there. */
#define POLY(function, type, x, ...)                                \
  __extension__({                                                   \
    static const type table[] = {__VA_ARGS__};                      \
    const type *coefficients = table;                               \
    __asm__("" : "+r"(coefficients));                               \
    function(x, coefficients, (int)(sizeof table / sizeof *table)); \
  })
#define POLY_F64(x, ...) POLY(poly_f64, double, x, __VA_ARGS__)

/* --- sin, cos, tan ---------------------------------------------------------------------------- */

typedef struct SinCos {
  f64x4 sin, cos; /* of the angle within its quadrant */
  s64x4 quadrant;
} SinCos;

/* x = n pi/2 + r; n pi/2 in two parts, the first of which n times is exact for |n| < 2^20. */
__attribute__((noinline)) static SinCos sin_cos(f64x4 x) {
  f64x4 whole = __builtin_elementwise_floor(x * M_2_PI + 0.5);
  f64x4 r = x - whole * 1.57079632673412561417e+00;
  r = r - whole * 6.07710050650619224932e-11;
  f64x4 z = r * r;
  SinCos result;
  result.sin =
      r * POLY_F64(z, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
  result.cos = POLY_F64(z, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24,
                        -1.0 / 2, 1.0);
  result.quadrant = __builtin_convertvector(truncate_s32(whole), s64x4);
  return result;
}

/* Where sin_cos holds; infinities and NaN are outside. */
static int all_small(f32x4 x) {
  s32x4 small = absolute(x) < 0x1p20f;
  return small[0] & small[1] & small[2] & small[3];
}

/* The sine `quadrants` later: of the quadrant's two functions the right one, with its sign. */
static f32x4 sine(SinCos t, int quadrants) {
  s64x4 q = t.quadrant + quadrants, odd = -(q & 1), negative = (q & 2) << 62;
  return narrow((f64x4)((s64x4)SELECT(odd, t.cos, t.sin) ^ negative));
}

V128 xla_sin_f32x4(V128 v) {
  f32x4 x = (f32x4)v, y;
  if (all_small(x)) {
    y = sine(sin_cos(widen(x)), 0);
    return (V128)SELECT(x == 0.0f, x, y);
  }
  for (int i = 0; i < 4; i++) y[i] = (float)sin((double)x[i]);
  return (V128)y;
}

V128 xla_cos_f32x4(V128 v) {
  f32x4 x = (f32x4)v, y;
  if (all_small(x)) return (V128)sine(sin_cos(widen(x)), 1);
  for (int i = 0; i < 4; i++) y[i] = (float)cos((double)x[i]);
  return (V128)y;
}

V128 xla_tan_f32x4(V128 v) {
  f32x4 x = (f32x4)v, y;
  if (all_small(x)) {
    SinCos t = sin_cos(widen(x));
    s64x4 odd = -(t.quadrant & 1);
    y = narrow(SELECT(odd, -t.cos, t.sin) / SELECT(odd, t.sin, t.cos));
    return (V128)SELECT(x == 0.0f, x, y);
  }
  for (int i = 0; i < 4; i++) y[i] = (float)tan((double)x[i]);
  return (V128)y;
}
