/*
** Computes powers of complex numbers: x^y = e^(y ln x). An absolute error of the exponent becomes an equal
** relative error of the power. So y ln x needs more digits than double has: about as many more as it has
** before the point. It is computed as unevaluated sums of two doubles (T. J. Dekker, "A floating-point
** technique for extending the available precision", 1971), both parts at a time.
*/
#include <math.h>

#include "hlo/scalar/element.h"

typedef double Parts __attribute__((vector_size(16))); /* real, imaginary */

typedef struct Complex {
  Parts high, low; /* |low| is at most half a unit in the last place of high */
} Complex;

/* The folder is compiled for size; these functions are inlined for speed. */
#define INLINE static inline __attribute__((always_inline))

INLINE Complex exactly(double re, double im) { return (Complex){{re, im}, {0, 0}}; }

INLINE Complex sum_of(Parts a, Parts b) {
  Parts sum = a + b, of_b = sum - a;
  return (Complex){sum, (a - (sum - of_b)) + (b - of_b)};
}

INLINE Parts upper_half(Parts x) {
  Parts scaled = x * 0x1.0000002p27;
  return scaled - (scaled - x);
}

/* Works part by part, as all functions except times(). */
INLINE Complex product_of(Parts a, Parts b) {
  Parts a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1, product = a * b;
  return (Complex){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

INLINE Complex add(Complex x, Complex y) {
  Complex sum = sum_of(x.high, y.high);
  return sum_of(sum.high, sum.low + (x.low + y.low));
}

INLINE Complex multiply(Complex x, Complex y) {
  Complex product = product_of(x.high, y.high);
  return sum_of(product.high, product.low + (x.high * y.low + x.low * y.high));
}

static Complex divide(Complex x, double n) {
  Parts y = {n, n}, quotient = x.high / y;
  Complex product = product_of(quotient, y);
  return sum_of(quotient, (((x.high - product.high) - product.low) + x.low) / y);
}

INLINE Parts turned(Parts z) { return (Parts){-z[1], z[0]}; }

/* Returns x times the real part of y plus i x times the imaginary part. */
static Complex times(Complex x, Complex y) {
  Complex re = {{y.high[0], y.high[0]}, {y.low[0], y.low[0]}};
  Complex im = {{y.high[1], y.high[1]}, {y.low[1], y.low[1]}};
  return add(multiply(x, re), multiply((Complex){turned(x.high), turned(x.low)}, im));
}

/* Returns e^z for |z| < 4, within 2^-70, by Taylor's series at z / 128 and seven squarings. Double is exact
** enough for the terms from the fifth on. */
static Complex exponential(Parts z) {
  Complex scaled = exactly(z[0] / 128, z[1] / 128), sum = exactly(1, 0);
  for (int n = 12; n > 4; n--) {
    Parts product = scaled.high * sum.high[0] + turned(scaled.high) * sum.high[1];
    sum.high = product / n + (Parts){1, 0};
  }
  for (int n = 4; n > 0; n--) {
    sum = add(divide(times(scaled, sum), n), exactly(1, 0));
  }
  for (int i = 0; i < 7; i++) sum = times(sum, sum);
  return sum;
}

/* Returns ln z for finite z other than zero, after a factor 2^n is taken out. With w the logarithm in double,
** ln z = w + ln(z e^-w), where z e^-w is near 1. */
static Complex logarithm(Parts z) {
  const Complex log_2 = {{0x1.62e42fefa39efp-1, 0}, {0x1.abc9e3b39803fp-56, 0}};
  int n = ilogb(fmax(fabs(z[0]), fabs(z[1])));
  z = (Parts){scalbn(z[0], -n), scalbn(z[1], -n)};
  Parts w = {log(hypot(z[0], z[1])), atan2(z[1], z[0])};
  Complex rest = add(times(exactly(z[0], z[1]), exponential(-w)), exactly(-1, 0));
  return add(multiply(exactly(n, 0), log_2), sum_of(w, rest.high));
}

bool complex_power(Scalar x, Scalar y, Scalar *result) {
  if (!isfinite(x.f) || !isfinite(x.im) || (x.f == 0 && x.im == 0)) return false;
  Complex z = times(exactly(y.f, y.im), logarithm((Parts){x.f, x.im}));
  double size = z.high[0], angle = z.high[1];
  if (!(size > -745 && size < 709.75 && fabs(angle) < 0x1p40)) return false;
  double scale = exp(size), cosine = cos(angle), sine = sin(angle);
  scale += scale * z.low[0];
  result->f = scale * (cosine - z.low[1] * sine);
  result->im = scale * (sine + z.low[1] * cosine);
  return true;
}
