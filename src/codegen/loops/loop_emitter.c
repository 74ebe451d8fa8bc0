/*
** Emits the loops around the elements: turns a loop plan into a kernel.
**
**     kernel(buffers, begin, end)
**       values that are the same for all elements
**       for each row (a stretch of the innermost loop) that [begin, end) touches
**         pointers of all arrays; values that are the same along the row
**         while (at least 4 * unroll elements are left)  four lanes at a time, unrolled; or 16, or 8 (dense)
**         while (at least 4 are left)                    four lanes at a time
**         while (any is left)                            one lane
**
** A kernel of several boxes computes them one after the other, each with its elements in the range. The
** kernel's order of elements is then that of the boxes.
*/
#include "codegen/loops/loop_emitter.h"

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/element_emitter.h"
#include "codegen/loops/emitter.h"
#include "codegen/loops/function_emitter.h"
#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/pointer_emitter.h"
#include "codegen/loops/value_emitter.h"

/* --- Rows ------------------------------------------------------------------------------------- */

void emit_indices(Emitter *e, int position, int rank, int *indices) {
  WasmFunction *f = &e->function;
  int rest = wasm_local(f, WASM_I32);
  wasm_get(f, position);
  wasm_set(f, rest);
  for (int k = rank - 1; k >= 0; k--) {
    indices[k] = wasm_local(f, WASM_I32);
    wasm_get(f, rest);
    if (k > 0) {
      wasm_i32(f, e->plan->sizes[k]);
      wasm_op(f, OP_I32_REM_U);
      wasm_set(f, indices[k]);
      wasm_get(f, rest);
      wasm_i32(f, e->plan->sizes[k]);
      wasm_op(f, OP_I32_DIV_U);
      wasm_set(f, rest);
    } else {
      wasm_set(f, indices[k]);
    }
  }
  wasm_local_release(f, rest);
}

/* Advances to the next row: the innermost index becomes 0, the others count up like digits. */
static void emit_next_row(Emitter *e, Rows *rows) {
  WasmFunction *f = &e->function;
  wasm_i32(f, 0);
  wasm_set(f, rows->indices[rows->rank - 1]);
  wasm_block(f, OP_BLOCK);
  for (int k = rows->rank - 2; k >= 0; k--) {
    emit_advance(e, rows->indices[k], 1);
    if (k == 0) break;
    wasm_get(f, rows->indices[k]);
    wasm_i32(f, e->plan->sizes[k]);
    wasm_op(f, OP_I32_LT_S);
    wasm_branch(f, OP_BR_IF, 0);
    wasm_i32(f, 0);
    wasm_set(f, rows->indices[k]);
  }
  wasm_op(f, OP_END);
}

static void emit_difference(Emitter *e, int a, int b) {
  wasm_get(&e->function, a);
  wasm_get(&e->function, b);
  wasm_op(&e->function, OP_I32_SUB);
}

/* count = min(size - index, end - position), and then position += count */
static void emit_row_count(Emitter *e, Rows *rows) {
  WasmFunction *f = &e->function;
  wasm_i32(f, e->plan->sizes[rows->rank - 1]);
  wasm_get(f, rows->indices[rows->rank - 1]);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, rows->count);
  emit_difference(e, rows->end, rows->position);
  wasm_get(f, rows->count);
  emit_difference(e, rows->end, rows->position);
  wasm_op(f, OP_I32_LT_S);
  wasm_op(f, OP_SELECT);
  wasm_tee(f, rows->count);
  wasm_get(f, rows->position);
  wasm_op(f, OP_I32_ADD);
  wasm_set(f, rows->position);
}

/* Sets the output pointers: results that are computed in order are at their buffer's start + bytes * position. */
static void emit_output_pointers(Emitter *e, Rows *rows) {
  WasmFunction *f = &e->function;
  for (int i = 0; i < e->plan->output_count && !e->plan->addresses; i++) {
    wasm_get(f, rows->position);
    wasm_i32(f, type_bytes(node_type(e->plan->outputs[i])));
    wasm_op(f, OP_I32_MUL);
    emit_buffer(e, e->operand_count + i);
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, rows->outputs[i]);
  }
}

void emit_advance_outputs(Emitter *e, const Rows *rows, int64_t elements) {
  for (int i = 0; i < e->plan->output_count && !e->plan->addresses; i++) {
    emit_advance(e, rows->outputs[i], elements * type_bytes(node_type(e->plan->outputs[i])));
  }
}

/* Returns the number of results per item of a row. */
static int64_t results_per_item(const LoopPlan *plan) {
  int64_t count = 1;
  for (int k = plan->rank - plan->reduced; plan->cumulative && k < plan->rank; k++) {
    count *= plan->sizes[k];
  }
  return count;
}

