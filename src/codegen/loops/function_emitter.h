/* Functions: written into the loop as formulas, or called. */
#ifndef XLA_CODEGEN_LOOPS_FUNCTION_EMITTER_H
#define XLA_CODEGEN_LOOPS_FUNCTION_EMITTER_H

#include "codegen/formulas/formulas.h"
#include "codegen/loops/emitter.h"

/* Whether a function is inlined. */
bool has_math(Opcode opcode, LaneKind kind);
/* Replaces the operand on the stack by the result of an inlined function. */
void emit_math(Emitter *e, const LoopNode *node);
/* Whether an operation with a constant as its second operand is inlined. */
bool is_with_constant(const LoopNode *node);
/* Emits such an operation. */
void emit_with_constant(Emitter *e, const LoopNode *node);

/* Whether an operation only changes signs of floats. emit_math() emits it, though it is no function. */
bool is_sign_change(Opcode opcode, LaneKind kind);
/* Whether a select chooses between two constants. */
bool is_constant_choice(const LoopNode *node);
/* Emits such a select, for the mask on the stack. */
void emit_constant_choice(Emitter *e, const LoopNode *node);
/* Whether a function takes more than a few instructions. */
bool is_long_function(Opcode opcode, PrimitiveType type);

/* Replaces two operands on the stack by the result; `name` is the vector function. */
void emit_binary_function(Emitter *e, const BinaryFunction *function, const char *name);

#endif
