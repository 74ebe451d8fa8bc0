/* Differentiates a computation that another one calls: the body of a loop, a branch, or a callee. */
#ifndef XLA_DERIVE_GRADIENT_BODY_H
#define XLA_DERIVE_GRADIENT_BODY_H

#include "derive/gradient/extract.h"

/* Values are taken apart: all lists have one entry for each leaf, of all parameters in order, or of the root. */
typedef struct Body {
  WorkingComputation working;
  int input_count, result_count;
  Instruction **inputs;   /* stand-ins for the parameters */
  Instruction **tangents; /* stand-ins for their tangents; NULL where there is none */
  Instruction **results;
  Instruction **result_tangents; /* NULL: zero */
  Instruction **seeds;           /* after body_transpose: stand-ins for the results' cotangents */
  Instruction **cotangents;      /* after body_transpose: those of the parameters; NULL: zero */
} Body;

/* Builds the working computation. `active` says which leaves of the parameters have tangents; `literals` has the values of
** those that are known before the run, and may be NULL. A scalar may have several, in one dimension: in the iterations of a
** loop around it. */
bool body_linearize(Body *b, Differentiation *d, const Computation *source, const bool *active,
                    Literal *const *literals);
/* Transposes it for results whose flag in `active` is set. */
bool body_transpose(Body *b, const bool *active);

/* Begins a computation with one parameter: a tuple of these shapes. */
typedef struct Packed {
  Extraction e;
  Instruction *parameter;
} Packed;
Packed packed_begin(Body *b, const char *name, const Shape *tuple);
Instruction *packed_element(Packed *p, int index);
/* Returns the copy of x, or zeros if x is NULL. */
Instruction *packed_copy(Packed *p, Instruction *x, const Shape *shape);

/* A list of values, which becomes a tuple. */
typedef struct Values {
  Instruction **items;
  int count, capacity;
} Values;
void values_push(WorkingComputation *working, Values *values, Instruction *x);
Instruction *values_tuple(WorkingComputation *working,
                          const Values *values); /* in l's computation */

/* Gives the elements of a tuple instruction the tangents that the tuple has. */
void note_elements(WorkingComputation *working, Instruction *tuple);

/* Gives tangents to the leaves of `value` with a flag in `active`. How they depend on `inputs`, other tangents, only
** `transpose` knows: it gets an instruction whose operands are the inputs, and the cotangents of these leaves. */
void set_linear_results(WorkingComputation *working, Instruction *value, const bool *active,
                        const Values *inputs, Transposition *transpose, const void *data);

#endif
