/*
** Walks from a loop nest's root to its inputs, and finds the element of each value that an element of the root
** depends on. loop_plan.c makes the loops around it.
*/
#ifndef XLA_PLAN_LOOP_WALK_H
#define XLA_PLAN_LOOP_WALK_H

#include "plan/loop_nest.h"

/* PLAN_SPLIT: the box must be split in two. */
typedef enum PlanResult { PLAN_OK, PLAN_IMPOSSIBLE, PLAN_AGAIN, PLAN_SPLIT } PlanResult;

/* A node whose operands are being visited. */
typedef struct Visit {
  LoopNode *node;
  int next; /* operand */
} Visit;

/* The state of the walk. */
typedef struct Planner {
  LoopPlan *plan;
  IsInput *is_input;
  const void *data;
  Affine *root_map;   /* of the root's index, where the walk starts */
  Affine *result_map; /* of the result's index; the same, except for windows */
  int root_rank;
  Arena *scratch;   /* freed with the planner */
  LoopNode **table; /* of all nodes, by key and map */
  uint32_t slots;   /* of the table: a power of two */
  uint32_t hash;    /* of the last key and map that were not found */
  int depth, depth_capacity;
  Visit *stack;
  int split_loop;     /* of PLAN_SPLIT: the loop to split, */
  int64_t split_step; /* and the number of its steps in the first box */
} Planner;

/* Clears the plan's nodes and starts. */
void loop_walk_begin(Planner *planner);
/* Finds the node of an instruction's element at `map`. All nodes that it depends on are before it in the plan. */
PlanResult loop_walk(Planner *planner, const Instruction *instruction, const Affine *map,
                     LoopNode **out);
/* Returns the offset in an array of the element at `map`. */
Affine linear_offset(const Shape *shape, const Affine *map);

#endif
