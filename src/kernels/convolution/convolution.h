/* What the kernels of convolutions ask each other. */
#ifndef XLA_KERNELS_CONVOLUTION_CONVOLUTION_H
#define XLA_KERNELS_CONVOLUTION_CONVOLUTION_H

#include "hlo/ir/module.h"

/* Whether the output holds one place after the other, in the order of its spatial dimensions. */
bool convolution_in_order(const Instruction *instruction);
/* What it costs as a contraction: as in ContractionPlan. */
double convolution_cost(const Instruction *convolution);

#endif
