/*
** Loops that multiply a few vectors of f32 by a matrix of narrow numbers, each times a scale, without writing the widened
** matrix:
**
**     sums[row][column] += sum over depth of vectors[row][depth] * ((widen(matrix[depth][column]) - zero[...]) * scale[...])
**
** The number less its zero is rounded to f32, then that times its scale, then the product, then the sum. If no number times its
** scale needs to be rounded, sums of products that share a scale can be multiplied by it instead: the `plain` loops do that.
*/
#ifndef XLA_KERNELS_CONTRACTION_NARROW_H
#define XLA_KERNELS_CONTRACTION_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/contraction/inner/narrow_loops.h"
#include "value/types.h"

typedef struct NarrowLoops {
  NarrowRow plain, scaled; /* ROW_NONE: there are none */
  float factor;            /* a power of two, by which widened numbers must be multiplied */
  bool is_integral;        /* plain numbers are integers, of at most 9 bits */
  uint8_t flipped;   /* the bit to invert in each byte: it turns unsigned bytes into signed ones */
  float zero;        /* what inverting subtracts from each byte; it is added to the zero points */
  bool looks_before; /* bytes are looked up: those from 16 on are misread */
  bool of_one;       /* plain loops multiply one vector; without scaled loops, so do all */
  /* The loops read packed numbers in the order of narrow_part. By columns, vectors have that order, too; by depth, scales, zeros
  ** and sums have it. Sums that plain loops add are put into their own order before they are multiplied by scales. */
  bool packed;
  bool rounds;       /* numbers are rounded to bf16 or f16: see narrow_scales_can_round */
  bool rounds_moved; /* differences from zero points, too, which may be fractions */
  NarrowRow whole;   /* instead of `scaled`, if narrow_are_small: differences are not rounded */
  bool adds;         /* biases are added after the scales; then `zero` is NarrowBlock's `less` */
  bool centered;     /* zeros of plain loops are bytes: see narrow_center */
} NarrowLoops;

/* Adds products of a row of the loops' table. along_depth: matrix[column] are contiguous lines; otherwise matrix[depth]
** are contiguous rows. */
void narrow_multiply(NarrowRow row, const NarrowBlock *block, bool along_depth);

/* What happens to a number before it is multiplied by a vector. */
typedef enum NarrowForm {
  NARROW_PLAIN,
  NARROW_SCALED,
  NARROW_MOVED,
  NARROW_ROUNDED, /* moved, scaled, and rounded */
  NARROW_AFFINE,  /* scaled, and then moved */
  NARROW_ROUNDED_AFFINE,
  NARROW_LOOKED_UP,
  NARROW_ROUNDED_F32 /* numbers of f32, rounded to bf16; without scales */
} NarrowForm;

/* Returns the loops of a type; NULL if it has none. Numbers that are looked up are bytes. */
const NarrowLoops *narrow_loops(PrimitiveType type, NarrowForm form);
/* Returns the loops that read packed numbers of a type; without such loops, those that read one number a byte. */
const NarrowLoops *narrow_packed_loops(PrimitiveType type, NarrowForm form);

/* Moves numbers at even places before those at odd ones, in each 8 of `count`, and back. Both round `count` up. */
void narrow_part(const float *from, int64_t count, float *to);
void narrow_join(const float *from, int64_t count, float *to);

/* Converts zero points of 4-bit numbers, divided by `factor`, to the form that plain loops read. By columns: four equal bytes for
** each. By depth: for each 16 columns, 16 bytes for the even columns, then 16 for the odd ones. Returns false and changes nothing
** if a zero point does not fit into a byte. */
bool narrow_center(float *zeros, int64_t count, float factor, bool along_depth);

/* Whether zero points are integers from which numbers of 4 bits differ by less than 2^7. The list has room for a multiple of 16. */
bool narrow_are_small(float *zeros, int64_t count);
/* Whether no integer of 9 bits needs to be rounded when it is multiplied by one of the scales. */
bool narrow_scales_are_exact(const float *scales, int64_t count);
/* Whether each product of an integer of 9 bits with one of the scales is 0 or far from the ends of a type's exponents: BF16's or
** F16's. */
bool narrow_scales_can_round(PrimitiveType type, const float *scales, int64_t count);
/* Whether sums of such products with the biases are, too, or need not be rounded. Of F16, products are rounded. */
bool narrow_biases_can_round(PrimitiveType type, const float *biases, int64_t count);
/* Adds sums of loops by depth, each times the scale of its column; NULL: without scales. */
void narrow_add_scaled(const float *plain, const float *scales, int64_t count, float *sums);

bool narrow_has_bytes_from_16(const uint8_t *elements, int64_t count);

#endif
