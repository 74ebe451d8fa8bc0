/* Compiles loops and branches to thunks: see thunks.h. */
#include "compile/thunks.h"

#include "base/scope.h"

/* ---- In place ---- */

/* Returns the thunk of one time, in a sequence or in its parts. */
static const Thunk *thunk_at(const ThunkSequence *sequence, int time) {
  for (int t = sequence->count - 1; t >= 0 && sequence->thunks[t].time >= time; t--) {
    const Thunk *thunk = &sequence->thunks[t];
    if (thunk->time == time && thunk->kind != THUNK_COPY) return thunk;
  }
  return NULL;
}

/* Whether the step that computes a part's new value may write it over the old value, which it reads. */
static bool overwrites(const ThunkSequence *body, const LogicalBuffer *new_value,
                       const LogicalBuffer *old) {
  const Thunk *thunk = thunk_at(body, new_value->first);
  int operand = 0, result = 0;
  if (!thunk) return false;
  while (operand < thunk->operand_count && thunk->operands[operand] != old) operand++;
  while (result < thunk->result_count && thunk->results[result] != new_value) result++;
  return operand < thunk->operand_count && result < thunk->result_count &&
         thunk_may_overwrite(thunk, operand, result);
}

/* Whether the body may write the new value of a part of the state in place. At that time no step reads the
** old value any more, or only the step that writes the new one does. */
static bool can_update_in_place(const ThunkSequence *body, const LogicalBuffer *new_value,
                                const LogicalBuffer *old, bool moves_on, int loop, int body_begin) {
  if (new_value->slot != SLOT_ARENA || new_value->first < body_begin) return false;
  if (moves_on) return false; /* the old value moves to another leaf */
  if (new_value->result_of == loop || new_value->alias_of) return false; /* it has another place */
  if (old->last < new_value->first) return true;
  if (new_value->copied_from == old) return old->last <= new_value->copied_at;
  return new_value->definer && old->last == new_value->first && overwrites(body, new_value, old);
}

/* Puts intermediate values between a part of the state and its in-place new value into the same memory. Each
** must be dead by then, and be written by the last reader of the one before, which may overwrite it. */
static void update_by_way(const ThunkSequence *body, const LogicalBuffer *new_value,
                          LogicalBuffer *old, int loop) {
  LogicalBuffer *at = old, *next;
  do {
    const Thunk *thunk = thunk_at(body, at->last);
    next = NULL;
    for (int r = 0; thunk && !next && r < thunk->result_count; r++) {
      LogicalBuffer *made = thunk->results[r];
      bool is_free = made->slot == SLOT_ARENA && !made->alias_of && made->result_of != loop &&
                     made->first == thunk->time;
      if (!is_free || made->last <= thunk->time || made->last > new_value->first) continue;
      if (made->last == new_value->first && !overwrites(body, new_value, made)) continue;
      for (int k = 0; k < thunk->operand_count; k++) {
        if (thunk->operands[k] == at && thunk_may_overwrite(thunk, k, r)) next = made;
      }
    }
    if (next) next->alias_of = old;
    at = next;
  } while (at);
}

/* ---- Loops ---- */

/* Finds the leaves of its state that a loop's body returns unchanged. */
static void find_invariant(const Computation *body, bool *is_invariant) {
  const Instruction *root = body->root, *state = body->parameters[0];
  int leaf = 0;
  if (root->opcode != HLO_TUPLE_OP) {
    for (int n = shape_leaves(root->shape); leaf < n; leaf++) is_invariant[leaf] = root == state;
    return;
  }
  for (int i = 0; i < root->operand_count; i++) {
    const Instruction *element = root->operands[i];
    bool is_same = element->opcode == HLO_GET_TUPLE_ELEMENT && element->operands[0] == state &&
                   element->a->tuple_index == i;
    for (int n = shape_leaves(element->shape); n > 0; n--) is_invariant[leaf++] = is_same;
  }
}

static bool is_element(const Instruction *x) { return x->opcode == HLO_GET_TUPLE_ELEMENT; }

/*
** Finds the steps of a loop's body to be done last: those that compute a part of the new state from the
** same part of the old one. After all other steps no reader of the old part is left, so the step can
** overwrite it. By id; NULL if there are none.
*/
static bool *find_late(ThunkCompiler *c, const Computation *body) {
  const Instruction *root = body->root;
  if (root->opcode != HLO_TUPLE_OP) return NULL;
  int *users = scope_new((size_t)body->count, sizeof *users);
  int *ends = scope_new((size_t)body->count, sizeof *ends); /* users that only the root uses */
  for (int i = 0; i < body->count; i++) {
    const Instruction *instruction = body->instructions[i];
    for (int k = 0; k < instruction->operand_count; k++) users[instruction->operands[k]->id]++;
  }
  for (int i = 0; i < root->operand_count; i++) {
    const Instruction *made = root->operands[i];
    if (users[made->id] == 1 && is_element(made)) ends[made->operands[0]->id]++;
  }
  bool *late = ARENA_ARRAY(c->arena, bool, body->count);
  int count = 0;
  for (int i = 0; i < root->operand_count && users[root->id] == 0; i++) {
    const Instruction *made = root->operands[i];
    if (users[made->id] != 1) continue;
    const Instruction *step = is_element(made) ? made->operands[0] : made;
    if (step->opcode != HLO_FUSION || (step != made && ends[step->id] != users[step->id])) continue;
    for (int k = 0; k < step->operand_count; k++) {
      const Instruction *read = step->operands[k];
      bool is_old =
          is_element(read) && read->operands[0] == body->parameters[0] && read->a->tuple_index == i;
      if (is_old && !late[step->id]) count++;
      late[step->id] |= is_old;
    }
  }
  for (int i = 0; i < body->count; i++) {
    const Instruction *x = body->instructions[i];
    if (is_element(x)) late[i] |= late[x->operands[0]->id];
  }
  late[root->id] = true;
  scope_free(ends);
  scope_free(users);
  return count ? late : NULL;
}

