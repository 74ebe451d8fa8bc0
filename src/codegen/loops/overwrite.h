/* Results that lie on their operands. */
#ifndef XLA_CODEGEN_LOOPS_OVERWRITE_H
#define XLA_CODEGEN_LOOPS_OVERWRITE_H

#include "codegen/loops/emitter.h"

/* By node id: the outputs that read each node, directly or through others. */
OutputRange *find_outputs_of(const LoopPlan *plan);
/* Whether all parts of a leaf are loaded before the first output that reads it is stored. Such outputs may
** share its memory. */
bool is_loaded_first(const LoopPlan *plan, const OutputRange *range, const LoopNode *leaf);
/* codegen_may_overwrite of codegen.h. */
bool fusion_may_overwrite(const Instruction *fusion, int operand, int result);

#endif
