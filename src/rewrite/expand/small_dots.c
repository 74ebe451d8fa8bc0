/*
** Writes small dots, outer products, products of few terms and batches of inner products as sums of products. A kernel's call
** would cost more than the dot, and loops fuse with their neighbours. For a batch of small matrices the sums are unrolled, so the
** lanes are several matrices (short_rows.c).
**
**     dot(f32[3,4] x, f32[4] y)    reduce(multiply(x, broadcast(y)), 0), dimensions={1}
**     dot(f32[n,3,2] x, f32[n,2] y)    0 + x[:,:,0] y[:,0] + x[:,:,1] y[:,1]
**     dot(f32[m,1] x, f32[1,n] y)    reduce(multiply(broadcast(x), broadcast(y)), 0), dimensions={1}
**     dot(f32[m,2] x, f32[2,n] y)    0 + x[:,0] y[0,:] + x[:,1] y[1,:]
**     dot(f32[n,99] x, f32[n,99] y), lhs_batch_dims={0}    reduce(multiply(x, y), 0), dimensions={1}
**
** The last is for n >= 16. Products of 2 to 4 terms with a bias and a maximum take 0.28 (2,048 x 3 x 16) to 0.6 (1,024 x 4 x 64)
** of the kernel's time (AMD EPYC, 2026-11-30). Measured against the kernel, without threads: outer products take 0.26 (f32) to
** 1.01 (c64) of its time, batches of inner products 0.2 (4,096 of 64) to 1.03 (bf16) (Intel Xeon, 2026-11).
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

/* Threshold MAX_PRODUCTS, MAX_TERMS, MIN_COLUMNS, MIN_BATCH, MAX_OF_BATCH. Test: "small products in batches" in
** core/thresholds_programs.test.mjs. */
enum { MAX_PRODUCTS = 64, MAX_TERMS = 4, MIN_COLUMNS = 4, MIN_BATCH = 16, MAX_OF_BATCH = 32 };

/* Whether a type's products are not rounded to less precision than its sums. */
static bool has_whole_products(PrimitiveType type) {
  return type == F32 || type == F64 || (type_is_integral(type) && type_bits(type) >= 32);
}

static bool is_plain_dot(const Instruction *dot) {
  if (dot->opcode != HLO_DOT || dot->a->control_predecessors.count) return false;
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  PrimitiveType type = dot->shape->type;
  if (!has_whole_products(type) || lhs->type != type || rhs->type != type) return false;
  int loops = dot->shape->rank + dot->a->lhs_contracting_dims.count;
  return shape_elements(dot->shape) > 0 && loops <= MAX_DIMENSIONS;
}

static int64_t elements_along(const Shape *shape, Int64List dimensions) {
  int64_t count = 1;
  for (int i = 0; i < dimensions.count; i++) count *= shape->dims[dimensions.items[i]];
  return count;
}

static bool is_small(const Instruction *dot) {
  int64_t terms = elements_along(dot->operands[0]->shape, dot->a->lhs_contracting_dims);
  int64_t products = shape_elements(dot->shape) * terms;
  return products > 0 && products <= MAX_PRODUCTS;
}

/* Whether nothing is added up: each element is one product. Of narrow floats it is rounded once in either way. */
static bool is_product(const Instruction *dot) {
  return elements_along(dot->operands[0]->shape, dot->a->lhs_contracting_dims) == 1;
}

/* Whether a dot is a batch of inner products. The kernel would be called for each, and loops take several at once. */
static bool is_batch_of_vectors(const Instruction *dot) {
  int64_t batch = elements_along(dot->operands[0]->shape, dot->a->lhs_batch_dims);
  return batch >= MIN_BATCH && shape_elements(dot->shape) == batch;
}

/* Whether neighbouring results of a dot are products with neighbouring elements of the rhs. */
static bool has_columns(const Instruction *dot) {
  const Shape *rhs = dot->operands[1]->shape;
  int64_t last = rhs->rank - 1;
  return list_index(dot->a->rhs_contracting_dims, last) < 0 &&
         list_index(dot->a->rhs_batch_dims, last) < 0 && rhs->dims[last] >= MIN_COLUMNS;
}

/* Whether a dot has one contracted dimension of few elements, and columns or a batch of small matrices for the lanes. */
static bool has_few_terms(const Instruction *dot) {
  const Shape *lhs = dot->operands[0]->shape;
  int64_t batch = elements_along(lhs, dot->a->lhs_batch_dims);
  int64_t terms = elements_along(lhs, dot->a->lhs_contracting_dims);
  if (dot->a->lhs_contracting_dims.count != 1 || terms == 0 || terms > MAX_TERMS) return false;
  return has_columns(dot) ||
         (batch >= MIN_BATCH && shape_elements(dot->shape) / batch * terms <= MAX_OF_BATCH);
}

