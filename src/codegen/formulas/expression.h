/*
** Formulas over vectors, and their code. A formula is built as a graph of values, by functions that read like
** the formula. emit_expression() then emits it: a value used once stays on WebAssembly's stack, others get a
** local for their live range. wasm_v128() hoists constants.
**
** A formula computes in lanes of 32 bits or, if `is_64_bit`, of 64; operations named without a type are then those of
** f64x2 and i64x2.
*/
#ifndef XLA_CODEGEN_FORMULAS_EXPRESSION_H
#define XLA_CODEGEN_FORMULAS_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "codegen/wasm/instructions.h"

/* Threshold MAX_VALUES: room for the largest formula; an assertion checks it. No path. */
/* Threshold MAX_INPUTS, MAX_RESULTS: room for the largest formula. No path. */
enum { MAX_VALUES = 640, MAX_INPUTS = 4, MAX_RESULTS = 2, NO_LOCAL = -1 };

typedef int Value; /* index of a node */

typedef enum ExpressionKind {
  EXPRESSION_INPUT,
  EXPRESSION_CONSTANT,
  EXPRESSION_SIMD,    /* the instruction `op` */
  EXPRESSION_SHIFT,   /* the same, of all lanes by `bits` */
  EXPRESSION_SHUFFLE, /* of 32-bit lanes: the bytes of `bits` */
  EXPRESSION_BY_LANE, /* the scalar instruction `op` of each 64-bit lane and the constant `bits` */
  EXPRESSION_CALL,    /* of the vector function `name` */
} ExpressionKind;

typedef struct ExpressionNode {
  ExpressionKind kind;
  int op, count;
  Value operands[MAX_INPUTS];
  uint64_t bits; /* of a constant: in each half of the vector */
  const char *name;
  int uses, local;
} ExpressionNode;

typedef struct Expression {
  bool is_64_bit;
  bool of_difference; /* the input is a difference of numbers, most likely not all tiny */
  int count;
  ExpressionNode nodes[MAX_VALUES];
} Expression;

/* --- Building --- */

Value expression_input(Expression *e, int local);
Value expression_word(Expression *e, uint64_t bits); /* of each 64 bits of the vector */
Value expression_op(Expression *e, int op, int count, Value a, Value b, Value c);
Value expression_shift(Expression *e, int op, Value a, int amount);
Value expression_by_lane(Expression *e, int op, Value a, uint64_t operand);
Value expression_shuffle(Expression *e, Value a, Value b, int i, int j, int k, int l);
Value expression_call(Expression *e, const char *name, int count, const Value *operands);

/* Puts a float or an integer into all lanes; of f64x2 or i64x2 if `is_64_bit`. */
Value constant(Expression *e, double value);
Value integer(Expression *e, int64_t value);

#define UNARY_OPERATION(name, op_32, op_64)                                  \
  static inline Value name(Expression *e, Value a) {                         \
    return expression_op(e, e->is_64_bit ? (op_64) : (op_32), 1, a, -1, -1); \
  }
#define BINARY_OPERATION(name, op_32, op_64)                                \
  static inline Value name(Expression *e, Value a, Value b) {               \
    return expression_op(e, e->is_64_bit ? (op_64) : (op_32), 2, a, b, -1); \
  }
#define SHIFT_OPERATION(name, op_32, op_64)                                  \
  static inline Value name(Expression *e, Value a, int amount) {             \
    return expression_shift(e, e->is_64_bit ? (op_64) : (op_32), a, amount); \
  }

UNARY_OPERATION(square_root, F32X4_SQRT, F64X2_SQRT)
UNARY_OPERATION(not_of, V128_NOT, V128_NOT)
BINARY_OPERATION(sum, F32X4_ADD, F64X2_ADD)
BINARY_OPERATION(difference, F32X4_SUB, F64X2_SUB)
BINARY_OPERATION(product, F32X4_MUL, F64X2_MUL)
BINARY_OPERATION(quotient, F32X4_DIV, F64X2_DIV)
BINARY_OPERATION(is_less, F32X4_LT, F64X2_LT)
BINARY_OPERATION(is_equal, F32X4_EQ, F64X2_EQ)
BINARY_OPERATION(is_unequal, F32X4_NE, F64X2_NE)
/* b < a ? b : a, and a < b ? b : a: NaN if a is. One instruction, where min and max are six. */
BINARY_OPERATION(minimum, F32X4_PMIN, F64X2_PMIN)
BINARY_OPERATION(maximum, F32X4_PMAX, F64X2_PMAX)
BINARY_OPERATION(integer_sum, I32X4_ADD, I64X2_ADD)
BINARY_OPERATION(integer_difference, I32X4_SUB, I64X2_SUB)
BINARY_OPERATION(integer_less, I32X4_LT_S, I64X2_LT_S)
BINARY_OPERATION(bit_and, V128_AND, V128_AND)
BINARY_OPERATION(bit_or, V128_OR, V128_OR)
BINARY_OPERATION(bit_xor, V128_XOR, V128_XOR)
BINARY_OPERATION(bit_andnot, V128_ANDNOT, V128_ANDNOT) /* a & ~b */
SHIFT_OPERATION(shifted_left, I32X4_SHL, I64X2_SHL)
SHIFT_OPERATION(shifted_right, I32X4_SHR_S, I64X2_SHR_S)
SHIFT_OPERATION(shifted_right_unsigned, I32X4_SHR_U, I64X2_SHR_U)

#undef UNARY_OPERATION
#undef BINARY_OPERATION
#undef SHIFT_OPERATION

/* Take one instruction and a hoisted constant; V8 makes three of f32x4.abs and of f32x4.neg. */
static inline Value absolute(Expression *e, Value x) { return bit_andnot(e, x, constant(e, -0.0)); }
static inline Value negated(Expression *e, Value x) { return bit_xor(e, x, constant(e, -0.0)); }

/* Bit by bit: mask ? yes : no */
static inline Value selected(Expression *e, Value mask, Value yes, Value no) {
  return expression_op(e, V128_BITSELECT, 3, yes, no, mask);
}

/* a b + c and c - a b: rounded once if the engine fuses, and else twice. Only for steps that hold either way. */
Value product_sum(Expression *e, Value a, Value b, Value c);
Value product_rest(Expression *e, Value a, Value b, Value c);

/* Builds a polynomial by Horner's rule, highest coefficient first. */
Value polynomial(Expression *e, Value x, const double *coefficients, int count);
/* The same by Horner's rule in `square`, x^2: pairs of terms do not wait for each other. */
Value polynomial_by_pairs(Expression *e, Value x, Value square, const double *coefficients,
                          int count);
#define POLYNOMIAL(e, x, ...)                                                             \
  __extension__({                                                                         \
    static const double coefficients_[] = {__VA_ARGS__};                                  \
    polynomial(e, x, coefficients_, (int)(sizeof coefficients_ / sizeof *coefficients_)); \
  })

#endif
