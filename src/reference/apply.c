/*
** Applies computations to scalars, once per element. A computation of scalar operations is planned once:
** its values become registers, and its instructions steps on them. Any other computation, with a loop or an
** array, is evaluated as a whole each time.
*/
#include <string.h>

#include "hlo/scalar/element.h"
#include "reference/eval.h"

typedef enum StepKind {
  STEP_UNARY,
  STEP_BINARY,
  STEP_SELECT,
  STEP_CLAMP,
  STEP_CONVERT,
  STEP_BITCAST,
  STEP_COPY,
  STEP_CALL,
  STEP_NONE, /* its register is set before the steps, or it has none */
  STEP_IMPOSSIBLE,
} StepKind;

typedef struct Step {
  StepKind kind;
  const Instruction *instruction;
  PrimitiveType type; /* of the first operand */
  int to, from[3];    /* registers */
  EvalApply *callee;
} Step;

struct EvalApply {
  struct EvalApply *next; /* of the context's list */
  const Computation *computation;
  EvalContext *context;
  Opcode simple; /* op(p0, p1); OPCODE_COUNT otherwise */
  PrimitiveType simple_type;
  bool planned;
  int step_count, result_count;
  Step *steps;
  Scalar *registers; /* one per instruction, by its id */
  int *results;      /* registers of the root's leaves */
};

static EvalApply *new_apply(const Computation *computation, EvalContext *context);

/* ---- Planning ---- */

static StepKind call_kind(Opcode opcode) {
  return opcode == HLO_CALL || opcode == HLO_MAP || opcode == HLO_FUSION ? STEP_CALL
                                                                         : STEP_IMPOSSIBLE;
}

static StepKind step_kind(const Instruction *instruction) {
  const Computation *computation = instruction->parent;
  bool tuple_root = instruction->opcode == HLO_TUPLE_OP && instruction == computation->root;
  if (tuple_root) return STEP_NONE;
  if (!shape_is_scalar(instruction->shape)) return STEP_IMPOSSIBLE;
  switch (instruction->opcode) {
  case HLO_PARAMETER:
  case HLO_CONSTANT: return STEP_NONE;
  case HLO_SELECT: return STEP_SELECT;
  case HLO_CLAMP: return STEP_CLAMP;
  case HLO_CONVERT: return STEP_CONVERT;
  case HLO_BITCAST_CONVERT:
    return shape_is_scalar(instruction->operands[0]->shape) ? STEP_BITCAST : STEP_IMPOSSIBLE;
  case HLO_COPY:
  case HLO_BROADCAST:
  case HLO_RESHAPE:
  case HLO_TRANSPOSE:
    return shape_is_scalar(instruction->operands[0]->shape) ? STEP_COPY : STEP_IMPOSSIBLE;
  default: break;
  }
  switch (opcode_category(instruction->opcode)) {
  case ELEMENTWISE_UNARY: return STEP_UNARY;
  case ELEMENTWISE_BINARY: return STEP_BINARY;
  default: return call_kind(instruction->opcode);
  }
}

static const Computation *callee_of(const Instruction *instruction) {
  return instruction->opcode == HLO_FUSION ? instruction->a->calls : instruction->a->to_apply;
}

/* Plans a step. Returns false with an error; or true, with `planned` unset if there is no plan. */
static bool plan_step(EvalApply *apply, const Instruction *instruction) {
  Step step = {.kind = step_kind(instruction), .instruction = instruction, .to = instruction->id};
  if (step.kind == STEP_IMPOSSIBLE) {
    apply->planned = false;
    return true;
  }
  if (instruction->opcode == HLO_CONSTANT) {
    apply->registers[step.to] =
        scalar_load(instruction->shape->type, instruction->literal->data, 0);
  }
  if (step.kind == STEP_NONE) return true;
  if (step.kind == STEP_CALL) {
    step.callee = new_apply(callee_of(instruction), apply->context);
    if (!step.callee) return false;
  }
  if (instruction->operand_count > 0) step.type = instruction->operands[0]->shape->type;
  for (int i = 0; i < instruction->operand_count && i < 3; i++) {
    step.from[i] = instruction->operands[i]->id;
  }
  apply->steps[apply->step_count++] = step;
  return true;
}

static void plan_results(EvalApply *apply) {
  const Instruction *root = apply->computation->root;
  bool tuple = shape_is_tuple(root->shape);
  apply->result_count = tuple ? root->operand_count : 1;
  apply->results = ARENA_ARRAY(apply->context->arena, int, apply->result_count);
  for (int i = 0; i < apply->result_count; i++) {
    apply->results[i] = tuple ? root->operands[i]->id : root->id;
  }
}

static bool all_scalar(const Computation *computation) {
  for (int i = 0; i < computation->parameter_count; i++) {
    if (!shape_is_scalar(computation->parameters[i]->shape)) return false;
  }
  return true;
}

