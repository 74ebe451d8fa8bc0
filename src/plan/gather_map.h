/* Maps a gather's result to the elements that it reads. */
#ifndef XLA_PLAN_GATHER_MAP_H
#define XLA_PLAN_GATHER_MAP_H

#include "plan/loop_nest.h"

/* For the result's element at `map`, finds two indices: that of the array's element if all index vectors were zero,
** and that of the index vector, whose own dimension is not changed. */
void gather_map(const Instruction *gather, const Affine *map, Affine *array, Affine *indices);
/* Returns the max of a component of an index vector, which is clamped to [0, max]. */
int64_t gather_limit(const Instruction *gather, int component);

#endif
