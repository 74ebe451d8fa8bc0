/*
** Plans and runs cholesky, triangular-solve and the custom calls of LAPACK's routines. A chunk computes several
** matrices of the batch, one after the other. For a triangular matrix that is singular or not finite the result depends
** on XLA's order of operations; linalg_exact.c follows it.
*/
#include "kernels/linalg/linalg.h"

#include <string.h>

#include "base/min_max.h"
#include "hlo/ir/lapack_calls.h"
#include "kernels/linalg/linalg_double.h"

/* ORDER LAPACK */
_Static_assert(LINALG_TRIANGULAR_SOLVE + LAPACK_COUNT + 1 == LINALG_ROUTINES,
               "a kernel for each row");

enum {
  /* Threshold MIN_WORK. Test: "L U of ${shape}" in core/linalg.test.mjs. */
  MIN_WORK = 20000, /* min operations of a chunk, roughly */
  /* Threshold MAX_CHUNKS: each chunk has memory of its own. No path. */
  MAX_CHUNKS = 32,
};

enum { BLOCK = LINALG_BLOCK };

static int64_t linalg_numbers_of(const LinalgPlan *p) {
  int64_t rows = p->in[0].rows, columns = p->in[0].columns, size = max_i64(rows, columns);
  int64_t steps = min_i64(rows, columns);
  switch (p->routine) {
  case LINALG_CHOLESKY:
  case LINALG_POTRF: return rows * linalg_stride(rows) + 2 * BLOCK * rows;
  case LINALG_TRIANGULAR_SOLVE:
  case LINALG_TRSM: {
    LinalgSystems s = linalg_systems(p);
    return s.n * linalg_stride(s.n) + s.n * linalg_stride(s.vectors);
  }
  case LINALG_GETRF: return rows * (linalg_stride(columns) + min_i64(BLOCK, columns));
  case LINALG_GEQRF:
    return linalg_stride(rows) * columns + steps + linalg_panel_numbers(rows, columns, steps);
  case LINALG_ORGQR:
    return 2 * linalg_stride(rows) * columns + steps + linalg_panel_numbers(rows, columns, steps);
  case LINALG_GEQP3: return rows * columns + 3 * columns + 1;
  case LINALG_GTSV:
  case LINALG_PERTURBED: return 2 * p->in[3].rows * (3 + p->in[3].columns);
  case LINALG_ORMQR: {
    int64_t lines = p->in[2].rows * p->in[2].columns / rows;
    return rows * (columns + lines) + steps + linalg_panel_numbers(rows, lines, steps);
  }
  case LINALG_GEHRD:
  case LINALG_GEES:
  case LINALG_GEEV:
    return 4 * (rows + 1) * (rows + 24) + 2 * rows + 16 +
           max_i64(linalg_panel_numbers(rows, rows, rows), 14 * (rows + 24));
  case LINALG_SYEVD:
    return 2 * rows * linalg_stride(rows) + 3 * rows + linalg_vectors_numbers(rows, rows, rows);
  default: { /* svd_in's */
    int64_t vectors = max_i64(p->out[2].columns, p->out[3].rows);
    return size * linalg_stride(steps) + (steps + vectors) * linalg_stride(size) +
           steps * (linalg_stride(steps) + 4) + linalg_vectors_numbers(size, vectors, steps);
  }
  }
}

/* --- Planning --------------------------------------------------------------------------------- */

static bool is_transposed(const Attributes *a) { return a->transpose_a != NO_TRANSPOSE; }

static LinalgSize matrix_size(const Shape *shape) {
  return (LinalgSize){shape->dims[shape->rank - 2], shape->dims[shape->rank - 1]};
}

static void set_operation(LinalgPlan *p, const Instruction *x) {
  const Attributes *a = x->a;
  p->operands = x->operand_count;
  p->results = 1;
  for (int i = 0; i < p->operands; i++) {
    p->in[i] = matrix_size(x->operands[i]->shape);
  }
  p->out[0] = matrix_size(x->shape);
  p->batch = shape_elements(x->shape) / (p->out[0].rows * p->out[0].columns);
  p->lower = a->lower;
  p->routine = LINALG_CHOLESKY;
  if (x->opcode == HLO_CHOLESKY) return;
  p->routine = LINALG_TRIANGULAR_SOLVE;
  p->left = a->left_side;
  p->transposed = is_transposed(a) == p->left;
  p->conjugated = a->transpose_a == ADJOINT;
  p->unit = a->unit_diagonal;
  bool by_substitution = p->batch > XLA_BLOCK / 16 && p->in[0].rows < XLA_BLOCK / 4;
  p->by_blocks = !by_substitution && p->in[0].rows > 1;
}

