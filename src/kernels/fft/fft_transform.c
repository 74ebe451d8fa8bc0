/*
** Plans the transform of a length: stages and their roots, or the chirp and its spectrum.
*/
#include <math.h>

#include "kernels/fft/fft.h"

void fft_root(int64_t k, int64_t n, double *re, double *im) {
  static const double turn = 6.283185307179586476925;
  bool lower = 2 * k > n; /* below the real axis: the conjugate of the mirrored one */
  if (lower) k = n - k;
  bool left = 4 * k > n; /* left of the imaginary axis: mirrored there */
  int64_t twice = left ? n - 2 * k : 2 * k;
  bool steep = 4 * twice > n; /* beyond the diagonal: mirrored there */
  double angle = turn * (steep ? (double)(n - 2 * twice) / 4 : (double)twice / 2) / (double)n;
  double x = steep ? sin(angle) : cos(angle), y = steep ? cos(angle) : sin(angle);
  *re = left ? -x : x;
  *im = lower ? y : -y;
}

static void *new_reals(int64_t count, PrimitiveType real, Arena *arena) {
  return real == F64 ? (void *)ARENA_ARRAY(arena, double, count)
                     : (void *)ARENA_ARRAY(arena, float, count);
}

static void set_real(void *reals, int64_t i, PrimitiveType real, double value) {
  if (real == F64) {
    ((double *)reals)[i] = value;
  } else {
    ((float *)reals)[i] = (float)value;
  }
}

void *fft_roots(int64_t count, int64_t step, int64_t n, PrimitiveType real, Arena *arena) {
  void *roots = new_reals(2 * count, real, arena);
  int64_t numerator = 0;
  for (int64_t i = 0; i < count; i++) {
    double re, im;
    fft_root(numerator, n, &re, &im);
    set_real(roots, i, real, re);
    set_real(roots, count + i, real, im);
    numerator = (numerator + step) % n;
  }
  return roots;
}

/* --- Stages ----------------------------------------------------------------------------------- */

/* Chooses the radices; fours come first, since a line by itself starts with one. Returns the remaining
** factor: 1 if stages cover the whole length. */
static int64_t set_radices(FftTransform *t) {
  static const int first[] = {4, 2, 3, 5};
  int64_t rest = t->length;
  for (int i = 0; i < 4; i++) {
    for (; rest % first[i] == 0; rest /= first[i]) t->stage[t->stages++].radix = first[i];
  }
  for (int radix = 7; radix <= FFT_LARGEST_RADIX; radix += 2) {
    for (; rest % radix == 0; rest /= radix) t->stage[t->stages++].radix = radix;
  }
  return rest;
}

bool fft_has_stages(int64_t length) {
  FftTransform t = {.length = length};
  return set_radices(&t) == 1;
}

/* [k - 1][re, im][p]: w_n^(p k) */
static void *stage_roots(int64_t n, int radix, PrimitiveType real, Arena *arena) {
  int64_t m = n / radix;
  void *roots = new_reals(2 * (radix - 1) * m, real, arena);
  for (int64_t p = 0; p < m; p++) {
    for (int64_t k = 1; k < radix; k++) {
      double re, im;
      fft_root(p * k, n, &re, &im);
      set_real(roots, 2 * (k - 1) * m + p, real, re);
      set_real(roots, (2 * k - 1) * m + p, real, im);
    }
  }
  return roots;
}

/* [cos, sin][j]: the conjugates of roots */
static void *stage_turns(int radix, PrimitiveType real, Arena *arena) {
  void *turns = new_reals((int64_t)2 * radix, real, arena);
  for (int j = 0; j < radix; j++) {
    double re, im;
    fft_root(j, radix, &re, &im);
    set_real(turns, j, real, re);
    set_real(turns, radix + j, real, -im);
  }
  return turns;
}

static void plan_stages(FftTransform *t, PrimitiveType real, Arena *arena) {
  int64_t n = t->length;
  for (int i = 0; i < t->stages; i++) {
    FftStage *stage = &t->stage[i];
    stage->rest = n / stage->radix;
    stage->roots = stage_roots(n, stage->radix, real, arena);
    if (stage->radix % 2 == 1) stage->turns = stage_turns(stage->radix, real, arena);
    n = stage->rest;
  }
}

/* --- Convolution ------------------------------------------------------------------------------ */

/* The next length of factors 2, 3 and 5 alone that a line by itself can have. */
static int64_t convolution_length(int64_t least) {
  for (int64_t length = (least + 15) & -16;; length += 16) {
    int64_t rest = length;
    for (int radix = 2; radix <= 5; radix++) {
      while (rest % radix == 0) rest /= radix;
    }
    if (rest == 1) return length;
  }
}

/* The spectrum is computed in double, whatever the type. */
static void plan_convolution(FftTransform *t, PrimitiveType real, Arena *arena) {
  int64_t n = t->length, size = convolution_length(2 * n - 1);
  const FftTransform *exact = fft_transform(size, F64, arena);
  double *re = ARENA_ARRAY(arena, double, size), *im = ARENA_ARRAY(arena, double, size);
  double *memory = ARENA_ARRAY(arena, double, 2 * exact->room);
  void *chirp = new_reals(2 * n, real, arena), *spectrum = new_reals(2 * size, real, arena);
  int64_t square = 0; /* k^2 modulo 2n */
  for (int64_t k = 0; k < n; k++) {
    double x, y;
    fft_root(square, 2 * n, &x, &y);
    set_real(chirp, k, real, x);
    set_real(chirp, n + k, real, y);
    re[k] = re[k ? size - k : 0] = x;
    im[k] = im[k ? size - k : 0] = -y;
    square += 2 * k + 1;
    if (square >= 2 * n) square -= 2 * n;
  }
  fft_alone_f64(exact, re, im, memory);
  for (int64_t k = 0; k < size; k++) {
    set_real(spectrum, k, real, re[k] / (double)size);
    set_real(spectrum, size + k, real, im[k] / (double)size);
  }
  t->convolution = real == F64 ? exact : fft_transform(size, real, arena);
  t->chirp = chirp;
  t->spectrum = spectrum;
  t->room = size;
}

const FftTransform *fft_transform(int64_t length, PrimitiveType real, Arena *arena) {
  FftTransform *t = ARENA_NEW(arena, FftTransform);
  t->length = length;
  t->room = length + 1; /* FFT_SPLIT makes one more */
  if (set_radices(t) == 1) {
    plan_stages(t, real, arena);
  } else {
    t->stages = 0;
    plan_convolution(t, real, arena);
  }
  return t;
}

bool fft_runs_alone(const FftTransform *transform, PrimitiveType real) {
  const FftTransform *t = transform->convolution ? transform->convolution : transform;
  int64_t vector = real == F64 ? 2 : 4;
  return t->stages > 0 && t->stage[0].radix == 4 && t->stage[0].rest >= vector;
}

int64_t fft_tiles(const FftPass *pass) {
  int64_t lines = (int64_t)pass->lanes * fft_lines_per_lane(pass);
  return pass->lines / pass->group * ((pass->group + lines - 1) / lines);
}

int64_t fft_tile_bytes(const FftPass *pass, PrimitiveType real) {
  return 4 * pass->transform->room * pass->lanes * (real == F64 ? 8 : 4);
}
