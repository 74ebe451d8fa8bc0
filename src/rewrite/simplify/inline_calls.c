/*
** Inlines the bodies of `call`, `fusion` (of imported programs; ours are made later), `map` with an
** element-wise body, and async-start/done pairs. Such pairs of collectives and copies become their
** synchronous form, which gives the same result at once.
*/
#include <stdlib.h>

#include "base/host/platform.h"
#include "hlo/ir/shard_calls.h"
#include "rewrite/base/rewrite.h"

/* Threshold LARGEST_COMPUTATION, MIN_GROWTH, GROWTH_FACTOR: limits of a program's growth, which is exponential if each level
** calls the next one twice. Calls beyond the limits stay, and the evaluator runs them. Test: "a computation that is called
** many times" in core/thresholds_programs.test.mjs. */
enum { LARGEST_COMPUTATION = 1 << 18, MIN_GROWTH = 1 << 14, GROWTH_FACTOR = 4 };

/* The walk over one computation, which builds a new list of instructions. */
typedef struct Inliner {
  Computation *computation;
  Instruction **to; /* by old id: the instruction that replaces it */
  int *users;       /* by old id: number of operands that refer to it */
  int *finished;    /* by old id: number of these in its own -done or -update */
  bool changed;
} Inliner;

static Opcode synchronous_form(Opcode start) {
  switch (start) {
  case HLO_ALL_GATHER_START: return HLO_ALL_GATHER;
  case HLO_ALL_REDUCE_START: return HLO_ALL_REDUCE;
  case HLO_COLLECTIVE_PERMUTE_START: return HLO_COLLECTIVE_PERMUTE;
  case HLO_COPY_START: return HLO_COPY;
  default: return OPCODE_COUNT;
  }
}

static bool is_done(Opcode opcode) {
  return opcode == HLO_ALL_GATHER_DONE || opcode == HLO_ALL_REDUCE_DONE ||
         opcode == HLO_COLLECTIVE_PERMUTE_DONE || opcode == HLO_COPY_DONE;
}

static bool is_async(Opcode opcode) {
  return opcode == HLO_ASYNC_START || opcode == HLO_ASYNC_UPDATE || opcode == HLO_ASYNC_DONE;
}

/* Whether an instruction is element-wise and depends on its operands only. */
static bool is_elementwise(const Instruction *instruction) {
  return opcode_is_elementwise(instruction->opcode) &&
         (opcode_category(instruction->opcode) != CONVERSION || instruction->opcode == HLO_CONVERT);
}

static bool has_elementwise_body(const Instruction *map) {
  const Computation *body = map->a->to_apply;
  if (!shape_is_static_array(map->shape)) return false;
  for (int i = 0; i < body->count; i++) {
    const Instruction *instruction = body->instructions[i];
    if (!shape_is_scalar(instruction->shape)) return false;
    if (instruction->opcode != HLO_PARAMETER && instruction->opcode != HLO_CONSTANT &&
        !is_elementwise(instruction)) {
      return false;
    }
  }
  return true;
}

/* Drops control predecessors: the order of the caller's list expresses them. */
static void drop_control_predecessors(Instruction *x) {
  if (x->a->control_predecessors.count) {
    instruction_attributes(x)->control_predecessors = (InstructionList){0};
  }
}

/* Appends a copy of a callee's instruction, with `operands`, to the caller. The scalars of a map's body
** become arrays with the map's dimensions. */
static Instruction *copy_instruction(Computation *into, const Instruction *from,
                                     Instruction **operands, const Instruction *map) {
  Arena *arena = into->module->arena;
  if (from->opcode == HLO_CONSTANT) {
    Instruction *constant = computation_add_constant(into, from->literal, from->name);
    if (!map || map->shape->rank == 0) return constant;
    const Shape *shape = shape_with_type(arena, map->shape, from->shape->type);
    return computation_add(into, HLO_BROADCAST, shape, &constant, 1, NULL);
  }
  const Shape *shape = map ? shape_with_type(arena, map->shape, from->shape->type) : from->shape;
  Instruction *copy = computation_add_named(into, from->opcode, shape, operands,
                                            from->operand_count, from->a, from->name);
  drop_control_predecessors(copy);
  copy->line = from->line;
  module_count_called(copy);
  return copy;
}

/* Moves an instruction of a callee that has no other caller. It keeps its id, by which its users find it. */
static Instruction *move_instruction(Computation *into, Instruction *x, Instruction **operands) {
  Arena *arena = into->module->arena;
  for (int k = 0; k < x->operand_count; k++) x->operands[k] = operands[k];
  x->parent = into;
  drop_control_predecessors(x);
  x->name = names_take(&into->names, arena, x->name, into->count);
  ARENA_PUSH(arena, into->instructions, into->count, into->capacity, x);
  return x;
}

