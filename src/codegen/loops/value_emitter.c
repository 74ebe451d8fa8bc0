/*
** Emits the values of nodes and the stores of results. A node is a leaf, a constant or an operation. Values that are the
** same for many elements are computed once, before the loop. The emitters of operations do not include this file; they push
** their operands by Emitter.push_value.
*/
#include "codegen/loops/value_emitter.h"

#include "codegen/formulas/formulas.h"
#include "codegen/loops/byte_table.h"
#include "codegen/loops/complex_emitter.h"
#include "codegen/loops/convert_emitter.h"
#include "codegen/loops/element_emitter.h"
#include "codegen/loops/function_emitter.h"
#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "codegen/loops/overwrite.h"

/* Pushes two consecutive values of an iota with a 64-bit counter. */
static void emit_64_bit_iota(Emitter *e, const LoopNode *node, int part) {
  WasmFunction *f = &e->function;
  int64_t step = node->level == LEVEL_ELEMENT ? lane_stride(e, node) : 0, lanes[2];
  int64_t first = node->level == LEVEL_CALL ? node->offset.constant : 0;
  for (int i = 0; i < 2; i++) lanes[i] = first + step * (e->lane_zero + 2 * part + i);
  wasm_v128(f, lanes);
  if (node->level == LEVEL_CALL) return;
  wasm_get(f, e->nodes[node->id].pointer);
  wasm_simd(f, I64X2_SPLAT);
  wasm_simd(f, I64X2_ADD);
}

/* Pushes four consecutive values of an iota, whose pointer is a counter. */
static void emit_iota(Emitter *e, const LoopNode *node, int part) {
  WasmFunction *f = &e->function;
  int64_t step = node->level == LEVEL_ELEMENT ? lane_stride(e, node) : 0;
  if (node->level == LEVEL_CALL) {
    emit_splat32(e, (uint32_t)node->offset.constant);
  } else {
    uint32_t lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = (uint32_t)(step * (e->lane_zero + i));
    wasm_get(f, e->nodes[node->id].pointer);
    wasm_simd(f, I32X4_SPLAT);
    wasm_v128(f, lanes);
    wasm_simd(f, I32X4_ADD);
  }
  emit_index_to_value(e, node_type(node), part);
}

static void emit_load(Emitter *e, const LoopNode *node, int part) {
  if (type_is_complex(node_type(node)) && !is_held_leaf(e, node)) {
    emit_load_complex(e, node, part);
    return;
  }
  emit_load_bits(e, node, part);
  if (type_bytes(node_type(node)) < 4) emit_bits_to_value(e, node_type(node));
}

/* Turns a splat of four lanes into one of dense lanes. */
static void emit_dense_splat(Emitter *e) {
  uint8_t lanes[16];
  for (int i = 0; i < 16; i++) lanes[i] = (uint8_t)(i % e->dense);
  emit_twice(e);
  wasm_shuffle8(&e->function, lanes);
}

static void push_value(Emitter *e, const LoopNode *node, int part) {
  NodeState *state = &e->nodes[node->id];
  if (state->value[part] != NO_LOCAL) {
    wasm_get(&e->function, state->value[part]);
    if (e->dense && node->level < LEVEL_ELEMENT) emit_dense_splat(e);
    return;
  }
  switch (node->kind) {
  case NODE_CONSTANT:
    emit_scalar(e, node_type(node),
                scalar_load(node_type(node), node->instruction->literal->data, 0), part);
    break;
  case NODE_IOTA:
    if (has_64_bit_counter(node)) {
      emit_64_bit_iota(e, node, part);
    } else {
      emit_iota(e, node, part);
    }
    break;
  case NODE_OPERATION: emit_operation(e, node, part); break;
  default: emit_load(e, node, part);
  }
  if (state->kept && state->value[part] == NO_LOCAL) {
    state->value[part] = wasm_local(&e->function, WASM_V128);
    wasm_tee(&e->function, state->value[part]);
  }
}

