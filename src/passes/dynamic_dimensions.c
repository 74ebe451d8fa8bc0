#include "passes/dynamic_dimensions.h"

#include "passes/dynamic.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

/* ---- Sizes ---- */

int size_count(const Shape *shape) {
  int count = shape->rank;
  for (int i = 0; i < shape->tuple_size; i++) count += size_count(shape->elements[i]);
  return count;
}

/* The bounds that go with the sizes. */
static int64_t *put_bounds(const Shape *shape, int64_t *out) {
  for (int i = 0; i < shape->rank; i++) *out++ = shape->dims[i];
  for (int i = 0; i < shape->tuple_size; i++) out = put_bounds(shape->elements[i], out);
  return out;
}

/* Which of the sizes the shape itself says are dynamic. */
static bool *put_flags(const Shape *shape, bool *out) {
  for (int i = 0; i < shape->rank; i++) *out++ = shape->dynamic && shape->dynamic[i];
  for (int i = 0; i < shape->tuple_size; i++) out = put_flags(shape->elements[i], out);
  return out;
}

int shape_dynamic_dimensions(const Shape *shape) {
  int count = 0;
  for (int i = 0; shape->dynamic && i < shape->rank; i++) count += shape->dynamic[i];
  for (int i = 0; i < shape->tuple_size; i++) count += shape_dynamic_dimensions(shape->elements[i]);
  return count;
}

bool any_dynamic(const Sizes sizes, int count) {
  for (int i = 0; i < count; i++) {
    if (sizes[i]) return true;
  }
  return false;
}

bool dynamic_refuse(Dynamic *d, const Instruction *instruction, int operand, const char *rule) {
  const Instruction *at = instruction->operands[operand];
  return error_set_op(d->error, STATUS_UNIMPLEMENTED, opcode_name(instruction->opcode),
                      "operand %d of shape %s has a dynamic dimension that %s cannot take; %s",
                      operand, shape_str(d->scratch, at->shape), instruction->name, rule);
}

static Sizes no_sizes(Dynamic *d, const Shape *shape) {
  return ARENA_ARRAY(d->scratch, Instruction *, size_count(shape));
}

/* ---- Whether there is anything to do ---- */

static bool is_dynamic(const Instruction *instruction) {
  Opcode opcode = instruction->opcode;
  return opcode == HLO_SET_DIMENSION_SIZE || opcode == HLO_GET_DIMENSION_SIZE ||
         opcode == HLO_DYNAMIC_RESHAPE || shape_dynamic_dimensions(instruction->shape);
}

static bool module_is_dynamic(const Module *module) {
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      if (is_dynamic(computation->instructions[i])) return true;
    }
  }
  return false;
}

/* In it, or in what it calls. */
static bool mentions_dynamic(const Computation *computation, Arena *scratch) {
  for (int i = 0; i < computation->count; i++) {
    const Instruction *instruction = computation->instructions[i];
    if (is_dynamic(instruction)) return true;
    int count = instruction_called(instruction, NULL);
    if (!count) continue;
    Computation **called = ARENA_ARRAY(scratch, Computation *, count);
    instruction_called(instruction, called);
    for (int c = 0; c < count; c++) {
      if (mentions_dynamic(called[c], scratch)) return true;
    }
  }
  return false;
}

/* ---- The walk over one computation ---- */

