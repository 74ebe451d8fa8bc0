/* Copies computations and modules. What instructions share, shapes and attributes, their copies share, too. */
#include "base/scope.h"
#include "hlo/ir/module.h"

/* Threshold RECENT: how many copies are remembered. A shape whose entry another one took is copied once more. No path. */
enum { RECENT = 256 };

typedef struct Cloning {
  Module *target;
  Computation **copies; /* by the computations' number in the original module */
  Arena *constants; /* whose large blocks of data move to the target; NULL: all data is copied */
  struct {
    const void *from, *copy;
  } recent[RECENT]; /* by address */
} Cloning;

static const void **copy_of(Cloning *c, const void *from) {
  size_t i = (uintptr_t)from / 16 % RECENT;
  if (c->recent[i].from != from) c->recent[i].copy = NULL;
  c->recent[i].from = from;
  return &c->recent[i].copy;
}

static const Shape *clone_shape(Cloning *c, const Shape *shape) {
  const void **copy = copy_of(c, shape);
  if (!*copy) *copy = shape_copy(c->target->arena, shape);
  return *copy;
}

/* ---- Attributes ---- */

static void copy_list(Arena *arena, Int64List *list) {
  list->items = arena_copy(arena, list->items, sizeof(int64_t) * (size_t)list->count);
}

static const char *copy_text(Arena *arena, const char *text) {
  return text ? arena_strdup(arena, text) : NULL;
}

static void copy_dims(Arena *arena, ConvDims *dims) {
  size_t bytes = sizeof(int64_t) * (size_t)dims->spatial;
  dims->input_spatial = arena_copy(arena, dims->input_spatial, bytes);
  dims->kernel_spatial = arena_copy(arena, dims->kernel_spatial, bytes);
  dims->output_spatial = arena_copy(arena, dims->output_spatial, bytes);
}

static void copy_groups(Arena *arena, ReplicaGroups *list) {
  Int64List *groups = ARENA_ARRAY(arena, Int64List, list->count);
  for (int i = 0; i < list->count; i++) {
    groups[i] = list->groups[i];
    copy_list(arena, &groups[i]);
  }
  list->groups = groups;
}

/* Which fields of Attributes are lists of integers, and which are strings, comes from the table. */
static void copy_attributes(Cloning *c, Attributes *a) {
  Arena *arena = c->target->arena;
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
      if (*(const Shape **)field) *(const Shape **)field = clone_shape(c, *(const Shape **)field);
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
#undef COPY_ITEMS
  copy_dims(arena, &a->conv_dims);
  copy_groups(arena, &a->replica_groups);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, a->operand_layout_constraints.count);
  for (int i = 0; i < a->operand_layout_constraints.count; i++) {
    shapes[i] = clone_shape(c, a->operand_layout_constraints.items[i]);
  }
  a->operand_layout_constraints.items = shapes;
}

static Computation *clone_computation(Cloning *c, const Computation *computation);

static Computation *clone_called(Cloning *c, Computation *called) {
  return called ? clone_computation(c, called) : NULL;
}

static void clone_called_list(Cloning *c, ComputationList *list) {
  Computation **items = ARENA_ARRAY(c->target->arena, Computation *, list->count);
  for (int i = 0; i < list->count; i++) items[i] = clone_called(c, list->items[i]);
  list->items = items;
}

static void clone_all_called(Cloning *c, Attributes *a) {
  Computation **single[] = {
      &a->to_apply,          &a->calls,  &a->condition, &a->body, &a->true_computation,
      &a->false_computation, &a->select, &a->scatter,
  };
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
    *single[i] = clone_called(c, *single[i]);
  }
  clone_called_list(c, &a->branches);
  clone_called_list(c, &a->called_computations);
}

static void clone_attributes(Cloning *c, Instruction *copy, const Instruction *from,
                             Instruction *const *by_id) {
  if (from->a == from->parent->module->defaults) return;
  const Attributes *known = *copy_of(c, from->a);
  if (known) {
    instruction_set_attributes(copy, known);
    return;
  }
  Attributes a = *from->a;
  clone_all_called(c, &a);
  copy_attributes(c, &a);
  int count = a.control_predecessors.count;
  Instruction **predecessors = ARENA_ARRAY(c->target->arena, Instruction *, count);
  for (int i = 0; i < count; i++) predecessors[i] = by_id[a.control_predecessors.items[i]->id];
  a.control_predecessors.items = predecessors;
  instruction_set_attributes(copy, &a);
  if (!count) *copy_of(c, from->a) = copy->a;
}

/* ---- Instructions ---- */

