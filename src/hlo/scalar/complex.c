/*
** Computes complex functions in double. As far as double allows, the formulas avoid cancellation in either
** component, and overflow before the result overflows.
*/
#include <math.h>

#include "hlo/scalar/element.h"

static const double HALF_PI = 0x1.921fb54442d18p0;

typedef Scalar Complex; /* f + im i */

static Complex make(double re, double im) { return (Complex){.f = re, .im = im}; }
static Complex times_i(Complex z) { return make(-z.im, z.f); }
static Complex over_i(Complex z) { return make(z.im, -z.f); }
static Complex plus(double x, Complex z) { return make(x + z.f, z.im); }
static Complex minus(double x, Complex z) { return make(x - z.f, -z.im); }

static bool is_zero(Complex z) { return z.f == 0 && z.im == 0; }

/* Multiplies, but keeps an exact zero whatever the factor: the component is zero on a whole line. */
static double times(double trigonometric, double factor) {
  return trigonometric * (trigonometric == 0 ? copysign(1, factor) : factor);
}

/* ---- The arithmetic operations: every step is rounded to the component type ---- */

static double narrow(PrimitiveType type, double x) { return type == C64 ? (float)x : x; }

static Complex multiply(PrimitiveType type, Complex x, Complex y) {
  return make(narrow(type, x.f * y.f) - narrow(type, x.im * y.im),
              narrow(type, x.f * y.im) + narrow(type, x.im * y.f));
}

/* Smith's algorithm (CACM 5(8), 1962), for |y.f| >= |y.im|. */
static Complex divide_by_larger_real(PrimitiveType type, Complex x, Complex y) {
  double ratio = narrow(type, y.im / y.f);
  double denominator = narrow(type, y.f + narrow(type, ratio * y.im));
  return make(narrow(type, x.f + narrow(type, ratio * x.im)) / denominator,
              narrow(type, x.im - narrow(type, ratio * x.f)) / denominator);
}

/* Returns the value of a component in a quotient with infinities, where only their signs count. */
static double infinite_unit(double x) { return copysign(isinf(x) ? 1 : 0, x); }

/* Returns the quotient of C's Annex G for cases in which Smith's algorithm gives NaN + NaN i. */
static Complex divide_special(Complex x, Complex y, Complex otherwise) {
  if (is_zero(y) && (x.f == x.f || x.im == x.im)) {
    double infinity = copysign(INFINITY, y.f);
    return make(infinity * x.f, infinity * x.im);
  }
  if ((isinf(x.f) || isinf(x.im)) && isfinite(y.f) && isfinite(y.im)) {
    double a = infinite_unit(x.f), b = infinite_unit(x.im);
    return make(INFINITY * (a * y.f + b * y.im), INFINITY * (b * y.f - a * y.im));
  }
  if ((isinf(y.f) || isinf(y.im)) && isfinite(x.f) && isfinite(x.im)) {
    double c = infinite_unit(y.f), d = infinite_unit(y.im);
    return make(0 * (x.f * c + x.im * d), 0 * (x.im * c - x.f * d));
  }
  return otherwise;
}

static Complex divide(PrimitiveType type, Complex x, Complex y) {
  Complex quotient;
  if (fabs(y.f) < fabs(y.im)) {
    /* x / y = (x / i) / (y / i), whose denominator has the larger real part. */
    quotient = divide_by_larger_real(type, over_i(x), over_i(y));
  } else {
    quotient = divide_by_larger_real(type, x, y);
  }
  bool nan = quotient.f != quotient.f && quotient.im != quotient.im;
  return nan ? divide_special(x, y, quotient) : quotient;
}

/* ---- Absolute value, sign, roots ---- */

static double absolute(Complex z) { return z.f != z.f || z.im != z.im ? NAN : hypot(z.f, z.im); }

static Complex sign_of(Complex z) {
  if (is_zero(z)) return make(0, 0);
  bool huge = fmax(fabs(z.f), fabs(z.im)) > 0x1p1022; /* the absolute value may overflow */
  Complex scaled = huge ? make(z.f / 4, z.im / 4) : z;
  double r = absolute(scaled);
  return make(scaled.f / r, scaled.im / r);
}

