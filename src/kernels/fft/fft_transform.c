/*
** Plans the transform of a length: stages and their roots, or the chirp and its spectrum. The tables are filled later,
** step by step: those of a line of millions take seconds.
*/
#include <math.h>

#include "base/min_max.h"
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

/* --- Tables ----------------------------------------------------------------------------------- */

void fft_set(PrimitiveType real, void *reals, int64_t i, double value) {
  if (real == F64) {
    ((double *)reals)[i] = value;
  } else {
    ((float *)reals)[i] = (float)value;
  }
}

static void *new_reals(Arena *arena, PrimitiveType real, int64_t count) {
  return arena_alloc_uncleared(arena, (uint64_t)count * (real == F64 ? 8 : 4));
}

static void add(FftTables *tables, Preparation *preparation, bool (*step)(Preparation *)) {
  preparation->step = step;
  *tables->end = preparation;
  tables->end = &preparation->next;
}

/* Threshold STEP_ITEMS: items of a table in a step; a sine and a cosine take some 100 ns. Test: "Fourier transforms of
** long lines" in core/thresholds_numbers.test.mjs. */
enum { STEP_ITEMS = 1 << 15 };

static bool fill_table(Preparation *preparation) {
  FftTable *t = (FftTable *)preparation;
  if (!*t->table) *t->table = new_reals(t->arena, t->real, t->reals);
  int64_t end = min_i64(t->done + STEP_ITEMS, t->count);
  for (; t->done < end; t->done++) t->fill(t, (void *)*t->table, t->done);
  return t->done == t->count;
}

FftTable *fft_add_table(FftTables *tables, const void **table, int64_t reals, int64_t count,
                        void (*fill)(const FftTable *t, void *table, int64_t i)) {
  FftTable *t = ARENA_NEW(tables->arena, FftTable);
  *t = (FftTable){.arena = tables->arena,
                  .real = tables->real,
                  .table = table,
                  .reals = reals,
                  .count = count,
                  .fill = fill};
  add(tables, &t->preparation, fill_table);
  return t;
}

/* a: n */
static void fill_root(const FftTable *t, void *table, int64_t i) {
  double re, im;
  fft_root(i, t->a, &re, &im);
  fft_set(t->real, table, i, re);
  fft_set(t->real, table, t->count + i, im);
}

