/*
** Expands select-and-scatter, the gradient of pooling, into operations that fuse, if its windows do not
** overlap: then every element is in at most one window. A dimension of o windows of k elements becomes two,
** [o, k]; for windows in one dimension:
**
**     x'       = reshape(operand)                    [o, k]
**     place    = iota along the window               [o, k]
**     (_, at)  = reduce(x', place, by `select`)      [o]
**     result   = select(place == at, `scatter`(init, source), init)
**
** Elements outside all windows are sliced off before, and padded with the initial value afterwards.
*/
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"
#include "rewrite/windows/pooling.h"

enum { MAX_SPLIT_RANK = 10 }; /* max rank of a loop */

/* The shapes of the expansion. */
typedef struct Pooling {
  Computation *computation;
  Instruction *x; /* the select-and-scatter */
  Arena *arena;
  int rank; /* of the split shape */
  int64_t dims[MAX_SPLIT_RANK];
  int64_t outer[MAX_RANK]; /* the dimensions that number the windows */
  int window_rank;
  int64_t inner[MAX_RANK],
      inner_dims[MAX_RANK]; /* the dimensions within the windows, and their sizes */
  int64_t window_size;
  int64_t covered[MAX_RANK]; /* elements of each dimension that the windows cover */
} Pooling;

/* The last expansion's instructions, which the next one reuses if they fit. Measured: a third of all. */
typedef struct Common {
  Pooling of;
  PrimitiveType type;
  Instruction *init_operand, *places, *init, *first, *nowhere;
  PoolingChooser chooser;
} Common;

/* Whether windows are side by side from the first element on. */
static bool plan_pooling(Pooling *p, Instruction *x) {
  const Shape *operand = x->operands[0]->shape, *source = x->operands[1]->shape;
  *p = (Pooling){.computation = x->parent, .x = x, .arena = x->parent->module->arena};
  p->window_size = 1;
  for (int i = 0; i < operand->rank; i++) {
    const WindowDimension *w = &x->a->window.items[i];
    if (w->size != w->stride || w->padding_low || w->padding_high > 0 || w->base_dilation != 1 ||
        w->window_dilation != 1 || w->window_reversal || source->dims[i] == 0 ||
        p->rank + 2 > MAX_SPLIT_RANK) {
      return false;
    }
    p->covered[i] = source->dims[i] * w->size;
    p->outer[i] = p->rank;
    p->dims[p->rank++] = source->dims[i];
    if (w->size == 1) continue;
    p->inner_dims[p->window_rank] = w->size;
    p->inner[p->window_rank++] = p->rank;
    p->dims[p->rank++] = w->size;
    p->window_size *= w->size;
  }
  return p->window_rank > 0;
}

static const Shape *split_shape(const Pooling *p, PrimitiveType type) {
  return shape_make(p->arena, type, p->rank, p->dims, NULL);
}

static Instruction *add(const Pooling *p, Opcode opcode, const Shape *shape,
                        Instruction *const *operands, int count, const Attributes *attributes) {
  return computation_add(p->computation, opcode, shape, operands, count, attributes, NULL);
}

/* Broadcasts to the split shape: dimension i of the operand becomes dimensions[i]. */
static Instruction *add_broadcast(const Pooling *p, Instruction *x, const int64_t *dimensions) {
  Attributes attributes;
  attributes_init(&attributes);
  size_t bytes = sizeof *dimensions * (size_t)x->shape->rank;
  attributes.dimensions = (Int64List){x->shape->rank, arena_copy(p->arena, dimensions, bytes)};
  return add(p, HLO_BROADCAST, split_shape(p, x->shape->type), &x, 1, &attributes);
}

/* Returns the operand in the split shape. */
static Instruction *add_split(const Pooling *p) {
  Instruction *operand = p->x->operands[0];
  int rank = operand->shape->rank;
  const Shape *covered = shape_make(p->arena, operand->shape->type, rank, p->covered, NULL);
  if (!shape_same_dims(covered, operand->shape)) {
    Attributes attributes;
    attributes_init(&attributes);
    SliceDimension *slices = ARENA_ARRAY(p->arena, SliceDimension, rank);
    for (int i = 0; i < rank; i++) slices[i] = (SliceDimension){0, p->covered[i], 1};
    attributes.slice = (SliceConfig){rank, slices};
    operand = add(p, HLO_SLICE, covered, &operand, 1, &attributes);
  }
  return computation_add_reshape(p->computation, operand, p->rank, p->dims);
}

/* Returns each element's place within its window, in row-major order. */
static Instruction *add_places(const Pooling *p) {
  const Shape *flat = shape_make(p->arena, S32, 1, &p->window_size, NULL);
  const Shape *window = shape_make(p->arena, S32, p->window_rank, p->inner_dims, NULL);
  Instruction *iota = add(p, HLO_IOTA, flat, NULL, 0, NULL);
  return add_broadcast(p, add(p, HLO_RESHAPE, window, &iota, 1, NULL), p->inner);
}

/* All of it, unless it is there. */
static void add_common(const Pooling *p, Common *common) {
  Instruction *init = p->x->operands[2];
  const Pooling *of = &common->of;
  PrimitiveType type = p->x->shape->type;
  bool same = of->computation == p->computation && common->init_operand == init &&
              common->type == type && of->rank == p->rank && of->window_rank == p->window_rank &&
              !memcmp(of->dims, p->dims, sizeof p->dims) &&
              !memcmp(of->inner, p->inner, sizeof p->inner);
  if (same) return;
  common->of = *p;
  common->type = type;
  common->init_operand = init;
  common->places = add_places(p);
  common->init = add_broadcast(p, init, NULL);
  common->first = computation_add_number(p->computation, type, (Scalar){0});
  common->nowhere = computation_add_number(p->computation, S32, (Scalar){.i = -1});
}

