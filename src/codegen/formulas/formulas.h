/* Real functions as formulas: the frequent ones, without branches. */
#ifndef XLA_CODEGEN_FORMULAS_FORMULAS_H
#define XLA_CODEGEN_FORMULAS_FORMULAS_H

#include "codegen/formulas/expression.h"
#include "codegen/formulas/lanes.h"
#include "hlo/ir/module.h"
#include "value/scalar.h"

typedef Value Formula(Expression *e, Value x);

/* Returns a function's formula, of f32x4 or of f64x2 if `e->is_64_bit`; NULL if there is none. */
Formula *math_formula(Opcode opcode, LaneKind kind);
/* e^x for a difference x that is at most 0. x is then 0, or too large for a denormal square, unless both
** operands of the difference are as small. */
Formula exponential_of_difference;

/* vector_function.c: returns the name of the vector function that computes an operation on lanes of a type; NULL if
** there is none. */
const char *vector_function(Opcode opcode, PrimitiveType type);

/* Rare operands for which the formula does not hold: the mask of their lanes, and the formula for these; NULL
** if there are none. */
typedef struct Exception {
  Formula *where, *instead;
} Exception;
const Exception *math_exception(Opcode opcode, LaneKind kind);

/* binary_functions.c: a formula, except in the lanes of `where` (NULL: none). There `instead` applies, or the
** vector function if that is NULL. */
typedef Value OfTwo(Expression *e, Value x, Value y);
typedef struct BinaryFunction {
  OfTwo *formula, *where, *instead;
} BinaryFunction;
const BinaryFunction *math_binary_function(Opcode opcode, PrimitiveType type);
extern Formula *const arc_sine_formula, *const arc_cosine_formula;
extern const Exception arc_exception;

/* narrow_floats.c: convert between the zero-extended bits of a float narrower than f32 and its value. */
Value decoded(Expression *e, PrimitiveType type, Value bits);
Value encoded(Expression *e, PrimitiveType type, Value x);
Value rounded(Expression *e, PrimitiveType type, Value x);
typedef Value NarrowStep(Expression *e, PrimitiveType type, Value x);
/* Returns the step to use if any lane is NaN; NULL if `step` itself handles NaN. */
NarrowStep *narrow_step_of_nan(NarrowStep *step, PrimitiveType type);
/* Returns a function from the bits of two floats to the result's bits; NULL if none is faster than computing
** with values. */
const BinaryFunction *bits_function(Opcode opcode, PrimitiveType type);

/* complex_functions.c: formulas of operations with complex operands. `parts` are the real and imaginary parts
** of each operand, `results` those of the result; for one lane only the first counts. */
bool has_complex_formula(Opcode opcode);
void complex_formula(Expression *e, Opcode opcode, const Value *parts, int count, bool one_lane,
                     Value *results);
/* Whether the formula's results are replaced where both are NaN. */
bool has_complex_repair(Opcode opcode);
void complex_repair(Expression *e, const Value *parts, const Value *results, Value *repaired);
Value complex_modulus(Expression *e, Value re, Value im);
/* constant_operand.c: x op c, of real types, in lanes of their kind */
bool has_constant_formula(Opcode opcode, PrimitiveType type, Scalar c);
Value constant_formula(Expression *e, Opcode opcode, PrimitiveType type, Scalar c, Value x);

#endif
