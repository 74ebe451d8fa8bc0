/*
** Sorts by any comparator, stably, with a merge sort. Many merges run at once, so that the comparator
** compares COMPARATOR_PAIRS pairs per call and can be a generated loop over vectors.
**
** Each merge is a lane. Its next two elements lie in the comparator's operands. After a call, every lane
** outputs the element that comes first and loads that element's successor. If there are fewer merges
** than lanes, merges are cut into parts of SEGMENT results. A binary search finds which elements of the
** left and right run each part takes, for all parts at once.
**
** A chunk makes BLOCK results: several short lines, or one block of a long line. Blocks are then merged
** level by level. A comparator that is not an ordering may put the cuts anywhere; they are kept in
** ascending order, so that every result is a permutation.
*/
#include <string.h>

#include "base/min_max.h"
#include "kernels/sort/sort.h"
#include "plan/comparator.h"

enum {
  PAIRS = COMPARATOR_PAIRS,
  /* Threshold SEGMENT, BLOCK. Test: "chunks: elements of loops, of the evaluator, bytes of moves"
  ** in core/thresholds_programs.test.mjs. */
  SEGMENT = 256,
  BLOCK = PAIRS * SEGMENT,
  /* Threshold MAX_PARTS: parts of a chunk: each of its lines may end with a short part. Test:
  ** "comparators and reducers of many instructions" in core/thresholds_programs.test.mjs. */
  MAX_PARTS = 2 * PAIRS,
};

/* The plan of a sort instruction. */
typedef struct Plan {
  KernelPlan kernel;
  SortLines lines;
  int64_t lines_per_chunk; /* 1 if a line has several blocks */
  int64_t blocks;          /* of a line */
  int64_t chunks;
  int operands;
  int block_levels, levels; /* level l merges runs of 2^l */
} Plan;

/* The results [position, end) of the merge of two runs, [from, middle) and [middle, to). All are offsets in the
** line. */
typedef struct Part {
  int64_t line, from, middle, to, position, end;
} Part;

/* A part in progress: the rest of its runs and of its results. */
typedef struct Lane {
  int64_t begin; /* of the line's elements */
  const uint64_t *left, *left_end, *right, *right_end;
  uint64_t *to, *to_end;
} Lane;

enum { RIGHT, LEFT }; /* the comparator returns whether the right element comes before the left */

/* An operand that the comparator reads, and its buffers. */
typedef struct Feed {
  const uint8_t *from;
  uint8_t *to[2]; /* [side]: PAIRS elements */
  int bytes;      /* of an element */
} Feed;

/* The merges of one chunk, on one level. */
typedef struct Merger {
  const Plan *plan;
  const KernelCall *call;
  uint8_t **buffers; /* the comparator's: [operand][side], then the answers */
  const Feed *feeds;
  int feed_count;
  uint64_t *order[2]; /* of all lines: the source and the target of this level */
  int64_t run;        /* length of a run */
  /* The parts to do: in these lines, the offsets from first_position to end_position. */
  int64_t line, end_line, position, first_position, end_position;
  int64_t limit;       /* end of a line's last merge */
  const int64_t *cuts; /* before each part; unused at the ends of merges */
  int next;            /* number of the next part */
  Lane lanes[PAIRS];
} Merger;

static int levels_of(int64_t size) {
  int levels = 0;
  while ((INT64_C(1) << levels) < size) levels++;
  return levels;
}

