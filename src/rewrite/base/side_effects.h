/* Finds side effects of instructions, and of the computations that they call. */
#ifndef XLA_REWRITE_BASE_SIDE_EFFECTS_H
#define XLA_REWRITE_BASE_SIDE_EFFECTS_H

#include "hlo/ir/module.h"

/* Whether an instruction has a side effect, apart from the computations that it calls. */
bool instruction_has_own_effect(const Instruction *instruction);
/* Whether it or an instruction that it calls, directly or indirectly, has one. */
bool instruction_has_side_effect(const Instruction *instruction);

/* Whether `is` holds for the instruction or for one that it calls, directly or indirectly. */
bool instruction_reaches(const Instruction *instruction, bool (*is)(const Instruction *));
/* Whether an instruction has a side effect, for several instructions in one walk: `*walk` starts as module_walk(), and
** each computation is visited once for all of them. No other walk may run meanwhile. */
bool instruction_has_side_effect_on(const Instruction *instruction, unsigned *walk);

#endif
