/*
** Runs Fourier transforms of lines of REALs, with VECTOR_REALS to a vector. Included once for f32 and
** once for f64; NAMED names the functions of each. fft.h describes the method.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/fft/fft.h"

enum { LANES = VECTOR_REALS };

typedef REAL Vector __attribute__((vector_size(16)));

/* A vector of complex numbers. */
typedef struct Pair {
  Vector re, im;
} Pair;

/* A tile: two planes, each [element][lane]. */
typedef struct Planes {
  REAL *re, *im;
} Planes;

static inline Vector splat(REAL x) {
#if VECTOR_REALS == 4
  return (Vector){x, x, x, x};
#else
  return (Vector){x, x};
#endif
}

static inline Vector load(const REAL *from) {
  Vector v;
  memcpy(&v, from, sizeof v);
  return v;
}

static inline void store(REAL *to, Vector v) { memcpy(to, &v, sizeof v); }

static inline Pair load_pair(Planes x, int64_t at) {
  return (Pair){load(x.re + at), load(x.im + at)};
}

static inline void store_pair(Planes x, int64_t at, Pair v) {
  store(x.re + at, v.re);
  store(x.im + at, v.im);
}

static inline Pair plus(Pair a, Pair b) { return (Pair){a.re + b.re, a.im + b.im}; }
static inline Pair minus(Pair a, Pair b) { return (Pair){a.re - b.re, a.im - b.im}; }
static inline Pair conjugate(Pair a) { return (Pair){a.re, -a.im}; }
static inline Pair times(Pair a, Pair b) {
  return (Pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline Pair scaled(Pair a, Vector by) { return (Pair){a.re * by, a.im * by}; }
static inline Pair turned(Pair a) { return (Pair){a.im, -a.re}; } /* -i a */

/* Conversions from and to interleaved (re, im) pairs in memory. */
static inline Pair unzip(Vector a, Vector b) {
#if VECTOR_REALS == 4
  return (Pair){__builtin_shufflevector(a, b, 0, 2, 4, 6),
                __builtin_shufflevector(a, b, 1, 3, 5, 7)};
#else
  return (Pair){__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3)};
#endif
}

static inline void store_zipped(REAL *to, Pair x) {
#if VECTOR_REALS == 4
  store(to, __builtin_shufflevector(x.re, x.im, 0, 4, 1, 5));
  store(to + 4, __builtin_shufflevector(x.re, x.im, 2, 6, 3, 7));
#else
  store(to, __builtin_shufflevector(x.re, x.im, 0, 2));
  store(to + 2, __builtin_shufflevector(x.re, x.im, 1, 3));
#endif
}

static inline Pair load_zipped(const REAL *from) { return unzip(load(from), load(from + LANES)); }

/* Transposes a square of LANES vectors. */
static inline void transpose(Vector *v) {
#if VECTOR_REALS == 4
  Vector a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
  Vector b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  Vector c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  Vector d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
#else
  Vector a = __builtin_shufflevector(v[0], v[1], 0, 2);
  v[1] = __builtin_shufflevector(v[0], v[1], 1, 3);
  v[0] = a;
#endif
}

/* --- Stages ----------------------------------------------------------------------------------- */

/* Returns the root for output k of a stage, in all lanes. */
static inline Pair root_of(const FftStage *stage, int k, int64_t p) {
  const REAL *roots = (const REAL *)stage->roots + (int64_t)2 * (k - 1) * stage->rest + p;
  return (Pair){splat(roots[0]), splat(roots[stage->rest])};
}

static inline void sum_4(const Pair *x, Pair *y) {
  Pair a = plus(x[0], x[2]), b = minus(x[0], x[2]);
  Pair c = plus(x[1], x[3]), d = turned(minus(x[1], x[3]));
  y[0] = plus(a, c);
  y[1] = plus(b, d);
  y[2] = minus(a, c);
  y[3] = minus(b, d);
}

static inline void sum_2(const Pair *x, Pair *y) {
  y[0] = plus(x[0], x[1]);
  y[1] = minus(x[0], x[1]);
}

/* Odd radices work on sums and differences of elements j and r - j: outputs k and r - k then differ only
** in one sign. */
static inline void sum_3(const Pair *x, Pair *y) {
  Pair a = plus(x[1], x[2]), b = minus(x[1], x[2]);
  Pair even = plus(x[0], scaled(a, splat((REAL)-0.5)));
  Pair odd = turned(scaled(b, splat((REAL)0.86602540378443864676)));
  y[0] = plus(x[0], a);
  y[1] = plus(even, odd);
  y[2] = minus(even, odd);
}

static inline void sum_5(const Pair *x, Pair *y) {
  Vector cos_1 = splat((REAL)0.30901699437494742410), cos_2 = splat((REAL)-0.80901699437494742410);
  Vector sin_1 = splat((REAL)0.95105651629515357212), sin_2 = splat((REAL)0.58778525229247312917);
  Pair a = plus(x[1], x[4]), b = minus(x[1], x[4]);
  Pair c = plus(x[2], x[3]), d = minus(x[2], x[3]);
  Pair even_1 = plus(plus(x[0], scaled(a, cos_1)), scaled(c, cos_2));
  Pair even_2 = plus(plus(x[0], scaled(a, cos_2)), scaled(c, cos_1));
  Pair odd_1 = turned(plus(scaled(b, sin_1), scaled(d, sin_2)));
  Pair odd_2 = turned(minus(scaled(b, sin_2), scaled(d, sin_1)));
  y[0] = plus(plus(x[0], a), c);
  y[1] = plus(even_1, odd_1);
  y[2] = plus(even_2, odd_2);
  y[3] = minus(even_2, odd_2);
  y[4] = minus(even_1, odd_1);
}

/* `turns`: [cos, sin][j < r] of 2 pi j / r */
static inline void sum_odd(const Pair *x, Pair *y, int r, const REAL *turns) {
  Pair sum[FFT_LARGEST_RADIX / 2 + 1], difference[FFT_LARGEST_RADIX / 2 + 1];
  y[0] = x[0];
  for (int j = 1; j <= r / 2; j++) {
    sum[j] = plus(x[j], x[r - j]);
    difference[j] = minus(x[j], x[r - j]);
    y[0] = plus(y[0], sum[j]);
  }
  for (int k = 1; k <= r / 2; k++) {
    Pair even = x[0], odd = {splat(0), splat(0)};
    for (int j = 1, turn = k; j <= r / 2; j++) {
      even = plus(even, scaled(sum[j], splat(turns[turn])));
      odd = plus(odd, scaled(difference[j], splat(turns[r + turn])));
      turn += turn + k < r ? k : k - r;
    }
    odd = turned(odd);
    y[k] = plus(even, odd);
    y[r - k] = minus(even, odd);
  }
}

/* A piece of a stage: p in [p, p_end), q in [q, q_end). */
typedef struct Piece {
  int64_t p, p_end, q, q_end;
} Piece;

/* Runs a piece of a stage of radix r: the sums, then the roots. Fully unrolled, so that values stay in registers. */
#define STAGE(r, sum)                                                                      \
  static void run_##r(const FftStage *stage, int64_t s, Planes x, Planes y, Piece piece) { \
    int64_t m = stage->rest;                                                               \
    for (int64_t p = piece.p; p < piece.p_end; p++) {                                      \
      Pair roots[r], in[r], out[r];                                                        \
      _Pragma("unroll") for (int k = 1; k < (r); k++) roots[k] = root_of(stage, k, p);     \
      for (int64_t q = piece.q; q < piece.q_end; q += LANES) {                             \
        _Pragma("unroll") for (int j = 0; j < (r); j++) {                                  \
          in[j] = load_pair(x, q + s * (p + m * j));                                       \
        }                                                                                  \
        sum(in, out);                                                                      \
        store_pair(y, q + s * (r) * p, out[0]);                                            \
        _Pragma("unroll") for (int k = 1; k < (r); k++) {                                  \
          store_pair(y, q + s * ((r) * p + k), m > 1 ? times(out[k], roots[k]) : out[k]);  \
        }                                                                                  \
      }                                                                                    \
    }                                                                                      \
  }
