/*
** Basic functions of f64x2, from which others are composed. Each states the operands that it holds for. Their
** errors are about an ulp of double. The polynomials were fitted for minimal error by Remez's algorithm with
** 200 bits. Range reductions split their constants into two or three parts, so that the products are exact.
*/
#ifndef XLA_VECTORS_F64X2_H
#define XLA_VECTORS_F64X2_H

#include <math.h>
#include <stdbool.h>

#include "vectors/coefficients.h"
#include "vectors/vector_functions.h"

#define SELECT(mask, yes, no) \
  ((__typeof__(yes))(((mask) & (__typeof__(mask))(yes)) | (~(mask) & (__typeof__(mask))(no))))

static inline f64x2 f64x2_splat(double x) { return (f64x2){x, x}; }
static inline f64x2 f64x2_abs(f64x2 x) { return (f64x2)((s64x2)x & INT64_MAX); }
static inline f64x2 f64x2_sqrt(f64x2 x) { return __builtin_elementwise_sqrt(x); }
static inline f64x2 f64x2_sign_of(f64x2 magnitude, f64x2 sign) {
  return (f64x2)((s64x2)magnitude | ((s64x2)sign & INT64_MIN));
}
/* Whether all |x| < limit; false for NaN. */
static inline bool f64x2_within(f64x2 x, double limit) {
  s64x2 holds = f64x2_abs(x) < limit;
  return (holds[0] & holds[1]) != 0;
}

/* Rounds x to multiples of 2^-152. Powers lose nothing by that, and are 0 instead of denormals, which are
** slow. */
static inline f64x2 f64x2_cut(f64x2 x) { return x + 0x1p-100 - 0x1p-100; }

static inline f64x2 f64x2_polynomial(f64x2 x, const double *coefficients, int count) {
  f64x2 sum = f64x2_splat(coefficients[0]);
  for (int i = 1; i < count; i++) sum = sum * x + coefficients[i];
  return sum;
}
/* Loads the coefficients from memory, hidden from the compiler: V8 builds a vector constant anew at each use,
** in three instructions. */
#define WIDE_POLYNOMIAL(x, ...)                                             \
  __extension__({                                                           \
    static const double table[] = {__VA_ARGS__};                            \
    const double *coefficients = table;                                     \
    __asm__("" : "+r"(coefficients));                                       \
    f64x2_polynomial(x, coefficients, (int)(sizeof table / sizeof *table)); \
  })

/* --- Exponentials of |x| <= 708 --- */

/* x = n ln 2 + r; adding 1.5 * 2^52 rounds to an integer, and leaves it in the low bits. */
static inline f64x2 f64x2_reduced_exp(f64x2 x, f64x2 *scale) {
  f64x2 magic = x * M_LOG2E + 0x1.8p52, n = magic - 0x1.8p52;
  f64x2 r = x - n * 0.693145751953125 - n * 1.42860682030941723212e-6;
  f64x2 q = WIDE_POLYNOMIAL(r, EXP_COEFFICIENTS);
  *scale = (f64x2)(((s64x2)magic << 52) + INT64_C(0x3ff0000000000000));
  f64x2 cut = f64x2_cut(r);
  return q * cut * cut + r;
}

static inline f64x2 f64x2_exp(f64x2 x) {
  f64x2 scale, p = f64x2_reduced_exp(x, &scale);
  return (p + 1) * scale;
}

static inline f64x2 f64x2_expm1(f64x2 x) {
  f64x2 scale, p = f64x2_reduced_exp(x, &scale);
  return p * scale + (scale - 1);
}

/* --- Logarithms --- */

/* 2^n (1 + f) = x, normal and positive, with 1 + f in [sqrt 1/2, sqrt 2) */
static inline f64x2 f64x2_split(f64x2 x, f64x2 *n) {
  const int64_t root = INT64_C(0x3fe6a09e667f3bcd); /* sqrt 1/2 */
  s64x2 bits = (s64x2)x - root;
  u64x2 exponent = (u64x2)(bits + (INT64_C(1) << 62)) >> 52;
  *n = (f64x2)((s64x2)exponent + (INT64_C(0x4338000000000000) - 1024)) - 0x1.8p52;
  return (f64x2)((bits & INT64_C(0xfffffffffffff)) + root) - 1;
}

/* log(2^n (1 + f)) + rest */
static inline f64x2 f64x2_log_of(f64x2 n, f64x2 f, f64x2 rest) {
  f64x2 half = f * f * 0.5, s = f / (f + 2), z = s * s;
  f64x2 r = z * WIDE_POLYNOMIAL(z, LOG_COEFFICIENTS);
  f64x2 low = s * (half + r) + (n * 1.90821492927058770002e-10 + rest);
  return n * 6.93147180369123816490e-01 + (f + (low - half));
}

static inline f64x2 f64x2_log(f64x2 x) {
  f64x2 n, f = f64x2_split(x, &n);
  return f64x2_log_of(n, f, f64x2_splat(0));
}

