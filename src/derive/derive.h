/*
** The last step of deriving a gradient or a batched program from a module. The first step is the stage DERIVE of the
** table (rewrite/base/passes.def).
*/
#ifndef XLA_DERIVE_DERIVE_H
#define XLA_DERIVE_DERIVE_H

#include "hlo/ir/module.h"

/* Makes `entry` the entry and removes computations that it does not reach. Layouts and aliases are removed, because they
** describe the parameters and results of the source. */
void derive_end(Module *module, Computation *entry);

#endif
