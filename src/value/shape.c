/* Creates, compares and indexes shapes: see shape.h. */
#include "value/shape.h"

#include <string.h>

/* ---- Construction ---- */

/* The limit exceeds any machine's memory; sums over all arrays of a program stay below 2^63. */
bool shape_bytes_fit(PrimitiveType type, int rank, const int64_t *dims) {
  int64_t bytes = type_bytes(type);
  for (int d = 0; d < rank; d++) {
    if (dims[d] && __builtin_mul_overflow(bytes, dims[d], &bytes)) return false;
  }
  return bytes <= INT64_C(1) << 46;
}

bool shape_is_dynamic(const Shape *shape) {
  bool is = false;
  for (int d = 0; shape->dynamic && d < shape->rank; d++) is |= shape->dynamic[d];
  for (int i = 0; i < shape->tuple_size; i++) is |= shape_is_dynamic(shape->elements[i]);
  return is;
}

const Shape *shape_make(Arena *arena, PrimitiveType type, int rank, const int64_t *dims,
                        Error *error) {
  if (!type_is_array(type)) {
    error_set(error, STATUS_INVALID_ARGUMENT,
              "an array cannot have element type %s; use an array element type", type_name(type));
    return NULL;
  }
  if (rank < 0 || rank > MAX_RANK) {
    error_set(error, STATUS_INVALID_ARGUMENT,
              "a %s array of rank %d is refused; the rank must be from 0 to %d", type_name(type),
              rank, MAX_RANK);
    return NULL;
  }
  for (int d = 0; d < rank; d++) {
    if (dims[d] >= 0) continue;
    error_set(error, STATUS_INVALID_ARGUMENT,
              "dimension %d of a %s array of rank %d is %lld; a dimension must not be negative", d,
              type_name(type), rank, (long long)dims[d]);
    return NULL;
  }
  if (!shape_bytes_fit(type, rank, dims)) {
    error_set(error, STATUS_INVALID_ARGUMENT,
              "a %s array of rank %d has more than 2^46 bytes; make its dimensions smaller",
              type_name(type), rank);
    return NULL;
  }
  Shape *shape = ARENA_NEW(arena, Shape);
  shape->type = type;
  shape->rank = rank;
  shape->dims = arena_copy(arena, dims, sizeof *dims * (size_t)rank);
  return shape;
}

const Shape *shape_scalar(PrimitiveType type) {
  static const Shape scalars[PRIMITIVE_TYPE_END] = {
#define TYPE(name, text, number, bytes, bits, kind) [number] = {.type = name},
#include "value/types.def"
#undef TYPE
  };
  return &scalars[type];
}

const Shape *shape_token(void) { return shape_scalar(TOKEN); }

const Shape *shape_tuple(Arena *arena, int count, const Shape *const *elements) {
  Shape *shape = ARENA_NEW(arena, Shape);
  shape->type = TUPLE;
  shape->tuple_size = count;
  shape->elements = arena_copy(arena, elements, sizeof *elements * (size_t)count);
  return shape;
}

static Shape *shallow_copy(Arena *arena, const Shape *shape) {
  return arena_copy(arena, shape, sizeof *shape);
}

const Shape *shape_with_type(Arena *arena, const Shape *shape, PrimitiveType type) {
  Shape *copy = shallow_copy(arena, shape);
  copy->type = type;
  return copy;
}

static const Layout *layout_copy(Arena *arena, const Layout *layout, int rank) {
  if (!layout) return NULL;
  Layout *copy = arena_copy(arena, layout, sizeof *layout);
  size_t n = (size_t)rank;
  copy->minor_to_major = arena_copy(arena, layout->minor_to_major, sizeof(int) * n);
  if (layout->padded_dimensions) {
    copy->padded_dimensions = arena_copy(arena, layout->padded_dimensions, sizeof(int64_t) * n);
  }
  return copy;
}

const Shape *shape_with_layout(Arena *arena, const Shape *shape, const Layout *layout) {
  Shape *copy = shallow_copy(arena, shape);
  copy->layout = layout_copy(arena, layout, shape->rank);
  return copy;
}

const Shape *shape_with_dynamic(Arena *arena, const Shape *shape, const bool *dynamic) {
  Shape *copy = shallow_copy(arena, shape);
  bool any = false;
  for (int d = 0; dynamic && d < shape->rank; d++) any |= dynamic[d];
  copy->dynamic = any ? arena_copy(arena, dynamic, sizeof *dynamic * (size_t)shape->rank) : NULL;
  return copy;
}

