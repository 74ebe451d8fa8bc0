/* Chooses the element and sum types of a contraction: see arithmetic.h. */
#include "kernels/contraction/inner/arithmetic.h"

typedef enum Row { ROW_F32, ROW_F64, ROW_S16, ROW_S32, ROW_S64, ROW_C64, ROW_C128 } Row;

static const Arithmetic arithmetics[] = {
    [ROW_F32] = {F32, F32, 1, 4, 1, LOOPS_F32},    [ROW_F64] = {F64, F64, 1, 8, 1, LOOPS_F64},
    [ROW_S16] = {S16, S32, 1, 4, 2, LOOPS_S16},    [ROW_S32] = {S32, S32, 1, 4, 1, LOOPS_S32},
    [ROW_S64] = {S64, S64, 1, 8, 1, LOOPS_S64},    [ROW_C64] = {C64, C64, 2, 4, 1, LOOPS_F32},
    [ROW_C128] = {C128, C128, 2, 8, 1, LOOPS_F64},
};

static bool is_double(PrimitiveType type) { return type == F64 || type == C128; }

static bool fits_s16(PrimitiveType type) {
  return type_kind(type) == KIND_PRED ||
         (type_kind(type) == KIND_SIGNED && type_bits(type) <= 16) ||
         (type_kind(type) == KIND_UNSIGNED && type_bits(type) <= 8);
}

const Arithmetic *arithmetic_for(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  bool in_double = is_double(lhs) || is_double(rhs) || is_double(result);
  Row row;
  switch (type_kind(result)) {
  case KIND_COMPLEX: row = in_double ? ROW_C128 : ROW_C64; break;
  case KIND_FLOAT: row = in_double ? ROW_F64 : ROW_F32; break;
  default:
    row = type_bytes(result) == 8 ? ROW_S64 : fits_s16(lhs) && fits_s16(rhs) ? ROW_S16 : ROW_S32;
  }
  return &arithmetics[row];
}

const Arithmetic *arithmetic_plain(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  const Arithmetic *arithmetic = arithmetic_for(lhs, rhs, result);
  return arithmetic->element == S16 ? &arithmetics[ROW_S32] : arithmetic;
}
