/*
** Converts arrays with dynamic dimensions at the boundary of a program. The caller's buffers have the actual
** sizes; the program works on memory of the bounds, and has the sizes beside it.
*/
#ifndef XLA_RUNTIME_DYNAMIC_BUFFER_H
#define XLA_RUNTIME_DYNAMIC_BUFFER_H

#include "runtime/buffer.h"

/* Whether a buffer can be an argument of `shape`: equal in static dimensions, at most the bound in dynamic
** ones. */
bool buffer_fits(const Buffer *buffer, const Shape *shape);

/* Returns the buffer itself, retained, if it is as large as `shape`'s bounds; else a copy padded with zeros.
** NULL with RESOURCE_EXHAUSTED. */
Buffer *buffer_padded(Buffer *buffer, const Shape *shape, Error *error);

/* Returns the buffer itself, retained, if `dims` are its own; else a copy cut to them. */
Buffer *buffer_cut(Buffer *buffer, const int64_t *dims, Error *error);

/* Returns a buffer of s32[] that holds `size`. */
Buffer *buffer_of_size(int64_t size, Error *error);

#endif
