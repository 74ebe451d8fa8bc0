/*
** Simplifies loop bodies by the counter's range. If a loop counts between constants, the ranges of the
** counter and of values computed from it are known. Comparisons that always have the same result become
** constants, and clamps that never change a value disappear. So a scan's `x[i]`, which would count from
** the end for negative i, simplifies:
**
**     select(i < 0, i + n, i)      i
**     min(max(i, 0), n - 1)        i
**     i % n                        i
**
** Slices and updates whose starts need no clamp are marked for code generation.
**
** XLA's trip count analysis finds only the number of iterations; its algebraic simplifier uses such ranges
** too. The saving is one comparison per iteration, which matters only in loops of a few operations.
*/
#include "base/min_max.h"
#include "base/scope.h"
#include "hlo/ir/shorthand.h"
#include "plan/counted_loop.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* The range of all elements of a value; empty: unknown. */
typedef struct Range {
  int64_t low, high;
} Range;

static const Range NOTHING = {1, 0};

static bool is_known(Range range) { return range.low <= range.high; }

/* Returns the range if it lies within the type; otherwise the operation may wrap. */
static Range fitting(PrimitiveType type, int64_t low, int64_t high) {
  bool fits = type_kind(type) == KIND_SIGNED && low >= scalar_lowest(type).i &&
              high <= scalar_highest(type).i;
  return fits ? (Range){low, high} : NOTHING;
}

static Range of_constant(const Instruction *x) {
  Scalar value;
  if (!type_is_integral(x->shape->type) || !splat_value(x, &value)) return NOTHING;
  return fitting(x->shape->type, value.i, value.i);
}

static Range of_operation(const Instruction *x, const Range *ranges) {
  /* Threshold WIDEST: larger ranges are not followed, so that ranges do not overflow. No path. */
  enum { WIDEST = 1 << 30 };
  PrimitiveType type = x->shape->type;
  Range a[3];
  if (x->operand_count < 1 || x->operand_count > 3) return NOTHING;
  for (int k = 0; k < x->operand_count; k++) {
    a[k] = ranges[x->operands[k]->id];
    bool is_predicate = k == 0 && x->opcode == HLO_SELECT;
    if (is_predicate) continue;
    if (!is_known(a[k]) || a[k].low < -(int64_t)WIDEST || a[k].high > WIDEST) return NOTHING;
  }
  switch (x->opcode) {
  case HLO_ADD: return fitting(type, a[0].low + a[1].low, a[0].high + a[1].high);
  case HLO_SUBTRACT: return fitting(type, a[0].low - a[1].high, a[0].high - a[1].low);
  case HLO_MULTIPLY: {
    int64_t p = a[0].low * a[1].low, q = a[0].low * a[1].high, r = a[0].high * a[1].low;
    int64_t s = a[0].high * a[1].high;
    return fitting(type, min_i64(min_i64(p, q), min_i64(r, s)),
                   max_i64(max_i64(p, q), max_i64(r, s)));
  }
  case HLO_MAXIMUM: return (Range){max_i64(a[0].low, a[1].low), max_i64(a[0].high, a[1].high)};
  case HLO_MINIMUM: return (Range){min_i64(a[0].low, a[1].low), min_i64(a[0].high, a[1].high)};
  case HLO_CLAMP:
    return (Range){min_i64(max_i64(a[1].low, a[0].low), a[2].low),
                   min_i64(max_i64(a[1].high, a[0].high), a[2].high)};
  case HLO_SELECT: return (Range){min_i64(a[1].low, a[2].low), max_i64(a[1].high, a[2].high)};
  case HLO_REMAINDER:
    if (a[0].low < 0 || a[1].low < 1) return NOTHING;
    return (Range){0, min_i64(a[0].high, a[1].high - 1)};
  case HLO_DIVIDE:
    if (a[0].low < 0 || a[1].low < 1) return NOTHING;
    return (Range){a[0].low / a[1].high, a[0].high / a[1].low};
  case HLO_CONVERT: return fitting(type, a[0].low, a[0].high);
  case HLO_BROADCAST:
  case HLO_COPY:
  case HLO_RESHAPE: return a[0];
  default: return NOTHING;
  }
}

/* Returns the constant result of a comparison, 0 or 1; -1 if it varies. */
static int always(const Instruction *compare, Range a, Range b) {
  if (!is_known(a) || !is_known(b)) return -1;
  bool less = a.high < b.low;
  bool more = a.low > b.high;
  bool no_more = a.high <= b.low, no_less = a.low >= b.high;
  bool equal = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (compare->a->direction) {
  case COMPARE_LT: return less ? 1 : no_less ? 0 : -1;
  case COMPARE_LE: return no_more ? 1 : more ? 0 : -1;
  case COMPARE_GT: return more ? 1 : no_more ? 0 : -1;
  case COMPARE_GE: return no_less ? 1 : less ? 0 : -1;
  case COMPARE_EQ: return equal ? 1 : less || more ? 0 : -1;
  default: return less || more ? 1 : equal ? 0 : -1; /* COMPARE_NE */
  }
}

