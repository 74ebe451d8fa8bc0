/* Declares the expansion of batch normalisation that dynamic dimensions need, too. */
#ifndef XLA_REWRITE_EXPAND_EXPAND_BATCH_NORM_H
#define XLA_REWRITE_EXPAND_EXPAND_BATCH_NORM_H

#include "hlo/ir/module.h"

/* Turns x into what it means. `count`: the elements of a feature, of any type; NULL: all. `mask`, a pred array of the
** operand's dimensions, tells which elements the statistics count; NULL: all. */
void expand_batch_norm(Instruction *x, Instruction *count, Instruction *mask);

#endif
