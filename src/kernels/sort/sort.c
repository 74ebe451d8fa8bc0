/*
** Sorts by keys. A comparator that orders lexicographically by elements of the operands (see
** plan/comparator.h) need not be called at all. A line, the elements along the sorted dimension, is
** sorted by radix: a stable counting sort per digit of the keys, from the last digit of the last key on.
** The sorted items are one of
**
**     keys alone             one operand, sorted by itself: the elements are computed from the keys
**     (word, position)       any other sort: 32 bits of a key, and the element's position; operands
**                            are permuted at the end
**
** A round sorts by one digit, in three steps: count each digit's occurrences in each range of the line;
** add the counts up to the offsets of each range's elements with each digit; move the elements there.
** For long lines, a chunk is one range; short lines are sorted as a whole, many lines to a chunk.
*/
#include "kernels/sort/sort.h"

#include "base/min_max.h"
#include "kernels/sort/order_key.h"
#include "plan/comparator.h"

enum {
  /* Threshold RANGE, SMALL, MAX_SLOTS. Test: "sorts of lines around insertion and ranges" in
  ** core/thresholds.test.mjs. */
  RANGE = 65536, /* elements that one chunk works on; longer lines have several ranges */
  SMALL = 80,    /* shorter lines are sorted by insertion */
  MAX_SLOTS = 64,
  /* Threshold SLOT_MEMORY: lines that are sorted at once, by their memory of 8 MB. No path in tests. */
  SLOT_MEMORY = 8 << 20, /* for the lines that are sorted at once */
  /* Threshold MIN_WORK: min elements of a chunk. Test: "lines of sorts and of the largest
  ** elements, by all elements" in core/thresholds_programs.test.mjs. */
  MIN_WORK = 4096,
  /* Threshold DIGIT_BITS, DIGITS. Test: "sorts of lines around insertion and ranges" in core/thresholds.test.mjs. */
  /* Measured: 11 bits are no faster (Node 20, 2026-11), as more targets miss the cache more often. */
  DIGIT_BITS = 8,
  DIGITS = 1 << DIGIT_BITS,
  /* Threshold MAX_ROUNDS. Test: "sorts of several arrays, by several keys" in core/thresholds_programs.test.mjs. */
  MAX_ROUNDS = MAX_SORT_KEYS * 8,
};

typedef struct Round {
  int key, word, shift; /* the digit is at bit `shift` of the key's word of 32 bits */
  bool first;           /* the first round of its word, which loads it */
} Round;

/* The plan of a sort instruction. */
typedef struct Sort {
  SortLines lines;
  bool alone, reverses_ties;
  int item_bytes;
  int key_count;
  struct {
    int operand;
    int parts,
        part; /* of an element: two of a complex one; the number of the part that is the key */
  } from[MAX_SORT_KEYS];
  OrderKey keys[MAX_SORT_KEYS];
  int round_count;
  Round rounds[MAX_ROUNDS];
  int64_t ranges; /* of a line */
  int64_t slots;  /* lines that are sorted at once; all of them, if they have several ranges */
} Sort;

/* A line during its sort; the pointers are into scratch. */
typedef struct Line {
  const Sort *sort;
  const KernelCall *call;
  int64_t base;       /* of its first element */
  uint8_t *items[2];  /* each round moves from one to the other */
  uint32_t *counts;   /* [range][digit] */
  uint32_t *has_ties; /* [range]: nonzero if an element's key does not give its bits */
  uint8_t *side;      /* [round]: index in `items` after that round */
} Line;

/* --- Planning --------------------------------------------------------------------------------- */

static const Shape *operand_shape(const Instruction *sort) { return sort->operands[0]->shape; }

static void set_key(Sort *sort, const Instruction *instruction, const SortKey *key) {
  KeySource source = key->source;
  PrimitiveType element = instruction->operands[source.operand]->shape->type;
  PrimitiveType type = type_complex_component(element);
  NanOrder nans = !key->total ? NANS_LAST : source.nan ? NANS_TIE : NANS_BY_BITS;
  int i = sort->key_count++;
  sort->from[i].operand = source.operand;
  sort->from[i].parts = element == type ? 1 : 2;
  sort->from[i].part = source.part;
  order_key_init(&sort->keys[i], type, key->descending, source.zeros_tie || !key->total, nans,
                 source.nan ? source.nan->data : NULL);
}

