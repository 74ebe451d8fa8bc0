/*
** The loops around the elements: from a loop plan to a kernel.
**
**     kernel(buffers, begin, end)
**       values that are the same for all elements
**       for each row (a stretch of the innermost loop) that [begin, end) touches
**         pointers of all arrays; values that are the same along the row
**         while (at least 4 * unroll elements are left)  four lanes at a time, unrolled
**         while (at least 4 are left)                    four lanes at a time
**         while (any is left)                            one lane
*/
#include "codegen/emitter.h"

typedef struct Loop {
  int position, end;      /* linear, over all results */
  int count;              /* elements left in the row */
  int indices[MAX_LOOPS]; /* of all loops; the last is where the row starts */
  int *outputs;           /* pointers */
} Loop;

/* Index of each loop at the linear position in `position`. */
static void emit_indices(Emitter *e, Loop *loop, int rank) {
  WasmFunction *f = &e->function;
  int rest = wasm_local(f, WASM_I32);
  wasm_get(f, loop->position);
  wasm_set(f, rest);
  for (int k = rank - 1; k >= 0; k--) {
    loop->indices[k] = wasm_local(f, WASM_I32);
    wasm_get(f, rest);
    if (k > 0) {
      wasm_i32(f, e->plan->sizes[k]);
      wasm_op(f, OP_I32_REM_U);
      wasm_set(f, loop->indices[k]);
      wasm_get(f, rest);
      wasm_i32(f, e->plan->sizes[k]);
      wasm_op(f, OP_I32_DIV_U);
      wasm_set(f, rest);
    } else {
      wasm_set(f, loop->indices[k]);
    }
  }
  wasm_local_release(f, rest);
}

/* The next row: the innermost index is 0, the others count on like digits. */
static void emit_next_row(Emitter *e, Loop *loop, int rank) {
  WasmFunction *f = &e->function;
  wasm_i32(f, 0);
  wasm_set(f, loop->indices[rank - 1]);
  wasm_block(f, OP_BLOCK);
  for (int k = rank - 2; k >= 0; k--) {
    emit_advance(e, loop->indices[k], 1);
    if (k == 0) break;
    wasm_get(f, loop->indices[k]);
    wasm_i32(f, e->plan->sizes[k]);
    wasm_op(f, OP_I32_LT_S);
    wasm_branch(f, OP_BR_IF, 0);
    wasm_i32(f, 0);
    wasm_set(f, loop->indices[k]);
  }
  wasm_op(f, OP_END);
}

/* count = min(size - column, end - position) */
static void emit_row_count(Emitter *e, Loop *loop, int rank) {
  WasmFunction *f = &e->function;
  wasm_i32(f, e->plan->sizes[rank - 1]);
  wasm_get(f, loop->indices[rank - 1]);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, loop->count);
  wasm_get(f, loop->end);
  wasm_get(f, loop->position);
  wasm_op(f, OP_I32_SUB);
  wasm_get(f, loop->count);
  wasm_get(f, loop->end);
  wasm_get(f, loop->position);
  wasm_op(f, OP_I32_SUB);
  wasm_op(f, OP_I32_LT_S);
  wasm_op(f, OP_SELECT);
  wasm_set(f, loop->count);
}

static void emit_output_pointers(Emitter *e, Loop *loop, int operand_count) {
  WasmFunction *f = &e->function;
  for (int i = 0; i < e->plan->output_count; i++) {
    wasm_get(f, loop->position);
    wasm_i32(f, type_bytes(node_type(e->plan->outputs[i])));
    wasm_op(f, OP_I32_MUL);
    emit_buffer(e, operand_count + i);
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, loop->outputs[i]);
  }
}

static void emit_elements(Emitter *e, Loop *loop, int unroll) {
  for (int u = 0; u < unroll; u++) {
    e->lane_zero = (int64_t)u * LANES;
    for (int i = 0; i < e->plan->output_count; i++) {
      emit_store(e, e->plan->outputs[i], loop->outputs[i]);
    }
    end_elements(e);
  }
  e->lane_zero = 0;
}

/* if (count >= step) do { elements; count -= step; } while (count >= step); */
static void emit_row_loop(Emitter *e, Loop *loop, int unroll, bool one_lane) {
  WasmFunction *f = &e->function;
  int step = one_lane ? 1 : LANES * unroll;
  e->one_lane = one_lane;
  wasm_get(f, loop->count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_GE_S);
  wasm_block(f, OP_IF);
  wasm_block(f, OP_LOOP);
  emit_elements(e, loop, unroll);
  emit_advance_leaves(e, step);
  for (int i = 0; i < e->plan->output_count; i++) {
    emit_advance(e, loop->outputs[i], (int64_t)step * type_bytes(node_type(e->plan->outputs[i])));
  }
  wasm_get(f, loop->count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, loop->count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_GE_S);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_op(f, OP_END);
  wasm_op(f, OP_END);
  e->one_lane = false;
}

/* How many vectors to compute per turn: small bodies are bound by the loop itself. */
static int unroll_factor(const Emitter *e) {
  int work = 0;
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *node = e->plan->nodes[i];
    if (node->level < LEVEL_ELEMENT) continue;
    if (is_leaf(node) && inner_stride(e, node) != 1) return 1;
    work += node_parts(node);
  }
  return work <= 8 ? 4 : work <= 24 ? 2 : 1;
}

static void emit_row(Emitter *e, Loop *loop, int operand_count) {
  WasmFunction *f = &e->function;
  int rank = e->plan->rank, unroll = unroll_factor(e);
  int64_t size = e->plan->sizes[rank - 1];
  emit_row_count(e, loop, rank);
  emit_pointers(e, loop->indices);
  emit_level(e, LEVEL_ROW);
  emit_output_pointers(e, loop, operand_count);
  wasm_get(f, loop->position);
  wasm_get(f, loop->count);
  wasm_op(f, OP_I32_ADD);
  wasm_set(f, loop->position);
  if (unroll > 1 && size >= LANES * unroll) emit_row_loop(e, loop, unroll, false);
  if (size >= LANES) emit_row_loop(e, loop, 1, false);
  emit_row_loop(e, loop, 1, true);
}

/* position = parameter */
static void emit_position(Emitter *e, int local, int parameter) {
  wasm_get(&e->function, parameter);
  wasm_op(&e->function, OP_I32_WRAP_I64);
  wasm_set(&e->function, local);
}

void emit_loop_kernel(Emitter *e, int operand_count) {
  WasmFunction *f = &e->function;
  int rank = e->plan->rank;
  Loop loop = {.position = wasm_local(f, WASM_I32),
               .end = wasm_local(f, WASM_I32),
               .count = wasm_local(f, WASM_I32),
               .outputs = ARENA_ARRAY(e->plan->arena, int, e->plan->output_count)};
  for (int i = 0; i < e->plan->output_count; i++) loop.outputs[i] = wasm_local(f, WASM_I32);
  emit_position(e, loop.position, 1);
  emit_position(e, loop.end, 2);
  emit_bases(e, operand_count);
  emit_indices(e, &loop, rank);
  emit_level(e, LEVEL_CALL);
  wasm_block(f, OP_BLOCK);
  wasm_block(f, OP_LOOP);
  wasm_get(f, loop.position);
  wasm_get(f, loop.end);
  wasm_op(f, OP_I32_GE_S);
  wasm_branch(f, OP_BR_IF, 1);
  emit_row(e, &loop, operand_count);
  emit_next_row(e, &loop, rank);
  wasm_branch(f, OP_BR, 0);
  wasm_op(f, OP_END);
  wasm_op(f, OP_END);
}
