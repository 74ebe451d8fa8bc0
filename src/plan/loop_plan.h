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

#include "hlo/ir/module.h"

enum { LANES = 4 }; /* elements that a loop computes at once, of any type */
/* MAX_DIMENSIONS is for results. A plan may add two loops. */
enum { MAX_DIMENSIONS = 10, MAX_LOOPS = MAX_DIMENSIONS + 2, MAX_STARTS = 4, MAX_BOXES = 16 };

/* constant + sum of coefficient[k] * (index of loop k) + sum of start[s] * (start s) */
typedef struct Affine {
  int64_t constant, coefficient[MAX_LOOPS], start[MAX_STARTS];
} Affine;

/* How often a node's value changes. A row is one complete run of the innermost loop, `time_loop`. */
typedef enum LoopLevel {
  LEVEL_CALL, /* the same for all elements */
  LEVEL_ROW,  /* the same along a row, and in all lanes */
  LEVEL_ELEMENT,
} LoopLevel;

typedef enum NodeKind {
  NODE_OPERATION, /* element-wise, or any operation of a combining computation */
  NODE_CONSTANT,
  NODE_IOTA,
  NODE_INPUT,
  NODE_GATHERED, /* an element of an input, at the index that the operands compute */
  NODE_RESULT,   /* the address of a result that is not computed in row-major order */
} NodeKind;

typedef struct LoopNode {
  NodeKind kind;
  const Instruction *instruction; /* for NODE_RESULT, one of the result's type */
  int id;                         /* index in the plan's list */
  int operand_count;
  struct LoopNode **operands;
  Affine offset;             /* input, result: the element's offset in the array; iota: its value */
  int64_t *limits, *strides; /* gathered: max of each operand, and elements per unit of it */
  int result;                /* for NODE_RESULT: its number */
  LoopLevel level;
  int uses;               /* by other nodes and as outputs */
  uint32_t hash;          /* of key and map */
  const Instruction *key; /* while planning: nodes with equal key and map are one node */
  const Affine *map;      /* the multi-index of the key's element */
} LoopNode;

/* A start of a dynamic slice: the leaf's integer, clamped to [0, limit]. */
typedef struct LoopStart {
  const LoopNode *leaf; /* an input, of one element */
  int64_t limit;
  bool in_range; /* needs no clamping */
} LoopStart;

typedef struct LoopPlan {
  Arena *arena;
  int rank; /* loops, outermost first; at least one */
  int64_t sizes[MAX_LOOPS];
  int reduced; /* number of loops, the last ones, that run over the elements reduced to one result */
  int lane_loop,
      time_loop; /* lane_loop: its steps are the lanes; time_loop: the innermost one, the last */
  int count, capacity;
  LoopNode **nodes; /* operands before users */
  int start_count;
  LoopStart starts[MAX_STARTS];
  int output_count;
  LoopNode **outputs;        /* one per result leaf; for a reduction, the values to reduce */
  const Instruction *reduce; /* the root, if it combines elements: a reduction, a scatter */
  LoopNode **places; /* of a box, or cumulative: addresses of each step's results; else NULL */
  Opcode extreme;    /* a maximum or minimum computed in three parts; else OPCODE_COUNT */
  bool cumulative;   /* each reduced step has a result */
  /* Of a reduction: results with an element per step. They follow the reduced results. */
  int kept_count;
  LoopNode **kept, **kept_places; /* the values, and their addresses */
  /* Of reductions, per result: the initial value, and the value that combines two. The
  ** combining nodes have ids from `count` on; accumulators come first among their parameters. */
  LoopNode **inits, **combined;
  int combine_count;
  LoopNode **combine;
} LoopPlan;

/* The plans that compute one result: one, or one per box. */
typedef struct LoopPlans {
  int count;
  LoopPlan items[MAX_BOXES];
} LoopPlans;

/* Returns the instruction that the loops compute: the root, or the reduction whose results begin a root tuple.
** Arrays of the reduction's steps may follow in that tuple. */
const Instruction *loop_root(const Instruction *root);
/* Whether an instruction is an array that the loop reads, not part of the loop. */
typedef bool IsInput(const Instruction *instruction, const void *data);

/* Makes the plans of the loops that compute `root` from the inputs that `is_input` accepts. Returns false if an
** index has no affine form. */
bool loop_plans(LoopPlans *plans, Arena *arena, const Instruction *root, IsInput *is_input,
                const void *data);
/* Returns the number of steps: results times the elements reduced to each. */
int64_t loop_plan_steps(const LoopPlan *plan);
/* Whether the lanes of a reduction are neighbouring reduced elements, not neighbouring results. */
static inline bool loop_plan_goes_along(const LoopPlan *plan) {
  return plan->lane_loop == plan->time_loop;
}
/* Returns the number of elements of each result. */
int64_t loop_plan_results(const LoopPlan *plan);
/* Whether a reduce-window has a plan. Windows may lie partly in the padding, up to MAX_BOXES boxes. */
bool windows_have_plan(const Instruction *reduce_window);
/* Recomputes the levels of all nodes for these lanes and this innermost loop. */
void loop_plan_reorder(LoopPlan *plan, int lane_loop, int time_loop);
/* Completes the loops of a plan whose nodes and outputs were made without loop_plans. */
void loop_plan_finish(LoopPlan *plan);
/* Makes the plans of a fused computation: its parameters are the inputs. */
bool loop_plans_fusion(LoopPlans *plans, Arena *arena, const Computation *computation);
/* Makes the plan of a fused computation that needs only one; false if it needs several or has none. */
bool loop_plan_fusion(LoopPlan *plan, Arena *arena, const Computation *computation);

/* Whether an operation only rearranges or repeats elements. */
bool is_index_operation(Opcode opcode);
/* Whether a leaf's address, or an iota's value, is known only at run time, in each row. */
bool reads_anywhere(const LoopNode *node);
/* Whether a node reads that parameter of a fused computation. */
bool reads_parameter(const LoopNode *node, int parameter);
#endif
