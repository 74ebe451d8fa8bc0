/*
** dynamic-update-slice for any type, in place where operand and result share memory: that is how a
** loop fills an array step by step without copying it every time.
*/
#include <string.h>

#include "kernels/box.h"
#include "kernels/kernels.h"

enum { PHASE_COPY, PHASE_UPDATE, PHASES };

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_DYNAMIC_UPDATE_SLICE || shape_elements(instruction->shape) == 0) {
    return NULL;
  }
  KernelPlan *plan = ARENA_NEW(arena, KernelPlan);
  int *chunks = kernel_phases(plan, arena, PHASES);
  chunks[PHASE_COPY] = chunks[PHASE_UPDATE] = 1;
  return plan;
}

/* Copies the update row by row: its last dimension is contiguous on both sides. */
static void write_update(const KernelCall *call) {
  const Shape *shape = call->instruction->shape, *update = call->instruction->operands[1]->shape;
  int64_t starts[MAX_RANK], strides[MAX_RANK], index[MAX_RANK] = {0};
  size_t width = (size_t)type_bytes(shape->type);
  if (shape->rank == 0) {
    memcpy(call->results[0], call->operands[1], width);
    return;
  }
  if (shape_elements(update) == 0) return;
  for (int d = 0; d < shape->rank; d++) {
    starts[d] =
        dynamic_start(call->instruction, call->operands, 2, d, shape->dims[d], update->dims[d]);
  }
  shape_strides(shape, strides);
  int last = shape->rank - 1;
  size_t row = (size_t)update->dims[last] * width;
  const uint8_t *from = call->operands[1];
  for (int d = last; d >= 0;) {
    int64_t offset = starts[last];
    for (int k = 0; k < last; k++) offset += (starts[k] + index[k]) * strides[k];
    memcpy(call->results[0] + (size_t)offset * width, from, row);
    from += row;
    for (d = last - 1; d >= 0 && ++index[d] == update->dims[d]; d--) index[d] = 0;
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  if (phase == PHASE_UPDATE) {
    write_update(call);
  } else if (call->results[0] != call->operands[0]) {
    memcpy(call->results[0], call->operands[0], (size_t)shape_bytes(call->instruction->shape));
  }
}

const Kernel kernel_update_slice = {"update-slice", plan, run};
