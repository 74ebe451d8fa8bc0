/*
** Emits regions as functions; region.h describes these. Scalars and small vectors are in locals (cells.c);
** they are stored to memory where a region returns after an iteration of a loop. Other values go through
** memory: the next step finds them in the first-level cache.
*/
#include "codegen/region_emitter.h"

#include "codegen/loops/emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/pointer_emitter.h"
#include "codegen/loops/reduce_emitter.h"
#include "codegen/loops/value_emitter.h"

typedef struct RegionEmitter {
  WasmFunction function;
  const Region *region;
  Arena *arena;       /* scratch */
  const Cells *cells; /* of the present loop */
} RegionEmitter;

/* --- Loops ------------------------------------------------------------------------------------ */

/* Returns the number of vectors and single lanes for a row's elements. */
static int64_t row_pieces(int64_t size) { return size / LANES + size % LANES; }

/* Returns the number of the loop along a row of results. */
static int row_loop(const LoopPlan *plan) { return plan->rank - plan->reduced - 1; }

static int64_t row_count(const LoopPlan *plan) {
  int64_t rows = 1;
  for (int k = 0; k < row_loop(plan); k++) rows *= plan->sizes[k];
  return rows;
}

/* Whether a row's results are not adjacent; then they are stored one by one. */
static bool is_apart(const LoopPlan *plan) {
  return plan->addresses && plan->addresses[0]->offset.coefficient[plan->rank - 1] != 1;
}

static int64_t written_size(const LoopPlan *plan) {
  if (plan->reduce) return written_reduce_size(plan);
  int64_t size = plan->sizes[plan->rank - 1];
  return row_count(plan) * (is_apart(plan) ? size : row_pieces(size)) * plan->count;
}

/* Whether a loop is short enough to be unrolled element by element. */
static bool is_short(const LoopPlans *plans) {
  /* Threshold MAX_NODES. Test: "dense steps: values of a region, results of a region, moves" in
  ** core/thresholds_programs.test.mjs. */
  enum { MAX_NODES = 160 };
  int64_t size = 0;
  for (int b = 0; b < plans->count && size <= MAX_NODES; b++) {
    size += written_size(&plans->items[b]);
  }
  return size <= MAX_NODES;
}

static void emit_piece(Emitter *e, const int *outputs, int64_t lane_zero, bool one_lane) {
  e->lane_zero = lane_zero;
  e->one_lane = one_lane;
  emit_store_outputs(e, outputs);
}

/* Whether dead lanes are harmless: none reads or writes memory beyond its array. */
static bool may_have_tail(const Emitter *e, const int *outputs) {
  for (int i = 0; i < e->plan->output_count; i++) {
    if (outputs[i] > NO_LOCAL) return false;
  }
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *node = e->plan->nodes[i];
    PrimitiveType type = node_type(node);
    if (type_is_complex(type) || (is_narrow_float(type) && type_bits(type) <= 8)) return false;
    bool moves = node->level == LEVEL_ELEMENT && lane_stride(e, node) != 0;
    if (node->kind == NODE_INPUT && moves && !is_held_leaf(e, node)) return false;
  }
  return true;
}

/* Emits one row, unrolled; `position` is the number of its first result. */
static void emit_written_row(Emitter *e, const int64_t *indices, int64_t position,
                             const int *outputs) {
  int64_t size = e->plan->sizes[e->plan->rank - 1], done = 0;
  bool one_by_one = is_apart(e->plan);
  if (!e->plan->addresses) emit_written_outputs(e, position, outputs);
  emit_pointers_at(e, indices);
  emit_level(e, LEVEL_ROW);
  for (; done + LANES <= size && !one_by_one; done += LANES) emit_piece(e, outputs, done, false);
  if (size - done > 1 && !one_by_one && may_have_tail(e, outputs)) {
    e->tail = (int)(size - done);
    emit_piece(e, outputs, done, false);
    e->tail = 0;
    done = size;
  }
  for (; done < size; done++) emit_piece(e, outputs, done, true);
  e->lane_zero = 0;
  e->one_lane = false;
}