/* Lists the rounds: the last key first, and the lowest digit of each key first. */
static void plan_rounds(Sort *sort) {
  int word_bytes = sort->alone ? 8 : 4;
  for (int i = sort->key_count - 1; i >= 0; i--) {
    int bytes = sort->keys[i].bytes, words = bytes > word_bytes ? bytes / word_bytes : 1;
    int bits = 8 * (bytes < word_bytes ? bytes : word_bytes);
    for (int word = 0; word < words; word++) {
      for (int shift = 0; shift < bits; shift += DIGIT_BITS) {
        sort->rounds[sort->round_count++] = (Round){i, word, shift, shift == 0};
      }
    }
  }
}

static int64_t align(int64_t bytes) { return (bytes + 63) & -64; }

static int64_t items_bytes(const Sort *sort) { return align(sort->lines.size * sort->item_bytes); }
static int64_t counts_bytes(const Sort *sort) {
  return align(sort->ranges * DIGITS * (int64_t)sizeof(uint32_t));
}
static int64_t slot_bytes(const Sort *sort) {
  int64_t ties = align(sort->ranges * (int64_t)sizeof(uint32_t));
  return 2 * items_bytes(sort) + counts_bytes(sort) + ties + align(MAX_ROUNDS);
}

static void plan_slots(Sort *sort) {
  sort->ranges = divide_up(sort->lines.size, RANGE);
  sort->slots = sort->lines.count;
  if (sort->ranges > 1) return;
  int64_t by_work = divide_up(sort->lines.count * sort->lines.size, MIN_WORK);
  int64_t by_memory = SLOT_MEMORY / slot_bytes(sort) + 1;
  sort->slots = min_i64(min_i64(sort->lines.count, MAX_SLOTS), min_i64(by_work, by_memory));
}

SortLines sort_lines(const Instruction *sort) {
  const Shape *shape = operand_shape(sort);
  int dimension = (int)sort->a->dimensions.items[0];
  int64_t strides[MAX_RANK], size = shape->dims[dimension];
  shape_strides(shape, strides);
  return (SortLines){shape_elements(shape) / size, size, strides[dimension]};
}

static void plan_sort(Sort *sort, const Instruction *instruction, const SortOrder *order) {
  sort->lines = sort_lines(instruction);
  sort->reverses_ties = order->reverses_ties;
  sort->key_count = sort->round_count = 0;
  for (int i = 0; i < order->count; i++) set_key(sort, instruction, &order->keys[i]);
  const OrderKey *key = &sort->keys[0];
  sort->alone = instruction->operand_count == 1 && order->count == 1 && sort->from[0].parts == 1 &&
                !(key->ties && key->bytes == 1);
  sort->item_bytes = sort->alone && key->bytes < 8 ? 4 : 8;
  plan_rounds(sort);
  plan_slots(sort);
}

static Line line_at(const Sort *sort, const KernelCall *call, int64_t slot, int64_t number) {
  Line line = {.sort = sort, .call = call};
  uint8_t *memory = call->scratch + slot * slot_bytes(sort);
  line.base = line_begin(&sort->lines, number);
  line.items[0] = memory, memory += items_bytes(sort);
  line.items[1] = memory, memory += items_bytes(sort);
  line.counts = (uint32_t *)memory, memory += counts_bytes(sort);
  line.side = memory, memory += align(MAX_ROUNDS);
  line.has_ties = (uint32_t *)memory;
  return line;
}

/* Returns the index in `items` of the items before a round; after the last round, of the sorted items. */
static int side_before(const Line *line, int round) {
  return round == 0 ? 0 : line->side[round - 1];
}

static const uint8_t *sorted_items(const Line *line) {
  return line->items[side_before(line, line->sort->round_count)];
}

static int64_t range_end(const Sort *sort, int64_t range) {
  return min_i64((range + 1) * RANGE, sort->lines.size);
}

/* --- Loading keys ----------------------------------------------------------------------------- */

/* Loads keys alone. `bytes` is a compile-time constant, here and below. */
static inline uint32_t load_keys(const Line *line, int side, int64_t from, int64_t to, int bytes) {
  const OrderKey *key = &line->sort->keys[0];
  const uint8_t *data = line->call->operands[0];
  int64_t stride = line->sort->lines.stride;
  uint64_t ties = 0;
  for (int64_t i = from; i < to; i++) {
    uint64_t bits = element_bits(data, line->base + i * stride, bytes);
    if (bytes > 1 && key->ties) ties |= canonical_bits(key, bits) ^ bits;
    uint64_t value = key_of_bits(key, bits, bytes);
    if (bytes == 8) {
      ((uint64_t *)line->items[side])[i] = value;
    } else {
      ((uint32_t *)line->items[side])[i] = (uint32_t)value;
    }
  }
  return ties != 0;
}

