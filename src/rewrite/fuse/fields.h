/*
** Fields: numbers of a few bits that a program packs into wider ones by itself, and reads by shifts and masks. fields.c finds
** an instruction that unpacks all of them; packed_fields.c reads packed arrays instead.
*/
#ifndef XLA_REWRITE_FUSE_FIELDS_H
#define XLA_REWRITE_FUSE_FIELDS_H

#include "hlo/ir/module.h"

/* Threshold MAX_FIELDS: u64 has 32 fields of 2 bits. No path. */
/* Threshold MAX_PERMUTED: of scales and zeros that are permuted. No path. */
enum { MAX_FIELDS = 32, MAX_PERMUTED = 4, ABSENT = -1 };

/* Bits of each number of an array, as the result of an instruction. */
typedef struct Field {
  Instruction *array;
  int shift, bits;
  bool is_signed;
} Field;

/* Neighbouring elements of an array, `unit` apart, that hold all fields: a part of this dimension. */
typedef struct Range {
  int dim;
  int64_t unit, size;
} Range;

/* All fields of each number of an array, along dimension `dim` of x: `each` elements of the first one, and so on. */
typedef struct Fields {
  Instruction *x;
  Field first;
  bool (*is_field)(const Field *);
  const Instruction *part; /* the first operand of a concatenate: a function of the first field */
  int count;
  int shift[MAX_FIELDS]; /* of number i of x */
  int order[MAX_FIELDS]; /* number i of x is field order[i], counted from the lowest bits */
  int dim;
  int64_t each;
  /* Operands of other instructions, on the way to the product, that are permuted. */
  int permuted_count;
  struct {
    Instruction *user;
    int operand;
    Range range;
  } permuted[MAX_PERMUTED];
} Fields;

/* Returns the field that x extracts by a shift, a mask, or both; its sign may be extended by (field ^ 8) - 8. It has no array
** if x is something else. */
Field field_of(const Instruction *x);

/* Whether a field is a part of each number. */
bool field_is_part(const Field *f);

/* Whether a field is one of several, side by side, of a type that is stored packed, or of a byte. */
bool field_is_stored(const Field *f);

/* Finds all fields of an array, which x concatenates, or shifts by amounts that are listed along a dimension. `is_field`: one
** of the two functions above. Returns false if x is something else. */
bool fields_find(Instruction *x, Fields *f, bool (*is_field)(const Field *));

/* Whether x has the elements of its operand in the same order: a reshape, or a broadcast that only adds dimensions of size 1. */
bool keeps_element_order(const Instruction *x);

/* Returns which operand of an operation is not a number that all elements share; ABSENT if there is not exactly one such
** operand. */
int array_operand(const Instruction *x);

/* Returns the number of elements from one index of a dimension to the next. */
int64_t elements_after(const Shape *shape, int dim);

/* Finds the range in a reshaped array. Returns false if it is not a part of one dimension there. */
bool reshape_range(const Shape *from, const Shape *to, Range *range);

#endif
