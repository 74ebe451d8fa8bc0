/* Emits the pointers of leaves: see pointer_emitter.h. */
#include "codegen/loops/pointer_emitter.h"

#include <stddef.h>
#include <string.h>

#include "base/min_max.h"
#include "codegen/loops/leaf_emitter.h"

/* --- Buffers and starts ----------------------------------------------------------------------- */

void emit_buffer(Emitter *e, int64_t index) {
  if (e->slices) {
    emit_slice_address(&e->function, &e->slices[index], 0);
    return;
  }
  wasm_get(&e->function, 0);
  wasm_memory(&e->function, OP_I32_LOAD, 4 * index); /* pointers are of 32 bits */
}

void emit_written_outputs(Emitter *e, int64_t position, const int *outputs) {
  WasmFunction *f = &e->function;
  for (int i = 0; i < e->plan->output_count; i++) {
    int64_t at = position * type_bytes(node_type(e->plan->outputs[i]));
    e->stored_at[i] = at;
    if (outputs[i] < NO_LOCAL) continue;
    emit_buffer(e, e->operand_count + i);
    wasm_i32(f, at);
    wasm_op(f, OP_I32_ADD);
    wasm_set(f, outputs[i]);
  }
}

/* A unit of a leaf's pointer: bytes of memory, or one step of an iota. */
static int64_t pointer_unit(const LoopNode *leaf) {
  return leaf->kind == NODE_IOTA ? 1 : type_bytes(node_type(leaf));
}

void emit_load_integer(WasmFunction *f, PrimitiveType type, int64_t offset) {
  int bytes = type_bytes(type), narrow = OP_I64_LOAD8_S + (type_kind(type) != KIND_SIGNED);
  /* The opcode for twice the bytes is 2 higher. */
  wasm_memory(f, bytes == 8 ? OP_I64_LOAD : narrow + (bytes & 6), offset);
}

void emit_integer(WasmFunction *f, const Cells *cells, const BufferSlice *slice,
                  PrimitiveType type) {
  int bytes = type_bytes(type), is_unsigned = type_kind(type) != KIND_SIGNED;
  if (!is_held(cells, slice)) {
    emit_slice_address(f, slice, 0);
    emit_load_integer(f, type, 0);
    return;
  }
  int64_t from[16];
  for (int k = 0; k < 16; k++) from[k] = k % bytes;
  emit_held(f, cells, slice, from, slice->bytes == bytes ? bytes : 16);
  int opcode = bytes == 8   ? I64X2_EXTRACT_LANE
               : bytes == 4 ? I32X4_EXTRACT_LANE
               : bytes == 2 ? I16X8_EXTRACT_LANE_S + is_unsigned
                            : I8X16_EXTRACT_LANE_S + is_unsigned;
  wasm_extract_lane(f, opcode, 0);
  if (bytes < 8) wasm_op(f, OP_I64_EXTEND_I32_S + is_unsigned);
}

/* Clamps an i64 that was read as `type` to [0, max]. */
static void emit_clamped(WasmFunction *f, PrimitiveType type, int64_t max) {
  int index = wasm_local(f, WASM_I64);
  wasm_set(f, index);
  if (type_kind(type) == KIND_SIGNED) { /* max(index, 0) */
    wasm_get(f, index);
    wasm_i64(f, 0);
    wasm_get(f, index);
    wasm_i64(f, 0);
    wasm_op(f, OP_I64_GT_S);
    wasm_op(f, OP_SELECT);
    wasm_set(f, index);
  }
  wasm_get(f, index); /* min(index, max), unsigned */
  wasm_i64(f, max);
  wasm_get(f, index);
  wasm_i64(f, max);
  wasm_op(f, OP_I64_LT_U);
  wasm_op(f, OP_SELECT);
  wasm_local_release(f, index);
}

void emit_slice_start(WasmFunction *f, PrimitiveType type, int64_t max_start, bool in_range) {
  if (!in_range) emit_clamped(f, type, max_start);
  if (max_start <= INT32_MAX) wasm_op(f, OP_I32_WRAP_I64);
}

/* Returns the type of the local that holds a start. */
static int start_type(const LoopStart *start) {
  return start->max_start > INT32_MAX ? WASM_I64 : WASM_I32;
}

/* --- Shared pointers -------------------------------------------------------------------------- */

