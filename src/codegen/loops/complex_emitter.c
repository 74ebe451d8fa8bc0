/*
** Emits complex numbers in loops: as vectors of real and of imaginary parts, loaded from and stored to memory
** where the two alternate. complex_functions.c has the operations of more than one or two instructions.
**
** Part number 2h of a C128 is the real part, and 2h + 1 the imaginary part, of lanes 2h and 2h + 1.
*/
#include "codegen/loops/complex_emitter.h"

#include "codegen/formulas/formulas.h"
#include "codegen/formulas/lanes.h"
#include "codegen/loops/convert_emitter.h"
#include "codegen/loops/expression_emitter.h"
#include "codegen/loops/lane_emitter.h"
#include "codegen/loops/leaf_emitter.h"

static bool is_c128(PrimitiveType type) { return type == C128; }

/* --- Memory ----------------------------------------------------------------------------------- */

/* Loads one component into all lanes. */
static void emit_load_component(Emitter *e, const LoopNode *node, int64_t elements, int component) {
  bool is_64_bit = is_c128(node_type(node));
  int64_t offset = emit_address(e, node, elements) + (is_64_bit ? 8 : 4) * component;
  wasm_simd_memory(&e->function, is_64_bit ? V128_LOAD64_SPLAT : V128_LOAD32_SPLAT, offset);
}

/* Loads one component of elements from `first` on; in two vectors of memory the components alternate. */
static void emit_load_pairs(Emitter *e, const LoopNode *node, int64_t first, int component) {
  for (int i = 0; i < 2; i++) {
    int64_t offset = emit_address(e, node, first) + 16 * i;
    wasm_simd_memory(&e->function, V128_LOAD, offset);
  }
  if (is_c128(node_type(node))) {
    wasm_shuffle32(&e->function, 2 * component, 2 * component + 1, 2 * component + 4,
                   2 * component + 5);
  } else {
    wasm_shuffle32(&e->function, component, component + 2, component + 4, component + 6);
  }
}

static void emit_load_apart(Emitter *e, const LoopNode *node, int64_t first, int component) {
  bool is_64_bit = is_c128(node_type(node));
  int lanes = is_64_bit ? 2 : 4;
  int64_t stride = lane_stride(e, node), offsets[LANES];
  for (int lane = lanes - 1; lane > 0; lane--) { /* the addresses go below the vector */
    offsets[lane] = emit_address(e, node, first + lane * stride) + (is_64_bit ? 8 : 4) * component;
  }
  emit_load_component(e, node, first, component);
  for (int lane = 1; lane < lanes; lane++) {
    wasm_simd_memory_lane(&e->function, is_64_bit ? V128_LOAD64_LANE : V128_LOAD32_LANE,
                          offsets[lane], lane);
  }
}

void emit_load_complex(Emitter *e, const LoopNode *node, int part) {
  int component = part % 2;
  int64_t stride = lane_stride(e, node), first = e->lane_zero + part / 2 * 2;
  if (node->level < LEVEL_ELEMENT || stride == 0) {
    emit_load_component(e, node, 0, component);
  } else if (e->one_lane) {
    emit_load_component(e, node, e->lane_zero * stride, component);
  } else if (stride == 1) {
    emit_load_pairs(e, node, first, component);
  } else {
    emit_load_apart(e, node, first * stride, component);
  }
}

void emit_store_complex(Emitter *e, PrimitiveType type, const int *parts, int pointer) {
  WasmFunction *f = &e->function;
  int64_t offset = first_stored(e) * type_bytes(type);
  if (e->one_lane) {
    for (int component = 0; component < 2; component++) {
      int bytes = type_bytes(type) / 2;
      emit_target(e, pointer);
      wasm_get(f, parts[component]);
      emit_store_bytes(e, pointer, offset + (int64_t)bytes * component, bytes);
    }
    return;
  }
  for (int part = 0; part < lane_parts(lane_kind(type)); part += 2) {
    for (int i = 0; i < 2; i++) {
      emit_target(e, pointer);
      wasm_get(f, parts[part]);
      wasm_get(f, parts[part + 1]);
      if (is_c128(type)) {
        wasm_shuffle32(f, 2 * i, 2 * i + 1, 2 * i + 4, 2 * i + 5);
      } else {
        wasm_shuffle32(f, 2 * i, 2 * i + 4, 2 * i + 1, 2 * i + 5);
      }
      emit_store_bytes(e, pointer, offset + 16 * (part + i), 16);
    }
  }
}

/* --- Operations ------------------------------------------------------------------------------- */

static int pick(bool is_64_bit, int op_32, int op_64) { return is_64_bit ? op_64 : op_32; }

