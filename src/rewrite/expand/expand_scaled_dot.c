/*
** Writes scaled-dot as a dot of the scaled operands:
**
**     scaled = convert(operand) * repeated(convert(scale))      each scale throughout its block
**     result = convert(dot(scaled lhs, scaled rhs))
**
** As in XLA's evaluator, operands and scales are first rounded to the type of the result, and
** products and sums of narrow floats are computed in f32.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

typedef struct Expansion {
  Instruction *x; /* the scaled-dot */
  Arena *arena;
  PrimitiveType type, product_type; /* of the result; of products and sums */
} Expansion;

/* Rounds an operand or a scale to the type of the result, and converts it to that of products. */
static Instruction *rounded(const Expansion *e, Instruction *x) {
  x = computation_add_convert(e->x->parent, x, e->type);
  return computation_add_convert(e->x->parent, x, e->product_type);
}

/* Repeats each element along dimension `d` `times` times: [outer, n, inner] to [outer, n, times, inner]. */
static Instruction *add_repeat(const Expansion *e, Instruction *x, int d, int64_t times) {
  static const int64_t places[] = {0, 1,
                                   3}; /* of the dimensions apart, in those with the repeats */
  int rank = x->shape->rank;
  PrimitiveType type = x->shape->type;
  int64_t *dims = arena_copy(e->arena, x->shape->dims, sizeof *dims * (size_t)rank);
  int64_t outer = 1, inner = 1, n = dims[d];
  for (int i = 0; i < d; i++) outer *= dims[i];
  for (int i = d + 1; i < rank; i++) inner *= dims[i];
  dims[d] *= times;
  const int64_t apart[] = {outer, n, inner}, repeated[] = {outer, n, times, inner};
  const Attributes *attributes = ATTRIBUTES(.dimensions = {3, places});
  x = computation_add(e->x->parent, HLO_RESHAPE, shape_make(e->arena, type, 3, apart, NULL), &x, 1,
                      NULL);
  x = computation_add(e->x->parent, HLO_BROADCAST, shape_make(e->arena, type, 4, repeated, NULL),
                      &x, 1, attributes);
  return computation_add(e->x->parent, HLO_RESHAPE, shape_make(e->arena, type, rank, dims, NULL),
                         &x, 1, NULL);
}

/* Adds the scaled operand of a side: 0 for the lhs, 1 for the rhs. */
static Instruction *add_scaled(const Expansion *e, int side) {
  Instruction *operand = e->x->operands[side], *scale = e->x->operands[2 + side];
  operand = rounded(e, operand);
  scale = rounded(e, scale);
  for (int d = 0; d < operand->shape->rank; d++) {
    int64_t blocks = scale->shape->dims[d], size = operand->shape->dims[d];
    if (blocks != size) scale = add_repeat(e, scale, d, size / blocks);
  }
  return computation_add(e->x->parent, HLO_MULTIPLY, operand->shape,
                         (Instruction *[]){operand, scale}, 2, NULL);
}

static bool expand(Instruction *x, void *data) {
  if (x->opcode != HLO_SCALED_DOT) return false;
  PrimitiveType type = x->shape->type;
  Expansion e = {x, x->parent->module->arena, type, type_of_products(type)};
  Attributes attributes = *x->a;
  Instruction *operands[] = {add_scaled(&e, 0), add_scaled(&e, 1)};
  if (e.product_type == e.type) {
    instruction_become(x, HLO_DOT, operands, 2, &attributes);
    return true;
  }
  attributes.control_predecessors = (InstructionList){0};
  const Shape *shape = shape_with_type(e.arena, x->shape, e.product_type);
  Instruction *dot = computation_add(e.x->parent, HLO_DOT, shape, operands, 2, &attributes);
  instruction_become(x, HLO_CONVERT, &dot, 1, NULL);
  return true;
}

bool pass_expand_scaled_dots(Module *module) { return rewrite_each(module, expand, NULL); }