static Plan plan_of(const Instruction *instruction) {
  Plan p = {.lines = sort_lines(instruction), .operands = instruction->operand_count};
  p.blocks = divide_up(p.lines.size, BLOCK);
  p.lines_per_chunk = max_i64(BLOCK / p.lines.size, 1);
  p.chunks = divide_up(p.lines.count, p.lines_per_chunk) * p.blocks;
  p.levels = levels_of(p.lines.size);
  p.block_levels = levels_of(min_i64(p.lines.size, BLOCK));
  return p;
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* Loads one side of a lane's pair: the element at `position` of the line that begins at `begin`. */
static void load(const Merger *m, int lane, int side, int64_t begin, uint64_t position) {
  int64_t at = begin + (int64_t)position * m->plan->lines.stride;
  for (int i = 0; i < m->feed_count; i++) {
    const uint8_t *from = m->feeds[i].from;
    uint8_t *to = m->feeds[i].to[side];
    switch (m->feeds[i].bytes) {
    case 1: to[lane] = from[at]; break;
    case 2: memcpy(to + 2 * lane, from + 2 * at, 2); break;
    case 4: memcpy(to + 4 * lane, from + 4 * at, 4); break;
    case 8: memcpy(to + 8 * lane, from + 8 * at, 8); break;
    default: memcpy(to + 16 * lane, from + 16 * at, 16);
    }
  }
}

/* Returns, for each pair, whether the right element comes before the left one. */
static const uint8_t *compare(const Merger *m) {
  m->call->compute(m->call, m->buffers, 0, PAIRS);
  return m->buffers[2 * m->plan->operands];
}

/* --- Parts and cuts --------------------------------------------------------------------------- */

static bool next_part(Merger *m, Part *part) {
  if (m->line == m->end_line) return false;
  int64_t from = m->position / (2 * m->run) * 2 * m->run;
  *part = (Part){
      m->line,     from, min_i64(from + m->run, m->limit), min_i64(from + 2 * m->run, m->limit),
      m->position, 0};
  part->end = min_i64(min_i64(m->position + SEGMENT, part->to), m->end_position);
  m->position = part->end;
  if (m->position == m->end_position) {
    m->position = m->first_position;
    m->line++;
  }
  return true;
}

/* Finds the number of elements of the left run that come before each part, for at most PAIRS parts. */
static void search_cuts(const Merger *m, const Part *parts, int count, int64_t *cuts) {
  int64_t high[PAIRS];
  for (int i = 0; i < count; i++) {
    const Part *p = &parts[i];
    int64_t before = p->position - p->from;
    cuts[i] = max_i64(0, before - (p->to - p->middle));
    high[i] = min_i64(before, p->middle - p->from);
  }
  for (;;) {
    bool searches = false;
    for (int i = 0; i < count; i++) {
      const Part *p = &parts[i];
      if (cuts[i] == high[i]) continue;
      int64_t cut = (cuts[i] + high[i]) / 2, begin = line_begin(&m->plan->lines, p->line);
      const uint64_t *order = m->order[0] + p->line * m->plan->lines.size;
      load(m, i, LEFT, begin, order[p->from + cut]);
      load(m, i, RIGHT, begin, order[p->middle + (p->position - p->from - cut - 1)]);
      searches = true;
    }
    if (!searches) return;
    const uint8_t *right_first = compare(m);
    for (int i = 0; i < count; i++) {
      if (cuts[i] == high[i]) continue;
      int64_t cut = (cuts[i] + high[i]) / 2;
      if (right_first[i]) {
        high[i] = cut;
      } else {
        cuts[i] = cut + 1;
      }
    }
  }
}

/* Returns the cut, clamped so that cuts ascend: a part takes from either run only elements that the parts before it
** left, and leaves enough for the parts after it. last: the cut at `end`, the end of the last part. */
static int64_t settled(const Part *part, int64_t cut, const Part *before, int64_t cut_before,
                       int64_t end, int64_t last) {
  if (part->position == part->from) return 0;
  cut = max_i64(cut, part->position - end + last);
  cut = min_i64(cut, last);
  if (!before || before->line != part->line || before->from != part->from) return cut;
  return min_i64(max_i64(cut, cut_before), cut_before + part->position - before->position);
}

/* --- Merging ---------------------------------------------------------------------------------- */

static Lane lane_of(const Merger *m, const Part *p, int64_t cut, int64_t end_cut) {
  const SortLines *lines = &m->plan->lines;
  const uint64_t *from = m->order[0] + p->line * lines->size;
  uint64_t *to = m->order[1] + p->line * lines->size;
  return (Lane){line_begin(lines, p->line),
                from + p->from + cut,
                from + p->from + end_cut,
                from + p->middle + (p->position - p->from - cut),
                from + p->middle + (p->end - p->from - end_cut),
                to + p->position,
                to + p->end};
}

static void load_left(const Merger *m, int lane, const Lane *cursor) {
  if (cursor->left < cursor->left_end) load(m, lane, LEFT, cursor->begin, *cursor->left);
}

static void load_right(const Merger *m, int lane, const Lane *cursor) {
  if (cursor->right < cursor->right_end) load(m, lane, RIGHT, cursor->begin, *cursor->right);
}

/* Gives a lane the next part. Returns false if there is none. */
static bool begin_lane(Merger *m, int lane) {
  Part part;
  m->lanes[lane] = (Lane){0};
  if (!next_part(m, &part)) return false;
  int64_t cut = part.position == part.from ? 0 : m->cuts[m->next];
  int64_t end_cut = part.end == part.to ? part.middle - part.from : m->cuts[m->next + 1];
  m->lanes[lane] = lane_of(m, &part, cut, end_cut);
  m->next++;
  load_left(m, lane, &m->lanes[lane]);
  load_right(m, lane, &m->lanes[lane]);
  return true;
}

/* Makes one result. */
static void step_lane(const Merger *m, int lane, Lane *cursor, bool right_first) {
  if (cursor->left == cursor->left_end || (cursor->right < cursor->right_end && right_first)) {
    *cursor->to++ = *cursor->right++;
    load_right(m, lane, cursor);
  } else {
    *cursor->to++ = *cursor->left++;
    load_left(m, lane, cursor);
  }
}

/* Makes all parts. */
static void merge_parts(Merger *m, const int64_t *cuts) {
  int working = 0;
  m->cuts = cuts;
  m->next = 0;
  for (int lane = 0; lane < PAIRS; lane++) working += begin_lane(m, lane);
  while (working > 0) {
    const uint8_t *right_first = compare(m);
    for (int lane = 0; lane < PAIRS; lane++) {
      Lane *cursor = &m->lanes[lane];
      if (cursor->to == cursor->to_end) continue;
      step_lane(m, lane, cursor, right_first[lane]);
      if (cursor->to == cursor->to_end && !begin_lane(m, lane)) working--;
    }
  }
}

/* --- Levels ----------------------------------------------------------------------------------- */

static void all_parts_again(Merger *m, int64_t first_line) {
  m->line = first_line;
  m->position = m->first_position;
}

/* Merges the parts of the chunk. first_cut, last_cut: the cuts at its two ends, if these are inside a merge. */
static void merge_level(Merger *m, int64_t first_cut, int64_t last_cut) {
  Part parts[MAX_PARTS];
  int64_t cuts[MAX_PARTS + 1], first_line = m->line;
  int count = 0;
  while (2 * m->run > SEGMENT && next_part(m, &parts[count])) count++;
  all_parts_again(m, first_line);
  for (int i = 0; i < count; i += PAIRS) {
    search_cuts(m, parts + i, (int)min_i64(count - i, PAIRS), cuts + i);
  }
  for (int i = 0; i < count; i++) {
    const Part *p = &parts[i];
    bool ends = p->to <= m->end_position;
    int64_t end = ends ? p->to : m->end_position, last = ends ? p->middle - p->from : last_cut;
    cuts[i] = i == 0 ? first_cut : settled(p, cuts[i], p - 1, cuts[i - 1], end, last);
  }
  cuts[count] = last_cut;
  merge_parts(m, cuts);
}

/* --- Memory ----------------------------------------------------------------------------------- */

static int64_t align(int64_t bytes) { return (bytes + 63) & -64; }

static int64_t order_bytes(const Plan *p) {
  return align(p->lines.count * p->lines.size * (int64_t)sizeof(uint64_t));
}

/* Returns the bytes of the cuts: one at the start of each block and one after the last. */
static int64_t cuts_bytes(const Plan *p) {
  return align(p->lines.count * (p->blocks + 1) * (int64_t)sizeof(int64_t));
}

static int64_t *line_cuts(const Plan *p, const KernelCall *call, int64_t line) {
  return (int64_t *)(call->scratch + 2 * order_bytes(p)) + line * (p->blocks + 1);
}

static int64_t pointers_bytes(const Plan *p) {
  return align((2 * p->operands + 1) * (int64_t)sizeof(uint8_t *));
}

static int64_t feeds_bytes(const Plan *p) { return align(p->operands * (int64_t)sizeof(Feed)); }

/* Returns the bytes of the comparator's buffers, for one chunk. */
static int64_t buffers_bytes(const Plan *p, const Instruction *instruction) {
  int64_t bytes = pointers_bytes(p) + feeds_bytes(p) + PAIRS;
  for (int k = 0; k < p->operands; k++) {
    bytes += 2 * PAIRS * type_bytes(instruction->operands[k]->shape->type);
  }
  return bytes;
}

static void make_buffers(Merger *m, int64_t chunk) {
  const Plan *p = m->plan;
  const Instruction *sort = m->call->instruction;
  int64_t bytes = buffers_bytes(p, sort);
  uint8_t *memory = m->call->scratch + 2 * order_bytes(p) + cuts_bytes(p) + chunk * bytes;
  memset(memory, 0, (size_t)bytes);
  m->buffers = (uint8_t **)memory, memory += pointers_bytes(p);
  Feed *feeds = (Feed *)memory;
  memory += feeds_bytes(p);
  for (int k = 0; k < p->operands; k++) {
    Feed feed = {.from = m->call->operands[k], .bytes = type_bytes(sort->operands[k]->shape->type)};
    for (int side = 0; side < 2; side++, memory += (ptrdiff_t)PAIRS * feed.bytes) {
      m->buffers[2 * k + side] = feed.to[side] = memory;
    }
    Instruction *const *parameters = sort->a->calls->parameters + 2 * (ptrdiff_t)k;
    if (computation_reads(sort->a->calls, parameters[RIGHT]) ||
        computation_reads(sort->a->calls, parameters[LEFT])) {
      feeds[m->feed_count++] = feed;
    }
  }
  m->buffers[2 * p->operands] = memory;
  m->feeds = feeds;
}

/* Sets up the merger of a chunk on a level, except for its parts. */
static void merger_init(Merger *m, const Plan *plan, const KernelCall *call, int64_t chunk,
                        int level) {
  m->plan = plan;
  m->call = call;
  m->feed_count = 0;
  make_buffers(m, chunk);
  m->run = INT64_C(1) << level;
  for (int i = 0; i < 2; i++) {
    m->order[i] = (uint64_t *)(call->scratch + ((level + i) % 2) * order_bytes(plan));
  }
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* Sets the lines, or the block, of a chunk. */
static void set_chunk(Merger *m, int64_t chunk) {
  const Plan *p = m->plan;
  m->line = chunk / p->blocks * p->lines_per_chunk;
  m->end_line = min_i64(m->line + p->lines_per_chunk, p->lines.count);
  m->position = m->first_position = chunk % p->blocks * BLOCK;
  m->end_position = min_i64(m->first_position + BLOCK, p->lines.size);
}

static void permute(const Plan *p, const KernelCall *call, int64_t chunk) {
  Merger m = {0};
  merger_init(&m, p, call, chunk, p->levels);
  set_chunk(&m, chunk);
  for (int64_t line = m.line; line < m.end_line; line++) {
    sort_permute(call, &p->lines, line_begin(&p->lines, line), m.order[0] + line * p->lines.size,
                 m.first_position, m.end_position);
  }
}

static void sort_chunk(const Plan *p, const KernelCall *call, int64_t chunk) {
  Merger m = {0};
  merger_init(&m, p, call, chunk, 0);
  set_chunk(&m, chunk);
  m.limit = m.end_position;
  int64_t first_line = m.line;
  for (int64_t line = first_line; line < m.end_line; line++) {
    uint64_t *order = m.order[0] + line * p->lines.size;
    for (int64_t i = m.first_position; i < m.end_position; i++) order[i] = (uint64_t)i;
  }
  for (int level = 0; level < p->block_levels; level++) {
    merger_init(&m, p, call, chunk, level);
    all_parts_again(&m, first_line);
    merge_level(&m, 0, 0);
  }
}

/* Finds the cuts of a line's merges at the start of each block. */
static void cut_line(const Plan *p, const KernelCall *call, int64_t line, int level) {
  Merger m = {0};
  Part parts[PAIRS], before = {.line = -1};
  merger_init(&m, p, call, line, level);
  int64_t *cuts = line_cuts(p, call, line), cut_before = 0;
  for (int64_t block = 0; block < p->blocks;) {
    int count = 0;
    for (; count < PAIRS && block + count < p->blocks; count++) {
      int64_t position = (block + count) * BLOCK, from = position / (2 * m.run) * 2 * m.run;
      parts[count] = (Part){line,
                            from,
                            min_i64(from + m.run, p->lines.size),
                            min_i64(from + 2 * m.run, p->lines.size),
                            position,
                            position};
    }
    search_cuts(&m, parts, count, cuts + block);
    for (int i = 0; i < count; i++, block++) {
      const Part *part = &parts[i];
      cuts[block] =
          settled(part, cuts[block], &before, cut_before, part->to, part->middle - part->from);
      before = *part;
      cut_before = cuts[block];
    }
  }
}

static void merge_block(const Plan *p, const KernelCall *call, int64_t chunk, int level) {
  Merger m = {0};
  merger_init(&m, p, call, chunk, level);
  set_chunk(&m, chunk);
  m.limit = p->lines.size;
  const int64_t *cuts = line_cuts(p, call, m.line) + chunk % p->blocks;
  merge_level(&m, cuts[0], cuts[1]);
}

/* --- The kernel's interface ------------------------------------------------------------------- */

/* Plans the phases: sort the chunks; two phases for each level above blocks; write the results. */
static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_SORT || !instruction->a->calls ||
      shape_elements(instruction->operands[0]->shape) == 0) {
    return NULL;
  }
  Plan *p = ARENA_NEW(arena, Plan);
  *p = plan_of(instruction);
  p->kernel.scratch_bytes =
      2 * order_bytes(p) + cuts_bytes(p) + p->chunks * buffers_bytes(p, instruction);
  int last = 1 + 2 * (p->levels - p->block_levels);
  int *chunks = kernel_phases(&p->kernel, arena, last + 1);
  for (int phase = 0; phase <= last; phase++) {
    chunks[phase] = (int)(phase % 2 == 1 && phase < last ? p->lines.count : p->chunks);
  }
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const Plan *p = (const Plan *)call->plan;
  int level = p->block_levels + (phase - 1) / 2;
  if (phase == 0) {
    sort_chunk(p, call, chunk);
  } else if (level == p->levels) {
    permute(p, call, chunk);
  } else if (phase % 2 == 1) {
    cut_line(p, call, chunk, level);
  } else {
    merge_block(p, call, chunk, level);
  }
}

const Kernel kernel_sort_merge = {"sort-merge", plan, run};
