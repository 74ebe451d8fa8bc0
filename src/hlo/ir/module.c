#include "hlo/ir/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"

Module *module_new(const char *name) {
  Arena *arena = arena_new();
  Module *module = ARENA_NEW(arena, Module);
  module->arena = arena;
  module->name = arena_strdup(arena, name && *name ? name : "module");
  Attributes *defaults = ARENA_NEW(arena, Attributes);
  attributes_init(defaults);
  module->defaults = defaults->shared = defaults;
  return module;
}

void module_free(Module *module) {
  if (!module) return;
  for (int i = 0; i < module->owned_count; i++) free(module->owned[i]);
  arena_free(module->arena);
}

void module_own(Module *module, void *memory) {
  ARENA_PUSH(module->arena, module->owned, module->owned_count, module->owned_capacity, memory);
}

Computation *module_add_computation(Module *module, const char *name) {
  Computation *computation = ARENA_NEW(module->arena, Computation);
  const char *stem = name && *name ? name : "computation";
  computation->name = names_take(&module->names, module->arena, stem, module->count);
  computation->module = module;
  computation->number = module->numbers++;
  ARENA_PUSH(module->arena, module->computations, module->count, module->capacity, computation);
  return computation;
}

static Attributes *keep_attributes(Arena *arena, const Attributes *attributes) {
  Attributes *kept = arena_copy(arena, attributes, sizeof *attributes);
  kept->shared = kept;
  return kept;
}

void instruction_set_attributes(Instruction *instruction, const Attributes *attributes) {
  const Module *module = instruction->parent->module;
  const Attributes *defaults = module->defaults;
  if (attributes && attributes->shared == attributes) {
    instruction->a = attributes;
  } else if (!attributes || !memcmp(attributes, defaults, offsetof(Attributes, shared))) {
    instruction->a = defaults;
  } else {
    instruction->a = keep_attributes(module->arena, attributes);
  }
}

Attributes *instruction_attributes(Instruction *instruction) {
  Attributes *own = keep_attributes(instruction->parent->module->arena, instruction->a);
  instruction->a = own;
  return own;
}

Instruction *computation_add(Computation *computation, Opcode opcode, const Shape *shape,
                             Instruction *const *operands, int operand_count,
                             const Attributes *attributes) {
  return computation_add_named(computation, opcode, shape, operands, operand_count, attributes,
                               NULL);
}

Instruction *computation_add_named(Computation *computation, Opcode opcode, const Shape *shape,
                                   Instruction *const *operands, int operand_count,
                                   const Attributes *attributes, const char *name) {
  Arena *arena = computation->module->arena;
  Instruction *instruction = ARENA_NEW(arena, Instruction);
  instruction->opcode = opcode;
  instruction->id = computation->count;
  instruction->shape = shape;
  instruction->parent = computation;
  instruction->operand_count = operand_count;
  instruction->operands = arena_copy(
      arena, operands, sizeof *operands * (size_t)(operand_count > 0 ? operand_count : 0));
  instruction_set_attributes(instruction, attributes);
  NameSet *names = &computation->names;
  int n = computation->count;
  instruction->name = name && *name ? names_take(names, arena, name, n)
                                    : names_take_numbered(names, arena, opcode_name(opcode), n);
  ARENA_PUSH(arena, computation->instructions, computation->count, computation->capacity,
             instruction);
  if (!computation->keeps_root) computation->root = instruction;
  return instruction;
}

void module_keep_roots(Module *module) {
  for (int c = 0; c < module->count; c++) module->computations[c]->keeps_root = true;
}

Instruction *computation_add_parameter(Computation *computation, int64_t number, const Shape *shape,
                                       const char *name) {
  Arena *arena = computation->module->arena;
  Instruction *parameter =
      computation_add_named(computation, HLO_PARAMETER, shape, NULL, 0, NULL, name);
  parameter->parameter_number = number;
  if (number >= computation->parameter_capacity) {
    int count =
        computation->parameter_count > number ? computation->parameter_count : (int)number + 1;
    int capacity = 2 * count;
    Instruction **grown = ARENA_ARRAY(arena, Instruction *, capacity);
    for (int i = 0; i < computation->parameter_count; i++) grown[i] = computation->parameters[i];
    computation->parameters = grown;
    computation->parameter_capacity = capacity;
  }
  if (number >= computation->parameter_count) computation->parameter_count = (int)number + 1;
  computation->parameters[number] = parameter;
  return parameter;
}

