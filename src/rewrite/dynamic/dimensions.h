/*
** Resolves bounded dynamic dimensions, as XLA does with DynamicDimensionInference and DynamicPadder. An
** array with a dynamic dimension has memory for its bound, and a separate s32[] instruction holds the
** size. Elements past the size that would affect a result are replaced by a neutral value. Afterwards no
** shape has a dynamic dimension and no set-dimension-size is left, so later stages need no support for them.
*/
#ifndef XLA_REWRITE_DYNAMIC_DIMENSIONS_H
#define XLA_REWRITE_DYNAMIC_DIMENSIONS_H

#include "hlo/ir/module.h"

/* Whether a module has a dynamic dimension, or an operation that is about one. */
bool module_has_dynamic_dimensions(const Module *module);

/*
** Resolves the dynamic dimensions of a module that has some, after the rows of the stage DYNAMIC. Its entry gets
**   - for each dynamic dimension of its parameters, in order, a parameter s32[] after the others;
**   - for each dynamic dimension of its result, in order, an s32[] after the result's own elements
**     (a result that was no tuple becomes the first element of one).
** Returns false with UNIMPLEMENTED if an operation has no rule for an operand of dynamic size.
*/
bool dynamic_dimensions_resolve(Module *module, Error *error);

/* Returns the number of dynamic dimensions in a shape. Each has a size. */
int shape_dynamic_dimensions(const Shape *shape);

#endif
