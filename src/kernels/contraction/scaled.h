/*
** Dequantised operands: computed operands (Generator) whose elements are numbers of a narrow type, each widened to f32 and
** multiplied by a scale. Kernels with loops for such numbers (inner/narrow.h) then read the arrays themselves.
**
** The numbers lie in the order of the elements. A scale belongs to a tensor, a row, a column, a block: loops over the
** elements, outermost first, tell which one.
*/
#ifndef XLA_KERNELS_CONTRACTION_SCALED_H
#define XLA_KERNELS_CONTRACTION_SCALED_H

#include "kernels/contraction/contraction.h"
#include "kernels/contraction/inner/narrow.h"
#include "kernels/kernels.h"
#include "plan/loop_nest.h"

/* An array that a loop reads: a parameter of its computation, from an offset on, which depends on the starts of slices. */
typedef struct ScaledInput {
  PrimitiveType type;
  int parameter; /* -1: none */
  int64_t constant, start[MAX_STARTS];
} ScaledInput;

struct Scaled {
  const NarrowLoops *loops; /* NULL: the numbers are not narrow; then all scales are 1 */
  bool has_scales;          /* other than 1 */
  ScaledInput numbers, scales;
  float scale; /* if all elements have one that is known */
  int rank;
  int64_t sizes[MAX_LOOPS], strides[MAX_LOOPS]; /* strides: in the array of scales */
  int start_count;
  struct {
    int parameter;
    PrimitiveType type;
    int64_t limit;
  } starts[MAX_STARTS];
};

/* Returns what a loop computes as numbers times scales; NULL if it computes something else. */
const Scaled *scaled_of(const Instruction *loop, Arena *arena);
/* Sets the generator's arrays. inputs: the loop's operands. */
void scaled_find(const Scaled *scaled, const uint8_t *const *inputs, Generator *generator);

/* Returns the number of lines of `line` elements, from a multiple of that number on, that have the same scales; 0 if the
** loops are not made of lines. */
int64_t scaled_lines(const Scaled *scaled, int64_t line);
/* Returns the number of neighbouring elements with one scale. */
int64_t scaled_run(const Scaled *scaled);

/* Write the scales of `count` elements from number `first` on, times the loops' factor: one for each element, or one for
** each `block` elements, which is a multiple of the run or all. Return false if the factor makes a scale inexact. */
bool scaled_fill(const Generator *generator, int64_t first, int64_t count, float *out);
bool scaled_fill_blocks(const Generator *generator, int64_t first, int64_t count, int64_t block,
                        float *out);

#endif
