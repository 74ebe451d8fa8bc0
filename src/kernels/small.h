/*
** Products of small matrices, of many batches or of one: computed where they are, or from copies that
** stay in the first cache. One unit is a batch.
*/
#ifndef XLA_KERNELS_SMALL_H
#define XLA_KERNELS_SMALL_H

#include "kernels/contraction.h"

/* Whether the matrices are small; then the plan's tiles are filled in. */
bool small_plan(ContractionPlan *plan, const Contraction *contraction);

/* The batch whose first elements are at these offsets. */
void small_multiply(const Contraction *contraction, const ContractionPlan *plan,
                    const size_t offset[3], const uint8_t *const data[2], uint8_t *result);

#endif