Instruction *computation_add_constant(Computation *computation, Literal *literal,
                                      const char *name) {
  Instruction *constant =
      computation_add_named(computation, HLO_CONSTANT, literal->shape, NULL, 0, NULL, name);
  constant->literal = literal;
  return constant;
}

void computation_renumber(Computation *computation) {
  for (int i = 0; i < computation->count; i++) computation->instructions[i]->id = i;
}

/* Depth-first from each instruction in turn, on an explicit stack: programs may be deep. */
bool computation_sort(Computation *computation) {
  enum { NEW, OPEN, DONE };
  int n = computation->count;
  if (n == 0) return true;
  computation_renumber(computation);
  unsigned char *state = scope_new((size_t)n, 1);
  Instruction **stack = scope_new((size_t)n, sizeof *stack);
  int *next = scope_new((size_t)n, sizeof *next);
  Instruction **order = scope_new((size_t)n, sizeof *order);
  int done = 0, depth = 0;
  bool acyclic = true;
  for (int i = 0; i < n && acyclic; i++) {
    if (state[i] == NEW) {
      state[i] = OPEN;
      stack[depth++] = computation->instructions[i];
    }
    while (depth && acyclic) {
      Instruction *top = stack[depth - 1];
      int operands = top->operand_count, predecessors = top->a->control_predecessors.count;
      if (next[top->id] == operands + predecessors) {
        state[top->id] = DONE;
        order[done++] = top;
        depth--;
        continue;
      }
      int k = next[top->id]++;
      Instruction *operand =
          k < operands ? top->operands[k] : top->a->control_predecessors.items[k - operands];
      if (state[operand->id] == OPEN) acyclic = false;
      if (state[operand->id] == NEW) {
        state[operand->id] = OPEN;
        stack[depth++] = operand;
      }
    }
  }
  if (acyclic) {
    memcpy(computation->instructions, order, sizeof *order * (size_t)n);
    computation_renumber(computation);
  }
  scope_free(state);
  scope_free(stack);
  scope_free(next);
  scope_free(order);
  return acyclic;
}

int instruction_called(const Instruction *instruction, Computation **out) {
  const Attributes *a = instruction->a;
  int count = 0;
  switch (opcode_category(instruction->opcode)) { /* most, at once */
  case ELEMENTWISE_UNARY:
  case CONVERSION:
  case ELEMENTWISE_BINARY:
  case ELEMENTWISE_TERNARY:
  case SOURCE:
  case MOVEMENT:
  case CONTRACTION:
  case STRUCTURE: return 0;
  default: break;
  }
  Computation *single[] = {a->to_apply, a->calls, a->condition, a->body};
  Computation *last[] = {a->true_computation, a->false_computation, a->select, a->scatter};
#define CALLED(computation)              \
  if (computation) {                     \
    if (out) out[count] = (computation); \
    count++;                             \
  }
  for (int i = 0; i < 4; i++) CALLED(single[i]);
  for (int i = 0; i < a->branches.count; i++) CALLED(a->branches.items[i]);
  for (int i = 0; i < 4; i++) CALLED(last[i]);
  for (int i = 0; i < a->called_computations.count; i++) CALLED(a->called_computations.items[i]);
#undef CALLED
  return count;
}

const Instruction *fused_product(const Instruction *fusion) {
  if (fusion->opcode != HLO_FUSION) return NULL;
  const Instruction *root = fusion->a->calls->root;
  return root->opcode == HLO_DOT ? root : NULL;
}

static const Instruction *before_reshape(const Instruction *x) {
  return x->opcode == HLO_RESHAPE ? x->operands[0] : x;
}