static void walk_begin(Dynamic *d, Computation *computation) {
  d->computation = computation;
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

static bool is_control(Opcode opcode) { return opcode == HLO_WHILE || opcode == HLO_CONDITIONAL; }

static bool visit(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result) {
  Instruction **stands_for = &d->to[instruction->id];
  *stands_for = instruction;
  if (is_control(instruction->opcode)) {
    return dynamic_control(d, instruction, operands, result, stands_for);
  }
  bool any = is_dynamic(instruction);
  /* pass_inline_calls left it as it is too large. */
  if (instruction->opcode == HLO_CALL && mentions_dynamic(instruction->a.to_apply, d->scratch)) {
    return error_set_op(d->error, STATUS_UNIMPLEMENTED, "call",
                        "%s has dynamic dimensions and is too large to be inlined",
                        instruction->a.to_apply->name);
  }
  for (int k = 0; k < instruction->operand_count && !any; k++) {
    any = any_dynamic(operands[k], size_count(instruction->operands[k]->shape));
  }
  if (!any) return true;
  if (!dynamic_infer(d, instruction, operands, result)) return false;
  if (!d->dry) *stands_for = dynamic_rewrite(d, instruction, operands, result);
  return *stands_for != NULL;
}

/* In earnest, operands become what stands for them as they are visited. */
static bool walk(Dynamic *d) {
  for (int i = 0; i < d->count; i++) {
    Instruction *instruction = d->computation->instructions[i];
    if (instruction->opcode == HLO_PARAMETER) {
      d->to[i] = d->parameters[instruction->parameter_number];
      d->sizes[i] = d->parameter_sizes[instruction->parameter_number];
      continue;
    }
    Sizes *operands = ARENA_ARRAY(d->scratch, Sizes, instruction->operand_count);
    for (int k = 0; k < instruction->operand_count; k++) {
      int id = instruction->operands[k]->id;
      operands[k] = d->sizes[id];
      if (!d->dry) instruction->operands[k] = d->to[id];
    }
    InstructionList before = instruction->a.control_predecessors;
    for (int k = 0; !d->dry && k < before.count; k++) before.items[k] = d->to[before.items[k]->id];
    d->sizes[i] = no_sizes(d, instruction->shape);
    if (!visit(d, instruction, operands, d->sizes[i])) return false;
  }
  return true;
}

/* ---- Values with their sizes beside them, to carry into and out of computations ---- */

/* (value, size, ...): a size for every entry that is dynamic in `which`. */
static Instruction *pack(Dynamic *d, Instruction *value, Sizes sizes, const Sizes which) {
  Arena *arena = d->computation->module->arena;
  int n = size_count(value->shape), count = 1;
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, n + 1);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, n + 1);
  int64_t *bounds = ARENA_ARRAY(d->scratch, int64_t, n);
  put_bounds(value->shape, bounds);
  parts[0] = value;
  for (int i = 0; i < n; i++) {
    if (which[i]) parts[count++] = size_or_bound(d, sizes[i], bounds[i]);
  }
  for (int i = 0; i < count; i++) shapes[i] = parts[i]->shape;
  return emit(d, HLO_TUPLE_OP, shape_tuple(arena, count, shapes), parts, count, NULL);
}

static const Shape *packed_shape(Dynamic *d, const Shape *shape, const Sizes which) {
  Arena *arena = d->computation->module->arena;
  int n = size_count(shape), count = 1;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, n + 1);
  shapes[0] = shape;
  for (int i = 0; i < n; i++) {
    if (which[i]) shapes[count++] = shape_scalar(S32);
  }
  return shape_tuple(arena, count, shapes);
}

static Instruction *unpack(Dynamic *d, Instruction *packed, const Sizes which, Sizes sizes) {
  Instruction *value = emit_element(d, packed, 0);
  int n = size_count(value->shape), next = 1;
  for (int i = 0; i < n; i++) sizes[i] = which[i] ? emit_element(d, packed, next++) : NULL;
  return value;
}

/* ---- Computations that are called ---- */

/* The sizes that `callee` returns if its argument has `argument`: only whether there are any. */
static bool callee_sizes(Dynamic *d, Computation *callee, Sizes argument, Sizes result) {
  Dynamic in = {.scratch = d->scratch, .error = d->error, .dry = true};
  computation_renumber(callee);
  walk_begin(&in, callee);
  in.parameter_sizes[0] = argument;
  if (!walk(&in)) return false;
  int n = size_count(callee->root->shape);
  for (int i = 0; i < n; i++) result[i] = in.sizes[callee->root->id][i];
  return true;
}

