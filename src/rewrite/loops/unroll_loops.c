/*
** Unrolls short counted loops whose bodies are loops over elements and nothing else: then what goes
** from one turn to the next stays in registers, and what depends on the counter is constant. So it is
** with the rounds of JAX's random numbers. A loop of n turns becomes n calls of its body, which
** pass_inline_calls puts in place:
**
**     while(init), i < n, i = i + 1      body(... body(body(init)))
*/
#include "rewrite/lower.h"
#include "rewrite/rewrite.h"
#include "value/scalar.h"

enum {
  MOST_TURNS = 16,
  MOST_INSTRUCTIONS = 512, /* of all turns */
};

/* Becomes part of loops over elements, or is nothing at all. */
static bool may_be_unrolled(const Instruction *x) {
  if (x->a->control_predecessors.count) return false;
  return is_plain(x->opcode) || x->opcode == HLO_CONSTANT || x->opcode == HLO_PARAMETER ||
         x->opcode == HLO_GET_TUPLE_ELEMENT || x->opcode == HLO_TUPLE_OP;
}

static bool is_plain_body(const Computation *body) {
  for (int i = 0; i < body->count; i++) {
    if (!may_be_unrolled(body->instructions[i])) return false;
  }
  return true;
}

/* The element of the loop's state that a value is; -1 if it is something else. */
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

/* i + step, either way round, for the counter `element`: the step, or NULL. */
static const Instruction *step_of(const Instruction *next, int64_t element) {
  if (next->opcode != HLO_ADD) return NULL;
  for (int k = 0; k < 2; k++) {
    const Instruction *step = next->operands[1 - k];
    if (state_element(next->operands[k]) == element && is_scalar_constant(step)) return step;
  }
  return NULL;
}

bool find_counter(const Instruction *loop, Counter *out) {
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
    return false; /* or it wraps */
  *out = (Counter){element, first, by, end <= first ? 0 : (end - first - 1) / by + 1};
  return true;
}

static bool unroll_loops(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *loop = rewrite_visit(&rewrite, i);
    if (loop->opcode != HLO_WHILE || loop->a->control_predecessors.count) continue;
    Counter counter;
    if (!find_counter(loop, &counter) || counter.turns > MOST_TURNS ||
        counter.turns * loop->a->body->count > MOST_INSTRUCTIONS || !is_plain_body(loop->a->body)) {
      continue;
    }
    Attributes attributes;
    attributes_init(&attributes);
    attributes.to_apply = loop->a->body;
    Instruction *state = loop->operands[0];
    for (int turn = 0; turn < counter.turns; turn++) {
      state =
          computation_add(computation, HLO_CALL, loop->shape, &state, 1, &attributes, loop->name);
    }
    rewrite_replace(&rewrite, loop, state);
  }
  return rewrite_end(&rewrite);
}

bool lower_unroll_loops(Module *module) { return for_each_computation(module, unroll_loops); }
