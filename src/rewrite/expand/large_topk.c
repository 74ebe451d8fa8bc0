/*
** Writes topk of a large k as a stable sort of the selected elements (kernels/sort/select.c):
**
**     topk(x, k)   =   sort(the k first of x and their positions, in order of position)
**
** For a small k, kernels/sort/inner/topk.c keeps a list of the best elements so far.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold ALWAYS, MIN_K, PART. Test: "largest ones of a line: around short lists, large lists
  ** and ranges" in core/thresholds.test.mjs. */
  ALWAYS = 1024, /* a k from this on is large; */
  MIN_K = 64,    /* from this on, a k is large if it is a large part of the line: */
  PART = 64,
};

static bool is_large(const Instruction *x) {
  if (x->opcode != HLO_TOPK || x->a->control_predecessors.count) return false;
  const Shape *shape = x->operands[0]->shape;
  int64_t k = x->a->k, size = shape->dims[shape->rank - 1];
  return x->shape->elements[1]->type == S32 && shape_elements(shape) > 0 && k >= MIN_K &&
         (k >= ALWAYS || k * PART >= size);
}

/* Makes compare(a, b) of the first operand, in the total order. */
static Computation *make_comparator(const Instruction *x) {
  PrimitiveType type = x->operands[0]->shape->type;
  Computation *c = module_add_computation(x->parent->module, "topk_order");
  Instruction *parameters[4];
  for (int i = 0; i < 4; i++) {
    parameters[i] = computation_add_parameter(c, i, shape_scalar(i < 2 ? type : S32), NULL);
  }
  const Attributes *a = ATTRIBUTES(.direction = x->a->largest ? COMPARE_GT : COMPARE_LT,
                                   .compare_type = type_is_floating(type) ? COMPARISON_TOTALORDER
                                                                          : COMPARISON_DEFAULT);
  computation_add(c, HLO_COMPARE, shape_scalar(PRED), parameters, 2, a);
  return c;
}

static bool expand(Instruction *x, void *data) {
  if (!is_large(x)) return false;
  int64_t last = x->operands[0]->shape->rank - 1;
  Arena *arena = x->parent->module->arena;
  Instruction *parts[2];
  Attributes a = *x->a;
  a.is_stable = true; /* for the kernel */
  Instruction *chosen = computation_add(x->parent, HLO_TOPK, x->shape, x->operands, 1, &a);
  for (int i = 0; i < 2; i++) parts[i] = computation_add_element(x->parent, chosen, i);
  const Attributes *order = ATTRIBUTES(.dimensions = {1, arena_copy(arena, &last, sizeof last)},
                                       .is_stable = true, .to_apply = make_comparator(x));
  Instruction *sorted = computation_add(x->parent, HLO_SORT, x->shape, parts, 2, order);
  for (int i = 0; i < 2; i++) parts[i] = computation_add_element(x->parent, sorted, i);
  instruction_become(x, HLO_TUPLE_OP, parts, 2, NULL);
  return true;
}

bool pass_large_topk(Module *module) { return rewrite_each(module, expand, NULL); }
