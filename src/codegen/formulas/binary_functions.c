/*
** Functions of two operands in lanes of 32 bits as formulas, and functions derived from them: arc tangents,
** remainders, integer division, shifts. Those of f32x4 hold for operands of ordinary size; for others generated code
** calls the vector functions of the same name. The polynomial was fitted for minimal error by Remez's algorithm.
*/
#include <math.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"

/* Compares bits as integers: positive floats keep their order, and NaN without its sign is above all. */
static Value is_outside(Expression *m, Value size, int64_t from, int64_t to) {
  return either(m, integer_less(m, size, integer(m, from)), integer_less(m, integer(m, to), size));
}

/* The bits of 2^n as f32 */
static int64_t power_bits(int n) { return (int64_t)(127 + n) << 23; }

/* --- Arcs ------------------------------------------------------------------------------------- */

/*
** The arc tangent of t, the smaller of |x| and |y| divided by the larger one. It is reduced by pi/4 where t is
** more than tan(pi/8), then subtracted from pi/2 and pi by the octant. `high` is the multiple of pi/4; times
** `lost` it is the rounding error of that.
*/
static Value arc_tangent_2(Expression *m, Value y, Value x) {
  Value sign_bit = constant(m, -0.0), width = absolute(m, x), height = absolute(m, y);
  Value steep = is_less(m, width, height), left = shifted_right(m, x, 31);
  Value large = maximum(m, width, height), small = minimum(m, width, height);
  Value reduced = is_less(m, product(m, large, constant(m, 0.41421356)), small);
  Value t = quotient(m, difference(m, small, both(m, reduced, large)),
                     sum(m, large, both(m, reduced, small)));
  /* Rounds t to small steps. Its cube loses nothing by that, and is 0 instead of a denormal, which is slow. */
  Value step = constant(m, 0x1p-16), cut = difference(m, sum(m, t, step), step);
  Value z = product(m, cut, cut);
  Value p = POLYNOMIAL(m, z, 0.08059093f, -0.13879501f, 0.19977897f, -0.33332955f);
  Value angle = product_sum(m, product(m, cut, z), p, t);
  Value turns = both(m, steep, sign_bit), mirrors = both(m, left, sign_bit);
  Value high = both(m, reduced, constant(m, M_PI_4));
  high = sum(m, exclusive(m, high, turns), both(m, steep, constant(m, M_PI_2)));
  high = sum(m, exclusive(m, high, mirrors), both(m, left, constant(m, M_PI)));
  angle = exclusive(m, angle, exclusive(m, turns, mirrors));
  const double lost = M_PI / (double)(float)M_PI - 1;
  Value result = sum(m, high, product_sum(m, high, constant(m, lost), angle));
  return either(m, result, both(m, y, sign_bit));
}

/* Where both are nearly zero, or one is large or NaN. */
static Value is_far_from_one(Expression *m, Value y, Value x) {
  Value size = sum(m, absolute(m, x), absolute(m, y));
  return is_outside(m, size, power_bits(-100), power_bits(100));
}

/* sqrt(1 - x^2) */
static Value cofunction(Expression *m, Value x) {
  Value one = constant(m, 1);
  return square_root(m, product(m, difference(m, one, x), sum(m, one, x)));
}

static Value arc_sine(Expression *m, Value x) { return arc_tangent_2(m, x, cofunction(m, x)); }
static Value arc_cosine(Expression *m, Value x) { return arc_tangent_2(m, cofunction(m, x), x); }
static Value is_beyond_one(Expression *m, Value x) {
  return is_outside(m, absolute(m, x), 0, power_bits(0));
}
static Value no_number(Expression *m, Value x) { return constant(m, NAN); }

const Exception arc_exception = {is_beyond_one, no_number};
Formula *const arc_sine_formula = arc_sine, *const arc_cosine_formula = arc_cosine;

/* --- Remainders ------------------------------------------------------------------------------- */

/* With q = x / y rounded to nearest, q y is the sum of two exact products, as q has 9 bits at most. All
** differences are exact, as the last but one is less than 3/4 y. If it is negative, it is y too small. */
static Value remainder_of(Expression *m, Value x, Value y) {
  Value a = absolute(m, x), b = absolute(m, y), magic = constant(m, 0x1.8p23);
  Value q = difference(m, sum(m, quotient(m, a, b), magic), magic);
  Value high = both(m, b, integer(m, -(1 << 12))), low = difference(m, b, high);
  Value r = difference(m, difference(m, a, product(m, q, high)), product(m, q, low));
  r = sum(m, r, both(m, b, shifted_right(m, r, 31)));
  Value sign_bit = constant(m, -0.0);
  return either(m, absolute(m, r), both(m, x, sign_bit));
}

