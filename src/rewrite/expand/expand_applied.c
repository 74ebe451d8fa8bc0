/*
** Writes map and reduce as scans if the computation that they apply has loops, branches or arrays, which
** loops over elements cannot have. Then it is compiled and can be stopped anywhere.
**
**     map(x, y), f             reshape(scan(flat x, flat y)), f
**     reduce(x, init), f       map(init, x) if it is over no dimension; else
**                              scan over the results: carries are the initial values, an element is
**                                scan over the elements of one result: carries are the partial results
**
** rewrite/expand/apply_in_order.c does the same to sort, scatter and reduce-window.
*/
#include "rewrite/expand/applied.h"

#include "hlo/ir/shorthand.h"
#include "plan/comparator.h"
#include "rewrite/base/rewrite.h"

typedef struct Applied {
  Instruction *x;
  Arena *arena;
  Computation *computation;  /* where instructions are added */
  int count;                 /* of a reduction's operands, and results */
  int64_t results, elements; /* of a reduction; elements of each result */
} Applied;

/* ---- Shared ---- */

Instruction *add_scan(Computation *computation, Computation *to_apply, const Shape *shape,
                      Instruction *const *operands, int count, int carries) {
  static const int64_t first = 0;
  return computation_add(
      computation, HLO_SCAN, shape, operands, count,
      ATTRIBUTES(.to_apply = to_apply, .dimensions = {1, &first}, .num_carries = carries));
}

void add_parts(Computation *computation, Instruction *x, Instruction **parts) {
  parts[0] = x;
  for (int i = 0; i < x->shape->tuple_size; i++) {
    parts[i] = computation_add_element(computation, x, i);
  }
}

void become_parts(Instruction *x, Instruction **parts, int count) {
  bool several = shape_is_tuple(x->shape);
  for (int i = 0; i < count && several; i++) {
    const Shape *shape = x->shape->elements[i];
    parts[i] = computation_add_reshape(x->parent, parts[i], shape->rank, shape->dims);
  }
  instruction_become(x, several ? HLO_TUPLE_OP : HLO_RESHAPE, parts, several ? count : 1, NULL);
}

Instruction *add_in_rows(Computation *computation, Instruction *operand, Int64List dimensions) {
  const Shape *shape = operand->shape;
  int64_t order[MAX_RANK], sizes[2] = {1, 1};
  int rank = 0;
  for (int back = 0; back < 2; back++) {
    for (int d = 0; d < shape->rank; d++) {
      if (list_has(dimensions, d) != (back == 1)) continue;
      sizes[back] *= shape->dims[d];
      order[rank++] = d;
    }
  }
  operand = computation_add_transpose(computation, operand, order);
  return computation_add_reshape(computation, operand, 2, sizes);
}

/* Whether an instruction is more than element-wise. */
static bool is_more(const Instruction *x) {
  switch (x->opcode) {
  case HLO_PARAMETER:
  case HLO_CALL:
  case HLO_FUSION:
  case HLO_MAP:
  case HLO_TUPLE_OP:
  case HLO_GET_TUPLE_ELEMENT: return false;
  default: return x->shape->rank > 0 || instruction_called(x, NULL) > 0;
  }
}

/* Threshold MAX_STEPS: the steps for an element that the evaluator may take at once. A computation of more steps
** becomes a loop. No path in tests. */
enum { MAX_STEPS = 1 << 18 };

bool applies_more(const Instruction *x, const Computation *to_apply) {
  for (int i = 0; i < x->operand_count; i++) {
    if (shape_elements(x->operands[i]->shape) == 0) return false;
  }
  bool has_more = to_apply->size > MAX_STEPS;
  if (x->opcode == HLO_SORT && !comparator_has_keys(to_apply)) has_more = true;
  for (int i = 0; i < to_apply->count && !has_more; i++) {
    has_more = instruction_reaches(to_apply->instructions[i], is_more);
  }
  return has_more && x->operand_count > 0 && !x->a->control_predecessors.count;
}

/* ---- Maps ---- */

static void expand_map(const Applied *applied) {
  int64_t size = shape_elements(applied->x->shape);
  Instruction **operands = ARENA_ARRAY(applied->arena, Instruction *, applied->x->operand_count);
  for (int i = 0; i < applied->x->operand_count; i++) {
    operands[i] = computation_add_reshape(applied->computation, applied->x->operands[i], 1, &size);
  }
  const Shape *flat = shape_make(applied->arena, applied->x->shape->type, 1, &size, NULL);
  Instruction *scan = add_scan(applied->computation, applied->x->a->to_apply, flat, operands,
                               applied->x->operand_count, 0);
  instruction_become(applied->x, HLO_RESHAPE, &scan, 1, NULL);
}

/* ---- Reductions ---- */

/* (elements..., so far...) -> so far...: the reduction's computation, with its sides exchanged. */
static Computation *step_of(const Applied *applied) {
  Computation *to_apply = applied->x->a->to_apply;
  Instruction **operands = ARENA_ARRAY(applied->arena, Instruction *, 2 * applied->count);
  Computation *step = module_add_computation(applied->x->parent->module, "reduce_step");
  const Attributes *a = ATTRIBUTES(.to_apply = to_apply);
  for (int i = 0; i < 2 * applied->count; i++) {
    int k = (i + applied->count) % (2 * applied->count);
    operands[k] = computation_add_parameter(step, i, to_apply->parameters[k]->shape, "p");
  }
  computation_add(step, HLO_CALL, to_apply->root->shape, operands, 2 * applied->count, a);
  return step;
}

