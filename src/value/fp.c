/* Converts between double and the narrow float formats: see fp.h. */
#include "value/fp.h"

#include <math.h>
#include <string.h>

const FpFormat fp_f16 = {5, 10, 15, FP_IEEE};
const FpFormat fp_bf16 = {8, 7, 127, FP_IEEE};
const FpFormat fp_f8e5m2 = {5, 2, 15, FP_IEEE};
const FpFormat fp_f8e4m3 = {4, 3, 7, FP_IEEE};
const FpFormat fp_f8e3m4 = {3, 4, 3, FP_IEEE};
const FpFormat fp_f8e4m3fn = {4, 3, 7, FP_FN};
const FpFormat fp_f8e4m3b11fnuz = {4, 3, 11, FP_FNUZ};
const FpFormat fp_f8e5m2fnuz = {5, 2, 16, FP_FNUZ};
const FpFormat fp_f8e4m3fnuz = {4, 3, 8, FP_FNUZ};
const FpFormat fp_f8e8m0fnu = {8, 0, 127, FP_FNU};
const FpFormat fp_f4e2m1fn = {2, 1, 1, FP_ALL};

/* Threshold DOUBLE_BIAS, DOUBLE_MANTISSA: parts of a float's format. No path. */
enum { DOUBLE_BIAS = 1023, DOUBLE_MANTISSA = 52 };

/* Returns 2^exponent, for the exponents of normal doubles. */
static double power_of_two(int exponent) {
  uint64_t bits = (uint64_t)(exponent + DOUBLE_BIAS) << DOUBLE_MANTISSA;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A bit pattern is a sign bit above a magnitude (exponent and mantissa). Magnitudes are ordered like their
** values, so the finite ones end where the special ones begin. */
static uint32_t sign_bit(const FpFormat *format) {
  return UINT32_C(1) << (format->exponent_bits + format->mantissa_bits);
}

static uint32_t first_special(const FpFormat *format) {
  switch (format->specials) {
  case FP_IEEE: return sign_bit(format) - (UINT32_C(1) << format->mantissa_bits);
  case FP_FN:
  case FP_FNU: return sign_bit(format) - 1;
  case FP_FNUZ:
  case FP_ALL: break;
  }
  return sign_bit(format);
}

static double finite_to_double(const FpFormat *format, uint32_t magnitude) {
  uint32_t hidden = UINT32_C(1) << format->mantissa_bits;
  uint32_t mantissa = magnitude & (hidden - 1);
  int exponent = (int)(magnitude >> format->mantissa_bits);
  if (exponent || format->specials == FP_FNU) {
    mantissa |= hidden;
  } else {
    exponent = 1; /* subnormals have the scale of the smallest normal numbers */
  }
  return mantissa * power_of_two(exponent - format->bias - format->mantissa_bits);
}

double fp_to_double(const FpFormat *format, uint32_t bits) {
  uint32_t sign = bits & sign_bit(format), magnitude = bits & (sign_bit(format) - 1);
  double value;
  if (format->specials == FP_FNUZ && sign && !magnitude) {
    value = NAN;
  } else if (magnitude < first_special(format)) {
    value = finite_to_double(format, magnitude);
  } else {
    value = format->specials == FP_IEEE && magnitude == first_special(format) ? INFINITY : NAN;
  }
  return sign ? -value : value;
}

static uint32_t nan_magnitude(const FpFormat *format) {
  switch (format->specials) {
  case FP_IEEE: return first_special(format) | (UINT32_C(1) << (format->mantissa_bits - 1));
  case FP_FN:
  case FP_FNU: return first_special(format);
  case FP_FNUZ:
  case FP_ALL: break;
  }
  return sign_bit(format);
}

static uint32_t overflow_magnitude(const FpFormat *format) {
  switch (format->specials) {
  case FP_IEEE: return first_special(format);
  case FP_ALL: return first_special(format) - 1;
  default: return nan_magnitude(format);
  }
}

/* Returns the exponent of the nearest power of two; ties go up. */
static uint32_t power_from_double(const FpFormat *format, double value) {
  int exponent;
  if (!(value > 0) || value == INFINITY) return nan_magnitude(format);
  double fraction = frexp(value, &exponent); /* in [0.5, 1) */
  exponent += format->bias - (fraction < 0.75);
  if (exponent < 0) return 0;
  return exponent < (int)first_special(format) ? (uint32_t)exponent : nan_magnitude(format);
}

/*
** Let e be the exponent of the result, at least that of the smallest normal number. Then value / 2^(e - m)
** is below 2^(m+1), and its integer part is the mantissa with its hidden bit. Adding it to
** (e + bias - 1) << m adds the hidden bit, or the carry of rounding, to the exponent.
*/
uint32_t fp_from_double(const FpFormat *format, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = bits >> 63 ? sign_bit(format) : 0;
  if (format->specials == FP_FNU) return power_from_double(format, value);
  if (value != value) return sign | nan_magnitude(format);
  uint32_t overflow = overflow_magnitude(format);
  int exponent = (int)((bits >> DOUBLE_MANTISSA) & 0x7ff) - DOUBLE_BIAS;
  int mantissa_bits = format->mantissa_bits, min = 1 - format->bias;
  uint32_t magnitude = overflow;
  if (exponent < min) exponent = min;
  if (exponent + format->bias < 1 << format->exponent_bits) {
    double mantissa = rint(fabs(value) * power_of_two(mantissa_bits - exponent));
    magnitude = ((uint32_t)(exponent + format->bias - 1) << mantissa_bits) + (uint32_t)mantissa;
    if (magnitude >= first_special(format)) magnitude = overflow;
  }
  if (format->specials == FP_FNUZ && (magnitude == 0 || magnitude == overflow)) return magnitude;
  return sign | magnitude;
}