/* Whether other leaves may use a leaf's pointer: that of an input's element, which nothing but the loops moves. */
static bool is_shareable(const Emitter *e, const LoopNode *leaf) {
  return leaf->kind == NODE_INPUT && !leaf->packed && leaf->level != LEVEL_CALL &&
         !is_held_leaf(e, leaf);
}

/* Returns the bytes from the start of a leaf's array, or in a region of that array's slot, to its first element. */
static int64_t first_byte(const Emitter *e, const LoopNode *leaf) {
  int64_t slice = e->slices ? e->slices[leaf_buffer(e, leaf)].offset : 0;
  return slice + leaf->offset.constant * pointer_unit(leaf);
}

static int slot_of(const Emitter *e, const LoopNode *leaf) {
  return e->slices ? e->slices[leaf_buffer(e, leaf)].slot : leaf_buffer(e, leaf);
}

/* Whether the distance of two leaves' elements is the same at each step, and known. */
static bool move_together(const Emitter *e, const LoopNode *a, const LoopNode *b) {
  const size_t rest = offsetof(Affine, coefficient);
  return slot_of(e, a) == slot_of(e, b) && pointer_unit(a) == pointer_unit(b) &&
         !memcmp((const char *)&a->offset + rest, (const char *)&b->offset + rest,
                 sizeof(Affine) - rest);
}

/*
** Chooses the leaves that use an earlier leaf's pointer, at a distance that is part of the instruction. The taps of a stencil have
** one pointer, so that pointers stay in registers. The pointer is the address of the first of their elements.
*/
static void share_pointers(Emitter *e) {
  const LoopPlan *plan = e->plan;
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *leader = plan->nodes[i];
    if (!is_shareable(e, leader) || e->nodes[i].leader != i) continue;
    int64_t first = first_byte(e, leader);
    for (int j = i + 1; j < plan->count; j++) {
      const LoopNode *leaf = plan->nodes[j];
      if (!is_shareable(e, leaf) || !move_together(e, leader, leaf)) continue;
      e->nodes[j].leader = i;
      first = min_i64(first, first_byte(e, leaf));
    }
    for (int j = i; j < plan->count; j++) {
      if (e->nodes[j].leader == i) e->nodes[j].beside = first_byte(e, plan->nodes[j]) - first;
    }
  }
}

static bool is_leader(const Emitter *e, const LoopNode *leaf) {
  return e->nodes[leaf->id].leader == leaf->id;
}

void emit_bases(Emitter *e) {
  share_pointers(e);
  int count = e->operand_count + e->plan->output_count + e->plan->kept_count;
  e->bases = ARENA_ARRAY(e->plan->arena, int, count);
  for (int i = 0; i < count; i++) e->bases[i] = NO_LOCAL;
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *leaf = e->plan->nodes[i];
    if (!is_in_memory(leaf) || is_held_leaf(e, leaf) || !is_leader(e, leaf)) continue;
    int *base = &e->bases[leaf_buffer(e, leaf)];
    if (*base != NO_LOCAL) continue;
    *base = wasm_local(&e->function, WASM_I32);
    emit_buffer(e, leaf_buffer(e, leaf));
    wasm_set(&e->function, *base);
  }
  for (int s = 0; s < e->plan->start_count; s++) {
    const LoopStart *start = &e->plan->starts[s];
    e->starts[s] = wasm_local(&e->function, start_type(start));
    if (e->slices) {
      emit_integer(&e->function, e->cells, &e->slices[leaf_buffer(e, start->leaf)],
                   node_type(start->leaf));
    } else {
      wasm_get(&e->function, e->bases[leaf_buffer(e, start->leaf)]);
      emit_load_integer(&e->function, node_type(start->leaf), 0);
    }
    emit_slice_start(&e->function, node_type(start->leaf), start->max_start, start->in_range);
    wasm_set(&e->function, e->starts[s]);
  }
}

void emit_advance(Emitter *e, int local, int64_t by) {
  wasm_get(&e->function, local);
  wasm_i32(&e->function, by);
  wasm_op(&e->function, OP_I32_ADD);
  wasm_set(&e->function, local);
}

/* Returns the type of a leaf's pointer. */
static int pointer_type(const LoopNode *leaf) {
  return has_64_bit_counter(leaf) ? WASM_I64 : WASM_I32;
}

static void emit_number(WasmFunction *f, int type, int64_t number) {
  if (type == WASM_I64) {
    wasm_i64(f, number);
  } else {
    wasm_i32(f, number);
  }
}

