/* Emits leaves: the loads and stores of four lanes. See leaf_emitter.h. */
#include "codegen/loops/leaf_emitter.h"

#include "codegen/formulas/lanes.h"
#include "codegen/loops/expression_emitter.h"
#include "codegen/loops/lane_emitter.h"

/* --- Leaves ----------------------------------------------------------------------------------- */

int64_t lane_stride(const Emitter *e, const LoopNode *leaf) {
  return leaf->offset.coefficient[e->plan->lane_loop];
}

bool has_64_bit_counter(const LoopNode *leaf) {
  const Instruction *x = leaf->instruction;
  return leaf->kind == NODE_IOTA && lane_kind(node_type(leaf)) == LANES_I64 &&
         x->shape->dims[x->a->iota_dimension] > INT32_MAX;
}

int leaf_buffer(const Emitter *e, const LoopNode *leaf) {
  return leaf->kind == NODE_RESULT ? e->operand_count + leaf->result
                                   : array_of(leaf)->parameter_number;
}

bool is_in_memory(const LoopNode *leaf) {
  return leaf->kind == NODE_INPUT || leaf->kind == NODE_RESULT || leaf->kind == NODE_GATHERED;
}

int64_t emit_address(Emitter *e, const LoopNode *node, int64_t elements) {
  WasmFunction *f = &e->function;
  int64_t offset = elements * type_bytes(node_type(node));
  if (node->level == LEVEL_CALL) {
    wasm_get(f, e->bases[leaf_buffer(e, node)]);
    return offset + node->offset.constant * type_bytes(node_type(node));
  }
  offset += e->nodes[node->id].beside;
  wasm_get(f, e->nodes[e->nodes[node->id].leader].pointer);
  if (offset >= 0) return offset;
  wasm_i32(f, offset);
  wasm_op(f, OP_I32_ADD);
  return 0;
}

/* --- Packed elements --------------------------------------------------------------------------
**
** The pointer of a packed leaf is the number of an element. */

/* Pushes the number of the element that is `elements` after the pointer. */
static void emit_element_number(Emitter *e, const LoopNode *leaf, int64_t elements) {
  if (leaf->level == LEVEL_CALL) { /* it has no pointer */
    wasm_i32(&e->function, leaf->offset.constant + elements);
    return;
  }
  wasm_get(&e->function, e->nodes[leaf->id].pointer);
  if (!elements) return;
  wasm_i32(&e->function, elements);
  wasm_op(&e->function, OP_I32_ADD);
}

/* Turns the number of an element on the stack into the byte, or four bytes, that it is in, with its bits lowest. */
static void emit_load_packed(Emitter *e, const LoopNode *leaf, int opcode) {
  WasmFunction *f = &e->function;
  int per = type_per_byte(node_type(leaf)), number = wasm_local(f, WASM_I32);
  wasm_tee(f, number);
  wasm_i32(f, per / 2); /* of 2 or 4, the logarithm */
  wasm_op(f, OP_I32_SHR_U);
  wasm_get(f, e->bases[leaf_buffer(e, leaf)]);
  wasm_op(f, OP_I32_ADD);
  wasm_memory(f, opcode, 0);
  wasm_get(f, number);
  wasm_i32(f, per - 1);
  wasm_op(f, OP_I32_AND);
  wasm_i32(f, type_bits(node_type(leaf)));
  wasm_op(f, OP_I32_MUL);
  wasm_op(f, OP_I32_SHR_U);
  wasm_local_release(f, number);
}

/* Turns the number of an element on the stack into the element. */
static void emit_unpack(Emitter *e, const LoopNode *leaf) {
  WasmFunction *f = &e->function;
  int above = 32 - type_bits(node_type(leaf));
  emit_load_packed(e, leaf, OP_I32_LOAD8_U);
  wasm_i32(f, above);
  wasm_op(f, OP_I32_SHL);
  wasm_i32(f, above);
  wasm_op(f, type_kind(node_type(leaf)) == KIND_SIGNED ? OP_I32_SHR_S : OP_I32_SHR_U);
}

