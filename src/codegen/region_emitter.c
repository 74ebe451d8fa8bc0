/*
** From regions to functions; region.h has what they are like. Everything goes through memory, so that
** a region can be left after any turn of a loop: what one step stores the next one finds in the first
** level cache.
*/
#include "codegen/emitter.h"

typedef struct RegionEmitter {
  WasmFunction function;
  const Region *region;
  Arena *arena; /* scratch */
} RegionEmitter;

/* --- Loops ------------------------------------------------------------------------------------ */

/* The vectors and single lanes that a row's elements take. */
static int64_t row_pieces(int64_t size) { return size / LANES + size % LANES; }

/* The loop that goes along a row of results. */
static int row_loop(const LoopPlan *plan) { return plan->rank - plan->reduced - 1; }

static int64_t row_count(const LoopPlan *plan) {
  int64_t rows = 1;
  for (int k = 0; k < row_loop(plan); k++) rows *= plan->sizes[k];
  return rows;
}

/* Short enough to be written out element by element. */
static bool is_short(const LoopPlan *plan) {
  enum { MOST_NODES = 160 };
  if (plan->reduce) return written_reduce_size(plan) <= MOST_NODES;
  return row_count(plan) * row_pieces(plan->sizes[plan->rank - 1]) * plan->count <= MOST_NODES;
}

static void emit_piece(Emitter *e, const int *outputs, int64_t lane_zero, bool one_lane) {
  e->lane_zero = lane_zero;
  e->one_lane = one_lane;
  for (int i = 0; i < e->plan->output_count; i++) emit_store(e, e->plan->outputs[i], outputs[i]);
  end_elements(e);
}

/* One row; `position` is the number of its first result. */
static void emit_written_row(Emitter *e, const int64_t *indices, int64_t position,
                             const int *outputs) {
  WasmFunction *f = &e->function;
  int64_t size = e->plan->sizes[e->plan->rank - 1], done = 0;
  for (int i = 0; i < e->plan->output_count; i++) {
    emit_buffer(e, e->operand_count + i);
    wasm_i32(f, position * type_bytes(node_type(e->plan->outputs[i])));
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, outputs[i]);
  }
  emit_pointers_at(e, indices);
  emit_level(e, LEVEL_ROW);
  for (; done + LANES <= size; done += LANES) emit_piece(e, outputs, done, false);
  for (; done < size; done++) emit_piece(e, outputs, done, true);
  e->lane_zero = 0;
  e->one_lane = false;
}

static void emit_written_loop(RegionEmitter *r, const LoopPlan *plan, const RegionStep *step) {
  Emitter e = {.plan = plan,
               .function = r->function,
               .operand_count = step->fusion->operand_count,
               .places = step->places};
  int row_at = row_loop(plan);
  int64_t indices[MAX_LOOPS] = {0}, rows = row_count(plan), size = plan->sizes[row_at];
  int in_use, *outputs = ARENA_ARRAY(r->arena, int, plan->output_count);
  bool *was_free = wasm_locals_in_use(&e.function, &in_use);
  init_nodes(&e);
  for (int i = 0; i < plan->output_count; i++) outputs[i] = wasm_local(&e.function, WASM_I32);
  emit_bases(&e);
  emit_math_constants(&e);
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
  for (int i = 0; i < step->place_count; i++) {
    emit_place(f, r->region->list);
    emit_place(f, step->places[i]);
    wasm_memory(f, OP_I32_STORE, 4 * (int64_t)i);
  }
  emit_place(f, r->region->list);
  wasm_i64(f, 0);
  wasm_i64(f, step->units);
  wasm_call_function(f, step->function);
}

static void emit_loop(RegionEmitter *r, const RegionStep *step) {
  ArenaMark mark = arena_mark(r->arena);
  const Instruction *root = step->fusion->a.calls->root;
  LoopPlan plan;
  bool has_plan = root->opcode != HLO_SCATTER && root->opcode != HLO_REDUCE_WINDOW &&
                  loop_plan_fusion(&plan, r->arena, step->fusion->a.calls);
  if (has_plan && plan.reduce) reduce_plan(&plan);
  if (has_plan && is_short(&plan)) {
    emit_written_loop(r, &plan, step);
  } else {
    emit_called_loop(r, step);
  }
  arena_release(r->arena, mark);
}

/* --- Moves ------------------------------------------------------------------------------------ */

