/*
** Compiles computations to thunks.
**
** Each call site of a computation is compiled on its own, given the logical buffers of its arguments. The
** result is a thunk sequence and the leaves of the root. Time counts thunks; a loop's body lies inside
** the loop's interval. Two buffers may share memory if their live ranges [first, last] are disjoint.
*/
#include <string.h>

#include "base/scope.h"
#include "codegen/codegen.h"
#include "compile/compilation.h"
#include "compile/stages.h"
#include "compile/thunks.h"
#include "hlo/ir/lapack_calls.h"
#include "kernels/list.h"
#include "reference/eval.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_INSTRUCTIONS: limits the expansion of nested calls, as loops and branches that each call the next ones twice
** expand exponentially. Real programs stay far below. The evaluator runs calls that do not fit; those that need the runtime
** are refused. Test: "branches in branches that cannot be written out, with a part of the host or of other devices in them"
** in core/rare_forms.test.mjs. */
enum { MAX_INSTRUCTIONS = 1 << 18 };

/* Threshold MAX_FUNCTIONS: engines take at most 100,000 exports, and a program of 65,536 loops takes a minute to
** compile. No path in tests. */
enum { MAX_FUNCTIONS = 1 << 16 };

LogicalBuffer *thunks_new_buffer(ThunkCompiler *c, const Shape *leaf, int slot) {
  LogicalBuffer *buffer = ARENA_NEW(c->arena, LogicalBuffer);
  *buffer = (LogicalBuffer){.shape = leaf, .bytes = shape_bytes(leaf), .slot = slot};
  buffer->first = buffer->last = c->time;
  if (shape_is_token(leaf)) buffer->slot = SLOT_NONE;
  ARENA_PUSH(c->arena, c->buffers, c->count, c->capacity, buffer);
  return buffer;
}

Leaves thunks_new_leaves(ThunkCompiler *c, const Shape *shape) {
  int n = shape_leaves(shape);
  Leaves leaves = ARENA_ARRAY(c->arena, LogicalBuffer *, n);
  const Shape **shapes = scope_new((size_t)n, sizeof *shapes);
  shape_put_leaves(shape, shapes);
  for (int i = 0; i < n; i++) leaves[i] = thunks_new_buffer(c, shapes[i], SLOT_ARENA);
  scope_free(shapes);
  return leaves;
}

void thunks_use(ThunkCompiler *c, LogicalBuffer *buffer) {
  if (buffer->last < c->time) buffer->last = c->time;
}

Thunk *thunks_add(ThunkCompiler *c, ThunkSequence *sequence, ThunkKind kind,
                  const Instruction *instruction) {
  Thunk thunk = {
      .kind = kind, .time = c->time, .begin = c->time, .end = c->time, .instruction = instruction};
  ARENA_PUSH(c->arena, sequence->thunks, sequence->count, sequence->capacity, thunk);
  return &sequence->thunks[sequence->count - 1];
}

static void set_leaves(ThunkCompiler *c, Thunk *thunk, Leaves operands, int operand_count,
                       Leaves results, int result_count) {
  thunk->operands = operands;
  thunk->operand_count = operand_count;
  thunk->results = results;
  thunk->result_count = result_count;
  for (int i = 0; i < operand_count; i++) thunks_use(c, operands[i]);
  for (int i = 0; i < result_count; i++) thunks_use(c, results[i]);
}

void thunks_add_copy(ThunkCompiler *c, ThunkSequence *sequence, const Instruction *instruction,
                     LogicalBuffer *from, LogicalBuffer *to) {
  if (from == to || from->slot == SLOT_NONE) return;
  c->time++;
  Thunk *thunk = thunks_add(c, sequence, THUNK_COPY, instruction);
  Leaves operands = ARENA_ARRAY(c->arena, LogicalBuffer *, 1);
  Leaves results = ARENA_ARRAY(c->arena, LogicalBuffer *, 1);
  operands[0] = from;
  results[0] = to;
  set_leaves(c, thunk, operands, 1, results, 1);
}

/* Returns all operands' leaves in one list. */
static Leaves operand_leaves(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                             int *count) {
  int n = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    n += shape_leaves(instruction->operands[i]->shape);
  }
  Leaves leaves = ARENA_ARRAY(c->arena, LogicalBuffer *, n);
  *count = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    const Instruction *operand = instruction->operands[i];
    int m = shape_leaves(operand->shape);
    for (int j = 0; j < m; j++) leaves[(*count)++] = values[operand->id][j];
  }
  return leaves;
}

