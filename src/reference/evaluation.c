#include "reference/evaluation.h"

Literal *evaluation_literal(const Shape *shape, EvalContext *context) {
  Literal *literal = literal_view(context->arena, shape, NULL);
  if (shape_is_array(shape)) {
    int64_t bytes = shape_bytes(shape);
    literal->data = arena_try_alloc(context->arena, (uint64_t)bytes);
    if (!literal->data) {
      error_set(context->error, STATUS_RESOURCE_EXHAUSTED,
                "out of memory: a value of shape %s needs %lld bytes",
                shape_str(context->arena, shape), (long long)bytes);
      return NULL;
    }
  }
  for (int i = 0; i < shape->tuple_size; i++) {
    literal->elements[i] = evaluation_literal(shape->elements[i], context);
    if (!literal->elements[i]) return NULL;
  }
  return literal;
}

void evaluation_part(EvalContext *context, int64_t count, int64_t part[2]) {
  part[0] = context->part ? context->part[0] : 0;
  part[1] = context->part ? context->part[1] : count;
  context->part = NULL;
}

Literal *evaluation_passed_on(const Instruction *instruction, Literal *const *operands,
                              Literal *const *arguments, EvalContext *context) {
  switch (instruction->opcode) {
  case HLO_PARAMETER: return arguments[instruction->parameter_number];
  case HLO_CONSTANT: return instruction->literal;
  case HLO_GET_TUPLE_ELEMENT: return operands[0]->elements[instruction->a->tuple_index];
  case HLO_OPTIMIZATION_BARRIER:
  case HLO_ADD_DEPENDENCY:
  case HLO_DOMAIN: return operands[0];
  case HLO_TUPLE_OP: {
    Literal *tuple = literal_view(context->arena, instruction->shape, NULL);
    for (int i = 0; i < instruction->operand_count; i++) tuple->elements[i] = operands[i];
    return tuple;
  }
  default: return NULL;
  }
}

bool evaluation_enter(const Computation *computation, EvalContext *context) {
  if (context->depth < MAX_EVALUATION_DEPTH) {
    context->depth++;
    return true;
  }
  return error_set(context->error, STATUS_RESOURCE_EXHAUSTED,
                   "computation %s is called through %d others; no more than %d may be nested",
                   computation->name, context->depth, MAX_EVALUATION_DEPTH);
}

bool evaluation_spend(EvalContext *context, int64_t steps) {
  if (context->cancelled && *context->cancelled) {
    return error_set(context->error, STATUS_CANCELLED, "the run was cancelled");
  }
  if (!context->budget || (*context->budget -= steps) >= 0) return true;
  return error_set(context->error, STATUS_RESOURCE_EXHAUSTED,
                   "what is applied to elements took more than %d steps at once; it may never end, "
                   "and without threads nothing else can stop it",
                   EVAL_STEPS_ALONE);
}