void init_nodes(Emitter *e) {
  const LoopPlan *plan = e->plan;
  e->push_value = push_value;
  e->nodes = ARENA_ARRAY(plan->arena, NodeState, plan->count + plan->combine_count);
  for (int i = 0; i < plan->count; i++) init_node(e, plan->nodes[i]);
  for (int i = 0; i < plan->combine_count; i++) {
    bool is_first = plan->combine[i]->id == plan->count + i; /* several places may have one node */
    if (is_first) init_node(e, plan->combine[i]);
  }
  if (plan->reduce || plan->output_count < 2) return;
  e->outputs_of = find_outputs_of(plan);
  for (int i = 0; i < plan->count; i++) {
    e->nodes[i].loaded_first = is_loaded_first(plan, &e->outputs_of[i], plan->nodes[i]);
    e->nodes[i].kept |= e->nodes[i].loaded_first;
  }
}

/* Computes the nodes that vary at `level` and are used at a deeper one. */
void emit_level(Emitter *e, LoopLevel level) {
  const LoopPlan *plan = e->plan;
  int dense = e->dense;
  e->dense = 0;
  bool *wanted = ARENA_ARRAY(plan->arena, bool, plan->count);
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    for (int k = 0; k < node->operand_count; k++) {
      if (node->level > level) wanted[node->operands[k]->id] = true;
    }
  }
  for (int i = 0; i < plan->output_count; i++) {
    wanted[plan->outputs[i]->id] = true;
    if (plan->inits) wanted[plan->inits[i]->id] = true;
  }
  for (int i = 0; i < plan->count; i++) { /* values from earlier code are stale */
    if (plan->nodes[i]->level == level) forget_value(e, plan->nodes[i]);
  }
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    if (!wanted[i] || node->level != level) continue;
    e->nodes[i].kept = true;
    for (int part = 0; part < live_parts(e, node_type(node)); part++) {
      emit_value(e, node, part);
      wasm_op(&e->function, OP_DROP);
    }
  }
  e->dense = dense;
}

/* --- Stores ----------------------------------------------------------------------------------- */

/* Computes a function directly on the operands' bits in memory. False, emitting nothing, if it has no such
** form. */
static bool emit_of_bits(Emitter *e, const LoopNode *node) {
  const BinaryFunction *function = bits_function(node->instruction->opcode, node_type(node));
  if (!function) return false;
  for (int i = 0; i < 2; i++) {
    const LoopNode *x = node->operands[i];
    if (!is_in_memory(x) || e->nodes[x->id].loaded_first) return false;
  }
  emit_load_bits(e, node->operands[0], 0);
  emit_load_bits(e, node->operands[1], 0);
  emit_binary_function(e, function, NULL);
  return true;
}

/* Pushes the bits of a value. A value used only by the store is rounded here. */
static void emit_bits(Emitter *e, const LoopNode *node, int part) {
  PrimitiveType type = node_type(node);
  bool kept = e->nodes[node->id].kept || e->nodes[node->id].value[part] != NO_LOCAL;
  bool rounds = node->kind == NODE_OPERATION && is_narrow_float(type) && !kept && !e->unrounded &&
                !is_exact(node->instruction);
  if (rounds && has_byte_table(node) && emit_table_lookup(e, node, true)) return;
  if (rounds && emit_of_bits(e, node)) return;
  e->stored = rounds ? node : NULL;
  emit_value(e, node, part);
  e->stored = NULL;
  if (rounds) {
    emit_rounded_bits(e, type);
  } else if (type_bytes(type) < 4) {
    emit_value_to_bits(e, type);
  }
}

void emit_store_apart(Emitter *e, PrimitiveType type, const int *locals, int pointer,
                      int64_t stride) {
  WasmFunction *f = &e->function;
  if (stride == 1) {
    emit_store_locals(e, type, locals, pointer);
    return;
  }
  bool complex = type_is_complex(type);
  int bytes = complex ? type_bytes(type) / 2 : type_bytes(type), per_part = bytes == 8 ? 2 : LANES;
  for (int part = 0; part < live_parts(e, type); part++) {
    int first = complex ? part / 2 * per_part : part * per_part;
    wasm_get(f, locals[part]);
    if (bytes < 4) emit_value_to_bits(e, type);
    int bits = emit_keep(e);
    wasm_op(f, OP_DROP);
    for (int lane = 0; lane < (e->one_lane ? 1 : per_part); lane++) {
      int64_t element = (e->lane_zero + first + lane) * stride;
      wasm_get(f, pointer);
      wasm_get(f, bits);
      wasm_simd_memory_lane(f, store_lane_op(bytes),
                            element * type_bytes(type) + (complex ? part % 2 * bytes : 0),
                            bytes < 4 ? lane * 4 / bytes : lane);
    }
    wasm_local_release(f, bits);
  }
}

