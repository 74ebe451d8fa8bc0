#include "plan/counted_loop.h"

#include "value/scalar.h"

/* Returns which element of the loop's state `x` is; -1 if it is none. */
static int64_t state_element(const Instruction *x) {
  bool is_element = x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0]->opcode == HLO_PARAMETER;
  return is_element ? x->a->tuple_index : -1;
}

static bool is_scalar_constant(const Instruction *x) {
  return x->opcode == HLO_CONSTANT && shape_is_scalar(x->shape) && type_is_integral(x->shape->type);
}

static Scalar value_of(const Instruction *constant) {
  return scalar_load(constant->shape->type, constant->literal->data, 0);
}

/* Returns the step of `i + step` or `step + i`, where i is state element `element`; NULL if `next` has another form. */
static const Instruction *step_of(const Instruction *next, int64_t element) {
  if (next->opcode != HLO_ADD) return NULL;
  for (int k = 0; k < 2; k++) {
    const Instruction *step = next->operands[1 - k];
    if (state_element(next->operands[k]) == element && is_scalar_constant(step)) return step;
  }
  return NULL;
}

bool counted_loop_find(const Instruction *loop, CountedLoop *out) {
  const Instruction *test = loop->a->condition->root, *next = loop->a->body->root;
  const Instruction *init = loop->operands[0];
  if (test->opcode != HLO_COMPARE || test->a->direction != COMPARE_LT ||
      init->opcode != HLO_TUPLE_OP || next->opcode != HLO_TUPLE_OP) {
    return false;
  }
  int64_t element = state_element(test->operands[0]);
  if (element < 0 || !is_scalar_constant(test->operands[1]) ||
      !is_scalar_constant(init->operands[element])) {
    return false;
  }
  const Instruction *step = step_of(next->operands[element], element);
  PrimitiveType type = init->operands[element]->shape->type;
  if (!step || type_kind(type) != KIND_SIGNED) return false;
  int64_t first = value_of(init->operands[element]).i, end = value_of(test->operands[1]).i;
  int64_t by = value_of(step).i;
  if (by < 1 || end > scalar_highest(type).i - by || first < INT32_MIN)
    return false; /* the counter might wrap */
  *out = (CountedLoop){element, first, by, end <= first ? 0 : (end - first - 1) / by + 1};
  return true;
}