STAGE(2, sum_2)
STAGE(3, sum_3)
STAGE(4, sum_4)
STAGE(5, sum_5)
#undef STAGE

static void run_odd(const FftStage *stage, int64_t s, Planes x, Planes y, Piece piece) {
  int r = stage->radix;
  int64_t m = stage->rest;
  for (int64_t p = piece.p; p < piece.p_end; p++) {
    for (int64_t q = piece.q; q < piece.q_end; q += LANES) {
      Pair in[FFT_LARGEST_RADIX], out[FFT_LARGEST_RADIX];
      for (int j = 0; j < r; j++) in[j] = load_pair(x, q + s * (p + m * j));
      sum_odd(in, out, r, stage->turns);
      store_pair(y, q + s * r * p, out[0]);
      for (int k = 1; k < r; k++) {
        store_pair(y, q + s * (r * p + k), times(out[k], root_of(stage, k, p)));
      }
    }
  }
}

/* Runs the first stage, of radix 4, of a line by itself. A vector holds LANES values of p; its outputs are
** 4 LANES contiguous elements. The last vector overlaps the one before. */
static void run_first(const FftStage *stage, Planes x, Planes y, Piece piece) {
  int64_t m = stage->rest;
  const REAL *roots = stage->roots;
  for (int64_t at = piece.p; at < piece.p_end; at += LANES) {
    int64_t p = at + LANES <= m ? at : m - LANES;
    Pair in[4], out[4];
    Vector re[4], im[4];
    for (int j = 0; j < 4; j++) in[j] = load_pair(x, p + m * j);
    sum_4(in, out);
    for (int k = 0; k < 4; k++) {
      const REAL *root = roots + 2 * (k - 1) * m + p;
      if (k > 0) out[k] = times(out[k], (Pair){load(root), load(root + m)});
      re[k] = out[k].re;
      im[k] = out[k].im;
    }
    for (int k = 0; k < 4; k += LANES) {
      transpose(re + k);
      transpose(im + k);
      for (int i = 0; i < LANES; i++) {
        store_pair(y, 4 * (p + i) + k, (Pair){re[k + i], im[k + i]});
      }
    }
  }
}

