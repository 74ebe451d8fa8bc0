/* Fourier transforms of f32: see fft_lines.inc. */
#define REAL float
/* Numbers in a vector. */
#define VECTOR_REALS 4
#define NAMED(name)  name##_f32
#include "kernels/fft/inner/fft_lines.inc"
