/*
** Functions of two operands in lanes of 32 bits as formulas, and functions derived from them: arc tangents,
** remainders, integer division, shifts. Those of f32x4 hold for operands of ordinary size; for others generated code
** calls the vector functions of the same name. The polynomial was fitted for minimal error by Remez's algorithm.
*/
#include <math.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"

/* Compares bits as integers: positive floats keep their order, and NaN without its sign is above all. */
static Value is_outside(Expression *e, Value size, int64_t from, int64_t to) {
  return bit_or(e, integer_less(e, size, integer(e, from)), integer_less(e, integer(e, to), size));
}

/* The bits of 2^n as f32 */
static int64_t power_bits(int n) { return (int64_t)(127 + n) << 23; }

/* --- Arcs ------------------------------------------------------------------------------------- */

/*
** The arc tangent of t, the smaller of |x| and |y| divided by the larger one. It is reduced by pi/4 where t is
** more than tan(pi/8), then subtracted from pi/2 and pi by the octant. `high` is the multiple of pi/4; times
** `lost` it is the rounding error of that.
*/
static Value arc_tangent_2(Expression *e, Value y, Value x) {
  Value sign_bit = constant(e, -0.0), width = absolute(e, x), height = absolute(e, y);
  Value steep = is_less(e, width, height), left = shifted_right(e, x, 31);
  Value large = maximum(e, width, height), small = minimum(e, width, height);
  Value reduced = is_less(e, product(e, large, constant(e, 0.41421356)), small);
  Value t = quotient(e, difference(e, small, bit_and(e, reduced, large)),
                     sum(e, large, bit_and(e, reduced, small)));
  /* Rounds t to small steps. Its cube loses nothing by that, and is 0 instead of a denormal, which is slow. */
  Value step = constant(e, 0x1p-16), cut = difference(e, sum(e, t, step), step);
  Value z = product(e, cut, cut);
  Value p = POLYNOMIAL(e, z, 0.08059093f, -0.13879501f, 0.19977897f, -0.33332955f);
  Value angle = product_sum(e, product(e, cut, z), p, t);
  Value turns = bit_and(e, steep, sign_bit), mirrors = bit_and(e, left, sign_bit);
  Value high = bit_and(e, reduced, constant(e, M_PI_4));
  high = sum(e, bit_xor(e, high, turns), bit_and(e, steep, constant(e, M_PI_2)));
  high = sum(e, bit_xor(e, high, mirrors), bit_and(e, left, constant(e, M_PI)));
  angle = bit_xor(e, angle, bit_xor(e, turns, mirrors));
  const double lost = M_PI / (double)(float)M_PI - 1;
  Value result = sum(e, high, product_sum(e, high, constant(e, lost), angle));
  return bit_or(e, result, bit_and(e, y, sign_bit));
}

/* Where both are nearly zero, or one is large or NaN. */
static Value is_far_from_one(Expression *e, Value y, Value x) {
  Value size = sum(e, absolute(e, x), absolute(e, y));
  return is_outside(e, size, power_bits(-100), power_bits(100));
}

/* sqrt(1 - x^2) */
static Value cofunction(Expression *e, Value x) {
  Value one = constant(e, 1);
  return square_root(e, product(e, difference(e, one, x), sum(e, one, x)));
}

static Value arc_sine(Expression *e, Value x) { return arc_tangent_2(e, x, cofunction(e, x)); }
static Value arc_cosine(Expression *e, Value x) { return arc_tangent_2(e, cofunction(e, x), x); }
static Value is_beyond_one(Expression *e, Value x) {
  return is_outside(e, absolute(e, x), 0, power_bits(0));
}
static Value no_number(Expression *e, Value x) { return constant(e, NAN); }

const Exception arc_exception = {is_beyond_one, no_number};
Formula *const arc_sine_formula = arc_sine, *const arc_cosine_formula = arc_cosine;

/* --- Remainders ------------------------------------------------------------------------------- */

/* With q = x / y rounded to nearest, q y is the sum of two exact products, as q has 9 bits at most. All
** differences are exact, as the last but one is less than 3/4 y. If it is negative, it is y too small. */
static Value remainder_of(Expression *e, Value x, Value y) {
  Value a = absolute(e, x), b = absolute(e, y), magic = constant(e, 0x1.8p23);
  Value q = difference(e, sum(e, quotient(e, a, b), magic), magic);
  Value high = bit_and(e, b, integer(e, -(1 << 12))), low = difference(e, b, high);
  Value r = difference(e, difference(e, a, product(e, q, high)), product(e, q, low));
  r = sum(e, r, bit_and(e, b, shifted_right(e, r, 31)));
  Value sign_bit = constant(e, -0.0);
  return bit_or(e, absolute(e, r), bit_and(e, x, sign_bit));
}

static Value is_extreme_quotient(Expression *e, Value x, Value y) {
  Value b = absolute(e, y), q = quotient(e, absolute(e, x), b);
  Value large = integer_less(e, integer(e, power_bits(9)), q);
  return bit_or(e, large, is_outside(e, b, power_bits(-90), power_bits(100)));
}

/* --- Integers --------------------------------------------------------------------------------- */