static void swap(Planes *x, Planes *y) {
  Planes z = *x;
  *x = *y;
  *y = z;
}

static void run_piece(const FftStage *stage, int64_t s, Planes x, Planes y, Piece piece) {
  if (s == 1) {
    run_first(stage, x, y, piece);
    return;
  }
  switch (stage->radix) {
  case 2: run_2(stage, s, x, y, piece); break;
  case 3: run_3(stage, s, x, y, piece); break;
  case 4: run_4(stage, s, x, y, piece); break;
  case 5: run_5(stage, s, x, y, piece); break;
  default: run_odd(stage, s, x, y, piece);
  }
}

/* Runs all stages. They swap x and y; the result is in *x at the end. */
static void run_stages(const FftTransform *t, Planes *x, Planes *y, int64_t lanes, FftTurn *turn) {
  int64_t s = lanes;
  for (int i = 0; i < t->stages; i++) {
    const FftStage *stage = &t->stage[i];
    int64_t wide = min_i64(s, FFT_PIECE), high = divide_up(FFT_PIECE, wide);
    for (int64_t p = 0; p < stage->rest; p += high) {
      for (int64_t q = 0; q < s; q += wide) {
        Piece piece = {p, min_i64(p + high, stage->rest), q, min_i64(q + wide, s)};
        if (fft_is_due(turn)) run_piece(stage, s, *x, *y, piece);
      }
    }
    s *= stage->radix;
    swap(x, y);
  }
}

/* --- Convolution with a chirp ----------------------------------------------------------------- */

