/* Takes the padding out of windows: pad_windows.c and scatter_windows.c use it. */
#ifndef XLA_REWRITE_WINDOWS_PAD_WINDOWS_H
#define XLA_REWRITE_WINDOWS_PAD_WINDOWS_H

#include "hlo/ir/module.h"

/* Whether a window reaches beyond its operand, or between its elements. */
bool window_is_padded(const Window *window);

/* Returns the window without padding and base dilation, and these in `padding`. */
Window window_unpadded(Arena *arena, const Window *window, PaddingConfig *padding);

/* Adds pad(operand, value) to `computation`; NULL if the result would be too large. */
Instruction *add_padded(Computation *computation, Instruction *operand, Instruction *value,
                        PaddingConfig padding);

#endif
