#include "derive/gradient/trips.h"

#include <stdlib.h>
#include <string.h>

#include "base/min_max.h"
#include "base/scope.h"
#include "hlo/ir/attribute_compare.h"
#include "reference/eval.h"
#include "rewrite/base/rewrite.h"

/* ---- The part of the state that matters ---- */

static bool has_value_here(const Instruction *x) {
  switch (x->opcode) {
  case HLO_REPLICA_ID:
  case HLO_PARTITION_ID:
  case HLO_RNG:
  case HLO_CUSTOM_CALL: return false;
  default: return !instruction_has_side_effect(x) && opcode_category(x->opcode) != COLLECTIVE;
  }
}

bool find_inputs(Body *b, const Instruction *x, bool *leaves) {
  Computation *c = b->working.m.computation;
  bool *needed = scope_new((size_t)x->id + 1, sizeof *needed), found = true;
  needed[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    const Instruction *at = c->instructions[i];
    if (!needed[i]) continue;
    found &= at->opcode == HLO_PARAMETER || has_value_here(at);
    for (int k = 0; k < at->operand_count; k++) needed[at->operands[k]->id] = true;
  }
  for (int i = 0; i < b->input_count; i++)
    leaves[i] |= b->inputs[i]->id <= x->id && needed[b->inputs[i]->id];
  scope_free(needed);
  return found;
}

bool find_state(Body *body, bool *leaves) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (int i = 0; i < body->input_count; i++) {
      if (!leaves[i]) continue;
      bool *more = ARENA_ARRAY(body->working.arena, bool, body->input_count);
      if (!find_inputs(body, body->results[i], more)) return false;
      for (int k = 0; k < body->input_count; k++) {
        changed |= more[k] && !leaves[k];
        leaves[k] |= more[k];
      }
    }
  }
  return true;
}

/* ---- Counting ---- */

/* Copies values of a body, as a function of the scalars that its leaves with a flag are. */
static Computation *scalar_function(Body *b, const bool *leaves, Instruction *const *values,
                                    int count) {
  Extraction e = extract_begin(&b->working, "count");
  for (int i = 0, number = 0; i < b->input_count; i++) {
    if (!leaves[i]) continue;
    extract_bind(&e, b->inputs[i],
                 computation_add_parameter(e.to, number++, b->inputs[i]->shape, NULL));
  }
  Instruction **results = ARENA_ARRAY(b->working.arena, Instruction *, count);
  for (int i = 0; i < count; i++) results[i] = extract(&e, values[i]);
  e.to->root = count == 1 ? results[0] : computation_add_tuple(e.to, results, count);
  computation_renumber(e.to);
  return e.to;
}

/* Whether a conversion of a counter, of 32 bits or more, keeps its order; different counters may become equal. */
static bool keeps_order(const Instruction *convert) {
  int from = type_bits(convert->operands[0]->shape->type), to = type_bits(convert->shape->type);
  TypeKind kind = type_kind(convert->shape->type);
  return (kind == KIND_SIGNED && to >= from) || (kind == KIND_FLOAT && to >= 32);
}

/* Whether `test` compares a counter with a bound, so that it holds for all values between two for which it holds. Sets the
** counter's value after `limit` iterations. */
static bool find_last(const Computation *test, const Computation *body, Scalar *last,
                      int64_t limit) {
  const Instruction *compare = test->root, *next = body->root;
  Scalar bound, step;
  if (compare->opcode != HLO_COMPARE || next->opcode != HLO_ADD) return false;
  if (compare->a->direction == COMPARE_EQ || compare->a->direction == COMPARE_NE) return false;
  int k = splat_value(compare->operands[0], &bound) ? 1 : 0;
  const Instruction *counter = compare->operands[k];
  if (counter->opcode == HLO_CONVERT && keeps_order(counter)) counter = counter->operands[0];
  PrimitiveType type = next->shape->type;
  bool is_counted = counter == test->parameters[0] &&
                    splat_value(compare->operands[1 - k], &bound) &&
                    next->operands[0] == body->parameters[0] &&
                    splat_value(next->operands[1], &step) && (type == S32 || type == S64);
  if (!is_counted || llabs(step.i) > INT32_MAX || llabs(last->i / 2) > INT64_MAX / 4) return false;
  last->i += step.i * limit;
  return scalar_round(type, *last).i == last->i;
}

