/*
** The narrow floats: an element's bits, zero-extended to 32, to the f32 of that value and back, by
** integer arithmetic that is the same for all formats (base/fp.h). Rounds as fp_from_double() does.
** NaNs of the formats that have several keep what fits of their payload, so that data that is only
** moved keeps its bits.
*/
#include "codegen/math_functions.h"
#include "scalar/scalar.h"

enum { MANTISSA = 23, BIAS = 127 };

static int dropped(const FpFormat *format) { return MANTISSA - format->mantissa_bits; }
static int width(const FpFormat *format) {
  return 1 + format->exponent_bits + format->mantissa_bits;
}
static int64_t all_ones(const FpFormat *format) { return (INT64_C(1) << (width(format) - 1)) - 1; }
/* Where what is not a number begins: all ones, or, where only -0 is NaN, beyond. */
static int64_t first_special(const FpFormat *format) {
  switch (format->specials) {
  case FP_IEEE: return all_ones(format) & -(INT64_C(1) << format->mantissa_bits);
  case FP_FN: return all_ones(format);
  default: return all_ones(format) + 1;
  }
}
/* A number that is 1.0 in the format's exponent `above` places above the smallest. */
static int64_t least_exponent(const FpFormat *format, int above) {
  return (int64_t)(BIAS - format->bias + above) << MANTISSA;
}

/* --- bf16 is the upper half of f32 ------------------------------------------------------------ */

/* To nearest even: half of the last place kept, less one unless that is odd, is added before the cut. */
static Value rounded_bits(Expression *m, Value x, int drop) {
  Value odd = both(m, shifted_right_unsigned(m, x, drop), integer(m, 1));
  return integer_sum(m, integer_sum(m, x, odd), integer(m, (INT64_C(1) << (drop - 1)) - 1));
}

static Value bf16_bits(Expression *m, Value x) {
  Value high = shifted_right_unsigned(m, x, 16);
  Value empty = expression_op(m, I32X4_EQ, 2, both(m, high, integer(m, 0x7f)), integer(m, 0), -1);
  Value nan = either(m, high, both(m, empty, integer(m, 0x40)));
  Value number = shifted_right_unsigned(m, rounded_bits(m, x, 16), 16);
  return selected(m, is_equal(m, x, x), number, nan);
}

/* --- The others ------------------------------------------------------------------------------- */

/* A denormal is a number of the least exponent, less its 1. */
static Value decoded_magnitude(Expression *m, const FpFormat *format, Value magnitude) {
  Value normal = integer_sum(m, magnitude, integer(m, least_exponent(format, 0)));
  Value least_normal = integer(m, least_exponent(format, 1));
  Value denormal = difference(m, integer_sum(m, magnitude, least_normal), least_normal);
  Value is_denormal = integer_less(m, magnitude, integer(m, INT64_C(1) << MANTISSA));
  return selected(m, is_denormal, denormal, normal);
}

Value decoded(Expression *m, PrimitiveType type, Value bits) {
  if (type == BF16) return shifted_left(m, bits, 16);
  const FpFormat *format = narrow_format(type);
  int drop = dropped(format), above = 32 - width(format);
  Value sign = both(m, shifted_left(m, bits, above), integer(m, INT32_MIN));
  Value magnitude = both(m, shifted_left(m, bits, drop), integer(m, all_ones(format) << drop));
  Value value = decoded_magnitude(m, format, magnitude);
  if (format->specials == FP_FNUZ) {
    Value nan = expression_op(m, I32X4_EQ, 2, bits, integer(m, all_ones(format) + 1), -1);
    return either(m, either(m, value, sign), nan);
  }
  Value last = integer(m, (first_special(format) << drop) - 1);
  Value special = either(m, magnitude, integer(m, 0x7f800000));
  return either(m, selected(m, integer_less(m, last, magnitude), special, value), sign);
}

/* Rounded to a whole number of the smallest denormals, by adding a number with such a last place. */
static Value encoded_denormal(Expression *m, const FpFormat *format, Value magnitude) {
  int exponent = BIAS + 1 - format->bias - format->mantissa_bits + MANTISSA;
  Value unit = integer(m, (int64_t)exponent << MANTISSA);
  return integer_difference(m, sum(m, magnitude, unit), unit);
}

static Value encoded_magnitude(Expression *m, const FpFormat *format, Value magnitude) {
  int drop = dropped(format);
  Value odd = both(m, shifted_right_unsigned(m, magnitude, drop), integer(m, 1));
  int64_t half = (INT64_C(1) << (drop - 1)) - 1;
  Value normal = integer_sum(m, magnitude, integer(m, half - least_exponent(format, 0)));
  normal = shifted_right_unsigned(m, integer_sum(m, normal, odd), drop);
  Value is_denormal = integer_less(m, magnitude, integer(m, least_exponent(format, 1)));
  Value value = selected(m, is_denormal, encoded_denormal(m, format, magnitude), normal);
  return expression_op(m, I32X4_MIN_S, 2, value, integer(m, first_special(format)), -1);
}

Value encoded(Expression *m, PrimitiveType type, Value x) {
  if (type == BF16) return bf16_bits(m, x);
  const FpFormat *format = narrow_format(type);
  int drop = dropped(format), above = 32 - width(format);
  Value magnitude = absolute(m, x);
  Value value = encoded_magnitude(m, format, magnitude), top = integer(m, all_ones(format) + 1);
  Value sign = both(m, shifted_right_unsigned(m, x, above), top);
  if (format->specials == FP_FNUZ) { /* zero and NaN have no sign */
    Value signless = expression_op(m, I32X4_EQ, 2, value, integer(m, 0), -1);
    return either(m, value, without(m, sign, signless));
  }
  if (format->specials == FP_FN) return either(m, value, sign);
  Value payload = both(m, shifted_right_unsigned(m, magnitude, drop), integer(m, all_ones(format)));
  Value infinity = integer(m, first_special(format));
  Value empty = expression_op(m, I32X4_EQ, 2, payload, infinity, -1);
  Value quiet = integer(m, INT64_C(1) << (format->mantissa_bits - 1));
  Value nan = either(m, payload, both(m, empty, quiet));
  return either(m, selected(m, is_equal(m, x, x), value, nan), sign);
}

/* By way of the format's bits, as there is then one way to round. */
Value rounded(Expression *m, PrimitiveType type, Value x) {
  if (type != BF16) return decoded(m, type, encoded(m, type, x));
  Value quiet = either(m, x, integer(m, 0x400000));
  Value number = both(m, rounded_bits(m, x, 16), integer(m, -0x10000));
  return selected(m, is_equal(m, x, x), number, quiet);
}
