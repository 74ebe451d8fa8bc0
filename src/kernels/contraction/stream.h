/*
** Contractions of a few rows: the matrix is read once, where it is, in its own order, and nothing is
** packed. One unit is a block of its columns and a split of the depth.
*/
#ifndef XLA_KERNELS_CONTRACTION_STREAM_H
#define XLA_KERNELS_CONTRACTION_STREAM_H

#include "kernels/contraction/tiles.h"

/* Whether the matrix (the rhs) suits; then the plan's tiles and splits are filled in. */
bool stream_plan(ContractionPlan *plan, const Contraction *contraction);

/* Overwrites the unit's elements of `out`, which is of type `to`. */
void stream_multiply(const Contraction *contraction, const ContractionPlan *plan, const Unit *unit,
                     const size_t offset[3], const uint8_t *const data[2], PrimitiveType to,
                     uint8_t *out);

#endif
