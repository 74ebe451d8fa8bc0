/*
** Converts narrow floats: an element's bits, zero-extended to 32, to the f32 of equal value and back. The
** integer arithmetic is the same for all formats (value/fp.h). Rounds as fp_from_double() does. In formats
** with several NaNs these keep the fitting part of their payload, so that moved data keeps its bits.
*/
#include "codegen/formulas/formulas.h"
#include "value/scalar.h"

/* Threshold MANTISSA, BIAS: no path: signs, and parts of a float's format. */
enum { MANTISSA = 23, BIAS = 127 };

static int dropped(const FpFormat *format) { return MANTISSA - format->mantissa_bits; }
static int width(const FpFormat *format) {
  return 1 + format->exponent_bits + format->mantissa_bits;
}
static int64_t all_ones(const FpFormat *format) { return (INT64_C(1) << (width(format) - 1)) - 1; }
static int64_t sign_bit(const FpFormat *format) { return all_ones(format) + 1; }
/* Returns the smallest magnitude that is no finite number: of FP_IEEE, infinity; of FP_FN, NaN. */
static int64_t first_special(const FpFormat *format) {
  bool has_infinity = format->specials == FP_IEEE;
  return all_ones(format) & -(has_infinity ? INT64_C(1) << format->mantissa_bits : 1);
}
/* Returns the power of two above all numbers of the format, as bits of f32. */
static int64_t limit(const FpFormat *format) {
  int above = (1 << format->exponent_bits) - (format->specials == FP_IEEE) - format->bias;
  return (int64_t)(BIAS + above) << MANTISSA;
}
/* Returns the power of two whose exponent is `above` plus the format's smallest, as bits of f32. */
static int64_t min_exponent(const FpFormat *format, int above) {
  return (int64_t)(BIAS - format->bias + above) << MANTISSA;
}

/* --- bf16 is the upper half of f32 ------------------------------------------------------------ */

/* Rounds a number to bf16, in the upper half, to nearest even: adds half of the last kept place before the cut, less
** one if that place is even. */
static Value bf16_number(Expression *m, Value x) {
  Value odd = both(m, shifted_right_unsigned(m, x, 16), integer(m, 1));
  return integer_sum(m, integer_sum(m, x, odd), integer(m, 0x7fff));
}

/* As in XLA, NaN keeps only its sign. */
static Value bf16_nan(Expression *m, PrimitiveType type, Value x) {
  return either(m, both(m, x, integer(m, INT32_MIN)), integer(m, 0x7fc00000));
}
static Value bf16_nan_bits(Expression *m, PrimitiveType type, Value x) {
  return shifted_right_unsigned(m, bf16_nan(m, type, x), 16);
}

/* --- Scale factors are exponents of f32 ------------------------------------------------------- */

/* The smallest value, of exponent 0, is a denormal of f32, half of the next one; the largest bits are NaN. */
static Value decoded_power(Expression *m, Value bits) {
  Value value = shifted_left(m, bits, MANTISSA);
  Value min_one = expression_op(m, I32X4_EQ, 2, value, integer(m, 0), -1);
  Value last = expression_op(m, I32X4_EQ, 2, value, integer(m, 0x7f800000), -1);
  return either(m, value, both(m, either(m, min_one, last), integer(m, 0x400000)));
}

/* Rounds half up. Denormals of f32 above the smallest scale factor all round up. Numbers that are not positive
** become NaN. */
static Value encoded_power(Expression *m, Value x) {
  Value half = integer(m, 0x400000);
  Value power = shifted_right_unsigned(m, integer_sum(m, x, half), MANTISSA);
  power = expression_op(m, I32X4_MIN_S, 2, power, integer(m, 0xff), -1);
  power = both(m, power, integer_less(m, half, x));
  return either(m, power, both(m, integer_less(m, x, integer(m, 1)), integer(m, 0xff)));
}

/* --- The others ------------------------------------------------------------------------------- */

/* Returns the minimum of two readings of the bits. As a denormal: with the smallest normal exponent, less the
** implicit 1. As a normal number: with the exponent rebiased. For each kind the right reading is the smaller. */
static Value decoded_magnitude(Expression *m, const FpFormat *format, Value magnitude) {
  Value normal = integer_sum(m, magnitude, integer(m, min_exponent(format, 0)));
  Value min_normal = integer(m, min_exponent(format, 1));
  Value denormal = difference(m, integer_sum(m, magnitude, min_normal), min_normal);
  return expression_op(m, I32X4_MIN_S, 2, normal, denormal, -1);
}

