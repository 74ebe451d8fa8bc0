/*
** Emits reductions, with all element-wise operations before them in the same loop. A work item is a result.
** The plan chooses by shapes alone whether lanes go along or across the reduced loop (plan/reduce_lanes.c).
**
** A cumulative reduce-window goes across, and stores its accumulator at every step.
**
** Narrow floats are accumulated in f32 and rounded at the end, as a reduce may keep more precision than its
** type. Each step of a window is rounded, as in XLA.
**
** accumulators.c adds long sums in blocks; extreme_emitter.c emits maxima and minima.
*/
#include "codegen/loops/reduce_emitter.h"

#include "base/min_max.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/accumulators.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/pointer_emitter.h"
#include "codegen/loops/value_emitter.h"
#include "plan/reduction.h"

/* Values in registers while emit_group adds a group by halves. */
enum { VALUES = 3 };

/* --- Unrolling ------------------------------------------------------------------------- */

/* Threshold TINY_BODY, SMALL_BODY, MEDIUM_BODY: the numbers of operations up to which a body is computed for MAX_UNROLL, 4
** and 2 vectors at once, as each vector needs registers for its sum and its values. Test: "bodies of loops and reductions,
** by their number of operations" in core/thresholds.test.mjs. */
enum { TINY_BODY = 4, SMALL_BODY = 8, MEDIUM_BODY = 24 };

/* Returns the number of vectors at once: enough independent sums to hide the latency of one, and enough
** adjacent columns to use whole cache lines; fewer if registers get scarce. */
static int unroll_factor(const Emitter *e, int64_t size) {
  int work = 0;
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *node = e->plan->nodes[i];
    if (node->level < LEVEL_ELEMENT) continue;
    if (is_leaf(node) && lane_stride(e, node) > 1) return 1;
    work += node_parts(node);
  }
  bool is_long = size >= (int64_t)4 * MAX_UNROLL * LANES;
  int unroll = work <= TINY_BODY && is_long ? MAX_UNROLL
               : work <= SMALL_BODY         ? 4
               : work <= MEDIUM_BODY        ? 2
                                            : 1;
  while (unroll > 1 && size < (int64_t)unroll * lanes_now(e)) unroll /= 2;
  return unroll;
}

/* --- Combining -------------------------------------------------------------------------------- */

/* Joins two accumulators into the first one. */
static void emit_join(Emitter *e, const Reducer *reducer, const int *accumulators,
                      const int *more) {
  if (reducer->extreme) {
    emit_join_extremes(e, reducer, accumulators, more);
  } else {
    emit_combined(e, accumulators, more);
  }
}

/* Stores the values that have an element per step. */
static void emit_kept(Emitter *e) {
  for (int i = 0; i < e->plan->kept_count; i++) {
    emit_store(e, e->plan->kept[i], e->nodes[e->plan->kept_addresses[i]->id].pointer);
  }
}

/* Computes the present elements into locals, and stores those that are kept. */
static void emit_elements(Emitter *e, const int *values) {
  for (int r = 0; r < e->plan->output_count; r++) {
    for (int part = 0; part < parts_now(e, r); part++) {
      emit_value(e, e->plan->outputs[r], part);
      wasm_set(&e->function, values[r * MAX_PARTS + part]);
    }
  }
  emit_kept(e);
  end_elements(e);
}

/* Combines the present elements into the accumulators. */
static void emit_accumulate(Emitter *e, const Reducer *reducer, const int *accumulators) {
  emit_elements(e, reducer->values);
  if (reducer->ordered) {
    emit_ordered(e, reducer, reducer->values[0]);
    emit_local(e, accumulators[0]);
    emit_local(e, reducer->values[0]);
    emit_simd(e, reducer->ordered);
    wasm_set(&e->function, accumulators[0]);
  } else if (reducer->extreme) {
    emit_more_extreme(e, reducer, accumulators);
  } else {
    emit_combined(e, accumulators, reducer->values);
  }
}

/* Adds `count` vectors from number `first` on into value number `slot`, by halves. */
static void emit_group(Emitter *e, const Reducer *reducer, int first, int count, int slot) {
  ptrdiff_t size = (ptrdiff_t)e->plan->output_count * MAX_PARTS;
  const int *values = reducer->values + slot * size;
  if (count == 1) {
    e->lane_zero = (int64_t)first * lanes_now(e);
    emit_elements(e, values);
    return;
  }
  emit_group(e, reducer, first, count / 2, slot);
  emit_group(e, reducer, first + count / 2, count / 2, slot + 1);
  emit_combined(e, values, values + size);
}

