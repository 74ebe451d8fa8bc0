/*
** The buffer plan: where in the arena each temporary lives.
**
** Two logical buffers may share memory if their times [first, last] are disjoint. Offsets are given
** greedily, largest buffer first, each at the lowest place where nothing that lives at the same
** time is in the way ("greedy by size" of Pisarchyk and Lee, arXiv:2001.03288, which comes within
** a few per cent of the optimum on real graphs).
*/
#include <stdlib.h>

#include "base/scope.h"
#include "compile/program.h"

enum { ALIGNMENT = 64 };

static int64_t padded(int64_t bytes) { return (bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT; }

static int by_size(const void *a, const void *b) {
  const LogicalBuffer *x = *(LogicalBuffer *const *)a, *y = *(LogicalBuffer *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first < y->first ? -1 : x->first > y->first; /* so that the plan is deterministic */
}

static bool live_together(const LogicalBuffer *a, const LogicalBuffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* `placed` is sorted by offset. Returns where the new one goes in that order. */
static int place(LogicalBuffer *buffer, LogicalBuffer *const *placed, int count) {
  int64_t offset = 0;
  for (int i = 0; i < count; i++) {
    if (!live_together(buffer, placed[i])) continue;
    if (placed[i]->offset >= offset + padded(buffer->bytes)) break;
    int64_t end = placed[i]->offset + padded(placed[i]->bytes);
    if (end > offset) offset = end;
  }
  buffer->slot = SLOT_ARENA;
  buffer->offset = offset;
  int index = count;
  while (index > 0 && placed[index - 1]->offset > offset) index--;
  return index;
}

void buffer_plan(LogicalBuffer **buffers, int count, int64_t *arena_bytes) {
  size_t most = (size_t)count + 1;
  LogicalBuffer **order = scope_new(most, sizeof *order),
                **placed = scope_new(most, sizeof *placed);
  int n = 0, done = 0;
  for (int i = 0; i < count; i++) {
    if (buffers[i]->slot == SLOT_ARENA && !buffers[i]->same) order[n++] = buffers[i];
  }
  qsort(order, (size_t)n, sizeof *order, by_size);
  int64_t total = 0;
  for (int i = 0; i < n; i++) {
    int index = place(order[i], placed, done);
    for (int j = done++; j > index; j--) placed[j] = placed[j - 1];
    placed[index] = order[i];
    int64_t end = order[i]->offset + padded(order[i]->bytes);
    if (end > total) total = end;
  }
  *arena_bytes = total;
  for (int i = 0; i < count; i++) {
    const LogicalBuffer *owner = buffers[i];
    while (owner->same) owner = owner->same;
    buffers[i]->slot = owner->slot;
    buffers[i]->offset = owner->offset;
  }
  scope_free(order);
  scope_free(placed);
}
