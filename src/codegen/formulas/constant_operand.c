/*
** Operations whose second operand is a constant: powers as products and roots, remainders of powers of two, integer
** division by multiplication (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
*/
#include <math.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"

/* --- Powers ----------------------------------------------------------------------------------- */

/* b^count, count from 1 to 4 */
static Value whole_power(Expression *e, Value b, int count) {
  if (count == 1) return b;
  Value square = product(e, b, b);
  return count == 2 ? square : product(e, square, count == 3 ? b : square);
}

/*
** x^c for c in steps of one half, from -2 to 4. In this range the roundings add up to two units in the last
** place, and no partial product is out of range where the result is not. The root is that of XLA's power: 0 for
** -0, and infinity for -infinity.
*/
static Value power_by(Expression *e, double c, Value x) {
  int twice = (int)(2 * fabs(c)), whole = twice / 2;
  bool half = twice % 2 != 0;
  Value one = constant(e, 1), infinity = constant(e, INFINITY);
  if (half) {
    Value is_lowest = is_equal(e, x, constant(e, -INFINITY));
    x = selected(e, is_lowest, infinity, sum(e, x, constant(e, 0)));
  }
  Value root = half ? square_root(e, x) : one;
  Value base = c > 0 || whole == 0 ? x : quotient(e, one, x);
  if (whole == 0) return c > 0 ? root : quotient(e, one, root);
  Value result = whole_power(e, base, whole);
  if (!half) return result;
  return c > 0 ? product(e, result, root) : quotient(e, result, root);
}

static bool is_short_power(double c) {
  return c >= -2 && c <= 4 && c != 0 && 2 * c == floor(2 * c);
}

/* --- Remainders ------------------------------------------------------------------------------- */

/* Whether |c| is a power of two from 1 to 2^100: dividing by it overflows for no number. */
static bool is_whole_power_of_two(double c) {
  int exponent;
  return fabs(frexp(c, &exponent)) == 0.5 && exponent >= 1 && exponent <= 101;
}

/* x - c trunc(x / c), which is exact for these c, with the sign of x. A quotient that is denormal is cut to 0. */
static Value remainder_by(Expression *e, double c, Value x) {
  Value q = product(e, x, constant(e, 1 / c));
  q = expression_op(e, e->is_64_bit ? F64X2_TRUNC : F32X4_TRUNC, 1, q, -1, -1);
  Value r = difference(e, x, product(e, q, constant(e, c)));
  return bit_or(e, r, bit_and(e, x, constant(e, -0.0)));
}

/* --- Integer division ------------------------------------------------------------------------- */

/* The smallest l with d <= 2^l, d >= 2 */
static int ceiling_of_log(uint64_t d) { return 64 - __builtin_clzll(d - 1); }

/* Returns the upper half of the unsigned product. extmul_low takes lanes 0 and 1. */
static Value product_high(Expression *e, Value x, uint64_t factor) {
  Value f = integer(e, (int64_t)factor);
  Value low = expression_op(e, I64X2_EXTMUL_LOW_I32X4_U, 2, x, f, -1);
  Value high = expression_op(e, I64X2_EXTMUL_LOW_I32X4_U + 1, 2, x, f, -1);
  return expression_shuffle(e, low, high, 1, 3, 5, 7);
}

static Value unsigned_quotient(Expression *e, uint64_t d, Value x) {
  int l = ceiling_of_log(d);
  uint64_t rest = (UINT64_C(1) << l) - d;
  Value q = product_high(e, x, (rest << 32) / d + 1);
  Value half = shifted_right_unsigned(e, integer_difference(e, x, q), 1);
  return shifted_right_unsigned(e, integer_sum(e, half, q), l - 1);
}

static Value signed_quotient(Expression *e, int64_t d, Value x) {
  uint64_t size = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
  int l = ceiling_of_log(size);
  uint64_t factor = (UINT64_C(1) << (31 + l)) / size + 1;
  Value negative = shifted_right(e, x, 31);
  Value q = integer_difference(e, product_high(e, x, factor),
                               bit_and(e, negative, integer(e, (int64_t)factor)));
  q = integer_difference(e, shifted_right(e, q, l - 1), negative);
  return d < 0 ? integer_difference(e, integer(e, 0), q) : q;
}

/* Of 64 bits, lane by lane: engines multiply for constant divisors, and processors have the upper half of a product of
** 64 bits only for scalars. */
static Value quotient_by(Expression *e, bool is_signed, Scalar d, Value x) {
  if (d.u == 0) return integer(e, -1);
  if (d.u == 1) return x;
  if (is_signed && d.i == -1) return integer_difference(e, integer(e, 0), x);
  if (e->is_64_bit) return expression_by_lane(e, OP_I64_DIV_S + !is_signed, x, d.u);
  return is_signed ? signed_quotient(e, d.i, x) : unsigned_quotient(e, d.u, x);
}

static Value integer_remainder_by(Expression *e, bool is_signed, Scalar d, Value x) {
  if (d.u == 0) return x;
  if (e->is_64_bit) return expression_by_lane(e, OP_I64_REM_S + !is_signed, x, d.u);
  Value q = quotient_by(e, is_signed, d, x);
  return integer_difference(e, x, expression_op(e, I32X4_MUL, 2, q, integer(e, d.i), -1));
}

/* --- The table of formulas -------------------------------------------------------------------------- */

static bool is_integer(PrimitiveType type) {
  return lane_kind(type) == LANES_I32 || lane_kind(type) == LANES_I64;
}

bool has_constant_formula(Opcode opcode, PrimitiveType type, Scalar c) {
  if (is_integer(type)) return opcode == HLO_DIVIDE || opcode == HLO_REMAINDER;
  if (!type_is_floating(type)) return false;
  return opcode == HLO_REMAINDER ? is_whole_power_of_two(c.f)
                                 : opcode == HLO_POWER && is_short_power(c.f);
}

Value constant_formula(Expression *e, Opcode opcode, PrimitiveType type, Scalar c, Value x) {
  if (opcode == HLO_POWER) return power_by(e, c.f, x);
  if (type_is_floating(type)) return remainder_by(e, c.f, x);
  if (opcode == HLO_DIVIDE) return quotient_by(e, is_signed(type), c, x);
  return integer_remainder_by(e, is_signed(type), c, x);
}
