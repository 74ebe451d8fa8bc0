#include "hlo/ir/opcode.h"

#include <string.h>

const OpcodeRow opcode_rows[OPCODE_COUNT] = {
#define OPCODE(name, text, arity, category, attributes, ...) {text, arity, category, attributes},
#include "hlo/ir/opcodes.def"
#undef OPCODE
};

/* Threshold MAX_NEAR: letters of a word for which an error suggests an operation. No opcode has more. No path. */
enum { MAX_NEAR = 60 };

bool opcode_from_name(const char *name, size_t length, Opcode *opcode) {
  /* Threshold GUESSES: of a table by the names' hashes. No path. */
  enum { GUESSES = 128 };
  static _Atomic uint8_t
      guesses[GUESSES]; /* the row of the last name with this hash: the search begins there */
  if (length == 0) return false;
  unsigned hash =
      (unsigned char)name[0] * 5u + (unsigned char)name[length - 1] * 3u + (unsigned)length;
  _Atomic uint8_t *guess = &guesses[hash % GUESSES];
  for (int i = *guess, tried = 0; tried < OPCODE_COUNT; tried++) {
    const char *row = opcode_rows[i].name;
    if (*row == *name && !strncmp(row, name, length) && !row[length]) {
      *guess = (uint8_t)i;
      *opcode = (Opcode)i;
      return true;
    }
    i = i + 1 < OPCODE_COUNT ? i + 1 : 0;
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
      int min = 1 + (row[j] < before ? row[j] : before);
      row[j + 1] = (unsigned char)(replaced < min ? replaced : min);
    }
  }
  return row[count];
}

int near_limit(size_t length) {
  if (length > MAX_NEAR) return 0;
  return length > 4 ? (int)(length + 1) / 3 + 1 : 2; /* a third of the letters, at least one */
}

bool word_is_nearer(const char *word, size_t length, const char *other, int *limit) {
  int steps = *limit > 0 ? distance(word, length, other) : 0;
  if (steps >= *limit) return false;
  *limit = steps;
  return true;
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