/* With t = sqrt((|x| + |z|) / 2), the root is t + y / 2t i for x >= 0, and |y| / 2t + t i (with the
** sign of y) for x < 0. Huge and tiny numbers are scaled by an even power of two first. */
static Complex finite_square_root(Complex z) {
  double largest = fmax(fabs(z.f), fabs(z.im));
  int half = largest > 0x1p1020 ? 27 : largest < 0x1p-960 ? -54 : 0;
  double x = scalbn(z.f, -2 * half), y = scalbn(z.im, -2 * half);
  double t = sqrt((fabs(x) + hypot(x, y)) / 2), u = y / (2 * t);
  t = scalbn(t, half);
  u = scalbn(u, half);
  return x < 0 ? make(fabs(u), copysign(t, y)) : make(t, u);
}

static Complex square_root(Complex z) {
  if (z.f != z.f || z.im != z.im) return make(NAN, NAN);
  if (is_zero(z)) return make(0, z.im);
  if (isinf(z.im)) return make(INFINITY, z.im);
  if (isinf(z.f)) {
    return z.f > 0 ? make(INFINITY, copysign(0, z.im)) : make(0, copysign(INFINITY, z.im));
  }
  return finite_square_root(z);
}

/* Computes the root as XLA:CPU: on the branch cut both zeros give +i. */
static Complex xla_square_root(Complex z) {
  Complex root = square_root(z);
  bool lower_edge = z.im == 0 && z.f < 0;
  return lower_edge ? make(root.f, fabs(root.im)) : root;
}

static Complex reciprocal_root(Complex z) {
  if (is_zero(z)) return make(INFINITY, NAN);
  if (isinf(z.f) || isinf(z.im)) return make(copysign(0, z.f), -copysign(0, z.im));
  Complex root = square_root(z);
  double r = absolute(root), square = absolute(z);
  if (square > 0x1p-1000 && square < INFINITY) return make(root.f / square, -root.im / square);
  return make(root.f / r / r, -root.im / r / r);
}

/* ---- Exponential functions ---- */

/* e^x times a factor of at most 1, where e^x alone may overflow. */
static double exp_times(double x, double factor) {
  if (x < 709 || isinf(x) || factor == 0) return times(factor, exp(x));
  double half = exp(x / 2);
  return factor * half * half;
}

static double cosh_times(double x, double factor) {
  return fabs(x) < 709 ? times(factor, cosh(x)) : exp_times(fabs(x), factor / 2);
}

static double sinh_times(double x, double factor) {
  return fabs(x) < 709 ? times(factor, sinh(x)) : exp_times(fabs(x), copysign(1, x) * factor / 2);
}

static Complex exponential(Complex z) {
  if (z.im == 0) return make(exp(z.f), z.im);
  return make(exp_times(z.f, cos(z.im)), exp_times(z.f, sin(z.im)));
}

/* e^x cos y - 1 = (e^x - 1) cos y - 2 sin(y/2)^2 */
static Complex exponential_minus_one(Complex z) {
  if (z.im == 0) return make(expm1(z.f), z.im);
  double half = sin(z.im / 2), cosine = cos(z.im);
  double re = z.f > 40 ? exp_times(z.f, cosine) - 1 : expm1(z.f) * cosine - 2 * half * half;
  return make(re, exp_times(z.f, sin(z.im)));
}

static Complex hyperbolic_sine(Complex z) {
  return make(sinh_times(z.f, cos(z.im)), cosh_times(z.f, sin(z.im)));
}

static Complex hyperbolic_cosine(Complex z) {
  return make(cosh_times(z.f, cos(z.im)), sinh_times(z.f, sin(z.im)));
}

