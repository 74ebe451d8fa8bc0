#include "rewrite/gradient/trips.h"

#include "base/scope.h"
#include "reference/eval.h"
#include "rewrite/rewrite.h"

/* ---- The part of the state that matters ---- */

static bool has_value_here(const Instruction *x) {
  switch (x->opcode) {
  case HLO_REPLICA_ID:
  case HLO_PARTITION_ID:
  case HLO_RNG:
  case HLO_CUSTOM_CALL: return false;
  default: return !instruction_has_side_effect(x) && opcode_category(x->opcode) != COLLECTIVE;
  }
}

bool find_inputs(Body *b, const Instruction *x, bool *leaves) {
  Computation *c = b->l.m.computation;
  bool *needed = scope_new((size_t)x->id + 1, sizeof *needed), found = true;
  needed[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    const Instruction *at = c->instructions[i];
    if (!needed[i]) continue;
    found &= at->opcode == HLO_PARAMETER || has_value_here(at);
    for (int k = 0; k < at->operand_count; k++) needed[at->operands[k]->id] = true;
  }
  for (int i = 0; i < b->input_count; i++)
    leaves[i] |= b->inputs[i]->id <= x->id && needed[b->inputs[i]->id];
  scope_free(needed);
  return found;
}

bool find_state(Body *body, bool *leaves) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (int i = 0; i < body->input_count; i++) {
      if (!leaves[i]) continue;
      bool *more = ARENA_ARRAY(body->l.arena, bool, body->input_count);
      if (!find_inputs(body, body->results[i], more)) return false;
      for (int k = 0; k < body->input_count; k++) {
        changed |= more[k] && !leaves[k];
        leaves[k] |= more[k];
      }
    }
  }
  return true;
}

/* ---- Counting ---- */

/* Copies values of a body, as a function of the scalars that its leaves with a flag are. */
static Computation *scalar_function(Body *b, const bool *leaves, Instruction *const *values,
                                    int count) {
  Extraction e = extract_begin(&b->l, "count");
  for (int i = 0, number = 0; i < b->input_count; i++) {
    if (!leaves[i]) continue;
    extract_bind(&e, b->inputs[i],
                 computation_add_parameter(e.to, number++, b->inputs[i]->shape, NULL));
  }
  Instruction **results = ARENA_ARRAY(b->l.arena, Instruction *, count);
  for (int i = 0; i < count; i++) results[i] = extract(&e, values[i]);
  e.to->root = count == 1 ? results[0] : computation_add_tuple(e.to, results, count);
  computation_renumber(e.to);
  return e.to;
}

static int64_t run(const Computation *condition, const Computation *body, Scalar *state,
                   int count) {
  Arena *scratch = arena_new();
  Error error = {0};
  int64_t budget = 64 * (int64_t)MAX_COUNTED_TRIPS, trips = -1;
  EvalContext context = {.arena = scratch, .error = &error, .budget = &budget};
  EvalApply *test = eval_apply_new(condition, &context), *step = eval_apply_new(body, &context);
  Scalar *next = ARENA_ARRAY(scratch, Scalar, count), goes_on = {0};
  for (int64_t i = 0; test && step && i <= MAX_COUNTED_TRIPS; i++) {
    ArenaMark mark = arena_mark(scratch);
    if (!eval_apply(test, state, &goes_on)) break;
    if (!goes_on.i) trips = i;
    if (!goes_on.i || !eval_apply(step, state, next)) break;
    for (int k = 0; k < count; k++) state[k] = next[k];
    arena_release(scratch, mark);
  }
  arena_free(scratch);
  return trips;
}

int64_t count_trips(Body *condition, Body *body, Instruction *const *init, int *unknown) {
  *unknown = -1;
  Arena *arena = body->l.arena;
  int n = body->input_count, count = 0;
  bool *leaves = ARENA_ARRAY(arena, bool, n);
  if (!find_inputs(condition, condition->results[0], leaves) || !find_state(body, leaves))
    return -1;
  Instruction **next = ARENA_ARRAY(arena, Instruction *, n);
  Scalar *state = ARENA_ARRAY(arena, Scalar, n);
  for (int i = 0; i < n; i++) {
    if (!leaves[i]) continue;
    Literal *literal = leaf_literal(init[i], 0);
    if (!shape_is_scalar(init[i]->shape) || !literal) {
      *unknown = i;
      return -1;
    }
    state[count] = scalar_load(init[i]->shape->type, literal->data, 0);
    next[count++] = body->results[i];
  }
  const Computation *test = scalar_function(condition, leaves, condition->results, 1);
  return run(test, scalar_function(body, leaves, next, count), state, count);
}
