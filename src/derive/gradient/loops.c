/*
** Differentiates while loops.
**
** Forward mode: the state has the tangents, too.
**
**     (x, tx) = while (x0, tx0): (x, tx) = jvp of body
**
** Reverse mode, for n iterations: the first loop also counts, and saves the values that the transposition of the body
** needs in stacks of n entries. The second loop goes through the stacks from the last entry to the first.
**
**     (x, i, stacks) = while (x0, 0, zeros): x = body(x); stacks[i] = values inside the body; i = i + 1
**     (k, cx) = while (0, cx): cx = transposition of body, for stacks[i - 1 - k]; k = k + 1
**
** Not saved: values that all iterations share, and values computed cheaply from these and from the loop's counter.
** n is known if the condition depends on constants only, and has an upper bound if a part of it does (trips.h). Otherwise
** the caller gives a max, or it is GUESSED_TRIPS, in segments; a loop that makes more iterations has cotangents that are
** NaN. Nothing is guessed for a loop that draws random numbers: where they decide its end, as in a rejection sampler, the
** derivative of its iterations is not that of the sample.
**
** Checkpoints: with CHECKPOINT_ALL only the state is saved, and the second loop does the body again. A loop in such a body
** is done again as well, for its stacks alone: its values and its stacks are then two loops. CHECKPOINT_SQRT is that of
** loops in segments (segments.c); loops with operations that must not be done twice have CHECKPOINT_ALL instead.
*/
#include "derive/gradient/body.h"
#include "derive/gradient/trips.h"
#include "plan/counted_loop.h"
#include "rewrite/base/rewrite.h"

enum {
  /* Threshold MIN_SEGMENTED: iterations of a loop that is worth segments. Test: "loops of 1 to
  ** 17 iterations: the same gradient, whatever is saved" in api/gradients.test.mjs. */
  MIN_SEGMENTED = 4,
  /* Threshold GUESSED_TRIPS. Test: "loops of at most 65,536 iterations need no bound" in api/gradients.test.mjs. */
  GUESSED_TRIPS = 1 << 16,
  /* Threshold MAX_GUESSED_BYTES: bytes of one state; the segments save 512 states. Test: "no
  ** bound is guessed for loops with much state, or with random numbers" in api/gradients.test.mjs. */
  MAX_GUESSED_BYTES = 1 << 18
};

typedef struct Loop {
  const Instruction *x; /* in the source */
  Instruction *init;
  int count;    /* leaves of the state */
  bool *active; /* which have tangents in some iteration */
  CheckpointPlan plan;
  Literal **literals; /* of leaves that the loop does not change: the value if it is known */
  Body body, condition;
  bool counted; /* `size` is the number of iterations, else an upper bound, */
  bool proven;  /* which the program cannot exceed */
  CountedLoop counter;
  int counter_leaf; /* -1: none */
  bool *kept;       /* which the loop with the stacks has in its state */
  int64_t size;     /* of the stacks */
  Cut cut;
  Values inputs; /* tangents of the active leaves, before the loop */
  /* After the first loop, in the computation around it: */
  Values fixed; /* leaves that the loop does not change; NULL for others */
  Values stacks;
  Instruction *iterations; /* s32[] */
} Loop;

/* An iteration may give a tangent to a leaf that had none: the body is differentiated until all are found. */
static bool loop_linearize(WorkingComputation *working, Loop *loop) {
  bool recomputed = loop->plan.checkpoint == CHECKPOINT_ALL;
  for (;;) {
    working->d->recomputed += recomputed;
    bool done =
        body_linearize(&loop->body, working->d, loop->x->a->body, loop->active, loop->literals);
    working->d->recomputed -= recomputed;
    if (!done) return false;
    bool changed = false;
    for (int i = 0; i < loop->count; i++) {
      if (!loop->body.result_tangents[i] || loop->active[i]) continue;
      loop->active[i] = changed = true;
    }
    if (!changed) return true;
  }
}

