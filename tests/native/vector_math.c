/*
** Tests the functions that generated code calls against the C library in double: a sweep over the bit patterns of
** f32, with the largest allowed error in units in the last place of the result.
*/
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vectors/vector_functions.h"

typedef struct Row {
  const char *name;
  V128 (*function)(V128);
  double (*reference)(double);
  double bound; /* ulp */
} Row;

static const Row rows[] = {
    {"sin", xla_sin_f32x4, sin, 0.51},       {"cos", xla_cos_f32x4, cos, 0.51},
    {"tan", xla_tan_f32x4, tan, 0.51},       {"sinh", xla_sinh_f32x4, sinh, 0.51},
    {"cosh", xla_cosh_f32x4, cosh, 0.51},    {"asinh", xla_asinh_f32x4, asinh, 0.51},
    {"acosh", xla_acosh_f32x4, acosh, 0.51}, {"atanh", xla_atanh_f32x4, atanh, 0.51},
};

static int failures;

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Returns the distance of y from `exact` in units of its last place; infinite if only one of them is special, or
** they are different specials. Zeros must agree in sign where x is a zero. */
static double error_of(float x, float y, double exact) {
  float rounded = (float)exact;
  if (rounded != rounded || y != y) return rounded != rounded && y != y ? 0 : INFINITY;
  if (isinf(rounded) || isinf(y)) return rounded == y ? 0 : INFINITY;
  if (x == 0 && rounded == 0 && signbit(y) != signbit(rounded)) return INFINITY;
  double ulp = rounded == 0 ? 0x1p-149 : ldexp(1, ilogbf(rounded) - 23);
  return fabs((double)y - exact) / (ulp < 0x1p-149 ? 0x1p-149 : ulp);
}

static void check_row(const Row *row) {
  enum { STEP = 6007 }; /* prime: all kinds of last bits */
  static const float special[] = {0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 88.73f, -103.98f};
  double worst = 0;
  float at = 0;
  for (uint64_t i = 0; i < (UINT64_C(1) << 32) / STEP + 9; i++) {
    float x = i < 9 ? special[i] : from_bits((uint32_t)((i - 9) * STEP));
    f32x4 result = (f32x4)row->function((V128)(f32x4){1, x, 2, x});
    double error = error_of(x, result[1], row->reference(x));
    if (!(error <= worst)) worst = error, at = x;
    /* A lane's result does not depend on its neighbours. */
    if (memcmp(&(float){result[1]}, &(float){result[3]}, sizeof(float))) worst = INFINITY, at = x;
  }
  if (worst <= row->bound) return;
  failures++;
  printf("%s: error of %.3f ulp at %.9g; at most %.3f\n", row->name, worst, at, row->bound);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
  printf(failures ? "%d wrong\n" : "vector math: all right\n", failures);
  return failures != 0;
}
