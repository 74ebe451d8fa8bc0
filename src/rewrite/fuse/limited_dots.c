/* Makes limited products: see limit_products.h. */
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/fuse/limit_products.h"

Instruction *list_of_limits(Instruction *const *numbers, int count) {
  enum { MAX_COUNT = 4 };
  Computation *c = numbers[0]->parent;
  Arena *arena = c->module->arena;
  int64_t one = 1, size = count;
  Instruction *parts[MAX_COUNT];
  for (int i = 0; i < count; i++) parts[i] = computation_add_reshape(c, numbers[i], 1, &one);
  const Attributes *a =
      ATTRIBUTES(.dimensions = {1, arena_copy(arena, &(int64_t){0}, sizeof(int64_t))});
  return computation_add(c, HLO_CONCATENATE, shape_make(arena, S64, 1, &size, NULL), parts, count,
                         a);
}

void limit_product(Instruction *dot, Instruction *n, Place place, int hides_below) {
  Module *module = dot->parent->module;
  Computation *fused =
      module_add_computation(module, arena_printf(module->arena, "limited_%s", dot->name));
  Instruction *operands[] = {dot->operands[0], dot->operands[1], n}, *parameters[3];
  for (int i = 0; i < 3; i++) {
    parameters[i] = computation_add_parameter(fused, i, operands[i]->shape, NULL);
  }
  instruction_attributes(parameters[2])->derived.is_limit = true;
  fused->root = computation_add(fused, HLO_DOT, dot->shape, parameters, 2, dot->a);
  instruction_become(dot, HLO_FUSION, operands, 3,
                     ATTRIBUTES(.calls = fused, .fusion_kind = FUSION_OUTPUT,
                                .derived = {.used_dimension = place.column + 1,
                                            .used_diagonal = place.row + 1,
                                            .hides_below = hides_below}));
}
