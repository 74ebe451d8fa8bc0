/*
** Real functions as formulas. The polynomials of f64, and of erf, were fitted for minimal error by Remez's
** algorithm with 200 bits; that of the logarithm of f32 is from Moshier's Cephes library (logf.c).
*/
#include "codegen/formulas/formulas.h"

#include <math.h>

#include "codegen/formulas/lanes.h"
#include "vectors/coefficients.h"

/* --- Exponentials ----------------------------------------------------------------------------- */

/* x = n ln 2 + r with |r| < 0.42. With r coth(r/2) = 2 + r^2 P(r^2) and w = r^2 P(r^2) - r,
** e^r - 1 = 2 r / (2 + w) = r - r w / (2 + w). P needs half the terms of a polynomial for e^r. */
typedef struct Exponent {
  Value n;       /* plus a bias, an integer in the low bits, 9 of f32 and 12 of f64 */
  Value r, w, d; /* 2 + w */
} Exponent;

static int mantissa_bits(const Expression *m) { return m->is_64_bit ? 52 : 23; }
static int exponent_bias(const Expression *m) { return m->is_64_bit ? 1023 : 127; }

/* Rounds `log2` to the integer n and returns r of times * x, divided by `times`, which is 1 or 2. Adding
** 1.5 * 2^(mantissa bits) leaves the integer in the low bits, plus the bias. n times the first part of ln 2 is
** exact. */
static Value reduced_by(Expression *m, Value x, int times, Value log2, int bias, Value *biased_n) {
  Value magic = constant(m, (m->is_64_bit ? 0x1.8p52 : 0x1.8p23) + bias);
  *biased_n = sum(m, log2, magic);
  Value n = difference(m, *biased_n, magic);
  double high_part = m->is_64_bit ? 0.693145751953125 : 0.693359375;
  double low_part = m->is_64_bit ? 1.42860682030941723212e-6 : -2.12194440e-4;
  Value high = product(m, n, constant(m, high_part / times));
  Value low = product(m, n, constant(m, low_part / times));
  return difference(m, difference(m, x, high), low);
}

/* Returns x^2, but never a denormal, which would take more than a hundred cycles. A square that small changes
** no sum. A difference needs no check: it is 0, or at least the last bit of its operands. */
static Value square_of(Expression *m, Value x) {
  if (!m->of_difference) x = sum(m, x, constant(m, m->is_64_bit ? 0x1p-300 : 0x1p-40));
  return product(m, x, x);
}

/* Reduces x. `log2` is x / ln 2, or near enough for |r| to be within the bound. */
static Exponent reduced(Expression *m, Value x, Value log2, int bias) {
  Exponent e;
  e.r = reduced_by(m, x, 1, log2, bias, &e.n);
  Value z = square_of(m, e.r), p;
  if (m->is_64_bit) {
    p = POLYNOMIAL(m, z, 4.1186016402746535e-8, -1.65332337216623594e-6, 6.6137555147146191e-5,
                   -0.00277777777730465904, 0.166666666666659575);
  } else {
    p = POLYNOMIAL(m, z, -0.0027607315115f, 0.1666656421881f);
  }
  e.w = difference(m, product(m, z, p), e.r);
  e.d = sum(m, e.w, constant(m, 2));
  return e;
}

/* Returns e^r - 1. r is cut to multiples of a small step; the product would lose lower bits anyway. The result
** is never denormal. */
static Value minus_one(Expression *m, Exponent e) {
  Value step = constant(m, m->is_64_bit ? 0x1p-100 : 0x1p-16);
  Value cut = difference(m, sum(m, e.r, step), step);
  return difference(m, e.r, product(m, cut, quotient(m, e.w, e.d)));
}

/* e^r as (d + s) / (d - s) with tanh(r / 2) = s / d: half as many terms, for formulas that divide anyway. */
typedef struct ExponentRatio {
  Value n, s, d;
} ExponentRatio;

