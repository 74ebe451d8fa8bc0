/* Loops that scatter. */
#ifndef XLA_CODEGEN_LOOPS_SCATTER_EMITTER_H
#define XLA_CODEGEN_LOOPS_SCATTER_EMITTER_H

#include "codegen/loops/emitter.h"

typedef struct ScatterPlan {
  LoopPlan loops;     /* over the indices, then over the window of each; outputs are the updates */
  LoopNode **targets; /* per result: the element that an update goes to */
  int start_count;    /* components of an index */
  LoopNode **starts;  /* the leaves that they are read from */
  int64_t *scales, *limits; /* elements of the target per unit of one; its largest value */
} ScatterPlan;

void scatter_plan(ScatterPlan *plan, Arena *arena, const Instruction *scatter);
void emit_scatter_kernel(Emitter *e, const ScatterPlan *plan);

#endif
