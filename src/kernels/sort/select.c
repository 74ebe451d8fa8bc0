/*
** topk of a large k, with results in the order of positions (rewrite/expand/large_topk.c). Finds the k-th order key of
** each line by radix selection, from the highest digit on: counting the elements per digit gives that key's digit, and
** the next digit is counted among the elements that share it. Then the selected elements are moved. Among elements
** with the k-th key, the first ones are taken.
*/
#include "base/min_max.h"
#include "kernels/kernels.h"
#include "kernels/sort/order_key.h"

enum {
  /* Threshold RANGE, BLOCK, DIGIT_BITS, SHORT_BITS, SHORT, MAX_CHUNKS. Test: "largest ones of a
  ** line: around short lists, large lists and ranges" in core/thresholds.test.mjs. */
  RANGE = 65536, /* elements of a chunk; longer lines have several ranges */
  BLOCK = 256,   /* elements whose keys are computed at a time */
  DIGIT_BITS = 11,
  SHORT_BITS = 8, /* for short lines, where reading all counts takes longer than counting */
  SHORT = 16384,
  MAX_CHUNKS = 64, /* for short lines */
};

typedef struct Range {
  int64_t below; /* elements whose digits so far are less than those of the k-th key */
  int64_t equal; /* elements whose digits so far equal those */
  uint32_t counts[(1 << DIGIT_BITS) + 1];
} Range;

/* The state of a line's selection after the rounds so far. */
typedef struct Choice {
  uint64_t last;  /* leading digits of the k-th key */
  int64_t wanted; /* number of elements to take from those with these digits */
} Choice;

typedef struct SelectPlan {
  KernelPlan kernel;
  OrderKey key;
  int64_t lines, size, k, ranges;
  int digit_bits, rounds;
  int64_t slots; /* lines in memory at the same time */
} SelectPlan;

typedef struct Line {
  const SelectPlan *plan;
  const KernelCall *call;
  int64_t number;
  Choice *choice;
  Range *ranges;
} Line;

static Line line_at(const SelectPlan *p, const KernelCall *call, int64_t slot, int64_t number) {
  Range *ranges = (Range *)call->scratch;
  Choice *choices = (Choice *)(ranges + p->slots * p->ranges);
  return (Line){p, call, number, choices + slot, ranges + slot * p->ranges};
}

/* Computes the keys of elements [from, from + count), at most a block. */
static void load_keys(const Line *line, int64_t from, int64_t count, uint64_t *keys) {
  const OrderKey *key = &line->plan->key;
  const uint8_t *data = line->call->operands[0];
  from += line->number * line->plan->size;
#define LOAD(bytes)                                                         \
  for (int64_t i = 0; i < count; i++) {                                     \
    keys[i] = key_of_bits(key, element_bits(data, from + i, bytes), bytes); \
  }
  switch (key->bytes) {
  case 1: LOAD(1) break;
  case 2: LOAD(2) break;
  case 4: LOAD(4) break;
  default: LOAD(8)
  }
#undef LOAD
}

/* The digit of a round: its lowest bit and its number of bits. */
typedef struct Digit {
  int shift, bits;
} Digit;

static Digit digit_of(const SelectPlan *p, int round) {
  int before = 8 * p->key.bytes - p->digit_bits * round;
  int bits = before < p->digit_bits ? before : p->digit_bits;
  return (Digit){before - bits, bits};
}

/* Counts the digits of a range. Without branches, which would be unpredictable: elements with other leading digits go
** to a counter of their own. */
static void count_range(const Line *line, int round, int64_t number) {
  uint64_t keys[BLOCK];
  Digit digit = digit_of(line->plan, round);
  uint64_t others = (uint64_t)1 << digit.bits, first = round ? line->choice->last << digit.bits : 0;
  Range *range = &line->ranges[number];
  int64_t i = number * RANGE, end = min_i64(i + RANGE, line->plan->size);
  if (round == 0) range->below = 0;
  memset(range->counts, 0, (size_t)others * sizeof *range->counts);
  for (; i < end; i += BLOCK) {
    int64_t count = min_i64(BLOCK, end - i);
    load_keys(line, i, count, keys);
    for (int64_t j = 0; j < count; j++) {
      uint64_t value = (keys[j] >> digit.shift) - first;
      range->counts[value < others ? value : others]++;
    }
  }
}