/* Broadcasts an operand to the dimensions of all products: the result's, then the contracted ones. */
static Instruction *spread(Instruction *dot, int side, Instruction *operand,
                           const Shape *products) {
  Arena *arena = dot->parent->module->arena;
  Int64List batch = side ? dot->a->rhs_batch_dims : dot->a->lhs_batch_dims;
  Int64List contracted = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  int lhs_free = dot->operands[0]->shape->rank - dot->a->lhs_contracting_dims.count;
  int next = side ? lhs_free : batch.count;
  int64_t *dimensions = ARENA_ARRAY(arena, int64_t, operand->shape->rank);
  for (int d = 0; d < operand->shape->rank; d++) {
    int b = list_index(batch, d), c = list_index(contracted, d);
    dimensions[d] = b >= 0 ? b : c >= 0 ? dot->shape->rank + c : next++;
  }
  /* A broadcast keeps the order of dimensions, so an operand in another order is transposed first. */
  int64_t order[MAX_RANK], *sorted = ARENA_ARRAY(arena, int64_t, operand->shape->rank);
  int count = 0;
  for (int to = 0; to < products->rank; to++) {
    for (int d = 0; d < operand->shape->rank; d++) {
      if (dimensions[d] != to) continue;
      sorted[count] = to;
      order[count++] = d;
    }
  }
  operand = computation_add_transpose(dot->parent, operand, order);
  if (count == products->rank) return operand;
  return computation_add(dot->parent, HLO_BROADCAST, products, &operand, 1,
                         ATTRIBUTES(.dimensions = {count, sorted}));
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
  Instruction *factors[2] = {spread(dot, 0, dot->operands[0], products),
                             spread(dot, 1, dot->operands[1], products)};
  if (shape_elements(products) == shape_elements(dot->shape)) { /* no sum: -0 stays */
    Instruction *all = computation_add(computation, HLO_MULTIPLY, products, factors, 2, NULL);
    instruction_become(dot, HLO_RESHAPE, &all, 1, NULL);
    return;
  }
  Instruction *reduced[2];
  reduced[0] = computation_add(computation, HLO_MULTIPLY, products, factors, 2, NULL);
  reduced[1] = computation_add_integer(computation, dot->shape->type, 0);
  instruction_become(dot, HLO_REDUCE, reduced, 2,
                     ATTRIBUTES(.dimensions = {contracted, summed}, .to_apply = add));
}

/* Slices one element of the contracted dimension, which stays as size 1. */
static Instruction *term_of(Instruction *dot, int side, int64_t term) {
  Int64List contracted = side ? dot->a->rhs_contracting_dims : dot->a->lhs_contracting_dims;
  return computation_add_range(dot->parent, dot->operands[side], contracted.items[0], term,
                               term + 1);
}

static void write_out(Instruction *dot) {
  Computation *computation = dot->parent;
  Arena *arena = computation->module->arena;
  PrimitiveType type = dot->shape->type;
  int rank = dot->shape->rank;
  int64_t terms = elements_along(dot->operands[0]->shape, dot->a->lhs_contracting_dims);
  int64_t dims[MAX_RANK];
  for (int d = 0; d < rank; d++) dims[d] = dot->shape->dims[d];
  dims[rank] = 1;
  const Shape *shape = shape_make(arena, type, rank + 1, dims, NULL);
  Instruction *zero = computation_add_integer(computation, type, 0);
  Instruction *sum = computation_add(computation, HLO_BROADCAST, shape, &zero, 1, NULL);
  for (int64_t term = 0; term < terms; term++) {
    Instruction *factors[2];
    for (int side = 0; side < 2; side++) {
      factors[side] = spread(dot, side, term_of(dot, side, term), shape);
    }
    Instruction *product = computation_add(computation, HLO_MULTIPLY, shape, factors, 2, NULL);
    Instruction *both[2] = {sum, product};
    sum = terms == 1 ? product : computation_add(computation, HLO_ADD, shape, both, 2, NULL);
  }
  instruction_become(dot, HLO_RESHAPE, &sum, 1, NULL);
}

static bool rewrite_dot(Instruction *x, void *data) {
  Computation **adders = data; /* by type */
  if (!is_plain_dot(x)) return false;
  PrimitiveType type = x->shape->type;
  if (is_small(x) || is_product(x) || (!has_few_terms(x) && is_batch_of_vectors(x))) {
    if (!adders[type]) adders[type] = module_add_reducer(x->parent->module, HLO_ADD, type);
    expand(x, adders[type]);
    return true;
  }
  if (!has_few_terms(x)) return false;
  write_out(x);
  return true;
}

bool pass_small_dots(Module *module) {
  Computation *adders[PRIMITIVE_TYPE_END] = {NULL};
  return rewrite_each(module, rewrite_dot, adders);
}
