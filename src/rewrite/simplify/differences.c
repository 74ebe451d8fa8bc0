/*
** Marks differences that are at most 0 or NaN: a number minus the max of numbers that include it, as in every
** softmax. Their exponential needs no code for large x. The mark is needed because the loop that computes the
** difference does not see the max's operands. codegen/loops/function_emitter.c finds other ranges of exponentials.
*/
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Maps a reshape: along[d] becomes the dimension of the difference for dimension d of `from`, given those of `to`.
** Returns false if more than dimensions of size 1 differ. */
static bool skip_reshape(const Shape *from, const Shape *to, int *along) {
  int outer[MAX_RANK], j = 0;
  for (int d = 0; d < to->rank; d++) outer[d] = along[d];
  for (int d = 0; d < from->rank; d++) {
    if (from->dims[d] == 1) continue;
    while (j < to->rank && to->dims[j] == 1) j++;
    if (j == to->rank || to->dims[j] != from->dims[d]) return false;
    along[d] = outer[j++];
  }
  return true;
}

static bool is_largest_of(const Instruction *reduce, const Instruction *x, const int *along) {
  if (reduce_operation(reduce) != HLO_MAXIMUM || reduce->operands[0] != x) return false;
  for (int d = 0, kept = 0; d < x->shape->rank; d++) {
    if (list_has(reduce->a->dimensions, d)) continue;
    if (along[kept++] != d && x->shape->dims[d] != 1) return false;
  }
  return true;
}

static bool is_at_most_zero(const Instruction *difference) {
  /* Threshold MAX_STEPS. Test: "quotients, and differences from the largest: how far they are
  ** apart" in core/thresholds_programs.test.mjs. */
  enum { MAX_STEPS = 8 };
  const Instruction *x = difference->operands[1];
  int along[MAX_RANK], outer[MAX_RANK];
  Scalar bound;
  for (int d = 0; d < MAX_RANK; d++) along[d] = d;
  for (int step = 0; step < MAX_STEPS; step++) {
    const Instruction *operand = x->operand_count ? x->operands[0] : NULL;
    switch (x->opcode) {
    case HLO_REDUCE: return is_largest_of(x, difference->operands[0], along);
    case HLO_MAXIMUM: /* of the max and a constant */
      x = x->operands[splat_value(operand, &bound)];
      break;
    case HLO_BROADCAST:
      memcpy(outer, along, sizeof outer);
      for (int d = 0; d < operand->shape->rank; d++) along[d] = outer[x->a->dimensions.items[d]];
      x = operand;
      break;
    case HLO_RESHAPE:
      if (!skip_reshape(operand->shape, x->shape, along)) return false;
      x = operand;
      break;
    default: return false;
    }
  }
  return false;
}

static bool note_differences(Computation *computation) {
  for (int i = 0; i < computation->count; i++) {
    Instruction *x = computation->instructions[i];
    bool is_difference = x->opcode == HLO_SUBTRACT && type_is_floating(x->shape->type);
    if (is_difference && is_at_most_zero(x)) instruction_attributes(x)->derived.at_most_zero = true;
  }
  return false; /* nothing that is to be seen */
}

bool pass_differences(Module *module) { return for_each_computation(module, note_differences); }
