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

/* ---- Cloning ---- */

static void copy_list(Arena *arena, Int64List *list) {
  list->items = arena_copy(arena, list->items, sizeof(int64_t) * (size_t)list->count);
}

static const char *copy_text(Arena *arena, const char *text) {
  return text ? arena_strdup(arena, text) : NULL;
}

/* Which fields of Attributes are lists of integers, and which are strings, comes from the table. */
static void copy_attributes(Arena *arena, Attributes *a) {
  for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
    void *field = (char *)a + attribute_rows[i].offset;
    switch (attribute_rows[i].kind) {
    case ATTR_INT64_LIST: copy_list(arena, field); break;
    case ATTR_STRING:
    case ATTR_RAW:
    case ATTR_PRECISION_LIST:
      *(const char **)field = copy_text(arena, *(const char **)field);
      break;
    case ATTR_SHAPE:
      if (*(const Shape **)field)
        *(const Shape **)field = shape_copy(arena, *(const Shape **)field);
      break;
    case ATTR_SHARDING: a->sharding = op_sharding_copy(arena, a->sharding); break;
    case ATTR_FRONTEND_ATTRIBUTES:
      a->frontend_attributes = frontend_attributes_copy(arena, a->frontend_attributes);
      break;
    default: break;
    }
  }
#define COPY_ITEMS(list) \
  (list).items = arena_copy(arena, (list).items, sizeof *(list).items * (size_t)(list).count)
  COPY_ITEMS(a->slice);
  COPY_ITEMS(a->padding);
  COPY_ITEMS(a->window);
  COPY_ITEMS(a->source_target_pairs);
  ConvDims *dims = &a->conv_dims;
  size_t bytes = sizeof(int64_t) * (size_t)dims->spatial;
  dims->input_spatial = arena_copy(arena, dims->input_spatial, bytes);
  dims->kernel_spatial = arena_copy(arena, dims->kernel_spatial, bytes);
  dims->output_spatial = arena_copy(arena, dims->output_spatial, bytes);
  Int64List *groups = ARENA_ARRAY(arena, Int64List, a->replica_groups.count);
  for (int i = 0; i < a->replica_groups.count; i++) {
    groups[i] = a->replica_groups.groups[i];
    copy_list(arena, &groups[i]);
  }
  a->replica_groups.groups = groups;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, a->operand_layout_constraints.count);
  for (int i = 0; i < a->operand_layout_constraints.count; i++) {
    shapes[i] = shape_copy(arena, a->operand_layout_constraints.items[i]);
  }
  a->operand_layout_constraints.items = shapes;
#undef COPY_ITEMS
}

static Computation *clone_called(Module *target, Computation *called, Computation **copies) {
  return called ? module_clone_computation(target, called, copies) : NULL;
}

static void clone_called_list(Module *target, ComputationList *list, Computation **copies) {
  Computation **items = ARENA_ARRAY(target->arena, Computation *, list->count);
  for (int i = 0; i < list->count; i++) items[i] = clone_called(target, list->items[i], copies);
  list->items = items;
}

static void clone_all_called(Module *target, Attributes *a, Computation **copies) {
  Computation **single[] = {
      &a->to_apply,          &a->calls,  &a->condition, &a->body, &a->true_computation,
      &a->false_computation, &a->select, &a->scatter,
  };
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
    *single[i] = clone_called(target, *single[i], copies);
  }
  clone_called_list(target, &a->branches, copies);
  clone_called_list(target, &a->called_computations, copies);
}

static Instruction *clone_instruction(Computation *into, const Instruction *from,
                                      Instruction **by_id, Computation **copies) {
  Module *target = into->module;
  Arena *arena = target->arena;
  Attributes a = *from->a;
  clone_all_called(target, &a, copies);
  copy_attributes(arena, &a);
  Instruction **predecessors = ARENA_ARRAY(arena, Instruction *, a.control_predecessors.count);
  for (int i = 0; i < a.control_predecessors.count; i++) {
    predecessors[i] = by_id[a.control_predecessors.items[i]->id];
  }
  a.control_predecessors.items = predecessors;
  Instruction **operands = ARENA_ARRAY(arena, Instruction *, from->operand_count);
  for (int i = 0; i < from->operand_count; i++) operands[i] = by_id[from->operands[i]->id];
  const Shape *shape = shape_copy(arena, from->shape);
  Instruction *copy;
  if (from->opcode == HLO_PARAMETER) {
    copy = computation_add_parameter(into, from->parameter_number, shape, from->name);
    instruction_set_attributes(copy, &a);
  } else {
    copy = computation_add_named(into, from->opcode, shape, operands, from->operand_count, &a,
                                 from->name);
  }
  copy->line = from->line;
  if (from->literal) copy->literal = literal_copy(arena, from->literal);
  return copy;
}

Computation *module_clone_computation(Module *target, const Computation *computation,
                                      Computation **copies) {
  if (!copies) copies = ARENA_ARRAY(target->arena, Computation *, computation->module->numbers);
  if (copies[computation->number]) return copies[computation->number];
  int n = computation->count;
  Instruction **by_id = ARENA_ARRAY(target->arena, Instruction *, n);
  /* Called computations first, so that the list keeps callees before callers. */
  for (int i = 0; i < n; i++) {
    if (!instruction_called(computation->instructions[i], NULL)) continue;
    Attributes a = *computation->instructions[i]->a;
    clone_all_called(target, &a, copies);
  }
  Computation *copy = module_add_computation(target, computation->name);
  for (int i = 0; i < n; i++) {
    const Instruction *from = computation->instructions[i];
    by_id[from->id] = clone_instruction(copy, from, by_id, copies);
    if (from == computation->root) copy->root = by_id[from->id];
  }
  copy->root = by_id[computation->root->id];
  copy->keeps_root = true;
  return copies[computation->number] = copy;
}

Module *module_clone(const Module *module) {
  Module *copy = module_new(module->name);
  Computation **copies = ARENA_ARRAY(copy->arena, Computation *, module->numbers);
  for (int i = 0; i < module->count; i++) {
    Computation *computation = module_clone_computation(copy, module->computations[i], copies);
    if (module->computations[i] == module->entry) copy->entry = computation;
  }
  copy->replica_count = module->replica_count;
  copy->num_partitions = module->num_partitions;
  copy->bounded_sets = module->bounded_sets;
  copy->meshes = mesh_list_copy(copy->arena, module->meshes);
  copy->extra_header = copy_text(copy->arena, module->extra_header);
  if (module->parameter_layouts) {
    int n = module->entry->parameter_count;
    copy->parameter_layouts = ARENA_ARRAY(copy->arena, const Shape *, n);
    for (int i = 0; i < n; i++) {
      copy->parameter_layouts[i] = shape_copy(copy->arena, module->parameter_layouts[i]);
    }
  }
  if (module->result_layout) copy->result_layout = shape_copy(copy->arena, module->result_layout);
  copy->alias_count = module->alias_count;
  Alias *aliases = ARENA_ARRAY(copy->arena, Alias, module->alias_count);
  for (int i = 0; i < module->alias_count; i++) {
    aliases[i] = module->aliases[i];
    copy_list(copy->arena, &aliases[i].output_index);
    copy_list(copy->arena, &aliases[i].parameter_index);
  }
  copy->aliases = aliases;
  return copy;
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