/* Whether the body returns element i of a tuple of arrays as it is. */
static bool is_carried(const Instruction *loop, int i) {
  const Instruction *root = loop->a->body->root;
  if (root->opcode != HLO_TUPLE_OP || !shape_is_array(root->operands[i]->shape)) return false;
  const Instruction *x = root->operands[i];
  return x->opcode == HLO_GET_TUPLE_ELEMENT && x->operands[0]->opcode == HLO_PARAMETER &&
         x->a->tuple_index == i;
}

/* Returns the values of a counter in all iterations; NULL if there are too many. */
static Literal *counter_values(WorkingComputation *working, const CountedLoop *counter,
                               PrimitiveType type) {
  if (counter->iterations > MAX_VALUES_AROUND) return NULL;
  Literal *values =
      literal_new(working->arena, shape_of(&working->m, type, 1, &counter->iterations));
  for (int64_t i = 0; i < counter->iterations; i++) {
    scalar_store(type, values->data, i, (Scalar){.i = counter->first + i * counter->step});
  }
  return values;
}

static void find_literals(WorkingComputation *working, Loop *loop) {
  loop->literals = ARENA_ARRAY(working->arena, Literal *, loop->count);
  for (int i = 0; loop->plan.literals && i < loop->count; i++) {
    loop->literals[i] = loop->plan.literals[i];
  }
  if (!shape_is_tuple(loop->x->shape) || loop->x->shape->tuple_size != loop->count) return;
  CountedLoop counter;
  bool counts = counted_loop_find(loop->x, &counter);
  for (int i = 0; i < loop->count; i++) {
    const Shape *shape = loop->x->shape->elements[i];
    if (counts && counter.element == i) {
      loop->literals[i] = counter_values(working, &counter, shape->type);
    } else if (is_carried(loop->x, i)) {
      loop->literals[i] = leaf_literal(loop->init, i);
      if (!loop->literals[i]) loop->literals[i] = values_around(working, leaf_array(loop->init, i));
    }
  }
}

static bool loop_begin(WorkingComputation *working, Loop *loop, const Instruction *x,
                       Instruction *init) {
  *loop = (Loop){.x = x,
                 .init = init,
                 .count = shape_leaves(x->shape),
                 .plan = checkpoint_plan(working->d, x),
                 .counter_leaf = -1};
  /* Segments run the body twice, which operations that act on the host or on other devices must not do. */
  bool acts = working->d->reverse && instruction_reaches(x, instruction_acts);
  if (acts && loop->plan.checkpoint == CHECKPOINT_SQRT) loop->plan.checkpoint = CHECKPOINT_ALL;
  loop->active = ARENA_ARRAY(working->arena, bool, loop->count);
  loop->kept = ARENA_ARRAY(working->arena, bool, loop->count);
  for (int i = 0; i < loop->count; i++) {
    loop->active[i] = tangent_leaf(working, init, i) != NULL;
    loop->kept[i] = true;
  }
  find_literals(working, loop);
  bool *none = ARENA_ARRAY(working->arena, bool, loop->count);
  if (!body_linearize(&loop->condition, working->d, x->a->condition, none, loop->literals))
    return false;
  if (!loop_linearize(working, loop)) return false;
  useful_restrict(working->d, x->a->body, loop->active);
  for (int i = 0; i < loop->count; i++) {
    if (!loop->active[i]) continue;
    Instruction *tangent = tangent_leaf(working, init, i);
    values_push(working, &loop->inputs,
                tangent ? tangent : make_zeros(&working->m, shape_leaf(x->shape, i)));
  }
  return true;
}

/* Binds the leaves that are kept to the first elements of a new state. Returns how many there are. */
static int bind_state(const Loop *loop, Packed *p, const Body *b) {
  int next = 0;
  for (int i = 0; i < loop->count; i++) {
    if (loop->kept[i]) extract_bind(&p->e, b->inputs[i], packed_element(p, next++));
  }
  return next;
}

/* The condition, for a state that begins with the leaves of the old one. */
static Computation *condition_of(Loop *loop, const Shape *state) {
  Packed p = packed_begin(&loop->condition, "condition", state);
  bind_state(loop, &p, &loop->condition);
  p.e.to->root = extract(&p.e, loop->condition.results[0]);
  return p.e.to;
}