/* x > -1 */
static inline f64x2 f64x2_log1p(f64x2 x) {
  f64x2 n, u = x + 1, f = f64x2_split(u, &n);
  return f64x2_log_of(n, f, (x - (u - 1)) / u);
}

/* --- Sine and cosine --- */

/* x - n pi/2 as a sum of two parts; the second is the first one's rounding error. */
typedef struct F64x2Angle {
  f64x2 r, tail;
  u64x2 quadrant; /* n modulo 4, plus a multiple of 4 */
} F64x2Angle;

/* Reduces |x| < 2^20. */
static inline F64x2Angle f64x2_angle(f64x2 x) {
  f64x2 magic = x * M_2_PI + 0x1.8p52, n = magic - 0x1.8p52;
  f64x2 high = x - n * 1.57079632673412561417e+00;      /* exact: 33 bits of pi/2 */
  f64x2 second = high - n * 6.07710050630396597660e-11; /* and 33 more */
  f64x2 rest = n * 2.02226624879595063154e-21 - ((high - second) - n * 6.07710050630396597660e-11);
  f64x2 r = second - rest;
  return (F64x2Angle){r, (second - r) - rest, (u64x2)magic};
}

typedef struct F64x2SinCos {
  f64x2 sin, cos;
} F64x2SinCos;

static inline F64x2SinCos f64x2_sin_cos_of(F64x2Angle angle) {
  f64x2 r = angle.r, tail = angle.tail, cut = f64x2_cut(r), z = cut * cut;
  f64x2 s =
      WIDE_POLYNOMIAL(z, 1.5896524415303352e-10, -2.5050753639627981e-08, 2.7557313664789499e-06,
                      -0.00019841269829734459, 0.0083333333333223299, -0.16666666666666632);
  f64x2 c =
      WIDE_POLYNOMIAL(z, -1.1359544944357572e-11, 2.0875721590081486e-09, -2.7557314342575687e-07,
                      2.4801587289459457e-05, -0.001388888888887411, 0.041666666666666602);
  f64x2 half = z * 0.5, below = 1 - half;
  f64x2 sine = r + (s * z * cut + tail * below);
  f64x2 cosine = below + (((1 - below) - half) + (z * z * c - cut * tail));
  u64x2 quadrant = angle.quadrant;
  s64x2 odd = -(s64x2)(quadrant & 1);
  s64x2 sine_sign = (s64x2)((quadrant & 2) << 62),
        cosine_sign = (s64x2)(((quadrant + 1) & 2) << 62);
  return (F64x2SinCos){(f64x2)(SELECT(odd, (s64x2)cosine, (s64x2)sine) ^ sine_sign),
                       (f64x2)(SELECT(odd, (s64x2)sine, (s64x2)cosine) ^ cosine_sign)};
}

/* Returns sine and cosine of |x| < 2^20. */
static inline F64x2SinCos f64x2_sin_cos(f64x2 x) { return f64x2_sin_cos_of(f64x2_angle(x)); }

/* --- Arc tangents: of y / x, finite, and whose sum is finite --- */

__attribute__((noinline, unused)) static f64x2 f64x2_atan2(f64x2 y, f64x2 x) {
  f64x2 width = f64x2_abs(x), height = f64x2_abs(y);
  s64x2 steep = height > width;
  f64x2 large = SELECT(steep, height, width), small = SELECT(steep, width, height);
  large = SELECT(large == 0, f64x2_splat(1), large);   /* of two zeros: 0 / 1 */
  s64x2 reduced = small > large * 0.41421356237309503; /* tan(pi/8): then of t - pi/4 */
  f64x2 t = SELECT(reduced, small - large, small) / SELECT(reduced, small + large, large);
  f64x2 cut = f64x2_cut(t), z = cut * cut;
  f64x2 p = WIDE_POLYNOMIAL(z, -0.01790035326347221, 0.038059313225871222, -0.050391418571623901,
                            0.058478638899654385, -0.066631022072034099, 0.076920602185622286,
                            -0.090908977688807666, 0.11111110784314761, -0.14285714280225825,
                            0.19999999999954049, -0.33333333333333198);
  /* pi/2 and pi have the same second part, times the same power of two. */
  const double lost = 6.123233995736766e-17;
  f64x2 angle = t + cut * z * p, low = SELECT(reduced, f64x2_splat(lost / 2), f64x2_splat(0));
  f64x2 high = SELECT(reduced, f64x2_splat(M_PI_4), f64x2_splat(0));
  high = SELECT(steep, M_PI_2 - high, high);
  low = SELECT(steep, lost - low, low);
  angle = SELECT(steep, -angle, angle);
  s64x2 left = (s64x2)x < 0; /* -0 too */
  high = SELECT(left, M_PI - high, high);
  low = SELECT(left, 2 * lost - low, low);
  angle = SELECT(left, -angle, angle);
  return f64x2_sign_of(high + (angle + low), y);
}

#endif