static void emit_written_loop(RegionEmitter *r, const LoopPlan *plan, const RegionStep *step) {
  Emitter e = {.plan = plan,
               .function = r->function,
               .operand_count = step->fusion->operand_count,
               .slices = step->slices,
               .cells = r->cells};
  int row_at = row_loop(plan);
  int64_t indices[MAX_LOOPS] = {0}, rows = row_count(plan), size = plan->sizes[row_at];
  int in_use, *outputs = ARENA_ARRAY(r->arena, int, plan->output_count);
  bool *was_free = wasm_locals_in_use(&e.function, &in_use);
  init_nodes(&e);
  e.stored_at = ARENA_ARRAY(r->arena, int64_t, plan->output_count);
  for (int i = 0; i < plan->output_count; i++) {
    bool held = is_held(e.cells, &e.slices[e.operand_count + i]);
    outputs[i] = held ? held_result(i) : wasm_local(&e.function, WASM_I32);
  }
  emit_bases(&e);
  e.one_lane = !plan->reduce && size < LANES && (size == 1 || !may_have_tail(&e, outputs));
  emit_level(&e, LEVEL_CALL);
  for (int64_t row = 0; row < rows; row++) {
    if (plan->reduce) {
      emit_written_reduce(&e, indices, row * size, outputs);
    } else {
      emit_written_row(&e, indices, row * size, outputs);
    }
    for (int k = row_at - 1; k >= 0 && ++indices[k] == plan->sizes[k]; k--) indices[k] = 0;
  }
  wasm_locals_restore(&e.function, was_free, in_use);
  r->function = e.function;
}

static void emit_called_loop(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  for (int i = 0; i < step->slice_count; i++) {
    emit_slice_address(f, &r->region->list, 0);
    emit_slice_address(f, &step->slices[i], 0);
    wasm_memory(f, OP_I32_STORE, 4 * (int64_t)i);
  }
  emit_slice_address(f, &r->region->list, 0);
  wasm_i64(f, 0);
  wasm_i64(f, step->units);
  wasm_call_function(f, step->function);
}

/* Returns the plans of a loop if it is to be inlined, else NULL. */
static LoopPlans *written_plans(Arena *arena, const Instruction *fusion) {
  const Instruction *root = fusion->a->calls->root;
  ArenaMark mark = arena_mark(arena);
  LoopPlans plans;
  if (root->opcode != HLO_SCATTER && root->opcode != HLO_REDUCE_WINDOW &&
      loop_plans_fusion(&plans, arena, fusion->a->calls)) {
    size_t used = offsetof(LoopPlans, items) + (size_t)plans.count * sizeof plans.items[0];
    if (is_short(&plans)) return arena_copy(arena, &plans, used);
  }
  arena_release(arena, mark);
  return NULL;
}

static void plan_loops(const RegionSteps *steps, Arena *arena, WrittenFunction *written) {
  for (int i = 0; i < steps->count; i++) {
    RegionStep *step = &steps->items[i];
    if (step->kind == REGION_LOOP) {
      WrittenFunction *function = &written[step->function];
      if (!function->planned) function->plans = written_plans(arena, step->fusion);
      function->planned = true;
      step->plans = function->plans;
      function->uses += step->plans != NULL;
    }
    if (step->kind == REGION_WHILE) {
      plan_loops(&step->condition, arena, written);
      plan_loops(&step->body, arena, written);
    }
    for (int b = 0; step->kind == REGION_CONDITIONAL && b < step->branch_count; b++) {
      plan_loops(&step->branches[b], arena, written);
    }
  }
}

void plan_region(const Region *region, Arena *arena, WrittenFunction *written) {
  plan_loops(&region->steps, arena, written);
}

/* ---- Cells ----------------------------------------------------------------------------- */

/* Loads the cells where a loop or the region begins: all of them if it has inner loops, where a call may resume. */
static void begin_cells(RegionEmitter *r, Cells *cells, const RegionSteps *const *steps, int count,
                        bool has_inner) {
  cells->outer = r->cells;
  cells_find(cells, &r->function, r->arena, steps, count);
  emit_load_cells(&r->function, cells, has_inner);
  r->cells = cells;
}

static void end_cells(RegionEmitter *r, const Cells *cells) {
  emit_store_cells(&r->function, cells);
  cells_release(cells, &r->function);
  r->cells = cells->outer;
}

