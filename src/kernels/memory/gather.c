/*
** Runs gather, of any type: copies a window of the operand for each index vector. The window is a box; only
** its start depends on run-time data.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/kernels.h"
#include "kernels/memory/box.h"

/* Threshold CHUNK_WORK. Test: "scatters and gathers around 65,536 elements" in core/thresholds_numbers.test.mjs. */
/* Threshold MAX_CHUNKS: larger chunks instead of more than 65,536. No path. */
enum { CHUNK_WORK = 1 << 16, MAX_CHUNKS = 1 << 16 };

/* A component of an index vector, clamped to [0, max_start], moves the window by `stride` bytes. */
typedef struct Component {
  int64_t max_start, stride, index; /* index: its offset in the vector, in elements */
} Component;

/* The batch dimensions: their strides in the indices (elements) and in the arrays (bytes). */
typedef struct Batch {
  int64_t size, index_stride, from_stride, to_stride;
} Batch;

typedef struct GatherPlan {
  KernelPlan base;
  BoxMove window;
  PrimitiveType index_type;
  int component_count, batch_rank;
  Component components[MAX_RANK];
  Batch batch[MAX_RANK];
  int64_t windows, windows_per_chunk;
} GatherPlan;

/* Plans the window. Its dimensions are offset_dims in the result; in the operand, those that are neither
** collapsed nor batching. */
static void plan_window(GatherPlan *plan, const Attributes *a, const Shape *operand,
                        const Shape *result) {
  int64_t from[MAX_RANK], to[MAX_RANK];
  byte_strides(operand, from);
  byte_strides(result, to);
  Box box = {0};
  for (int d = 0; d < operand->rank; d++) {
    if (list_has(a->collapsed_slice_dims, d) || list_has(a->operand_batching_dims, d)) continue;
    box.sizes[box.rank] = a->slice_sizes.items[d];
    box.from_strides[box.rank] = from[d];
    box.to_strides[box.rank] = to[a->offset_dims.items[box.rank]];
    box.rank++;
  }
  box_plan(&plan->window, &box, type_bytes(result->type));
}

/* Plans the batch dimensions: those of the result that are not in offset_dims. They are, in order, those of
** the indices without index_vector_dim. */
static void plan_batch(GatherPlan *plan, const Attributes *a, const Shape *operand,
                       const Shape *indices, const Shape *result) {
  int64_t from[MAX_RANK], to[MAX_RANK], at[MAX_RANK], i = 0;
  byte_strides(operand, from);
  byte_strides(result, to);
  shape_strides(indices, at);
  plan->windows = 1;
  for (int d = 0; d < result->rank; d++) {
    if (list_has(a->offset_dims, d)) continue;
    if (i == a->index_vector_dim) i++;
    int batching = list_index(a->start_indices_batching_dims, i);
    int64_t along = batching < 0 ? 0 : from[a->operand_batching_dims.items[batching]];
    plan->batch[plan->batch_rank++] = (Batch){result->dims[d], at[i], along, to[d]};
    plan->windows *= result->dims[d];
    i++;
  }
}

static void plan_components(GatherPlan *plan, const Attributes *a, const Shape *operand,
                            const Shape *indices) {
  int64_t from[MAX_RANK], at[MAX_RANK];
  byte_strides(operand, from);
  shape_strides(indices, at);
  int64_t step = a->index_vector_dim < indices->rank ? at[a->index_vector_dim] : 0;
  plan->index_type = indices->type;
  for (int k = 0; k < a->start_index_map.count; k++) {
    int64_t d = a->start_index_map.items[k];
    plan->components[plan->component_count++] =
        (Component){operand->dims[d] - a->slice_sizes.items[d], from[d], k * step};
  }
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_GATHER || shape_elements(instruction->shape) == 0) return NULL;
  const Attributes *a = instruction->a;
  const Shape *operand = instruction->operands[0]->shape;
  const Shape *indices = instruction->operands[1]->shape;
  GatherPlan *plan = ARENA_NEW(arena, GatherPlan);
  plan_window(plan, a, operand, instruction->shape);
  plan_batch(plan, a, operand, indices, instruction->shape);
  plan_components(plan, a, operand, indices);
  int64_t work = plan->window.units * plan->window.unit_bytes + 16;
  plan->windows_per_chunk = divide_up(plan->windows, MAX_CHUNKS);
  if (plan->windows_per_chunk < CHUNK_WORK / work) plan->windows_per_chunk = CHUNK_WORK / work;
  if (plan->windows_per_chunk < 1) plan->windows_per_chunk = 1;
  int *chunks = kernel_phases(&plan->base, arena, 1);
  chunks[0] = (int)divide_up(plan->windows, plan->windows_per_chunk);
  return &plan->base;
}

