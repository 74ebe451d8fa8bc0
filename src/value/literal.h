/*
** Literal: a value. An array literal is dense and row-major, whatever its shape's layout says; a
** tuple literal has elements; a token has nothing. A Literal does not own its data: whoever made
** it says where the memory comes from.
*/
#ifndef XLA_VALUE_LITERAL_H
#define XLA_VALUE_LITERAL_H

#include "value/shape.h"

typedef struct Literal Literal;
struct Literal {
  const Shape *shape;
  void *data;         /* arrays: shape_bytes(shape) bytes, row-major */
  Literal **elements; /* tuples: shape->tuple_size of them */
};

/* A zeroed literal of `shape` in the arena, data and all. */
Literal *literal_new(Arena *arena, const Shape *shape);
/* A literal over memory of the caller's. */
Literal *literal_view(Arena *arena, const Shape *shape, void *data);
void literal_copy_data(const Literal *from, Literal *to); /* compatible shapes */

/* The data of an array in the physical order that `shape`'s layout (with padding) asks for, and
** back. `physical` has shape_physical_bytes(shape) bytes; `dense` is row-major. */
int64_t shape_physical_bytes(const Shape *shape);
void literal_to_layout(const Shape *shape, const void *dense, void *physical);
void literal_from_layout(const Shape *shape, const void *physical, void *dense);

#endif
