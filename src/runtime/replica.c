/*
** Runs a replica, thunk after thunk. It has its own stack of frames, so it can stop anywhere and go on later
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

enum { MAX_STEP_LEAVES = 32 }; /* of a kernel that regions call without allocation */

static void push_frame(Replica *replica, const ThunkSequence *sequence) {
  replica->frames[replica->depth++] = (Frame){sequence, 0, 0, 0};
}

/* ---- Profile ---- */

static void record(Replica *replica, const Thunk *thunk, double start_us) {
  if (!replica->run->profile) return;
  if (replica->event_count == replica->event_capacity) {
    int capacity = replica->event_capacity ? replica->event_capacity * 2 : 64;
    ProfileEvent *grown = realloc(replica->events, sizeof *grown * (size_t)capacity);
    if (!grown) return; /* a profile with a hole is better than a failed run */
    replica->events = grown;
    replica->event_capacity = capacity;
  }
  bool waited = replica->waited_for != WAITED_FOR_NOBODY;
  replica->events[replica->event_count++] =
      (ProfileEvent){start_us,
                     waited && replica->ready_us > start_us ? replica->ready_us : start_us,
                     platform_now_us(),
                     replica_number(replica),
                     scheduler_current_worker(),
                     thunk->instruction->name,
                     thunk_kind_name(thunk->kind),
                     thunk_has_steps(thunk) ? thunk->holds : NULL,
                     partition_number(replica),
                     replica->waited_for};
  replica->waited_for = WAITED_FOR_NOBODY;
}

/* ---- Computing thunks ---- */

static Literal *literal_of_leaves(const Replica *replica, const Shape *shape, LogicalBuffer ***next,
                                  Arena *arena) {
  Literal *literal = ARENA_NEW(arena, Literal);
  literal->shape = shape;
  if (shape_is_tuple(shape)) {
    literal->elements = ARENA_ARRAY(arena, Literal *, shape->tuple_size);
    for (int i = 0; i < shape->tuple_size; i++) {
      literal->elements[i] = literal_of_leaves(replica, shape->elements[i], next, arena);
    }
  } else {
    literal->data = replica_pointer(replica, *(*next)++);
  }
  return literal;
}

static void skip_random(uint64_t state[2], int64_t count) {
  state[0] += (uint64_t)count;
  state[1] += state[0] < (uint64_t)count;
}

static EvalContext eval_context(Replica *replica, Arena *arena, int64_t *steps, Error *error) {
  *steps = EVAL_STEPS_ALONE;
  return (EvalContext){
      .arena = arena,
      .error = error,
      .replica_id = replica_number(replica),
      .partition_id = partition_number(replica),
      .rng_state = replica->rng_state,
      .cancelled = &replica->run->failing,
      .budget = scheduler_workers() ? NULL : steps,
  };
}

/* Makes literals of the operands of the thunk's instruction, and of its result. */
static Literal **eval_operands(const Replica *replica, const Thunk *thunk, Arena *arena,
                               Literal **result) {
  const Instruction *instruction = thunk->instruction;
  LogicalBuffer **next = thunk->operands;
  Literal **operands = ARENA_ARRAY(arena, Literal *, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    operands[i] = literal_of_leaves(replica, instruction->operands[i]->shape, &next, arena);
  }
  next = thunk->results;
  *result = literal_of_leaves(replica, instruction->shape, &next, arena);
  return operands;
}

/* Evaluates the thunk's instruction, or only `part` of it unless that is NULL. May be called on any thread. */
static bool evaluate(Replica *replica, const Thunk *thunk, const int64_t *part, Arena *arena,
                     Error *error) {
  int64_t steps;
  EvalContext context = eval_context(replica, arena, &steps, error);
  context.part = part;
  Literal *result, **operands = eval_operands(replica, thunk, arena, &result);
  return eval_instruction(thunk->instruction, operands, result, &context);
}