/* Pushes four adjacent elements: each lane shifts its own up to the highest bits, by a product, and all down again. */
static void emit_load_packed_vector(Emitter *e, const LoopNode *leaf) {
  WasmFunction *f = &e->function;
  uint32_t bits = (uint32_t)type_bits(node_type(leaf));
  uint64_t powers[2];
  for (uint32_t k = 0; k < 2; k++) {
    powers[k] = UINT64_C(1) << (32 - bits - 2 * k * bits);
    powers[k] |= UINT64_C(1) << (64 - bits - (2 * k + 1) * bits);
  }
  emit_element_number(e, leaf, e->lane_zero);
  emit_load_packed(e, leaf, OP_I32_LOAD);
  wasm_simd(f, I32X4_SPLAT);
  wasm_v128(f, powers);
  wasm_simd(f, I32X4_MUL);
  bool is_signed = type_kind(node_type(leaf)) == KIND_SIGNED;
  emit_shift(e, is_signed ? I32X4_SHR_S : I32X4_SHR_U, 32 - (int)bits);
}

bool is_held_leaf(const Emitter *e, const LoopNode *leaf) {
  return is_in_memory(leaf) && e->slices && is_held(e->cells, &e->slices[leaf_buffer(e, leaf)]);
}

/* Pushes lanes from number `lane` on, or one component of complex ones; lane 0 is `elements` after the
** pointer. Dead lanes repeat the last live one: memory there may hold denormals, which are slow. */
static void emit_held_lanes(Emitter *e, const LoopNode *leaf, int64_t elements, int64_t stride,
                            int lane, int component) {
  int64_t from[16];
  const BufferSlice *slice = &e->slices[leaf_buffer(e, leaf)];
  int whole = type_bytes(node_type(leaf)), last = e->one_lane ? 0 : e->tail ? e->tail - 1 : LANES;
  int bytes = type_is_complex(node_type(leaf)) ? whole / 2 : whole, width = bytes == 8 ? 8 : 4;
  for (int k = 0; k < 16; k++) {
    int at = lane + k / width < last ? lane + k / width : last;
    from[k] = e->nodes[leaf->id].at + (elements + at * stride) * whole + k % width +
              (int64_t)component * bytes;
    if (k % width >= bytes) from[k] = -1;
  }
  bool is_scalar = e->one_lane && slice->bytes == bytes;
  emit_held(&e->function, e->cells, slice, from, is_scalar ? bytes : 16);
}

/* Pushes a part of a leaf in cells, without extending narrow elements. */
static void emit_held_leaf(Emitter *e, const LoopNode *leaf, int part) {
  bool complex = type_is_complex(node_type(leaf));
  int bytes = type_bytes(node_type(leaf)), lanes = bytes == (complex ? 16 : 8) ? 2 : LANES;
  int64_t stride = leaf->level < LEVEL_ELEMENT ? 0 : lane_stride(e, leaf);
  emit_held_lanes(e, leaf, e->lane_zero * stride, stride, (complex ? part / 2 : part) * lanes,
                  complex ? part % 2 : 0);
}

/* Whether the bits above a narrow element are copies of its sign. Those of f16 are, for bits_function(). */
static bool extends_sign(PrimitiveType type) {
  return type == F16 || type_kind(type) == KIND_SIGNED;
}

static void emit_extend(Emitter *e, PrimitiveType type) {
  int bits = 8 * type_bytes(type);
  if (bits >= 32) return;
  emit_shift(e, I32X4_SHL, 32 - bits);
  emit_shift(e, extends_sign(type) ? I32X4_SHR_S : I32X4_SHR_U, 32 - bits);
}

/* Loads an element of less than 32 bits as an i32. */
static void emit_load_extended(Emitter *e, PrimitiveType type, int64_t offset) {
  bool with_sign = extends_sign(type);
  int byte = with_sign ? OP_I32_LOAD8_S : OP_I32_LOAD8_U;
  int half = with_sign ? OP_I32_LOAD16_S : OP_I32_LOAD16_U;
  wasm_memory(&e->function, type_bytes(type) == 1 ? byte : half, offset);
}

void emit_load_narrow(Emitter *e, const LoopNode *node, int64_t elements) {
  if (is_held_leaf(e, node)) {
    emit_held_lanes(e, node, elements, 0, 0, 0);
    emit_extend(e, node_type(node));
    wasm_extract_lane(&e->function, I32X4_EXTRACT_LANE, 0);
    return;
  }
  if (node->packed) {
    emit_element_number(e, node, elements);
    emit_unpack(e, node);
    return;
  }
  int64_t offset = emit_address(e, node, elements);
  emit_load_extended(e, node_type(node), offset);
}

