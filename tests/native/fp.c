/*
** Tests every bit pattern of all narrow float formats against the formats' definitions, which are restated here
** from the standards in plain arithmetic.
**
** Decoding: (-1)^s * 2^(e - bias) * 1.m, or 2^(1 - bias) * 0.m for e = 0. Encoding: every pattern comes back;
** halfway between neighbours the even pattern is taken, just off halfway the nearer one.
*/
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "value/fp.h"

typedef struct Row {
  const char *name;
  const FpFormat *format;
  int exponent_bits, mantissa_bits, bias;
  double largest;
  uint32_t infinity, nan; /* patterns; infinity is 0 if there is none */
} Row;

static const Row rows[] = {
    {"f16", &fp_f16, 5, 10, 15, 65504, 0x7c00, 0x7e00},
    {"bf16", &fp_bf16, 8, 7, 127, 0x1.fep127, 0x7f80, 0x7fc0},
    {"f8e5m2", &fp_f8e5m2, 5, 2, 15, 57344, 0x7c, 0x7e},
    {"f8e4m3", &fp_f8e4m3, 4, 3, 7, 240, 0x78, 0x7c},
    {"f8e3m4", &fp_f8e3m4, 3, 4, 3, 15.5, 0x70, 0x78},
    {"f8e4m3fn", &fp_f8e4m3fn, 4, 3, 7, 448, 0, 0x7f},
    {"f8e4m3b11fnuz", &fp_f8e4m3b11fnuz, 4, 3, 11, 30, 0, 0x80},
    {"f8e5m2fnuz", &fp_f8e5m2fnuz, 5, 2, 16, 57344, 0, 0x80},
    {"f8e4m3fnuz", &fp_f8e4m3fnuz, 4, 3, 8, 240, 0, 0x80},
};

static int failures;

static void expect(bool holds, const Row *row, uint32_t bits, const char *what) {
  if (holds) return;
  printf("FAIL %s 0x%x: %s\n", row->name, (unsigned)bits, what);
  failures++;
}

static double decoded(const Row *row, uint32_t magnitude) {
  uint32_t mantissa = magnitude & ((1u << row->mantissa_bits) - 1);
  int exponent = (int)(magnitude >> row->mantissa_bits);
  double fraction = ldexp(mantissa, -row->mantissa_bits) + (exponent ? 1 : 0);
  return ldexp(fraction, (exponent ? exponent : 1) - row->bias);
}

static uint32_t encode(const Row *row, double value) { return fp_from_double(row->format, value); }

static void check_finite(const Row *row, uint32_t bits, uint32_t sign_bit) {
  uint32_t sign = bits & sign_bit, magnitude = bits & ~sign_bit;
  double unit = sign ? -1 : 1, value = unit * decoded(row, magnitude);
  double got = fp_to_double(row->format, bits);
  expect(got == value && !signbit(got) == !sign, row, bits, "decodes to something else");
  expect(encode(row, value) == bits, row, bits, "does not come back");
  if (fabs(value) == row->largest) return;
  double above = unit * decoded(row, magnitude + 1), halfway = (value + above) / 2;
  uint32_t even = bits + (magnitude & 1);
  expect(encode(row, halfway) == even, row, bits, "a tie does not go to the even neighbour");
  expect(encode(row, nextafter(halfway, above)) == bits + 1, row, bits, "rounds down too much");
  expect(encode(row, nextafter(halfway, value)) == bits, row, bits, "rounds up too much");
}

/* Beyond the largest number by half a unit or more: infinity, or NaN where there is none. */
static void check_ends(const Row *row, uint32_t sign_bit) {
  double half_unit = ldexp(1, ilogb(row->largest) - row->mantissa_bits - 1);
  uint32_t beyond = row->infinity ? row->infinity : row->nan;
  const double values[] = {row->largest + 1.01 * half_unit, 2 * row->largest, 1e300, INFINITY};
  for (int i = 0; i < 4; i++) {
    expect(encode(row, values[i]) == beyond, row, beyond, "overflows to something else");
    expect(encode(row, -values[i]) == (beyond | sign_bit), row, beyond, "so does its negative");
  }
  expect(encode(row, row->largest + 0.99 * half_unit) < beyond, row, beyond, "overflows too early");
  uint32_t negative_zero = row->nan == sign_bit ? 0 : sign_bit;
  expect(encode(row, -1e-300) == negative_zero, row, 0, "underflows to something else");
  expect(encode(row, NAN) == row->nan, row, row->nan, "NaN encodes to something else");
}

static void check(const Row *row) {
  uint32_t sign_bit = 1u << (row->exponent_bits + row->mantissa_bits);
  for (uint32_t bits = 0; bits < 2 * sign_bit; bits++) {
    uint32_t magnitude = bits & ~sign_bit;
    double got = fp_to_double(row->format, bits);
    if (bits == row->nan) {
      expect(isnan(got), row, bits, "is not NaN");
    } else if (decoded(row, magnitude) <= row->largest) {
      check_finite(row, bits, sign_bit);
    } else if (row->infinity && magnitude == row->infinity) {
      expect(isinf(got) && !signbit(got) == !(bits & sign_bit), row, bits, "is not infinity");
      expect(encode(row, got) == bits, row, bits, "does not come back");
    } else {
      expect(isnan(got), row, bits, "is not NaN");
    }
  }
  check_ends(row, sign_bit);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(&rows[i]);
  printf("%zu formats, %d failed\n", sizeof rows / sizeof *rows, failures);
  return failures != 0;
}
