#include "rewrite/dynamic/dimensions.h"

#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"
#include "rewrite/dynamic/dynamic.h"

/* Flags the sizes that the shape declares dynamic. */
static bool *put_flags(const Shape *shape, bool *out) {
  for (int i = 0; i < shape->rank; i++) *out++ = shape->dynamic && shape->dynamic[i];
  for (int i = 0; i < shape->tuple_size; i++) out = put_flags(shape->elements[i], out);
  return out;
}

Sizes no_sizes(Dynamic *d, const Shape *shape) {
  return ARENA_ARRAY(d->scratch, Instruction *, size_count(shape));
}

/* ---- Dynamic dimensions of a module ---- */

static bool calls_any(const Instruction *instruction, Computation *const *list, int count,
                      Arena *scratch) {
  int callees = instruction_called(instruction, NULL);
  if (!callees) return false;
  Computation **called = ARENA_ARRAY(scratch, Computation *, callees);
  instruction_called(instruction, called);
  for (int c = 0; c < callees; c++) {
    for (int i = 0; i < count; i++) {
      if (called[c] == list[i]) return true;
    }
  }
  return false;
}

/* Callees come before their callers. */
static void find_dynamic(const Module *module, Callees *callees, Arena *scratch) {
  callees->dynamic = ARENA_ARRAY(scratch, Computation *, module->count);
  for (int c = 0; c < module->count; c++) {
    Computation *computation = module->computations[c];
    bool found = false;
    for (int i = 0; i < computation->count && !found; i++) {
      const Instruction *instruction = computation->instructions[i];
      found = instruction_is_dynamic(instruction) ||
              calls_any(instruction, callees->dynamic, callees->dynamic_count, scratch);
    }
    if (found) callees->dynamic[callees->dynamic_count++] = computation;
  }
}

/* ---- The walk over one computation ---- */

void dynamic_begin(Dynamic *d, Computation *computation) {
  d->at.computation = computation;
  d->count = computation->count;
  d->to = ARENA_ARRAY(d->scratch, Instruction *, d->count);
  d->sizes = ARENA_ARRAY(d->scratch, Sizes, d->count);
  d->parameters = ARENA_ARRAY(d->scratch, Instruction *, computation->parameter_count);
  d->parameter_sizes = ARENA_ARRAY(d->scratch, Sizes, computation->parameter_count);
  for (int p = 0; p < computation->parameter_count; p++) {
    d->parameters[p] = computation->parameters[p];
    d->parameter_sizes[p] = no_sizes(d, computation->parameters[p]->shape);
  }
}

static bool is_control(Opcode opcode) {
  return opcode == HLO_WHILE || opcode == HLO_CONDITIONAL || opcode == HLO_CALL ||
         opcode == HLO_FUSION;
}

static void replace_operands(const Dynamic *d, Instruction *instruction) {
  if (d->dry) return;
  for (int k = 0; k < instruction->operand_count; k++) {
    instruction->operands[k] = new_operand(d, instruction, k);
  }
  InstructionList before = instruction->a->control_predecessors;
  for (int k = 0; k < before.count; k++) before.items[k] = d->to[before.items[k]->id];
}

static bool visit(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result) {
  Instruction **stands_for = &d->to[instruction->id];
  *stands_for = instruction;
  bool any = instruction_is_dynamic(instruction);
  for (int k = 0; k < instruction->operand_count && !any; k++) {
    any = any_dynamic(operands[k], size_count(instruction->operands[k]->shape));
  }
  bool control = is_control(instruction->opcode);
  if (any && !control && !dynamic_infer(d, instruction, operands, result)) return false;
  replace_operands(d, instruction);
  if (control) return dynamic_control(d, instruction, operands, result, stands_for);
  if (any && !d->dry) *stands_for = dynamic_rewrite(d, instruction, operands, result);
  return *stands_for != NULL;
}

bool dynamic_walk(Dynamic *d) {
  for (int i = 0; i < d->count; i++) {
    Instruction *instruction = d->at.computation->instructions[i];
    if (instruction->opcode == HLO_PARAMETER) {
      d->to[i] = d->parameters[instruction->parameter_number];
      d->sizes[i] = d->parameter_sizes[instruction->parameter_number];
      continue;
    }
    Sizes *operands = ARENA_ARRAY(d->scratch, Sizes, instruction->operand_count);
    for (int k = 0; k < instruction->operand_count; k++) {
      operands[k] = d->sizes[instruction->operands[k]->id];
    }
    d->sizes[i] = no_sizes(d, instruction->shape);
    if (!visit(d, instruction, operands, d->sizes[i])) return false;
  }
  return true;
}

