/*
** Runs a device, thunk after thunk. It has its own stack of frames, so it can stop anywhere and go on later
** on another thread.
*/
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/platform.h"
#include "base/min_max.h"
#include "reference/eval.h"
#include "runtime/channels.h"
#include "runtime/devices.h"
#include "runtime/host.h"
#include "runtime/origin.h"
#include "runtime/parallel.h"

/* Threshold MAX_STEP_LEAVES: "loops that sort several arrays" in core/thresholds_programs.test.mjs. */
enum { MAX_STEP_LEAVES = 32 }; /* of a kernel that regions call without allocation */

static void push_frame(Device *device, const ThunkSequence *sequence) {
  device->frames[device->depth++] = (Frame){sequence, 0, 0, 0};
}

/* ---- Computing thunks ---- */

static Literal *literal_of_leaves(const Device *device, const Shape *shape, LogicalBuffer ***next,
                                  Arena *arena) {
  Literal *literal = ARENA_NEW(arena, Literal);
  literal->shape = shape;
  if (shape_is_tuple(shape)) {
    literal->elements = ARENA_ARRAY(arena, Literal *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) {
      literal->elements[i] = literal_of_leaves(device, shape->elements[i], next, arena);
    }
  } else {
    literal->data = device_pointer(device, *(*next)++);
  }
  return literal;
}

static void skip_random(uint64_t state[2], int64_t count) {
  state[0] += (uint64_t)count;
  state[1] += state[0] < (uint64_t)count;
}

static EvalContext eval_context(Device *device, Arena *arena, int64_t *steps, Error *error) {
  *steps = EVAL_STEPS_ALONE;
  return (EvalContext){
      .arena = arena,
      .error = error,
      .replica_id = replica_number(device),
      .partition_id = partition_number(device),
      .rng_state = device->rng_state,
      .cancelled = &device->run->failing,
      .budget = scheduler_workers() ? NULL : steps,
  };
}

/* Makes literals of the operands of the thunk's instruction, and of its result. */
static Literal **eval_operands(const Device *device, const Thunk *thunk, Arena *arena,
                               Literal **result) {
  const Instruction *instruction = thunk->instruction;
  LogicalBuffer **next = thunk->operands;
  Literal **operands = ARENA_ARRAY(arena, Literal *, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = literal_of_leaves(device, instruction->operands[i]->shape, &next, arena);
  }
  next = thunk->results;
  *result = literal_of_leaves(device, instruction->shape, &next, arena);
  return operands;
}

/* Evaluates the thunk's instruction, or only `part` of it unless that is NULL. May be called on any thread. */
static bool evaluate(Device *device, const Thunk *thunk, const int64_t *part, Arena *arena,
                     Error *error) {
  int64_t steps;
  EvalContext context = eval_context(device, arena, &steps, error);
  context.part = part;
  Literal *result, **operands = eval_operands(device, thunk, arena, &result);
  return eval_instruction(thunk->instruction, operands, result, &context);
}

/* As run_generated, for a call, a branch or a loop. Its state stays in device->scratch until it is over. */
static bool run_evaluation(Device *device, const Thunk *thunk, bool *ok, Error *error) {
  int64_t steps;
  EvalContext context = eval_context(device, device->scratch, &steps, error);
  if (!device->evaluation) {
    device->evaluation_mark = arena_mark(device->scratch);
    Literal *result, **operands = eval_operands(device, thunk, device->scratch, &result);
    device->evaluation = evaluation_begin(thunk->instruction, operands, result, &context);
  }
  *ok = device->evaluation && evaluation_resume(device->evaluation, &context, device->deadline_us);
  if (*ok && !evaluation_is_over(device->evaluation)) return false;
  device->evaluation = NULL;
  arena_release(device->scratch, device->evaluation_mark);
  return true;
}

static bool run_eval(Device *device, const Thunk *thunk, Error *error) {
  ArenaMark mark = arena_mark(device->scratch);
  bool ok = evaluate(device, thunk, NULL, device->scratch, error);
  arena_release(device->scratch, mark);
  return ok;
}

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

/* A generated loop, or several over the same rows. A single loop's rows are its units. The steps before
** `first` are no loops. */
typedef struct GeneratedLoops {
  int module, first, count;
  const Thunk *steps;
  uint8_t ***buffers; /* of each step */
  int64_t rows, block;
} GeneratedLoops;

static GeneratedKernel generated_function(int module, int function) {
  GeneratedKernel kernel = platform_module_function(module, function);
  if (!kernel) platform_fatal("a generated module could not be instantiated");
  return kernel;
}

