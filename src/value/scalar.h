/*
** Scalar: one element, of any type, in the widest form of its kind. The evaluator computes with scalars.
**
** Integers are kept as their exact value in `i` (signed) or `u` (unsigned, and PRED as 0 or 1);
** floats as a double in `f`, which holds every value of every narrower float type; complex numbers
** in `f` and `im`.
**
** Why double is right for narrower floats: for + - * / and sqrt, computing in double and rounding
** once more gives the correctly rounded f32, f16, bf16 or f8 result, since 53 >= 2 * 24 + 2.
*/
#ifndef XLA_VALUE_SCALAR_H
#define XLA_VALUE_SCALAR_H

#include <stdint.h>

#include "value/fp.h"
#include "value/types.h"

typedef struct Scalar {
  union {
    int64_t i;
    uint64_t u;
    double f;
  };
  double im;
} Scalar;

/* The format of a float narrower than f32; NULL for types that are C's own. */
const FpFormat *narrow_format(PrimitiveType type);

/* Element `index` of an array of `type` at `data`. */
Scalar scalar_load(PrimitiveType type, const void *data, int64_t index);

/* Stores: integers wrap to the type's width (S4 stays sign-extended), floats round to nearest
** even, overflow as XLA converts (infinity where the type has one, else its NaN). */
void scalar_store(PrimitiveType type, void *data, int64_t index, Scalar value);

/* Returns the value rounded to `type`, as scalar_store followed by scalar_load gives it. */
Scalar scalar_round(PrimitiveType type, Scalar value);

/* Converts between any two array types by XLA:CPU's rules. Float to integer truncates and saturates, and
** NaN gives 0; to PRED is `!= 0`; complex to real takes the real part. The result is rounded to `to`. */
Scalar scalar_convert(PrimitiveType from, PrimitiveType to, Scalar value);

/* XLA's NaN-free limits, used as identity elements: lowest = -inf for floats that have it. */
Scalar scalar_lowest(PrimitiveType type);
Scalar scalar_highest(PrimitiveType type);
Scalar scalar_one(PrimitiveType type);

/* Returns an index of an integer type, clamped to [0, max]: starts of slices and gathered windows. */
int64_t scalar_clamped_index(PrimitiveType type, Scalar index, int64_t max);

#endif
