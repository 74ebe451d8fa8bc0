#include "runtime/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "value/storage.h"

enum { ALIGNMENT = 64 };

static _Atomic int64_t in_use;
static _Atomic int64_t count; /* of what is allocated */

int64_t memory_in_use(void) { return atomic_load(&in_use); }

void *memory_alloc(int64_t bytes, Error *error) {
  /* Kernels may read a whole vector at the last element: round up and add one line. */
  int64_t size = ((bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT) + ALIGNMENT;
  void *memory = NULL;
  if (bytes >= 0 && (uint64_t)size <= SIZE_MAX - 65536)
    memory = aligned_alloc(ALIGNMENT, (size_t)size);
  if (!memory) {
    error_set(
        error, STATUS_RESOURCE_EXHAUSTED,
        "out of memory: %lld bytes do not fit; %lld bytes are in use by %lld buffers: donate or "
        "dispose() those that are not needed",
        (long long)bytes, (long long)memory_in_use(), (long long)atomic_load(&count));
    return NULL;
  }
  atomic_fetch_add(&in_use, bytes);
  atomic_fetch_add(&count, 1);
  return memory;
}

void memory_release(void *memory, int64_t bytes) {
  if (!memory) return;
  atomic_fetch_sub(&in_use, bytes);
  atomic_fetch_sub(&count, 1);
  free(memory);
}

/* Allocates a buffer without its memory. */
static Buffer *new_header(const Shape *shape, Error *error) {
  Buffer *buffer = malloc(sizeof *buffer + sizeof(int64_t) * (size_t)shape->rank);
  if (!buffer) {
    error_set(error, STATUS_RESOURCE_EXHAUSTED, "out of memory");
    return NULL;
  }
  *buffer = (Buffer){.type = shape->type, .rank = shape->rank, .bytes = shape_packed_bytes(shape)};
  atomic_init(&buffer->references, 1);
  buffer->dims = (int64_t *)(buffer + 1);
  for (int i = 0; i < shape->rank; i++) buffer->dims[i] = shape->dims[i];
  return buffer;
}

Buffer *buffer_new(const Shape *shape, Error *error) {
  Buffer *buffer = new_header(shape, error);
  if (!buffer) return NULL;
  buffer->data = memory_alloc(buffer->bytes, error);
  if (buffer->data) return buffer;
  free(buffer);
  return NULL;
}

Buffer *buffer_sharing(Buffer *owner, const Shape *shape, Error *error) {
  Buffer *buffer = new_header(shape, error);
  if (!buffer) return NULL;
  while (owner->owner) owner = owner->owner;
  buffer->owner = buffer_retain(owner);
  buffer->data = owner->data;
  return buffer;
}

int64_t buffer_elements(const Buffer *buffer) {
  Shape shape = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
  return shape_elements(&shape);
}

void buffer_set(Buffer *buffer, const void *elements) {
  if (type_per_byte(buffer->type) == 1) {
    memcpy(buffer->data, elements, (size_t)buffer->bytes);
  } else {
    elements_pack(buffer->type, elements, buffer_elements(buffer), buffer->data);
  }
}

void buffer_get(const Buffer *buffer, void *elements) {
  if (type_per_byte(buffer->type) == 1) {
    memcpy(elements, buffer->data, (size_t)buffer->bytes);
  } else {
    elements_unpack(buffer->type, buffer->data, 0, buffer_elements(buffer), elements);
  }
}

Buffer *buffer_retain(Buffer *buffer) {
  if (buffer) atomic_fetch_add(&buffer->references, 1);
  return buffer;
}

void buffer_release(Buffer *buffer) {
  if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1) return;
  if (buffer->owner) {
    buffer_release(buffer->owner);
  } else {
    memory_release(buffer->data, buffer->bytes);
  }
  free(buffer);
}
