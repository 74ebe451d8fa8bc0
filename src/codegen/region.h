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

#include "hlo/module.h"

/* Where a buffer is: so many bytes from what slots[slot] points at. */
typedef struct Place {
  int slot;
  int64_t offset;
} Place;

typedef enum RegionStepKind {
  REGION_LOOP, /* a fusion: written out if it is small enough, else its function is called */
  REGION_COPY,
  REGION_CALL, /* of xla_region_step(context, step), which returns whether it succeeded */
  REGION_WHILE,
  REGION_CONDITIONAL,
} RegionStepKind;

typedef struct RegionStep RegionStep;
typedef struct RegionSteps {
  int count, capacity;
  RegionStep *items;
} RegionSteps;

struct RegionStep {
  RegionStepKind kind;
  int64_t cost; /* fuel; about as many nanoseconds */
  /* Of a loop: its operands and results; of a copy: from, to; else: the predicate or index. */
  const Place *places;
  int place_count;
  int first_loop, end_loop; /* the numbers of the loops in it; a while's own is the first */
  union {
    struct {
      const Instruction *fusion;
      int function; /* its number among the fusions */
      int64_t elements;
    };
    int64_t bytes;
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
  Place list; /* memory for the pointers of a call, four bytes each */
} Region;

#endif
