/*
** Emits what is done to the accumulators of a reduction: they are combined with values, and sums are kept in blocks.
**
** Long sums of floats are added in blocks of blocks, so that rounding errors grow with the logarithm of their
** length, as in XLA. There are accumulators at several levels. After BLOCK steps those of the first level are added
** into those of the second and start again; after BLOCK blocks the second into the third; and so on. Blocks are
** counted over all reduced loops. A cumulative sum is that of the blocks before and of the present one.
*/
#include "codegen/loops/accumulators.h"

#include "base/min_max.h"
#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/pointer_emitter.h"
#include "codegen/loops/value_emitter.h"
#include "plan/reduction.h"

/* Threshold BLOCK, CUMULATIVE_BLOCK, MIN_BLOCKED: of sums that round, the steps of a block, or the blocks of one of the next
** level; and the length from which there are blocks. Those of cumulative sums are longer, as the processor predicts the end
** of each block wrongly. Test: "sums of floats that begin and end within blocks of 32 steps" in core/reductions.test.mjs. */
/* Threshold MAX_LEVELS: levels of accumulators; 32^4 blocks fill the last one. No path. */
enum { BLOCK = 32, CUMULATIVE_BLOCK = 64, MIN_BLOCKED = 2 * BLOCK, MAX_LEVELS = 5 };

/* --- Combining -------------------------------------------------------------------------------- */

static LoopNode *combine_parameter(const Emitter *e, int number) {
  const Computation *computation = e->plan->reduce->a->to_apply;
  return e->plan->combine[computation->parameters[number]->id];
}

void emit_combine(Emitter *e, const int *accumulators, const int *values) {
  int count = e->plan->output_count;
  for (int r = 0; r < count; r++) {
    for (int part = 0; part < parts_now(e, r); part++) {
      int at = r * MAX_PARTS + part;
      e->nodes[combine_parameter(e, r)->id].value[part] = accumulators[at];
      e->nodes[combine_parameter(e, count + r)->id].value[part] = values[at];
    }
  }
  /* All are computed from the old accumulators before the first is set. */
  for (int r = 0; r < count; r++) {
    for (int part = 0; part < parts_now(e, r); part++) {
      emit_value(e, e->plan->combined[r], part);
    }
  }
  for (int r = count - 1; r >= 0; r--) {
    for (int part = parts_now(e, r) - 1; part >= 0; part--) {
      wasm_set(&e->function, accumulators[r * MAX_PARTS + part]);
    }
  }
  for (int r = 0; r < 2 * count; r++) { /* the nodes do not own these locals */
    NodeState *state = &e->nodes[combine_parameter(e, r)->id];
    for (int part = 0; part < MAX_PARTS; part++) state->value[part] = NO_LOCAL;
  }
  end_combining(e);
}

void emit_combined(Emitter *e, const int *accumulators, const int *values) {
  e->unrounded = e->plan->reduce->opcode == HLO_REDUCE;
  emit_combine(e, accumulators, values);
  e->unrounded = false;
}

void emit_set_identity(Emitter *e, const int *accumulators) {
  for (int r = 0; r < e->plan->output_count; r++) {
    PrimitiveType type = output_type(e, r);
    Scalar neutral = {.u = 0};
    opcode_neutral(reduce_operation_of(e->plan->reduce, r), type, &neutral);
    for (int part = 0; part < lane_parts(lane_kind(type)); part++) {
      emit_scalar(e, type, neutral, part);
      wasm_set(&e->function, accumulators[r * MAX_PARTS + part]);
    }
  }
}

void emit_copy(Emitter *e, const int *to, const int *from) {
  for (int r = 0; r < e->plan->output_count; r++) {
    for (int part = 0; part < parts_now(e, r); part++) {
      emit_local(e, from[r * MAX_PARTS + part]);
      wasm_set(&e->function, to[r * MAX_PARTS + part]);
    }
  }
}

/* --- Blocks of sums --------------------------------------------------------------------------- */

/* Whether rows have elements that a tail's accumulators take. */
static bool has_row_tail(const Emitter *e, const Reducer *reducer) {
  return reducer->along && e->plan->sizes[e->plan->rank - 1] % LANES != 0;
}

/* Returns the most steps of a row's loop that go to one accumulator: to the first one, or to the tail's. */
static int64_t steps_of_row(const Emitter *e, const Reducer *reducer) {
  int64_t size = e->plan->sizes[e->plan->rank - 1], step = (int64_t)reducer->unroll * LANES;
  if (!reducer->along) return size;
  return max_i64(size / step + size % step / LANES, size % LANES);
}

int64_t block_steps(const Emitter *e) { return e->plan->cumulative ? CUMULATIVE_BLOCK : BLOCK; }