/* Returns the number of times that `test` holds in a row, up to `limit`; -1 if it holds longer, or cannot be evaluated. */
static int64_t run(const Computation *test, const Computation *body, Scalar *state, int count,
                   int64_t limit) {
  Arena *scratch = arena_new();
  Error error = {0};
  int64_t budget = 64 * limit, trips = -1;
  EvalContext context = {.arena = scratch, .error = &error, .budget = &budget};
  EvalApply *holds = eval_apply_new(test, &context), *step = eval_apply_new(body, &context);
  Scalar *next = ARENA_ARRAY(scratch, Scalar, count), goes_on = {0}, last = *state;
  bool beyond = holds && count == 1 && find_last(test, body, &last, limit) &&
                eval_apply(holds, &last, &goes_on) && goes_on.i &&
                eval_apply(holds, state, &goes_on) && goes_on.i;
  for (int64_t i = 0; holds && step && !beyond && i <= limit; i++) {
    ArenaMark mark = arena_mark(scratch);
    if (!eval_apply(holds, state, &goes_on)) break;
    if (!goes_on.i) trips = i;
    if (!goes_on.i || !eval_apply(step, state, next)) break;
    for (int k = 0; k < count; k++) state[k] = next[k];
    arena_release(scratch, mark);
  }
  arena_free(scratch);
  return trips;
}

/* ---- Values in the iterations of a loop around ---- */

/* Returns the only parameter with several values that x depends on, beside constants; NULL if there is another one. */
static Instruction *source_of(WorkingComputation *working, const Instruction *x) {
  Computation *c = working->m.computation;
  bool *needed = scope_new((size_t)x->id + 1, sizeof *needed), found = true;
  Instruction *source = NULL;
  needed[x->id] = true;
  for (int i = x->id; i >= 0 && found; i--) {
    Instruction *at = c->instructions[i];
    if (!needed[i]) continue;
    found = has_value_here(at) && (at->opcode != HLO_CONSTANT || at->literal);
    for (int k = 0; k < at->operand_count; k++) needed[at->operands[k]->id] = true;
    if (at->opcode != HLO_PARAMETER) continue;
    found = shape_is_scalar(at->shape) && at->literal && !source;
    source = at;
  }
  scope_free(needed);
  return found ? source : NULL;
}

Literal *values_around(WorkingComputation *working, Instruction *x) {
  Instruction *source = x && shape_is_scalar(x->shape) ? source_of(working, x) : NULL;
  if (!source || source->literal->shape->rank != 1) return NULL;
  if (source == x) return source->literal;
  Extraction e = extract_begin(working, "value");
  extract_bind(&e, source, computation_add_parameter(e.to, 0, source->shape, NULL));
  e.to->root = extract(&e, x);
  computation_renumber(e.to);
  int64_t count = source->literal->shape->dims[0], budget = 64 * MAX_VALUES_AROUND;
  Literal *values = literal_new(working->arena, shape_of(&working->m, x->shape->type, 1, &count));
  Arena *scratch = arena_new();
  Error error = {0};
  EvalContext context = {.arena = scratch, .error = &error, .budget = &budget};
  EvalApply *function = eval_apply_new(e.to, &context);
  for (int64_t i = 0; function && i < count; i++) {
    Scalar argument = scalar_load(source->shape->type, source->literal->data, i), value;
    ArenaMark mark = arena_mark(scratch);
    if (!eval_apply(function, &argument, &value)) function = NULL;
    if (function) scalar_store(x->shape->type, values->data, i, value);
    arena_release(scratch, mark);
  }
  arena_free(scratch);
  return function ? values : NULL;
}

/* ---- Parts of a condition ---- */

/* A predicate that holds in each iteration but the first `late` ones; a value of the condition or of the body. */
typedef struct Part {
  Body *body;
  Instruction *value;
  int late;
} Part;

/* Threshold MAX_ACTIVE: in deeper batches of batches no bound is found, and maxTrips is asked for. No path in tests. */
enum { MAX_ACTIVE = 4 };

typedef struct Parts {
  Body *condition, *loop;
  Arena *arena;
  /* Values of the condition: the loop goes on while any element of each holds. */
  Instruction *active[MAX_ACTIVE];
  int active_count, max_active;
  int count, capacity;
  Part *items;
} Parts;

static bool is_false(const Instruction *x) {
  while (x->opcode == HLO_BROADCAST) x = x->operands[0];
  return x->opcode == HLO_CONSTANT && x->literal && shape_is_scalar(x->shape) &&
         !*(const uint8_t *)x->literal->data;
}

