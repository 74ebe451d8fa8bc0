/*
** Plans the loops of a fusion: turns a fused computation into a loop nest over the elements of its result. The plan
** gives every array of the nest its address at each step.
**
** Broadcasts, transposes, slices, reversals and most reshapes compute nothing: each of their elements is one element
** of the operand. Composed from the root down, these index maps give, for every array that the fusion reads, an affine
** function of the loop indices. It also depends on the starts of dynamic slices. Only operations that compute remain
** as nodes, and leaves with their affine offsets.
**
** Invariant: at each step every node has one value per lane, and operands come before users.
**
** An element of a concatenation or a padded array comes from one of its operands. Where the operand differs between
** elements, the loops are split into boxes of the result, each with a plan. A stencil of rolled arrays has nine boxes.
** Reductions are not split, nor is an index that several loops make up. Windows that lie partly in the padding have
** boxes too: within a box, the same part of each window is padding.
**
** The position of a gather's elements depends on the values of other nodes; for gathered rows, once a row.
**
** Read loop_plan.c next, which makes the loops; then loop_walk.c, which makes the nodes.
*/
#ifndef XLA_PLAN_LOOP_PLAN_H
#define XLA_PLAN_LOOP_PLAN_H

#include "plan/loop_nest.h"

/* Returns the instruction that the loops compute: the root, or the reduction whose results begin a root tuple.
** Arrays of the reduction's steps may follow in that tuple. */
const Instruction *loop_root(const Instruction *root);
/* Makes the plans of the loops that compute `root` from the inputs that `is_input` accepts. Returns false if an
** index has no affine form. */
bool loop_plans(LoopPlans *plans, Arena *arena, const Instruction *root, IsInput *is_input,
                const void *data);
/* Whether a reduce-window has a plan. Windows may lie partly in the padding, up to MAX_BOXES boxes. */
bool windows_have_plan(const Instruction *reduce_window);
/* Completes the loops of a plan whose nodes and outputs were made without loop_plans. */
void loop_plan_finish(LoopPlan *plan);
/* Makes the plans of a fused computation: its parameters are the inputs. */
bool loop_plans_fusion(LoopPlans *plans, Arena *arena, const Computation *computation);
/* Makes the plan of a fused computation that needs only one; false if it needs several or has none. */
bool loop_plan_fusion(LoopPlan *plan, Arena *arena, const Computation *computation);

#endif
