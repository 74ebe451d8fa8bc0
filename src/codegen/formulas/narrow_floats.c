/*
** Converts narrow floats: an element's bits, zero-extended to 32, to the f32 of equal value and back. The
** integer arithmetic is the same for all formats (value/fp.h). Rounds as fp_from_double() does. In formats
** with several NaNs these keep the fitting part of their payload, so that moved data keeps its bits.
*/
#include "codegen/formulas/formulas.h"
#include "value/scalar.h"

/* Threshold MANTISSA, BIAS: signs, and parts of a float's format. No path. */
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
static Value bf16_number(Expression *e, Value x) {
  Value odd = bit_and(e, shifted_right_unsigned(e, x, 16), integer(e, 1));
  return integer_sum(e, integer_sum(e, x, odd), integer(e, 0x7fff));
}

/* As in XLA, NaN keeps only its sign. */
static Value bf16_nan(Expression *e, PrimitiveType type, Value x) {
  return bit_or(e, bit_and(e, x, integer(e, INT32_MIN)), integer(e, 0x7fc00000));
}
static Value bf16_nan_bits(Expression *e, PrimitiveType type, Value x) {
  return shifted_right_unsigned(e, bf16_nan(e, type, x), 16);
}

/* --- Scale factors are exponents of f32 ------------------------------------------------------- */

/* The smallest value, of exponent 0, is a denormal of f32, half of the next one; the largest bits are NaN. */
static Value decoded_power(Expression *e, Value bits) {
  Value value = shifted_left(e, bits, MANTISSA);
  Value min_one = expression_op(e, I32X4_EQ, 2, value, integer(e, 0), -1);
  Value last = expression_op(e, I32X4_EQ, 2, value, integer(e, 0x7f800000), -1);
  return bit_or(e, value, bit_and(e, bit_or(e, min_one, last), integer(e, 0x400000)));
}

/* Rounds half up. Denormals of f32 above the smallest scale factor all round up. Numbers that are not positive
** become NaN. */
static Value encoded_power(Expression *e, Value x) {
  Value half = integer(e, 0x400000);
  Value power = shifted_right_unsigned(e, integer_sum(e, x, half), MANTISSA);
  power = expression_op(e, I32X4_MIN_S, 2, power, integer(e, 0xff), -1);
  power = bit_and(e, power, integer_less(e, half, x));
  return bit_or(e, power, bit_and(e, integer_less(e, x, integer(e, 1)), integer(e, 0xff)));
}

/* --- The others ------------------------------------------------------------------------------- */

/* Returns the minimum of two readings of the bits. As a denormal: with the smallest normal exponent, less the
** implicit 1. As a normal number: with the exponent rebiased. For each kind the right reading is the smaller. */
static Value decoded_magnitude(Expression *e, const FpFormat *format, Value magnitude) {
  Value normal = integer_sum(e, magnitude, integer(e, min_exponent(format, 0)));
  Value min_normal = integer(e, min_exponent(format, 1));
  Value denormal = difference(e, integer_sum(e, magnitude, min_normal), min_normal);
  return expression_op(e, I32X4_MIN_S, 2, normal, denormal, -1);
}

Value decoded(Expression *e, PrimitiveType type, Value bits) {
  if (type == BF16) return shifted_left(e, bits, 16);
  const FpFormat *format = narrow_format(type);
  if (format->specials == FP_FNU) return decoded_power(e, bits);
  int drop = dropped(format), above = 32 - width(format);
  Value sign = bit_and(e, shifted_left(e, bits, above), integer(e, INT32_MIN));
  Value magnitude = bit_and(e, shifted_left(e, bits, drop), integer(e, all_ones(format) << drop));
  Value value = decoded_magnitude(e, format, magnitude);
  if (format->specials == FP_ALL) return bit_or(e, value, sign);
  if (format->specials == FP_FNUZ) {
    Value nan = expression_op(e, I32X4_EQ, 2, bits, integer(e, sign_bit(format)), -1);
    return bit_or(e, bit_or(e, value, sign), nan);
  }
  Value last = integer(e, (first_special(format) << drop) - 1);
  Value special = bit_and(e, integer_less(e, last, magnitude), integer(e, 0x7f800000));
  return bit_or(e, bit_or(e, value, special), sign);
}

/* A magnitude plus a power of two whose last place is that of the format: the sum is rounded as the format
** rounds. The caller handles NaN. */
typedef struct RoundingSum {
  Value exponent, addend, total;
} RoundingSum;

static RoundingSum rounding_sum(Expression *e, const FpFormat *format, Value magnitude) {
  Value normal = maximum(e, magnitude, integer(e, min_exponent(format, 1)));
  RoundingSum sums = {.exponent = bit_and(e, normal, integer(e, 0x7f800000))};
  sums.addend = integer_sum(e, sums.exponent, integer(e, (int64_t)dropped(format) << MANTISSA));
  sums.total = sum(e, magnitude, sums.addend);
  return sums;
}

/* The sum's last places are the mantissa with the implicit 1, which adds one to the exponent. The exponent
** is therefore one less; for denormals it is 0. NaN becomes the value beyond all numbers. */
static Value encoded_magnitude(Expression *e, const FpFormat *format, Value magnitude) {
  Value bounded = minimum(e, integer(e, limit(format)), magnitude);
  RoundingSum sums = rounding_sum(e, format, bounded);
  Value mantissa = integer_difference(e, sums.total, sums.addend);
  int64_t first = min_exponent(format, 1) >> dropped(format);
  Value exponent = shifted_right_unsigned(e, sums.exponent, dropped(format));
  Value value = integer_sum(e, integer_sum(e, mantissa, integer(e, -first)), exponent);
  int64_t last = format->specials == FP_FN ? first_special(format) : all_ones(format);
  if (format->specials != FP_FN && format->specials != FP_ALL) return value;
  return expression_op(e, I32X4_MIN_S, 2, value, integer(e, last), -1);
}

