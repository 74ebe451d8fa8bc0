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

static int mantissa_bits(const Expression *e) { return e->is_64_bit ? 52 : 23; }
static int exponent_bias(const Expression *e) { return e->is_64_bit ? 1023 : 127; }

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves it in the low bits, plus the bias. */
static Value magic(Expression *e, int bias) {
  return constant(e, (e->is_64_bit ? 0x1.8p52 : 0x1.8p23) + bias);
}

/* Returns `times` x / ln 2, rounded to the integer n, plus the bias. */
static Value rounded_log2(Expression *e, Value x, double times, int bias) {
  return product_sum(e, x, constant(e, times * M_LOG2E), magic(e, bias));
}

/*
** Denormals take more than a hundred cycles, and squares of tiny numbers are denormal. So this is added to such a
** number: it changes no sum with a number near 1.
*/
static double tiny(const Expression *e) { return e->is_64_bit ? 0x1p-300 : 0x1p-40; }

/* Returns r of x = n ln 2 + r; plus a tiny number, for `is_sizable`. n times the first part of ln 2 is exact. */
static Value rest_of(Expression *e, Value x, Value biased_n, int bias, bool is_sizable) {
  Value n = difference(e, biased_n, magic(e, bias));
  Value high_part = constant(e, e->is_64_bit ? 0.693145751953125 : 0.693359375);
  Value low_part = constant(e, e->is_64_bit ? 1.42860682030941723212e-6 : -2.12194440e-4);
  Value high = product_rest(e, n, high_part, x);
  if (!is_sizable) return product_rest(e, n, low_part, high);
  return difference(e, high, product_sum(e, n, low_part, constant(e, -tiny(e))));
}

/* Returns x^2; a fused product is not rounded, and so never denormal. */
static Value square_of(Expression *e, Value x) {
  if (platform_fuses()) return product_sum(e, x, x, constant(e, tiny(e) * tiny(e)));
  x = sum(e, x, constant(e, tiny(e)));
  return product(e, x, x);
}

/* With r coth(r/2) = 2 + z P(z), z = r^2, and w = r - z P(z), e^r - 1 = 2 r / (2 - w) = r + r w / (2 - w). P needs half
** the terms of a polynomial for e^r. */
typedef struct Exponent {
  Value w, d; /* 2 - w */
} Exponent;

static Exponent exponent_of(Expression *e, Value r, Value z) {
  Value p = POLYNOMIAL(e, z, 4.1186016402746535e-8, -1.65332337216623594e-6, 6.6137555147146191e-5,
                       -0.00277777777730465904, 0.166666666666659575);
  Value w = product_rest(e, z, p, r);
  return (Exponent){w, difference(e, constant(e, 2), w)};
}

/* Returns r + z P(r) = e^r - 1 for f32, where a polynomial needs no more terms than that quotient. */
static Value short_exponential(Expression *e, Value r, Value z) {
  static const double p[] = {0.0013820987660437822, 0.008368670009076595, 0.04166826233267784,
                             0.1666652113199234, 0.4999999403953552};
  return product_sum(e, polynomial_by_pairs(e, r, z, p, sizeof p / sizeof *p), z, r);
}

/* Returns e^r - 1. r is cut to multiples of a small step; the product would lose lower bits anyway. The result
** is never denormal. */
static Value minus_one(Expression *e, Value r) {
  Value step = constant(e, e->is_64_bit ? 0x1p-100 : 0x1p-16);
  Value cut = difference(e, sum(e, r, step), step);
  if (!e->is_64_bit) return short_exponential(e, r, product(e, cut, cut));
  Exponent exponent = exponent_of(e, r, square_of(e, r));
  return product_sum(e, cut, quotient(e, exponent.w, exponent.d), r);
}

/* e^r as (d + s) / (d - s) with tanh(r / 2) = s / d: half as many terms, for formulas that divide anyway. */
typedef struct ExponentRatio {
  Value s, d;
} ExponentRatio;

/* Of e^(times r). With times = 2, the coefficients of z / 4 have factors that are powers of two. */
static ExponentRatio ratio_of(Expression *e, Value r, int times) {
  ExponentRatio ratio;
  Value z = square_of(e, r);
  double t = times, u = t * t;
  if (e->is_64_bit) {
    double s[] = {1, 420.27413715328885 / u, 15131.515207704819 / (u * u)};
    double d[] = {30.01370284159805 / t, 3362.467475590652 / (t * u),
                  30263.030415409637 / (t * u * u)};
    ratio.s = polynomial(e, z, s, 3);
    ratio.d = polynomial(e, z, d, 3);
  } else {
    double s[] = {1, 60.0775681f / u}, d[] = {12.0129185f / t, 120.155136f / (t * u)};
    ratio.s = polynomial(e, z, s, 2);
    ratio.d = polynomial(e, z, d, 2);
  }
  ratio.s = product(e, r, ratio.s);
  return ratio;
}

