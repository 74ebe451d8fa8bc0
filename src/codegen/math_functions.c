/*
** The polynomials of f64, and of erf, were fitted for least error by Remez's algorithm with 200 bits;
** those of f32 are from Moshier's Cephes library (expf.c, logf.c).
*/
#include "codegen/math_functions.h"

#include <math.h>

#include "codegen/coefficients.h"

/* --- Exponentials ----------------------------------------------------------------------------- */

/* x = n ln 2 + r with |r| <= ln 2 / 2. */
typedef struct Exponent {
  Value n;       /* plus a bias, an integer in the low bits, 9 of f32 and 12 of f64 */
  Value minus_1; /* e^r - 1 */
} Exponent;

static int mantissa_bits(const Expression *m) { return m->wide ? 52 : 23; }
static int exponent_bias(const Expression *m) { return m->wide ? 1023 : 127; }

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer, and leaves it in the low bits, with the bias
** that is added along. n times the first part of ln 2 is exact. `turned` is of -r instead of r. */
static Exponent reduced_by(Expression *m, Value x, int bias, bool turned) {
  Value magic = constant(m, (m->wide ? 0x1.8p52 : 0x1.8p23) + bias);
  Exponent e = {.n = sum(m, product(m, x, constant(m, M_LOG2E)), magic)};
  Value n = difference(m, e.n, magic), q;
  Value high = product(m, n, constant(m, m->wide ? 0.693145751953125 : 0.693359375));
  Value low = product(m, n, constant(m, m->wide ? 1.42860682030941723212e-6 : -2.12194440e-4));
  Value r =
      turned ? sum(m, difference(m, high, x), low) : difference(m, difference(m, x, high), low);
  if (m->wide) {
    q = POLYNOMIAL(m, r, EXP_COEFFICIENTS);
  } else {
    q = POLYNOMIAL(m, r, 0.0013814525, 0.0083687522, 0.041668391, 0.16666521, 0.49999993);
  }
  e.minus_1 = sum(m, product(m, product(m, q, r), r), r);
  return e;
}

static Exponent reduced(Expression *m, Value x, int bias) { return reduced_by(m, x, bias, false); }

/* 2^n of an n that has the exponent's bias. */
static Value power_of_two(Expression *m, Value n) { return shifted_left(m, n, mantissa_bits(m)); }

/* x within the range where n, and twice the bias, is positive; 2^n is 0 at its end. */
static Value bounded_below(Expression *m, Value x) {
  return most(m, x, constant(m, m->wide ? -1418 : -176));
}

/* 2^n in two factors, as itself it may be out of range where its product with a number is not, or is
** denormal; n has twice the bias. Far below it both are 0: a product that underflows takes more than a
** hundred cycles, and masks of attention are all such. */
typedef struct Power {
  Value first, second;
} Power;

static Power wide_power_of_two(Expression *m, Value n) {
  Value half = shifted_right_unsigned(m, n, 1);
  return (Power){power_of_two(m, half), power_of_two(m, integer_difference(m, n, half))};
}

Value exponential_formula(Expression *m, Value x) {
  Value bounded = bounded_below(m, least(m, x, constant(m, m->wide ? 710 : 89)));
  Exponent e = reduced(m, bounded, 2 * exponent_bias(m));
  Power scale = wide_power_of_two(m, e.n);
  Value y = sum(m, e.minus_1, constant(m, 1));
  return product(m, product(m, y, scale.first), scale.second);
}