static int input_of(const Body *b, const Instruction *x) {
  int i = 0;
  while (i < b->input_count && b->inputs[i] != x) i++;
  return i;
}

/* ---- Elements of arrays ----
**
** Loops of a batch go on until no element is active, and an element that is not active keeps its state (keeps_inactive). So
** an element that is active in the last iteration was so in all, and the loop makes as many iterations as that element's
** own loop. Where all elements begin with the same number, that loop has one number in place of each array. */

/* Whether two values are the same operations on the same elements of the state; false after `*budget` operations. */
static bool same_value(const Body *b, const Instruction *x, const Body *c, const Instruction *y,
                       int *budget) {
  if (x->opcode != y->opcode || !shape_compatible(x->shape, y->shape) ||
      x->operand_count != y->operand_count || --*budget < 0) {
    return false;
  }
  if (x->opcode == HLO_PARAMETER) return input_of(b, x) == input_of(c, y);
  if (x->opcode == HLO_CONSTANT) {
    size_t bytes = (size_t)shape_bytes(x->shape);
    return x->literal && y->literal && !memcmp(x->literal->data, y->literal->data, bytes);
  }
  bool same = has_value_here(x) && attributes_equal(x->opcode, x->a, y->a);
  for (int k = 0; k < x->operand_count && same; k++) {
    same = same_value(b, x->operands[k], c, y->operands[k], budget);
  }
  return same;
}

static bool is_active(const Parts *parts, const Body *body, const Instruction *p) {
  while (p->opcode == HLO_BROADCAST) p = p->operands[0];
  for (int i = 0; i < parts->active_count; i++) {
    int budget = 256;
    if (same_value(parts->condition, parts->active[i], body, p, &budget)) return true;
  }
  return false;
}

/* Returns the value that an active element of `x` has: of a select by a value in `active`, the first. */
static Instruction *active_value(const Parts *parts, const Body *body, Instruction *x) {
  while (x->opcode == HLO_SELECT && is_active(parts, body, x->operands[0])) x = x->operands[1];
  return x;
}

/* Whether an element that is not active stays so: all leaves that it depends on are kept then. */
static bool keeps_inactive(const Parts *parts) {
  Body *loop = parts->loop;
  bool *leaves = ARENA_ARRAY(parts->arena, bool, loop->input_count);
  for (int i = 0; i < parts->active_count; i++) {
    if (!find_inputs(parts->condition, parts->active[i], leaves)) return false;
  }
  for (int i = 0; i < loop->input_count; i++) {
    const Instruction *x = loop->results[i], *input = loop->inputs[i];
    int selects = 0;
    if (!leaves[i] || x == input) continue;
    for (; x->opcode == HLO_SELECT && is_active(parts, loop, x->operands[0]); selects++) {
      if (x->operands[2] != input) return false;
      x = x->operands[1];
    }
    if (selects != parts->active_count) return false;
  }
  return true;
}

/* ---- The parts ---- */

/* Adds the predicates that must hold if an element of `x` does. */
static void add_parts(Parts *parts, Body *body, Instruction *x, int late) {
  x = active_value(parts, body, x);
  switch (x->opcode) {
  case HLO_AND:
    add_parts(parts, body, x->operands[0], late);
    add_parts(parts, body, x->operands[1], late);
    return;
  case HLO_SELECT:
    if (!is_false(x->operands[2])) break;
    add_parts(parts, body, x->operands[0], late);
    add_parts(parts, body, x->operands[1], late);
    return;
  case HLO_REDUCE: {
    Opcode opcode = computation_simple_binary(x->a->to_apply);
    bool any = opcode == HLO_OR && is_false(x->operands[1]);
    if (x->operand_count != 2 || (!any && opcode != HLO_AND)) return;
    if (any && body == parts->condition && parts->active_count < parts->max_active) {
      parts->active[parts->active_count++] = x->operands[0];
    }
    add_parts(parts, body, x->operands[0], late);
    return;
  }
  case HLO_BROADCAST:
  case HLO_RESHAPE:
  case HLO_COPY: add_parts(parts, body, x->operands[0], late); return;
  case HLO_PARAMETER: /* a part of the state: it was made by the iteration before */
    if (!late && x->shape->type == PRED) {
      int leaf = input_of(body, x);
      add_parts(parts, parts->loop, parts->loop->results[leaf], 1);
    }
    break;
  default: break;
  }
  Part part = {body, x, late};
  ARENA_PUSH(parts->arena, parts->items, parts->count, parts->capacity, part);
}

