/*
** Turns operations that only move elements into region moves, if few suffice: for small arrays or long rows.
** These are concatenate, pad, dynamic-slice, dynamic-update-slice, and copies of buffers.
*/
#include "compile/regions.h"
#include "kernels/memory/box.h"

/* Threshold MAX_MOVES. Test: "dense steps: values of a region, results of a region, moves" in
** core/thresholds_programs.test.mjs. */
/* Threshold MAX_FILLED. Test: "pieces of a few bytes" in core/thresholds_programs.test.mjs. */
/* Threshold MAX_COPIED. Test: "loops that copy or evaluate arrays of some bytes" in
** core/thresholds_programs.test.mjs. */
enum { MAX_MOVES = 32, MAX_FILLED = 256, MAX_COPIED = 1 << 16 };

BufferSlice region_slice(LogicalBuffer *buffer) {
  const LogicalBuffer *owner = buffer_owner(buffer);
  return (BufferSlice){.slot = buffer->slot,
                       .offset = buffer->slot == SLOT_NONE ? 0 : buffer->offset,
                       .bytes = buffer->bytes,
                       .first = owner->first,
                       .last = owner->last};
}

const BufferSlice *region_slices(Arena *arena, const Thunk *thunk) {
  int count = 0;
  BufferSlice *slices = ARENA_ARRAY(arena, BufferSlice, thunk->operand_count + thunk->result_count);
  for (int i = 0; i < thunk->operand_count; i++) slices[count++] = region_slice(thunk->operands[i]);
  for (int i = 0; i < thunk->result_count; i++) slices[count++] = region_slice(thunk->results[i]);
  return slices;
}

static bool add_move(RegionStep *step, RegionMove move) {
  if (step->move_count == MAX_MOVES) return false;
  step->moves[step->move_count++] = move;
  return true;
}

/* Adds the moves of a box row by row; a row is as long as it is contiguous on both sides. */
static bool add_box(RegionStep *step, const Box *box, int from_slice, int to_slice, int64_t width) {
  int64_t index[MAX_RANK] = {0}, run = width;
  int outer = box->rank;
  for (; outer > 0 && box->from_strides[outer - 1] == run && box->to_strides[outer - 1] == run;
       outer--) {
    run *= box->sizes[outer - 1];
  }
  for (int d = 0; d < box->rank; d++) {
    if (box->sizes[d] <= 0) return true;
  }
  for (int d = 0; d >= 0;) {
    RegionMove move = {.from_slice = from_slice,
                       .to_slice = to_slice,
                       .from = box->from,
                       .to = box->to,
                       .bytes = run};
    for (int k = 0; k < outer; k++) {
      move.from += index[k] * box->from_strides[k];
      move.to += index[k] * box->to_strides[k];
    }
    if (!add_move(step, move)) return false;
    for (d = outer - 1; d >= 0 && ++index[d] == box->sizes[d]; d--) index[d] = 0;
  }
  return true;
}

static bool concatenate_moves(const Instruction *instruction, RegionStep *step) {
  int width = type_bytes(instruction->shape->type), count = instruction->operand_count;
  int64_t at = 0;
  for (int i = 0; i < count; i++) {
    Box box = box_concatenated(instruction, i, &at);
    if (!add_box(step, &box, i, count, width)) return false;
  }
  return true;
}

static bool pad_moves(const Instruction *instruction, RegionStep *step) {
  const Shape *result = instruction->shape;
  int width = type_bytes(result->type);
  int64_t bytes = shape_bytes(result);
  if (bytes > MAX_FILLED) return false;
  add_move(step, (RegionMove){.from_slice = 1, .to_slice = 2, .bytes = bytes, .element = width});
  Box box = box_padded(instruction);
  return add_box(step, &box, 0, 2, width);
}

/* Adds the start indices of a slice of shape `size` of `sliced`. */
static bool add_starts(Arena *arena, const Thunk *thunk, int first_index, const Shape *sliced,
                       const Shape *size, RegionStep *step) {
  const Instruction *instruction = thunk->instruction;
  int64_t strides[MAX_RANK];
  shape_strides(sliced, strides);
  step->starts = ARENA_ARRAY(arena, RegionStart, sliced->rank);
  bool is_vector = sliced->rank > 0 && instruction->operands[first_index]->shape->rank == 1;
  for (int d = 0; d < sliced->rank; d++) {
    int operand = is_vector ? first_index : first_index + d;
    PrimitiveType type = instruction->operands[operand]->shape->type;
    int64_t max = sliced->dims[d] - size->dims[d];
    if (type_bits(type) < 8) return false;
    if (max == 0) continue;
    BufferSlice slice = step->slices[operand];
    if (is_vector) slice.offset += (int64_t)d * type_bytes(type);
    step->starts[step->start_count++] =
        (RegionStart){slice, type, max, strides[d] * type_bytes(sliced->type),
                      instruction->a->derived.starts_in_range};
  }
  return true;
}

static bool dynamic_slice_moves(Arena *arena, const Thunk *thunk, RegionStep *step) {
  const Shape *from = thunk->instruction->operands[0]->shape, *to = thunk->instruction->shape;
  Box box = box_between(to, from, to);
  return add_starts(arena, thunk, 1, from, to, step) &&
         add_box(step, &box, 0, thunk->operand_count, type_bytes(to->type));
}

static bool dynamic_update_moves(Arena *arena, const Thunk *thunk, RegionStep *step) {
  const Shape *update = thunk->instruction->operands[1]->shape, *to = thunk->instruction->shape;
  const BufferSlice *all = step->slices, *result = &all[thunk->operand_count];
  step->shifts_target = true;
  if (all[0].slot != result->slot || all[0].offset != result->offset) {
    if (shape_bytes(to) > MAX_COPIED) return false;
    add_move(
        step,
        (RegionMove){.to_slice = thunk->operand_count, .bytes = shape_bytes(to), .is_fixed = true});
  }
  Box box = box_between(update, update, to);
  return add_starts(arena, thunk, 2, to, update, step) &&
         add_box(step, &box, 1, thunk->operand_count, type_bytes(to->type));
}

static bool list_moves(Arena *arena, const Thunk *thunk, RegionStep *step) {
  if (thunk->kind == THUNK_COPY) {
    int64_t bytes = thunk->operands[0]->bytes;
    return bytes <= MAX_COPIED &&
           add_move(step, (RegionMove){.from_slice = 0, .to_slice = 1, .bytes = bytes});
  }
  switch (thunk->instruction->opcode) {
  case HLO_CONCATENATE: return concatenate_moves(thunk->instruction, step);
  case HLO_PAD: return pad_moves(thunk->instruction, step);
  case HLO_DYNAMIC_SLICE: return dynamic_slice_moves(arena, thunk, step);
  case HLO_DYNAMIC_UPDATE_SLICE: return dynamic_update_moves(arena, thunk, step);
  default: return false;
  }
}

bool region_moves(Arena *arena, const Thunk *thunk, RegionStep *step) {
  RegionMove moves[MAX_MOVES];
  step->kind = REGION_MOVE;
  step->slices = region_slices(arena, thunk);
  step->slice_count = thunk->operand_count + thunk->result_count;
  step->moves = moves;
  step->move_count = step->start_count = 0;
  if (!list_moves(arena, thunk, step)) return false;
  step->moves = arena_copy(arena, moves, sizeof *moves * (size_t)step->move_count);
  step->cost = 2;
  for (int i = 0; i < step->move_count; i++) step->cost += 1 + moves[i].bytes / 16;
  return true;
}