/* Replaces the i64 on the stack by the minimum or maximum of it and `bound`. */
static void emit_bounded(WasmFunction *f, int64_t bound, int comparison) {
  int local = wasm_local(f, WASM_I64);
  wasm_tee(f, local);
  wasm_i64(f, bound);
  wasm_get(f, local);
  wasm_i64(f, bound);
  wasm_op(f, comparison);
  wasm_op(f, OP_SELECT);
  wasm_local_release(f, local);
}

/* local = parameter, cut to 32 bits, in items; for a box, clamped to the box's range */
static void emit_parameter(Emitter *e, int local, int parameter) {
  WasmFunction *f = &e->function;
  int64_t results = results_per_item(e->plan);
  wasm_get(f, parameter);
  if (e->count) {
    emit_bounded(f, e->first, OP_I64_GT_S);
    emit_bounded(f, e->first + e->count, OP_I64_LT_U);
  }
  wasm_op(f, OP_I32_WRAP_I64);
  if (e->first) {
    wasm_i32(f, e->first);
    wasm_op(f, OP_I32_SUB);
  }
  if (results > 1) {
    wasm_i32(f, results);
    wasm_op(f, OP_I32_DIV_U);
  }
  wasm_set(f, local);
}

/* Splits a range that counts all lines' steps: sets the first step and the number of steps of each line. */
static void emit_step_range(Emitter *e, const Rows *rows) {
  WasmFunction *f = &e->function;
  int64_t lines = 1;
  for (int k = 0; k < rows->rank; k++) lines *= e->plan->sizes[k];
  e->first_step = wasm_local(f, WASM_I32);
  e->steps = wasm_local(f, WASM_I32);
  wasm_get(f, 1);
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_i32(f, lines);
  wasm_op(f, OP_I32_DIV_U);
  wasm_set(f, e->first_step);
  wasm_get(f, 2);
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_i32(f, lines);
  wasm_op(f, OP_I32_DIV_U);
  wasm_get(f, e->first_step);
  wasm_op(f, OP_I32_SUB);
  wasm_set(f, e->steps);
  wasm_i32(f, 0);
  wasm_set(f, rows->position);
  wasm_i32(f, lines);
  wasm_set(f, rows->end);
}

void emit_rows(Emitter *e, Rows *rows, void (*body)(Emitter *e, Rows *rows)) {
  WasmFunction *f = &e->function;
  rows->position = wasm_local(f, WASM_I32);
  rows->end = wasm_local(f, WASM_I32);
  rows->count = wasm_local(f, WASM_I32);
  rows->outputs = ARENA_ARRAY(e->plan->arena, int, e->plan->output_count);
  for (int i = 0; i < e->plan->output_count; i++) rows->outputs[i] = wasm_local(f, WASM_I32);
  if (e->counts_steps) {
    emit_step_range(e, rows);
  } else {
    emit_parameter(e, rows->position, 1);
    emit_parameter(e, rows->end, 2);
  }
  emit_bases(e);
  emit_indices(e, rows->position, rows->rank, rows->indices);
  emit_level(e, LEVEL_CALL);
  wasm_block(f, OP_BLOCK);
  wasm_block(f, OP_LOOP);
  wasm_get(f, rows->position);
  wasm_get(f, rows->end);
  wasm_op(f, OP_I32_GE_S);
  wasm_branch(f, OP_BR_IF, 1);
  emit_output_pointers(e, rows);
  emit_row_count(e, rows);
  body(e, rows);
  emit_next_row(e, rows);
  wasm_branch(f, OP_BR, 0);
  wasm_op(f, OP_END);
  wasm_op(f, OP_END);
}

void emit_counted_loop(Emitter *e, int count, int64_t step, void (*body)(Emitter *e, void *data),
                       void *data) {
  WasmFunction *f = &e->function;
  wasm_get(f, count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_GE_S);
  wasm_block(f, OP_IF);
  wasm_block(f, OP_LOOP);
  body(e, data);
  wasm_get(f, count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_SUB);
  wasm_tee(f, count);
  wasm_i32(f, step);
  wasm_op(f, OP_I32_GE_S);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_op(f, OP_END);
  wasm_op(f, OP_END);
}

/* --- The elements of a row -------------------------------------------------------------------- */

typedef struct Elements {
  Rows *rows;
  int unroll;
} Elements;

static void emit_elements(Emitter *e, void *data) {
  const Elements *elements = data;
  const Rows *rows = elements->rows;
  if (elements->unroll > 1 && can_store_last(e)) {
    emit_store_last(e, rows->outputs, elements->unroll);
  } else {
    for (int u = 0; u < elements->unroll; u++) {
      e->lane_zero = (int64_t)u * lanes_now(e);
      emit_store_outputs(e, rows->outputs);
    }
  }
  e->lane_zero = 0;
  int64_t step = (int64_t)lanes_now(e) * elements->unroll;
  emit_advance_leaves(e, step);
  emit_advance_outputs(e, rows, step);
}