/* Rounds and stores results, `lane_zero` after the output pointers. */
static void emit_store_results(Emitter *e, const Reducer *reducer, const int *accumulators) {
  for (int r = 0; r < e->plan->output_count; r++) {
    PrimitiveType type = output_type(e, r);
    const int *parts = accumulators + (ptrdiff_t)r * MAX_PARTS;
    if (lane_kind(type) == LANES_F32) { /* integers are cut at every step */
      wasm_get(&e->function, parts[0]);
      emit_round(e, type);
      wasm_set(&e->function, parts[0]);
    }
    if (e->plan->addresses) {
      const LoopNode *address = e->plan->addresses[r];
      emit_store_apart(e, type, parts, e->nodes[address->id].pointer, lane_stride(e, address));
    } else {
      emit_store_locals(e, type, parts, reducer->rows->outputs[r]);
    }
  }
}

/* --- The reduced loops ------------------------------------------------------------------------ */

/* Stores the running accumulators as results. (Each step has rounded them.) */
static void emit_store_running(Emitter *e, const Reducer *reducer, int u) {
  const int *accumulators = accumulator(e, reducer, u);
  if (reducer->levels > 1) {
    emit_copy(e, reducer->values, earlier_blocks(e, reducer, u));
    emit_combined(e, reducer->values, accumulators);
    accumulators = reducer->values;
  }
  for (int r = 0; r < e->plan->output_count; r++) {
    const LoopNode *address = e->plan->addresses[r];
    const int *parts = accumulators + (ptrdiff_t)r * MAX_PARTS;
    if (reducer->ordered) {
      wasm_get(&e->function, parts[0]);
      emit_order_key(e, LANES_F32);
      parts = reducer->values + (ptrdiff_t)r * MAX_PARTS;
      wasm_set(&e->function, parts[0]);
    }
    emit_store_apart(e, output_type(e, r), parts, e->nodes[address->id].pointer,
                     lane_stride(e, address));
  }
}

/* --- The innermost loop ------------------------------------------------------------------------ */

/* Emits one iteration. */
static void emit_step(Emitter *e, void *data) {
  const Reducer *reducer = data;
  for (int u = 0; u < sums_at_once(reducer); u++) {
    e->lane_zero = (int64_t)u * lanes_now(e);
    if (reducer->group > 1) {
      emit_group(e, reducer, u * reducer->group, reducer->group, 0);
      emit_combined(e, accumulator(e, reducer, u), reducer->values);
    } else {
      emit_accumulate(e, reducer, accumulator(e, reducer, u));
    }
    if (e->plan->cumulative) emit_store_running(e, reducer, u);
  }
  e->lane_zero = 0;
  emit_advance_leaves(e, reducer->along ? lanes_now(e) * reducer->unroll : 1);
}

static void emit_tail_step(Emitter *e, void *data) {
  const Reducer *reducer = data;
  emit_accumulate(e, reducer, accumulator(e, reducer, MAX_UNROLL));
  emit_advance_leaves(e, 1);
}

/* Loads the accumulators from the result of the step before this call's first one, if there is one. */
static void emit_go_on(Emitter *e, const Reducer *reducer) {
  WasmFunction *f = &e->function;
  wasm_get(f, e->first_step);
  wasm_block(f, OP_IF);
  emit_advance(e, e->first_step, -1);
  emit_pointers(e, reducer->rows->indices);
  emit_advance(e, e->first_step, 1);
  for (int u = 0; u < sums_at_once(reducer); u++) {
    const int *parts = level_accumulator(e, reducer, reducer->levels - 1, u);
    e->lane_zero = (int64_t)u * lanes_now(e);
    for (int r = 0; r < e->plan->output_count; r++) {
      for (int part = 0; part < parts_now(e, r); part++) {
        emit_value(e, e->plan->addresses[r], part);
        wasm_set(f, parts[r * MAX_PARTS + part]);
      }
    }
    emit_ordered(e, reducer, parts[0]);
    if (reducer->levels == 1) continue;
    emit_copy(e, earlier_blocks(e, reducer, u), parts);
    emit_set_identity(e, accumulator(e, reducer, u));
  }
  e->lane_zero = 0;
  wasm_op(f, OP_END);
}