/* Multiplies each element, in all its lanes, by its own factor: [re, im][k]. If a line is by itself, a
** vector holds consecutive elements; the tail goes one by one. */
static void multiply_some(Planes x, const REAL *factors, int64_t count, int64_t lanes, int64_t k,
                          int64_t end) {
  for (; lanes == 1 && k + LANES <= end; k += LANES) {
    Pair factor = {load(factors + k), load(factors + count + k)};
    store_pair(x, k, times(load_pair(x, k), factor));
  }
  for (; k < end; k++) {
    REAL re = factors[k], im = factors[count + k];
    Pair factor = {splat(re), splat(im)};
    for (int64_t l = k * lanes; lanes > 1 && l < (k + 1) * lanes; l += LANES) {
      store_pair(x, l, times(load_pair(x, l), factor));
    }
    if (lanes > 1) continue;
    REAL a = x.re[k], b = x.im[k];
    x.re[k] = a * re - b * im;
    x.im[k] = a * im + b * re;
  }
}

static void multiply_elements(Planes x, const REAL *factors, int64_t count, int64_t lanes,
                              FftTurn *turn) {
  int64_t some = 4 * FFT_PIECE / lanes;
  for (int64_t k = 0; k < count; k += some) {
    if (fft_is_due(turn)) multiply_some(x, factors, count, lanes, k, min_i64(k + some, count));
  }
}

static void convolve(const FftTransform *t, Planes *x, Planes *y, int64_t lanes, FftTurn *turn) {
  const FftTransform *c = t->convolution;
  size_t padding = (size_t)((c->length - t->length) * lanes) * sizeof(REAL);
  multiply_elements(*x, t->chirp, t->length, lanes, turn);
  if (fft_is_due(turn)) {
    memset(x->re + t->length * lanes, 0, padding);
    memset(x->im + t->length * lanes, 0, padding);
  }
  run_stages(c, x, y, lanes, turn);
  multiply_elements(*x, t->spectrum, c->length, lanes, turn);
  Planes a = {x->im, x->re}, b = {y->im, y->re}; /* the inverse: real and imaginary parts swap */
  run_stages(c, &a, &b, lanes, turn);
  *x = (Planes){a.im, a.re};
  *y = (Planes){b.im, b.re};
  multiply_elements(*x, t->chirp, t->length, lanes, turn);
}

static void run_transform(const FftTransform *t, Planes *x, Planes *y, int64_t lanes,
                          FftTurn *turn) {
  if (t->convolution) {
    convolve(t, x, y, lanes, turn);
  } else {
    run_stages(t, x, y, lanes, turn);
  }
}

/* --- Real numbers ----------------------------------------------------------------------------- */

/*
** Take n real numbers as h = n/2 complex numbers z. With Z the transform of z, that of the reals is X:
**
**     X[k] = E + T,   X[h - k] = conj(E - T),   T = -i w_n^k O,
**     E = (Z[k] + conj Z[h - k]) / 2,   O = (Z[k] - conj Z[h - k]) / 2,   Z[h] = Z[0]
**
** The reverse, up to a factor of 2: Z[k] = E' + T', Z[h - k] = conj(E' - T'), with
** E' = X[k] + conj X[h - k], O' = X[k] - conj X[h - k] and T' = i conj(w_n^k) O'.
*/
static inline void split_pair(Pair *z, Pair *back, Pair root) {
  Pair other = conjugate(*back);
  Pair even = scaled(plus(*z, other), splat((REAL)0.5));
  Pair odd = scaled(minus(*z, other), splat((REAL)0.5));
  Pair turn = turned(times(root, odd));
  *z = plus(even, turn);
  *back = conjugate(minus(even, turn));
}

static inline void join_pair(Pair *x, Pair *back, Pair root) {
  Pair other = conjugate(*back);
  Pair even = plus(*x, other), odd = minus(*x, other);
  Pair turn = turned(times(conjugate(root), odd));
  *x = minus(even, turn);
  *back = conjugate(plus(even, turn));
}

