#include "derive/gradient/extract.h"

#include "hlo/ir/lapack_calls.h"
#include "hlo/ir/shard_calls.h"
#include "plan/fusible.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

Extraction extract_begin(WorkingComputation *from, const char *name) {
  Extraction e = {from, module_add_computation(from->d->module, name), NULL, NULL};
  e.map = ARENA_ARRAY(from->arena, Instruction *, from->m.computation->count);
  e.needed = ARENA_ARRAY(from->arena, bool, from->m.computation->count);
  return e;
}

void extract_bind(Extraction *e, const Instruction *x, Instruction *copy) { e->map[x->id] = copy; }

/* Copies one instruction whose operands have copies. */
static Instruction *copy_one(Extraction *e, const Instruction *x) {
  check_refused(e->from, x);
  Instruction **operands = ARENA_ARRAY(e->from->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) operands[k] = e->map[x->operands[k]->id];
  Instruction *copy =
      computation_add_named(e->to, x->opcode, x->shape, operands, x->operand_count, x->a, x->name);
  copy->literal = x->literal;
  copy->line = x->line;
  return copy;
}

/* Marks what x needs, in one walk back over the list, in which operands come before users. */
static void mark(Extraction *e, const Instruction *x) {
  e->needed[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    if (!e->needed[i] || e->map[i]) continue;
    const Instruction *user = e->from->m.computation->instructions[i];
    for (int k = 0; k < user->operand_count; k++) e->needed[user->operands[k]->id] = true;
  }
}

Instruction *extract(Extraction *e, Instruction *x) {
  if (e->map[x->id]) return e->map[x->id];
  mark(e, x);
  for (int i = 0; i <= x->id; i++) {
    if (e->needed[i] && !e->map[i]) {
      e->map[i] = copy_one(e, e->from->m.computation->instructions[i]);
    }
  }
  return e->map[x->id];
}

/* Instructions that depend on stand-ins that nothing is bound to belong to another computation. */
void extract_effects(Extraction *e) {
  Computation *from = e->from->m.computation;
  bool *missing = ARENA_ARRAY(e->from->arena, bool, from->count);
  for (int i = 0; i < from->count; i++) {
    Instruction *x = from->instructions[i];
    if (e->map[i]) continue;
    missing[i] = x->opcode == HLO_CONSTANT && !x->literal;
    for (int k = 0; k < x->operand_count; k++) missing[i] |= missing[x->operands[k]->id];
    if (!missing[i] && instruction_has_side_effect(x)) extract(e, x);
  }
}

Instruction *extract_zeros(Extraction *e, const Shape *shape) {
  Instruction *zero = computation_add_number(e->to, shape->type, (Scalar){0});
  if (!shape->rank) return zero;
  return computation_add(e->to, HLO_BROADCAST, shape, &zero, 1, NULL);
}

/* ---- Cuts ---- */

/* Whether an operation costs no more than to read its result: movement, and arithmetic on elements. */
static bool is_cheap(const Instruction *x) {
  return opcode_cost(x->opcode) == COST_LIGHT || x->opcode == HLO_SIGN ||
         x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE;
}

/* Whether x is a constant, or made of constants. */
static bool is_constant(const Instruction *x) {
  while (x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE) x = x->operands[0];
  return (x->opcode == HLO_CONSTANT && x->literal) || x->opcode == HLO_IOTA;
}

/* Whether a value is computed again instead of saved: beside constants it depends on one other value only, which is no
** larger. So z is saved, and 1 + z and 1 - z are not. */
static bool is_done_again(const Instruction *x) {
  if (is_constant(x)) return true;
  const Instruction *from = NULL;
  for (int k = 0; k < x->operand_count; k++) {
    const Instruction *operand = x->operands[k];
    if (is_constant(operand) || operand == from) continue;
    if (from) return false;
    from = operand;
  }
  return from && is_cheap(x) && shape_bytes(from->shape) <= shape_bytes(x->shape);
}

/* Sets `depends` for instructions that depend on a stand-in that is not linear: a cotangent. */
static void find_backward(WorkingComputation *working, bool *depends) {
  for (int i = 0; i < working->m.computation->count; i++) {
    const Instruction *x = working->m.computation->instructions[i];
    depends[i] = x->opcode == HLO_CONSTANT && !x->literal && !is_linear(working, x);
    for (int k = 0; k < x->operand_count; k++) depends[i] |= depends[x->operands[k]->id];
  }
}

/* Whether x exchanges values among devices. */
static bool meets(const Instruction *x) {
  return opcode_category(x->opcode) == COLLECTIVE || shard_call_kind(x) != NO_SHARD_CALL;
}

bool is_host_effect(const Instruction *x) {
  bool calls_host = x->opcode == HLO_CUSTOM_CALL && !is_library_call(x);
  return !meets(x) && (calls_host || instruction_has_own_effect(x));
}

bool makes_floats_of_bits(const Instruction *x) {
  return x->opcode == HLO_BITCAST_CONVERT && has_derivative(x->shape) &&
         !has_derivative(x->operands[0]->shape);
}

bool instruction_acts(const Instruction *x) { return is_host_effect(x) || meets(x); }

/* Whether a value cannot be computed again inside a body: a parameter, or the result of an operation that acts. */
static bool is_given(const Instruction *x) {
  const Instruction *from = x;
  while (from->opcode == HLO_GET_TUPLE_ELEMENT) from = from->operands[0];
  if (!shape_is_array(x->shape)) return false;
  return from->opcode == HLO_PARAMETER || instruction_reaches(from, instruction_acts);
}

Cut cut_primal(WorkingComputation *working, Instruction *const *outputs, int count,
               const bool *invariant, bool recompute) {
  int n = working->m.computation->count;
  bool *depends = ARENA_ARRAY(working->arena, bool, n),
       *needed = ARENA_ARRAY(working->arena, bool, n);
  find_backward(working, depends);
  for (int i = 0; i < count; i++) {
    if (outputs[i]) needed[outputs[i]->id] = true;
  }
  Cut cut = {0};
  for (int i = n - 1; i >= 0; i--) {
    Instruction *x = working->m.computation->instructions[i];
    if (!needed[i] || (invariant && invariant[i])) continue;
    if (!depends[i] && (recompute ? is_given(x) : !is_done_again(x))) {
      ARENA_PUSH(working->arena, cut.saved, cut.count, cut.capacity, x);
      continue;
    }
    for (int k = 0; k < x->operand_count; k++) needed[x->operands[k]->id] = true;
  }
  return cut;
}
