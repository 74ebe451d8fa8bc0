#include "codegen/formulas/lanes.h"

LaneKind lane_kind(PrimitiveType type) {
  switch (type_kind(type)) {
  case KIND_PRED: return LANES_MASK;
  case KIND_SIGNED:
  case KIND_UNSIGNED: return type_bits(type) <= 32 ? LANES_I32 : LANES_I64;
  case KIND_FLOAT: return type_bits(type) <= 32 ? LANES_F32 : LANES_F64;
  case KIND_COMPLEX: return type == C64 ? LANES_C64 : LANES_C128;
  default: return LANES_NONE;
  }
}