/* Pushes one element in all lanes. */
static void emit_load_splat(Emitter *e, const LoopNode *node, int64_t elements) {
  WasmFunction *f = &e->function;
  int bytes = type_bytes(node_type(node));
  if (bytes < 4) {
    emit_load_narrow(e, node, elements);
    wasm_simd(f, I32X4_SPLAT);
  } else {
    int64_t offset = emit_address(e, node, elements);
    wasm_simd_memory(f, bytes == 4 ? V128_LOAD32_SPLAT : V128_LOAD64_SPLAT, offset);
  }
}

/* Pushes four adjacent elements. */
static void emit_load_vector(Emitter *e, const LoopNode *node, int part) {
  WasmFunction *f = &e->function;
  bool with_sign = extends_sign(node_type(node));
  int64_t offset = emit_address(e, node, e->lane_zero);
  switch (e->dense ? 16 : type_bytes(node_type(node))) {
  case 1:
    wasm_simd_memory(f, V128_LOAD32_ZERO, offset);
    wasm_simd(f, with_sign ? I16X8_EXTEND_LOW_I8X16_S : I16X8_EXTEND_LOW_I8X16_U);
    wasm_simd(f, with_sign ? I32X4_EXTEND_LOW_I16X8_S : I32X4_EXTEND_LOW_I16X8_U);
    break;
  case 2: wasm_simd_memory(f, with_sign ? V128_LOAD16X4_S : V128_LOAD16X4_U, offset); break;
  default: wasm_simd_memory(f, V128_LOAD, offset + 16 * part);
  }
}

/* Returns the bytes from the first of four elements to the end of the last. */
static int64_t span_of(const Emitter *e, const LoopNode *leaf) {
  int64_t steps = (LANES - 1) * lane_stride(e, leaf);
  return ((steps < 0 ? -steps : steps) + 1) * type_bytes(node_type(leaf));
}

bool is_close(const Emitter *e, const LoopNode *leaf) {
  return leaf->kind == NODE_INPUT && !leaf->packed && span_of(e, leaf) <= 16;
}

/* Pushes four elements that lie within one vector, by loading both ends of that range. */
static void emit_load_close(Emitter *e, const LoopNode *node) {
  WasmFunction *f = &e->function;
  PrimitiveType type = node_type(node);
  int64_t stride = lane_stride(e, node), first = e->lane_zero * stride, low = first;
  if (stride < 0) low += (LANES - 1) * stride;
  int bytes = type_bytes(type), span = (int)span_of(e, node), half = span > 8 ? 8 : 4;
  uint8_t lanes[16];
  for (int i = 0; i < 16; i++) { /* each at the upper end of its lane */
    int within = i % 4 < 4 - bytes ? 0 : i % 4 - (4 - bytes);
    int at = (int)(first + i / 4 * stride - low) * bytes + within;
    lanes[i] = (uint8_t)(at < half ? at : at - span + 2 * half);
  }
  int64_t offset = emit_address(e, node, low) + span - half;
  wasm_simd_memory(f, half == 8 ? V128_LOAD64_ZERO : V128_LOAD32_ZERO, emit_address(e, node, low));
  wasm_simd_memory_lane(f, half == 8 ? V128_LOAD64_LANE : V128_LOAD32_LANE, offset, 1);
  emit_twice(e);
  wasm_shuffle8(f, lanes);
  if (bytes < 4) emit_shift(e, extends_sign(type) ? I32X4_SHR_S : I32X4_SHR_U, 32 - 8 * bytes);
}

