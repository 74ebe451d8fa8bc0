/*
** Bounded dynamic dimensions, resolved: what XLA does with DynamicDimensionInference and
** DynamicPadder. An array with a dynamic dimension lies in memory of its bound, and an s32[]
** instruction beside it holds the size; where elements past the size would take part in a result,
** they are replaced by what leaves it unchanged. Afterwards no shape has a dynamic dimension, no
** set-dimension-size is left, and nothing downstream need know that there are such things.
*/
#ifndef XLA_REWRITE_DYNAMIC_DIMENSIONS_H
#define XLA_REWRITE_DYNAMIC_DIMENSIONS_H

#include "hlo/ir/module.h"

/*
** Changes nothing in a module without dynamic dimensions. Else, the entry computation gets
**   - for each dynamic dimension of its parameters, in order, a parameter s32[] behind the others;
**   - for each dynamic dimension of its result, in order, an s32[] behind the result's own elements
**     (a result that was no tuple becomes the first element of one).
** False with UNIMPLEMENTED if an operation cannot take an operand whose size it does not know.
*/
bool dynamic_dimensions_resolve(Module *module, Error *error);

/* Dynamic dimensions in a shape: how many sizes go with a value of it. */
int shape_dynamic_dimensions(const Shape *shape);

#endif