/* (a + bi)(c + di) = (ac - bd) + (ad + bc)i, each step rounded, as in XLA. */
static void emit_multiply(Emitter *e, const LoopNode *node, int part) {
  const LoopNode *x = node->operands[0], *y = node->operands[1];
  bool is_64_bit = is_c128(node_type(node));
  int re = part / 2 * 2, im = re + 1, times = pick(is_64_bit, F32X4_MUL, F64X2_MUL);
  emit_value(e, x, re);
  emit_value(e, y, part == re ? re : im);
  emit_simd(e, times);
  emit_value(e, x, im);
  emit_value(e, y, part == re ? im : re);
  emit_simd(e, times);
  if (part == re) {
    emit_simd(e, pick(is_64_bit, F32X4_SUB, F64X2_SUB));
  } else {
    emit_simd(e, pick(is_64_bit, F32X4_ADD, F64X2_ADD));
  }
}

/* Compares numbers: equal if both components are. */
static void emit_compare_half(Emitter *e, const LoopNode *node, int half) {
  bool equal = node->instruction->a->direction == COMPARE_EQ;
  bool is_64_bit = is_c128(node_type(node->operands[0]));
  for (int part = 2 * half; part < 2 * half + 2; part++) {
    emit_value(e, node->operands[0], part);
    emit_value(e, node->operands[1], part);
    emit_simd(e, equal ? pick(is_64_bit, F32X4_EQ, F64X2_EQ) : pick(is_64_bit, F32X4_NE, F64X2_NE));
  }
  emit_simd(e, equal ? V128_AND : V128_OR);
}

static void emit_compare(Emitter *e, const LoopNode *node) {
  emit_compare_half(e, node, 0);
  if (!is_c128(node_type(node->operands[0])) || e->one_lane) return;
  emit_compare_half(e, node, 1);
  wasm_shuffle32(&e->function, 0, 2, 4, 6);
}

static void emit_select(Emitter *e, const LoopNode *node, int part) {
  emit_value(e, node->operands[1], part);
  emit_value(e, node->operands[2], part);
  emit_value(e, node->operands[0], 0);
  if (is_c128(node_type(node))) emit_widen(e, true, part / 2);
  emit_simd(e, V128_BITSELECT);
}

static void emit_narrowed(Emitter *e, const LoopNode *x, int component) {
  emit_value(e, x, component);
  emit_simd(e, F32X4_DEMOTE_F64X2_ZERO);
  if (e->one_lane) return;
  emit_value(e, x, 2 + component);
  emit_simd(e, F32X4_DEMOTE_F64X2_ZERO);
  wasm_shuffle32(&e->function, 0, 1, 4, 5);
}

static void emit_convert(Emitter *e, const LoopNode *x, PrimitiveType to, int part) {
  PrimitiveType from = node_type(x);
  if (!type_is_complex(from)) { /* the imaginary part is 0 */
    if (part % 2) {
      emit_splat32(e, 0);
    } else {
      emit_converted(e, x, type_complex_component(to), part / 2);
    }
  } else if (from == to) {
    emit_value(e, x, part);
  } else if (is_c128(to)) {
    emit_value(e, x, part % 2);
    emit_take_part(e, part / 2);
    emit_simd(e, F64X2_PROMOTE_LOW_F32X4);
  } else {
    emit_narrowed(e, x, part);
  }
}

/* --- Formulas --------------------------------------------------------------------------------- */

/* Keeps Expressions, which are large, in frames of their own, so that recursion into operands does not pass
** through them. */
#define OWN_FRAME __attribute__((noinline))

/* Puts both parts of half `half` of an operand into locals of their own. */
static void emit_inputs(Emitter *e, const LoopNode *x, int half, int *locals) {
  for (int i = 0; i < 2; i++) {
    emit_value(e, x, 2 * half + i);
    locals[i] = emit_take(e);
  }
}

OWN_FRAME static void emit_modulus_of(Emitter *e, bool is_64_bit, const int *locals) {
  Expression expression = {.is_64_bit = is_64_bit};
  Value re = expression_input(&expression, locals[0]),
        im = expression_input(&expression, locals[1]);
  Value value = complex_modulus(&expression, re, im);
  int result;
  emit_expression(e, &expression, &value, 1, &result);
  wasm_get(&e->function, result);
  wasm_local_release(&e->function, result);
}

static void emit_modulus(Emitter *e, const LoopNode *x, int half) {
  int locals[2];
  emit_inputs(e, x, half, locals);
  emit_modulus_of(e, is_c128(node_type(x)), locals);
  for (int i = 0; i < 2; i++) wasm_local_release(&e->function, locals[i]);
}

