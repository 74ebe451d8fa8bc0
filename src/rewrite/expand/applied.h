/* Declares functions shared by the rewrites of operations that apply computations to elements. */
#ifndef XLA_REWRITE_EXPAND_APPLIED_H
#define XLA_REWRITE_EXPAND_APPLIED_H

#include "hlo/ir/module.h"

/* Whether a computation on elements has loops, branches or arrays in it, which loops over elements cannot
** have, or takes very many steps, and there are elements of arrays of known sizes to apply it to. */
bool applies_more(const Instruction *x, const Computation *to_apply);

/* A scan along the first dimension. `shape` is its result's: outputs, then carries. */
Instruction *add_scan(Computation *computation, Computation *to_apply, const Shape *shape,
                      Instruction *const *operands, int count, int carries);

/* The parts of a value; it itself if it is no tuple. */
void add_parts(Computation *computation, Instruction *x, Instruction **parts);

/* x becomes these, reshaped to the shapes of its results: a tuple, if it is one. */
void become_parts(Instruction *x, Instruction **parts, int count);

/* An operand as [rows, elements]: `dimensions` go to the back, and an element runs through them. */
Instruction *add_in_rows(Computation *computation, Instruction *operand, Int64List dimensions);

#endif
