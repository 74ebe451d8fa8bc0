/* Fourier transforms of f64: see fft_lines.inc. */
#define REAL double
/* Numbers in a vector. */
#define VECTOR_REALS 2
#define NAMED(name)  name##_f64
#include "kernels/fft/inner/fft_lines.inc"

bool fft_alone_f64(const FftTransform *transform, double **re, double **im, double *memory,
                   FftTurn *turn) {
  Planes planes = {*re, *im}, other = {memory, memory + transform->room};
  turn->at = 0;
  run_transform(transform, &planes, &other, 1, turn);
  if (turn->left == 0) return false;
  *re = planes.re;
  *im = planes.im;
  return true;
}
