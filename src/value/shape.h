/*
** Shape: element type, dimensions and layout of an array; or a tuple of shapes; or a token.
** Shapes are immutable and live in an arena.
**
** Inside the core every array is dense and row-major (XLA's default layout, minor_to_major =
** {rank-1, ..., 0}). A Layout says how an array looks at the boundary: in HLO text and in
** literals that cross it. No operation but `bitcast` can tell the difference.
*/
#ifndef XLA_VALUE_SHAPE_H
#define XLA_VALUE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "value/types.h"

/* Threshold MAX_RANK: the longest index anywhere. shape_make refuses higher ranks. No path. */
enum { MAX_RANK = 64 };

typedef struct Layout {
  const int *minor_to_major;        /* a permutation of 0..rank-1, most minor first */
  const int64_t *padded_dimensions; /* widths including padding, one a dimension; NULL: none */
  int padding_value;                /* PaddingValue of the layout page */
} Layout;

typedef struct Shape Shape;
struct Shape {
  PrimitiveType type;
  int rank;                     /* arrays; 0 otherwise */
  const int64_t *dims;          /* sizes; upper bounds where dynamic */
  const bool *dynamic;          /* per dimension; NULL when every dimension is static */
  const Layout *layout;         /* NULL: the default layout */
  int tuple_size;               /* tuples */
  const Shape *const *elements; /* tuple elements */
};

/* Constructors. `dims` is copied. shape_make returns NULL and fills `error` if the rank is above
** MAX_RANK, a dimension is negative, or the array's bytes exceed 2^46. */
const Shape *shape_make(Arena *arena, PrimitiveType type, int rank, const int64_t *dims,
                        Error *error);
const Shape *shape_scalar(PrimitiveType type); /* static storage */
const Shape *shape_token(void);                /* static storage */
const Shape *shape_tuple(Arena *arena, int count, const Shape *const *elements);
/* `shape` with another element type; another layout; dynamic flags. */
const Shape *shape_with_type(Arena *arena, const Shape *shape, PrimitiveType type);
const Shape *shape_with_layout(Arena *arena, const Shape *shape, const Layout *layout);
const Shape *shape_with_dynamic(Arena *arena, const Shape *shape, const bool *dynamic);
const Shape *shape_copy(Arena *arena, const Shape *shape); /* deep */

static inline bool shape_is_tuple(const Shape *s) { return s->type == TUPLE; }
static inline bool shape_is_token(const Shape *s) { return s->type == TOKEN; }
static inline bool shape_is_array(const Shape *s) { return type_is_array(s->type); }
static inline bool shape_is_scalar(const Shape *s) { return shape_is_array(s) && s->rank == 0; }

int64_t
shape_elements(const Shape *shape);      /* number of elements; 1 for a scalar; 0 for non-arrays */
int64_t shape_bytes(const Shape *shape); /* dense bytes of an array; 0 for non-arrays */
int64_t shape_packed_bytes(const Shape *shape); /* of arguments and results: storage.h */
int shape_leaves(const Shape *shape);           /* arrays and tokens in it, counted recursively */
/* Writes all leaves to `out` in depth-first order. Returns the position after the last one. */
const Shape **shape_put_leaves(const Shape *shape, const Shape **out);
const Shape *shape_leaf(const Shape *shape, int index);

/* Whether any dimension of an array, or of some element of a tuple, is dynamic. */
bool shape_is_dynamic(const Shape *shape);
/* Whether the bytes of an array are within the limit of shapes. Dimensions of 0 count as 1, so that strides cannot overflow
** either. */
bool shape_bytes_fit(PrimitiveType type, int rank, const int64_t *dims);

bool shape_same_dims(const Shape *a, const Shape *b);  /* rank and sizes */
bool shape_compatible(const Shape *a, const Shape *b); /* all but layout and dynamic flags */
bool shape_equal(const Shape *a, const Shape *b);      /* everything */
bool shape_is_default_layout(const Shape *shape);      /* also true for tuples of such */

/* Row-major strides in elements: strides[rank-1] = 1. */
void shape_strides(const Shape *shape, int64_t *strides);

/* Steps `index` to the next one in row-major order; false after the last (then all zero). */
bool shape_next_index(const Shape *shape, int64_t *index);

/* "f32[2,3]", with layout "f32[2,3]{1,0}", "(f32[], token[])", "f32[<=5,3]". */
void shape_print(StrBuf *out, const Shape *shape, bool with_layout);
/* Prints a shape into the arena, without its layout: for error messages. */
const char *shape_str(Arena *arena, const Shape *shape);

/* Reads a shape at `text` and sets *end to the text after it. Accepts layouts with tiling, memory space and
** other suffixes; keeps only minor_to_major. Failure: NULL and `error` (column = offset + 1). */
const Shape *shape_parse(Arena *arena, const char *text, const char **end, Error *error);

/* Returns the size of a dimension in memory: its layout may pad it. */
int64_t shape_physical_width(const Shape *shape, int dimension);

#endif
