/*
** Contractions whose operands stay where they are, with lists that say where rows and numbers of the
** depth begin: windows over an image of few features, groups of a few features, matrices that are not
** used often enough to be packed. Columns come in runs of neighbours; one unit is a part of one run,
** and some rows.
*/
#ifndef XLA_KERNELS_CONTRACTION_DIRECT_H
#define XLA_KERNELS_CONTRACTION_DIRECT_H

#include "kernels/contraction/contraction.h"

/* Whether the operands suit; then the plan's tiles and its cost are filled in. */
bool direct_plan(ContractionPlan *plan, const Contraction *largest, int64_t parts);

/* Units [unit, end): overwrites their sums. */
void direct_multiply(const Contraction *part, const ContractionPlan *plan, int64_t unit,
                     int64_t end, const uint8_t *const data[2], uint8_t *sums);

#endif
