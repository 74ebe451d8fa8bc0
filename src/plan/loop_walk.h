/*
** The walk from a loop nest's root down to what it reads: which element of each value an element of the
** root is made of. loop_plan.c makes the loops around it.
*/
#ifndef XLA_PLAN_LOOP_WALK_H
#define XLA_PLAN_LOOP_WALK_H

#include "plan/loop_plan.h"

/* PLAN_SPLIT: if at all, then as two boxes. */
typedef enum PlanResult { PLAN_OK, PLAN_IMPOSSIBLE, PLAN_AGAIN, PLAN_SPLIT } PlanResult;

/* A node whose operands are being visited. */
typedef struct Visit {
  LoopNode *node;
  int next; /* operand */
} Visit;

/* What the walk from the root down knows. */
typedef struct Planner {
  LoopPlan *plan;
  IsInput *is_input;
  const void *data;
  Affine *root_map;  /* of the index that the walk starts with */
  Affine *place_map; /* of the result's; the same, but for windows */
  int root_rank;
  Arena *scratch;   /* of what goes with the planner */
  LoopNode **table; /* of all nodes, by key and map */
  uint32_t slots;   /* in it: a power of two */
  uint32_t hash;    /* of what was looked for last, and not found */
  int depth, depth_capacity;
  Visit *stack;
  int split_loop;     /* of PLAN_SPLIT: the loop, and how many */
  int64_t split_step; /* of its steps are of the first box */
} Planner;

/* Begins anew: no nodes, no starts. */
void loop_walk_begin(Planner *planner);
/* The node of an instruction's element at `map`, with all that it is made of before it in the plan. */
PlanResult loop_walk(Planner *planner, const Instruction *instruction, const Affine *map,
                     LoopNode **out);
/* Appends a node to the plan. */
void loop_walk_add(LoopPlan *plan, LoopNode *node);
/* short_rows.c: where rows are short, of a plan that is finished, makes them those of a longer loop. */
void loop_plan_widen_rows(LoopPlan *plan);
/* reduce_lanes.c: chooses the lanes of a reduction's plan. */
void loop_plan_choose_lanes(LoopPlan *plan);
/* Where the element at `map` of an array is, from its first one. */
Affine linear_offset(const Shape *shape, const Affine *map);

#endif
