/*
** Products of a few numbers, as sums of products: what a kernel's call would cost is more than they do,
** and as loops they go together with what is around them.
**
**     dot(f32[3,4] x, f32[4] y)    reduce(multiply(x, broadcast(y)), 0), dimensions={1}
*/
#include "lower/lower.h"
#include "passes/rewrite.h"

enum { MOST_PRODUCTS = 64 };

/* Those of which a product of two is not rounded to less than their sum is kept in. */
static bool has_whole_products(PrimitiveType type) {
  return type == F32 || type == F64 || (type_is_integral(type) && type_bits(type) >= 32);
}

static bool is_small(const Instruction *dot) {
  if (dot->opcode != HLO_DOT || dot->a->control_predecessors.count) return false;
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  PrimitiveType type = dot->shape->type;
  if (!has_whole_products(type) || lhs->type != type || rhs->type != type) return false;
  if (!shape_is_static_array(dot->shape) || !shape_is_static_array(lhs) ||
      !shape_is_static_array(rhs)) {
    return false;
  }
  int64_t products = shape_elements(dot->shape);
  for (int i = 0; i < dot->a->lhs_contracting_dims.count; i++) {
    products *= lhs->dims[dot->a->lhs_contracting_dims.items[i]];
  }
  int loops = dot->shape->rank + dot->a->lhs_contracting_dims.count;
  return products > 0 && products <= MOST_PRODUCTS && loops <= MOST_DIMENSIONS;
}

/* An operand, with the dimensions of all products: the result's, then the contracted ones. */
static Instruction *spread(Instruction *dot, int side, const Shape *products) {
  Arena *arena = dot->parent->module->arena;
  Instruction *operand = dot->operands[side];
  Int64List batch = side ? dot->a->rhs_batch_dims : dot->a->lhs_batch_dims;
  Int64List contracted = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  int lhs_free = dot->operands[0]->shape->rank - dot->a->lhs_contracting_dims.count;
  int next = side ? lhs_free : batch.count;
  int64_t *dimensions = ARENA_ARRAY(arena, int64_t, operand->shape->rank);
  for (int d = 0; d < operand->shape->rank; d++) {
    int b = list_index(batch, d), c = list_index(contracted, d);
    dimensions[d] = b >= 0 ? b : c >= 0 ? dot->shape->rank + c : next++;
  }
  /* A broadcast keeps the order of dimensions: what is not in it is transposed first. */
  int64_t *order = ARENA_ARRAY(arena, int64_t, operand->shape->rank), dims[MAX_RANK];
  int64_t *sorted = ARENA_ARRAY(arena, int64_t, operand->shape->rank);
  int count = 0;
  bool is_sorted = true;
  for (int to = 0; to < products->rank; to++) {
    for (int d = 0; d < operand->shape->rank; d++) {
      if (dimensions[d] != to) continue;
      is_sorted &= d == count;
      dims[count] = operand->shape->dims[d];
      sorted[count] = to;
      order[count++] = d;
    }
  }
  Attributes a;
  if (!is_sorted) {
    attributes_init(&a);
    a.dimensions = (Int64List){count, order};
    const Shape *shape = shape_make(arena, operand->shape->type, count, dims, NULL);
    operand = computation_add(dot->parent, HLO_TRANSPOSE, shape, &operand, 1, &a, NULL);
  }
  if (count == products->rank) return operand;
  attributes_init(&a);
  a.dimensions = (Int64List){count, sorted};
  return computation_add(dot->parent, HLO_BROADCAST, products, &operand, 1, &a, NULL);
}

static Computation *adder(Module *module, PrimitiveType type) {
  Computation *computation = module_add_computation(module, "add_products");
  const Shape *scalar = shape_scalar(type);
  Instruction *operands[2];
  for (int i = 0; i < 2; i++) {
    operands[i] = computation_add_parameter(computation, i, scalar, i ? "y" : "x");
  }
  computation_add(computation, HLO_ADD, scalar, operands, 2, NULL, NULL);
  return computation;
}

static void expand(Instruction *dot, Computation *add) {
  Computation *computation = dot->parent;
  Arena *arena = computation->module->arena;
  int contracted = dot->a->lhs_contracting_dims.count, rank = dot->shape->rank;
  int64_t dims[MAX_RANK];
  int64_t *summed = ARENA_ARRAY(arena, int64_t, contracted);
  for (int d = 0; d < rank; d++) dims[d] = dot->shape->dims[d];
  for (int i = 0; i < contracted; i++) {
    summed[i] = rank + i;
    dims[rank + i] = dot->operands[0]->shape->dims[dot->a->lhs_contracting_dims.items[i]];
  }
  const Shape *products = shape_make(arena, dot->shape->type, rank + contracted, dims, NULL);
  Instruction *factors[2] = {spread(dot, 0, products), spread(dot, 1, products)};
  if (shape_elements(products) == shape_elements(dot->shape)) { /* nothing is summed: -0 stays */
    Instruction *all = computation_add(computation, HLO_MULTIPLY, products, factors, 2, NULL, NULL);
    instruction_become(dot, HLO_RESHAPE, &all, 1, NULL);
    return;
  }
  Instruction *reduced[2];
  reduced[0] = computation_add(computation, HLO_MULTIPLY, products, factors, 2, NULL, NULL);
  reduced[1] = computation_add_constant(computation,
                                        literal_new(arena, shape_scalar(dot->shape->type)), NULL);
  Attributes a;
  attributes_init(&a);
  a.dimensions = (Int64List){contracted, summed};
  a.to_apply = add;
  instruction_become(dot, HLO_REDUCE, reduced, 2, &a);
}

bool lower_small_dots(Module *module) {
  Computation *adders[PRIMITIVE_TYPE_END] = {NULL};
  bool changed = false;
  for (int c = 0; c < module->count; c++) {
    Computation *computation = module->computations[c];
    int count = computation->count;
    bool here = false;
    for (int i = 0; i < count; i++) {
      Instruction *x = computation->instructions[i];
      if (!is_small(x)) continue;
      PrimitiveType type = x->shape->type;
      if (!adders[type]) adders[type] = adder(module, type);
      expand(x, adders[type]);
      here = true;
    }
    if (!here) continue;
    computation_sort(computation);
    changed = true;
  }
  if (changed) module_keep_reached(module);
  return changed;
}
