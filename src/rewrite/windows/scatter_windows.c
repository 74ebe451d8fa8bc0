/*
** Splits select-and-scatter with overlapping or padded windows into the two steps of its name:
**
**     place    = 0, 1, 2, ... in the operand's shape
**     (_, at)  = reduce-window((operand, place), by `select`)   in the source's shape
**     result   = scatter(init, at, source, by `scatter`)        in one dimension
**
** Padding has the place -1, which is out of bounds, so the scatter skips it.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"
#include "rewrite/windows/pooling.h"

/* Returns every element's place in the operand, in row-major order. */
static Instruction *add_places(Computation *computation, const Shape *shape) {
  Arena *arena = computation->module->arena;
  int64_t count = shape_elements(shape);
  Instruction *iota = computation_add(computation, HLO_IOTA,
                                      shape_make(arena, S32, 1, &count, NULL), NULL, 0, NULL, NULL);
  return computation_add_reshape(computation, iota, shape->rank, shape->dims);
}

/* Returns the place of the element that each window selects, or NULL. */
static Instruction *add_selection(Computation *computation, const Instruction *x,
                                  PoolingChooser *last) {
  Arena *arena = computation->module->arena;
  bool padded = window_is_padded(&x->a->window);
  const Shape *source = x->operands[1]->shape, *places = shape_with_type(arena, source, S32);
  Instruction *first = computation_add_number(computation, x->shape->type, (Scalar){0});
  Instruction *nowhere = computation_add_number(computation, S32, (Scalar){.i = -1});
  Instruction *operands[] = {x->operands[0], add_places(computation, x->shape), first, nowhere};
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
  const Shape *both = shape_tuple(arena, 2, (const Shape *[]){source, places});
  Instruction *reduce =
      computation_add(computation, HLO_REDUCE_WINDOW, both, operands, 4, &window, NULL);
  return computation_add_element(computation, reduce, 1);
}

static void scatter_source(Computation *computation, Instruction *x, Instruction *places) {
  Arena *arena = computation->module->arena;
  int64_t count = shape_elements(x->shape);
  const Shape *flat = shape_make(arena, x->shape->type, 1, &count, NULL);
  Instruction *init =
      computation_add(computation, HLO_BROADCAST, flat, &x->operands[2], 1, NULL, NULL);
  Instruction *operands[] = {init, places, x->operands[1]};
  static const int64_t zero[] = {0};
  Int64List first = {1, arena_copy(arena, zero, sizeof zero)};
  const Attributes *attributes =
      ATTRIBUTES(.inserted_window_dims = first, .scatter_dims_to_operand_dims = first,
                 .index_vector_dim = places->shape->rank, .to_apply = x->a->scatter);
  Instruction *scatter =
      computation_add(computation, HLO_SCATTER, flat, operands, 3, attributes, NULL);
  instruction_become(x, HLO_RESHAPE, &scatter, 1, NULL);
}

/* Whether it can become loops: a window needs twice the operand's rank. */
static bool is_for_loops(const Instruction *x) {
  const Shape *shape = x->shape;
  enum { MAX_WINDOW_RANK = 5 };
  return x->opcode == HLO_SELECT_AND_SCATTER && shape_is_static_array(shape) &&
         shape->rank <= MAX_WINDOW_RANK && shape_elements(shape) > 0 &&
         shape_elements(shape) <= INT32_MAX && shape_elements(x->operands[1]->shape) > 0;
}

static bool scatter_window(Instruction *x, void *last) {
  Instruction *places = is_for_loops(x) ? add_selection(x->parent, x, last) : NULL;
  if (places) scatter_source(x->parent, x, places);
  return places != NULL;
}

bool pass_scatter_windows(Module *module) {
  PoolingChooser last = {0};
  return rewrite_each(module, scatter_window, &last);
}
