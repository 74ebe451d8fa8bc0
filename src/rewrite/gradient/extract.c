#include "rewrite/gradient/extract.h"

#include "rewrite/passes.h"

Extraction extract_begin(Linear *from, const char *name) {
  Extraction e = {from, module_add_computation(from->d->module, name), NULL, NULL};
  e.map = ARENA_ARRAY(from->arena, Instruction *, from->computation->count);
  e.needed = ARENA_ARRAY(from->arena, bool, from->computation->count);
  return e;
}

void extract_bind(Extraction *e, const Instruction *x, Instruction *copy) { e->map[x->id] = copy; }

/* Copies one instruction whose operands have copies. */
static Instruction *copy_one(Extraction *e, const Instruction *x) {
  check_refused(e->from, x);
  Instruction **operands = ARENA_ARRAY(e->from->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) operands[k] = e->map[x->operands[k]->id];
  Instruction *copy =
      computation_add(e->to, x->opcode, x->shape, operands, x->operand_count, x->a, x->name);
  copy->literal = x->literal;
  copy->line = x->line;
  return copy;
}

/* Marks what x needs, in one walk back over the list, in which operands come before users. */
static void mark(Extraction *e, const Instruction *x) {
  e->needed[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    if (!e->needed[i] || e->map[i]) continue;
    const Instruction *user = e->from->computation->instructions[i];
    for (int k = 0; k < user->operand_count; k++) e->needed[user->operands[k]->id] = true;
  }
}

Instruction *extract(Extraction *e, Instruction *x) {
  if (e->map[x->id]) return e->map[x->id];
  mark(e, x);
  for (int i = 0; i <= x->id; i++) {
    if (e->needed[i] && !e->map[i]) {
      e->map[i] = copy_one(e, e->from->computation->instructions[i]);
    }
  }
  return e->map[x->id];
}

void extract_effects(Extraction *e) {
  Computation *from = e->from->computation;
  for (int i = 0; i < from->count; i++) {
    Instruction *x = from->instructions[i];
    bool counts = !is_linear(e->from, x) && x->opcode != HLO_CONSTANT;
    if (counts && instruction_has_side_effect(x)) extract(e, x);
  }
}

Instruction *extract_zeros(Extraction *e, const Shape *shape) {
  Instruction *zero = computation_add_number(e->to, shape->type, (Scalar){0});
  if (!shape->rank) return zero;
  return computation_add(e->to, HLO_BROADCAST, shape, &zero, 1, NULL, NULL);
}

/* ---- Cuts ---- */

/* Whether an instruction is cheaper to do again than to save its result: its operand is no larger. */
static bool is_cheap(const Instruction *x) {
  return x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE;
}

/* Sets `depends` for instructions that depend on a stand-in that is not linear: a cotangent. */
static void find_backward(Linear *l, bool *depends) {
  for (int i = 0; i < l->computation->count; i++) {
    const Instruction *x = l->computation->instructions[i];
    depends[i] = x->opcode == HLO_CONSTANT && !x->literal && !is_linear(l, x);
    for (int k = 0; k < x->operand_count; k++) depends[i] |= depends[x->operands[k]->id];
  }
}

Cut cut_primal(Linear *l, Instruction *const *outputs, int count, const bool *invariant) {
  int n = l->computation->count;
  bool *depends = ARENA_ARRAY(l->arena, bool, n), *needed = ARENA_ARRAY(l->arena, bool, n);
  find_backward(l, depends);
  for (int i = 0; i < count; i++) {
    if (outputs[i]) needed[outputs[i]->id] = true;
  }
  Cut cut = {0};
  for (int i = n - 1; i >= 0; i--) {
    Instruction *x = l->computation->instructions[i];
    if (!needed[i] || (invariant && invariant[i])) continue;
    bool again =
        depends[i] || is_cheap(x) || (x->operand_count == 0 && x->literal) || x->opcode == HLO_IOTA;
    if (!again) {
      ARENA_PUSH(l->arena, cut.saved, cut.count, cut.capacity, x);
      continue;
    }
    for (int k = 0; k < x->operand_count; k++) needed[x->operands[k]->id] = true;
  }
  return cut;
}
