#include "reference/eval.h"

#include "hlo/ir/lapack_calls.h"

/* The rule of each opcode. rule_of adds those of the element-wise categories, eval_add_rule those of operations that
** kernels run. */
static EvalRule *rules[OPCODE_COUNT] = {
    [HLO_CONVERT] = eval_convert,
    [HLO_STOCHASTIC_CONVERT] = eval_convert,
    [HLO_BITCAST_CONVERT] = eval_bitcast_convert,
    [HLO_CLAMP] = eval_clamp,
    [HLO_SELECT] = eval_select,
    [HLO_MAP] = eval_map,

    [HLO_CONSTANT] = eval_constant,
    [HLO_IOTA] = eval_iota,
    [HLO_PARTITION_ID] = eval_replica_id,
    [HLO_REPLICA_ID] = eval_replica_id,

    [HLO_BITCAST] = eval_bitcast,
    [HLO_BROADCAST] = eval_broadcast,
    [HLO_CONCATENATE] = eval_concatenate,
    [HLO_COPY] = eval_copy,
    [HLO_DYNAMIC_RESHAPE] = eval_reshape,
    [HLO_DYNAMIC_SLICE] = eval_dynamic_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = eval_dynamic_update_slice,
    [HLO_GATHER] = eval_gather,
    [HLO_PAD] = eval_pad,
    [HLO_RESHAPE] = eval_reshape,
    [HLO_REVERSE] = eval_reverse,
    [HLO_SLICE] = eval_slice,
    [HLO_TRANSPOSE] = eval_transpose,
    [HLO_GET_DIMENSION_SIZE] = eval_get_dimension_size,
    [HLO_SET_DIMENSION_SIZE] = eval_set_dimension_size,

    [HLO_CONVOLUTION] = eval_convolution,
    [HLO_REDUCE] = eval_reduce,
    [HLO_REDUCE_WINDOW] = eval_reduce_window,
    [HLO_SELECT_AND_SCATTER] = eval_select_and_scatter,
    [HLO_SCATTER] = eval_scatter,
    [HLO_SORT] = eval_sort,
    [HLO_TOPK] = eval_topk,
    [HLO_BATCH_NORM_GRAD] = eval_batch_norm,
    [HLO_BATCH_NORM_INFERENCE] = eval_batch_norm,
    [HLO_BATCH_NORM_TRAINING] = eval_batch_norm,
    [HLO_RNG] = eval_rng,
    [HLO_RNG_BIT_GENERATOR] = eval_rng_bit_generator,
    [HLO_RNG_GET_AND_UPDATE_STATE] = eval_rng_state,

    [HLO_TUPLE_OP] = eval_structure,
    [HLO_GET_TUPLE_ELEMENT] = eval_structure,
    [HLO_AFTER_ALL] = eval_structure,
    [HLO_ADD_DEPENDENCY] = eval_structure,
    [HLO_OPTIMIZATION_BARRIER] = eval_structure,
    [HLO_DOMAIN] = eval_structure,
    [HLO_COPY_START] = eval_structure,
    [HLO_COPY_DONE] = eval_structure,

    [HLO_CALL] = eval_control,
    [HLO_CONDITIONAL] = eval_control,
    [HLO_WHILE] = eval_control,
    [HLO_FUSION] = eval_control,
    [HLO_ASYNC_START] = eval_control,
    [HLO_ASYNC_UPDATE] = eval_control,
    [HLO_ASYNC_DONE] = eval_control,
};

static EvalRule *rule_of(const Instruction *instruction) {
  Opcode opcode = instruction->opcode;
  if (opcode == HLO_CUSTOM_CALL) return is_library_call(instruction) ? eval_custom_call : NULL;
  OpCategory category = opcode_category(opcode);
  bool elementwise = category == ELEMENTWISE_UNARY || category == ELEMENTWISE_BINARY;
  return elementwise ? eval_elementwise : rules[opcode];
}

void eval_add_rule(Opcode opcode, EvalRule *rule) { rules[opcode] = rule; }

EvalRule *eval_added_custom_call(void) { return rules[HLO_CUSTOM_CALL]; }

bool eval_knows(const Instruction *instruction) {
  /* Without an added rule, eval_custom_call runs only empty calls. */
  if (instruction->opcode == HLO_CUSTOM_CALL && !rules[HLO_CUSTOM_CALL]) return false;
  return rule_of(instruction) != NULL;
}

bool eval_instruction(const Instruction *instruction, Literal *const *operands, Literal *result,
                      EvalContext *context) {
  EvalRule *rule = rule_of(instruction);
  if (!rule) {
    return error_set_op(context->error, STATUS_FAILED_PRECONDITION,
                        opcode_name(instruction->opcode),
                        "the evaluator cannot run %s, which needs other devices or the host; it "
                        "must stand in a computation that the runtime executes",
                        instruction->name);
  }
  ArenaMark mark = arena_mark(context->arena);
  bool ok = rule(instruction, operands, result, context);
  arena_release(context->arena, mark);
  return ok;
}

/* ---- Parts ---- */

static int64_t window_elements(const Window *window) {
  int64_t elements = 1;
  for (int d = 0; d < window->count; d++) {
    if (__builtin_mul_overflow(elements, window->items[d].size, &elements)) return INT64_MAX;
  }
  return elements;
}

int64_t eval_steps(const Instruction *instruction, int64_t *elements, bool *independent) {
  const Shape *shape = instruction->shape;
  *independent = instruction->opcode == HLO_REDUCE_WINDOW;
  switch (instruction->opcode) {
  case HLO_REDUCE_WINDOW:
    *elements = window_elements(&instruction->a->window);
    return shape_elements(shape_is_tuple(shape) ? shape->elements[0] : shape);
  case HLO_SELECT_AND_SCATTER:
    *elements = window_elements(&instruction->a->window);
    return shape_elements(instruction->operands[1]->shape);
  case HLO_SCATTER: return scatter_steps(instruction, elements);
  default: return 0;
  }
}

/* ---- Whole computations ---- */

static Literal *evaluate(const Instruction *instruction, Literal *const *values,
                         Literal *const *arguments, EvalContext *context) {
  Literal **operands = ARENA_ARRAY(context->arena, Literal *, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = values[instruction->operands[i]->id];
  }
  Literal *value = evaluation_passed_on(instruction, operands, arguments, context);
  if (value) return value;
  value = evaluation_literal(instruction->shape, context);
  if (!value || !eval_instruction(instruction, operands, value, context)) return NULL;
  return value;
}

Literal *eval_computation(const Computation *computation, Literal *const *arguments,
                          EvalContext *context) {
  if (!evaluation_enter(computation, context)) return NULL;
  Literal **values = ARENA_ARRAY(context->arena, Literal *, computation->count);
  bool ok = true;
  for (int i = 0; ok && i < computation->count; i++) {
    const Instruction *instruction = computation->instructions[i];
    ok = evaluation_spend(context, 1);
    if (ok) values[instruction->id] = evaluate(instruction, values, arguments, context);
    ok = ok && values[instruction->id];
  }
  context->depth--;
  return ok ? values[computation->root->id] : NULL;
}
