/* Loads, stores, rounds and converts single elements: see scalar.h. */
#include "value/scalar.h"

#include <math.h>
#include <string.h>

#include "value/fp.h"

const FpFormat *narrow_format(PrimitiveType type) {
  switch (type) {
  case F16: return &fp_f16;
  case BF16: return &fp_bf16;
  case F8E5M2: return &fp_f8e5m2;
  case F8E4M3: return &fp_f8e4m3;
  case F8E3M4: return &fp_f8e3m4;
  case F8E4M3FN: return &fp_f8e4m3fn;
  case F8E4M3B11FNUZ: return &fp_f8e4m3b11fnuz;
  case F8E5M2FNUZ: return &fp_f8e5m2fnuz;
  case F8E4M3FNUZ: return &fp_f8e4m3fnuz;
  case F8E8M0FNU: return &fp_f8e8m0fnu;
  case F4E2M1FN: return &fp_f4e2m1fn;
  default: return NULL;
  }
}

static const FpFormat *float_format(PrimitiveType type) {
  static const FpFormat f32 = {8, 23, 127, FP_IEEE}, f64 = {11, 52, 1023, FP_IEEE};
  const FpFormat *format = narrow_format(type);
  return format ? format : type == F64 ? &f64 : &f32;
}

int type_mantissa_bits(PrimitiveType type) { return float_format(type)->mantissa_bits; }

bool type_is_fnuz(PrimitiveType type) {
  const FpFormat *format = narrow_format(type);
  return format && format->specials == FP_FNUZ;
}

enum { ZERO = 0x1, NEGATIVE = 0x2, NEGATIVE_ZERO = 0x4, INFINITE = 0x8, HAS_NAN = 0x10 };

/* The numbers of a real type: multiples of 2^lowest of at most `digits` binary digits, below 2^(highest + 1). */
typedef struct Numbers {
  int digits, lowest, highest, others;
} Numbers;

static Numbers numbers_of(PrimitiveType type) {
  static const int others[] = {
      [FP_IEEE] = ZERO | NEGATIVE | NEGATIVE_ZERO | INFINITE | HAS_NAN,
      [FP_FN] = ZERO | NEGATIVE | NEGATIVE_ZERO | HAS_NAN,
      [FP_FNUZ] = ZERO | NEGATIVE | HAS_NAN,
      [FP_FNU] = HAS_NAN,
      [FP_ALL] = ZERO | NEGATIVE | NEGATIVE_ZERO,
  };
  if (!type_is_floating(type)) {
    bool has_sign = type_kind(type) == KIND_SIGNED;
    int bits = type_bits(type); /* the smallest number, -2^(bits - 1), has one digit */
    return (Numbers){bits - has_sign, 0, bits - 1, has_sign ? ZERO | NEGATIVE : ZERO};
  }
  const FpFormat *f = float_format(type);
  bool is_fnu = f->specials == FP_FNU, is_top_special = is_fnu || f->specials == FP_IEEE;
  int top = (1 << f->exponent_bits) - 1 - is_top_special;
  return (Numbers){f->mantissa_bits + 1, (is_fnu ? 0 : 1) - f->bias - f->mantissa_bits,
                   top - f->bias, others[f->specials]};
}

bool type_holds(PrimitiveType wide, PrimitiveType narrow) {
  if (type_is_complex(narrow) && !type_is_complex(wide)) return false;
  if (wide == narrow) return true;
  Numbers w = numbers_of(type_complex_component(wide));
  Numbers n = numbers_of(type_complex_component(narrow));
  return w.digits >= n.digits && w.lowest <= n.lowest && w.highest >= n.highest &&
         !(n.others & ~w.others);
}

static double bf16_to_double(uint16_t bits) {
  uint32_t f32_bits = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &f32_bits, sizeof value);
  return value;
}