static void run_rows(const GeneratedLoops *loops, int64_t begin, int64_t end) {
  for (int i = loops->first; i < loops->count && begin < end; i++) {
    int64_t units = loops->steps[i].work.units / loops->rows;
    generated_function(loops->module, loops->steps[i].function)(loops->buffers[i], begin * units,
                                                                end * units);
  }
}

static bool run_generated_chunk(void *argument, int chunk) {
  const GeneratedLoops *loops = argument;
  int64_t begin = (int64_t)chunk * loops->block, end = begin + loops->block;
  run_rows(loops, begin, end < loops->rows ? end : loops->rows);
  return true;
}

static GeneratedLoops generated_loops(Device *device, const Thunk *thunk) {
  bool group = thunk->kind == THUNK_ROWS, one = thunk->kind == THUNK_GENERATED;
  GeneratedLoops loops = {
      .module = device->executable->program->generated_module,
      .first = group && thunk->steps->thunks->kind == THUNK_KERNEL,
      .count = group ? thunk->steps->count : one,
      .steps = group ? thunk->steps->thunks : thunk,
      .rows = one ? thunk->work.units : thunk->rows,
      .block = one ? thunk->work.chunk : thunk->block,
  };
  loops.buffers = ARENA_ARRAY(device->scratch, uint8_t **, loops.count);
  for (int i = loops.first; i < loops.count; i++) {
    loops.buffers[i] = pointers(device, &loops.steps[i], device->scratch);
  }
  return loops;
}

/* Returns the loop over the chunks of a device's present thunk. */
static ChunkLoop chunk_loop(const Device *device, int64_t chunks, bool (*body)(void *, int),
                            void *argument) {
  return (ChunkLoop){.chunks = (int)chunks,
                     .body = body,
                     .argument = argument,
                     .stop = &device->run->failing,
                     .deadline_us = device->deadline_us};
}

/* Returns whether the thunk is over: *ok says whether it succeeded. Else the frame says where it goes on. */
static bool run_generated(Device *device, Frame *frame, const Thunk *thunk, bool *ok,
                          Error *error) {
  if (!platform_has_codegen()) {
    *ok = run_eval(device, thunk, error);
    return true;
  }
  ArenaMark mark = arena_mark(device->scratch);
  GeneratedLoops loops = generated_loops(device, thunk);
  int64_t chunks = divide_up(loops.rows, loops.block);
  ChunkLoop all = chunk_loop(device, chunks, run_generated_chunk, &loops);
  all.in_order = thunk->kind == THUNK_GENERATED && thunk->work.in_order;
  *ok = parallel_for(&all, &frame->chunk, error);
  arena_release(device->scratch, mark);
  if (!*ok) error_name_op(error, thunk->instruction->name);
  return !*ok || frame->chunk >= all.chunks;
}

/* ---- The evaluator, a chunk at a time ---- */

/* The elements of a chunk, and the maximal number of chunks. Slow elements get smaller chunks: MAP_CHUNKS. */
/* Threshold EVAL_ELEMENTS, MAP_CHUNKS: "chunks: elements of loops" in core/thresholds_programs.test.mjs. */
/* Threshold MAX_CHUNKS: no path: larger chunks instead of more. */
enum { EVAL_ELEMENTS = 1 << 14, MAP_CHUNKS = 4096, MAX_CHUNKS = 1 << 24 };

typedef struct EvalLoop {
  Device *device;
  const Thunk *thunk;
  int64_t count, some; /* elements or steps, in all and of a chunk */
  Error *error;
  _Atomic bool failed;
} EvalLoop;

/* Keeps the first error. */
static void eval_failed(EvalLoop *loop, const Error *error) {
  if (!atomic_exchange(&loop->failed, true)) *loop->error = *error;
}

/* Returns elements [begin, begin + count) of an array of this shape, as an array; or all of a scalar. */
static Literal *elements_of(const Device *device, const LogicalBuffer *buffer, const Shape *shape,
                            int64_t begin, int64_t count, Arena *arena) {
  Literal *literal = ARENA_NEW(arena, Literal);
  if (shape->rank == 0) begin = 0;
  literal->shape = shape->rank ? shape_make(arena, shape->type, 1, &count, NULL) : shape;
  literal->data = device_pointer(device, buffer) + begin * type_bytes(shape->type);
  return literal;
}

/* Returns the number of an operand's elements that `count` result elements need. bitcast-convert splits
** elements into several or joins several into one. */
static int64_t elements_in(const Shape *operand, const Instruction *x, int64_t count) {
  if (x->opcode != HLO_BITCAST_CONVERT) return count;
  int64_t elements = shape_elements(operand), results = shape_elements(x->shape);
  return elements > results ? count * (elements / results) : count / (results / elements);
}

