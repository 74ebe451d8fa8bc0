/*
** Element rules for integers, predicates and real numbers; see complex.c for the complex ones.
**
** Floats are computed in double and rounded once; those of up to 8 bits are first rounded to f16, as in
** XLA:CPU. XLA:CPU computes 4-bit integers in a byte and truncates the result, so popcnt and power see
** sign-extended bytes.
*/
#include "hlo/scalar/element.h"

#include <math.h>
#include <string.h>

/* ---- Integers ---- */

/* Returns the bits of the word that a type is computed in. */
static int word_bits(PrimitiveType type) { return 8 * type_bytes(type); }

/* Returns the mask of the bits that popcnt counts. */
static uint64_t popcnt_mask(PrimitiveType type) {
  return UINT64_MAX >> (64 - (type_bits(type) == 4 ? 8 : type_bits(type)));
}

static uint64_t word_mask(PrimitiveType type) { return UINT64_MAX >> (64 - word_bits(type)); }

static int count_leading_zeros(PrimitiveType type, uint64_t x) {
  int bits = type_bits(type);
  x &= UINT64_MAX >> (64 - bits);
  return x ? __builtin_clzll(x) - (64 - bits) : bits;
}

/* Wrapping arithmetic works on unsigned words; scalar_round truncates the result to the type. */
static uint64_t integer_unary(Opcode opcode, PrimitiveType type, Scalar x) {
  bool is_signed = type_kind(type) == KIND_SIGNED;
  switch (opcode) {
  case HLO_ABS: return is_signed && x.i < 0 ? 0 - x.u : x.u;
  case HLO_CLZ: return (uint64_t)count_leading_zeros(type, x.u);
  case HLO_NEGATE: return 0 - x.u;
  case HLO_NOT: return type == PRED ? !x.u : ~x.u;
  case HLO_POPCNT: return (uint64_t)__builtin_popcountll(x.u & popcnt_mask(type));
  case HLO_SIGN: return is_signed && x.i < 0 ? UINT64_MAX : x.u != 0;
  default: scalar_missing(opcode);
  }
}

/* Division by zero gives all ones, and remainder by zero the dividend. */
static uint64_t divide(bool is_signed, Scalar x, Scalar y) {
  if (y.u == 0) return UINT64_MAX;
  if (!is_signed) return x.u / y.u;
  return y.i == -1 ? 0 - x.u : (uint64_t)(x.i / y.i);
}

static uint64_t remainder_of(bool is_signed, Scalar x, Scalar y) {
  if (y.u == 0) return x.u;
  if (!is_signed) return x.u % y.u;
  return y.i == -1 ? 0 : (uint64_t)(x.i % y.i);
}

