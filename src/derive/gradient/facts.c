/* The facts about each value: its tangents, its cotangent, and the reasons for having none. */
#include "derive/gradient/linear.h"

/* ---- Tangents ---- */

/* An instruction is linear if one of its operands is. */
static bool depends_on_tangent(const WorkingComputation *working, const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    if (working->facts[x->operands[k]->id].linear) return true;
  }
  return false;
}

Facts *facts_of(WorkingComputation *working, const Instruction *x) {
  while (working->fact_count <= x->id) {
    Facts facts = {.linear = depends_on_tangent(
                       working, working->m.computation->instructions[working->fact_count])};
    ARENA_PUSH(working->arena, working->facts, working->fact_count, working->fact_capacity, facts);
  }
  return &working->facts[x->id];
}

bool is_linear(WorkingComputation *working, const Instruction *x) {
  return facts_of(working, x)->linear;
}

Instruction *tangent_leaf(WorkingComputation *working, const Instruction *x, int leaf) {
  Facts *facts = facts_of(working, x);
  return facts->tangents ? facts->tangents[leaf] : NULL;
}

Instruction *tangent_of(WorkingComputation *working, const Instruction *x) {
  return tangent_leaf(working, x, 0);
}

void set_tangent_leaf(WorkingComputation *working, const Instruction *x, int leaf,
                      Instruction *tangent) {
  if (!tangent) return;
  Facts *facts = facts_of(working, x);
  if (!facts->tangents) {
    facts->tangents = ARENA_ARRAY(working->arena, Instruction *, shape_leaves(x->shape));
  }
  facts->tangents[leaf] = tangent;
}

void set_tangent(WorkingComputation *working, const Instruction *x, Instruction *tangent) {
  set_tangent_leaf(working, x, 0, tangent);
}

bool has_tangent(WorkingComputation *working, const Instruction *x) {
  return facts_of(working, x)->tangents != NULL;
}

bool has_derivative(const Shape *shape) {
  TypeKind kind = type_kind(shape->type);
  return kind == KIND_FLOAT || kind == KIND_COMPLEX;
}

void no_derivative(WorkingComputation *working, const Instruction *x, const char *why) {
  if (working->d->failed) return;
  working->d->failed = true;
  error_set_op(working->d->error, STATUS_UNIMPLEMENTED, "gradient", "%s \"%s\" of shape %s %s",
               opcode_name(x->opcode), x->name, shape_str(working->arena, x->shape), why);
}

/* ---- Refusals ---- */

typedef struct Refusal {
  const Instruction *x;
  const char *why;
} Refusal;

static void transpose_refused(WorkingComputation *working, Instruction *x,
                              Instruction *const *cotangents) {
  (void)cotangents;
  check_refused(working, x);
}

void check_refused(WorkingComputation *working, const Instruction *x) {
  Facts *facts = facts_of(working, x);
  if (facts->transpose != transpose_refused) return;
  const Refusal *refusal = facts->data;
  no_derivative(working, refusal->x, refusal->why);
}

void refuse_leaf(WorkingComputation *working, Instruction *x, int leaf, const Instruction *from,
                 const char *why) {
  const Shape *shape = shape_leaf(x->shape, leaf);
  if (!has_derivative(shape)) return;
  Refusal *refusal = ARENA_NEW(working->arena, Refusal);
  *refusal = (Refusal){from, why};
  /* Its operand tells it from a stand-in, which has none. It is never copied. */
  Instruction *tangent = make(&working->m, HLO_COPY, shape, &x, 1, NULL);
  Facts *facts = facts_of(working, tangent);
  facts->linear = true;
  facts->transpose = transpose_refused;
  facts->data = refusal;
  set_tangent_leaf(working, x, leaf, tangent);
}

void refuse_derivative(WorkingComputation *working, Instruction *x, const char *why) {
  for (int i = 0; i < shape_leaves(x->shape); i++) refuse_leaf(working, x, i, x, why);
}

/* ---- Cotangents ---- */

Instruction *cotangent_of(WorkingComputation *working, const Instruction *x) {
  Facts *facts = facts_of(working, x);
  return facts->cotangents ? facts->cotangents[0] : NULL;
}

static Instruction **cotangent_slot(WorkingComputation *working, Instruction *x, int leaf) {
  Facts *facts = facts_of(working, x);
  if (!facts->cotangents) {
    facts->cotangents = ARENA_ARRAY(working->arena, Instruction *, shape_leaves(x->shape));
  }
  return &facts->cotangents[leaf];
}

void add_cotangent_leaf(WorkingComputation *working, Instruction *x, int leaf,
                        Instruction *cotangent) {
  if (!cotangent || !is_linear(working, x)) return;
  Instruction *sum = make_plus(&working->m, *cotangent_slot(working, x, leaf), cotangent);
  *cotangent_slot(working, x, leaf) = sum;
}

void add_cotangent(WorkingComputation *working, Instruction *x, Instruction *cotangent) {
  add_cotangent_leaf(working, x, 0, cotangent);
}

Instruction *take_cotangent(WorkingComputation *working, Instruction *x) {
  Instruction *before = cotangent_of(working, x);
  if (before) *cotangent_slot(working, x, 0) = NULL;
  return before ? before : make_zeros(&working->m, x->shape);
}
