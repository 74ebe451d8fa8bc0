/*
** Products of small matrices, of many batches or of one: computed where they are, or from copies that
** stay in the first cache. One unit is a batch.
*/
#ifndef XLA_KERNELS_CONTRACTION_SMALL_H
#define XLA_KERNELS_CONTRACTION_SMALL_H

#include "kernels/contraction/contraction.h"
#include "kernels/elements.h"

/* Whether the matrices are small; then the plan's tiles are filled in. */
bool small_plan(ContractionPlan *plan, const Contraction *contraction);

enum { SMALL_LINES = 256 /* of rows and of the depth, in lanes, at most */ };

/* What all batches have in common. */
typedef struct Small {
  const Contraction *contraction;
  const Arithmetic *arithmetic;
  Loader loader[2];
  int64_t rows, columns, depth,
      padded; /* in lanes: of complex numbers, a depth of reals; s16 are pairs */
  bool keeps_lhs, keeps_rhs, turns_rhs, keeps_out; /* used where they are; or copied */
  bool is_few;                                     /* columns: copied one by one */
  int multiplied;                                  /* columns: all, or whole vectors of them */
  PlainLoop *loop;
  RowAt row[SMALL_LINES];
  DepthAt at[SMALL_LINES];
} Small;
void small_init(Small *small, const Contraction *contraction, const ContractionPlan *plan);

/* The batch whose first elements are at these offsets. */
void small_multiply(const Small *small, const size_t offset[3], const uint8_t *const data[2],
                    uint8_t *result);

#endif
