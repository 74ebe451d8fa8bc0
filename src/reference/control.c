/* Evaluates calls, branches, loops, and the operations that only combine values or pass them on. */
#include "reference/eval.h"

/* ---- Structure ---- */

/* Copies at once. The result of a start is (destination, source, context). */
static void copy_start(const Literal *operand, Literal *result) {
  literal_copy_data(operand, result->elements[0]);
  literal_copy_data(operand, result->elements[1]);
}

bool eval_structure(const Instruction *instruction, Literal *const *operands, Literal *result,
                    EvalContext *context) {
  (void)context;
  switch (instruction->opcode) {
  case HLO_TUPLE_OP:
    for (int i = 0; i < instruction->operand_count; i++) {
      literal_copy_data(operands[i], result->elements[i]);
    }
    break;
  case HLO_GET_TUPLE_ELEMENT:
    literal_copy_data(operands[0]->elements[instruction->a->tuple_index], result);
    break;
  case HLO_AFTER_ALL: break; /* a token has no data */
  case HLO_COPY_START: copy_start(operands[0], result); break;
  case HLO_COPY_DONE: literal_copy_data(operands[0]->elements[0], result); break;
  default: literal_copy_data(operands[0], result); break;
  }
  return true;
}

/* ---- Control flow ---- */

static bool call(const Computation *computation, Literal *const *arguments, Literal *result,
                 EvalContext *context) {
  ArenaMark mark = arena_mark(context->arena);
  const Literal *value = eval_computation(computation, arguments, context);
  if (value) literal_copy_data(value, result);
  arena_release(context->arena, mark);
  return value != NULL;
}

const Computation *eval_called(const Instruction *x, Literal *const *operands,
                               Literal *const **arguments, EvalContext *context) {
  *arguments = operands;
  if (x->opcode != HLO_CONDITIONAL) {
    return x->opcode == HLO_FUSION ? x->a->calls : x->a->to_apply;
  }
  bool predicated;
  int count = conditional_branches(x, NULL, &predicated);
  Computation **branches = ARENA_ARRAY(context->arena, Computation *, count);
  conditional_branches(x, branches, &predicated);
  Scalar value = scalar_load(operands[0]->shape->type, operands[0]->data, 0);
  int64_t branch = predicated ? !value.u : value.i;
  if (branch < 0 || branch >= count) branch = count - 1;
  *arguments = &operands[1 + branch];
  return branches[branch];
}

static bool condition_holds(const Computation *condition, Literal *state, bool *holds,
                            EvalContext *context) {
  ArenaMark mark = arena_mark(context->arena);
  const Literal *value = eval_computation(condition, &state, context);
  if (value) *holds = *(const uint8_t *)value->data;
  arena_release(context->arena, mark);
  return value != NULL;
}

/* Evaluates a loop. The state alternates between the result and a second copy, so an iteration's memory can be
** released after it. */
static bool loop(const Instruction *instruction, Literal *const *operands, Literal *result,
                 EvalContext *context) {
  Literal *state = result, *next = evaluation_literal(instruction->shape, context);
  if (!next) return false;
  literal_copy_data(operands[0], state);
  for (;;) {
    bool holds = false;
    if (!condition_holds(instruction->a->condition, state, &holds, context)) return false;
    if (!holds) break;
    if (!call(instruction->a->body, &state, next, context)) return false;
    Literal *swap = state;
    state = next;
    next = swap;
  }
  if (state != result) literal_copy_data(state, result);
  return true;
}

/* Asynchronous operations complete when they start. Their state is ((operands), result, ...). */
static bool async_start(const Instruction *instruction, Literal *const *operands, Literal *result,
                        EvalContext *context) {
  for (int i = 0; i < instruction->operand_count; i++) {
    literal_copy_data(operands[i], result->elements[0]->elements[i]);
  }
  return call(instruction->a->calls, operands, result->elements[1], context);
}

bool eval_control(const Instruction *instruction, Literal *const *operands, Literal *result,
                  EvalContext *context) {
  switch (instruction->opcode) {
  case HLO_CALL:
  case HLO_FUSION:
  case HLO_CONDITIONAL: {
    const Computation *called = eval_called(instruction, operands, &operands, context);
    return call(called, operands, result, context);
  }
  case HLO_WHILE: return loop(instruction, operands, result, context);
  case HLO_ASYNC_START: return async_start(instruction, operands, result, context);
  case HLO_ASYNC_UPDATE: literal_copy_data(operands[0], result); return true;
  default: literal_copy_data(operands[0]->elements[1], result); return true;
  }
}
