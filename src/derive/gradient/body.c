#include "derive/gradient/body.h"

/* Adds stand-ins for the leaves of one parameter, from number `at` on, and the value that they make up. */
static void add_parameter(Body *b, const Instruction *parameter, const bool *active,
                          Literal *const *literals, int at) {
  WorkingComputation *working = &b->working;
  int count = shape_leaves(parameter->shape);
  for (int i = at; i < at + count; i++) {
    const Shape *shape = shape_leaf(parameter->shape, i - at);
    b->inputs[i] = computation_add(working->m.computation, HLO_PARAMETER, shape, NULL, 0, NULL);
    b->inputs[i]->literal = literals ? literals[i] : NULL;
    if (!active[i]) continue;
    b->tangents[i] = linear_stand_in(working, shape, true);
    set_tangent(working, b->inputs[i], b->tangents[i]);
  }
  Instruction *const *leaves = &b->inputs[at];
  Instruction *value = value_from_leaves(&working->m, parameter->shape, &leaves);
  linear_bind(working, parameter, value);
  for (int i = 0; i < count; i++) set_tangent_leaf(working, value, i, b->tangents[at + i]);
}

void note_elements(WorkingComputation *working, Instruction *value) {
  if (value->opcode != HLO_TUPLE_OP) return;
  int leaf = 0;
  for (int i = 0; i < value->operand_count; i++) {
    int count = shape_leaves(value->operands[i]->shape);
    for (int k = 0; k < count; k++, leaf++) {
      set_tangent_leaf(working, value->operands[i], k, tangent_leaf(working, value, leaf));
    }
    note_elements(working, value->operands[i]);
  }
}

bool body_linearize(Body *b, Differentiation *d, const Computation *source, const bool *active,
                    Literal *const *literals) {
  *b = (Body){.input_count = computation_parameter_leaves(source)};
  WorkingComputation *working = &b->working;
  linear_begin(working, d, source);
  b->inputs = ARENA_ARRAY(working->arena, Instruction *, b->input_count);
  b->tangents = ARENA_ARRAY(working->arena, Instruction *, b->input_count);
  int at = 0;
  for (int i = 0; i < source->parameter_count; i++) {
    const Instruction *parameter = source->parameters[i];
    add_parameter(b, parameter, active, literals, at);
    note_elements(working, working->map[parameter->id]);
    at += shape_leaves(parameter->shape);
  }
  if (!linear_walk(working)) return false;
  Instruction *root = working->map[source->root->id];
  b->result_count = shape_leaves(root->shape);
  b->results = ARENA_ARRAY(working->arena, Instruction *, b->result_count);
  b->result_tangents = ARENA_ARRAY(working->arena, Instruction *, b->result_count);
  make_leaves(working, root, b->results);
  for (int i = 0; i < b->result_count; i++) b->result_tangents[i] = tangent_leaf(working, root, i);
  return true;
}

bool body_transpose(Body *b, const bool *active) {
  WorkingComputation *working = &b->working;
  b->seeds = ARENA_ARRAY(working->arena, Instruction *, b->result_count);
  b->cotangents = ARENA_ARRAY(working->arena, Instruction *, b->input_count);
  for (int i = 0; i < b->result_count; i++) {
    if (!active[i]) continue;
    b->seeds[i] = linear_stand_in(working, b->results[i]->shape, false);
    if (b->result_tangents[i]) add_cotangent(working, b->result_tangents[i], b->seeds[i]);
  }
  if (!linear_transpose(working)) return false;
  for (int i = 0; i < b->input_count; i++) {
    if (b->tangents[i]) b->cotangents[i] = cotangent_of(working, b->tangents[i]);
  }
  return true;
}

/* ---- New computations ---- */

Packed packed_begin(Body *b, const char *name, const Shape *tuple) {
  Packed p = {extract_begin(&b->working, name), NULL};
  p.parameter = computation_add_parameter(p.e.to, 0, tuple, NULL);
  return p;
}

Instruction *packed_element(Packed *p, int index) {
  return computation_add_element(p->e.to, p->parameter, index);
}

Instruction *packed_copy(Packed *p, Instruction *x, const Shape *shape) {
  return x ? extract(&p->e, x) : extract_zeros(&p->e, shape);
}

void values_push(WorkingComputation *working, Values *values, Instruction *x) {
  ARENA_PUSH(working->arena, values->items, values->count, values->capacity, x);
}

Instruction *values_tuple(WorkingComputation *working, const Values *values) {
  return computation_add_tuple(working->m.computation, values->items, values->count);
}

void set_linear_results(WorkingComputation *working, Instruction *value, const bool *active,
                        const Values *inputs, Transposition *transpose, const void *data) {
  int count = 0, leaves = shape_leaves(value->shape);
  const Shape **shapes = ARENA_ARRAY(working->arena, const Shape *, leaves);
  for (int i = 0; i < leaves; i++) {
    if (active[i]) shapes[count++] = shape_leaf(value->shape, i);
  }
  /* Its shape is not that of its operands: it stands for the whole, and is never copied. */
  Instruction *all = make(&working->m, HLO_TUPLE_OP, shape_tuple(working->arena, count, shapes),
                          inputs->items, inputs->count, NULL);
  Facts *facts = facts_of(working, all);
  facts->linear = true;
  facts->transpose = transpose;
  facts->data = data;
  for (int i = 0, next = 0; i < leaves; i++) {
    if (active[i]) set_tangent_leaf(working, value, i, make_element(working, all, next++));
  }
  note_elements(working, value);
}