/* Splits or joins the lines of a tile of h + 1 elements. */
static void split_or_join(Planes x, int64_t h, const REAL *roots, int64_t lanes, bool splits) {
  int64_t count = h / 2 + 1, end = h * lanes;
  for (int64_t l = 0; l < lanes; l += LANES) {
    Pair first = load_pair(x, l), zero = {splat(0), splat(0)};
    if (splits) {
      store_pair(x, l, (Pair){first.re + first.im, zero.im});
      store_pair(x, end + l, (Pair){first.re - first.im, zero.im});
    } else {
      Vector last = load(x.re + end + l);
      store_pair(x, l, (Pair){first.re + last, first.re - last});
    }
  }
  for (int64_t k = 1; k < count; k++) {
    Pair root = {splat(roots[k]), splat(roots[count + k])};
    for (int64_t l = 0; l < lanes; l += LANES) {
      int64_t here = k * lanes + l, back = (h - k) * lanes + l;
      Pair a = load_pair(x, here), b = load_pair(x, back);
      if (splits) {
        split_pair(&a, &b, root);
      } else {
        join_pair(&a, &b, root);
      }
      store_pair(x, here, a);
      store_pair(x, back, b);
    }
  }
}

/* Splits or joins a line in memory, one pair after the other. */
void NAMED(fft_pairs)(const FftPairs *pairs, const REAL *from, REAL *to) {
  int64_t h = pairs->length, count = h / 2 + 1;
  const REAL *roots = pairs->roots;
  REAL half = pairs->split ? (REAL)0.5 : 1, sign = pairs->split ? 1 : -1;
  int64_t k = pairs->first;
  if (k == 0) {
    REAL a = from[0], b = pairs->split ? from[1] : from[2 * h];
    to[0] = a + b;
    to[pairs->split ? 2 * h : 1] = a - b;
    if (pairs->split) to[1] = to[2 * h + 1] = 0;
    k++;
  }
  for (; k < pairs->end; k++) {
    const REAL *x = from + 2 * k, *y = from + 2 * (h - k);
    REAL even_re = half * (x[0] + y[0]), even_im = half * (x[1] - y[1]);
    REAL odd_re = half * (x[0] - y[0]), odd_im = half * (x[1] + y[1]);
    REAL re = roots[k], im = sign * roots[count + k];
    REAL turn_re = sign * (re * odd_im + im * odd_re), turn_im = sign * (im * odd_im - re * odd_re);
    REAL *here = to + 2 * k, *back = to + 2 * (h - k);
    here[0] = even_re + turn_re;
    here[1] = even_im + turn_im;
    back[0] = even_re - turn_re;
    back[1] = turn_im - even_im;
  }
}

/* Fills the second half with the conjugates of the first. Element 0, and the middle one of an even length,
** become real. */
static void mirror(Planes x, int64_t length, int64_t lanes) {
  for (int64_t l = 0; l < lanes; l++) x.im[l] = 0;
  for (int64_t k = 1; 2 * k < length + 1; k++) {
    for (int64_t l = 0; l < lanes; l++) {
      REAL im = 2 * k == length ? 0 : x.im[k * lanes + l];
      x.im[k * lanes + l] = im;
      x.re[(length - k) * lanes + l] = x.re[k * lanes + l];
      x.im[(length - k) * lanes + l] = 2 * k == length ? 0 : -im;
    }
  }
}

/* Separates the spectrum of two real lines: that of x's real parts stays in x, that of its imaginary parts
** goes to y. */
static void split_two(Planes x, Planes y, int64_t length, int64_t lanes) {
  Vector half = splat((REAL)0.5);
  for (int64_t k = 0; 2 * k <= length; k++) {
    for (int64_t l = 0; l < lanes; l += LANES) {
      Pair a = load_pair(x, k * lanes + l);
      Pair b = conjugate(load_pair(x, (k ? length - k : 0) * lanes + l));
      store_pair(x, k * lanes + l, scaled(plus(a, b), half));
      store_pair(y, k * lanes + l, turned(scaled(minus(a, b), half)));
    }
  }
}