/* Adds factor * local, of type `from`, to the number on the stack, of type `to`. */
static void emit_add_product(WasmFunction *f, int local, int from, int64_t factor, int to) {
  wasm_get(f, local);
  if (from != to) wasm_op(f, to == WASM_I64 ? OP_I64_EXTEND_I32_S : OP_I32_WRAP_I64);
  emit_number(f, to, factor);
  wasm_op(f, to == WASM_I64 ? OP_I64_MUL : OP_I32_MUL);
  wasm_op(f, to == WASM_I64 ? OP_I64_ADD : OP_I32_ADD);
}

/* Pushes the pointer for a leaf's element, which is `units` after its array's start, plus its slices' starts. */
static void emit_pointer(Emitter *e, const LoopNode *leaf, int64_t units) {
  int type = pointer_type(leaf);
  emit_number(&e->function, type, units * pointer_unit(leaf) - e->nodes[leaf->id].beside);
  for (int s = 0; s < e->plan->start_count; s++) {
    int64_t factor = leaf->offset.start[s] * pointer_unit(leaf);
    if (!factor) continue;
    emit_add_product(&e->function, e->starts[s], start_type(&e->plan->starts[s]), factor, type);
  }
  if (!is_in_memory(leaf)) return;
  if (!leaf->packed) {
    wasm_get(&e->function, e->bases[leaf_buffer(e, leaf)]);
    wasm_op(&e->function, OP_I32_ADD);
  }
  if (leaf->kind != NODE_GATHERED || is_scattered(leaf) || !leaf->operand_count) return;
  int offsets = emit_gathered_offsets(e, leaf);
  emit_add_gathered(e, offsets, 0);
  wasm_local_release(&e->function, offsets);
}

static void emit_set_pointer(Emitter *e, const LoopNode *leaf) {
  int *pointer = &e->nodes[leaf->id].pointer;
  if (*pointer == NO_LOCAL) *pointer = wasm_local(&e->function, pointer_type(leaf));
  wasm_set(&e->function, *pointer);
}

/* Forgets the values of the row before; called before pointers are set. */
static void forget_row(Emitter *e) {
  for (int i = 0; i < e->plan->count; i++) {
    if (e->plan->nodes[i]->level >= LEVEL_ROW) forget_value(e, e->plan->nodes[i]);
  }
}

static bool has_pointer(const Emitter *e, const LoopNode *node) {
  return is_leaf(node) && node->level != LEVEL_CALL && is_leader(e, node);
}

void emit_pointers_at(Emitter *e, const int64_t *indices) {
  forget_row(e);
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *leaf = e->plan->nodes[i];
    if (!is_leaf(leaf) || leaf->level == LEVEL_CALL) continue;
    int64_t units = leaf->offset.constant;
    for (int k = 0; k < e->plan->rank; k++) units += leaf->offset.coefficient[k] * indices[k];
    e->nodes[i].at = units * pointer_unit(leaf);
    if (is_held_leaf(e, leaf) || !is_leader(e, leaf)) continue;
    emit_pointer(e, leaf, units);
    emit_set_pointer(e, leaf);
  }
}

void emit_pointers(Emitter *e, const int *indices) {
  WasmFunction *f = &e->function;
  forget_row(e);
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *leaf = e->plan->nodes[i];
    if (!has_pointer(e, leaf)) continue;
    int64_t unit = pointer_unit(leaf);
    emit_pointer(e, leaf, leaf->offset.constant);
    for (int k = 0; k < e->plan->rank; k++) {
      int64_t coefficient = leaf->offset.coefficient[k];
      if (coefficient == 0 || indices[k] == NO_LOCAL) continue;
      emit_add_product(f, indices[k], WASM_I32, coefficient * unit, pointer_type(leaf));
    }
    emit_set_pointer(e, leaf);
  }
}

void emit_advance_leaves(Emitter *e, int64_t steps) {
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *leaf = e->plan->nodes[i];
    if (!is_leaf(leaf) || leaf->level < LEVEL_ELEMENT) continue;
    int64_t by = steps * leaf->offset.coefficient[e->plan->time_loop] * pointer_unit(leaf);
    e->nodes[i].at += by;
    if (!by || is_held_leaf(e, leaf) || !is_leader(e, leaf)) continue;
    wasm_get(&e->function, e->nodes[i].pointer);
    emit_number(&e->function, pointer_type(leaf), by);
    wasm_op(&e->function, has_64_bit_counter(leaf) ? OP_I64_ADD : OP_I32_ADD);
    wasm_set(&e->function, e->nodes[i].pointer);
  }
}
