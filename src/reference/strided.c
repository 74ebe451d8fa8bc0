#include "reference/strided.h"

#include <string.h>

#include "value/scalar.h"

void strided_copy_init(StridedCopy *copy, PrimitiveType type, int rank, const int64_t *sizes,
                       const int64_t *to_strides, const int64_t *from_strides) {
  int64_t bytes = type_bytes(type);
  walk_init(&copy->walk);
  for (int d = 0; d < rank; d++) {
    walk_add(&copy->walk, sizes[d], to_strides[d] * bytes, from_strides[d] * bytes, 0);
  }
  copy->bytes = (size_t)bytes;
  copy->inner = walk_inner(&copy->walk, copy->stride);
}

static inline void copy_line(uint8_t *to, const uint8_t *from, const int64_t *stride, int64_t count,
                             size_t bytes) {
  for (int64_t i = 0; i < count; i++) {
    memcpy(to + i * stride[TO], from + i * stride[FROM], bytes);
  }
}

static void copy_any_line(const StridedCopy *copy, uint8_t *to, const uint8_t *from) {
  const int64_t *stride = copy->stride, element = (int64_t)copy->bytes;
  if (stride[TO] == element && stride[FROM] == element) {
    memcpy(to, from, (size_t)copy->inner * copy->bytes);
    return;
  }
  switch (copy->bytes) { /* constants, so that memcpy is one move */
  case 1: copy_line(to, from, stride, copy->inner, 1); break;
  case 2: copy_line(to, from, stride, copy->inner, 2); break;
  case 4: copy_line(to, from, stride, copy->inner, 4); break;
  case 8: copy_line(to, from, stride, copy->inner, 8); break;
  default: copy_line(to, from, stride, copy->inner, 16); break;
  }
}

void strided_copy_run(StridedCopy *copy, void *to, const void *from) {
  Walk *walk = &copy->walk;
  if (walk->count == 0) return;
  do {
    copy_any_line(copy, (uint8_t *)to + walk->offset[TO],
                  (const uint8_t *)from + walk->offset[FROM]);
  } while (walk_next(walk));
}

void copy_box(const Literal *from, int64_t from_offset, const int64_t *from_strides, Literal *to,
              int64_t to_offset, const int64_t *to_strides, int rank, const int64_t *sizes) {
  StridedCopy copy;
  strided_copy_init(&copy, to->shape->type, rank, sizes, to_strides, from_strides);
  if (copy.walk.count == 0) return;
  int64_t bytes = (int64_t)copy.bytes;
  strided_copy_run(&copy, (uint8_t *)to->data + to_offset * bytes,
                   (const uint8_t *)from->data + from_offset * bytes);
}

/* Each step doubles the filled part. */
void literal_fill(Literal *literal, const void *element) {
  size_t total = (size_t)shape_bytes(literal->shape);
  size_t filled = (size_t)type_bytes(literal->shape->type);
  uint8_t *data = literal->data;
  if (total == 0) return;
  memcpy(data, element, filled);
  while (filled < total) {
    size_t more = filled < total - filled ? filled : total - filled;
    memcpy(data + filled, data, more);
    filled += more;
  }
}