/* ---- Values that need no thunk ---- */

static Leaves constant_leaves(ThunkCompiler *c, const Literal *literal, Leaves leaves, int *next) {
  if (!leaves) leaves = ARENA_ARRAY(c->arena, LogicalBuffer *, shape_leaves(literal->shape));
  if (shape_is_tuple(literal->shape)) {
    for (int i = 0; i < literal->shape->tuple_size; i++) {
      constant_leaves(c, literal->elements[i], leaves, next);
    }
    return leaves;
  }
  Program *program = c->program;
  int number = program->constant_count++;
  if ((number & (number + 1)) == 0) { /* the list doubles when it is full: at 0, 1, 3, 7, ... */
    uint8_t **grown = ARENA_ARRAY(c->arena, uint8_t *, 2 * number + 1);
    for (int i = 0; i < number; i++) grown[i] = program->constants[i];
    program->constants = grown;
  }
  program->constants[number] = literal->data;
  program->constant_bytes += shape_bytes(literal->shape);
  int first = first_constant_slot(program);
  LogicalBuffer *buffer = thunks_new_buffer(c, literal->shape, first + number);
  buffer->first = 0; /* it is live from the start */
  leaves[(*next)++] = buffer;
  return leaves;
}

static Leaves element_leaves(ThunkCompiler *c, const Instruction *tuple, Leaves leaves,
                             int64_t index) {
  const Shape *shape = tuple->shape;
  int64_t **starts = &c->starts[tuple->id];
  if (!*starts) {
    *starts = ARENA_ARRAY(c->arena, int64_t, shape->tuple_size);
    for (int i = 0; i + 1 < shape->tuple_size; i++) {
      (*starts)[i + 1] = (*starts)[i] + shape_leaves(shape->elements[i]);
    }
  }
  return leaves + (*starts)[index];
}

static Leaves unwritten_leaves(ThunkCompiler *c, const Shape *shape) {
  Leaves leaves = thunks_new_leaves(c, shape);
  for (int i = 0; i < shape_leaves(shape); i++) leaves[i]->unwritten = true;
  return leaves;
}

static Leaves alias_leaves(ThunkCompiler *c, const Instruction *instruction, Leaves *values) {
  int count;
  /* recv only announces, and send-done waits for a send, which never blocks: both need no thunk. */
  if (instruction->opcode == HLO_AFTER_ALL || instruction->opcode == HLO_RECV ||
      instruction->opcode == HLO_SEND_DONE) {
    return unwritten_leaves(c, instruction->shape);
  }
  if (instruction->opcode == HLO_TUPLE_OP) return operand_leaves(c, instruction, values, &count);
  return values[instruction->operands[0]->id];
}

/* ---- All other instructions: one thunk each ---- */

static void add_preparations(Program *program, Preparation *first) {
  for (; first; first = first->next) {
    *program->last_preparation = first;
    program->last_preparation = &first->next;
  }
}

static ThunkKind kind_of(const ThunkCompiler *c, const Instruction *instruction,
                         const KernelPlan **plan) {
  *plan = NULL;
  if (opcode_category(instruction->opcode) == COLLECTIVE) return THUNK_COLLECTIVE;
  switch (instruction->opcode) {
  case HLO_INFEED:
  case HLO_OUTFEED: return THUNK_HOST;
  case HLO_CUSTOM_CALL:
    if (!is_library_call(instruction)) return THUNK_HOST;
    break;
  case HLO_SEND:
  case HLO_RECV_DONE: return instruction->a->is_host_transfer ? THUNK_HOST : THUNK_CHANNEL;
  default: break;
  }
  const Instruction *product = fused_product(instruction);
  if (instruction->opcode == HLO_FUSION || instruction->opcode == HLO_SORT) {
    const Instruction *computes = product ? fused_operand(product) : instruction;
    const Computation *called = computes ? computes->a->calls : NULL;
    bool has_room = c->program->fusion_count < MAX_FUNCTIONS;
    if (called && !has_room && !c->function_of[called->number]) return THUNK_EVAL;
    if (instruction->opcode == HLO_FUSION && !product) return THUNK_GENERATED;
  }
  bool knows = eval_knows(product ? product : instruction);
  bool evaluate = c->options->evaluate && knows;
  *plan = evaluate ? NULL : kernel_plan(instruction, c->options->kernels_off, c->arena);
  if (!*plan && !knows) *plan = kernel_plan(instruction, 0, c->arena);
  if (*plan) add_preparations(c->program, (*plan)->preparation);
  return *plan ? THUNK_KERNEL : THUNK_EVAL;
}

