/*
** Regions: runs of small steps, with the loops and branches in them, as one generated function.
**
**     int region(void *context, uint8_t *const *slots, int resume, int fuel)
**
** `slots` is the device's table of slots, in which all buffers have fixed offsets. The result is 0 at the
** region's end, or -1 if a call failed. Each iteration of a loop takes its estimated cost from `fuel`. When none
** is left, the region stores its locals and returns the loop's number (from 1); a call with `resume` = that number
** continues there. Two reasons: a run can be cancelled, and engines replace baseline code only at function entry.
*/
#ifndef XLA_CODEGEN_REGIONS_REGION_H
#define XLA_CODEGEN_REGIONS_REGION_H

#include "hlo/ir/module.h"

/* A part of a buffer, from slots[slot] plus an offset on; and its live range, the times of first and last use.
** Buffers with disjoint live ranges may share memory. */
typedef struct BufferSlice {
  int slot;
  int64_t offset, bytes;
  int first, last;
} BufferSlice;

typedef enum RegionStepKind {
  REGION_LOOP, /* a fusion: inlined if it is small enough, else a call of its function */
  REGION_MOVE, /* moves of bytes between slices */
  REGION_CALL, /* a call of xla_region_step(context, step), which returns whether it succeeded */
  REGION_WHILE,
  REGION_CONDITIONAL,
} RegionStepKind;

/* Copies `bytes` bytes from one slice of the step's list to another: by memory.copy, or a few moves. A fill
** repeats the first `element` bytes of its source. */
typedef struct RegionMove {
  int from_slice, to_slice;
  int64_t from, to, bytes; /* from, to: added to the slices' offsets */
  int element;             /* 0: not a fill */
  bool is_fixed;           /* the step's shift does not apply */
} RegionMove;

/* A shift of all moves' sources (or targets): a start index times a stride in bytes. The index is clamped to
** [0, max_start] unless it is known to be in that range. */
typedef struct RegionStart {
  BufferSlice slice;
  PrimitiveType type;
  int64_t max_start, stride;
  bool in_range;
} RegionStart;

typedef struct RegionStep RegionStep;
typedef struct RegionSteps {
  int count, capacity;
  RegionStep *items;
} RegionSteps;

struct LoopPlans;

struct RegionStep {
  RegionStepKind kind;
  int64_t cost; /* in fuel; one unit is about a nanosecond */
  /* Of a loop: its operands and results; of moves: their slices; else: the predicate or index. */
  const BufferSlice *slices;
  int slice_count;
  int first_loop, end_loop; /* the numbers of the loops in it; a while's own is the first */
  int begin, end;           /* the times of the steps in it */
  union {
    struct {
      const Instruction *fusion;
      int function;            /* its number among the fusions */
      int64_t units;           /* of its CodegenWork */
      struct LoopPlans *plans; /* the emitter's, of an inlined loop; else NULL */
    };
    struct {
      int move_count, start_count;
      RegionMove *moves;
      RegionStart *starts;
      bool shifts_target;
    };
    const void *call; /* the call's `step` argument */
    struct {
      RegionSteps condition, body; /* there are no loops in the condition */
    };
    struct {
      RegionSteps *branches; /* of a predicated one: the true one, the false one */
      int branch_count;
      bool predicated;
    };
  };
};

/* Returns the cost of some steps, one after the other. */
static inline int64_t region_steps_cost(const RegionSteps *steps) {
  int64_t cost = 0;
  for (int i = 0; i < steps->count; i++) cost += steps->items[i].cost;
  return cost;
}

typedef struct Region {
  RegionSteps steps;
  BufferSlice list;   /* memory for the pointers of a call, four bytes each */
  bool is_open_ended; /* a step may take far longer than its cost: fuel follows the clock */
} Region;

#endif
