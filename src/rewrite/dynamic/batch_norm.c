/*
** Rewrites batch normalisation over a dynamic dimension: the statistics count only elements within the
** size. They become reductions, whose padding is zero; the rest becomes batch-norm-inference.
*/
#include "hlo/ir/shorthand.h"
#include "rewrite/dynamic/dynamic.h"

typedef struct Batch {
  Dynamic *d;
  const Shape *shape; /* of the operand */
  Sizes sizes;        /* of the operand */
  int64_t feature;
  Instruction *count; /* elements of a feature, in the operand's type */
} Batch;

static Instruction *sum_of(Batch *b, Instruction *array) {
  Dynamic *d = b->d;
  Arena *arena = d->computation->module->arena;
  PrimitiveType type = b->shape->type;
  int64_t *dimensions = ARENA_ARRAY(arena, int64_t, b->shape->rank);
  int count = 0;
  Instruction *zero = emit_constant(d, type, (Scalar){.f = 0});
  for (int i = 0; i < b->shape->rank; i++) {
    if (i == b->feature) continue;
    dimensions[count++] = i;
    if (!b->sizes[i]) continue;
    array = emit_choice(d, emit_mask(d, b->shape, i, b->sizes[i]), array,
                        emit_splat(d, zero, b->shape));
  }
  Error error;
  Attributes attributes;
  attributes_init(&attributes);
  attributes.dimensions = (Int64List){count, dimensions};
  attributes.to_apply = module_add_reducer(d->computation->module, HLO_ADD, type);
  const Shape *features = shape_make(arena, type, 1, &b->shape->dims[b->feature], &error);
  return emit(d, HLO_REDUCE, features, (Instruction *[]){array, zero}, 2, &attributes);
}

/* Broadcasts one number per feature to the feature's elements. */
static Instruction *spread(Batch *b, Instruction *vector) {
  Attributes attributes;
  attributes_init(&attributes);
  int64_t *dimension = ARENA_NEW(b->d->computation->module->arena, int64_t);
  *dimension = b->feature;
  attributes.dimensions = (Int64List){1, dimension};
  return emit(b->d, HLO_BROADCAST, b->shape, &vector, 1, &attributes);
}

static Instruction *per_element(Batch *b, Instruction *sum) {
  return emit_binary(b->d, HLO_DIVIDE, sum, emit_splat(b->d, b->count, sum->shape));
}

static Batch batch_of(Dynamic *d, const Instruction *instruction, Sizes sizes) {
  const Shape *stated = instruction->operands[0]->shape;
  Batch b = {.d = d, .sizes = sizes, .feature = instruction->a->feature_index};
  b.shape = plain_shape(d, stated, stated->type);
  Instruction *count = size_of(d, 1);
  for (int i = 0; i < b.shape->rank; i++) {
    if (i == b.feature) continue;
    count = emit_binary(d, HLO_MULTIPLY, count, size_or_bound(d, sizes[i], b.shape->dims[i]));
  }
  b.count = emit(d, HLO_CONVERT, shape_scalar(b.shape->type), &count, 1, NULL);
  return b;
}

static Instruction *training(Dynamic *d, const Instruction *instruction, Sizes sizes) {
  Batch b = batch_of(d, instruction, sizes);
  Instruction *x = instruction->operands[0];
  Instruction *mean = per_element(&b, sum_of(&b, x));
  Instruction *distance = emit_binary(d, HLO_SUBTRACT, x, spread(&b, mean));
  Instruction *square = emit_binary(d, HLO_MULTIPLY, distance, distance);
  Instruction *variance = per_element(&b, sum_of(&b, square));
  Instruction *operands[] = {x, instruction->operands[1], instruction->operands[2], mean, variance};
  Attributes attributes;
  attributes_init(&attributes);
  attributes.epsilon = instruction->a->epsilon;
  attributes.feature_index = instruction->a->feature_index;
  Instruction *normal = emit(d, HLO_BATCH_NORM_INFERENCE, b.shape, operands, 5, &attributes);
  return computation_add_tuple(d->computation, (Instruction *[]){normal, mean, variance}, 3);
}

/* See reference/batch_norm.c for the formulas. */
static Instruction *gradient(Dynamic *d, const Instruction *instruction, Sizes sizes) {
  Batch b = batch_of(d, instruction, sizes);
  Instruction *x = instruction->operands[0], *scale = instruction->operands[1];
  Instruction *variance = instruction->operands[3], *dy = instruction->operands[4];
  Scalar epsilon = {.f = (double)(float)instruction->a->epsilon};
  Instruction *small = emit_splat(d, emit_constant(d, b.shape->type, epsilon), variance->shape);
  Instruction *root = emit_binary(d, HLO_ADD, variance, small);
  Instruction *s = emit(d, HLO_RSQRT, variance->shape, &root, 1, NULL);
  Instruction *distance = emit_binary(d, HLO_SUBTRACT, x, spread(&b, instruction->operands[2]));
  Instruction *sum = sum_of(&b, dy);
  Instruction *product = sum_of(&b, emit_binary(d, HLO_MULTIPLY, dy, distance));
  Instruction *slope =
      emit_binary(d, HLO_MULTIPLY, emit_binary(d, HLO_MULTIPLY, s, s), per_element(&b, product));
  Instruction *rest = emit_binary(d, HLO_MULTIPLY, distance, spread(&b, slope));
  rest = emit_binary(d, HLO_ADD, rest, spread(&b, per_element(&b, sum)));
  Instruction *factor = spread(&b, emit_binary(d, HLO_MULTIPLY, scale, s));
  Instruction *grad = emit_binary(d, HLO_SUBTRACT, dy, rest);
  grad = emit_binary(d, HLO_MULTIPLY, factor, grad);
  Instruction *grad_scale = emit_binary(d, HLO_MULTIPLY, product, s);
  return computation_add_tuple(d->computation, (Instruction *[]){grad, grad_scale, sum}, 3);
}

Instruction *dynamic_batch_norm(Dynamic *d, Instruction *instruction, Sizes sizes) {
  bool trains = instruction->opcode == HLO_BATCH_NORM_TRAINING;
  return trains ? training(d, instruction, sizes) : gradient(d, instruction, sizes);
}
