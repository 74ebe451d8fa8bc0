/*
** Copies boxes of elements from one array to another: nearly all data movement is such a copy. Along each
** dimension of the box, each array has its own stride, which may be zero or negative.
*/
#ifndef XLA_REFERENCE_STRIDED_H
#define XLA_REFERENCE_STRIDED_H

#include "reference/walk.h"
#include "value/literal.h"
#include "value/scalar.h"

/* The arrays' indices in a Walk. */
enum { TO = 0, FROM = 1 };

typedef struct StridedCopy {
  Walk walk; /* over all dimensions but the innermost; strides in bytes */
  size_t bytes;
  int64_t inner, stride[WALK_ARRAYS];
} StridedCopy;

/* Prepares to copy boxes of `sizes` elements of `type`; strides are in elements. */
void strided_copy_init(StridedCopy *copy, PrimitiveType type, int rank, const int64_t *sizes,
                       const int64_t *to_strides, const int64_t *from_strides);

/* Copies one box; `to` and `from` point to its first elements. May be called any number of times. */
void strided_copy_run(StridedCopy *copy, void *to, const void *from);

/* Prepares and copies one box, from element `from_offset` to element `to_offset` of arrays of one type. */
void copy_box(const Literal *from, int64_t from_offset, const int64_t *from_strides, Literal *to,
              int64_t to_offset, const int64_t *to_strides, int rank, const int64_t *sizes);

/* Fills an array with copies of the scalar at `element`. */
void literal_fill(Literal *literal, const void *element);

/* Returns a start index of dynamic-slice and similar operations: element `index` of an array of integers,
** clamped to 0 ... limit so that the slice lies inside its operand. */
static inline int64_t clamped_start(const Literal *indices, int64_t index, int64_t limit) {
  PrimitiveType type = indices->shape->type;
  return scalar_clamped_index(type, scalar_load(type, indices->data, index), limit);
}

#endif
