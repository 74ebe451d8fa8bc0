/*
** Finds the array's element under each position of a window, for every place of the window. Shared by
** reduce-window, select-and-scatter and convolution.
*/
#ifndef XLA_REFERENCE_WINDOW_H
#define XLA_REFERENCE_WINDOW_H

#include "hlo/ir/attributes.h"

/* One dimension: elements `stride` apart, under a window with `outputs` positions. */
typedef struct WindowLine {
  const WindowDimension *window;
  int64_t length, stride, outputs;
  int64_t *at; /* by position, where the window is now: the offset of the element; -1 where there is
                  none: over padding, or between dilated elements */
} WindowLine;

/* A window over several dimensions, at one position. */
typedef struct PlacedWindow {
  int rank;
  WindowLine line[MAX_RANK];
  int64_t output[MAX_RANK];
} PlacedWindow;

/* Adds a dimension inside those added so far; rank must be 0 before the first. The window is at its first
** output. Memory comes from the arena. */
void placed_add(PlacedWindow *placed, const WindowDimension *window, int64_t length, int64_t stride,
                int64_t outputs, Arena *arena);
/* Goes to the next output in row-major order. After the last, returns false and is at the first again. */
bool placed_next(PlacedWindow *placed);

/* Calls the rule for every element under the window, in row-major order: `at` is its offset in the
** array, `position` its row-major position in the window. Ends early, with false, if the rule does. */
typedef bool ElementRule(void *state, int64_t at, int64_t position);
bool placed_elements(const PlacedWindow *placed, ElementRule *rule, void *state);

#endif
