/*
** Checks that a program's memory holds the values that are read: by steps, and by the runtime between
** steps (predicates, branch indices, results). The check walks through the steps with a list of the values
** that are in memory. It also checks live ranges, since a region keeps a value in a local and stores it
** only if its live range ends after the region. Only in test builds (XLA_CHECKS): a fault aborts.
*/
#ifdef XLA_CHECKS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "compile/stages.h"

/* Threshold MAX_BUFFERS: a check of test builds skips larger programs, which take too long. No path. */
enum { MAX_BUFFERS = 2048 };

typedef struct Checker {
  const Program *program;
  LogicalBuffer *const *buffers;
  int count;
  RunKind kind;
  bool *holds; /* by buffer */
} Checker;

static void fail(const Thunk *thunk, const char *what, const LogicalBuffer *buffer) {
  fprintf(stderr, "plan check: %s %s: %s the buffer of slot %d at %lld (%lld bytes)\n",
          thunk ? thunk_kind_name(thunk->kind) : "the program",
          thunk ? thunk->instruction->name : "", what, buffer->slot, (long long)buffer->offset,
          (long long)buffer->bytes);
  abort();
}

static bool overlap(const Checker *c, const LogicalBuffer *a, const LogicalBuffer *b) {
  Spot x = buffer_spot(c->program, a, c->kind), y = buffer_spot(c->program, b, c->kind);
  return x.slot == y.slot && x.offset < y.offset + b->bytes && y.offset < x.offset + a->bytes;
}

static bool at_one_place(const Checker *c, const LogicalBuffer *a, const LogicalBuffer *b) {
  Spot x = buffer_spot(c->program, a, c->kind), y = buffer_spot(c->program, b, c->kind);
  return x.slot == y.slot && x.offset == y.offset && a->bytes == b->bytes;
}

/* Returns the time of the last step of a sequence. */
static int end_of(const ThunkSequence *sequence) {
  return sequence->count ? sequence->thunks[sequence->count - 1].end : 0;
}

static void read_buffer(const Checker *c, const Thunk *thunk, LogicalBuffer *buffer, int time) {
  if (buffer->slot == SLOT_NONE || buffer->bytes == 0 || buffer->unwritten) return;
  if (!c->holds[buffer->number]) fail(thunk, "something else is in", buffer);
  bool is_temporary = buffer->definer || buffer->loop; /* the others are always live */
  if (is_temporary && buffer_owner(buffer)->last < time) fail(thunk, "too short-lived is", buffer);
}

static void write_buffer(Checker *c, const LogicalBuffer *buffer) {
  if (buffer->slot == SLOT_NONE || buffer->unwritten) return;
  for (int i = 0; i < c->count; i++) c->holds[i] &= !overlap(c, c->buffers[i], buffer);
  c->holds[buffer->number] = true;
}

static void check_step(Checker *c, const Thunk *thunk) {
  int time = thunk->time;
  for (int i = 0; i < thunk->operand_count; i++) read_buffer(c, thunk, thunk->operands[i], time);
  for (int r = 0; r < thunk->result_count; r++) {
    const LogicalBuffer *result = thunk->results[r];
    for (int i = 0; i < thunk->operand_count && result->slot != SLOT_NONE; i++) {
      if (!overlap(c, result, thunk->operands[i])) continue;
      bool may = at_one_place(c, result, thunk->operands[i]) && thunk_may_overwrite(thunk, i, r);
      if (!may) fail(thunk, "it must not write over", thunk->operands[i]);
    }
  }
  if (thunk->kind == THUNK_KERNEL && thunk->scratch) {
    write_buffer(c, thunk->scratch);
    for (int i = 0; i < thunk->operand_count; i++) read_buffer(c, thunk, thunk->operands[i], time);
  }
  for (int r = 0; r < thunk->result_count; r++) write_buffer(c, thunk->results[r]);
  for (int r = 0; r < thunk->result_count; r++) read_buffer(c, thunk, thunk->results[r], time);
}

static void check_copy(Checker *c, const Thunk *thunk) {
  LogicalBuffer *from = thunk->operands[0], *to = thunk->results[0];
  read_buffer(c, thunk, from, thunk->time);
  if (!at_one_place(c, from, to)) write_buffer(c, to);
  c->holds[to->number] = true;
}

static void check_sequence(Checker *c, const ThunkSequence *sequence);

static void check_while(Checker *c, const Thunk *thunk) {
  for (int turn = 0; turn < 2; turn++) {
    check_sequence(c, thunk->condition);
    read_buffer(c, thunk, thunk->predicate, end_of(thunk->condition) + 1);
    check_sequence(c, thunk->body);
    for (int i = 0; i < thunk->state_count; i++) {
      if (thunk->next[i] == thunk->state[i]) continue;
      if (at_one_place(c, thunk->next[i], thunk->state[i])) {
        read_buffer(c, thunk, thunk->next[i], end_of(thunk->body));
        c->holds[thunk->state[i]->number] = true;
      }
    }
    for (int i = 0; i < thunk->state_count; i++) read_buffer(c, thunk, thunk->state[i], thunk->end);
  }
}

static void check_conditional(Checker *c, const Thunk *thunk) {
  bool *before = c->holds, *after = scope_new((size_t)c->count + 1, 1);
  read_buffer(c, thunk, thunk->operands[0], thunk->begin);
  memset(after, true, (size_t)c->count);
  c->holds = scope_new((size_t)c->count + 1, 1);
  for (int b = 0; b < thunk->branch_count; b++) {
    memcpy(c->holds, before, (size_t)c->count);
    check_sequence(c, &thunk->branches[b]);
    for (int i = 0; i < c->count; i++) after[i] &= c->holds[i];
  }
  memcpy(before, after, (size_t)c->count);
  scope_free(after);
  scope_free(c->holds);
  c->holds = before;
}

static void check_sequence(Checker *c, const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    switch (thunk->kind) {
    case THUNK_COPY: check_copy(c, thunk); break;
    case THUNK_WHILE: check_while(c, thunk); break;
    case THUNK_CONDITIONAL: check_conditional(c, thunk); break;
    default: check_step(c, thunk);
    }
  }
}

void plan_check(const Program *program, LogicalBuffer *const *buffers, int count,
                LogicalBuffer *const *results) {
  if (count > MAX_BUFFERS) return;
  int last = first_constant_slot(program);
  Checker c = {program, buffers, count, .holds = scope_new((size_t)count + 1, 1)};
  for (int kind = 0; kind < RUN_KINDS; kind++) {
    c.kind = (RunKind)kind;
    for (int i = 0; i < count; i++) {
      int slot = buffers[i]->slot;
      bool is_constant = slot >= last && slot < last + program->constant_count;
      buffers[i]->number = i;
      c.holds[i] = is_constant || (slot > SLOT_ARENA && slot < last - program->result_leaves);
    }
    check_sequence(&c, &program->entry);
    int end = end_of(&program->entry) + 1;
    for (int i = 0; i < program->result_leaves; i++) read_buffer(&c, NULL, results[i], end);
  }
  scope_free(c.holds);
}

#endif
