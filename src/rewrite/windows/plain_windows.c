/*
** Rewrites reversed windows, and reduce-windows whose window is the whole array, as operations that loops and
** other passes support:
**
**     reduce-window(x, init), reversed      reverse(reduce-window(reverse(x), init))
**     reduce-window(x, init), all of x      reshape(reduce(x, init))
**
** A reversed window takes its elements from the other end, which is a plain window of the reversed array.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/expand/applied.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

/* ---- Reversed ones ---- */

/* Elements after the last window are at the start of the reversed array. */
static WindowDimension turned(const WindowDimension *w, int64_t size, int64_t places) {
  int64_t dilated = size > 0 ? (size - 1) * w->base_dilation + 1 : 0;
  int64_t reached = (places - 1) * w->stride + (w->size - 1) * w->window_dilation + 1;
  WindowDimension out = *w;
  out.window_reversal = false;
  out.padding_low = reached - dilated - w->padding_low;
  out.padding_high = w->padding_low;
  return out;
}

static Instruction *add_reverse(Computation *computation, Instruction *x, Int64List dimensions) {
  Attributes a;
  attributes_init(&a);
  a.dimensions = dimensions;
  return computation_add(computation, HLO_REVERSE, x->shape, &x, 1, &a, NULL);
}

/* Returns the shape with one element per window: that of a result, or of a select-and-scatter's source. */
static const Shape *places_of(const Instruction *x) {
  if (x->opcode == HLO_SELECT_AND_SCATTER) return x->operands[1]->shape;
  return shape_is_tuple(x->shape) ? x->shape->elements[0] : x->shape;
}

/* Returns the windows without reversal, and the dimensions of the array to reverse instead. */
static Window turned_window(const Instruction *x, Int64List *dimensions, int64_t *reversed) {
  const Shape *shape = x->operands[0]->shape, *places = places_of(x);
  const Window *window = &x->a->window;
  WindowDimension *items = ARENA_ARRAY(x->parent->module->arena, WindowDimension, window->count);
  *dimensions = (Int64List){0, reversed};
  for (int d = 0; d < window->count; d++) {
    items[d] = window->items[d];
    if (!items[d].window_reversal) continue;
    items[d] = turned(&window->items[d], shape->dims[d], places->dims[d]);
    reversed[dimensions->count++] = d;
  }
  return (Window){window->count, items};
}

static bool turn(Computation *computation, Instruction *x) {
  Arena *arena = computation->module->arena;
  Int64List dimensions;
  Attributes a = *x->a;
  a.window = turned_window(x, &dimensions, ARENA_ARRAY(arena, int64_t, a.window.count));
  if (!dimensions.count) return false;
  int count = shape_is_tuple(x->shape) ? x->shape->tuple_size : 1;
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, x->operand_count);
  Instruction **results = ARENA_ARRAY(arena, Instruction *, count);
  for (int i = 0; i < x->operand_count; i++) {
    bool is_array = x->operands[i]->shape->rank > 0; /* the others are initial values */
    operands[i] = is_array ? add_reverse(computation, x->operands[i], dimensions) : x->operands[i];
  }
  add_parts(computation,
            computation_add(computation, x->opcode, x->shape, operands, x->operand_count, &a, NULL),
            results);
  for (int i = 0; i < count; i++) results[i] = add_reverse(computation, results[i], dimensions);
  become_parts(x, results, count);
  return true;
}

/* ---- All of the array ---- */

static bool is_whole(const WindowDimension *w, int64_t size, int64_t places) {
  int64_t reached = w->padding_low + (size - 1) * w->base_dilation;
  return places == 1 && w->window_dilation == 1 && !w->window_reversal && w->padding_low >= 0 &&
         reached < w->size;
}

static bool is_nothing(const WindowDimension *w) {
  return w->size == 1 && w->stride == 1 && w->base_dilation == 1 && !w->padding_low &&
         !w->padding_high;
}

/* XLA reduces floats of at most 16 bits in other steps than windows of them. */
static bool is_rounded_alike(const Instruction *x) {
  for (int i = 0; i < x->operand_count / 2; i++) {
    PrimitiveType type = x->operands[i]->shape->type;
    if (type_is_floating(type) && type_bits(type) <= 16) return false;
  }
  return true;
}

/* Lists the dimensions that windows cover wholly; none if they cover part of another dimension. */
static Int64List whole_dimensions(const Instruction *x, int64_t *whole) {
  const Shape *shape = x->operands[0]->shape, *places = places_of(x);
  Int64List found = {0, whole};
  for (int d = 0; d < shape->rank; d++) {
    const WindowDimension *w = &x->a->window.items[d];
    if (is_nothing(w)) continue;
    if (!is_whole(w, shape->dims[d], places->dims[d])) return (Int64List){0, whole};
    whole[found.count++] = d;
  }
  return found;
}

static bool reduce_whole(Computation *computation, Instruction *x) {
  Arena *arena = computation->module->arena;
  const Shape *shape = x->operands[0]->shape;
  Attributes a;
  attributes_init(&a);
  a.to_apply = x->a->to_apply;
  a.dimensions = whole_dimensions(x, ARENA_ARRAY(arena, int64_t, shape->rank));
  if (!a.dimensions.count || shape_elements(shape) == 0 || !is_rounded_alike(x)) return false;
  int64_t kept[MAX_RANK];
  int rank = 0, count = x->operand_count / 2;
  for (int d = 0; d < shape->rank; d++) {
    if (!list_has(a.dimensions, d)) kept[rank++] = shape->dims[d];
  }
  Instruction **results = ARENA_ARRAY(arena, Instruction *, count);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count), *result;
  for (int i = 0; i < count; i++) {
    shapes[i] = shape_make(arena, x->operands[count + i]->shape->type, rank, kept, NULL);
  }
  result = shape_is_tuple(x->shape) ? shape_tuple(arena, count, shapes) : shapes[0];
  add_parts(
      computation,
      computation_add(computation, HLO_REDUCE, result, x->operands, x->operand_count, &a, NULL),
      results);
  become_parts(x, results, count);
  return true;
}

static bool plain_window(Instruction *x, void *data) {
  bool reduces = x->opcode == HLO_REDUCE_WINDOW;
  if (!reduces && x->opcode != HLO_SELECT_AND_SCATTER) return false;
  if (!shape_is_static_array(x->operands[0]->shape) || shape_elements(places_of(x)) == 0 ||
      x->a->control_predecessors.count) {
    return false;
  }
  return (reduces && reduce_whole(x->parent, x)) || turn(x->parent, x);
}

bool pass_plain_windows(Module *module) { return rewrite_each(module, plain_window, NULL); }
