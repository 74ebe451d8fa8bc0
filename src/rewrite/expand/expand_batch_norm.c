/*
** Expands batch-norm-training, -inference and -grad into element-wise operations and reductions.
** reference/batch_norm.c has the formulas. Floats narrower than f32 are computed in f32, as in XLA.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"
#include "value/scalar.h"

typedef struct BatchNorm {
  Instruction *x; /* the operation; of training and grad, a tuple */
  Computation *computation;
  Arena *arena;
  PrimitiveType type, wide;      /* of the operand; of the computation */
  const Shape *shape, *features; /* of the operand; of one number per feature, of type `wide` */
  Instruction *count;            /* elements of a feature */
} BatchNorm;

static Instruction *add(const BatchNorm *b, Opcode opcode, const Shape *shape,
                        Instruction *const *operands, int count, const Attributes *attributes) {
  return computation_add(b->computation, opcode, shape, operands, count, attributes, NULL);
}

static Instruction *binary(const BatchNorm *b, Opcode opcode, Instruction *x, Instruction *y) {
  return add(b, opcode, x->shape, (Instruction *[]){x, y}, 2, NULL);
}

static Instruction *converted(const BatchNorm *b, Instruction *x, PrimitiveType type) {
  if (x->shape->type == type) return x;
  return add(b, HLO_CONVERT, shape_with_type(b->arena, x->shape, type), &x, 1, NULL);
}

static Instruction *number(const BatchNorm *b, double value) {
  return computation_add_number(b->computation, b->wide, (Scalar){.f = value});
}

/* Broadcasts a scalar to all features, or one number per feature to the feature's elements. */
static Instruction *spread(const BatchNorm *b, Instruction *x) {
  Attributes attributes;
  attributes_init(&attributes);
  if (x->shape->rank == 0) return add(b, HLO_BROADCAST, b->features, &x, 1, &attributes);
  int64_t *dimension = ARENA_NEW(b->arena, int64_t);
  *dimension = b->x->a->feature_index;
  attributes.dimensions = (Int64List){1, dimension};
  return add(b, HLO_BROADCAST, b->shape, &x, 1, &attributes);
}

/* Sums x over the elements of each feature */
static Instruction *sum_of(const BatchNorm *b, Instruction *x) {
  Attributes attributes;
  attributes_init(&attributes);
  int64_t *dimensions = ARENA_ARRAY(b->arena, int64_t, b->shape->rank);
  int count = 0;
  for (int i = 0; i < b->shape->rank; i++) {
    if (i != b->x->a->feature_index) dimensions[count++] = i;
  }
  attributes.dimensions = (Int64List){count, dimensions};
  attributes.to_apply = module_add_reducer(b->computation->module, HLO_ADD, b->wide);
  return add(b, HLO_REDUCE, b->features, (Instruction *[]){x, number(b, 0)}, 2, &attributes);
}

static Instruction *mean_of(const BatchNorm *b, Instruction *sum) {
  return binary(b, HLO_DIVIDE, sum, spread(b, b->count));
}

static Instruction *operand(const BatchNorm *b, int i) {
  return converted(b, b->x->operands[i], b->wide);
}

/* 1 / sqrt(variance + epsilon) */
static Instruction *inverse_deviation(const BatchNorm *b, Instruction *variance) {
  Instruction *epsilon = spread(b, number(b, (double)(float)b->x->a->epsilon));
  Instruction *sum = binary(b, HLO_ADD, variance, epsilon);
  return add(b, HLO_RSQRT, b->features, &sum, 1, NULL);
}

static Instruction *normal(const BatchNorm *b, Instruction *distance, Instruction *variance) {
  Instruction *factor = binary(b, HLO_MULTIPLY, operand(b, 1), inverse_deviation(b, variance));
  Instruction *scaled = binary(b, HLO_MULTIPLY, distance, spread(b, factor));
  return binary(b, HLO_ADD, scaled, spread(b, operand(b, 2)));
}

static void become_tuple(const BatchNorm *b, Instruction *const *parts) {
  Instruction *rounded[3];
  for (int i = 0; i < 3; i++) rounded[i] = converted(b, parts[i], b->type);
  instruction_become(b->x, HLO_TUPLE_OP, rounded, 3, NULL);
}

static void expand_training(const BatchNorm *b) {
  Instruction *x = operand(b, 0), *mean = mean_of(b, sum_of(b, x));
  Instruction *distance = binary(b, HLO_SUBTRACT, x, spread(b, mean));
  Instruction *variance = mean_of(b, sum_of(b, binary(b, HLO_MULTIPLY, distance, distance)));
  become_tuple(b, (Instruction *[]){normal(b, distance, variance), mean, variance});
}

static void expand_inference(const BatchNorm *b) {
  Instruction *distance = binary(b, HLO_SUBTRACT, operand(b, 0), spread(b, operand(b, 3)));
  Instruction *result = normal(b, distance, operand(b, 4));
  instruction_become(b->x, HLO_CONVERT, &result, 1,
                     NULL); /* to the same type, so a later pass removes it */
}

static void expand_gradient(const BatchNorm *b) {
  Instruction *dy = operand(b, 4), *s = inverse_deviation(b, operand(b, 3));
  Instruction *distance = binary(b, HLO_SUBTRACT, operand(b, 0), spread(b, operand(b, 2)));
  Instruction *sum = sum_of(b, dy), *sum_scaled = sum_of(b, binary(b, HLO_MULTIPLY, dy, distance));
  Instruction *slope =
      binary(b, HLO_MULTIPLY, binary(b, HLO_MULTIPLY, s, s), mean_of(b, sum_scaled));
  Instruction *rest = binary(b, HLO_MULTIPLY, distance, spread(b, slope));
  rest = binary(b, HLO_ADD, rest, spread(b, mean_of(b, sum)));
  Instruction *factor = spread(b, binary(b, HLO_MULTIPLY, operand(b, 1), s));
  Instruction *result = binary(b, HLO_MULTIPLY, factor, binary(b, HLO_SUBTRACT, dy, rest));
  become_tuple(b, (Instruction *[]){result, binary(b, HLO_MULTIPLY, sum_scaled, s), sum});
}

static bool plan_batch_norm(BatchNorm *b, Instruction *x) {
  const Shape *shape = x->operands[0]->shape;
  if (!shape_is_static_array(shape) || shape_elements(shape) == 0) return false;
  bool narrow = type_bits(shape->type) < 32;
  *b = (BatchNorm){.x = x,
                   .computation = x->parent,
                   .arena = x->parent->module->arena,
                   .type = shape->type,
                   .wide = narrow ? F32 : shape->type};
  b->shape = shape_make(b->arena, b->wide, shape->rank, shape->dims, NULL);
  int64_t features = shape->dims[x->a->feature_index];
  b->features = shape_make(b->arena, b->wide, 1, &features, NULL);
  int64_t count = shape_elements(shape) / features;
  b->count = number(b, (double)count);
  return true;
}

static bool expand(Instruction *x, void *data) {
  BatchNorm b;
  bool trains = x->opcode == HLO_BATCH_NORM_TRAINING,
       infers = x->opcode == HLO_BATCH_NORM_INFERENCE;
  if (!trains && !infers && x->opcode != HLO_BATCH_NORM_GRAD) return false;
  if (!plan_batch_norm(&b, x)) return false;
  (trains ? expand_training : infers ? expand_inference : expand_gradient)(&b);
  return true;
}

bool pass_expand_batch_norm(Module *module) { return rewrite_each(module, expand, NULL); }
