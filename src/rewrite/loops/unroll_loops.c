/*
** Unrolls short counted loops whose bodies have element-wise operations only, such as the rounds of JAX's
** random numbers. The state then stays in registers, and values that depend on the counter are constants.
** A loop of n iterations becomes n calls of its body, which pass_inline_calls inlines:
**
**     while(init), i < n, i = i + 1      body(... body(body(init)))
*/
#include "plan/counted_loop.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MAX_ITERATIONS. Test: "a loop of ${turns} turns" in core/thresholds.test.mjs. */
  MAX_ITERATIONS = 16,
  /* Threshold MAX_INSTRUCTIONS: instructions of all iterations. Test: "short loops with long
  ** bodies" in core/thresholds_programs.test.mjs. */
  MAX_INSTRUCTIONS = 512,
};

/* Whether an instruction becomes part of a loop over elements, or needs no code. */
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

static bool unroll_loops(Computation *computation) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, computation);
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *loop = rewrite_visit(&rewrite, i);
    if (loop->opcode != HLO_WHILE || loop->a->control_predecessors.count) continue;
    CountedLoop counted;
    if (!counted_loop_find(loop, &counted) || counted.iterations > MAX_ITERATIONS ||
        counted.iterations * loop->a->body->count > MAX_INSTRUCTIONS ||
        !is_plain_body(loop->a->body)) {
      continue;
    }
    const Attributes *attributes = ATTRIBUTES(.to_apply = loop->a->body);
    Instruction *state = loop->operands[0];
    for (int i = 0; i < counted.iterations; i++) {
      state = computation_add_named(computation, HLO_CALL, loop->shape, &state, 1, attributes,
                                    loop->name);
    }
    rewrite_replace(&rewrite, loop, state);
  }
  return rewrite_end(&rewrite);
}

bool pass_unroll_loops(Module *module) { return for_each_computation(module, unroll_loops); }