/* Emits the loop over `step` elements at a time, block by block if a row has several. */
static void emit_blocks(Emitter *e, Reducer *reducer, int64_t step) {
  WasmFunction *f = &e->function;
  if (reducer->levels == 1 || reducer->block_rows) {
    emit_counted_loop(e, reducer->steps, step, emit_step, reducer);
    return;
  }
  wasm_block(f, OP_LOOP);
  wasm_get(f, reducer->steps); /* block = min(steps, block_steps * step) */
  wasm_i32(f, block_steps(e) * step);
  wasm_get(f, reducer->steps);
  wasm_i32(f, block_steps(e) * step);
  wasm_op(f, OP_I32_LT_S);
  wasm_op(f, OP_SELECT);
  wasm_set(f, reducer->block);
  wasm_get(f, reducer->steps);
  wasm_get(f, reducer->block);
  wasm_op(f, OP_I32_SUB);
  wasm_set(f, reducer->steps);
  emit_counted_loop(e, reducer->block, step, emit_step, reducer);
  emit_count_block(e, reducer);
  wasm_get(f, reducer->steps);
  wasm_get(f, reducer->block); /* fewer than a step are left */
  wasm_op(f, OP_I32_ADD);
  wasm_tee(f, reducer->steps);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_GE_S);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_op(f, OP_END);
}

static void emit_innermost(Emitter *e, const Reducer *reducer) {
  int64_t size = e->plan->sizes[e->plan->rank - 1];
  Reducer unrolled = *reducer, single = *reducer;
  single.unroll = single.group = 1;
  if (e->counts_steps) emit_go_on(e, reducer);
  emit_pointers(e, reducer->rows->indices);
  emit_level(e, LEVEL_ROW);
  if (e->counts_steps) {
    wasm_get(&e->function, e->steps);
  } else {
    wasm_i32(&e->function, size);
  }
  wasm_set(&e->function, reducer->steps);
  if (!reducer->along) {
    emit_blocks(e, &unrolled, 1);
    return;
  }
  int lanes = lanes_now(e), dense = e->dense;
  int64_t step = lanes * reducer->unroll;
  if (size >= step) emit_blocks(e, &unrolled, step);
  if (size % step >= lanes) emit_counted_loop(e, reducer->steps, lanes, emit_step, &single);
  if (size % lanes == 0) return;
  e->one_lane = true;
  e->dense = 0;
  emit_counted_loop(e, reducer->steps, 1, emit_tail_step, &single);
  e->one_lane = false;
  e->dense = dense;
}

/* Emits the reduced loops from number k on. */
static void emit_reduced_loops(Emitter *e, const Reducer *reducer, int k) {
  WasmFunction *f = &e->function;
  int *index = &reducer->rows->indices[k];
  if (k == e->plan->rank - 1) {
    *index = e->counts_steps ? e->first_step : NO_LOCAL;
    emit_innermost(e, reducer);
    return;
  }
  *index = wasm_local(f, WASM_I32);
  wasm_i32(f, 0);
  wasm_set(f, *index);
  wasm_block(f, OP_LOOP);
  emit_reduced_loops(e, reducer, k + 1);
  if (reducer->block_rows && k == e->plan->rank - 2) emit_count_block(e, reducer);
  emit_advance(e, *index, 1);
  wasm_get(f, *index);
  wasm_i32(f, e->plan->sizes[k]);
  wasm_op(f, OP_I32_LT_S);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_op(f, OP_END);
  wasm_local_release(f, *index);
}

/* Emits the innermost loop unrolled, at constant indices. */
static void emit_written_innermost(Emitter *e, const Reducer *reducer) {
  int64_t steps = e->plan->sizes[e->plan->rank - 1], done = 0;
  emit_pointers_at(e, reducer->at);
  emit_level(e, LEVEL_ROW);
  for (; reducer->along && done + LANES <= steps; done += LANES) {
    emit_accumulate(e, reducer, accumulator(e, reducer, 0));
    if (done + LANES < steps) emit_advance_leaves(e, LANES);
  }
  bool one_lane = e->one_lane;
  e->one_lane |= reducer->along;
  for (; done < steps; done++) {
    emit_accumulate(e, reducer, accumulator(e, reducer, reducer->along ? MAX_UNROLL : 0));
    if (done + 1 < steps) emit_advance_leaves(e, 1);
  }
  e->one_lane = one_lane;
}

static void emit_written_loops(Emitter *e, const Reducer *reducer, int k) {
  reducer->at[k] = 0;
  if (k == e->plan->rank - 1) {
    emit_written_innermost(e, reducer);
    return;
  }
  for (; reducer->at[k] < e->plan->sizes[k]; reducer->at[k]++) {
    emit_written_loops(e, reducer, k + 1);
  }
}

