/*
** Writes scan as a while loop, which all later stages know:
**
**     (i, carries, inputs, outputs) = while (0, init, inputs, zeros): i < n
**       element k  = reshape(dynamic-slice(input k, at i))       at i, or at n - 1 - i if is_reverse
**       (y, c)     = to_apply(elements, carries)
**       (i + 1, c, inputs, dynamic-update-slice(outputs, reshape(y), at i))
**
** The outputs are written in place, and the inputs are not copied. A scan of no steps has no loop.
*/
#include "hlo/ir/scan.h"
#include "hlo/ir/shorthand.h"
#include "rewrite/base/rewrite.h"

typedef struct Expansion {
  Instruction *x; /* the scan */
  Scan scan;
  Arena *arena;
  Computation *computation; /* where instructions are added */
} Expansion;

/* Indices into the loop's state. */
enum { INDEX = 0, FIRST_CARRY = 1 };
static int first_input(const Scan *scan) { return FIRST_CARRY + scan->carries; }
static int first_output(const Scan *scan) { return first_input(scan) + scan->inputs; }
static int state_size(const Scan *scan) { return first_output(scan) + scan->outputs; }

/* ---- Instructions ---- */

static Instruction *add_zeros(const Expansion *e, const Shape *shape) {
  Instruction *zero = computation_add_number(e->computation, shape->type, (Scalar){0});
  return computation_add(e->computation, HLO_BROADCAST, shape, &zero, 1, NULL);
}

/* Returns the shape of one step's part of an array, with 1 for the scanned dimension. */
static const Shape *slice_shape(const Expansion *e, const Shape *stacked, Int64List *sizes) {
  int64_t *dims = arena_copy(e->arena, stacked->dims, sizeof *dims * (size_t)stacked->rank);
  dims[e->scan.dimension] = 1;
  *sizes = (Int64List){stacked->rank, dims};
  const Shape *shape = shape_make(e->arena, stacked->type, stacked->rank, dims, NULL);
  if (!stacked->dynamic) return shape;
  bool *dynamic = arena_copy(e->arena, stacked->dynamic, sizeof *dynamic * (size_t)stacked->rank);
  dynamic[e->scan.dimension] = false;
  return shape_with_dynamic(e->arena, shape, dynamic);
}

/* Adds an operation on `operands`, followed by the start indices of that part. */
static Instruction *add_slicing(const Expansion *e, Opcode opcode, const Shape *shape,
                                Instruction *const *operands, int count, Instruction *at,
                                const Attributes *attributes) {
  int rank = operands[0]->shape->rank;
  Instruction **all = ARENA_ARRAY(e->arena, Instruction *, count + rank);
  for (int i = 0; i < count; i++) all[i] = operands[i];
  for (int d = 0; d < rank; d++) {
    all[count + d] = d == e->scan.dimension ? at : computation_add_integer(e->computation, S64, 0);
  }
  return computation_add(e->computation, opcode, shape, all, count + rank, attributes);
}

/* ---- The loop's computations ---- */

/* Begins a computation of the loop, whose parameter is the state. Returns the expansion that adds to it. */
static Expansion begin_computation(const Expansion *e, const char *name, const Shape *state,
                                   Instruction **parameter) {
  Expansion in = *e;
  in.computation = module_add_computation(e->x->parent->module, name);
  *parameter = computation_add_parameter(in.computation, 0, state, "state");
  return in;
}

/* Makes the condition: whether the index is less than the number of steps. */
static Computation *make_condition(const Expansion *e, const Shape *state) {
  Instruction *parameter;
  Expansion in = begin_computation(e, "scan_condition", state, &parameter);
  const Attributes *attributes = ATTRIBUTES(.direction = COMPARE_LT);
  Instruction *operands[] = {computation_add_element(in.computation, parameter, INDEX),
                             computation_add_integer(in.computation, S64, e->scan.length)};
  computation_add(in.computation, HLO_COMPARE, shape_scalar(PRED), operands, 2, attributes);
  return in.computation;
}

/* Calls to_apply on this step's elements and carries; returns its results one by one. */
static Instruction **add_step(const Expansion *e, Instruction **state, Instruction *at) {
  const Scan *scan = &e->scan;
  Computation *to_apply = e->x->a->to_apply;
  Instruction **arguments = ARENA_ARRAY(e->arena, Instruction *, e->x->operand_count);
  Attributes attributes;
  attributes_init(&attributes);
  for (int i = 0; i < scan->inputs; i++) {
    Instruction *input = state[first_input(scan) + i];
    const Shape *shape = slice_shape(e, input->shape, &attributes.slice_sizes);
    arguments[i] = add_slicing(e, HLO_DYNAMIC_SLICE, shape, &input, 1, at, &attributes);
    shape = to_apply->parameters[i]->shape;
    arguments[i] = computation_add(e->computation, HLO_RESHAPE, shape, &arguments[i], 1, NULL);
  }
  for (int i = 0; i < scan->carries; i++) arguments[scan->inputs + i] = state[FIRST_CARRY + i];
  const Shape *result = computation_result_shape(to_apply);
  int count = scan->outputs + scan->carries;
  Instruction *call = computation_add(e->computation, HLO_CALL, result, arguments,
                                      e->x->operand_count, ATTRIBUTES(.to_apply = to_apply));
  Instruction **results = ARENA_ARRAY(e->arena, Instruction *, count);
  for (int i = 0; i < count; i++) {
    results[i] = shape_is_tuple(result) ? computation_add_element(e->computation, call, i) : call;
  }
  return results;
}

