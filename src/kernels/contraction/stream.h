/*
** Contracts a few rows (vectors) with a matrix, which is read once, in its own order, without packing.
** A unit is a block of the matrix's columns and a split of the depth.
**
** Read next: stream_order.h, then stream.c.
*/
#ifndef XLA_KERNELS_CONTRACTION_STREAM_H
#define XLA_KERNELS_CONTRACTION_STREAM_H

#include "kernels/contraction/stream_order.h"
#include "kernels/contraction/tiles.h"

/* Returns whether the matrix (the rhs) can be streamed; if so, sets the plan's tiles and splits. One of several parts has one
** split. */
bool stream_plan(ContractionPlan *plan, const Contraction *contraction, int64_t parts);

void stream_init(Stream *stream, const Contraction *contraction, const ContractionPlan *plan);

/* Overwrites the unit's elements of `out`, in type `to`. */
void stream_multiply(const Stream *stream, const Unit *unit, const size_t offset[3],
                     const uint8_t *const data[2], PrimitiveType to, uint8_t *out);

#endif
