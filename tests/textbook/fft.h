/* Computes discrete Fourier transforms of complex doubles, of any length. */
#ifndef XLA_TEXTBOOK_FFT_H
#define XLA_TEXTBOOK_FFT_H

#include "base/arena.h"

typedef struct Complex {
  double re, im;
} Complex;

/* The data shared by transforms of one length: roots of unity and scratch. */
typedef struct FftPlan FftPlan;
FftPlan *fft_plan(int64_t length, Arena *arena);

/* out[k] = sum over j of in[j] exp(-2 pi i j k / length). They must not overlap. */
void fft_forward(FftPlan *plan, const Complex *in, Complex *out);
/* Computes the inverse transform: with exp(+...), divided by the length. Overwrites `in`. */
void fft_inverse(FftPlan *plan, Complex *in, Complex *out);

#endif
