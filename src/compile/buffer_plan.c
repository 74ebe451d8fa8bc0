/*
** The buffer plan: assigns each temporary a place in the arena.
**
** Two logical buffers may share memory if their live ranges [first, last] are disjoint. Offsets are
** assigned greedily, largest buffer first, each at the lowest offset without a conflict ("greedy by size"
** of Pisarchyk and Lee, arXiv:2001.03288, which comes within a few per cent of the optimum on real graphs).
**
** Results are allocated before the run. A temporary may use a result's buffer until the instruction that
** writes the result. If the result takes a donated argument's memory, the temporary must also come after
** the argument's last read. Other free memory depends on the run. Without the donation the result's memory
** is free earlier; a donated argument that becomes no result lends its memory. A temporary for such a place
** is a loan: it has a slot of its own, and each run finds its memory there or in the arena.
**
** Results and arguments are used only if the arena shrinks: arena memory used before is in the cache.
*/
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "compile/stages.h"

enum {
  ALIGNMENT = 64,
  /* Threshold MAX_HOSTS. Test: "results and temporaries: how many" in core/thresholds_programs.test.mjs. */
  MAX_HOSTS = 16,
  /* Threshold MIN_HOSTED, MIN_GAIN. Test: "temporaries beside results: how large" in
  ** core/thresholds_programs.test.mjs. */
  MIN_HOSTED = 4096, /* bytes: smaller temporaries are not worth a search for a result */
  MIN_GAIN = 16,     /* a sixteenth of the arena */
  /* Threshold MAX_ARGUMENTS, MAX_LOANS. Test: "results and temporaries: how many" in
  ** core/thresholds_programs.test.mjs. */
  MAX_ARGUMENTS = 4, /* that lend: those with the earliest last read */
  MAX_LOANS = 512,
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

/* Memory that buffers may share: the arena, a result's or an argument's. */
typedef struct Host {
  int slot, first, last;
  int free_from; /* in all runs; before this time it is free only in runs that lend it */
  const LogicalBuffer *until; /* the same-sized buffer that may stay one step longer than `last` */
  int64_t bytes;              /* its size */
  int64_t end;                /* the end of the assigned part */
  int count;
  LogicalBuffer **placed; /* by offset */
} Host;

/* Places a buffer at the lowest free offset; false if the host is too small. */
static bool place_buffer(Host *host, LogicalBuffer *buffer) {
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

/* ---- Plans for very many buffers: first fit in order of time ---- */

/* Threshold MAX_BY_SIZE, MAX_LOOKED_AT. Test: "very many temporaries, with gaps between them" in
** core/thresholds_programs.test.mjs. */
enum { MAX_BY_SIZE = 2048, MAX_LOOKED_AT = 256 };

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
  int max = gaps->count < MAX_LOOKED_AT ? gaps->count : MAX_LOOKED_AT;
  buffer->slot = SLOT_ARENA;
  for (int i = 0; i < max; i++) {
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

/* Turns a buffer's memory into a gap, or extends adjacent gaps by it; removes empty ones beside it. */
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

/* Plans in order of time, each buffer in the first gap that it fits into. This is less tight, but each
** buffer looks at few gaps only. */
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

/* Plans the largest buffers first. The arena is the last host. */
static int64_t plan_by_size(Host *hosts, int host_count, LogicalBuffer **order, int n) {
  for (int h = 0; h < host_count; h++) hosts[h].count = 0;
  hosts[host_count - 1].end = 0;
  for (int i = 0; i < n; i++) {
    LogicalBuffer *buffer = order[i];
    for (int h = buffer->bytes < MIN_HOSTED ? host_count - 1 : 0; h < host_count; h++) {
      Host *host = &hosts[h];
      bool has_time =
          host->first <= buffer->first && buffer->last <= host->last + (buffer == host->until);
      if (has_time && place_buffer(host, buffer)) break;
    }
  }
  return hosts[host_count - 1].end;
}

/* Returns, by slot, the time of the last read of each parameter. */
static int *find_last_reads(const Program *program, LogicalBuffer *const *buffers, int count) {
  int end = first_result_slot(program);
  int *last = scope_new((size_t)end, sizeof *last);
  for (int i = 0; i < count; i++) {
    int slot = buffers[i]->slot;
    if (slot > SLOT_ARENA && slot < end) last[slot] = buffers[i]->last + 1;
  }
  return last;
}

/* Lists as hosts the program's results that are free for some time. */
static int find_results(const Program *program, LogicalBuffer *const *buffers, int count,
                        const int *free_from, Host *hosts) {
  int first = first_result_slot(program), n = 0;
  for (int i = 0; i < count && n < MAX_HOSTS; i++) {
    const LogicalBuffer *buffer = buffers[i];
    int result = buffer->slot - first;
    if (buffer->alias_of || result < 0 || result >= program->result_leaves) continue;
    int donor = program->donors[result];
    Host host = {.slot = buffer->slot,
                 .free_from = donor < 0 ? 0 : free_from[SLOT_FIRST_PARAMETER + donor],
                 .last = buffer->first - 1,
                 .until = buffer->overwrites_temporary,
                 .bytes = padded(buffer->bytes)};
    if (host.bytes >= MIN_HOSTED) hosts[n++] = host;
  }
  return n;
}

/* Lists as hosts the arguments that become no result, those with the earliest last read. */
static int find_arguments(const Program *program, LogicalBuffer *const *buffers, int count,
                          int *free_from, Host *hosts) {
  int n = 0, end = first_result_slot(program);
  for (int r = 0; r < program->result_leaves; r++) {
    if (program->donors[r] >= 0) free_from[SLOT_FIRST_PARAMETER + program->donors[r]] = INT_MAX;
  }
  for (int turn = 0; turn < MAX_ARGUMENTS; turn++) {
    const LogicalBuffer *best = NULL;
    for (int i = 0; i < count; i++) {
      int slot = buffers[i]->slot, from = best ? free_from[best->slot] : INT_MAX;
      if (slot == SLOT_ARENA || slot >= end || buffers[i]->bytes < MIN_HOSTED) continue;
      if (free_from[slot] < from) best = buffers[i];
    }
    if (!best) break;
    hosts[n++] = (Host){.slot = best->slot,
                        .first = free_from[best->slot],
                        .free_from = INT_MAX,
                        .last = INT_MAX,
                        .bytes = best->bytes & -(int64_t)ALIGNMENT};
    free_from[best->slot] = INT_MAX;
  }
  return n;
}

/* Gives each loan of these hosts a place in the arena too, for runs without a lender. False if there are
** too many. */
static bool make_loans(Program *program, const Host *hosts, int count, Host *arena,
                       LogicalBuffer **borrowers) {
  for (int h = 0; h < count; h++) {
    for (int i = 0; i < hosts[h].count; i++) {
      LogicalBuffer *buffer = hosts[h].placed[i];
      if (buffer->first >= hosts[h].free_from) continue;
      if (program->loan_count == MAX_LOANS) return false;
      Loan *loan = &program->loans[program->loan_count];
      borrowers[program->loan_count++] = buffer;
      *loan = (Loan){.lender = hosts[h].slot, .offset = buffer->offset};
      place_buffer(arena, buffer);
      loan->instead = buffer->offset;
      loan->end = buffer->offset + padded(buffer->bytes);
    }
  }
  return true;
}

/* Plans with temporaries in all hosts. True if that pays: runs without and with all arguments donated have
** smaller arenas together, and neither has a much larger one than `alone`. */
static bool plan_everywhere(Program *program, Host *hosts, int results, int arguments,
                            LogicalBuffer **order, int n, int64_t alone) {
  Host *arena = &hosts[results + arguments];
  LogicalBuffer *borrowers[MAX_LOANS];
  program->loans = ARENA_ARRAY(program->arena, Loan, MAX_LOANS);
  program->arena_bytes = plan_by_size(hosts, results + arguments + 1, order, n);
  /* First the loans that a run without donated arguments has in its arena. */
  bool all = make_loans(program, hosts + results, arguments, arena, borrowers) &&
             make_loans(program, hosts, results, arena, borrowers);
  ProgramMemory memory = program_memory(program);
  int64_t gain = alone / MIN_GAIN, none = memory.temporaries, given = memory.temporaries_given;
  if (!all || none > alone + gain || given > alone + gain || none + given > 2 * alone - gain) {
    program->loan_count = 0;
    return false;
  }
  program->first_loan = program->slot_count;
  program->slot_count += program->loan_count;
  for (int i = 0; i < program->loan_count; i++) {
    borrowers[i]->slot = program->first_loan + i;
    borrowers[i]->offset = 0;
  }
  return true;
}

static void plan_in_hosts(Program *program, LogicalBuffer *const *buffers, int count,
                          LogicalBuffer **order, int n) {
  Host hosts[MAX_HOSTS + MAX_ARGUMENTS + 1];
  int *free_from = find_last_reads(program, buffers, count);
  int results = find_results(program, buffers, count, free_from, hosts);
  int arguments = find_arguments(program, buffers, count, free_from, hosts + results);
  int all = results + arguments;
  LogicalBuffer **placed = scope_new((size_t)(all + 1) * (size_t)n + 1, sizeof *placed);
  hosts[all] = (Host){.slot = SLOT_ARENA, .last = INT_MAX, .bytes = INT64_MAX};
  for (int h = 0; h <= all; h++) hosts[h].placed = placed + (size_t)h * (size_t)n;
  qsort(order, (size_t)n, sizeof *order, by_size);
  int64_t alone = plan_by_size(&hosts[all], 1, order, n);
  if (!plan_everywhere(program, hosts, results, arguments, order, n, alone)) {
    program->arena_bytes = plan_by_size(&hosts[all], 1, order, n);
  }
  scope_free(placed);
  scope_free(free_from);
}

void buffer_plan(Program *program, LogicalBuffer **buffers, int count) {
  LogicalBuffer **order = scope_new((size_t)count + 1, sizeof *order);
  int n = 0;
  for (int i = 0; i < count; i++) {
    if (buffers[i]->slot == SLOT_ARENA && !buffers[i]->alias_of) order[n++] = buffers[i];
  }
  if (n > MAX_BY_SIZE) {
    program->arena_bytes = plan_by_time(order, n);
  } else {
    plan_in_hosts(program, buffers, count, order, n);
  }
  for (int i = 0; i < count; i++) {
    const LogicalBuffer *owner = buffers[i];
    while (owner->alias_of) owner = owner->alias_of;
    buffers[i]->slot = owner->slot;
    buffers[i]->offset = owner->offset;
  }
  scope_free(order);
}
