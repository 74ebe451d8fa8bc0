#include "hlo/ir/opcode.h"

#include <string.h>

const OpcodeRow opcode_rows[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes) {text, arity, category, attributes},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

enum { MAX_NEAR = 60 }; /* letters of a word that another may be near to; no opcode has more */

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

/* How many letters of a word must be put in, taken out or replaced to make another: Levenshtein's distance. */
static int distance(const char *from, size_t length, const char *to) {
  unsigned char row[MAX_NEAR + 1];
  int count = (int)strlen(to);
  for (int j = 0; j <= count; j++) row[j] = (unsigned char)j;
  for (size_t i = 0; i < length; i++) {
    int before = row[0]++;
    for (int j = 0; j < count; j++) {
      int replaced = before + (from[i] != to[j]);
      before = row[j + 1];
      int least = 1 + (row[j] < before ? row[j] : before);
      row[j + 1] = (unsigned char)(replaced < least ? replaced : least);
    }
  }
  return row[count];
}

const char *opcode_nearest(const char *name, size_t length) {
  const char *nearest = NULL;
  int limit = length > 4 ? (int)(length + 1) / 3 + 1 : 2; /* a third of the letters, at least one */
  if (length > MAX_NEAR) return NULL;
  for (int i = 0; i < OPCODE_COUNT; i++) {
    int steps = distance(name, length, opcode_rows[i].name);
    if (steps >= limit) continue;
    nearest = opcode_rows[i].name;
    limit = steps;
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
