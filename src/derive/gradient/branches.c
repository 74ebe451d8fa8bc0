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
  WorkingComputation *working;
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

static bool is_call(const Branches *branches) { return branches->x->opcode != HLO_CONDITIONAL; }

/* Returns the operand from which leaf `leaf` of a branch's parameters comes, and its leaf there. */
static Instruction *operand_of(const Branches *branches, const Branch *branch, int *leaf) {
  int k = branch->first;
  for (;; k++) {
    int count = shape_leaves(branches->operands[k]->shape);
    if (*leaf < count) return branches->operands[k];
    *leaf -= count;
  }
}

static int input_number(Branches *branches, Instruction *tangent) {
  for (int i = 0; i < branches->inputs.count; i++) {
    if (branches->inputs.items[i] == tangent) return i;
  }
  values_push(branches->working, &branches->inputs, tangent);
  return branches->inputs.count - 1;
}

static bool linearize_branch(Branches *branches, Branch *branch, const Computation *computation) {
  int count = computation_parameter_leaves(computation);
  bool *active = ARENA_ARRAY(branches->working->arena, bool, count);
  Literal **literals = ARENA_ARRAY(branches->working->arena, Literal *, count);
  branch->tangents = ARENA_ARRAY(branches->working->arena, int, count);
  for (int i = 0; i < count; i++) {
    int leaf = i;
    Instruction *operand = operand_of(branches, branch, &leaf);
    Instruction *tangent = tangent_leaf(branches->working, operand, leaf);
    active[i] = tangent != NULL;
    literals[i] = leaf_literal(operand, leaf);
    if (!literals[i]) literals[i] = values_around(branches->working, leaf_array(operand, leaf));
    branch->tangents[i] = tangent ? input_number(branches, tangent) : -1;
  }
  if (!body_linearize(&branch->body, branches->working->d, computation, active, literals))
    return false;
  for (int i = 0; i < branch->body.result_count; i++) {
    branches->active[i] |= branch->body.result_tangents[i] != NULL;
  }
  return true;
}

static bool branches_begin(Branches *branches, WorkingComputation *working, const Instruction *x,
                           Instruction **operands, bool recomputed) {
  *branches = (Branches){
      .working = working, .x = x, .operands = operands, .count = 1, .recomputed = recomputed};
  Computation **computations;
  if (is_call(branches)) {
    computations = ARENA_ARRAY(working->arena, Computation *, 1);
    computations[0] = x->a->to_apply;
  } else {
    branches->count = conditional_branches(x, NULL, &branches->predicated);
    computations = ARENA_ARRAY(working->arena, Computation *, branches->count);
    conditional_branches(x, computations, &branches->predicated);
  }
  branches->items = ARENA_ARRAY(working->arena, Branch, branches->count);
  branches->result_count = shape_leaves(x->shape);
  branches->active = ARENA_ARRAY(working->arena, bool, branches->result_count);
  for (int i = 0; i < branches->count; i++) {
    branches->items[i].first = is_call(branches) ? 0 : 1 + i;
    working->d->recomputed += recomputed;
    bool done = linearize_branch(branches, &branches->items[i], computations[i]);
    working->d->recomputed -= recomputed;
    if (!done) return false;
  }
  useful_restrict(working->d, computations[0], branches->active);
  return true;
}

/* ---- The new instruction ---- */

/* Adds a conditional or call of computations that each take one tuple. */
static Instruction *add_branches(Branches *branches, Computation **computations,
                                 Instruction **tuples) {
  WorkingComputation *working = branches->working;
  const Shape *shape = computations[0]->root->shape;
  Attributes a = *branches->x->a;
  a.control_predecessors = (InstructionList){0};
  if (is_call(branches)) {
    a.to_apply = computations[0];
    return make(&working->m, HLO_CALL, shape, tuples, 1, &a);
  }
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, branches->count + 1);
  operands[0] = branches->operands[0];
  for (int i = 0; i < branches->count; i++) operands[i + 1] = tuples[i];
  if (branches->predicated) {
    a.true_computation = computations[0];
    a.false_computation = computations[1];
  } else {
    a.branches = (ComputationList){branches->count, computations};
  }
  return make(&working->m, HLO_CONDITIONAL, shape, operands, branches->count + 1, &a);
}

/* Writes the leaves of a branch's operands. */
static void put_leaves(Branches *branches, const Branch *branch, Values *out) {
  int end = is_call(branches) ? branches->x->operand_count : branch->first + 1;
  for (int k = branch->first; k < end; k++) {
    Instruction **leaves = ARENA_ARRAY(branches->working->arena, Instruction *,
                                       shape_leaves(branches->operands[k]->shape));
    make_leaves(branches->working, branches->operands[k], leaves);
    for (int i = 0; i < shape_leaves(branches->operands[k]->shape); i++) {
      values_push(branches->working, out, leaves[i]);
    }
  }
}