static bool is_fast(PrimitiveType type) {
  return type == F32 || type == F64 || linalg_is_complex(type);
}

static bool has_types(const Instruction *x, const char *results, LinalgRoutine routine) {
  PrimitiveType type = x->operands[0]->shape->type;
  PrimitiveType real = type == C64 ? F32 : type == C128 ? F64 : type;
  for (int i = 0; i < x->operand_count; i++) {
    bool is_order = routine == LINALG_GEQP3 && i == 1;
    if (x->operands[i]->shape->type != (is_order ? S32 : type)) return false;
  }
  for (int i = 0; results[i]; i++) {
    PrimitiveType wanted = results[i] == 'n'   ? type
                           : results[i] == 'r' ? real
                           : results[i] == 'c' ? (real == F32 ? C64 : C128)
                                               : S32;
    if (shape_leaf(x->shape, i)->type != wanted) return false;
  }
  return true;
}

/* Threshold MAX_USERS: instructions of a computation that are searched for users; with more, all results are
** computed. No path. */
enum { MAX_USERS = 10000 };

/* Finds the results that are used. For example, jnp.linalg.eigvalsh requests vectors and does not use them. */
static void set_wanted(LinalgPlan *p, const Instruction *x) {
  const Computation *computation = x->parent;
  bool all = computation->root == x || computation->count > MAX_USERS;
  for (int i = 0; i < computation->count && !all; i++) {
    const Instruction *user = computation->instructions[i];
    for (int k = 0; k < user->operand_count; k++) {
      if (user->operands[k] != x) continue;
      if (user->opcode == HLO_GET_TUPLE_ELEMENT) p->wanted[user->a->tuple_index] = true;
      all |= user->opcode != HLO_GET_TUPLE_ELEMENT;
    }
  }
  for (int k = 0; k < p->results; k++) p->wanted[k] |= all;
}

static bool set_call(LinalgPlan *p, const Instruction *x) {
  LapackCallSizes sizes;
  LapackName name = lapack_call_sizes(x, &sizes);
  if (name == LAPACK_COUNT || sizes.batch == 0) return false;
  bool is_complex = linalg_is_complex(x->operands[0]->shape->type);
  p->routine = (LinalgRoutine)(LINALG_TRIANGULAR_SOLVE + 1 + name);
  if (is_complex != sizes.is_complex || !has_types(x, sizes.types, p->routine)) return false;
  p->operands = x->operand_count;
  p->results = x->shape->type == TUPLE ? x->shape->tuple_size : 1;
  for (int k = 0; k < p->operands; k++) {
    p->in[k] = (LinalgSize){sizes.operands[k][0], sizes.operands[k][1]};
    if (p->in[k].rows * p->in[k].columns == 0) return false;
  }
  for (int k = 0; k < p->results; k++) {
    p->out[k] = (LinalgSize){sizes.results[k][0], sizes.results[k][1]};
  }
  p->batch = sizes.batch;
  p->lower = lapack_call_attribute(x, "uplo", 'L') == 'L';
  p->left = lapack_call_attribute(x, "side", 'L') == 'L';
  p->transposed = (lapack_call_attribute(x, "trans_x", 'N') != 'N') == p->left;
  p->conjugated = lapack_call_attribute(x, "trans_x", 'N') == 'C';
  p->unit = lapack_call_attribute(x, "diag", 'N') == 'U';
  if (lapack_call_attribute(x, "mode", 'V') != 'N') set_wanted(p, x);
  int64_t rows = p->in[0].rows, columns = p->in[0].columns;
  switch (p->routine) {
  case LINALG_GEHRD:
    p->first = lapack_call_attribute(x, "low", 1) - 1;
    p->last = lapack_call_attribute(x, "high", rows) - 1;
    return p->first >= 0 && p->first <= p->last && p->last < rows;
  case LINALG_GEES: return lapack_call_attribute(x, "sort", 'N') == 'N';
  case LINALG_GEEV:
    p->wanted[is_complex ? 1 : 2] &= lapack_call_attribute(x, "compute_left", 'V') == 'V';
    p->wanted[is_complex ? 2 : 3] &= lapack_call_attribute(x, "compute_right", 'V') == 'V';
    return true;
  case LINALG_ORMQR:
    p->left = lapack_call_attribute(x, "left", 1);
    p->transposed = lapack_call_attribute(x, "transpose", 0);
    return rows == (p->left ? p->in[2].rows : p->in[2].columns) &&
           p->in[1].rows <= min_i64(rows, columns);
  case LINALG_TRSM: return rows == (p->left ? p->out[0].rows : p->out[0].columns);
  default: return true;
  }
}