/* Loads a key's words and joins them with the positions of the items; in the first round, with all positions
** in order. */
static inline void load_words(const Line *line, int round, int side, int64_t from, int64_t to,
                              int bytes) {
  const Sort *sort = line->sort;
  const Round *r = &sort->rounds[round];
  const OrderKey *key = &sort->keys[r->key];
  const uint8_t *data = line->call->operands[sort->from[r->key].operand];
  int parts = sort->from[r->key].parts, part = sort->from[r->key].part;
  uint64_t *items = (uint64_t *)line->items[side];
  int64_t first = sort->reverses_ties ? sort->lines.size - 1 : 0,
          step = sort->reverses_ties ? -1 : 1;
  for (int64_t i = from; i < to; i++) {
    int64_t position = round == 0 ? first + i * step : (int64_t)(items[i] & UINT32_MAX);
    int64_t element = line->base + position * sort->lines.stride;
    uint64_t bits = element_bits(data, element * parts + part, bytes);
    uint64_t word = key_of_bits(key, bits, bytes) >> (32 * r->word) & UINT32_MAX;
    items[i] = word << 32 | (uint64_t)position;
  }
}

static inline void load_items(const Line *line, int round, int64_t range, int bytes) {
  int side = side_before(line, round);
  int64_t from = range * RANGE, to = range_end(line->sort, range);
  if (line->sort->alone) {
    line->has_ties[range] = load_keys(line, side, from, to, bytes);
  } else {
    load_words(line, round, side, from, to, bytes);
  }
}

static void load(const Line *line, int round, int64_t range) {
  switch (line->sort->keys[line->sort->rounds[round].key].bytes) {
  case 1: load_items(line, round, range, 1); break;
  case 2: load_items(line, round, range, 2); break;
  case 4: load_items(line, round, range, 4); break;
  default: load_items(line, round, range, 8);
  }
}

/* --- One round -------------------------------------------------------------------------------- */

/* Returns the digit's bit in an item. Words are above positions. */
static int item_shift(const Sort *sort, int round) {
  return sort->rounds[round].shift + (sort->alone ? 0 : 32);
}

#define STEPS(Item)                                                                         \
  static void count_##Item(const Item *items, int64_t count, int shift, uint32_t *counts) { \
    for (int64_t i = 0; i < count; i++) counts[items[i] >> shift & (DIGITS - 1)]++;         \
  }                                                                                         \
  static void move_##Item(const Item *items, int64_t count, int shift, uint32_t *positions, \
                          Item *to) {                                                       \
    for (int64_t i = 0; i < count; i++) {                                                   \
      Item item = items[i];                                                                 \
      to[positions[item >> shift & (DIGITS - 1)]++] = item;                                 \
    }                                                                                       \
  }                                                                                         \
  static void insert_##Item(Item *items, int64_t count, int shift) {                        \
    for (int64_t i = 1; i < count; i++) {                                                   \
      Item item = items[i];                                                                 \
      int64_t j = i;                                                                        \
      for (; j > 0 && items[j - 1] >> shift > item >> shift; j--) items[j] = items[j - 1];  \
      items[j] = item;                                                                      \
    }                                                                                       \
  }
STEPS(uint32_t)
STEPS(uint64_t)
#undef STEPS

static uint32_t *range_counts(const Line *line, int64_t range) {
  return line->counts + range * DIGITS;
}

static void count_range(const Line *line, int round, int64_t range) {
  const Sort *sort = line->sort;
  if (sort->rounds[round].first) load(line, round, range);
  int64_t from = range * RANGE, count = range_end(sort, range) - from;
  int shift = item_shift(sort, round);
  uint32_t *counts = range_counts(line, range);
  const uint8_t *items = line->items[side_before(line, round)] + from * sort->item_bytes;
  memset(counts, 0, sizeof *counts * DIGITS);
  if (sort->item_bytes == 4) {
    count_uint32_t((const uint32_t *)items, count, shift, counts);
  } else {
    count_uint64_t((const uint64_t *)items, count, shift, counts);
  }
}

