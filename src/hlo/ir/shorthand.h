/* Adds the instructions that rewrites need most often, with one call each. */
#ifndef XLA_HLO_IR_SHORTHAND_H
#define XLA_HLO_IR_SHORTHAND_H

#include "hlo/ir/module.h"
#include "value/scalar.h"

Instruction *computation_add_element(Computation *computation, Instruction *tuple, int64_t index);
Instruction *computation_add_tuple(Computation *computation, Instruction *const *elements,
                                   int count);
Instruction *computation_add_reshape(Computation *computation, Instruction *x, int rank,
                                     const int64_t *dims);
/* Transposes x, or returns x if its dimensions are in this order. */
Instruction *computation_add_transpose(Computation *computation, Instruction *x,
                                       const int64_t *order);
/* Converts x to a type, or returns x if it has it. */
Instruction *computation_add_convert(Computation *computation, Instruction *x, PrimitiveType type);
/* Slices the elements [begin, end) of one dimension. */
Instruction *computation_add_range(Computation *computation, Instruction *x, int64_t dimension,
                                   int64_t begin, int64_t end);
/* Adds a scalar constant. */
Instruction *computation_add_number(Computation *computation, PrimitiveType type, Scalar value);
Instruction *computation_add_integer(Computation *computation, PrimitiveType type, int64_t value);
/* Adds an operation of two operands whose result has the shape of the first one. */
Instruction *computation_add_binary(Computation *computation, Opcode opcode, Instruction *x,
                                    Instruction *y);
/* Makes a computation that applies one operation to two scalars. */
Computation *module_add_reducer(Module *module, Opcode opcode, PrimitiveType type);

#endif