/* Returns the number of the function for a fusion's computation; adds it to the program if it is new. */
static int add_function(ThunkCompiler *c, const Instruction *fusion) {
  Program *program = c->program;
  int *function = &c->function_of[fusion->a->calls->number];
  if (!*function) {
    ARENA_PUSH(c->arena, program->fusions, program->fusion_count, c->fusion_capacity,
               ((FusionFunction){fusion, 0}));
    *function = program->fusion_count;
  }
  program->fusions[*function - 1].uses++;
  return *function - 1;
}

/* Adds to a kernel's thunk the computation that its instruction calls on arrays, as a fusion: a comparator, or the operand of
** a product. */
static void add_kernel_fusion(ThunkCompiler *c, Thunk *thunk, const Computation *called) {
  const Instruction *product = fused_product(thunk->instruction);
  if (product) {
    thunk->fusion = fused_operand(product);
    if (!thunk->fusion) return;
    thunk->fusion_function = add_function(c, thunk->fusion);
    return;
  }
  Instruction *fusion = ARENA_NEW(c->arena, Instruction);
  *fusion = *thunk->instruction;
  fusion->opcode = HLO_FUSION;
  fusion->shape = called->root->shape;
  fusion->operands = called->parameters;
  fusion->operand_count = called->parameter_count;
  thunk->fusion = fusion;
  thunk->fusion_function = add_function(c, fusion);
}

static bool draws(const Instruction *instruction) {
  return instruction->opcode == HLO_RNG || instruction->opcode == HLO_RNG_GET_AND_UPDATE_STATE;
}

static bool applies_draws(const ThunkCompiler *c, const Instruction *instruction) {
  return c->draws && instruction_called(instruction, NULL) > 0 &&
         instruction_reaches(instruction, draws);
}

static Leaves compile_plain(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                            ThunkSequence *sequence) {
  int operand_count;
  const KernelPlan *plan;
  ThunkKind kind = kind_of(c, instruction, &plan);
  c->time++;
  Leaves results = instruction->opcode == HLO_SEND ? unwritten_leaves(c, instruction->shape)
                                                   : thunks_new_leaves(c, instruction->shape);
  Leaves operands = operand_leaves(c, instruction, values, &operand_count);
  for (int i = 0; i < shape_leaves(instruction->shape); i++) results[i]->definer = instruction;
  LogicalBuffer *scratch = NULL;
  if (plan && plan->scratch_bytes) {
    scratch = thunks_new_buffer(c, shape_scalar(U8), SLOT_ARENA);
    scratch->bytes = plan->scratch_bytes;
  }
  Thunk *thunk = thunks_add(c, sequence, kind, instruction);
  set_leaves(c, thunk, operands, operand_count, results, shape_leaves(instruction->shape));
  if (kind == THUNK_EVAL) thunk->in_order = applies_draws(c, instruction);
  if (kind == THUNK_KERNEL) {
    thunk->plan = plan;
    thunk->scratch = scratch;
    if (scratch) thunks_use(c, scratch);
    if (instruction->a->calls) add_kernel_fusion(c, thunk, instruction->a->calls);
  }
  if (kind == THUNK_COLLECTIVE) { /* collectives_check accepted it */
    Error error;
    thunk->groups = device_groups_resolve(c->arena, instruction, c->program->mesh, &error);
  }
  if (kind == THUNK_CHANNEL) {
    thunk->peers = channel_peers_resolve(c->arena, instruction, c->program->mesh);
  }
  if (kind == THUNK_GENERATED) {
    thunk->function = add_function(c, instruction);
    thunk->work = codegen_work(instruction);
    if (c->options->small_chunks) thunk->work.chunk = thunk->work.multiple;
  }
  return results;
}

/* Adds the check of an array that comes into a set of bounded arrays, which has no result. */
static void add_check(ThunkCompiler *c, const Instruction *barrier, Leaves operand,
                      ThunkSequence *sequence) {
  const KernelPlan *plan;
  if (kind_of(c, barrier, &plan) != THUNK_KERNEL) {
    c->program->is_unchecked = true;
    return;
  }
  c->time++;
  Thunk *thunk = thunks_add(c, sequence, THUNK_KERNEL, barrier);
  set_leaves(c, thunk, operand, 1, NULL, 0);
  thunk->plan = plan;
}