/* As run_generated, for a call, a branch or a loop. Its state stays in replica->scratch until it is over. */
static bool run_evaluation(Replica *replica, const Thunk *thunk, bool *ok, Error *error) {
  int64_t steps;
  EvalContext context = eval_context(replica, replica->scratch, &steps, error);
  if (!replica->evaluation) {
    replica->evaluation_mark = arena_mark(replica->scratch);
    Literal *result, **operands = eval_operands(replica, thunk, replica->scratch, &result);
    replica->evaluation = evaluation_begin(thunk->instruction, operands, result, &context);
  }
  *ok =
      replica->evaluation && evaluation_resume(replica->evaluation, &context, replica->deadline_us);
  if (*ok && !evaluation_is_over(replica->evaluation)) return false;
  replica->evaluation = NULL;
  arena_release(replica->scratch, replica->evaluation_mark);
  return true;
}

static bool run_eval(Replica *replica, const Thunk *thunk, Error *error) {
  ArenaMark mark = arena_mark(replica->scratch);
  bool ok = evaluate(replica, thunk, NULL, replica->scratch, error);
  arena_release(replica->scratch, mark);
  return ok;
}

static void put_pointers(const Replica *replica, const Thunk *thunk, uint8_t **list) {
  for (int i = 0; i < thunk->operand_count; i++) {
    list[i] = replica_pointer(replica, thunk->operands[i]);
  }
  for (int i = 0; i < thunk->result_count; i++) {
    list[thunk->operand_count + i] = replica_pointer(replica, thunk->results[i]);
  }
}

