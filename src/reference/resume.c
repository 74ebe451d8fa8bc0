/*
** Evaluates calls, branches and loops with an explicit stack, so that it can stop between any two
** instructions and continue later. Without threads, the host's only thread runs them.
*/
#include "base/host/platform.h"
#include "reference/eval.h"

/* A computation being evaluated, or the loop whose condition and body are. */
typedef struct EvalFrame {
  const Computation *computation; /* NULL: a loop */
  Literal *const *arguments;
  Literal **values; /* by instruction */
  int next;         /* the instruction to evaluate */
  const Instruction *loop;
  enum { LOOP_TEST, LOOP_TESTED, LOOP_ITERATED } phase;
  Literal *state, *other; /* of a loop: the state alternates between the two */
  Literal *holds;
  Literal *result;
  ArenaMark mark; /* memory allocated after it belongs to the frame */
} EvalFrame;

struct Evaluation {
  int depth;
  EvalFrame frames[2 * MAX_EVALUATION_DEPTH + 2];
};

bool eval_is_resumable(const Instruction *instruction) {
  switch (instruction->opcode) {
  case HLO_CALL:
  case HLO_FUSION:
  case HLO_CONDITIONAL:
  case HLO_WHILE: return true;
  default: return false;
  }
}

static EvalFrame *push(Evaluation *e, EvalContext *context, EvalFrame frame) {
  frame.mark = arena_mark(context->arena);
  e->frames[e->depth] = frame;
  return &e->frames[e->depth++];
}

static bool push_computation(Evaluation *e, const Computation *computation,
                             Literal *const *arguments, Literal *result, EvalContext *context) {
  context->depth = e->depth / 2;
  if (!evaluation_enter(computation, context)) return false;
  EvalFrame *frame =
      push(e, context,
           (EvalFrame){.computation = computation, .arguments = arguments, .result = result});
  frame->values = ARENA_ARRAY(context->arena, Literal *, computation->count);
  return true;
}

static bool push_loop(Evaluation *e, const Instruction *loop, Literal *const *operands,
                      Literal *result, EvalContext *context) {
  EvalFrame *frame = push(e, context, (EvalFrame){.loop = loop, .state = result, .result = result});
  frame->other = evaluation_literal(loop->shape, context);
  if (!frame->other) return false;
  frame->holds = literal_new(context->arena, loop->a->condition->root->shape);
  literal_copy_data(operands[0], result);
  return true;
}

static bool push_control(Evaluation *e, const Instruction *instruction, Literal *const *operands,
                         Literal *result, EvalContext *context) {
  if (instruction->opcode == HLO_WHILE) return push_loop(e, instruction, operands, result, context);
  const Computation *called = eval_called(instruction, operands, &operands, context);
  return push_computation(e, called, operands, result, context);
}

static void pop(Evaluation *e, EvalContext *context) {
  arena_release(context->arena, e->frames[--e->depth].mark);
}

static bool step_loop(Evaluation *e, EvalFrame *frame, EvalContext *context) {
  const Attributes *a = frame->loop->a;
  switch (frame->phase) {
  case LOOP_TEST:
    frame->phase = LOOP_TESTED;
    return push_computation(e, a->condition, &frame->state, frame->holds, context);
  case LOOP_TESTED:
    if (!*(const uint8_t *)frame->holds->data) {
      if (frame->state != frame->result) literal_copy_data(frame->state, frame->result);
      pop(e, context);
      return true;
    }
    frame->phase = LOOP_ITERATED;
    return push_computation(e, a->body, &frame->state, frame->other, context);
  default: {
    Literal *swap = frame->state;
    frame->state = frame->other;
    frame->other = swap;
    frame->phase = LOOP_TEST;
    return true;
  }
  }
}

/* Evaluates the next instruction of a computation, or ends it. */
static bool step_computation(Evaluation *e, EvalFrame *frame, EvalContext *context) {
  const Computation *computation = frame->computation;
  if (frame->next == computation->count) {
    literal_copy_data(frame->values[computation->root->id], frame->result);
    pop(e, context);
    return true;
  }
  const Instruction *instruction = computation->instructions[frame->next++];
  Literal **operands = ARENA_ARRAY(context->arena, Literal *, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = frame->values[instruction->operands[i]->id];
  }
  Literal *value = evaluation_passed_on(instruction, operands, frame->arguments, context);
  bool is_made = value != NULL;
  if (!is_made) value = evaluation_literal(instruction->shape, context);
  frame->values[instruction->id] = value;
  if (!value || is_made) return value != NULL;
  if (eval_is_resumable(instruction)) {
    return push_control(e, instruction, operands, value, context);
  }
  context->depth = e->depth / 2;
  return eval_instruction(instruction, operands, value, context);
}

Evaluation *evaluation_begin(const Instruction *instruction, Literal *const *operands,
                             Literal *result, EvalContext *context) {
  Evaluation *e = ARENA_NEW(context->arena, Evaluation);
  return push_control(e, instruction, operands, result, context) ? e : NULL;
}

bool evaluation_resume(Evaluation *e, EvalContext *context, double deadline_us) {
  /* How often the clock is read. */
  enum { STEPS_A_CLOCK = 64 };
  int64_t *budget = context->budget;
  for (int steps = 1; e->depth; steps++) {
    int64_t left = EVAL_STEPS_ALONE; /* per instruction, as it can stop between instructions */
    if (budget) context->budget = &left;
    EvalFrame *frame = &e->frames[e->depth - 1];
    bool ok = evaluation_spend(context, 1) &&
              (frame->computation ? step_computation : step_loop)(e, frame, context);
    if (!ok) return false;
    if (deadline_us && steps % STEPS_A_CLOCK == 0 && platform_now_us() >= deadline_us) break;
  }
  return true;
}

bool evaluation_is_over(const Evaluation *e) { return e->depth == 0; }