/* Pushes the address `at` plus `shift` after a slice's start; nothing for a slice in cells. */
static void emit_target_at(RegionEmitter *r, const BufferSlice *slice, int64_t at, int shift) {
  WasmFunction *f = &r->function;
  if (is_held(r->cells, slice)) return;
  emit_slice_address(f, slice, at);
  if (shift == NO_LOCAL) return;
  wasm_get(f, shift);
  wasm_op(f, OP_I32_ADD);
}

/* Pushes a vector that repeats the `bytes` bytes there, at least in its first `live` bytes. */
static void emit_bytes(RegionEmitter *r, const BufferSlice *slice, int64_t at, int shift, int bytes,
                       int live) {
  WasmFunction *f = &r->function;
  if (is_held(r->cells, slice)) {
    int64_t from[16];
    for (int k = 0; k < 16; k++) from[k] = at + k % bytes;
    emit_held(f, r->cells, slice, from, live);
    return;
  }
  emit_target_at(r, slice, at, shift);
  const BytesMove *move = bytes_moves;
  while (move->bytes != bytes) move++;
  wasm_simd_memory(f, move->load, 0);
}

/* Stores the first bytes of the vector on the stack at the target below it. */
static void emit_to(RegionEmitter *r, const BufferSlice *slice, int64_t at, const BytesMove *move) {
  if (is_held(r->cells, slice)) {
    emit_hold(&r->function, r->cells, slice, at, move->bytes);
  } else {
    emit_store_move(&r->function, move, 0);
  }
}

static void emit_loop(RegionEmitter *r, const RegionStep *step) {
  if (step->plans) {
    for (int b = 0; b < step->plans->count; b++) {
      emit_written_loop(r, &step->plans->items[b], step);
    }
  } else {
    emit_called_loop(r, step);
  }
}

/* --- Moves ------------------------------------------------------------------------------------ */

/* Computes the shift of a step's moves into a local; NO_LOCAL: there is none. */
static int emit_shift_of(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  if (!step->start_count) return NO_LOCAL;
  int shift = wasm_local(f, WASM_I32);
  for (int i = 0; i < step->start_count; i++) {
    emit_integer(f, r->cells, &step->starts[i].slice, step->starts[i].type);
    emit_slice_start(f, step->starts[i].type, step->starts[i].max_start, step->starts[i].in_range);
    wasm_i32(f, step->starts[i].stride);
    wasm_op(f, OP_I32_MUL);
    if (i > 0) {
      wasm_get(f, shift);
      wasm_op(f, OP_I32_ADD);
    }
    wasm_set(f, shift);
  }
  return shift;
}

/* Emits a move. A fill keeps its element in all lanes of a local. */
static void emit_move(RegionEmitter *r, const RegionMove *move, const RegionStep *step, int shift) {
  /* Threshold MAX_WRITTEN. Test: "dense steps: values of a region, results of a region, moves" in
  ** core/thresholds_programs.test.mjs. */
  enum { MAX_WRITTEN = 64 };
  WasmFunction *f = &r->function;
  const BufferSlice *from = &step->slices[move->from_slice], *to = &step->slices[move->to_slice];
  int from_shift = step->shifts_target || move->is_fixed ? NO_LOCAL : shift;
  int to_shift = step->shifts_target && !move->is_fixed ? shift : NO_LOCAL;
  int value = NO_LOCAL;
  if (move->element) {
    value = wasm_local(f, WASM_V128);
    emit_bytes(r, from, move->from, NO_LOCAL, move->element, 16);
    wasm_set(f, value);
  } else if (move->bytes > MAX_WRITTEN) {
    emit_target_at(r, to, move->to, to_shift);
    emit_target_at(r, from, move->from, from_shift);
    wasm_i32(f, move->bytes);
    wasm_memory_copy(f);
    return;
  }
  const BytesMove *piece = bytes_moves;
  for (int64_t done = 0; done < move->bytes; done += piece->bytes) {
    while (done + piece->bytes > move->bytes) piece++;
    emit_target_at(r, to, move->to + done, to_shift);
    if (move->element) {
      wasm_get(f, value);
    } else {
      emit_bytes(r, from, move->from + done, from_shift, piece->bytes, piece->bytes);
    }
    emit_to(r, to, move->to + done, piece);
  }
  if (move->element) wasm_local_release(f, value);
}

