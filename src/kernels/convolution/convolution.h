/* Declares the functions that the kernels of convolutions share. */
#ifndef XLA_KERNELS_CONVOLUTION_CONVOLUTION_H
#define XLA_KERNELS_CONVOLUTION_CONVOLUTION_H

#include "hlo/ir/module.h"

/* Returns the cost of a convolution as a contraction, in the units of ContractionPlan. */
double convolution_cost(const Instruction *convolution);

#endif