/*
** tanh(x + yi) = (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2). As 1 + sinh(x)^2 - sin(y)^2
** the denominator has fewer digits to lose where the sine is the smaller one. For large |x| all is
** multiplied by 4t, t = e^-2|x|: (1 - t^2 + 4t i sin y cos y) / (1 + t^2 + 2t cos 2y).
*/
static Complex hyperbolic_tangent(Complex z) {
  double s = sin(z.im), c = cos(z.im);
  if (isinf(z.f)) return make(copysign(1, z.f), copysign(0, s * c));
  if (fabs(z.f) > 1) {
    double t = exp(-2 * fabs(z.f)), below = 1 + t * (t + 2 * (c - s) * (c + s));
    return make(copysign((1 - t) * (1 + t) / below, z.f), 4 * t * s * c / below);
  }
  double sh = sinh(z.f), product = fabs(z.im) < 0x1p1000 ? sin(2 * z.im) / 2 : s * c;
  double denominator = fabs(s) < fabs(c) ? 1 + (sh - s) * (sh + s) : sh * sh + c * c;
  return make(sh * cosh(z.f) / denominator, z.im == 0 ? z.im : product / denominator);
}

/* 1 / (1 + e^-z) = (1 + tanh(z / 2)) / 2, and where that cancels with t = e^-|x|:
** (e^x + cos y + i sin y) / (2 (cosh x + cos y)) = (te^x + t cos y + it sin y) / (1 + t^2 + 2t cos y) */
static Complex logistic(Complex z) {
  double t = exp(-fabs(z.f)), c = cos(z.im), below = 1 + t * (t + 2 * c);
  if (t > 0.25) {
    Complex tangent = hyperbolic_tangent(make(z.f / 2, z.im / 2));
    return make((1 + tangent.f) / 2, tangent.im / 2);
  }
  return make((z.f < 0 ? t * (t + c) : 1 + t * c) / below, t * sin(z.im) / below);
}

/* ---- Logarithms and powers ---- */

/* Returns a + b, rounded. *lost: the rounding error (Knuth's two-sum). */
static double add_exactly(double a, double b, double *lost) {
  double sum = a + b, virtual_b = sum - a;
  *lost += (a - (sum - virtual_b)) + (b - virtual_b);
  return sum;
}

/* linear + x^2 + y^2, computed as if in twice the precision. */
static double add_squares(double linear, double x, double y) {
  double lost = 0, xx = x * x, yy = y * y;
  double sum = add_exactly(add_exactly(xx, linear, &lost), yy, &lost);
  return sum + (lost + fma(x, x, -xx) + fma(y, y, -yy));
}

/* ln |z|: by log1p(|z|^2 - 1) / 2 where |z| is near 1. */
static double log_absolute(Complex z) {
  double r = absolute(z);
  if (r > 0.6 && r < 1.7) return log1p(add_squares(-1, z.f, z.im)) / 2;
  bool huge = isinf(r) && isfinite(z.f) && isfinite(z.im);
  return huge ? log(hypot(z.f / 4, z.im / 4)) + log(4) : log(r);
}

static Complex logarithm(Complex z) { return make(log_absolute(z), atan2(z.im, z.f)); }

/* |1 + z|^2 - 1 = 2x + x^2 + y^2 */
static Complex log_plus_one(Complex z) {
  Complex w = plus(1, z);
  double r = absolute(w);
  double re = r > 0.6 && r < 1.7 ? log1p(add_squares(2 * z.f, z.f, z.im)) / 2 : log_absolute(w);
  return make(re, atan2(w.im, w.f));
}

/* x^(c + di) = r^c e^(-d a) (cos q + i sin q) with x = r e^(ai) and q = c a + d ln r. Infinities, zeros and
** NaN give XLA's results. */
static Complex power(Complex x, Complex y) {
  Complex ordinary;
  if (is_zero(y) || (x.f == 1 && x.im == 0)) return make(1, 0);
  if (complex_power(x, y, &ordinary)) return ordinary;
  double r = absolute(x), angle = atan2(x.im, x.f);
  if (y.im == 0 && r == 0 && y.f > 0) return make(0, 0);
  if (y.im == 0 && x.f == INFINITY && x.im == 0) return make(pow(x.f, y.f), 0);
  double scale = pow(r, y.f) * exp(-y.im * angle);
  double q = y.f * angle + y.im * log_absolute(x);
  return make(scale * cos(q), scale * sin(q));
}

/* ---- Inverse trigonometric and hyperbolic functions ----
** W. Kahan, "Branch cuts for complex elementary functions" (1987). */

static double real_of_conjugate_product(Complex a, Complex b) { return a.f * b.f + a.im * b.im; }
static double imag_of_conjugate_product(Complex a, Complex b) { return a.f * b.im - a.im * b.f; }

