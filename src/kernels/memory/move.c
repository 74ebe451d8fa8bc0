/*
** Runs operations that only move elements, of any type: concatenate, pad, dynamic-slice, and transposes of
** the innermost dimension. Each is a few boxes; a chunk is a range of their units.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/kernels.h"
#include "kernels/memory/box.h"

/* Threshold CHUNK_BYTES. Test: "chunks: elements of loops, of the evaluator, bytes of moves" in
** core/thresholds_programs.test.mjs. */
/* Threshold MAX_CHUNKS: larger chunks instead of more than 65,536. No path. */
enum { CHUNK_BYTES = 1 << 17, MAX_CHUNKS = 1 << 16 };

typedef struct Part {
  BoxMove move;
  int operand;
} Part;

typedef struct MovePlan {
  KernelPlan base;
  int part_count, width;
  Part *parts;
  int64_t units, units_per_chunk;
} MovePlan;

static void add_part(MovePlan *plan, const Box *box, int operand) {
  for (int d = 0; d < box->rank; d++) {
    if (box->sizes[d] <= 0) return;
  }
  Part *part = &plan->parts[plan->part_count++];
  part->operand = operand;
  box_plan(&part->move, box, plan->width);
  plan->units += part->move.units;
}

static bool add_parts(MovePlan *plan, const Instruction *instruction, Arena *arena) {
  Box box;
  int64_t at = 0;
  plan->width = type_bytes(instruction->shape->type);
  bool is_one = instruction->opcode != HLO_CONCATENATE;
  plan->parts = ARENA_ARRAY(arena, Part, is_one ? 1 : instruction->operand_count);
  switch (instruction->opcode) {
  case HLO_CONCATENATE:
    for (int i = 0; i < instruction->operand_count; i++) {
      box = box_concatenated(instruction, i, &at);
      add_part(plan, &box, i);
    }
    return true;
  case HLO_PAD: box = box_padded(instruction); break;
  case HLO_DYNAMIC_SLICE:
    box = box_between(instruction->shape, instruction->operands[0]->shape, instruction->shape);
    break;
  case HLO_TRANSPOSE: box = box_transposed(instruction); break;
  default: return false;
  }
  add_part(plan, &box, 0);
  return true;
}

static int fill_chunks(const Instruction *instruction) {
  if (instruction->opcode != HLO_PAD) return 0;
  return (int)divide_up(shape_bytes(instruction->shape), CHUNK_BYTES);
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (!shape_is_array(instruction->shape) || shape_elements(instruction->shape) == 0) return NULL;
  MovePlan *plan = ARENA_NEW(arena, MovePlan);
  if (!add_parts(plan, instruction, arena)) return NULL;
  int64_t bytes = 0; /* of all units: a column has few that are long beside many rows' */
  for (int i = 0; i < plan->part_count; i++) {
    bytes += plan->parts[i].move.unit_bytes * plan->parts[i].move.units;
  }
  int64_t max = CHUNK_BYTES / divide_up(bytes + 1, plan->units + 1);
  plan->units_per_chunk = divide_up(plan->units, MAX_CHUNKS);
  if (plan->units_per_chunk < max) plan->units_per_chunk = max;
  if (plan->units_per_chunk < 1) plan->units_per_chunk = 1;
  int *chunks = kernel_phases(&plan->base, arena, 2);
  chunks[0] = fill_chunks(instruction);
  chunks[1] = (int)divide_up(plan->units, plan->units_per_chunk);
  return &plan->base;
}

/* Fills by doubling the filled range, from the first element on. */
static void fill(const KernelCall *call, int chunk, int64_t width) {
  int64_t begin = (int64_t)chunk * CHUNK_BYTES, bytes = shape_bytes(call->instruction->shape);
  int64_t size = bytes - begin < CHUNK_BYTES ? bytes - begin : CHUNK_BYTES;
  uint8_t *to = call->results[0] + begin;
  memcpy(to, call->operands[1], (size_t)width);
  for (int64_t done = width; done < size; done *= 2) {
    memcpy(to + done, to, (size_t)(done < size - done ? done : size - done));
  }
}

/* Returns the offset in the operand where a dynamic slice begins. */
static int64_t dynamic_offset(const KernelCall *call, int64_t width) {
  const Instruction *instruction = call->instruction;
  const Shape *operand = instruction->operands[0]->shape;
  int64_t offset = 0, stride = width;
  if (instruction->opcode != HLO_DYNAMIC_SLICE) return 0;
  for (int d = operand->rank - 1; d >= 0; stride *= operand->dims[d--]) {
    offset += stride * dynamic_start(instruction, call->operands, 1, d, operand->dims[d],
                                     instruction->shape->dims[d]);
  }
  return offset;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const MovePlan *plan = (const MovePlan *)call->plan;
  if (phase == 0) {
    fill(call, chunk, plan->width);
    return;
  }
  int64_t offset = dynamic_offset(call, plan->width);
  int64_t begin = chunk * plan->units_per_chunk, end = begin + plan->units_per_chunk, before = 0;
  for (int i = 0; i < plan->part_count && before < end; i++) {
    const Part *part = &plan->parts[i];
    int64_t first = begin > before ? begin - before : 0, last = end - before;
    if (last > part->move.units) last = part->move.units;
    if (first < last) {
      box_run(&part->move, call->operands[part->operand] + offset, call->results[0], first, last);
    }
    before += part->move.units;
  }
}

const Kernel kernel_move = {"move", plan, run};

/* --- Arrays without elements, whatever makes them --------------------------------------------- */

static KernelPlan *plan_nothing(const Instruction *instruction, Arena *arena) {
  const Shape *shape = instruction->shape;
  if (instruction->opcode == HLO_TOPK) shape = shape_leaf(shape, 0);
  if (!shape_is_array(shape) || shape_elements(shape) > 0) return NULL;
  KernelPlan *plan = ARENA_NEW(arena, KernelPlan);
  kernel_phases(plan, arena, 0);
  return plan;
}

static void run_nothing(const KernelCall *call, int phase, int chunk) {}

const Kernel kernel_nothing = {"nothing", plan_nothing, run_nothing};
