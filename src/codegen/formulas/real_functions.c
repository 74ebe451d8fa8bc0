/*
** Real functions as formulas. The polynomials of f64, and of erf, were fitted for minimal error by Remez's
** algorithm with 200 bits; that of the logarithm of f32 is from Moshier's Cephes library (logf.c).
*/
#include "codegen/formulas/formulas.h"

#include <math.h>

#include "base/host/platform.h"
#include "codegen/formulas/lanes.h"
#include "vectors/coefficients.h"

/* --- Exponentials ----------------------------------------------------------------------------- */

static int mantissa_bits(const Expression *m) { return m->is_64_bit ? 52 : 23; }
static int exponent_bias(const Expression *m) { return m->is_64_bit ? 1023 : 127; }

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves it in the low bits, plus the bias. */
static Value magic(Expression *m, int bias) {
  return constant(m, (m->is_64_bit ? 0x1.8p52 : 0x1.8p23) + bias);
}

/* Returns `times` x / ln 2, rounded to the integer n, plus the bias. */
static Value rounded_log2(Expression *m, Value x, double times, int bias) {
  return product_sum(m, x, constant(m, times * M_LOG2E), magic(m, bias));
}

/*
** Denormals take more than a hundred cycles, and squares of tiny numbers are denormal. So this is added to such a
** number: it changes no sum with a number near 1.
*/
static double tiny(const Expression *m) { return m->is_64_bit ? 0x1p-300 : 0x1p-40; }

/* Returns r of x = n ln 2 + r; plus a tiny number, for `is_sizable`. n times the first part of ln 2 is exact. */
static Value rest_of(Expression *m, Value x, Value biased_n, int bias, bool is_sizable) {
  Value n = difference(m, biased_n, magic(m, bias));
  Value high_part = constant(m, m->is_64_bit ? 0.693145751953125 : 0.693359375);
  Value low_part = constant(m, m->is_64_bit ? 1.42860682030941723212e-6 : -2.12194440e-4);
  Value high = product_rest(m, n, high_part, x);
  if (!is_sizable) return product_rest(m, n, low_part, high);
  return difference(m, high, product_sum(m, n, low_part, constant(m, -tiny(m))));
}

/* Returns x^2; a fused product is not rounded, and so never denormal. */
static Value square_of(Expression *m, Value x) {
  if (platform_fuses()) return product_sum(m, x, x, constant(m, tiny(m) * tiny(m)));
  x = sum(m, x, constant(m, tiny(m)));
  return product(m, x, x);
}

/* With r coth(r/2) = 2 + z P(z), z = r^2, and w = r - z P(z), e^r - 1 = 2 r / (2 - w) = r + r w / (2 - w). P needs half
** the terms of a polynomial for e^r. */
typedef struct Exponent {
  Value w, d; /* 2 - w */
} Exponent;

static Exponent exponent_of(Expression *m, Value r, Value z) {
  Value p = POLYNOMIAL(m, z, 4.1186016402746535e-8, -1.65332337216623594e-6, 6.6137555147146191e-5,
                       -0.00277777777730465904, 0.166666666666659575);
  Value w = product_rest(m, z, p, r);
  return (Exponent){w, difference(m, constant(m, 2), w)};
}

/* Returns r + z P(r) = e^r - 1 for f32, where a polynomial needs no more terms than that quotient. */
static Value short_exponential(Expression *m, Value r, Value z) {
  static const double p[] = {0.0013820987660437822, 0.008368670009076595, 0.04166826233267784,
                             0.1666652113199234, 0.4999999403953552};
  return product_sum(m, polynomial_by_pairs(m, r, z, p, sizeof p / sizeof *p), z, r);
}

/* Returns e^r - 1. r is cut to multiples of a small step; the product would lose lower bits anyway. The result
** is never denormal. */
static Value minus_one(Expression *m, Value r) {
  Value step = constant(m, m->is_64_bit ? 0x1p-100 : 0x1p-16);
  Value cut = difference(m, sum(m, r, step), step);
  if (!m->is_64_bit) return short_exponential(m, r, product(m, cut, cut));
  Exponent e = exponent_of(m, r, square_of(m, r));
  return product_sum(m, cut, quotient(m, e.w, e.d), r);
}