/* Of e^(times x). With times = 2, the coefficients of z / 4 have factors that are powers of two. */
static ExponentRatio reduced_ratio(Expression *m, Value x, int times, int bias) {
  ExponentRatio e;
  Value log2 = product(m, x, constant(m, times * M_LOG2E));
  Value r = reduced_by(m, x, times, log2, bias, &e.n), z = square_of(m, r);
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

/* e^r / 2 times 2^(n + bias - the format's bias). -0.28 < r < 0.42 minimises the effect of the quotient's error:
** 0.78 ulp, as by minus_one(), which is two instructions longer. For a difference, whose range of r is symmetric,
** it is 1.07 ulp. */
static Value scaled_exponential(Expression *m, Value x, int bias) {
  Value log2 = product(m, x, constant(m, M_LOG2E));
  if (!m->of_difference) log2 = difference(m, log2, constant(m, 0.1));
  Exponent e = reduced(m, x, log2, bias);
  Value y = sum(m, quotient(m, e.r, e.d), constant(m, 0.5));
  return product(m, y, power_of_two(m, e.n));
}

/* Two alternatives are less exact. With 0 <= r < ln 2 no 2^n is out of range, so large x need no branch; but r
** has one bit less, and the error is 1.9 ulp. A polynomial of degree 5 is two instructions longer: 2.2 ulp. */
static Value exponential(Expression *m, Value x) {
  return if_normal(m, x, scaled_exponential(m, x, exponent_bias(m) + 1));
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
  Value quarter = scaled_exponential(m, bounded, exponent_bias(m) - 1);
  return product(m, quarter, constant(m, 4));
}

/* e^x - 1 as 2^n (e^r - 1) + (2^n - 1), which loses no bits. It is computed at half size, as 2^n may be out of
** range. Below the bound the result rounds to -1. */
static Value exponential_minus_one(Expression *m, Value x) {
  Value bounded = minimum(m, x, constant(m, m->is_64_bit ? 710 : 89));
  bounded = maximum(m, bounded, constant(m, m->is_64_bit ? -40 : -20));
  Value log2 = product(m, bounded, constant(m, M_LOG2E));
  Exponent e = reduced(m, bounded, log2, exponent_bias(m) - 1);
  Value half = power_of_two(m, e.n);
  Value y = sum(m, product(m, minus_one(m, e), half), difference(m, half, constant(m, 0.5)));
  y = sum(m, y, y);
  return selected(m, is_equal(m, x, constant(m, 0)), x, y); /* keeps -0 */
}

/* e^x / (e^x + 1), which is large enough at the upper bound */
static Value logistic(Expression *m, Value x) {
  ExponentRatio e = reduced_ratio(m, minimum(m, x, constant(m, 40)), 1, exponent_bias(m));
  Value y = product(m, power_of_two(m, e.n), sum(m, e.d, e.s));
  y = quotient(m, y, sum(m, y, difference(m, e.d, e.s)));
  return if_normal(m, x, y);
}

/* (e^2x - 1) / (e^2x + 1) with the sign of x; half the numerator is 2^n s + (2^n - 1) / 2 (d - s). Small numbers
** lose no bits, and large ones few, as the term is also in the denominator. From the bound on the result is 1. */
static Value hyperbolic_tangent(Expression *m, Value x) {
  Value bounded = minimum(m, absolute(m, x), constant(m, m->is_64_bit ? 22 : 10));
  ExponentRatio e = reduced_ratio(m, bounded, 2, exponent_bias(m) - 1);
  Value half = power_of_two(m, e.n), rest = difference(m, e.d, e.s);
  Value y = sum(m, product(m, sum(m, half, half), e.s),
                product(m, difference(m, half, constant(m, 0.5)), rest));
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
  Value high =
      product(m, x.n, constant(m, m->is_64_bit ? 6.93147180369123816490e-01 : 0.693359375));
  if (m->is_64_bit) {
    Value r = product(m, z, POLYNOMIAL(m, z, LOG_COEFFICIENTS));
    Value half = product(m, product(m, f, f), constant(m, 0.5));
    Value y = sum(m, product(m, s, sum(m, half, r)), low);
    return sum(m, high, sum(m, f, difference(m, y, half)));
  }
  Value r = product(m, z, POLYNOMIAL(m, z, 0.29873023f, 0.39977498f, 0.66666777f));
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

static Value log_formula(Expression *m, Value x) {
  Value denormal = is_less(m, x, constant(m, m->is_64_bit ? 0x1p-1022 : 0x1p-126));
  Value scaled = product(m, x, constant(m, m->is_64_bit ? 0x1p54 : 0x1p25));
  Value scale = both(m, denormal, integer(m, m->is_64_bit ? 54 : 25));
  Mantissa parts = split(m, selected(m, denormal, scaled, x), scale);
  return log_special(m, x, log_of(m, parts, -1));
}

/* Returns the logarithm of positive normal numbers. */
static Value log_of_normal(Expression *m, Value x) { return log_of(m, split(m, x, -1), -1); }

/* Where x is not positive and normal. Positive floats compare like their bits as integers. */
static Value is_not_normal(Expression *m, Value x) {
  int width = mantissa_bits(m);
  Value min_normal = integer(m, INT64_C(1) << width);
  Value largest = integer(m, m->is_64_bit ? INT64_C(0x7fefffffffffffff) : 0x7f7fffff);
  return either(m, integer_less(m, x, min_normal), integer_less(m, largest, x));
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

/* P of x^2, and Q */
static Value error_function_of_small(Expression *m, Value z) {
  if (!m->is_64_bit) {
    return POLYNOMIAL(m, z, -0.00056314222f, 0.0049175514f, -0.026711311f, 0.1128018f, -0.37612326f,
                      1.1283791f);
  }
  return POLYNOMIAL(m, z, -3.2618586963846077e-12, 7.936805515995936e-11, -1.18881237372237e-09,
                    1.4733923865337424e-08, -1.6356552036873496e-07, 1.6461280286306586e-06,
                    -1.4925597319889057e-05, 0.00012055330621484857, -0.0008548326951906546,
                    0.005223977624032816, -0.026866170644964424, 0.11283791670954092,
                    -0.37612638903183726, 1.1283791670955126);
}
static Value complement_root(Expression *m, Value x) {
  if (!m->is_64_bit) {
    return POLYNOMIAL(m, x, 0.00014751202297745165f, -0.0024452370062073912f, 0.012821478243789606f,
                      -0.011141891377705554f, -0.061708930995939409f, -0.14488083001984287f,
                      1.0007880813537837f);
  }
  return POLYNOMIAL(m, x, 3.422684396008848e-14, -1.718516231991246e-12, 4.0840842619418814e-11,
                    -6.125193190867591e-10, 6.481626001225129e-09, -5.0668196031148085e-08,
                    2.9392941708019813e-07, -1.2310908739517959e-06, 3.543223009315579e-06,
                    -6.518178812804462e-06, 1.5119932497157958e-06, 8.992551994648088e-05,
                    -0.0005262753471949319, 0.00020922907815638594, 0.006566781819709348,
                    -0.0020746368169243926, -0.06963627343594152, -0.14104595693842958,
                    0.9999998384483051);
}

/* x P(x^2) for small x; for others 1 - Q(|x|)^8, which rounds to 1 from 3.95 (f32) or 5.93 (f64) on. */
static Value error_function(Expression *m, Value x) {
  Value size = minimum(m, absolute(m, x), constant(m, m->is_64_bit ? 5.93 : 3.95));
  Value bounded =
      maximum(m, size, constant(m, m->is_64_bit ? 0x1p-200 : 0x1p-20)); /* no denormals */
  Value small = error_function_of_small(m, product(m, bounded, bounded));
  Value q = complement_root(m, bounded);
  for (int i = 0; i < 3; i++) q = product(m, q, q);
  Value one = constant(m, 1), bound = constant(m, m->is_64_bit ? 1.25 : 1);
  Value y = selected(m, is_less(m, bound, size), difference(m, one, q), product(m, small, size));
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
    y = sum(m, t, product(m, difference(m, s, t), constant(m, 1.0 / 3)));
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
