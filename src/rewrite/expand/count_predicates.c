/*
** Writes dots and convolutions of predicates as those of bytes:
**
**     dot(p, q)    compare(dot(convert(p), convert(q)), 0), direction=NE
**
** The inner operation is S32: it counts the positions where both hold, which are fewer than 2^31.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

static bool is_of_predicates(const Instruction *x) {
  if (x->opcode != HLO_DOT && x->opcode != HLO_CONVOLUTION) return false;
  return x->shape->type == PRED && x->operands[0]->shape->type == PRED &&
         x->operands[1]->shape->type == PRED;
}

static bool count(Instruction *x, void *data) {
  if (!is_of_predicates(x) || x->a->control_predecessors.count) return false;
  Computation *computation = x->parent;
  Arena *arena = computation->module->arena;
  Instruction *bytes[2];
  for (int i = 0; i < 2; i++) {
    const Shape *shape = shape_with_type(arena, x->operands[i]->shape, S8);
    bytes[i] = computation_add(computation, HLO_CONVERT, shape, &x->operands[i], 1, NULL);
  }
  const Shape *shape = shape_with_type(arena, x->shape, S32);
  Instruction *zero = computation_add_integer(computation, S32, 0);
  Instruction *sides[] = {
      computation_add_named(computation, x->opcode, shape, bytes, 2, x->a, x->name),
      computation_add(computation, HLO_BROADCAST, shape, &zero, 1, NULL),
  };
  instruction_become(x, HLO_COMPARE, sides, 2, ATTRIBUTES(.direction = COMPARE_NE));
  return true;
}

bool pass_count_predicates(Module *module) { return rewrite_each(module, count, NULL); }