static Value is_extreme_quotient(Expression *m, Value x, Value y) {
  Value b = absolute(m, y), q = quotient(m, absolute(m, x), b);
  Value large = integer_less(m, integer(m, power_bits(9)), q);
  return either(m, large, is_outside(m, b, power_bits(-90), power_bits(100)));
}

/* --- Integers --------------------------------------------------------------------------------- */

/* Returns the quotients of lanes 0 and 1, or of 2 and 3, in the low words of f64x2. */
static Value quotient_of_half(Expression *m, bool is_signed, Value x, Value y, bool high) {
  int to_double = is_signed ? F64X2_CONVERT_LOW_I32X4_S : F64X2_CONVERT_LOW_I32X4_U;
  Value operands[] = {x, y};
  for (int i = 0; i < 2; i++) {
    if (high) operands[i] = expression_shuffle(m, operands[i], operands[i], 2, 3, 2, 3);
    operands[i] = expression_op(m, to_double, 1, operands[i], -1, -1);
  }
  Value q = expression_op(m, F64X2_DIV, 2, operands[0], operands[1], -1);
  Value magic = expression_word(m, UINT64_C(0x4338000000000000)); /* 1.5 * 2^52 */
  return expression_op(m, F64X2_ADD, 2, expression_op(m, F64X2_TRUNC, 1, q, -1, -1), magic, -1);
}

/*
** The quotient of two 32-bit integers, rounded to double, truncates to the right integer: the next integer above
** an inexact quotient q is at least q / 2^32 away, much more than an ulp. The low bits of the sum with 1.5 * 2^52
** hold the integer modulo 2^32, so INT_MIN / -1 wraps. Division by zero gives all ones.
*/
static Value integer_quotient(Expression *m, bool is_signed, Value x, Value y) {
  Value low = quotient_of_half(m, is_signed, x, y, false);
  Value high = quotient_of_half(m, is_signed, x, y, true);
  Value is_zero = expression_op(m, I32X4_EQ, 2, y, integer(m, 0), -1);
  return either(m, expression_shuffle(m, low, high, 0, 2, 4, 6), is_zero);
}

/* x - q y; for these quotients it is x for y = 0, and 0 for y = -1. */
static Value integer_rest(Expression *m, bool is_signed, Value x, Value y) {
  Value q = integer_quotient(m, is_signed, x, y);
  return integer_difference(m, x, expression_op(m, I32X4_MUL, 2, q, y, -1));
}

static Value divide_signed(Expression *m, Value x, Value y) {
  return integer_quotient(m, true, x, y);
}
static Value divide_unsigned(Expression *m, Value x, Value y) {
  return integer_quotient(m, false, x, y);
}
static Value rest_signed(Expression *m, Value x, Value y) { return integer_rest(m, true, x, y); }
static Value rest_unsigned(Expression *m, Value x, Value y) { return integer_rest(m, false, x, y); }

/* --- Shifts by different amounts -------------------------------------------------------------- */

/*
** Returns 2^n for n from 0 to 31, and else 0, for n from -1 to 63. Byte k of it is 2^(n - 8 k) if that is from 1 to 128: a
** table of eight bytes has these, and i8x16.swizzle gives 0 beyond its 16 bytes.
*/
static Value integer_power(Expression *m, Value n) {
  Value zero = integer(m, 0), powers = expression_word(m, UINT64_C(0x8040201008040201));
  Value table = expression_shuffle(m, powers, zero, 0, 1, 4, 5);
  Value bytes = expression_op(m, I32X4_MUL, 2, n, integer(m, 0x01010101), -1);
  bytes = expression_op(m, I8X16_SUB, 2, bytes, integer(m, 0x18100800), -1);
  return expression_op(m, I8X16_SWIZZLE, 2, table, bytes, -1);
}

/* Amounts past the width are alike. */
static Value bounded_amount(Expression *m, Value y) {
  return expression_op(m, I32X4_MIN_U, 2, y, integer(m, 32), -1);
}

/* x 2^y */
static Value shift_left(Expression *m, Value x, Value y) {
  return expression_op(m, I32X4_MUL, 2, x, integer_power(m, bounded_amount(m, y)), -1);
}

/* x 2^(31 - y) without its last 31 bits */
static Value shift_right(Expression *m, Value x, Value y) {
  Value n = integer_difference(m, integer(m, 31), bounded_amount(m, y)), halves[2];
  Value power = integer_power(m, n);
  for (int i = 0; i < 2; i++) {
    Value half = expression_op(m, I64X2_EXTMUL_LOW_I32X4_U + i, 2, x, power, -1);
    halves[i] = expression_shift(m, I64X2_SHR_U, half, 31);
  }
  return expression_shuffle(m, halves[0], halves[1], 0, 2, 4, 6);
}

/* Complements a negative x before and after. */
static Value shift_right_signed(Expression *m, Value x, Value y) {
  Value negative = shifted_right(m, x, 31);
  return exclusive(m, shift_right(m, exclusive(m, x, negative), y), negative);
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