/* (elements of one result..., initial values...) -> (result..., initial values...) */
static Computation *result_of(const Applied *applied) {
  Computation *step = step_of(applied);
  Computation *result = module_add_computation(applied->x->parent->module, "reduce_result");
  Instruction **operands = ARENA_ARRAY(applied->arena, Instruction *, 2 * applied->count);
  Instruction **results = ARENA_ARRAY(applied->arena, Instruction *, 2 * applied->count);
  for (int i = 0; i < 2 * applied->count; i++) {
    const Shape *shape = step->parameters[i]->shape;
    if (i < applied->count)
      shape = shape_make(applied->arena, shape->type, 1, &applied->elements, NULL);
    operands[i] = computation_add_parameter(result, i, shape, "p");
  }
  Instruction *scan =
      add_scan(result, step, step->root->shape, operands, 2 * applied->count, applied->count);
  add_parts(result, scan, results);
  for (int i = 0; i < applied->count; i++)
    results[applied->count + i] = operands[applied->count + i];
  computation_add_tuple(result, results, 2 * applied->count);
  return result;
}

static void expand_reduce(Applied *applied) {
  const Shape *shape = applied->x->shape,
              *result = shape_is_tuple(shape) ? shape->elements[0] : shape;
  applied->count = applied->x->operand_count / 2;
  applied->results = shape_elements(result);
  applied->elements = shape_elements(applied->x->operands[0]->shape) / applied->results;
  Instruction **operands = ARENA_ARRAY(applied->arena, Instruction *, 2 * applied->count);
  Instruction **parts = ARENA_ARRAY(applied->arena, Instruction *, 2 * applied->count);
  const Shape **shapes = ARENA_ARRAY(applied->arena, const Shape *, 2 * applied->count);
  for (int i = 0; i < 2 * applied->count; i++) {
    Instruction *operand = applied->x->operands[i];
    operands[i] = i < applied->count
                      ? add_in_rows(applied->computation, operand, applied->x->a->dimensions)
                      : operand;
    shapes[i] = i < applied->count
                    ? shape_make(applied->arena, operand->shape->type, 1, &applied->results, NULL)
                    : operand->shape;
  }
  Instruction *scan = add_scan(applied->computation, result_of(applied),
                               shape_tuple(applied->arena, 2 * applied->count, shapes), operands,
                               2 * applied->count, applied->count);
  add_parts(applied->computation, scan, parts);
  become_parts(applied->x, parts, applied->count);
}

static bool is_over_nothing(const Instruction *reduce) {
  if (reduce->a->dimensions.count || reduce->a->control_predecessors.count) return false;
  for (int i = 0; i < reduce->operand_count; i++) {
    const Shape *shape = reduce->operands[i]->shape;
    if (shape_elements(shape) == 0 ||
        shape->type != reduce->a->to_apply->parameters[i]->shape->type) {
      return false;
    }
  }
  return true;
}

/* Returns the reduction's computation with this result alone. */
static Computation *result_alone(const Applied *applied, int result) {
  Computation *to_apply = applied->x->a->to_apply;
  if (!shape_is_tuple(to_apply->root->shape)) return to_apply;
  Computation *alone = module_add_computation(applied->x->parent->module, "reduce_result");
  Instruction **arguments = ARENA_ARRAY(applied->arena, Instruction *, to_apply->parameter_count);
  const Attributes *a = ATTRIBUTES(.to_apply = to_apply);
  for (int i = 0; i < to_apply->parameter_count; i++) {
    arguments[i] = computation_add_parameter(alone, i, to_apply->parameters[i]->shape, "p");
  }
  Instruction *all = computation_add(alone, HLO_CALL, to_apply->root->shape, arguments,
                                     to_apply->parameter_count, a);
  computation_add_element(alone, all, result);
  return alone;
}

/* A reduction over no dimension: one map for each result combines the elements with the initial value. */
static void map_reduce(const Applied *applied) {
  Instruction *x = applied->x;
  int count = x->operand_count / 2;
  Instruction **operands = ARENA_ARRAY(applied->arena, Instruction *, 2 * count);
  Instruction **results = ARENA_ARRAY(applied->arena, Instruction *, count);
  const Shape *shape = x->operands[0]->shape;
  for (int i = 0; i < count; i++) {
    Instruction *init = x->operands[count + i];
    operands[i] =
        computation_add(applied->computation, HLO_BROADCAST,
                        shape_with_type(applied->arena, shape, init->shape->type), &init, 1, NULL);
    operands[count + i] = x->operands[i];
  }
  for (int i = 0; i < count; i++) {
    const Attributes *a = ATTRIBUTES(.to_apply = result_alone(applied, i));
    const Shape *of = shape_with_type(applied->arena, shape, operands[i]->shape->type);
    results[i] = computation_add(applied->computation, HLO_MAP, of, operands, 2 * count, a);
  }
  become_parts(x, results, count);
}

static bool expand(Instruction *x, void *data) {
  Applied applied = {.x = x, .computation = x->parent, .arena = x->parent->module->arena};
  bool is_map = x->opcode == HLO_MAP;
  if (!is_map && x->opcode != HLO_REDUCE) return false;
  bool more = applies_more(x, x->a->to_apply), maps = !is_map && is_over_nothing(x);
  if (!more && !maps) return false;
  if (maps) {
    map_reduce(&applied);
  } else if (is_map) {
    expand_map(&applied);
  } else {
    expand_reduce(&applied);
  }
  return true;
}

bool pass_expand_applied(Module *module) {
  module_measure(module);
  return rewrite_each(module, expand, NULL);
}
