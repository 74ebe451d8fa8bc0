/*
** Computes the keys of sorts before the sort. A comparator of f(a) with f(b) runs for each pair compared, so
** it computes f many times per element. Here one loop computes f of all elements as another operand, and the
** comparator compares these keys:
**
**     sort(x), by f(a) < f(b)   =   get-tuple-element(sort(f(x), x), 1), by the first operand
**
** Keys that kernels/sort/sort.c can compute, elements or simple functions of them, stay in the comparator.
**
** For comparators without keys, pass_batch_comparators makes computations on arrays, in the sort's
** attribute `calls`, which kernels/sort/sort_merge.c calls.
*/
#include "plan/comparator.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

typedef struct Extraction {
  Instruction *sort;
  SortOrder order;
  Arena *arena;
  int count;                        /* of keys that become operands */
  int operand_of[MAX_SORT_KEYS];    /* by key: the number of its operand; -1: none */
  Instruction **copies;             /* by id, of the comparator's instructions */
  Computation *to;                  /* where copies are made */
  const Shape *shape;               /* arrays with this one's dimensions; NULL: scalars */
  Instruction *const *replacements; /* of parameters, by their number */
} Extraction;

static const Shape *copied_shape(const Extraction *e, PrimitiveType type) {
  return e->shape ? shape_with_type(e->arena, e->shape, type) : shape_scalar(type);
}

static Instruction *copy_constant(const Extraction *e, const Instruction *x) {
  Instruction *constant = computation_add_constant(e->to, x->literal, NULL);
  if (!e->shape) return constant;
  const Shape *shape = copied_shape(e, x->shape->type);
  return computation_add(e->to, HLO_BROADCAST, shape, &constant, 1, NULL);
}

/* Copies an expression of the comparator, over scalars or over arrays. */
static Instruction *copy(const Extraction *e, const Instruction *x) {
  if (x->opcode == HLO_PARAMETER) return e->replacements[x->parameter_number];
  if (e->copies[x->id]) return e->copies[x->id];
  if (x->opcode == HLO_CONSTANT) return e->copies[x->id] = copy_constant(e, x);
  Instruction *operands[3];
  for (int i = 0; i < x->operand_count; i++) operands[i] = copy(e, x->operands[i]);
  return e->copies[x->id] = computation_add(e->to, x->opcode, copied_shape(e, x->shape->type),
                                            operands, x->operand_count, x->a);
}

static void begin_copies(Extraction *e, Computation *to, const Shape *shape,
                         Instruction *const *replacements) {
  e->copies = ARENA_ARRAY(e->arena, Instruction *, e->sort->a->to_apply->count);
  e->to = to;
  e->shape = shape;
  e->replacements = replacements;
}

/* Returns the keys, then the operands. */
static Instruction **make_operands(Extraction *e) {
  int given = e->sort->operand_count;
  Instruction **operands = ARENA_ARRAY(e->arena, Instruction *, e->count + given);
  Instruction **elements = ARENA_ARRAY(e->arena, Instruction *, 2 * given);
  for (int i = 0; i < given; i++) {
    operands[e->count + i] = elements[2 * i] = e->sort->operands[i];
  }
  begin_copies(e, e->sort->parent, e->sort->operands[0]->shape, elements);
  for (int i = 0; i < e->order.count; i++) {
    if (e->operand_of[i] >= 0) operands[e->operand_of[i]] = copy(e, e->order.keys[i].left);
  }
  return operands;
}

static Instruction *add_pred(Computation *c, Opcode opcode, Instruction *x, Instruction *y,
                             const Attributes *attributes) {
  return computation_add(c, opcode, shape_scalar(PRED), (Instruction *[]){x, y}, 2, attributes);
}

static ComparisonDirection direction_of(const SortKey *key, bool or_equal) {
  if (key->descending) return or_equal ? COMPARE_GE : COMPARE_GT;
  return or_equal ? COMPARE_LE : COMPARE_LT;
}

/* Adds parameters for the new operands. Each key raises the numbers of the old operands' parameters by two. */
static Instruction **add_parameters(const Extraction *e, Computation *c,
                                    Instruction *const *operands) {
  int count = 2 * (e->count + e->sort->operand_count);
  Instruction **parameters = ARENA_ARRAY(e->arena, Instruction *, count);
  for (int i = 0; i < count; i++) {
    const Shape *shape = shape_scalar(operands[i / 2]->shape->type);
    parameters[i] = computation_add_parameter(c, i, shape, NULL);
  }
  return parameters;
}