/* Pushes four elements that are not adjacent. */
static void emit_load_strided(Emitter *e, const LoopNode *node, int part) {
  WasmFunction *f = &e->function;
  int bytes = type_bytes(node_type(node)), lanes = bytes == 8 ? 2 : 4;
  int64_t stride = lane_stride(e, node), first = (e->lane_zero + part * lanes) * stride;
  if (bytes < 4) {
    emit_load_splat(e, node, first);
    for (int lane = 1; lane < lanes; lane++) {
      emit_load_narrow(e, node, first + lane * stride);
      wasm_extract_lane(f, I32X4_REPLACE_LANE, lane);
    }
    return;
  }
  int64_t offsets[LANES];
  for (int lane = lanes - 1; lane > 0; lane--) { /* the addresses go below the vector */
    offsets[lane] = emit_address(e, node, first + lane * stride);
  }
  emit_load_splat(e, node, first);
  int opcode = bytes == 4 ? V128_LOAD32_LANE : V128_LOAD64_LANE;
  for (int lane = 1; lane < lanes; lane++) wasm_simd_memory_lane(f, opcode, offsets[lane], lane);
}

static void emit_indexed_address(Emitter *e, const LoopNode *leaf, int64_t elements, int64_t size) {
  emit_load_narrow(e, leaf, elements);
  wasm_i32(&e->function, size);
  wasm_op(&e->function, OP_I32_MUL);
}

void emit_load_indexed(Emitter *e, const LoopNode *leaf, int64_t address, int64_t size) {
  WasmFunction *f = &e->function;
  bool one = leaf->level < LEVEL_ELEMENT || lane_stride(e, leaf) == 0;
  int64_t stride = one ? 0 : lane_stride(e, leaf), first = e->lane_zero * stride;
  int lanes = one || e->one_lane ? 1 : LANES;
  for (int lane = lanes - 1; lane >= 0; lane--) { /* the addresses go below the vector */
    emit_indexed_address(e, leaf, first + lane * stride, size);
  }
  wasm_simd_memory(f, V128_LOAD32_SPLAT, address);
  for (int lane = 1; lane < lanes; lane++)
    wasm_simd_memory_lane(f, V128_LOAD32_LANE, address, lane);
}

bool is_scattered(const LoopNode *node) {
  bool is = false;
  for (int k = 0; k < node->operand_count; k++) is |= node->operands[k]->level == LEVEL_ELEMENT;
  return is && node->kind == NODE_GATHERED;
}

/* Clamps a component of 64 bits to 0 .. `most`. */
static Value clamped(Expression *expression, PrimitiveType type, int64_t max, Value x) {
  expression->is_64_bit = true;
  Value negative = shifted_right(expression, x, 63), limit = integer(expression, max);
  if (is_signed(type)) x = bit_andnot(expression, x, negative);
  Value above = integer_less(expression, limit, x);
  if (!is_signed(type)) above = bit_or(expression, above, negative);
  x = selected(expression, above, limit, x);
  expression->is_64_bit = false;
  return x;
}

/* Returns how far one of a gathered node's components moves its elements. */
static Value moved_by(Expression *expression, const LoopNode *node, int k, const Value *parts) {
  PrimitiveType type = node_type(node->operands[k]);
  int64_t max = node->limits[k], by = node->strides[k] * type_bytes(node_type(node));
  Value x = parts[0];
  if (lane_kind(type) == LANES_I64) {
    Value low = clamped(expression, type, max, x), high = clamped(expression, type, max, parts[1]);
    x = expression_shuffle(expression, low, high, 0, 2, 4, 6);
  } else {
    if (is_signed(type))
      x = expression_op(expression, I32X4_MAX_S, 2, x, integer(expression, 0), -1);
    x = expression_op(expression, I32X4_MIN_U, 2, x, integer(expression, max), -1);
  }
  if (by == 1) return x;
  if ((by & (by - 1)) == 0) return shifted_left(expression, x, __builtin_ctzll((uint64_t)by));
  return expression_op(expression, I32X4_MUL, 2, x, integer(expression, by), -1);
}

/* Returns the offsets that a gathered node's index adds to its elements' addresses or, if packed, numbers, in lanes of 32 bits.
** `inputs` are the locals with both parts of each component. */
static Value gathered_offsets(Expression *expression, const LoopNode *node,
                              const int (*inputs)[2]) {
  Value total = -1;
  for (int k = 0; k < node->operand_count; k++) {
    Value parts[2];
    for (int i = 0; i < 2; i++) parts[i] = expression_input(expression, inputs[k][i]);
    Value by = moved_by(expression, node, k, parts);
    total = total < 0 ? by : integer_sum(expression, total, by);
  }
  return total;
}