/* Turns counts into offsets. A round in which all digits are equal moves nothing. */
static void position_ranges(const Line *line, int round) {
  const Sort *sort = line->sort;
  uint32_t position = 0;
  bool all_same = false;
  for (int digit = 0; digit < DIGITS; digit++) {
    uint32_t before = position;
    for (int64_t range = 0; range < sort->ranges; range++) {
      uint32_t *counts = range_counts(line, range), here = counts[digit];
      counts[digit] = position;
      position += here;
    }
    all_same |= position - before == (uint64_t)sort->lines.size;
  }
  line->side[round] = (uint8_t)(side_before(line, round) ^ !all_same);
}

static void move_range(const Line *line, int round, int64_t range) {
  const Sort *sort = line->sort;
  int side = side_before(line, round);
  if (side == line->side[round]) return;
  int64_t from = range * RANGE, count = range_end(sort, range) - from;
  int shift = item_shift(sort, round);
  uint32_t *positions = range_counts(line, range);
  const uint8_t *items = line->items[side] + from * sort->item_bytes;
  if (sort->item_bytes == 4) {
    move_uint32_t((const uint32_t *)items, count, shift, positions,
                  (uint32_t *)line->items[1 - side]);
  } else {
    move_uint64_t((const uint64_t *)items, count, shift, positions,
                  (uint64_t *)line->items[1 - side]);
  }
}

/* Sorts a short line by insertion; equals all rounds of one word. */
static void insert_word(const Line *line, int round) {
  const Sort *sort = line->sort;
  line->side[round] = 0;
  if (!sort->rounds[round].first) return;
  load(line, round, 0);
  if (sort->item_bytes == 4) {
    insert_uint32_t((uint32_t *)line->items[0], sort->lines.size, 0);
  } else {
    insert_uint64_t((uint64_t *)line->items[0], sort->lines.size, sort->alone ? 0 : 32);
  }
}

/* --- Results ---------------------------------------------------------------------------------- */

static inline void store_keys(const Line *line, int64_t from, int64_t to, int bytes) {
  const uint8_t *items = sorted_items(line);
  int64_t stride = line->sort->lines.stride;
  for (int64_t i = from; i < to; i++) {
    uint64_t value = element_bits(items, i, bytes == 8 ? 8 : 4);
    set_element_bits(line->call->results[0], line->base + i * stride, bytes,
                     bits_of_key(&line->sort->keys[0], value, bytes));
  }
}

static inline void permute(const uint8_t *in, uint8_t *out, int64_t begin, int64_t stride,
                           const uint64_t *order, int64_t from, int64_t to, size_t bytes) {
  in += (size_t)begin * bytes;
  out += (size_t)begin * bytes;
  for (int64_t i = from; i < to; i++) {
    int64_t position = (int64_t)(order[i] & UINT32_MAX);
    memcpy(out + (size_t)(i * stride) * bytes, in + (size_t)(position * stride) * bytes, bytes);
  }
}

void sort_permute(const KernelCall *call, const SortLines *lines, int64_t begin,
                  const uint64_t *order, int64_t from, int64_t to) {
  for (int k = 0; k < call->instruction->operand_count; k++) {
    const uint8_t *in = call->operands[k];
    uint8_t *out = call->results[k];
    switch (type_bytes(call->instruction->operands[k]->shape->type)) {
    case 1: permute(in, out, begin, lines->stride, order, from, to, 1); break;
    case 2: permute(in, out, begin, lines->stride, order, from, to, 2); break;
    case 4: permute(in, out, begin, lines->stride, order, from, to, 4); break;
    case 8: permute(in, out, begin, lines->stride, order, from, to, 8); break;
    default: permute(in, out, begin, lines->stride, order, from, to, 16);
    }
  }
}

static void store_range(const Line *line, int64_t range) {
  int64_t from = range * RANGE, to = range_end(line->sort, range);
  if (line->sort->alone) {
    switch (line->sort->keys[0].bytes) {
    case 1: store_keys(line, from, to, 1); break;
    case 2: store_keys(line, from, to, 2); break;
    case 4: store_keys(line, from, to, 4); break;
    default: store_keys(line, from, to, 8);
    }
    return;
  }
  sort_permute(line->call, &line->sort->lines, line->base, (const uint64_t *)sorted_items(line),
               from, to);
}

