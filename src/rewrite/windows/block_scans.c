/*
** Splits cumulative reduce-windows of narrow floats into blocks, as XLA does. Each sum is rounded, so the
** results depend on the order of sums. Lines longer than a block of 16 become
**
**     blocks = reshape(pad(x))            [.., n / 16, 16, ..]
**     inner  = reduce-window(blocks)      cumulative in each block
**     totals = reduce-window(inner[last]) cumulative over blocks: again in blocks, if they are many
**     result = inner + totals of the blocks before, with the reducer in place of +
**
** and the mirror image where it is cumulative from the end.
*/
#include "base/min_max.h"
#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold BLOCK: the block of XLA:CPU's ReduceWindowRewriter. Test: "cumulative sums around
** blocks and calls" in core/thresholds.test.mjs. */
enum { BLOCK = 16 };

/* The shapes of one such scan: along a dimension of `length`, in this number of blocks. */
typedef struct Scan {
  Computation *computation;
  Arena *arena;
  const Instruction *x;
  Instruction *init;
  int rank, along;
  bool backwards;
  int64_t length, blocks;
} Scan;

/* Returns the operand's shape with `along` replaced by one dimension, or, if `block` is not 0, by two. */
static const Shape *shape_along(const Scan *s, int64_t size, int64_t block) {
  const Shape *shape = s->x->shape;
  int64_t dims[MAX_RANK];
  int rank = 0;
  for (int d = 0; d < s->rank; d++) {
    dims[rank++] = d == s->along ? size : shape->dims[d];
    if (d == s->along && block) dims[rank++] = block;
  }
  return shape_make(s->arena, shape->type, rank, dims, NULL);
}

static Instruction *reshaped(const Scan *s, Instruction *x, const Shape *shape) {
  return computation_add(s->computation, HLO_RESHAPE, shape, &x, 1, NULL);
}

static Instruction *padded(const Scan *s, Instruction *x, int64_t low, int64_t high) {
  PaddingDimension *items = ARENA_ARRAY(s->arena, PaddingDimension, s->rank);
  items[s->along] = (PaddingDimension){low, high, 0};
  Instruction *operands[] = {x, s->init};
  const Shape *shape = shape_along(s, x->shape->dims[s->along] + low + high, 0);
  return computation_add(s->computation, HLO_PAD, shape, operands, 2,
                         ATTRIBUTES(.padding = {s->rank, items}));
}

/* Accumulates x along a dimension, in the same direction. */
static Instruction *scanned(const Scan *s, Instruction *x, int along) {
  Attributes a;
  attributes_init(&a);
  int rank = x->shape->rank;
  WindowDimension *items = ARENA_ARRAY(s->arena, WindowDimension, rank);
  int64_t size = x->shape->dims[along];
  for (int d = 0; d < rank; d++) {
    items[d] = (WindowDimension){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
  }
  items[along].size = size;
  items[along].padding_low = s->backwards ? 0 : size - 1;
  items[along].padding_high = s->backwards ? size - 1 : 0;
  a.window = (Window){rank, items};
  a.to_apply = s->x->a->to_apply;
  Instruction *operands[] = {x, s->init};
  return computation_add(s->computation, HLO_REDUCE_WINDOW, x->shape, operands, 2, &a);
}

/* Broadcasts to each element of a block the total of the blocks before it, or after it. */
static Instruction *carried(const Scan *s, Instruction *inner) {
  Attributes over;
  attributes_init(&over);
  int64_t at = s->backwards ? 0 : BLOCK - 1;
  Instruction *totals = computation_add_range(s->computation, inner, s->along + 1, at, at + 1);
  totals = scanned(s, reshaped(s, totals, shape_along(s, s->blocks, 0)), s->along);
  totals = s->backwards ? padded(s, totals, -1, 1) : padded(s, totals, 1, -1);
  int64_t *kept = ARENA_ARRAY(s->arena, int64_t, s->rank);
  for (int d = 0; d < s->rank; d++) kept[d] = d + (d > s->along);
  over.dimensions = (Int64List){s->rank, kept};
  return computation_add(s->computation, HLO_BROADCAST, inner->shape, &totals, 1, &over);
}

static void write_scan(const Scan *s, Instruction *x) {
  Instruction *blocks = x->operands[0];
  int64_t rest = s->blocks * BLOCK - s->length;
  if (rest) blocks = padded(s, blocks, 0, rest);
  blocks = reshaped(s, blocks, shape_along(s, s->blocks, BLOCK));
  Instruction *inner = scanned(s, blocks, s->along + 1);
  Instruction *sides[] = {inner, carried(s, inner)};
  Attributes map = *ATTRIBUTES(.to_apply = x->a->to_apply);
  int64_t *all = ARENA_ARRAY(s->arena, int64_t, s->rank + 1);
  for (int d = 0; d <= s->rank; d++) all[d] = d;
  map.dimensions = (Int64List){s->rank + 1, all};
  Instruction *sum = computation_add(s->computation, HLO_MAP, inner->shape, sides, 2, &map);
  sum = reshaped(s, sum, shape_along(s, s->blocks * BLOCK, 0));
  Instruction *part = computation_add_range(s->computation, sum, s->along, 0, s->length);
  instruction_become(x, HLO_SLICE, &sum, 1, part->a);
}

static bool is_rounded(const Instruction *x) {
  if (x->opcode != HLO_REDUCE_WINDOW || x->operand_count != 2) return false;
  if (x->shape->rank == MAX_RANK) return false;
  Opcode opcode = reduce_operation(x);
  return type_is_floating(x->shape->type) && type_bits(x->shape->type) <= 16 &&
         opcode != HLO_MAXIMUM && opcode != HLO_MINIMUM;
}

static bool block_scans(Computation *computation) {
  bool changed = false;
  for (int i = 0; i < computation->count; i++) { /* including those added */
    Instruction *x = computation->instructions[i];
    Scan s = {.computation = computation, .arena = computation->module->arena, .x = x};
    if (!is_rounded(x)) continue;
    s.along = cumulative_window(x, &s.backwards);
    if (s.along < 0) continue;
    s.init = x->operands[1];
    s.rank = x->shape->rank;
    s.length = x->shape->dims[s.along];
    s.blocks = divide_up(s.length, BLOCK);
    if (s.length <= BLOCK || x->a->window.items[s.along].size != s.length) continue;
    write_scan(&s, x);
    changed = true;
  }
  if (changed) computation_sort(computation);
  return changed;
}

bool pass_block_scans(Module *module) { return for_each_computation(module, block_scans); }
