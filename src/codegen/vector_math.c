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

static f32x4 splat(float x) { return (f32x4){x, x, x, x}; }
static f64x4 splat_f64(double x) { return (f64x4){x, x, x, x}; }
static f64x4 widen(f32x4 x) { return __builtin_convertvector(x, f64x4); }
static s32x4 sign_bits(f32x4 x) { return (s32x4)x & INT32_MIN; }
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
static u32x4 truncate_u32(f64x4 x) {
  return BOTH_HALVES(u32x4, wasm_u32x4_trunc_sat_f64x2_zero, x);
}
/* 2^n for n in the range of normal exponents */
static f64x4 power_of_two_f64(s32x4 n) {
  return (f64x4)(__builtin_convertvector(n + 1023, s64x4) << 52);
}

/* Polynomials by Horner's rule, highest coefficient first. */
#define POLY_STEP(i) sum = sum * x + coefficients[i];
static f32x4 poly_f32(f32x4 x, const float *coefficients, int count) {
  f32x4 sum = splat(coefficients[0]);
  for (int i = 1; i < count; i++) POLY_STEP(i)
  return sum;
}

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
#define POLY_F32(x, ...) POLY(poly_f32, float, x, __VA_ARGS__)
#define POLY_F64(x, ...) POLY(poly_f64, double, x, __VA_ARGS__)

/* --- expm1 ------------------------------------------------------------------------------------ */

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), in double. */
V128 xla_expm1_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  f32x4 bounded = SELECT(x < 89.0f, x, splat(89.0f)); /* e^-20 - 1 rounds to -1 */
  bounded = SELECT(bounded > -20.0f, bounded, splat(-20.0f));
  f64x4 wide = widen(bounded);
  f64x4 whole = __builtin_elementwise_floor(wide * M_LOG2E + 0.5);
  f64x4 r = wide - whole * M_LN2;
  f64x4 p = POLY_F64(r, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                     1.0 / 24, 1.0 / 6, 0.5, 1.0);
  f64x4 scale = power_of_two_f64(truncate_s32(whole));
  f32x4 y = narrow(p * r * scale + (scale - 1));
  y = SELECT(x == 0.0f, x, y); /* keeps -0 */
  return (V128)SELECT(x == x, y, x);
}

/* --- log -------------------------------------------------------------------------------------- */

static f32x4 log_special(f32x4 x, f32x4 y) {
  y = SELECT(x == INFINITY, x, y);
  y = SELECT(x == 0.0f, splat(-INFINITY), y);
  y = SELECT(x < 0.0f, splat(NAN), y);
  return SELECT(x == x, y, x);
}

/* log x = n ln 2 + log m, m in [sqrt 1/2, sqrt 2). */
V128 xla_log_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  s32x4 denormal = x < 1.17549435e-38f;
  s32x4 bits = (s32x4)SELECT(denormal, x * 0x1p25f, x) - 0x3f3504f3; /* of sqrt 1/2 */
  f32x4 n = __builtin_convertvector((bits >> 23) - (denormal & 25), f32x4);
  f32x4 m = (f32x4)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f, z = m * m;
  f32x4 p = POLY_F32(m, 7.0376836292E-2f, -1.1514610310E-1f, 1.1676998740E-1f, -1.2420140846E-1f,
                     1.4249322787E-1f, -1.6668057665E-1f, 2.0000714765E-1f, -2.4999993993E-1f,
                     3.3333331174E-1f);
  f32x4 y = m * z * p + n * -2.12194440e-4f - z * 0.5f;
  return (V128)log_special(x, m + y + n * 0.693359375f);
}

/* log of positive normal numbers, in double: with s = (m - 1) / (m + 1), log m = 2 atanh s. */
static f64x4 log_f64(f64x4 x) {
  s64x4 bits = (s64x4)x - INT64_C(0x3fe6a09e667f3bcd); /* of sqrt 1/2 */
  s64x4 high = bits >> 52;
  f64x4 n = __builtin_convertvector(__builtin_convertvector(high, s32x4), f64x4);
  f64x4 m = (f64x4)((bits & INT64_C(0xfffffffffffff)) + INT64_C(0x3fe6a09e667f3bcd));
  f64x4 s = (m - 1) / (m + 1), z = s * s;
  f64x4 p = POLY_F64(z, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0);
  return n * M_LN2 + s * p;
}

/* 1 + x loses what it needs of a small x; there the series of log(1 + x) is short. */
V128 xla_log1p_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  f32x4 bounded = SELECT(x > -1.0f, x, splat(0));
  f64x4 wide = widen(bounded);
  f64x4 series = wide * POLY_F64(wide, 1.0 / 3, -0.5, 1.0);
  f32x4 y = narrow(log_f64(wide + 1));
  y = SELECT(absolute(x) < 0x1p-10f, narrow(series), y);
  y = SELECT(x == 0.0f, x, y);
  y = SELECT(x == INFINITY, x, y);
  y = SELECT(x == -1.0f, splat(-INFINITY), y);
  y = SELECT(x < -1.0f, splat(NAN), y);
  return (V128)SELECT(x == x, y, x);
}

/* --- sin, cos, tan ---------------------------------------------------------------------------- */