static void emit_reduced(Emitter *e, const Reducer *reducer) {
  if (reducer->at) {
    emit_written_loops(e, reducer, reducer->rows->rank);
  } else {
    emit_reduced_loops(e, reducer, reducer->rows->rank);
  }
}

/* --- Along ------------------------------------------------------------------------------------ */

/* Combines dense lanes into the first one, and extends its value to a lane of 32 bits. */
static void emit_combine_dense(Emitter *e, const Reducer *reducer, const int *total) {
  WasmFunction *f = &e->function;
  int end = e->plan->output_count * MAX_PARTS;
  uint8_t lanes[16];
  for (int distance = 8; distance >= e->dense; distance /= 2) {
    for (int i = 0; i < 16; i++) lanes[i] = (uint8_t)((i + distance) % 16);
    for (int at = 0; at < end; at += MAX_PARTS) {
      wasm_get(f, total[at]);
      wasm_get(f, total[at]);
      wasm_shuffle8(f, lanes);
      wasm_set(f, reducer->values[at]);
    }
    emit_combined(e, total, reducer->values);
  }
  e->dense = 0;
  for (int at = 0; at < end; at += MAX_PARTS) {
    PrimitiveType type = output_type(e, at / MAX_PARTS);
    wasm_get(f, total[at]);
    emit_round(e, type == PRED ? S8 : type);
    wasm_set(f, total[at]);
  }
}

/* Combines all lanes of the first accumulators into lane 0. */
static void emit_combine_lanes(Emitter *e, const Reducer *reducer, const int *total) {
  WasmFunction *f = &e->function;
  e->one_lane = true;
  if (e->dense) {
    emit_combine_dense(e, reducer, total);
    return;
  }
  if (node_parts(e->plan->outputs[0]) == 2) emit_combined(e, total, &total[1]);
  for (int lanes = node_parts(e->plan->outputs[0]) == 2 ? 1 : 2; lanes >= 1; lanes /= 2) {
    bool halves = lanes == 2 || node_parts(e->plan->outputs[0]) == 2; /* 64 bits from 64 bits on */
    int step = reducer->extreme ? 1 : MAX_PARTS;
    int end = reducer->extreme ? SIGNS + 1 : e->plan->output_count * MAX_PARTS;
    for (int at = 0; at < end; at += step) {
      wasm_get(f, total[at]);
      wasm_get(f, total[at]);
      wasm_shuffle32(f, halves ? 2 : 1, 3, 2, 3);
      wasm_set(f, reducer->values[at]);
    }
    emit_join(e, reducer, total, reducer->values);
  }
}

/* Accumulates all elements of a result, and puts it into the tail's lane 0. */
static void emit_total_along(Emitter *e, const Reducer *reducer) {
  WasmFunction *f = &e->function;
  int *total = accumulator(e, reducer, 0), *tail = accumulator(e, reducer, MAX_UNROLL);
  int dense = e->dense;
  e->one_lane = false;
  bool has_tail = e->plan->sizes[e->plan->rank - 1] % lanes_now(e) != 0;
  for (int u = 0; u < sums_at_once(reducer); u++) {
    emit_set_identity(e, accumulator(e, reducer, u));
    emit_begin_extreme(e, reducer, accumulator(e, reducer, u));
  }
  e->dense = 0;
  if (has_tail) {
    emit_set_identity(e, tail);
    emit_begin_extreme(e, reducer, tail);
  }
  e->dense = dense;
  emit_begin_blocks(e, reducer);
  emit_reduced(e, reducer);
  for (int u = 0; u < sums_at_once(reducer); u++) emit_end_blocks(e, reducer, u);
  for (int distance = 1; distance < sums_at_once(reducer); distance *= 2) {
    for (int u = 0; u + distance < sums_at_once(reducer); u += 2 * distance) {
      emit_join(e, reducer, accumulator(e, reducer, u), accumulator(e, reducer, u + distance));
    }
  }
  emit_combine_lanes(e, reducer, total);
  if (has_tail) {
    emit_end_blocks(e, reducer, MAX_UNROLL);
    emit_join(e, reducer, total, tail);
  }
  emit_end_extreme(e, reducer, total);
  for (int r = 0; r < e->plan->output_count; r++) {
    emit_value(e, e->plan->inits[r], 0);
    wasm_set(f, tail[r * MAX_PARTS]);
  }
  emit_combined(e, tail, total);
}

