/*
** Complex functions that generated code calls. Numbers of C64 are computed two at a time in double, whose range
** makes scaling needless for ordinary operands. Other operands (infinities, NaN, zeros where they matter, angles
** beyond 2^20) and all of C128 follow the evaluator's rules, one number at a time. A number is (real,
** imaginary) in adjacent lanes.
*/
#include "hlo/scalar/element.h"
#include "vectors/f64x2.h"

/* --- By the evaluator's rules ----------------------------------------------------------------- */

static f32x4 lanes_unary(Opcode opcode, f32x4 z) {
  for (int i = 0; i < 4; i += 2) {
    Scalar result = complex_unary(opcode, (Scalar){.f = (double)z[i], .im = (double)z[i + 1]});
    z[i] = (float)result.f, z[i + 1] = (float)result.im;
  }
  return z;
}

static f32x4 lanes_binary(Opcode opcode, f32x4 z, f32x4 w) {
  for (int i = 0; i < 4; i += 2) {
    Scalar left = {.f = (double)z[i], .im = (double)z[i + 1]};
    Scalar right = {.f = (double)w[i], .im = (double)w[i + 1]};
    Scalar result = complex_binary(opcode, C64, left, right);
    z[i] = (float)result.f, z[i + 1] = (float)result.im;
  }
  return z;
}

static f64x2 f64x2_unary(Opcode opcode, f64x2 z) {
  Scalar result = complex_unary(opcode, (Scalar){.f = z[0], .im = z[1]});
  return (f64x2){result.f, result.im};
}

static f64x2 f64x2_binary(Opcode opcode, f64x2 z, f64x2 w) {
  Scalar left = {.f = z[0], .im = z[1]}, right = {.f = w[0], .im = w[1]};
  Scalar result = complex_binary(opcode, C128, left, right);
  return (f64x2){result.f, result.im};
}

/* --- Two numbers of C64 ----------------------------------------------------------------------- */

typedef struct Complex2 {
  f64x2 re, im;
} Complex2;

static Complex2 widened(f32x4 z) {
  return (Complex2){{(double)z[0], (double)z[2]}, {(double)z[1], (double)z[3]}};
}

static f32x4 narrowed(Complex2 z) {
  return (f32x4){(float)z.re[0], (float)z.im[0], (float)z.re[1], (float)z.im[1]};
}

static const double LARGEST_ANGLE = 0x1p20, LARGEST_EXPONENT = 700;

static f64x2 squared_modulus(Complex2 z) { return z.re * z.re + z.im * z.im; }
/* Whether both numbers are finite and not zero; the squares of f32 are normal in double. */
static bool has_logarithm(Complex2 z) {
  f64x2 square = squared_modulus(z);
  return f64x2_within(square, 0x1p300) && square[0] > 0 && square[1] > 0;
}

static Complex2 log_of(Complex2 z) {
  return (Complex2){0.5 * f64x2_log(squared_modulus(z)), f64x2_atan2(z.im, z.re)};
}

static Complex2 exp_of(Complex2 z) {
  f64x2 scale = f64x2_exp(z.re);
  F64x2SinCos angle = f64x2_sin_cos(z.im);
  return (Complex2){scale * angle.cos, scale * angle.sin};
}

static bool is_ordinary(Complex2 z) {
  return f64x2_within(z.re, LARGEST_EXPONENT) && f64x2_within(z.im, LARGEST_ANGLE);
}

static f32x4 exponential(f32x4 z) {
  Complex2 wide = widened(z);
  return is_ordinary(wide) ? narrowed(exp_of(wide)) : lanes_unary(HLO_EXP, z);
}

/* e^x cos y - 1 = (e^x - 1) cos y - (1 - cos y), the last by sin(y)^2 where y is small */
static f32x4 exponential_minus_one(f32x4 z) {
  Complex2 wide = widened(z);
  if (!is_ordinary(wide)) return lanes_unary(HLO_EXPM1, z);
  F64x2SinCos angle = f64x2_sin_cos(wide.im);
  f64x2 less = angle.sin * angle.sin / (1 + angle.cos), grown = f64x2_expm1(wide.re);
  less = SELECT(angle.cos > 0, less, 1 - angle.cos);
  return narrowed((Complex2){grown * angle.cos - less, (grown + 1) * angle.sin});
}

static f32x4 logarithm(f32x4 z) {
  Complex2 wide = widened(z);
  return has_logarithm(wide) ? narrowed(log_of(wide)) : lanes_unary(HLO_LOG, z);
}

