/*
** Splits select-and-scatter, the gradient of pooling, into the two steps of its name:
**
**     position    = 0, 1, 2, ... in the operand's shape
**     (_, at)  = reduce-window((operand, position), by `select`)   in the source's shape
**     result   = scatter(init, at, source, by `scatter`)        in one dimension
**
** Padding has the position -1, which is out of bounds, so the scatter skips it.
**
** If windows lie side by side, an element is in one window, and both steps are loops, which fuse. A dimension of o
** windows of k elements is two, [o, k]; for windows in one dimension:
**
**     position    = 0, 1, 2, ... in each window                      [k]
**     (_, at)  = reduce((operand, position), along k, by `select`)   [o]
**     result   = select(position == at, `scatter`(init, source), init)   [o, k]
**
** Elements after the last window get the initial value.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/windows/pad_windows.h"

/* Threshold MAX_LOOP_RANK. Test: "windows of several ranks" in core/thresholds_programs.test.mjs. */
enum { MAX_LOOP_RANK = 10 };

/* A computation that reduces select-and-scatter's elements with their positions:
** (best, its position, candidate, its position) -> the selected one with its position. Position -1 means no element; if
** `padded`, the candidate may have it too. The pass's last computation, all zero at first, is reused if it is
** the same. */
typedef struct PoolingChooser {
  Computation *made;
  const Computation *select;
  PrimitiveType type;
  bool padded;
} PoolingChooser;

/* Whether a position has an element: it is not negative. */
static Instruction *add_is_position(Computation *c, Instruction *position) {
  const Attributes *compare = ATTRIBUTES(.direction = COMPARE_GE);
  Instruction *operands[] = {position,
                             computation_add_number(c, position->shape->type, (Scalar){0})};
  return computation_add(c, HLO_COMPARE, shape_scalar(PRED), operands, 2, compare);
}

static Computation *pooling_chooser(const Instruction *x, bool padded, PoolingChooser *last) {
  PrimitiveType type = x->shape->type;
  const Computation *select = x->a->select;
  if (last->select == select && last->type == type && last->padded == padded) return last->made;
  Computation *c = module_add_computation(x->parent->module, "select_with_position");
  *last = (PoolingChooser){c, select, type, padded};
  const Shape *value = shape_scalar(type), *position = shape_scalar(S32),
              *pred = shape_scalar(PRED);
  Instruction *best = computation_add_parameter(c, 0, value, "best");
  Instruction *at = computation_add_parameter(c, 1, position, "at");
  Instruction *candidate = computation_add_parameter(c, 2, value, "candidate");
  Instruction *there = computation_add_parameter(c, 3, position, "there");
  Instruction *better = computation_add(c, HLO_CALL, pred, (Instruction *[]){best, candidate}, 2,
                                        ATTRIBUTES(.to_apply = x->a->select));
  Instruction *keep =
      computation_add(c, HLO_AND, pred, (Instruction *[]){better, add_is_position(c, at)}, 2, NULL);
  if (padded) {
    Instruction *none =
        computation_add(c, HLO_NOT, pred, (Instruction *[]){add_is_position(c, there)}, 1, NULL);
    keep = computation_add(c, HLO_OR, pred, (Instruction *[]){keep, none}, 2, NULL);
  }
  Instruction *results[] = {
      computation_add(c, HLO_SELECT, value, (Instruction *[]){keep, best, candidate}, 3, NULL),
      computation_add(c, HLO_SELECT, position, (Instruction *[]){keep, at, there}, 3, NULL),
  };
  computation_add_tuple(c, results, 2);
  return c;
}

/* Returns the position of each element of an array, in row-major order. */
static Instruction *add_all_positions(Computation *computation, const Shape *shape) {
  Arena *arena = computation->module->arena;
  int64_t count = shape_elements(shape);
  Instruction *iota = computation_add(computation, HLO_IOTA,
                                      shape_make(arena, S32, 1, &count, NULL), NULL, 0, NULL);
  return computation_add_reshape(computation, iota, shape->rank, shape->dims);
}

/* Sets `values` to the initial values of a reduction by pooling_chooser: any element, and the position of none. */
static void add_no_element(Computation *computation, const Instruction *x, Instruction **values) {
  values[0] = computation_add_number(computation, x->shape->type, (Scalar){0});
  values[1] = computation_add_integer(computation, S32, -1);
}

