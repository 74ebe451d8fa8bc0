/*
** Contracts a tile of the result at a time: packs and multiplies block by block of the depth. This is the
** general way, after BLIS (Van Zee and van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS
** Functionality", 2015).
*/
#ifndef XLA_KERNELS_CONTRACTION_TILES_H
#define XLA_KERNELS_CONTRACTION_TILES_H

#include "kernels/contraction/contraction.h"

/* Sets the plan's tiles, blocks, splits and packed operands. */
void tiles_plan(ContractionPlan *plan, const Contraction *largest, int64_t parts);

/* Pack the lhs and the rhs into scratch, if the plan packs them beforehand. The lhs' chunks come first. */
int64_t tiles_pack_chunks(const ContractionPlan *plan);
void tiles_pack(const Contraction *contraction, const ContractionPlan *plan,
                const uint8_t *const data[2], uint8_t *scratch, int64_t chunk);

/* A unit of work: a batch and ranges of rows, columns and depth. */
typedef struct Unit {
  int64_t batch, split, first[2], lines[2], depth, depth_end;
} Unit;

/* Overwrites the unit's sums; an empty depth gives zeros. */
void tiles_multiply(const Contraction *part, const ContractionPlan *plan, const Unit *unit,
                    const uint8_t *const data[2], const uint8_t *scratch, uint8_t *sums);

#endif