/* Returns how many of the line's sorted keys are less than `value`. */
static int64_t count_less(const Line *line, uint64_t value) {
  const uint8_t *items = sorted_items(line);
  int64_t low = 0, high = line->sort->lines.size;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (element_bits(items, middle, line->sort->item_bytes) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Restores elements that tie (zeros, NaNs) and so have lost their bits in the keys: they follow each other in
** their original order. */
static void restore_ties(const Line *line) {
  const Sort *sort = line->sort;
  const OrderKey *key = &sort->keys[0];
  const uint8_t *in = line->call->operands[0];
  uint8_t *out = line->call->results[0];
  uint32_t has_ties = 0;
  for (int64_t range = 0; range < sort->ranges; range++) has_ties |= line->has_ties[range];
  if (!key->ties || !has_ties) return;
  int64_t zero = count_less(line, key_of_bits(key, 0, key->bytes));
  int64_t nan = count_less(line, key_of_bits(key, key->nan, key->bytes));
  for (int64_t k = 0; k < sort->lines.size; k++) {
    int64_t i = sort->reverses_ties ? sort->lines.size - 1 - k : k;
    uint64_t bits = element_bits(in, line->base + i * sort->lines.stride, key->bytes);
    uint64_t magnitude = bits & key->magnitude;
    bool is_zero = magnitude == 0 && key->zero == 0;
    if (!is_zero && magnitude <= key->infinity) continue;
    int64_t *next = is_zero ? &zero : &nan;
    set_element_bits(out, line->base + (*next)++ * sort->lines.stride, key->bytes, bits);
  }
}

/* --- The kernel's interface ------------------------------------------------------------------- */

/* Long lines take three phases per round; the results take the first two of one more round. Short lines take a
** single phase. */
enum { STEP_COUNT, STEP_PLACE, STEP_MOVE, STEPS };

typedef struct SortPlan {
  KernelPlan kernel;
  Sort sort;
} SortPlan;

static void plan_phases(SortPlan *p, Arena *arena) {
  const Sort *sort = &p->sort;
  bool is_long = sort->ranges > 1;
  int *chunks = kernel_phases(&p->kernel, arena, is_long ? STEPS * sort->round_count + 2 : 1);
  chunks[0] = (int)sort->slots;
  for (int phase = 0; is_long && phase < p->kernel.phases; phase++) {
    bool is_whole = phase % STEPS == STEP_PLACE;
    chunks[phase] = (int)(sort->lines.count * (is_whole ? 1 : sort->ranges));
  }
}

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_SORT || shape_elements(operand_shape(instruction)) == 0 ||
      operand_shape(instruction)->dims[instruction->a->dimensions.items[0]] > UINT32_MAX) {
    return NULL;
  }
  if (!comparator_has_keys(instruction->a->to_apply)) return NULL;
  SortOrder order = comparator_order(instruction->a->to_apply);
  SortPlan *p = ARENA_NEW(arena, SortPlan);
  plan_sort(&p->sort, instruction, &order);
  p->kernel.scratch_bytes = p->sort.slots * slot_bytes(&p->sort);
  plan_phases(p, arena);
  return &p->kernel;
}

static void sort_line(const Line *line) {
  for (int round = 0; round < line->sort->round_count; round++) {
    if (line->sort->lines.size <= SMALL) {
      insert_word(line, round);
    } else {
      count_range(line, round, 0);
      position_ranges(line, round);
      move_range(line, round, 0);
    }
  }
  store_range(line, 0);
  if (line->sort->alone) restore_ties(line);
}

static void run_phase(const Sort *sort, const KernelCall *call, int phase, int chunk) {
  int round = phase / STEPS, step = phase % STEPS;
  bool is_result = round == sort->round_count;
  if (step == STEP_PLACE) {
    Line line = line_at(sort, call, chunk, chunk);
    if (!is_result) position_ranges(&line, round);
    if (is_result && sort->alone) restore_ties(&line);
    return;
  }
  int64_t number = chunk / sort->ranges, range = chunk % sort->ranges;
  Line line = line_at(sort, call, number, number);
  if (is_result) {
    store_range(&line, range);
  } else if (step == STEP_COUNT) {
    count_range(&line, round, range);
  } else {
    move_range(&line, round, range);
  }
}

static void run(const KernelCall *call, int phase, int chunk) {
  const Sort *sort = &((const SortPlan *)call->plan)->sort;
  if (sort->ranges > 1) {
    run_phase(sort, call, phase, chunk);
    return;
  }
  int64_t from = chunk * sort->lines.count / sort->slots,
          to = (chunk + 1) * sort->lines.count / sort->slots;
  for (int64_t number = from; number < to; number++) {
    Line line = line_at(sort, call, chunk, number);
    sort_line(&line);
  }
}

const Kernel kernel_sort = {"sort", plan, run};