static void emit_result_along(Emitter *e, void *data) {
  const Reducer *reducer = data;
  int dense = e->dense;
  emit_total_along(e, reducer);
  emit_store_results(e, reducer, accumulator(e, reducer, MAX_UNROLL));
  e->one_lane = false;
  e->dense = dense;
  emit_advance_outputs(e, reducer->rows, 1);
  emit_advance(e, reducer->rows->indices[reducer->rows->rank - 1], 1);
}

/* --- Across ----------------------------------------------------------------------------------- */

static void emit_totals_across(Emitter *e, const Reducer *reducer) {
  for (int u = 0; u < sums_at_once(reducer); u++) {
    for (int r = 0; r < e->plan->output_count; r++) {
      for (int part = 0; part < parts_now(e, r); part++) {
        emit_value(e, e->plan->inits[r], part);
        wasm_set(&e->function, accumulator(e, reducer, u)[r * MAX_PARTS + part]);
      }
    }
    emit_begin_extreme(e, reducer, accumulator(e, reducer, u));
    emit_ordered(e, reducer, accumulator(e, reducer, u)[0]);
  }
  emit_begin_blocks(e, reducer);
  emit_reduced(e, reducer);
  for (int u = 0; u < sums_at_once(reducer); u++) {
    if (!e->plan->cumulative) emit_end_blocks(e, reducer, u);
    emit_end_extreme(e, reducer, accumulator(e, reducer, u));
  }
}

static void emit_results_across(Emitter *e, void *data) {
  const Reducer *reducer = data;
  int step = lanes_now(e) * reducer->unroll;
  emit_totals_across(e, reducer);
  for (int u = 0; u < reducer->unroll && !e->plan->cumulative; u++) {
    e->lane_zero = (int64_t)u * lanes_now(e);
    emit_store_results(e, reducer, accumulator(e, reducer, u));
  }
  e->lane_zero = 0;
  emit_advance_outputs(e, reducer->rows, step);
  emit_advance(e, reducer->rows->indices[reducer->rows->rank - 1], step);
}

/* --- The kernel ------------------------------------------------------------------------------- */

/* Emits cumulative lines that are not adjacent. Several go at once, as each step waits for the one before; as
** scalars, as vectors would have to be assembled and split. */
static void emit_lines_apart(Emitter *e, const Reducer *reducer) {
  Reducer several = *reducer, single = *reducer;
  several.unroll = LINES_APART;
  single.unroll = 1;
  e->one_lane = true;
  emit_counted_loop(e, reducer->rows->count, LINES_APART, emit_results_across, &several);
  emit_counted_loop(e, reducer->rows->count, 1, emit_results_across, &single);
  e->one_lane = false;
}

/* Emits the loop over `unroll` vectors of results at a time, if a row may have as many. */
static void emit_vectors_across(Emitter *e, const Reducer *reducer, int unroll) {
  Reducer some = *reducer;
  int64_t step = (int64_t)lanes_now(e) * unroll;
  some.unroll = unroll;
  if (e->plan->sizes[reducer->rows->rank - 1] >= step) {
    emit_counted_loop(e, reducer->rows->count, step, emit_results_across, &some);
  }
}

/* Returns the registers that hold the sums of one vector of results. */
static int accumulated_parts(const Emitter *e) {
  int parts = 0;
  for (int r = 0; r < e->plan->output_count; r++) parts += node_parts(e->plan->outputs[r]);
  return e->plan->cumulative ? 2 * parts : parts;
}