/* The reverse: x becomes x + i y, extended by conjugate symmetry. The first elements count as real. */
static void join_two(Planes x, Planes y, int64_t length, int64_t lanes) {
  for (int64_t l = 0; l < lanes; l += LANES) store(x.im + l, load(y.re + l));
  for (int64_t k = 1; 2 * k <= length; k++) {
    for (int64_t l = 0; l < lanes; l += LANES) {
      Pair a = load_pair(x, k * lanes + l), b = turned(load_pair(y, k * lanes + l));
      store_pair(x, k * lanes + l, minus(a, b));
      store_pair(x, (length - k) * lanes + l, conjugate(plus(a, b)));
    }
  }
}

/* --- Between memory and tiles ----------------------------------------------------------------- */

/* The position of a tile's lines in memory. */
typedef struct Lines {
  int64_t at[FFT_MAX_LANES], step;
  int count, lanes, parts;
  bool adjacent; /* neighbouring lanes are contiguous */
} Lines;

static Lines lines_at(const FftLines *lines, int64_t first, int count, int lanes) {
  Lines at = {.step = lines->step, .count = count, .lanes = lanes, .parts = lines->parts};
  at.adjacent = count == lanes && lanes > 1 && lines->parts == 2;
  for (int l = 0; l < count; l++) {
    int64_t i = first + l;
    at.at[l] = i / lines->inner * lines->outer + i % lines->inner * lines->lane;
    at.adjacent = at.adjacent && (l == 0 || at.at[l] == at.at[l - 1] + 2);
  }
  return at;
}

/* Returns whether the lines in lanes [l, l + LANES) are contiguous. */
static bool are_rows(const Lines *at, int l) {
  return at->step == at->parts && l + LANES <= at->count;
}

static void load_one(const REAL *data, const Lines *at, int l, int64_t k, int64_t end, Planes x) {
  for (; k < end; k++) {
    bool is_there = l < at->count;
    const REAL *from = data + at->at[is_there ? l : 0] + k * at->step;
    x.re[k * at->lanes + l] = is_there ? from[0] : 0;
    x.im[k * at->lanes + l] = is_there && at->parts == 2 ? from[1] : 0;
  }
}

static void load_rows(const REAL *data, const Lines *at, int l, int64_t end, Planes x) {
  int64_t k = 0;
  for (; k + LANES <= end; k += LANES) {
    Vector re[LANES], im[LANES];
    for (int i = 0; i < LANES; i++) {
      const REAL *from = data + at->at[l + i] + at->parts * k;
      Pair row = at->parts == 2 ? load_zipped(from) : (Pair){load(from), splat(0)};
      re[i] = row.re;
      im[i] = row.im;
    }
    transpose(re);
    transpose(im);
    for (int i = 0; i < LANES; i++) {
      store_pair(x, (k + i) * at->lanes + l, (Pair){re[i], im[i]});
    }
  }
  for (int i = 0; i < LANES; i++) load_one(data, at, l + i, k, end, x);
}

static void load_tile(const REAL *data, const Lines *at, int64_t count, Planes x) {
  int64_t k = 0;
  if (at->lanes == 1) {
    const REAL *from = data + at->at[0];
    for (; at->step == 2 && at->parts == 2 && k + LANES <= count; k += LANES) {
      store_pair(x, k, load_zipped(from + 2 * k));
    }
    load_one(data, at, 0, k, count, x);
    return;
  }
  for (; at->adjacent && k < count; k++) {
    const REAL *from = data + at->at[0] + k * at->step;
    for (int l = 0; l < at->lanes; l += LANES) {
      store_pair(x, k * at->lanes + l, load_zipped(from + (ptrdiff_t)2 * l));
    }
  }
  for (int l = 0; !at->adjacent && l < at->lanes; l += LANES) {
    if (are_rows(at, l)) {
      load_rows(data, at, l, count, x);
    } else {
      for (int i = 0; i < LANES; i++) load_one(data, at, l + i, 0, count, x);
    }
  }
}

static void store_one(REAL *data, const Lines *at, int l, int64_t k, int64_t end, Planes x,
                      REAL scale) {
  for (; l < at->count && k < end; k++) {
    REAL *to = data + at->at[l] + k * at->step;
    to[0] = x.re[k * at->lanes + l] * scale;
    if (at->parts == 2) to[1] = x.im[k * at->lanes + l] * scale;
  }
}