/* --- The kernel's interface ------------------------------------------------------------------- */

enum { PHASE_BEGIN, PHASE_RUN, PHASES };
enum { PROGRESS_BYTES = (sizeof(LinalgProgress) + 63) & -64 };

/* Returns the memory of a chunk: a LinalgProgress and the numbers of one matrix. */
static int64_t memory_bytes(const LinalgPlan *p) {
  return PROGRESS_BYTES + ((p->numbers * (linalg_is_complex(p->type) ? 16 : 8) + 16 + 63) & -64);
}

static void set_bytes(LinalgPlan *p, const Instruction *x) {
  for (int k = 0; k < p->operands; k++) {
    p->in_bytes[k] = p->in[k].rows * p->in[k].columns * type_bytes(x->operands[k]->shape->type);
  }
  for (int k = 0; k < p->results; k++) {
    p->out_bytes[k] =
        p->out[k].rows * p->out[k].columns * type_bytes(shape_leaf(x->shape, k)->type);
  }
}

/* Estimates the operations for one matrix. Iterations for eigenvalues and singular values count as ITERATIONS_EACH times. */
static double work_of(const LinalgPlan *p) {
  /* Threshold ITERATIONS_EACH, MIN_WORK: overheads, which are compared, and turns. No path. */
  enum { ITERATIONS_EACH = 16, MIN_WORK = 256 }; /* MIN_WORK: the overhead of the smallest matrix */
  int64_t size = max_i64(p->in[0].rows, p->in[0].columns), numbers = size * size;
  for (int k = 1; k < p->operands; k++)
    numbers = max_i64(numbers, p->in[k].rows * p->in[k].columns);
  bool approaches = p->routine == LINALG_SYEVD || p->routine == LINALG_GESDD ||
                    p->routine == LINALG_GEES || p->routine == LINALG_GEEV;
  return (double)size * (double)numbers * (approaches ? ITERATIONS_EACH : 1) + MIN_WORK;
}

static KernelPlan *plan(const Instruction *x, Arena *arena) {
  bool is_call = x->opcode == HLO_CUSTOM_CALL;
  if (is_call ? !is_lapack_call(x)
              : x->opcode != HLO_CHOLESKY && x->opcode != HLO_TRIANGULAR_SOLVE) {
    return NULL;
  }
  PrimitiveType type = x->operands[0]->shape->type;
  if (is_call && !is_fast(type)) return NULL;
  if (!is_call && shape_elements(x->shape) == 0) return NULL;
  LinalgPlan *p = ARENA_NEW(arena, LinalgPlan);
  p->type = type;
  p->narrow = type == F32 || type == C64;
  if (is_call) {
    if (!set_call(p, x)) return NULL;
  } else {
    set_operation(p, x);
  }
  int64_t of_lanes = linalg_lanes_numbers(p, type);
  p->in_lanes = of_lanes > 0;
  p->numbers = max_i64(max_i64(linalg_numbers_of(p), of_lanes), linalg_exact_numbers(p));
  set_bytes(p, x);
  double work = work_of(p);
  int64_t chunks = p->batch;
  if (work < MIN_WORK) chunks = (int64_t)((double)p->batch * work / MIN_WORK) + 1;
  if (chunks > MAX_CHUNKS) chunks = MAX_CHUNKS;
  p->per_chunk = divide_up(p->batch, chunks);
  if (p->in_lanes) p->per_chunk = round_up(p->per_chunk, LINALG_LANES);
  p->kernel.is_long = work * (double)p->per_chunk > LINALG_TURN;
  int *all = kernel_phases(&p->kernel, arena, PHASES);
  all[PHASE_BEGIN] = 1;
  all[PHASE_RUN] = (int)divide_up(p->batch, p->per_chunk);
  p->kernel.scratch_bytes = all[PHASE_RUN] * memory_bytes(p);
  return &p->kernel;
}

