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
  atomic_uchar bounds;  /* Bounds (kernels.h): what a run found out about its numbers */
  struct Buffer *owner; /* the retained buffer whose memory it shares; NULL: it has its own */
} Buffer;

/* Returns a buffer with uninitialised elements. NULL with RESOURCE_EXHAUSTED. */
Buffer *buffer_new(const Shape *shape, Error *error);
/* Returns a buffer of another shape and equal size that shares the owner's memory. NULL with
** RESOURCE_EXHAUSTED. */
Buffer *buffer_sharing(Buffer *owner, const Shape *shape, Error *error);
/* Copies all elements, as literals have them, to a buffer or from it: it may be packed. */
void buffer_set(Buffer *buffer, const void *elements);
void buffer_get(const Buffer *buffer, void *elements);
int64_t buffer_elements(const Buffer *buffer);
Buffer *buffer_retain(Buffer *buffer);
void buffer_release(Buffer *buffer); /* NULL is fine */

/* Allocates counted memory, aligned to 64 bytes. NULL with RESOURCE_EXHAUSTED. */
void *memory_alloc(int64_t bytes, Error *error);
void memory_release(void *memory, int64_t bytes);
int64_t memory_in_use(void);

#endif