/* Returns the number of the operand that an operation always equals; -1 if none. */
static int same_operand(const Instruction *x, const Range *ranges) {
  if (x->operand_count < 2 || x->operand_count > 3) return -1;
  Range a = ranges[x->operands[0]->id], b = ranges[x->operands[1]->id];
  if (!is_known(a) || !is_known(b)) return -1;
  switch (x->opcode) {
  case HLO_MAXIMUM: return a.low >= b.high ? 0 : b.low >= a.high ? 1 : -1;
  case HLO_MINIMUM: return a.high <= b.low ? 0 : b.high <= a.low ? 1 : -1;
  case HLO_REMAINDER: return a.low >= 0 && a.high < b.low ? 0 : -1;
  case HLO_CLAMP: {
    Range c = ranges[x->operands[2]->id];
    return is_known(c) && b.low >= a.high && b.high <= c.low ? 1 : -1;
  }
  default: return -1;
  }
}

/* Whether the whole window of a dynamic slice or update lies within the array. */
static bool starts_in_range(const Instruction *x, const Range *ranges) {
  int first = x->opcode == HLO_DYNAMIC_SLICE ? 1 : 2;
  const Shape *array = x->operands[0]->shape, *part = first == 1 ? x->shape : x->operands[1]->shape;
  if (x->operand_count != first + array->rank) return false; /* one vector of indices */
  bool fits = true;
  for (int d = 0; d < array->rank && fits; d++) {
    int64_t limit = array->dims[d] - part->dims[d];
    Range start = ranges[x->operands[first + d]->id];
    fits = limit == 0 || (is_known(start) && start.low >= 0 && start.high <= limit);
  }
  return fits;
}

static Instruction *constant_like(Computation *computation, const Instruction *x, bool value) {
  Instruction *constant = computation_add_integer(computation, PRED, value);
  if (shape_is_scalar(x->shape)) return constant;
  return computation_add(computation, HLO_BROADCAST, x->shape, &constant, 1, NULL);
}

static bool fold(Computation *body, CountedLoop counter) {
  Rewrite rewrite;
  rewrite_begin(&rewrite, body);
  Range *ranges = scope_new((size_t)rewrite.count + 1, sizeof *ranges);
  Range turns = {counter.first, counter.first + (counter.iterations - 1) * counter.step};
  for (int i = 0; i < rewrite.count; i++) {
    Instruction *x = body->instructions[i], *to = NULL;
    ranges[i] = NOTHING;
    if (!shape_is_array(x->shape)) {
      rewrite_visit(&rewrite, i);
      continue;
    }
    bool is_counter = x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0] == body->parameters[0] &&
                      x->a->tuple_index == counter.element;
    ranges[i] = is_counter ? turns : of_constant(x);
    if (!is_known(ranges[i])) ranges[i] = of_operation(x, ranges);
    if (x->opcode == HLO_DYNAMIC_SLICE || x->opcode == HLO_DYNAMIC_UPDATE_SLICE) {
      bool inside = starts_in_range(x, ranges);
      if (inside != x->a->derived.starts_in_range)
        instruction_attributes(x)->derived.starts_in_range = inside;
    }
    int operand = same_operand(x, ranges), known = -1;
    if (x->opcode == HLO_COMPARE) {
      known = always(x, ranges[x->operands[0]->id], ranges[x->operands[1]->id]);
    }
    rewrite_visit(&rewrite, i);
    if (operand >= 0 && shape_same_dims(x->operands[operand]->shape, x->shape)) {
      to = x->operands[operand];
    }
    if (known >= 0) to = constant_like(body, x, known);
    if (to) rewrite_replace(&rewrite, x, to);
  }
  scope_free(ranges);
  return rewrite_end(&rewrite);
}

bool pass_counters(Module *module) {
  bool changed = false;
  module_count_callers(module);
  for (int c = 0; c < module->count; c++) {
    const Computation *computation = module->computations[c];
    for (int i = 0; i < computation->count; i++) {
      const Instruction *x = computation->instructions[i];
      CountedLoop counter;
      if (x->opcode == HLO_WHILE && x->a->body->callers == 1 && counted_loop_find(x, &counter) &&
          counter.iterations > 0) {
        changed |= fold(x->a->body, counter);
      }
    }
  }
  return changed;
}
