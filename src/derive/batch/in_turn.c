/*
** The rule for operations that have no form for batches, and for control flow with side effects: a loop, which takes the
** elements of the batch in turn.
**
**     (i, results, operands) = while (0, zeros, operands) with i < size:
**         results[i] = operation of operands[i];  i = i + 1
*/
#include "derive/batch/batching.h"

/* The state of the loop: leaf 0 is the counter; then the leaves of the results, then the operands. */
typedef struct Turns {
  Batching *b;
  const Instruction *x;
  Instruction **operands;
  int results;        /* leaves */
  const Shape *state; /* a tuple */
  Maker m;            /* adds to the computation that is being written */
  Instruction *parameter;
} Turns;

static Instruction *number(Turns *t, int64_t value) {
  return computation_add_integer(t->m.computation, S32, value);
}

/* Begins the condition or the body. */
static void begin(Turns *t, const char *name) {
  Batch *all = t->b->all;
  t->m = (Maker){module_add_computation(all->module, name), all->error, &all->failed};
  t->parameter = computation_add_parameter(t->m.computation, 0, t->state, NULL);
}

static Instruction *element(Turns *t, int index) {
  return computation_add_element(t->m.computation, t->parameter, index);
}

static Instruction *initial_state(Turns *t) {
  Instruction **state =
      ARENA_ARRAY(t->b->arena, Instruction *, 1 + t->results + t->x->operand_count);
  int count = 0;
  t->m = t->b->m;
  state[count++] = number(t, 0);
  for (int i = 0; i < t->results; i++) {
    const Shape *shape = shape_leaf(t->x->shape, i);
    state[count++] = shape_is_token(shape) ? make(&t->m, HLO_AFTER_ALL, shape, NULL, 0, NULL)
                                           : make_zeros(&t->m, batched_shape(t->b, shape));
  }
  for (int k = 0; k < t->x->operand_count; k++) state[count++] = t->operands[k];
  return computation_add_tuple(t->m.computation, state, count);
}

static Computation *make_condition(Turns *t) {
  begin(t, "more");
  Instruction *i = element(t, 0);
  t->m.computation->root = make_compare(&t->m, COMPARE_LT, i, number(t, t->b->all->size));
  t->m.computation->keeps_root = true;
  return t->m.computation;
}

/* Writes start indices: the counter, then zeros. */
static void put_starts(Turns *t, Instruction *counter, int rank, Instruction **out) {
  out[0] = counter;
  for (int d = 1; d < rank; d++) out[d] = number(t, 0);
}

/* Takes one element of the batch. */
static Instruction *take(Turns *t, Instruction *counter, Instruction *leaf) {
  Maker *m = &t->m;
  int rank = leaf->shape->rank;
  Instruction *operands[MAX_RANK + 1] = {leaf};
  put_starts(t, counter, rank, operands + 1);
  int64_t *sizes = arena_copy(t->b->arena, leaf->shape->dims, sizeof *sizes * (size_t)rank);
  sizes[0] = 1;
  const Attributes *a = ATTRIBUTES(.slice_sizes = {rank, sizes});
  const Shape *shape = shape_of(m, leaf->shape->type, rank, sizes);
  Instruction *slice = make(m, HLO_DYNAMIC_SLICE, shape, operands, rank + 1, a);
  return computation_add_reshape(m->computation, slice, rank - 1, sizes + 1);
}

/* Puts a leaf of the result into that of the batch. */
static Instruction *put(Turns *t, Instruction *counter, Instruction *results, Instruction *leaf) {
  int64_t dims[MAX_RANK + 1] = {1};
  int rank = leaf->shape->rank + 1;
  for (int d = 1; d < rank; d++) dims[d] = leaf->shape->dims[d - 1];
  Instruction *operands[MAX_RANK + 2] = {results};
  operands[1] = computation_add_reshape(t->m.computation, leaf, rank, dims);
  put_starts(t, counter, rank, operands + 2);
  return make(&t->m, HLO_DYNAMIC_UPDATE_SLICE, results->shape, operands, rank + 2, NULL);
}

/* Takes one element of the batch out of all leaves of an operand. */
static Instruction *take_all(Turns *t, Instruction *counter, Instruction *value,
                             const Shape *source) {
  int count = shape_leaves(source);
  bool *batched = ARENA_ARRAY(t->b->arena, bool, count);
  Instruction **leaves = ARENA_ARRAY(t->b->arena, Instruction *, count);
  put_flags(value->shape, source, batched);
  value_leaves(&t->m, value, leaves);
  for (int i = 0; i < count; i++) {
    if (batched[i]) leaves[i] = take(t, counter, leaves[i]);
  }
  Instruction *const *next = leaves;
  return value_from_leaves(&t->m, source, &next);
}

/* Applies the operation to one element of the batch. */
static Instruction *apply(Turns *t, Instruction *counter) {
  const Instruction *x = t->x;
  Instruction **operands = ARENA_ARRAY(t->b->arena, Instruction *, x->operand_count);
  for (int k = 0; k < x->operand_count; k++) {
    operands[k] = take_all(t, counter, element(t, 1 + t->results + k), x->operands[k]->shape);
  }
  Attributes a = batched_attributes(x);
  return make(&t->m, x->opcode, x->shape, operands, x->operand_count, &a);
}

static Computation *make_body(Turns *t) {
  begin(t, "turn");
  int count = t->state->tuple_size;
  Instruction **state = ARENA_ARRAY(t->b->arena, Instruction *, count);
  Instruction **leaves = ARENA_ARRAY(t->b->arena, Instruction *, t->results);
  Instruction *counter = element(t, 0);
  value_leaves(&t->m, apply(t, counter), leaves);
  state[0] = make_binary(&t->m, HLO_ADD, counter, number(t, 1));
  for (int i = 0; i < t->results; i++) {
    Instruction *leaf = leaves[i];
    bool is_token = shape_is_token(leaf->shape);
    state[1 + i] = is_token ? leaf : put(t, counter, element(t, 1 + i), leaf);
  }
  for (int i = 1 + t->results; i < count; i++) state[i] = element(t, i);
  t->m.computation->root = computation_add_tuple(t->m.computation, state, count);
  t->m.computation->keeps_root = true;
  return t->m.computation;
}

Instruction *batch_in_turn(Batching *b, const Instruction *x, Instruction **operands) {
  Turns t = {b, x, operands, shape_leaves(x->shape), NULL, b->m, NULL};
  Instruction *init = initial_state(&t);
  t.state = init->shape;
  Instruction *loop = make(&b->m, HLO_WHILE, init->shape, &init, 1,
                           ATTRIBUTES(.condition = make_condition(&t), .body = make_body(&t)));
  Instruction *const *results = leaves_of(b, loop) + 1;
  return value_from_leaves(&b->m, x->shape, &results);
}
