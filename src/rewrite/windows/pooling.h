/* Declares functions shared by the passes about windows. */
#ifndef XLA_REWRITE_WINDOWS_POOLING_H
#define XLA_REWRITE_WINDOWS_POOLING_H

#include "hlo/ir/module.h"

/* Whether a window reaches beyond its operand, or between its elements. */
bool window_is_padded(const Window *window);

/* The same window without padding and base dilation, which go to `padding`. */
Window window_unpadded(Arena *arena, const Window *window, PaddingConfig *padding);

/* pad(operand, value) in `computation`; NULL if the result would be too large. */
Instruction *add_padded(Computation *computation, Instruction *operand, Instruction *value,
                        PaddingConfig padding);

/* A computation for a reduction of select-and-scatter's elements, each with its place:
** (best, its place, candidate, its place) -> the selected one with its place. Nothing is at -1; if
** `padded`, the candidate may also be nothing. One that was made for the same is used again: the last one, of
** a pass; all zero at first. */
typedef struct PoolingChooser {
  Computation *made;
  const Computation *select;
  PrimitiveType type;
  bool padded;
} PoolingChooser;
Computation *pooling_chooser(const Instruction *select_and_scatter, bool padded,
                             PoolingChooser *last);

#endif
