/*
** Builds checked instructions, as XlaBuilder does. Operations are given as in HLO. As in XlaBuilder, the
** operands of element-wise operations are broadcast (scalars always; `broadcast_dimensions`; degenerate
** dimensions). Explicit reshape and broadcast instructions do this, so the result is plain HLO.
*/
#ifndef XLA_HLO_INFER_BUILDER_H
#define XLA_HLO_INFER_BUILDER_H

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
** checked against the inferred one. `broadcast_dimensions` applies to element-wise operations of
** two or three operands only; count -1 means not given. Returns NULL with `error` if a rule is broken.
*/
Instruction *builder_add(Builder *builder, Opcode opcode, const Shape *shape,
                         Instruction *const *operands, int operand_count,
                         const Attributes *attributes, Int64List broadcast_dimensions,
                         Error *error);
Instruction *builder_parameter(Builder *builder, int64_t number, const Shape *shape,
                               const char *name, Error *error);
/* Adds a constant whose data came from malloc. On success the module owns the data. */
Instruction *builder_constant_of(Builder *builder, const Literal *literal, Error *error);
/* Adds a constant with a copy of the literal. */
Instruction *builder_constant(Builder *builder, const Literal *literal, Error *error);

/* Makes `computation` (of any module) callable from this builder: returns a new copy in its module. A
** caller that imports a computation twice must remember the copy, as addresses may be reused. */
Computation *builder_import(Builder *builder, const Computation *computation);

/* Ends building with `root` (NULL: the last instruction). Checks that parameter numbers are
** 0..n-1 without gaps. Keeps all instructions. The module now belongs to the caller. */
Module *builder_finish(Builder *builder, Instruction *root, Error *error);

#endif