static void store_rows(REAL *data, const Lines *at, int l, int64_t end, Planes x, REAL scale) {
  int64_t k = 0;
  for (; k + LANES <= end; k += LANES) {
    Vector re[LANES], im[LANES];
    for (int i = 0; i < LANES; i++) {
      Pair element = scaled(load_pair(x, (k + i) * at->lanes + l), splat(scale));
      re[i] = element.re;
      im[i] = element.im;
    }
    transpose(re);
    transpose(im);
    for (int i = 0; i < LANES; i++) {
      REAL *to = data + at->at[l + i] + at->parts * k;
      if (at->parts == 2) {
        store_zipped(to, (Pair){re[i], im[i]});
      } else {
        store(to, re[i]);
      }
    }
  }
  for (int i = 0; i < LANES; i++) store_one(data, at, l + i, k, end, x, scale);
}

static void store_tile(REAL *data, const Lines *at, int64_t count, Planes x, REAL scale) {
  int64_t k = 0;
  if (at->lanes == 1) {
    REAL *to = data + at->at[0];
    for (; at->step == 2 && at->parts == 2 && k + LANES <= count; k += LANES) {
      store_zipped(to + 2 * k, scaled(load_pair(x, k), splat(scale)));
    }
    store_one(data, at, 0, k, count, x, scale);
    return;
  }
  for (; at->adjacent && k < count; k++) {
    REAL *to = data + at->at[0] + k * at->step;
    for (int l = 0; l < at->lanes; l += LANES) {
      store_zipped(to + (ptrdiff_t)2 * l, scaled(load_pair(x, k * at->lanes + l), splat(scale)));
    }
  }
  for (int l = 0; !at->adjacent && l < at->lanes; l += LANES) {
    if (are_rows(at, l)) {
      store_rows(data, at, l, count, x, scale);
    } else {
      for (int i = 0; i < LANES; i++) store_one(data, at, l + i, 0, count, x, scale);
    }
  }
}

/* --- Passes ----------------------------------------------------------------------------------- */

static void multiply_lanes(const FftPass *pass, int64_t block, Planes x) {
  int64_t length = pass->transform->length, lanes = pass->lanes;
  const REAL *lane = pass->lane_roots, *tile = pass->tile_roots;
  for (int64_t k = 0; k < length; k++) {
    const REAL *scalar = tile + 2 * (block * length + k), *vector = lane + 2 * k * lanes;
    Pair factor = {splat(scalar[0]), splat(scalar[1])};
    for (int64_t l = 0; l < lanes; l += LANES) {
      Pair root = times((Pair){load(vector + l), load(vector + lanes + l)}, factor);
      store_pair(x, k * lanes + l, times(load_pair(x, k * lanes + l), root));
    }
  }
}

/* Returns the first line of a tile. *left: the number of lines from there to the end of its group. */
static int64_t tile_line(const FftPass *pass, int64_t tile, int64_t *left) {
  int64_t lines = (int64_t)pass->lanes * fft_lines_per_lane(pass);
  int64_t tiles = divide_up(pass->group, lines), line = tile % tiles * lines;
  *left = pass->group - line;
  return tile / tiles * pass->group + line;
}

static Lines lanes_at(const FftPass *pass, const FftLines *lines, int64_t first, int64_t left) {
  int64_t count = left < 0 ? 0 : left < pass->lanes ? left : pass->lanes;
  return lines_at(lines, first, (int)count, pass->lanes);
}

/* Loads the second of two lines in a lane: as the imaginary part of x, or as a spectrum into y. */
static void load_second(const FftPass *pass, const REAL *from, const Lines *second, Planes x,
                        Planes y) {
  if (pass->real == FFT_TWO) {
    load_tile(from, second, pass->loaded, (Planes){x.im, y.im});
  } else {
    load_tile(from, second, pass->loaded, y);
    join_two(x, y, pass->transform->length, pass->lanes);
  }
}

