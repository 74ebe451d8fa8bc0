/* Runs thunks in the evaluator, a chunk at a time where the instruction can be divided. */
#include "runtime/eval_step.h"

#include <stdatomic.h>

#include "base/min_max.h"
#include "reference/eval.h"

/* ---- Whole instructions ---- */

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

/* As run_eval_step, for a call, a branch or a loop. Its state stays in device->scratch until it is over. */
static Outcome run_evaluation(Device *device, const Thunk *thunk, Error *error) {
  int64_t steps;
  EvalContext context = eval_context(device, device->scratch, &steps, error);
  if (!device->evaluation) {
    device->evaluation_mark = arena_mark(device->scratch);
    Literal *result, **operands = eval_operands(device, thunk, device->scratch, &result);
    device->evaluation = evaluation_begin(thunk->instruction, operands, result, &context);
  }
  bool ok =
      device->evaluation && evaluation_resume(device->evaluation, &context, device->deadline_us);
  if (ok && !evaluation_is_over(device->evaluation)) return OUTCOME_YIELD;
  device->evaluation = NULL;
  arena_release(device->scratch, device->evaluation_mark);
  return outcome_of(ok, true);
}

bool run_eval(Device *device, const Thunk *thunk, Error *error) {
  ArenaMark mark = arena_mark(device->scratch);
  bool ok = evaluate(device, thunk, NULL, device->scratch, error);
  arena_release(device->scratch, mark);
  return ok;
}

/* ---- Chunks ---- */

/* The elements of a chunk, and the maximal number of chunks. Slow elements get smaller chunks: MAP_CHUNKS. */
/* Threshold EVAL_ELEMENTS, MAP_CHUNKS. Test: "chunks: elements of loops, of the evaluator, bytes of
** moves" in core/thresholds_programs.test.mjs. */
/* Threshold MAX_CHUNKS: larger chunks instead of more. No path. */
enum { EVAL_ELEMENTS = 1 << 14, MAP_CHUNKS = 4096, MAX_CHUNKS = 1 << 24 };

typedef struct EvalLoop {
  Device *device;
  const Thunk *thunk;
  int64_t count, chunk; /* elements or steps, in all and of a chunk */
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
  int64_t begin = chunk * loop->chunk, steps = EVAL_STEPS_ALONE;
  int64_t count = min_i64(loop->count - begin, loop->chunk);
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
  int64_t begin = chunk * loop->chunk, part[] = {begin, min_i64(begin + loop->chunk, loop->count)};
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
  bool independent = true, by_elements = is_by_elements(thunk);
  loop->count = by_elements ? shape_elements(x->shape) : eval_steps(x, &each, &independent);
  loop->chunk = max_i64(1, EVAL_ELEMENTS / max_i64(1, each));
  if (x->opcode == HLO_MAP)
    loop->chunk = max_i64(1, min_i64(loop->count / MAP_CHUNKS, loop->chunk));
  loop->chunk = max_i64(loop->chunk, loop->count / MAX_CHUNKS);
  if (loop->count <= loop->chunk) return false;
  *chunks = chunk_loop(loop->device, divide_up(loop->count, loop->chunk),
                       by_elements ? run_eval_chunk : run_eval_part, loop);
  chunks->in_order = !independent || thunk->in_order;
  return true;
}

Outcome run_eval_step(Device *device, Frame *frame, const Thunk *thunk, Error *error) {
  const Instruction *x = thunk->instruction;
  if (eval_is_resumable(x)) return run_evaluation(device, thunk, error);
  EvalLoop loop = {.device = device, .thunk = thunk, .error = error};
  ChunkLoop all;
  if (!eval_chunks(thunk, &loop, &all)) return outcome_of(run_eval(device, thunk, error), true);
  bool ok = parallel_for(&all, &frame->chunk, error) && !loop.failed;
  bool is_over = !ok || frame->chunk >= all.chunks;
  if (is_over && x->opcode == HLO_RNG) {
    skip_random(device->rng_state, (loop.count + loop.count % 2) * random_words(x));
  }
  return outcome_of(ok, is_over);
}
