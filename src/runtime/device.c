/*
** Runs a device, thunk after thunk. It has its own stack of frames, so it can stop anywhere and go on later
** on another thread. eval_step.c runs the thunks of the evaluator.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"
#include "base/min_max.h"
#include "reference/eval.h"
#include "runtime/channels.h"
#include "runtime/eval_step.h"
#include "runtime/host.h"
#include "runtime/origin.h"
#include "runtime/parallel.h"
#include "runtime/run_state.h"

/* Threshold MAX_STEP_LEAVES: leaves of a kernel that regions call without allocation. Test:
** "loops that sort several arrays" in core/thresholds_programs.test.mjs. */
enum { MAX_STEP_LEAVES = 32 };

static void push_frame(Device *device, const ThunkSequence *sequence) {
  device->frames[device->depth++] = (Frame){sequence, 0, 0, 0};
}

/* ---- Computing thunks ---- */

static void put_pointers(const Device *device, const Thunk *thunk, uint8_t **list) {
  for (int i = 0; i < thunk->operand_count; i++) {
    list[i] = device_pointer(device, thunk->operands[i]);
  }
  for (int i = 0; i < thunk->result_count; i++) {
    list[thunk->operand_count + i] = device_pointer(device, thunk->results[i]);
  }
}

static uint8_t **pointers(const Device *device, const Thunk *thunk, Arena *arena) {
  uint8_t **list = ARENA_ARRAY(arena, uint8_t *, thunk->operand_count + thunk->result_count);
  put_pointers(device, thunk, list);
  return list;
}

/* A generated loop, or several over the same rows. A single loop's rows are its units. */
typedef struct GeneratedLoops {
  int module, count;
  const Thunk *steps;
  uint8_t ***buffers; /* of each step */
  int64_t rows, block;
} GeneratedLoops;

static GeneratedKernel generated_function(int module, int function) {
  GeneratedKernel kernel = platform_module_function(module, function);
  if (!kernel) platform_fatal("a generated module could not be instantiated");
  return kernel;
}

static bool run_generated_chunk(void *argument, int chunk) {
  const GeneratedLoops *loops = argument;
  int64_t begin = (int64_t)chunk * loops->block, end = begin + loops->block;
  if (end > loops->rows) end = loops->rows;
  for (int i = 0; i < loops->count; i++) {
    int64_t units = loops->steps[i].work.units / loops->rows;
    generated_function(loops->module, loops->steps[i].function)(loops->buffers[i], begin * units,
                                                                end * units);
  }
  return true;
}

static GeneratedLoops generated_loops(Device *device, const Thunk *thunk) {
  bool one = thunk->kind == THUNK_GENERATED;
  GeneratedLoops loops = {
      .module = device->executable->program->generated_module,
      .count = one ? 1 : thunk->steps->count,
      .steps = one ? thunk : thunk->steps->thunks,
      .rows = one ? thunk->work.units : thunk->rows,
      .block = one ? thunk->work.chunk : thunk->block,
  };
  loops.buffers = ARENA_ARRAY(device->scratch, uint8_t **, loops.count);
  for (int i = 0; i < loops.count; i++) {
    loops.buffers[i] = pointers(device, &loops.steps[i], device->scratch);
  }
  return loops;
}

/* Runs a thunk from the frame's chunk on. Returns OUTCOME_YIELD if the device's turn ends first; then the frame says where
** the next call goes on. */
static Outcome run_generated(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  if (!platform_has_codegen()) return outcome_of(run_eval(device, thunk, error), true);
  ArenaMark mark = arena_mark(device->scratch);
  GeneratedLoops loops = generated_loops(device, thunk);
  int64_t chunks = divide_up(loops.rows, loops.block);
  ChunkLoop all = chunk_loop(device, chunks, run_generated_chunk, &loops);
  all.in_order = thunk->kind == THUNK_GENERATED && thunk->work.in_order;
  bool ok = parallel_for(&all, &frame->chunk, error);
  arena_release(device->scratch, mark);
  if (!ok) error_name_op(error, thunk->instruction->name);
  return outcome_of(ok, frame->chunk >= all.chunks);
}

