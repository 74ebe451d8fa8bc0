#include "rewrite/gradient/trips.h"

#include "base/min_max.h"
#include "base/scope.h"
#include "reference/eval.h"
#include "rewrite/rewrite.h"

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
  Computation *c = b->l.m.computation;
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
      bool *more = ARENA_ARRAY(body->l.arena, bool, body->input_count);
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
  Extraction e = extract_begin(&b->l, "count");
  for (int i = 0, number = 0; i < b->input_count; i++) {
    if (!leaves[i]) continue;
    extract_bind(&e, b->inputs[i],
                 computation_add_parameter(e.to, number++, b->inputs[i]->shape, NULL));
  }
  Instruction **results = ARENA_ARRAY(b->l.arena, Instruction *, count);
  for (int i = 0; i < count; i++) results[i] = extract(&e, values[i]);
  e.to->root = count == 1 ? results[0] : computation_add_tuple(e.to, results, count);
  computation_renumber(e.to);
  return e.to;
}

/* Returns the number of times that `test` holds in a row, up to `limit`; -1 if it holds longer, or cannot be evaluated. */
static int64_t run(const Computation *test, const Computation *body, Scalar *state, int count,
                   int64_t limit) {
  Arena *scratch = arena_new();
  Error error = {0};
  int64_t budget = 64 * limit, trips = -1;
  EvalContext context = {.arena = scratch, .error = &error, .budget = &budget};
  EvalApply *holds = eval_apply_new(test, &context), *step = eval_apply_new(body, &context);
  Scalar *next = ARENA_ARRAY(scratch, Scalar, count), goes_on = {0};
  for (int64_t i = 0; holds && step && i <= limit; i++) {
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
static Instruction *source_of(Linear *l, const Instruction *x) {
  Computation *c = l->m.computation;
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

Literal *values_around(Linear *l, Instruction *x) {
  Instruction *source = x && shape_is_scalar(x->shape) ? source_of(l, x) : NULL;
  if (!source || source->literal->shape->rank != 1) return NULL;
  if (source == x) return source->literal;
  Extraction e = extract_begin(l, "value");
  extract_bind(&e, source, computation_add_parameter(e.to, 0, source->shape, NULL));
  e.to->root = extract(&e, x);
  computation_renumber(e.to);
  int64_t count = source->literal->shape->dims[0], budget = 64 * MAX_VALUES_AROUND;
  Literal *values = literal_new(l->arena, shape_of(&l->m, x->shape->type, 1, &count));
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

typedef struct Parts {
  Body *condition, *loop;
  Arena *arena;
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

/* Adds the predicates that must hold if an element of `x` does. */
static void add_parts(Parts *parts, Body *body, Instruction *x, int late) {
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
    bool any = opcode == HLO_AND || (opcode == HLO_OR && is_false(x->operands[1]));
    if (any && x->operand_count == 2) add_parts(parts, body, x->operands[0], late);
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
  if (shape_is_scalar(x->shape)) {
    ARENA_PUSH(parts->arena, parts->items, parts->count, parts->capacity, part);
  }
}

/* ---- Counting ---- */

/* Finds the leaves that a part depends on in any iteration, and what they begin with; the lists in `values` have one
** length, `*count`, at least 1. Returns false if they are not known. */
static bool find_start(Linear *around, const Part *part, Body *loop, Instruction *const *init,
                       bool *leaves, Literal **values, int64_t *count, int *unknown) {
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

static int64_t count_part(Linear *around, const Part *part, Body *loop, Instruction *const *init,
                          int64_t limit, bool *several, int *unknown) {
  int n = loop->input_count, used = 0;
  bool *leaves = ARENA_ARRAY(loop->l.arena, bool, n);
  Literal **values = ARENA_ARRAY(loop->l.arena, Literal *, n);
  int64_t count;
  if (!find_start(around, part, loop, init, leaves, values, &count, unknown)) return -1;
  Instruction **next = ARENA_ARRAY(loop->l.arena, Instruction *, n);
  Scalar *state = ARENA_ARRAY(loop->l.arena, Scalar, n);
  for (int i = 0; i < n; i++) {
    if (leaves[i]) next[used++] = loop->results[i];
  }
  const Computation *test = scalar_function(part->body, leaves, &part->value, 1);
  const Computation *step = scalar_function(loop, leaves, next, used);
  int64_t most = 0;
  for (int64_t t = 0; t < count && most >= 0; t++) {
    for (int i = 0, at = 0; i < n; i++) {
      if (!leaves[i]) continue;
      bool is_list = values[i]->shape->rank > 0;
      state[at++] = scalar_load(init[i]->shape->type, values[i]->data, is_list ? t : 0);
    }
    int64_t trips = run(test, step, state, used, limit);
    most = trips < 0 ? -1 : max_i64(most, trips + part->late);
  }
  *several = count > 1;
  return most;
}

Trips count_trips(Linear *around, Body *condition, Body *body, Instruction *const *init) {
  Trips trips = {-1, false, -1, 0};
  Parts parts = {.condition = condition, .loop = body, .arena = body->l.arena};
  Part whole = {condition, condition->results[0], 0};
  bool several = false;
  trips.max = count_part(around, &whole, body, init, MAX_COUNTED_TRIPS, &several, &trips.unknown);
  trips.exact = trips.max >= 0 && !several;
  if (trips.max >= 0) return trips;
  add_parts(&parts, condition, whole.value, 0);
  for (int i = 0; i < parts.count; i++) {
    int ignored;
    int64_t max =
        count_part(around, &parts.items[i], body, init, MAX_COUNTED_TRIPS, &several, &ignored);
    if (max >= 0 && (trips.max < 0 || max < trips.max)) trips.max = max;
  }
  if (trips.max < 0 && trips.unknown < 0) {
    trips.many = max_i64(0, count_part(around, &whole, body, init, 16 * (int64_t)MAX_COUNTED_TRIPS,
                                       &several, &trips.unknown));
  }
  return trips;
}
