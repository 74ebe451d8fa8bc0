#include "hlo/text/numbers.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/host/platform.h"
#include "value/fp.h"
#include "value/scalar.h"

/* The powers of ten that are exact in double. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/* Threshold MAX_POWER. Test: "decimal numbers around the largest exact power of ten" in
** core/thresholds_programs.test.mjs. */
enum { MAX_POWER = 22 };

/* digits / 10^scale; rounded once if digits < 2^53 and |scale| <= MAX_POWER. */
static double scaled(double digits, int scale) {
  return scale < 0 ? digits * powers[-scale] : digits / powers[scale];
}

/* ---- Reading ---- */

/*
** Reads -?digits[.digits][e[+-]digits]. Up to 19 digits go into an integer. If it and the power of ten
** are exact in double, one multiplication or division rounds correctly (Clinger 1990). Otherwise
** the platform parses it.
*/
typedef struct Decimal {
  bool negative, well_formed, cut;
  uint64_t digits;
  int64_t exponent;
} Decimal;

static Decimal scan_decimal(const char *at, const char *end) {
  Decimal d = {0};
  int count = 0, significant = 0;
  bool point = false;
  if (at < end && *at == '-') d.negative = true, at++;
  for (; at < end && (is_digit(*at) || (*at == '.' && !point)); at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    count++;
    if (significant || *at != '0') significant++;
    if (significant <= 19) {
      d.digits = d.digits * 10 + (uint64_t)(*at - '0');
      d.exponent -= point;
    } else {
      d.cut = true;
      d.exponent += !point;
    }
  }
  if (!count) return d;
  if (at < end && (*at == 'e' || *at == 'E')) {
    int64_t exponent = 0;
    at++;
    bool down = at < end && *at == '-';
    if (down || (at < end && *at == '+')) at++;
    if (at == end) return d;
    for (; at < end && is_digit(*at); at++) {
      if (exponent < 100000) exponent = exponent * 10 + (*at - '0');
    }
    d.exponent += down ? -exponent : exponent;
  }
  d.well_formed = at == end;
  return d;
}

static double slow_decimal(Arena *scratch, const char *text, size_t length) {
  ArenaMark mark = arena_mark(scratch);
  double value = platform_parse_decimal(arena_strndup(scratch, text, length));
  arena_release(scratch, mark);
  return value;
}

static bool is_text(const char *text, size_t length, const char *word) {
  return strlen(word) == length && !memcmp(text, word, length);
}

bool number_parse(Arena *scratch, const char *text, size_t length, double *value) {
  Decimal d = scan_decimal(text, text + length);
  if (!d.well_formed) {
    bool negative = length && *text == '-';
    text += negative;
    length -= negative;
    if (!is_text(text, length, "inf") && !is_text(text, length, "nan")) return false;
    double magnitude = *text == 'i' ? INFINITY : NAN;
    *value = negative ? -magnitude : magnitude;
    return true;
  }
  if (d.cut || d.digits >> 53 || d.exponent < -MAX_POWER || d.exponent > MAX_POWER) {
    *value = slow_decimal(scratch, text, length);
    return isfinite(*value);
  }
  double magnitude = scaled((double)d.digits, -(int)d.exponent);
  *value = d.negative ? -magnitude : magnitude;
  return true;
}

/* ---- Writing ---- */

bool float_bits(PrimitiveType type, FloatBits *bits) {
  switch (type) {
  case F64: *bits = (FloatBits){11, 52}; return true;
  case F32: *bits = (FloatBits){8, 23}; return true;
  case BF16: *bits = (FloatBits){8, 7}; return true;
  case F16: *bits = (FloatBits){5, 10}; return true;
  case F8E5M2: *bits = (FloatBits){5, 2}; return true;
  case F8E4M3: *bits = (FloatBits){4, 3}; return true;
  case F8E3M4: *bits = (FloatBits){3, 4}; return true;
  default: return false;
  }
}

static uint64_t load_bits(const void *data, int64_t index, int bytes) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + index * bytes, (size_t)bytes);
  return bits;
}

/* nan, -nan, nan(0x7fc) */
static int print_nan(char *out, PrimitiveType type, const void *data, int64_t index) {
  FloatBits layout;
  uint64_t bits = load_bits(data, index, type_bytes(type));
  if (!float_bits(type, &layout)) {
    /* Among these types, those with a signed NaN are those with a signed zero. */
    bool negative = type == F8E4M3FN && bits >> 7;
    return sprintf(out, negative ? "-nan" : "nan");
  }
  bool negative = bits >> (layout.exponent_bits + layout.mantissa_bits) & 1;
  uint64_t payload = bits & ((UINT64_C(1) << layout.mantissa_bits) - 1);
  const char *sign = negative ? "-" : "";
  if (payload == quiet_payload(layout)) return sprintf(out, "%snan", sign);
  return sprintf(out, "%snan(0x%" PRIx64 ")", sign, payload);
}

