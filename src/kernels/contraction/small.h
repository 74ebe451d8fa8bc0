/*
** Multiplies small matrices, of one or many batches: in place, or from copies that stay in the first cache.
** A unit is a batch.
*/
#ifndef XLA_KERNELS_CONTRACTION_SMALL_H
#define XLA_KERNELS_CONTRACTION_SMALL_H

#include "kernels/contraction/contraction.h"
#include "kernels/contraction/elements.h"

/* Returns whether the matrices are small; if so, sets the plan's tiles. */
bool small_plan(ContractionPlan *plan, const Contraction *contraction);

/* Threshold SMALL_LINES: max rows, and max depth in lanes. Test: "products: of [m,k] and [k,n]
** by sums" in core/thresholds.test.mjs. */
enum { SMALL_LINES = 256 };

/* The values that all batches share. */
typedef struct Small {
  const Contraction *contraction;
  const Arithmetic *arithmetic;
  Loader loader[2];
  int64_t rows, columns, depth,
      padded; /* in lanes: a complex depth counts reals; s16 come in pairs */
  bool keeps_lhs, keeps_rhs, keeps_out; /* the array is used in place; else copied */
  bool transposes_rhs;                  /* the rhs is transposed when it is copied */
  bool is_few;                          /* there are few columns, which are copied one by one */
  int multiplied;                       /* the number of columns that the loop computes */
  PlainLoop *loop;
  RowAt row[SMALL_LINES];
  DepthAt at[SMALL_LINES];
} Small;
void small_init(Small *small, const Contraction *contraction, const ContractionPlan *plan);

/* Multiplies the batch whose first elements are at these offsets. */
void small_multiply(const Small *small, const size_t offset[3], const uint8_t *const data[2],
                    uint8_t *result);

#endif
