/*
** Loop nests: the loops of a plan, their nodes, and the order of the loops. loop_plan.h describes plans and
** makes them.
*/
#ifndef XLA_PLAN_LOOP_NEST_H
#define XLA_PLAN_LOOP_NEST_H

#include "hlo/ir/module.h"

/* Threshold LANES: elements that a loop computes at once, of any type. Test: "rows of element-wise loops: lanes,
** wide lanes, unrolled, blocks of short rows" in core/thresholds.test.mjs. */
enum { LANES = 4 };
/* MAX_DIMENSIONS is for results. A plan may add two loops. */
/* Threshold MAX_DIMENSIONS, MAX_LOOPS, MAX_STARTS. Test: "${rank} dimensions: starts of slices,
** transposes, reductions" in core/thresholds.test.mjs. */
/* Threshold MAX_BOXES. Test: "${n} pieces side by side, and padded, and windows over the edge" in
** core/thresholds.test.mjs. */
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
  /* Input, gathered: its array's bytes hold several elements; `instruction` unpacks them. */
  bool packed;
  int result; /* for NODE_RESULT: its number */
  LoopLevel level;
  int uses;               /* by other nodes and as outputs */
  uint32_t hash;          /* of key and map */
  const Instruction *key; /* while planning: nodes with equal key and map are one node */
  const Affine *map;      /* the multi-index of the key's element */
} LoopNode;

/* A start of a dynamic slice: the leaf's integer, clamped to [0, max_start]. */
typedef struct LoopStart {
  const LoopNode *leaf; /* an input, of one element */
  int64_t max_start;
  bool in_range; /* needs no clamping */
} LoopStart;

typedef struct LoopPlan {
  Arena *arena;
  int rank; /* loops, outermost first; at least one */
  int64_t sizes[MAX_LOOPS];
  int reduced; /* number of loops, the last ones, that run over the elements reduced to one result */
  int lane_loop; /* its steps are the lanes */
  int time_loop; /* the innermost one, the last */
  int count, capacity;
  LoopNode **nodes; /* operands before users */
  int start_count;
  LoopStart starts[MAX_STARTS];
  int output_count;
  LoopNode **outputs;        /* one per result leaf; for a reduction, the values to reduce */
  const Instruction *reduce; /* the root, if it combines elements: a reduction, a scatter */
  LoopNode **addresses;      /* of a box, or cumulative: of each step's results; else NULL */
  Opcode extreme;            /* a maximum or minimum computed in three parts; else OPCODE_COUNT */
  bool cumulative;           /* each reduced step has a result */
  bool in_blocks;            /* sums round, and may be added in blocks of blocks */
  /* Of a reduction: results with an element per step. They follow the reduced results. */
  int kept_count;
  LoopNode **kept, **kept_addresses; /* the values, and their addresses */
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

/* Whether an instruction is an array that the loop reads, not part of the loop. */
typedef bool IsInput(const Instruction *instruction, const void *data);

/* Returns the number of steps: results times the elements reduced to each. */
int64_t loop_plan_steps(const LoopPlan *plan);
/* Whether the lanes of a reduction are neighbouring reduced elements, not neighbouring results. */
static inline bool loop_plan_goes_along(const LoopPlan *plan) {
  return plan->lane_loop == plan->time_loop;
}
/* Returns the number of elements of each result. */
int64_t loop_plan_results(const LoopPlan *plan);
/* Recomputes the levels of all nodes for these lanes and this innermost loop. */
void loop_plan_reorder(LoopPlan *plan, int lane_loop, int time_loop);
/* Removes loops of one step, and merges neighbours that are contiguous in all arrays. */
void loop_plan_collapse(LoopPlan *plan);
/* Appends a node to the plan. */
void loop_plan_add(LoopPlan *plan, LoopNode *node);
/* reduce_lanes.c: chooses the lanes of a reduction's plan. */
void loop_plan_choose_lanes(LoopPlan *plan);
/* short_rows.c: in a finished plan with short rows, makes a longer loop innermost. */
void loop_plan_widen_rows(LoopPlan *plan);

/* Whether an offset depends on the start of a dynamic slice. */
bool affine_has_starts(const Affine *offset);
/* Whether an operation only rearranges or repeats elements. */
bool is_index_operation(Opcode opcode);
/* Whether a leaf's address, or an iota's value, is known only at run time, in each row. */
bool reads_anywhere(const LoopNode *node);
/* Returns the array in memory that an input or a gathered node reads. */
const Instruction *array_of(const LoopNode *node);
/* Whether a node reads that parameter of a fused computation. */
bool reads_parameter(const LoopNode *node, int parameter);
/* Whether an instruction unpacks an array in memory: bitcast-convert of bytes to elements of 4 or 2 bits. */
bool is_unpacking(const Instruction *x);

#endif
