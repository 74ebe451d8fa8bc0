/* Gives the names, sizes and kinds of element types: see types.h. */
#include "value/types.h"

#include <string.h>

typedef struct TypeRow {
  const char *name;
  int bytes, bits;
  TypeKind kind;
} TypeRow;

static const TypeRow rows[PRIMITIVE_TYPE_END] = {
#define TYPE(name, text, number, bytes, bits, kind) [number] = {text, bytes, bits, kind},
#include "value/types.def"
#undef TYPE
};

static const TypeRow *row_of(PrimitiveType type) {
  return &rows[(unsigned)type < PRIMITIVE_TYPE_END ? type : PRIMITIVE_TYPE_INVALID];
}

const char *type_name(PrimitiveType type) {
  const char *name = row_of(type)->name;
  return name ? name : "invalid";
}

int type_bytes(PrimitiveType type) { return row_of(type)->bytes; }
int type_bits(PrimitiveType type) { return row_of(type)->bits; }
TypeKind type_kind(PrimitiveType type) { return row_of(type)->kind; }

int type_mantissa_bits(PrimitiveType type) {
  switch (type) {
  case F64: return 52;
  case F32: return 23;
  case F16: return 10;
  case BF16: return 7;
  case F8E3M4: return 4;
  case F8E5M2:
  case F8E5M2FNUZ: return 2;
  case F4E2M1FN: return 1;
  default: return 3; /* the other types of 8 bits */
  }
}

PrimitiveType type_from_name(const char *name, size_t length) {
  if (length == 0) return PRIMITIVE_TYPE_INVALID;
  for (int i = 1; i < PRIMITIVE_TYPE_END; i++) {
    const char *row = rows[i].name;
    if (row && *row == *name && strlen(row) == length && !memcmp(row, name, length)) {
      return (PrimitiveType)i;
    }
  }
  return PRIMITIVE_TYPE_INVALID;
}

PrimitiveType type_complex_component(PrimitiveType type) {
  return type == C64 ? F32 : type == C128 ? F64 : type;
}

PrimitiveType type_complex_of(PrimitiveType type) {
  return type == F32 ? C64 : type == F64 ? C128 : PRIMITIVE_TYPE_INVALID;
}
