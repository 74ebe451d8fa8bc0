/* Declares functions shared by the rewrites of operations that apply computations to elements. */
#ifndef XLA_REWRITE_EXPAND_APPLIED_H
#define XLA_REWRITE_EXPAND_APPLIED_H

#include "hlo/ir/module.h"

/* Whether a computation on elements has loops, branches or arrays, which loops over elements cannot have, takes very many
** steps, or compares without keys. It must also be applied to arrays of known, nonzero sizes. */
bool applies_more(const Instruction *x, const Computation *to_apply);

/* Adds a scan along the first dimension. `shape` is its result's: outputs, then carries. */
Instruction *add_scan(Computation *computation, Computation *to_apply, const Shape *shape,
                      Instruction *const *operands, int count, int carries);

/* Returns the parts of a value: the value itself if it is no tuple. */
void add_parts(Computation *computation, Instruction *x, Instruction **parts);

/* Replaces x by these values, reshaped to the shapes of its results: a tuple, if x is one. */
void become_parts(Instruction *x, Instruction **parts, int count);

/* Reshapes an operand to [rows, elements]: `dimensions` move to the end, and the elements run through them. */
Instruction *add_in_rows(Computation *computation, Instruction *operand, Int64List dimensions);

#endif
