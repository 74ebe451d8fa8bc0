/* Computes the classes, positions and taps of a spatial dimension: see window.h. */
#include "kernels/convolution/window.h"
#include "base/min_max.h"

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int64_t divide_down(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

Line line_of(const WindowDimension *window, int64_t length, int64_t positions) {
  Line line = {.length = length,
               .positions = positions,
               .taps = window->size,
               .stride = window->stride,
               .tap_dilation = window->window_dilation,
               .base_dilation = length > 1 ? window->base_dilation : 1,
               .padding = window->padding_low,
               .reversed = window->window_reversal};
  line.classes = line.base_dilation / common_divisor(line.stride, line.base_dilation);
  line.tap_step = line.base_dilation / common_divisor(line.tap_dilation, line.base_dilation);
  line.position_elements = line.stride * line.classes / line.base_dilation;
  line.tap_elements = line.tap_dilation * line.tap_step / line.base_dilation;
  int64_t last = (positions - 1) * line.stride + (line.taps - 1) * line.tap_dilation - line.padding;
  line.low = divide_down(line.padding, line.base_dilation);
  line.high = divide_down(last, line.base_dilation) - (length - 1);
  if (line.low < 0) line.low = 0;
  if (line.high < 0) line.high = 0;
  return line;
}

int64_t line_classes(const Line *line) {
  return line->classes < line->positions ? line->classes : line->positions;
}

LineClass line_class(const Line *line, int64_t class) {
  LineClass c = {.positions = divide_up(line->positions - class, line->classes)};
  int64_t dilated = class * line->stride - line->padding;
  while (c.first_tap < line->taps && dilated % line->base_dilation != 0) {
    c.first_tap++;
    dilated += line->tap_dilation;
  }
  c.taps = divide_up(line->taps - c.first_tap, line->tap_step);
  c.element = dilated / line->base_dilation;
  return c;
}

LineClass line_position(const Line *line, LineClass class, int64_t index) {
  LineClass c = class;
  c.positions = 1;
  c.element += index * line->position_elements;
  if (c.element < 0) {
    int64_t before = divide_up(-c.element, line->tap_elements);
    if (before > c.taps) before = c.taps;
    c.taps -= before;
    c.first_tap += before * line->tap_step;
    c.element += before * line->tap_elements;
  }
  int64_t room = line->length - 1 - c.element;
  if (room < (c.taps - 1) * line->tap_elements) {
    c.taps = room < 0 ? 0 : room / line->tap_elements + 1;
  }
  if (c.taps == 0) c.element = c.first_tap = 0;
  return c;
}
