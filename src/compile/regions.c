/*
** Joins thunks into regions (codegen/regions/region.h). A region is a run, as long as possible, of steps too small to
** share (one chunk each), and of loops and branches of such steps. Steps that a device may have to wait for
** stay thunks.
*/
#include "compile/regions.h"

#include <string.h>

#include "base/min_max.h"
#include "base/scope.h"

enum {
  /* Threshold MAX_STEPS. Test: "dense steps: values of a region, results of a region, moves" in
  ** core/thresholds_programs.test.mjs. */
  MAX_STEPS =
      512, /* of a region, including those of its loops: engines compile large functions slowly */
  /* Threshold MAX_QUICK. Test: "chunks: elements of loops, of the evaluator, bytes of moves" in
  ** core/thresholds_programs.test.mjs. */
  MAX_QUICK =
      1 << 18, /* bytes that a step of a quick program, or a chunk of it, reads and writes */
  /* Threshold MAX_EVALUATED: bytes of an instruction that the evaluator runs. Test: "loops that
  ** copy or evaluate arrays of some bytes" in core/thresholds_programs.test.mjs. */
  MAX_EVALUATED = 4096
};

typedef struct RegionBuilder {
  Program *program;
  Arena *arena;
  int capacity;   /* of the program's regions */
  int max_slices; /* of a call */
  int loops;      /* of the present region */
  bool evaluates; /* the present region applies computations in the evaluator */
} RegionBuilder;

/* ---- Thunks that may be part of a region ---- */

/* Returns the bytes that a thunk reads and writes. Of a slice's operand, a loop reads only the slice. */
static int64_t thunk_bytes(const Thunk *thunk) {
  int64_t bytes = 0;
  for (int i = 0; i < thunk->operand_count; i++) {
    const LogicalBuffer *operand = thunk->operands[i];
    int64_t read = operand->bytes;
    if (thunk->kind == THUNK_GENERATED) {
      int64_t max = thunk->work.reads * type_bytes(thunk_operand_shape(thunk, i)->type);
      if (max < read) read = max;
    }
    bytes += read;
  }
  for (int i = 0; i < thunk->result_count; i++) bytes += thunk->results[i]->bytes;
  return bytes;
}

static bool has_one_chunk(const KernelPlan *plan) {
  if (plan->is_long) return false;
  for (int i = 0; i < plan->phases; i++) {
    if (plan->chunks[i] > 1) return false;
  }
  return true;
}

static bool is_one_chunk(CodegenWork work) { return work.units <= work.chunk && !work.is_long; }

static bool is_moves(const RegionBuilder *builder, const Thunk *thunk) {
  RegionStep step = {0};
  ArenaMark mark = arena_mark(builder->arena);
  bool is = region_moves(builder->arena, thunk, &step);
  arena_release(builder->arena, mark);
  return is;
}

/* Whether the evaluator takes long for a step, or yields inside it; such a step stays a thunk. */
static bool is_long_evaluation(const Thunk *thunk) {
  /* Threshold MAX_EVALUATED_STEPS. Test: "comparators and reducers of many instructions" in
  ** core/thresholds_programs.test.mjs. */
  enum { MAX_EVALUATED_STEPS = 4096 };
  const Instruction *x = thunk->instruction;
  if (x->opcode == HLO_WHILE) return true;
  int count = instruction_called(x, NULL);
  if (!count) return false;
  Computation **called = scope_new((size_t)count, sizeof *called);
  instruction_called(x, called);
  int64_t size = 0;
  for (int i = 0; i < count; i++) size += called[i]->size;
  scope_free(called);
  return size > MAX_EVALUATED_STEPS;
}

/* Returns the number of steps of a sequence that may be part of a region; else more than the limit. */
static int sequence_steps(const RegionBuilder *builder, const ThunkSequence *sequence);

static int thunk_steps(const RegionBuilder *builder, const Thunk *thunk) {
  enum { NO = MAX_STEPS + 1 };
  switch (thunk->kind) {
  case THUNK_GENERATED: return is_one_chunk(thunk->work) ? 1 : NO;
  case THUNK_COPY: return is_moves(builder, thunk) ? 1 : NO;
  case THUNK_KERNEL: return has_one_chunk(thunk->plan) || is_moves(builder, thunk) ? 1 : NO;
  case THUNK_EVAL:
    if (is_long_evaluation(thunk)) return NO;
    return thunk_bytes(thunk) <= MAX_EVALUATED || is_moves(builder, thunk) ? 1 : NO;
  case THUNK_WHILE: {
    int body = sequence_steps(builder, thunk->body),
        condition = sequence_steps(builder, thunk->condition);
    for (int i = 0; i < thunk->condition->count; i++) {
      ThunkKind kind = thunk->condition->thunks[i].kind;
      if (kind == THUNK_WHILE || kind == THUNK_CONDITIONAL) return NO;
    }
    return 1 + body + condition;
  }
  case THUNK_CONDITIONAL: {
    int steps = 1;
    for (int b = 0; b < thunk->branch_count && steps < NO; b++) {
      steps += 1 + sequence_steps(builder, &thunk->branches[b]);
    }
    return steps;
  }
  default: return NO;
  }
}