static Instruction *add_while(WorkingComputation *working, Computation *condition,
                              Computation *body, Instruction *init) {
  return make(&working->m, HLO_WHILE, init->shape, &init, 1,
              ATTRIBUTES(.condition = condition, .body = body));
}

/* Leaves that the loop does not change are those before it. */
static Instruction *state_of(WorkingComputation *working, const Loop *loop, Instruction *made) {
  Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, loop->count);
  make_leaves(working, loop->init, leaves);
  for (int i = 0; i < loop->count; i++) {
    bool same = loop->body.results[i] == loop->body.inputs[i];
    if (!same) leaves[i] = make_element(working, made, i);
  }
  Instruction *const *next = leaves;
  return value_from_leaves(&working->m, loop->x->shape, &next);
}

/* Writes the leaves of the state before the loop. */
static Values initial_state(WorkingComputation *working, const Loop *loop) {
  Values state = {0};
  Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, loop->count);
  make_leaves(working, loop->init, leaves);
  for (int i = 0; i < loop->count; i++) {
    if (loop->kept[i]) values_push(working, &state, leaves[i]);
  }
  return state;
}

/* ---- Forward ---- */

static Instruction *replace_forward(WorkingComputation *working, Loop *loop) {
  Body *b = &loop->body;
  Values state = initial_state(working, loop), next = {0};
  for (int i = 0; i < loop->inputs.count; i++) values_push(working, &state, loop->inputs.items[i]);
  Instruction *init = values_tuple(working, &state);
  Packed p = packed_begin(b, "jvp", init->shape);
  int at = loop->count;
  for (int i = 0; i < loop->count; i++) {
    extract_bind(&p.e, b->inputs[i], packed_element(&p, i));
    if (b->tangents[i]) extract_bind(&p.e, b->tangents[i], packed_element(&p, at++));
  }
  for (int i = 0; i < loop->count; i++) values_push(working, &next, extract(&p.e, b->results[i]));
  for (int i = 0; i < loop->count; i++) {
    if (!loop->active[i]) continue;
    values_push(working, &next, packed_copy(&p, b->result_tangents[i], b->results[i]->shape));
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, next.items, next.count);
  Instruction *made = add_while(working, condition_of(loop, init->shape), p.e.to, init);
  Instruction *value = state_of(working, loop, made);
  at = loop->count;
  for (int i = 0; i < loop->count; i++) {
    if (loop->active[i]) set_tangent_leaf(working, value, i, make_element(working, made, at++));
  }
  note_elements(working, value);
  return value;
}

/* ---- Reverse: which values are saved ---- */

/* Operations that are done again in the second loop, on values that are known there: they cost no more than reading
** the result from a stack. */
static bool is_light(const Instruction *x) {
  switch (opcode_category(x->opcode)) {
  case ELEMENTWISE_UNARY:
  case ELEMENTWISE_BINARY:
  case ELEMENTWISE_TERNARY:
  case CONVERSION: return true;
  case MOVEMENT: return x->opcode != HLO_DYNAMIC_UPDATE_SLICE;
  default: return false;
  }
}

/* Sets a flag for each value of the body that the second loop can compute without a stack. */
static bool *find_known(WorkingComputation *working, Loop *loop) {
  Body *b = &loop->body;
  int n = b->working.m.computation->count;
  bool *known = ARENA_ARRAY(working->arena, bool, n), *fixed = ARENA_ARRAY(working->arena, bool, n);
  for (int i = 0; i < loop->count; i++) {
    bool same = b->results[i] == b->inputs[i];
    fixed[b->inputs[i]->id] = same;
    known[b->inputs[i]->id] = same || i == loop->counter_leaf;
  }
  for (int i = 0; i < n; i++) {
    const Instruction *x = b->working.m.computation->instructions[i];
    if (x->opcode == HLO_PARAMETER || is_linear(&b->working, x)) continue;
    bool all_fixed = x->operand_count || x->literal || x->opcode == HLO_IOTA;
    bool all_known = all_fixed;
    for (int k = 0; k < x->operand_count; k++) {
      all_fixed &= fixed[x->operands[k]->id];
      all_known &= known[x->operands[k]->id];
    }
    fixed[i] = all_fixed && !instruction_has_side_effect(x);
    known[i] = fixed[i] || (all_known && is_light(x));
  }
  return known;
}

