/*
** The index analysis of a fusion: from a fused computation to a loop nest over the elements of its
** result, and for every value in it where it is in memory at each step.
**
** Broadcasts, transposes, slices, reversals and most reshapes do not compute anything: they say
** which element of their operand an element of theirs is. Composed from the root down, that is an
** affine function of the loop indices for every array the fusion reads, and where slices start at indices
** that are only known at run time, of these starts. So only operations that
** compute something remain as nodes, and leaves with their affine offsets.
**
** An element of a concatenation or a padded array is of one operand or another. Where that is not the same
** for all elements, the loops are split: into boxes of the result with a plan each, in which it is. A stencil
** of rolled arrays is nine. What is reduced cannot be split, nor is it where many loops make up one index; but
** windows of which a part lies in the padding have boxes of their own, in which it is the same part.
**
** Where a gather's elements are, the values of other nodes say: for rows of them once a row.
*/
#ifndef XLA_PLAN_LOOP_PLAN_H
#define XLA_PLAN_LOOP_PLAN_H

#include "hlo/ir/module.h"

enum { LANES = 4 }; /* elements that a loop computes at once, whatever their type */
/* Of results; two loops more than dimensions, for those that a plan may add. */
enum { MAX_DIMENSIONS = 10, MAX_LOOPS = MAX_DIMENSIONS + 2, MAX_STARTS = 4, MAX_BOXES = 16 };

/* constant + sum of coefficient[k] * (index of loop k) + sum of start[s] * (start s) */
typedef struct Affine {
  int64_t constant, coefficient[MAX_LOOPS], start[MAX_STARTS];
} Affine;

/* How often a node's value changes. A row is a run of the loop that is innermost in time. */
typedef enum LoopLevel {
  LEVEL_CALL, /* the same for all elements */
  LEVEL_ROW,  /* the same along a row, and in all lanes */
  LEVEL_ELEMENT,
} LoopLevel;

typedef enum NodeKind {
  NODE_OPERATION, /* of element-wise ones; and all of a combining computation */
  NODE_CONSTANT,
  NODE_IOTA,
  NODE_INPUT,
  NODE_GATHERED, /* of an input, too, where the operands' values say */
  NODE_RESULT,   /* not a value, but where one goes: of results that are not made in their order */
} NodeKind;

typedef struct LoopNode {
  NodeKind kind;
  const Instruction *instruction; /* of results, one of the same type */
  int id;                         /* its place in the plan's list */
  int operand_count;
  struct LoopNode **operands;
  Affine offset; /* input, result: of the element, from the array's first; iota: its value */
  int64_t *limits,
      *strides; /* gathered: what each operand is clamped to, and then moves it, in elements */
  int result;   /* of results: which one */
  LoopLevel level;
  int uses;               /* by other nodes and as outputs */
  uint32_t hash;          /* of key and map */
  const Instruction *key; /* while the plan is made: two nodes are one if key and map agree, */
  const Affine *map;      /* which is the multi-index of the key's element */
} LoopNode;

/* Of dynamic slices: the integer that a leaf is, but at least 0 and at most `limit`. */
typedef struct LoopStart {
  const LoopNode *leaf; /* an input, of one element */
  int64_t limit;
  bool in_range; /* as it is */
} LoopStart;

typedef struct LoopPlan {
  Arena *arena;
  int rank; /* loops, outermost first; at least one */
  int64_t sizes[MAX_LOOPS];
  int reduced; /* the last so many loops run over the elements that one result is reduced from */
  int lane_loop,
      time_loop; /* of which the lanes are steps, and which is innermost: the last loop */
  int count, capacity;
  LoopNode **nodes; /* operands before users */
  int start_count;
  LoopStart starts[MAX_STARTS];
  int output_count;
  LoopNode **outputs;        /* one per result leaf; of a reduction, what is reduced */
  const Instruction *reduce; /* the root, if it combines elements: a reduction, a scatter */
  LoopNode **places;         /* of a box, or cumulative: where each step's results go; else NULL */
  Opcode extreme;            /* a maximum or minimum made in three parts; else OPCODE_COUNT */
  bool cumulative;           /* each step of what is reduced has a result */
  /* Of a reduction: results with an element per step, which follow those that are reduced. */
  int kept_count;
  LoopNode **kept, **kept_places; /* the values, and where they go */
  /* Of those, per result: the initial value (of reductions), and how to combine two values. The
  ** combining nodes have ids from `count` on; accumulators come first among their parameters. */
  LoopNode **inits, **combined;
  int combine_count;
  LoopNode **combine;
} LoopPlan;

/* The loops that compute one result: one, or one per box. */
typedef struct LoopPlans {
  int count;
  LoopPlan items[MAX_BOXES];
} LoopPlans;

/* What a fusion's loops are for: its root, but of a tuple that begins with a reduction's results, and goes on
** with arrays of what is reduced, that reduction. */
const Instruction *loop_root(const Instruction *root);
/* Whether an instruction is an array that the loop reads, not part of it. */
typedef bool IsInput(const Instruction *instruction, const void *data);

/* Makes the plans of the loops that compute `root` from what `is_input` says. False if its indices
** are beyond what plans can say. */
bool loop_plans(LoopPlans *plans, Arena *arena, const Instruction *root, IsInput *is_input,
                const void *data);
/* Over how many steps, results and what is reduced. */
int64_t loop_plan_steps(const LoopPlan *plan);
/* Whether the lanes of a reduction are steps of what is reduced, not neighbouring results. */
static inline bool loop_plan_goes_along(const LoopPlan *plan) {
  return plan->lane_loop == plan->time_loop;
}
/* How many elements each of its results has. */
int64_t loop_plan_results(const LoopPlan *plan);
/* Whether there is a plan of it: windows may be partly in the padding, if the boxes are not too many. */
bool windows_have_plan(const Instruction *reduce_window);
/* Finds the levels of all nodes again, for other lanes or another order of loops. */
void loop_plan_reorder(LoopPlan *plan, int lane_loop, int time_loop);
/* Settles the loops of a plan whose nodes and outputs are all there: for plans made otherwise. */
void loop_plan_finish(LoopPlan *plan);
/* Of a fused computation: its parameters are the inputs. */
bool loop_plans_fusion(LoopPlans *plans, Arena *arena, const Computation *computation);
/* The plan of one that is a single loop; false if it is not. */
bool loop_plan_fusion(LoopPlan *plan, Arena *arena, const Computation *computation);

/* The operations that only say where elements are. */
bool is_index_operation(Opcode opcode);
/* Whether a leaf's place, or an iota's value, is known at run time only, in each row. */
bool reads_anywhere(const LoopNode *node);
/* Whether a node reads that input, of a fused computation. */
bool reads_parameter(const LoopNode *node, int parameter);
#endif