/* Returns the random words of one element. rng makes four words of each number of its state. */
static int64_t random_words(const Instruction *rng) {
  return type_bits(rng->shape->type) == 64 ? 2 : 1;
}

static bool run_eval_chunk(void *argument, int chunk) {
  EvalLoop *loop = argument;
  if (loop->failed) return true;
  const Thunk *thunk = loop->thunk;
  const Instruction *x = thunk->instruction;
  int64_t begin = chunk * loop->some, steps = EVAL_STEPS_ALONE;
  int64_t count = min_i64(loop->count - begin, loop->some);
  Arena *arena = arena_new();
  Error error;
  uint64_t state[2] = {loop->device->rng_state[0], loop->device->rng_state[1]};
  skip_random(state, begin * random_words(x) / 4);
  EvalContext context = {.arena = arena,
                         .error = &error,
                         .rng_state = x->opcode == HLO_RNG ? state : loop->device->rng_state,
                         .cancelled = &loop->device->run->failing,
                         .budget = scheduler_workers() ? NULL : &steps};
  Literal **operands = ARENA_ARRAY(arena, Literal *, thunk->operand_count);
  for (int i = 0; i < thunk->operand_count; i++) {
    const Shape *shape = x->operands[i]->shape;
    operands[i] = elements_of(loop->device, thunk->operands[i], shape, elements_in(shape, x, begin),
                              elements_in(shape, x, count), arena);
  }
  Literal *result = elements_of(loop->device, thunk->results[0], x->shape, begin, count, arena);
  if (!eval_instruction(x, operands, result, &context)) eval_failed(loop, &error);
  arena_free(arena);
  return true;
}

static bool run_eval_part(void *argument, int chunk) {
  EvalLoop *loop = argument;
  if (loop->failed) return true;
  int64_t begin = chunk * loop->some, part[] = {begin, min_i64(begin + loop->some, loop->count)};
  Arena *arena = arena_new();
  Error error;
  if (!evaluate(loop->device, loop->thunk, part, arena, &error)) eval_failed(loop, &error);
  arena_free(arena);
  return true;
}

static bool is_by_elements(const Thunk *thunk) {
  const Instruction *x = thunk->instruction;
  bool by_elements =
      opcode_is_elementwise(x->opcode) || x->opcode == HLO_MAP || x->opcode == HLO_RNG;
  if (x->opcode == HLO_BITCAST_CONVERT) return true; /* a chunk has whole elements of both */
  if (!by_elements || thunk->result_count != 1) return false;
  for (int i = 0; i < x->operand_count; i++) {
    const Shape *shape = x->operands[i]->shape;
    if (shape->rank && !shape_same_dims(shape, x->shape)) return false;
  }
  return true;
}

/* Divides an instruction into chunks; false if it cannot be divided, or has only one. */
static bool eval_chunks(const Thunk *thunk, EvalLoop *loop, ChunkLoop *chunks) {
  const Instruction *x = thunk->instruction;
  int64_t each = 1;
  bool apart = true, by_elements = is_by_elements(thunk);
  loop->count = by_elements ? shape_elements(x->shape) : eval_steps(x, &each, &apart);
  loop->some = max_i64(1, EVAL_ELEMENTS / max_i64(1, each));
  if (x->opcode == HLO_MAP) loop->some = max_i64(1, min_i64(loop->count / MAP_CHUNKS, loop->some));
  loop->some = max_i64(loop->some, loop->count / MAX_CHUNKS);
  if (loop->count <= loop->some) return false;
  *chunks = chunk_loop(loop->device, divide_up(loop->count, loop->some),
                       by_elements ? run_eval_chunk : run_eval_part, loop);
  chunks->in_order = !apart || thunk->in_order;
  return true;
}

/* As run_generated. */
static bool run_eval_step(Device *device, Frame *frame, const Thunk *thunk, bool *ok,
                          Error *error) {
  const Instruction *x = thunk->instruction;
  if (eval_is_resumable(x)) return run_evaluation(device, thunk, ok, error);
  EvalLoop loop = {.device = device, .thunk = thunk, .error = error};
  ChunkLoop all;
  if (!eval_chunks(thunk, &loop, &all)) {
    *ok = run_eval(device, thunk, error);
    return true;
  }
  *ok = parallel_for(&all, &frame->chunk, error) && !loop.failed;
  bool is_over = !*ok || frame->chunk >= all.chunks;
  if (is_over && x->opcode == HLO_RNG) {
    skip_random(device->rng_state, (loop.count + loop.count % 2) * random_words(x));
  }
  return is_over;
}

