/* Real functions as formulas: what programs spend time in, and takes no branches. */
#ifndef XLA_CODEGEN_MATH_FUNCTIONS_H
#define XLA_CODEGEN_MATH_FUNCTIONS_H

#include "codegen/emitter.h"
#include "codegen/expression.h"

typedef Value Formula(Expression *m, Value x);

/* Of f32x4 or f64x2, as `m->wide` says; NULL where there is none. */
Formula *math_formula(Opcode opcode, LaneKind kind);
/* e^x where x is at most 0 and a difference: 0, or not so small that its square would be denormal, unless
** all that it is of is as small. */
Formula exponential_of_difference;

/* Operands that the formula does not hold for, and are rare: which lanes they are in, and what holds
** there; NULL where there are none. */
typedef struct Exception {
  Formula *where, *instead;
} Exception;
const Exception *math_exception(Opcode opcode, LaneKind kind);

/* binary_functions.c: where `where` holds, `instead` does, or the vector function is called if that is
** NULL; `where` is NULL if that is nowhere. */
typedef Value OfTwo(Expression *m, Value x, Value y);
typedef struct BinaryFunction {
  OfTwo *formula, *where, *instead;
} BinaryFunction;
const BinaryFunction *math_binary_function(Opcode opcode, PrimitiveType type);
/* Replaces two operands on the stack; `name` is the vector function. */
void emit_binary_function(Emitter *e, const BinaryFunction *function, const char *name);
extern Formula *const arc_sine_formula, *const arc_cosine_formula;
extern const Exception arc_exception;

/* narrow_floats.c: between the bits of a float narrower than f32, zero-extended, and its value */
Value decoded(Expression *m, PrimitiveType type, Value bits);
Value encoded(Expression *m, PrimitiveType type, Value x);
Value rounded(Expression *m, PrimitiveType type, Value x);
typedef Value NarrowStep(Expression *m, PrimitiveType type, Value x);
/* What to do instead where any lane is NaN; NULL if the step itself is right there. */
NarrowStep *narrow_step_of_nan(NarrowStep *step, PrimitiveType type);
/* Of the bits of two floats the bits of a third; NULL if there is nothing faster than their values. */
const BinaryFunction *bits_function(Opcode opcode, PrimitiveType type);

/* complex_functions.c: of operations with complex operands. `parts` are the real and imaginary parts
** of each operand, `results` those of the result; in one lane only the first one counts. */
bool has_complex_formula(Opcode opcode);
void complex_formula(Expression *m, Opcode opcode, const Value *parts, int count, bool one_lane,
                     Value *results);
/* What the formula's results become where both are NaN. */
bool has_complex_repair(Opcode opcode);
void complex_repair(Expression *m, const Value *parts, const Value *results, Value *repaired);
Value complex_modulus(Expression *m, Value re, Value im);
/* constant_operand.c: x op c, of real types, in lanes of their kind */
bool has_constant_formula(Opcode opcode, PrimitiveType type, Scalar c);
Value constant_formula(Expression *m, Opcode opcode, PrimitiveType type, Scalar c, Value x);

#endif
