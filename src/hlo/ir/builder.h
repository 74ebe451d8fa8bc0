/*
** The checked way to make instructions: what XlaBuilder does. Operations are given as in HLO, with
** XlaBuilder's conveniences on top: element-wise operations broadcast as the broadcasting page says
** (scalars always; `broadcast_dimensions`; degenerate dimensions), by inserting explicit reshape
** and broadcast instructions, so that the result is plain HLO.
*/
#ifndef XLA_HLO_IR_BUILDER_H
#define XLA_HLO_IR_BUILDER_H

#include "hlo/ir/module.h"

typedef struct Builder {
  Module *module;
  Computation *computation; /* the one being built: the module's entry */
} Builder;

Builder *builder_new(const char *name);
void builder_free(Builder *builder); /* frees the module too, if not taken */

/*
** Adds an operation. `shape` is required for operations whose result the operands do not determine
** (constant excepted): parameter, iota, reshape, convert, bitcast-convert, rng, rng-bit-generator,
** infeed, recv, custom-call, and broadcast in its HLO form; for others it may be NULL, or is
** checked against the inferred one. `broadcast_dimensions` matters to element-wise operations of
** two or three operands only; count -1 means not given. NULL with `error` if a rule is broken.
*/
Instruction *builder_add(Builder *builder, Opcode opcode, const Shape *shape,
                         Instruction *const *operands, int operand_count,
                         const Attributes *attributes, Int64List broadcast_dimensions,
                         Error *error);
Instruction *builder_parameter(Builder *builder, int64_t number, const Shape *shape,
                               const char *name, Error *error);
/* The literal's data came from malloc: if there is no error, the module takes it over. */
Instruction *builder_constant_of(Builder *builder, const Literal *literal, Error *error);
/* Copies the literal. */
Instruction *builder_constant(Builder *builder, const Literal *literal, Error *error);

/* Makes `computation` (of any module) callable from this builder: returns a new copy in here. Who
** imports the same twice remembers the copy; by address it is not known, which may be another's
** later. */
Computation *builder_import(Builder *builder, const Computation *computation);

/* Ends building with `root` (NULL: the last instruction). Checks that parameter numbers are
** 0..n-1 without gaps and drops nothing. The module now belongs to the caller. */
Module *builder_finish(Builder *builder, Instruction *root, Error *error);

#endif