typedef struct KernelPhase {
  KernelCall call;
  int phase;
} KernelPhase;

/* A kernel's computation on arrays: a fusion, and its code. */
typedef struct KernelFusion {
  const Instruction *fusion;
  int module, function;
} KernelFusion;

static void compute_generated(const KernelCall *call, uint8_t *const *buffers, int64_t begin,
                              int64_t end) {
  const KernelFusion *computed = call->computed;
  generated_function(computed->module, computed->function)(buffers, begin, end);
}

/* The elements of a product's computed operand: a chunk asks for them a few at a time. */
typedef struct Evaluated {
  Arena *arena; /* NULL: there are none yet */
  uint8_t *all;
} Evaluated;

/* Evaluates a whole result, in `arena`. The result's buffer is not used. */
static uint8_t *evaluate_all(Arena *arena, const Instruction *fusion, uint8_t *const *buffers) {
  Error error;
  EvalContext context = {.arena = arena, .error = &error};
  int count = fusion->operand_count;
  Literal *operands = ARENA_ARRAY(arena, Literal, count + 1);
  Literal **list = ARENA_ARRAY(arena, Literal *, count + 1);
  for (int i = 0; i <= count; i++) {
    const Shape *shape = i < count ? fusion->a->calls->parameters[i]->shape : fusion->shape;
    operands[i] = (Literal){.shape = shape, .data = buffers[i]};
    list[i] = &operands[i];
  }
  operands[count].data = ARENA_ARRAY(arena, uint8_t, shape_bytes(fusion->shape));
  if (!eval_instruction(fusion, list, list[count], &context)) platform_fatal(error.message);
  return operands[count].data;
}

/* Evaluates the whole result, and keeps the elements that are asked for. A sort asks for all, each time of other operands. */
static void compute_evaluated(const KernelCall *call, uint8_t *const *buffers, int64_t begin,
                              int64_t end) {
  const Instruction *fusion = ((const KernelFusion *)call->computed)->fusion;
  size_t bytes = (size_t)type_bytes(fusion->shape->type), first = (size_t)begin * bytes;
  bool is_whole = begin == 0 && end == shape_elements(fusion->shape);
  Evaluated once = {NULL, NULL}, *kept = is_whole ? &once : call->scratch_of_compute;
  if (!kept->arena) {
    kept->arena = arena_new();
    kept->all = evaluate_all(kept->arena, fusion, buffers);
  }
  memcpy((uint8_t *)((uintptr_t)buffers[fusion->operand_count] + first), kept->all + first,
         (size_t)(end - begin) * bytes);
  if (once.arena) arena_free(once.arena);
}

static bool run_kernel_chunk(void *argument, int chunk) {
  const KernelPhase *phase = argument;
  KernelCall call = phase->call;
  bool again = false;
  Evaluated evaluated = {NULL, NULL};
  call.again = &again;
  call.scratch_of_compute = &evaluated;
  call.plan->kernel->run(&call, phase->phase, chunk);
  if (evaluated.arena) arena_free(evaluated.arena);
  return !again;
}

static void share_parts(const KernelCall *call, int parts, bool (*part)(void *, int),
                        void *argument) {
  ChunkLoop all = chunk_loop(call->sharer, parts, part, argument);
  all.in_order = all.deadline_us > 0; /* the host's thread waits for no worker */
  all.deadline_us = 0;
  int next = 0;
  Error error;
  if (!parallel_for(&all, &next, &error)) platform_trap(error.code, error.message);
}

/* Returns what is known of operand 0 of a thunk, if that is an argument. */
static uint8_t *argument_bounds(const Device *device, const Thunk *thunk) {
  int leaf = thunk->operand_count ? thunk->operands[0]->slot - SLOT_FIRST_PARAMETER : -1;
  bool is_argument = leaf >= 0 && leaf < device->executable->program->parameter_leaves;
  return is_argument ? device->argument_bounds + leaf : NULL;
}

