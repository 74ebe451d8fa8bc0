/*
** Passes sizes into and out of the computations of loops, branches and calls. A value with dynamic
** dimensions is passed as a tuple of itself and its sizes.
**
** Callers of a shared callee may have different dynamic sizes. The callee is copied once for each
** combination of dynamic sizes, and the copy is remembered, so that repeated calls are walked and copied
** once per combination.
*/
#include <string.h>

#include "hlo/ir/shorthand.h"
#include "rewrite/dynamic/dynamic.h"

/* A combination of dynamic sizes in a computation's parameters, one parameter after the other, and the
** result of walking or copying the computation for it. */
struct CalleeMemo {
  const Computation *callee;
  const bool *arguments;
  const bool *wanted; /* flags of the result's packed entries; NULL after a dry walk */
  bool *result;       /* after a dry walk: flags of the dynamic ones */
  Computation *made;
};

/* ---- Values packed with their sizes ---- */

/* Makes (value, size, ...), with a size for every entry that is dynamic in `which`. */
static Instruction *pack(Dynamic *d, Instruction *value, Sizes sizes, const Sizes which) {
  Arena *arena = d->at.computation->module->arena;
  int n = size_count(value->shape), count = 1;
  Instruction **parts = ARENA_ARRAY(arena, Instruction *, n + 1);
  int64_t *bounds = ARENA_ARRAY(d->scratch, int64_t, n);
  put_bounds(value->shape, bounds);
  parts[0] = value;
  for (int i = 0; i < n; i++) {
    if (which[i]) parts[count++] = size_or_bound(d, sizes[i], bounds[i]);
  }
  return computation_add_tuple(d->at.computation, parts, count);
}

static const Shape *packed_shape(Dynamic *d, const Shape *shape, const Sizes which) {
  Arena *arena = d->at.computation->module->arena;
  int n = size_count(shape), count = 1;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, n + 1);
  shapes[0] = shape;
  for (int i = 0; i < n; i++) {
    if (which[i]) shapes[count++] = shape_scalar(S32);
  }
  return shape_tuple(arena, count, shapes);
}

/* Replaces an instruction by one with a packed shape. The old one, with its shape, stays an operand of its
** users until the walk reaches them. */
static Instruction *put_packed(Dynamic *d, Instruction *stated, const Sizes which) {
  Computation *computation = d->at.computation;
  Instruction *packed = arena_copy(computation->module->arena, stated, sizeof *stated);
  packed->shape = packed_shape(d, stated->shape, which);
  computation->instructions[stated->id] = packed;
  return packed;
}

static Instruction *unpack(Dynamic *d, Instruction *packed, const Sizes which, Sizes sizes) {
  Instruction *value = computation_add_element(d->at.computation, packed, 0);
  int n = size_count(value->shape), next = 1;
  for (int i = 0; i < n; i++)
    sizes[i] = which[i] ? computation_add_element(d->at.computation, packed, next++) : NULL;
  return value;
}

static void pack_operand(Dynamic *d, Instruction *instruction, int k, Sizes sizes) {
  Instruction *operand = instruction->operands[k];
  if (!any_dynamic(sizes, size_count(operand->shape))) return;
  instruction->operands[k] = pack(d, operand, sizes, sizes);
}

/* ---- Callees ---- */

static const bool *flags_of(Dynamic *d, const Sizes sizes, int count) {
  bool *flags = ARENA_ARRAY(d->scratch, bool, count);
  for (int i = 0; i < count; i++) flags[i] = sizes[i] != NULL;
  return flags;
}

static int argument_entries(const Computation *callee) {
  int count = 0;
  for (int p = 0; p < callee->parameter_count; p++) {
    count += size_count(callee->parameters[p]->shape);
  }
  return count;
}

static const bool *argument_flags(Dynamic *d, const Computation *callee, const Sizes *arguments) {
  bool *flags = ARENA_ARRAY(d->scratch, bool, argument_entries(callee)), *next = flags;
  for (int p = 0; p < callee->parameter_count; p++) {
    int n = size_count(callee->parameters[p]->shape);
    for (int i = 0; i < n; i++) *next++ = arguments[p][i] != NULL;
  }
  return flags;
}

