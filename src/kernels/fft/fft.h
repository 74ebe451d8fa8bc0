/*
** Discrete Fourier transforms: what fft.c plans and fft_lines.h runs, for f32 and for f64.
**
** Lines are transformed a tile at a time: several lines side by side, real and imaginary parts in
** planes of their own, [element][lane], so that a vector is one element of several lines. Lengths
** with small prime factors alone go through stages, one a factor, each from one pair of planes to
** another, in an order that sorts by itself (Stockham's):
**
**     y[q + s (r p + k)] = w_n^(p k) * sum over j < r of x[q + s (p + m j)] w_r^(j k)
**
** with w_n = exp(-2 pi i / n); n = r m is the length that is left, p < m, k < r, and q < s, the lanes
** times the factors of the stages before. Other lengths are convolutions with a chirp (Bluestein),
** jk = (j^2 + k^2 - (j - k)^2) / 2.
*/
#ifndef XLA_KERNELS_FFT_FFT_H
#define XLA_KERNELS_FFT_FFT_H

#include "base/arena.h"
#include "value/types.h"

enum {
  FFT_LARGEST_RADIX = 61, /* primes up to it have stages; beyond, convolution is faster */
  FFT_MAX_STAGES = 40,
  FFT_MAX_LANES = 16,
};

/* Tables are of the type's reals. */
typedef struct FftStage {
  int radix;
  int64_t rest;      /* m: what is left of the length after the stage */
  const void *roots; /* [k - 1][re, im][p]: w_n^(p k) */
  const void *turns; /* of odd radices r, [cos, sin][j < r]: of 2 pi j / r */
} FftStage;

typedef struct FftTransform FftTransform;
struct FftTransform {
  int64_t length, room; /* elements of a plane, for each lane */
  int stages;
  FftStage stage[FFT_MAX_STAGES];
  /* Of convolutions: */
  const FftTransform *convolution; /* of at least 2 * length - 1 elements */
  const void *chirp;               /* [re, im][k < length]: exp(-pi i k^2 / length) */
  const void *spectrum;            /* [re, im][k]: the conjugate chirp's, over the elements */
};

/* The transform of a length, of F32 or F64. */
const FftTransform *fft_transform(int64_t length, PrimitiveType real, Arena *arena);
bool fft_has_stages(int64_t length);
/* Whether a line can be transformed by itself, without others in the lanes. */
bool fft_runs_alone(const FftTransform *transform, PrimitiveType real);

/* Tables [re, im][i < count] of exp(-2 pi i numerator(i) / n), numerator(i) = i * step modulo n. */
void *fft_roots(int64_t count, int64_t step, int64_t n, PrimitiveType real, Arena *arena);
/* One root, as exact as doubles can be; 0 <= k < n. */
void fft_root(int64_t k, int64_t n, double *re, double *im);

/* Lines in memory, counted in reals: line i begins at i / inner * outer + i % inner * lane. */
typedef struct FftLines {
  int64_t inner, outer, lane;
  int64_t step; /* between a line's elements */
  int parts;    /* 2: complex; 1: real */
} FftLines;

/* What a line's transform is part of. */
typedef enum FftReal {
  FFT_COMPLEX,
  FFT_SPLIT,  /* afterwards: from n/2 complex numbers, made of n reals, to their n/2 + 1 */
  FFT_JOIN,   /* before: the reverse */
  FFT_MIRROR, /* before: the elements that are not loaded are conjugates of others */
  /* Two lines of real numbers are the parts of one of complex numbers; afterwards their spectra are
  ** told apart, or before are put together. */
  FFT_TWO,
  FFT_TWO_BACK,
} FftReal;

/* One pass over lines. */
typedef struct FftPass {
  const FftTransform *transform;
  FftLines from, to;
  int64_t loaded, kept; /* elements of a line */
  int64_t lines, group; /* tiles don't reach from one group of lines to the next */
  int lanes;            /* of a tile; 1: lines by themselves */
  bool inverse;
  double scale;
  FftReal real;
  const void *real_roots; /* [re, im][k]: exp(-pi i k / length) */
  /* Of the first of two passes over a line of n1 * n2: element k of lane l of a group's tile b is
  ** multiplied by lane_roots[k][re, im][l] * tile_roots[b][k][re, im]. */
  const void *lane_roots, *tile_roots;
} FftPass;

/* Lines that a lane has. */
static inline int fft_lines_per_lane(const FftPass *pass) {
  return pass->real == FFT_TWO || pass->real == FFT_TWO_BACK ? 2 : 1;
}
int64_t fft_tiles(const FftPass *pass);
int64_t fft_tile_bytes(const FftPass *pass, PrimitiveType real); /* of memory, for one at a time */

/* How far tiles have come. A tile is done in pieces, always the same ones; in a turn those that were done
** in turns before are passed over, and so is what comes when no more are left. All zero at first. */
typedef struct FftTurn {
  int64_t tile;     /* the first one that is not done */
  int64_t done, at; /* its pieces: done; passed in this turn */
  int64_t left;     /* pieces that may be done in this turn */
} FftTurn;

enum { FFT_PIECE = 1 << 17 }; /* pairs of numbers that are a piece, about */

static inline bool fft_is_due(FftTurn *turn) {
  if (turn->at++ != turn->done || turn->left == 0) return false;
  turn->left--;
  turn->done++;
  return true;
}

/* Tiles [first, end); false: they go on in another turn. The lines that are read may be those that are
** written. */
bool fft_run_f32(const FftPass *pass, const float *from, float *to, float *memory, int64_t first,
                 int64_t end, FftTurn *turn);
bool fft_run_f64(const FftPass *pass, const double *from, double *to, double *memory, int64_t first,
                 int64_t end, FftTurn *turn);

/* The pairs k and length - k of one line of complex numbers, first <= k < end <= length / 2 + 1, as
** FFT_SPLIT or FFT_JOIN does; the line may be the one that is written. */
typedef struct FftPairs {
  int64_t length, first, end;
  const void *roots;
  bool split;
} FftPairs;
void fft_pairs_f32(const FftPairs *pairs, const float *from, float *to);
void fft_pairs_f64(const FftPairs *pairs, const double *from, double *to);

/* For planning: a line by itself, in planes re and im; `memory` has two more, of `room` elements. */
void fft_alone_f64(const FftTransform *transform, double *re, double *im, double *memory);

#endif