static int64_t leaf_bytes(const Shape *shape) {
  int64_t bytes = 0;
  for (int i = 0, count = shape_leaves(shape); i < count; i++)
    bytes += shape_bytes(shape_leaf(shape, i));
  return bytes;
}

static bool draws_or_acts(const Instruction *x) {
  return makes_floats_of_bits(x) || x->opcode == HLO_RNG_BIT_GENERATOR || instruction_acts(x);
}

/* Guesses an upper bound; the segments' memory does not grow with the iterations that are made. */
static bool guess_trips(Loop *loop) {
  if (leaf_bytes(loop->x->shape) > MAX_GUESSED_BYTES || instruction_reaches(loop->x, draws_or_acts))
    return false;
  loop->size = GUESSED_TRIPS;
  loop->plan.checkpoint = CHECKPOINT_SQRT;
  return true;
}

/* Finds the number of iterations, or the bound that is given. Returns NULL, or why there is none. */
static const char *loop_count(WorkingComputation *working, Loop *loop) {
  loop->counted = counted_loop_find(loop->x, &loop->counter);
  if (loop->counted) {
    loop->size = loop->counter.iterations;
    loop->counter_leaf = 0;
    for (int64_t i = 0; i < loop->counter.element; i++) {
      loop->counter_leaf += shape_leaves(loop->x->shape->elements[i]);
    }
    return NULL;
  }
  Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, loop->count);
  make_leaves(working, loop->init, leaves);
  Trips trips = count_trips(working, &loop->condition, &loop->body, leaves);
  int64_t given = loop->plan.max_iterations;
  loop->counted = trips.exact || trips.max == 0;
  loop->proven = trips.max >= 0 && (!given || trips.max <= given);
  loop->size = loop->proven ? trips.max : given;
  if (loop->size || loop->proven || (!trips.many && guess_trips(loop))) return NULL;
  const char *why = "";
  if (trips.many) {
    why = arena_printf(working->arena, ", as it makes %lld, more than the %d that are counted",
                       (long long)trips.many, MAX_COUNTED_TRIPS);
  } else if (trips.unknown >= 0) {
    why = arena_printf(working->arena,
                       ", as its condition depends on element %d of the state, of shape %s, which "
                       "does not begin with a constant",
                       trips.unknown, shape_str(working->arena, leaves[trips.unknown]->shape));
  }
  return arena_printf(working->arena,
                      "is a loop whose number of iterations is not known before the run%s; give an "
                      "upper bound (maxTrips), use jvp, or export from JAX with "
                      "serialize(vjp_order=1), which keeps JAX's own gradient: module.vjp",
                      why);
}

static bool loop_cut(WorkingComputation *working, Loop *loop) {
  if (!body_transpose(&loop->body, loop->active)) return false;
  bool *known = find_known(working, loop);
  loop->cut = cut_primal(&loop->body.working, loop->body.cotangents, loop->count, known,
                         loop->plan.checkpoint == CHECKPOINT_ALL);
  return true;
}

/* ---- Reverse: the first loop ---- */

/* Returns the shape of `count` entries. */
static const Shape *stacked(WorkingComputation *working, const Shape *shape, int64_t count) {
  int64_t dims[MAX_RANK] = {count};
  if (shape->rank == MAX_RANK) {
    working->d->failed = true;
    error_set_op(working->d->error, STATUS_UNIMPLEMENTED, "gradient",
                 "a value of shape %s inside a loop has too many dimensions to be saved for each "
                 "iteration",
                 shape_str(working->arena, shape));
    return shape;
  }
  for (int d = 0; d < shape->rank; d++) dims[d + 1] = shape->dims[d];
  return shape_of(&working->m, shape->type, shape->rank + 1, dims);
}