/* A copy of `callee` for an argument that is packed by `argument`, if any entry there is dynamic,
** and a result packed by `result`. Callees are shared between callers, whose sizes may differ. */
static Computation *specialize(Dynamic *d, Computation *callee, Sizes argument,
                               const Sizes result) {
  Computation *made = module_clone_computation(callee->module, callee, NULL);
  Dynamic in = {.scratch = d->scratch, .error = d->error};
  walk_begin(&in, made);
  Instruction *parameter = made->parameters[0];
  if (any_dynamic(argument, size_count(parameter->shape))) {
    parameter->shape = packed_shape(&in, parameter->shape, argument);
    in.parameters[0] = unpack(&in, parameter, argument, in.parameter_sizes[0]);
  }
  if (!walk(&in)) return NULL;
  int root = made->root->id;
  made->root = in.to[root];
  if (result && any_dynamic(result, size_count(made->root->shape))) {
    made->root = pack(&in, made->root, in.sizes[root], result);
  }
  computation_sort(made);
  return made;
}

static bool specialize_into(Dynamic *d, Computation **callee, Sizes argument, const Sizes result) {
  int n = size_count((*callee)->parameters[0]->shape);
  bool needed = any_dynamic(argument, n) || mentions_dynamic(*callee, d->scratch) ||
                (result && any_dynamic(result, size_count((*callee)->root->shape)));
  if (!needed) return true;
  Computation *made = specialize(d, *callee, argument, result);
  if (made) *callee = made;
  return made != NULL;
}

/* A size that the body makes dynamic is so from the start: what it makes of that may be more. */
static bool loop_sizes(Dynamic *d, const Instruction *loop, const Sizes init, Sizes state) {
  int n = size_count(loop->shape);
  Sizes after = no_sizes(d, loop->shape);
  for (int i = 0; i < n; i++) state[i] = init[i];
  for (bool grown = true; grown;) {
    if (!callee_sizes(d, loop->a.body, state, after)) return false;
    grown = false;
    for (int i = 0; i < n; i++) {
      if (!after[i] || state[i]) continue;
      state[i] = after[i];
      grown = true;
    }
  }
  return true;
}

static bool rewrite_while(Dynamic *d, Instruction *loop, Sizes init, Sizes result,
                          Instruction **stands_for) {
  Sizes state = no_sizes(d, loop->shape);
  if (!loop_sizes(d, loop, init, state)) return false;
  int n = size_count(loop->shape);
  if (d->dry) {
    for (int i = 0; i < n; i++) result[i] = state[i];
    return true;
  }
  if (!specialize_into(d, &loop->a.condition, state, NULL) ||
      !specialize_into(d, &loop->a.body, state, state)) {
    return false;
  }
  if (!any_dynamic(state, n)) return true;
  loop->operands[0] = pack(d, loop->operands[0], init, state);
  loop->shape = loop->operands[0]->shape;
  *stands_for = unpack(d, loop, state, result);
  return true;
}

/* The branches where the instruction has them. */
static Computation **branch_place(Instruction *conditional, int branch) {
  Attributes *a = &conditional->a;
  if (!a->true_computation) return &a->branches.items[branch];
  return branch ? &a->false_computation : &a->true_computation;
}

