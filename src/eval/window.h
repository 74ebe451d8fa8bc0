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

/* A window over several dimensions, and the place where it is now. */
typedef struct Placed {
  int rank;
  WindowLine line[MAX_RANK];
  int64_t place[MAX_RANK];
} Placed;

/* Adds a dimension inside those added so far; rank must be 0 before the first. */
void placed_add(Placed *placed, WindowLine line);
/* To the next place in row-major order; false behind the last, and then it is at the first again. */
bool placed_next(Placed *placed);

/* Calls the rule for every element under the window, in row-major order: `at` is its offset in the
** array, `position` its row-major position in the window. Ends early, with false, if the rule does. */
typedef bool ElementRule(void *state, int64_t at, int64_t position);
bool placed_elements(const Placed *placed, ElementRule *rule, void *state);

#endif
