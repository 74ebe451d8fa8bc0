/* Names the vector function of an operation: see vectors/vector_functions.def. */
#include "codegen/formulas/formulas.h"

/* The lanes that rows of the table name. Those of 64-bit integers of one sign are no kind of lanes by themselves. */
enum {
  OF_i32x4 = LANES_I32,
  OF_i64x2 = LANES_I64,
  OF_f32x4 = LANES_F32,
  OF_f64x2 = LANES_F64,
  OF_c64x2 = LANES_C64,
  OF_c128 = LANES_C128,
  OF_s64x2,
  OF_u64x2,
  OF_FIRST = LANES_I32,
  OF_COUNT = OF_u64x2 + 1 - OF_FIRST
};

static const char *const names[OPCODE_COUNT][OF_COUNT] = {
#define VECTOR_FUNCTION(opcode, name, lanes, arity) \
  [opcode][OF_##lanes - OF_FIRST] = "xla_" #name "_" #lanes,
#include "vectors/vector_functions.def"
#undef VECTOR_FUNCTION
};

const char *vector_function(Opcode opcode, PrimitiveType type) {
  LaneKind kind = lane_kind(type);
  if (kind < OF_FIRST) return NULL;
  const char *name = names[opcode][kind - OF_FIRST];
  if (name || kind != LANES_I64) return name;
  return names[opcode][(is_signed(type) ? OF_s64x2 : OF_u64x2) - OF_FIRST];
}