/* ---- Counting elements ---- */

/* Threshold MAX_ELEMENT_OPERANDS: element-wise operations have no more operands. No path. */
enum { MAX_ELEMENT_OPERANDS = 3 };

static bool is_moved(const Instruction *x) {
  return x->opcode == HLO_BROADCAST || x->opcode == HLO_RESHAPE || x->opcode == HLO_COPY;
}

/* Copies an element of a value to `to`, in which the state's leaves are `state`; NULL if it is not made element by
** element of numbers. `map`: copies by id. Sets the flags of the leaves that it depends on. */
static Instruction *copy_element(const Parts *parts, Body *body, Instruction *x, Computation *to,
                                 Instruction *const *state, Instruction **map, bool *leaves) {
  Computation *c = body->working.m.computation;
  x = active_value(parts, body, x);
  bool *needed = ARENA_ARRAY(parts->arena, bool, x->id + 1);
  Instruction *from[MAX_ELEMENT_OPERANDS];
  needed[x->id] = true;
  for (int i = x->id; i >= 0; i--) {
    const Instruction *at = c->instructions[i];
    for (int k = 0; needed[i] && k < at->operand_count; k++) {
      needed[active_value(parts, body, at->operands[k])->id] = true;
    }
  }
  for (int i = 0; i <= x->id; i++) {
    const Instruction *at = c->instructions[i];
    if (!needed[i] || map[i]) continue;
    int leaf = at->opcode == HLO_PARAMETER ? input_of(body, at) : -1;
    Scalar number;
    if (at->operand_count > MAX_ELEMENT_OPERANDS) return NULL;
    for (int k = 0; k < at->operand_count; k++) {
      from[k] = map[active_value(parts, body, at->operands[k])->id];
    }
    if (leaf >= 0) {
      leaves[leaf] = true;
      map[i] = state[leaf];
    } else if (at->opcode == HLO_CONSTANT && at->literal && splat_value(at, &number)) {
      map[i] = computation_add_number(to, at->shape->type, number);
    } else if (is_moved(at)) {
      map[i] = from[0];
    } else if (opcode_is_elementwise(at->opcode) && shape_is_array(at->shape)) {
      const Shape *shape = shape_scalar(at->shape->type);
      map[i] = computation_add(to, at->opcode, shape, from, at->operand_count, at->a);
    } else {
      return NULL;
    }
  }
  return map[x->id];
}

/* Begins a computation with a number for each leaf of the state. */
static Computation *begin_elements(const Parts *parts, const char *name, Instruction **state) {
  Computation *to = module_add_computation(parts->loop->working.d->module, name);
  for (int i = 0; i < parts->loop->input_count; i++) {
    PrimitiveType type = parts->loop->inputs[i]->shape->type;
    state[i] = computation_add_parameter(to, i, shape_scalar(type), NULL);
  }
  return to;
}

/* Counts how long a part holds for an element that is active in all iterations; -1: not known. */
static int64_t count_element(const Parts *parts, const Part *part, Instruction *const *init) {
  Body *loop = parts->loop;
  int n = loop->input_count, size = loop->working.m.computation->count;
  Arena *arena = parts->arena;
  bool *leaves = ARENA_ARRAY(arena, bool, n);
  Instruction **state = ARENA_ARRAY(arena, Instruction *, n);
  Instruction **next = ARENA_ARRAY(arena, Instruction *, n);
  Scalar *start = ARENA_ARRAY(arena, Scalar, n);
  for (int i = 0; i < n; i++) {
    if (!shape_is_array(loop->inputs[i]->shape)) return -1;
  }
  Computation *test = begin_elements(parts, "holds", state);
  Instruction **map = ARENA_ARRAY(arena, Instruction *, part->body->working.m.computation->count);
  test->root = copy_element(parts, part->body, part->value, test, state, map, leaves);
  if (!test->root) return -1;
  Computation *step = begin_elements(parts, "step", state);
  map = ARENA_ARRAY(arena, Instruction *, size);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n; i++) {
      if (!leaves[i] || next[i]) continue;
      if (!splat_value(init[i], &start[i])) return -1;
      next[i] = copy_element(parts, loop, loop->results[i], step, state, map, leaves);
      if (!next[i]) return -1;
      changed = true;
    }
  }
  for (int i = 0; i < n; i++) {
    if (!next[i]) next[i] = state[i];
  }
  step->root = computation_add_tuple(step, next, n);
  computation_renumber(test);
  computation_renumber(step);
  int64_t trips = run(test, step, start, n, MAX_COUNTED_TRIPS);
  return trips < 0 ? -1 : trips + part->late;
}