/* ---- The entry ---- */

static void add_size_parameters(Dynamic *d) {
  Computation *entry = d->at.computation;
  int count = entry->parameter_count;
  for (int p = 0; p < count; p++) {
    Instruction *parameter = entry->parameters[p];
    int n = size_count(parameter->shape);
    bool *flags = ARENA_ARRAY(d->scratch, bool, n);
    put_flags(parameter->shape, flags);
    for (int i = 0; i < n; i++) {
      if (!flags[i]) continue;
      const char *name =
          arena_printf(entry->module->arena, "%s.dynamic_size.%d", parameter->name, i);
      d->parameter_sizes[p][i] =
          computation_add_parameter(entry, entry->parameter_count, shape_scalar(S32), name);
    }
  }
}

/* Returns a tuple of the root's elements, or the root itself, and then the sizes of the dimensions that the
** result's `shape` declares dynamic. The replacement of the root may have lost those flags. */
static Instruction *add_size_results(Dynamic *d, Instruction *root, const Shape *shape,
                                     Sizes sizes) {
  Arena *arena = d->at.computation->module->arena;
  int n = size_count(shape), elements = shape_is_tuple(shape) ? shape->tuple_size : 1;
  int added = shape_dynamic_dimensions(shape), count = 0;
  if (!added) return root;
  bool *flags = ARENA_ARRAY(d->scratch, bool, n);
  int64_t *bounds = ARENA_ARRAY(d->scratch, int64_t, n);
  put_flags(shape, flags);
  put_bounds(shape, bounds);
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, elements + added);
  while (count < elements) {
    parts[count] =
        shape_is_tuple(shape) ? computation_add_element(d->at.computation, root, count) : root;
    count++;
  }
  for (int i = 0; i < n; i++) {
    if (flags[i]) parts[count++] = size_or_bound(d, sizes[i], bounds[i]);
  }
  return computation_add_tuple(d->at.computation, parts, count);
}

static bool rewrite_entry(Dynamic *d, Module *module) {
  Computation *entry = module->entry;
  int parameters = entry->parameter_count;
  computation_renumber(entry);
  dynamic_begin(d, entry);
  const Shape *shape = entry->root->shape;
  add_size_parameters(d);
  if (!dynamic_walk(d)) return false;
  int root = entry->root->id;
  entry->root = add_size_results(d, d->to[root], shape, d->sizes[root]);
  computation_sort(entry);
  if (entry->parameter_count == parameters && !shape_dynamic_dimensions(shape)) return true;
  /* These describe the old parameters and result. */
  module->parameter_layouts = NULL;
  module->result_layout = NULL;
  module->alias_count = 0;
  return true;
}

/* ---- Afterwards ---- */

static const Shape *strip(Arena *arena, const Shape *shape) {
  if (!shape_dynamic_dimensions(shape)) return shape;
  if (!shape_is_tuple(shape)) return shape_with_dynamic(arena, shape, NULL);
  const Shape **elements = ARENA_ARRAY(arena, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = strip(arena, shape->elements[i]);
  return shape_tuple(arena, shape->tuple_size, elements);
}

static void strip_literal(Arena *arena, Literal *literal) {
  for (int i = 0; i < literal->shape->tuple_size; i++) strip_literal(arena, literal->elements[i]);
  literal->shape = strip(arena, literal->shape);
}

static void strip_module(Module *module) {
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      Instruction *instruction = computation->instructions[i];
      instruction->shape = strip(module->arena, instruction->shape);
      if (instruction->literal) strip_literal(module->arena, instruction->literal);
    }
  }
}

bool dynamic_dimensions_resolve(Module *module, Error *error) {
  module_keep_roots(module);
  module_keep_reached(module);
  Arena *scratch = arena_new();
  Callees callees = {0};
  find_dynamic(module, &callees, scratch);
  bool failed = false;
  Dynamic d = {.at = {.error = error, .failed = &failed}, .scratch = scratch, .callees = &callees};
  bool ok = rewrite_entry(&d, module) && !failed;
  if (ok) {
    module_remove_dead(module); /* before stripping: some of what it drops was left half changed */
    strip_module(module);
  }
  arena_free(scratch);
  return ok;
}