static void emit_moves(RegionEmitter *r, const RegionStep *step) {
  int shift = emit_shift_of(r, step);
  for (int i = 0; i < step->move_count; i++) {
    emit_move(r, &step->moves[i], step, shift);
  }
  if (shift != NO_LOCAL) wasm_local_release(&r->function, shift);
}

/* --- Calls ------------------------------------------------------------------------------------ */

static void emit_step_call(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  wasm_get(f, REGION_CONTEXT);
  wasm_i32(f, (int64_t)(uintptr_t)step->call);
  wasm_call(f, "xla_region_step", SIGNATURE_STEP);
  wasm_op(f, OP_I32_EQZ);
  wasm_block(f, OP_IF);
  wasm_i32(f, -1);
  wasm_op(f, OP_RETURN);
  wasm_op(f, OP_END);
}

/* --- Control flow ----------------------------------------------------------------------------- */

static void emit_steps(RegionEmitter *r, const RegionSteps *steps);

static bool has_loops(const RegionStep *step) { return step->end_loop > step->first_loop; }

/* Pushes whether `resume` is one of the loops [first, end). */
static void emit_resumes_in(WasmFunction *f, int first, int end) {
  wasm_get(f, REGION_RESUME);
  wasm_i32(f, first);
  wasm_op(f, OP_I32_SUB);
  wasm_i32(f, end - first);
  wasm_op(f, OP_I32_LT_U);
}

static void emit_clear_resume(WasmFunction *f) {
  wasm_i32(f, 0);
  wasm_set(f, REGION_RESUME);
}

/* An iteration takes fuel even if its condition and body have no steps, one unit for each. */
enum { ITERATION_COST = 2 };

/* Emits the end of a loop's iteration: takes fuel, and returns from the region if none is left. */
static void emit_burn(RegionEmitter *r, const RegionStep *loop) {
  WasmFunction *f = &r->function;
  int64_t cost =
      ITERATION_COST + region_steps_cost(&loop->condition) + region_steps_cost(&loop->body);
  wasm_get(f, REGION_FUEL);
  wasm_i32(f, cost < 1 << 24 ? cost : 1 << 24);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, REGION_FUEL);
  wasm_i32(f, 0);
  wasm_op(f, OP_I32_LT_S);
  wasm_block(f, OP_IF);
  emit_store_all_cells(f, r->cells);
  wasm_i32(f, loop->first_loop);
  wasm_op(f, OP_RETURN);
  wasm_op(f, OP_END);
}

/* Emits the condition and, if it is false, a branch out of the loop by `depth` blocks. */
static void emit_test(RegionEmitter *r, const RegionStep *step, int depth) {
  WasmFunction *f = &r->function;
  emit_clear_resume(f);
  emit_steps(r, &step->condition);
  emit_integer(f, r->cells, &step->slices[0], PRED);
  wasm_op(f, OP_I64_EQZ);
  wasm_branch(f, OP_BR_IF, depth);
}

static void emit_while(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  bool has_inner = step->end_loop > step->first_loop + 1;
  const RegionSteps *const steps[] = {&step->condition, &step->body};
  Cells cells = {.begin = step->begin, .end = step->end};
  begin_cells(r, &cells, steps, 2, has_inner);
  wasm_block(f, OP_BLOCK);
  wasm_block(f, OP_LOOP);
  if (has_inner) { /* if an inner loop is resumed, this one's condition was true */
    emit_resumes_in(f, step->first_loop + 1, step->end_loop);
    wasm_op(f, OP_I32_EQZ);
    wasm_block(f, OP_IF);
    emit_test(r, step, 2);
    wasm_op(f, OP_END);
  } else {
    emit_test(r, step, 1);
  }
  emit_steps(r, &step->body);
  emit_burn(r, step);
  wasm_branch(f, OP_BR, 0);
  wasm_op(f, OP_END);
  wasm_op(f, OP_END);
  end_cells(r, &cells);
}