void fft_add_roots(FftTables *tables, const void **table, int64_t count, int64_t n) {
  fft_add_table(tables, table, 2 * count, count, fill_root)->a = n;
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

/* [k - 1][re, im][p]: w_n^(p k). a: n, b: radix, c: m; item i is p * (radix - 1) + k - 1. */
static void fill_stage_root(const FftTable *t, void *table, int64_t i) {
  int64_t p = i / (t->b - 1), k = i % (t->b - 1) + 1;
  double re, im;
  fft_root(p * k, t->a, &re, &im);
  fft_set(t->real, table, 2 * (k - 1) * t->c + p, re);
  fft_set(t->real, table, (2 * k - 1) * t->c + p, im);
}

/* [k - 1][j - 1][cos, sin]: the conjugates of roots. a: radix; item i is (k - 1) * (radix / 2) + j - 1. */
static void fill_turn(const FftTable *t, void *table, int64_t i) {
  int64_t half = t->a / 2, k = i / half + 1, j = i % half + 1;
  double re, im;
  fft_root(j * k % t->a, t->a, &re, &im);
  fft_set(t->real, table, 2 * i, re);
  fft_set(t->real, table, 2 * i + 1, -im);
}

static void plan_stages(FftTransform *t, FftTables *tables) {
  int64_t n = t->length;
  for (int i = 0; i < t->stages; i++) {
    FftStage *stage = &t->stage[i];
    int64_t radix = stage->radix, m = n / radix;
    stage->rest = m;
    FftTable *roots =
        fft_add_table(tables, &stage->roots, 2 * (radix - 1) * m, (radix - 1) * m, fill_stage_root);
    roots->a = n;
    roots->b = radix;
    roots->c = m;
    int64_t turns = radix / 2 * (radix / 2);
    if (radix > 5) fft_add_table(tables, &stage->turns, 2 * turns, turns, fill_turn)->a = radix;
    n = m;
  }
}

/* --- Convolution ------------------------------------------------------------------------------ */

/* The next length of factors 2, 3 and 5 alone that a line by itself can have. */
static int64_t convolution_length(int64_t min) {
  for (int64_t length = (min + 15) & -16;; length += 16) {
    int64_t rest = length;
    for (int radix = 2; radix <= 5; radix++) {
      while (rest % radix == 0) rest /= radix;
    }
    if (rest == 1) return length;
  }
}

/* The spectrum of the chirp, which is computed in double, whatever the type. */
typedef struct Chirp {
  Preparation preparation;
  FftTables tables; /* whose list is at its end: only the arena and the type count */
  FftTransform *t;
  const FftTransform *exact;
  enum { ALLOCATE, CHIRP, TRANSFORM, SPECTRUM } state;
  int64_t at, square; /* at^2 modulo 2n */
  double *re, *im, *memory;
  void *chirp, *spectrum;
  FftTurn turn;
} Chirp;

static void allocate(Chirp *c) {
  Arena *arena = c->tables.arena;
  int64_t size = c->exact->length;
  c->re = new_reals(arena, F64, size);
  c->im = new_reals(arena, F64, size);
  c->memory = new_reals(arena, F64, 2 * c->exact->room);
  c->t->chirp = c->chirp = new_reals(arena, c->tables.real, 2 * c->t->length);
  c->t->spectrum = c->spectrum = new_reals(arena, c->tables.real, 2 * size);
}

static void fill_chirp(Chirp *c, int64_t end) {
  int64_t n = c->t->length, size = c->exact->length;
  for (int64_t k = c->at; k < end; k++) {
    double x, y;
    if (k >= n) { /* between the chirp and its mirror image */
      c->re[k] = c->im[k] = 0;
      continue;
    }
    fft_root(c->square, 2 * n, &x, &y);
    fft_set(c->tables.real, c->chirp, k, x);
    fft_set(c->tables.real, c->chirp, n + k, y);
    c->re[k] = c->re[k ? size - k : 0] = x;
    c->im[k] = c->im[k ? size - k : 0] = -y;
    c->square += 2 * k + 1;
    if (c->square >= 2 * n) c->square -= 2 * n;
  }
}

static void fill_spectrum(Chirp *c, int64_t end) {
  int64_t size = c->exact->length;
  for (int64_t k = c->at; k < end; k++) {
    fft_set(c->tables.real, c->spectrum, k, c->re[k] / (double)size);
    fft_set(c->tables.real, c->spectrum, size + k, c->im[k] / (double)size);
  }
}

/* Does some items of a state, of `count`; the next state follows after the last one. */
static void go_on(Chirp *c, int64_t count, void (*fill)(Chirp *c, int64_t end)) {
  int64_t end = min_i64(c->at + STEP_ITEMS, count);
  fill(c, end);
  c->at = end == count ? 0 : end;
  if (end == count) c->state++;
}

enum { TURN_PIECES = 1 }; /* of FFT_PIECE pairs: up to 20 ms where each pair is in another page */

static bool fill_convolution(Preparation *preparation) {
  Chirp *c = (Chirp *)preparation;
  switch (c->state) {
  case ALLOCATE:
    allocate(c);
    c->state = CHIRP;
    return false;
  case CHIRP: go_on(c, c->exact->length - c->t->length + 1, fill_chirp); return false;
  case TRANSFORM:
    c->turn.left = TURN_PIECES;
    if (fft_alone_f64(c->exact, &c->re, &c->im, c->memory, &c->turn)) c->state = SPECTRUM;
    return false;
  default: go_on(c, c->exact->length, fill_spectrum); return c->state > SPECTRUM;
  }
}

static void plan_convolution(FftTransform *t, FftTables *tables) {
  int64_t size = convolution_length(2 * t->length - 1);
  PrimitiveType real = tables->real;
  tables->real = F64;
  const FftTransform *exact = fft_transform(size, tables);
  tables->real = real;
  Chirp *c = ARENA_NEW(tables->arena, Chirp);
  c->tables = *tables;
  c->t = t;
  c->exact = exact;
  add(tables, &c->preparation, fill_convolution);
  t->convolution = real == F64 ? exact : fft_transform(size, tables);
  t->room = size;
}

const FftTransform *fft_transform(int64_t length, FftTables *tables) {
  FftTransform *t = ARENA_NEW(tables->arena, FftTransform);
  t->length = length;
  t->room = length + 1; /* FFT_SPLIT makes one more */
  if (set_radices(t) == 1) {
    plan_stages(t, tables);
  } else {
    t->stages = 0;
    plan_convolution(t, tables);
  }
  return t;
}

bool fft_runs_alone(const FftTransform *transform, PrimitiveType real) {
  const FftTransform *t = transform->convolution ? transform->convolution : transform;
  int64_t vector = real == F64 ? 2 : 4;
  return t->stages > 0 && t->stage[0].radix == 4 && t->stage[0].rest >= vector;
}

int64_t fft_tile_bytes(const FftPass *pass, PrimitiveType real) {
  return 4 * pass->transform->room * pass->lanes * (real == F64 ? 8 : 4);
}