static Literal *clone_literal(Cloning *c, const Literal *from) {
  Arena *arena = c->target->arena;
  if (c->constants && from->data && arena_move(c->constants, arena, from->data)) {
    return literal_view(arena, clone_shape(c, from->shape), from->data);
  }
  return literal_copy(arena, from);
}

static Instruction *clone_instruction(Cloning *c, Computation *into, const Instruction *from,
                                      Instruction *const *by_id) {
  const Shape *shape = clone_shape(c, from->shape);
  Instruction *copy;
  if (from->opcode == HLO_PARAMETER) {
    copy = computation_add_parameter(into, from->parameter_number, shape, from->name);
  } else {
    copy = computation_add_named(into, from->opcode, shape, from->operands, from->operand_count,
                                 NULL, from->name);
  }
  for (int i = 0; i < from->operand_count; i++) copy->operands[i] = by_id[from->operands[i]->id];
  clone_attributes(c, copy, from, by_id);
  copy->line = from->line;
  if (from->literal) copy->literal = clone_literal(c, from->literal);
  return copy;
}

static void clone_callees(Cloning *c, const Instruction *instruction) {
  int count = instruction_called(instruction, NULL);
  if (!count) return;
  Computation **called = scope_new((size_t)count, sizeof *called);
  instruction_called(instruction, called);
  for (int k = 0; k < count; k++) clone_computation(c, called[k]);
  scope_free(called);
}

static Computation *clone_computation(Cloning *c, const Computation *computation) {
  Module *target = c->target;
  if (c->copies[computation->number]) return c->copies[computation->number];
  int n = computation->count;
  Instruction **by_id = scope_new((size_t)n, sizeof *by_id);
  /* Called computations first, so that the list keeps callees before callers. */
  for (int i = 0; i < n; i++) clone_callees(c, computation->instructions[i]);
  Computation *copy = module_add_computation(target, computation->name);
  for (int i = 0; i < n; i++) {
    const Instruction *from = computation->instructions[i];
    by_id[from->id] = clone_instruction(c, copy, from, by_id);
  }
  copy->root = by_id[computation->root->id];
  copy->keeps_root = true;
  scope_free(by_id);
  return c->copies[computation->number] = copy;
}

Computation *module_clone_computation(Module *target, const Computation *computation,
                                      Computation **copies) {
  if (!copies) copies = ARENA_ARRAY(target->arena, Computation *, computation->module->numbers);
  Cloning c = {.target = target, .copies = copies};
  return clone_computation(&c, computation);
}

/* ---- Modules ---- */

static const Alias *copy_aliases(Arena *arena, const Module *module) {
  Alias *aliases = ARENA_ARRAY(arena, Alias, module->alias_count);
  for (int i = 0; i < module->alias_count; i++) {
    aliases[i] = module->aliases[i];
    copy_list(arena, &aliases[i].output_index);
    copy_list(arena, &aliases[i].parameter_index);
  }
  return aliases;
}

static void copy_header(Cloning *c, const Module *module) {
  Module *copy = c->target;
  Arena *arena = copy->arena;
  const Computation *entry = module->entry;
  copy->replica_count = module->replica_count;
  copy->num_partitions = module->num_partitions;
  copy->meshes = mesh_list_copy(arena, module->meshes);
  copy->extra_header = copy_text(arena, module->extra_header);
  copy->bounded_sets = module->bounded_sets;
  if (module->bounded_results) {
    size_t leaves = (size_t)shape_leaves(entry->root->shape);
    copy->bounded_results =
        arena_copy(arena, module->bounded_results, leaves * sizeof *module->bounded_results);
  }
  if (module->parameter_layouts) {
    copy->parameter_layouts = ARENA_ARRAY(arena, const Shape *, entry->parameter_count);
    for (int i = 0; i < entry->parameter_count; i++) {
      copy->parameter_layouts[i] = clone_shape(c, module->parameter_layouts[i]);
    }
  }
  if (module->result_layout) copy->result_layout = clone_shape(c, module->result_layout);
  copy->alias_count = module->alias_count;
  copy->aliases = copy_aliases(arena, module);
}

static Module *clone_module(const Module *module, Arena *constants) {
  Module *copy = module_new(module->name);
  Computation **copies = scope_new((size_t)module->numbers, sizeof *copies);
  Cloning c = {.target = copy, .copies = copies, .constants = constants};
  for (int i = 0; i < module->count; i++) {
    Computation *computation = clone_computation(&c, module->computations[i]);
    if (module->computations[i] == module->entry) copy->entry = computation;
  }
  copy_header(&c, module);
  scope_free(copies);
  return copy;
}

Module *module_clone(const Module *module) { return clone_module(module, NULL); }

Module *module_compact(Module *module) {
  Module *copy = clone_module(module, module->arena);
  arena_replaces(copy->arena, module->arena);
  module_free(module);
  return copy;
}
