/* Declares functions shared by the passes about windows. */
#ifndef XLA_REWRITE_WINDOWS_POOLING_H
#define XLA_REWRITE_WINDOWS_POOLING_H

#include "hlo/ir/module.h"

/* Whether a window reaches beyond its operand, or between its elements. */
bool window_is_padded(const Window *window);

/* Returns the window without padding and base dilation, and these in `padding`. */
Window window_unpadded(Arena *arena, const Window *window, PaddingConfig *padding);

/* Adds pad(operand, value) to `computation`; NULL if the result would be too large. */
Instruction *add_padded(Computation *computation, Instruction *operand, Instruction *value,
                        PaddingConfig padding);

/* Makes a computation that reduces select-and-scatter's elements with their places:
** (best, its place, candidate, its place) -> the selected one with its place. Place -1 means no element; if
** `padded`, the candidate may have it too. The pass's last computation, all zero at first, is reused if it is
** the same. */
typedef struct PoolingChooser {
  Computation *made;
  const Computation *select;
  PrimitiveType type;
  bool padded;
} PoolingChooser;
Computation *pooling_chooser(const Instruction *select_and_scatter, bool padded,
                             PoolingChooser *last);

#endif