/* Returns the shape of such a reduction's result. */
static const Shape *with_positions(Arena *arena, const Shape *elements) {
  return shape_tuple(arena, 2, (const Shape *[]){elements, shape_with_type(arena, elements, S32)});
}

/* Returns the position of the element that each window selects, or NULL. */
static Instruction *add_selection(Computation *computation, const Instruction *x,
                                  PoolingChooser *last) {
  Arena *arena = computation->module->arena;
  bool padded = window_is_padded(&x->a->window);
  Instruction *operands[4] = {x->operands[0], add_all_positions(computation, x->shape)};
  add_no_element(computation, x, operands + 2);
  Attributes window;
  attributes_init(&window);
  window.window = x->a->window;
  window.to_apply = pooling_chooser(x, padded, last);
  if (padded) {
    PaddingConfig padding;
    window.window = window_unpadded(arena, &x->a->window, &padding);
    for (int i = 0; i < 2; i++) {
      operands[i] = add_padded(computation, operands[i], operands[2 + i], padding);
      if (!operands[i]) return NULL;
    }
  }
  Instruction *reduce =
      computation_add(computation, HLO_REDUCE_WINDOW, with_positions(arena, x->operands[1]->shape),
                      operands, 4, &window);
  return computation_add_element(computation, reduce, 1);
}

static void scatter_source(Computation *computation, Instruction *x, Instruction *positions) {
  Arena *arena = computation->module->arena;
  int64_t count = shape_elements(x->shape);
  const Shape *flat = shape_make(arena, x->shape->type, 1, &count, NULL);
  Instruction *init = computation_add(computation, HLO_BROADCAST, flat, &x->operands[2], 1, NULL);
  Instruction *operands[] = {init, positions, x->operands[1]};
  static const int64_t zero[] = {0};
  Int64List first = {1, arena_copy(arena, zero, sizeof zero)};
  const Attributes *attributes =
      ATTRIBUTES(.inserted_window_dims = first, .scatter_dims_to_operand_dims = first,
                 .index_vector_dim = positions->shape->rank, .to_apply = x->a->scatter);
  Instruction *scatter = computation_add(computation, HLO_SCATTER, flat, operands, 3, attributes);
  instruction_become(x, HLO_RESHAPE, &scatter, 1, NULL);
}

/* --- Windows side by side --------------------------------------------------------------------- */

/* The shape in which each dimension is two: the windows, and the elements of a window. */
typedef struct Split {
  Computation *computation;
  Arena *arena;
  const Instruction *x; /* the select-and-scatter */
  int rank;
  int64_t dims[MAX_LOOP_RANK];
  Int64List windows, elements; /* the dimensions that number the windows, and those of elements */
  int64_t covered[MAX_LOOP_RANK]; /* elements of each dimension that the windows cover */
} Split;

/* Returns false if windows overlap, have gaps or padding, or if the shape has too many dimensions. */
static bool split_init(Split *s, const Instruction *x) {
  const Window *window = &x->a->window;
  Arena *arena = x->parent->module->arena;
  *s = (Split){.computation = x->parent, .arena = arena, .x = x};
  if (window_is_padded(window)) return false;
  int64_t *windows = ARENA_ARRAY(arena, int64_t, window->count);
  int64_t *elements = ARENA_ARRAY(arena, int64_t, window->count);
  s->windows.items = windows, s->elements.items = elements;
  for (int i = 0; i < window->count; i++) {
    const WindowDimension *w = &window->items[i];
    int64_t count = x->operands[1]->shape->dims[i];
    bool fits = w->size == w->stride && w->window_dilation == 1 && !w->window_reversal;
    if (!fits || s->rank + 2 > MAX_LOOP_RANK) return false;
    s->covered[i] = count * w->size;
    windows[s->windows.count++] = s->rank;
    s->dims[s->rank++] = count;
    if (w->size == 1) continue;
    elements[s->elements.count++] = s->rank;
    s->dims[s->rank++] = w->size;
  }
  return s->elements.count > 0;
}

static Instruction *add_split(const Split *s, Opcode opcode, PrimitiveType type,
                              Instruction *const *operands, int count,
                              const Attributes *attributes) {
  const Shape *shape = shape_make(s->arena, type, s->rank, s->dims, NULL);
  return computation_add(s->computation, opcode, shape, operands, count, attributes);
}

