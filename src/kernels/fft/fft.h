/*
** Discrete Fourier transforms: fft.c plans them, fft_lines.inc runs them, for f32 and for f64.
**
** Comes in: FFT, IFFT, RFFT or IRFFT over one to three axes. Goes out: one pass over lines per axis
** (two for long lines), in chunks that threads share and that can pause.
**
** Lines are transformed a tile at a time. A tile holds several lines side by side, with real and
** imaginary parts in two planes, [element][lane], so that a vector is one element of several lines.
** A length whose prime factors are all small goes through one stage per factor. Each stage reads one
** pair of planes and writes another; Stockham's order needs no bit reversal:
**
**     y[q + s (r p + k)] = w_n^(p k) * sum over j < r of x[q + s (p + m j)] w_r^(j k)
**
** with w_n = exp(-2 pi i / n); n = r m is the remaining length, p < m, k < r, and q < s, where s is the
** number of lanes times the radices of the stages before. Other lengths become convolutions with a
** chirp (Bluestein), since jk = (j^2 + k^2 - (j - k)^2) / 2.
**
** Invariant: tiles are done in the same pieces, whatever the chunks and turns, so the bits of a result
** do not depend on them. Read next: fft.c, then fft_lines.inc.
*/
#ifndef XLA_KERNELS_FFT_FFT_H
#define XLA_KERNELS_FFT_FFT_H

#include "base/arena.h"
#include "base/min_max.h"
#include "kernels/preparation.h"
#include "value/types.h"

enum {
  /* Threshold FFT_LARGEST_RADIX: the largest prime with a stage; beyond it, convolution is faster. Test: "Fourier
  ** transforms of all small sizes, and around factors" in core/thresholds_programs.test.mjs. */
  FFT_LARGEST_RADIX = 61,
  FFT_MAX_STAGES = 40,
  FFT_MAX_LANES = 16,
};

/* A stage. Its tables hold reals of the transform's type. */
typedef struct FftStage {
  int radix;
  int64_t rest;      /* m: the remaining length after the stage */
  const void *roots; /* [k - 1][re, im][p]: w_n^(p k) */
  const void *turns; /* for odd radices r, [cos, sin][j < r] of 2 pi j / r */
} FftStage;

typedef struct FftTransform FftTransform;
struct FftTransform {
  int64_t length, room; /* elements of a plane, for each lane */
  int stages;
  FftStage stage[FFT_MAX_STAGES];
  /* For a convolution with a chirp: */
  const FftTransform *convolution; /* its length is at least 2 * length - 1 */
  const void *chirp;               /* [re, im][k < length]: exp(-pi i k^2 / length) */
  const void *spectrum;            /* [re, im][k]: the conjugate chirp's, over the elements */
};

/* Plans tables: their memory is the arena's, and `first` lists the work that fills them. */
typedef struct FftTables {
  Arena *arena;
  PrimitiveType real; /* F32 or F64 */
  Preparation *first, **end;
} FftTables;

/* Adds a table of `reals` numbers of type `real` to the list. Its memory is allocated when it is filled; then *table
** points to it. `fill` writes the numbers of item i < count. */
typedef struct FftTable FftTable;
struct FftTable {
  Preparation preparation;
  Arena *arena;
  PrimitiveType real;
  const void **table;
  int64_t reals, count, done;
  void (*fill)(const FftTable *t, void *table, int64_t i);
  int64_t a, b, c; /* for fill */
};
FftTable *fft_add_table(FftTables *tables, const void **table, int64_t reals, int64_t count,
                        void (*fill)(const FftTable *t, void *table, int64_t i));
void fft_set(PrimitiveType real, void *reals, int64_t i, double value);

/* Returns the transform of a length. */
const FftTransform *fft_transform(int64_t length, FftTables *tables);
bool fft_has_stages(int64_t length);
/* Returns whether a line can be transformed by itself, without other lines in the lanes. */
bool fft_runs_alone(const FftTransform *transform, PrimitiveType real);

/* Adds a table [re, im][j < count] of exp(-2 pi i j / n). */
void fft_add_roots(FftTables *tables, const void **table, int64_t count, int64_t n);
/* Computes exp(-2 pi i k / n), rounded to double; 0 <= k < n. */
void fft_root(int64_t k, int64_t n, double *re, double *im);