/* |1 + z|^2 - 1 = 2x + x^2 + y^2 */
static f32x4 logarithm_plus_one(f32x4 z) {
  Complex2 wide = widened(z), above = {wide.re + 1, wide.im};
  f64x2 square = wide.re * wide.re + wide.im * wide.im + 2 * wide.re;
  if (!has_logarithm(above) || square[0] < -0.999 || square[1] < -0.999) {
    return lanes_unary(HLO_LOG1P, z);
  }
  return narrowed((Complex2){0.5 * f64x2_log1p(square), f64x2_atan2(wide.im, above.re)});
}

/* With t = sqrt((|x| + |z|) / 2), the root is t + y / 2t i for x >= 0, and |y| / 2t + t i (with the
** sign of y) for x < 0. */
static Complex2 root_of(Complex2 z) {
  f64x2 t = f64x2_sqrt((f64x2_abs(z.re) + f64x2_sqrt(squared_modulus(z))) * 0.5),
        u = z.im / (t + t);
  s64x2 left = z.re < 0;
  return (Complex2){SELECT(left, f64x2_abs(u), t), SELECT(left, f64x2_sign_of(t, z.im), u)};
}

/* Whether no number is on the branch cut, where the sign of zero matters. */
static bool has_plain_root(Complex2 z) { return has_logarithm(z) && z.im[0] != 0 && z.im[1] != 0; }

static f32x4 square_root(f32x4 z) {
  Complex2 wide = widened(z);
  return has_plain_root(wide) ? narrowed(root_of(wide)) : lanes_unary(HLO_SQRT, z);
}

static f32x4 reciprocal_root(f32x4 z) {
  Complex2 wide = widened(z);
  if (!has_plain_root(wide)) return lanes_unary(HLO_RSQRT, z);
  Complex2 root = root_of(wide);
  f64x2 square = squared_modulus(root);
  return narrowed((Complex2){root.re / square, -root.im / square});
}

/* e^((c + di) log x) */
static f32x4 power(f32x4 x, f32x4 y) {
  Complex2 base = widened(x), exponent = widened(y);
  if (!has_logarithm(base) || !f64x2_within(squared_modulus(exponent), 0x1p300)) {
    return lanes_binary(HLO_POWER, x, y);
  }
  Complex2 log = log_of(base);
  Complex2 product = {exponent.re * log.re - exponent.im * log.im,
                      exponent.re * log.im + exponent.im * log.re};
  return is_ordinary(product) ? narrowed(exp_of(product)) : lanes_binary(HLO_POWER, x, y);
}

/* sinh and cosh of one number, by e^|x| - 1 */
typedef struct Hyperbolic {
  f64x2 sinh, cosh;
} Hyperbolic;

static Hyperbolic hyperbolic(f64x2 x) {
  f64x2 e = f64x2_expm1(f64x2_abs(x)), less = e / (e + 1);
  return (Hyperbolic){f64x2_sign_of((e + less) * 0.5, x), 1 + (e - less) * 0.5};
}

/* cosh(x + yi) = cosh x cos y + i sinh x sin y; sinh(x + yi) = sinh x cos y + i cosh x sin y */
static Complex2 hyperbolic_cosine_of(Complex2 z) {
  Hyperbolic h = hyperbolic(z.re);
  F64x2SinCos angle = f64x2_sin_cos(z.im);
  return (Complex2){h.cosh * angle.cos, h.sinh * angle.sin};
}

static Complex2 hyperbolic_sine_of(Complex2 z) {
  Hyperbolic h = hyperbolic(z.re);
  F64x2SinCos angle = f64x2_sin_cos(z.im);
  return (Complex2){h.sinh * angle.cos, h.cosh * angle.sin};
}

/*
** tanh(x + yi) = (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2). With t = e^-2|x|, all
** multiplied by 4t: (1 - t)(1 + t) and 4t sin y cos y over (1 - t)^2 + 4t cos(y)^2.
*/
static Complex2 hyperbolic_tangent_of(Complex2 z) {
  f64x2 less = -f64x2_expm1(-2 * f64x2_abs(z.re)), t = 1 - less;
  F64x2SinCos angle = f64x2_sin_cos(z.im);
  f64x2 below = less * less + 4 * t * angle.cos * angle.cos;
  return (Complex2){f64x2_sign_of(less * (1 + t) / below, z.re),
                    4 * t * angle.sin * angle.cos / below};
}

