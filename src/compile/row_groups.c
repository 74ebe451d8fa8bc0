/*
** Groups loops over the same rows, and runs each group block by block of rows instead of step by step. A
** softmax, for example, is a maximum, a difference with its exponential, a sum and a quotient of each row.
** Step by step over all rows, large arrays leave the cache between two steps; block by block they stay.
**
** A step may join a group if it computes its results in the order of rows. If it and another step share
** memory that one of them writes, both must access it row by row. Then a later step's first rows may come
** before an earlier step's last ones.
**
** A reduction over the rows, as in a batch norm or a softmax of columns, needs all rows before any step reads
** its result. It stays outside groups.
*/
#include "compile/regions.h"

enum {
  /* Threshold MIN_BYTES, BLOCK_BYTES, MIN_BLOCKS. Test: "groups of rows: softmaxes around 512 kB
  ** and 16 blocks" in core/thresholds.test.mjs. */
  MIN_BYTES = 512 << 10,   /* of the arrays of each step: smaller ones stay in the cache anyway */
  BLOCK_BYTES = 128 << 10, /* of these: two or three steps access most arrays */
  MIN_BLOCKS = 16,         /* work for as many threads */
  /* Threshold MAX_STEPS. Test: "steps over the same rows" in core/thresholds_programs.test.mjs. */
  MAX_STEPS = 32,
  /* Threshold SMALL_PART: arrays smaller than a 16th of the group's bytes are small. Test:
  ** "groups of rows: softmaxes around 512 kB and 16 blocks" in core/thresholds.test.mjs. */
  SMALL_PART = 16,
};

typedef struct Access {
  LogicalBuffer *buffer;
  Spot spots[RUN_KINDS];
  bool writes, by_rows;
} Access;

typedef struct Group {
  Program *program;
  bool placed;     /* buffers have their places; before, different buffers share no memory */
  bool row_by_row; /* groups of any size, too, one row at a time: CompileOptions.small_chunks */
  Arena *arena;    /* scratch */
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

/* Whether two accesses allow both steps in one group, in all kinds of runs. */
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

/* Adds an access if it agrees with the group's first `count` ones. */
static bool add_access(Group *group, int count, Access access) {
  for (int i = 0; i < count; i++) {
    if (!agree(group, &group->items[i], &access)) return false;
  }
  ARENA_PUSH(group->arena, group->items, group->count, group->capacity, access);
  if (access.by_rows) group->bytes += access.buffer->bytes;
  return true;
}

/* Adds a step to the group. False, changing nothing, if it does not fit. */
static bool add_step(Group *group, const Thunk *thunk) {
  bool *by_rows = ARENA_ARRAY(group->arena, bool, thunk->operand_count);
  if (thunk->kind != THUNK_GENERATED || !codegen_rows(thunk->instruction, group->rows, by_rows)) {
    return false;
  }
  Group before = *group;
  bool fits = true;
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

/* Returns the number of rows of a reduction's operand: the product of the dimensions before the first reduced
** one. 0: the thunk is no reduction. */
static int64_t rows_of(const Thunk *thunk) {
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

/* Forms the group around the reduction at `at`, not before `begin`. Returns its number of steps, from *first on. */
static int group_around(Group *group, const ThunkSequence *sequence, int begin, int at,
                        int *first) {
  int end = at + 1;
  *first = at;
  group->rows = rows_of(&sequence->thunks[at]);
  if (group->rows < MIN_BLOCKS || !add_step(group, &sequence->thunks[at])) return 0;
  while (end < sequence->count && end - at < MAX_STEPS && add_step(group, &sequence->thunks[end])) {
    end++;
  }
  while (*first > begin && end - *first < MAX_STEPS &&
         add_step(group, &sequence->thunks[*first - 1])) {
    --*first;
  }
  return end - *first;
}

/* Finds the first group around a thunk from `begin` on. Returns its number of steps, from *first on; 0: there is none.
** The thunks before `begin` are in no group that is still to be found. */
static int find_group(Group *group, const ThunkSequence *sequence, int begin, int *first) {
  for (int at = begin; at < sequence->count; at++) {
    group->count = 0;
    group->bytes = 0;
    int count = group_around(group, sequence, begin, at, first);
    if (count > 1 && group->bytes >= (group->row_by_row ? 1 : MIN_BYTES)) return count;
  }
  return 0;
}

/* Extends live ranges to the whole group, from time `first` to `last`: of arrays read as a whole, and of small ones,
** whose memory could not hold other steps' rows. Large arrays share memory as usual. */
static void keep_apart(const Group *group, int first, int last) {
  for (int i = 0; i < group->count; i++) {
    const Access *access = &group->items[i];
    LogicalBuffer *buffer = access->buffer;
    if (access->by_rows && SMALL_PART * buffer->bytes > group->bytes) continue;
    if (buffer->first > first) buffer->first = first;
    if (buffer->last < last) buffer->last = last;
  }
}

static Thunk make_group(const Group *group, const Thunk *first, int count) {
  Arena *arena = group->program->arena;
  ThunkSequence *steps = ARENA_NEW(arena, ThunkSequence);
  *steps = (ThunkSequence){count, count, arena_copy(arena, first, sizeof *first * (size_t)count)};
  int64_t bytes = group->bytes / MIN_BLOCKS;
  if (bytes > BLOCK_BYTES) bytes = BLOCK_BYTES;
  int64_t block = bytes * group->rows / group->bytes;
  Thunk thunk = {.kind = THUNK_ROWS, .instruction = first[count - 1].instruction};
  thunk.steps = steps;
  thunk.holds = thunk_names(arena, steps);
  thunk.rows = group->rows;
  thunk.block = block < 1 || group->row_by_row ? 1 : block;
  return thunk;
}

/* Prepares the places of buffers for the groups of a sequence. */
static void keep_groups_apart(Group *group, const ThunkSequence *sequence) {
  const Thunk *thunks = sequence->thunks;
  int begin = 0, first, count;
  while ((count = find_group(group, sequence, begin, &first)) > 0) {
    begin = first + count;
    keep_apart(group, thunks[first].time, thunks[begin - 1].time);
  }
}

/* Replaces the steps of each group of a sequence by one thunk. */
static void make_groups(Group *group, ThunkSequence *sequence) {
  Thunk *thunks = sequence->thunks;
  int kept = 0, begin = 0, first, count;
  while ((count = find_group(group, sequence, begin, &first)) > 0) {
    Thunk made = make_group(group, &thunks[first], count);
    while (begin < first) thunks[kept++] = thunks[begin++];
    thunks[kept++] = made;
    begin = first + count;
  }
  while (begin < sequence->count) thunks[kept++] = thunks[begin++];
  sequence->count = kept;
}

/* Groups the thunks of a sequence, after those of its loops and branches. */
static void group_sequences(Group *group, ThunkSequence *sequence) {
  ThunkSequence *inner;
  for (int i = 0; i < sequence->count; i++) {
    for (int k = 0; (inner = thunk_sequence(&sequence->thunks[i], k)); k++) {
      group_sequences(group, inner);
    }
  }
  if (group->placed) {
    make_groups(group, sequence);
  } else {
    keep_groups_apart(group, sequence);
  }
}

void group_rows(Program *program, bool placed, bool row_by_row) {
  Group group = {
      .program = program, .arena = arena_new(), .placed = placed, .row_by_row = row_by_row};
  group_sequences(&group, &program->entry);
  arena_free(group.arena);
}