/* Makes the body: one step, and the next state. */
static Computation *make_body(const Expansion *e, const Shape *shape) {
  const Scan *scan = &e->scan;
  Instruction *parameter;
  Expansion in = begin_computation(e, "scan_body", shape, &parameter);
  Instruction **state = ARENA_ARRAY(e->arena, Instruction *, state_size(scan));
  for (int i = 0; i < state_size(scan); i++) {
    state[i] = computation_add_element(in.computation, parameter, i);
  }
  Instruction *index = state[INDEX], *at = index;
  if (e->x->a->is_reverse) {
    Instruction *operands[] = {computation_add_integer(in.computation, S64, scan->length - 1),
                               index};
    at = computation_add(in.computation, HLO_SUBTRACT, index->shape, operands, 2, NULL);
  }
  Instruction **results = add_step(&in, state, at);
  Instruction *operands[] = {index, computation_add_integer(in.computation, S64, 1)};
  state[INDEX] = computation_add(in.computation, HLO_ADD, index->shape, operands, 2, NULL);
  for (int i = 0; i < scan->carries; i++) state[FIRST_CARRY + i] = results[scan->outputs + i];
  for (int i = 0; i < scan->outputs; i++) {
    Int64List sizes;
    Instruction **output = &state[first_output(scan) + i];
    const Shape *slice = slice_shape(e, (*output)->shape, &sizes);
    Instruction *update[] = {
        *output, computation_add(in.computation, HLO_RESHAPE, slice, &results[i], 1, NULL)};
    *output = add_slicing(&in, HLO_DYNAMIC_UPDATE_SLICE, (*output)->shape, update, 2, at, NULL);
  }
  computation_add_tuple(in.computation, state, state_size(scan));
  return in.computation;
}

/* ---- The scan ---- */

/* Adds the loop. Sets `results` to the outputs, then the carries, after all steps. */
static void add_loop(const Expansion *e, Instruction **results) {
  const Scan *scan = &e->scan;
  Instruction **state = ARENA_ARRAY(e->arena, Instruction *, state_size(scan));
  state[INDEX] = computation_add_integer(e->computation, S64, 0);
  for (int i = 0; i < scan->carries; i++) {
    state[FIRST_CARRY + i] = e->x->operands[scan->inputs + i];
  }
  for (int i = 0; i < scan->inputs; i++) state[first_input(scan) + i] = e->x->operands[i];
  for (int i = 0; i < scan->outputs; i++) {
    state[first_output(scan) + i] = add_zeros(e, scan_result(e->x->shape, i));
  }
  Instruction *init = computation_add_tuple(e->computation, state, state_size(scan));
  Attributes attributes =
      *ATTRIBUTES(.condition = make_condition(e, init->shape), .body = make_body(e, init->shape),
                  .metadata = e->x->a->metadata);
  InstructionList before = e->x->a->control_predecessors; /* which the scan keeps as well */
  before.items = arena_copy(e->arena, before.items, sizeof *before.items * (size_t)before.count);
  attributes.control_predecessors = before;
  Instruction *loop =
      computation_add(e->computation, HLO_WHILE, init->shape, &init, 1, &attributes);
  for (int i = 0; i < scan->outputs; i++) {
    results[i] = computation_add_element(e->computation, loop, first_output(scan) + i);
  }
  for (int i = 0; i < scan->carries; i++) {
    results[scan->outputs + i] = computation_add_element(e->computation, loop, FIRST_CARRY + i);
  }
}

/* Sets `results` for a scan of no steps: empty outputs, and the initial carries. */
static void add_results_of_no_steps(const Expansion *e, Instruction **results) {
  const Scan *scan = &e->scan;
  for (int i = 0; i < scan->outputs; i++) results[i] = add_zeros(e, scan_result(e->x->shape, i));
  for (int i = 0; i < scan->carries; i++) {
    results[scan->outputs + i] = e->x->operands[scan->inputs + i];
  }
}

/* Whether the number of steps is known. A scan of unknown length stays and is refused later. */
static bool is_static_scan(const Instruction *x) {
  if (x->opcode != HLO_SCAN) return false;
  for (int i = 0; i < x->operand_count - x->a->num_carries; i++) {
    const bool *dynamic = x->operands[i]->shape->dynamic;
    if (dynamic && dynamic[x->a->dimensions.items[0]]) return false;
  }
  return true;
}

static bool expand(Instruction *x, void *data) {
  if (!is_static_scan(x)) return false;
  Expansion e = {
      .x = x, .scan = scan_of(x), .arena = x->parent->module->arena, .computation = x->parent};
  int count = e.scan.outputs + e.scan.carries;
  Instruction **results = ARENA_ARRAY(e.arena, Instruction *, count);
  if (e.scan.length) {
    add_loop(&e, results);
  } else {
    add_results_of_no_steps(&e, results);
  }
  Opcode opcode = shape_is_tuple(x->shape)   ? HLO_TUPLE_OP
                  : shape_is_array(x->shape) ? HLO_COPY
                                             : HLO_OPTIMIZATION_BARRIER; /* of a token */
  instruction_become(x, opcode, results, count, NULL);
  return true;
}

bool pass_expand_scans(Module *module) { return rewrite_each(module, expand, NULL); }
