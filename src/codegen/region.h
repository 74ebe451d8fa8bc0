/*
** Regions: runs of small steps, with the loops and branches in them, as one generated function.
**
**     int region(void *context, uint8_t *const *slots, int resume, int fuel)
**
** `slots` is the replica's table of slots, in which all buffers are at fixed places. The result is 0
** if the region came to its end, or -1 if a call failed. Engines optimise a function for its next call
** only, and somebody may want the run to stop: so a loop looks at `fuel` after each turn, and when
** there is none left the region returns the loop's number, from 1 on. All values are in memory then;
** called again with that number as `resume`, the region goes on there.
*/
#ifndef XLA_CODEGEN_REGION_H
#define XLA_CODEGEN_REGION_H

#include "hlo/ir/module.h"

/* Where a buffer is: so many bytes from what slots[slot] points at. And the times from which and to
** which it is wanted there; buffers of other times may have the same memory. */
typedef struct Place {
  int slot;
  int64_t offset, bytes;
  int first, last;
} Place;

typedef enum RegionStepKind {
  REGION_LOOP, /* a fusion: written out if it is small enough, else its function is called */
  REGION_MOVE, /* bytes from some places to others */
  REGION_CALL, /* of xla_region_step(context, step), which returns whether it succeeded */
  REGION_WHILE,
  REGION_CONDITIONAL,
} RegionStepKind;

/* So many bytes, from a place of the step's list to another: memory.copy, or a few moves. A fill: as
** often as it takes, the `element` bytes that are there. */
typedef struct RegionMove {
  int from_place, to_place;
  int64_t from, to, bytes; /* more than the places' own offsets */
  int element;             /* 0: not a fill */
  bool is_fixed;           /* the step's shift is not for this one */
} RegionMove;

/* What all moves' sources (or targets) are shifted by: a start index, clamped to [0, most] if it is not
** in that range anyway, times a stride in bytes. */
typedef struct RegionStart {
  Place place;
  PrimitiveType type;
  int64_t most, stride;
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
  int64_t cost; /* fuel; about as many nanoseconds */
  /* Of a loop: its operands and results; of moves: those they name; else: the predicate or index. */
  const Place *places;
  int place_count;
  int first_loop, end_loop; /* the numbers of the loops in it; a while's own is the first */
  int begin, end;           /* the times of what is in it */
  union {
    struct {
      const Instruction *fusion;
      int function;            /* its number among the fusions */
      int64_t units;           /* of its CodegenWork */
      struct LoopPlans *plans; /* the emitter's: of what it writes out; else NULL */
    };
    struct {
      int move_count, start_count;
      RegionMove *moves;
      RegionStart *starts;
      bool shifts_target;
    };
    const void *call; /* what to call with */
    struct {
      RegionSteps condition, body; /* there are no loops in the condition */
    };
    struct {
      RegionSteps *branches; /* of a predicated one: if true, if false */
      int branch_count;
      bool predicated;
    };
  };
};

typedef struct Region {
  RegionSteps steps;
  Place list;         /* memory for the pointers of a call, four bytes each */
  bool is_open_ended; /* a step may take far longer than its cost says: fuel follows the clock */
} Region;

#endif
