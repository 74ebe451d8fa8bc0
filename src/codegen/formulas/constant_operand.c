/*
** Operations whose second operand is a constant: powers as products and roots, remainders of powers of two, integer
** division by multiplication (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
*/
#include <math.h>

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"

/* --- Powers ----------------------------------------------------------------------------------- */

/* b^count, count from 1 to 4 */
static Value whole_power(Expression *m, Value b, int count) {
  if (count == 1) return b;
  Value square = product(m, b, b);
  return count == 2 ? square : product(m, square, count == 3 ? b : square);
}

/*
** x^c for c in steps of one half, from -2 to 4. In this range the roundings add up to two units in the last
** place, and no partial product is out of range where the result is not. The root is that of XLA's power: 0 for
** -0, and infinity for -infinity.
*/
static Value power_by(Expression *m, double c, Value x) {
  int twice = (int)(2 * fabs(c)), whole = twice / 2;
  bool half = twice % 2 != 0;
  Value one = constant(m, 1), infinity = constant(m, INFINITY);
  if (half) {
    Value is_lowest = is_equal(m, x, constant(m, -INFINITY));
    x = selected(m, is_lowest, infinity, sum(m, x, constant(m, 0)));
  }
  Value root = half ? square_root(m, x) : one;
  Value base = c > 0 || whole == 0 ? x : quotient(m, one, x);
  if (whole == 0) return c > 0 ? root : quotient(m, one, root);
  Value result = whole_power(m, base, whole);
  if (!half) return result;
  return c > 0 ? product(m, result, root) : quotient(m, result, root);
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
static Value remainder_by(Expression *m, double c, Value x) {
  Value q = product(m, x, constant(m, 1 / c));
  q = expression_op(m, m->is_64_bit ? F64X2_TRUNC : F32X4_TRUNC, 1, q, -1, -1);
  Value r = difference(m, x, product(m, q, constant(m, c)));
  return either(m, r, both(m, x, constant(m, -0.0)));
}

/* --- Integer division ------------------------------------------------------------------------- */

/* floor(2^bits r / d), r < d */
static uint64_t fraction(uint64_t r, uint64_t d, int bits) {
  uint64_t q = 0;
  for (int i = 0; i < bits; i++) {
    bool carry = r >> 63;
    r <<= 1;
    bool fits = carry || r >= d;
    if (fits) r -= d;
    q = q << 1 | fits;
  }
  return q;
}

/* The smallest l with d <= 2^l, d >= 2 */
static int ceiling_of_log(uint64_t d) { return 64 - __builtin_clzll(d - 1); }

/* Returns the upper half of the unsigned product. 64-bit numbers are multiplied by halves; extmul_low takes
** lanes 0 and 1. */
static Value product_high(Expression *m, Value x, uint64_t factor) {
  if (!m->is_64_bit) {
    Value f = integer(m, (int64_t)factor);
    Value low = expression_op(m, I64X2_EXTMUL_LOW_I32X4_U, 2, x, f, -1);
    Value high = expression_op(m, I64X2_EXTMUL_LOW_I32X4_U + 1, 2, x, f, -1);
    return expression_shuffle(m, low, high, 1, 3, 5, 7);
  }
  Value parts[2][2]; /* by the half of x, and that of the factor */
  for (int i = 0; i < 2; i++) {
    Value half = expression_shuffle(m, x, x, i, 2 + i, i, 2 + i);
    for (int j = 0; j < 2; j++) {
      uint64_t word = j ? factor >> 32 : factor & UINT32_MAX;
      Value f = expression_word(m, word | word << 32);
      parts[i][j] = expression_op(m, I64X2_EXTMUL_LOW_I32X4_U, 2, half, f, -1);
    }
  }
  Value middle = integer_sum(m, parts[1][0], shifted_right_unsigned(m, parts[0][0], 32));
  Value rest = integer_sum(m, parts[0][1], both(m, middle, integer(m, UINT32_MAX)));
  Value carried =
      integer_sum(m, shifted_right_unsigned(m, middle, 32), shifted_right_unsigned(m, rest, 32));
  return integer_sum(m, parts[1][1], carried);
}

static Value unsigned_quotient(Expression *m, uint64_t d, Value x) {
  int l = ceiling_of_log(d);
  uint64_t rest = (l == 64 ? 0 : UINT64_C(1) << l) - d;
  Value q = product_high(m, x, fraction(rest, d, m->is_64_bit ? 64 : 32) + 1);
  Value half = shifted_right_unsigned(m, integer_difference(m, x, q), 1);
  return shifted_right_unsigned(m, integer_sum(m, half, q), l - 1);
}

/* Shifts x right, rounding down; `negative` is the mask of its negative lanes. There is no such machine instruction
** for 64 bits, and V8 makes six of it. */
static Value shifted_signed(Expression *m, Value x, Value negative, int amount) {
  if (!m->is_64_bit) return shifted_right(m, x, amount);
  Value shifted = shifted_right_unsigned(m, exclusive(m, x, negative), amount);
  return exclusive(m, shifted, negative);
}

static Value signed_quotient(Expression *m, int64_t d, Value x) {
  int bits = m->is_64_bit ? 64 : 32;
  uint64_t size = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
  int l = ceiling_of_log(size);
  uint64_t factor = fraction(UINT64_C(1) << (l - 1), size, bits) + 1;
  Value negative = m->is_64_bit ? integer_less(m, x, integer(m, 0)) : shifted_right(m, x, bits - 1);
  Value q = integer_difference(m, product_high(m, x, factor),
                               both(m, negative, integer(m, (int64_t)factor)));
  q = integer_difference(m, shifted_signed(m, q, negative, l - 1), negative);
  return d < 0 ? integer_difference(m, integer(m, 0), q) : q;
}

static Value quotient_by(Expression *m, bool is_signed, Scalar d, Value x) {
  if (d.u == 0) return integer(m, -1);
  if (d.u == 1) return x;
  if (!is_signed) return unsigned_quotient(m, d.u, x);
  if (d.i == -1) return integer_difference(m, integer(m, 0), x);
  return signed_quotient(m, d.i, x);
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

Value constant_formula(Expression *m, Opcode opcode, PrimitiveType type, Scalar c, Value x) {
  if (opcode == HLO_POWER) return power_by(m, c.f, x);
  if (type_is_floating(type)) return remainder_by(m, c.f, x);
  Value q = quotient_by(m, is_signed(type), c, x);
  if (opcode == HLO_DIVIDE) return q;
  if (c.u == 0) return x;
  Value whole = expression_op(m, m->is_64_bit ? I64X2_MUL : I32X4_MUL, 2, q, integer(m, c.i), -1);
  return integer_difference(m, x, whole);
}
