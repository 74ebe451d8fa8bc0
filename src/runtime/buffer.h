/*
** Device buffers: the memory of one array, reference-counted, safe to share between threads. All
** large memory of the core (arguments, results, run arenas) is a buffer, and is counted.
*/
#ifndef XLA_RUNTIME_BUFFER_H
#define XLA_RUNTIME_BUFFER_H

#include <stdatomic.h>
#include <stdint.h>

#include "value/shape.h"

typedef struct Buffer {
  atomic_int references;
  PrimitiveType type;
  int rank;
  int64_t *dims; /* the buffer's own copy */
  int64_t bytes;
  uint8_t *data;        /* aligned to 64 bytes */
  struct Buffer *owner; /* whose memory it is, of which it has a reference; NULL: its own */
} Buffer;

/* Its elements are not set. NULL with RESOURCE_EXHAUSTED when the memory cannot be had. */
Buffer *buffer_new(const Shape *shape, Error *error);
/* The memory of another one, of as many bytes, in another shape; NULL with RESOURCE_EXHAUSTED. */
Buffer *buffer_sharing(Buffer *owner, const Shape *shape, Error *error);
Buffer *buffer_retain(Buffer *buffer);
void buffer_release(Buffer *buffer); /* NULL is fine */
bool buffer_has_shape(const Buffer *buffer, const Shape *shape);

/* 64-byte aligned counted memory without a shape; NULL with RESOURCE_EXHAUSTED. */
void *memory_alloc(int64_t bytes, Error *error);
void memory_release(void *memory, int64_t bytes);
int64_t memory_in_use(void);

#endif