/* Returns the operand's elements that windows cover, in the split shape. */
static Instruction *add_covered(const Split *s) {
  Instruction *x = s->x->operands[0];
  for (int i = 0; i < x->shape->rank; i++) {
    if (s->covered[i] == x->shape->dims[i]) continue;
    x = computation_add_range(s->computation, x, i, 0, s->covered[i]);
  }
  return computation_add_reshape(s->computation, x, s->rank, s->dims);
}

/* Broadcasts to the split shape: dimension i of x becomes dimensions[i]. */
static Instruction *add_broadcast(const Split *s, Instruction *x, Int64List dimensions) {
  return add_split(s, HLO_BROADCAST, x->shape->type, &x, 1,
                   ATTRIBUTES(.dimensions = {x->shape->rank, dimensions.items}));
}

/* Returns each element's position in its window. */
static Instruction *add_positions(const Split *s) {
  int64_t dims[MAX_LOOP_RANK];
  for (int i = 0; i < s->elements.count; i++) dims[i] = s->dims[s->elements.items[i]];
  const Shape *window = shape_make(s->arena, S32, s->elements.count, dims, NULL);
  return add_broadcast(s, add_all_positions(s->computation, window), s->elements);
}

/* Returns the source's elements at the selected positions, and the initial value elsewhere, in the split shape. */
static Instruction *add_spread(const Split *s, PoolingChooser *last) {
  const Instruction *x = s->x;
  Instruction *positions = add_positions(s);
  const Shape *source = x->operands[1]->shape;
  Instruction *operands[4] = {add_covered(s), positions};
  add_no_element(s->computation, x, operands + 2);
  const Attributes *reduction =
      ATTRIBUTES(.dimensions = s->elements, .to_apply = pooling_chooser(x, false, last));
  Instruction *reduce = computation_add(s->computation, HLO_REDUCE,
                                        with_positions(s->arena, source), operands, 4, reduction);
  Instruction *at =
      add_broadcast(s, computation_add_element(s->computation, reduce, 1), s->windows);
  Instruction *here = add_split(s, HLO_COMPARE, PRED, (Instruction *[]){positions, at}, 2,
                                ATTRIBUTES(.direction = COMPARE_EQ));
  Instruction *init = add_broadcast(s, x->operands[2], s->windows);
  int64_t *all = ARENA_ARRAY(s->arena, int64_t, s->rank);
  for (int i = 0; i < s->rank; i++) all[i] = i;
  Instruction *updated =
      add_split(s, HLO_MAP, source->type,
                (Instruction *[]){init, add_broadcast(s, x->operands[1], s->windows)}, 2,
                ATTRIBUTES(.to_apply = x->a->scatter, .dimensions = {s->rank, all}));
  return add_split(s, HLO_SELECT, source->type, (Instruction *[]){here, updated, init}, 3, NULL);
}

static void spread_source(const Split *s, Instruction *x, PoolingChooser *last) {
  int rank = x->shape->rank;
  Instruction *spread = add_spread(s, last);
  PaddingDimension *padding = ARENA_ARRAY(s->arena, PaddingDimension, rank);
  for (int i = 0; i < rank; i++) padding[i].high = x->shape->dims[i] - s->covered[i];
  Instruction *operands[] = {computation_add_reshape(s->computation, spread, rank, s->covered),
                             x->operands[2]};
  instruction_become(x, HLO_PAD, operands, 2, ATTRIBUTES(.padding = {rank, padding}));
}

static bool scatter_window(Instruction *x, void *last) {
  const Shape *shape = x->shape;
  if (x->opcode != HLO_SELECT_AND_SCATTER || shape_elements(shape) == 0 ||
      shape_elements(shape) > INT32_MAX || shape_elements(x->operands[1]->shape) == 0) {
    return false;
  }
  Split split;
  if (split_init(&split, x)) {
    spread_source(&split, x, last);
    return true;
  }
  if (2 * shape->rank > MAX_LOOP_RANK) return false; /* the loop of reduce-window */
  Instruction *positions = add_selection(x->parent, x, last);
  if (positions) scatter_source(x->parent, x, positions);
  return positions != NULL;
}

bool pass_scatter_windows(Module *module) {
  PoolingChooser last = {0};
  return rewrite_each(module, scatter_window, &last);
}
