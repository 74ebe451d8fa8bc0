/* The kinds of lanes that values of the element types are computed in. */
#ifndef XLA_CODEGEN_FORMULAS_LANES_H
#define XLA_CODEGEN_FORMULAS_LANES_H

#include "value/types.h"

/* ORDER LANE_KIND */
typedef enum LaneKind {
  LANES_NONE, /* a type that the emitter does not know */
  LANES_MASK,
  LANES_I32,
  LANES_I64,
  LANES_F32,
  LANES_F64,
  LANES_C64,
  LANES_C128,
} LaneKind;

static inline bool is_complex(LaneKind kind) { return kind == LANES_C64 || kind == LANES_C128; }
static inline int lane_parts(LaneKind kind) {
  return kind == LANES_C128                                            ? 4
         : kind == LANES_I64 || kind == LANES_F64 || kind == LANES_C64 ? 2
                                                                       : 1;
}

static inline bool is_signed(PrimitiveType type) { return type_kind(type) == KIND_SIGNED; }
static inline bool is_narrow_float(PrimitiveType type) {
  return type_is_floating(type) && type_bits(type) < 32;
}

/* Returns the kind for an element type; LANES_NONE if loops cannot compute it. */
LaneKind lane_kind(PrimitiveType type);

#endif
