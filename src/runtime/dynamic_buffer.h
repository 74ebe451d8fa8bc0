/*
** Arrays with dynamic dimensions at the boundary of a program: the caller gives and gets buffers of
** the actual sizes, the program works on memory of the bounds with the sizes beside it.
*/
#ifndef XLA_RUNTIME_DYNAMIC_BUFFER_H
#define XLA_RUNTIME_DYNAMIC_BUFFER_H

#include "runtime/buffer.h"

/* Whether a buffer can be an argument of `shape`: as long in static dimensions, no longer in dynamic
** ones. */
bool buffer_fits(const Buffer *buffer, const Shape *shape);

/* The buffer itself, retained, if it is as large as `shape`'s bounds; else a copy with zeros behind
** it. NULL with RESOURCE_EXHAUSTED. */
Buffer *buffer_padded(Buffer *buffer, const Shape *shape, Error *error);

/* The buffer itself, retained, if `dims` are its own; else a copy of that much of it. */
Buffer *buffer_cut(Buffer *buffer, const int64_t *dims, Error *error);

/* A buffer of s32[]. */
Buffer *buffer_of_size(int64_t size, Error *error);

#endif