static Value with_encoded_sign(Expression *e, const FpFormat *format, Value value, Value x) {
  Value top = integer(e, sign_bit(format));
  Value sign = bit_and(e, shifted_right_unsigned(e, x, 32 - width(format)), top);
  if (format->specials == FP_FNUZ) { /* zero and NaN have no sign */
    sign = bit_andnot(e, sign, expression_op(e, I32X4_EQ, 2, value, integer(e, 0), -1));
  }
  return bit_or(e, value, sign);
}

Value encoded(Expression *e, PrimitiveType type, Value x) {
  if (type == BF16) return shifted_right_unsigned(e, bf16_number(e, x), 16);
  const FpFormat *format = narrow_format(type);
  if (format->specials == FP_FNU) return encoded_power(e, x);
  Value bits = with_encoded_sign(e, format, encoded_magnitude(e, format, absolute(e, x)), x);
  if (format->specials != FP_ALL) return bits;
  return selected(e, is_equal(e, x, x), bits, integer(e, sign_bit(format)));
}

/* NaN keeps its sign; in f16 its payload, too, as processors do and therefore XLA. */
static Value encoded_or_nan(Expression *e, PrimitiveType type, Value x) {
  const FpFormat *format = narrow_format(type);
  Value magnitude = absolute(e, x);
  Value nan = integer(e, first_special(format) | INT64_C(1) << (format->mantissa_bits - 1));
  if (type == F16) {
    Value kept = shifted_right_unsigned(e, magnitude, dropped(format));
    nan = bit_or(e, nan, bit_and(e, kept, integer(e, all_ones(format))));
  }
  Value number = encoded_magnitude(e, format, magnitude);
  return with_encoded_sign(e, format, selected(e, is_equal(e, x, x), number, nan), x);
}

/* Rounds x to a narrow type. Values out of range become infinity; NaN in formats without infinity; the largest
** number in f4. */
Value rounded(Expression *e, PrimitiveType type, Value x) {
  if (type == BF16) return bit_and(e, bf16_number(e, x), integer(e, -0x10000));
  const FpFormat *format = narrow_format(type);
  if (format->specials != FP_IEEE && format->specials != FP_FN) {
    return decoded(e, type, encoded(e, type, x));
  }
  Value bound = integer(e, limit(format));
  RoundingSum sums = rounding_sum(e, format, minimum(e, absolute(e, x), bound));
  Value value = difference(e, sums.total, sums.addend), beyond;
  if (format->specials == FP_IEEE) {
    beyond = bit_and(e, is_equal(e, value, bound), integer(e, 0x7f800000));
  } else {
    int64_t largest = ((first_special(format) - 1) << dropped(format)) + min_exponent(format, 0);
    beyond = is_less(e, integer(e, largest), value);
  }
  return bit_or(e, bit_or(e, value, beyond), bit_and(e, x, integer(e, INT32_MIN)));
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
static Value scaled(Expression *e, Value bits) {
  return bit_and(e, shifted_left(e, bits, dropped(narrow_format(F16))), integer(e, -0x70002000));
}

/* Rounds a scaled sum. The scaled infinities are beyond all sums that do not round to them. */
static Value rounded_sum(Expression *e, Value total) {
  const FpFormat *format = narrow_format(F16);
  int drop = dropped(format), spare = 8 - format->exponent_bits;
  Value bound = integer(e, first_special(format) << drop);
  total = maximum(e, minimum(e, total, bound), bit_or(e, bound, integer(e, INT32_MIN)));
  Value odd = bit_and(e, shifted_right_unsigned(e, total, drop), integer(e, 1));
  Value bits = integer_sum(e, integer_sum(e, total, odd), integer(e, (1 << (drop - 1)) - 1));
  bits = bit_or(e, shifted_left(e, bits, spare), bit_and(e, total, integer(e, INT32_MIN)));
  return shifted_right_unsigned(e, bits, 16);
}

static Value sum_of_bits(Expression *e, Value x, Value y) {
  return rounded_sum(e, sum(e, scaled(e, x), scaled(e, y)));
}
static Value difference_of_bits(Expression *e, Value x, Value y) {
  return rounded_sum(e, difference(e, scaled(e, x), scaled(e, y)));
}

/* Whether an operand is infinite or NaN: scaled, these would be ordinary numbers. */
static Value has_special(Expression *e, Value x, Value y) {
  Value infinity = integer(e, first_special(narrow_format(F16)));
  Value a = expression_op(e, I32X4_EQ, 2, bit_and(e, x, infinity), infinity, -1);
  return bit_or(e, a, expression_op(e, I32X4_EQ, 2, bit_and(e, y, infinity), infinity, -1));
}
static Value special_sum(Expression *e, Value x, Value y) {
  return encoded_or_nan(e, F16, sum(e, decoded(e, F16, x), decoded(e, F16, y)));
}
static Value special_difference(Expression *e, Value x, Value y) {
  return encoded_or_nan(e, F16, difference(e, decoded(e, F16, x), decoded(e, F16, y)));
}

const BinaryFunction *bits_function(Opcode opcode, PrimitiveType type) {
  static const BinaryFunction add = {sum_of_bits, has_special, special_sum},
                              subtract = {difference_of_bits, has_special, special_difference};
  if (type != F16) return NULL;
  return opcode == HLO_ADD ? &add : opcode == HLO_SUBTRACT ? &subtract : NULL;
}
