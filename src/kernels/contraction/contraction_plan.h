/* Plans and runs contractions: chooses a way and the units of work, and runs these in phases of chunks. */
#ifndef XLA_KERNELS_CONTRACTION_CONTRACTION_PLAN_H
#define XLA_KERNELS_CONTRACTION_CONTRACTION_PLAN_H

#include "kernels/contraction/contraction.h"

/* Returns the plan for `parts` parts. largest: the part with the most rows and depth. Brings its axes into the
** order in which they are computed; contraction_arrange does so for the other parts. */
ContractionPlan contraction_plan(Contraction *largest, int64_t parts, int64_t result_elements);

int64_t contraction_scratch_bytes(const ContractionPlan *plan);
/* The phases, in order, and the number of chunks of each. */
enum { PHASE_PACK, PHASE_MULTIPLY, PHASE_FINISH, CONTRACTION_PHASES };
void contraction_phases(const ContractionPlan *plan, int *chunks);

/* The memory of a contraction. scratch: the plan's scratch bytes, 64-byte aligned. */
typedef struct ContractionData {
  const uint8_t *lhs, *rhs; /* of the instruction, before any swapping */
  uint8_t *result, *scratch;
} ContractionData;

void contraction_pack(const Contraction *contraction, const ContractionPlan *plan,
                      const ContractionData *data, int64_t chunk);
/* Computes units [unit, end) of an arranged part; units count from the part's first one. */
void contraction_multiply(const Contraction *part, const ContractionPlan *plan,
                          const ContractionData *data, int64_t unit, int64_t end);
void contraction_finish(const ContractionPlan *plan, PrimitiveType type,
                        const ContractionData *data, int64_t chunk);

#endif