void plan_blocks(const Emitter *e, Reducer *reducer) {
  int64_t rows = 1, blocks, steps;
  for (int k = e->plan->rank - e->plan->reduced; k < e->plan->rank - 1; k++) {
    rows *= e->plan->sizes[k];
  }
  reducer->levels = reducer->group = 1;
  reducer->block_rows = 0;
  if (!e->plan->in_blocks || steps_of_row(e, reducer) * rows <= MIN_BLOCKED) return;
  if (reducer->along && reducer->unroll > 2) reducer->group = reducer->unroll / 2;
  steps = steps_of_row(e, reducer);
  if (steps <= BLOCK) reducer->block_rows = 1; /* cumulative ones have one row */
  while (reducer->block_rows && 2 * reducer->block_rows * steps <= BLOCK) reducer->block_rows *= 2;
  blocks =
      reducer->block_rows ? rows / reducer->block_rows : rows * divide_up(steps, block_steps(e));
  for (; blocks > 1 && reducer->levels < MAX_LEVELS; blocks /= BLOCK) reducer->levels++;
}

int *earlier_blocks(const Emitter *e, const Reducer *reducer, int u) {
  return level_accumulator(e, reducer, reducer->levels, u);
}

void new_accumulators(Emitter *e, Reducer *reducer) {
  int locals = e->plan->output_count * MAX_PARTS, level = (MAX_UNROLL + 1) * locals;
  bool cumulative = e->plan->cumulative && reducer->levels > 1;
  int count = level * (reducer->levels + cumulative);
  int64_t unroll = cumulative ? max_i64(reducer->unroll, LINES_APART) : reducer->unroll;
  int *all = ARENA_ARRAY(e->plan->arena, int, count);
  for (int i = 0; i < count; i++) {
    int u = i % level / locals, parts = node_parts(e->plan->outputs[i % locals / MAX_PARTS]);
    bool needed = u < unroll || u == MAX_UNROLL;
    if (i >= level && !(needed && i % MAX_PARTS < parts)) continue;
    all[i] = wasm_local(&e->function, WASM_V128);
  }
  reducer->accumulators = all;
}

void emit_begin_blocks(Emitter *e, const Reducer *reducer) {
  if (reducer->levels == 1) return;
  for (int level = 1; level < reducer->levels + e->plan->cumulative; level++) {
    for (int u = 0; u < sums_at_once(reducer); u++) {
      emit_set_identity(e, level_accumulator(e, reducer, level, u));
    }
    if (has_row_tail(e, reducer)) {
      emit_set_identity(e, level_accumulator(e, reducer, level, MAX_UNROLL));
    }
  }
  wasm_i32(&e->function, 0);
  wasm_set(&e->function, reducer->blocks);
}

/* Adds an accumulator into that of the next level, and starts it again. */
static void emit_raise_one(Emitter *e, const Reducer *reducer, int level, int u) {
  int *accumulators = level_accumulator(e, reducer, level, u);
  emit_combined(e, level_accumulator(e, reducer, level + 1, u), accumulators);
  emit_set_identity(e, accumulators);
}

/* Raises a level's sums if the number of complete blocks is a multiple of `period`, a power of 2. */
static void emit_raise(Emitter *e, const Reducer *reducer, int level, int64_t period) {
  WasmFunction *f = &e->function;
  bool one_lane = e->one_lane;
  if (period > 1) {
    wasm_get(f, reducer->blocks);
    wasm_i32(f, period - 1);
    wasm_op(f, OP_I32_AND);
    wasm_op(f, OP_I32_EQZ);
    wasm_block(f, OP_IF);
  }
  for (int u = 0; u < sums_at_once(reducer); u++) emit_raise_one(e, reducer, level, u);
  if (has_row_tail(e, reducer)) {
    e->one_lane = true;
    emit_raise_one(e, reducer, level, MAX_UNROLL);
    e->one_lane = one_lane;
  }
  if (level + 2 < reducer->levels) emit_raise(e, reducer, level + 1, period * BLOCK);
  if (period > 1) wasm_op(f, OP_END);
}

void emit_count_block(Emitter *e, const Reducer *reducer) {
  emit_advance(e, reducer->blocks, 1);
  emit_raise(e, reducer, 0, reducer->block_rows ? reducer->block_rows : 1);
  for (int u = 0; u < reducer->unroll && e->plan->cumulative; u++) {
    emit_copy(e, earlier_blocks(e, reducer, u), level_accumulator(e, reducer, 1, u));
    for (int level = 2; level < reducer->levels; level++) {
      emit_combined(e, earlier_blocks(e, reducer, u), level_accumulator(e, reducer, level, u));
    }
  }
}

void emit_end_blocks(Emitter *e, const Reducer *reducer, int u) {
  for (int level = 1; level < reducer->levels; level++) {
    emit_combined(e, accumulator(e, reducer, u), level_accumulator(e, reducer, level, u));
  }
}
