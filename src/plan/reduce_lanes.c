/*
** Chooses the loop whose steps are a reduction's lanes, once, for all stages: the plan's `lane_loop`.
**
** Along: the innermost reduced loop. Vectors of partial results are combined at the end, so only
** operations that may be reordered and have an identity go this way.
**
** Across: the loop of neighbouring results, which are accumulated one element after the other.
*/
#include "plan/loop_nest.h"
#include "plan/reduction.h"

enum {
  /* Threshold MIN_SUM_ROW, MIN_EXTREME_ROW, MIN_EXTREME. Test: "reductions by ${operation} along
  ** rows and down columns" in core/thresholds.test.mjs. */
  MIN_SUM_ROW = 3 * LANES, /* along shorter rows, combining takes longer than going across */
  MIN_EXTREME_ROW = 6 * LANES,
  MIN_EXTREME = 8, /* elements per result */
};

/* Returns the number of elements reduced to one result. */
static int64_t elements_per_result(const LoopPlan *plan) {
  int64_t elements = 1;
  for (int k = plan->rank - plan->reduced; k < plan->rank; k++) elements *= plan->sizes[k];
  return elements;
}

/* Returns a maximum or minimum that is computed in three parts; else OPCODE_COUNT. */
static Opcode extreme_of(const LoopPlan *plan) {
  if (plan->output_count != 1 || plan->cumulative || elements_per_result(plan) < MIN_EXTREME) {
    return OPCODE_COUNT;
  }
  PrimitiveType type = plan->reduce->operands[0]->shape->type;
  Opcode opcode = reduce_operation(plan->reduce);
  bool is_extreme = opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
  return is_extreme && type_is_floating(type) && type_bits(type) <= 32 ? opcode : OPCODE_COUNT;
}

/* Counts the arrays whose vectors along a loop are assembled lane by lane. */
static int strided_leaves(const LoopPlan *plan, int loop) {
  int count = 0;
  for (int i = 0; i < plan->count; i++) {
    const LoopNode *node = plan->nodes[i];
    count += node->kind == NODE_INPUT && (node->offset.coefficient[loop] | 1) != 1;
  }
  return count;
}

static bool goes_along(const LoopPlan *plan) {
  int row = plan->rank - plan->reduced - 1, last = plan->rank - 1;
  if (plan->kept_count) return true; /* elements are stored side by side: fuse_siblings.c */
  if (plan->addresses || !reduces_apart(plan->reduce)) return false;
  bool rounds = type_is_floating(plan->reduce->operands[0]->shape->type) &&
                type_bits(plan->reduce->operands[0]->shape->type) < 32;
  if (rounds && plan->reduce->opcode == HLO_REDUCE_WINDOW) return false; /* at every step */
  bool is_across = strided_leaves(plan, last) > strided_leaves(plan, row);
  if (is_across && plan->sizes[row] >= LANES) return false;
  int min = plan->extreme == OPCODE_COUNT ? MIN_SUM_ROW : MIN_EXTREME_ROW;
  return plan->sizes[last] >= min || plan->sizes[row] < LANES;
}

/* Whether elements may be added in blocks of blocks, and some result rounds: a sum of floats. The neutral element
** begins each block. Windows of narrow floats are rounded at every step, in XLA's order. */
static bool adds_in_blocks(const Instruction *reduce) {
  bool rounds = false;
  for (int r = 0; r < reduce->operand_count / 2; r++) {
    PrimitiveType type = reduce->operands[r]->shape->type;
    Opcode opcode = reduce_operation_of(reduce, r);
    Scalar neutral;
    if (!opcode_neutral(opcode, type, &neutral)) return false;
    bool is_float = type_is_floating(type), is_complex = type_is_complex(type);
    if (is_complex && opcode != HLO_ADD) return false;
    if (is_float && type_bits(type) < (reduce->opcode == HLO_REDUCE ? 16 : 32)) return false;
    rounds |= opcode == HLO_ADD && (is_float || is_complex);
  }
  return rounds;
}

void loop_plan_choose_lanes(LoopPlan *plan) {
  int last = plan->rank - 1;
  plan->extreme = extreme_of(plan);
  plan->in_blocks = adds_in_blocks(plan->reduce);
  loop_plan_reorder(plan, goes_along(plan) ? last : plan->rank - plan->reduced - 1, last);
}
