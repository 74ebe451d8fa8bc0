/*
** The narrow float formats: f16, bf16, the f8 family and f4, to and from double.
**
** Each is described by one row: exponent bits, mantissa bits, bias, and what its largest exponent
** means. Formats: IEEE 754-2019 binary16; bfloat16; OCP 8-bit floating point (E5M2, E4M3FN);
** arXiv:2206.02915 (the FNUZ variants: no infinities, no negative zero, NaN = 0x80); OCP
** Microscaling Formats (E8M0, E2M1).
*/
#ifndef XLA_VALUE_FP_H
#define XLA_VALUE_FP_H

#include <stdint.h>

typedef enum FpSpecials {
  FP_IEEE, /* largest exponent: infinity and NaNs */
  FP_FN,   /* finite: only all-ones (mantissa and exponent) is NaN */
  FP_FNUZ, /* finite, unsigned zero: only the pattern of negative zero is NaN */
  FP_FNU,  /* finite and unsigned, powers of two alone: all-ones is NaN; nothing is zero */
  FP_ALL,  /* every pattern is finite: too large becomes the largest, NaN becomes -0 */
} FpSpecials;

typedef struct FpFormat {
  int exponent_bits, mantissa_bits, bias;
  FpSpecials specials;
} FpFormat;

extern const FpFormat fp_f16, fp_bf16, fp_f8e5m2, fp_f8e4m3fn, fp_f8e4m3b11fnuz, fp_f8e5m2fnuz,
    fp_f8e4m3fnuz, fp_f8e4m3, fp_f8e3m4, fp_f8e8m0fnu, fp_f4e2m1fn;

double fp_to_double(const FpFormat *format, uint32_t bits);

/* Rounds to nearest, ties to even, with gradual underflow. Overflow gives infinity, or NaN if the format has
** no infinity, or the largest number if it has neither. E8M0 rounds ties up; zero and negative numbers
** become NaN. NaN keeps its sign if the format has several; its payload is the quiet default. */
uint32_t fp_from_double(const FpFormat *format, double value);

#endif