/* Returns the element that a get-tuple-element of a tuple stands for, or NULL. So nested calls leave no tuples. */
static Instruction *element_of(const Instruction *x, const Instruction *tuple) {
  if (x->opcode != HLO_GET_TUPLE_ELEMENT || tuple->opcode != HLO_TUPLE_OP) return NULL;
  Instruction *element = tuple->operands[x->a->tuple_index];
  bool same = !x->a->control_predecessors.count && shape_equal(element->shape, x->shape);
  return same ? element : NULL;
}

/* Whether a parameter states the sharding of an array that an instruction of its computation takes shards of. */
static bool states_shards(const Computation *callee, const Instruction *parameter) {
  bool states = false;
  for (int i = 0; i < callee->count && parameter->a->sharding; i++) {
    const Instruction *x = callee->instructions[i];
    states |= shard_call_kind(x) == TAKES_SHARDS && x->operands[0] == parameter;
  }
  return states;
}

/* Returns what stands for a parameter: the argument, or a copy of it that states the parameter's sharding. */
static Instruction *argument_of(Computation *into, const Computation *callee,
                                const Instruction *parameter, Instruction *argument) {
  if (!states_shards(callee, parameter)) return argument;
  Instruction *copy =
      computation_add_named(into, HLO_COPY, argument->shape, &argument, 1, NULL, parameter->name);
  instruction_attributes(copy)->sharding = parameter->a->sharding;
  return copy;
}

/* Copies or moves the body of `callee` into `into`. Returns the instruction that replaces its root. */
static Instruction *copy_body(Computation *into, const Computation *callee,
                              Instruction *const *arguments, const Instruction *map) {
  bool moves = !map && callee->callers == 1;
  int root_id = callee->root->id;
  Arena *scratch = arena_new();
  Instruction **copies = ARENA_ARRAY(scratch, Instruction *, callee->count);
  for (int i = 0; i < callee->count; i++) {
    Instruction *from = callee->instructions[i];
    if (from->opcode == HLO_PARAMETER) {
      copies[i] = argument_of(into, callee, from, arguments[from->parameter_number]);
      continue;
    }
    if (from->operand_count) copies[i] = element_of(from, copies[from->operands[0]->id]);
    if (copies[i]) continue;
    ArenaMark mark = arena_mark(scratch);
    Instruction **operands = ARENA_ARRAY(scratch, Instruction *, from->operand_count);
    for (int k = 0; k < from->operand_count; k++) operands[k] = copies[from->operands[k]->id];
    copies[i] = moves ? move_instruction(into, from, operands)
                      : copy_instruction(into, from, operands, map);
    arena_release(scratch, mark);
  }
  Instruction *root = copies[root_id];
  arena_free(scratch);
  return root;
}

static const Computation *body_of(const Inliner *inliner, const Instruction *instruction) {
  const Computation *body = NULL;
  switch (instruction->opcode) {
  case HLO_CALL: body = instruction->a->to_apply; break;
  case HLO_FUSION: body = instruction->a->calls; break;
  case HLO_MAP: body = has_elementwise_body(instruction) ? instruction->a->to_apply : NULL; break;
  case HLO_ASYNC_START:
    if (inliner->users[instruction->id] == inliner->finished[instruction->id]) {
      body = instruction->a->calls;
    }
    break;
  default: break;
  }
  if (!body || body->count + inliner->computation->count > LARGEST_COMPUTATION) return NULL;
  Module *module = inliner->computation->module;
  if (body->count >= module->growth) return NULL;
  module->growth -= body->count;
  return body;
}

/* Makes a start synchronous whose only user is its -done, which has the result's shape. */
static Instruction *make_synchronous(Inliner *inliner, Instruction *start, const Shape *shape) {
  Instruction *synchronous =
      computation_add_named(inliner->computation, synchronous_form(start->opcode), shape,
                            start->operands, start->operand_count, start->a, start->name);
  synchronous->line = start->line;
  return synchronous;
}

/* Turns a fusion beyond the limits into a call, as no pass has checked that its loops have a plan. */
static void make_call(Instruction *fusion) {
  instruction_become(fusion, HLO_CALL, fusion->operands, fusion->operand_count,
                     ATTRIBUTES(.to_apply = fusion->a->calls,
                                .control_predecessors = fusion->a->control_predecessors));
}

