#include "hlo/ir/opcode.h"

#include <string.h>

const OpcodeRow opcode_rows[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes) {text, arity, category, attributes},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

bool opcode_from_name(const char *name, size_t length, Opcode *opcode) {
  if (length == 0) return false;
  for (int i = 0; i < OPCODE_COUNT; i++) {
    const char *row = opcode_rows[i].name;
    if (*row == *name && strlen(row) == length && !memcmp(row, name, length)) {
      *opcode = (Opcode)i;
      return true;
    }
  }
  return false;
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
