#include "rewrite/base/rewrite.h"

#include "base/scope.h"
#include "hlo/ir/shorthand.h"

static bool has_bitcast(const Computation *computation) {
  for (int i = 0; i < computation->count; i++) {
    if (computation->instructions[i]->opcode == HLO_BITCAST) return true;
  }
  return false;
}

void rewrite_begin(Rewrite *rewrite, Computation *computation) {
  computation_renumber(computation);
  computation->keeps_root = true;
  *rewrite = (Rewrite){.computation = computation, .count = computation->count};
  rewrite->to = scope_new((size_t)computation->count + 1, sizeof *rewrite->to);
  rewrite->layouts_matter = has_bitcast(computation);
}

/* Returns the current replacement of `instruction`. Instructions that the walk made are not in the table. */
static Instruction *current(const Rewrite *rewrite, Instruction *instruction) {
  if (instruction->id >= rewrite->count) return instruction;
  Instruction *to = rewrite->to[instruction->id];
  return to ? to : instruction;
}

Instruction *rewrite_visit(Rewrite *rewrite, int index) {
  Instruction *instruction = rewrite->computation->instructions[index];
  for (int i = 0; i < instruction->operand_count; i++) {
    instruction->operands[i] = current(rewrite, instruction->operands[i]);
  }
  InstructionList before = instruction->a->control_predecessors;
  for (int i = 0; i < before.count; i++) before.items[i] = current(rewrite, before.items[i]);
  return instruction;
}

bool rewrite_replace(Rewrite *rewrite, Instruction *from, Instruction *to) {
  if (rewrite->layouts_matter && !shape_equal(from->shape, to->shape)) return false;
  rewrite->to[from->id] = current(rewrite, to);
  return rewrite->changed = true;
}

bool rewrite_end(Rewrite *rewrite) {
  Computation *computation = rewrite->computation;
  computation->root = current(rewrite, computation->root);
  scope_free(rewrite->to);
  if (computation->count != rewrite->count) computation_sort(computation);
  return rewrite->changed;
}

void instruction_become(Instruction *instruction, Opcode opcode, Instruction *const *operands,
                        int operand_count, const Attributes *attributes) {
  const Attributes *before = instruction->a;
  instruction_say(instruction, attributes);
  if (before->metadata || before->control_predecessors.count) {
    Attributes *own = instruction_attributes(instruction);
    own->metadata = before->metadata;
    own->control_predecessors = before->control_predecessors;
  }
  instruction->opcode = opcode;
  instruction->operands = arena_copy(instruction->parent->module->arena, operands,
                                     sizeof(Instruction *) * (size_t)operand_count);
  instruction->operand_count = operand_count;
}

/* Whether each element of the result is one of operand 0. */
static bool only_moves(Opcode opcode) {
  return opcode == HLO_BROADCAST || opcode == HLO_COPY || opcode == HLO_RESHAPE ||
         opcode == HLO_REVERSE || opcode == HLO_SLICE || opcode == HLO_TRANSPOSE;
}

bool splat_value(const Instruction *x, Scalar *value) {
  PrimitiveType type = x->shape->type;
  while (only_moves(x->opcode)) x = x->operands[0];
  if (x->opcode == HLO_CONVERT) x = x->operands[0];
  while (only_moves(x->opcode)) x = x->operands[0];
  if (x->opcode != HLO_CONSTANT || !x->literal) return false;
  if (!literal_is_splat(x->literal)) return false;
  *value = scalar_load(x->shape->type, x->literal->data, 0);
  if (type != x->shape->type) *value = scalar_convert(x->shape->type, type, *value);
  return true;
}

Instruction *without_reshapes(const Instruction *x) {
  while (x->opcode == HLO_RESHAPE) x = x->operands[0];
  return (Instruction *)x;
}

Users find_users(Arena *arena, Computation *computation) {
  int n = computation->count;
  Users users = {ARENA_ARRAY(arena, int, n), ARENA_ARRAY(arena, Instruction **, n)};
  computation_renumber(computation);
  for (int pass = 0; pass < 2; pass++) { /* count, then fill */
    for (int i = 0; i < n; i++) {
      Instruction *user = computation->instructions[i];
      for (int k = 0; k < user->operand_count; k++) {
        int operand = user->operands[k]->id;
        if (pass == 1) users.lists[operand][users.count[operand]] = user;
        users.count[operand]++;
      }
    }
    for (int i = 0; pass == 0 && i < n; i++) {
      users.lists[i] = ARENA_ARRAY(arena, Instruction *, users.count[i]);
      users.count[i] = 0;
    }
  }
  return users;
}

bool for_each_computation(Module *module, bool (*pass)(Computation *computation)) {
  bool changed = false;
  for (int i = 0; i < module->count; i++) changed |= pass(module->computations[i]);
  return changed;
}

bool shape_is_static_array(const Shape *shape) {
  if (!shape_is_array(shape)) return false;
  for (int i = 0; shape->dynamic && i < shape->rank; i++) {
    if (shape->dynamic[i]) return false;
  }
  return true;
}

