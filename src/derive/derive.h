/*
** The last step of deriving a gradient or a batched program from a module. The first step is the stage DERIVE of the
** table (rewrite/base/passes.def).
*/
#ifndef XLA_DERIVE_DERIVE_H
#define XLA_DERIVE_DERIVE_H

#include "hlo/ir/module.h"

/* Makes `entry` the entry and removes computations that it does not reach. Results, and parameters that the source lacks, are
** row-major; the source's parameters keep their layouts. Aliases are removed, because they describe the source's results. */
void derive_end(Module *module, Computation *entry);

#endif