static int sequence_steps(const RegionBuilder *builder, const ThunkSequence *sequence) {
  int steps = 0;
  for (int i = 0; i < sequence->count && steps <= MAX_STEPS; i++) {
    steps += thunk_steps(builder, &sequence->thunks[i]);
  }
  return steps;
}

/* ---- From thunks to steps ---- */

static void set_slices(RegionBuilder *builder, RegionStep *step, const Thunk *thunk) {
  step->slices = region_slices(builder->arena, thunk);
  step->slice_count = thunk->operand_count + thunk->result_count;
  if (step->slice_count > builder->max_slices) builder->max_slices = step->slice_count;
}

static RegionSteps steps_of(RegionBuilder *builder, const ThunkSequence *sequence);

/* Estimates of a step's time in nanoseconds, as fuel, which only says how often a region looks at the clock. A loop
** takes LOOP_COST, and one more for each LOOP_BYTES bytes; a call takes CALL_COST, and one more for each byte. */
enum { LOOP_COST = 5, LOOP_BYTES = 4, CALL_COST = 500 };

static void make_loop(RegionBuilder *builder, RegionStep *step, const Thunk *thunk) {
  step->kind = REGION_LOOP;
  step->fusion = thunk->instruction;
  step->function = thunk->function;
  step->units = thunk->work.units;
  step->cost = LOOP_COST + thunk_bytes(thunk) / LOOP_BYTES;
  set_slices(builder, step, thunk);
}

static void make_while(RegionBuilder *builder, RegionStep *step, const Thunk *thunk) {
  BufferSlice *predicate = ARENA_NEW(builder->arena, BufferSlice);
  *predicate = region_slice(thunk->predicate);
  step->kind = REGION_WHILE;
  step->slices = predicate;
  step->slice_count = 1;
  builder->loops++;
  step->condition = steps_of(builder, thunk->condition);
  step->body = steps_of(builder, thunk->body);
  step->cost = 1;
}

static void make_conditional(RegionBuilder *builder, RegionStep *step, const Thunk *thunk) {
  step->kind = REGION_CONDITIONAL;
  step->branches = ARENA_ARRAY(builder->arena, RegionSteps, thunk->branch_count);
  step->branch_count = thunk->branch_count;
  step->predicated = thunk->instruction->operands[0]->shape->type == PRED;
  set_slices(builder, step, thunk);
  for (int b = 0; b < thunk->branch_count; b++) {
    step->branches[b] = steps_of(builder, &thunk->branches[b]);
    int64_t cost = region_steps_cost(&step->branches[b]);
    if (cost > step->cost) step->cost = cost;
  }
}

static void make_step(RegionBuilder *builder, RegionStep *step, const Thunk *thunk) {
  step->first_loop = builder->loops + 1;
  step->begin = thunk->begin;
  step->end = thunk->end;
  switch (thunk->kind) {
  case THUNK_GENERATED: make_loop(builder, step, thunk); break;
  case THUNK_WHILE: make_while(builder, step, thunk); break;
  case THUNK_CONDITIONAL: make_conditional(builder, step, thunk); break;
  default:
    if (region_moves(builder->arena, thunk, step)) break;
    step->kind = REGION_CALL;
    step->call = thunk;
    builder->evaluates |=
        thunk->kind == THUNK_EVAL && instruction_called(thunk->instruction, NULL) > 0;
    step->slices = region_slices(builder->arena, thunk);
    step->slice_count = thunk->operand_count + thunk->result_count;
    step->cost = CALL_COST + thunk_bytes(thunk);
  }
  step->end_loop = builder->loops + 1;
}

static RegionSteps steps_of(RegionBuilder *builder, const ThunkSequence *sequence) {
  RegionSteps steps = {sequence->count, sequence->count,
                       ARENA_ARRAY(builder->arena, RegionStep, sequence->count)};
  for (int i = 0; i < sequence->count; i++) {
    make_step(builder, &steps.items[i], &sequence->thunks[i]);
  }
  return steps;
}

/* ---- The runs of a sequence ---- */

