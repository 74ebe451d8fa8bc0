/* The facts about each value: its tangents, its cotangent, and the reasons for having none. */
#include "derive/gradient/linear.h"

/* ---- Tangents ---- */

/* An instruction is linear if one of its operands is. */
static bool depends_on_tangent(const WorkingComputation *l, const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    if (l->facts[x->operands[k]->id].linear) return true;
  }
  return false;
}

Facts *facts_of(WorkingComputation *l, const Instruction *x) {
  while (l->fact_count <= x->id) {
    Facts facts = {.linear = depends_on_tangent(l, l->m.computation->instructions[l->fact_count])};
    ARENA_PUSH(l->arena, l->facts, l->fact_count, l->fact_capacity, facts);
  }
  return &l->facts[x->id];
}

bool is_linear(WorkingComputation *l, const Instruction *x) { return facts_of(l, x)->linear; }

Instruction *tangent_leaf(WorkingComputation *l, const Instruction *x, int leaf) {
  Facts *facts = facts_of(l, x);
  return facts->tangents ? facts->tangents[leaf] : NULL;
}

Instruction *tangent_of(WorkingComputation *l, const Instruction *x) {
  return tangent_leaf(l, x, 0);
}

void set_tangent_leaf(WorkingComputation *l, const Instruction *x, int leaf, Instruction *tangent) {
  if (!tangent) return;
  Facts *facts = facts_of(l, x);
  if (!facts->tangents) {
    facts->tangents = ARENA_ARRAY(l->arena, Instruction *, shape_leaves(x->shape));
  }
  facts->tangents[leaf] = tangent;
}

void set_tangent(WorkingComputation *l, const Instruction *x, Instruction *tangent) {
  set_tangent_leaf(l, x, 0, tangent);
}

bool has_tangent(WorkingComputation *l, const Instruction *x) {
  return facts_of(l, x)->tangents != NULL;
}

bool has_derivative(const Shape *shape) {
  TypeKind kind = type_kind(shape->type);
  return kind == KIND_FLOAT || kind == KIND_COMPLEX;
}

void no_derivative(WorkingComputation *l, const Instruction *x, const char *why) {
  if (l->d->failed) return;
  l->d->failed = true;
  error_set_op(l->d->error, STATUS_UNIMPLEMENTED, "gradient", "%s \"%s\" of shape %s %s",
               opcode_name(x->opcode), x->name, shape_str(l->arena, x->shape), why);
}

/* ---- Refusals ---- */

typedef struct Refusal {
  const Instruction *x;
  const char *why;
} Refusal;

static void transpose_refused(WorkingComputation *l, Instruction *x,
                              Instruction *const *cotangents) {
  (void)cotangents;
  check_refused(l, x);
}

void check_refused(WorkingComputation *l, const Instruction *x) {
  Facts *facts = facts_of(l, x);
  if (facts->transpose != transpose_refused) return;
  const Refusal *refusal = facts->data;
  no_derivative(l, refusal->x, refusal->why);
}

void refuse_leaf(WorkingComputation *l, Instruction *x, int leaf, const Instruction *from,
                 const char *why) {
  const Shape *shape = shape_leaf(x->shape, leaf);
  if (!has_derivative(shape)) return;
  Refusal *refusal = ARENA_NEW(l->arena, Refusal);
  *refusal = (Refusal){from, why};
  /* Its operand tells it from a stand-in, which has none. It is never copied. */
  Instruction *tangent = make(&l->m, HLO_COPY, shape, &x, 1, NULL);
  Facts *facts = facts_of(l, tangent);
  facts->linear = true;
  facts->transpose = transpose_refused;
  facts->data = refusal;
  set_tangent_leaf(l, x, leaf, tangent);
}

void refuse_derivative(WorkingComputation *l, Instruction *x, const char *why) {
  for (int i = 0; i < shape_leaves(x->shape); i++) refuse_leaf(l, x, i, x, why);
}

/* ---- Cotangents ---- */

Instruction *cotangent_of(WorkingComputation *l, const Instruction *x) {
  Facts *facts = facts_of(l, x);
  return facts->cotangents ? facts->cotangents[0] : NULL;
}

static Instruction **cotangent_slot(WorkingComputation *l, Instruction *x, int leaf) {
  Facts *facts = facts_of(l, x);
  if (!facts->cotangents) {
    facts->cotangents = ARENA_ARRAY(l->arena, Instruction *, shape_leaves(x->shape));
  }
  return &facts->cotangents[leaf];
}

void add_cotangent_leaf(WorkingComputation *l, Instruction *x, int leaf, Instruction *cotangent) {
  if (!cotangent || !is_linear(l, x)) return;
  Instruction *sum = make_plus(&l->m, *cotangent_slot(l, x, leaf), cotangent);
  *cotangent_slot(l, x, leaf) = sum;
}

void add_cotangent(WorkingComputation *l, Instruction *x, Instruction *cotangent) {
  add_cotangent_leaf(l, x, 0, cotangent);
}

Instruction *take_cotangent(WorkingComputation *l, Instruction *x) {
  Instruction *before = cotangent_of(l, x);
  if (before) *cotangent_slot(l, x, 0) = NULL;
  return before ? before : make_zeros(&l->m, x->shape);
}