/* compare(k0) or (equal(k0) and (compare(k1) or ...)) */
static Computation *make_comparator(Extraction *e, Instruction *const *operands) {
  Module *module = e->sort->parent->module;
  Computation *c = module_add_computation(module, e->sort->a->to_apply->name);
  Instruction **parameters = add_parameters(e, c, operands), *result = NULL;
  begin_copies(e, c, NULL, parameters + 2 * (ptrdiff_t)e->count);
  for (int i = e->order.count - 1; i >= 0; i--) {
    const SortKey *key = &e->order.keys[i];
    int operand = e->operand_of[i];
    Instruction *left = operand >= 0 ? parameters[2 * operand] : copy(e, key->left);
    Instruction *right = operand >= 0 ? parameters[2 * operand + 1] : copy(e, key->right);
    Attributes attributes = *key->compare->a;
    attributes.direction = direction_of(key, !result && e->order.reverses_ties);
    Instruction *less = add_pred(c, HLO_COMPARE, left, right, &attributes);
    if (!result) {
      result = less;
      continue;
    }
    attributes.direction = COMPARE_EQ;
    Instruction *equal = add_pred(c, HLO_COMPARE, left, right, &attributes);
    result = add_pred(c, HLO_OR, less, add_pred(c, HLO_AND, equal, result, NULL), NULL);
  }
  return c;
}

static const Shape *sorted_shape(const Extraction *e, Instruction *const *operands) {
  int count = e->count + e->sort->operand_count;
  const Shape **shapes = ARENA_ARRAY(e->arena, const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = operands[i]->shape;
  return shape_tuple(e->arena, count, shapes);
}

/* Replaces the sort by the new one's results for the old operands. */
static void replace_sort(Extraction *e) {
  Instruction *sort = e->sort;
  int given = sort->operand_count;
  Instruction **operands = make_operands(e),
              **results = ARENA_ARRAY(e->arena, Instruction *, given);
  Attributes attributes = *sort->a, element;
  attributes_init(&element);
  attributes.to_apply = make_comparator(e, operands);
  Instruction *sorted = computation_add(sort->parent, HLO_SORT, sorted_shape(e, operands), operands,
                                        e->count + given, &attributes);
  for (int i = 0; i < given; i++) {
    element.tuple_index = e->count + i;
    if (given == 1) break;
    results[i] = computation_add(sort->parent, HLO_GET_TUPLE_ELEMENT, sort->operands[i]->shape,
                                 &sorted, 1, &element);
  }
  if (given == 1) {
    instruction_become(sort, HLO_GET_TUPLE_ELEMENT, &sorted, 1, &element);
  } else {
    instruction_become(sort, HLO_TUPLE_OP, results, given, NULL);
  }
}

static bool extract_keys(Instruction *sort, void *data) {
  if (sort->opcode != HLO_SORT) return false;
  Extraction e = {.sort = sort, .arena = sort->parent->module->arena};
  e.order = comparator_order(sort->a->to_apply);
  for (int i = 0; i < e.order.count; i++) {
    bool is_simple = sort_key_source(&e.order.keys[i]).operand >= 0;
    e.operand_of[i] = is_simple ? -1 : e.count++;
  }
  if (e.count > 0) replace_sort(&e);
  return e.count > 0;
}

/* Returns false if the comparator stays for the evaluator. */
static bool batch_comparator(Instruction *sort, void *data) {
  const Target *target = data;
  if (sort->opcode != HLO_SORT) return false;
  const Computation *comparator = sort->a->to_apply;
  SortOrder order = comparator_order(comparator);
  if (order.count > 0 || !comparator_is_elementwise(comparator)) return false;
  Extraction e = {.sort = sort, .arena = sort->parent->module->arena};
  int64_t pairs = COMPARATOR_PAIRS;
  const Shape *shape = shape_make(e.arena, PRED, 1, &pairs, NULL);
  Computation *batch = module_add_computation(sort->parent->module, comparator->name);
  Instruction **parameters = ARENA_ARRAY(e.arena, Instruction *, comparator->parameter_count);
  for (int i = 0; i < comparator->parameter_count; i++) {
    PrimitiveType type = comparator->parameters[i]->shape->type;
    parameters[i] =
        computation_add_parameter(batch, i, shape_with_type(e.arena, shape, type), NULL);
  }
  begin_copies(&e, batch, shape, parameters);
  Instruction *root = copy(&e, comparator->root);
  if (!opcode_is_elementwise(comparator->root->opcode)) { /* a loop computes something */
    root = computation_add(batch, HLO_OR, shape, (Instruction *[]){root, root}, 2, NULL);
  }
  for (int i = 0; i < batch->count; i++) {
    const Instruction *x = batch->instructions[i];
    bool is_leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT;
    if (!is_leaf && !can_fuse(target, x)) return false;
  }
  batch->root = root;
  instruction_attributes(sort)->calls = batch;
  return true;
}

bool pass_sort_keys(Module *module) { return rewrite_each(module, extract_keys, NULL); }

bool pass_batch_comparators(Module *module, const Target *target) {
  return rewrite_each(module, batch_comparator, (void *)target);
}
