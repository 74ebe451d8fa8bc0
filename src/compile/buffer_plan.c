/*
** The buffer plan: where in the arena each temporary lives.
**
** Two logical buffers may share memory if their times [first, last] are disjoint. Offsets are given
** greedily, largest buffer first, each at the lowest place where nothing that lives at the same
** time is in the way ("greedy by size" of Pisarchyk and Lee, arXiv:2001.03288, which comes within
** a few per cent of the optimum on real graphs).
**
** A result's memory is there from the beginning: until the result is made temporaries may lie in it. It
** may be an argument's that was given away; then they may as soon as nobody reads that any more, and so
** have what arguments leave. All this only if the arena gets smaller: what was used before is in the cache.
*/
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "compile/program.h"

enum {
  ALIGNMENT = 64,
  MOST_HOSTS = 16,
  LEAST_HOSTED = 4096, /* bytes: smaller ones are not worth looking for a result */
  LEAST_GAIN = 16,     /* a sixteenth of the arena */
};

static int64_t padded(int64_t bytes) { return (bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT; }

static int by_size(const void *a, const void *b) {
  const LogicalBuffer *x = *(LogicalBuffer *const *)a, *y = *(LogicalBuffer *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first < y->first ? -1 : x->first > y->first; /* so that the plan is deterministic */
}

static bool live_together(const LogicalBuffer *a, const LogicalBuffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Memory that buffers share: the arena, or a result's, for some time. */
typedef struct Host {
  int slot, first, last;
  int64_t bytes; /* that may be given out */
  int64_t end;   /* of what is */
  int count;
  LogicalBuffer **placed; /* by offset */
} Host;

/* At the lowest place where nothing is in the way; false if the host is too small for that. */
static bool place(Host *host, LogicalBuffer *buffer) {
  int64_t offset = 0, bytes = padded(buffer->bytes);
  int index = host->count;
  for (int i = 0; i < host->count; i++) {
    const LogicalBuffer *other = host->placed[i];
    if (!live_together(buffer, other)) continue;
    if (other->offset >= offset + bytes) break;
    int64_t end = other->offset + padded(other->bytes);
    if (end > offset) offset = end;
  }
  if (offset + bytes > host->bytes) return false;
  buffer->slot = host->slot;
  buffer->offset = offset;
  if (offset + bytes > host->end) host->end = offset + bytes;
  for (; index > 0 && host->placed[index - 1]->offset > offset; index--) {
    host->placed[index] = host->placed[index - 1];
  }
  host->placed[index] = buffer;
  host->count++;
  return true;
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

/* What a buffer had becomes a gap, or part of its neighbours; empty ones beside it go. */
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
  while (from > 0 && !gaps->items[from - 1].bytes) from--;
  if (from > 0 && gaps->items[from - 1].offset + gaps->items[from - 1].bytes == gap.offset) {
    gap.offset = gaps->items[--from].offset;
    gap.bytes += gaps->items[from].bytes;
  }
  for (; to < gaps->count; to++) {
    const Gap *next = &gaps->items[to];
    if (next->bytes && next->offset != gap.offset + gap.bytes) break;
    gap.bytes += next->bytes;
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

/* The arena is the last host. */
static int64_t plan_by_size(Host *hosts, int host_count, LogicalBuffer **order, int n) {
  for (int h = 0; h < host_count; h++) {
    hosts[h].count = 0;
    hosts[h].end = 0;
  }
  for (int i = 0; i < n; i++) {
    for (int h = order[i]->bytes < LEAST_HOSTED ? host_count - 1 : 0; h < host_count; h++) {
      bool is_there = hosts[h].first <= order[i]->first && order[i]->last <= hosts[h].last;
      if (is_there && place(&hosts[h], order[i])) break;
    }
  }
  return hosts[host_count - 1].end;
}

/* The program's results, as far as they are free for a while. */
static int find_hosts(const Program *program, LogicalBuffer *const *buffers, int count,
                      Host *hosts) {
  int first = SLOT_FIRST_PARAMETER + program->parameter_leaves, n = 0;
  int *last_read = scope_new((size_t)first, sizeof *last_read); /* by slot */
  for (int i = 0; i < count; i++) {
    if (buffers[i]->slot > SLOT_ARENA && buffers[i]->slot < first) {
      last_read[buffers[i]->slot] = buffers[i]->last + 1;
    }
  }
  for (int i = 0; i < count && n < MOST_HOSTS; i++) {
    const LogicalBuffer *buffer = buffers[i];
    int result = buffer->slot - first;
    if (buffer->same || result < 0 || result >= program->result_leaves) continue;
    int donor = program->donors[result];
    Host host = {.slot = buffer->slot,
                 .first = donor < 0 ? 0 : last_read[SLOT_FIRST_PARAMETER + donor],
                 .last = buffer->first - 1,
                 .bytes = padded(buffer->bytes)};
    if (host.bytes >= LEAST_HOSTED && host.first < host.last) hosts[n++] = host;
  }
  scope_free(last_read);
  return n;
}

static int64_t plan_in_hosts(const Program *program, LogicalBuffer *const *buffers, int count,
                             LogicalBuffer **order, int n) {
  Host hosts[MOST_HOSTS + 1];
  int results = find_hosts(program, buffers, count, hosts);
  LogicalBuffer **placed = scope_new((size_t)(results + 1) * (size_t)n + 1, sizeof *placed);
  hosts[results] = (Host){.slot = SLOT_ARENA, .last = INT_MAX, .bytes = INT64_MAX};
  for (int h = 0; h <= results; h++) hosts[h].placed = placed + (size_t)h * (size_t)n;
  qsort(order, (size_t)n, sizeof *order, by_size);
  int64_t alone = plan_by_size(&hosts[results], 1, order, n), bytes = alone;
  if (results) bytes = plan_by_size(hosts, results + 1, order, n);
  if (bytes > alone - alone / LEAST_GAIN) bytes = plan_by_size(&hosts[results], 1, order, n);
  scope_free(placed);
  return bytes;
}

void buffer_plan(Program *program, LogicalBuffer **buffers, int count) {
  LogicalBuffer **order = scope_new((size_t)count + 1, sizeof *order);
  int n = 0;
  for (int i = 0; i < count; i++) {
    if (buffers[i]->slot == SLOT_ARENA && !buffers[i]->same) order[n++] = buffers[i];
  }
  program->arena_bytes =
      n > MOST_BY_SIZE ? plan_by_time(order, n) : plan_in_hosts(program, buffers, count, order, n);
  for (int i = 0; i < count; i++) {
    const LogicalBuffer *owner = buffers[i];
    while (owner->same) owner = owner->same;
    buffers[i]->slot = owner->slot;
    buffers[i]->offset = owner->offset;
  }
  scope_free(order);
}
