/*
** Describes one spatial dimension of a convolution: which elements of the lhs the kernel reads at each position.
**
** Output position p and kernel tap t meet at element
**
**     e = (p * stride + t * tap_dilation - padding) / base_dilation
**
** if that leaves no remainder. The taps t that leave none depend on p modulo the number of `classes`. For
** all positions of a class they are first, first + tap_step, first + 2 * tap_step, ...; e is affine in the
** position and in the tap. So no zeros between dilated elements are multiplied.
*/
#ifndef XLA_KERNELS_CONVOLUTION_WINDOW_H
#define XLA_KERNELS_CONVOLUTION_WINDOW_H

#include "hlo/ir/attributes.h"

typedef struct Line {
  int64_t length, positions, taps; /* of the lhs, the output and the kernel */
  int64_t stride, tap_dilation, base_dilation, padding;
  bool reversed; /* tap t is the kernel's element taps - 1 - t */
  int64_t classes, tap_step;
  int64_t position_elements, tap_elements; /* from one position, or tap, of a class to the next */
  int64_t low, high; /* elements by which some position reaches beyond either end of the lhs */
} Line;

Line line_of(const WindowDimension *window, int64_t length, int64_t positions);

/* How many classes have a position. */
int64_t line_classes(const Line *line);

/* The positions class, class + classes, ...: their number, their taps, and e for the first of both. */
typedef struct LineClass {
  int64_t positions, taps, first_tap, element;
} LineClass;
LineClass line_class(const Line *line, int64_t class);

/* Returns a class of one position, the class's first plus `index`, with only the taps that read an existing
** element. */
LineClass line_position(const Line *line, LineClass class, int64_t index);

#endif