/* Whether an instruction needs other devices or the host, so that the evaluator cannot run it. */
static bool is_of_runtime(const Instruction *instruction) {
  switch (instruction->opcode) {
  case HLO_INFEED:
  case HLO_OUTFEED:
  case HLO_SEND:
  case HLO_RECV:
  case HLO_RECV_DONE: return true;
  case HLO_CUSTOM_CALL: return !is_library_call(instruction);
  default: return opcode_category(instruction->opcode) == COLLECTIVE;
  }
}

static bool needs_runtime(const Instruction *instruction) {
  return instruction_reaches(instruction, is_of_runtime);
}

/* Whether a loop or branch still fits as thunks. */
static bool fits(ThunkCompiler *c, const Instruction *instruction) {
  int count = instruction_called(instruction, NULL);
  Computation **called = scope_new((size_t)count, sizeof *called);
  instruction_called(instruction, called);
  int64_t size = 0;
  for (int i = 0; i < count; i++) size += called[i]->size;
  scope_free(called);
  if (size <= c->room) return true;
  if (needs_runtime(instruction)) c->too_large = instruction;
  return false;
}

/* Compiles a loop or a conditional that does not fit as thunks. */
static Leaves compile_evaluated(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                                ThunkSequence *sequence) {
  c->program->is_unchecked = true; /* the evaluator skips checks in it */
  return compile_plain(c, instruction, values, sequence);
}

static Leaves compile_instruction(ThunkCompiler *c, const Instruction *instruction, Leaves *values,
                                  const Leaves *arguments, ThunkSequence *sequence) {
  int next = 0;
  switch (instruction->opcode) {
  case HLO_PARAMETER: return arguments[instruction->parameter_number];
  case HLO_CONSTANT: return constant_leaves(c, instruction->literal, NULL, &next);
  case HLO_GET_TUPLE_ELEMENT: {
    const Instruction *tuple = instruction->operands[0];
    return element_leaves(c, tuple, values[tuple->id], instruction->a->tuple_index);
  }
  case HLO_WHILE:
    if (!fits(c, instruction)) return compile_evaluated(c, instruction, values, sequence);
    return thunks_while(c, instruction, values[instruction->operands[0]->id], sequence);
  case HLO_CONDITIONAL:
    if (!fits(c, instruction)) return compile_evaluated(c, instruction, values, sequence);
    return thunks_conditional(c, instruction, values, sequence);
  case HLO_CALL: /* one that was too large to inline */
    if (needs_runtime(instruction)) c->too_large = instruction;
    return compile_plain(c, instruction, values, sequence);
  default:
    if (instruction->a->derived.bounded && instruction->opcode == HLO_OPTIMIZATION_BARRIER) {
      add_check(c, instruction, values[instruction->operands[0]->id], sequence);
    }
    if (instruction_is_alias(instruction)) return alias_leaves(c, instruction, values);
    return compile_plain(c, instruction, values, sequence);
  }
}

Leaves thunks_compile(ThunkCompiler *c, const Computation *computation, const bool *late,
                      const Leaves *arguments, ThunkSequence *sequence) {
  Leaves *values = ARENA_ARRAY(c->arena, Leaves, computation->count);
  int64_t **starts = c->starts;
  c->starts = ARENA_ARRAY(c->arena, int64_t *, computation->count);
  c->room -= computation->count;
  for (int turn = 0; turn < (late ? 2 : 1); turn++) {
    for (int i = 0; i < computation->count; i++) {
      const Instruction *instruction = computation->instructions[i];
      if (late && late[instruction->id] != (turn == 1)) continue;
      values[instruction->id] = compile_instruction(c, instruction, values, arguments, sequence);
    }
  }
  c->starts = starts;
  return values[computation->root->id];
}

/* ---- The entry ---- */

static Leaves *entry_arguments(ThunkCompiler *c, const Computation *entry) {
  Program *program = c->program;
  Leaves *arguments = ARENA_ARRAY(c->arena, Leaves, entry->parameter_count);
  int leaf = 0;
  for (int p = 0; p < entry->parameter_count; p++) {
    const Shape *shape = entry->parameters[p]->shape;
    int n = shape_leaves(shape);
    arguments[p] = ARENA_ARRAY(c->arena, LogicalBuffer *, n);
    shape_put_leaves(shape, program->parameter_shapes + leaf);
    for (int i = 0; i < n; i++, leaf++) {
      const Shape *part = program->parameter_shapes[leaf];
      arguments[p][i] = thunks_new_buffer(c, part, SLOT_FIRST_PARAMETER + leaf);
    }
  }
  return arguments;
}

