/*
** topk: finds the first k elements of each line in the order of keys (order_key.h); equal elements keep their
** order. A line is read once. A vector of elements is skipped if none comes before the k-th best so far.
** A short list is kept sorted; a long list collects items, and when full it is sorted and its best k stay.
** Long lines are cut into ranges, whose best elements are candidates for a second phase.
*/
#include <wasm_simd128.h>

#include "base/min_max.h"
#include "kernels/kernels.h"
#include "kernels/sort/order_key.h"

enum {
  /* Threshold RANGE, RANGE_OF_K, SHORT, RUN. Test: "largest ones of a line: around short lists,
  ** large lists and ranges" in core/thresholds.test.mjs. */
  RANGE = 131072,  /* elements that one chunk works on; longer lines have several ranges */
  RANGE_OF_K = 64, /* min range, in multiples of k */
  SHORT = 48,      /* max length of a list that is kept sorted */
  RUN = 8,         /* items sorted by insertion */
  /* Threshold MIN_WORK. Test: "lines of sorts and of the largest elements, by all elements" in
  ** core/thresholds_programs.test.mjs. */
  MIN_WORK = 8192,
  /* Threshold MAX_CHUNKS. Test: "largest ones of a line: around short lists, large lists and
  ** ranges" in core/thresholds.test.mjs. */
  MAX_CHUNKS = 64,
};

typedef struct Item {
  uint64_t key;
  int64_t position;
} Item;

/* The best items so far. */
typedef struct List {
  Item *items, *scratch; /* `capacity` each */
  int64_t k, count, capacity;
  bool is_full; /* has k sorted items: keys not below `limit` can be skipped */
  uint64_t limit;
} List;

typedef struct TopkPlan {
  KernelPlan kernel;
  OrderKey key;
  int64_t lines, size, k;
  int64_t range, ranges;    /* elements in a range; ranges in a line */
  int64_t capacity;         /* items in a list */
  int64_t units, per_chunk; /* lines, or ranges of lines, of the first phase */
  int64_t candidates_at;    /* offset in scratch, after the lists: [line][range][k] */
} TopkPlan;

/* --- Lists ------------------------------------------------------------------------------------ */

static void insert_run(Item *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    Item item = items[i];
    int64_t j = i;
    for (; j > 0 && items[j - 1].key > item.key; j--) items[j] = items[j - 1];
    items[j] = item;
  }
}

static void merge(const Item *left, const Item *middle, const Item *end, Item *to) {
  const Item *right = middle;
  while (left < middle && right < end) *to++ = right->key < left->key ? *right++ : *left++;
  while (left < middle) *to++ = *left++;
  while (right < end) *to++ = *right++;
}

/* Sorts items by keys, stably: items with equal keys come in the order of their positions. */
static void sort_items(List *list) {
  int64_t count = list->count;
  for (int64_t i = 0; i < count; i += RUN) insert_run(list->items + i, min_i64(RUN, count - i));
  for (int64_t run = RUN; run < count; run *= 2) {
    for (int64_t i = 0; i < count; i += 2 * run) {
      const Item *from = list->items;
      merge(from + i, from + min_i64(i + run, count), from + min_i64(i + 2 * run, count),
            list->scratch + i);
    }
    Item *sorted = list->scratch;
    list->scratch = list->items;
    list->items = sorted;
  }
}

static void keep_best(List *list) {
  if (list->k > SHORT) sort_items(list);
  if (list->count < list->k) return;
  list->count = list->k;
  list->is_full = true;
  list->limit = list->k ? list->items[list->k - 1].key : 0;
}

static void insert(List *list, uint64_t key, int64_t position) {
  int64_t i = list->is_full ? list->k - 1 : list->count++;
  for (; i > 0 && list->items[i - 1].key > key; i--) list->items[i] = list->items[i - 1];
  list->items[i] = (Item){key, position};
  list->is_full = list->count == list->k;
  list->limit = list->items[list->count - 1].key;
}