Value decoded(Expression *m, PrimitiveType type, Value bits) {
  if (type == BF16) return shifted_left(m, bits, 16);
  const FpFormat *format = narrow_format(type);
  if (format->specials == FP_FNU) return decoded_power(m, bits);
  int drop = dropped(format), above = 32 - width(format);
  Value sign = both(m, shifted_left(m, bits, above), integer(m, INT32_MIN));
  Value magnitude = both(m, shifted_left(m, bits, drop), integer(m, all_ones(format) << drop));
  Value value = decoded_magnitude(m, format, magnitude);
  if (format->specials == FP_ALL) return either(m, value, sign);
  if (format->specials == FP_FNUZ) {
    Value nan = expression_op(m, I32X4_EQ, 2, bits, integer(m, sign_bit(format)), -1);
    return either(m, either(m, value, sign), nan);
  }
  Value last = integer(m, (first_special(format) << drop) - 1);
  Value special = both(m, integer_less(m, last, magnitude), integer(m, 0x7f800000));
  return either(m, either(m, value, special), sign);
}

/* A magnitude plus a power of two whose last place is that of the format: the sum is rounded as the format
** rounds. The caller handles NaN. */
typedef struct RoundingSum {
  Value exponent, addend, total;
} RoundingSum;

static RoundingSum rounding_sum(Expression *m, const FpFormat *format, Value magnitude) {
  Value normal = maximum(m, magnitude, integer(m, min_exponent(format, 1)));
  RoundingSum sums = {.exponent = both(m, normal, integer(m, 0x7f800000))};
  sums.addend = integer_sum(m, sums.exponent, integer(m, (int64_t)dropped(format) << MANTISSA));
  sums.total = sum(m, magnitude, sums.addend);
  return sums;
}

/* The sum's last places are the mantissa with the implicit 1, which adds one to the exponent. The exponent
** is therefore one less; for denormals it is 0. NaN becomes the value beyond all numbers. */
static Value encoded_magnitude(Expression *m, const FpFormat *format, Value magnitude) {
  Value bounded = minimum(m, integer(m, limit(format)), magnitude);
  RoundingSum sums = rounding_sum(m, format, bounded);
  Value mantissa = integer_difference(m, sums.total, sums.addend);
  int64_t first = min_exponent(format, 1) >> dropped(format);
  Value exponent = shifted_right_unsigned(m, sums.exponent, dropped(format));
  Value value = integer_sum(m, integer_sum(m, mantissa, integer(m, -first)), exponent);
  int64_t last = format->specials == FP_FN ? first_special(format) : all_ones(format);
  if (format->specials != FP_FN && format->specials != FP_ALL) return value;
  return expression_op(m, I32X4_MIN_S, 2, value, integer(m, last), -1);
}

static Value with_encoded_sign(Expression *m, const FpFormat *format, Value value, Value x) {
  Value top = integer(m, sign_bit(format));
  Value sign = both(m, shifted_right_unsigned(m, x, 32 - width(format)), top);
  if (format->specials == FP_FNUZ) { /* zero and NaN have no sign */
    sign = without(m, sign, expression_op(m, I32X4_EQ, 2, value, integer(m, 0), -1));
  }
  return either(m, value, sign);
}

Value encoded(Expression *m, PrimitiveType type, Value x) {
  if (type == BF16) return shifted_right_unsigned(m, bf16_number(m, x), 16);
  const FpFormat *format = narrow_format(type);
  if (format->specials == FP_FNU) return encoded_power(m, x);
  Value bits = with_encoded_sign(m, format, encoded_magnitude(m, format, absolute(m, x)), x);
  if (format->specials != FP_ALL) return bits;
  return selected(m, is_equal(m, x, x), bits, integer(m, sign_bit(format)));
}

/* NaN keeps its sign; in f16 its payload, too, as processors do and therefore XLA. */
static Value encoded_or_nan(Expression *m, PrimitiveType type, Value x) {
  const FpFormat *format = narrow_format(type);
  Value magnitude = absolute(m, x);
  Value nan = integer(m, first_special(format) | INT64_C(1) << (format->mantissa_bits - 1));
  if (type == F16) {
    Value kept = shifted_right_unsigned(m, magnitude, dropped(format));
    nan = either(m, nan, both(m, kept, integer(m, all_ones(format))));
  }
  Value number = encoded_magnitude(m, format, magnitude);
  return with_encoded_sign(m, format, selected(m, is_equal(m, x, x), number, nan), x);
}