/* Returns the leaf, or a zero constant in place of one that no thunk writes: for results. */
static LogicalBuffer *written(ThunkCompiler *c, LogicalBuffer *leaf) {
  int next = 0;
  if (!leaf->unwritten) return leaf;
  return constant_leaves(c, literal_new(c->arena, leaf->shape), NULL, &next)[0];
}

/* Assigns the results' slots. A root leaf that is a temporary, and occurs once, is written there directly;
** parameters, constants and repeated leaves are copied at the end. Returns the results' buffers. */
static Leaves finish_entry(ThunkCompiler *c, const Computation *entry, Leaves root) {
  Program *program = c->program;
  Leaves results = ARENA_ARRAY(c->arena, LogicalBuffer *, program->result_leaves);
  int first = first_result_slot(program);
  shape_put_leaves(entry->root->shape, program->result_shapes);
  for (int i = 0; i < program->result_leaves; i++) {
    const Shape *shape = program->result_shapes[i];
    results[i] = root[i];
    if (root[i]->slot == SLOT_NONE) continue;
    root[i] = written(c, root[i]);
    if (root[i]->slot == SLOT_ARENA && !root[i]->alias_of) {
      root[i]->slot = first + i;
    } else {
      LogicalBuffer *result = thunks_new_buffer(c, shape, first + i);
      thunks_add_copy(c, &program->entry, entry->root, root[i], result);
      results[i] = result;
    }
  }
  c->time++;
  /* The caller reads the results after the last thunk. */
  for (int i = 0; i < program->result_leaves; i++) {
    if (results[i]->slot >= first) thunks_use(c, results[i]);
  }
  return results;
}

ThunkCompiler *thunks_begin(Program *program, const CompileOptions *options) {
  ThunkCompiler *c = ARENA_NEW(program->arena, ThunkCompiler);
  *c = (ThunkCompiler){.program = program, .options = options, .arena = program->arena};
  c->function_of = ARENA_ARRAY(c->arena, int, program->module->numbers);
  c->draws = module_has(program->module, ABOUT(HLO_RNG, HLO_RNG_GET_AND_UPDATE_STATE));
  module_measure(program->module);
  const Computation *entry = program->module->entry;
  for (int p = 0; p < entry->parameter_count; p++) {
    program->parameter_leaves += shape_leaves(entry->parameters[p]->shape);
  }
  program->result_leaves = shape_leaves(entry->root->shape);
  program->parameter_shapes = ARENA_ARRAY(c->arena, const Shape *, program->parameter_leaves);
  program->result_shapes = ARENA_ARRAY(c->arena, const Shape *, program->result_leaves);
  c->arguments = entry_arguments(c, entry);
  c->values = ARENA_ARRAY(c->arena, Leaves, entry->count);
  c->starts = ARENA_ARRAY(c->arena, int64_t *, entry->count);
  c->room = MAX_INSTRUCTIONS;
  return c;
}

bool thunks_step(ThunkCompiler *c) {
  /* Threshold MAX_STEP_INSTRUCTIONS: a longer step would delay the host's other events. Test: "a
  ** chain of ${n} operations" in core/thresholds.test.mjs. */
  enum { MAX_STEP_INSTRUCTIONS = 256 };
  const Computation *entry = c->program->module->entry;
  int end = c->next + MAX_STEP_INSTRUCTIONS < entry->count ? c->next + MAX_STEP_INSTRUCTIONS
                                                           : entry->count;
  for (; c->next < end; c->next++) {
    const Instruction *instruction = entry->instructions[c->next];
    c->values[instruction->id] =
        compile_instruction(c, instruction, c->values, c->arguments, &c->program->entry);
  }
  return c->next < entry->count;
}

bool thunks_end(ThunkCompiler *c, Buffers *buffers, Error *error) {
  Program *program = c->program;
  const Computation *entry = program->module->entry;
  if (c->too_large) {
    return error_set_op(
        error, STATUS_RESOURCE_EXHAUSTED, opcode_name(c->too_large->opcode),
        "%s calls computations that call others, which written out are more than "
        "%d instructions, and with collectives or the host's part in them they must "
        "be; call fewer of them",
        c->too_large->name, MAX_INSTRUCTIONS);
  }
  buffers->results = finish_entry(c, entry, c->values[entry->root->id]);
  buffers->items = c->buffers;
  buffers->count = c->count;
  program->slot_count = first_constant_slot(program) + program->constant_count;
  return true;
}