static inline void add(List *list, uint64_t key, int64_t position) {
  if (list->is_full && key >= list->limit) return;
  if (list->k <= SHORT) {
    insert(list, key, position);
    return;
  }
  list->items[list->count++] = (Item){key, position};
  if (list->count == list->capacity) keep_best(list);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static inline void add_all(List *list, const OrderKey *key, const uint8_t *line, int64_t from,
                           int64_t end, int bytes) {
  for (int64_t i = from; i < end; i++) {
    add(list, key_of_bits(key, element_bits(line, i, bytes), bytes), i);
  }
}

typedef uint16_t Vector2 __attribute__((vector_size(16)));
typedef uint32_t Vector4 __attribute__((vector_size(16)));
typedef uint64_t Vector8 __attribute__((vector_size(16)));

/* Scans elements of `bytes` bytes. Once the list is full, it compares a block of four vectors at a time. */
#define SCAN(bytes, Bits)                                                                       \
  static void scan_##bytes(List *list, const OrderKey *key, const uint8_t *line, int64_t from,  \
                           int64_t end) {                                                       \
    const int64_t lanes = 16 / (bytes);                                                         \
    Vector##bytes change = (Vector##bytes){0} + (Bits)(key->sign ^ key->last);                  \
    Vector##bytes flip = (Vector##bytes){0} + (Bits)key->flip;                                  \
    int64_t i = from;                                                                           \
    for (; i < end && !list->is_full; i++) add_all(list, key, line, i, i + 1, bytes);           \
    for (; i + 4 * lanes <= end; i += 4 * lanes) {                                              \
      Vector##bytes limit = (Vector##bytes){0} + (Bits)list->limit, below = (Vector##bytes){0}; \
      for (int v = 0; v < 4; v++) {                                                             \
        Vector##bytes x;                                                                        \
        memcpy(&x, line + (i + v * lanes) * (bytes), sizeof x);                                 \
        Vector##bytes negative = 0 - (x >> (8 * (bytes) - 1));                                  \
        below |= (Vector##bytes)((x ^ change ^ (negative & flip)) < limit);                     \
      }                                                                                         \
      if (wasm_v128_any_true((v128_t)below)) add_all(list, key, line, i, i + 4 * lanes, bytes); \
    }                                                                                           \
    add_all(list, key, line, i, end, bytes);                                                    \
  }
SCAN(2, uint16_t)
SCAN(4, uint32_t)
SCAN(8, uint64_t)
#undef SCAN

static void scan(List *list, const OrderKey *key, const uint8_t *line, int64_t from, int64_t end) {
  switch (key->bytes) {
  case 1: add_all(list, key, line, from, end, 1); break;
  case 2: scan_2(list, key, line, from, end); break;
  case 4: scan_4(list, key, line, from, end); break;
  default: scan_8(list, key, line, from, end);
  }
}

/* --- Results ---------------------------------------------------------------------------------- */

static void store(const TopkPlan *p, const KernelCall *call, int64_t line, const List *list) {
  int bytes = p->key.bytes;
  const uint8_t *from = call->operands[0] + line * p->size * bytes;
  uint8_t *values = call->results[0] + line * p->k * bytes;
  int32_t *positions = (int32_t *)call->results[1] + line * p->k;
  for (int64_t i = 0; i < p->k; i++) {
    int64_t position = list->items[i].position;
    set_element_bits(values, i, bytes, element_bits(from, position, bytes));
    positions[i] = (int32_t)position;
  }
}

/* --- The kernel's interface ------------------------------------------------------------------- */

static int64_t list_bytes(const TopkPlan *p) { return 2 * p->capacity * (int64_t)sizeof(Item); }

static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_TOPK) return NULL;
  const Shape *shape = instruction->operands[0]->shape;
  int64_t size = shape->dims[shape->rank - 1], k = instruction->a->k;
  if (instruction->shape->elements[1]->type != S32 || shape_elements(shape) == 0 || k == 0) {
    return NULL;
  }
  TopkPlan *p = ARENA_NEW(arena, TopkPlan);
  order_key_init(&p->key, shape->type, instruction->a->largest, false, NANS_BY_BITS, NULL);
  p->size = size;
  p->lines = shape_elements(shape) / size;
  p->k = k;
  p->capacity = k > SHORT ? 2 * k : k;
  p->range = k > RANGE / RANGE_OF_K ? RANGE_OF_K * k : RANGE;
  p->ranges = divide_up(size, p->range);
  p->units = p->lines * p->ranges;
  int64_t unit = size < p->range ? size : p->range;
  int64_t chunks = min_i64(MAX_CHUNKS, divide_up(p->units * unit, MIN_WORK));
  p->per_chunk = divide_up(p->units, chunks);
  int *all = kernel_phases(&p->kernel, arena, p->ranges > 1 ? 2 : 1);
  all[0] = (int)divide_up(p->units, p->per_chunk);
  if (p->ranges > 1) all[1] = (int)min_i64(p->lines, MAX_CHUNKS);
  p->candidates_at = (p->ranges > 1 && all[1] > all[0] ? all[1] : all[0]) * list_bytes(p);
  p->kernel.scratch_bytes =
      p->candidates_at + (p->ranges > 1 ? p->units * k * (int64_t)sizeof(Item) : 0);
  return &p->kernel;
}

static List new_list(const TopkPlan *p, const KernelCall *call, int chunk) {
  Item *items = (Item *)(call->scratch + chunk * list_bytes(p));
  return (List){.items = items, .scratch = items + p->capacity, .k = p->k, .capacity = p->capacity};
}

/* Finds the best k of a unit. If the range is shorter than k, the missing candidates are marked. */
static void run_unit(const TopkPlan *p, const KernelCall *call, int chunk, int64_t unit) {
  int64_t line = unit / p->ranges, from = unit % p->ranges * p->range;
  List list = new_list(p, call, chunk);
  scan(&list, &p->key, call->operands[0] + line * p->size * p->key.bytes, from,
       min_i64(from + p->range, p->size));
  keep_best(&list);
  if (p->ranges == 1) {
    store(p, call, line, &list);
    return;
  }
  Item *candidates = (Item *)(call->scratch + p->candidates_at) + unit * p->k;
  for (int64_t i = 0; i < p->k; i++) {
    candidates[i] = i < list.count ? list.items[i] : (Item){0, -1};
  }
}

static void join_ranges(const TopkPlan *p, const KernelCall *call, int chunk, int64_t line) {
  const Item *candidates = (const Item *)(call->scratch + p->candidates_at);
  List list = new_list(p, call, chunk);
  candidates += line * p->ranges * p->k;
  for (int64_t i = 0; i < p->ranges * p->k; i++) {
    if (candidates[i].position >= 0) add(&list, candidates[i].key, candidates[i].position);
  }
  keep_best(&list);
  store(p, call, line, &list);
}

static void run(const KernelCall *call, int phase, int chunk) {
  const TopkPlan *p = (const TopkPlan *)call->plan;
  if (phase == 0) {
    int64_t unit = chunk * p->per_chunk, end = min_i64(unit + p->per_chunk, p->units);
    for (; unit < end; unit++) run_unit(p, call, chunk, unit);
  } else {
    int chunks = p->kernel.chunks[1];
    for (int64_t line = chunk; line < p->lines; line += chunks) join_ranges(p, call, chunk, line);
  }
}

const Kernel kernel_topk = {"topk", plan, run};
