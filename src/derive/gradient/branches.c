/*
** Differentiates conditional and call, which is a conditional with one branch.
**
** Forward mode: each branch also computes the tangents of its results.
**
** Reverse mode: each branch also returns the values that its transposition needs. They lie in slots, which the
** branches share: a branch fills the slots that it has no use for with zeros. The cotangents then come from a second
** conditional, by the same predicate or index, on the slots and the cotangents of the results.
**
** A call that is recomputed saves its operands only, as jax.checkpoint does. The second call does the first one again,
** after an optimization barrier, so that their equal instructions are not shared.
*/
#include "derive/gradient/body.h"
#include "derive/gradient/trips.h"

typedef struct Branch {
  Body body;
  int first;     /* the number of the branch's first operand; a branch of a conditional has one */
  int *tangents; /* by leaf of the parameters: the number in Branches.inputs; -1: none */
  int *slots;    /* by saved value: its slot */
  Cut cut;
} Branch;

typedef struct Branches {
  WorkingComputation *l;
  const Instruction *x; /* in the source */
  Instruction **operands;
  int count;
  Branch *items;
  bool predicated, recomputed;
  int result_count; /* leaves */
  bool *active;     /* by leaf of the result: whether some branch gives it a tangent */
  Values inputs;    /* tangents of the branches' operands, each once */
  Values slots;     /* a value of the slot's shape, of some branch */
} Branches;

static bool is_call(const Branches *s) { return s->x->opcode != HLO_CONDITIONAL; }

/* Returns the operand from which leaf `leaf` of a branch's parameters comes, and its leaf there. */
static Instruction *operand_of(const Branches *s, const Branch *branch, int *leaf) {
  int k = branch->first;
  for (;; k++) {
    int count = shape_leaves(s->operands[k]->shape);
    if (*leaf < count) return s->operands[k];
    *leaf -= count;
  }
}

static int input_number(Branches *s, Instruction *tangent) {
  for (int i = 0; i < s->inputs.count; i++) {
    if (s->inputs.items[i] == tangent) return i;
  }
  values_push(s->l, &s->inputs, tangent);
  return s->inputs.count - 1;
}

static bool linearize_branch(Branches *s, Branch *branch, const Computation *computation) {
  int count = computation_parameter_leaves(computation);
  bool *active = ARENA_ARRAY(s->l->arena, bool, count);
  Literal **literals = ARENA_ARRAY(s->l->arena, Literal *, count);
  branch->tangents = ARENA_ARRAY(s->l->arena, int, count);
  for (int i = 0; i < count; i++) {
    int leaf = i;
    Instruction *operand = operand_of(s, branch, &leaf);
    Instruction *tangent = tangent_leaf(s->l, operand, leaf);
    active[i] = tangent != NULL;
    literals[i] = leaf_literal(operand, leaf);
    if (!literals[i]) literals[i] = values_around(s->l, leaf_array(operand, leaf));
    branch->tangents[i] = tangent ? input_number(s, tangent) : -1;
  }
  if (!body_linearize(&branch->body, s->l->d, computation, active, literals)) return false;
  for (int i = 0; i < branch->body.result_count; i++) {
    s->active[i] |= branch->body.result_tangents[i] != NULL;
  }
  return true;
}

static bool branches_begin(Branches *s, WorkingComputation *l, const Instruction *x,
                           Instruction **operands, bool recomputed) {
  *s = (Branches){.l = l, .x = x, .operands = operands, .count = 1, .recomputed = recomputed};
  Computation **computations;
  if (is_call(s)) {
    computations = ARENA_ARRAY(l->arena, Computation *, 1);
    computations[0] = x->a->to_apply;
  } else {
    s->count = conditional_branches(x, NULL, &s->predicated);
    computations = ARENA_ARRAY(l->arena, Computation *, s->count);
    conditional_branches(x, computations, &s->predicated);
  }
  s->items = ARENA_ARRAY(l->arena, Branch, s->count);
  s->result_count = shape_leaves(x->shape);
  s->active = ARENA_ARRAY(l->arena, bool, s->result_count);
  for (int i = 0; i < s->count; i++) {
    s->items[i].first = is_call(s) ? 0 : 1 + i;
    l->d->recomputed += recomputed;
    bool done = linearize_branch(s, &s->items[i], computations[i]);
    l->d->recomputed -= recomputed;
    if (!done) return false;
  }
  return true;
}

