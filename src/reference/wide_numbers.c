#include "reference/wide_numbers.h"

static bool is_float_kind(PrimitiveType type) {
  return type_is_floating(type) || type_is_complex(type);
}

WideNumbers wide_numbers_new(PrimitiveType type, int64_t count, Arena *arena) {
  WideNumbers numbers = {ARENA_ARRAY(arena, WideNumber, count), NULL};
  if (type_is_complex(type)) numbers.im = ARENA_ARRAY(arena, WideNumber, count);
  return numbers;
}

void wide_numbers_clear(PrimitiveType type, WideNumbers numbers, int64_t count, bool negative) {
  WideNumber zero = {.u = 0};
  if (negative && is_float_kind(type)) zero.f = -0.0;
  for (int64_t i = 0; i < count; i++) numbers.re[i] = zero;
  for (int64_t i = 0; numbers.im && i < count; i++) numbers.im[i] = zero;
}

static Scalar load_as(PrimitiveType from, PrimitiveType to, const void *data, int64_t index) {
  Scalar value = scalar_load(from, data, index);
  /* Within a kind the widest form is the same, so that only another kind needs converting. */
  return type_kind(from) == type_kind(to) ? value : scalar_convert(from, to, value);
}

WideNumbers wide_numbers_from(Walk *walk, const Literal *operand, PrimitiveType type,
                              Arena *arena) {
  WideNumbers numbers = wide_numbers_new(type, walk->count, arena);
  int64_t stride[WALK_ARRAYS], to = 0;
  if (walk->count == 0) return numbers;
  int64_t size = walk_inner(walk, stride);
  do {
    int64_t from = walk->offset[0];
    for (int64_t i = 0; i < size; i++, from += stride[0], to++) {
      Scalar value = load_as(operand->shape->type, type, operand->data, from);
      numbers.re[to] =
          is_float_kind(type) ? (WideNumber){.f = value.f} : (WideNumber){.u = value.u};
      if (numbers.im) numbers.im[to].f = value.im;
    }
  } while (walk_next(walk));
  return numbers;
}

static void add_complex(WideNumbers sum, double re, double im, const WideNumber *y_re,
                        const WideNumber *y_im, int64_t columns) {
  for (int64_t c = 0; c < columns; c++) {
    sum.re[c].f += re * y_re[c].f - im * y_im[c].f;
    sum.im[c].f += re * y_im[c].f + im * y_re[c].f;
  }
}

void wide_numbers_add_products(PrimitiveType type, WideNumbers sum, WideNumbers x, int64_t x_at,
                               WideNumbers y, int64_t y_at, int64_t columns) {
  WideNumber a = x.re[x_at];
  const WideNumber *b = y.re + y_at;
  if (type_is_complex(type)) {
    add_complex(sum, a.f, x.im[x_at].f, b, y.im + y_at, columns);
  } else if (type_is_floating(type)) {
    for (int64_t c = 0; c < columns; c++) sum.re[c].f += a.f * b[c].f;
  } else {
    for (int64_t c = 0; c < columns; c++) sum.re[c].u += a.u * b[c].u;
  }
}

void wide_numbers_store(PrimitiveType type, WideNumbers numbers, int64_t count, void *data,
                        int64_t at, int64_t stride) {
  for (int64_t i = 0; i < count; i++, at += stride) {
    WideNumber part = numbers.re[i];
    Scalar value = is_float_kind(type) ? (Scalar){.f = part.f} : (Scalar){.u = part.u};
    value.im = numbers.im ? numbers.im[i].f : 0;
    scalar_store(type, data, at, value);
  }
}