static KernelCall kernel_call(const Device *device, const Thunk *thunk, uint8_t **list,
                              KernelFusion *computed) {
  *computed = (KernelFusion){thunk->fusion, device->executable->program->generated_module,
                             thunk->fusion_function};
  return (KernelCall){.plan = thunk->plan,
                      .instruction = thunk->instruction,
                      .operands = (const uint8_t *const *)list,
                      .results = list + thunk->operand_count,
                      .scratch = thunk->scratch ? device_pointer(device, thunk->scratch) : NULL,
                      .compute = platform_has_codegen() ? compute_generated : compute_evaluated,
                      .computed = computed,
                      .share = share_parts,
                      .sharer = device,
                      .bounds = device->bounds,
                      .argument_bounds = argument_bounds(device, thunk),
                      .stop = &device->run->failing,
                      .deadline_us = device->deadline_us};
}

/* As run_generated. */
static Outcome run_kernel(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  ArenaMark mark = arena_mark(device->scratch);
  KernelFusion computed;
  uint8_t **list = pointers(device, thunk, device->scratch);
  KernelPhase work = {kernel_call(device, thunk, list, &computed), frame->phase};
  bool ok = true, is_over = true;
  for (; ok && is_over && work.phase < thunk->plan->phases; work.phase++) {
    ChunkLoop all = chunk_loop(device, thunk->plan->chunks[work.phase], run_kernel_chunk, &work);
    ok = parallel_for(&all, &frame->chunk, error);
    is_over = frame->chunk >= all.chunks;
    if (is_over) frame->phase++, frame->chunk = 0;
  }
  arena_release(device->scratch, mark);
  if (!ok) error_name_op(error, opcode_name(thunk->instruction->opcode));
  return outcome_of(ok, is_over);
}

typedef struct CopyLoop {
  const uint8_t *from;
  uint8_t *to;
  int64_t bytes;
} CopyLoop;

/* Threshold COPY_BYTES: bytes of a chunk. Test: "updates of 1 MB" in core/thresholds_numbers.test.mjs. */
enum { COPY_BYTES = 1 << 20 };

static bool run_copy_chunk(void *argument, int chunk) {
  const CopyLoop *copy = argument;
  int64_t begin = (int64_t)chunk * COPY_BYTES, rest = copy->bytes - begin;
  memcpy(copy->to + begin, copy->from + begin, (size_t)(rest < COPY_BYTES ? rest : COPY_BYTES));
  return true;
}

static Outcome run_copy(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  const LogicalBuffer *from = thunk->operands[0], *to = thunk->results[0];
  CopyLoop copy = {device_pointer(device, from), device_pointer(device, to), from->bytes};
  if (copy.from == copy.to) return OUTCOME_DONE; /* a donated argument's memory may be both */
  ChunkLoop all = chunk_loop(device, divide_up(copy.bytes, COPY_BYTES), run_copy_chunk, &copy);
  bool ok = parallel_for(&all, &frame->chunk, error);
  return outcome_of(ok, frame->chunk >= all.chunks);
}

/* ---- Regions ---- */

/* Runs a step that a region calls, on this thread: it is too small to share. */
static bool run_step(Device *device, const Thunk *thunk, Error *error) {
  if (thunk->kind == THUNK_EVAL) return run_eval(device, thunk, error);
  uint8_t *list[MAX_STEP_LEAVES];
  KernelFusion computed;
  int n = thunk->operand_count + thunk->result_count;
  if (n > MAX_STEP_LEAVES) {
    Frame all = {0};
    Outcome outcome;
    do {
      outcome = run_kernel(device, &all, thunk, error);
    } while (outcome == OUTCOME_YIELD && !device->run->failing);
    return outcome != OUTCOME_FAILED;
  }
  put_pointers(device, thunk, list);
  KernelPhase work; /* not cleared as a whole: that takes as long as some steps */
  work.call = kernel_call(device, thunk, list, &computed);
  for (work.phase = 0; work.phase < thunk->plan->phases; work.phase++) {
    bool is_over = !thunk->plan->chunks[work.phase];
    while (!is_over && !device->run->failing) is_over = run_kernel_chunk(&work, 0);
  }
  return true;
}

