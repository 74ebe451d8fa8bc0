#include "kernels/kernels.h"

extern const Kernel kernel_convolution, kernel_dot, kernel_rng, kernel_sort, kernel_update_slice;

static const Kernel *const kernels[] = {
    &kernel_convolution, &kernel_dot, &kernel_rng, &kernel_sort, &kernel_update_slice,
};

const Kernel *kernel_for(const Instruction *instruction) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (kernels[i]->matches(instruction)) return kernels[i];
  }
  return NULL;
}