Scalar scalar_load(PrimitiveType type, const void *data, int64_t index) {
  switch (type) {
  case PRED: return (Scalar){.u = ((const uint8_t *)data)[index] != 0};
  case S2:
  case S4:
  case S8: return (Scalar){.i = ((const int8_t *)data)[index]};
  case S16: return (Scalar){.i = ((const int16_t *)data)[index]};
  case S32: return (Scalar){.i = ((const int32_t *)data)[index]};
  case S64: return (Scalar){.i = ((const int64_t *)data)[index]};
  case U2:
  case U4:
  case U8: return (Scalar){.u = ((const uint8_t *)data)[index]};
  case U16: return (Scalar){.u = ((const uint16_t *)data)[index]};
  case U32: return (Scalar){.u = ((const uint32_t *)data)[index]};
  case U64: return (Scalar){.u = ((const uint64_t *)data)[index]};
  case F32: return (Scalar){.f = ((const float *)data)[index]};
  case F64: return (Scalar){.f = ((const double *)data)[index]};
  case BF16: return (Scalar){.f = bf16_to_double(((const uint16_t *)data)[index])};
  case F16: return (Scalar){.f = fp_to_double(&fp_f16, ((const uint16_t *)data)[index])};
  case C64: {
    const float *parts = (const float *)data + 2 * index;
    return (Scalar){.f = parts[0], .im = parts[1]};
  }
  case C128: {
    const double *parts = (const double *)data + 2 * index;
    return (Scalar){.f = parts[0], .im = parts[1]};
  }
  default: break;
  }
  const FpFormat *format = narrow_format(type);
  return (Scalar){.f = format ? fp_to_double(format, ((const uint8_t *)data)[index]) : 0};
}

/* Returns the low `bits` bits as a signed number. */
static int8_t sign_extend(int64_t value, int bits) {
  uint8_t low = (uint8_t)((uint64_t)value << (8 - bits));
  return (int8_t)((int8_t)low >> (8 - bits));
}

void scalar_store(PrimitiveType type, void *data, int64_t index, Scalar value) {
  switch (type) {
  case PRED: ((uint8_t *)data)[index] = value.u != 0; return;
  case S2:
  case S4: ((int8_t *)data)[index] = sign_extend(value.i, type_bits(type)); return;
  case U2: ((uint8_t *)data)[index] = value.u & 3; return;
  case U4: ((uint8_t *)data)[index] = value.u & 15; return;
  case S8:
  case U8: ((uint8_t *)data)[index] = (uint8_t)value.u; return;
  case S16:
  case U16: ((uint16_t *)data)[index] = (uint16_t)value.u; return;
  case S32:
  case U32: ((uint32_t *)data)[index] = (uint32_t)value.u; return;
  case S64:
  case U64: ((uint64_t *)data)[index] = value.u; return;
  case F32: ((float *)data)[index] = (float)value.f; return;
  case F64: ((double *)data)[index] = value.f; return;
  case F16: ((uint16_t *)data)[index] = (uint16_t)fp_from_double(&fp_f16, value.f); return;
  case BF16: ((uint16_t *)data)[index] = (uint16_t)fp_from_double(&fp_bf16, value.f); return;
  case C64:
    ((float *)data)[2 * index] = (float)value.f;
    ((float *)data)[2 * index + 1] = (float)value.im;
    return;
  case C128:
    ((double *)data)[2 * index] = value.f;
    ((double *)data)[2 * index + 1] = value.im;
    return;
  default: break;
  }
  const FpFormat *format = narrow_format(type);
  if (format) ((uint8_t *)data)[index] = (uint8_t)fp_from_double(format, value.f);
}

Scalar scalar_round(PrimitiveType type, Scalar value) {
  _Alignas(16) unsigned char memory[16];
  scalar_store(type, memory, 0, value);
  return scalar_load(type, memory, 0);
}

/* ---- Conversion ---- */

/* Truncates towards zero and saturates; NaN gives 0. The bounds are exact as doubles: the lowest
** value is a power of two, and so is the first value above the highest. XLA:CPU rounds the bounds to
** the source type, so that the largest F4E2M1FN reaches every upper bound. */
static Scalar float_to_integer(PrimitiveType to, PrimitiveType from, double value) {
  bool is_signed = type_kind(to) == KIND_SIGNED;
  if (value != value) return (Scalar){.i = 0};
  double above = ldexp(1, type_bits(to) - is_signed);
  if (from == F4E2M1FN && above > 6) above = 6;
  if (value >= above) return scalar_highest(to);
  if (value <= (is_signed ? -above : 0)) return scalar_lowest(to);
  return is_signed ? (Scalar){.i = (int64_t)value} : (Scalar){.u = (uint64_t)value};
}

/* XLA:CPU converts to F16 and BF16 through f32, which rounds twice. It converts to other types directly,
** except integers to F8E8M0FNU. */
static bool goes_through_f32(PrimitiveType to) { return to == F16 || to == BF16; }