/* Returns a local with a gathered node's offsets. Not inlined, as expressions take much stack. */
__attribute__((noinline)) static int emit_offsets_of(Emitter *e, const LoopNode *node,
                                                     const int (*inputs)[2]) {
  Expression expression = {0};
  Value value = gathered_offsets(&expression, node, inputs);
  int result;
  emit_expression(e, &expression, &value, 1, &result);
  return result;
}

int emit_gathered_offsets(Emitter *e, const LoopNode *node) {
  int inputs[MAX_DIMENSIONS][2];
  bool varies = is_scattered(node) && !e->one_lane;
  for (int k = 0; k < node->operand_count; k++) {
    int parts = varies ? lane_parts(lane_kind(node_type(node->operands[k]))) : 1;
    for (int i = 0; i < 2; i++) {
      if (i < parts) emit_value(e, node->operands[k], i);
      inputs[k][i] = i < parts ? emit_take(e) : inputs[k][0];
    }
  }
  int result = emit_offsets_of(e, node, inputs);
  for (int k = 0; k < node->operand_count; k++) {
    if (inputs[k][1] != inputs[k][0]) wasm_local_release(&e->function, inputs[k][1]);
    wasm_local_release(&e->function, inputs[k][0]);
  }
  return result;
}

void emit_add_gathered(Emitter *e, int offsets, int lane) {
  emit_local(e, offsets);
  wasm_extract_lane(&e->function, I32X4_EXTRACT_LANE, lane);
  wasm_op(&e->function, OP_I32_ADD);
}

/* Returns what must be added to the address, or the number, that it pushes. */
static int64_t emit_scattered_address(Emitter *e, const LoopNode *node, int offsets, int lane) {
  int64_t elements = (e->lane_zero + lane) * lane_stride(e, node), offset = 0;
  if (node->packed) {
    emit_element_number(e, node, elements);
  } else {
    offset = emit_address(e, node, elements);
  }
  emit_add_gathered(e, offsets, lane);
  return offset;
}

/* Pushes elements at any addresses, loaded one by one. */
static void emit_load_scattered(Emitter *e, const LoopNode *node, int part) {
  WasmFunction *f = &e->function;
  int bytes = type_bytes(node_type(node)), lanes = bytes == 8 ? 2 : LANES, first = part * lanes;
  int64_t at[LANES];
  int live = e->one_lane ? 1 : lanes, offsets = emit_gathered_offsets(e, node);
  if (bytes < 4) {
    for (int lane = 0; lane < live; lane++) {
      at[0] = emit_scattered_address(e, node, offsets, first + lane);
      if (node->packed) {
        emit_unpack(e, node);
      } else {
        emit_load_extended(e, node_type(node), at[0]);
      }
      if (lane == 0) {
        emit_simd(e, I32X4_SPLAT);
      } else {
        wasm_extract_lane(f, I32X4_REPLACE_LANE, lane);
      }
    }
    wasm_local_release(f, offsets);
    return;
  }
  for (int lane = live - 1; lane >= 0; lane--) { /* the addresses go below the vector */
    at[lane] = emit_scattered_address(e, node, offsets, first + lane);
  }
  wasm_simd_memory(f, bytes == 4 ? V128_LOAD32_SPLAT : V128_LOAD64_SPLAT, at[0]);
  int opcode = bytes == 4 ? V128_LOAD32_LANE : V128_LOAD64_LANE;
  for (int lane = 1; lane < live; lane++) wasm_simd_memory_lane(f, opcode, at[lane], lane);
  wasm_local_release(f, offsets);
}

void emit_load_bits(Emitter *e, const LoopNode *node, int part) {
  if (is_scattered(node)) {
    emit_load_scattered(e, node, part);
  } else if (is_held_leaf(e, node)) {
    emit_held_leaf(e, node, part);
    emit_extend(e, node_type(node));
  } else if (node->level < LEVEL_ELEMENT || lane_stride(e, node) == 0) {
    emit_load_splat(e, node, 0);
  } else if (e->one_lane) {
    emit_load_splat(e, node, e->lane_zero * lane_stride(e, node));
  } else if (lane_stride(e, node) == 1 && node->packed) {
    emit_load_packed_vector(e, node);
  } else if (lane_stride(e, node) == 1) {
    emit_load_vector(e, node, part);
  } else if (is_close(e, node)) {
    emit_load_close(e, node);
  } else {
    emit_load_strided(e, node, part);
  }
}

