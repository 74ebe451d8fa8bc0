/*
** Runs of loops that go row by row, one after the other over some rows at a time: a softmax is a maximum,
** a difference with its exponential, a sum and a quotient of each row, a normalisation much the same.
** Step after step over all rows, large arrays leave the cache between one and the next; block after block
** of rows they stay. So do the rows that a chunk of a kernel completes, of a product or a convolution:
** bias, activation, residual and conversion follow while they are there.
**
** A step may be in a group if it makes its results in the order of rows, and if whatever memory it shares
** with another step, of which one writes there, both go along row by row: then it does not matter that a
** later step's first rows come before an earlier one's last. A kernel may be first, as it reads what it
** reads as a whole.
**
** What is reduced over the rows instead, as by a batch norm or the softmax of columns, needs all of them
** before anything that reads the result, and stays step by step.
*/
#include "compile/regions.h"

enum {
  MIN_BYTES = 512 << 10,   /* that a group's steps go along, each: less stays in the cache anyway */
  BLOCK_BYTES = 128 << 10, /* of these: most arrays are gone along by two or three */
  MIN_BLOCKS = 16,         /* for as many threads */
  MIN_CHUNKS = 4,          /* of a kernel: most of the work is its own */
  MAX_STEPS = 32,
  SMALL_PART = 16, /* of its bytes */
};

typedef struct Access {
  LogicalBuffer *buffer;
  Spot spots[RUN_KINDS];
  bool writes, by_rows;
} Access;

typedef struct Group {
  const Program *program;
  bool placed;  /* buffers have their places: else different ones share nothing */
  Arena *arena; /* scratch */
  int64_t rows, bytes;
  int count, capacity;
  Access *items;
} Group;

static Access access_of(const Group *group, LogicalBuffer *buffer) {
  Access access = {.buffer = buffer_owner(buffer)};
  for (int k = 0; k < RUN_KINDS && group->placed; k++) {
    access.spots[k] = buffer_spot(group->program, buffer, (RunKind)k);
  }
  return access;
}

static bool is_apart(const Access *a, const Access *b, int kind) {
  const Spot *x = &a->spots[kind], *y = &b->spots[kind];
  return x->slot != y->slot || x->offset + a->buffer->bytes <= y->offset ||
         y->offset + b->buffer->bytes <= x->offset;
}

/* Whatever kind of run it is. */
static bool agree(const Group *group, const Access *a, const Access *b) {
  if (!(a->writes || b->writes)) return true;
  bool along = a->by_rows && b->by_rows && a->buffer->bytes == b->buffer->bytes;
  if (!group->placed) return along || a->buffer != b->buffer;
  for (int k = 0; k < RUN_KINDS; k++) {
    bool at_one_place = a->spots[k].offset == b->spots[k].offset;
    if (!(along && at_one_place) && !is_apart(a, b, k)) return false;
  }
  return true;
}

/* Beside the group's first `count` accesses. */
static bool add_access(Group *group, int count, Access access) {
  for (int i = 0; i < count; i++) {
    if (!agree(group, &group->items[i], &access)) return false;
  }
  ARENA_PUSH(group->arena, group->items, group->count, group->capacity, access);
  if (access.by_rows) group->bytes += access.buffer->bytes;
  return true;
}

/* Which operands a step reads by rows, if it makes its results so. */
static bool goes_by_rows(const Group *group, const Thunk *thunk, bool *by_rows) {
  if (thunk->kind == THUNK_KERNEL) return group->count == 0;
  return thunk->kind == THUNK_GENERATED && codegen_rows(thunk->instruction, group->rows, by_rows);
}

/* Adds a step to the group; false, and nothing changes, if it does not fit. */
static bool add_step(Group *group, const Thunk *thunk) {
  bool *by_rows = ARENA_ARRAY(group->arena, bool, thunk->operand_count);
  if (!goes_by_rows(group, thunk, by_rows)) return false;
  Group before = *group;
  bool fits = true;
  if (thunk->kind == THUNK_KERNEL && thunk->scratch) {
    Access scratch = access_of(group, thunk->scratch);
    scratch.writes = true;
    fits = add_access(group, 0, scratch);
  }
  for (int i = 0; i < thunk->operand_count + thunk->result_count && fits; i++) {
    bool writes = i >= thunk->operand_count;
    Access access =
        access_of(group, writes ? thunk->results[i - thunk->operand_count] : thunk->operands[i]);
    access.writes = writes;
    access.by_rows = writes || by_rows[i];
    fits = add_access(group, before.count, access);
  }
  if (!fits) group->count = before.count, group->bytes = before.bytes;
  return fits;
}

/* The rows that a kernel's chunks complete, if there are enough chunks. */
static int64_t rows_of_kernel(const Thunk *thunk) {
  const KernelPlan *plan = thunk->plan;
  const Shape *shape = thunk->instruction->shape;
  if (!plan->rows || 2 * shape_bytes(shape) < MIN_BYTES) return 0;
  int chunks = 0;
  for (int phase = 0; phase < plan->phases; phase++) {
    for (int chunk = 0; chunk < plan->chunks[phase] && chunks < MIN_CHUNKS; chunk++) {
      int64_t rows[2];
      plan->rows(plan, phase, chunk, rows);
      if (rows[1] > rows[0]) chunks++;
    }
  }
  return chunks < MIN_CHUNKS ? 0 : shape_elements(shape) / plan->row_elements;
}

