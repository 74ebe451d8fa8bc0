#include "reference/packed.h"

static bool is_float_kind(PrimitiveType type) {
  return type_is_floating(type) || type_is_complex(type);
}

Packed packed_new(PrimitiveType type, int64_t count, Arena *arena) {
  Packed packed = {ARENA_ARRAY(arena, Part, count), NULL};
  if (type_is_complex(type)) packed.im = ARENA_ARRAY(arena, Part, count);
  return packed;
}

void packed_clear(PrimitiveType type, Packed packed, int64_t count, bool negative) {
  Part zero = {.u = 0};
  if (negative && is_float_kind(type)) zero.f = -0.0;
  for (int64_t i = 0; i < count; i++) packed.re[i] = zero;
  for (int64_t i = 0; packed.im && i < count; i++) packed.im[i] = zero;
}

static Scalar load_as(PrimitiveType from, PrimitiveType to, const void *data, int64_t index) {
  Scalar value = scalar_load(from, data, index);
  /* Within a kind the widest form is the same, so that only another kind needs converting. */
  return type_kind(from) == type_kind(to) ? value : scalar_convert(from, to, value);
}

Packed packed_from(Walk *walk, const Literal *operand, PrimitiveType type, Arena *arena) {
  Packed packed = packed_new(type, walk->count, arena);
  int64_t stride[WALK_ARRAYS], to = 0;
  if (walk->count == 0) return packed;
  int64_t size = walk_inner(walk, stride);
  do {
    int64_t from = walk->offset[0];
    for (int64_t i = 0; i < size; i++, from += stride[0], to++) {
      Scalar value = load_as(operand->shape->type, type, operand->data, from);
      packed.re[to] = is_float_kind(type) ? (Part){.f = value.f} : (Part){.u = value.u};
      if (packed.im) packed.im[to].f = value.im;
    }
  } while (walk_next(walk));
  return packed;
}

static void add_complex(Packed sum, double re, double im, const Part *y_re, const Part *y_im,
                        int64_t columns) {
  for (int64_t c = 0; c < columns; c++) {
    sum.re[c].f += re * y_re[c].f - im * y_im[c].f;
    sum.im[c].f += re * y_im[c].f + im * y_re[c].f;
  }
}

void packed_add_products(PrimitiveType type, Packed sum, Packed x, int64_t x_at, Packed y,
                         int64_t y_at, int64_t columns) {
  Part a = x.re[x_at];
  const Part *b = y.re + y_at;
  if (type_is_complex(type)) {
    add_complex(sum, a.f, x.im[x_at].f, b, y.im + y_at, columns);
  } else if (type_is_floating(type)) {
    for (int64_t c = 0; c < columns; c++) sum.re[c].f += a.f * b[c].f;
  } else {
    for (int64_t c = 0; c < columns; c++) sum.re[c].u += a.u * b[c].u;
  }
}

void packed_store(PrimitiveType type, Packed packed, int64_t count, void *data, int64_t at,
                  int64_t stride) {
  for (int64_t i = 0; i < count; i++, at += stride) {
    Part part = packed.re[i];
    Scalar value = is_float_kind(type) ? (Scalar){.f = part.f} : (Scalar){.u = part.u};
    value.im = packed.im ? packed.im[i].f : 0;
    scalar_store(type, data, at, value);
  }
}
