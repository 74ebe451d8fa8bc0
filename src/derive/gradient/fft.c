/* Fourier transforms. Source: JAX, for transforms of real numbers. */
#include "derive/gradient/linear.h"

/*
** The matrices of FFT and IFFT are symmetric. RFFT leaves out the half of the result that is the conjugate of the
** other, so all elements but the first, and the last one of an even length, count twice. */

static Instruction *multiplicity(WorkingComputation *working, const Shape *shape, int64_t length) {
  Instruction *place = make_iota(&working->m, S32, shape, shape->rank - 1);
  Instruction *single =
      make_compare(&working->m, COMPARE_EQ, place, make_zeros(&working->m, place->shape));
  if (length % 2 == 0) {
    int64_t half = length / 2;
    Instruction *last = make_number(&working->m, place->shape, (double)half);
    single = make_binary(&working->m, HLO_OR, single,
                         make_compare(&working->m, COMPARE_EQ, place, last));
  }
  return make_select(&working->m, single, make_number(&working->m, shape, 1),
                     make_number(&working->m, shape, 2));
}

void transpose_fft(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Attributes a = *x->a;
  Instruction *from = x->operands[0], *back = ct[0];
  Int64List sizes = a.fft_length;
  double count = 1;
  for (int i = 0; i < sizes.count; i++) count *= (double)sizes.items[i];
  if (a.fft_type == FFT_RFFT) {
    Instruction *times = multiplicity(working, back->shape, sizes.items[sizes.count - 1]);
    back = make_binary(&working->m, HLO_DIVIDE, make_conjugate(&working->m, back), times);
    a.fft_type = FFT_IRFFT;
    back = make(&working->m, HLO_FFT, from->shape, &back, 1, &a);
    back =
        make_binary(&working->m, HLO_MULTIPLY, back, make_number(&working->m, back->shape, count));
  } else if (a.fft_type == FFT_IRFFT) {
    a.fft_type = FFT_RFFT;
    back = make(&working->m, HLO_FFT, from->shape, &back, 1, &a);
    Instruction *times = multiplicity(working, back->shape, sizes.items[sizes.count - 1]);
    back = make_binary(&working->m, HLO_MULTIPLY, back, times);
    back = make_binary(&working->m, HLO_DIVIDE, back, make_number(&working->m, back->shape, count));
    back = make_conjugate(&working->m, back);
  } else {
    back = make(&working->m, HLO_FFT, from->shape, &back, 1, &a);
  }
  add_cotangent(working, from, back);
}
