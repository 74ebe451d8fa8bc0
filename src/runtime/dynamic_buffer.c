#include "runtime/dynamic_buffer.h"

#include <string.h>

bool buffer_fits(const Buffer *buffer, const Shape *shape) {
  if (buffer->type != shape->type || buffer->rank != shape->rank) return false;
  for (int i = 0; i < shape->rank; i++) {
    bool shorter = shape->dynamic && shape->dynamic[i] && buffer->dims[i] < shape->dims[i];
    if (buffer->dims[i] != shape->dims[i] && !shorter) return false;
  }
  return true;
}

/* Copies the common part of two row-major arrays, which starts at index 0 in both. Works on dimensions from
** `d` on, which take `source_bytes` and `target_bytes` in each. */
static void copy_common(const Buffer *from, const uint8_t *source, int64_t source_bytes,
                        const Buffer *to, uint8_t *target, int64_t target_bytes, int d) {
  int64_t count = from->dims[d] < to->dims[d] ? from->dims[d] : to->dims[d];
  if (count == 0) return;
  int64_t source_stride = source_bytes / from->dims[d], target_stride = target_bytes / to->dims[d];
  if (d == from->rank - 1) {
    memcpy(target, source, (size_t)(count * source_stride));
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    copy_common(from, source + i * source_stride, source_stride, to, target + i * target_stride,
                target_stride, d + 1);
  }
}

/* Copies the common part of packed arrays. Returns NULL, and releases the target, if there is no memory for their elements. */
static Buffer *repacked(const Buffer *from, Buffer *to, Error *error) {
  int64_t source = buffer_elements(from), target = buffer_elements(to), bytes = source + target;
  uint8_t *elements = memory_alloc(bytes, error);
  if (!elements) {
    buffer_release(to);
    return NULL;
  }
  buffer_get(from, elements);
  memset(elements + source, 0, (size_t)target);
  if (source && target) copy_common(from, elements, source, to, elements + source, target, 0);
  buffer_set(to, elements + source);
  memory_release(elements, bytes);
  return to;
}

static Buffer *resized(Buffer *buffer, const int64_t *dims, Error *error) {
  if (!memcmp(dims, buffer->dims, sizeof *dims * (size_t)buffer->rank)) {
    return buffer_retain(buffer);
  }
  Shape shape = {.type = buffer->type, .rank = buffer->rank, .dims = dims};
  Buffer *made = buffer_new(&shape, error);
  if (!made || type_per_byte(buffer->type) > 1) return made ? repacked(buffer, made, error) : NULL;
  memset(made->data, 0, (size_t)made->bytes);
  if (buffer->bytes && made->bytes) {
    copy_common(buffer, buffer->data, buffer->bytes, made, made->data, made->bytes, 0);
  }
  return made;
}

Buffer *buffer_padded(Buffer *buffer, const Shape *shape, Error *error) {
  return resized(buffer, shape->dims, error);
}

Buffer *buffer_cut(Buffer *buffer, const int64_t *dims, Error *error) {
  return resized(buffer, dims, error);
}

Buffer *buffer_of_size(int64_t size, Error *error) {
  Buffer *buffer = buffer_new(shape_scalar(S32), error);
  int32_t value = (int32_t)size;
  if (buffer) memcpy(buffer->data, &value, sizeof value);
  return buffer;
}