/* 2^n of an n that has the exponent's bias. */
static Value power_of_two(Expression *e, Value n) { return shifted_left(e, n, mantissa_bits(e)); }

/* Returns y, but 0 where e^x is not normal, as in XLA:CPU. Denormal results take more than a hundred cycles,
** and masks of attention consist of them. y may have any value there. */
static Value if_normal(Expression *e, Value x, Value y) {
  return bit_andnot(
      e, y, is_less(e, x, constant(e, e->is_64_bit ? -0x1.6232bdd7abcd2p+9 : -0x1.5d589ep+6)));
}

/*
** e^x / 2^less: e^r times 2^n, for f64 e^r / 2 times 2^(n + 1). There -0.28 < r < 0.42 minimises the effect of the
** quotient's error: 0.78 ulp, as by minus_one(), which is two instructions longer. For a difference, whose range of r is
** symmetric, it is 1.07 ulp.
*/
static Value scaled_exponential(Expression *e, Value x, int less) {
  int bias = exponent_bias(e) + e->is_64_bit - less;
  Value biased_n = rounded_log2(e, x, 1, bias);
  if (e->is_64_bit && !e->of_difference) {
    Value log2 = difference(e, product(e, x, constant(e, M_LOG2E)), constant(e, 0.1));
    biased_n = sum(e, log2, magic(e, bias));
  }
  /* A difference is 0, or at least the last bit of its operands. */
  Value r = rest_of(e, x, biased_n, bias, !e->of_difference), z = product(e, r, r), y;
  if (e->is_64_bit) {
    y = sum(e, quotient(e, r, exponent_of(e, r, z).d), constant(e, 0.5));
  } else {
    y = sum(e, short_exponential(e, r, z), constant(e, 1));
  }
  return product(e, y, power_of_two(e, biased_n));
}

static Value exponential(Expression *e, Value x) {
  return if_normal(e, x, scaled_exponential(e, x, 0));
}

Value exponential_of_difference(Expression *e, Value x) {
  e->of_difference = true;
  return exponential(e, x);
}

/* Where x is so large that 2^(n + 1) may be out of range; a quarter of it is in range. */
static Value is_large(Expression *e, Value x) {
  return is_less(e, constant(e, e->is_64_bit ? 708 : 87), x);
}
static Value exponential_of_large(Expression *e, Value x) {
  Value bounded = minimum(e, x, constant(e, e->is_64_bit ? 710 : 89));
  return product(e, scaled_exponential(e, bounded, 2), constant(e, 4));
}

/* e^x - 1 as 2^n (e^r - 1) + (2^n - 1), which loses no bits. It is computed at half size, as 2^n may be out of
** range. Below the bound the result rounds to -1. */
static Value exponential_minus_one(Expression *e, Value x) {
  int bias = exponent_bias(e) - 1;
  Value bounded = minimum(e, x, constant(e, e->is_64_bit ? 710 : 89));
  bounded = maximum(e, bounded, constant(e, e->is_64_bit ? -40 : -20));
  Value biased_n = rounded_log2(e, bounded, 1, bias), half = power_of_two(e, biased_n);
  Value r = rest_of(e, bounded, biased_n, bias, false);
  Value y = product_sum(e, minus_one(e, r), half, difference(e, half, constant(e, 0.5)));
  y = sum(e, y, y);
  return selected(e, is_equal(e, x, constant(e, 0)), x, y); /* keeps -0 */
}

/* e^x / (e^x + 1), which is large enough at the upper bound */
static Value logistic(Expression *e, Value x) {
  int bias = exponent_bias(e);
  Value bounded = minimum(e, x, constant(e, 40)), biased_n = rounded_log2(e, bounded, 1, bias);
  ExponentRatio ratio = ratio_of(e, rest_of(e, bounded, biased_n, bias, false), 1);
  Value power = power_of_two(e, biased_n), up = sum(e, ratio.d, ratio.s),
        down = difference(e, ratio.d, ratio.s);
  return if_normal(e, x, quotient(e, product(e, power, up), product_sum(e, power, up, down)));
}

