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
