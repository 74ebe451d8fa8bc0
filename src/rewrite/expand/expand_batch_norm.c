/*
** Expands batch-norm-training, -inference and -grad into element-wise operations and reductions.
** reference/batch_norm.c has the formulas. Floats narrower than f32 are computed in f32, as in XLA.
*/
#include "rewrite/expand/expand_batch_norm.h"

#include "rewrite/base/make.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

typedef struct BatchNorm {
  Maker m;
  Instruction *x;            /* the operation; of training and grad, a tuple */
  const Shape *shape;        /* of the operand */
  const Shape *features;     /* of one number per feature: of the computation's type */
  Int64List feature, others; /* dimensions */
  Instruction *count;        /* elements of a feature, once for each */
  Instruction *mask;         /* the elements that count; NULL: all */
} BatchNorm;

/* Broadcasts one number per feature to the feature's elements. */
static Instruction *spread(BatchNorm *b, Instruction *x) {
  return make_broadcast(&b->m, x, b->shape, b->feature);
}

static Instruction *mean_of(BatchNorm *b, Instruction *sum) {
  return make_binary(&b->m, HLO_DIVIDE, sum, b->count);
}

static Instruction *sum_of(BatchNorm *b, Instruction *x) {
  if (b->mask) x = make_select(&b->m, b->mask, x, make_zeros(&b->m, b->shape));
  return make_sum(&b->m, x, b->others);
}

static Instruction *times(BatchNorm *b, Instruction *x, Instruction *y) {
  return make_binary(&b->m, HLO_MULTIPLY, x, y);
}

static Instruction *operand(BatchNorm *b, int i) {
  return make_convert(&b->m, b->x->operands[i], b->shape->type);
}

static Instruction *distance_to(BatchNorm *b, Instruction *mean) {
  return make_binary(&b->m, HLO_SUBTRACT, operand(b, 0), spread(b, mean));
}

/* 1 / sqrt(variance + epsilon) */
static Instruction *inverse_deviation(BatchNorm *b, Instruction *variance) {
  Instruction *epsilon = make_number(&b->m, b->features, (double)(float)b->x->a->epsilon);
  return make_unary(&b->m, HLO_RSQRT, make_binary(&b->m, HLO_ADD, variance, epsilon));
}

static Instruction *normal(BatchNorm *b, Instruction *distance, Instruction *variance) {
  Instruction *factor = times(b, operand(b, 1), inverse_deviation(b, variance));
  return make_binary(&b->m, HLO_ADD, times(b, distance, spread(b, factor)),
                     spread(b, operand(b, 2)));
}

static void become_tuple(BatchNorm *b, Instruction *const *parts) {
  Instruction *rounded[3];
  for (int i = 0; i < 3; i++) {
    rounded[i] = make_convert(&b->m, parts[i], b->x->operands[0]->shape->type);
  }
  instruction_become(b->x, HLO_TUPLE_OP, rounded, 3, NULL);
}

static void expand_training(BatchNorm *b) {
  Instruction *mean = mean_of(b, sum_of(b, operand(b, 0))), *distance = distance_to(b, mean);
  Instruction *variance = mean_of(b, sum_of(b, times(b, distance, distance)));
  become_tuple(b, (Instruction *[]){normal(b, distance, variance), mean, variance});
}

static void expand_inference(BatchNorm *b) {
  Instruction *result = normal(b, distance_to(b, operand(b, 3)), operand(b, 4));
  /* If it is to the same type, a later pass removes it. */
  instruction_become(b->x, HLO_CONVERT, &result, 1, NULL);
}

static void expand_gradient(BatchNorm *b) {
  Instruction *dy = operand(b, 4), *s = inverse_deviation(b, operand(b, 3));
  Instruction *distance = distance_to(b, operand(b, 2));
  Instruction *sum = sum_of(b, dy), *sum_scaled = sum_of(b, times(b, dy, distance));
  Instruction *slope = times(b, times(b, s, s), mean_of(b, sum_scaled));
  Instruction *rest = times(b, distance, spread(b, slope));
  rest = make_binary(&b->m, HLO_ADD, rest, spread(b, mean_of(b, sum)));
  Instruction *factor = spread(b, times(b, operand(b, 1), s));
  Instruction *result = times(b, factor, make_binary(&b->m, HLO_SUBTRACT, dy, rest));
  become_tuple(b, (Instruction *[]){result, times(b, sum_scaled, s), sum});
}

void expand_batch_norm(Instruction *x, Instruction *count, Instruction *mask) {
  const Shape *shape = x->operands[0]->shape;
  PrimitiveType type = type_bits(shape->type) < 32 ? F32 : shape->type;
  Error error;
  bool failed = false; /* cannot: the shapes are the operands' */
  BatchNorm b = {.m = {x->parent, &error, &failed}, .x = x, .mask = mask};
  b.feature = list_of(&b.m, 1, (int64_t[]){x->a->feature_index});
  b.others = other_dimensions(&b.m, shape->rank, b.feature);
  b.shape = shape_of(&b.m, type, shape->rank, shape->dims);
  b.features = shape_of(&b.m, type, 1, &shape->dims[x->a->feature_index]);
  double elements = 1;
  for (int i = 0; i < b.others.count; i++) elements *= (double)shape->dims[b.others.items[i]];
  b.count = count
                ? make_broadcast(&b.m, make_convert(&b.m, count, type), b.features, (Int64List){0})
                : make_number(&b.m, b.features, elements);
  switch (x->opcode) {
  case HLO_BATCH_NORM_TRAINING: expand_training(&b); break;
  case HLO_BATCH_NORM_INFERENCE: expand_inference(&b); break;
  default: expand_gradient(&b); break;
  }
}

static bool expand(Instruction *x, void *data) {
  if (x->opcode != HLO_BATCH_NORM_TRAINING && x->opcode != HLO_BATCH_NORM_INFERENCE &&
      x->opcode != HLO_BATCH_NORM_GRAD) {
    return false;
  }
  const Shape *shape = x->operands[0]->shape;
  if (!shape_is_static_array(shape) || shape_elements(shape) == 0) return false;
  expand_batch_norm(x, NULL, NULL);
  return true;
}

bool pass_expand_batch_norm(Module *module) { return rewrite_each(module, expand, NULL); }