bool instruction_has_own_effect(const Instruction *instruction) {
  switch (instruction->opcode) {
  case HLO_INFEED:
  case HLO_OUTFEED:
  case HLO_SEND:
  case HLO_SEND_DONE:
  case HLO_RECV:
  case HLO_RECV_DONE:
  case HLO_RNG:
  case HLO_RNG_GET_AND_UPDATE_STATE: return true;
  case HLO_CUSTOM_CALL: return instruction->a->custom_call_has_side_effect;
  /* A pair that pass_inline_calls left has no known form, so it stays. */
  case HLO_ASYNC_START:
  case HLO_ASYNC_UPDATE:
  case HLO_ASYNC_DONE: return true;
  /* A collective is a rendezvous of replicas: removing an unused one could hide a deadlock of the
  ** program. */
  default: return opcode_category(instruction->opcode) == COLLECTIVE;
  }
}

/* Whether `is` holds for the instruction or one that it calls, directly or indirectly. */
static bool reaches(const Instruction *instruction, bool (*is)(const Instruction *), unsigned walk,
                    Arena *scratch) {
  if (is(instruction)) return true;
  int count = instruction_called(instruction, NULL);
  if (!count) return false;
  Computation **called = ARENA_ARRAY(scratch, Computation *, count);
  instruction_called(instruction, called);
  for (int i = 0; i < count; i++) {
    if (!computation_enter(called[i], walk)) continue;
    for (int k = 0; k < called[i]->count; k++) {
      if (reaches(called[i]->instructions[k], is, walk, scratch)) return true;
    }
  }
  return false;
}

/* As instruction_reaches, for several instructions in one walk. */
static bool instruction_reaches_on(const Instruction *instruction, bool (*is)(const Instruction *),
                                   unsigned *walk) {
  if (is(instruction)) return true;
  if (!instruction_called(instruction, NULL)) return false;
  Arena *scratch = arena_new();
  bool found = reaches(instruction, is, *walk, scratch);
  if (found) *walk = module_walk(instruction->parent->module); /* the walk is incomplete */
  arena_free(scratch);
  return found;
}

bool instruction_reaches(const Instruction *instruction, bool (*is)(const Instruction *)) {
  unsigned walk = 0;
  if (instruction_called(instruction, NULL)) walk = module_walk(instruction->parent->module);
  return instruction_reaches_on(instruction, is, &walk);
}

bool instruction_has_side_effect(const Instruction *instruction) {
  return instruction_reaches(instruction, instruction_has_own_effect);
}

bool instruction_has_side_effect_on(const Instruction *instruction, unsigned *walk) {
  return instruction_reaches_on(instruction, instruction_has_own_effect, walk);
}

bool is_element_of(const Instruction *x, const Instruction *tuple) {
  return x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0] == tuple;
}

bool has_only_elements(const Instruction *tuple) {
  const Computation *computation = tuple->parent;
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    if (x->a->control_predecessors.count) return false;
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] == tuple && !is_element_of(x, tuple)) return false;
    }
  }
  return computation->root != tuple;
}

void renumber_element(Instruction *element, const int *number) {
  int now = number[element->a->tuple_index];
  if (now != element->a->tuple_index) instruction_attributes(element)->tuple_index = now;
}

void renumber_elements(const Instruction *tuple, const int *number) {
  for (int i = 0; i < tuple->parent->count; i++) {
    Instruction *x = tuple->parent->instructions[i];
    if (is_element_of(x, tuple)) renumber_element(x, number);
  }
}

Instruction *tuple_element(Instruction *tuple, int64_t index) {
  if (tuple->opcode == HLO_TUPLE_OP) return tuple->operands[index];
  return computation_add_element(tuple->parent, tuple, index);
}

/* A walk of the call graph, from the entry. */
typedef struct Reach {
  Arena *arena;
  unsigned walk;
  int found; /* reached so far, callees first */
  Computation **in_order;
} Reach;

static void reach(Reach *reached, Computation *computation) {
  if (!computation_enter(computation, reached->walk)) return;
  for (int i = 0; i < computation->count; i++) {
    int count = instruction_called(computation->instructions[i], NULL);
    if (!count) continue;
    Computation **called = ARENA_ARRAY(reached->arena, Computation *, count);
    instruction_called(computation->instructions[i], called);
    for (int c = 0; c < count; c++) reach(reached, called[c]);
  }
  reached->in_order[reached->found++] = computation;
}

bool module_keep_reached(Module *module) {
  Reach reached = {.arena = arena_new(), .walk = module_walk(module)};
  reached.in_order = ARENA_ARRAY(reached.arena, Computation *, module->numbers);
  reach(&reached, module->entry);
  bool changed = reached.found != module->count;
  module->count = reached.found;
  for (int i = 0; i < reached.found; i++) module->computations[i] = reached.in_order[i];
  arena_free(reached.arena);
  return changed;
}

static bool computation_has(const Computation *computation, const Opcode *about) {
  for (int i = 0; i < computation->count; i++) {
    Opcode opcode = computation->instructions[i]->opcode;
    for (int k = 0; about[k] != OPCODE_COUNT; k++) {
      if (about[k] == opcode) return true;
    }
  }
  return false;
}

bool module_has(const Module *module, const Opcode *about) {
  for (int c = 0; c < module->count; c++) {
    if (computation_has(module->computations[c], about)) return true;
  }
  return false;
}

bool rewrite_each(Module *module, RewriteVisit *visit, void *data) {
  bool changed = false;
  int computations = module->count;
  for (int c = 0; c < computations; c++) {
    Computation *computation = module->computations[c];
    bool here = false;
    for (int i = 0, count = computation->count; i < count; i++) {
      here |= visit(computation->instructions[i], data);
    }
    if (here) computation_sort(computation);
    changed |= here;
  }
  if (module->count > computations) module_keep_reached(module);
  return changed;
}
