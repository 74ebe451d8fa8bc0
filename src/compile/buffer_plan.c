/*
** The buffer plan: where in the arena each temporary lives.
**
** Two logical buffers may share memory if their times [first, last] are disjoint. Offsets are given
** greedily, largest buffer first, each at the lowest place where nothing that lives at the same
** time is in the way ("greedy by size" of Pisarchyk and Lee, arXiv:2001.03288, which comes within
** a few per cent of the optimum on real graphs).
*/
#include <stdlib.h>
#include <string.h>

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

/* ---- Very many: first come, first served ---- */

enum { MOST_BY_SIZE = 4096, MOST_LOOKED_AT = 256 };

typedef struct Gap {
  int64_t offset, bytes;
} Gap;

typedef struct Gaps { /* free memory below `end`, by offset; no two of them touch */
  int count;
  Gap *items;
  int64_t end;
} Gaps;

static int by_first(const void *a, const void *b) {
  const LogicalBuffer *x = *(LogicalBuffer *const *)a, *y = *(LogicalBuffer *const *)b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return by_size(a, b);
}

static int by_last(const void *a, const void *b) {
  const LogicalBuffer *x = *(LogicalBuffer *const *)a, *y = *(LogicalBuffer *const *)b;
  return x->last < y->last ? -1 : x->last > y->last;
}

static void take_gap(Gaps *gaps, LogicalBuffer *buffer) {
  int64_t bytes = padded(buffer->bytes);
  int most = gaps->count < MOST_LOOKED_AT ? gaps->count : MOST_LOOKED_AT;
  buffer->slot = SLOT_ARENA;
  for (int i = 0; i < most; i++) {
    Gap *gap = &gaps->items[i];
    if (gap->bytes < bytes) continue;
    buffer->offset = gap->offset;
    gap->offset += bytes;
    gap->bytes -= bytes;
    return;
  }
  buffer->offset = gaps->end;
  gaps->end += bytes;
}

/* What a buffer had becomes a gap, or part of its neighbours; empty ones go. */
static void give_gap(Gaps *gaps, const LogicalBuffer *buffer) {
  int low = 0, high = gaps->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (gaps->items[middle].offset < buffer->offset)
      low = middle + 1;
    else
      high = middle;
  }
  Gap gap = {buffer->offset, padded(buffer->bytes)};
  int from = low, to = low;
  if (from > 0 && gaps->items[from - 1].offset + gaps->items[from - 1].bytes == gap.offset) {
    gap.offset = gaps->items[--from].offset;
    gap.bytes += gaps->items[from].bytes;
  }
  while (to < gaps->count && gaps->items[to].offset == gap.offset + gap.bytes) {
    gap.bytes += gaps->items[to++].bytes;
  }
  memmove(&gaps->items[from + 1], &gaps->items[to], sizeof gap * (size_t)(gaps->count - to));
  gaps->count += 1 - (to - from);
  gaps->items[from] = gap;
}

/* In the order of time, each at the first gap that it fits into: not as tight, but every buffer looks
** at a few gaps only. */
static int64_t plan_by_time(LogicalBuffer **order, int n) {
  LogicalBuffer **ending = scope_new((size_t)n + 1, sizeof *ending);
  Gaps gaps = {.items = scope_new((size_t)n + 2, sizeof *gaps.items)};
  memcpy(ending, order, sizeof(LogicalBuffer *) * (size_t)n);
  qsort(order, (size_t)n, sizeof *order, by_first);
  qsort(ending, (size_t)n, sizeof *ending, by_last);
  int ended = 0;
  for (int i = 0; i < n; i++) {
    while (ending[ended]->last < order[i]->first) give_gap(&gaps, ending[ended++]);
    take_gap(&gaps, order[i]);
  }
  scope_free(ending);
  scope_free(gaps.items);
  return gaps.end;
}

static int64_t plan_by_size(LogicalBuffer **order, int n) {
  LogicalBuffer **placed = scope_new((size_t)n + 1, sizeof *placed);
  int64_t total = 0;
  qsort(order, (size_t)n, sizeof *order, by_size);
  for (int i = 0; i < n; i++) {
    int index = place(order[i], placed, i);
    for (int j = i; j > index; j--) placed[j] = placed[j - 1];
    placed[index] = order[i];
    int64_t end = order[i]->offset + padded(order[i]->bytes);
    if (end > total) total = end;
  }
  scope_free(placed);
  return total;
}

void buffer_plan(LogicalBuffer **buffers, int count, int64_t *arena_bytes) {
  LogicalBuffer **order = scope_new((size_t)count + 1, sizeof *order);
  int n = 0;
  for (int i = 0; i < count; i++) {
    if (buffers[i]->slot == SLOT_ARENA && !buffers[i]->same) order[n++] = buffers[i];
  }
  *arena_bytes = n > MOST_BY_SIZE ? plan_by_time(order, n) : plan_by_size(order, n);
  for (int i = 0; i < count; i++) {
    const LogicalBuffer *owner = buffers[i];
    while (owner->same) owner = owner->same;
    buffers[i]->slot = owner->slot;
    buffers[i]->offset = owner->offset;
  }
  scope_free(order);
}