static LinalgEnd run_fast(const LinalgPlan *p, const LinalgData *data, uint8_t *memory,
                          LinalgProgress *progress) {
  PrimitiveType type = p->type;
  if (p->routine == LINALG_GTSV || p->routine == LINALG_PERTURBED) {
    int parts = linalg_is_complex(type) ? 2 : 1;
    return linalg_run_tridiagonal(p, data, parts, (double *)memory, progress);
  }
  if (linalg_is_complex(type)) return linalg_run_c128(p, data, (LinalgComplex *)memory, progress);
  return type == F32 && p->routine < LINALG_GEHRD
             ? linalg_run_f32(p, data, (float *)memory, progress)
             : linalg_run_f64(p, data, (double *)memory, progress);
}

static LinalgEnd run_one(const LinalgPlan *p, const LinalgData *data, uint8_t *memory,
                         LinalgProgress *progress) {
  progress->work = progress->looked = 0;
  if (!progress->exactly) {
    LinalgEnd ended = run_fast(p, data, memory, progress);
    if (ended != LINALG_XLA_DECIDES) return ended;
    *progress = (LinalgProgress){progress->call, progress->matrix, .exactly = true};
  }
  return linalg_solve_as_xla(p, data, (double *)memory, progress);
}

static LinalgData matrix_of(const KernelCall *call, int64_t number) {
  const LinalgPlan *p = (const LinalgPlan *)call->plan;
  LinalgData data = {0};
  for (int k = 0; k < p->operands; k++) data.in[k] = call->operands[k] + number * p->in_bytes[k];
  for (int k = 0; k < p->results; k++) data.out[k] = call->results[k] + number * p->out_bytes[k];
  return data;
}

/* Runs the matrices from `first` to at most `last` in lanes. Returns the result of linalg_run_lanes. */
static int run_lanes(const KernelCall *call, int64_t first, int64_t last, uint8_t *memory) {
  LinalgData data[LINALG_LANES];
  for (int64_t i = 0; i < LINALG_LANES; i++) {
    data[i] = matrix_of(call, first + i < last ? first + i : last);
  }
  return linalg_run_lanes((const LinalgPlan *)call->plan, data, (double *)memory);
}

static void run(const KernelCall *call, int phase, int chunk) {
  const LinalgPlan *p = (const LinalgPlan *)call->plan;
  if (phase == PHASE_BEGIN) {
    for (int i = 0; i < p->kernel.chunks[PHASE_RUN]; i++) {
      memset(call->scratch + i * memory_bytes(p), 0, sizeof(LinalgProgress));
    }
    return;
  }
  uint8_t *memory = call->scratch + chunk * memory_bytes(p);
  LinalgProgress *progress = (LinalgProgress *)memory;
  memory += PROGRESS_BYTES;
  progress->call = call;
  int64_t first = chunk * p->per_chunk, last = first + p->per_chunk - 1;
  if (last >= p->batch) last = p->batch - 1;
  int left = -1; /* bits of the matrices in lanes that have no result yet */
  double each = work_of(p), work = 0;
  for (int64_t i = first + progress->matrix; i <= last; i++) {
    int64_t lane = p->in_lanes ? (i - first) % LINALG_LANES : 0;
    if (lane == 0) {
      progress->matrix = i - first;
      *call->again = work > LINALG_TURN;
      if (*call->again) return;
      if (p->in_lanes) left = run_lanes(call, i, last, memory);
    }
    work += each;
    if (!(left >> lane & 1)) continue;
    LinalgData data = matrix_of(call, i);
    *call->again = run_one(p, &data, memory, progress) == LINALG_PAUSED;
    if (*call->again) return;
    *progress = (LinalgProgress){.call = call, .matrix = i + 1 - first};
  }
}

const Kernel kernel_linalg = {"linalg", plan, run};