/* Returns the number of digits that survive from decimal to the type and back; fewer for a subnormal number. */
static int safe_digits(PrimitiveType type, double value) {
  switch (type) {
  case F64: return fabs(value) < DBL_MIN ? 1 : DBL_DIG;
  case F32: return fabs(value) < FLT_MIN ? 1 : FLT_DIG;
  case F16: return fabs(value) < 0x1p-14 ? 1 : 3;
  case BF16: return fabs(value) < FLT_MIN ? 1 : 2;
  default: return 1;
  }
}

/* Writes digits / 10^scale as %.*g does. */
static int layout_decimal(char *out, uint64_t digits, int scale, int precision) {
  for (; digits % 10 == 0; scale--) digits /= 10;
  char text[24];
  int count = sprintf(text, "%" PRIu64, digits);
  int exponent = count - 1 - scale;
  char *at = out;
  if (exponent < -4 || exponent >= precision) {
    *at++ = text[0];
    if (count > 1) at += sprintf(at, ".%s", text + 1);
    return (int)(at - out) + sprintf(at, "e%+03d", exponent);
  }
  int whole = exponent + 1; /* digits before the point */
  if (whole <= 0) return sprintf(out, "0.%.*s%s", -whole, "0000", text);
  if (count <= whole) return sprintf(out, "%s%.*s", text, whole - count, "0000000000000000");
  return sprintf(out, "%.*s.%s", whole, text, text + whole);
}

/*
** Writes the shortest decimal that reads back as `value`, by the inverse of number_parse's arithmetic: the
** digits are an integer, whose number grows until it reads back. Returns 0 where double is not exact.
*/
static int print_shortest(char *out, PrimitiveType type, double value) {
  double magnitude = fabs(value);
  if (magnitude < 1e-12 || magnitude >= 1e15) return 0;
  int exponent = (int)floor(log10(magnitude));
  for (int digits = safe_digits(type, value); digits <= 15; digits++) {
    int scale = digits - 1 - exponent;
    if (scale < -MAX_POWER || scale > MAX_POWER) return 0;
    double found = nearbyint(scaled(magnitude, -scale));
    Scalar back = {.f = scaled(found, scale)};
    if (scalar_round(type, back).f != magnitude) continue;
    *out = '-';
    bool negative = value < 0;
    return negative + layout_decimal(out + negative, (uint64_t)found, scale, digits);
  }
  return 0;
}

static int print_finite(char *out, PrimitiveType type, double value) {
  if (value == 0) return sprintf(out, signbit(value) ? "-0.0" : "0");
  if (fabs(value) < 1e6 && value == trunc(value)) return sprintf(out, "%d", (int)value);
  int length = print_shortest(out, type, value);
  if (length) return length;
  for (int digits = safe_digits(type, value);; digits++) {
    int exponent;
    int64_t all = platform_decimal_digits(fabs(value), digits, &exponent);
    *out = '-';
    length = value < 0;
    length += layout_decimal(out + length, (uint64_t)all, digits - 1 - exponent, digits);
    Scalar back = {.f = platform_parse_decimal(out)};
    if (digits >= 17 || scalar_round(type, back).f == value) return length;
  }
}

static int print_float(char *out, PrimitiveType type, const void *data, int64_t index) {
  double value = scalar_load(type, data, index).f;
  if (isnan(value)) return print_nan(out, type, data, index);
  if (isinf(value)) return sprintf(out, value < 0 ? "-inf" : "inf");
  /* XLA's parser rounds any decimal above 2^-127, such as 6e-39, to 2^-126. */
  bool exact = type == F8E8M0FNU && value < FLT_MIN;
  return print_finite(out, exact ? F64 : type, value);
}

int number_print(char *out, PrimitiveType type, const void *data, int64_t index) {
  PrimitiveType component = type_complex_component(type);
  switch (type_kind(type)) {
  case KIND_PRED: return sprintf(out, scalar_load(type, data, index).u ? "1" : "0");
  case KIND_SIGNED: return sprintf(out, "%" PRId64, scalar_load(type, data, index).i);
  case KIND_UNSIGNED: return sprintf(out, "%" PRIu64, scalar_load(type, data, index).u);
  case KIND_FLOAT: return print_float(out, type, data, index);
  case KIND_COMPLEX: {
    int length = print_float(out, component, data, 2 * index);
    length += sprintf(out + length, ", ");
    return length + print_float(out + length, component, data, 2 * index + 1);
  }
  default: return 0;
  }
}
