/* Which elements a gather reads. */
#ifndef XLA_PLAN_GATHER_MAP_H
#define XLA_PLAN_GATHER_MAP_H

#include "plan/loop_plan.h"

/* For the result's element at `map`: the index of the array's that is gathered if all index vectors are zero;
** and that of the index vector, whose own dimension is left as it is. */
void gather_map(const Instruction *gather, const Affine *map, Affine *array, Affine *indices);
/* What a component of an index vector is clamped to, from 0 on. */
int64_t gather_limit(const Instruction *gather, int component);

#endif