/* ---- The new instruction ---- */

/* Adds a conditional or call of computations that each take one tuple. */
static Instruction *add_branches(Branches *s, Computation **computations, Instruction **tuples) {
  WorkingComputation *l = s->l;
  const Shape *shape = computations[0]->root->shape;
  Attributes a = *s->x->a;
  a.control_predecessors = (InstructionList){0};
  if (is_call(s)) {
    a.to_apply = computations[0];
    return make(&l->m, HLO_CALL, shape, tuples, 1, &a);
  }
  Instruction **operands = ARENA_ARRAY(l->arena, Instruction *, s->count + 1);
  operands[0] = s->operands[0];
  for (int i = 0; i < s->count; i++) operands[i + 1] = tuples[i];
  if (s->predicated) {
    a.true_computation = computations[0];
    a.false_computation = computations[1];
  } else {
    a.branches = (ComputationList){s->count, computations};
  }
  return make(&l->m, HLO_CONDITIONAL, shape, operands, s->count + 1, &a);
}

/* Writes the leaves of a branch's operands. */
static void put_leaves(Branches *s, const Branch *branch, Values *out) {
  int end = is_call(s) ? s->x->operand_count : branch->first + 1;
  for (int k = branch->first; k < end; k++) {
    Instruction **leaves =
        ARENA_ARRAY(s->l->arena, Instruction *, shape_leaves(s->operands[k]->shape));
    make_leaves(s->l, s->operands[k], leaves);
    for (int i = 0; i < shape_leaves(s->operands[k]->shape); i++) {
      values_push(s->l, out, leaves[i]);
    }
  }
}

/* Returns the value of x, from the leaves that the new instruction begins with. */
static Instruction *value_of(Branches *s, Instruction *made) {
  Instruction **leaves = ARENA_ARRAY(s->l->arena, Instruction *, s->result_count);
  for (int i = 0; i < s->result_count; i++) leaves[i] = make_element(s->l, made, i);
  Instruction *const *next = leaves;
  return value_from_leaves(&s->l->m, s->x->shape, &next);
}

/* ---- Forward ---- */

