/*
** Emits scatter, with any combining computation. One thread applies the updates in order, as two may go to the
** same element. Ranges are of index vectors, and must be given in order.
** A variant with two threads was slower: each read all index vectors and took those of half the target. The
** branch on them may be hard to predict.
** Measured: one thread's time by theirs 0.25 for scalars, 0.3 for rows of 16, 0.87 to 1.06 for rows of 64 to 512
** (Node 20, 2026-11).
**
**     kernel(buffers, begin, end)
**       if begin is 0: results = operands
**       for each index vector from `begin` to `end`
**         the window's place; the next vector if the window is not wholly inside
**         for each row of the window
**           target = f(target, update), four lanes at a time where the targets are adjacent
*/
#include "codegen/loops/scatter_emitter.h"

#include "codegen/loops/accumulators.h"
#include "codegen/loops/emitter.h"
#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/loop_emitter.h"
#include "codegen/loops/pointer_emitter.h"
#include "codegen/loops/value_emitter.h"

/* --- The plan --------------------------------------------------------------------------------- */

/* Returns a node for an input of the scatter: an array that is read at `offset`. */
static LoopNode *new_input(LoopPlan *loops, const Instruction *input) {
  LoopNode *node = ARENA_NEW(loops->arena, LoopNode);
  *node = (LoopNode){.kind = NODE_INPUT, .instruction = input, .id = loops->count};
  ARENA_PUSH(loops->arena, loops->nodes, loops->count, loops->capacity, node);
  return node;
}

/* Makes a loop per dimension of the indices except that of the vectors, then one per window dimension. `order`
** receives each loop's dimension of the updates. */
static void make_loops(LoopPlan *loops, const Instruction *scatter, int *order) {
  const Shape *updates = scatter->operands[loops->output_count + 1]->shape;
  for (int window = 0; window < 2; window++) {
    for (int d = 0; d < updates->rank; d++) {
      if (list_has(scatter->a->update_window_dims, d) != (window == 1)) continue;
      order[loops->rank] = d;
      loops->sizes[loops->rank++] = updates->dims[d];
    }
  }
  loops->reduced = scatter->a->update_window_dims.count;
}

static void set_update_offset(LoopNode *update, const LoopPlan *loops, const int *order) {
  int64_t strides[MAX_RANK];
  shape_strides(update->instruction->shape, strides);
  for (int k = 0; k < loops->rank; k++) update->offset.coefficient[k] = strides[order[k]];
}

/* Sets the target's strides along window loop w, and along batching dimensions. */
static void set_target_offset(LoopNode *target, const Instruction *scatter, int index_loops) {
  const Attributes *a = scatter->a;
  const Shape *shape = target->instruction->shape;
  int64_t strides[MAX_RANK];
  int window = index_loops;
  shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) {
    if (list_has(a->inserted_window_dims, d) || list_has(a->input_batching_dims, d)) continue;
    target->offset.coefficient[window++] = strides[d];
  }
  for (int i = 0; i < a->input_batching_dims.count; i++) {
    int64_t batch = a->scatter_indices_batching_dims.items[i];
    int64_t loop = batch - (batch > a->index_vector_dim);
    target->offset.coefficient[loop] += strides[a->input_batching_dims.items[i]];
  }
}

static void set_start_offset(LoopNode *start, int64_t vector_dim, int component) {
  const Shape *shape = start->instruction->shape;
  int64_t strides[MAX_RANK];
  int loop = 0;
  shape_strides(shape, strides);
  for (int d = 0; d < shape->rank; d++) {
    if (d != vector_dim) start->offset.coefficient[loop++] = strides[d];
  }
  if (vector_dim < shape->rank) start->offset.constant = component * strides[vector_dim];
}

