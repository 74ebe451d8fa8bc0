/* Declares the opcodes, and the properties of each from opcodes.def. */
#ifndef XLA_HLO_IR_OPCODE_H
#define XLA_HLO_IR_OPCODE_H

#include <stdbool.h>
#include <stddef.h>

#include "value/scalar.h"

enum { VARIADIC = -1 };

typedef enum OpCategory {
  ELEMENTWISE_UNARY, /* the first four: see opcode_is_elementwise */
  CONVERSION,
  ELEMENTWISE_BINARY,
  ELEMENTWISE_TERNARY,
  APPLY, /* runs a user computation on elements */
  SOURCE,
  MOVEMENT,
  CONTRACTION,
  LIBRARY,
  STRUCTURE,
  CONTROL,
  COLLECTIVE,
  TRANSFER,
} OpCategory;

/* ORDER OPCODE. The enumerators have a prefix, as names like ADD and AND are common. */
typedef enum Opcode {
#define OPCODE(name, ...) HLO_##name,
#include "hlo/ir/opcodes.def"
#undef OPCODE
  OPCODE_COUNT
} Opcode;

typedef struct OpcodeRow {
  const char *name; /* as in HLO text */
  int arity;        /* operands, or VARIADIC */
  OpCategory category;
  const char *attributes; /* space-separated attribute names */
} OpcodeRow;

extern const OpcodeRow opcode_rows[OPCODE_COUNT];

static inline const char *opcode_name(Opcode opcode) { return opcode_rows[opcode].name; }
static inline OpCategory opcode_category(Opcode opcode) { return opcode_rows[opcode].category; }
/* Whether each element of the result depends only on the operands' elements at its index (or on scalars). */
static inline bool opcode_is_elementwise(Opcode opcode) {
  return opcode_category(opcode) <= ELEMENTWISE_TERNARY;
}

/* Returns false if there is no such operation. */
bool opcode_from_name(const char *name, size_t length, Opcode *opcode);
/* Returns the name of the opcode that is spelled most like a word: NULL if none differs in less than a third of it. */
const char *opcode_nearest(const char *name, size_t length);

/* Finds x with f(x, y) = y for all y, for an operation f that reductions may reorder; false for other operations. For
** a sum of floats it is -0, as 0 + -0 is 0. */
bool opcode_neutral(Opcode opcode, PrimitiveType type, Scalar *x);

/* Whether XLA:CPU takes denormal operands of an operation for zero, or returns zero for a denormal result; this shows in
** F8E8M0FNU, whose min is a denormal of F32. Other operations pass small numbers on unchanged. */
bool opcode_flushes_operands(Opcode opcode);
bool opcode_flushes_result(Opcode opcode);

#endif