static Complex arc_sine(Complex z) {
  Complex below = square_root(minus(1, z)), above = square_root(plus(1, z));
  double re = atan2(z.f, below.f * above.f - below.im * above.im);
  return make(re, asinh(imag_of_conjugate_product(below, above)));
}

static Complex arc_cosine(Complex z) {
  Complex below = square_root(minus(1, z)), above = square_root(plus(1, z));
  return make(2 * atan2(below.f, above.f), asinh(imag_of_conjugate_product(above, below)));
}

static Complex arc_hyperbolic_cosine(Complex z) {
  Complex below = square_root(plus(-1, z)), above = square_root(plus(1, z));
  return make(asinh(real_of_conjugate_product(below, above)), 2 * atan2(below.im, above.f));
}

/* Re = log1p(4x / |1 - z|^2) / 4 for x > 0, and odd; Im = atan2(2y, 1 - |z|^2) / 2 */
static Complex arc_hyperbolic_tangent(Complex z) {
  double x = fabs(z.f), r = hypot(1 - x, z.im);
  if (r > 0x1p500) return make(z.f / r / r, copysign(HALF_PI, z.im));
  bool at_pole = r < 0x1p-500; /* where the square of r underflows: ln(4 / r^2) / 4 */
  double re = copysign(at_pole ? (log(2) - log(r)) / 2 : log1p(4 * x / r / r) / 4, z.f);
  return make(re, atan2(2 * z.im, -add_squares(-1, z.f, z.im)) / 2);
}

/* atan2(y, x) = -i ln((x + iy) / sqrt(x^2 + y^2)) */
static Complex arc_tangent(Complex y, Complex x) {
  Complex xx = multiply(C128, x, x), yy = multiply(C128, y, y);
  Complex sum = make(x.f - y.im, x.im + y.f);
  Complex root = xla_square_root(make(xx.f + yy.f, xx.im + yy.im));
  return over_i(logarithm(divide(C128, sum, root)));
}

/* ---- Dispatch ---- */

Scalar complex_unary(Opcode opcode, Scalar z) {
  switch (opcode) {
  case HLO_ABS: return make(absolute(z), 0);
  case HLO_ACOS: return arc_cosine(z);
  case HLO_ACOSH: return arc_hyperbolic_cosine(z);
  case HLO_ASIN: return arc_sine(z);
  case HLO_ASINH: return over_i(arc_sine(times_i(z)));
  case HLO_ATANH: return arc_hyperbolic_tangent(z);
  case HLO_COS: return hyperbolic_cosine(times_i(z));
  case HLO_COSH: return hyperbolic_cosine(z);
  case HLO_EXP: return exponential(z);
  case HLO_EXPM1: return exponential_minus_one(z);
  case HLO_IMAG: return make(z.im, 0);
  case HLO_LOG: return logarithm(z);
  case HLO_LOG1P: return log_plus_one(z);
  case HLO_LOGISTIC: return logistic(z);
  case HLO_NEGATE: return make(-z.f, -z.im);
  case HLO_REAL: return make(z.f, 0);
  case HLO_RSQRT: return reciprocal_root(z);
  case HLO_SIGN: return sign_of(z);
  case HLO_SIN: return over_i(hyperbolic_sine(times_i(z)));
  case HLO_SINH: return hyperbolic_sine(z);
  case HLO_SQRT: return xla_square_root(z);
  case HLO_TAN: return over_i(hyperbolic_tangent(times_i(z)));
  case HLO_TANH: return hyperbolic_tangent(z);
  default: scalar_missing(opcode);
  }
}

Scalar complex_binary(Opcode opcode, PrimitiveType type, Scalar x, Scalar y) {
  switch (opcode) {
  case HLO_ADD: return make(x.f + y.f, x.im + y.im);
  case HLO_SUBTRACT: return make(x.f - y.f, x.im - y.im);
  case HLO_MULTIPLY: return multiply(type, x, y);
  case HLO_DIVIDE: return divide(type, x, y);
  case HLO_POWER: return power(x, y);
  case HLO_ATAN2: return arc_tangent(x, y);
  default: scalar_missing(opcode);
  }
}