static Scalar integer_to_float(PrimitiveType to, PrimitiveType from, Scalar value) {
  bool is_signed = type_kind(from) == KIND_SIGNED;
  bool narrow = goes_through_f32(to) || to == F8E8M0FNU || to == F32 || to == C64;
  if (narrow) return scalar_round(to, (Scalar){.f = is_signed ? (float)value.i : (float)value.u});
  return scalar_round(to, (Scalar){.f = is_signed ? (double)value.i : (double)value.u});
}

/* Returns whether a value is nonzero. The smallest F8E8M0FNU counts as zero: it is a subnormal f32, which
** XLA:CPU flushes. */
static bool is_nonzero(PrimitiveType type, Scalar value) {
  if (type == F8E8M0FNU) return value.f != 0x1p-127;
  if (type_is_complex(type)) return value.f != 0 || value.im != 0;
  return type_is_floating(type) ? value.f != 0 : value.u != 0;
}

/* Rounds to F8E8M0FNU as XLA:CPU does, on the bits. Below 2^-126, the min normal f32, it rounds up. f64
** values below 2^-127 become zero. */
static double round_scale_factor(PrimitiveType from, double value) {
  bool is_double = from == F64 || from == C128;
  if (value > 0x1p-127 && value < 0x1p-126) return 0x1p-126;
  return is_double && value < 0x1p-127 ? 0 : value;
}

Scalar scalar_convert(PrimitiveType from, PrimitiveType to, Scalar value) {
  TypeKind from_kind = type_kind(from), to_kind = type_kind(to);
  bool from_float = from_kind == KIND_FLOAT || from_kind == KIND_COMPLEX;
  bool to_float = to_kind == KIND_FLOAT || to_kind == KIND_COMPLEX;
  if (from == to) return value;
  if (to_kind == KIND_PRED) return (Scalar){.u = is_nonzero(from, value)};
  if (!from_float) {
    return to_float ? integer_to_float(to, from, value) : scalar_round(to, value);
  }
  if (!to_float) return float_to_integer(to, from, value.f);
  if (from_kind != KIND_COMPLEX || to_kind != KIND_COMPLEX) value.im = 0;
  if (goes_through_f32(to)) value.f = (float)value.f;
  if (to == F8E8M0FNU) value.f = round_scale_factor(from, value.f);
  return scalar_round(to, value);
}

/* ---- Limits ---- */

static Scalar largest_float(PrimitiveType type) {
  const FpFormat *format = narrow_format(type);
  if (!format || format->specials == FP_IEEE) return (Scalar){.f = INFINITY};
  uint32_t magnitude_bits = (uint32_t)(format->exponent_bits + format->mantissa_bits);
  uint32_t all_ones = (UINT32_C(1) << magnitude_bits) - 1;
  bool ends_in_nan = format->specials == FP_FN || format->specials == FP_FNU;
  uint32_t largest = ends_in_nan ? all_ones - 1 : all_ones;
  return (Scalar){.f = fp_to_double(format, largest)};
}

Scalar scalar_lowest(PrimitiveType type) {
  if (type == F8E8M0FNU) return (Scalar){.f = 0x1p-127};
  switch (type_kind(type)) {
  case KIND_SIGNED: return (Scalar){.i = INT64_MIN >> (64 - type_bits(type))};
  case KIND_FLOAT:
  case KIND_COMPLEX: return (Scalar){.f = -largest_float(type).f};
  default: return (Scalar){.u = 0};
  }
}

Scalar scalar_highest(PrimitiveType type) {
  switch (type_kind(type)) {
  case KIND_PRED: return (Scalar){.u = 1};
  case KIND_SIGNED: return (Scalar){.i = INT64_MAX >> (64 - type_bits(type))};
  case KIND_UNSIGNED: return (Scalar){.u = UINT64_MAX >> (64 - type_bits(type))};
  default: return largest_float(type);
  }
}

Scalar scalar_one(PrimitiveType type) {
  bool is_float = type_is_floating(type) || type_is_complex(type);
  return is_float ? (Scalar){.f = 1} : (Scalar){.i = 1};
}

int64_t scalar_clamped_index(PrimitiveType type, Scalar index, int64_t max) {
  if (type_kind(type) == KIND_SIGNED && index.i < 0) return 0;
  return index.u > (uint64_t)max ? max : index.i;
}