static Computation *forward_branch(Branches *s, Branch *branch, Instruction **tuple) {
  Values values = {0};
  Body *b = &branch->body;
  put_leaves(s, branch, &values);
  for (int i = 0; i < b->input_count; i++) {
    if (branch->tangents[i] >= 0) {
      values_push(s->l, &values, s->inputs.items[branch->tangents[i]]);
    }
  }
  *tuple = values_tuple(s->l, &values);
  Packed p = packed_begin(b, "jvp", (*tuple)->shape);
  int next = b->input_count;
  for (int i = 0; i < b->input_count; i++) {
    extract_bind(&p.e, b->inputs[i], packed_element(&p, i));
    if (b->tangents[i]) extract_bind(&p.e, b->tangents[i], packed_element(&p, next++));
  }
  Values results = {0};
  for (int i = 0; i < s->result_count; i++) {
    values_push(s->l, &results, extract(&p.e, b->results[i]));
  }
  for (int i = 0; i < s->result_count; i++) {
    if (!s->active[i]) continue;
    Instruction *tangent = packed_copy(&p, b->result_tangents[i], b->results[i]->shape);
    values_push(s->l, &results, tangent);
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

static Instruction *replace_forward(Branches *s) {
  Computation **computations = ARENA_ARRAY(s->l->arena, Computation *, s->count);
  Instruction **tuples = ARENA_ARRAY(s->l->arena, Instruction *, s->count);
  for (int i = 0; i < s->count; i++) {
    computations[i] = forward_branch(s, &s->items[i], &tuples[i]);
  }
  Instruction *made = add_branches(s, computations, tuples), *value = value_of(s, made);
  int next = s->result_count;
  for (int i = 0; i < s->result_count; i++) {
    if (s->active[i]) set_tangent_leaf(s->l, value, i, make_element(s->l, made, next++));
  }
  note_elements(s->l, value);
  return value;
}

/* ---- Reverse ---- */

/* Finds a slot for each value that a branch saves: the first free one of its shape. */
static void take_slots(Branches *s, Branch *branch) {
  bool *taken = ARENA_ARRAY(s->l->arena, bool, s->slots.count + branch->cut.count);
  branch->slots = ARENA_ARRAY(s->l->arena, int, branch->cut.count);
  for (int i = 0; i < branch->cut.count; i++) {
    const Shape *shape = branch->cut.saved[i]->shape;
    int k = 0;
    while (k < s->slots.count && (taken[k] || !shape_compatible(s->slots.items[k]->shape, shape))) {
      k++;
    }
    if (k == s->slots.count) values_push(s->l, &s->slots, branch->cut.saved[i]);
    taken[k] = true;
    branch->slots[i] = k;
  }
}

static Computation *saving_branch(Branches *s, Branch *branch, Instruction **tuple) {
  Values values = {0}, results = {0};
  Body *b = &branch->body;
  put_leaves(s, branch, &values);
  *tuple = values_tuple(s->l, &values);
  Packed p = packed_begin(b, "forward", (*tuple)->shape);
  for (int i = 0; i < b->input_count; i++) {
    extract_bind(&p.e, b->inputs[i], packed_element(&p, i));
  }
  for (int i = 0; i < s->result_count; i++) {
    values_push(s->l, &results, extract(&p.e, b->results[i]));
  }
  for (int k = 0; k < s->slots.count; k++) {
    Instruction *saved = NULL;
    for (int i = 0; i < branch->cut.count; i++) {
      if (branch->slots[i] == k) saved = branch->cut.saved[i];
    }
    values_push(s->l, &results, packed_copy(&p, saved, s->slots.items[k]->shape));
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

/* The data of the transposition: the branches, with slots that are values of the working computation. */
typedef struct Saved {
  Branches s;
  Values slots;
} Saved;

static Computation *backward_branch(const Saved *saved, const Branch *branch, const Shape *tuple) {
  const Branches *s = &saved->s;
  Body *b = (Body *)&branch->body;
  Packed p = packed_begin(b, "backward", tuple);
  for (int i = 0; i < branch->cut.count; i++) {
    extract_bind(&p.e, branch->cut.saved[i], packed_element(&p, branch->slots[i]));
  }
  int next = saved->slots.count;
  for (int i = 0; i < s->result_count; i++) {
    if (s->active[i]) extract_bind(&p.e, b->seeds[i], packed_element(&p, next++));
  }
  Values results = {0};
  for (int k = 0; k < s->inputs.count; k++) {
    Instruction *sum = NULL;
    for (int i = 0; i < b->input_count; i++) {
      if (branch->tangents[i] != k || !b->cotangents[i]) continue;
      Instruction *one = extract(&p.e, b->cotangents[i]);
      sum = sum ? computation_add_binary(p.e.to, HLO_ADD, sum, one) : one;
    }
    values_push(s->l, &results, sum ? sum : extract_zeros(&p.e, s->inputs.items[k]->shape));
  }
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

static void transpose_branches(WorkingComputation *l, Instruction *x, Instruction *const *ct) {
  Saved *saved = (Saved *)facts_of(l, x)->data;
  Branches *s = &saved->s;
  Values values = saved->slots;
  values.items = arena_copy(l->arena, values.items, sizeof *values.items * (size_t)values.count);
  values.capacity = values.count;
  int leaf = 0;
  for (int i = 0; i < s->result_count; i++) {
    if (!s->active[i]) continue;
    const Shape *shape = shape_leaf(s->x->shape, i);
    values_push(l, &values, ct[leaf] ? ct[leaf] : make_zeros(&l->m, shape));
    leaf++;
  }
  Instruction *tuple = values_tuple(l, &values);
  if (s->recomputed) {
    tuple = make(&l->m, HLO_OPTIMIZATION_BARRIER, tuple->shape, &tuple, 1, NULL);
  }
  Computation **computations = ARENA_ARRAY(l->arena, Computation *, s->count);
  Instruction **tuples = ARENA_ARRAY(l->arena, Instruction *, s->count);
  for (int i = 0; i < s->count; i++) {
    computations[i] = backward_branch(saved, &s->items[i], tuple->shape);
    tuples[i] = tuple;
  }
  Instruction *made = add_branches(s, computations, tuples);
  for (int k = 0; k < s->inputs.count; k++) {
    add_cotangent(l, x->operands[k], make_element(l, made, k));
  }
}

static bool cut_branches(Branches *s) {
  for (int i = 0; i < s->count; i++) {
    Branch *branch = &s->items[i];
    if (!body_transpose(&branch->body, s->active)) return false;
    branch->cut = cut_primal(&branch->body.l, branch->body.cotangents, branch->body.input_count,
                             NULL, s->recomputed);
    take_slots(s, branch);
  }
  return true;
}

/* Returns the value of a slot. If a call saved one of its operands, returns that operand: a loop around the call may know that
** the operand does not change. */
static Instruction *slot_value(Branches *s, int slot, Instruction *made) {
  const Branch *branch = &s->items[0];
  Values leaves = {0};
  put_leaves(s, branch, &leaves);
  for (int i = 0; i < branch->cut.count && is_call(s); i++) {
    for (int k = 0; k < branch->body.input_count; k++) {
      bool is_input = branch->cut.saved[i] == branch->body.inputs[k];
      if (branch->slots[i] == slot && is_input) return leaves.items[k];
    }
  }
  return make_element(s->l, made, s->result_count + slot);
}

static Instruction *replace_reverse(Branches *s) {
  WorkingComputation *l = s->l;
  if (!cut_branches(s)) return s->operands[0];
  Computation **computations = ARENA_ARRAY(l->arena, Computation *, s->count);
  Instruction **tuples = ARENA_ARRAY(l->arena, Instruction *, s->count);
  for (int i = 0; i < s->count; i++) {
    computations[i] = saving_branch(s, &s->items[i], &tuples[i]);
  }
  Instruction *made = add_branches(s, computations, tuples), *value = value_of(s, made);
  Saved *saved = ARENA_NEW(l->arena, Saved);
  saved->s = *s;
  for (int k = 0; k < s->slots.count; k++) {
    values_push(l, &saved->slots, slot_value(s, k, made));
  }
  set_linear_results(l, value, s->active, &s->inputs, transpose_branches, saved);
  return value;
}

static Instruction *replace(WorkingComputation *l, const Instruction *x, Instruction **operands,
                            bool recomputed) {
  Branches s;
  if (!branches_begin(&s, l, x, operands, recomputed)) return operands[0];
  return l->d->reverse ? replace_reverse(&s) : replace_forward(&s);
}

Instruction *replace_conditional(WorkingComputation *l, const Instruction *x,
                                 Instruction **operands) {
  return replace(l, x, operands, false);
}

Instruction *replace_call(WorkingComputation *l, const Instruction *x, Instruction **operands) {
  return replace(l, x, operands, false);
}

Instruction *replace_recomputed(WorkingComputation *l, const Instruction *x,
                                Instruction **operands) {
  return replace(l, x, operands, true);
}