/* Called by regions; see codegen/regions/region.h. */
int xla_region_step(Device *device, const Thunk *thunk);
__attribute__((used, visibility("default"))) int xla_region_step(Device *device,
                                                                 const Thunk *thunk) {
  const Thunk *region = device->at;
  device->at = thunk;
  bool ok = run_step(device, thunk, device->error);
  device->at = region;
  return ok;
}

/* Runs a region. It returns when its fuel is used up, and goes on at frame->phase. */
static bool step_region(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  /* Threshold FIRST_FUEL, MAX_FUEL. Test: "loops of many iterations" in core/thresholds_programs.test.mjs. */
  enum { FIRST_FUEL = 1024, MAX_FUEL = 100 * 1000 };
  /* Threshold SHORT_US, LONG_US: how often the clock is read. No path. */
  static const double SHORT_US = 500, LONG_US = 2000;
  const Program *program = device->executable->program;
  if (!platform_has_codegen()) {
    frame->next++;
    push_frame(device, thunk->steps);
    return true;
  }
  GeneratedRegion function = (GeneratedRegion)(void (*)(void))generated_function(
      program->generated_module, program->fusion_count + thunk->region);
  if (frame->phase == 0 && device->run->profile) device->since = platform_now_us();
  device->error = error;
  /* With a deadline, an open-ended region gets fuel for a millisecond or two. */
  bool is_open_ended = device->deadline_us && program->regions[thunk->region].is_open_ended;
  double start_us = is_open_ended ? platform_now_us() : 0;
  if (!device->fuel) device->fuel = FIRST_FUEL;
  frame->phase =
      function(device, device->slots, frame->phase, is_open_ended ? device->fuel : MAX_FUEL);
  if (is_open_ended) {
    double us = platform_now_us() - start_us;
    if (us < SHORT_US && device->fuel < MAX_FUEL) device->fuel *= 2;
    if (us > LONG_US && device->fuel > 1) device->fuel /= us > 8 * LONG_US ? 8 : 2;
    if (!device->fuel) device->fuel = 1;
  }
  if (frame->phase > 0) return true;
  device_record(device, thunk, device->since);
  frame->next++;
  return frame->phase == 0;
}

/* ---- Control flow: frames instead of recursion ---- */

/* Phases of a while: 0 run the condition, 1 read its result, 2 the body has run. */
static void step_while(Device *device, Frame *frame, const Thunk *thunk) {
  if (frame->phase == 1) {
    if (*device_pointer(device, thunk->predicate)) {
      frame->phase = 0;
      push_frame(device, thunk->body);
    } else {
      frame->phase = 0;
      frame->next++;
    }
    return;
  }
  frame->phase = 1;
  push_frame(device, thunk->condition);
}

static void step_conditional(Device *device, Frame *frame, const Thunk *thunk) {
  const uint8_t *index = device_pointer(device, thunk->operands[0]);
  int branch;
  if (thunk->instruction->operands[0]->shape->type == PRED) {
    branch = *index ? 0 : 1;
  } else {
    int32_t i;
    memcpy(&i, index, sizeof i);
    branch = i < 0 || i >= thunk->branch_count ? thunk->branch_count - 1 : i;
  }
  frame->next++;
  push_frame(device, &thunk->branches[branch]);
}

/* ---- One step ---- */

