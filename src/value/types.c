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
