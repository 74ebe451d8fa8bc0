/*
** The last step of gradients and batches, which make a program out of another one. The first one is the table's stage
** DERIVE (rewrite/base/passes.def).
*/
#ifndef XLA_DERIVE_DERIVE_H
#define XLA_DERIVE_DERIVE_H

#include "hlo/ir/module.h"

/* Makes `entry` the entry, and drops what it does not reach. Layouts and aliases were those of other parameters and
** results, and go. */
void derive_end(Module *module, Computation *entry);

#endif