/* (e^2x - 1) / (e^2x + 1) with the sign of x; half the numerator is 2^n s + (2^n - 1) / 2 (d - s). Small numbers
** lose no bits, and large ones few, as the term is also in the denominator. From the bound on the result is 1. ln 2 is
** rounded: where n is not 0 or 1, the slope is small. */
static Value hyperbolic_tangent(Expression *e, Value x) {
  int bias = exponent_bias(e) - 1;
  Value bounded = minimum(e, absolute(e, x), constant(e, e->is_64_bit ? 22 : 10));
  Value biased_n = rounded_log2(e, bounded, 2, bias), half = power_of_two(e, biased_n);
  Value n = difference(e, biased_n, magic(e, bias));
  ExponentRatio ratio = ratio_of(e, product_rest(e, n, constant(e, M_LN2 / 2), bounded), 2);
  Value rest = difference(e, ratio.d, ratio.s);
  Value y = product(e, sum(e, half, half), ratio.s); /* exact */
  y = product_sum(e, difference(e, half, constant(e, 0.5)), rest, y);
  y = quotient(e, y, sum(e, y, rest));
  return bit_or(e, y, bit_and(e, x, constant(e, -0.0)));
}

/* --- Logarithms ------------------------------------------------------------------------------- */

/* x = 2^n (1 + f) with 1 + f in [sqrt 1/2, sqrt 2). */
typedef struct Mantissa {
  Value n, f;
} Mantissa;

/* Splits positive normal numbers. `scale` was added to the exponent, as an integer. */
static Mantissa split(Expression *e, Value x, Value scale) {
  int width = mantissa_bits(e);
  Value root = integer(e, e->is_64_bit ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3); /* sqrt 1/2 */
  Value bits = integer_difference(e, x, root);
  Value low = integer(e, (INT64_C(1) << width) - 1);
  Value f = difference(e, integer_sum(e, bit_and(e, bits, low), root), constant(e, 1)), n;
  if (e->is_64_bit) { /* there is no conversion of 64-bit integers */
    n = shifted_right_unsigned(e, integer_sum(e, bits, integer(e, INT64_C(1) << 62)), 52);
    if (scale >= 0) n = integer_difference(e, n, scale);
    Value magic = constant(e, 0x1.8p52);
    n = difference(e, integer_sum(e, n, integer(e, INT64_C(0x4338000000000000) - 1024)), magic);
  } else {
    n = shifted_right(e, bits, width);
    if (scale >= 0) n = integer_difference(e, n, scale);
    n = expression_op(e, F32X4_CONVERT_I32X4_S, 1, n, -1, -1);
  }
  return (Mantissa){n, f};
}

/* n ln 2 + log(1 + f) + rest; `rest` is small, or -1 for none. With s = f / (2 + f), log(1 + f) = 2 atanh s
** = f - s (f - s^2 R(s^2)). For f64 the rounding error of f is a term of its own. */
static Value log_of(Expression *e, Mantissa x, Value rest) {
  Value f = x.f, s = quotient(e, f, sum(e, f, constant(e, 2))), z = product(e, s, s);
  Value low =
      product(e, x.n, constant(e, e->is_64_bit ? 1.90821492927058770002e-10 : -2.12194440e-4));
  if (rest >= 0) low = sum(e, low, rest);
  Value high = constant(e, e->is_64_bit ? 6.93147180369123816490e-01 : 0.693359375), y;
  if (e->is_64_bit) {
    Value r = product(e, z, POLYNOMIAL(e, z, LOG_COEFFICIENTS));
    Value half = product(e, product(e, f, f), constant(e, 0.5));
    y = difference(e, product_sum(e, s, sum(e, half, r), low), half);
    return product_sum(e, x.n, high, sum(e, f, y));
  }
  Value r = product(e, z, POLYNOMIAL(e, z, 0.29873023f, 0.39977498f, 0.66666777f));
  y = product_rest(e, s, difference(e, f, r), low);
  return product_sum(e, x.n, high, sum(e, f, y));
}

/* The logarithm of x where it is 0, infinite, negative or NaN, and else y. */
static Value log_special(Expression *e, Value x, Value y) {
  Value zero = constant(e, 0), infinity = constant(e, INFINITY);
  Value negative = is_less(e, x, zero);
  y = selected(e, is_less(e, x, infinity), y, x); /* infinity and NaN */
  y = selected(e, is_equal(e, x, zero), constant(e, -INFINITY), y);
  return bit_or(e, y, negative); /* all ones is a NaN */
}

