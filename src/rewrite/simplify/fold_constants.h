/* Evaluates what depends on constants alone, for rewrites that need the numbers. */
#ifndef XLA_REWRITE_SIMPLIFY_FOLD_CONSTANTS_H
#define XLA_REWRITE_SIMPLIFY_FOLD_CONSTANTS_H

#include "hlo/ir/module.h"

/* Returns the value of an array that element-wise operations, and those that move elements, make of constants and iotas. NULL: it
** depends on other values, or takes many or large steps. */
Literal *constant_value(const Instruction *x, Arena *arena);

#endif
