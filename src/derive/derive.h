/*
** The common steps of gradients and batches, which make a program out of another one.
*/
#ifndef XLA_DERIVE_DERIVE_H
#define XLA_DERIVE_DERIVE_H

#include "hlo/ir/module.h"

/* Writes operations that have no rule with others that have one. Not all of the pipeline's stage PREPARE: its other rows
** are about custom calls and roundings of the program that runs. Keeps the roots of all computations. */
void derive_begin(Module *module);

/* Makes `entry` the entry, and drops what it does not reach. Layouts and aliases were those of other parameters and
** results, and go. */
void derive_end(Module *module, Computation *entry);

#endif