/* ---- Counting ---- */

/* Finds the leaves that a part depends on in any iteration, and what they begin with; the lists in `values` have one
** length, `*count`, at least 1. Returns false if they are not known. */
static bool find_start(WorkingComputation *around, const Part *part, Body *loop,
                       Instruction *const *init, bool *leaves, Literal **values, int64_t *count,
                       int *unknown) {
  if (!find_inputs(part->body, part->value, leaves) || !find_state(loop, leaves)) return false;
  *count = 1;
  const Instruction *source = NULL;
  for (int i = 0; i < loop->input_count; i++) {
    if (!leaves[i]) continue;
    *unknown = i;
    if (!shape_is_scalar(init[i]->shape)) return false;
    values[i] = leaf_literal(init[i], 0);
    if (values[i]) continue;
    values[i] = values_around(around, init[i]);
    if (!values[i]) return false;
    const Instruction *from = source_of(around, init[i]);
    if (source && source != from) return false;
    source = from;
    *count = values[i]->shape->dims[0];
  }
  *unknown = -1;
  return true;
}

static int64_t count_part(WorkingComputation *around, const Part *part, Body *loop,
                          Instruction *const *init, int64_t limit, bool *several, int *unknown) {
  int n = loop->input_count, used = 0;
  bool *leaves = ARENA_ARRAY(loop->working.arena, bool, n);
  Literal **values = ARENA_ARRAY(loop->working.arena, Literal *, n);
  int64_t count;
  if (!find_start(around, part, loop, init, leaves, values, &count, unknown)) return -1;
  Instruction **next = ARENA_ARRAY(loop->working.arena, Instruction *, n);
  Scalar *state = ARENA_ARRAY(loop->working.arena, Scalar, n);
  for (int i = 0; i < n; i++) {
    if (leaves[i]) next[used++] = loop->results[i];
  }
  const Computation *test = scalar_function(part->body, leaves, &part->value, 1);
  const Computation *step = scalar_function(loop, leaves, next, used);
  int64_t max_trips = 0;
  for (int64_t t = 0; t < count && max_trips >= 0; t++) {
    for (int i = 0, at = 0; i < n; i++) {
      if (!leaves[i]) continue;
      bool is_list = values[i]->shape->rank > 0;
      state[at++] = scalar_load(init[i]->shape->type, values[i]->data, is_list ? t : 0);
    }
    int64_t trips = run(test, step, state, used, limit);
    max_trips = trips < 0 ? -1 : max_i64(max_trips, trips + part->late);
  }
  *several = count > 1;
  return max_trips;
}

Trips count_trips(WorkingComputation *around, Body *condition, Body *body,
                  Instruction *const *init) {
  Trips trips = {-1, false, -1, 0};
  Parts parts = {
      .condition = condition, .loop = body, .arena = body->working.arena, .max_active = MAX_ACTIVE};
  Part whole = {condition, condition->results[0], 0};
  bool several = false;
  trips.max = count_part(around, &whole, body, init, MAX_COUNTED_TRIPS, &several, &trips.unknown);
  trips.exact = trips.max >= 0 && !several;
  if (trips.max >= 0) return trips;
  add_parts(&parts, condition, whole.value, 0);
  /* Without the innermost parts: elements that are inactive by these may become active again. */
  while (!keeps_inactive(&parts)) {
    parts.max_active = parts.active_count - 1;
    parts.count = parts.active_count = 0;
    add_parts(&parts, condition, whole.value, 0);
  }
  for (int i = 0; i < parts.count; i++) {
    int ignored;
    const Part *part = &parts.items[i];
    int64_t max = shape_is_scalar(part->value->shape)
                      ? count_part(around, part, body, init, MAX_COUNTED_TRIPS, &several, &ignored)
                      : count_element(&parts, part, init);
    if (max >= 0 && (trips.max < 0 || max < trips.max)) trips.max = max;
  }
  if (trips.max < 0 && trips.unknown < 0) {
    trips.many = max_i64(0, count_part(around, &whole, body, init, 16 * (int64_t)MAX_COUNTED_TRIPS,
                                       &several, &trips.unknown));
  }
  return trips;
}
