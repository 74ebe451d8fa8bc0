#include "hlo/ir/opcode.h"

#include "base/words.h"

const OpcodeRow opcode_rows[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes, ...) {text, arity, category, attributes},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

bool opcode_from_name(const char *name, size_t length, Opcode *opcode) {
  static WordTable table = {opcode_rows, sizeof *opcode_rows, OPCODE_COUNT, {0}};
  int row = word_row(&table, name, length);
  if (row >= 0) *opcode = (Opcode)row;
  return row >= 0;
}

const char *opcode_nearest(const char *name, size_t length) {
  const char *nearest = NULL;
  int limit = near_limit(length);
  for (int i = 0; i < OPCODE_COUNT; i++) {
    if (word_is_nearer(name, length, opcode_rows[i].name, &limit)) nearest = opcode_rows[i].name;
  }
  return nearest;
}

bool opcode_neutral(Opcode opcode, PrimitiveType type, Scalar *x) {
  bool is_float = type_is_floating(type) || type_is_complex(type);
  switch (opcode) {
  case HLO_ADD: *x = is_float ? (Scalar){.f = -0.0, .im = -0.0} : (Scalar){.u = 0}; return true;
  case HLO_MULTIPLY: *x = scalar_one(type); return true;
  case HLO_MAXIMUM: *x = scalar_lowest(type); return true;
  case HLO_MINIMUM: *x = scalar_highest(type); return true;
  case HLO_AND:
    *x = type_kind(type) == KIND_SIGNED ? (Scalar){.i = -1} : scalar_highest(type);
    return true;
  case HLO_OR:
  case HLO_XOR: *x = (Scalar){.u = 0}; return true;
  default: return false;
  }
}

bool opcode_flushes_result(Opcode opcode) {
  bool several = opcode == HLO_CLAMP || opcode_category(opcode) == ELEMENTWISE_BINARY;
  return several && opcode != HLO_REMAINDER;
}

bool opcode_flushes_operands(Opcode opcode) {
  switch (opcode) {
  case HLO_CBRT:
  case HLO_ERF:
  case HLO_LOG1P:
  case HLO_RSQRT:
  case HLO_SQRT: return true;
  default: return opcode_flushes_result(opcode) && opcode != HLO_POWER;
  }
}