const Instruction *fused_operand(const Instruction *dot) {
  const Instruction *rhs = before_reshape(dot->operands[1]);
  const Instruction *lhs = before_reshape(dot->operands[0]);
  return rhs->opcode == HLO_FUSION ? rhs : lhs->opcode == HLO_FUSION ? lhs : NULL;
}

int conditional_branches(const Instruction *instruction, Computation **out, bool *predicated) {
  const Attributes *a = instruction->a;
  *predicated = instruction->operand_count > 0 && instruction->operands[0]->shape->type == PRED;
  if (a->true_computation) {
    if (out) out[0] = a->true_computation;
    if (out) out[1] = a->false_computation;
    return 2;
  }
  for (int i = 0; out && i < a->branches.count; i++) out[i] = a->branches.items[i];
  return a->branches.count;
}

void module_count_called(const Instruction *instruction) {
  int count = instruction_called(instruction, NULL);
  if (!count) return;
  Computation **called = scope_new((size_t)count, sizeof *called);
  instruction_called(instruction, called);
  for (int k = 0; k < count; k++) called[k]->callers++;
  scope_free(called);
}

void module_count_callers(Module *module) {
  for (int c = 0; c < module->count; c++) module->computations[c]->callers = 0;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) module_count_called(computation->instructions[i]);
  }
}

unsigned module_walk(Module *module) { return ++module->walks; }

int computation_parameter_leaves(const Computation *computation) {
  int count = 0;
  for (int i = 0; i < computation->parameter_count; i++) {
    count += shape_leaves(computation->parameters[i]->shape);
  }
  return count;
}

int64_t module_max_channel(const Module *module) {
  int64_t max = 0;
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      int64_t used = computation->instructions[i]->a->channel_id;
      if (used > max && used <= INT32_MAX) max = used;
    }
  }
  return max;
}

bool computation_enter(Computation *computation, unsigned walk) {
  bool first = computation->walk != walk;
  computation->walk = walk;
  return first;
}

static int64_t called_size(const Instruction *instruction, Arena *scratch) {
  int count = instruction_called(instruction, NULL);
  if (!count) return 0;
  Computation **called = ARENA_ARRAY(scratch, Computation *, count);
  int64_t size = 0;
  instruction_called(instruction, called);
  for (int i = 0; i < count && size < MAX_SIZE; i++) size += called[i]->size;
  return size;
}

int64_t module_measure(Module *module) {
  Arena *scratch = arena_new();
  for (int i = 0; i < module->count; i++) {
    Computation *computation = module->computations[i];
    int64_t size = computation->count;
    for (int k = 0; k < computation->count && size < MAX_SIZE; k++) {
      size += called_size(computation->instructions[k], scratch);
    }
    computation->size = size < MAX_SIZE ? size : MAX_SIZE;
  }
  arena_free(scratch);
  return module->entry->size;
}

Opcode computation_simple_binary(const Computation *computation) {
  const Instruction *root = computation->root;
  if (computation->parameter_count != 2 || root->operand_count != 2) return OPCODE_COUNT;
  if (opcode_category(root->opcode) != ELEMENTWISE_BINARY || root->opcode == HLO_COMPARE ||
      root->opcode == HLO_COMPLEX) {
    return OPCODE_COUNT;
  }
  const Instruction *x = computation->parameters[0], *y = computation->parameters[1];
  if (!shape_is_scalar(x->shape) || !shape_is_scalar(y->shape)) return OPCODE_COUNT;
  bool straight = root->operands[0] == x && root->operands[1] == y;
  bool swapped = root->operands[0] == y && root->operands[1] == x;
  /* op(p1, p0) is only the same when the operation commutes. */
  bool commutes = root->opcode == HLO_ADD || root->opcode == HLO_MULTIPLY ||
                  root->opcode == HLO_MAXIMUM || root->opcode == HLO_MINIMUM ||
                  root->opcode == HLO_AND || root->opcode == HLO_OR || root->opcode == HLO_XOR;
  return straight || (swapped && commutes) ? root->opcode : OPCODE_COUNT;
}