static CalleeMemo *recall(Callees *callees, const Computation *callee, const bool *arguments,
                          const bool *wanted) {
  size_t in = (size_t)argument_entries(callee), out = (size_t)size_count(callee->root->shape);
  for (int i = 0; i < callees->memo_count; i++) {
    CalleeMemo *memo = &callees->memos[i];
    if (memo->callee != callee || !memo->wanted != !wanted) continue;
    if (memcmp(memo->arguments, arguments, in) != 0) continue;
    if (!wanted || memcmp(memo->wanted, wanted, out) == 0) return memo;
  }
  return NULL;
}

static void remember(Dynamic *d, CalleeMemo memo) {
  Callees *callees = d->callees;
  ARENA_PUSH(d->scratch, callees->memos, callees->memo_count, callees->memo_capacity, memo);
}

static bool mentions_dynamic(const Callees *callees, const Computation *callee) {
  for (int i = 0; i < callees->dynamic_count; i++) {
    if (callees->dynamic[i] == callee) return true;
  }
  return false;
}

static Dynamic inside(const Dynamic *d, bool dry) {
  return (Dynamic){.scratch = d->scratch,
                   .at = {.error = d->at.error, .failed = d->at.failed},
                   .callees = d->callees,
                   .dry = dry};
}

/* Finds the dynamic sizes that `callee` returns for these of its arguments, as markers. */
static bool callee_sizes(Dynamic *d, Computation *callee, const Sizes *arguments, Sizes result) {
  Dynamic in = inside(d, true);
  int n = size_count(callee->root->shape);
  const bool *flags = argument_flags(d, callee, arguments);
  const CalleeMemo *known = recall(d->callees, callee, flags, NULL);
  bool *found = known ? known->result : ARENA_ARRAY(d->scratch, bool, n);
  if (!known) {
    computation_renumber(callee);
    dynamic_begin(&in, callee);
    for (int p = 0; p < callee->parameter_count; p++) in.parameter_sizes[p] = arguments[p];
    if (!dynamic_walk(&in)) return false;
    for (int i = 0; i < n; i++) found[i] = in.sizes[callee->root->id][i] != NULL;
    remember(d, (CalleeMemo){.callee = callee, .arguments = flags, .result = found});
  }
  for (int i = 0; i < n; i++) result[i] = found[i] ? size_of(&in, 0) : NULL;
  return true;
}

/* Copies a computation. The copy has the same callees, which are copied when the walk reaches the calls. */
static Computation *copy_callee(Dynamic *d, const Computation *callee) {
  Computation **copies = ARENA_ARRAY(d->scratch, Computation *, callee->module->numbers);
  for (int i = 0; i < callee->count; i++) {
    int count = instruction_called(callee->instructions[i], NULL);
    Computation **called = ARENA_ARRAY(d->scratch, Computation *, count);
    instruction_called(callee->instructions[i], called);
    for (int c = 0; c < count; c++) copies[called[c]->number] = called[c];
  }
  return module_clone_computation(callee->module, callee, copies);
}

/* Copies a callee for dynamic sizes. Parameters with a dynamic entry in `arguments` are packed by it, and
** so is a result with one in `wanted`. */
static Computation *specialize(Dynamic *d, Computation *callee, const Sizes *arguments,
                               const Sizes wanted) {
  Computation *made = copy_callee(d, callee);
  Dynamic in = inside(d, false);
  dynamic_begin(&in, made);
  for (int p = 0; p < made->parameter_count; p++) {
    if (!any_dynamic(arguments[p], size_count(made->parameters[p]->shape))) continue;
    Instruction *packed = put_packed(&in, made->parameters[p], arguments[p]);
    made->parameters[p] = packed;
    in.parameters[p] = unpack(&in, packed, arguments[p], in.parameter_sizes[p]);
  }
  if (!dynamic_walk(&in)) return NULL;
  int root = made->root->id;
  made->root = in.to[root];
  if (any_dynamic(wanted, size_count(made->root->shape))) {
    made->root = pack(&in, made->root, in.sizes[root], wanted);
  }
  computation_sort(made);
  return made;
}

static bool specialize_into(Dynamic *d, Computation **callee, const Sizes *arguments,
                            const Sizes wanted) {
  int n = size_count((*callee)->root->shape);
  bool needed = any_dynamic(wanted, n) || mentions_dynamic(d->callees, *callee);
  for (int p = 0; p < (*callee)->parameter_count && !needed; p++) {
    needed = any_dynamic(arguments[p], size_count((*callee)->parameters[p]->shape));
  }
  if (!needed) return true;
  CalleeMemo memo = {.callee = *callee};
  memo.arguments = argument_flags(d, *callee, arguments);
  memo.wanted = flags_of(d, wanted, n);
  const CalleeMemo *known = recall(d->callees, *callee, memo.arguments, memo.wanted);
  memo.made = known ? known->made : specialize(d, *callee, arguments, wanted);
  if (!memo.made) return false;
  if (!known) remember(d, memo);
  *callee = memo.made;
  return true;
}

