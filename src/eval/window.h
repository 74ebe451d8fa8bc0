/*
** Windows over an array: which element lies under which position of the window, for every place
** that the window takes. Shared by reduce-window, select-and-scatter and convolution.
*/
#ifndef XLA_EVAL_WINDOW_H
#define XLA_EVAL_WINDOW_H

#include "hlo/attributes.h"

/* One dimension. at[place * size + position] is the offset of an element, already multiplied by
** the dimension's stride; -1 where the position is over padding, or between dilated elements. */
typedef struct WindowLine {
  int64_t places, size;
  const int64_t *at;
} WindowLine;

/* `length` elements, `stride` apart, under a window that takes `places` places. */
WindowLine window_line(const WindowDimension *window, int64_t length, int64_t stride,
                       int64_t places, Arena *arena);

#endif