static Value log_formula(Expression *e, Value x) {
  Value denormal = is_less(e, x, constant(e, e->is_64_bit ? 0x1p-1022 : 0x1p-126));
  Value scaled = product(e, x, constant(e, e->is_64_bit ? 0x1p54 : 0x1p25));
  Value scale = bit_and(e, denormal, integer(e, e->is_64_bit ? 54 : 25));
  Mantissa parts = split(e, selected(e, denormal, scaled, x), scale);
  return log_special(e, x, log_of(e, parts, -1));
}

/* Returns the logarithm of positive normal numbers. */
static Value log_of_normal(Expression *e, Value x) { return log_of(e, split(e, x, -1), -1); }

/* Where x is not positive and normal. With the bits of infinity added, all other numbers' bits are larger as integers. */
static Value is_not_normal(Expression *e, Value x) {
  int64_t unit = INT64_C(1) << mantissa_bits(e), infinity = (2 * exponent_bias(e) + 1) * unit;
  int64_t min_integer = e->is_64_bit ? INT64_MIN : INT32_MIN;
  Value largest = integer(e, min_integer + infinity - unit - 1);
  return integer_less(e, largest, integer_sum(e, x, integer(e, infinity)));
}

/* With u = 1 + x, rounded, log(1 + x) = log u + (x - (u - 1)) / u. */
static Value log_plus_one_of_normal(Expression *e, Value x) {
  Value one = constant(e, 1), u = sum(e, x, one);
  Value lost = quotient(e, difference(e, x, difference(e, u, one)), u);
  Value y = log_of(e, split(e, u, -1), lost);
  return selected(e, is_equal(e, x, constant(e, 0)), x, y); /* keeps -0 */
}

static Value is_not_normal_plus_one(Expression *e, Value x) {
  return is_not_normal(e, sum(e, x, constant(e, 1)));
}

static Value log_plus_one(Expression *e, Value x) {
  return log_special(e, sum(e, x, constant(e, 1)), log_plus_one_of_normal(e, x));
}

/* --- erf -------------------------------------------------------------------------------------- */

/* P of x^2; and Q, with x^2 */
static Value error_function_of_small(Expression *e, Value z) {
  if (!e->is_64_bit) {
    return POLYNOMIAL(e, z, -0.0005628342623822391, 0.004916755482554436, -0.026710577309131622,
                      0.11280151456594467, -0.37612321972846985, 0.12837912142276764);
  }
  return POLYNOMIAL(e, z, -3.2618586963846077e-12, 7.936805515995936e-11, -1.18881237372237e-09,
                    1.4733923865337424e-08, -1.6356552036873496e-07, 1.6461280286306586e-06,
                    -1.4925597319889057e-05, 0.00012055330621484857, -0.0008548326951906546,
                    0.005223977624032816, -0.026866170644964424, 0.11283791670954092,
                    -0.37612638903183726, 0.12837916709551258);
}
static Value complement_root(Expression *e, Value x, Value square) {
  if (!e->is_64_bit) {
    static const double terms[] = {0.00014984916197136045, -0.002469727536663413,
                                   0.012925843708217144,   -0.01137351244688034,
                                   -0.06142640486359596,   -0.14506055414676666};
    Value p = polynomial_by_pairs(e, x, square, terms, sizeof terms / sizeof *terms);
    return product_sum(e, p, x, constant(e, 1.0008347034454346));
  }
  return POLYNOMIAL(e, x, 3.422684396008848e-14, -1.718516231991246e-12, 4.0840842619418814e-11,
                    -6.125193190867591e-10, 6.481626001225129e-09, -5.0668196031148085e-08,
                    2.9392941708019813e-07, -1.2310908739517959e-06, 3.543223009315579e-06,
                    -6.518178812804462e-06, 1.5119932497157958e-06, 8.992551994648088e-05,
                    -0.0005262753471949319, 0.00020922907815638594, 0.006566781819709348,
                    -0.0020746368169243926, -0.06963627343594152, -0.14104595693842958,
                    0.9999998384483051);
}