typedef struct SinCos {
  f64x4 sin, cos; /* of the angle within its quadrant */
  s64x4 quadrant;
} SinCos;

/* x = n pi/2 + r; n pi/2 in two parts, the first of which n times is exact for |n| < 2^20. */
static SinCos sin_cos(f64x4 x) {
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

/* --- erf -------------------------------------------------------------------------------------- */

/* x P(x^2) / Q(x^2), fitted for least relative error (2.6e-9) on [0, 4]; erf(4) rounds to 1. */
V128 xla_erf_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  f32x4 bounded = SELECT(x < 4.0f, x, splat(4.0f));
  bounded = SELECT(bounded > -4.0f, bounded, splat(-4.0f));
  f64x4 wide = widen(bounded), t = wide * wide;
  f64x4 p = POLY_F64(t, 6.791262279455732e-06, 4.112755940809197e-04, 4.226493225431891e-03,
                     5.574952424207091e-02, 1.928790212438924e-01, 1.1283791699661836);
  f64x4 q = POLY_F64(t, 2.604801085268342e-07, 7.2563163139308e-05, 1.4212047673492906e-03,
                     1.6295139067182315e-02, 1.1749541969655544e-01, 5.042680157615003e-01, 1.0);
  f32x4 y = narrow(wide * p / q);
  return (V128)SELECT(x == x, y, x);
}

/* --- Integer division ------------------------------------------------------------------------- */

/*
** The quotient of two 32-bit integers, rounded to double, truncates to the right integer: the next
** integer above an inexact quotient q is at least q / 2^32 away, an ulp of a double far less.
** Division by zero gives -1 (all ones), and INT_MIN / -1 wraps.
*/
static s32x4 divide_s32(s32x4 x, s32x4 y) {
  s32x4 special = (y == 0) | (y == -1);
  f64x4 quotient = __builtin_convertvector(x, f64x4) /
                   __builtin_convertvector(SELECT(special, y * 0 + 1, y), f64x4);
  s32x4 result = truncate_s32(quotient);
  result = SELECT(y == -1, (s32x4)(0 - (u32x4)x), result);
  return SELECT(y == 0, y - 1, result);
}

static u32x4 divide_u32(u32x4 x, u32x4 y) {
  u32x4 zero = (u32x4)(y == 0);
  f64x4 quotient =
      __builtin_convertvector(x, f64x4) / __builtin_convertvector(y | (zero & 1), f64x4);
  return truncate_u32(quotient) | zero;
}

V128 xla_divide_s32x4(V128 x, V128 y) { return divide_s32(x, y); }
V128 xla_divide_u32x4(V128 x, V128 y) { return (V128)divide_u32((u32x4)x, (u32x4)y); }

/* x - (x / y) * y, which for these quotients gives x for y = 0, and 0 for y = -1. */
V128 xla_remainder_s32x4(V128 x, V128 y) {
  return (V128)((u32x4)x - (u32x4)divide_s32(x, y) * (u32x4)y);
}

V128 xla_remainder_u32x4(V128 v, V128 w) {
  u32x4 x = (u32x4)v, y = (u32x4)w;
  return (V128)(x - divide_u32(x, y) * y);
}

/* --- f16 and bf16 ----------------------------------------------------------------------------- */

/* NaNs keep what fits of their payload, so that data that is only moved keeps its bits. */

/* The exponent is moved to its place in f32 and rebiased by a multiplication, which also normalises
** denormals. */
V128 xla_decode_f16(V128 bits) {
  s32x4 magnitude = (bits & 0x7fff) << 13;
  s32x4 value = (s32x4)((f32x4)magnitude * 0x1p112f);
  s32x4 special = magnitude >= 0x0f800000; /* infinity, NaN */
  return SELECT(special, magnitude | 0x7f800000, value) | (bits & 0x8000) << 16;
}

/* To nearest even: half of the last place kept, less one unless that is odd, is added before the
** cut. What becomes denormal is rounded by adding 0.5, whose last place is that of the smallest. */
V128 xla_encode_f16(V128 x) {
  s32x4 sign = sign_bits((f32x4)x), magnitude = x ^ sign;
  s32x4 normal = ((magnitude + ((magnitude >> 13) & 1) - (112 << 23) + 0xfff) >> 13);
  s32x4 denormal = (s32x4)((f32x4)magnitude + 0.5f) - 0x3f000000;
  s32x4 payload = (magnitude >> 13) & 0x3ff, quiet = (payload == 0) & 0x200;
  s32x4 out = SELECT(magnitude < 0x38800000, denormal, normal);       /* 2^-14 */
  out = SELECT(magnitude >= 0x477ff000, magnitude * 0 + 0x7c00, out); /* 65520 */
  out = SELECT(magnitude > 0x7f800000, payload | quiet | 0x7c00, out);
  return out | (s32x4)((u32x4)sign >> 16);
}

V128 xla_encode_bf16(V128 x) {
  s32x4 nan = (f32x4)x != (f32x4)x;
  u32x4 bits = (u32x4)x, high = bits >> 16, rounded = (bits + 0x7fff + (high & 1)) >> 16;
  u32x4 quiet = (u32x4)((high & 0x7f) == 0) & 0x40;
  return (V128)SELECT((u32x4)nan, high | quiet, rounded);
}
