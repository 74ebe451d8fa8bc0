/*
** Real vector functions that generated code calls, computed in double: those of f64x2 directly, those of
** f32x4 in two halves that are rounded once. Each function defines its ordinary operands. Lanes with other
** operands are computed one by one by the C library.
*/
#include <string.h>
#include <wasm_simd128.h>

#include "vectors/f64x2.h"

static f64x2 low_half(V128 v) { return (f64x2)wasm_f64x2_promote_low_f32x4((v128_t)v); }
static f64x2 high_half(V128 v) { return low_half(__builtin_shufflevector(v, v, 2, 3, 2, 3)); }
static V128 narrowed(f64x2 low, f64x2 high) {
  V128 a = (V128)wasm_f32x4_demote_f64x2_zero((v128_t)low);
  V128 b = (V128)wasm_f32x4_demote_f64x2_zero((v128_t)high);
  return __builtin_shufflevector(a, b, 0, 1, 4, 5);
}

/* |x| < limit; false for NaN. */
static s64x2 within(f64x2 x, double limit) { return (s64x2)(f64x2_abs(x) < limit); }

/* Defines name(x): `formula` in the lanes where `ordinary` holds, and the C function `plain` in others. A lane's
** result does not depend on its neighbour. The bodies are functions, as those of f32x4 call them twice. */
#define UNARY_BODY(name, ordinary, formula, plain)       \
  __attribute__((noinline)) static f64x2 name(f64x2 x) { \
    s64x2 mask = ordinary;                               \
    f64x2 result = formula;                              \
    if (!mask[0]) result[0] = plain(x[0]);               \
    if (!mask[1]) result[1] = plain(x[1]);               \
    return result;                                       \
  }
#define BINARY_BODY(name, ordinary, formula, plain)               \
  __attribute__((noinline)) static f64x2 name(f64x2 x, f64x2 y) { \
    s64x2 mask = ordinary;                                        \
    f64x2 result = formula;                                       \
    if (!mask[0]) result[0] = plain(x[0], y[0]);                  \
    if (!mask[1]) result[1] = plain(x[1], y[1]);                  \
    return result;                                                \
  }