/* Returns the state of loop number `loop` before its condition: copies of the initial leaves, or these themselves where the
** body does not change them. */
static Leaves loop_state(ThunkCompiler *c, const Instruction *instruction, int loop, Leaves init,
                         ThunkSequence *sequence) {
  int n = shape_leaves(instruction->shape);
  Leaves state = thunks_new_leaves(c, instruction->shape);
  bool *is_invariant = ARENA_ARRAY(c->arena, bool, n);
  find_invariant(instruction->a->body, is_invariant);
  for (int i = 0; i < n; i++) {
    if (is_invariant[i]) {
      state[i]->slot = SLOT_NONE; /* needs no memory: the initial value's buffer is the state */
      state[i] = init[i];
      continue;
    }
    thunks_add_copy(c, sequence, instruction, init[i], state[i]);
    state[i]->loop = loop;
    state[i]->state_index = i;
    state[i]->copied_from = init[i];
    state[i]->copied_at = c->time;
  }
  return state;
}

/* Ends a body, whose steps begin at time `begin`: computes the root's `n` leaves in place in the state, or copies them there.
** A leaf that is another part of the state (a swap) is copied by way of a temporary, as the copies are sequential. */
static void next_state(ThunkCompiler *c, const Instruction *instruction, int loop, int begin,
                       Leaves root, Leaves state, ThunkSequence *body) {
  int n = shape_leaves(instruction->shape);
  Leaves from = ARENA_ARRAY(c->arena, LogicalBuffer *, n);
  bool *moves_on = ARENA_ARRAY(c->arena, bool, n); /* by leaf: whether it moves to another leaf */
  for (int i = 0; i < n; i++) {
    if (root[i]->loop == loop && root[i]->state_index != i) moves_on[root[i]->state_index] = true;
  }
  for (int i = 0; i < n; i++) {
    if (can_update_in_place(body, root[i], state[i], moves_on[i], loop, begin)) {
      root[i]->alias_of = state[i];
    }
    root[i]->result_of = loop;
    from[i] = root[i]->alias_of == state[i] ? state[i] : root[i];
    if (root[i]->loop != loop || root[i]->state_index == i) continue;
    from[i] = thunks_new_buffer(c, root[i]->shape, SLOT_ARENA);
    thunks_add_copy(c, body, instruction, root[i], from[i]);
  }
  for (int i = 0; i < n; i++) {
    if (from[i] == state[i]) update_by_way(body, root[i], state[i], loop);
  }
  for (int i = 0; i < n; i++) thunks_add_copy(c, body, instruction, from[i], state[i]);
}

Leaves thunks_while(ThunkCompiler *c, const Instruction *instruction, Leaves init,
                    ThunkSequence *sequence) {
  c->time++;
  int loop = ++c->loops;
  Leaves state = loop_state(c, instruction, loop, init, sequence);
  Thunk thunk = {.kind = THUNK_WHILE, .instruction = instruction, .begin = c->time + 1};
  thunk.condition = ARENA_NEW(c->arena, ThunkSequence);
  thunk.body = ARENA_NEW(c->arena, ThunkSequence);
  thunk.predicate = thunks_compile(c, instruction->a->condition, NULL, &state, thunk.condition)[0];
  c->time++; /* the runtime reads the predicate after the condition's last step */
  thunks_use(c, thunk.predicate);
  int body_begin = c->time;
  const bool *late = find_late(c, instruction->a->body);
  Leaves root = thunks_compile(c, instruction->a->body, late, &state, thunk.body);
  next_state(c, instruction, loop, body_begin, root, state, thunk.body);
  thunk.end = c->time++;
  Thunk *added = thunks_add(c, sequence, THUNK_WHILE, instruction);
  thunk.state_count = shape_leaves(instruction->shape);
  thunk.state = state;
  thunk.next = root;
  *added = thunk;
  for (int i = 0; i < thunk.state_count; i++) thunks_use(c, state[i]);
  return state;
}

/* ---- Branches ---- */

Leaves thunks_conditional(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                          ThunkSequence *sequence) {
  bool predicated;
  int branch_count = conditional_branches(instruction, NULL, &predicated);
  Computation **branches = ARENA_ARRAY(c->arena, Computation *, branch_count);
  conditional_branches(instruction, branches, &predicated);
  int n = shape_leaves(instruction->shape);
  c->time++;
  Leaves result = thunks_new_leaves(c, instruction->shape);
  for (int i = 0; i < n; i++) result[i]->of_branches = true;
  Leaves index = values[instruction->operands[0]->id];
  Thunk thunk = {.kind = THUNK_CONDITIONAL, .instruction = instruction, .begin = c->time};
  thunk.branches = ARENA_ARRAY(c->arena, ThunkSequence, branch_count);
  thunk.branch_count = branch_count;
  thunks_use(c, index[0]);
  for (int b = 0; b < branch_count; b++) {
    Leaves argument = values[instruction->operands[b + 1]->id];
    Leaves root = thunks_compile(c, branches[b], NULL, &argument, &thunk.branches[b]);
    for (int i = 0; i < n; i++) {
      thunks_add_copy(c, &thunk.branches[b], instruction, root[i], result[i]);
    }
    c->time++;
  }
  thunk.end = c->time;
  Thunk *added = thunks_add(c, sequence, THUNK_CONDITIONAL, instruction);
  *added = thunk;
  added->operands = index;
  added->operand_count = 1;
  for (int i = 0; i < n; i++) thunks_use(c, result[i]);
  return result;
}