/* Returns the quotients of lanes 0 and 1, or of 2 and 3, in the low words of f64x2. */
static Value quotient_of_half(Expression *e, bool is_signed, Value x, Value y, bool high) {
  int to_double = is_signed ? F64X2_CONVERT_LOW_I32X4_S : F64X2_CONVERT_LOW_I32X4_U;
  Value operands[] = {x, y};
  for (int i = 0; i < 2; i++) {
    if (high) operands[i] = expression_shuffle(e, operands[i], operands[i], 2, 3, 2, 3);
    operands[i] = expression_op(e, to_double, 1, operands[i], -1, -1);
  }
  Value q = expression_op(e, F64X2_DIV, 2, operands[0], operands[1], -1);
  Value magic = expression_word(e, UINT64_C(0x4338000000000000)); /* 1.5 * 2^52 */
  return expression_op(e, F64X2_ADD, 2, expression_op(e, F64X2_TRUNC, 1, q, -1, -1), magic, -1);
}

/*
** The quotient of two 32-bit integers, rounded to double, truncates to the right integer: the next integer above
** an inexact quotient q is at least q / 2^32 away, much more than an ulp. The low bits of the sum with 1.5 * 2^52
** hold the integer modulo 2^32, so INT_MIN / -1 wraps. Division by zero gives all ones.
*/
static Value integer_quotient(Expression *e, bool is_signed, Value x, Value y) {
  Value low = quotient_of_half(e, is_signed, x, y, false);
  Value high = quotient_of_half(e, is_signed, x, y, true);
  Value is_zero = expression_op(e, I32X4_EQ, 2, y, integer(e, 0), -1);
  return bit_or(e, expression_shuffle(e, low, high, 0, 2, 4, 6), is_zero);
}

/* x - q y; for these quotients it is x for y = 0, and 0 for y = -1. */
static Value integer_rest(Expression *e, bool is_signed, Value x, Value y) {
  Value q = integer_quotient(e, is_signed, x, y);
  return integer_difference(e, x, expression_op(e, I32X4_MUL, 2, q, y, -1));
}

static Value divide_signed(Expression *e, Value x, Value y) {
  return integer_quotient(e, true, x, y);
}
static Value divide_unsigned(Expression *e, Value x, Value y) {
  return integer_quotient(e, false, x, y);
}
static Value rest_signed(Expression *e, Value x, Value y) { return integer_rest(e, true, x, y); }
static Value rest_unsigned(Expression *e, Value x, Value y) { return integer_rest(e, false, x, y); }

/* --- Shifts by different amounts -------------------------------------------------------------- */

/*
** Returns 2^n for n from 0 to 31, and else 0, for n from -1 to 63. Byte k of it is 2^(n - 8 k) if that is from 1 to 128: a
** table of eight bytes has these, and i8x16.swizzle gives 0 beyond its 16 bytes.
*/
static Value integer_power(Expression *e, Value n) {
  Value zero = integer(e, 0), powers = expression_word(e, UINT64_C(0x8040201008040201));
  Value table = expression_shuffle(e, powers, zero, 0, 1, 4, 5);
  Value bytes = expression_op(e, I32X4_MUL, 2, n, integer(e, 0x01010101), -1);
  bytes = expression_op(e, I8X16_SUB, 2, bytes, integer(e, 0x18100800), -1);
  return expression_op(e, I8X16_SWIZZLE, 2, table, bytes, -1);
}

/* Amounts past the width are alike. */
static Value bounded_amount(Expression *e, Value y) {
  return expression_op(e, I32X4_MIN_U, 2, y, integer(e, 32), -1);
}

/* x 2^y */
static Value shift_left(Expression *e, Value x, Value y) {
  return expression_op(e, I32X4_MUL, 2, x, integer_power(e, bounded_amount(e, y)), -1);
}

/* x 2^(31 - y) without its last 31 bits */
static Value shift_right(Expression *e, Value x, Value y) {
  Value n = integer_difference(e, integer(e, 31), bounded_amount(e, y)), halves[2];
  Value power = integer_power(e, n);
  for (int i = 0; i < 2; i++) {
    Value half = expression_op(e, I64X2_EXTMUL_LOW_I32X4_U + i, 2, x, power, -1);
    halves[i] = expression_shift(e, I64X2_SHR_U, half, 31);
  }
  return expression_shuffle(e, halves[0], halves[1], 0, 2, 4, 6);
}

/* Complements a negative x before and after. */
static Value shift_right_signed(Expression *e, Value x, Value y) {
  Value negative = shifted_right(e, x, 31);
  return bit_xor(e, shift_right(e, bit_xor(e, x, negative), y), negative);
}

/* --- The table of functions -------------------------------------------------------------------------- */

const BinaryFunction *math_binary_function(Opcode opcode, PrimitiveType type) {
  static const BinaryFunction atan2 = {arc_tangent_2, is_far_from_one, NULL};
  static const BinaryFunction remainder = {remainder_of, is_extreme_quotient, NULL};
  static const BinaryFunction left = {.formula = shift_left}, right = {.formula = shift_right},
                              right_signed = {.formula = shift_right_signed};
  static const BinaryFunction integers[2][2] = {
      {{.formula = divide_unsigned}, {.formula = rest_unsigned}},
      {{.formula = divide_signed}, {.formula = rest_signed}}};
  LaneKind kind = lane_kind(type);
  if (kind == LANES_F32) {
    return opcode == HLO_ATAN2 ? &atan2 : opcode == HLO_REMAINDER ? &remainder : NULL;
  }
  if (kind != LANES_I32) return NULL;
  switch (opcode) {
  case HLO_SHIFT_LEFT: return &left;
  case HLO_SHIFT_RIGHT_ARITHMETIC: return &right_signed;
  case HLO_SHIFT_RIGHT_LOGICAL: return &right;
  case HLO_DIVIDE:
  case HLO_REMAINDER: return &integers[is_signed(type)][opcode == HLO_REMAINDER];
  default: return NULL;
  }
}