/* As XLA does, takes an exponent whose top bit is set as negative, whatever its type, and reads only the low
** six bits of others. */
static uint64_t integer_power(PrimitiveType type, uint64_t base, uint64_t exponent) {
  uint64_t mask = word_mask(type), result = 1;
  if (exponent >> (word_bits(type) - 1) & 1) {
    if ((base & mask) == mask) return exponent & 1 ? base : 1;
    return base == 1;
  }
  for (exponent &= 63; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

/* Returns the upper half of the double-width product. */
static uint64_t multiply_high(PrimitiveType type, Scalar x, Scalar y) {
  int bits = type_bits(type);
  if (type_kind(type) == KIND_SIGNED) return (uint64_t)(((__int128)x.i * y.i) >> bits);
  return (uint64_t)(((unsigned __int128)x.u * y.u) >> bits);
}

/* Shifts use the type's own width, unlike popcnt and power; amounts are unsigned. */
static uint64_t shift(Opcode opcode, PrimitiveType type, Scalar x, Scalar y) {
  int bits = type_bits(type), unused = 64 - bits;
  uint64_t mask = UINT64_MAX >> unused, word = x.u & mask, amount = y.u & mask;
  bool past_width = amount >= (uint64_t)bits;
  if (opcode == HLO_SHIFT_LEFT) return past_width ? 0 : word << amount;
  if (opcode == HLO_SHIFT_RIGHT_LOGICAL) return past_width ? 0 : word >> amount;
  int64_t extended = (int64_t)(word << unused) >> unused;
  return (uint64_t)(extended >> (past_width ? 63 : amount));
}

static uint64_t integer_binary(Opcode opcode, PrimitiveType type, Scalar x, Scalar y) {
  bool is_signed = type_kind(type) == KIND_SIGNED;
  bool x_less = is_signed ? x.i < y.i : x.u < y.u;
  switch (opcode) {
  case HLO_ADD: return type == PRED ? x.u | y.u : x.u + y.u;
  case HLO_SUBTRACT: return x.u - y.u;
  case HLO_MULTIPLY: return x.u * y.u;
  case HLO_MULHI: return multiply_high(type, x, y);
  case HLO_DIVIDE: return divide(is_signed, x, y);
  case HLO_REMAINDER: return remainder_of(is_signed, x, y);
  case HLO_POWER: return integer_power(type, x.u, y.u);
  case HLO_MAXIMUM: return x_less ? y.u : x.u;
  case HLO_MINIMUM: return x_less ? x.u : y.u;
  case HLO_AND: return x.u & y.u;
  case HLO_OR: return x.u | y.u;
  case HLO_XOR: return x.u ^ y.u;
  case HLO_SHIFT_LEFT:
  case HLO_SHIFT_RIGHT_ARITHMETIC:
  case HLO_SHIFT_RIGHT_LOGICAL: return shift(opcode, type, x, y);
  default: scalar_missing(opcode);
  }
}

/* ---- Real numbers ---- */

/* Returns the type that XLA:CPU computes a narrow type in; it rounds to this one before it rounds to the type. */
static PrimitiveType working_type(PrimitiveType type) {
  if (type == F8E8M0FNU) return F32;
  return type_is_floating(type) && type_bits(type) <= 8 ? F16 : type;
}

static Scalar round_real(PrimitiveType type, double value) {
  PrimitiveType in = working_type(type);
  if (in == F16) value = scalar_round(F16, (Scalar){.f = (float)value}).f;
  return scalar_round(type, (Scalar){.f = value});
}

static double sign_of(double x) { return x != x || x == 0 ? x : copysign(1, x); }

/* Computes with e^-|x|: for negative x, e^-x could overflow although the result is subnormal. */
static double logistic(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/* Computes logistic with the steps of XLA:CPU, which overflow sooner. */
static double logistic_in_f16(double x) {
  double e = scalar_round(F16, (Scalar){.f = (float)exp(-x)}).f;
  return 1 / scalar_round(F16, (Scalar){.f = 1 + e}).f;
}

static double real_unary(Opcode opcode, double x) {
  switch (opcode) {
  case HLO_ABS: return fabs(x);
  case HLO_ACOS: return acos(x);
  case HLO_ACOSH: return acosh(x);
  case HLO_ASIN: return asin(x);
  case HLO_ASINH: return asinh(x);
  case HLO_ATANH: return atanh(x);
  case HLO_CBRT: return cbrt(x);
  case HLO_CEIL: return ceil(x);
  case HLO_COS: return cos(x);
  case HLO_COSH: return cosh(x);
  case HLO_ERF: return erf(x);
  case HLO_EXP: return exp(x);
  case HLO_EXPM1: return expm1(x);
  case HLO_FLOOR: return floor(x);
  case HLO_IMAG: return 0;
  case HLO_LOG: return log(x);
  case HLO_LOG1P: return log1p(x);
  case HLO_LOGISTIC: return logistic(x);
  case HLO_NEGATE: return -x;
  case HLO_ROUND_NEAREST_AFZ: return round(x);
  case HLO_ROUND_NEAREST_EVEN: return rint(x);
  case HLO_RSQRT: return 1 / sqrt(x);
  case HLO_SIGN: return sign_of(x);
  case HLO_SIN: return sin(x);
  case HLO_SINH: return sinh(x);
  case HLO_SQRT: return sqrt(x);
  case HLO_TAN: return tan(x);
  case HLO_TANH: return tanh(x);
  case HLO_REAL: return x;
  default: scalar_missing(opcode);
  }
}

/* Returns the maximum: NaN if either is NaN; -0 is less than +0. */
static double maximum(double x, double y) {
  if (x != x || y != y) return NAN;
  if (x == y) return signbit(x) ? y : x;
  return x > y ? x : y;
}

static double minimum(double x, double y) {
  if (x != x || y != y) return NAN;
  if (x == y) return signbit(x) ? x : y;
  return x < y ? x : y;
}

static double real_binary(Opcode opcode, double x, double y) {
  switch (opcode) {
  case HLO_ADD: return x + y;
  case HLO_SUBTRACT: return x - y;
  case HLO_MULTIPLY: return x * y;
  case HLO_DIVIDE: return x / y;
  case HLO_REMAINDER: return fmod(x, y);
  case HLO_POWER: return pow(x, y);
  case HLO_ATAN2: return atan2(x, y);
  case HLO_MAXIMUM: return maximum(x, y);
  case HLO_MINIMUM: return minimum(x, y);
  default: scalar_missing(opcode);
  }
}

/* Flushes subnormals of f32 to zero. 2^-127, the smallest F8E8M0FNU, is one; XLA:CPU takes it for zero, except
** where it passes small operands on unchanged. */
static double flushed(double x) { return fabs(x) < 0x1p-126 ? 0 : x; }

static double float_unary(Opcode opcode, PrimitiveType type, double x) {
  if (opcode == HLO_LOGISTIC && working_type(type) == F16) return logistic_in_f16(x);
  bool flushes = type == F8E8M0FNU && opcode_flushes_operands(opcode);
  double y = real_unary(opcode, flushes ? flushed(x) : x);
  if (opcode != HLO_EXP && opcode != HLO_LOGISTIC) return y;
  return type != F64 ? flushed(y) : y < 0x1p-1022 ? 0 : y; /* as generated code, for speed's sake */
}

static double float_binary(Opcode opcode, PrimitiveType type, double x, double y) {
  if (type != F8E8M0FNU) return real_binary(opcode, x, y);
  if (opcode_flushes_operands(opcode)) x = flushed(x), y = flushed(y);
  double z = real_binary(opcode, x, y);
  return opcode_flushes_result(opcode) ? flushed(z) : z;
}

/* ---- Comparison ---- */

static bool holds(ComparisonDirection direction, bool less, bool equal, bool greater) {
  switch (direction) {
  case COMPARE_EQ: return equal;
  case COMPARE_NE: return !equal;
  case COMPARE_GE: return greater || equal;
  case COMPARE_GT: return greater;
  case COMPARE_LE: return less || equal;
  case COMPARE_LT: return less;
  }
  return false;
}

bool scalar_compare(PrimitiveType type, ComparisonDirection direction, Scalar x, Scalar y) {
  switch (type_kind(type)) {
  case KIND_FLOAT: return holds(direction, x.f < y.f, x.f == y.f, x.f > y.f);
  case KIND_COMPLEX: return holds(direction, false, x.f == y.f && x.im == y.im, false);
  case KIND_SIGNED: return holds(direction, x.i < y.i, x.i == y.i, x.i > y.i);
  default: return holds(direction, x.u < y.u, x.u == y.u, x.u > y.u);
  }
}

static uint64_t load_bits(PrimitiveType type, const void *data, int64_t index) {
  size_t bytes = (size_t)type_bytes(type);
  uint64_t bits = 0;
  memcpy(&bits, (const uint8_t *)data + (size_t)index * bytes, bytes); /* little-endian */
  return bits;
}

/* The one NaN of FNUZ types is below all numbers, since it is negative when widened. */
Scalar total_order_key(PrimitiveType type, const void *data, int64_t index) {
  if (type_is_fnuz(type) && load_bits(type, data, index) == 0x80) return (Scalar){.i = INT64_MIN};
  if (type == F8E8M0FNU) return (Scalar){.u = load_bits(type, data, index)};
  int unused = 64 - (type == F4E2M1FN ? type_bits(type) : word_bits(type));
  int64_t bits = (int64_t)(load_bits(type, data, index) << unused) >> unused;
  return (Scalar){.i = bits < 0 ? bits ^ (INT64_MAX >> unused) : bits};
}

static bool compare(const Instruction *instruction, PrimitiveType type, Scalar x, Scalar y) {
  if (is_total_order(instruction)) {
    _Alignas(16) unsigned char memory[2][16];
    scalar_store(type, memory[0], 0, x);
    scalar_store(type, memory[1], 0, y);
    x = total_order_key(type, memory[0], 0);
    y = total_order_key(type, memory[1], 0);
    type = S64;
  }
  return scalar_compare(type, instruction->a->direction, x, y);
}

/* ---- reduce-precision ---- */

/*
** Works on the bits, as XLA does. Rounds the mantissa to nearest even. Then, if the exponent range
** shrinks, numbers above it become infinity, and numbers at or below its min exponent become a zero of
** the same sign. NaN stays NaN.
*/
static Scalar reduce_bits(const Attributes *attributes, PrimitiveType type, Scalar x) {
  _Alignas(16) unsigned char memory[16];
  int mantissa_bits = type_mantissa_bits(type), bits_total = type_bits(type);
  int exponent_bits = bits_total - 1 - mantissa_bits;
  int64_t keep_exponent = attributes->exponent_bits, keep_mantissa = attributes->mantissa_bits;
  if (x.f != x.f) return x;
  scalar_store(type, memory, 0, x);
  uint64_t bits = load_bits(type, memory, 0), sign = bits >> (bits_total - 1) << (bits_total - 1);
  if (keep_mantissa < mantissa_bits) {
    uint64_t unit = UINT64_C(1) << (mantissa_bits - (int)keep_mantissa);
    bits += unit / 2 - 1 + (bits / unit & 1);
    bits &= ~(unit - 1);
  }
  if (keep_exponent < exponent_bits) {
    uint64_t bias = (UINT64_C(1) << (exponent_bits - 1)) - 1;
    uint64_t kept_bias = (UINT64_C(1) << (keep_exponent - 1)) - 1;
    uint64_t exponent = (bits & ~sign) >> mantissa_bits;
    uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << mantissa_bits;
    if (exponent > bias + kept_bias) bits = sign | infinity;
    if (exponent <= bias - kept_bias) bits = sign;
  }
  memcpy(memory, &bits, sizeof bits);
  return scalar_load(type, memory, 0);
}

/* Rounds a float to the exponent and mantissa bits that the instruction states. */
static Scalar reduce_precision(const Attributes *attributes, PrimitiveType type, Scalar x) {
  return scalar_round(type, reduce_bits(attributes, working_type(type), x));
}

/* ---- Dispatch on the kind of type ---- */

static Scalar unary_opcode(Opcode opcode, PrimitiveType type, Scalar x) {
  switch (type_kind(type)) {
  case KIND_FLOAT: return round_real(type, float_unary(opcode, type, x.f));
  case KIND_COMPLEX: {
    bool real = opcode == HLO_ABS || opcode == HLO_REAL || opcode == HLO_IMAG;
    return scalar_round(real ? type_complex_component(type) : type, complex_unary(opcode, x));
  }
  default: return scalar_round(type, (Scalar){.u = integer_unary(opcode, type, x)});
  }
}

Scalar scalar_unary(const Instruction *instruction, PrimitiveType type, Scalar x) {
  switch (instruction->opcode) {
  case HLO_IS_FINITE: return (Scalar){.u = isfinite(x.f)};
  case HLO_REDUCE_PRECISION: return reduce_precision(instruction->a, type, x);
  default: return unary_opcode(instruction->opcode, type, x);
  }
}

Scalar scalar_binary_opcode(Opcode opcode, PrimitiveType type, Scalar x, Scalar y) {
  switch (type_kind(type)) {
  case KIND_FLOAT:
    if (opcode == HLO_COMPLEX) return (Scalar){.f = x.f, .im = y.f};
    return round_real(type, float_binary(opcode, type, x.f, y.f));
  case KIND_COMPLEX: return scalar_round(type, complex_binary(opcode, type, x, y));
  default: return scalar_round(type, (Scalar){.u = integer_binary(opcode, type, x, y)});
  }
}

Scalar scalar_clamp(PrimitiveType type, Scalar low, Scalar x, Scalar high) {
  Scalar from_low = scalar_binary_opcode(HLO_MAXIMUM, type, x, low);
  return scalar_binary_opcode(HLO_MINIMUM, type, from_low, high);
}

Scalar scalar_binary(const Instruction *instruction, PrimitiveType type, Scalar x, Scalar y) {
  if (instruction->opcode == HLO_COMPARE) {
    return (Scalar){.u = compare(instruction, type, x, y)};
  }
  return scalar_binary_opcode(instruction->opcode, type, x, y);
}