/* Lists the steps' names, one a line, for profiles. */
static void list_names(StrBuf *out, const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    const ThunkSequence *inner;
    strbuf_printf(out, "%s%s", out->length ? "\n" : "", thunk->instruction->name);
    for (int k = 0; (inner = thunk_sequence(thunk, k)); k++) list_names(out, inner);
  }
}

const char *thunk_names(Arena *arena, const ThunkSequence *steps) {
  StrBuf names = {0};
  list_names(&names, steps);
  const char *list = arena_strndup(arena, names.text ? names.text : "", names.length);
  strbuf_free(&names);
  return list;
}

static Thunk make_region(RegionBuilder *builder, const Thunk *first, int count) {
  Program *program = builder->program;
  Thunk thunk = {.kind = THUNK_REGION, .instruction = first[count - 1].instruction};
  ThunkSequence *steps = ARENA_NEW(builder->arena, ThunkSequence);
  *steps = (ThunkSequence){count, count,
                           arena_copy(builder->arena, first, sizeof *first * (size_t)count)};
  builder->loops = 0;
  builder->evaluates = false;
  Region region = {.steps = steps_of(builder, steps)};
  region.is_open_ended = builder->evaluates;
  thunk.steps = steps;
  thunk.region = program->region_count;
  thunk.holds = thunk_names(builder->arena, steps);
  ARENA_PUSH(builder->arena, program->regions, program->region_count, builder->capacity, region);
  return thunk;
}

static bool is_worth_it(const Thunk *first, int count) {
  return count > 1 || first->kind == THUNK_WHILE || first->kind == THUNK_CONDITIONAL;
}

static void form_regions(RegionBuilder *builder, ThunkSequence *sequence) {
  int kept = 0;
  for (int i = 0; i < sequence->count;) {
    Thunk *first = &sequence->thunks[i];
    int count = 0, steps = 0;
    for (; i + count < sequence->count; count++) {
      int more = thunk_steps(builder, &first[count]);
      if (steps + more > MAX_STEPS) break;
      steps += more;
    }
    if (count && is_worth_it(first, count)) {
      sequence->thunks[kept++] = make_region(builder, first, count);
      i += count;
      continue;
    }
    ThunkSequence *inner;
    for (int k = 0; !thunk_has_steps(first) && (inner = thunk_sequence(first, k)); k++) {
      form_regions(builder, inner);
    }
    sequence->thunks[kept++] = *first;
    i++;
  }
  sequence->count = kept;
}

/* Whether each step returns soon. The evaluator runs loops of a called computation to their end. */
static bool steps_return_soon(const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    if (thunk->kind == THUNK_EVAL && instruction_called(thunk->instruction, NULL) > 0) return false;
    const ThunkSequence *inner;
    for (int k = 0; (inner = thunk_sequence(thunk, k)); k++) {
      if (!steps_return_soon(inner)) return false;
    }
  }
  return true;
}

/* Returns the number of chunks after which a step can stop; 0 if a chunk may take long. */
static int64_t short_chunks(const Thunk *thunk) {
  int64_t chunks = 0;
  if (thunk->kind == THUNK_GENERATED && !thunk->work.is_long) {
    chunks = divide_up(thunk->work.units, thunk->work.chunk);
  }
  if (thunk->kind == THUNK_KERNEL && !thunk->plan->is_long) {
    for (int i = 0; i < thunk->plan->phases; i++) chunks = max_i64(chunks, thunk->plan->chunks[i]);
  }
  return chunks;
}

static bool is_quick(const RegionBuilder *builder, const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    int64_t chunks = short_chunks(thunk);
    bool bounded = thunk->kind == THUNK_WHILE || thunk->kind == THUNK_CONDITIONAL ||
                   thunk_bytes(thunk) <= MAX_QUICK * max_i64(chunks, 1);
    if (!bounded || (!chunks && thunk_steps(builder, thunk) > MAX_STEPS)) return false;
  }
  return steps_return_soon(sequence);
}

void compile_regions(Program *program, bool wanted) {
  RegionBuilder builder = {.program = program, .arena = program->arena};
  program->is_quick = is_quick(&builder, &program->entry);
  if (wanted) form_regions(&builder, &program->entry);
  if (!program->region_count) return;
  BufferSlice list = {.slot = SLOT_ARENA, .offset = program->arena_bytes};
  if (program->loan_count)
    list = (BufferSlice){.slot = program->slot_count++}; /* each run sets its address */
  for (int i = 0; i < program->region_count; i++) program->regions[i].list = list;
  program->list_bytes = (4 * builder.max_slices + 63) & -64;
}