static void find_digit(const Line *line, int round) {
  Choice *choice = line->choice;
  Range *range = line->ranges;
  int64_t ranges = line->plan->ranges, count;
  if (round == 0) *choice = (Choice){0, line->plan->k};
  uint64_t digit = 0;
  for (;; digit++) {
    count = 0;
    for (int64_t i = 0; i < ranges; i++) count += range[i].counts[digit];
    if (count >= choice->wanted) break;
    choice->wanted -= count;
    for (int64_t i = 0; i < ranges; i++) range[i].below += range[i].counts[digit];
  }
  for (int64_t i = 0; i < ranges; i++) range[i].equal = range[i].counts[digit];
  choice->last = choice->last << digit_of(line->plan, round).bits | digit;
}

/* Moves the selected elements of a range; lists them without branches, too. */
static void move_range(const Line *line, int64_t number) {
  const SelectPlan *p = line->plan;
  uint64_t keys[BLOCK], last = line->choice->last;
  uint32_t chosen[BLOCK];
  int64_t equal = 0, at = line->number * p->k;
  for (int64_t i = 0; i < number; i++) {
    equal += line->ranges[i].equal;
    at += line->ranges[i].below;
  }
  equal = min_i64(equal, line->choice->wanted);
  at += equal;
  int64_t wanted = line->choice->wanted - equal, i = number * RANGE,
          end = min_i64(i + RANGE, p->size);
  int bytes = p->key.bytes;
  const uint8_t *elements = line->call->operands[0] + line->number * p->size * bytes;
  int32_t *positions = (int32_t *)line->call->results[1];
  for (; i < end; i += BLOCK) {
    int64_t count = min_i64(BLOCK, end - i), found = 0;
    load_keys(line, i, count, keys);
    for (int64_t j = 0; j < count; j++) {
      bool is_last = keys[j] == last;
      chosen[found] = (uint32_t)j;
      found += (keys[j] < last) | (is_last & (wanted > 0));
      wanted -= is_last;
    }
    for (int64_t j = 0; j < found; j++, at++) {
      int64_t position = i + chosen[j];
      set_element_bits(line->call->results[0], at, bytes, element_bits(elements, position, bytes));
      positions[at] = (int32_t)position;
    }
  }
}

/* ---- The kernel's interface ---- */

/* Plans the phases: long lines take two per digit, and one to move. */
static KernelPlan *plan(const Instruction *instruction, Arena *arena) {
  if (instruction->opcode != HLO_TOPK || !instruction->a->is_stable) return NULL;
  const Shape *shape = instruction->operands[0]->shape;
  SelectPlan *p = ARENA_NEW(arena, SelectPlan);
  order_key_init(&p->key, shape->type, instruction->a->largest, false, NANS_BY_BITS, NULL);
  p->size = shape->dims[shape->rank - 1];
  p->lines = shape_elements(shape) / p->size;
  p->k = instruction->a->k;
  p->ranges = divide_up(p->size, RANGE);
  p->digit_bits = p->size < SHORT ? SHORT_BITS : DIGIT_BITS;
  p->rounds = divide_up(8 * p->key.bytes, p->digit_bits);
  p->slots = p->ranges > 1 ? p->lines : min_i64(p->lines, MAX_CHUNKS);
  int *chunks = kernel_phases(&p->kernel, arena, p->ranges > 1 ? 2 * p->rounds + 1 : 1);
  for (int phase = 0; phase < p->kernel.phases; phase++) {
    chunks[phase] = (int)(p->slots * (phase % 2 ? 1 : p->ranges));
  }
  p->kernel.scratch_bytes =
      p->slots * (p->ranges * (int64_t)sizeof(Range) + (int64_t)sizeof(Choice));
  return &p->kernel;
}

static void run(const KernelCall *call, int phase, int chunk) {
  const SelectPlan *p = (const SelectPlan *)call->plan;
  if (p->ranges > 1) {
    int64_t number = phase % 2 ? chunk : chunk / p->ranges, range = chunk % p->ranges;
    Line line = line_at(p, call, number, number);
    if (phase == 2 * p->rounds) {
      move_range(&line, range);
    } else if (phase % 2) {
      find_digit(&line, phase / 2);
    } else {
      count_range(&line, phase / 2, range);
    }
    return;
  }
  for (int64_t number = chunk; number < p->lines; number += p->slots) {
    Line line = line_at(p, call, chunk, number);
    for (int round = 0; round < p->rounds; round++) {
      count_range(&line, round, 0);
      find_digit(&line, round);
    }
    move_range(&line, 0);
  }
}

const Kernel kernel_select = {"select", plan, run};