static bool rewrite_conditional(Dynamic *d, Instruction *conditional, Sizes *operands, Sizes result,
                                Instruction **stands_for) {
  int n = size_count(conditional->shape), branches = conditional->operand_count - 1;
  Sizes which = no_sizes(d, conditional->shape), one = no_sizes(d, conditional->shape);
  for (int b = 0; b < branches; b++) {
    if (!callee_sizes(d, *branch_place(conditional, b), operands[b + 1], one)) return false;
    for (int i = 0; i < n; i++) which[i] = which[i] ? which[i] : one[i];
  }
  if (d->dry) {
    for (int i = 0; i < n; i++) result[i] = which[i];
    return true;
  }
  ComputationList *list =
      &conditional->a.branches; /* may be shared with where it was inlined from */
  list->items = arena_copy(conditional->parent->module->arena, list->items,
                           sizeof *list->items * (size_t)list->count);
  for (int b = 0; b < branches; b++) {
    Instruction **operand = &conditional->operands[b + 1];
    if (!specialize_into(d, branch_place(conditional, b), operands[b + 1], which)) return false;
    if (!any_dynamic(operands[b + 1], size_count((*operand)->shape))) continue;
    *operand = pack(d, *operand, operands[b + 1], operands[b + 1]);
  }
  if (!any_dynamic(which, n)) return true;
  conditional->shape = packed_shape(d, conditional->shape, which);
  *stands_for = unpack(d, conditional, which, result);
  return true;
}

bool dynamic_control(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result,
                     Instruction **stands_for) {
  if (instruction->opcode == HLO_CONDITIONAL) {
    return rewrite_conditional(d, instruction, operands, result, stands_for);
  }
  return rewrite_while(d, instruction, operands[0], result, stands_for);
}

/* ---- The entry ---- */

static void add_size_parameters(Dynamic *d) {
  Computation *entry = d->computation;
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
      Instruction *root = entry->root;
      d->parameter_sizes[p][i] =
          computation_add_parameter(entry, entry->parameter_count, shape_scalar(S32), name);
      entry->root = root;
    }
  }
}

/* A tuple's elements, or the value itself, with the sizes of the dimensions that the result's
** `shape` says are dynamic behind them. What stands for the root may have lost those flags. */
static Instruction *add_size_results(Dynamic *d, Instruction *root, const Shape *shape,
                                     Sizes sizes) {
  Arena *arena = d->computation->module->arena;
  int n = size_count(shape), elements = shape_is_tuple(shape) ? shape->tuple_size : 1;
  int added = shape_dynamic_dimensions(shape), count = 0;
  if (!added) return root;
  bool *flags = ARENA_ARRAY(d->scratch, bool, n);
  int64_t *bounds = ARENA_ARRAY(d->scratch, int64_t, n);
  put_flags(shape, flags);
  put_bounds(shape, bounds);
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, elements + added);
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, elements + added);
  while (count < elements) {
    parts[count] = shape_is_tuple(shape) ? emit_element(d, root, count) : root;
    count++;
  }
  for (int i = 0; i < n; i++) {
    if (flags[i]) parts[count++] = size_or_bound(d, sizes[i], bounds[i]);
  }
  for (int i = 0; i < count; i++) shapes[i] = parts[i]->shape;
  return emit(d, HLO_TUPLE_OP, shape_tuple(arena, count, shapes), parts, count, NULL);
}

static bool rewrite_entry(Dynamic *d, Module *module) {
  Computation *entry = module->entry;
  int parameters = entry->parameter_count;
  computation_renumber(entry);
  walk_begin(d, entry);
  const Shape *shape = entry->root->shape;
  add_size_parameters(d);
  if (!walk(d)) return false;
  int root = entry->root->id;
  entry->root = add_size_results(d, d->to[root], shape, d->sizes[root]);
  computation_sort(entry);
  if (entry->parameter_count == parameters && !shape_dynamic_dimensions(shape)) return true;
  /* These are about parameters and a result that are others now. */
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
  Arena *scratch = arena_new();
  bool ok = true;
  if (module_is_dynamic(module)) {
    pass_inline_calls(module);
    Dynamic d = {.scratch = scratch, .error = error};
    module_keep_reached(module);
    ok = rewrite_entry(&d, module);
    if (ok) {
      pass_dead_code(module); /* before stripping: some of what it drops was left half changed */
      strip_module(module);
    }
  }
  arena_free(scratch);
  return ok;
}
