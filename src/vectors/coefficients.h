/* Polynomials that both formulas (real_functions.c) and vector functions (f64x2.h) use; highest coefficient
** first. Fitted for minimal error by Remez's algorithm with 200 bits. */
#ifndef XLA_VECTORS_COEFFICIENTS_H
#define XLA_VECTORS_COEFFICIENTS_H

/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2; e^r then is off by 2^-58 */
#define EXP_COEFFICIENTS                                                                         \
  2.5117912028360455e-08, 2.7631339260741451e-07, 2.755721613961388e-06, 2.4801489787183635e-05, \
      0.0001984126991756511, 0.0013888888947154664, 0.0083333333333071198, 0.041666666666514938, \
      0.16666666666666699, 0.50000000000000133

/* (2 atanh(s) / s - 2) / s^2 in s^2, for log((1 + s) / (1 - s)) between sqrt 1/2 and sqrt 2 */
#define LOG_COEFFICIENTS                                                              \
  0.14789512461887783, 0.15314758963665534, 0.18183533508535976, 0.22222199243199017, \
      0.28571428734843479, 0.39999999999455293, 0.66666666666667262

#endif