const Shape *shape_copy(Arena *arena, const Shape *shape) {
  Shape *copy = shallow_copy(arena, shape);
  size_t rank = (size_t)shape->rank;
  copy->dims = arena_copy(arena, shape->dims, sizeof *shape->dims * rank);
  if (shape->dynamic) copy->dynamic = arena_copy(arena, shape->dynamic, sizeof(bool) * rank);
  copy->layout = layout_copy(arena, shape->layout, shape->rank);
  if (shape->tuple_size) {
    const Shape **elements = ARENA_ARRAY(arena, const Shape *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) {
      elements[i] = shape_copy(arena, shape->elements[i]);
    }
    copy->elements = elements;
  }
  return copy;
}

/* ---- Measures ---- */

int64_t shape_elements(const Shape *shape) {
  if (!shape_is_array(shape)) return 0;
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}

int64_t shape_bytes(const Shape *shape) { return shape_elements(shape) * type_bytes(shape->type); }

int64_t shape_packed_bytes(const Shape *shape) {
  int per = type_per_byte(shape->type);
  return per == 1 ? shape_bytes(shape) : (shape_elements(shape) + per - 1) / per;
}

int shape_leaves(const Shape *shape) {
  if (!shape_is_tuple(shape)) return 1;
  int count = 0;
  for (int i = 0; i < shape->tuple_size; i++) count += shape_leaves(shape->elements[i]);
  return count;
}

const Shape **shape_put_leaves(const Shape *shape, const Shape **out) {
  if (!shape_is_tuple(shape)) {
    *out++ = shape;
    return out;
  }
  for (int i = 0; i < shape->tuple_size; i++) out = shape_put_leaves(shape->elements[i], out);
  return out;
}

const Shape *shape_leaf(const Shape *shape, int index) {
  if (!shape_is_tuple(shape)) return index == 0 ? shape : NULL;
  for (int i = 0; i < shape->tuple_size; i++) {
    int leaves = shape_leaves(shape->elements[i]);
    if (index < leaves) return shape_leaf(shape->elements[i], index);
    index -= leaves;
  }
  return NULL;
}

/* ---- Comparison ---- */

bool shape_same_dims(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  return a->rank == 0 || !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

bool shape_compatible(const Shape *a, const Shape *b) {
  if (a->type != b->type || a->tuple_size != b->tuple_size || !shape_same_dims(a, b)) return false;
  for (int i = 0; i < a->tuple_size; i++) {
    if (!shape_compatible(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

/* An absent layout is the default one, and absent flags are all false. */
static int minor_dimension(const Shape *shape, int i) {
  return shape->layout ? shape->layout->minor_to_major[i] : shape->rank - 1 - i;
}

int64_t shape_physical_width(const Shape *shape, int d) {
  const Layout *layout = shape->layout;
  return layout && layout->padded_dimensions ? layout->padded_dimensions[d] : shape->dims[d];
}

bool shape_equal(const Shape *a, const Shape *b) {
  if (a->type != b->type || a->tuple_size != b->tuple_size || !shape_same_dims(a, b)) return false;
  for (int d = 0; d < a->rank; d++) {
    if (minor_dimension(a, d) != minor_dimension(b, d)) return false;
    if (shape_physical_width(a, d) != shape_physical_width(b, d)) return false;
    if ((a->dynamic && a->dynamic[d]) != (b->dynamic && b->dynamic[d])) return false;
  }
  for (int i = 0; i < a->tuple_size; i++) {
    if (!shape_equal(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

bool shape_is_default_layout(const Shape *shape) {
  for (int d = 0; d < shape->rank; d++) {
    if (minor_dimension(shape, d) != shape->rank - 1 - d) return false;
    if (shape_physical_width(shape, d) != shape->dims[d]) return false;
  }
  for (int i = 0; i < shape->tuple_size; i++) {
    if (!shape_is_default_layout(shape->elements[i])) return false;
  }
  return true;
}

/* ---- Indices ---- */

void shape_strides(const Shape *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= shape->dims[d];
  }
}

bool shape_next_index(const Shape *shape, int64_t *index) {
  for (int d = shape->rank - 1; d >= 0; d--) {
    if (++index[d] < shape->dims[d]) return true;
    index[d] = 0;
  }
  return false;
}
