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
  instruction_set_attributes(instruction, attributes);
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

bool is_splat_of(const Instruction *x, double number) {
  Scalar value;
  if (!splat_value(x, &value)) return false;
  switch (type_kind(x->shape->type)) {
  case KIND_FLOAT: return value.f == number;
  case KIND_COMPLEX: return value.f == number && value.im == 0;
  case KIND_SIGNED: return (double)value.i == number;
  default: return (double)value.u == number;
  }
}

Instruction *without_reshapes(const Instruction *x) {
  while (x->opcode == HLO_RESHAPE) x = x->operands[0];
  return (Instruction *)x;
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
