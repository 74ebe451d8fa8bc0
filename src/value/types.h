/* Element types: XLA's PrimitiveType, its names, sizes and kinds. */
#ifndef XLA_VALUE_TYPES_H
#define XLA_VALUE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum PrimitiveType {
  PRIMITIVE_TYPE_INVALID = 0,
#define TYPE(name, text, number, bytes, bits, kind) name = number,
#include "value/types.def"
#undef TYPE
  PRIMITIVE_TYPE_END = 34,
} PrimitiveType;

typedef enum TypeKind {
  KIND_INVALID,
  KIND_PRED,
  KIND_SIGNED,
  KIND_UNSIGNED,
  KIND_FLOAT,
  KIND_COMPLEX,
  KIND_TUPLE,
  KIND_OPAQUE,
  KIND_TOKEN,
} TypeKind;

const char *type_name(PrimitiveType type);  /* "f32"; "invalid" if not a type */
int type_bytes(PrimitiveType type);         /* bytes per element in memory; 0 for tuple, token */
int type_bits(PrimitiveType type);          /* significant bits per element */
int type_mantissa_bits(PrimitiveType type); /* of floats */
bool type_is_fnuz(
    PrimitiveType type); /* a float without infinities and negative zero; NaN has the bits of -0 */
TypeKind type_kind(PrimitiveType type);
PrimitiveType type_from_name(const char *name, size_t length); /* PRIMITIVE_TYPE_INVALID if none */

static inline bool type_is_array(PrimitiveType t) {
  TypeKind kind = type_kind(t);
  return kind >= KIND_PRED && kind <= KIND_COMPLEX;
}
static inline bool type_is_integral(PrimitiveType t) { /* not PRED, as in XLA */
  TypeKind kind = type_kind(t);
  return kind == KIND_SIGNED || kind == KIND_UNSIGNED;
}
/* Returns the elements that a byte of an argument, a result or a constant holds: several of 4 or 2 bits each. */
static inline int type_per_byte(PrimitiveType t) {
  int bits = type_bits(t);
  return bits == 4 || bits == 2 ? 8 / bits : 1;
}
static inline bool type_is_floating(PrimitiveType t) { return type_kind(t) == KIND_FLOAT; }
static inline bool type_is_float8(PrimitiveType t) {
  return type_is_floating(t) && type_bits(t) == 8;
}
static inline bool type_is_complex(PrimitiveType t) { return type_kind(t) == KIND_COMPLEX; }

/* Whether a conversion from `narrow` to `wide` changes no value: numbers, the sign of zero, infinities, and that an element is
** NaN. XLA's primitive_util::CastPreservesValues. Both are types of arrays. */
bool type_holds(PrimitiveType wide, PrimitiveType narrow);

/* Returns the type in which products of `t` and their sums are computed before rounding to `t`. */
static inline PrimitiveType type_of_products(PrimitiveType t) {
  return type_is_floating(t) && type_bits(t) < 32 ? F32 : t;
}

/* Whether products read elements of `t` by a loop that widens them to f32, as fast as they read f32: the types of
** kernels/contraction/inner/widen.h. */
static inline bool type_widens(PrimitiveType t) {
  if (type_is_integral(t)) return type_bits(t) <= 8;
  return t == F16 || t == BF16 || t == F8E4M3FN || t == F8E5M2;
}

/* Returns the type that XLA:CPU computes in if `t` is a storage format: of scale factors or of scaled values. */
static inline PrimitiveType type_computed_in(PrimitiveType t) {
  return t == F8E8M0FNU ? F32 : t == F4E2M1FN ? F16 : t;
}

/* C64 -> F32, C128 -> F64 and back. Other types: themselves / PRIMITIVE_TYPE_INVALID. */
PrimitiveType type_complex_component(PrimitiveType type);
PrimitiveType type_complex_of(PrimitiveType type);

#endif
