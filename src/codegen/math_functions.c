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
  Value n;       /* an integer in the low bits, 9 of f32 and 12 of f64 */
  Value minus_1; /* e^r - 1 */
} Exponent;

/* Adding 1.5 * 2^(mantissa bits) rounds to an integer, and leaves it in the low bits. n times the
** first part of ln 2 is exact. */
static Exponent reduced(Expression *m, Value x) {
  Value magic = constant(m, m->wide ? 0x1.8p52 : 0x1.8p23);
  Exponent e = {.n = sum(m, product(m, x, constant(m, M_LOG2E)), magic)};
  Value n = difference(m, e.n, magic), r, q;
  if (m->wide) {
    r = sum(m, x, product(m, n, constant(m, -0.693145751953125)));
    r = sum(m, r, product(m, n, constant(m, -1.42860682030941723212e-6)));
    q = POLYNOMIAL(m, r, EXP_COEFFICIENTS);
  } else {
    r = sum(m, x, product(m, n, constant(m, -0.693359375)));
    r = sum(m, r, product(m, n, constant(m, 2.12194440e-4)));
    q = POLYNOMIAL(m, r, 1.9875691500E-4, 1.3981999507E-3, 8.3334519073E-3, 4.1665795894E-2,
                   1.6666665459E-1, 5.0000001201E-1);
  }
  e.minus_1 = sum(m, product(m, product(m, q, r), r), r);
  return e;
}

/* 2 to the power of an integer in the low bits, by way of the exponent's. */
static Value power_of_two(Expression *m, Value n) {
  return integer_sum(m, shifted_left(m, n, m->wide ? 52 : 23), constant(m, 1));
}

/* e^x up to where it is infinite. The scaling takes two steps, as 2^n itself may be out of range where
** the result is denormal. Where it is 0, e^0 is computed instead: a product that underflows takes more
** than a hundred cycles, and masks of attention are all of such. */
static Value scaled_exponential(Expression *m, Value x) {
  Value vanishes = is_less(m, x, constant(m, m->wide ? -746 : -104));
  Exponent e = reduced(m, without(m, x, vanishes));
  Value half = shifted_right_unsigned(m, e.n, 1);
  Value y = product(m, sum(m, e.minus_1, constant(m, 1)), power_of_two(m, half));
  y = product(m, y, power_of_two(m, integer_difference(m, e.n, half)));
  return without(m, y, vanishes);
}

Value exponential_formula(Expression *m, Value x) {
  return scaled_exponential(m, least(m, x, constant(m, m->wide ? 710 : 89)));
}

/* 2^n (e^r - 1) + (2^n - 1) loses nothing; at half its size, as 2^n may be out of range. Below the
** bound the result rounds to -1. */
static Value exponential_minus_one(Expression *m, Value x) {
  Value bounded = least(m, x, constant(m, m->wide ? 710 : 89));
  bounded = most(m, bounded, constant(m, m->wide ? -40 : -20));
  Exponent e = reduced(m, bounded);
  Value half = power_of_two(m, integer_difference(m, e.n, integer(m, 1)));
  Value y = sum(m, product(m, e.minus_1, half), difference(m, half, constant(m, 0.5)));
  y = product(m, y, constant(m, 2));
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

/* 1 / (1 + e^-x), with e^x / (1 + e^x) for negative x, where e^-x could overflow. */
static Value logistic(Expression *m, Value x) {
  Value one = constant(m, 1);
  Value e = scaled_exponential(m, either(m, x, constant(m, -0.0)));
  Value numerator = selected(m, is_less(m, x, constant(m, 0)), e, one);
  return quotient(m, numerator, sum(m, e, one));
}

/* (e^2x - 1) / (e^2x + 1) with the sign of x. From the bound on the result is 1. */
static Value hyperbolic_tangent(Expression *m, Value x) {
  Value size = absolute(m, x);
  Exponent e = reduced(m, least(m, sum(m, size, size), constant(m, m->wide ? 44 : 20)));
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
  int width = m->wide ? 52 : 23;
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

/* n ln 2 + log(1 + f) + rest, where `rest` is small, or -1 for none. */
static Value log_of(Expression *m, Mantissa x, Value rest) {
  Value f = x.f, half = product(m, product(m, f, f), constant(m, 0.5));
  Value low = product(m, x.n, constant(m, m->wide ? 1.90821492927058770002e-10 : -2.12194440e-4));
  if (rest >= 0) low = sum(m, low, rest);
  Value high = product(m, x.n, constant(m, m->wide ? 6.93147180369123816490e-01 : 0.693359375));
  Value y;
  if (m->wide) { /* with s = f / (2 + f): 2 atanh s = f - f^2/2 + s (f^2/2 + s^2 R(s^2)) */
    Value s = quotient(m, f, sum(m, f, constant(m, 2))), z = product(m, s, s);
    Value r = POLYNOMIAL(m, z, LOG_COEFFICIENTS);
    y = sum(m, product(m, s, sum(m, half, product(m, z, r))), low);
  } else {
    Value p = POLYNOMIAL(m, f, 7.0376836292E-2, -1.1514610310E-1, 1.1676998740E-1, -1.2420140846E-1,
                         1.4249322787E-1, -1.6668057665E-1, 2.0000714765E-1, -2.4999993993E-1,
                         3.3333331174E-1);
    y = sum(m, product(m, product(m, f, product(m, f, f)), p), low);
  }
  return sum(m, high, sum(m, f, difference(m, y, half)));
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

/* With u = 1 + x as it is rounded, log(1 + x) = log u + (x - (u - 1)) / u. */
static Value log_plus_one(Expression *m, Value x) {
  Value one = constant(m, 1), u = sum(m, x, one);
  Value lost = quotient(m, difference(m, x, difference(m, u, one)), u);
  Value y = log_special(m, u, log_of(m, split(m, u, -1), lost));
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

/* --- erf -------------------------------------------------------------------------------------- */

/* x P(x^2) up to 1, and from there 1 - Q(|x|)^8; with f32 rounds to 1 from 3.95 on. */
static Value error_function(Expression *m, Value x) {
  Value size = least(m, absolute(m, x), constant(m, 3.95));
  Value small = POLYNOMIAL(m, product(m, size, size), 7.787699083932908e-05,
                           -0.00079916179006144135, 0.0051863836398188898, -0.026852880691154803,
                           0.11283565146920828, -0.37612624267669581, 1.1283791655324569);
  Value q = POLYNOMIAL(m, size, 0.00014751202297745165, -0.0024452370062073912,
                       0.012821478243789606, -0.011141891377705554, -0.061708930995939409,
                       -0.14488083001984287, 1.0007880813537837);
  for (int i = 0; i < 3; i++) q = product(m, q, q);
  Value one = constant(m, 1);
  Value y = selected(m, is_less(m, one, size), difference(m, one, q), product(m, small, size));
  return either(m, y, both(m, x, constant(m, -0.0)));
}

/* --- Which there are -------------------------------------------------------------------------- */

Formula *math_formula(Opcode opcode, LaneKind kind) {
  if (kind != LANES_F32 && kind != LANES_F64) return NULL;
  switch (opcode) {
  case HLO_EXP: return exponential_formula;
  case HLO_EXPM1: return exponential_minus_one;
  case HLO_LOG: return log_formula;
  case HLO_LOG1P: return log_plus_one;
  case HLO_LOGISTIC: return logistic;
  case HLO_TANH: return hyperbolic_tangent;
  case HLO_ERF: return kind == LANES_F32 ? error_function : NULL;
  default: return NULL;
  }
}
