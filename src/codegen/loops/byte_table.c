/*
** Computes functions of 8-bit floats by tables, which are filled once for all programs. A lookup is faster than
** any formula, and equals the evaluator's result bit for bit.
*/
#include "codegen/loops/byte_table.h"

#include <stddef.h>
#include <stdlib.h>

#include "codegen/formulas/lanes.h"
#include "codegen/loops/function_emitter.h"
#include "codegen/loops/leaf_emitter.h"
#include "hlo/scalar/element.h"

/* Threshold ENTRIES: values of a byte. No path. */
enum { ENTRIES = 256 };

typedef struct Entry {
  float value;
  uint32_t bits;
} Entry;

static bool is_byte_input(const LoopNode *node, PrimitiveType type) {
  return node->kind == NODE_INPUT && node_type(node) == type;
}

bool has_byte_table(const LoopNode *node) {
  if (node->kind != NODE_OPERATION || node->operand_count != 1) return false;
  PrimitiveType type = node_type(node);
  return is_byte_input(node->operands[0], type) && type_is_float8(type) &&
         is_long_function(node->instruction->opcode, type);
}

static Entry *filled(const Instruction *instruction, PrimitiveType type) {
  Entry *table = malloc(sizeof *table * ENTRIES);
  for (int i = 0; table && i < ENTRIES; i++) {
    uint8_t byte = (uint8_t)i;
    Scalar x = scalar_load(type, &byte, 0);
    scalar_store(type, &byte, 0, scalar_unary(instruction, type, x));
    table[i] = (Entry){(float)scalar_load(type, &byte, 0).f, byte};
  }
  return table;
}

/* Fills a table of results by both operands' bits. It holds only results, to fit into the cache. */
static uint8_t *filled_square(const Instruction *instruction, PrimitiveType type) {
  uint8_t *table = malloc(ENTRIES * ENTRIES);
  for (int i = 0; table && i < ENTRIES * ENTRIES; i++) {
    uint8_t bytes[] = {(uint8_t)(i >> 8), (uint8_t)i};
    Scalar x = scalar_load(type, bytes, 0), y = scalar_load(type, bytes, 1);
    scalar_store(type, table, i, scalar_binary(instruction, type, x, y));
  }
  return table;
}

/* Returns the table of an opcode and a type, of one operand or two; fills it at the first call. NULL if there is
** no memory. */
static const void *table_of(const Instruction *instruction, PrimitiveType type) {
  static void *tables[OPCODE_COUNT][PRIMITIVE_TYPE_END]; /* never freed */
  void **place = &tables[instruction->opcode][type], *before = NULL;
  if (__atomic_load_n(place, __ATOMIC_ACQUIRE)) return *place;
  void *table = instruction->operand_count == 1 ? (void *)filled(instruction, type)
                                                : filled_square(instruction, type);
  if (!__atomic_compare_exchange_n(place, &before, table, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    free(table);
    return before;
  }
  return table;
}

bool emit_table_lookup(Emitter *e, const LoopNode *node, bool bits) {
  const Entry *table = table_of(node->instruction, node_type(node));
  if (!table) return false;
  size_t field = bits ? offsetof(Entry, bits) : offsetof(Entry, value);
  emit_load_indexed(e, node->operands[0], (uint32_t)((uintptr_t)table + field), sizeof *table);
  return true;
}

/* --- Of two operands -------------------------------------------------------------------------- */

/* Filling a table takes some milliseconds; loops over fewer elements take less. */
/* Threshold MIN_ELEMENTS. Test: "functions of 8-bit floats, from tables" in core/thresholds_programs.test.mjs. */
enum { MIN_ELEMENTS = 1 << 18 };

static bool has_square(const Emitter *e, const LoopNode *node) {
  if (node->kind != NODE_OPERATION || node->operand_count != 2) return false;
  PrimitiveType type = node_type(node);
  int64_t elements = 1;
  for (int k = 0; k < e->plan->rank; k++) elements *= e->plan->sizes[k];
  return elements >= MIN_ELEMENTS && type_is_float8(type) && !e->nodes[node->id].kept &&
         is_byte_input(node->operands[0], type) && is_byte_input(node->operands[1], type);
}

static void emit_byte(Emitter *e, const LoopNode *leaf, int lane) {
  bool one = leaf->level < LEVEL_ELEMENT;
  emit_load_narrow(e, leaf, one ? 0 : (e->lane_zero + lane) * lane_stride(e, leaf));
}

bool emit_square_lookups(Emitter *e, const LoopNode *node, int pointer) {
  WasmFunction *f = &e->function;
  const void *table = has_square(e, node) ? table_of(node->instruction, node_type(node)) : NULL;
  if (!table) return false;
  for (int lane = 0; lane < (e->one_lane ? 1 : LANES); lane++) {
    wasm_get(f, pointer);
    emit_byte(e, node->operands[0], lane);
    wasm_i32(f, 8);
    wasm_op(f, OP_I32_SHL);
    emit_byte(e, node->operands[1], lane);
    wasm_op(f, OP_I32_OR);
    wasm_memory(f, OP_I32_LOAD8_U, (uint32_t)(uintptr_t)table);
    wasm_memory(f, OP_I32_STORE8, first_stored(e) + lane);
  }
  return true;
}
