/* Takes tuples apart into their leaves, and puts them together. */
#include "derive/gradient/linear.h"

Instruction *make_element(WorkingComputation *working, Instruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_TUPLE_OP && !facts_of(working, tuple)->transpose)
    return tuple->operands[index];
  return computation_add_element(working->m.computation, tuple, index);
}

Instruction *leaf_array(Instruction *x, int leaf) {
  while (x->opcode == HLO_TUPLE_OP) {
    int k = 0;
    for (; leaf >= shape_leaves(x->operands[k]->shape); k++) {
      leaf -= shape_leaves(x->operands[k]->shape);
    }
    x = x->operands[k];
  }
  return shape_is_array(x->shape) ? x : NULL;
}

Literal *leaf_literal(const Instruction *x, int leaf) {
  const Instruction *array = leaf_array((Instruction *)x, leaf);
  if (!array || !array->literal || array->literal->shape->rank != array->shape->rank) return NULL;
  return array->opcode == HLO_CONSTANT || array->opcode == HLO_PARAMETER ? array->literal : NULL;
}

void make_leaves(WorkingComputation *working, Instruction *x, Instruction **out) {
  if (!shape_is_tuple(x->shape)) {
    *out = x;
    return;
  }
  for (int i = 0; i < x->shape->tuple_size; i++) {
    Instruction *element = make_element(working, x, i);
    make_leaves(working, element, out);
    out += shape_leaves(element->shape);
  }
}