static void emit_reduce_row(Emitter *e, Rows *rows) {
  int locals = e->plan->output_count * MAX_PARTS;
  int64_t row = e->plan->sizes[rows->rank - 1], steps = e->plan->sizes[e->plan->rank - 1];
  Reducer reducer = {.rows = rows, .along = loop_plan_goes_along(e->plan)};
  int64_t size = reducer.along ? steps : row;
  e->dense = dense_lanes(e);
  if (size < lanes_now(e)) e->dense = 0;
  reducer.extreme = extreme_instruction(e->plan);
  reducer.ordered = ordered_instruction(e->plan);
  reducer.unroll = unroll_factor(e, size);
  if (reducer.extreme && reducer.unroll > 4) reducer.unroll = 4; /* of three registers each */
  if (e->plan->kept_count && reducer.unroll > 2) reducer.unroll = 2;
  int accumulated = reducer.along ? e->plan->output_count : 1; /* per unrolled step */
  while (reducer.unroll > 1 && reducer.unroll * accumulated > MAX_UNROLL) reducer.unroll /= 2;
  plan_blocks(e, &reducer);
  int parts = !reducer.along && reducer.levels > 1 ? accumulated_parts(e) : 0;
  while (reducer.unroll > 1 && reducer.unroll * parts > MAX_UNROLL) reducer.unroll /= 2;
  new_accumulators(e, &reducer);
  reducer.values = new_vectors(e, VALUES * locals);
  reducer.steps = wasm_local(&e->function, WASM_I32);
  reducer.block = wasm_local(&e->function, WASM_I32);
  reducer.blocks = wasm_local(&e->function, WASM_I32);
  if (reducer.along) {
    emit_counted_loop(e, rows->count, 1, emit_result_along, &reducer);
    e->dense = 0;
    return;
  }
  if (e->plan->cumulative && lane_stride(e, e->plan->addresses[0]) != 1) {
    emit_lines_apart(e, &reducer);
    return;
  }
  if (reducer.unroll > 1) emit_vectors_across(e, &reducer, reducer.unroll);
  if (e->dense) emit_vectors_across(e, &reducer, 1);
  e->dense = 0;
  emit_vectors_across(e, &reducer, 1);
  e->one_lane = true;
  emit_vectors_across(e, &reducer, 1);
  e->one_lane = false;
}

void emit_reduce_kernel(Emitter *e) {
  Rows rows = {.rank = e->plan->rank - e->plan->reduced};
  emit_rows(e, &rows, emit_reduce_row);
}

/* ---- Unrolled, in a region ---- */

int64_t written_reduce_size(const LoopPlan *plan) {
  int row = plan->rank - plan->reduced - 1;
  int64_t pieces = plan->count + plan->combine_count;
  bool along = loop_plan_goes_along(plan);
  if (plan->reduce->opcode != HLO_REDUCE || plan->kept_count) return INT64_MAX;
  for (int k = 0; k < plan->rank; k++) {
    int64_t size = plan->sizes[k];
    bool in_lanes = along ? k == plan->rank - 1 : k == row;
    pieces *= in_lanes ? size / LANES + size % LANES : size;
    if (pieces > INT32_MAX) return INT64_MAX;
  }
  return pieces;
}

/* Allocates the accumulators of one vector and of the tail, and the values after the first of these. */
static int *written_accumulators(Emitter *e, int locals) {
  int *all = ARENA_ARRAY(e->plan->arena, int, (MAX_UNROLL + 1) * locals);
  for (int i = 0; i < 2 * locals; i++) all[i] = wasm_local(&e->function, WASM_V128);
  for (int i = 0; i < locals; i++) {
    all[MAX_UNROLL * locals + i] = wasm_local(&e->function, WASM_V128);
  }
  return all;
}

static void release_accumulators(Emitter *e, const int *all, int locals) {
  for (int i = 0; i < 2 * locals; i++) wasm_local_release(&e->function, all[i]);
  for (int i = 0; i < locals; i++) {
    wasm_local_release(&e->function, all[MAX_UNROLL * locals + i]);
  }
}

void emit_written_reduce(Emitter *e, int64_t *indices, int64_t position, int *outputs) {
  const LoopPlan *plan = e->plan;
  int locals = plan->output_count * MAX_PARTS, row = plan->rank - plan->reduced - 1;
  Rows rows = {.rank = row + 1, .outputs = outputs};
  Reducer reducer = {.rows = &rows, .unroll = 1, .group = 1, .levels = 1, .at = indices};
  reducer.along = loop_plan_goes_along(plan);
  reducer.extreme = extreme_instruction(plan);
  reducer.accumulators = written_accumulators(e, locals);
  reducer.values = reducer.accumulators + locals;
  emit_written_outputs(e, position, outputs);
  for (int64_t i = 0; i < plan->sizes[row]; i += e->one_lane ? 1 : LANES) {
    e->one_lane = reducer.along || i + LANES > plan->sizes[row];
    indices[row] = i;
    if (reducer.along) {
      emit_total_along(e, &reducer);
    } else {
      emit_totals_across(e, &reducer);
    }
    e->lane_zero = i;
    emit_store_results(e, &reducer, accumulator(e, &reducer, reducer.along ? MAX_UNROLL : 0));
    e->lane_zero = 0;
  }
  e->one_lane = false;
  release_accumulators(e, reducer.accumulators, locals);
}
