/*
** Finds results of computations that the derivative of the program's result can depend on: the second half of an activity
** analysis, whose first half finds what depends on the parameters.
**
** A loop's state may have floats that only decide when the loop ends, such as the norm of Newton's last step. Their
** cotangents are 0, but the product of 0 and the slope of a norm at 0 is NaN. So reverse mode gives them no cotangents, and
** saves no slopes for them.
**
** The data flow is followed from the entry's root to operands, from callers to callees. It ends at results that have no
** derivative by floats: those of comparisons, is-finite, and conversions to integers. Integers count otherwise, as they may
** be the bits of floats.
*/
#include "derive/gradient/linear.h"

/* Threshold MAX_PASSES: over a loop's body; after them its whole state is useful. Test: "floats that only decide when a loop
** ends have no slopes" in api/gradients.test.mjs. */
enum { MAX_PASSES = 8 };

typedef struct Flow {
  Arena *arena;
  bool **
      roots; /* by number of the computation: the leaves of its root; NULL: none is useful so far */
  bool **leaves; /* by id in the computation at hand */
  bool inner;    /* whether callees are told what their callers need */
} Flow;

static bool *flags_of(Flow *f, bool **flags, const Shape *shape) {
  if (!*flags) *flags = ARENA_ARRAY(f->arena, bool, shape_leaves(shape));
  return *flags;
}

/* Sets `count` of an instruction's leaves from leaf `to` on, by `from`, or all if that is NULL. */
static void add_flags(Flow *f, const Instruction *x, int to, const bool *from, int count) {
  bool *flags = flags_of(f, &f->leaves[x->id], x->shape);
  for (int i = 0; i < count; i++) flags[to + i] |= from ? from[i] : true;
}

static void add_roots(Flow *f, const Computation *c, const bool *from) {
  bool *flags = flags_of(f, &f->roots[c->number], c->root->shape);
  for (int i = 0; i < shape_leaves(c->root->shape); i++) flags[i] |= from ? from[i] : true;
}

static void follow_elements(Flow *f, const Instruction *x, const bool *flags) {
  int leaf = 0;
  if (x->opcode == HLO_TUPLE_OP) {
    for (int k = 0; k < x->operand_count; k++) {
      int count = shape_leaves(x->operands[k]->shape);
      add_flags(f, x->operands[k], 0, flags + leaf, count);
      leaf += count;
    }
    return;
  }
  const Shape *tuple = x->operands[0]->shape;
  for (int64_t i = 0; i < x->a->tuple_index; i++) leaf += shape_leaves(tuple->elements[i]);
  add_flags(f, x->operands[0], leaf, flags, shape_leaves(x->shape));
}

static void follow(Flow *f, const Instruction *x);

/* Follows the data flow of a computation. Returns the useful leaves of its first parameter; NULL: none. */
static const bool *follow_computation(Flow *f, const Computation *c, bool inner) {
  Flow g = {f->arena, f->roots, ARENA_ARRAY(f->arena, bool *, c->count), inner};
  add_flags(&g, c->root, 0, f->roots[c->number], shape_leaves(c->root->shape));
  for (int i = c->count - 1; i >= 0; i--) follow(&g, c->instructions[i]);
  return c->parameter_count ? g.leaves[c->parameters[0]->id] : NULL;
}

/* Of a loop's state, an element is useful if it is so after an iteration, or if such an element comes from it. */
static void follow_loop(Flow *f, const Instruction *x) {
  const Computation *body = x->a->body;
  add_roots(f, body, f->leaves[x->id]);
  bool *roots = f->roots[body->number], changed = true;
  for (int pass = 0; changed; pass++) {
    const bool *before = follow_computation(f, body, false);
    changed = false;
    for (int i = 0; i < shape_leaves(x->shape); i++) {
      if (roots[i] || (pass < MAX_PASSES && !(before && before[i]))) continue;
      roots[i] = changed = true;
    }
  }
  add_flags(f, x->operands[0], 0, roots, shape_leaves(x->shape));
}

static void follow(Flow *f, const Instruction *x) {
  const bool *flags = f->leaves[x->id];
  bool ends = x->opcode == HLO_COMPARE || x->opcode == HLO_IS_FINITE ||
              (x->opcode == HLO_CONVERT && !has_derivative(x->shape));
  if (!flags || ends) return;
  bool is_call = x->opcode == HLO_CALL || x->opcode == HLO_CONDITIONAL;
  if (x->opcode == HLO_TUPLE_OP || x->opcode == HLO_GET_TUPLE_ELEMENT) {
    follow_elements(f, x, flags);
    return;
  }
  if (x->opcode == HLO_WHILE && f->inner) {
    follow_loop(f, x);
    return;
  }
  if (f->inner) {
    int count = instruction_called(x, NULL);
    Computation **called = ARENA_ARRAY(f->arena, Computation *, count);
    instruction_called(x, called);
    for (int i = 0; i < count; i++) add_roots(f, called[i], is_call ? flags : NULL);
  }
  for (int k = 0; k < x->operand_count; k++) {
    add_flags(f, x->operands[k], 0, NULL, shape_leaves(x->operands[k]->shape));
  }
}

void useful_find(Differentiation *d, Arena *arena) {
  const Module *module = d->module;
  Flow f = {.arena = arena, .roots = ARENA_ARRAY(arena, bool *, module->numbers), .inner = true};
  d->useful_count = module->numbers;
  d->useful = f.roots;
  for (int i = 0; i < module->count; i++) computation_renumber(module->computations[i]);
  add_roots(&f, module->entry, NULL);
  for (int i = module->count - 1; i >= 0; i--) {
    const Computation *c = module->computations[i];
    if (f.roots[c->number]) follow_computation(&f, c, true);
  }
}

void useful_restrict(const Differentiation *d, const Computation *c, bool *active) {
  if (!d->reverse || c->number >= d->useful_count) return;
  const bool *useful = d->useful[c->number];
  for (int i = 0; i < shape_leaves(c->root->shape); i++) active[i] &= useful && useful[i];
}