/* Returns the instruction that replaces `instruction` in the new list. `done_shape`, by a start's id: the
** shape of its -done. */
static Instruction *replacement_of(Inliner *inliner, Instruction *instruction,
                                   const Shape **done_shape) {
  Computation *computation = inliner->computation;
  int id = instruction->id;
  Instruction *element =
      instruction->operand_count ? element_of(instruction, instruction->operands[0]) : NULL;
  if (element) return element;
  bool finished_once = inliner->users[id] == 1 && inliner->finished[id] == 1;
  const Computation *body = body_of(inliner, instruction);
  if (body) {
    inliner->changed = true;
    return copy_body(computation, body, instruction->operands,
                     instruction->opcode == HLO_MAP ? instruction : NULL);
  }
  if (synchronous_form(instruction->opcode) != OPCODE_COUNT && finished_once) {
    inliner->changed = true;
    return make_synchronous(inliner, instruction, done_shape[id]);
  }
  /* Replaces a -done or -update whose start is gone by the start's replacement. */
  if (is_done(instruction->opcode) || instruction->opcode == HLO_ASYNC_UPDATE ||
      instruction->opcode == HLO_ASYNC_DONE) {
    Instruction *operand = instruction->operands[0];
    bool is_state = operand->opcode == HLO_ASYNC_START || operand->opcode == HLO_ASYNC_UPDATE;
    if (!is_state && synchronous_form(operand->opcode) == OPCODE_COUNT) return operand;
  }
  if (instruction->opcode == HLO_FUSION) {
    make_call(instruction);
    inliner->changed = true;
  }
  ARENA_PUSH(computation->module->arena, computation->instructions, computation->count,
             computation->capacity, instruction);
  return instruction;
}

static void count_users(Inliner *inliner, Instruction *const *list, int count,
                        const Shape **done_shape) {
  for (int i = 0; i < count; i++) {
    const Instruction *user = list[i];
    bool finishes =
        is_done(user->opcode) || user->opcode == HLO_ASYNC_UPDATE || user->opcode == HLO_ASYNC_DONE;
    for (int k = 0; k < user->operand_count; k++) {
      int operand = user->operands[k]->id;
      inliner->users[operand]++;
      inliner->finished[operand] += finishes;
      if (finishes) done_shape[operand] = user->shape;
    }
  }
}

static bool worth_a_walk(const Computation *computation) {
  for (int i = 0; i < computation->count; i++) {
    Opcode opcode = computation->instructions[i]->opcode;
    if (opcode == HLO_CALL || opcode == HLO_FUSION || opcode == HLO_MAP || is_async(opcode) ||
        is_done(opcode)) {
      return true;
    }
  }
  return false;
}

static bool inline_calls(Computation *computation) {
  computation_renumber(computation); /* callers look up the copies by id */
  if (!worth_a_walk(computation)) return false;
  int count = computation->count;
  Instruction **list = computation->instructions;
  Arena *scratch = arena_new();
  Inliner inliner = {.computation = computation};
  inliner.to = ARENA_ARRAY(scratch, Instruction *, count);
  inliner.users = ARENA_ARRAY(scratch, int, count);
  inliner.finished = ARENA_ARRAY(scratch, int, count);
  const Shape **done_shape = ARENA_ARRAY(scratch, const Shape *, count);
  count_users(&inliner, list, count, done_shape);
  int root = computation->root->id; /* before ids change */

  computation->instructions = NULL;
  computation->count = computation->capacity = 0;
  for (int i = 0; i < count; i++) {
    Instruction *instruction = list[i];
    for (int k = 0; k < instruction->operand_count; k++) {
      instruction->operands[k] = inliner.to[instruction->operands[k]->id];
    }
    InstructionList before = instruction->a->control_predecessors;
    for (int k = 0; k < before.count; k++) before.items[k] = inliner.to[before.items[k]->id];
    inliner.to[i] = replacement_of(&inliner, instruction, done_shape);
  }
  computation->root = inliner.to[root];
  arena_free(scratch);
  computation_renumber(computation);
  return inliner.changed;
}

static int64_t count_all(const Module *module) {
  int64_t count = 0;
  for (int i = 0; i < module->count; i++) count += module->computations[i]->count;
  return count;
}

bool pass_inline_calls(Module *module) {
  if (!module->growth) module->growth = MIN_GROWTH + GROWTH_FACTOR * count_all(module);
  module_count_callers(module);
  if (!for_each_computation(module, inline_calls)) return false;
  module_keep_reached(module); /* drops the callees that were inlined everywhere */
  return true;
}
