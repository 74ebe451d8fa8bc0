/* Discrete Fourier transforms of any length, of complex doubles. */
#ifndef XLA_REFERENCE_FFT_H
#define XLA_REFERENCE_FFT_H

#include "base/arena.h"

typedef struct Complex {
  double re, im;
} Complex;

/* What transforms of one length share: roots of unity and scratch. */
typedef struct FftPlan FftPlan;
FftPlan *fft_plan(int64_t length, Arena *arena);

/* out[k] = sum over j of in[j] exp(-2 pi i j k / length). They must not overlap. */
void fft_forward(FftPlan *plan, const Complex *in, Complex *out);
/* With exp(+...), divided by the length. Uses up `in`. */
void fft_inverse(FftPlan *plan, Complex *in, Complex *out);

#endif