/* 2^n (e^r - 1) + (2^n - 1) loses nothing; at half its size, as 2^n may be out of range. Below the
** bound the result rounds to -1. */
static Value exponential_minus_one(Expression *m, Value x) {
  Value bounded = least(m, x, constant(m, m->wide ? 710 : 89));
  bounded = most(m, bounded, constant(m, m->wide ? -40 : -20));
  Exponent e = reduced(m, bounded, exponent_bias(m) - 1);
  Value half = power_of_two(m, e.n);
  Value y = sum(m, product(m, e.minus_1, half), difference(m, half, constant(m, 0.5)));
  y = sum(m, y, y);
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

/* 1 / (1 + e^-x) = 2^n / (2^n + e^-r), which holds where e^-x overflows. From the bound on it is 1. */
static Value logistic(Expression *m, Value x) {
  Value bounded = bounded_below(m, least(m, x, constant(m, 40)));
  Exponent e = reduced_by(m, bounded, 2 * exponent_bias(m), true);
  Power two_n = wide_power_of_two(m, e.n);
  Value scale = product(m, two_n.first, two_n.second);
  return quotient(m, scale, sum(m, scale, sum(m, e.minus_1, constant(m, 1))));
}

/* (e^2x - 1) / (e^2x + 1) with the sign of x. From the bound on the result is 1. */
static Value hyperbolic_tangent(Expression *m, Value x) {
  Value size = absolute(m, x);
  Value bounded = least(m, sum(m, size, size), constant(m, m->wide ? 44 : 20));
  Exponent e = reduced(m, bounded, exponent_bias(m));
  Value scale = power_of_two(m, e.n);
  Value y = sum(m, product(m, e.minus_1, scale), difference(m, scale, constant(m, 1)));
  y = quotient(m, y, sum(m, y, constant(m, 2)));
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* --- Logarithms ------------------------------------------------------------------------------- */

/* x = 2^n (1 + f) with 1 + f in [sqrt 1/2, sqrt 2). */
typedef struct Mantissa {
  Value n, f;
} Mantissa;

/* Of positive normal numbers. `scale` was added to the exponent, as an integer. */
static Mantissa split(Expression *m, Value x, Value scale) {
  int width = mantissa_bits(m);
  Value root = integer(m, m->wide ? INT64_C(0x3fe6a09e667f3bcd) : 0x3f3504f3); /* sqrt 1/2 */
  Value bits = integer_difference(m, x, root);
  Value low = integer(m, (INT64_C(1) << width) - 1);
  Value f = difference(m, integer_sum(m, both(m, bits, low), root), constant(m, 1)), n;
  if (m->wide) { /* there is no conversion of 64-bit integers */
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

/* n ln 2 + log(1 + f) + rest, where `rest` is small, or -1 for none. With s = f / (2 + f), log(1 + f)
** = 2 atanh s = f - s (f - s^2 R(s^2)); of f64 with the rounding of f in its own term. */
static Value log_of(Expression *m, Mantissa x, Value rest) {
  Value f = x.f, s = quotient(m, f, sum(m, f, constant(m, 2))), z = product(m, s, s);
  Value low = product(m, x.n, constant(m, m->wide ? 1.90821492927058770002e-10 : -2.12194440e-4));
  if (rest >= 0) low = sum(m, low, rest);
  Value high = product(m, x.n, constant(m, m->wide ? 6.93147180369123816490e-01 : 0.693359375));
  if (m->wide) {
    Value r = product(m, z, POLYNOMIAL(m, z, LOG_COEFFICIENTS));
    Value half = product(m, product(m, f, f), constant(m, 0.5));
    Value y = sum(m, product(m, s, sum(m, half, r)), low);
    return sum(m, high, sum(m, f, difference(m, y, half)));
  }
  Value r = product(m, z, POLYNOMIAL(m, z, 0.29873023, 0.39977498, 0.66666777));
  Value y = difference(m, low, product(m, s, difference(m, f, r)));
  return sum(m, high, sum(m, f, y));
}

/* The logarithm of x where it is 0, infinite, negative or NaN, and else y. */
static Value log_special(Expression *m, Value x, Value y) {
  Value zero = constant(m, 0), infinity = constant(m, INFINITY);
  Value negative = is_less(m, x, zero);
  y = selected(m, is_less(m, x, infinity), y, x); /* infinity and NaN */
  y = selected(m, is_equal(m, x, zero), constant(m, -INFINITY), y);
  return either(m, y, negative); /* all ones is a NaN */
}

Value log_formula(Expression *m, Value x) {
  Value denormal = is_less(m, x, constant(m, m->wide ? 0x1p-1022 : 0x1p-126));
  Value scaled = product(m, x, constant(m, m->wide ? 0x1p54 : 0x1p25));
  Value scale = both(m, denormal, integer(m, m->wide ? 54 : 25));
  Mantissa parts = split(m, selected(m, denormal, scaled, x), scale);
  return log_special(m, x, log_of(m, parts, -1));
}

/* Of positive normal numbers */
static Value log_of_normal(Expression *m, Value x) { return log_of(m, split(m, x, -1), -1); }

/* Where x is not positive and normal: as integers, numbers that are order as they do. */
static Value is_not_normal(Expression *m, Value x) {
  int width = mantissa_bits(m);
  Value least_normal = integer(m, INT64_C(1) << width);
  Value largest = integer(m, m->wide ? INT64_C(0x7fefffffffffffff) : 0x7f7fffff);
  return either(m, integer_less(m, x, least_normal), integer_less(m, largest, x));
}

/* With u = 1 + x as it is rounded, log(1 + x) = log u + (x - (u - 1)) / u. */
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

/* x P(x^2) up to 1, and from there 1 - Q(|x|)^8; with f32 rounds to 1 from 3.95 on. */
static Value error_function(Expression *m, Value x) {
  Value size = least(m, absolute(m, x), constant(m, 3.95));
  Value small = POLYNOMIAL(m, product(m, size, size), -0.00056314222, 0.0049175514, -0.026711311,
                           0.1128018, -0.37612326, 1.1283791);
  Value q = POLYNOMIAL(m, size, 0.00014751202297745165, -0.0024452370062073912,
                       0.012821478243789606, -0.011141891377705554, -0.061708930995939409,
                       -0.14488083001984287, 1.0007880813537837);
  for (int i = 0; i < 3; i++) q = product(m, q, q);
  Value one = constant(m, 1);
  Value y = selected(m, is_less(m, one, size), difference(m, one, q), product(m, small, size));
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* --- Integers --------------------------------------------------------------------------------- */

/* The exponent of the highest bit alone: with the next one cleared, nothing is rounded up to the power
** above. Numbers with a sign have no zeros; of 0 there are 32. */
static Value leading_zeros(Expression *m, Value x) {
  Value top = without(m, x, shifted_right_unsigned(m, x, 1));
  Value exponent = shifted_right_unsigned(
      m, expression_op(m, F32X4_CONVERT_I32X4_S, 1, top, -1, -1), mantissa_bits(m));
  Value count = integer_difference(m, integer(m, exponent_bias(m) + 31), exponent);
  count = expression_op(m, I32X4_MIN_U, 2, count, integer(m, 32), -1);
  return without(m, count, shifted_right(m, x, 31));
}

/* --- Which there are -------------------------------------------------------------------------- */

static bool is_float_lanes(LaneKind kind) { return kind == LANES_F32 || kind == LANES_F64; }

Formula *math_formula(Opcode opcode, LaneKind kind) {
  if (opcode == HLO_CLZ && kind == LANES_I32) return leading_zeros;
  if (!is_float_lanes(kind)) return NULL;
  switch (opcode) {
  case HLO_ACOS: return kind == LANES_F32 ? arc_cosine_formula : NULL;
  case HLO_ASIN: return kind == LANES_F32 ? arc_sine_formula : NULL;
  case HLO_EXP: return exponential_formula;
  case HLO_EXPM1: return exponential_minus_one;
  case HLO_LOG: return log_of_normal;
  case HLO_LOG1P: return log_plus_one_of_normal;
  case HLO_LOGISTIC: return logistic;
  case HLO_TANH: return hyperbolic_tangent;
  case HLO_ERF: return kind == LANES_F32 ? error_function : NULL;
  default: return NULL;
  }
}

const Exception *math_exception(Opcode opcode, LaneKind kind) {
  static const Exception of_log = {is_not_normal, log_formula};
  static const Exception of_log_plus_one = {is_not_normal_plus_one, log_plus_one};
  if (!is_float_lanes(kind)) return NULL;
  switch (opcode) {
  case HLO_ACOS: return kind == LANES_F32 ? &arc_cosine_exception : NULL;
  case HLO_ASIN: return kind == LANES_F32 ? &arc_sine_exception : NULL;
  case HLO_LOG: return &of_log;
  case HLO_LOG1P: return &of_log_plus_one;
  default: return NULL;
  }
}