/* Sets the number of the branch to take. It is taken from `resume` if a loop in a branch is resumed, as the
** index may be overwritten by then. */
static void emit_branch_number(RegionEmitter *r, const RegionStep *step, int number) {
  WasmFunction *f = &r->function;
  emit_integer(f, r->cells, &step->slices[0], step->predicated ? PRED : S32);
  if (step->predicated) {
    wasm_op(f, OP_I64_EQZ);
    wasm_set(f, number);
  } else {
    wasm_op(f, OP_I32_WRAP_I64);
    wasm_tee(f, number);
    wasm_i32(f, step->branch_count - 1); /* also for a negative index */
    wasm_get(f, number);
    wasm_i32(f, step->branch_count);
    wasm_op(f, OP_I32_LT_U);
    wasm_op(f, OP_SELECT);
    wasm_set(f, number);
  }
  if (!has_loops(step)) return;
  for (int b = 0; b < step->branch_count; b++) {
    const RegionSteps *branch = &step->branches[b];
    int first = 0, end = 0;
    for (int i = 0; i < branch->count; i++) {
      if (!has_loops(&branch->items[i])) continue;
      if (!first) first = branch->items[i].first_loop;
      end = branch->items[i].end_loop;
    }
    if (!first) continue;
    wasm_i32(f, b);
    wasm_get(f, number);
    emit_resumes_in(f, first, end);
    wasm_op(f, OP_SELECT);
    wasm_set(f, number);
  }
}

static void emit_conditional(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  int number = wasm_local(f, WASM_I32);
  emit_branch_number(r, step, number);
  wasm_block(f, OP_BLOCK);
  for (int b = 0; b < step->branch_count; b++) {
    wasm_get(f, number);
    wasm_i32(f, b);
    wasm_op(f, OP_I32_EQ);
    wasm_block(f, OP_IF);
    emit_steps(r, &step->branches[b]);
    wasm_branch(f, OP_BR, 1);
    wasm_op(f, OP_END);
  }
  wasm_op(f, OP_END);
  wasm_local_release(f, number);
}

static void emit_step(RegionEmitter *r, const RegionStep *step) {
  switch (step->kind) {
  case REGION_LOOP: emit_loop(r, step); break;
  case REGION_MOVE: emit_moves(r, step); break;
  case REGION_CALL: emit_step_call(r, step); break;
  case REGION_WHILE: emit_while(r, step); break;
  case REGION_CONDITIONAL: emit_conditional(r, step); break;
  }
}

/* Emits steps. If a loop is resumed, the steps before it are skipped, as they were done already. */
static void emit_steps(RegionEmitter *r, const RegionSteps *steps) {
  WasmFunction *f = &r->function;
  int loops = 0;
  for (int i = 0; i < steps->count; i++) loops += has_loops(&steps->items[i]);
  for (int i = 0; i < steps->count;) {
    const RegionStep *step = &steps->items[i];
    bool guarded = has_loops(step) ? loops > 1 : loops > 0;
    if (guarded) {
      wasm_get(f, REGION_RESUME);
      wasm_op(f, OP_I32_EQZ);
      if (has_loops(step)) {
        emit_resumes_in(f, step->first_loop, step->end_loop);
        wasm_op(f, OP_I32_OR);
      }
      wasm_block(f, OP_IF);
    }
    bool loop = has_loops(step);
    do {
      emit_step(r, &steps->items[i++]);
    } while (!loop && i < steps->count && !has_loops(&steps->items[i]));
    if (guarded) wasm_op(f, OP_END);
  }
}

void emit_region(WasmModule *module, const Region *region) {
  RegionEmitter r = {.region = region, .arena = arena_new()};
  const RegionSteps *const steps = &region->steps;
  const RegionStep *last = &steps->items[steps->count - 1];
  Cells cells = {.begin = steps->items->begin, .end = last->end};
  wasm_function_begin(&r.function, module, SIGNATURE_REGION);
  wasm_local(&r.function, WASM_I32); /* REGION_ARENA, the first one */
  wasm_get(&r.function, REGION_SLOTS);
  wasm_memory(&r.function, OP_I32_LOAD, 0);
  wasm_set(&r.function, REGION_ARENA);
  begin_cells(&r, &cells, &steps, 1, last->end_loop > 1);
  emit_steps(&r, &region->steps);
  end_cells(&r, &cells);
  wasm_i32(&r.function, 0);
  wasm_function_end(&r.function);
  arena_free(r.arena);
}
