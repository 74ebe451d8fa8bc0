/*
** Functions of floats of 8 bits as tables, made once for all programs: a table has less to do than any
** formula, and is what the evaluator computes, bit for bit.
*/
#include <stddef.h>
#include <stdlib.h>

#include "codegen/math_functions.h"
#include "scalar/scalar_math.h"

enum { ENTRIES = 256 };

typedef struct Entry {
  float value;
  uint32_t bits;
} Entry;

static bool is_float8(PrimitiveType type) {
  return type_is_floating(type) && type_bits(type) == 8 && lane_kind(type) == LANES_F32;
}

bool has_byte_table(const LoopNode *node) {
  if (node->kind != NODE_OPERATION || node->operand_count != 1) return false;
  const LoopNode *x = node->operands[0];
  PrimitiveType type = node_type(node);
  return x->kind == NODE_INPUT && node_type(x) == type && is_float8(type) &&
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

/* NULL where there is no memory. */
static const Entry *table_of(const Instruction *instruction, PrimitiveType type) {
  static Entry *tables[OPCODE_COUNT][PRIMITIVE_TYPE_END]; /* are kept */
  Entry **place = &tables[instruction->opcode][type], *before = NULL;
  if (__atomic_load_n(place, __ATOMIC_ACQUIRE)) return *place;
  Entry *table = filled(instruction, type);
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