/* Returns the indices of entry `at`, after `count` free places for other operands. */
static Instruction **entry_indices(WorkingComputation *working, Computation *to, int count,
                                   const Shape *shape, Instruction *at) {
  Instruction **operands = ARENA_ARRAY(working->arena, Instruction *, count + shape->rank + 1);
  operands[count] = at;
  for (int d = 0; d < shape->rank; d++)
    operands[count + 1 + d] = computation_add_integer(to, S32, 0);
  return operands;
}

static Instruction *add_push(WorkingComputation *working, Computation *to, Instruction *stack,
                             Instruction *value, Instruction *at) {
  const Shape *shape = value->shape, *entry = stacked(working, shape, 1);
  Instruction **operands = entry_indices(working, to, 2, shape, at);
  operands[0] = stack;
  operands[1] = computation_add_reshape(to, value, entry->rank, entry->dims);
  return computation_add(to, HLO_DYNAMIC_UPDATE_SLICE, stack->shape, operands, shape->rank + 3,
                         NULL);
}

static Instruction *add_read(WorkingComputation *working, Computation *to, Instruction *stack,
                             const Shape *shape, Instruction *at) {
  const Shape *entry = stacked(working, shape, 1);
  Instruction **operands = entry_indices(working, to, 1, shape, at);
  operands[0] = stack;
  Instruction *read = computation_add(to, HLO_DYNAMIC_SLICE, entry, operands, shape->rank + 2,
                                      ATTRIBUTES(.slice_sizes = {entry->rank, entry->dims}));
  return computation_add_reshape(to, read, shape->rank, shape->dims);
}

/* Keeps those leaves of the state that the stacks depend on. */
static bool keep_for_stacks(Loop *loop) {
  for (int i = 0; i < loop->count; i++) loop->kept[i] = false;
  bool found = find_inputs(&loop->condition, loop->condition.results[0], loop->kept);
  for (int i = 0; i < loop->cut.count; i++) {
    found &= find_inputs(&loop->body, loop->cut.saved[i], loop->kept);
  }
  return found & find_state(&loop->body, loop->kept);
}

static Instruction *add_first_loop(WorkingComputation *working, Loop *loop) {
  Body *b = &loop->body;
  Values state = initial_state(working, loop), next = {0};
  values_push(working, &state, make_number(&working->m, shape_scalar(S32), 0));
  for (int i = 0; i < loop->cut.count; i++) {
    const Shape *shape = stacked(working, loop->cut.saved[i]->shape, loop->size);
    values_push(working, &state, make_zeros(&working->m, shape));
  }
  Instruction *init = values_tuple(working, &state);
  Packed p = packed_begin(b, "forward", init->shape);
  int first = bind_state(loop, &p, b);
  for (int i = 0; i < loop->count; i++) {
    if (loop->kept[i]) values_push(working, &next, extract(&p.e, b->results[i]));
  }
  Instruction *at = packed_element(&p, first);
  values_push(working, &next,
              computation_add_binary(p.e.to, HLO_ADD, at, computation_add_integer(p.e.to, S32, 1)));
  for (int i = 0; i < loop->cut.count; i++) {
    Instruction *stack = packed_element(&p, first + 1 + i);
    Instruction *value = extract(&p.e, loop->cut.saved[i]);
    values_push(working, &next, add_push(working, p.e.to, stack, value, at));
  }
  extract_effects(&p.e);
  computation_add_tuple(p.e.to, next.items, next.count);
  return add_while(working, condition_of(loop, init->shape), p.e.to, init);
}

/* ---- Reverse: the second loop ---- */

/* Its state: k, the number of iterations, then cotangents, fixed leaves, stacks. */
enum { STATE_STEP, STATE_ITERATIONS, STATE_FIRST };

static Computation *backward_condition(WorkingComputation *working, const Loop *loop,
                                       const Shape *state) {
  Computation *c = module_add_computation(working->d->module, "condition");
  Instruction *parameter = computation_add_parameter(c, 0, state, NULL);
  Instruction *step = computation_add_element(c, parameter, STATE_STEP);
  Instruction *end = loop->counted ? computation_add_integer(c, S32, loop->size)
                                   : computation_add_element(c, parameter, STATE_ITERATIONS);
  computation_add(c, HLO_COMPARE, shape_scalar(PRED), (Instruction *[]){step, end}, 2,
                  ATTRIBUTES(.direction = COMPARE_LT));
  return c;
}

