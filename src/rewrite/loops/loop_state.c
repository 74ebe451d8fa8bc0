/*
** Removes dead elements of a loop's state. An element is live if the condition, a user of the loop, or the update of a live
** element reads it. Merges two elements with equal initial values and equal updates. Outside the loop, an element that
** the body passes on unchanged is replaced by its initial value.
**
**     while((i, x, n, j = i)): i < n, (i + 1, x * x, n, j + 1)    while((i, n)): i < n, (i + 1, n)
**
** The first line holds if users of the loop read only i.
*/
#include "base/scope.h"
#include "hlo/ir/attribute_compare.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

typedef struct State {
  Instruction *loop, *inside, *tested; /* the parameters of body and condition */
  Instruction *root, *init;            /* root: of the body */
  Instruction **users;                 /* of the loop */
  int user_count, size;
  bool *live; /* by element */
} State;

static bool find_state(State *s, Instruction *loop, const Users *users) {
  const Computation *body = loop->a->body, *condition = loop->a->condition;
  if (loop->a->control_predecessors.count || !shape_is_tuple(loop->shape) || body->callers > 1 ||
      condition->callers > 1 || body->root->opcode != HLO_TUPLE_OP || loop == loop->parent->root ||
      !has_only_elements(body->parameters[0]) || !has_only_elements(condition->parameters[0])) {
    return false;
  }
  for (int i = 0; i < body->count; i++) { /* the root has no other use */
    const Instruction *x = body->instructions[i];
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] == body->root) return false;
    }
  }
  *s = (State){.loop = loop,
               .inside = body->parameters[0],
               .tested = condition->parameters[0],
               .root = body->root,
               .init = loop->operands[0],
               .users = users->lists[loop->id],
               .user_count = users->count[loop->id],
               .size = loop->shape->tuple_size};
  for (int u = 0; u < s->user_count; u++) {
    if (!is_element_of(s->users[u], loop)) return false;
  }
  return true;
}

/* ---- Elements passed on unchanged ---- */

static bool skip_passed_on(State *s) {
  int kept = 0;
  for (int u = 0; u < s->user_count; u++) {
    Instruction *user = s->users[u];
    int64_t index = user->a->tuple_index;
    const Instruction *next = s->root->operands[index];
    bool is_same = is_element_of(next, s->inside) && next->a->tuple_index == index;
    Instruction *before = is_same ? tuple_element(s->init, index) : NULL;
    if (before && shape_equal(before->shape, user->shape)) {
      instruction_become(user, shape_is_array(user->shape) ? HLO_COPY : HLO_OPTIMIZATION_BARRIER,
                         &before, 1, NULL);
    } else {
      s->users[kept++] = user;
    }
  }
  bool changed = kept < s->user_count;
  s->user_count = kept;
  return changed;
}

/* ---- Twins ---- */

/* Whether elements i and j begin equal and are updated as f(state[i], y) and f(state[j], y). */
static bool are_twins(const State *s, int i, int j) {
  const Instruction *a = s->root->operands[i], *b = s->root->operands[j];
  if (s->init->opcode != HLO_TUPLE_OP || s->init->operands[i] != s->init->operands[j] ||
      a->opcode != b->opcode || !opcode_is_elementwise(a->opcode) || a->operand_count != 2 ||
      !shape_equal(a->shape, b->shape) || !attributes_equal(a->opcode, a->a, b->a)) {
    return false;
  }
  for (int k = 0; k < 2; k++) {
    const Instruction *x = a->operands[k], *y = b->operands[k];
    bool own = is_element_of(x, s->inside) && x->a->tuple_index == i &&
               is_element_of(y, s->inside) && y->a->tuple_index == j;
    if (own && a->operands[1 - k] == b->operands[1 - k]) return true;
  }
  return false;
}

static void read_instead(const Computation *computation, const Instruction *state, int of,
                         int now) {
  for (int i = 0; i < computation->count; i++) {
    Instruction *x = computation->instructions[i];
    if (is_element_of(x, state) && x->a->tuple_index == of)
      instruction_attributes(x)->tuple_index = now;
  }
}

static bool join_twins(const State *s) {
  /* Threshold MAX_ELEMENTS. Test: "loops with a state of several arrays" in core/thresholds_programs.test.mjs. */
  enum { MAX_ELEMENTS = 64 };
  bool changed = false;
  for (int j = 1; j < s->size && s->size <= MAX_ELEMENTS; j++) {
    for (int i = 0; i < j; i++) {
      if (!are_twins(s, i, j)) continue;
      read_instead(s->loop->a->body, s->inside, j, i);
      read_instead(s->loop->a->condition, s->tested, j, i);
      for (int u = 0; u < s->user_count; u++) {
        if (s->users[u]->a->tuple_index == j) instruction_attributes(s->users[u])->tuple_index = i;
      }
      changed = true;
      break;
    }
  }
  return changed;
}

