/*
** Complex operations of more than one instruction per part: as formulas over vectors of real and of imaginary
** parts, or as calls of vectors/complex.c, which takes the two in adjacent lanes.
*/
#include <math.h>

#include "codegen/formulas/formulas.h"

typedef struct Parts {
  Value re, im;
} Parts;

/* sqrt(x^2 + y^2), scaled by a power of two near the larger part, so that no square is out of
** range. NaN if either part is, as XLA has it, even if the other is infinite. */
Value complex_modulus(Expression *m, Value re, Value im) {
  Value larger = maximum(m, absolute(m, re), absolute(m, im));
  Value exponent =
      m->is_64_bit ? expression_word(m, UINT64_C(0x7ff0000000000000)) : integer(m, 0x7f800000);
  Value power = both(m, larger, exponent);
  power = maximum(m, power, constant(m, m->is_64_bit ? 0x1p-1022 : 0x1p-126));
  power = minimum(m, power, constant(m, m->is_64_bit ? 0x1p1022 : 0x1p126));
  Value twice_bias = integer(m, m->is_64_bit ? INT64_C(0x7fe0000000000000) : 0x7f000000);
  Value inverse = integer_difference(m, twice_bias, power);
  Value x = product(m, re, inverse), y = product(m, im, inverse);
  return product(m, square_root(m, sum(m, product(m, x, x), product(m, y, y))), power);
}

/* --- Division --------------------------------------------------------------------------------- */

static Value is_infinite(Expression *m, Value x) {
  return is_equal(m, absolute(m, x), constant(m, INFINITY));
}

static Value is_finite(Expression *m, Parts z) {
  Value infinity = constant(m, INFINITY);
  return both(m, is_less(m, absolute(m, z.re), infinity), is_less(m, absolute(m, z.im), infinity));
}

/* Returns the value of a component in a quotient with infinities, where only the signs matter. */
static Value infinite_unit(Expression *m, Value x) {
  Value one = both(m, is_infinite(m, x), constant(m, 1));
  return either(m, one, both(m, x, constant(m, -0.0)));
}

/* factor * (x conj(y)) */
static Parts scaled_quotient(Expression *m, double factor, Parts x, Parts y) {
  Value re = sum(m, product(m, x.re, y.re), product(m, x.im, y.im));
  Value im = difference(m, product(m, x.im, y.re), product(m, x.re, y.im));
  return (Parts){product(m, constant(m, factor), re), product(m, constant(m, factor), im)};
}

static Parts select_parts(Expression *m, Value mask, Parts yes, Parts no) {
  return (Parts){selected(m, mask, yes.re, no.re), selected(m, mask, yes.im, no.im)};
}

/* Returns the quotient by C's Annex G where both parts are NaN: see hlo/scalar/complex.c. */
static Parts special_quotient(Expression *m, Parts x, Parts y, Parts result) {
  Value zero = constant(m, 0);
  Value nan = both(m, is_unequal(m, result.re, result.re), is_unequal(m, result.im, result.im));
  Parts x_unit = {infinite_unit(m, x.re), infinite_unit(m, x.im)};
  Parts y_unit = {infinite_unit(m, y.re), infinite_unit(m, y.im)};
  Value y_infinite = either(m, is_infinite(m, y.re), is_infinite(m, y.im));
  Value x_infinite = either(m, is_infinite(m, x.re), is_infinite(m, x.im));
  Value small = both(m, y_infinite, is_finite(m, x));
  Value large = both(m, x_infinite, is_finite(m, y));
  Value y_zero = both(m, is_equal(m, y.re, zero), is_equal(m, y.im, zero));
  Value pole = both(m, y_zero, either(m, is_equal(m, x.re, x.re), is_equal(m, x.im, x.im)));
  Value infinity = either(m, constant(m, INFINITY), both(m, y.re, constant(m, -0.0)));
  Parts at_pole = {product(m, infinity, x.re), product(m, infinity, x.im)};
  Parts special = select_parts(m, both(m, nan, small), scaled_quotient(m, 0, x, y_unit), result);
  special = select_parts(m, both(m, nan, large), scaled_quotient(m, INFINITY, x_unit, y), special);
  return select_parts(m, both(m, nan, pole), at_pole, special);
}

