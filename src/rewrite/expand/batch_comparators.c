/*
** Writes comparators that have no keys (plan/comparator.h) as computations on arrays, in the sort's attribute `calls`:
** kernels/sort/sort_merge.c calls them for many pairs at once.
*/
#include "plan/comparator.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* A copy of a comparator, over arrays of `shape`'s dimensions. */
typedef struct Copying {
  Computation *to;
  const Shape *shape;
  Instruction **copies; /* by id, of the comparator's instructions */
} Copying;

static const Shape *copied_shape(const Copying *c, const Instruction *x) {
  return shape_with_type(c->to->module->arena, c->shape, x->shape->type);
}

static Instruction *copy(const Copying *c, const Instruction *x) {
  if (x->opcode == HLO_PARAMETER) return c->to->parameters[x->parameter_number];
  if (c->copies[x->id]) return c->copies[x->id];
  Instruction *operands[3], *constant;
  if (x->opcode == HLO_CONSTANT) {
    constant = computation_add_constant(c->to, x->literal, NULL);
    return c->copies[x->id] =
               computation_add(c->to, HLO_BROADCAST, copied_shape(c, x), &constant, 1, NULL);
  }
  for (int i = 0; i < x->operand_count; i++) operands[i] = copy(c, x->operands[i]);
  return c->copies[x->id] = computation_add(c->to, x->opcode, copied_shape(c, x), operands,
                                            x->operand_count, x->a);
}

/* Returns false if the comparator stays for the evaluator. */
static bool batch_comparator(Instruction *sort, void *data) {
  const Target *target = data;
  if (sort->opcode != HLO_SORT) return false;
  const Computation *comparator = sort->a->to_apply;
  if (comparator_order(comparator).count > 0 || !comparator_is_elementwise(comparator)) {
    return false;
  }
  Module *module = sort->parent->module;
  int64_t pairs = COMPARATOR_PAIRS;
  const Shape *shape = shape_make(module->arena, PRED, 1, &pairs, NULL);
  Computation *batch = module_add_computation(module, comparator->name);
  Copying c = {batch, shape, ARENA_ARRAY(module->arena, Instruction *, comparator->count)};
  for (int i = 0; i < comparator->parameter_count; i++) {
    computation_add_parameter(batch, i, copied_shape(&c, comparator->parameters[i]), NULL);
  }
  Instruction *root = copy(&c, comparator->root);
  if (!opcode_is_elementwise(comparator->root->opcode)) { /* a loop computes something */
    root = computation_add(batch, HLO_OR, shape, (Instruction *[]){root, root}, 2, NULL);
  }
  for (int i = 0; i < batch->count; i++) {
    const Instruction *x = batch->instructions[i];
    bool is_leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT;
    if (!is_leaf && !can_fuse(target, x)) return false;
  }
  batch->root = root;
  instruction_attributes(sort)->calls = batch;
  return true;
}

bool pass_batch_comparators(Module *module, const Target *target) {
  return rewrite_each(module, batch_comparator, (void *)target);
}
