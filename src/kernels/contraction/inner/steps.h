/*
** Loops that dequantise a block of numbers in the first cache: looked up in a table, then moved and scaled.
*/
#ifndef XLA_KERNELS_CONTRACTION_STEPS_H
#define XLA_KERNELS_CONTRACTION_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "value/types.h"

/* x is a number, y the step's operand. */
typedef enum StepKind {
  STEP_MULTIPLY,      /* x * y */
  STEP_ADD,           /* x + y */
  STEP_SUBTRACT,      /* x - y */
  STEP_SUBTRACT_FROM, /* y - x */
  STEP_ROUND,         /* x, rounded to bf16 or f16 */
} StepKind;

/* Applies a step other than STEP_ROUND to `count` numbers. Each operand applies to `run` numbers, the first one to
** `run - skipped`. */
void step_apply(StepKind kind, float *numbers, int64_t count, int64_t run, int64_t skipped,
                const float *operands);
/* Rounds numbers to BF16 or F16: to nearest, ties to even. */
void step_round(PrimitiveType type, float *numbers, int64_t count);

/* Multiplies numbers by a power of two, in place or not. Returns false if that is inexact for one of them. */
bool step_scale(const float *numbers, int64_t count, float power, float *to);

/* Looks up bytes, of which only the bits of `mask` count, in a table of 256. Bytes below 16 are faster. */
void step_lookup(const uint8_t *bytes, int64_t count, int mask, const float *table, float *out);

#endif