static bool plan(EvalApply *apply) {
  const Computation *computation = apply->computation;
  Arena *arena = apply->context->arena;
  apply->simple = computation_simple_binary(computation);
  if (apply->simple != OPCODE_COUNT) {
    apply->simple_type = computation->parameters[0]->shape->type;
    return true;
  }
  apply->planned = all_scalar(computation);
  apply->steps = ARENA_ARRAY(arena, Step, computation->count);
  apply->registers = ARENA_ARRAY(arena, Scalar, computation->count);
  for (int i = 0; apply->planned && i < computation->count; i++) {
    if (!plan_step(apply, computation->instructions[i])) return false;
  }
  if (apply->planned) plan_results(apply);
  return true;
}

/* Plans a computation once, for all its callers. No computation calls itself, so its registers never have two
** uses at a time. */
static EvalApply *new_apply(const Computation *computation, EvalContext *context) {
  for (EvalApply *known = context->applies; known; known = known->next) {
    if (known->computation == computation) return known;
  }
  EvalApply *apply = ARENA_NEW(context->arena, EvalApply);
  apply->computation = computation;
  apply->context = context;
  if (!evaluation_enter(computation, context)) return NULL;
  bool ok = plan(apply);
  context->depth--;
  apply->next = context->applies;
  context->applies = apply;
  return ok ? apply : NULL;
}

EvalApply *eval_apply_new(const Computation *computation, EvalContext *context) {
  context->applies = NULL;
  EvalApply *apply = new_apply(computation, context);
  context->applies = NULL; /* their memory may be released before the context */
  return apply;
}

/* ---- Running ---- */

static Scalar bitcast(PrimitiveType from, PrimitiveType to, Scalar x) {
  if (type_bits(from) < 8) return scalar_round(to, x); /* the low bits of an integer */
  _Alignas(16) unsigned char memory[16];
  scalar_store(from, memory, 0, x);
  return scalar_load(to, memory, 0);
}

static bool run_call(const EvalApply *apply, const Step *step, Scalar *result) {
  const Instruction *instruction = step->instruction;
  Arena *arena = apply->context->arena;
  ArenaMark mark = arena_mark(arena);
  Scalar *arguments = ARENA_ARRAY(arena, Scalar, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    arguments[i] = apply->registers[instruction->operands[i]->id];
  }
  bool ok = eval_apply(step->callee, arguments, result);
  arena_release(arena, mark);
  return ok;
}

static bool run_step(const EvalApply *apply, const Step *step) {
  const Instruction *instruction = step->instruction;
  Scalar *registers = apply->registers, *to = &registers[step->to];
  Scalar x = registers[step->from[0]], y = registers[step->from[1]], z = registers[step->from[2]];
  switch (step->kind) {
  case STEP_UNARY: *to = scalar_unary(instruction, step->type, x); break;
  case STEP_BINARY: *to = scalar_binary(instruction, step->type, x, y); break;
  case STEP_SELECT: *to = x.u ? y : z; break;
  case STEP_CLAMP: *to = scalar_clamp(step->type, x, y, z); break;
  case STEP_CONVERT: *to = scalar_convert(step->type, instruction->shape->type, x); break;
  case STEP_BITCAST: *to = bitcast(step->type, instruction->shape->type, x); break;
  case STEP_COPY: *to = x; break;
  case STEP_CALL: return run_call(apply, step, to);
  default: break;
  }
  return true;
}

static bool run_plan(const EvalApply *apply, const Scalar *arguments, Scalar *results) {
  const Computation *computation = apply->computation;
  if (!evaluation_spend(apply->context, apply->step_count)) return false;
  for (int i = 0; i < computation->parameter_count; i++) {
    apply->registers[computation->parameters[i]->id] = arguments[i];
  }
  for (int i = 0; i < apply->step_count; i++) {
    if (!run_step(apply, &apply->steps[i])) return false;
  }
  for (int i = 0; i < apply->result_count; i++) {
    results[i] = apply->registers[apply->results[i]];
  }
  return true;
}

static void load_results(const Literal *value, Scalar *results) {
  if (!shape_is_tuple(value->shape)) {
    *results = scalar_load(value->shape->type, value->data, 0);
  }
  for (int i = 0; i < value->shape->tuple_size; i++) load_results(value->elements[i], results + i);
}

static const Literal *evaluate(const EvalApply *apply, const Scalar *arguments) {
  const Computation *computation = apply->computation;
  Literal **literals = ARENA_ARRAY(apply->context->arena, Literal *, computation->parameter_count);
  for (int i = 0; i < computation->parameter_count; i++) {
    literals[i] = literal_new(apply->context->arena, computation->parameters[i]->shape);
    scalar_store(literals[i]->shape->type, literals[i]->data, 0, arguments[i]);
  }
  return eval_computation(computation, literals, apply->context);
}

static bool run_whole(const EvalApply *apply, const Scalar *arguments, Scalar *results) {
  ArenaMark mark = arena_mark(apply->context->arena);
  const Literal *value = evaluate(apply, arguments);
  if (value) load_results(value, results);
  arena_release(apply->context->arena, mark);
  return value != NULL;
}

bool eval_apply(EvalApply *apply, const Scalar *arguments, Scalar *results) {
  if (apply->simple != OPCODE_COUNT) {
    *results = scalar_binary_opcode(apply->simple, apply->simple_type, arguments[0], arguments[1]);
    return true;
  }
  return apply->planned ? run_plan(apply, arguments, results)
                        : run_whole(apply, arguments, results);
}