static int64_t window_start(const GatherPlan *plan, const uint8_t *indices, int64_t at) {
  int64_t offset = 0;
  for (int k = 0; k < plan->component_count; k++) {
    const Component *c = &plan->components[k];
    int64_t index;
    if (plan->index_type == S32) { /* nearly always */
      index = ((const int32_t *)indices)[at + c->index];
      index = index < 0 ? 0 : index > c->max_start ? c->max_start : index;
    } else {
      Scalar start = scalar_load(plan->index_type, indices, at + c->index);
      index = scalar_clamped_index(plan->index_type, start, c->max_start);
    }
    offset += index * c->stride;
  }
  return offset;
}

static void copy_window(const BoxMove *window, const uint8_t *from, uint8_t *to) {
  if (window->kind == MOVE_RUNS && window->units == 1) {
    box_copy(to, from, window->run);
  } else {
    box_run(window, from, to, 0, window->units);
  }
}

/* A line of `count` windows along the innermost batch dimension. */
typedef struct Line {
  const GatherPlan *plan;
  const uint8_t *indices, *from;
  uint8_t *to;
  int64_t at, count;
  Batch step;
} Line;

static void gather_windows(Line line) {
  for (int64_t i = 0; i < line.count; i++) {
    int64_t start = window_start(line.plan, line.indices, line.at);
    copy_window(&line.plan->window, line.from + start, line.to);
    line.at += line.step.index_stride;
    line.from += line.step.from_stride;
    line.to += line.step.to_stride;
  }
}

/* A point of three floats, or a row of four. */
typedef struct Words3 {
  uint32_t words[3];
} Words3;
typedef struct Words4 {
  uint32_t words[4];
} Words4;

/* Gathers single elements or short rows by one 32-bit index: a table lookup. */
#define LOOK_UP(type)                                                           \
  static void look_up_##type(Line line) {                                       \
    const Component c = line.plan->components[0];                               \
    const int32_t *indices = (const int32_t *)line.indices + line.at + c.index; \
    int32_t max_start = (int32_t)c.max_start, stride = (int32_t)c.stride;       \
    int32_t index_stride = (int32_t)line.step.index_stride;                     \
    int32_t from_stride = (int32_t)line.step.from_stride;                       \
    int32_t to_stride = (int32_t)line.step.to_stride;                           \
    const uint8_t *from = line.from;                                            \
    uint8_t *to = line.to;                                                      \
    for (int32_t i = 0, count = (int32_t)line.count; i < count; i++) {          \
      int32_t index = *indices;                                                 \
      index = index < 0 ? 0 : index > max_start ? max_start : index;            \
      memcpy(to, from + (size_t)index * (size_t)stride, sizeof(type));          \
      indices += index_stride;                                                  \
      from += from_stride;                                                      \
      to += to_stride;                                                          \
    }                                                                           \
  }
LOOK_UP(uint8_t)
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)
LOOK_UP(uint64_t)
LOOK_UP(Words3)
LOOK_UP(Words4)

static void gather_line(Line line) {
  const GatherPlan *plan = line.plan;
  bool single = plan->window.kind == MOVE_RUNS && plan->window.units == 1 &&
                plan->component_count == 1 && plan->index_type == S32 &&
                plan->components[0].max_start < INT32_MAX;
  switch (single ? plan->window.run : 0) {
  case 1: look_up_uint8_t(line); break;
  case 2: look_up_uint16_t(line); break;
  case 4: look_up_uint32_t(line); break;
  case 8: look_up_uint64_t(line); break;
  case 12: look_up_Words3(line); break;
  case 16: look_up_Words4(line); break;
  default: gather_windows(line);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  const GatherPlan *plan = (const GatherPlan *)call->plan;
  int64_t begin = chunk * plan->windows_per_chunk, end = begin + plan->windows_per_chunk;
  int inner = plan->batch_rank - 1;
  Line line = {plan, call->operands[1], call->operands[0], call->results[0], 0, 1, {1, 0, 0, 0}};
  if (inner >= 0) line.step = plan->batch[inner];
  if (end > plan->windows) end = plan->windows;
  for (int64_t window = begin; window < end; window += line.count) {
    Line next = line;
    int64_t rest = window;
    for (int d = inner; d >= 0; d--) {
      const Batch *b = &plan->batch[d];
      int64_t index = rest % b->size;
      rest /= b->size;
      next.at += index * b->index_stride;
      next.from += index * b->from_stride;
      next.to += index * b->to_stride;
    }
    line.count = line.step.size - window % line.step.size;
    if (line.count > end - window) line.count = end - window;
    next.count = line.count;
    gather_line(next);
  }
}

const Kernel kernel_gather = {"gather", plan, run};