static Complex2 times_i(Complex2 z) { return (Complex2){-z.im, z.re}; }
static Complex2 over_i(Complex2 z) { return (Complex2){z.im, -z.re}; }

/* Whether z is in half of the range, as tanh doubles the exponent. */
static bool is_moderate(Complex2 z) {
  return f64x2_within(z.re, LARGEST_EXPONENT / 2) && f64x2_within(z.im, LARGEST_ANGLE);
}

#define HYPERBOLIC(name, opcode, formula)                                        \
  static f32x4 name(f32x4 z) {                                                   \
    Complex2 wide = widened(z);                                                  \
    return is_moderate(wide) ? narrowed(formula(wide)) : lanes_unary(opcode, z); \
  }
#define TRIGONOMETRIC(name, opcode, formula, last)                                         \
  static f32x4 name(f32x4 z) {                                                             \
    Complex2 turned = times_i(widened(z));                                                 \
    return is_moderate(turned) ? narrowed(last(formula(turned))) : lanes_unary(opcode, z); \
  }
HYPERBOLIC(hyperbolic_cosine, HLO_COSH, hyperbolic_cosine_of)
HYPERBOLIC(hyperbolic_sine, HLO_SINH, hyperbolic_sine_of)
HYPERBOLIC(hyperbolic_tangent, HLO_TANH, hyperbolic_tangent_of)
TRIGONOMETRIC(cosine, HLO_COS, hyperbolic_cosine_of, )
TRIGONOMETRIC(sine, HLO_SIN, hyperbolic_sine_of, over_i)
TRIGONOMETRIC(tangent, HLO_TAN, hyperbolic_tangent_of, over_i)

/* --- Exported functions ------------------------------------------------------------------------- */

#define VECTOR(name, function) \
  V128 xla_##name##_c64x2(V128 z) { return (V128)function((f32x4)z); }
#define LANES(name, opcode) \
  V128 xla_##name##_c64x2(V128 z) { return (V128)lanes_unary(opcode, (f32x4)z); }
#define WIDE(name, opcode) \
  V128 xla_##name##_c128(V128 z) { return (V128)f64x2_unary(opcode, (f64x2)z); }

VECTOR(cos, cosine)
VECTOR(cosh, hyperbolic_cosine)
VECTOR(exp, exponential)
VECTOR(expm1, exponential_minus_one)
VECTOR(log, logarithm)
VECTOR(log1p, logarithm_plus_one)
VECTOR(rsqrt, reciprocal_root)
VECTOR(sin, sine)
VECTOR(sinh, hyperbolic_sine)
VECTOR(sqrt, square_root)
VECTOR(tan, tangent)
VECTOR(tanh, hyperbolic_tangent)
LANES(acos, HLO_ACOS)
LANES(acosh, HLO_ACOSH)
LANES(asin, HLO_ASIN)
LANES(asinh, HLO_ASINH)
LANES(atanh, HLO_ATANH)
LANES(logistic, HLO_LOGISTIC)
LANES(sign, HLO_SIGN)
WIDE(acos, HLO_ACOS)
WIDE(acosh, HLO_ACOSH)
WIDE(asin, HLO_ASIN)
WIDE(asinh, HLO_ASINH)
WIDE(atanh, HLO_ATANH)
WIDE(cos, HLO_COS)
WIDE(cosh, HLO_COSH)
WIDE(exp, HLO_EXP)
WIDE(expm1, HLO_EXPM1)
WIDE(log, HLO_LOG)
WIDE(log1p, HLO_LOG1P)
WIDE(logistic, HLO_LOGISTIC)
WIDE(rsqrt, HLO_RSQRT)
WIDE(sign, HLO_SIGN)
WIDE(sin, HLO_SIN)
WIDE(sinh, HLO_SINH)
WIDE(sqrt, HLO_SQRT)
WIDE(tan, HLO_TAN)
WIDE(tanh, HLO_TANH)

V128 xla_power_c64x2(V128 x, V128 y) { return (V128)power((f32x4)x, (f32x4)y); }
V128 xla_atan2_c64x2(V128 y, V128 x) { return (V128)lanes_binary(HLO_ATAN2, (f32x4)y, (f32x4)x); }
V128 xla_power_c128(V128 x, V128 y) { return (V128)f64x2_binary(HLO_POWER, (f64x2)x, (f64x2)y); }
V128 xla_atan2_c128(V128 y, V128 x) { return (V128)f64x2_binary(HLO_ATAN2, (f64x2)y, (f64x2)x); }