static uint8_t **pointers(const Replica *replica, const Thunk *thunk, Arena *arena) {
  uint8_t **list = ARENA_ARRAY(arena, uint8_t *, thunk->operand_count + thunk->result_count);
  put_pointers(replica, thunk, list);
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

static GeneratedLoops generated_loops(Replica *replica, const Thunk *thunk) {
  bool group = thunk->kind == THUNK_ROWS, one = thunk->kind == THUNK_GENERATED;
  GeneratedLoops loops = {
      .module = replica->executable->program->generated_module,
      .first = group && thunk->steps->thunks->kind == THUNK_KERNEL,
      .count = group ? thunk->steps->count : one,
      .steps = group ? thunk->steps->thunks : thunk,
      .rows = one ? thunk->work.units : thunk->rows,
      .block = one ? thunk->work.chunk : thunk->block,
  };
  loops.buffers = ARENA_ARRAY(replica->scratch, uint8_t **, loops.count);
  for (int i = loops.first; i < loops.count; i++) {
    loops.buffers[i] = pointers(replica, &loops.steps[i], replica->scratch);
  }
  return loops;
}

/* Returns the loop over the chunks of a replica's present thunk. */
static ChunkLoop chunk_loop(const Replica *replica, int64_t chunks, bool (*body)(void *, int),
                            void *argument) {
  return (ChunkLoop){.chunks = (int)chunks,
                     .body = body,
                     .argument = argument,
                     .stop = &replica->run->failing,
                     .deadline_us = replica->deadline_us};
}

/* Returns whether the thunk is over: *ok says whether it succeeded. Else the frame says where it goes on. */
static bool run_generated(Replica *replica, Frame *frame, const Thunk *thunk, bool *ok,
                          Error *error) {
  if (!platform_has_codegen()) {
    *ok = run_eval(replica, thunk, error);
    return true;
  }
  ArenaMark mark = arena_mark(replica->scratch);
  GeneratedLoops loops = generated_loops(replica, thunk);
  int64_t chunks = divide_up(loops.rows, loops.block);
  ChunkLoop all = chunk_loop(replica, chunks, run_generated_chunk, &loops);
  all.in_order = thunk->kind == THUNK_GENERATED && thunk->work.in_order;
  *ok = parallel_for(&all, &frame->chunk, error);
  arena_release(replica->scratch, mark);
  if (!*ok) error_name_op(error, thunk->instruction->name);
  return !*ok || frame->chunk >= all.chunks;
}

/* ---- The evaluator, a chunk at a time ---- */

/* The elements of a chunk, and the maximal number of chunks. Slow elements get smaller chunks: MAP_CHUNKS. */
enum { EVAL_ELEMENTS = 1 << 14, MAP_CHUNKS = 4096, MAX_CHUNKS = 1 << 24 };

typedef struct EvalLoop {
  Replica *replica;
  const Thunk *thunk;
  int64_t count, some; /* elements or places, in all and of a chunk */
  Error *error;
  _Atomic bool failed;
} EvalLoop;

/* Keeps the first error. */
static void eval_failed(EvalLoop *loop, const Error *error) {
  if (!atomic_exchange(&loop->failed, true)) *loop->error = *error;
}

/* Returns elements [begin, begin + count) of an array of this shape, as an array; or all of a scalar. */
static Literal *elements_of(const Replica *replica, const LogicalBuffer *buffer, const Shape *shape,
                            int64_t begin, int64_t count, Arena *arena) {
  Literal *literal = ARENA_NEW(arena, Literal);
  if (shape->rank == 0) begin = 0;
  literal->shape = shape->rank ? shape_make(arena, shape->type, 1, &count, NULL) : shape;
  literal->data = replica_pointer(replica, buffer) + begin * type_bytes(shape->type);
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
  uint64_t state[2] = {loop->replica->rng_state[0], loop->replica->rng_state[1]};
  skip_random(state, begin * random_words(x) / 4);
  EvalContext context = {.arena = arena,
                         .error = &error,
                         .rng_state = x->opcode == HLO_RNG ? state : loop->replica->rng_state,
                         .cancelled = &loop->replica->run->failing,
                         .budget = scheduler_workers() ? NULL : &steps};
  Literal **operands = ARENA_ARRAY(arena, Literal *, thunk->operand_count);
  for (int i = 0; i < thunk->operand_count; i++) {
    const Shape *shape = x->operands[i]->shape;
    operands[i] = elements_of(loop->replica, thunk->operands[i], shape,
                              elements_in(shape, x, begin), elements_in(shape, x, count), arena);
  }
  Literal *result = elements_of(loop->replica, thunk->results[0], x->shape, begin, count, arena);
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
  if (!evaluate(loop->replica, loop->thunk, part, arena, &error)) eval_failed(loop, &error);
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
  loop->count = by_elements ? shape_elements(x->shape) : eval_places(x, &each, &apart);
  loop->some = max_i64(1, EVAL_ELEMENTS / max_i64(1, each));
  if (x->opcode == HLO_MAP) loop->some = max_i64(1, min_i64(loop->count / MAP_CHUNKS, loop->some));
  loop->some = max_i64(loop->some, loop->count / MAX_CHUNKS);
  if (loop->count <= loop->some) return false;
  *chunks = chunk_loop(loop->replica, divide_up(loop->count, loop->some),
                       by_elements ? run_eval_chunk : run_eval_part, loop);
  chunks->in_order = !apart || thunk->in_order;
  return true;
}

/* As run_generated. */
static bool run_eval_step(Replica *replica, Frame *frame, const Thunk *thunk, bool *ok,
                          Error *error) {
  const Instruction *x = thunk->instruction;
  if (eval_is_resumable(x)) return run_evaluation(replica, thunk, ok, error);
  EvalLoop loop = {.replica = replica, .thunk = thunk, .error = error};
  ChunkLoop all;
  if (!eval_chunks(thunk, &loop, &all)) {
    *ok = run_eval(replica, thunk, error);
    return true;
  }
  *ok = parallel_for(&all, &frame->chunk, error) && !loop.failed;
  bool is_over = !*ok || frame->chunk >= all.chunks;
  if (is_over && x->opcode == HLO_RNG) {
    skip_random(replica->rng_state, (loop.count + loop.count % 2) * random_words(x));
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

static void compute_generated(const KernelCall *call, uint8_t *const *buffers) {
  const KernelFusion *computed = call->computed;
  generated_function(computed->module, computed->function)(buffers, 0,
                                                           shape_elements(computed->fusion->shape));
}

static void compute_evaluated(const KernelCall *call, uint8_t *const *buffers) {
  const Instruction *fusion = ((const KernelFusion *)call->computed)->fusion;
  Arena *arena = arena_new();
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
  if (!eval_instruction(fusion, list, list[count], &context)) platform_fatal(error.message);
  arena_free(arena);
}

static bool run_kernel_chunk(void *argument, int chunk) {
  const KernelPhase *phase = argument;
  KernelCall call = phase->call;
  bool again = false;
  call.again = &again;
  call.plan->kernel->run(&call, phase->phase, chunk);
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

static KernelCall kernel_call(const Replica *replica, const Thunk *thunk, uint8_t **list,
                              KernelFusion *computed) {
  *computed = (KernelFusion){thunk->fusion, replica->executable->program->generated_module,
                             thunk->fusion_function};
  return (KernelCall){.plan = thunk->plan,
                      .instruction = thunk->instruction,
                      .operands = (const uint8_t *const *)list,
                      .results = list + thunk->operand_count,
                      .scratch = thunk->scratch ? replica_pointer(replica, thunk->scratch) : NULL,
                      .compute = platform_has_codegen() ? compute_generated : compute_evaluated,
                      .computed = computed,
                      .share = share_parts,
                      .sharer = replica,
                      .stop = &replica->run->failing,
                      .deadline_us = replica->deadline_us};
}

/* As run_generated. In a group of rows, runs the kernel and the loops after it. */
static bool run_kernel(Replica *replica, Frame *frame, const Thunk *thunk, bool *ok, Error *error) {
  ArenaMark mark = arena_mark(replica->scratch);
  KernelFusion computed;
  GeneratedLoops loops = {0};
  if (thunk->kind == THUNK_ROWS) {
    loops = generated_loops(replica, thunk);
    thunk = thunk->steps->thunks;
  }
  uint8_t **list = pointers(replica, thunk, replica->scratch);
  KernelPhase work = {kernel_call(replica, thunk, list, &computed), frame->phase, loops};
  bool is_over = true;
  *ok = true;
  for (; *ok && is_over && work.phase < thunk->plan->phases; work.phase++) {
    ChunkLoop all = chunk_loop(replica, thunk->plan->chunks[work.phase], run_kernel_chunk, &work);
    *ok = parallel_for(&all, &frame->chunk, error);
    is_over = frame->chunk >= all.chunks;
    if (is_over) frame->phase++, frame->chunk = 0;
  }
  arena_release(replica->scratch, mark);
  if (!*ok) error_name_op(error, opcode_name(thunk->instruction->opcode));
  return !*ok || is_over;
}

typedef struct CopyLoop {
  const uint8_t *from;
  uint8_t *to;
  int64_t bytes;
} CopyLoop;

enum { COPY_BYTES = 1 << 20 }; /* of a chunk */

static bool run_copy_chunk(void *argument, int chunk) {
  const CopyLoop *copy = argument;
  int64_t begin = (int64_t)chunk * COPY_BYTES, rest = copy->bytes - begin;
  memcpy(copy->to + begin, copy->from + begin, (size_t)(rest < COPY_BYTES ? rest : COPY_BYTES));
  return true;
}

static bool run_copy(Replica *replica, Frame *frame, const Thunk *thunk, bool *ok, Error *error) {
  const LogicalBuffer *from = thunk->operands[0], *to = thunk->results[0];
  CopyLoop copy = {replica_pointer(replica, from), replica_pointer(replica, to), from->bytes};
  *ok = true;
  if (copy.from == copy.to) return true; /* a donated argument's memory may be both */
  ChunkLoop all = chunk_loop(replica, divide_up(copy.bytes, COPY_BYTES), run_copy_chunk, &copy);
  *ok = parallel_for(&all, &frame->chunk, error);
  return !*ok || frame->chunk >= all.chunks;
}

/* ---- Regions ---- */

/* Runs a step that a region calls, on this thread: it is too small to share. */
static bool run_step(Replica *replica, const Thunk *thunk, Error *error) {
  if (thunk->kind == THUNK_EVAL) return run_eval(replica, thunk, error);
  uint8_t *list[MAX_STEP_LEAVES];
  KernelFusion computed;
  int n = thunk->operand_count + thunk->result_count;
  if (n > MAX_STEP_LEAVES) {
    Frame all = {0};
    bool ok;
    while (!run_kernel(replica, &all, thunk, &ok, error) && !replica->run->failing) continue;
    return ok;
  }
  put_pointers(replica, thunk, list);
  KernelPhase work; /* not cleared as a whole: that takes as long as some steps */
  work.call = kernel_call(replica, thunk, list, &computed);
  work.loops.count = 0;
  for (work.phase = 0; work.phase < thunk->plan->phases; work.phase++) {
    bool is_over = !thunk->plan->chunks[work.phase];
    while (!is_over && !replica->run->failing) is_over = run_kernel_chunk(&work, 0);
  }
  return true;
}

/* Called by regions; see codegen/regions/region.h. */
int xla_region_step(Replica *replica, const Thunk *thunk);
__attribute__((used, visibility("default"))) int xla_region_step(Replica *replica,
                                                                 const Thunk *thunk) {
  const Thunk *region = replica->at;
  replica->at = thunk;
  bool ok = run_step(replica, thunk, replica->error);
  replica->at = region;
  return ok;
}

/* Runs a region. It returns when its fuel is used up, and goes on at frame->phase. */
static bool step_region(Replica *replica, Frame *frame, const Thunk *thunk, Error *error) {
  enum { FIRST_FUEL = 1024, MAX_FUEL = 100 * 1000 };
  static const double SHORT_US = 500, LONG_US = 2000;
  const Program *program = replica->executable->program;
  if (!platform_has_codegen()) {
    frame->next++;
    push_frame(replica, thunk->steps);
    return true;
  }
  GeneratedRegion function = (GeneratedRegion)(void (*)(void))generated_function(
      program->generated_module, program->fusion_count + thunk->region);
  if (frame->phase == 0 && replica->run->profile) replica->since = platform_now_us();
  replica->error = error;
  /* With a deadline, an open-ended region gets fuel for a millisecond or two. */
  bool is_open_ended = replica->deadline_us && program->regions[thunk->region].is_open_ended;
  double start_us = is_open_ended ? platform_now_us() : 0;
  if (!replica->fuel) replica->fuel = FIRST_FUEL;
  frame->phase =
      function(replica, replica->slots, frame->phase, is_open_ended ? replica->fuel : MAX_FUEL);
  if (is_open_ended) {
    double us = platform_now_us() - start_us;
    if (us < SHORT_US && replica->fuel < MAX_FUEL) replica->fuel *= 2;
    if (us > LONG_US && replica->fuel > 1) replica->fuel /= us > 8 * LONG_US ? 8 : 2;
    if (!replica->fuel) replica->fuel = 1;
  }
  if (frame->phase > 0) return true;
  record(replica, thunk, replica->since);
  frame->next++;
  return frame->phase == 0;
}

/* ---- Control flow: frames instead of recursion ---- */

/* Phases of a while: 0 run the condition, 1 read its result, 2 the body has run. */
static void step_while(Replica *replica, Frame *frame, const Thunk *thunk) {
  if (frame->phase == 1) {
    if (*replica_pointer(replica, thunk->predicate)) {
      frame->phase = 0;
      push_frame(replica, thunk->body);
    } else {
      frame->phase = 0;
      frame->next++;
    }
    return;
  }
  frame->phase = 1;
  push_frame(replica, thunk->condition);
}

static void step_conditional(Replica *replica, Frame *frame, const Thunk *thunk) {
  const uint8_t *index = replica_pointer(replica, thunk->operands[0]);
  int branch;
  if (thunk->instruction->operands[0]->shape->type == PRED) {
    branch = *index ? 0 : 1;
  } else {
    int32_t i;
    memcpy(&i, index, sizeof i);
    branch = i < 0 || i >= thunk->branch_count ? thunk->branch_count - 1 : i;
  }
  frame->next++;
  push_frame(replica, &thunk->branches[branch]);
}

/* ---- One step ---- */

static Outcome step(Replica *replica, Frame *frame, Error *error) {
  const Thunk *thunk = &frame->sequence->thunks[frame->next];
  replica->at = thunk;
  double start = replica->run->profile ? platform_now_us() : 0;
  bool ok = true, is_over = true;
  switch (thunk->kind) {
  case THUNK_WHILE: step_while(replica, frame, thunk); return OUTCOME_DONE;
  case THUNK_CONDITIONAL: step_conditional(replica, frame, thunk); return OUTCOME_DONE;
  case THUNK_COLLECTIVE:
    if (!replica->rendezvous) replica->parked_since = start;
    return rendezvous_arrive(replica, frame, thunk, error);
  case THUNK_CHANNEL:
    frame->next++;
    replica->parked_since = start;
    if (thunk->instruction->opcode == HLO_SEND) return channel_send(replica, thunk, error);
    return channel_receive(replica, thunk);
  case THUNK_HOST:
    frame->next++;
    replica->parked_since = start;
    return host_call_arrive(replica, thunk);
  case THUNK_REGION:
    return step_region(replica, frame, thunk, error) ? OUTCOME_DONE : OUTCOME_FAILED;
  case THUNK_ROWS:
    if (platform_has_codegen()) break;
    frame->next++;
    push_frame(replica, thunk->steps);
    return OUTCOME_DONE;
  default: break;
  }
  if (frame->phase == 0 && frame->chunk == 0) replica->since = start;
  switch (thunk->kind) {
  case THUNK_ROWS:
    is_over = (thunk->steps->thunks->kind == THUNK_KERNEL ? run_kernel : run_generated)(
        replica, frame, thunk, &ok, error);
    break;
  case THUNK_GENERATED: is_over = run_generated(replica, frame, thunk, &ok, error); break;
  case THUNK_KERNEL: is_over = run_kernel(replica, frame, thunk, &ok, error); break;
  case THUNK_COPY: is_over = run_copy(replica, frame, thunk, &ok, error); break;
  default: is_over = run_eval_step(replica, frame, thunk, &ok, error); break;
  }
  if (!is_over) return OUTCOME_YIELD;
  record(replica, thunk, replica->since);
  frame->phase = frame->chunk = 0;
  frame->next++;
  return ok ? OUTCOME_DONE : OUTCOME_FAILED;
}

void replica_ready(Replica *replica, int waited_for) {
  if (!replica->run->profile) return;
  replica->waited_for = waited_for;
  replica->ready_us = platform_now_us();
}

void replica_record(Replica *replica, const Thunk *thunk) {
  record(replica, thunk, replica->parked_since);
}

void replica_trapped(const Replica *replica, Error *error) {
  if (!replica->at) return;
  const Instruction *in = replica->at->instruction;
  error_name_op(error, in->opcode == HLO_FUSION ? in->name : opcode_name(in->opcode));
}

/* Finishes the thunk at which a replica was parked; called when it was resumed. */
static bool finish_parked(Replica *replica, Error *error) {
  const Thunk *thunk = replica->parked_at;
  if (!thunk || replica->rendezvous) return true; /* or it performs the collective for its group */
  bool ok = !replica->message || channel_take(replica, thunk, error);
  replica_record(replica, thunk);
  replica->parked_at = NULL;
  return ok;
}

/* Whether the turn is over. Reading the clock costs as much as a small thunk, so it is read only after
** several small thunks or after a large one. */
static bool is_over(const Replica *replica, double deadline_us, int *unclocked) {
  enum { THUNKS_A_CLOCK = 16, LARGE_BYTES = 4096 };
  const Thunk *last = replica->at;
  bool is_large = last && (thunk_has_steps(last) ||
                           (last->result_count && last->results[0]->bytes > LARGE_BYTES));
  if (!is_large && ++*unclocked < THUNKS_A_CLOCK) return false;
  *unclocked = 0;
  return platform_now_us() >= deadline_us;
}

Outcome replica_run(Replica *replica, double deadline_us, Error *error) {
  int unclocked = 0;
  replica->deadline_us = deadline_us;
  if (!finish_parked(replica, error)) return OUTCOME_FAILED;
  while (replica->depth) {
    if (replica->run->failing) {
      error_set(error, STATUS_CANCELLED, "another replica failed");
      return OUTCOME_FAILED;
    }
    Frame *frame = &replica->frames[replica->depth - 1];
    if (frame->next == frame->sequence->count) {
      replica->depth--;
      continue;
    }
    if (deadline_us && is_over(replica, deadline_us, &unclocked)) return OUTCOME_YIELD;
    Outcome outcome = step(replica, frame, error);
    if (outcome == OUTCOME_FAILED) origin_append(replica->at->instruction, error);
    if (outcome != OUTCOME_DONE) return outcome;
  }
  return OUTCOME_DONE;
}
