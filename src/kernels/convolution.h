/* What a convolution costs as a contraction: as in ContractionPlan. */
#ifndef XLA_KERNELS_CONVOLUTION_H
#define XLA_KERNELS_CONVOLUTION_H

#include "hlo/module.h"

double convolution_cost(const Instruction *convolution);

#endif