static Outcome step(Device *device, Frame *frame, Error *error) {
  const Thunk *thunk = &frame->sequence->thunks[frame->next];
  device->at = thunk;
  double start = device->run->profile ? platform_now_us() : 0;
  Outcome outcome;
  switch (thunk->kind) {
  case THUNK_WHILE: step_while(device, frame, thunk); return OUTCOME_DONE;
  case THUNK_CONDITIONAL: step_conditional(device, frame, thunk); return OUTCOME_DONE;
  case THUNK_COLLECTIVE:
    if (!device->rendezvous) device->parked_since = start;
    return rendezvous_arrive(device, frame, thunk, error);
  case THUNK_CHANNEL:
    frame->next++;
    device->parked_since = start;
    if (thunk->instruction->opcode == HLO_SEND) return channel_send(device, thunk, error);
    return channel_receive(device, thunk);
  case THUNK_HOST:
    frame->next++;
    device->parked_since = start;
    return host_call_arrive(device, thunk);
  case THUNK_REGION:
    return step_region(device, frame, thunk, error) ? OUTCOME_DONE : OUTCOME_FAILED;
  case THUNK_ROWS:
    if (platform_has_codegen()) break;
    frame->next++;
    push_frame(device, thunk->steps);
    return OUTCOME_DONE;
  default: break;
  }
  if (frame->phase == 0 && frame->chunk == 0) device->since = start;
  switch (thunk->kind) {
  case THUNK_ROWS:
  case THUNK_GENERATED: outcome = run_generated(device, frame, thunk, error); break;
  case THUNK_KERNEL: outcome = run_kernel(device, frame, thunk, error); break;
  case THUNK_COPY: outcome = run_copy(device, frame, thunk, error); break;
  default: outcome = run_eval_step(device, frame, thunk, error); break;
  }
  if (outcome == OUTCOME_YIELD) return outcome;
  device_record(device, thunk, device->since);
  frame->phase = frame->chunk = 0;
  frame->next++;
  return outcome;
}

void device_trapped(const Device *device, Error *error) {
  if (!device->at) return;
  const Instruction *in = device->at->instruction;
  error_name_op(error, in->opcode == HLO_FUSION ? in->name : opcode_name(in->opcode));
}

/* Finishes the thunk at which a device was parked; called when it was resumed. */
static bool finish_parked(Device *device, Error *error) {
  const Thunk *thunk = device->parked_at;
  if (!thunk || device->rendezvous) return true; /* or it performs the collective for its group */
  bool ok = !device->message || channel_take(device, thunk, error);
  device_record(device, thunk, device->parked_since);
  device->parked_at = NULL;
  return ok;
}

/* Whether the turn is over. Reading the clock costs as much as a small thunk, so it is read only after
** several small thunks or after a large one. */
static bool is_over(const Device *device, double deadline_us, int *unclocked) {
  /* Threshold THUNKS_A_CLOCK, LARGE_BYTES: how often the clock is read. No path. */
  enum { THUNKS_A_CLOCK = 16, LARGE_BYTES = 4096 };
  const Thunk *last = device->at;
  bool is_large = last && (thunk_has_steps(last) ||
                           (last->result_count && last->results[0]->bytes > LARGE_BYTES));
  if (!is_large && ++*unclocked < THUNKS_A_CLOCK) return false;
  *unclocked = 0;
  return platform_now_us() >= deadline_us;
}

Outcome device_run(Device *device, double deadline_us, Error *error) {
  int unclocked = 0;
  bool has_stepped = false; /* a turn takes a step at least, however late it begins */
  device->deadline_us = deadline_us;
  if (!finish_parked(device, error)) return OUTCOME_FAILED;
  while (device->depth) {
    if (device->run->failing) {
      error_set(error, STATUS_CANCELLED, "another device failed");
      return OUTCOME_FAILED;
    }
    Frame *frame = &device->frames[device->depth - 1];
    if (frame->next == frame->sequence->count) {
      device->depth--;
      continue;
    }
    if (deadline_us && has_stepped && is_over(device, deadline_us, &unclocked))
      return OUTCOME_YIELD;
    has_stepped = true;
    Outcome outcome = step(device, frame, error);
    if (outcome == OUTCOME_FAILED) origin_append(device->at->instruction, error);
    if (outcome != OUTCOME_DONE) return outcome;
  }
  return OUTCOME_DONE;
}
