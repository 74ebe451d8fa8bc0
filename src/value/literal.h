/*
** Literal: a value. An array literal is dense and row-major, whatever its shape's layout; a tuple literal
** has elements; a token has no data. A Literal does not own its data; its creator decides where the memory
** comes from.
*/
#ifndef XLA_VALUE_LITERAL_H
#define XLA_VALUE_LITERAL_H

#include "value/shape.h"

typedef struct Literal Literal;
struct Literal {
  const Shape *shape;
  void *data;         /* arrays: shape_bytes(shape) bytes, row-major */
  Literal **elements; /* tuples: shape->tuple_size of them */
  signed char splat;  /* what literal_is_splat() found: 1 or -1; 0 if nothing has asked */
};

/* Returns a zeroed literal of `shape`; the arena holds its data, too. */
Literal *literal_new(Arena *arena, const Shape *shape);
/* Returns a literal over the caller's memory. */
Literal *literal_view(Arena *arena, const Shape *shape, void *data);
/* Returns a copy, with its shape. */
Literal *literal_copy(Arena *arena, const Literal *from);
void literal_copy_data(const Literal *from, Literal *to); /* compatible shapes */

/* Whether all elements of an array have the same bits, and there is one. Compares them once: the data of a constant of an
** instruction must not change after that. */
bool literal_is_splat(Literal *literal);

/* Convert an array's data to the physical order of `shape`'s layout (with padding), and back. `physical` has
** shape_physical_bytes(shape) bytes; `dense` is row-major. */
int64_t shape_physical_bytes(const Shape *shape);
void literal_to_layout(const Shape *shape, const void *dense, void *physical);
void literal_from_layout(const Shape *shape, const void *physical, void *dense);

#endif