/* ---- Dead elements ---- */

typedef struct Marks {
  bool *needed; /* by id, of the body's instructions */
  Instruction **stack;
  int depth;
} Marks;

static void mark(Marks *m, Instruction *x) {
  if (m->needed[x->id]) return;
  m->needed[x->id] = true;
  m->stack[m->depth++] = x;
}

static void mark_element(State *s, Marks *m, int64_t index) {
  if (s->live[index]) return;
  s->live[index] = true;
  mark(m, s->root->operands[index]);
}

/* Marks live elements, from those read outside, by the condition, and by operations with side effects. */
static void mark_all(State *s, Marks *m) {
  const Computation *body = s->loop->a->body, *condition = s->loop->a->condition;
  for (int u = 0; u < s->user_count; u++) mark_element(s, m, s->users[u]->a->tuple_index);
  for (int i = 0; i < condition->count; i++) {
    const Instruction *x = condition->instructions[i];
    if (is_element_of(x, s->tested)) mark_element(s, m, x->a->tuple_index);
  }
  unsigned walk = module_walk(body->module);
  for (int i = 0; i < body->count; i++) {
    Instruction *x = body->instructions[i];
    if (x->opcode == HLO_PARAMETER || instruction_has_side_effect_on(x, &walk)) mark(m, x);
  }
  while (m->depth) {
    const Instruction *x = m->stack[--m->depth];
    if (is_element_of(x, s->inside)) mark_element(s, m, x->a->tuple_index);
    for (int k = 0; k < x->operand_count; k++) mark(m, x->operands[k]);
  }
}

/* Keeps the live elements of the state and the needed instructions of the body. */
static void drop_dead(State *s, const bool *needed, int left) {
  Computation *body = s->loop->a->body;
  Arena *arena = body->module->arena;
  Instruction **next = ARENA_ARRAY(arena, Instruction *, left);
  Instruction **init = ARENA_ARRAY(arena, Instruction *, left);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, left);
  int *number = ARENA_ARRAY(arena, int, s->size), count = 0, kept = 0;
  for (int i = 0; i < s->size; i++) {
    if (!s->live[i]) continue;
    init[count] = tuple_element(s->init, i);
    next[count] = s->root->operands[i];
    shapes[count] = s->loop->shape->elements[i];
    number[i] = count++;
  }
  const Shape *shape = shape_tuple(arena, left, shapes);
  for (int i = 0; i < body->count; i++) {
    Instruction *x = body->instructions[i];
    if (needed[x->id] || x == s->root) body->instructions[kept++] = x;
  }
  body->count = kept;
  renumber_elements(s->inside, number);
  renumber_elements(s->tested, number);
  for (int u = 0; u < s->user_count; u++) {
    renumber_element(s->users[u], number);
  }
  instruction_become(s->root, HLO_TUPLE_OP, next, left, NULL);
  s->loop->operands[0] = computation_add(s->loop->parent, HLO_TUPLE_OP, shape, init, left, NULL);
  s->loop->shape = s->root->shape = s->inside->shape = s->tested->shape = shape;
}

static bool remove_dead(State *s) {
  Computation *body = s->loop->a->body;
  computation_renumber(body);
  Marks m = {.needed = scope_new((size_t)body->count, sizeof *m.needed),
             .stack = scope_new((size_t)body->count, sizeof *m.stack)};
  s->live = scope_new((size_t)s->size + 1, sizeof *s->live);
  mark_all(s, &m);
  int left = 0;
  for (int i = 0; i < s->size; i++) left += s->live[i];
  bool changes = left > 0 && left < s->size;
  if (changes) drop_dead(s, m.needed, left);
  scope_free(s->live);
  scope_free(m.stack);
  scope_free(m.needed);
  return changes;
}

/* ---- The pass ---- */

static bool loop_state(Computation *computation) {
  Arena *arena = NULL;
  Users users = {0};
  int count = computation->count;
  bool changed = false;
  for (int i = 0; i < count; i++) {
    State s;
    Instruction *loop = computation->instructions[i];
    if (loop->opcode != HLO_WHILE) continue;
    if (!arena) users = find_users(arena = arena_new(), computation);
    if (!find_state(&s, loop, &users)) continue;
    changed |= skip_passed_on(&s);
    changed |= join_twins(&s);
    changed |= remove_dead(&s);
  }
  arena_free(arena);
  if (computation->count != count) computation_sort(computation);
  return changed;
}

bool pass_loop_state(Module *module) {
  module_count_callers(module);
  return for_each_computation(module, loop_state);
}