/* Adds the components of the index vectors, with their scales and limits in the target. */
static void add_starts(ScatterPlan *plan, const Instruction *scatter, const Instruction *indices) {
  const Attributes *a = scatter->a;
  const Shape *target = scatter->operands[0]->shape;
  int64_t strides[MAX_RANK];
  int count = plan->start_count = a->scatter_dims_to_operand_dims.count;
  plan->starts = ARENA_ARRAY(plan->loops.arena, LoopNode *, count);
  plan->scales = ARENA_ARRAY(plan->loops.arena, int64_t, count);
  plan->limits = ARENA_ARRAY(plan->loops.arena, int64_t, count);
  shape_strides(target, strides);
  for (int i = 0; i < count; i++) {
    int64_t dim = a->scatter_dims_to_operand_dims.items[i], size = 1;
    for (int d = 0, window = plan->loops.rank - plan->loops.reduced; d <= dim; d++) {
      if (list_has(a->inserted_window_dims, d) || list_has(a->input_batching_dims, d)) continue;
      if (d == dim) size = plan->loops.sizes[window];
      window++;
    }
    plan->starts[i] = new_input(&plan->loops, indices);
    set_start_offset(plan->starts[i], a->index_vector_dim, i);
    plan->scales[i] = strides[dim];
    plan->limits[i] = target->dims[dim] - size;
  }
}

void scatter_plan(ScatterPlan *plan, Arena *arena, const Instruction *scatter) {
  LoopPlan *loops = &plan->loops;
  int count = scatter->operand_count / 2, order[MAX_RANK];
  const Instruction *indices = scatter->operands[count];
  *plan = (ScatterPlan){.loops = {.arena = arena, .reduce = scatter, .output_count = count}};
  make_loops(loops, scatter, order);
  int index_loops = loops->rank - loops->reduced;
  plan->targets = ARENA_ARRAY(arena, LoopNode *, count);
  loops->outputs = ARENA_ARRAY(arena, LoopNode *, count);
  for (int r = 0; r < count; r++) {
    loops->outputs[r] = new_input(loops, scatter->operands[count + 1 + r]);
    set_update_offset(loops->outputs[r], loops, order);
    plan->targets[r] = new_input(loops, scatter->operands[r]);
    plan->targets[r]->kind = NODE_RESULT; /* the operand was copied there before */
    plan->targets[r]->result = r;
    set_target_offset(plan->targets[r], scatter, index_loops);
  }
  add_starts(plan, scatter, indices);
  loop_plan_finish(loops);
  for (int i = 0; i < loops->count; i++) loops->nodes[i]->level = LEVEL_ELEMENT; /* has a pointer */
}

/* --- The window ------------------------------------------------------------------------------- */

typedef struct Scatterer {
  const ScatterPlan *plan;
  int indices[MAX_LOOPS];
  int window_start;     /* its offset in the target, in elements */
  int count;            /* the remaining elements of a row */
  int starts[MAX_RANK]; /* of the loops over indices: the range's begin; then 0 */
  int left;             /* the remaining index vectors of the range */
  int unroll;
  int *accumulators, *values; /* for emit_combine */
} Scatterer;

static void emit_update(Emitter *e, void *data) {
  const Scatterer *s = data;
  const LoopPlan *loops = e->plan;
  for (int u = 0; u < s->unroll; u++) {
    e->lane_zero = (int64_t)u * LANES;
    for (int r = 0; r < loops->output_count; r++) {
      for (int part = 0; part < live_parts(e, node_type(loops->outputs[r])); part++) {
        emit_value(e, s->plan->targets[r], part);
        wasm_set(&e->function, s->accumulators[r * MAX_PARTS + part]);
        emit_value(e, loops->outputs[r], part);
        wasm_set(&e->function, s->values[r * MAX_PARTS + part]);
      }
    }
    end_elements(e);
    emit_combine(e, s->accumulators, s->values);
    for (int r = 0; r < loops->output_count; r++) {
      emit_store_locals(e, node_type(loops->outputs[r]), s->accumulators + (ptrdiff_t)r * MAX_PARTS,
                        e->nodes[s->plan->targets[r]->id].pointer);
    }
  }
  e->lane_zero = 0;
  emit_advance_leaves(e, e->one_lane ? 1 : LANES * s->unroll);
}