/* e^r as (d + s) / (d - s) with tanh(r / 2) = s / d: half as many terms, for formulas that divide anyway. */
typedef struct ExponentRatio {
  Value s, d;
} ExponentRatio;

/* Of e^(times r). With times = 2, the coefficients of z / 4 have factors that are powers of two. */
static ExponentRatio ratio_of(Expression *m, Value r, int times) {
  ExponentRatio e;
  Value z = square_of(m, r);
  double t = times, u = t * t;
  if (m->is_64_bit) {
    double s[] = {1, 420.27413715328885 / u, 15131.515207704819 / (u * u)};
    double d[] = {30.01370284159805 / t, 3362.467475590652 / (t * u),
                  30263.030415409637 / (t * u * u)};
    e.s = polynomial(m, z, s, 3);
    e.d = polynomial(m, z, d, 3);
  } else {
    double s[] = {1, 60.0775681f / u}, d[] = {12.0129185f / t, 120.155136f / (t * u)};
    e.s = polynomial(m, z, s, 2);
    e.d = polynomial(m, z, d, 2);
  }
  e.s = product(m, r, e.s);
  return e;
}

/* 2^n of an n that has the exponent's bias. */
static Value power_of_two(Expression *m, Value n) { return shifted_left(m, n, mantissa_bits(m)); }

/* Returns y, but 0 where e^x is not normal, as in XLA:CPU. Denormal results take more than a hundred cycles,
** and masks of attention consist of them. y may have any value there. */
static Value if_normal(Expression *m, Value x, Value y) {
  return without(m, y,
                 is_less(m, x, constant(m, m->is_64_bit ? -0x1.6232bdd7abcd2p+9 : -0x1.5d589ep+6)));
}

/*
** e^x / 2^less: e^r times 2^n, for f64 e^r / 2 times 2^(n + 1). There -0.28 < r < 0.42 minimises the effect of the
** quotient's error: 0.78 ulp, as by minus_one(), which is two instructions longer. For a difference, whose range of r is
** symmetric, it is 1.07 ulp.
*/
static Value scaled_exponential(Expression *m, Value x, int less) {
  int bias = exponent_bias(m) + m->is_64_bit - less;
  Value biased_n = rounded_log2(m, x, 1, bias);
  if (m->is_64_bit && !m->of_difference) {
    Value log2 = difference(m, product(m, x, constant(m, M_LOG2E)), constant(m, 0.1));
    biased_n = sum(m, log2, magic(m, bias));
  }
  /* A difference is 0, or at least the last bit of its operands. */
  Value r = rest_of(m, x, biased_n, bias, !m->of_difference), z = product(m, r, r), y;
  if (m->is_64_bit) {
    y = sum(m, quotient(m, r, exponent_of(m, r, z).d), constant(m, 0.5));
  } else {
    y = sum(m, short_exponential(m, r, z), constant(m, 1));
  }
  return product(m, y, power_of_two(m, biased_n));
}

static Value exponential(Expression *m, Value x) {
  return if_normal(m, x, scaled_exponential(m, x, 0));
}

Value exponential_of_difference(Expression *m, Value x) {
  m->of_difference = true;
  return exponential(m, x);
}

/* Where x is so large that 2^(n + 1) may be out of range; a quarter of it is in range. */
static Value is_large(Expression *m, Value x) {
  return is_less(m, constant(m, m->is_64_bit ? 708 : 87), x);
}
static Value exponential_of_large(Expression *m, Value x) {
  Value bounded = minimum(m, x, constant(m, m->is_64_bit ? 710 : 89));
  return product(m, scaled_exponential(m, bounded, 2), constant(m, 4));
}