/* --- Nodes ------------------------------------------------------------------------------------ */

void init_node(Emitter *e, const LoopNode *node) {
  e->nodes[node->id] = (NodeState){.value = {NO_LOCAL, NO_LOCAL, NO_LOCAL, NO_LOCAL},
                                   .kept = node->uses > 1,
                                   .pointer = NO_LOCAL,
                                   .leader = node->id};
  if (is_in_memory(node) && node->level == LEVEL_CALL) {
    e->nodes[node->id].at = node->offset.constant * type_bytes(node_type(node));
  }
  for (int k = 0; k < node->operand_count; k++) {
    /* Several parts of a user read one part of an operand. */
    const LoopNode *operand = node->operands[k];
    if (node_parts(node) > node_parts(operand) || type_is_complex(node_type(operand))) {
      e->nodes[operand->id].kept = true;
    }
    if (node->kind == NODE_GATHERED) e->nodes[operand->id].kept = true; /* for several lanes */
  }
}

void forget_value(Emitter *e, const LoopNode *node) {
  for (int part = 0; part < MAX_PARTS; part++) {
    int *local = &e->nodes[node->id].value[part];
    if (*local != NO_LOCAL) wasm_local_release(&e->function, *local);
    *local = NO_LOCAL;
  }
}

/* Forgets the values of the elements just computed. */
void end_elements(Emitter *e) {
  for (int i = 0; i < e->plan->count; i++) {
    if (e->plan->nodes[i]->level == LEVEL_ELEMENT) forget_value(e, e->plan->nodes[i]);
  }
}

void end_combining(Emitter *e) {
  for (int i = 0; i < e->plan->combine_count; i++) forget_value(e, e->plan->combine[i]);
}

/* --- Stores ----------------------------------------------------------------------------------- */

/* Packs elements that fill `bytes` of each lane: lane 0's bytes, lane 1's bytes, ... */
static void emit_pack_lanes(Emitter *e, int bytes) {
  uint8_t lanes[16];
  for (int i = 0; i < 16; i++) lanes[i] = (uint8_t)(4 * (i / bytes % LANES) + i % bytes);
  int x = wasm_local(&e->function, WASM_V128);
  wasm_tee(&e->function, x);
  wasm_get(&e->function, x);
  wasm_local_release(&e->function, x);
  wasm_shuffle8(&e->function, lanes);
}

int store_lane_op(int bytes) {
  switch (bytes) {
  case 1: return V128_STORE8_LANE;
  case 2: return V128_STORE16_LANE;
  case 4: return V128_STORE32_LANE;
  default: return V128_STORE64_LANE;
  }
}

void emit_target(Emitter *e, int pointer) {
  if (pointer > NO_LOCAL) wasm_get(&e->function, pointer);
}

void emit_store_bytes(Emitter *e, int pointer, int64_t offset, int bytes) {
  WasmFunction *f = &e->function;
  if (pointer < NO_LOCAL) {
    int result = held_result(pointer);
    offset += e->stored_at[result];
    emit_hold(f, e->cells, &e->slices[e->operand_count + result], offset, bytes);
  } else if (bytes == 16) {
    wasm_simd_memory(f, V128_STORE, offset);
  } else {
    wasm_simd_memory_lane(f, store_lane_op(bytes), offset, 0);
  }
}

int64_t first_stored(const Emitter *e) {
  return e->one_lane && e->apart ? e->lane_zero * e->apart : e->lane_zero;
}

void emit_store_bits(Emitter *e, PrimitiveType type, int part, int pointer) {
  int bytes = type_bytes(type);
  if (!e->one_lane && bytes < 4 && !e->dense) emit_pack_lanes(e, bytes);
  int lanes = e->tail && !e->one_lane ? e->tail : lanes_now(e);
  int stored = bytes < 8 ? lanes * bytes : lanes * bytes - 16 * part;
  if (stored > 16) stored = 16;
  emit_store_bytes(e, pointer, first_stored(e) * bytes + 16 * part, stored);
}