/* Whether a place has an element: it is not negative. */
static Instruction *add_is_place(Computation *c, Instruction *place) {
  const Attributes *compare = ATTRIBUTES(.direction = COMPARE_GE);
  Instruction *operands[] = {place, computation_add_number(c, place->shape->type, (Scalar){0})};
  return computation_add(c, HLO_COMPARE, shape_scalar(PRED), operands, 2, compare, NULL);
}

Computation *pooling_chooser(const Instruction *x, bool padded, PoolingChooser *last) {
  PrimitiveType type = x->shape->type;
  const Computation *select = x->a->select;
  if (last->select == select && last->type == type && last->padded == padded) return last->made;
  Computation *c = module_add_computation(x->parent->module, "select_with_place");
  *last = (PoolingChooser){c, select, type, padded};
  const Shape *value = shape_scalar(type), *place = shape_scalar(S32), *pred = shape_scalar(PRED);
  Instruction *best = computation_add_parameter(c, 0, value, "best");
  Instruction *at = computation_add_parameter(c, 1, place, "at");
  Instruction *candidate = computation_add_parameter(c, 2, value, "candidate");
  Instruction *there = computation_add_parameter(c, 3, place, "there");
  Instruction *better = computation_add(c, HLO_CALL, pred, (Instruction *[]){best, candidate}, 2,
                                        ATTRIBUTES(.to_apply = x->a->select), NULL);
  Instruction *keep = computation_add(
      c, HLO_AND, pred, (Instruction *[]){better, add_is_place(c, at)}, 2, NULL, NULL);
  if (padded) {
    Instruction *none =
        computation_add(c, HLO_NOT, pred, (Instruction *[]){add_is_place(c, there)}, 1, NULL, NULL);
    keep = computation_add(c, HLO_OR, pred, (Instruction *[]){keep, none}, 2, NULL, NULL);
  }
  Instruction *results[] = {
      computation_add(c, HLO_SELECT, value, (Instruction *[]){keep, best, candidate}, 3, NULL,
                      NULL),
      computation_add(c, HLO_SELECT, place, (Instruction *[]){keep, at, there}, 3, NULL, NULL),
  };
  computation_add_tuple(c, results, 2);
  return c;
}

/* Returns the place of the selected element of each window. */
static Instruction *add_selection(const Pooling *p, Instruction *split, Common *common) {
  const Shape *source = p->x->operands[1]->shape;
  const Attributes *attributes =
      ATTRIBUTES(.dimensions = {p->window_rank,
                                arena_copy(p->arena, p->inner,
                                           sizeof(int64_t) * (size_t)p->window_rank)},
                 .to_apply = pooling_chooser(p->x, false, &common->chooser));
  const Shape *indices = shape_with_type(p->arena, source, S32);
  const Shape *both = shape_tuple(p->arena, 2, (const Shape *[]){source, indices});
  Instruction *operands[] = {split, common->places, common->first, common->nowhere};
  Instruction *reduce = add(p, HLO_REDUCE, both, operands, 4, attributes);
  return computation_add_element(p->computation, reduce, 1);
}

/* Returns the source's element at selected places, and the initial value elsewhere. */
static Instruction *add_spread(const Pooling *p, const Common *common, Instruction *selected) {
  Instruction *init = common->init;
  Instruction *source = add_broadcast(p, p->x->operands[1], p->outer);
  Instruction *at = add_broadcast(p, selected, p->outer);
  int64_t *all = ARENA_ARRAY(p->arena, int64_t, p->rank);
  for (int i = 0; i < p->rank; i++) all[i] = i;
  Instruction *here =
      add(p, HLO_COMPARE, split_shape(p, PRED), (Instruction *[]){common->places, at}, 2,
          ATTRIBUTES(.direction = COMPARE_EQ));
  Instruction *updated =
      add(p, HLO_MAP, init->shape, (Instruction *[]){init, source}, 2,
          ATTRIBUTES(.to_apply = p->x->a->scatter, .dimensions = {p->rank, all}));
  return add(p, HLO_SELECT, init->shape, (Instruction *[]){here, updated, init}, 3, NULL);
}

/* The select-and-scatter itself becomes the last step. */
static void finish(const Pooling *p, Instruction *spread) {
  const Shape *shape = p->x->shape;
  const Shape *covered = shape_make(p->arena, shape->type, shape->rank, p->covered, NULL);
  if (shape_same_dims(covered, shape)) {
    instruction_become(p->x, HLO_RESHAPE, &spread, 1, NULL);
    return;
  }
  PaddingDimension *padding = ARENA_ARRAY(p->arena, PaddingDimension, shape->rank);
  for (int i = 0; i < shape->rank; i++) padding[i].high = shape->dims[i] - p->covered[i];
  Instruction *operands[] = {
      computation_add_reshape(p->computation, spread, covered->rank, covered->dims),
      p->x->operands[2]};
  instruction_become(p->x, HLO_PAD, operands, 2, ATTRIBUTES(.padding = {shape->rank, padding}));
}

static bool expand(Instruction *x, void *common) {
  Pooling pooling;
  if (x->opcode != HLO_SELECT_AND_SCATTER || !plan_pooling(&pooling, x)) return false;
  add_common(&pooling, common);
  Instruction *selected = add_selection(&pooling, add_split(&pooling), common);
  finish(&pooling, add_spread(&pooling, common, selected));
  return true;
}

bool pass_expand_pooling(Module *module) {
  Common common = {0};
  return rewrite_each(module, expand, &common);
}
