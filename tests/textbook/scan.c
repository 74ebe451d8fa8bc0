/* Evaluates scan: applies to_apply at each step to an element of each input and the last step's carries. */
#include "hlo/ir/scan.h"

#include "reference/strided.h"
#include "textbook/textbook.h"

typedef struct Steps {
  Scan scan;
  const Computation *to_apply;
  Literal *const *inputs;
  Literal **results;   /* the outputs, then the carries as they are now */
  Literal **arguments; /* of to_apply: elements of the inputs, then the carries */
} Steps;

/* Copies element `index` along the scanned dimension of `stacked` to or from `element`. */
static void copy_element(const Scan *scan, Literal *stacked, int64_t index, Literal *element,
                         bool out) {
  int64_t sizes[MAX_RANK], strides[MAX_RANK], all[MAX_RANK], dense[MAX_RANK];
  int rank = 0;
  shape_strides(stacked->shape, all);
  shape_strides(element->shape, dense);
  for (int d = 0; d < stacked->shape->rank; d++) {
    if (d == scan->dimension) continue;
    sizes[rank] = stacked->shape->dims[d];
    strides[rank++] = all[d];
  }
  int64_t offset = index * all[scan->dimension];
  if (out) {
    copy_box(element, 0, dense, stacked, offset, strides, rank, sizes);
  } else {
    copy_box(stacked, offset, strides, element, 0, dense, rank, sizes);
  }
}

/* Takes one step. The results of to_apply may use its arguments' memory, which is kept until the end. */
static bool step(const Steps *s, int64_t index, EvalContext *context) {
  const Scan *scan = &s->scan;
  for (int i = 0; i < scan->inputs; i++) {
    copy_element(scan, s->inputs[i], index, s->arguments[i], false);
  }
  for (int i = 0; i < scan->carries; i++) {
    literal_copy_data(s->results[scan->outputs + i], s->arguments[scan->inputs + i]);
  }
  Literal *value = eval_computation(s->to_apply, s->arguments, context);
  if (!value) return false;
  Literal **values = shape_is_tuple(value->shape) ? value->elements : &value;
  for (int i = 0; i < scan->outputs; i++) {
    copy_element(scan, s->results[i], index, values[i], true);
  }
  for (int i = scan->outputs; i < scan->outputs + scan->carries; i++) {
    literal_copy_data(values[i], s->results[i]);
  }
  return true;
}

bool eval_scan(const Instruction *instruction, Literal *const *operands, Literal *result,
               EvalContext *context) {
  Scan scan = scan_of(instruction);
  const Computation *to_apply = instruction->a->to_apply;
  Literal **results = shape_is_tuple(result->shape) ? result->elements : &result;
  int count = instruction->operand_count;
  Literal **arguments = ARENA_ARRAY(context->arena, Literal *, count);
  for (int i = 0; i < count; i++) {
    arguments[i] = evaluation_literal(to_apply->parameters[i]->shape, context);
    if (!arguments[i]) return false;
  }
  for (int i = 0; i < scan.carries; i++) {
    literal_copy_data(operands[scan.inputs + i], results[scan.outputs + i]);
  }
  Steps steps = {scan, to_apply, operands, results, arguments};
  for (int64_t i = 0; i < scan.length; i++) {
    ArenaMark mark = arena_mark(context->arena);
    bool ok = step(&steps, instruction->a->is_reverse ? scan.length - 1 - i : i, context);
    arena_release(context->arena, mark);
    if (!ok) return false;
  }
  return true;
}
