/*
** Infers the shape of a result from operands and attributes, or reports the rule that they break. Each rule
** is one function; a table maps opcodes to rules.
*/
#ifndef XLA_HLO_INFER_INFERENCE_H
#define XLA_HLO_INFER_INFERENCE_H

#include "hlo/ir/module.h"

/*
** The shape of `instruction` (opcode, operands, attributes and, where the operands do not determine
** the result, its stated shape). Memory from `arena`. NULL with `error` when a rule is broken: the
** message names operation, operand shapes and rule. `instruction->shape` may be NULL where it can
** be inferred. Operations whose shape is stated are checked for consistency with it and return it.
*/
const Shape *infer_shape(Arena *arena, const Instruction *instruction, Error *error);

#endif