/* Approximate numbers of instructions of a node: a written-out function, one that needs many constants or has exceptions, a
** conversion of a narrow float, a gather of strided elements. */
enum { MATH_WORK = 24, LONG_MATH_WORK = 80, NARROW_WORK = 8, STRIDED_WORK = 3 };
/* Threshold MAX_WORK_UNROLLED_4, MAX_WORK_UNROLLED_2: bodies up to these limits are unrolled four times and twice, as the
** instructions of the loop itself would take a large part of the time. Larger bodies would need more registers than there
** are. Test: "bodies of loops and reductions, by their number of operations" in core/thresholds.test.mjs. */
enum { MAX_WORK_UNROLLED_4 = 8, MAX_WORK_UNROLLED_2 = 24 };
/* Threshold MAX_CHAIN_UNROLLED_4, MAX_CHAIN_UNROLLED_2: the same of bodies whose instructions mostly wait for each other, as
** those of a function or a polynomial do. Measured: tanh and silu 0.87x, expm1 of f64 0.73x, threefry 0.94x (Zen 5, Node 20,
** 2026-11). Test: "bodies of loops and reductions, by their number of operations" in core/thresholds.test.mjs. */
enum { MAX_CHAIN_UNROLLED_4 = 30, MAX_CHAIN_UNROLLED_2 = 160 };

/* Returns a node's approximate number of instructions. */
static int work_of(const LoopNode *node) {
  LaneKind kind = lane_kind(node_type(node));
  if (is_leaf(node) || !has_math(node->instruction->opcode, kind)) {
    return is_narrow_float(node_type(node)) ? NARROW_WORK : 1;
  }
  Opcode opcode = node->instruction->opcode;
  bool is_long = opcode == HLO_ERF || (opcode != HLO_EXP && math_exception(opcode, kind));
  return is_long ? LONG_MATH_WORK : MATH_WORK;
}

/* Returns the number of vectors per iteration: small bodies are bound by the loop overhead, chains by latency. */
static int unroll_factor(const Emitter *e) {
  int work = 0, longest = 0, *depths = ARENA_ARRAY(e->plan->arena, int, e->plan->count);
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *node = e->plan->nodes[i];
    if (node->level < LEVEL_ELEMENT) continue;
    if (is_leaf(node) && lane_stride(e, node) != 1) {
      if (!is_close(e, node)) return 1;
      work += STRIDED_WORK;
    }
    for (int k = 0; k < node->operand_count; k++) {
      int depth = depths[node->operands[k]->id];
      if (depth > depths[i]) depths[i] = depth;
    }
    depths[i] += work_of(node);
    if (depths[i] > longest) longest = depths[i];
    work += node_parts(node) * work_of(node);
  }
  bool is_chain = 2 * longest >= work && can_store_last(e);
  if (work <= MAX_WORK_UNROLLED_4 || (is_chain && work <= MAX_CHAIN_UNROLLED_4)) return 4;
  return work <= MAX_WORK_UNROLLED_2 || (is_chain && work <= MAX_CHAIN_UNROLLED_2) ? 2 : 1;
}

int dense_lanes(const Emitter *e) {
  const LoopPlan *plan = e->plan;
  int bytes = type_bytes(node_type(plan->outputs[0]));
  bool is = bytes <= 2;
  for (int i = 0; i < plan->output_count; i++) {
    const LoopNode *output = plan->outputs[i];
    is &= type_bytes(node_type(output)) == bytes && can_be_dense(output, bytes);
  }
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    if (node->level < LEVEL_ELEMENT) continue;
    is &= can_be_dense(node, bytes);
    if (!is_leaf(node)) continue;
    is &= (node->kind == NODE_INPUT || node->kind == NODE_RESULT) && lane_stride(e, node) == 1 &&
          type_bytes(node_type(node)) == bytes;
  }
  for (int i = 0; i < plan->combine_count; i++) is &= can_be_dense(plan->combine[i], bytes);
  return is ? bytes : 0;
}

/* Emits the loop over whole vectors, if a row may have that many elements. */
static void emit_vectors(Emitter *e, Rows *rows, int unroll) {
  Elements elements = {rows, unroll};
  int64_t step = (int64_t)lanes_now(e) * unroll;
  if (e->plan->sizes[rows->rank - 1] >= step) {
    emit_counted_loop(e, rows->count, step, emit_elements, &elements);
  }
}

static void emit_row(Emitter *e, Rows *rows) {
  int unroll = unroll_factor(e);
  Elements single = {rows, 1};
  emit_pointers(e, rows->indices);
  emit_level(e, LEVEL_ROW);
  e->dense = dense_lanes(e);
  if (unroll > 1) emit_vectors(e, rows, unroll);
  if (e->dense) emit_vectors(e, rows, 1);
  e->dense = 0;
  emit_vectors(e, rows, 1);
  e->one_lane = true;
  emit_counted_loop(e, rows->count, 1, emit_elements, &single);
  e->one_lane = false;
}

void emit_loop_kernel(Emitter *e) {
  Rows rows = {.rank = e->plan->rank};
  emit_rows(e, &rows, emit_row);
}