/* Binds the counter's value in iteration `at`: first + at * step. */
static void bind_counter(const Loop *loop, Packed *p, Instruction *at) {
  Instruction *input = loop->body.inputs[loop->counter_leaf];
  PrimitiveType type = input->shape->type;
  Computation *to = p->e.to;
  Instruction *index =
      type == S32 ? at : computation_add(to, HLO_CONVERT, input->shape, &at, 1, NULL);
  Instruction *step = computation_add_integer(to, type, loop->counter.step);
  Instruction *first = computation_add_integer(to, type, loop->counter.first);
  Instruction *offset = computation_add_binary(to, HLO_MULTIPLY, index, step);
  extract_bind(&p->e, input, computation_add_binary(to, HLO_ADD, first, offset));
}

static Computation *backward_body(WorkingComputation *working, Loop *loop, const Shape *state) {
  Body *b = &loop->body;
  Packed p = packed_begin(b, "backward", state);
  Computation *to = p.e.to;
  Instruction *step = packed_element(&p, STATE_STEP), *n = packed_element(&p, STATE_ITERATIONS);
  Instruction *end = loop->counted ? computation_add_integer(to, S32, loop->size) : n;
  Instruction *last =
      computation_add_binary(to, HLO_SUBTRACT, end, computation_add_integer(to, S32, 1));
  Instruction *at = computation_add_binary(to, HLO_SUBTRACT, last, step);
  Values next = {0};
  values_push(working, &next,
              computation_add_binary(to, HLO_ADD, step, computation_add_integer(to, S32, 1)));
  values_push(working, &next, n);
  int element = STATE_FIRST;
  for (int i = 0; i < loop->count; i++) {
    if (loop->active[i]) extract_bind(&p.e, b->seeds[i], packed_element(&p, element++));
  }
  for (int i = 0; i < loop->count; i++) {
    if (loop->fixed.items[i]) extract_bind(&p.e, b->inputs[i], packed_element(&p, element++));
  }
  if (loop->counter_leaf >= 0) bind_counter(loop, &p, at);
  for (int i = 0; i < loop->cut.count; i++, element++) {
    const Shape *shape = loop->cut.saved[i]->shape;
    Instruction *stack = packed_element(&p, element);
    Instruction *value = add_read(working, to, stack, shape, at);
    if (loop->plan.checkpoint == CHECKPOINT_ALL) { /* else products of all entries may be hoisted */
      value = computation_add(to, HLO_OPTIMIZATION_BARRIER, shape, &value, 1, NULL);
    }
    extract_bind(&p.e, loop->cut.saved[i], value);
  }
  for (int i = 0; i < loop->count; i++) {
    if (!loop->active[i]) continue;
    values_push(working, &next, packed_copy(&p, b->cotangents[i], b->inputs[i]->shape));
  }
  for (int i = next.count; i < state->tuple_size; i++) {
    values_push(working, &next, packed_element(&p, i));
  }
  computation_add_tuple(to, next.items, next.count);
  return to;
}

/* NaN, if the loop made more iterations than its stacks have entries. */
static Instruction *checked(WorkingComputation *working, const Loop *loop, Instruction *cotangent) {
  if (loop->counted || loop->proven) return cotangent;
  Instruction *max = make_number(&working->m, shape_scalar(S32), (double)loop->size);
  Instruction *more = make_compare(&working->m, COMPARE_GT, loop->iterations, max);
  return make_select(&working->m, more,
                     make_number(&working->m, cotangent->shape, __builtin_nan("")), cotangent);
}

