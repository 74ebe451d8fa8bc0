/*
** Vector functions that programs use often: four lanes at once, branch-free.
**
** log computes in f32, with the polynomial of Moshier's Cephes library (logf.c). The others compute
** in double, where a short series is enough, and round once: their errors are hardly above half an
** ulp. tests/accuracy has the bounds. function_emitter.c inlines the most frequent functions.
*/
#include <math.h>
#include <string.h>
#include <wasm_simd128.h>

#include "vectors/vector_functions.h"

/* Vectors of two v128. The compiler warns that calls with them depend on the CPU. No such call exists, as all
** such functions are static. */
#pragma clang diagnostic ignored "-Wpsabi"
typedef double f64x4 __attribute__((vector_size(32)));
typedef int64_t s64x4 __attribute__((vector_size(32)));

#define SELECT(mask, yes, no) \
  ((__typeof__(yes))(((mask) & (__typeof__(mask))(yes)) | (~(mask) & (__typeof__(mask))(no))))

static f64x4 splat_f64(double x) { return (f64x4){x, x, x, x}; }
static f64x4 widen(f32x4 x) { return __builtin_convertvector(x, f64x4); }
static f32x4 absolute(f32x4 x) { return (f32x4)((s32x4)x & INT32_MAX); }

/* Converts both halves of x by an intrinsic that fills the low half of its result. The compiler turns
** __builtin_convertvector into code that goes lane by lane. */
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
/* Loads the coefficients from memory, hidden from the compiler: V8 builds a vector constant anew at each use,
** in three instructions. */
#define POLY(function, type, x, ...)                                \
  __extension__({                                                   \
    static const type table[] = {__VA_ARGS__};                      \
    const type *coefficients = table;                               \
    __asm__("" : "+r"(coefficients));                               \
    function(x, coefficients, (int)(sizeof table / sizeof *table)); \
  })
#define POLY_F64(x, ...) POLY(poly_f64, double, x, __VA_ARGS__)

/* --- sin, cos, tan ---------------------------------------------------------------------------- */

/* x = n pi/2 + r */
typedef struct Angle {
  f64x4 r;
  s64x4 n; /* or less by a multiple of 4 */
} Angle;

/* Subtracts n pi/2 in two parts. n times the first part is exact for |n| < 2^20. */
static Angle small_angle(f64x4 x) {
  f64x4 whole = __builtin_elementwise_floor(x * M_2_PI + 0.5);
  f64x4 r = x - whole * 1.57079632673412561417e+00;
  return (Angle){r - whole * 6.07710050650619224932e-11,
                 __builtin_convertvector(truncate_s32(whole), s64x4)};
}

/* Reduces x = m 2^e of any size (Payne and Hanek): multiplies m by 96 bits of 2/pi. Products with the bits
** before those are multiples of 4. The bits after them add less than 2^-70; no float is nearer than 2^-31 to
** a multiple of pi/2. Infinities and NaN: NaN. */
static double large_angle(float x, int64_t *n) {
  static const uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                         0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  uint32_t bits, exponent;
  memcpy(&bits, &x, sizeof bits);
  exponent = bits >> 23 & 255;
  if (exponent == 255) return x - x;
  uint64_t m = (bits & 0x7fffff) | 0x800000, product = 0;
  uint32_t from = exponent - 120; /* in two_over_pi: e - 2, after its 32 zeros */
  for (uint32_t word = from / 32, k = 0; k < 3; k++, word++) {
    uint64_t two = (uint64_t)two_over_pi[word] << 32 | two_over_pi[word + 1];
    uint64_t part = m * (uint32_t)(two << from % 32 >> 32);
    product += k == 0 ? part << 32 : k == 1 ? part : part >> 32;
  }
  uint64_t whole = (product + (UINT64_C(1) << 61)) >> 62;
  double r = (double)(int64_t)(product - (whole << 62)) * (M_PI_2 * 0x1p-62);
  *n = x < 0 ? -(int64_t)whole : (int64_t)whole;
  return x < 0 ? -r : r;
}

static Angle angle(f32x4 x) {
  enum { SMALL = 0x49800000 }; /* 2^20 */
  s32x4 bits = (s32x4)absolute(x);
  Angle angle = small_angle(widen(x));
  for (int i = 0; i < 4 && wasm_v128_any_true((v128_t)(bits >= SMALL)); i++) {
    if (bits[i] >= SMALL) {
      int64_t n = 0;
      angle.r[i] = large_angle(x[i], &n);
      angle.n[i] = n;
    }
  }
  return angle;
}

typedef struct SinCos {
  f64x4 sin, cos; /* of the angle within its quadrant */
  s64x4 quadrant;
} SinCos;

__attribute__((noinline)) static SinCos sin_cos(f32x4 x) {
  Angle a = angle(x);
  f64x4 z = a.r * a.r;
  return (SinCos){.sin = a.r * POLY_F64(z, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120,
                                        -1.0 / 6, 1.0),
                  .cos = POLY_F64(z, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720,
                                  1.0 / 24, -1.0 / 2, 1.0),
                  .quadrant = a.n};
}

/* Returns the sine `quadrants` later: selects one of the quadrant's two functions, and its sign. */
static f32x4 sine(SinCos t, int quadrants) {
  s64x4 q = t.quadrant + quadrants, odd = -(q & 1), negative = (q & 2) << 62;
  return narrow((f64x4)((s64x4)SELECT(odd, t.cos, t.sin) ^ negative));
}

V128 xla_sin_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  return (V128)SELECT(x == 0.0f, x, sine(sin_cos(x), 0));
}

V128 xla_cos_f32x4(V128 v) { return (V128)sine(sin_cos((f32x4)v), 1); }

V128 xla_tan_f32x4(V128 v) {
  f32x4 x = (f32x4)v;
  SinCos t = sin_cos(x);
  s64x4 odd = -(t.quadrant & 1);
  f32x4 y = narrow(SELECT(odd, -t.cos, t.sin) / SELECT(odd, t.sin, t.cos));
  return (V128)SELECT(x == 0.0f, x, y);
}
