/*
** Rules of call, conditional and while.
**
**     call, fusion              a call of the computation for the batch
**     conditional, while        the same, if the predicate or index is the same for the whole batch
**     a batched predicate       conditional: all branches are computed, and their results selected
**     a batched condition       while: runs until it is false for all elements; the state of those for which it is
**                               false no longer changes
**     either, with effects      a loop over the elements (in_turn.c): an element has only the effects that it asks for
*/
#include "derive/batch/batching.h"
#include "hlo/ir/lapack_calls.h"
#include "hlo/ir/shard_calls.h"
#include "rewrite/base/rewrite.h"

/* Writes the flags of operands [first, end). */
static bool *operand_flags(Batching *b, const Instruction *x, Instruction *const *operands,
                           int first, int end) {
  bool *flags = ARENA_ARRAY(b->arena, bool, operand_leaf_count(x)), *next = flags;
  for (int k = first; k < end; k++) {
    next = put_flags(operands[k]->shape, x->operands[k]->shape, next);
  }
  return flags;
}

/* Computes a computation of the source with operands [first, end), by a call. */
static Instruction *call(Batching *b, const Instruction *x, const Computation *source,
                         Instruction *const *operands, int first, int end, const bool *out) {
  const Case *one = case_of(b->all, source, operand_flags(b, x, operands, first, end));
  Attributes a;
  attributes_init(&a);
  a.metadata = x->a->metadata;
  a.to_apply = batch_computation(b, source, one, out);
  Instruction **arguments = ARENA_ARRAY(b->arena, Instruction *, end - first);
  const bool *in = one->in;
  for (int k = first; k < end; k++) {
    const Shape *shape = x->operands[k]->shape;
    arguments[k - first] = flagged_in_front(b, operands[k], shape, in);
    in += shape_leaves(shape);
  }
  return add_batched(b, x, HLO_CALL, a.to_apply->root->shape, arguments, end - first, &a);
}

Instruction *batch_call(Batching *b, const Instruction *x, Instruction **operands) {
  const Computation *source = x->opcode == HLO_FUSION ? x->a->calls : x->a->to_apply;
  return call(b, x, source, operands, 0, x->operand_count, NULL);
}

static bool *all_flags(Batching *b, const Shape *shape) {
  bool *flags = ARENA_ARRAY(b->arena, bool, shape_leaves(shape));
  put_flags(batched_shape(b, shape), shape, flags);
  return flags;
}

/* ---- Effects ---- */

static bool is_effect(const Instruction *x) {
  return x->opcode == HLO_CUSTOM_CALL && x->a->custom_call_has_side_effect;
}

/* Calls of the host, too: they may raise an error, as Equinox' error_if does in a branch, or be unknown to it. */
static bool is_effect_of_branch(const Instruction *x) {
  return x->opcode == HLO_CUSTOM_CALL && !is_lapack_call(x) && shard_call_kind(x) == NO_SHARD_CALL;
}

/* ---- Conditional ---- */

/* Computes all branches, and selects. An index that is out of range means the last branch. */
static Instruction *select_branches(Batching *b, const Instruction *x, Instruction **operands,
                                    Computation **branches, int count, bool predicated) {
  const bool *out = all_flags(b, x->shape);
  Instruction *chosen = NULL;
  for (int i = count - 1; i >= 0 && !b->all->failed; i--) {
    Instruction *result = call(b, x, branches[i], operands, i + 1, i + 2, out);
    Instruction *where = operands[0];
    if (!predicated) {
      Instruction *number = computation_add_integer(b->m.computation, S32, i);
      number = make_broadcast(&b->m, number, where->shape, (Int64List){0});
      where = make_compare(&b->m, COMPARE_EQ, where, number);
    }
    chosen = chosen ? select_leaves(b, where, result, chosen) : result;
  }
  return chosen;
}

Instruction *batch_conditional(Batching *b, const Instruction *x, Instruction **operands) {
  bool predicated;
  int count = conditional_branches(x, NULL, &predicated);
  Computation **branches = ARENA_ARRAY(b->arena, Computation *, count);
  conditional_branches(x, branches, &predicated);
  if (is_batched(operands[0], x->operands[0])) {
    if (instruction_reaches(x, is_effect_of_branch)) return batch_in_turn(b, x, operands);
    return select_branches(b, x, operands, branches, count, predicated);
  }
  const bool *out = branch_flags(b->all, x, operand_flags(b, x, operands, 0, x->operand_count));
  for (int i = 0; i < count; i++) {
    const Case *one = case_of(b->all, branches[i], operand_flags(b, x, operands, i + 1, i + 2));
    operands[i + 1] = flagged_in_front(b, operands[i + 1], x->operands[i + 1]->shape, one->in);
    branches[i] = batch_computation(b, branches[i], one, out);
  }
  Attributes a = batched_attributes(x);
  if (predicated) {
    a.true_computation = branches[0];
    a.false_computation = branches[1];
  } else {
    a.branches = (ComputationList){count, branches};
  }
  const Shape *shape = flagged_shape(b, x->shape, out);
  return add_batched(b, x, HLO_CONDITIONAL, shape, operands, x->operand_count, &a);
}

/* ---- While ---- */

static Batching begin(Batching *b, const char *name, const Shape *parameter, Instruction **out) {
  Batching inner = *b;
  inner.m.computation = module_add_computation(b->all->module, name);
  *out = computation_add_parameter(inner.m.computation, 0, parameter, NULL);
  return inner;
}

static Computation *end(Batching *inner, Instruction *root) {
  inner->m.computation->root = root;
  inner->m.computation->keeps_root = true;
  return inner->m.computation;
}

static Instruction *call_with(Batching *b, Computation *computation, Instruction *operand) {
  return make(&b->m, HLO_CALL, computation->root->shape, &operand, 1,
              ATTRIBUTES(.to_apply = computation));
}

/* Returns whether the condition holds for any element. */
static Computation *any_condition(Batching *b, Computation *condition, const Shape *state) {
  Instruction *parameter;
  Batching inner = begin(b, "any", state, &parameter);
  Instruction *holds = call_with(&inner, condition, parameter);
  return end(&inner, make_reduce(&inner.m, HLO_OR, holds, 0, list_of_one(&b->m, 0)));
}

/* Applies the body to the elements for which the condition holds. */
static Computation *selecting_body(Batching *b, Computation *condition, Computation *body,
                                   const Shape *state) {
  Instruction *parameter;
  Batching inner = begin(b, body->name, state, &parameter);
  Instruction *holds = call_with(&inner, condition, parameter);
  Instruction *next = call_with(&inner, body, parameter);
  return end(&inner, select_leaves(&inner, holds, next, parameter));
}

Instruction *batch_while(Batching *b, const Instruction *x, Instruction **operands) {
  bool *flags = operand_flags(b, x, operands, 0, 1);
  bool selects = loop_flags(b->all, x, flags);
  if (selects && instruction_reaches(x, is_effect)) return batch_in_turn(b, x, operands);
  Instruction *init = flagged_in_front(b, operands[0], x->shape, flags);
  Attributes a = batched_attributes(x);
  a.condition = batch_computation(b, a.condition, case_of(b->all, a.condition, flags), NULL);
  a.body = batch_computation(b, a.body, case_of(b->all, a.body, flags), flags);
  if (b->all->failed) return init;
  if (selects) {
    a.body = selecting_body(b, a.condition, a.body, init->shape);
    a.condition = any_condition(b, a.condition, init->shape);
  }
  return add_batched(b, x, HLO_WHILE, init->shape, &init, 1, &a);
}