/* Returns the value of x, from the leaves that the new instruction begins with. */
static Instruction *value_of(Branches *branches, Instruction *made) {
  Instruction **leaves =
      ARENA_ARRAY(branches->working->arena, Instruction *, branches->result_count);
  for (int i = 0; i < branches->result_count; i++)
    leaves[i] = make_element(branches->working, made, i);
  Instruction *const *next = leaves;
  return value_from_leaves(&branches->working->m, branches->x->shape, &next);
}

/* ---- Forward ---- */

static Computation *forward_branch(Branches *branches, Branch *branch, Instruction **tuple) {
  Values values = {0};
  Body *b = &branch->body;
  put_leaves(branches, branch, &values);
  for (int i = 0; i < b->input_count; i++) {
    if (branch->tangents[i] >= 0) {
      values_push(branches->working, &values, branches->inputs.items[branch->tangents[i]]);
    }
  }
  *tuple = values_tuple(branches->working, &values);
  Packed p = packed_begin(b, "jvp", (*tuple)->shape);
  int next = b->input_count;
  for (int i = 0; i < b->input_count; i++) {
    extract_bind(&p.e, b->inputs[i], packed_element(&p, i));
    if (b->tangents[i]) extract_bind(&p.e, b->tangents[i], packed_element(&p, next++));
  }
  Values results = {0};
  for (int i = 0; i < branches->result_count; i++) {
    values_push(branches->working, &results, extract(&p.e, b->results[i]));
  }
  for (int i = 0; i < branches->result_count; i++) {
    if (!branches->active[i]) continue;
    Instruction *tangent = packed_copy(&p, b->result_tangents[i], b->results[i]->shape);
    values_push(branches->working, &results, tangent);
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

static Instruction *replace_forward(Branches *branches) {
  Computation **computations =
      ARENA_ARRAY(branches->working->arena, Computation *, branches->count);
  Instruction **tuples = ARENA_ARRAY(branches->working->arena, Instruction *, branches->count);
  for (int i = 0; i < branches->count; i++) {
    computations[i] = forward_branch(branches, &branches->items[i], &tuples[i]);
  }
  Instruction *made = add_branches(branches, computations, tuples),
              *value = value_of(branches, made);
  int next = branches->result_count;
  for (int i = 0; i < branches->result_count; i++) {
    if (branches->active[i])
      set_tangent_leaf(branches->working, value, i, make_element(branches->working, made, next++));
  }
  note_elements(branches->working, value);
  return value;
}

/* ---- Reverse ---- */

/* Finds a slot for each value that a branch saves: the first free one of its shape. */
static void take_slots(Branches *branches, Branch *branch) {
  bool *taken =
      ARENA_ARRAY(branches->working->arena, bool, branches->slots.count + branch->cut.count);
  branch->slots = ARENA_ARRAY(branches->working->arena, int, branch->cut.count);
  for (int i = 0; i < branch->cut.count; i++) {
    const Shape *shape = branch->cut.saved[i]->shape;
    int k = 0;
    while (k < branches->slots.count &&
           (taken[k] || !shape_compatible(branches->slots.items[k]->shape, shape))) {
      k++;
    }
    if (k == branches->slots.count)
      values_push(branches->working, &branches->slots, branch->cut.saved[i]);
    taken[k] = true;
    branch->slots[i] = k;
  }
}

static Computation *saving_branch(Branches *branches, Branch *branch, Instruction **tuple) {
  Values values = {0}, results = {0};
  Body *b = &branch->body;
  put_leaves(branches, branch, &values);
  *tuple = values_tuple(branches->working, &values);
  Packed p = packed_begin(b, "forward", (*tuple)->shape);
  for (int i = 0; i < b->input_count; i++) {
    extract_bind(&p.e, b->inputs[i], packed_element(&p, i));
  }
  for (int i = 0; i < branches->result_count; i++) {
    values_push(branches->working, &results, extract(&p.e, b->results[i]));
  }
  for (int k = 0; k < branches->slots.count; k++) {
    Instruction *saved = NULL;
    for (int i = 0; i < branch->cut.count; i++) {
      if (branch->slots[i] == k) saved = branch->cut.saved[i];
    }
    values_push(branches->working, &results,
                packed_copy(&p, saved, branches->slots.items[k]->shape));
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

/* The data of the transposition: the branches, with slots that are values of the working computation. */
typedef struct Saved {
  Branches branches;
  Values slots;
} Saved;

static Computation *backward_branch(const Saved *saved, const Branch *branch, const Shape *tuple) {
  const Branches *branches = &saved->branches;
  Body *b = (Body *)&branch->body;
  Packed p = packed_begin(b, "backward", tuple);
  for (int i = 0; i < branch->cut.count; i++) {
    extract_bind(&p.e, branch->cut.saved[i], packed_element(&p, branch->slots[i]));
  }
  int next = saved->slots.count;
  for (int i = 0; i < branches->result_count; i++) {
    if (branches->active[i]) extract_bind(&p.e, b->seeds[i], packed_element(&p, next++));
  }
  Values results = {0};
  for (int k = 0; k < branches->inputs.count; k++) {
    Instruction *sum = NULL;
    for (int i = 0; i < b->input_count; i++) {
      if (branch->tangents[i] != k || !b->cotangents[i]) continue;
      Instruction *one = extract(&p.e, b->cotangents[i]);
      sum = sum ? computation_add_binary(p.e.to, HLO_ADD, sum, one) : one;
    }
    values_push(branches->working, &results,
                sum ? sum : extract_zeros(&p.e, branches->inputs.items[k]->shape));
  }
  computation_add_tuple(p.e.to, results.items, results.count);
  return p.e.to;
}

static void transpose_branches(WorkingComputation *working, Instruction *x,
                               Instruction *const *ct) {
  Saved *saved = (Saved *)facts_of(working, x)->data;
  Branches *branches = &saved->branches;
  Values values = saved->slots;
  values.items =
      arena_copy(working->arena, values.items, sizeof *values.items * (size_t)values.count);
  values.capacity = values.count;
  int leaf = 0;
  for (int i = 0; i < branches->result_count; i++) {
    if (!branches->active[i]) continue;
    const Shape *shape = shape_leaf(branches->x->shape, i);
    values_push(working, &values, ct[leaf] ? ct[leaf] : make_zeros(&working->m, shape));
    leaf++;
  }
  Instruction *tuple = values_tuple(working, &values);
  if (branches->recomputed) {
    tuple = make(&working->m, HLO_OPTIMIZATION_BARRIER, tuple->shape, &tuple, 1, NULL);
  }
  Computation **computations = ARENA_ARRAY(working->arena, Computation *, branches->count);
  Instruction **tuples = ARENA_ARRAY(working->arena, Instruction *, branches->count);
  for (int i = 0; i < branches->count; i++) {
    computations[i] = backward_branch(saved, &branches->items[i], tuple->shape);
    tuples[i] = tuple;
  }
  Instruction *made = add_branches(branches, computations, tuples);
  for (int k = 0; k < branches->inputs.count; k++) {
    add_cotangent(working, x->operands[k], make_element(working, made, k));
  }
}

static bool cut_branches(Branches *branches) {
  for (int i = 0; i < branches->count; i++) {
    Branch *branch = &branches->items[i];
    if (!body_transpose(&branch->body, branches->active)) return false;
    branch->cut = cut_primal(&branch->body.working, branch->body.cotangents,
                             branch->body.input_count, NULL, branches->recomputed);
    take_slots(branches, branch);
  }
  return true;
}

/* Returns the value of a slot. If a call saved one of its operands, returns that operand: a loop around the call may know that
** the operand does not change. */
static Instruction *slot_value(Branches *branches, int slot, Instruction *made) {
  const Branch *branch = &branches->items[0];
  Values leaves = {0};
  put_leaves(branches, branch, &leaves);
  for (int i = 0; i < branch->cut.count && is_call(branches); i++) {
    for (int k = 0; k < branch->body.input_count; k++) {
      bool is_input = branch->cut.saved[i] == branch->body.inputs[k];
      if (branch->slots[i] == slot && is_input) return leaves.items[k];
    }
  }
  return make_element(branches->working, made, branches->result_count + slot);
}

static Instruction *replace_reverse(Branches *branches) {
  WorkingComputation *working = branches->working;
  if (!cut_branches(branches)) return branches->operands[0];
  Computation **computations = ARENA_ARRAY(working->arena, Computation *, branches->count);
  Instruction **tuples = ARENA_ARRAY(working->arena, Instruction *, branches->count);
  for (int i = 0; i < branches->count; i++) {
    computations[i] = saving_branch(branches, &branches->items[i], &tuples[i]);
  }
  Instruction *made = add_branches(branches, computations, tuples),
              *value = value_of(branches, made);
  Saved *saved = ARENA_NEW(working->arena, Saved);
  saved->branches = *branches;
  for (int k = 0; k < branches->slots.count; k++) {
    values_push(working, &saved->slots, slot_value(branches, k, made));
  }
  set_linear_results(working, value, branches->active, &branches->inputs, transpose_branches,
                     saved);
  return value;
}

static Instruction *replace(WorkingComputation *working, const Instruction *x,
                            Instruction **operands, bool recomputed) {
  Branches branches;
  if (!branches_begin(&branches, working, x, operands, recomputed)) return operands[0];
  return working->d->reverse ? replace_reverse(&branches) : replace_forward(&branches);
}

Instruction *replace_conditional(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  return replace(working, x, operands, false);
}

Instruction *replace_call(WorkingComputation *working, const Instruction *x,
                          Instruction **operands) {
  return replace(working, x, operands, false);
}

Instruction *replace_recomputed(WorkingComputation *working, const Instruction *x,
                                Instruction **operands) {
  return replace(working, x, operands, true);
}