static void store_second(const FftPass *pass, REAL *to, const Lines *second, Planes x, Planes y) {
  store_tile(to, second, pass->kept, pass->real == FFT_TWO ? y : (Planes){x.im, x.re},
             (REAL)pass->scale);
}

/* A tile during its transform. */
typedef struct Tile {
  const FftPass *pass;
  int64_t first, left; /* its first line; lines from there to the end of the group */
  FftPairs pairs;
  bool alone, two;
} Tile;

static void begin_tile(const Tile *tile, const REAL *from, Planes x, Planes y) {
  const FftPass *pass = tile->pass;
  int64_t length = pass->transform->length;
  Lines in = lanes_at(pass, &pass->from, tile->first, tile->left);
  if (tile->alone && pass->real == FFT_JOIN) {
    NAMED(fft_pairs)(&tile->pairs, from + in.at[0], y.re);
    in.at[0] = 0;
    load_tile(y.re, &in, length, x);
  } else {
    load_tile(from, &in, pass->loaded, x);
  }
  if (tile->two) {
    Lines second = lanes_at(pass, &pass->from, tile->first + pass->lanes, tile->left - pass->lanes);
    load_second(pass, from, &second, x, y);
  }
  if (!tile->alone && pass->real == FFT_JOIN) {
    split_or_join(x, length, pass->real_roots, pass->lanes, false);
  }
  if (pass->real == FFT_MIRROR) mirror(x, length, pass->lanes);
}

static void end_tile(const Tile *tile, REAL *to, Planes x, Planes y) {
  const FftPass *pass = tile->pass;
  int64_t length = pass->transform->length;
  bool splits_alone = tile->alone && pass->real == FFT_SPLIT;
  Lines out = lanes_at(pass, &pass->to, tile->first, tile->left);
  if (!tile->alone && pass->real == FFT_SPLIT) {
    split_or_join(x, length, pass->real_roots, pass->lanes, true);
  }
  if (pass->real == FFT_TWO) split_two(x, y, length, pass->lanes);
  store_tile(to, &out, splits_alone ? length : pass->kept, x, (REAL)pass->scale);
  if (tile->two) {
    Lines second = lanes_at(pass, &pass->to, tile->first + pass->lanes, tile->left - pass->lanes);
    store_second(pass, to, &second, x, y);
  }
  if (splits_alone) NAMED(fft_pairs)(&tile->pairs, to + out.at[0], to + out.at[0]);
}

static void run_tile(const FftPass *pass, const REAL *from, REAL *to, REAL *memory, int64_t number,
                     FftTurn *turn) {
  const FftTransform *t = pass->transform;
  Tile tile = {
      .pass = pass,
      .pairs = {t->length, 0, t->length / 2 + 1, pass->real_roots, pass->real == FFT_SPLIT},
      .alone = pass->lanes == 1,
      .two = fft_lines_per_lane(pass) == 2};
  tile.first = tile_line(pass, number, &tile.left);
  int64_t plane = t->room * pass->lanes;
  Planes x = {memory, memory + plane}, y = {memory + 2 * plane, memory + 3 * plane};
  if (fft_is_due(turn)) begin_tile(&tile, from, x, y);
  if (pass->inverse) {
    x = (Planes){x.im, x.re};
    y = (Planes){y.im, y.re};
  }
  run_transform(t, &x, &y, pass->lanes, turn);
  bool ends = fft_is_due(turn);
  if (ends && pass->tile_roots) {
    multiply_lanes(pass, number % (fft_tiles(pass) * pass->group / pass->lines), x);
  }
  if (pass->inverse) x = (Planes){x.im, x.re};
  if (ends) end_tile(&tile, to, x, y);
}

bool NAMED(fft_run)(const FftPass *pass, const REAL *from, REAL *to, REAL *memory, int64_t first,
                    int64_t end, FftTurn *turn) {
  for (; first + turn->tile < end; turn->tile++, turn->done = 0) {
    turn->at = 0;
    run_tile(pass, from, to, memory, first + turn->tile, turn);
    if (turn->at != turn->done) return false;
  }
  return true;
}