/* Rounds x to a narrow type. Values out of range become infinity; NaN in formats without infinity; the largest
** number in f4. */
Value rounded(Expression *m, PrimitiveType type, Value x) {
  if (type == BF16) return both(m, bf16_number(m, x), integer(m, -0x10000));
  const FpFormat *format = narrow_format(type);
  if (format->specials != FP_IEEE && format->specials != FP_FN) {
    return decoded(m, type, encoded(m, type, x));
  }
  Value bound = integer(m, limit(format));
  RoundingSum sums = rounding_sum(m, format, minimum(m, absolute(m, x), bound));
  Value value = difference(m, sums.total, sums.addend), beyond;
  if (format->specials == FP_IEEE) {
    beyond = both(m, is_equal(m, value, bound), integer(m, 0x7f800000));
  } else {
    int64_t largest = ((first_special(format) - 1) << dropped(format)) + min_exponent(format, 0);
    beyond = is_less(m, integer(m, largest), value);
  }
  return either(m, either(m, value, beyond), both(m, x, integer(m, INT32_MIN)));
}

NarrowStep *narrow_step_of_nan(NarrowStep *step, PrimitiveType type) {
  if (type == BF16) return step == encoded ? bf16_nan_bits : step == rounded ? bf16_nan : NULL;
  bool has_payload = narrow_format(type)->specials == FP_IEEE;
  return step == encoded && has_payload ? encoded_or_nan : NULL;
}

/* --- Sums of f16 ------------------------------------------------------------------------------ */

/*
** With its bits shifted to the place of an f32's, any number of f16, even a denormal, is that f32 times 2^-112.
** Sums are computed on such scaled numbers, and rounded by their bits. (Processors add denormals as fast as
** other numbers, but multiply them slowly.) The bits of operands are sign-extended.
*/
static Value scaled(Expression *m, Value bits) {
  return both(m, shifted_left(m, bits, dropped(narrow_format(F16))), integer(m, -0x70002000));
}

/* Rounds a scaled sum. The scaled infinities are beyond all sums that do not round to them. */
static Value rounded_sum(Expression *m, Value total) {
  const FpFormat *format = narrow_format(F16);
  int drop = dropped(format), spare = 8 - format->exponent_bits;
  Value bound = integer(m, first_special(format) << drop);
  total = maximum(m, minimum(m, total, bound), either(m, bound, integer(m, INT32_MIN)));
  Value odd = both(m, shifted_right_unsigned(m, total, drop), integer(m, 1));
  Value bits = integer_sum(m, integer_sum(m, total, odd), integer(m, (1 << (drop - 1)) - 1));
  bits = either(m, shifted_left(m, bits, spare), both(m, total, integer(m, INT32_MIN)));
  return shifted_right_unsigned(m, bits, 16);
}

static Value sum_of_bits(Expression *m, Value x, Value y) {
  return rounded_sum(m, sum(m, scaled(m, x), scaled(m, y)));
}
static Value difference_of_bits(Expression *m, Value x, Value y) {
  return rounded_sum(m, difference(m, scaled(m, x), scaled(m, y)));
}

/* Whether an operand is infinite or NaN: scaled, these would be ordinary numbers. */
static Value has_special(Expression *m, Value x, Value y) {
  Value infinity = integer(m, first_special(narrow_format(F16)));
  Value a = expression_op(m, I32X4_EQ, 2, both(m, x, infinity), infinity, -1);
  return either(m, a, expression_op(m, I32X4_EQ, 2, both(m, y, infinity), infinity, -1));
}
static Value special_sum(Expression *m, Value x, Value y) {
  return encoded_or_nan(m, F16, sum(m, decoded(m, F16, x), decoded(m, F16, y)));
}
static Value special_difference(Expression *m, Value x, Value y) {
  return encoded_or_nan(m, F16, difference(m, decoded(m, F16, x), decoded(m, F16, y)));
}

const BinaryFunction *bits_function(Opcode opcode, PrimitiveType type) {
  static const BinaryFunction add = {sum_of_bits, has_special, special_sum},
                              subtract = {difference_of_bits, has_special, special_difference};
  if (type != F16) return NULL;
  return opcode == HLO_ADD ? &add : opcode == HLO_SUBTRACT ? &subtract : NULL;
}
