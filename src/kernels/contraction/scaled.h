/*
** Dequantised operands: computed operands (Computed) whose elements are narrow numbers, each widened to f32 or looked up
** in a table, and then scaled, or moved by a zero point: a short list of steps.
**
**     ((widen(numbers[i]) - zeros[...]) * scales[...]        numbers * scales, and other orders
**     widen(numbers[i]) * scales[...] + biases[...]
**     table[numbers[i]] * scales[...]                        a codebook; any function of a byte
**
** The numbers lie in the order of the elements, except in views, which repeat or move an array's elements. A number that a
** step uses (a scale, a zero point) belongs to a tensor, a row, a column or a block: loops over the elements, outermost
** first, tell which one. Each step is rounded as the program rounds it. scaled_generate computes any of these, a block in
** the first cache at a time. Kernels with loops for numbers times one scale (inner/narrow.h) read the arrays themselves.
*/
#ifndef XLA_KERNELS_CONTRACTION_SCALED_H
#define XLA_KERNELS_CONTRACTION_SCALED_H

#include "kernels/contraction/contraction.h"
#include "kernels/contraction/inner/narrow.h"
#include "kernels/contraction/inner/steps.h"
#include "kernels/kernels.h"
#include "plan/loop_plan.h"

/* An array that a loop reads: a parameter of its computation, from an offset on, which depends on the starts of slices. */
typedef struct ScaledInput {
  PrimitiveType type;
  int parameter; /* -1: none */
  int per_byte;  /* elements in a byte: several if the array is packed */
  int64_t constant, start[MAX_STARTS], strides[MAX_LOOPS];
} ScaledInput;

/* Threshold MAX_ZERO: zero points that are subtracted from integers before these are rounded. Test: "zero points of floats" in
** core/quantised.test.mjs. */
enum { MAX_ZERO = 128 };

/* The steps of narrow loops: a scale, and a zero point before it or a bias after it. */
typedef enum NarrowStep { SCALE, ZERO } NarrowStep;

typedef struct ScaledStep {
  StepKind kind;
  PrimitiveType rounds; /* to BF16 or F16; PRIMITIVE_TYPE_INVALID: not at all */
  ScaledInput input;    /* the second operand */
  float value;          /* the same, if it is a known number */
} ScaledStep;

/* The value of a byte: the element of the table at that position, or a known number. */
typedef struct TableEntry {
  int32_t position; /* -1: `value` */
  float value;
} TableEntry;

typedef struct Scaled {
  const NarrowLoops *loops; /* NULL: there are no loops for these numbers and steps */
  bool is_view; /* the elements are the numbers as they are, but in other places: see strides */
  ScaledInput numbers, table;
  const TableEntry *entries; /* of each byte; NULL: numbers are widened */
  int64_t max_integer;       /* the largest magnitude after a step of integers; 0: there is none */
  int step_count;
  ScaledStep steps[MAX_SCALED_STEPS];
  int narrow_steps[2];         /* the number of each NarrowStep; -1: there is none */
  bool negates, negates_scale; /* loops read the opposite of a ZERO, or of a SCALE */
  int rank;
  int64_t sizes[MAX_LOOPS];
  int start_count;
  struct {
    int parameter;
    PrimitiveType type;
    int64_t limit;
  } starts[MAX_STARTS];
} Scaled;

/* Returns how a loop computes its result, which is of f32, as above; NULL if it computes something else. */
const Scaled *scaled_of(const Instruction *loop, Arena *arena);
/* Whether the elements are the numbers as they are. */
static inline bool scaled_is_plain(const Scaled *scaled) {
  return scaled->step_count == 0 && !scaled->entries && scaled->numbers.per_byte == 1 &&
         !scaled->is_view;
}

/* scaled_table.c: sets the table to the values of a node that is a function of one byte of an array in order. Returns false
** if it is none. */
bool scaled_tabulate(Scaled *scaled, const LoopPlan *plan, const LoopNode *node, Arena *arena);
/* Whether a node is an array that the loops read in the order of the elements. */
bool scaled_in_order(const LoopPlan *plan, const LoopNode *node);
ScaledInput scaled_input(const LoopPlan *plan, const LoopNode *node);

/* Whether element number i of a packed array begins a byte for each multiple i of `per_byte`. */
bool scaled_is_aligned(const ScaledInput *input);

/* ---- Reading (scaled_read.c) ---- */

/* Sets the arrays of the computed operand. inputs: the loop's operands. */
void scaled_find(const Scaled *scaled, const uint8_t *const *inputs, Computed *computed);
/* Computes elements: the `run` of a Computed. */
void scaled_generate(const Computed *computed, int64_t first, int64_t count, void *out);

/* Returns the number of lines of `line` elements, from a multiple of that number on, that have the same scales, or zeros; 0 if
** the loops are not made of lines. */
int64_t scaled_lines(const Scaled *scaled, NarrowStep step, int64_t line);
/* Returns the number of neighbouring elements with one scale, or zero. */
int64_t scaled_run(const Scaled *scaled, NarrowStep step);

/* Whether the numbers, less their zeros, are integers of at most 9 bits. */
bool scaled_has_integers(const Scaled *scaled);

/* Whether scales are of f16. */
bool scaled_has_f16(const Scaled *scaled);

/* Writes the scales or the zeros of `count` elements: of number `first` and those after it, `apart` elements from each other. */
void scaled_fill(const Computed *computed, NarrowStep step, int64_t first, int64_t count,
                 int64_t apart, float *out);
/* The same of `lines` lines, which are `line` elements apart: `count` operands of each. */
void scaled_fill_lines(const Computed *computed, NarrowStep step, int64_t first, int64_t line,
                       int64_t lines, int64_t count, int64_t apart, float *out);

#endif