static void transpose_while(WorkingComputation *working, Instruction *x, Instruction *const *ct) {
  Loop *loop = (Loop *)facts_of(working, x)->data;
  Values state = {0};
  values_push(working, &state, make_number(&working->m, shape_scalar(S32), 0));
  values_push(working, &state, loop->iterations);
  for (int i = 0; i < x->operand_count; i++) {
    values_push(working, &state, ct[i] ? ct[i] : make_zeros(&working->m, x->operands[i]->shape));
  }
  for (int i = 0; i < loop->count; i++) {
    if (loop->fixed.items[i]) values_push(working, &state, loop->fixed.items[i]);
  }
  for (int i = 0; i < loop->stacks.count; i++) values_push(working, &state, loop->stacks.items[i]);
  Instruction *init = values_tuple(working, &state);
  Computation *body = backward_body(working, loop, init->shape);
  Instruction *made =
      add_while(working, backward_condition(working, loop, init->shape), body, init);
  for (int i = 0; i < x->operand_count; i++) {
    Instruction *cotangent = make_element(working, made, STATE_FIRST + i);
    add_cotangent(working, x->operands[i], checked(working, loop, cotangent));
  }
}

/* Adds the first loop. Returns the value of x, and in *stacks the loop with the stacks, which begin at element *first. */
static Instruction *add_values(WorkingComputation *working, Loop *loop, Instruction **stacks,
                               int *first) {
  bool acts = instruction_reaches(loop->x, instruction_acts);
  bool apart = working->d->recomputed && !acts && keep_for_stacks(loop);
  if (!apart) {
    for (int i = 0; i < loop->count; i++) loop->kept[i] = true;
  }
  *stacks = add_first_loop(working, loop);
  *first = (*stacks)->shape->tuple_size - loop->cut.count;
  if (!apart) return state_of(working, loop, *stacks);
  Instruction *whole = keep_instruction(working, loop->x, &loop->init);
  Instruction **leaves = ARENA_ARRAY(working->arena, Instruction *, loop->count);
  make_leaves(working, whole, leaves);
  return state_of(working, loop,
                  computation_add_tuple(working->m.computation, leaves, loop->count));
}

static Instruction *replace_reverse(WorkingComputation *working, Loop *loop) {
  if (!loop_cut(working, loop)) return loop->init;
  if (loop->counted && loop->size == 0) return loop->init;
  Instruction *made;
  int first;
  Instruction *value = add_values(working, loop, &made, &first);
  Instruction **before = ARENA_ARRAY(working->arena, Instruction *, loop->count);
  make_leaves(working, loop->init, before);
  for (int i = 0; i < loop->count; i++) {
    bool same = loop->body.results[i] == loop->body.inputs[i];
    values_push(working, &loop->fixed, same ? before[i] : NULL);
  }
  loop->iterations = make_element(working, made, first - 1);
  for (int i = 0; i < loop->cut.count; i++) {
    values_push(working, &loop->stacks, make_element(working, made, first + i));
  }
  set_linear_results(working, value, loop->active, &loop->inputs, transpose_while, loop);
  return value;
}

/* Keeps a loop without a derivative: a program may need only its integers, as of a sampler. */
static Instruction *refuse_loop(WorkingComputation *working, Loop *loop, const char *why) {
  Instruction *value = keep_instruction(working, loop->x, &loop->init);
  for (int i = 0; i < loop->count; i++) {
    if (loop->active[i]) refuse_leaf(working, value, i, loop->x, why);
  }
  return value;
}

static Instruction *replace_loop(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands) {
  Loop *loop = ARENA_NEW(working->arena, Loop);
  if (!loop_begin(working, loop, x, operands[0])) return operands[0];
  if (!working->d->reverse) return replace_forward(working, loop);
  const char *why = loop_count(working, loop);
  if (why) return refuse_loop(working, loop, why);
  bool splits = loop->plan.checkpoint == CHECKPOINT_SQRT && loop->size >= MIN_SEGMENTED;
  if (splits)
    return replace_by_segments(working, x, operands, loop->size, loop->counted, loop->literals);
  return replace_reverse(working, loop);
}

/* A loop that does not count its iterations ends by the values that it computes, maybe where slopes are infinite. */
Instruction *replace_while(WorkingComputation *working, const Instruction *x,
                           Instruction **operands) {
  CountedLoop counter;
  bool guarded = !counted_loop_find(x, &counter);
  working->d->guarded += guarded;
  Instruction *value = replace_loop(working, x, operands);
  working->d->guarded -= guarded;
  return value;
}
