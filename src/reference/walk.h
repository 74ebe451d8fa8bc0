/*
** Walks an index space of any rank in row-major order, and updates the linear offsets into several arrays
** by addition. A dimension that is contiguous with the one before it in every array is merged into it, so
** that contiguous data needs one long loop.
*/
#ifndef XLA_REFERENCE_WALK_H
#define XLA_REFERENCE_WALK_H

#include "value/shape.h"

/* Threshold WALK_ARRAYS: arrays of a walk. No path. */
enum { WALK_ARRAYS = 3 };

typedef struct Walk {
  int rank;
  int64_t size[MAX_RANK], index[MAX_RANK];
  int64_t stride[MAX_RANK][WALK_ARRAYS];
  int64_t offset[WALK_ARRAYS]; /* of the current point, per array */
  int64_t count;               /* points in the space; 0 if it is empty */
} Walk;

static inline void walk_init(Walk *walk) {
  walk->rank = 0;
  walk->count = 1;
  for (int a = 0; a < WALK_ARRAYS; a++) walk->offset[a] = 0;
}

/* Adds a dimension inside those added so far. At most MAX_RANK of them are longer than 1. */
static inline void walk_add(Walk *walk, int64_t size, int64_t s0, int64_t s1, int64_t s2) {
  const int64_t stride[WALK_ARRAYS] = {s0, s1, s2};
  walk->count *= size;
  if (size == 1) return;
  int d = walk->rank - 1;
  bool merge = d >= 0;
  for (int a = 0; merge && a < WALK_ARRAYS; a++) merge = walk->stride[d][a] == size * stride[a];
  if (merge) {
    walk->size[d] *= size;
  } else {
    d = walk->rank++;
    walk->size[d] = size;
    walk->index[d] = 0;
  }
  for (int a = 0; a < WALK_ARRAYS; a++) walk->stride[d][a] = stride[a];
}

/* Removes the innermost dimension, for the caller to loop over. Returns its size (1 if there is none) and sets
** its strides. */
static inline int64_t walk_inner(Walk *walk, int64_t *stride) {
  for (int a = 0; a < WALK_ARRAYS; a++) {
    stride[a] = walk->rank ? walk->stride[walk->rank - 1][a] : 0;
  }
  return walk->rank ? walk->size[--walk->rank] : 1;
}

/* Goes to the next point. After the last, returns false and is at the first again. */
static inline bool walk_next(Walk *walk) {
  for (int d = walk->rank - 1; d >= 0; d--) {
    const int64_t *stride = walk->stride[d];
    if (++walk->index[d] < walk->size[d]) {
      for (int a = 0; a < WALK_ARRAYS; a++) walk->offset[a] += stride[a];
      return true;
    }
    walk->index[d] = 0;
    for (int a = 0; a < WALK_ARRAYS; a++) walk->offset[a] -= stride[a] * (walk->size[d] - 1);
  }
  return false;
}

/* Goes to a point, by its row-major number. */
static inline void walk_go(Walk *walk, int64_t number) {
  for (int d = walk->rank - 1; d >= 0; d--) {
    int64_t index = number % walk->size[d], steps = index - walk->index[d];
    for (int a = 0; a < WALK_ARRAYS; a++) walk->offset[a] += steps * walk->stride[d][a];
    walk->index[d] = index;
    number /= walk->size[d];
  }
}

#endif
