/* Copies parts of a working computation into other computations of the module. */
#ifndef XLA_DERIVE_GRADIENT_EXTRACT_H
#define XLA_DERIVE_GRADIENT_EXTRACT_H

#include "derive/gradient/linear.h"

typedef struct Extraction {
  WorkingComputation *from;
  Computation *to;
  Instruction **map; /* by id in `from`: the copy */
  bool *needed;      /* by id: is to be copied */
} Extraction;

Extraction extract_begin(WorkingComputation *from, const char *name);
/* Decides that `copy` stands for x. Instructions that only x needs are then not copied. */
void extract_bind(Extraction *e, const Instruction *x, Instruction *copy);
/* Returns the copy of x. It copies all that x depends on, as far as it is not there yet. */
Instruction *extract(Extraction *e, Instruction *x);
/* Copies the primal instructions that have side effects, used or not. */
void extract_effects(Extraction *e);
/* Whether an operation reaches the host, or draws random numbers. */
bool is_host_effect(const Instruction *x);
/* Whether an operation makes floats of the bits of integers, as random numbers are made. */
bool makes_floats_of_bits(const Instruction *x);
/* Whether an operation reaches the host or other devices, so that it must not be done again. */
bool instruction_acts(const Instruction *x);
/* Adds an array of zeros to the target. */
Instruction *extract_zeros(Extraction *e, const Shape *shape);

/*
** Cuts a working computation: `outputs` depend on stand-ins for cotangents, and on primal values. Lists the primal
** values that must be saved for them. Values that are cheap to compute again from one saved value, and those with a
** flag in `invariant`, are not in the list: they are copied. `invariant` has a flag for each id; NULL: none is.
** With `recompute` all values are copied but parameters, and those that effects and other devices give.
*/
typedef struct Cut {
  Instruction **saved;
  int count, capacity;
} Cut;
Cut cut_primal(WorkingComputation *working, Instruction *const *outputs, int count,
               const bool *invariant, bool recompute);

#endif
