/*
** Multiplies sparse matrices by dense ones: jaxlib's cpu_csr_sparse_dense_ffi. The nonzero numbers of a sparse
** matrix lie row after row (CSR). Each row of the result is a sum over the row's numbers, in their order.
*/
#include <string.h>

#include "base/min_max.h"
#include "hlo/ir/lapack_calls.h"
#include "kernels/kernels.h"

typedef void RowRoutine(const void *values, const int64_t *inner, int64_t count, const void *right,
                        int64_t columns, void *out);

typedef struct SparsePlan {
  KernelPlan kernel;
  CsrSizes sizes;
  PrimitiveType type;
  bool has_s64_indices;
  int64_t per_chunk;
  RowRoutine *row;
} SparsePlan;

/* Threshold RUN: numbers of a row whose positions are read at once. Test: "sparse matrices
** around chunks of rows" in core/thresholds_programs.test.mjs. */
enum { RUN = 64 };

/* out += sum over k of values[k] times row inner[k] of `right`. */
#define REAL_ROW(NAME, T)                                                                      \
  static void NAME(const void *values, const int64_t *inner, int64_t count, const void *right, \
                   int64_t columns, void *out) {                                               \
    T *sum = out;                                                                              \
    for (int64_t k = 0; k < count; k++) {                                                      \
      T value = ((const T *)values)[k];                                                        \
      const T *x = (const T *)right + inner[k] * columns;                                      \
      for (int64_t j = 0; j < columns; j++) sum[j] += value * x[j];                            \
    }                                                                                          \
  }
#define COMPLEX_ROW(NAME, T)                                                                   \
  static void NAME(const void *values, const int64_t *inner, int64_t count, const void *right, \
                   int64_t columns, void *out) {                                               \
    T *sum = out;                                                                              \
    for (int64_t k = 0; k < count; k++) {                                                      \
      T re = ((const T *)values)[2 * k], im = ((const T *)values)[2 * k + 1];                  \
      const T *x = (const T *)right + 2 * inner[k] * columns;                                  \
      for (int64_t j = 0; j < 2 * columns; j += 2) {                                           \
        sum[j] += re * x[j] - im * x[j + 1];                                                   \
        sum[j + 1] += re * x[j + 1] + im * x[j];                                               \
      }                                                                                        \
    }                                                                                          \
  }
REAL_ROW(row_32, uint32_t) /* signed integers wrap */
REAL_ROW(row_64, uint64_t)
REAL_ROW(row_f32, float)
REAL_ROW(row_f64, double)
COMPLEX_ROW(row_c64, float)
COMPLEX_ROW(row_c128, double)

static RowRoutine *row_routine(PrimitiveType type) {
  switch (type) {
  case S32: return row_32;
  case S64: return row_64;
  case F32: return row_f32;
  case F64: return row_f64;
  case C64: return row_c64;
  default: return row_c128;
  }
}

static KernelPlan *plan(const Instruction *x, Arena *arena) {
  /* Threshold MIN_WORK, MAX_CHUNKS. Test: "sparse matrices around chunks of rows" in
  ** core/thresholds_programs.test.mjs. */
  enum { MIN_WORK = 20000, MAX_CHUNKS = 64 };
  CsrSizes sizes;
  Error error;
  if (x->opcode != HLO_CUSTOM_CALL || !is_csr_call(x) || !csr_call_check(x, &sizes, &error)) {
    return NULL;
  }
  if (sizes.rows == 0 || sizes.columns == 0) return NULL;
  SparsePlan *p = ARENA_NEW(arena, SparsePlan);
  p->sizes = sizes;
  p->type = x->shape->type;
  p->has_s64_indices = x->operands[1]->shape->type == S64;
  p->row = row_routine(p->type);
  double work = ((double)sizes.entries + (double)sizes.rows) * (double)sizes.columns;
  int64_t chunks = work / MIN_WORK < MAX_CHUNKS ? (int64_t)(work / MIN_WORK) + 1 : MAX_CHUNKS;
  p->per_chunk = divide_up(sizes.rows, chunks);
  kernel_phases(&p->kernel, arena, 1)[0] = (int)divide_up(sizes.rows, p->per_chunk);
  p->kernel.is_long = work > 1e6;
  return &p->kernel;
}

static int64_t index_at(const SparsePlan *p, const uint8_t *indices, int64_t i) {
  return p->has_s64_indices ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* Adds runs of numbers with valid columns; numbers with other columns count as zeros. */
static void add_row(const SparsePlan *p, const KernelCall *call, int64_t k, int64_t end,
                    uint8_t *out) {
  int64_t inner[RUN], bytes = type_bytes(p->type);
  while (k < end) {
    int64_t count = 0, first = k;
    for (; k < end && count < RUN; k++) {
      int64_t column = index_at(p, call->operands[2], k);
      if (column < 0 || column >= p->sizes.inner) break;
      inner[count++] = column;
    }
    p->row(call->operands[0] + first * bytes, inner, count, call->operands[3], p->sizes.columns,
           out);
    if (count == k - first && count < RUN && k < end)
      k++; /* skips a number with an invalid column */
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  (void)phase;
  const SparsePlan *p = (const SparsePlan *)call->plan;
  int64_t bytes = p->sizes.columns * type_bytes(p->type);
  int64_t row = chunk * p->per_chunk, last = min_i64(row + p->per_chunk, p->sizes.rows);
  uint8_t *out = call->results[0] + row * bytes;
  for (; row < last && !*call->stop; row++, out += bytes) {
    int64_t begin = index_at(p, call->operands[1], row);
    int64_t end = index_at(p, call->operands[1], row + 1);
    memset(out, 0, (size_t)bytes);
    add_row(p, call, max_i64(begin, 0), min_i64(end, p->sizes.entries), out);
  }
}

const Kernel kernel_sparse = {"sparse", plan, run};
