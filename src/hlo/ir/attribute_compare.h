/* Whether two instructions of one opcode have equal values in all attributes that the opcode uses. */
#ifndef XLA_HLO_IR_ATTRIBUTE_COMPARE_H
#define XLA_HLO_IR_ATTRIBUTE_COMPARE_H

#include "hlo/ir/module.h"

bool attributes_equal(Opcode opcode, const Attributes *a, const Attributes *b);
uint64_t attributes_hash(Opcode opcode, const Attributes *a);

/* Computations are the same if they compute the same by the same instructions, in the same order. */
bool computations_equal(Computation *a, Computation *b);
uint64_t computation_hash(Computation *computation);
/* Of all but the attributes; operands count by their ids. */
uint64_t instruction_hash(uint64_t hash, const Instruction *x);

enum { HASH_SEED = 0x811c9dc5 };

#endif
