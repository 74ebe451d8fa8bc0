/* Splits a shape around the dimension that ThreeFry halves: see rng.h. */
#include "value/rng.h"

RngSplit rng_split(const Shape *shape) {
  int split = 0;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dims[d] % 2 == 0) {
      split = d;
      break;
    }
    if (shape->dims[d] > shape->dims[split]) split = d;
  }
  RngSplit result = {1, shape->rank ? shape->dims[split] : 1, 1};
  for (int d = 0; d < split; d++) result.outer *= shape->dims[d];
  for (int d = split + 1; d < shape->rank; d++) result.inner *= shape->dims[d];
  return result;
}
