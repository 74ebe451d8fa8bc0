/*
** Decides which instructions may go into a fused loop. The target says which element-wise operations it can
** emit. Everything else follows from shapes and attributes.
*/
#ifndef XLA_PLAN_FUSIBLE_H
#define XLA_PLAN_FUSIBLE_H

#include "plan/loop_plan.h"

/* Operations that code generation can express. Rewrites and plans ask it; codegen/codegen.c defines it. */
typedef struct Target {
  bool (*has_type)(PrimitiveType type);             /* supports elements of this type */
  bool (*can_emit)(const Instruction *elementwise); /* can emit this operation on elements */
} Target;

/* Whether an operation computes elements one by one, or moves them. */
bool is_plain(Opcode opcode);

/* What an element-wise operation costs for each element. */
typedef enum OpcodeCost {
  COST_NONE,   /* not element-wise */
  COST_LIGHT,  /* a few machine instructions: no more than to write the result and read it again */
  COST_MEDIUM, /* not light, but not worth a loop of its own or a place outside of a loop */
  COST_LONG, /* many steps and constants, as of a polynomial: two of them in one loop run out of registers */
} OpcodeCost;

OpcodeCost opcode_cost(Opcode opcode);

/* Whether there can be code for this instruction inside a loop fusion; of a reduction or a scatter,
** as its root. */
bool can_fuse(const Target *target, const Instruction *instruction);

/* Whether 32-bit loop indices can count the elements of a fusion's result and, if its root is a reduction, each
** dimension of the operand. */
bool is_within_loops(const Instruction *root);

/* Whether loops can unpack the numbers of an array: it is in memory before any loop, as it is or as words. */
bool can_unpack(const Instruction *x);

/* Whether an instruction needs no thunk, because its result shares the memory of its operand. */
bool instruction_is_alias(const Instruction *instruction);

#endif
