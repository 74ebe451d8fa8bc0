/* What is known of each value: its tangents, its cotangent, and the refusals among them. */
#include "derive/gradient/linear.h"

/* ---- Tangents ---- */

/* An instruction is linear if one of its operands is. */
static bool depends_on_tangent(const Linear *l, const Instruction *x) {
  for (int k = 0; k < x->operand_count; k++) {
    if (l->notes[x->operands[k]->id].linear) return true;
  }
  return false;
}

Note *note_of(Linear *l, const Instruction *x) {
  while (l->note_count <= x->id) {
    Note note = {.linear = depends_on_tangent(l, l->m.computation->instructions[l->note_count])};
    ARENA_PUSH(l->arena, l->notes, l->note_count, l->note_capacity, note);
  }
  return &l->notes[x->id];
}

bool is_linear(Linear *l, const Instruction *x) { return note_of(l, x)->linear; }

Instruction *tangent_leaf(Linear *l, const Instruction *x, int leaf) {
  Note *note = note_of(l, x);
  return note->tangents ? note->tangents[leaf] : NULL;
}

Instruction *tangent_of(Linear *l, const Instruction *x) { return tangent_leaf(l, x, 0); }

void set_tangent_leaf(Linear *l, const Instruction *x, int leaf, Instruction *tangent) {
  if (!tangent) return;
  Note *note = note_of(l, x);
  if (!note->tangents) {
    note->tangents = ARENA_ARRAY(l->arena, Instruction *, shape_leaves(x->shape));
  }
  note->tangents[leaf] = tangent;
}

void set_tangent(Linear *l, const Instruction *x, Instruction *tangent) {
  set_tangent_leaf(l, x, 0, tangent);
}

bool has_tangent(Linear *l, const Instruction *x) { return note_of(l, x)->tangents != NULL; }

bool has_derivative(const Shape *shape) {
  TypeKind kind = type_kind(shape->type);
  return kind == KIND_FLOAT || kind == KIND_COMPLEX;
}

void no_derivative(Linear *l, const Instruction *x, const char *why) {
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

static void transpose_refused(Linear *l, Instruction *x, Instruction *const *cotangents) {
  (void)cotangents;
  check_refused(l, x);
}

void check_refused(Linear *l, const Instruction *x) {
  Note *note = note_of(l, x);
  if (note->transpose != transpose_refused) return;
  const Refusal *refusal = note->data;
  no_derivative(l, refusal->x, refusal->why);
}

void refuse_leaf(Linear *l, Instruction *x, int leaf, const Instruction *from, const char *why) {
  const Shape *shape = shape_leaf(x->shape, leaf);
  if (!has_derivative(shape)) return;
  Refusal *refusal = ARENA_NEW(l->arena, Refusal);
  *refusal = (Refusal){from, why};
  /* It has an operand, as only stand-ins have none. It is never copied. */
  Instruction *tangent = make(&l->m, HLO_COPY, shape, &x, 1, NULL);
  Note *note = note_of(l, tangent);
  note->linear = true;
  note->transpose = transpose_refused;
  note->data = refusal;
  set_tangent_leaf(l, x, leaf, tangent);
}

void refuse_derivative(Linear *l, Instruction *x, const char *why) {
  for (int i = 0; i < shape_leaves(x->shape); i++) refuse_leaf(l, x, i, x, why);
}

/* ---- Cotangents ---- */

Instruction *cotangent_of(Linear *l, const Instruction *x) {
  Note *note = note_of(l, x);
  return note->cotangents ? note->cotangents[0] : NULL;
}

static Instruction **cotangent_slot(Linear *l, Instruction *x, int leaf) {
  Note *note = note_of(l, x);
  if (!note->cotangents) {
    note->cotangents = ARENA_ARRAY(l->arena, Instruction *, shape_leaves(x->shape));
  }
  return &note->cotangents[leaf];
}

void add_cotangent_leaf(Linear *l, Instruction *x, int leaf, Instruction *cotangent) {
  if (!cotangent || !is_linear(l, x)) return;
  Instruction *sum = make_plus(&l->m, *cotangent_slot(l, x, leaf), cotangent);
  *cotangent_slot(l, x, leaf) = sum;
}

void add_cotangent(Linear *l, Instruction *x, Instruction *cotangent) {
  add_cotangent_leaf(l, x, 0, cotangent);
}

Instruction *take_cotangent(Linear *l, Instruction *x) {
  Instruction *before = cotangent_of(l, x);
  if (before) *cotangent_slot(l, x, 0) = NULL;
  return before ? before : make_zeros(&l->m, x->shape);
}