/* e^x - 1 as 2^n (e^r - 1) + (2^n - 1), which loses no bits. It is computed at half size, as 2^n may be out of
** range. Below the bound the result rounds to -1. */
static Value exponential_minus_one(Expression *m, Value x) {
  int bias = exponent_bias(m) - 1;
  Value bounded = minimum(m, x, constant(m, m->is_64_bit ? 710 : 89));
  bounded = maximum(m, bounded, constant(m, m->is_64_bit ? -40 : -20));
  Value biased_n = rounded_log2(m, bounded, 1, bias), half = power_of_two(m, biased_n);
  Value r = rest_of(m, bounded, biased_n, bias, false);
  Value y = product_sum(m, minus_one(m, r), half, difference(m, half, constant(m, 0.5)));
  y = sum(m, y, y);
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

/* e^x / (e^x + 1), which is large enough at the upper bound */
static Value logistic(Expression *m, Value x) {
  int bias = exponent_bias(m);
  Value bounded = minimum(m, x, constant(m, 40)), biased_n = rounded_log2(m, bounded, 1, bias);
  ExponentRatio e = ratio_of(m, rest_of(m, bounded, biased_n, bias, false), 1);
  Value power = power_of_two(m, biased_n), up = sum(m, e.d, e.s), down = difference(m, e.d, e.s);
  return if_normal(m, x, quotient(m, product(m, power, up), product_sum(m, power, up, down)));
}

/* (e^2x - 1) / (e^2x + 1) with the sign of x; half the numerator is 2^n s + (2^n - 1) / 2 (d - s). Small numbers
** lose no bits, and large ones few, as the term is also in the denominator. From the bound on the result is 1. ln 2 is
** rounded: where n is not 0 or 1, the slope is small. */
static Value hyperbolic_tangent(Expression *m, Value x) {
  int bias = exponent_bias(m) - 1;
  Value bounded = minimum(m, absolute(m, x), constant(m, m->is_64_bit ? 22 : 10));
  Value biased_n = rounded_log2(m, bounded, 2, bias), half = power_of_two(m, biased_n);
  Value n = difference(m, biased_n, magic(m, bias));
  ExponentRatio e = ratio_of(m, product_rest(m, n, constant(m, M_LN2 / 2), bounded), 2);
  Value rest = difference(m, e.d, e.s);
  Value y = product(m, sum(m, half, half), e.s); /* exact */
  y = product_sum(m, difference(m, half, constant(m, 0.5)), rest, y);
  y = quotient(m, y, sum(m, y, rest));
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* --- Logarithms ------------------------------------------------------------------------------- */

/* x = 2^n (1 + f) with 1 + f in [sqrt 1/2, sqrt 2). */
typedef struct Mantissa {
  Value n, f;
} Mantissa;

/* Splits positive normal numbers. `scale` was added to the exponent, as an integer. */
static Mantissa split(Expression *m, Value x, Value scale) {
  int width = mantissa_bits(m);
  Value root = integer(m, m->is_64_bit ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3); /* sqrt 1/2 */
  Value bits = integer_difference(m, x, root);
  Value low = integer(m, (INT64_C(1) << width) - 1);
  Value f = difference(m, integer_sum(m, both(m, bits, low), root), constant(m, 1)), n;
  if (m->is_64_bit) { /* there is no conversion of 64-bit integers */
    n = shifted_right_unsigned(m, integer_sum(m, bits, integer(m, INT64_C(1) << 62)), 52);
    if (scale >= 0) n = integer_difference(m, n, scale);
    Value magic = constant(m, 0x1.8p52);
    n = difference(m, integer_sum(m, n, integer(m, INT64_C(0x4338000000000000) - 1024)), magic);
  } else {
    n = shifted_right(m, bits, width);
    if (scale >= 0) n = integer_difference(m, n, scale);
    n = expression_op(m, F32X4_CONVERT_I32X4_S, 1, n, -1, -1);
  }
  return (Mantissa){n, f};
}

/* n ln 2 + log(1 + f) + rest; `rest` is small, or -1 for none. With s = f / (2 + f), log(1 + f) = 2 atanh s
** = f - s (f - s^2 R(s^2)). For f64 the rounding error of f is a term of its own. */
static Value log_of(Expression *m, Mantissa x, Value rest) {
  Value f = x.f, s = quotient(m, f, sum(m, f, constant(m, 2))), z = product(m, s, s);
  Value low =
      product(m, x.n, constant(m, m->is_64_bit ? 1.90821492927058770002e-10 : -2.12194440e-4));
  if (rest >= 0) low = sum(m, low, rest);
  Value high = constant(m, m->is_64_bit ? 6.93147180369123816490e-01 : 0.693359375), y;
  if (m->is_64_bit) {
    Value r = product(m, z, POLYNOMIAL(m, z, LOG_COEFFICIENTS));
    Value half = product(m, product(m, f, f), constant(m, 0.5));
    y = difference(m, product_sum(m, s, sum(m, half, r), low), half);
    return product_sum(m, x.n, high, sum(m, f, y));
  }
  Value r = product(m, z, POLYNOMIAL(m, z, 0.29873023f, 0.39977498f, 0.66666777f));
  y = product_rest(m, s, difference(m, f, r), low);
  return product_sum(m, x.n, high, sum(m, f, y));
}

/* The logarithm of x where it is 0, infinite, negative or NaN, and else y. */
static Value log_special(Expression *m, Value x, Value y) {
  Value zero = constant(m, 0), infinity = constant(m, INFINITY);
  Value negative = is_less(m, x, zero);
  y = selected(m, is_less(m, x, infinity), y, x); /* infinity and NaN */
  y = selected(m, is_equal(m, x, zero), constant(m, -INFINITY), y);
  return either(m, y, negative); /* all ones is a NaN */
}

static Value log_formula(Expression *m, Value x) {
  Value denormal = is_less(m, x, constant(m, m->is_64_bit ? 0x1p-1022 : 0x1p-126));
  Value scaled = product(m, x, constant(m, m->is_64_bit ? 0x1p54 : 0x1p25));
  Value scale = both(m, denormal, integer(m, m->is_64_bit ? 54 : 25));
  Mantissa parts = split(m, selected(m, denormal, scaled, x), scale);
  return log_special(m, x, log_of(m, parts, -1));
}

/* Returns the logarithm of positive normal numbers. */
static Value log_of_normal(Expression *m, Value x) { return log_of(m, split(m, x, -1), -1); }

/* Where x is not positive and normal. With the bits of infinity added, all other numbers' bits are larger as integers. */
static Value is_not_normal(Expression *m, Value x) {
  int64_t unit = INT64_C(1) << mantissa_bits(m), infinity = (2 * exponent_bias(m) + 1) * unit;
  int64_t min_integer = m->is_64_bit ? INT64_MIN : INT32_MIN;
  Value largest = integer(m, min_integer + infinity - unit - 1);
  return integer_less(m, largest, integer_sum(m, x, integer(m, infinity)));
}

/* With u = 1 + x, rounded, log(1 + x) = log u + (x - (u - 1)) / u. */
static Value log_plus_one_of_normal(Expression *m, Value x) {
  Value one = constant(m, 1), u = sum(m, x, one);
  Value lost = quotient(m, difference(m, x, difference(m, u, one)), u);
  Value y = log_of(m, split(m, u, -1), lost);
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

static Value is_not_normal_plus_one(Expression *m, Value x) {
  return is_not_normal(m, sum(m, x, constant(m, 1)));
}

static Value log_plus_one(Expression *m, Value x) {
  return log_special(m, sum(m, x, constant(m, 1)), log_plus_one_of_normal(m, x));
}

/* --- erf -------------------------------------------------------------------------------------- */

/* P of x^2; and Q, with x^2 */
static Value error_function_of_small(Expression *m, Value z) {
  if (!m->is_64_bit) {
    return POLYNOMIAL(m, z, -0.0005628342623822391, 0.004916755482554436, -0.026710577309131622,
                      0.11280151456594467, -0.37612321972846985, 0.12837912142276764);
  }
  return POLYNOMIAL(m, z, -3.2618586963846077e-12, 7.936805515995936e-11, -1.18881237372237e-09,
                    1.4733923865337424e-08, -1.6356552036873496e-07, 1.6461280286306586e-06,
                    -1.4925597319889057e-05, 0.00012055330621484857, -0.0008548326951906546,
                    0.005223977624032816, -0.026866170644964424, 0.11283791670954092,
                    -0.37612638903183726, 0.12837916709551258);
}
static Value complement_root(Expression *m, Value x, Value square) {
  if (!m->is_64_bit) {
    static const double terms[] = {0.00014984916197136045, -0.002469727536663413,
                                   0.012925843708217144,   -0.01137351244688034,
                                   -0.06142640486359596,   -0.14506055414676666};
    Value p = polynomial_by_pairs(m, x, square, terms, sizeof terms / sizeof *terms);
    return product_sum(m, p, x, constant(m, 1.0008347034454346));
  }
  return POLYNOMIAL(m, x, 3.422684396008848e-14, -1.718516231991246e-12, 4.0840842619418814e-11,
                    -6.125193190867591e-10, 6.481626001225129e-09, -5.0668196031148085e-08,
                    2.9392941708019813e-07, -1.2310908739517959e-06, 3.543223009315579e-06,
                    -6.518178812804462e-06, 1.5119932497157958e-06, 8.992551994648088e-05,
                    -0.0005262753471949319, 0.00020922907815638594, 0.006566781819709348,
                    -0.0020746368169243926, -0.06963627343594152, -0.14104595693842958,
                    0.9999998384483051);
}

/* x + x P(x^2) for small x; for others 1 - Q(|x|)^8, which rounds to 1 from 3.95 (f32) or 5.93 (f64) on. For f32 it is the
** larger of the two: each is less than the function where the other holds. */
static Value error_function(Expression *m, Value x) {
  Value size = minimum(m, absolute(m, x), constant(m, m->is_64_bit ? 5.93 : 3.95));
  Value square = square_of(m, size);
  Value small = product_sum(m, error_function_of_small(m, square), size, size);
  Value q = complement_root(m, size, square), one = constant(m, 1);
  for (int i = 0; i < 2; i++) q = product(m, q, q);
  Value large = product_rest(m, q, q, one);
  Value y = m->is_64_bit ? selected(m, is_less(m, constant(m, 1.25), size), large, small)
                         : maximum(m, small, large);
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* --- Cube roots ------------------------------------------------------------------------------- */

/* Returns the cube root of x > 0 within 4 %: a third of its bits as an integer (about its logarithm) plus a
** constant. The upper bits are enough, and can be multiplied as a float's mantissa. */
static Value rough_cube_root(Expression *m, Value x) {
  int cut = m->is_64_bit ? 32 : 8;
  Value unit = constant(m, m->is_64_bit ? 0x1p52 : 0x1p23);
  Value high = either(m, shifted_right_unsigned(m, x, cut), unit);
  Value third = product(m, difference(m, high, unit), constant(m, 1.0 / 3));
  double bias = (m->is_64_bit ? 0x1p20 : 0x1p15) * (exponent_bias(m) * 2.0 / 3 - 0.0339);
  return shifted_left(m, sum(m, third, constant(m, (m->is_64_bit ? 0x1p52 : 0x1p23) + bias)), cut);
}

/*
** With r = t^3 / x - 1, t (1 + r)^(-1/3) is the cube root to 23 or 14 bits; another step gives the full
** precision. For f64 that is Halley's method, with t cut so that its square is exact.
*/
static Value cube_root_of_normal(Expression *m, Value x) {
  Value size = absolute(m, x), t = rough_cube_root(m, size), one = constant(m, 1), y;
  Value r = difference(m, product(m, product(m, t, t), quotient(m, t, size)), one);
  if (m->is_64_bit) {
    t = product(m, t,
                POLYNOMIAL(m, r, 0.14581957090110814, -0.17444535485515322, 0.22221490838763827,
                           -0.33332922469249, 1.0000000046668807));
    t = both(m, t, integer(m, -(INT64_C(1) << 28)));
    Value s = quotient(m, size, product(m, t, t)), twice = sum(m, t, t);
    y = quotient(m, difference(m, s, t), sum(m, twice, s));
    y = sum(m, t, product(m, t, y));
  } else {
    t = product(m, t, POLYNOMIAL(m, r, 0.223776683f, -0.334664166f, 0.999997735f));
    Value s = quotient(m, size, product(m, t, t));
    y = product_sum(m, difference(m, s, t), constant(m, 1.0 / 3), t);
  }
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* Returns the cube root of all others: 0, infinity and NaN themselves; denormals are scaled by 2^54 or 2^24. */
static Value cube_root_of_others(Expression *m, Value x) {
  Value scaled = product(m, x, constant(m, m->is_64_bit ? 0x1p54 : 0x1p24));
  Value y =
      product(m, cube_root_of_normal(m, scaled), constant(m, m->is_64_bit ? 0x1p-18 : 0x1p-8));
  Value min_normal = integer(m, INT64_C(1) << mantissa_bits(m));
  Value denormal = integer_less(m, absolute(m, x), min_normal);
  denormal = without(m, denormal, is_equal(m, x, constant(m, 0)));
  return selected(m, denormal, y, sum(m, x, x));
}
static Value size_is_not_normal(Expression *m, Value x) { return is_not_normal(m, absolute(m, x)); }

/* --- Integers --------------------------------------------------------------------------------- */

/* Returns the leading zeros by the exponent of x as a float. The bit after the highest is cleared, so that
** rounding never reaches the next power. Negative numbers have no leading zeros; 0 has 32. */
static Value leading_zeros(Expression *m, Value x) {
  Value top = without(m, x, shifted_right_unsigned(m, x, 1));
  Value exponent = shifted_right_unsigned(
      m, expression_op(m, F32X4_CONVERT_I32X4_S, 1, top, -1, -1), mantissa_bits(m));
  Value count = integer_difference(m, integer(m, exponent_bias(m) + 31), exponent);
  count = expression_op(m, I32X4_MIN_U, 2, count, integer(m, 32), -1);
  return without(m, count, shifted_right(m, x, 31));
}

/* --- The table of formulas -------------------------------------------------------------------------- */

static bool is_float_lanes(LaneKind kind) { return kind == LANES_F32 || kind == LANES_F64; }

Formula *math_formula(Opcode opcode, LaneKind kind) {
  if (opcode == HLO_CLZ && kind == LANES_I32) return leading_zeros;
  if (!is_float_lanes(kind)) return NULL;
  switch (opcode) {
  case HLO_ABS: return absolute;
  case HLO_NEGATE: return negated;
  case HLO_ACOS: return kind == LANES_F32 ? arc_cosine_formula : NULL;
  case HLO_ASIN: return kind == LANES_F32 ? arc_sine_formula : NULL;
  case HLO_EXP: return exponential;
  case HLO_EXPM1: return exponential_minus_one;
  case HLO_LOG: return log_of_normal;
  case HLO_LOG1P: return log_plus_one_of_normal;
  case HLO_LOGISTIC: return logistic;
  case HLO_TANH: return hyperbolic_tangent;
  case HLO_CBRT: return cube_root_of_normal;
  case HLO_ERF: return error_function;
  default: return NULL;
  }
}

const Exception *math_exception(Opcode opcode, LaneKind kind) {
  static const Exception of_exponential = {is_large, exponential_of_large};
  static const Exception of_log = {is_not_normal, log_formula};
  static const Exception of_cube_root = {size_is_not_normal, cube_root_of_others};
  static const Exception of_log_plus_one = {is_not_normal_plus_one, log_plus_one};
  if (!is_float_lanes(kind)) return NULL;
  switch (opcode) {
  case HLO_ACOS:
  case HLO_ASIN: return kind == LANES_F32 ? &arc_exception : NULL;
  case HLO_CBRT: return &of_cube_root;
  case HLO_EXP: return &of_exponential;
  case HLO_LOG: return &of_log;
  case HLO_LOG1P: return &of_log_plus_one;
  default: return NULL;
  }
}
