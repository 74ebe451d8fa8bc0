/* Creates literals and converts them between row-major order and other layouts. */
#include "value/literal.h"

#include <string.h>

#include "value/scalar.h"

Literal *literal_new(Arena *arena, const Shape *shape) {
  Literal *literal = literal_view(arena, shape, NULL);
  if (shape_is_array(shape)) {
    literal->data = arena_alloc_array(arena, shape_bytes(shape), 1);
  }
  for (int i = 0; i < shape->tuple_size; i++) {
    literal->elements[i] = literal_new(arena, shape->elements[i]);
  }
  return literal;
}

Literal *literal_view(Arena *arena, const Shape *shape, void *data) {
  Literal *literal = ARENA_NEW(arena, Literal);
  literal->shape = shape;
  literal->data = data;
  if (shape_is_tuple(shape)) literal->elements = ARENA_ARRAY(arena, Literal *, shape->tuple_size);
  return literal;
}

void literal_copy_data(const Literal *from, Literal *to) {
  if (shape_is_array(from->shape) && to->data && from->data != to->data) {
    size_t bytes = (size_t)shape_bytes(from->shape);
    if (bytes) memcpy(to->data, from->data, bytes);
  }
  for (int i = 0; i < from->shape->tuple_size; i++) {
    literal_copy_data(from->elements[i], to->elements[i]);
  }
}

bool literal_is_splat(Literal *literal) {
  if (literal->splat == 0) {
    const Shape *shape = literal->shape;
    size_t element = (size_t)type_bytes(shape->type), bytes = (size_t)shape_bytes(shape);
    const char *data = literal->data;
    /* Each element is compared with the next one. */
    bool is_splat =
        shape_is_array(shape) && bytes && !memcmp(data, data + element, bytes - element);
    literal->splat = is_splat ? 1 : -1;
  }
  return literal->splat > 0;
}

Literal *literal_copy(Arena *arena, const Literal *from) {
  Literal *copy = literal_new(arena, shape_copy(arena, from->shape));
  literal_copy_data(from, copy);
  return copy;
}

/* ---- Layouts ---- */

int64_t shape_physical_bytes(const Shape *shape) {
  int64_t bytes = type_bytes(shape->type);
  for (int d = 0; d < shape->rank; d++) bytes *= shape_physical_width(shape, d);
  return bytes;
}

/* PaddingValue, numbered as in earlier versions of xla_data.proto. */
enum { INVALID_PAD, ZERO_PAD, ONE_PAD, LOWEST_PAD, HIGHEST_PAD, UNKNOWN_PAD };

static Scalar padding_scalar(const Shape *shape) {
  switch (shape->layout->padding_value) {
  case ONE_PAD: return scalar_one(shape->type);
  case LOWEST_PAD: return scalar_lowest(shape->type);
  case HIGHEST_PAD: return scalar_highest(shape->type);
  default: return (Scalar){0};
  }
}

static void fill_padding(const Shape *shape, void *physical) {
  if (!shape->layout || !shape->layout->padded_dimensions) return;
  Scalar padding = padding_scalar(shape);
  int64_t count = shape_physical_bytes(shape) / type_bytes(shape->type);
  for (int64_t i = 0; i < count; i++) scalar_store(shape->type, physical, i, padding);
}

/* Copies between dense row-major order and the layout's order. strides: of the layout, in bytes. */
static void copy_strided(const Shape *shape, const int64_t *strides, uint8_t *dense,
                         uint8_t *physical, bool to_physical) {
  int64_t index[MAX_RANK] = {0}, offset = 0;
  size_t bytes = (size_t)type_bytes(shape->type);
  for (int64_t left = shape_elements(shape); left > 0; left--) {
    memcpy(to_physical ? physical + offset : dense, to_physical ? dense : physical + offset, bytes);
    dense += bytes;
    for (int d = shape->rank - 1; d >= 0; d--) {
      offset += strides[d];
      if (++index[d] < shape->dims[d]) break;
      offset -= strides[d] * shape->dims[d];
      index[d] = 0;
    }
  }
}

static void layout_strides(const Shape *shape, int64_t *strides) {
  int64_t stride = type_bytes(shape->type);
  for (int i = 0; i < shape->rank; i++) {
    int d = shape->layout ? shape->layout->minor_to_major[i] : shape->rank - 1 - i;
    strides[d] = stride;
    stride *= shape_physical_width(shape, d);
  }
}

void literal_to_layout(const Shape *shape, const void *dense, void *physical) {
  int64_t strides[MAX_RANK];
  layout_strides(shape, strides);
  fill_padding(shape, physical);
  copy_strided(shape, strides, (uint8_t *)dense, physical, true);
}

void literal_from_layout(const Shape *shape, const void *physical, void *dense) {
  int64_t strides[MAX_RANK];
  layout_strides(shape, strides);
  copy_strided(shape, strides, dense, (uint8_t *)physical, false);
}