/* The shift of a step's moves, in a local; NO_LOCAL: none. */
static int emit_shift_of(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  if (!step->start_count) return NO_LOCAL;
  int shift = wasm_local(f, WASM_I32);
  for (int i = 0; i < step->start_count; i++) {
    emit_place(f, step->starts[i].place);
    emit_clamped(f, step->starts[i].type, step->starts[i].most);
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

static void emit_end(RegionEmitter *r, Place place, int64_t more, int shift) {
  WasmFunction *f = &r->function;
  place.offset += more;
  emit_place(f, place);
  if (shift == NO_LOCAL) return;
  wasm_get(f, shift);
  wasm_op(f, OP_I32_ADD);
}

static const struct {
  int bytes, load, store;
} moves[] = {{16, V128_LOAD, V128_STORE},
             {8, V128_LOAD64_SPLAT, V128_STORE64_LANE},
             {4, V128_LOAD32_SPLAT, V128_STORE32_LANE},
             {2, V128_LOAD16_SPLAT, V128_STORE16_LANE},
             {1, V128_LOAD8_SPLAT, V128_STORE8_LANE}};

static void emit_store_bytes(WasmFunction *f, int bytes, int store, int64_t offset) {
  if (bytes == 16) {
    wasm_simd_memory(f, store, offset);
  } else {
    wasm_simd_memory_lane(f, store, offset, 0);
  }
}

/* The bytes of a few elements, from one of them in all lanes. */
static void emit_fill(RegionEmitter *r, const RegionMove *move, const Place *places) {
  WasmFunction *f = &r->function;
  int value = wasm_local(f, WASM_V128);
  Place from = places[move->from_place], to = places[move->to_place];
  emit_place(f, from);
  for (int i = 0; i < 5; i++) {
    if (moves[i].bytes == move->element) wasm_simd_memory(f, moves[i].load, move->from);
  }
  wasm_set(f, value);
  int64_t done = 0;
  for (int i = 0; i < 5; i++) {
    for (; done + moves[i].bytes <= move->bytes; done += moves[i].bytes) {
      emit_end(r, to, move->to + done, NO_LOCAL);
      wasm_get(f, value);
      emit_store_bytes(f, moves[i].bytes, moves[i].store, 0);
    }
  }
  wasm_local_release(f, value);
}

static void emit_move(RegionEmitter *r, const RegionMove *move, const RegionStep *step, int shift) {
  enum { MOST_WRITTEN = 64 };
  WasmFunction *f = &r->function;
  Place from = step->places[move->from_place], to = step->places[move->to_place];
  int from_shift = step->shifts_target || move->is_fixed ? NO_LOCAL : shift;
  int to_shift = step->shifts_target && !move->is_fixed ? shift : NO_LOCAL;
  if (move->bytes > MOST_WRITTEN) {
    emit_end(r, to, move->to, to_shift);
    emit_end(r, from, move->from, from_shift);
    wasm_i32(f, move->bytes);
    wasm_memory_copy(f);
    return;
  }
  int64_t done = 0;
  for (int i = 0; i < 5; i++) {
    for (; done + moves[i].bytes <= move->bytes; done += moves[i].bytes) {
      emit_end(r, to, move->to, to_shift);
      emit_end(r, from, move->from, from_shift);
      wasm_simd_memory(f, moves[i].load, done);
      emit_store_bytes(f, moves[i].bytes, moves[i].store, done);
    }
  }
}

static void emit_moves(RegionEmitter *r, const RegionStep *step) {
  int shift = emit_shift_of(r, step);
  for (int i = 0; i < step->move_count; i++) {
    const RegionMove *move = &step->moves[i];
    if (move->element) {
      emit_fill(r, move, step->places);
    } else {
      emit_move(r, move, step, shift);
    }
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

static int64_t steps_cost(const RegionSteps *steps) {
  int64_t cost = 1;
  for (int i = 0; i < steps->count; i++) cost += steps->items[i].cost;
  return cost;
}

/* After a turn of a loop. */
static void emit_burn(RegionEmitter *r, const RegionStep *loop) {
  WasmFunction *f = &r->function;
  int64_t cost = steps_cost(&loop->condition) + steps_cost(&loop->body);
  wasm_get(f, REGION_FUEL);
  wasm_i32(f, cost < 1 << 24 ? cost : 1 << 24);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, REGION_FUEL);
  wasm_i32(f, 0);
  wasm_op(f, OP_I32_LT_S);
  wasm_block(f, OP_IF);
  wasm_i32(f, loop->first_loop);
  wasm_op(f, OP_RETURN);
  wasm_op(f, OP_END);
}

/* The condition; leaves the loop if it does not hold, which is `depth` blocks further out. */
static void emit_test(RegionEmitter *r, const RegionStep *step, int depth) {
  WasmFunction *f = &r->function;
  emit_clear_resume(f);
  emit_steps(r, &step->condition);
  emit_place(f, step->places[0]);
  wasm_memory(f, OP_I32_LOAD8_U, 0);
  wasm_op(f, OP_I32_EQZ);
  wasm_branch(f, OP_BR_IF, depth);
}

static void emit_while(RegionEmitter *r, const RegionStep *step) {
  WasmFunction *f = &r->function;
  bool has_inner = step->end_loop > step->first_loop + 1;
  wasm_block(f, OP_BLOCK);
  wasm_block(f, OP_LOOP);
  if (has_inner) { /* where an inner loop goes on, this one's condition held */
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
}

/* Sets the number of the branch to take. What it depends on may be gone where a loop goes on. */
static void emit_branch_number(RegionEmitter *r, const RegionStep *step, int number) {
  WasmFunction *f = &r->function;
  emit_place(f, step->places[0]);
  if (step->predicated) {
    wasm_memory(f, OP_I32_LOAD8_U, 0);
    wasm_op(f, OP_I32_EQZ);
    wasm_set(f, number);
  } else {
    wasm_memory(f, OP_I32_LOAD, 0);
    wasm_tee(f, number);
    wasm_i32(f, step->branch_count - 1); /* also where it is negative */
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

/* Where a loop goes on, what comes before the step that it is in was done already. */
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
  wasm_function_begin(&r.function, module, SIGNATURE_REGION);
  emit_steps(&r, &region->steps);
  wasm_i32(&r.function, 0);
  wasm_function_end(&r.function);
  arena_free(r.arena);
}
