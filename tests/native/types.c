/*
** Tests type_holds for all pairs of types, by converting values as the evaluator does, which the golden corpus checks: all
** values of types of at most 16 bits; of wider ones each power of two, its neighbours, and the special values. And type_widens.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/contraction/inner/widen.h"
#include "value/scalar.h"

static int failures, pairs;

/* Whether both are the same number, with the same sign if it is zero, or both are NaN. long double holds every value. */
static bool is_same(PrimitiveType a, Scalar x, PrimitiveType b, Scalar y) {
  long double numbers[2];
  const PrimitiveType types[2] = {a, b};
  const Scalar scalars[2] = {x, y};
  for (int i = 0; i < 2; i++) {
    TypeKind kind = type_kind(types[i]);
    numbers[i] = kind == KIND_FLOAT    ? (long double)scalars[i].f
                 : kind == KIND_SIGNED ? (long double)scalars[i].i
                                       : (long double)scalars[i].u;
  }
  if (isnan(numbers[0]) || isnan(numbers[1])) return isnan(numbers[0]) && isnan(numbers[1]);
  return numbers[0] == numbers[1] && !signbit(numbers[0]) == !signbit(numbers[1]);
}

static bool keeps(PrimitiveType wide, PrimitiveType narrow, Scalar x) {
  return is_same(narrow, x, wide, scalar_convert(narrow, wide, x));
}

/* Elements of at most 16 bits, as they are in memory. */
static bool keeps_all(PrimitiveType wide, PrimitiveType narrow) {
  int bits = type_bits(narrow);
  for (int i = 0; i < 1 << bits; i++) {
    uint16_t element = (uint16_t)i;
    if (type_kind(narrow) == KIND_SIGNED && i >= 1 << (bits - 1)) {
      element = (uint16_t)(i - (1 << bits));
    }
    if (!keeps(wide, narrow, scalar_load(narrow, &element, 0))) return false;
  }
  return true;
}

static bool keeps_integers(PrimitiveType wide, PrimitiveType narrow) {
  bool is_signed = type_kind(narrow) == KIND_SIGNED;
  for (int power = 0; power < type_bits(narrow); power++) {
    for (int step = -1; step <= 1; step++) {
      uint64_t value = (UINT64_C(1) << power) + (uint64_t)(int64_t)step;
      Scalar x = scalar_round(narrow, (Scalar){.u = value});
      Scalar negative = scalar_round(narrow, (Scalar){.u = 0 - value});
      if (!keeps(wide, narrow, x) || (is_signed && !keeps(wide, narrow, negative))) return false;
    }
  }
  return true;
}

static bool keeps_floats(PrimitiveType wide, PrimitiveType narrow) {
  const double specials[] = {0.0, INFINITY, NAN};
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < 3; i++) {
      if (!keeps(wide, narrow, (Scalar){.f = sign * specials[i]})) return false;
    }
    for (int power = -1074; power <= 1023; power++) {
      double value = sign * ldexp(1, power);
      const double near[] = {value, nextafter(value, 0), (double)nextafterf((float)value, 0)};
      for (int i = 0; i < 3; i++) {
        if (!keeps(wide, narrow, scalar_round(narrow, (Scalar){.f = near[i]}))) return false;
      }
    }
  }
  return true;
}

static bool keeps_values(PrimitiveType wide, PrimitiveType narrow) {
  if (type_is_complex(narrow)) {
    return type_is_complex(wide) &&
           keeps_values(type_complex_component(wide), type_complex_component(narrow));
  }
  if (type_is_complex(wide)) wide = type_complex_component(wide);
  if (type_bits(narrow) <= 16) return keeps_all(wide, narrow);
  return type_is_floating(narrow) ? keeps_floats(wide, narrow) : keeps_integers(wide, narrow);
}

/* Whether the types that rewrites leave to products' loops are those that have one. */
static void check_widens(PrimitiveType type) {
  if (type_widens(type) == (widen_loop(type) != NULL)) return;
  failures++;
  printf("FAIL type_widens(%s) is %d: src/kernels/contraction/inner/widen.c\n", type_name(type),
         type_widens(type));
}

int main(void) {
  for (int a = 0; a < PRIMITIVE_TYPE_END; a++) {
    check_widens((PrimitiveType)a);
    for (int b = 0; b < PRIMITIVE_TYPE_END; b++) {
      PrimitiveType wide = (PrimitiveType)a, narrow = (PrimitiveType)b;
      if (!type_is_array(wide) || !type_is_array(narrow)) continue;
      pairs++;
      if (type_holds(wide, narrow) == keeps_values(wide, narrow)) continue;
      failures++;
      printf("FAIL type_holds(%s, %s) is %d\n", type_name(wide), type_name(narrow),
             type_holds(wide, narrow));
    }
  }
  printf("%d pairs, %d failures\n", pairs, failures);
  return failures != 0;
}