/* Divides by Smith's algorithm (CACM 5(8), 1962), each step rounded as in XLA. If the divisor's imaginary part is
** the larger one, both numbers are first divided by i. */
static Parts complex_quotient(Expression *m, Parts x, Parts y) {
  Value turn = is_less(m, absolute(m, y.re), absolute(m, y.im));
  Parts a = select_parts(m, turn, (Parts){x.im, negated(m, x.re)}, x);
  Parts b = select_parts(m, turn, (Parts){y.im, negated(m, y.re)}, y);
  Value ratio = quotient(m, b.im, b.re), below = sum(m, b.re, product(m, ratio, b.im));
  Parts result = {quotient(m, sum(m, a.re, product(m, ratio, a.im)), below),
                  quotient(m, difference(m, a.im, product(m, ratio, a.re)), below)};
  return result;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static const char *const functions[OPCODE_COUNT][2] = {
#define COMPLEX_FUNCTION(opcode, name) [opcode] = {"xla_" name "_c64x2", "xla_" name "_c128"}
    COMPLEX_FUNCTION(HLO_ACOS, "acos"),         COMPLEX_FUNCTION(HLO_ACOSH, "acosh"),
    COMPLEX_FUNCTION(HLO_ASIN, "asin"),         COMPLEX_FUNCTION(HLO_ASINH, "asinh"),
    COMPLEX_FUNCTION(HLO_ATAN2, "atan2"),       COMPLEX_FUNCTION(HLO_ATANH, "atanh"),
    COMPLEX_FUNCTION(HLO_COS, "cos"),           COMPLEX_FUNCTION(HLO_COSH, "cosh"),
    COMPLEX_FUNCTION(HLO_EXP, "exp"),           COMPLEX_FUNCTION(HLO_EXPM1, "expm1"),
    COMPLEX_FUNCTION(HLO_LOG, "log"),           COMPLEX_FUNCTION(HLO_LOG1P, "log1p"),
    COMPLEX_FUNCTION(HLO_LOGISTIC, "logistic"), COMPLEX_FUNCTION(HLO_POWER, "power"),
    COMPLEX_FUNCTION(HLO_RSQRT, "rsqrt"),       COMPLEX_FUNCTION(HLO_SIGN, "sign"),
    COMPLEX_FUNCTION(HLO_SIN, "sin"),           COMPLEX_FUNCTION(HLO_SINH, "sinh"),
    COMPLEX_FUNCTION(HLO_SQRT, "sqrt"),         COMPLEX_FUNCTION(HLO_TAN, "tan"),
    COMPLEX_FUNCTION(HLO_TANH, "tanh"),
#undef COMPLEX_FUNCTION
};

/* Convert real and imaginary parts to the first or second half of the numbers, and back. */
static Value joined(Expression *m, Parts z, int half) {
  if (m->is_64_bit) {
    return expression_shuffle(m, z.re, z.im, 2 * half, 2 * half + 1, 2 * half + 4, 2 * half + 5);
  }
  return expression_shuffle(m, z.re, z.im, 2 * half, 2 * half + 4, 2 * half + 1, 2 * half + 5);
}

static Value taken(Expression *m, Value first, Value second, int part) {
  if (m->is_64_bit) {
    return expression_shuffle(m, first, second, 2 * part, 2 * part + 1, 2 * part + 4, 2 * part + 5);
  }
  return expression_shuffle(m, first, second, part, part + 2, part + 4, part + 6);
}

static Parts called(Expression *m, const char *name, const Parts *operands, int count,
                    bool one_lane) {
  Value halves[2];
  for (int half = 0; half < (one_lane ? 1 : 2); half++) {
    Value arguments[2];
    for (int i = 0; i < count; i++) arguments[i] = joined(m, operands[i], half);
    halves[half] = expression_call(m, name, count, arguments);
  }
  Value second = one_lane ? halves[0] : halves[1];
  return (Parts){taken(m, halves[0], second, 0), taken(m, halves[0], second, 1)};
}

/* --- The table of operations -------------------------------------------------------------------------- */

bool has_complex_formula(Opcode opcode) { return opcode == HLO_DIVIDE || functions[opcode][0]; }

void complex_formula(Expression *m, Opcode opcode, const Value *parts, int count, bool one_lane,
                     Value *results) {
  Parts operands[2], result;
  for (int i = 0; i < count; i++) operands[i] = (Parts){parts[2 * i], parts[2 * i + 1]};
  if (opcode == HLO_DIVIDE) {
    result = complex_quotient(m, operands[0], operands[1]);
  } else {
    result = called(m, functions[opcode][m->is_64_bit], operands, count, one_lane);
  }
  results[0] = result.re;
  results[1] = result.im;
}

bool has_complex_repair(Opcode opcode) { return opcode == HLO_DIVIDE; }

void complex_repair(Expression *m, const Value *parts, const Value *results, Value *repaired) {
  Parts x = {parts[0], parts[1]}, y = {parts[2], parts[3]};
  Parts result = special_quotient(m, x, y, (Parts){results[0], results[1]});
  repaired[0] = result.re;
  repaired[1] = result.im;
}