/* Lines in memory, counted in reals: line i begins at i / inner * outer + i % inner * lane. */
typedef struct FftLines {
  int64_t inner, outer, lane;
  int64_t step; /* between a line's elements */
  int parts;    /* 2: complex; 1: real */
} FftLines;

/* The step from or to real numbers that goes with a line's transform. */
typedef enum FftReal {
  FFT_COMPLEX,
  FFT_SPLIT,  /* after it: n/2 complex numbers, made of n reals, become n/2 + 1 */
  FFT_JOIN,   /* before it: the reverse */
  FFT_MIRROR, /* before it: fills in elements as conjugates of the loaded ones */
  /* Two lines of reals are the parts of one complex line. FFT_TWO separates their spectra after the
  ** transform; FFT_TWO_BACK combines them before it. */
  FFT_TWO,
  FFT_TWO_BACK,
} FftReal;

/* A pass over lines. */
typedef struct FftPass {
  const FftTransform *transform;
  FftLines from, to;
  int64_t loaded, kept; /* elements of a line that are read; that are written */
  int64_t lines, group; /* group: lines in a group; a tile never spans two groups */
  int lanes;            /* of a tile; 1: a line by itself */
  bool inverse;
  double scale;
  FftReal real;
  const void *real_roots; /* [re, im][k]: exp(-pi i k / length) */
  /* For the first of two passes over a line of n1 * n2: element k of lane l of a group's tile b is
  ** multiplied by lane_roots[k][re, im][l] * tile_roots[b][k][re, im]. */
  const void *lane_roots, *tile_roots;
} FftPass;

/* Returns the number of lines in a lane. */
static inline int fft_lines_per_lane(const FftPass *pass) {
  return pass->real == FFT_TWO || pass->real == FFT_TWO_BACK ? 2 : 1;
}
static inline int64_t fft_tiles(const FftPass *pass) {
  int64_t lines = (int64_t)pass->lanes * fft_lines_per_lane(pass);
  return pass->lines / pass->group * divide_up(pass->group, lines);
}
int64_t fft_tile_bytes(const FftPass *pass, PrimitiveType real); /* memory to run one tile */

/* The progress of a chunk's tiles through turns. A tile always consists of the same pieces. A turn skips
** the pieces that earlier turns did, and stops when its budget is used up. All zero at first. */
typedef struct FftTurn {
  int64_t tile;     /* the first tile that is not done */
  int64_t done, at; /* pieces of it: done; reached in this turn */
  int64_t left;     /* pieces left in this turn's budget */
} FftTurn;

/* Threshold FFT_PIECE: pairs of numbers in a piece, about. Test: "Fourier transforms of long
** lines" in core/thresholds_numbers.test.mjs. */
enum { FFT_PIECE = 1 << 17 };

static inline bool fft_is_due(FftTurn *turn) {
  if (turn->at++ != turn->done || turn->left == 0) return false;
  turn->left--;
  turn->done++;
  return true;
}

/* Runs tiles [first, end). Returns false if they continue in another turn. from and to may be the same. */
bool fft_run_f32(const FftPass *pass, const float *from, float *to, float *memory, int64_t first,
                 int64_t end, FftTurn *turn);
bool fft_run_f64(const FftPass *pass, const double *from, double *to, double *memory, int64_t first,
                 int64_t end, FftTurn *turn);

/* A split or join, as in FFT_SPLIT or FFT_JOIN, of the pairs k and length - k of a complex line, for
** first <= k < end <= length / 2 + 1. It may be in place. */
typedef struct FftPairs {
  int64_t length, first, end;
  const void *roots;
  bool split;
} FftPairs;
void fft_pairs_f32(const FftPairs *pairs, const float *from, float *to);
void fft_pairs_f64(const FftPairs *pairs, const double *from, double *to);

/* Transforms one line in planes *re and *im, for planning. memory: two more planes of `room` elements. Returns false if it
** continues in another turn; else *re and *im are the planes with the result, the given ones or those of `memory`. */
bool fft_alone_f64(const FftTransform *transform, double **re, double **im, double *memory,
                   FftTurn *turn);

#endif