/* if (any lane of both results is NaN) results = repaired results */
OWN_FRAME static void emit_repair(Emitter *e, bool is_64_bit, const int *operands,
                                  const int *results) {
  Expression expression = {.is_64_bit = is_64_bit};
  Value parts[4], found[2], repaired[2];
  int locals[2];
  for (int i = 0; i < 2; i++) {
    emit_local(e, results[i]);
    emit_local(e, results[i]);
    emit_simd(e, pick(is_64_bit, F32X4_NE, F64X2_NE));
    found[i] = expression_input(&expression, results[i]);
  }
  emit_simd(e, V128_AND);
  emit_simd(e, I32X4_BITMASK);
  wasm_block(&e->function, OP_IF);
  for (int i = 0; i < 4; i++) parts[i] = expression_input(&expression, operands[i]);
  complex_repair(&expression, parts, found, repaired);
  emit_expression(e, &expression, repaired, 2, locals);
  for (int i = 0; i < 2; i++) {
    emit_local(e, locals[i]);
    wasm_set(&e->function, results[i]);
    wasm_local_release(&e->function, locals[i]);
  }
  wasm_op(&e->function, OP_END);
}

OWN_FRAME static void emit_formula_of(Emitter *e, const LoopNode *node, const int *locals,
                                      int *results) {
  Expression expression = {.is_64_bit = is_c128(node_type(node))};
  Value inputs[4], values[2];
  for (int i = 0; i < 2 * node->operand_count; i++)
    inputs[i] = expression_input(&expression, locals[i]);
  complex_formula(&expression, node->instruction->opcode, inputs, node->operand_count, e->one_lane,
                  values);
  emit_expression(e, &expression, values, 2, results);
}

/* Computes both parts of the result at once, and keeps them until the node is forgotten. */
static void emit_formula(Emitter *e, const LoopNode *node, int part) {
  int half = part / 2, locals[4], count = node->operand_count;
  for (int i = 0; i < count; i++) emit_inputs(e, node->operands[i], half, &locals[2 * i]);
  int *value = &e->nodes[node->id].value[2 * half];
  emit_formula_of(e, node, locals, value);
  if (has_complex_repair(node->instruction->opcode)) {
    emit_repair(e, is_c128(node_type(node)), locals, value);
  }
  for (int i = 0; i < 2 * count; i++) wasm_local_release(&e->function, locals[i]);
  wasm_get(&e->function, value[part % 2]);
}

/* --- All operations ------------------------------------------------------------------------------ */

/* Returns the instruction of an operation on each component by itself, or 0. */
static int component_op(Opcode opcode, bool is_64_bit) {
  switch (opcode) {
  case HLO_ADD: return pick(is_64_bit, F32X4_ADD, F64X2_ADD);
  case HLO_SUBTRACT: return pick(is_64_bit, F32X4_SUB, F64X2_SUB);
  case HLO_NEGATE: return pick(is_64_bit, F32X4_NEG, F64X2_NEG);
  default: return 0;
  }
}

void emit_complex_operation(Emitter *e, const LoopNode *node, int part) {
  const LoopNode *x = node->operands[0];
  Opcode opcode = node->instruction->opcode;
  switch (opcode) {
  case HLO_COMPLEX: emit_value(e, node->operands[part % 2], part / 2); return;
  case HLO_REAL: emit_value(e, x, 2 * part); return;
  case HLO_IMAG: emit_value(e, x, 2 * part + 1); return;
  case HLO_ABS: emit_modulus(e, x, part); return;
  case HLO_COMPARE: emit_compare(e, node); return;
  case HLO_CONVERT: emit_convert(e, x, node_type(node), part); return;
  case HLO_MULTIPLY: emit_multiply(e, node, part); return;
  case HLO_SELECT: emit_select(e, node, part); return;
  default: break;
  }
  if (has_complex_formula(opcode)) {
    emit_formula(e, node, part);
    return;
  }
  for (int i = 0; i < node->operand_count; i++) emit_value(e, node->operands[i], part);
  emit_simd(e, component_op(opcode, is_c128(node_type(node))));
}

bool can_emit_complex(const Instruction *instruction) {
  PrimitiveType type = instruction->shape->type;
  switch (instruction->opcode) {
  case HLO_COMPLEX:
  case HLO_REAL:
  case HLO_IMAG:
  case HLO_ABS:
  case HLO_MULTIPLY:
  case HLO_SELECT: return true;
  case HLO_COMPARE:
    return instruction->a->direction == COMPARE_EQ || instruction->a->direction == COMPARE_NE;
  case HLO_CONVERT: return type_is_complex(type);
  default:
    return has_complex_formula(instruction->opcode) ||
           component_op(instruction->opcode, is_c128(type)) != 0;
  }
}
