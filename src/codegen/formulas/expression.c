#include "codegen/formulas/expression.h"

#include <assert.h>
#include <string.h>

#include "base/host/platform.h"

static Value add_node(Expression *e, ExpressionNode node) {
  assert(e->count < MAX_VALUES);
  for (int i = 0; i < node.count; i++) e->nodes[node.operands[i]].uses++;
  e->nodes[e->count] = node;
  return e->count++;
}

Value expression_input(Expression *e, int local) {
  return add_node(e, (ExpressionNode){.kind = EXPRESSION_INPUT, .local = local});
}

Value expression_word(Expression *e, uint64_t bits) {
  return add_node(e,
                  (ExpressionNode){.kind = EXPRESSION_CONSTANT, .bits = bits, .local = NO_LOCAL});
}

Value expression_op(Expression *e, int op, int count, Value a, Value b, Value c) {
  return add_node(e, (ExpressionNode){.kind = EXPRESSION_SIMD,
                                      .op = op,
                                      .count = count,
                                      .operands = {a, b, c},
                                      .local = NO_LOCAL});
}

static Value add_with_number(Expression *e, ExpressionKind kind, int op, Value a, uint64_t number) {
  return add_node(
      e,
      (ExpressionNode){
          .kind = kind, .op = op, .count = 1, .operands = {a}, .bits = number, .local = NO_LOCAL});
}

Value expression_shift(Expression *e, int op, Value a, int amount) {
  return add_with_number(e, EXPRESSION_SHIFT, op, a, (uint64_t)amount);
}

Value expression_by_lane(Expression *e, int op, Value a, uint64_t operand) {
  return add_with_number(e, EXPRESSION_BY_LANE, op, a, operand);
}

Value expression_shuffle(Expression *e, Value a, Value b, int i, int j, int k, int l) {
  return add_node(e, (ExpressionNode){.kind = EXPRESSION_SHUFFLE,
                                      .count = 2,
                                      .operands = {a, b},
                                      .bits = (uint64_t)(i | j << 8 | k << 16 | l << 24),
                                      .local = NO_LOCAL});
}

Value expression_call(Expression *e, const char *name, int count, const Value *operands) {
  ExpressionNode node = {.kind = EXPRESSION_CALL, .count = count, .name = name, .local = NO_LOCAL};
  for (int i = 0; i < count; i++) node.operands[i] = operands[i];
  return add_node(e, node);
}

Value constant(Expression *e, double value) {
  float narrow = (float)value;
  uint64_t bits = 0;
  if (e->is_64_bit) {
    memcpy(&bits, &value, sizeof value);
  } else {
    memcpy(&bits, &narrow, sizeof narrow);
    bits |= bits << 32;
  }
  return expression_word(e, bits);
}

Value integer(Expression *e, int64_t value) {
  uint64_t bits = (uint64_t)value;
  return expression_word(e, e->is_64_bit ? bits : (bits & UINT32_MAX) | bits << 32);
}

Value product_sum(Expression *e, Value a, Value b, Value c) {
  if (!platform_fuses()) return sum(e, product(e, a, b), c);
  return expression_op(e, e->is_64_bit ? F64X2_RELAXED_MADD : F32X4_RELAXED_MADD, 3, a, b, c);
}

Value product_rest(Expression *e, Value a, Value b, Value c) {
  if (!platform_fuses()) return difference(e, c, product(e, a, b));
  return expression_op(e, e->is_64_bit ? F64X2_RELAXED_NMADD : F32X4_RELAXED_NMADD, 3, a, b, c);
}

Value polynomial_by_pairs(Expression *e, Value x, Value square, const double *coefficients,
                          int count) {
  int next = count % 2;
  Value total = next ? constant(e, coefficients[0]) : -1;
  for (; next < count; next += 2) {
    Value pair =
        product_sum(e, constant(e, coefficients[next]), x, constant(e, coefficients[next + 1]));
    total = total < 0 ? pair : product_sum(e, total, square, pair);
  }
  return total;
}

/* The coefficients of high powers are added in pairs, which do not wait for each other. */
Value polynomial(Expression *e, Value x, const double *coefficients, int count) {
  /* Shorter polynomials wait less, and the last steps round most. */
  enum { LONG = 6, LONG_FUSED = 7, LAST = 2 };
  bool is_long = count >= (platform_fuses() ? LONG_FUSED : LONG);
  int next = is_long ? count - LAST : 1;
  Value total = is_long ? polynomial_by_pairs(e, x, product(e, x, x), coefficients, next)
                        : constant(e, coefficients[0]);
  for (int i = next; i < count; i++) {
    Value next_one = constant(e, coefficients[i]);
    bool is_one = i == 1 && coefficients[0] == 1;
    total = is_one ? sum(e, x, next_one) : product_sum(e, total, x, next_one);
  }
  return total;
}
