/*
** Vector functions of integers that go lane by lane. They use the evaluator's rules where XLA's differ from C's.
*/
#include "hlo/scalar/element.h"
#include "vectors/vector_functions.h"

/* --- Integers of 64 bits ---------------------------------------------------------------------- */

/* Division by zero gives all ones, and as remainder the dividend; as for narrower integers. */
static int64_t divide_s64(int64_t x, int64_t y) {
  return y == 0 ? -1 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
static uint64_t divide_u64(uint64_t x, uint64_t y) { return y == 0 ? UINT64_MAX : x / y; }

V128 xla_divide_s64x2(V128 v, V128 w) {
  s64x2 x = (s64x2)v, y = (s64x2)w;
  return (V128)(s64x2){divide_s64(x[0], y[0]), divide_s64(x[1], y[1])};
}
V128 xla_divide_u64x2(V128 v, V128 w) {
  u64x2 x = (u64x2)v, y = (u64x2)w;
  return (V128)(u64x2){divide_u64(x[0], y[0]), divide_u64(x[1], y[1])};
}
V128 xla_remainder_s64x2(V128 x, V128 y) {
  return (V128)((u64x2)x - (u64x2)xla_divide_s64x2(x, y) * (u64x2)y);
}
V128 xla_remainder_u64x2(V128 x, V128 y) {
  return (V128)((u64x2)x - (u64x2)xla_divide_u64x2(x, y) * (u64x2)y);
}

/* The low bits of a power do not depend on the sign of the type. */
V128 xla_power_i32x4(V128 x, V128 y) {
  for (int i = 0; i < 4; i++) {
    x[i] =
        (int32_t)scalar_binary_opcode(HLO_POWER, S32, (Scalar){.i = x[i]}, (Scalar){.i = y[i]}).i;
  }
  return x;
}

V128 xla_power_i64x2(V128 x, V128 y) {
  s64x2 a = (s64x2)x, b = (s64x2)y;
  for (int i = 0; i < 2; i++) {
    a[i] = scalar_binary_opcode(HLO_POWER, S64, (Scalar){.i = a[i]}, (Scalar){.i = b[i]}).i;
  }
  return (V128)a;
}

/* --- Shifts by different amounts, which are unsigned and may be past the width ---------------- */

#define SHIFT_LANES(name, vector, past)                                      \
  V128 xla_##name(V128 x, V128 y) {                                          \
    vector a = (vector)x;                                                    \
    u64x2 n = (u64x2)y;                                                      \
    for (int i = 0; i < 2; i++) a[i] = n[i] < 64 ? a[i] SHIFT n[i] : (past); \
    return (V128)a;                                                          \
  }

#define SHIFT <<
SHIFT_LANES(shl_i64x2, u64x2, 0)
#undef SHIFT
#define SHIFT >>
SHIFT_LANES(shr_u_i64x2, u64x2, 0)
SHIFT_LANES(shr_s_i64x2, s64x2, a[i] >> 63)
#undef SHIFT

/* --- Counts ----------------------------------------------------------------------------------- */

V128 xla_clz_i64x2(V128 x) {
  u64x2 a = (u64x2)x;
  for (int i = 0; i < 2; i++) a[i] = a[i] ? (uint64_t)__builtin_clzll(a[i]) : 64;
  return (V128)a;
}