/* Of what a reduction reads, the dimensions before the first that it reduces; 0: it is none. */
static int64_t rows_of(const Thunk *thunk) {
  if (thunk->kind == THUNK_KERNEL) return rows_of_kernel(thunk);
  if (thunk->kind != THUNK_GENERATED) return 0;
  const Instruction *root = loop_root(thunk->instruction->a->calls->root);
  int64_t rows = 1;
  if (root->opcode != HLO_REDUCE) return 0;
  const Shape *shape = root->operands[0]->shape;
  if (2 * shape_bytes(shape) < MIN_BYTES) return 0;
  int first = shape->rank;
  for (int i = 0; i < root->a->dimensions.count; i++) {
    if (root->a->dimensions.items[i] < first) first = (int)root->a->dimensions.items[i];
  }
  for (int i = 0; i < first; i++) rows *= shape->dims[i];
  return rows;
}

/* The group around the reduction or from the kernel at `at` on, not before `begin`; how many steps, from *first on. */
static int group_around(Group *group, const ThunkSequence *sequence, int begin, int at,
                        int *first) {
  int end = at + 1;
  *first = at;
  group->rows = rows_of(&sequence->thunks[at]);
  if (group->rows < MIN_BLOCKS || !add_step(group, &sequence->thunks[at])) return 0;
  while (end < sequence->count && end - at < MAX_STEPS && add_step(group, &sequence->thunks[end])) {
    end++;
  }
  bool is_kernel = sequence->thunks[at].kind == THUNK_KERNEL;
  while (!is_kernel && *first > begin && end - *first < MAX_STEPS &&
         add_step(group, &sequence->thunks[*first - 1])) {
    --*first;
  }
  return end - *first;
}

static Thunk make_group(Arena *arena, const Group *group, const Thunk *first, int count) {
  ThunkSequence *steps = ARENA_NEW(arena, ThunkSequence);
  *steps = (ThunkSequence){count, count, arena_copy(arena, first, sizeof *first * (size_t)count)};
  int64_t bytes = group->bytes / MIN_BLOCKS;
  if (bytes > BLOCK_BYTES) bytes = BLOCK_BYTES;
  int64_t block = bytes * group->rows / group->bytes;
  Thunk thunk = {.kind = THUNK_ROWS, .instruction = first[count - 1].instruction};
  thunk.steps = steps;
  thunk.holds = thunk_names(arena, steps);
  thunk.rows = group->rows;
  thunk.block = block < 1 ? 1 : block;
  return thunk;
}

/* What is read as a whole stays until the group's end, and what is small has a place of its own in it:
** other steps' rows could not go where some of that is. Large arrays take each other's memory as ever. */
static void keep_apart(const Group *group, int first, int last) {
  for (int i = 0; i < group->count; i++) {
    const Access *access = &group->items[i];
    LogicalBuffer *buffer = access->buffer;
    if (access->by_rows && SMALL_PART * buffer->bytes > group->bytes) continue;
    if (buffer->first > first) buffer->first = first;
    if (buffer->last < last) buffer->last = last;
  }
}

/* Makes groups of a sequence, or before buffers have places only sees to it that they can be made. */
static void group_sequence(Program *program, ThunkSequence *sequence, bool placed) {
  int kept = 0, begin = 0; /* thunks before it are settled */
  Arena *scratch = arena_new();
  for (int i = 0; i < sequence->count; i++) {
    Thunk *thunks = sequence->thunks;
    if (thunks[i].kind == THUNK_WHILE) group_sequence(program, thunks[i].body, placed);
    for (int b = 0; thunks[i].kind == THUNK_CONDITIONAL && b < thunks[i].branch_count; b++) {
      group_sequence(program, &thunks[i].branches[b], placed);
    }
    if (i < begin) continue;
    ArenaMark mark = arena_mark(scratch);
    Group group = {.program = program, .arena = scratch, .placed = placed};
    int first, count = group_around(&group, sequence, begin, i, &first);
    if (count > 1 && group.bytes >= MIN_BYTES) {
      if (placed) {
        Thunk made = make_group(program->arena, &group, &thunks[first], count);
        while (begin < first) thunks[kept++] = thunks[begin++];
        thunks[kept++] = made;
      } else {
        keep_apart(&group, thunks[first].time, thunks[first + count - 1].time);
      }
      begin = first + count;
    }
    arena_release(scratch, mark);
  }
  while (placed && begin < sequence->count) sequence->thunks[kept++] = sequence->thunks[begin++];
  if (placed) sequence->count = kept;
  arena_free(scratch);
}

void plan_row_groups(Program *program) { group_sequence(program, &program->entry, false); }

void compile_row_groups(Program *program) { group_sequence(program, &program->entry, true); }
