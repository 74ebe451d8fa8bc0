/*
** Differentiates a loop in segments of about sqrt(n) iterations (Griewank, 1992):
**
**     the loop      S = while (S0): body          n iterations
**     becomes       S = while (S0): while: body   n / k segments of k iterations
**                   S = while (S): body           the rest
**
** The outer loop saves the state at the beginning of each segment. A segment is done again for the cotangents, and then
** saves what any loop saves. So sqrt(n) states and the values of sqrt(n) iterations are saved, instead of those of n;
** each iteration is done twice.
*/
#include "base/min_max.h"
#include "derive/gradient/linear.h"
#include "hlo/ir/shorthand.h"

CheckpointPlan checkpoint_plan(const Differentiation *d, const Instruction *loop) {
  for (int i = 0; i < d->plan_count; i++) {
    if (d->plans[i].loop == loop) return d->plans[i];
  }
  return (CheckpointPlan){loop, d->checkpoint, d->max_iterations, NULL};
}

/* A loop with the state (step, state of `source`), which makes at most `size` iterations. */
typedef struct Segments {
  WorkingComputation *working;
  const Instruction *source;
  bool counted;
  const Shape *state;
  Literal *const *literals; /* of the leaves of the state */
} Segments;

static void set_plan(const Segments *s, const Instruction *loop, Checkpoint checkpoint,
                     int64_t max) {
  Differentiation *d = s->working->d;
  CheckpointPlan plan = {loop, checkpoint, max, s->literals};
  ARENA_PUSH(s->working->arena, d->plans, d->plan_count, d->plan_capacity, plan);
}

static Instruction *add_call(Computation *to, Computation *callee, Instruction *argument) {
  return computation_add(to, HLO_CALL, callee->root->shape, &argument, 1,
                         ATTRIBUTES(.to_apply = callee));
}

/* step < size, and the condition of the source if its count is not known. Then `size` is no bound of the outer loop. */
static Computation *condition_for(const Segments *s, int64_t size, bool outer) {
  Computation *c = module_add_computation(s->working->d->module, "condition");
  Instruction *parameter = computation_add_parameter(c, 0, s->state, NULL);
  if (!s->counted && outer) {
    c->root = add_call(c, s->source->a->condition, computation_add_element(c, parameter, 1));
    return c;
  }
  Instruction *operands[] = {computation_add_element(c, parameter, 0),
                             computation_add_integer(c, S32, size)};
  Instruction *less = computation_add(c, HLO_COMPARE, shape_scalar(PRED), operands, 2,
                                      ATTRIBUTES(.direction = COMPARE_LT));
  if (s->counted) return c;
  Instruction *state = computation_add_element(c, parameter, 1);
  Instruction *both[] = {less, add_call(c, s->source->a->condition, state)};
  computation_add(c, HLO_AND, shape_scalar(PRED), both, 2, NULL);
  return c;
}

/* Adds a loop from `state` on, of these iterations; without a body, that of the source. Returns the state after it. */
static Instruction *add_loop(const Segments *s, Computation *to, Instruction *state, int64_t size,
                             int64_t inner, Checkpoint checkpoint) {
  Computation *body = module_add_computation(s->working->d->module, "segment");
  Instruction *parameter = computation_add_parameter(body, 0, s->state, NULL);
  Instruction *step[] = {computation_add_element(body, parameter, 0),
                         computation_add_integer(body, S32, 1)};
  Instruction *before = computation_add_element(body, parameter, 1);
  Instruction *after = inner ? add_loop(s, body, before, inner, 0, CHECKPOINT_NONE)
                             : add_call(body, s->source->a->body, before);
  Instruction *next[] = {computation_add(body, HLO_ADD, step[0]->shape, step, 2, NULL), after};
  body->root = computation_add_tuple(body, next, 2);
  Computation *condition = condition_for(s, size, inner != 0);
  Instruction *first[] = {computation_add_integer(to, S32, 0), state};
  Instruction *init = computation_add_tuple(to, first, 2);
  Instruction *loop = computation_add(to, HLO_WHILE, s->state, &init, 1,
                                      ATTRIBUTES(.condition = condition, .body = body));
  set_plan(s, loop, checkpoint, size);
  return computation_add_element(to, loop, 1);
}

static int64_t square_root(int64_t n) {
  int64_t k = 1;
  while (k * k < n) k++;
  return k;
}

Instruction *replace_by_segments(WorkingComputation *working, const Instruction *x,
                                 Instruction **operands, int64_t iterations, bool counted,
                                 Literal *const *literals) {
  const Shape *elements[] = {shape_scalar(S32), x->shape};
  int leaves = shape_leaves(x->shape);
  Literal **known = ARENA_ARRAY(working->arena, Literal *, leaves + 1);
  for (int i = 0; i < leaves; i++) known[i + 1] = literals[i];
  Segments s = {working, x, counted, shape_tuple(working->arena, 2, elements), known};
  int64_t size = square_root(iterations);
  int64_t count = counted ? iterations / size : divide_up(iterations, size);
  Computation *c = module_add_computation(working->d->module, "segments");
  Instruction *state = computation_add_parameter(c, 0, x->shape, NULL);
  state = add_loop(&s, c, state, count, size, CHECKPOINT_ALL);
  int64_t rest = counted ? iterations - count * size : 0;
  if (rest) state = add_loop(&s, c, state, rest, 0, CHECKPOINT_NONE);
  c->root = state;
  return linear_inline(working, c, operands);
}