/* Adds the window's place to the targets' pointers. */
static void emit_target_pointers(Emitter *e, const Scatterer *s) {
  WasmFunction *f = &e->function;
  for (int r = 0; r < e->plan->output_count; r++) {
    const LoopNode *target = s->plan->targets[r];
    int pointer = e->nodes[target->id].pointer;
    wasm_get(f, pointer);
    wasm_get(f, s->window_start);
    wasm_i32(f, type_bytes(node_type(target)));
    wasm_op(f, OP_I32_MUL);
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, pointer);
  }
}

static bool is_side_by_side(const Emitter *e, const Scatterer *s) {
  return lane_stride(e, s->plan->targets[0]) == 1 && e->plan->sizes[e->plan->rank - 1] >= LANES;
}

static void emit_window_row(Emitter *e, const Scatterer *s) {
  WasmFunction *f = &e->function;
  /* Threshold UNROLL. Test: "scatters and gathers around 65,536 elements" in core/thresholds_numbers.test.mjs. */
  enum { UNROLL = 4 };
  int64_t size = e->plan->sizes[e->plan->rank - 1];
  Scatterer unrolled = *s, single = *s;
  unrolled.unroll = UNROLL;
  single.unroll = 1;
  emit_pointers(e, s->indices);
  emit_target_pointers(e, s);
  if (size == 1) {
    e->one_lane = true;
    emit_update(e, &single);
    e->one_lane = false;
    return;
  }
  wasm_i32(f, size);
  wasm_set(f, s->count);
  if (is_side_by_side(e, s)) {
    if (size >= LANES * UNROLL) {
      emit_counted_loop(e, s->count, LANES * UNROLL, emit_update, &unrolled);
    }
    emit_counted_loop(e, s->count, LANES, emit_update, &single);
    if (size % LANES == 0) return;
  }
  e->one_lane = true;
  emit_counted_loop(e, s->count, 1, emit_update, &single);
  e->one_lane = false;
}

/* --- The indices ------------------------------------------------------------------------------ */

/* Pushes a component of the index vector; branches out of the enclosing block if it is out of bounds. The
** unsigned comparison covers negative ones too. */
static void emit_start(Emitter *e, const Scatterer *s, int i) {
  WasmFunction *f = &e->function;
  const LoopNode *start = s->plan->starts[i];
  int value = wasm_local(f, WASM_I64);
  int64_t offset = emit_address(e, start, 0);
  emit_load_integer(f, node_type(start), offset);
  wasm_set(f, value);
  wasm_i64(f, s->plan->limits[i]);
  wasm_get(f, value);
  wasm_op(f, OP_I64_LT_U);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_get(f, value);
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_i32(f, s->plan->scales[i]);
  wasm_op(f, OP_I32_MUL);
  wasm_local_release(f, value);
}

static void emit_window_loops(Emitter *e, Scatterer *s, int k);

/* Emits the window of one index vector. */
static void emit_window(Emitter *e, Scatterer *s) {
  WasmFunction *f = &e->function;
  int index_loops = e->plan->rank - e->plan->reduced;
  for (int k = index_loops; k < e->plan->rank; k++) s->indices[k] = NO_LOCAL;
  emit_pointers(e, s->indices); /* the starts' pointers */
  wasm_block(f, OP_BLOCK);
  wasm_i32(f, 0);
  wasm_set(f, s->window_start);
  for (int i = 0; i < s->plan->start_count; i++) {
    emit_start(e, s, i);
    wasm_get(f, s->window_start);
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, s->window_start);
  }
  emit_window_loops(e, s, index_loops);
  wasm_op(f, OP_END);
}

/* Advances to the next index vector where these are one loop. Small windows wait for memory, and the processor
** has more of them in flight if each takes fewer instructions. */
static void emit_next_window(Emitter *e, void *data) {
  Scatterer *s = data;
  emit_window(e, s);
  emit_advance(e, s->indices[0], 1);
}

static void emit_line(Emitter *e, Scatterer *s) {
  s->indices[0] = s->starts[0];
  emit_counted_loop(e, s->left, 1, emit_next_window, s);
}