void emit_store(Emitter *e, const LoopNode *node, int pointer) {
  PrimitiveType type = node_type(node);
  bool is_apart = e->apart && !e->one_lane;
  if (!is_apart && emit_square_lookups(e, node, pointer)) return;
  if (type_is_complex(type) || is_apart) {
    int locals[MAX_PARTS];
    for (int part = 0; part < live_parts(e, type); part++) {
      locals[part] = wasm_local(&e->function, WASM_V128);
      emit_value(e, node, part);
      wasm_set(&e->function, locals[part]);
    }
    if (is_apart) {
      emit_store_apart(e, type, locals, pointer, e->apart);
    } else {
      emit_store_complex(e, type, locals, pointer);
    }
    for (int part = 0; part < live_parts(e, type); part++) {
      wasm_local_release(&e->function, locals[part]);
    }
    return;
  }
  for (int part = 0; part < live_parts(e, type); part++) {
    emit_target(e, pointer);
    emit_bits(e, node, part);
    emit_store_bits(e, type, part, pointer);
  }
}

/* Loads the leaves that an output may overwrite and a later one reads: see overwrite.c. */
static void emit_loads_before(Emitter *e, int output) {
  for (int i = 0; i < e->plan->count; i++) {
    const LoopNode *leaf = e->plan->nodes[i];
    if (!e->nodes[i].loaded_first || e->outputs_of[i].first != output) continue;
    for (int part = 0; part < live_parts(e, node_type(leaf)); part++) {
      if (e->nodes[i].value[part] != NO_LOCAL) continue;
      emit_value(e, leaf, part);
      wasm_op(&e->function, OP_DROP);
    }
  }
}

void emit_store_outputs(Emitter *e, const int *pointers) {
  const LoopPlan *plan = e->plan;
  for (int i = 0; i < plan->output_count; i++) {
    int pointer = pointers[i];
    if (plan->addresses) {
      const LoopNode *address = plan->addresses[i];
      e->apart = lane_stride(e, address) == 1 ? 0 : lane_stride(e, address);
      pointer = e->nodes[address->id].pointer;
      if (is_held_leaf(e, address)) {
        pointer = held_result(i);
        e->stored_at[i] = e->nodes[address->id].at;
      }
    }
    if (e->outputs_of) emit_loads_before(e, i);
    emit_store(e, plan->outputs[i], pointer);
  }
  e->apart = 0;
  end_elements(e);
}

bool can_store_last(const Emitter *e) {
  bool can = !e->plan->addresses;
  for (int i = 0; i < e->plan->output_count; i++) {
    PrimitiveType type = node_type(e->plan->outputs[i]);
    can &= !type_is_complex(type) && type_bytes(type) > 1;
  }
  return can;
}

void emit_store_last(Emitter *e, const int *pointers, int unroll) {
  const LoopPlan *plan = e->plan;
  int *locals = ARENA_ARRAY(plan->arena, int, unroll * plan->output_count * MAX_PARTS);
  for (int pass = 0; pass < 2; pass++) {
    int *local = locals;
    for (int u = 0; u < unroll; u++) {
      e->lane_zero = (int64_t)u * lanes_now(e);
      for (int i = 0; i < plan->output_count; i++) {
        PrimitiveType type = node_type(plan->outputs[i]);
        for (int part = 0; part < live_parts(e, type); part++, local++) {
          if (pass == 0) {
            emit_bits(e, plan->outputs[i], part);
            *local = emit_take(e);
          } else {
            emit_target(e, pointers[i]);
            wasm_get(&e->function, *local);
            emit_store_bits(e, type, part, pointers[i]);
            wasm_local_release(&e->function, *local);
          }
        }
      }
      if (pass == 0) end_elements(e);
    }
  }
}

void emit_store_locals(Emitter *e, PrimitiveType type, const int *locals, int pointer) {
  if (type_is_complex(type)) {
    emit_store_complex(e, type, locals, pointer);
    return;
  }
  for (int part = 0; part < live_parts(e, type); part++) {
    emit_target(e, pointer);
    wasm_get(&e->function, locals[part]);
    if (type_bytes(type) < 4) emit_value_to_bits(e, type);
    emit_store_bits(e, type, part, pointer);
  }
}
