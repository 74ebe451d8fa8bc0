/*
** Plans transforms of one length. If all prime factors are small: decimation in time (Cooley and Tukey), one
** level per factor. Otherwise: a convolution with a chirp (Bluestein), jk = (j^2 + k^2 - (j-k)^2) / 2, by
** transforms of a power of two. Roots of unity are computed from angles of at most an eighth of a turn, so
** they are as exact as doubles can be.
*/
#include <math.h>

#include "textbook/fft.h"

/* Threshold LARGEST_FACTOR. Test: "Fourier transforms of all small sizes, and around factors" in
** core/thresholds_programs.test.mjs. */
/* Threshold MAX_FACTORS: no path: room for the factors of any size. */
enum { LARGEST_FACTOR = 61, MAX_FACTORS = 64 };

struct FftPlan {
  int64_t length;
  Complex *roots; /* roots[k] = exp(-2 pi i k / length); NULL for Bluestein's algorithm */
  int factor_count;
  int factors[MAX_FACTORS];
  /* Bluestein: */
  FftPlan *convolution;       /* of a power of two, at least 2 * length - 1 */
  Complex *chirp;             /* chirp[k] = exp(-pi i k^2 / length) */
  Complex *kernel;            /* transform of the conjugate chirp, of both signs of k */
  Complex *padded, *spectrum; /* scratch */
};

static Complex multiply(Complex a, Complex b) {
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* exp(-2 pi i k / n), 0 <= k < n. */
static Complex root_of_unity(int64_t k, int64_t n) {
  static const double turn = 6.283185307179586476925;
  bool lower = 2 * k > n; /* below the real axis: the conjugate of the mirrored one */
  if (lower) k = n - k;
  bool left = 4 * k > n;                    /* left of the imaginary axis: mirrored there */
  int64_t twice = left ? n - 2 * k : 2 * k; /* twice the angle's numerator, in [0, n/2] */
  bool steep = 4 * twice > n;               /* beyond the diagonal: mirrored there */
  double angle = turn * (steep ? (double)(n - 2 * twice) / 4 : (double)twice / 2) / (double)n;
  double x = steep ? sin(angle) : cos(angle), y = steep ? cos(angle) : sin(angle);
  return (Complex){left ? -x : x, lower ? y : -y};
}

/* Fills plan->factors, and returns whether all are small. */
static bool factorize(FftPlan *plan) {
  int64_t rest = plan->length;
  for (int p = 2; p <= LARGEST_FACTOR && rest > 1; p++) {
    for (; rest % p == 0; rest /= p) plan->factors[plan->factor_count++] = p;
  }
  return rest == 1;
}

static void plan_chirp(FftPlan *plan, Arena *arena) {
  int64_t n = plan->length, size = 1;
  while (size < 2 * n - 1) size *= 2;
  plan->convolution = fft_plan(size, arena);
  plan->chirp = ARENA_ARRAY(arena, Complex, n);
  plan->kernel = ARENA_ARRAY(arena, Complex, size);
  plan->padded = ARENA_ARRAY(arena, Complex, size);
  plan->spectrum = ARENA_ARRAY(arena, Complex, size);
  int64_t square = 0; /* k^2 modulo 2n */
  for (int64_t k = 0; k < n; k++) {
    plan->chirp[k] = root_of_unity(square, 2 * n);
    Complex conjugate = {plan->chirp[k].re, -plan->chirp[k].im};
    plan->padded[k] = conjugate;
    if (k) plan->padded[size - k] = conjugate;
    square = (square + 2 * k + 1) % (2 * n);
  }
  fft_forward(plan->convolution, plan->padded, plan->kernel);
}

FftPlan *fft_plan(int64_t length, Arena *arena) {
  FftPlan *plan = ARENA_NEW(arena, FftPlan);
  plan->length = length;
  if (factorize(plan)) {
    plan->roots = ARENA_ARRAY(arena, Complex, length);
    for (int64_t k = 0; k < length; k++) plan->roots[k] = root_of_unity(k, length);
  } else {
    plan_chirp(plan, arena);
  }
  return plan;
}

/* Joins `p` consecutive transforms of length m in `out` to one of length p * m. */
static void butterflies(const FftPlan *plan, Complex *out, int p, int64_t m) {
  int64_t step = plan->length / (p * m); /* between the roots of this level */
  Complex part[LARGEST_FACTOR];
  for (int64_t k = 0; k < m; k++) {
    for (int r = 0; r < p; r++) part[r] = multiply(out[r * m + k], plan->roots[r * k * step]);
    for (int q = 0; q < p; q++) {
      Complex sum = part[0];
      for (int r = 1; r < p; r++) {
        Complex term = multiply(part[r], plan->roots[r * q % p * m * step]);
        sum = (Complex){sum.re + term.re, sum.im + term.im};
      }
      out[q * m + k] = sum;
    }
  }
}

static void butterflies_of_2(const FftPlan *plan, Complex *out, int64_t m) {
  int64_t step = plan->length / (2 * m);
  for (int64_t k = 0; k < m; k++) {
    Complex a = out[k], b = multiply(out[m + k], plan->roots[k * step]);
    out[k] = (Complex){a.re + b.re, a.im + b.im};
    out[m + k] = (Complex){a.re - b.re, a.im - b.im};
  }
}

static void transform(const FftPlan *plan, const Complex *in, int64_t stride, Complex *out,
                      int64_t length, int level) {
  if (length == 1) {
    out[0] = in[0];
    return;
  }
  int p = plan->factors[level];
  int64_t m = length / p;
  for (int r = 0; r < p; r++) {
    transform(plan, in + r * stride, stride * p, out + r * m, m, level + 1);
  }
  if (p == 2) {
    butterflies_of_2(plan, out, m);
  } else {
    butterflies(plan, out, p, m);
  }
}

static void chirp_transform(FftPlan *plan, const Complex *in, Complex *out) {
  int64_t n = plan->length, size = plan->convolution->length;
  for (int64_t k = 0; k < size; k++) {
    plan->padded[k] = k < n ? multiply(in[k], plan->chirp[k]) : (Complex){0, 0};
  }
  fft_forward(plan->convolution, plan->padded, plan->spectrum);
  for (int64_t k = 0; k < size; k++) {
    plan->spectrum[k] = multiply(plan->spectrum[k], plan->kernel[k]);
  }
  fft_inverse(plan->convolution, plan->spectrum, plan->padded);
  for (int64_t k = 0; k < n; k++) out[k] = multiply(plan->padded[k], plan->chirp[k]);
}

void fft_forward(FftPlan *plan, const Complex *in, Complex *out) {
  if (plan->roots) {
    transform(plan, in, 1, out, plan->length, 0);
  } else {
    chirp_transform(plan, in, out);
  }
}

/* The inverse is the forward transform between two conjugations. */
void fft_inverse(FftPlan *plan, Complex *in, Complex *out) {
  double length = (double)plan->length;
  for (int64_t k = 0; k < plan->length; k++) in[k].im = -in[k].im;
  fft_forward(plan, in, out);
  for (int64_t k = 0; k < plan->length; k++) {
    out[k] = (Complex){out[k].re / length, -out[k].im / length};
  }
}