/* ---- while ---- */

/* Finds the dynamic sizes of a loop's state. One that the body makes dynamic is dynamic from the start,
** which may make others dynamic: so the body is walked until nothing changes. */
static bool loop_sizes(Dynamic *d, const Instruction *loop, const Sizes init, Sizes state) {
  int n = size_count(loop->shape);
  Sizes after = no_sizes(d, loop->shape);
  for (int i = 0; i < n; i++) state[i] = init[i];
  for (bool grown = true; grown;) {
    if (!callee_sizes(d, loop->a->body, &state, after)) return false;
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
  Attributes *a = instruction_attributes(loop);
  if (!specialize_into(d, &a->condition, &state, no_sizes(d, a->condition->root->shape)) ||
      !specialize_into(d, &a->body, &state, state)) {
    return false;
  }
  if (!any_dynamic(state, n)) return true;
  loop->operands[0] = pack(d, loop->operands[0], init, state);
  *stands_for = unpack(d, put_packed(d, loop, state), state, result);
  return true;
}

/* ---- conditional and call ---- */

/* Returns the attribute that holds callee number `index`. */
static Computation **callee_place(Opcode opcode, Attributes *a, int index) {
  if (opcode == HLO_CALL) return &a->to_apply;
  if (opcode == HLO_FUSION) return &a->calls;
  if (!a->true_computation) return &a->branches.items[index];
  return index ? &a->false_computation : &a->true_computation;
}

/* Returns the sizes of a callee's arguments: all operands for a call, and one for a branch, after the index. */
static Sizes *callee_arguments(const Instruction *instruction, Sizes *operands, int index) {
  return instruction->opcode == HLO_CONDITIONAL ? &operands[index + 1] : operands;
}

/* Finds the sizes that are dynamic in the result of any callee. */
static bool joint_sizes(Dynamic *d, Instruction *instruction, int callees, Sizes *operands,
                        Sizes which) {
  int n = size_count(instruction->shape);
  Sizes one = no_sizes(d, instruction->shape);
  Attributes a = *instruction->a;
  for (int c = 0; c < callees; c++) {
    Sizes *arguments = callee_arguments(instruction, operands, c);
    if (!callee_sizes(d, *callee_place(instruction->opcode, &a, c), arguments, one)) return false;
    for (int i = 0; i < n; i++) which[i] = which[i] ? which[i] : one[i];
  }
  return true;
}

static bool rewrite_call(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result,
                         Instruction **stands_for) {
  bool branches = instruction->opcode == HLO_CONDITIONAL;
  int n = size_count(instruction->shape), callees = branches ? instruction->operand_count - 1 : 1;
  if (d->dry) return joint_sizes(d, instruction, callees, operands, result);
  Sizes which = no_sizes(d, instruction->shape);
  if (!joint_sizes(d, instruction, callees, operands, which)) return false;
  Attributes *a = instruction_attributes(instruction);
  ComputationList *list = &a->branches; /* may be shared with the instruction it was inlined from */
  list->items = arena_copy(instruction->parent->module->arena, list->items,
                           sizeof *list->items * (size_t)list->count);
  for (int c = 0; c < callees; c++) {
    Sizes *arguments = callee_arguments(instruction, operands, c);
    if (!specialize_into(d, callee_place(instruction->opcode, a, c), arguments, which))
      return false;
  }
  for (int k = branches; k < instruction->operand_count; k++) {
    pack_operand(d, instruction, k, operands[k]);
  }
  if (!any_dynamic(which, n)) return true;
  *stands_for = unpack(d, put_packed(d, instruction, which), which, result);
  return true;
}

bool dynamic_control(Dynamic *d, Instruction *instruction, Sizes *operands, Sizes result,
                     Instruction **stands_for) {
  if (instruction->opcode == HLO_WHILE) {
    return rewrite_while(d, instruction, operands[0], result, stands_for);
  }
  return rewrite_call(d, instruction, operands, result, stands_for);
}