/* x + x P(x^2) for small x; for others 1 - Q(|x|)^8, which rounds to 1 from 3.95 (f32) or 5.93 (f64) on. For f32 it is the
** larger of the two: each is less than the function where the other holds. */
static Value error_function(Expression *e, Value x) {
  Value size = minimum(e, absolute(e, x), constant(e, e->is_64_bit ? 5.93 : 3.95));
  Value square = square_of(e, size);
  Value small = product_sum(e, error_function_of_small(e, square), size, size);
  Value q = complement_root(e, size, square), one = constant(e, 1);
  for (int i = 0; i < 2; i++) q = product(e, q, q);
  Value large = product_rest(e, q, q, one);
  Value y = e->is_64_bit ? selected(e, is_less(e, constant(e, 1.25), size), large, small)
                         : maximum(e, small, large);
  return bit_or(e, y, bit_and(e, x, constant(e, -0.0)));
}

/* --- Cube roots ------------------------------------------------------------------------------- */

/* Returns the cube root of x > 0 within 4 %: a third of its bits as an integer (about its logarithm) plus a
** constant. The upper bits are enough, and can be multiplied as a float's mantissa. */
static Value rough_cube_root(Expression *e, Value x) {
  int cut = e->is_64_bit ? 32 : 8;
  Value unit = constant(e, e->is_64_bit ? 0x1p52 : 0x1p23);
  Value high = bit_or(e, shifted_right_unsigned(e, x, cut), unit);
  Value third = product(e, difference(e, high, unit), constant(e, 1.0 / 3));
  double bias = (e->is_64_bit ? 0x1p20 : 0x1p15) * (exponent_bias(e) * 2.0 / 3 - 0.0339);
  return shifted_left(e, sum(e, third, constant(e, (e->is_64_bit ? 0x1p52 : 0x1p23) + bias)), cut);
}

/*
** With r = t^3 / x - 1, t (1 + r)^(-1/3) is the cube root to 23 or 14 bits; another step gives the full
** precision. For f64 that is Halley's method, with t cut so that its square is exact.
*/
static Value cube_root_of_normal(Expression *e, Value x) {
  Value size = absolute(e, x), t = rough_cube_root(e, size), one = constant(e, 1), y;
  Value r = difference(e, product(e, product(e, t, t), quotient(e, t, size)), one);
  if (e->is_64_bit) {
    t = product(e, t,
                POLYNOMIAL(e, r, 0.14581957090110814, -0.17444535485515322, 0.22221490838763827,
                           -0.33332922469249, 1.0000000046668807));
    t = bit_and(e, t, integer(e, -(INT64_C(1) << 28)));
    Value s = quotient(e, size, product(e, t, t)), twice = sum(e, t, t);
    y = quotient(e, difference(e, s, t), sum(e, twice, s));
    y = sum(e, t, product(e, t, y));
  } else {
    t = product(e, t, POLYNOMIAL(e, r, 0.223776683f, -0.334664166f, 0.999997735f));
    Value s = quotient(e, size, product(e, t, t));
    y = product_sum(e, difference(e, s, t), constant(e, 1.0 / 3), t);
  }
  return bit_or(e, y, bit_and(e, x, constant(e, -0.0)));
}

/* Returns the cube root of all others: 0, infinity and NaN themselves; denormals are scaled by 2^54 or 2^24. */
static Value cube_root_of_others(Expression *e, Value x) {
  Value scaled = product(e, x, constant(e, e->is_64_bit ? 0x1p54 : 0x1p24));
  Value y =
      product(e, cube_root_of_normal(e, scaled), constant(e, e->is_64_bit ? 0x1p-18 : 0x1p-8));
  Value min_normal = integer(e, INT64_C(1) << mantissa_bits(e));
  Value denormal = integer_less(e, absolute(e, x), min_normal);
  denormal = bit_andnot(e, denormal, is_equal(e, x, constant(e, 0)));
  return selected(e, denormal, y, sum(e, x, x));
}
static Value size_is_not_normal(Expression *e, Value x) { return is_not_normal(e, absolute(e, x)); }

/* --- Integers --------------------------------------------------------------------------------- */

/* Returns the leading zeros by the exponent of x as a float. The bit after the highest is cleared, so that
** rounding never reaches the next power. Negative numbers have no leading zeros; 0 has 32. */
static Value leading_zeros(Expression *e, Value x) {
  Value top = bit_andnot(e, x, shifted_right_unsigned(e, x, 1));
  Value exponent = shifted_right_unsigned(
      e, expression_op(e, F32X4_CONVERT_I32X4_S, 1, top, -1, -1), mantissa_bits(e));
  Value count = integer_difference(e, integer(e, exponent_bias(e) + 31), exponent);
  count = expression_op(e, I32X4_MIN_U, 2, count, integer(e, 32), -1);
  return bit_andnot(e, count, shifted_right(e, x, 31));
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
