/*
** Contracts operands in place, with lists of the offsets of rows and of numbers of the depth. For windows over
** an image of few features, groups of a few features, and matrices that are used too few times to be packed.
** Columns come in contiguous runs; a unit is a part of one run, times some rows.
*/
#ifndef XLA_KERNELS_CONTRACTION_DIRECT_H
#define XLA_KERNELS_CONTRACTION_DIRECT_H

#include "kernels/contraction/contraction.h"

/* Returns whether the operands suit; if so, sets the plan's tiles and its cost. */
bool direct_plan(ContractionPlan *plan, const Contraction *largest, int64_t parts);

/* Computes units [unit, end); overwrites their sums. */
void direct_multiply(const Contraction *part, const ContractionPlan *plan, int64_t unit,
                     int64_t end, const uint8_t *const data[2], uint8_t *sums);

#endif
