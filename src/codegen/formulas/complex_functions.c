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
Value complex_modulus(Expression *e, Value re, Value im) {
  Value larger = maximum(e, absolute(e, re), absolute(e, im));
  Value exponent =
      e->is_64_bit ? expression_word(e, UINT64_C(0x7ff0000000000000)) : integer(e, 0x7f800000);
  Value power = bit_and(e, larger, exponent);
  power = maximum(e, power, constant(e, e->is_64_bit ? 0x1p-1022 : 0x1p-126));
  power = minimum(e, power, constant(e, e->is_64_bit ? 0x1p1022 : 0x1p126));
  Value twice_bias = integer(e, e->is_64_bit ? INT64_C(0x7fe0000000000000) : 0x7f000000);
  Value inverse = integer_difference(e, twice_bias, power);
  Value x = product(e, re, inverse), y = product(e, im, inverse);
  return product(e, square_root(e, sum(e, product(e, x, x), product(e, y, y))), power);
}

/* --- Division --------------------------------------------------------------------------------- */

static Value is_infinite(Expression *e, Value x) {
  return is_equal(e, absolute(e, x), constant(e, INFINITY));
}

static Value is_finite(Expression *e, Parts z) {
  Value infinity = constant(e, INFINITY);
  return bit_and(e, is_less(e, absolute(e, z.re), infinity),
                 is_less(e, absolute(e, z.im), infinity));
}

/* Returns the value of a component in a quotient with infinities, where only the signs matter. */
static Value infinite_unit(Expression *e, Value x) {
  Value one = bit_and(e, is_infinite(e, x), constant(e, 1));
  return bit_or(e, one, bit_and(e, x, constant(e, -0.0)));
}

/* factor * (x conj(y)) */
static Parts scaled_quotient(Expression *e, double factor, Parts x, Parts y) {
  Value re = sum(e, product(e, x.re, y.re), product(e, x.im, y.im));
  Value im = difference(e, product(e, x.im, y.re), product(e, x.re, y.im));
  return (Parts){product(e, constant(e, factor), re), product(e, constant(e, factor), im)};
}

static Parts select_parts(Expression *e, Value mask, Parts yes, Parts no) {
  return (Parts){selected(e, mask, yes.re, no.re), selected(e, mask, yes.im, no.im)};
}

/* Returns the quotient by C's Annex G where both parts are NaN: see hlo/scalar/complex.c. */
static Parts special_quotient(Expression *e, Parts x, Parts y, Parts result) {
  Value zero = constant(e, 0);
  Value nan = bit_and(e, is_unequal(e, result.re, result.re), is_unequal(e, result.im, result.im));
  Parts x_unit = {infinite_unit(e, x.re), infinite_unit(e, x.im)};
  Parts y_unit = {infinite_unit(e, y.re), infinite_unit(e, y.im)};
  Value y_infinite = bit_or(e, is_infinite(e, y.re), is_infinite(e, y.im));
  Value x_infinite = bit_or(e, is_infinite(e, x.re), is_infinite(e, x.im));
  Value small = bit_and(e, y_infinite, is_finite(e, x));
  Value large = bit_and(e, x_infinite, is_finite(e, y));
  Value y_zero = bit_and(e, is_equal(e, y.re, zero), is_equal(e, y.im, zero));
  Value pole = bit_and(e, y_zero, bit_or(e, is_equal(e, x.re, x.re), is_equal(e, x.im, x.im)));
  Value infinity = bit_or(e, constant(e, INFINITY), bit_and(e, y.re, constant(e, -0.0)));
  Parts at_pole = {product(e, infinity, x.re), product(e, infinity, x.im)};
  Parts special = select_parts(e, bit_and(e, nan, small), scaled_quotient(e, 0, x, y_unit), result);
  special =
      select_parts(e, bit_and(e, nan, large), scaled_quotient(e, INFINITY, x_unit, y), special);
  return select_parts(e, bit_and(e, nan, pole), at_pole, special);
}

/* Divides by Smith's algorithm (CACM 5(8), 1962), each step rounded as in XLA. If the divisor's imaginary part is
** the larger one, both numbers are first divided by i. */
static Parts complex_quotient(Expression *e, Parts x, Parts y) {
  Value divides_by_i = is_less(e, absolute(e, y.re), absolute(e, y.im));
  Parts a = select_parts(e, divides_by_i, (Parts){x.im, negated(e, x.re)}, x);
  Parts b = select_parts(e, divides_by_i, (Parts){y.im, negated(e, y.re)}, y);
  Value ratio = quotient(e, b.im, b.re), below = sum(e, b.re, product(e, ratio, b.im));
  Parts result = {quotient(e, sum(e, a.re, product(e, ratio, a.im)), below),
                  quotient(e, difference(e, a.im, product(e, ratio, a.re)), below)};
  return result;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Convert real and imaginary parts to the first or second half of the numbers, and back. */
static Value joined(Expression *e, Parts z, int half) {
  if (e->is_64_bit) {
    return expression_shuffle(e, z.re, z.im, 2 * half, 2 * half + 1, 2 * half + 4, 2 * half + 5);
  }
  return expression_shuffle(e, z.re, z.im, 2 * half, 2 * half + 4, 2 * half + 1, 2 * half + 5);
}

static Value taken(Expression *e, Value first, Value second, int part) {
  if (e->is_64_bit) {
    return expression_shuffle(e, first, second, 2 * part, 2 * part + 1, 2 * part + 4, 2 * part + 5);
  }
  return expression_shuffle(e, first, second, part, part + 2, part + 4, part + 6);
}

static Parts called(Expression *e, const char *name, const Parts *operands, int count,
                    bool one_lane) {
  Value halves[2];
  for (int half = 0; half < (one_lane ? 1 : 2); half++) {
    Value arguments[2];
    for (int i = 0; i < count; i++) arguments[i] = joined(e, operands[i], half);
    halves[half] = expression_call(e, name, count, arguments);
  }
  Value second = one_lane ? halves[0] : halves[1];
  return (Parts){taken(e, halves[0], second, 0), taken(e, halves[0], second, 1)};
}

/* --- The table of operations -------------------------------------------------------------------------- */

bool has_complex_formula(Opcode opcode) {
  return opcode == HLO_DIVIDE || vector_function(opcode, C64);
}

void complex_formula(Expression *e, Opcode opcode, const Value *parts, int count, bool one_lane,
                     Value *results) {
  Parts operands[2], result;
  for (int i = 0; i < count; i++) operands[i] = (Parts){parts[2 * i], parts[2 * i + 1]};
  if (opcode == HLO_DIVIDE) {
    result = complex_quotient(e, operands[0], operands[1]);
  } else {
    const char *name = vector_function(opcode, e->is_64_bit ? C128 : C64);
    result = called(e, name, operands, count, one_lane);
  }
  results[0] = result.re;
  results[1] = result.im;
}

bool has_complex_repair(Opcode opcode) { return opcode == HLO_DIVIDE; }

void complex_repair(Expression *e, const Value *parts, const Value *results, Value *repaired) {
  Parts x = {parts[0], parts[1]}, y = {parts[2], parts[3]};
  Parts result = special_quotient(e, x, y, (Parts){results[0], results[1]});
  repaired[0] = result.re;
  repaired[1] = result.im;
}