typedef struct KernelPhase {
  KernelCall call;
  int phase;
  GeneratedLoops loops; /* the loops over the rows that a chunk completes */
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
  Evaluated once = {NULL, NULL}, *kept = is_whole ? &once : call->evaluated;
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
  call.evaluated = &evaluated;
  call.plan->kernel->run(&call, phase->phase, chunk);
  if (evaluated.arena) arena_free(evaluated.arena);
  if (phase->loops.count) {
    int64_t rows[2];
    call.plan->rows(call.plan, phase->phase, chunk, rows);
    run_rows(&phase->loops, rows[0], rows[1]);
  }
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
                      .stop = &device->run->failing,
                      .deadline_us = device->deadline_us};
}

/* As run_generated. In a group of rows, runs the kernel and the loops after it. */
static bool run_kernel(Device *device, Frame *frame, const Thunk *thunk, bool *ok, Error *error) {
  ArenaMark mark = arena_mark(device->scratch);
  KernelFusion computed;
  GeneratedLoops loops = {0};
  if (thunk->kind == THUNK_ROWS) {
    loops = generated_loops(device, thunk);
    thunk = thunk->steps->thunks;
  }
  uint8_t **list = pointers(device, thunk, device->scratch);
  KernelPhase work = {kernel_call(device, thunk, list, &computed), frame->phase, loops};
  bool is_over = true;
  *ok = true;
  for (; *ok && is_over && work.phase < thunk->plan->phases; work.phase++) {
    ChunkLoop all = chunk_loop(device, thunk->plan->chunks[work.phase], run_kernel_chunk, &work);
    *ok = parallel_for(&all, &frame->chunk, error);
    is_over = frame->chunk >= all.chunks;
    if (is_over) frame->phase++, frame->chunk = 0;
  }
  arena_release(device->scratch, mark);
  if (!*ok) error_name_op(error, opcode_name(thunk->instruction->opcode));
  return !*ok || is_over;
}

typedef struct CopyLoop {
  const uint8_t *from;
  uint8_t *to;
  int64_t bytes;
} CopyLoop;

/* Threshold COPY_BYTES: "updates of 1 MB" in core/thresholds_numbers.test.mjs. */
enum { COPY_BYTES = 1 << 20 }; /* of a chunk */

static bool run_copy_chunk(void *argument, int chunk) {
  const CopyLoop *copy = argument;
  int64_t begin = (int64_t)chunk * COPY_BYTES, rest = copy->bytes - begin;
  memcpy(copy->to + begin, copy->from + begin, (size_t)(rest < COPY_BYTES ? rest : COPY_BYTES));
  return true;
}

static bool run_copy(Device *device, Frame *frame, const Thunk *thunk, bool *ok, Error *error) {
  const LogicalBuffer *from = thunk->operands[0], *to = thunk->results[0];
  CopyLoop copy = {device_pointer(device, from), device_pointer(device, to), from->bytes};
  *ok = true;
  if (copy.from == copy.to) return true; /* a donated argument's memory may be both */
  ChunkLoop all = chunk_loop(device, divide_up(copy.bytes, COPY_BYTES), run_copy_chunk, &copy);
  *ok = parallel_for(&all, &frame->chunk, error);
  return !*ok || frame->chunk >= all.chunks;
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
    bool ok;
    while (!run_kernel(device, &all, thunk, &ok, error) && !device->run->failing) continue;
    return ok;
  }
  put_pointers(device, thunk, list);
  KernelPhase work; /* not cleared as a whole: that takes as long as some steps */
  work.call = kernel_call(device, thunk, list, &computed);
  work.loops.count = 0;
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
  /* Threshold FIRST_FUEL, MAX_FUEL: "loops of many iterations" in core/thresholds_programs.test.mjs. */
  enum { FIRST_FUEL = 1024, MAX_FUEL = 100 * 1000 };
  /* Threshold SHORT_US, LONG_US: no path: how often the clock is read. */
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
  bool ok = true, is_over = true;
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
    is_over = (thunk->steps->thunks->kind == THUNK_KERNEL ? run_kernel : run_generated)(
        device, frame, thunk, &ok, error);
    break;
  case THUNK_GENERATED: is_over = run_generated(device, frame, thunk, &ok, error); break;
  case THUNK_KERNEL: is_over = run_kernel(device, frame, thunk, &ok, error); break;
  case THUNK_COPY: is_over = run_copy(device, frame, thunk, &ok, error); break;
  default: is_over = run_eval_step(device, frame, thunk, &ok, error); break;
  }
  if (!is_over) return OUTCOME_YIELD;
  device_record(device, thunk, device->since);
  frame->phase = frame->chunk = 0;
  frame->next++;
  return ok ? OUTCOME_DONE : OUTCOME_FAILED;
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
  /* Threshold THUNKS_A_CLOCK, LARGE_BYTES: no path: how often the clock is read. */
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