#define UNARY_F64(name, ...)             \
  UNARY_BODY(name##_of_f64, __VA_ARGS__) \
  V128 xla_##name##_f64x2(V128 x) { return (V128)name##_of_f64((f64x2)x); }
#define UNARY(name, ...)                                                      \
  UNARY_F64(name, __VA_ARGS__)                                                \
  V128 xla_##name##_f32x4(V128 x) {                                           \
    return narrowed(name##_of_f64(low_half(x)), name##_of_f64(high_half(x))); \
  }
#define BINARY_F64(name, ...)             \
  BINARY_BODY(name##_of_f64, __VA_ARGS__) \
  V128 xla_##name##_f64x2(V128 x, V128 y) { return (V128)name##_of_f64((f64x2)x, (f64x2)y); }
#define BINARY_F32_BY(name, body)                                                      \
  V128 xla_##name##_f32x4(V128 x, V128 y) {                                            \
    return narrowed(body(low_half(x), low_half(y)), body(high_half(x), high_half(y))); \
  }
#define BINARY_F32(name, ...)             \
  BINARY_BODY(name##_of_f32, __VA_ARGS__) \
  BINARY_F32_BY(name, name##_of_f32)
#define BINARY(name, ...)       \
  BINARY_F64(name, __VA_ARGS__) \
  BINARY_F32_BY(name, name##_of_f64)

/* --- Powers ----------------------------------------------------------------------------------- */

/* The upper half of the mantissa: products of two such are exact. */
static f64x2 upper(f64x2 x) { return (f64x2)((s64x2)x & -(INT64_C(1) << 32)); }

typedef struct TwoParts {
  f64x2 high, low; /* high has no lower half */
} TwoParts;

static TwoParts split_sum(f64x2 large, f64x2 small) {
  f64x2 high = upper(large + small);
  return (TwoParts){high, small - (high - large)};
}

/*
** log2 of a positive normal number with some 68 bits, in the steps of fdlibm's e_pow.c, but with one
** interval of arguments: x = 2^n (1 + f), s = f / (2 + f), and
** log2(1 + f) = 2 / (3 ln 2) s (3 + s^2 + s^4 P(s^2)).
*/
static TwoParts f64x2_log2(f64x2 x) {
  f64x2 n, f = f64x2_split(x, &n), inverse = 1 / (f + 2), s = f * inverse;
  TwoParts divisor = split_sum(f64x2_splat(2), f);
  f64x2 s_high = upper(s);
  f64x2 s_low = inverse * ((f - s_high * divisor.high) - s_high * divisor.low);
  f64x2 z = s * s, square = s_high * s_high;
  f64x2 rest = z * z *
                   WIDE_POLYNOMIAL(z, 0.17586388464693782, 0.1755918761078859, 0.2000221379294838,
                                   0.2307689230833635, 0.27272727504483614, 0.33333333332476994,
                                   0.42857142857144062, 0.6) +
               s_low * (s_high + s);
  TwoParts factor = split_sum(square + 3, rest);
  factor.low = rest - ((factor.high - 3) - square);
  f64x2 large = s_high * factor.high, small = s_low * factor.high + factor.low * s;
  TwoParts p = split_sum(large, small);
  const double scale = 9.61796693925975554329e-01, scale_high = 9.61796700954437255859e-01,
               scale_low = -7.02846165095275826516e-09; /* 2 / (3 ln 2) */
  large = p.high * scale_high, small = p.high * scale_low + p.low * scale;
  f64x2 high = upper((large + small) + n);
  return (TwoParts){high, small - ((high - n) - large)};
}

/* 2^(high + low), |high| < 1000 */
static f64x2 f64x2_exp2(f64x2 high, f64x2 low) {
  f64x2 magic = (high + low) + 0x1.8p52, n = magic - 0x1.8p52;
  high = high - n;
  f64x2 t = upper(high + low);
  const double ln2_high = 6.93147182464599609375e-01, ln2_low = -1.90465429995776804525e-09;
  f64x2 large = t * ln2_high, small = (low - (t - high)) * M_LN2 + t * ln2_low;
  f64x2 r = large + small, tail = small - (r - large);
  f64x2 q = r * r * WIDE_POLYNOMIAL(r, EXP_COEFFICIENTS);
  f64x2 scale = (f64x2)(((s64x2)magic << 52) + INT64_C(0x3ff0000000000000));
  return (1 + (r + (q + (tail + r * tail)))) * scale;
}

/* Whether x is finite and normal, and y log2 x is in range. (Engines lack unsigned comparisons and signed
** shifts of 64-bit lanes.) */
static s64x2 is_ordinary_power(f64x2 x, f64x2 y) {
  f64x2 size = f64x2_abs(x);
  s64x2 exponent = (s64x2)((u64x2)size >> 52); /* |log2 x| < |exponent - 1023| + 1 */
  f64x2 bits = (f64x2)(exponent + (INT64_C(0x4338000000000000) - 1023)) - 0x1.8p52;
  s64x2 normal = (s64x2)(size >= 0x1p-1022) & (s64x2)(size < INFINITY);
  return normal & within(y * (f64x2_abs(bits) + 1), 1000);
}

/* Sets the sign of a power. For negative x it is NaN unless y is an integer, and negative if y is odd. */
static f64x2 with_sign(f64x2 size, f64x2 x, f64x2 y) {
  if (!wasm_i64x2_bitmask((v128_t)x)) return size;
  f64x2 half = y * 0.5;
  s64x2 negative = x < 0, whole = __builtin_elementwise_floor(y) == y,
        even = __builtin_elementwise_floor(half) == half;
  f64x2 result = (f64x2)((s64x2)size ^ (negative & ~even & INT64_MIN));
  return SELECT(negative & ~whole, f64x2_splat(NAN), result);
}

static f64x2 f64x2_power(f64x2 x, f64x2 y) {
  TwoParts log = f64x2_log2(f64x2_abs(x));
  f64x2 y_high = upper(y), low = (y - y_high) * log.high + y * log.low;
  return with_sign(f64x2_exp2(y_high * log.high, low), x, y);
}

/* The power for f32: the logarithm with 37 bits, the power with 29. */
static f64x2 short_power(f64x2 x, f64x2 y) {
  f64x2 n, f = f64x2_split(f64x2_abs(x), &n), s = f / (f + 2);
  f64x2 log = n + s * WIDE_POLYNOMIAL(s * s, 0.34073010658534338, 0.41167271899777669,
                                      0.57708358496515137, 0.96179667334179749, 2.8853900817900862);
  f64x2 z = y * log, magic = z + 0x1.8p52, r = z - (magic - 0x1.8p52);
  f64x2 size = WIDE_POLYNOMIAL(r, 0.00015345842445577669, 0.0013399933282964826,
                               0.0096184888155829271, 0.055503287703652229, 0.24022646892432564,
                               0.69314720574177279, 1.00000000055391);
  f64x2 scale = (f64x2)(((s64x2)magic << 52) + INT64_C(0x3ff0000000000000));
  return with_sign(size * scale, x, y);
}

BINARY_F64(power, is_ordinary_power(x, y), f64x2_power(x, y), pow)
BINARY_F32(power, is_ordinary_power(x, y), short_power(x, y), pow)

/* --- Remainders ------------------------------------------------------------------------------- */

/*
** With q = x / y rounded to nearest, q y is the sum of two exact products, as q has 25 bits at most. All
** differences are exact, as the last but one is less than 3/4 y. If its sign differs from that of x, it is y
** too small.
*/
static f64x2 f64x2_remainder(f64x2 x, f64x2 y) {
  f64x2 a = f64x2_abs(x), b = f64x2_abs(y), q = a / b + 0x1.8p52;
  q = q - 0x1.8p52;
  f64x2 high = (f64x2)((s64x2)b & -(INT64_C(1) << 27)), low = b - high;
  f64x2 r = (a - q * high) - q * low;
  r = SELECT(r < 0, r + b, r);
  return f64x2_sign_of(r, x);
}

/* Whether y is nonzero and all products are in range. */
static s64x2 is_plain_divisor(f64x2 x, f64x2 y) {
  f64x2 b = f64x2_abs(y);
  return within(x, 0x1p1000) & within(1 / y, 0x1p900) & within(b, 0x1p1000);
}

/* The remainder for large quotients: reduces by y times powers of two, 22 bits of the quotient at a time. */
__attribute__((noinline)) static double far_remainder(double x, double y) {
  f64x2 a = f64x2_splat(x), b = f64x2_abs(f64x2_splat(y));
  if (!is_plain_divisor(a, b)[0]) return fmod(x, y);
  while (!within(a / b, 0x1p24)[0]) {
    s64x2 power = ((s64x2)f64x2_abs(a) >> 52) - ((s64x2)b >> 52) - 22;
    a = f64x2_remainder(a, (f64x2)((s64x2)b + (power << 52)));
  }
  return f64x2_remainder(a, b)[0];
}

BINARY(remainder, is_plain_divisor(x, y) & within(x / y, 0x1p24), f64x2_remainder(x, y),
       far_remainder)

/* --- Arcs ------------------------------------------------------------------------------------- */

static f64x2 f64x2_cofunction(f64x2 x) { return f64x2_sqrt((1 - x) * (1 + x)); }

BINARY(atan2, within(x, 0x1p1020) & within(y, 0x1p1020), f64x2_atan2(x, y), atan2)
UNARY_F64(asin, (s64x2)(x == x), f64x2_atan2(x, f64x2_cofunction(x)), asin) /* NaN beyond 1 */
UNARY_F64(acos, (s64x2)(x == x), f64x2_atan2(f64x2_cofunction(x), x), acos)

/* --- Sine, cosine and tangent ----------------------------------------------------------------- */

/*
** Reduces x = m 2^e of any size (Payne and Hanek): multiplies m by 192 bits of 2/pi. Products with the bits
** before those are multiples of 4. The bits after them add less than 2^-137; no double is nearer than 2^-61 to
** a multiple of pi/2. Infinities and NaN: NaN.
*/
__attribute__((noinline)) static void set_large_angle(F64x2Angle *angle, int lane, double x) {
  static const uint32_t two_over_pi[] = {
      0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
      0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
      0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
      0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
      0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
      0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t exponent = bits >> 52 & 2047, from = exponent - 1013; /* e - 2, after 64 zeros */
  if (exponent == 2047) {
    angle->r[lane] = x - x;
    return;
  }
  uint64_t low = bits & UINT32_MAX, high = (bits >> 32 & 0xfffff) | 0x100000;
  unsigned __int128 turns = 0; /* in quarters, modulo 1: 126 bits after the point */
  for (int k = 0; k < 6; k++) {
    const uint32_t *word = &two_over_pi[from / 32 + (uint32_t)k];
    uint64_t two = (uint64_t)word[0] << 32 | word[1], w = two << from % 32 >> 32;
    unsigned __int128 part = ((unsigned __int128)(high * w) << 32) + low * w;
    turns += k < 3 ? part << (96 - 32 * k) : part >> (32 * k - 96);
  }
  uint64_t n = (uint64_t)((turns + ((unsigned __int128)1 << 125)) >> 126);
  turns -= (unsigned __int128)n << 126;
  bool is_negative = turns >> 127;
  if (is_negative) turns = -turns;
  /* The highest 64 bits; 32 of these times 21 bits of pi/2 are exact. */
  uint64_t first = (uint64_t)(turns >> 64), second = (uint64_t)turns;
  int zeros = 0;
  if (first == 0) first = second, second = 0, zeros = 64;
  int more = __builtin_clzll(first | 1);
  first = first << more | second >> 1 >> (63 - more);
  double a = (double)(first >> 32), b = (double)(first & UINT32_MAX) * 0x1p-32;
  double large = a * 0x1.921fbp+0, small = a * 0x1.5110b4611a626p-22 + b * M_PI_2,
         r = large + small;
  uint64_t scale_bits = (uint64_t)(1023 - 30 - zeros - more) << 52;
  double scale;
  memcpy(&scale, &scale_bits, sizeof scale);
  if (is_negative != (x < 0)) scale = -scale;
  angle->r[lane] = r * scale;
  angle->tail[lane] = (small - (r - large)) * scale;
  angle->quadrant[lane] = x < 0 ? -n : n;
}

__attribute__((noinline)) static F64x2Angle any_angle(f64x2 x) {
  F64x2Angle angle = f64x2_angle(x);
  s64x2 small = within(x, 0x1p20);
  for (int i = 0; i < 2; i++) {
    if (!small[i]) set_large_angle(&angle, i, x[i]);
  }
  return angle;
}

static inline F64x2SinCos any_sin_cos(f64x2 x) {
  return f64x2_sin_cos_of(f64x2_within(x, 0x1p20) ? f64x2_angle(x) : any_angle(x));
}

/* Returns x itself if it is 0, to keep -0. Those of f32x4 are in frequent.c. */
V128 xla_sin_f64x2(V128 v) {
  f64x2 x = (f64x2)v;
  return (V128)SELECT(x == 0, x, any_sin_cos(x).sin);
}
V128 xla_cos_f64x2(V128 v) { return (V128)any_sin_cos((f64x2)v).cos; }
V128 xla_tan_f64x2(V128 v) {
  f64x2 x = (f64x2)v;
  F64x2SinCos angle = any_sin_cos(x);
  return (V128)SELECT(x == 0, x, angle.sin / angle.cos);
}

/* --- Hyperbolic functions --------------------------------------------------------------------- */

/* By e = e^|x| - 1: (e + e / (e + 1)) / 2, and 1 + (e - e / (e + 1)) / 2 */
static f64x2 f64x2_sinh(f64x2 x) {
  f64x2 e = f64x2_expm1(f64x2_abs(x));
  return f64x2_sign_of((e + e / (e + 1)) * 0.5, x);
}
static f64x2 f64x2_cosh(f64x2 x) {
  f64x2 e = f64x2_expm1(f64x2_abs(x));
  return 1 + (e - e / (e + 1)) * 0.5;
}

/* log(|x| + sqrt(x^2 + 1)), and so on, as log1p of a term that is near 0 where the result is */
static f64x2 f64x2_asinh(f64x2 x) {
  f64x2 size = f64x2_abs(x), cut = f64x2_cut(size), square = cut * cut;
  return f64x2_sign_of(f64x2_log1p(size + square / (1 + f64x2_sqrt(square + 1))), x);
}
static f64x2 f64x2_acosh(f64x2 x) {
  f64x2 t = x - 1;
  return f64x2_log1p(t + f64x2_sqrt(t * (t + 2)));
}
static f64x2 f64x2_atanh(f64x2 x) {
  f64x2 size = f64x2_abs(x);
  return f64x2_sign_of(0.5 * f64x2_log1p(2 * size / (1 - size)), x);
}
static s64x2 is_above_1(f64x2 x) { return (s64x2)(x >= 1) & within(x, 0x1p500); }
/* musl's acosh does not check for numbers below 1. */
static double acosh_checked(double x) { return x < 1 ? NAN : acosh(x); }

UNARY(sinh, within(x, 700), f64x2_sinh(x), sinh)
UNARY(cosh, within(x, 700), f64x2_cosh(x), cosh)
UNARY(asinh, within(x, 0x1p500), f64x2_asinh(x), asinh)
UNARY(acosh, is_above_1(x), f64x2_acosh(x), acosh_checked)
UNARY(atanh, within(x, 1), f64x2_atanh(x), atanh)