static void emit_window_and_leave(Emitter *e, Scatterer *s) {
  WasmFunction *f = &e->function;
  emit_window(e, s);
  emit_advance(e, s->left, -1);
  wasm_get(f, s->left);
  wasm_op(f, OP_I32_EQZ);
  wasm_block(f, OP_IF);
  wasm_op(f, OP_RETURN);
  wasm_op(f, OP_END);
}

/* Emits the loops from number k on: over index vectors, then over the window except its last loop. */
static void emit_window_loops(Emitter *e, Scatterer *s, int k) {
  WasmFunction *f = &e->function;
  if (k == e->plan->rank - 1) {
    s->indices[k] = NO_LOCAL;
    emit_window_row(e, s);
    return;
  }
  int index = s->indices[k] = wasm_local(f, WASM_I32);
  bool is_of_indices = k < e->plan->rank - e->plan->reduced;
  if (is_of_indices) {
    wasm_get(f, s->starts[k]);
    wasm_set(f, index);
  }
  wasm_i32(f, 0);
  wasm_set(f, is_of_indices ? s->starts[k] : index);
  wasm_block(f, OP_LOOP);
  if (k + 1 == e->plan->rank - e->plan->reduced) {
    emit_window_and_leave(e, s);
  } else {
    emit_window_loops(e, s, k + 1);
  }
  emit_advance(e, index, 1);
  wasm_get(f, index);
  wasm_i32(f, e->plan->sizes[k]);
  wasm_op(f, OP_I32_LT_S);
  wasm_branch(f, OP_BR_IF, 0);
  wasm_op(f, OP_END);
  wasm_local_release(f, index);
}

/* --- The kernel ------------------------------------------------------------------------------- */

/* result = operand, unless they are one buffer */
static void emit_copies(Emitter *e, const Scatterer *s) {
  WasmFunction *f = &e->function;
  for (int r = 0; r < e->plan->output_count; r++) {
    const Instruction *operand = s->plan->targets[r]->instruction;
    int result = e->bases[e->operand_count + r];
    wasm_get(f, result);
    emit_buffer(e, operand->parameter_number);
    wasm_op(f, OP_I32_NE);
    wasm_block(f, OP_IF);
    wasm_get(f, result);
    emit_buffer(e, operand->parameter_number);
    wasm_i32(f, shape_bytes(operand->shape));
    wasm_memory_copy(f);
    wasm_op(f, OP_END);
  }
}

/* Computes the range's begin as an index of each loop, and its length. */
static void emit_range(Emitter *e, Scatterer *s) {
  WasmFunction *f = &e->function;
  s->left = wasm_local(f, WASM_I32);
  wasm_get(f, 1); /* begin */
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_set(f, s->left);
  emit_indices(e, s->left, e->plan->rank - e->plan->reduced, s->starts);
  wasm_get(f, 2); /* end */
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_get(f, 1);
  wasm_op(f, OP_I32_WRAP_I64);
  wasm_op(f, OP_I32_SUB);
  wasm_set(f, s->left);
}

void emit_scatter_kernel(Emitter *e, const ScatterPlan *plan) {
  WasmFunction *f = &e->function;
  int count = plan->loops.output_count;
  Scatterer s = {.plan = plan};
  s.window_start = wasm_local(f, WASM_I32);
  s.count = wasm_local(f, WASM_I32);
  s.accumulators = new_vectors(e, count * MAX_PARTS);
  s.values = new_vectors(e, count * MAX_PARTS);
  emit_bases(e);
  wasm_get(f, 1); /* begin */
  wasm_op(f, OP_I64_EQZ);
  wasm_block(f, OP_IF);
  emit_copies(e, &s);
  wasm_op(f, OP_END);
  bool fits = true; /* else the window is larger than the target, and no update applies */
  for (int i = 0; i < plan->start_count; i++) fits &= plan->limits[i] >= 0;
  if (!fits) return;
  emit_range(e, &s);
  if (plan->loops.rank - plan->loops.reduced == 1) {
    emit_line(e, &s);
  } else {
    emit_window_loops(e, &s, 0);
  }
}
