/*
** Runs dynamic-update-slice for any type, in place if operand and result share memory. So a loop fills an
** array step by step without copying it each time.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/kernels.h"
#include "kernels/memory/box.h"

enum { PHASE_COPY, PHASE_UPDATE, PHASES };
/* Threshold CHUNK_BYTES. Test: "updates of 1 MB" in core/thresholds_numbers.test.mjs. */
enum { CHUNK_BYTES = 1 << 20 };

/* The update is written in pieces of its rows; its last dimension is contiguous on both sides. */
typedef struct UpdatePlan {
  KernelPlan kernel;
  int64_t row, piece;        /* bytes; 0: there is nothing to write */
  int64_t pieces, per_chunk; /* pieces in a row; pieces in a chunk */
} UpdatePlan;

static KernelPlan *plan(const Instruction *x, Arena *arena) {
  if (x->opcode != HLO_DYNAMIC_UPDATE_SLICE || shape_elements(x->shape) == 0) return NULL;
  UpdatePlan *p = ARENA_NEW(arena, UpdatePlan);
  const Shape *update = x->operands[1]->shape;
  int64_t bytes = shape_bytes(update), width = type_bytes(x->shape->type);
  p->row = bytes == 0 ? 0 : update->rank == 0 ? width : update->dims[update->rank - 1] * width;
  p->piece = p->row < CHUNK_BYTES ? p->row : CHUNK_BYTES;
  p->pieces = p->row ? divide_up(p->row, p->piece) : 0;
  p->per_chunk = p->piece ? CHUNK_BYTES / p->piece : 1;
  int *chunks = kernel_phases(&p->kernel, arena, PHASES);
  chunks[PHASE_COPY] = (int)divide_up(shape_bytes(x->shape), CHUNK_BYTES);
  if (bytes) chunks[PHASE_UPDATE] = (int)divide_up(bytes / p->row * p->pieces, p->per_chunk);
  return &p->kernel;
}

/* Returns the offset in the result, in bytes, of a row of the update. */
static int64_t row_target(const KernelCall *call, const int64_t *starts, int64_t row) {
  const Shape *shape = call->instruction->shape, *update = call->instruction->operands[1]->shape;
  int64_t strides[MAX_RANK], last = shape->rank - 1, offset = starts[last];
  shape_strides(shape, strides);
  for (int64_t d = last - 1; d >= 0; d--) {
    offset += (starts[d] + row % update->dims[d]) * strides[d];
    row /= update->dims[d];
  }
  return offset * type_bytes(shape->type);
}

static void write_update(const KernelCall *call, int chunk) {
  const UpdatePlan *p = (const UpdatePlan *)call->plan;
  const Shape *shape = call->instruction->shape, *update = call->instruction->operands[1]->shape;
  int64_t starts[MAX_RANK], rows = p->row ? shape_bytes(update) / p->row : 0;
  for (int d = 0; d < shape->rank; d++) {
    starts[d] =
        dynamic_start(call->instruction, call->operands, 2, d, shape->dims[d], update->dims[d]);
  }
  int64_t piece = chunk * p->per_chunk, end = piece + p->per_chunk;
  for (; piece < end && piece < rows * p->pieces; piece++) {
    int64_t row = piece / p->pieces, begin = piece % p->pieces * p->piece;
    int64_t bytes = p->row - begin < p->piece ? p->row - begin : p->piece;
    int64_t target = shape->rank ? row_target(call, starts, row) : 0;
    memcpy(call->results[0] + target + begin, call->operands[1] + row * p->row + begin,
           (size_t)bytes);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  if (phase == PHASE_UPDATE) {
    write_update(call, chunk);
  } else if (call->results[0] != call->operands[0]) {
    int64_t begin = (int64_t)chunk * CHUNK_BYTES;
    int64_t bytes = shape_bytes(call->instruction->shape) - begin;
    if (bytes > CHUNK_BYTES) bytes = CHUNK_BYTES;
    memcpy(call->results[0] + begin, call->operands[0] + begin, (size_t)bytes);
  }
}

const Kernel kernel_update_slice = {"update-slice", plan, run};
