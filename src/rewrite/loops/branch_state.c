/*
** Removes dead elements of branches: those of a conditional's or a call's result that have no user, and those of a
** branch's argument that the branch does not read.
**
**     c = conditional(p, (x, y), z)           c = conditional(p, (x), z)
**       true (s): (f(s.0), g(s.0))              true (s): (f(s.0))
**       false (t): (t, h(t))                    false (t): (t)
**     c.0                                     c.0
*/
#include "base/scope.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

/* Finds the elements of a tuple that these users read. Returns their number. */
static int find_live(Instruction *const *users, int count, bool *live) {
  int left = 0;
  for (int u = 0; u < count; u++) {
    bool *is_live = &live[users[u]->a->tuple_index];
    left += !*is_live;
    *is_live = true;
  }
  return left;
}

/* Adds a tuple of the live elements of another to its computation. */
static Instruction *live_tuple(Instruction *tuple, const bool *live, int left) {
  Instruction **elements = ARENA_ARRAY(tuple->parent->module->arena, Instruction *, left);
  int size = tuple->shape->tuple_size, count = 0;
  for (int i = 0; i < size; i++) {
    if (live[i]) elements[count++] = tuple_element(tuple, i);
  }
  return computation_add_tuple(tuple->parent, elements, left);
}

static int *new_numbers(const bool *live, int size) {
  int *number = scope_new((size_t)size, sizeof *number), count = 0;
  for (int i = 0; i < size; i++) {
    number[i] = count;
    count += live[i];
  }
  return number;
}

/* Drops the dead elements of the result of `x`, which has these users. */
static bool drop_results(Instruction *x, Computation **called, int called_count,
                         Instruction *const *users, int user_count) {
  int size = x->shape->tuple_size;
  bool *live = scope_new((size_t)size + 1, sizeof *live);
  int left = find_live(users, user_count, live);
  bool changes = left > 0 && left < size;
  if (changes) {
    for (int c = 0; c < called_count; c++) {
      Instruction *root = live_tuple(called[c]->root, live, left);
      called[c]->root = root;
      x->shape = root->shape;
      computation_sort(called[c]);
    }
    int *number = new_numbers(live, size);
    for (int u = 0; u < user_count; u++) renumber_element(users[u], number);
    scope_free(number);
  }
  scope_free(live);
  return changes;
}

/* Drops the dead elements of a branch's argument, operand k of a conditional. */
static bool drop_argument(Instruction *x, int k, const Computation *branch) {
  Instruction *parameter = branch->parameters[0];
  int size = shape_is_tuple(parameter->shape) ? parameter->shape->tuple_size : 0, left = 0;
  if (!size || !has_only_elements(parameter)) return false;
  bool *live = scope_new((size_t)size, sizeof *live);
  for (int i = 0; i < branch->count; i++) {
    Instruction *user = branch->instructions[i];
    if (user->opcode == HLO_GET_TUPLE_ELEMENT && user->operands[0] == parameter) {
      left += find_live(&user, 1, live);
    }
  }
  if (left < size) {
    int *number = new_numbers(live, size);
    x->operands[k] = live_tuple(x->operands[k], live, left);
    parameter->shape = x->operands[k]->shape;
    renumber_elements(parameter, number);
    scope_free(number);
  }
  scope_free(live);
  return left < size;
}

static bool is_own(Computation *const *called, int count) {
  bool own = count > 0;
  for (int c = 0; c < count; c++) own &= called[c]->callers == 1;
  return own;
}

static bool drop_dead(Instruction *x, Instruction *const *users, int user_count) {
  bool only_elements = shape_is_tuple(x->shape) && x != x->parent->root, changed = false;
  for (int u = 0; u < user_count; u++) only_elements &= users[u]->opcode == HLO_GET_TUPLE_ELEMENT;
  int count = instruction_called(x, NULL);
  Computation **called = scope_new((size_t)count, sizeof *called);
  instruction_called(x, called);
  if (is_own(called, count) && !x->a->control_predecessors.count) {
    if (only_elements) changed |= drop_results(x, called, count, users, user_count);
    for (int c = 0; c < count && x->opcode == HLO_CONDITIONAL; c++) {
      changed |= drop_argument(x, c + 1, called[c]);
    }
  }
  scope_free(called);
  return changed;
}

static bool branch_state(Computation *computation) {
  Arena *arena = NULL;
  Users users = {0};
  int count = computation->count;
  bool changed = false;
  for (int i = 0; i < count; i++) {
    Instruction *x = computation->instructions[i];
    if (x->opcode != HLO_CONDITIONAL && x->opcode != HLO_CALL) continue;
    if (!arena) users = find_users(arena = arena_new(), computation);
    changed |= drop_dead(x, users.lists[i], users.count[i]);
  }
  arena_free(arena);
  if (computation->count != count) computation_sort(computation);
  return changed;
}

bool pass_branch_state(Module *module) {
  module_count_callers(module);
  return for_each_computation(module, branch_state);
}
